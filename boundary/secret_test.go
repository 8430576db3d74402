package boundary_test

import (
	"errors"
	"strings"
	"testing"

	"assent/boundary"
)

// What must be refused is refused in a sentence too; what a decision may be about is taken.
func TestSecrets(t *testing.T) {
	letters := strings.Repeat("a1B2", 9)
	for _, text := range []string{
		"AKIAIOSFODNN7EXAMPLE", "the key AKIAIOSFODNN7EXAMPLE is used", "token=abcdefghijklmnop", "token=abcd1234efgh5678.",
		"GITHUB_TOKEN=abcd1234efgh5678", "?token=abcd1234efgh5678&x=1", "password = 'hunter2hunter2'", `{"token":"abcd1234efgh5678"}`,
		`api_key: "9f3k2l1m0nq8"`, "client_secret: Zm9vYmFyMTIz==", "Authorization: Bearer abcdefgh12345678", "proxy-authorization: basic dXNlcjpwYXNz",
		"postgres://svc:pw@db/main", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY", "ghp_" + letters, "glpat-" + letters,
		"eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJlMTIz", "sk-" + letters, "xoxb-1234567890-abc", "AIza" + strings.Repeat("a", 35),
		"curl -H 'bearer abcdefgh12345678'", "secret => abcd1234efgh5678, more",
	} {
		if boundary.Secret(text) == "" || boundary.Secret("The call uses "+text+" for now.") == "" && !strings.Contains(text, "=") {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{
		"", "The secretary approved", "the token bucket refills every second", "max_tokens=123456789012", "token = nil", `token := os.Getenv("API_TOKEN")`,
		"password policy: at least 12 characters", "password = config.DatabasePassword", "api_key must be rotated each quarter", "passwordless login is preferred",
		"Bearer tokens expire after one hour", "basic authorization: see docs/auth.md", "token_ttl_seconds: 86400", "https only", "ssh keys",
		"sha256:9f86d081884c7d659a2feaa0c55ad015", "secret rotation happens every 90 days", "ask-me-anything", "AKIA is a prefix", "sk-your-key-goes-here-abc",
		"https://example.org/a:b", "user@host:path", "docs/isme/decisions/2026-06-11-001-token-secret.md",
	} {
		if what := boundary.Secret(text); what != "" {
			t.Errorf("%q is refused as %s", text, what)
		}
	}
}

type secretKind string

func (secretKind) EnumValues() []string { return []string{"one", "two"} }

type secretPayload struct {
	Mood  secretKind `json:"mood,omitzero" jsonschema_description:"x"`
	Title string     `json:"title" jsonschema:"maxLength=200" text:"line" jsonschema_description:"x"`
	List  []string   `json:"list,omitzero" jsonschema:"maxItems=5,maxLength=200" text:"line" jsonschema_description:"x"`
}

type secretRecord struct {
	boundary.Envelope
	secretPayload
}

// A payload that holds a credential is refused by policy, at its place; nothing of the
// credential is repeated, and other violations come first in the exit code.
func TestSecretFound(t *testing.T) {
	k := kind[secretPayload, secretRecord]("secret-test", `{"title":"t"}`)
	const secret = "token=abcd1234efgh5678"
	for payload, want := range map[string]struct {
		pointer string
		exit    int
	}{
		`{"title":"` + secret + `"}`:                            {"/title", 1},
		`{"title":"t","list":["x","see ` + secret + `"]}`:       {"/list/1", 1},
		`{"title":"` + secret + `","unknown":"` + secret + `"}`: {"/title", 2},
	} {
		_, err := k.Read(strings.NewReader(payload), "<stdin>")
		var refusal *boundary.Refusal
		if !errors.As(err, &refusal) || refusal.ExitCode() != want.exit {
			t.Errorf("%s: %v", payload, err)
			continue
		}
		if _, err := k.Read(strings.NewReader(`{"title":"t","mood":"`+secret+`"}`), "<stdin>"); err == nil || strings.Contains(err.Error(), "abcd1234") {
			t.Errorf("out of the vocabulary: %v", err)
		}
		found := false
		for _, v := range refusal.Violations {
			found = found || v.Code == "boundary/secret-found" && v.Pointer == want.pointer && v.Class == boundary.Policy && v.Got == "" && v.Line > 0
		}
		if !found || strings.Contains(err.Error(), "abcd1234") {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
