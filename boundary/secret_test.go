package boundary_test

import (
	"encoding/json"
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

// Each form of a key is found by itself: no other word of the text lets it be looked for.
func TestServices(t *testing.T) {
	x := func(n int) string { return strings.Repeat("a1b2c3d4e5f60718", 5)[:n] }
	keys := map[string][]string{
		"clouds":   {"ASIA" + strings.ToUpper(x(16)), "AIza" + x(35), "ya29." + x(30), "GOCSPX-" + x(28), "AccountKey=" + x(64) + "==", "dop_v1_" + x(64), "hvs." + x(24)},
		"forges":   {"ghp_" + x(36), "ghs_" + x(36), "github_pat_" + x(22), "glpat-" + x(20), "glrt-" + x(20), "ATBB" + x(32), "ATATT3" + x(60)},
		"chats":    {"xoxb-" + x(12), "xapp-1-" + x(24), "hooks.slack.com/services/" + x(24), "discord.com/api/webhooks/123456789012345678/" + x(40), "12345678:AA" + x(33)},
		"payment":  {"sk_live_" + x(24), "rk_test_" + x(24), "whsec_" + x(32), "sq0atp-" + x(22), "access_token$production$" + x(16) + "$" + x(32), "shpat_" + x(32)},
		"packages": {"npm_" + x(36), "pypi-" + x(30), "rubygems_" + x(48), "dckr_pat_" + x(27), "cio" + x(32)},
		"models":   {"sk-" + x(40), "hf_" + x(34), "gsk_" + x(48), "r8_" + x(37), "xai-" + x(60), "pplx-" + x(48)},
		"other":    {"SG." + x(22) + "." + x(43), "SK" + x(32)},
	}
	for class, list := range keys {
		for _, key := range list {
			for _, text := range []string{key, "Use " + key + ".", "(" + key + ")", "A_" + key} {
				if boundary.Secret(text) == "" {
					t.Errorf("%s: %q is taken", class, text)
				}
				if got, n := boundary.Redact(text); n != 1 || strings.Contains(got, key) || got != strings.Replace(text, key, "[redacted:service-key]", 1) {
					t.Errorf("%s: %q becomes %q", class, text, got)
				}
			}
		}
	}
}

// What is refused is redacted, too; and what is redacted once stays as it is.
func TestRedactWhatIsRefused(t *testing.T) {
	for _, text := range []string{"password=hunter2x", "credential=abcdefgh12", "private_key=abcdefgh12", `apiKey: "abcd1234"`, "curl -H 'proxy-authorization: basic dXNlcjpwYXNz'", "pwd=abcd1234efgh", "access-key: abcd1234", "-----BEGIN PRIVATE KEY", "Discord: M" + strings.Repeat("a1", 12) + ".abc123." + strings.Repeat("b2", 14)} {
		if boundary.Secret(text) == "" {
			t.Errorf("%q is taken", text)
		}
		got, n := boundary.Redact(text)
		if n != 1 || boundary.Secret(got) != "" {
			t.Errorf("%q becomes %q", text, got)
		}
		if again, n := boundary.Redact(got); again != got || n != 0 {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}

// A transcript has commands and their output as JSON in JSON.
func TestRedactInJSON(t *testing.T) {
	text := `export API_KEY="sekrit12345abc"; curl -H "Authorization: Bearer abcd1234efgh" # {"password": "hunter2hunter2"} 'token=abcdefghi'`
	for range 4 {
		if got, n := boundary.Redact(text); n != 4 || strings.Contains(got, "sekrit") || strings.Contains(got, "abcd") || strings.Contains(got, "hunter2") {
			t.Errorf("%s becomes %s", text, got)
		}
		b, _ := json.Marshal(text)
		text = string(b)
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
