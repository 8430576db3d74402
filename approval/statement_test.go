package approval_test

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/approval"
	"assent/boundary"
)

var (
	issued = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	digest = strings.Repeat("0123456789abcdef", 4)
)

func statement() approval.Statement {
	return approval.Statement{
		Domain: "skmb", Action: "approve", Subject: "SKMB-2026-03-01-001", Digest: digest, Repository: strings.Repeat("ab", 16),
		Issued: issued, Nonce: strings.Repeat("0f", 16), Card: "Title\n\nscope: a\n\nDecision\nRetry 3 times. Größe ✓",
	}
}

const text = `assent-statement: 1
domain: skmb
action: approve
subject: SKMB-2026-03-01-001
digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
repository: abababababababababababababababab
issued: 2026-03-02T10:00:00Z
expires: 2026-03-03T10:00:00Z
nonce: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f

Title

scope: a

Decision
Retry 3 times. Größe ✓
`

// A statement has one text, and the text gives back the statement.
func TestStatement(t *testing.T) {
	if got := statement().Text(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	set := func(change func(*approval.Statement)) approval.Statement {
		s := statement()
		change(&s)
		return s
	}
	cases := []struct {
		name string
		s    approval.Statement
	}{
		{"as it is", statement()},
		{"no card", set(func(s *approval.Statement) { s.Card = "" })},
		{"a card of one line", set(func(s *approval.Statement) { s.Card = "x" })},
		{"a card that begins with empty lines", set(func(s *approval.Statement) { s.Card = "\n\nx" })},
		{"a card with empty lines in it", set(func(s *approval.Statement) { s.Card = "x\n\n\ny" })},
		{"a card that looks like a header", set(func(s *approval.Statement) { s.Card = "nonce: x\n\nassent-statement: 1\ndomain: install" })},
		{"a card with blanks at its end", set(func(s *approval.Statement) { s.Card = " x " })},
		{"a subject of several words", set(func(s *approval.Statement) { s.Subject = "a: b / c" })},
		{"an empty subject", set(func(s *approval.Statement) { s.Subject = "" })},
		{"the last day of a leap year's February", set(func(s *approval.Statement) { s.Issued = time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC) })},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := approval.ParseStatement(c.s.Text())
			if err != nil || got != c.s {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, c.s)
			}
			if got.Text() != c.s.Text() {
				t.Errorf("another text:\n%s", got.Text())
			}
		})
	}
	t.Run("another zone and a fraction of a second", func(t *testing.T) {
		s := set(func(s *approval.Statement) { s.Issued = issued.Add(7 * time.Millisecond).In(time.FixedZone("", 3600)) })
		if got := s.Text(); got != text {
			t.Errorf("got\n%s", got)
		}
	})
	t.Run("newlines at the end of the card", func(t *testing.T) {
		if got := set(func(s *approval.Statement) { s.Card += "\n\n" }).Text(); got != text {
			t.Errorf("got\n%s", got)
		}
	})
}

// A header that was tampered with is refused: what is read is what was shown.
func TestParseStatementRefuses(t *testing.T) {
	replace := func(old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in the text", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	cases := []struct{ name, text string }{
		{"nothing", ""},
		{"no card", strings.SplitN(text, "\n\n", 2)[0]},
		{"another version", replace("statement: 1", "statement: 2")},
		{"no version", replace("assent-statement: 1\n", "")},
		{"another name", replace("subject:", "Subject:")},
		{"no blank behind a name", replace("subject: ", "subject:")},
		{"two blanks behind a name", replace("issued: ", "issued:  ")},
		{"a blank behind a value", replace("approve\n", "approve\n ")},
		{"two lines swapped", replace("domain: skmb\naction: approve\n", "action: approve\ndomain: skmb\n")},
		{"a line twice", replace("domain: skmb\n", "domain: skmb\ndomain: skmb\n")},
		{"a line more", replace("nonce:", "answer: 2\nnonce:")},
		{"a line less", replace("domain: skmb\n", "")},
		{"an empty line in the header", replace("domain:", "\ndomain:")},
		{"CR LF", strings.ReplaceAll(text, "\n", "\r\n")},
		{"a byte order mark", "\ufeff" + text},
		{"a blank line before", "\n" + text},

		{"another algorithm", replace("sha256:", "sha512:")},
		{"no algorithm", replace("sha256:", "")},
		{"a digest in capitals", replace("abcdef", "ABCDEF")},
		{"a digest that is short", replace("sha256:0", "sha256:")},
		{"a digest that is long", replace("sha256:0", "sha256:00")},
		{"an empty digest", replace("sha256:"+digest, "sha256:")},
		{"a digest that is none", replace("sha256:0", "sha256:x")},
		{"a repository that is none", replace("repository: ab", "repository: xx")},
		{"an empty repository", replace("repository: "+strings.Repeat("ab", 16), "repository: ")},
		{"a short nonce", replace("nonce: 0f", "nonce: ")},
		{"a nonce with more behind it", replace("nonce: 0f", "nonce: 0f0f")},

		{"a time that is none", replace("issued: 2026-03-02", "issued: 2026-02-30")},
		{"a time with a zone", replace("issued: 2026-03-02T10:00:00Z", "issued: 2026-03-02T10:00:00+00:00")},
		{"a time with a fraction", replace("issued: 2026-03-02T10:00:00Z", "issued: 2026-03-02T10:00:00.0Z")},
		{"an earlier issue", replace("issued: 2026-03-02", "issued: 2026-03-01")},
		{"a later expiry", replace("expires: 2026-03-03", "expires: 2026-03-04")},
		{"an earlier expiry", replace("expires: 2026-03-03T10", "expires: 2026-03-03T09")},
		{"no expiry", replace("expires: 2026-03-03T10:00:00Z", "expires: never")},

		{"no newline at the end", strings.TrimSuffix(text, "\n")},
		{"two newlines at the end", text + "\n"},
		{"an escape sequence in the card", replace("Retry", "\x1b[8mRetry\x1b[0m")},
		{"a bidirectional control in the card", replace("Retry", "\u202eRetry")},
		{"a zero width space in the subject", replace("SKMB-2026", "SKMB\u200b-2026")},
		{"a carriage return in the card", replace("Retry", "nothing\rRetry")},
		{"a tab in the card", replace("Retry", "\tRetry")},
		{"a NUL in the card", replace("Retry", "\x00Retry")},
		{"bytes that are not UTF-8", replace("Retry", "\xffRetry")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if s, err := approval.ParseStatement(c.text); err == nil || s != (approval.Statement{}) {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
	t.Run("a value of two lines is not sealed", func(t *testing.T) {
		s := statement()
		s.Subject = "a\ndigest: sha256:" + digest
		if id, data, err := seal(s, approval.MethodStatement, issued, ""); err == nil || data != nil {
			t.Errorf("sealed as %s", id)
		}
	})
	t.Run("a card that cannot be shown is not sealed", func(t *testing.T) {
		s := statement()
		s.Card = "a\x1b]0;hidden\x07b"
		if id, data, err := seal(s, approval.MethodStatement, issued, ""); err == nil || data != nil {
			t.Errorf("sealed as %s", id)
		}
	})
}

// FuzzParseStatement: what is read has exactly the text that it was read from.
func FuzzParseStatement(f *testing.F) {
	for _, s := range []string{"", text, text + "\n", strings.Replace(text, "Title", "", 1), strings.Replace(text, "skmb", "a: b", 1), strings.Replace(text, "\n\n", "\n\n\n\n", 1), strings.Replace(text, "10:00:00Z", "10:00:00.0Z", 1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := approval.ParseStatement(text)
		if err != nil {
			return
		}
		if s.Text() != text || len(s.Digest) != 64 || len(s.Nonce) != 32 || len(s.Repository) != 32 || strings.ContainsAny(s.Domain+s.Action+s.Subject, "\n\r\t\x1b") {
			t.Errorf("%q is read as %+v", text, s)
		}
	})
}

// Nonces are 32 hex digits and do not come twice.
func TestNonce(t *testing.T) {
	form := regexp.MustCompile(`\A[0-9a-f]{32}\z`)
	seen := map[string]bool{}
	for range 1000 {
		n := approval.NewNonce()
		if !form.MatchString(n) || seen[n] {
			t.Fatalf("the nonce %q", n)
		}
		seen[n] = true
	}
}

func shown(s approval.Statement) string {
	sum := sha256.Sum256([]byte(s.Text()))
	return hex.EncodeToString(sum[:])
}

// verify is Verify without signers.
func verify(data []byte, id, domain, subject, digest string) error {
	_, _, err := approval.Verify(context.Background(), nil, data, approval.Want{ID: id, Domain: domain, Subject: subject, Digest: digest}, approval.Signers{})
	return err
}

func seal(s approval.Statement, method string, at time.Time, shown string) (string, []byte, error) {
	given := approval.Given{Method: method, Statement: s, Proof: approval.Proof{Foreground: shown != "", Tries: 1, ShownSHA256: shown}}
	return approval.Seal(given, approval.Person{Name: "Ada Lovelace", Email: "ada@example.org"}, boundary.Basis{Commit: "c0ffee", Tree: "7ea"}, "v1", at)
}

// The record of a yes has one form, and verifies.
func TestSeal(t *testing.T) {
	at := issued.Add(time.Hour).In(time.FixedZone("", 14*3600)) // the next day there
	id, data, err := seal(statement(), approval.MethodTerminal, at, shown(statement()))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`\AAP-20260302-[0-9a-f]{20}\z`).MatchString(id) || approval.Path(id) != ".assent/approval/"+id+".json" {
		t.Errorf("the id is %s, the path %s", id, approval.Path(id))
	}
	want := `{
  "basis": {
    "commit": "c0ffee",
    "revision": 0,
    "tree": "7ea"
  },
  "by": {
    "email": "ada@example.org",
    "name": "Ada Lovelace"
  },
  "created_at": "2026-03-02T11:00:00Z",
  "given_at": "2026-03-02T11:00:00Z",
  "id": "` + id + `",
  "kind": "approval",
  "method": "terminal",
  "parents": [],
  "proof": {
    "foreground": true,
    "shown_sha256": "` + shown(statement()) + `",
    "tries": 1
  },
  "request_sha256": "` + digest + `",
  "schema_version": 1,
  "statement": "` + strings.ReplaceAll(text, "\n", `\n`) + `",
  "tool_version": "v1"
}
`
	if string(data) != want {
		t.Errorf("got\n%s\nwant\n%s", data, want)
	}
	if err := verify(data, id, "skmb", "SKMB-2026-03-01-001", digest); err != nil {
		t.Error(err)
	}
	again, same, err := seal(statement(), approval.MethodTerminal, at, shown(statement()))
	if err != nil || again != id || !bytes.Equal(same, data) {
		t.Errorf("two runs give %s and %s, %v", id, again, err)
	}
}

// forge seals a record with whatever was done to it: anybody can compute an id.
func forge(t *testing.T, change func(*approval.Record)) (id string, data []byte) {
	t.Helper()
	at := issued.Add(time.Hour)
	r := approval.Record{
		Envelope:  boundary.Envelope{SchemaVersion: 1, Kind: "approval", CreatedAt: at.Format(time.RFC3339), RequestSHA256: digest, Parents: []string{}, ToolVersion: "v1"},
		Statement: text, Method: approval.MethodTerminal, GivenAt: at.Format(time.RFC3339), Proof: approval.Proof{Foreground: true, Tries: 1, ShownSHA256: shown(statement())},
	}
	change(&r)
	canonical := func() jsontext.Value {
		v, err := json.Marshal(r)
		if err == nil {
			err = (*jsontext.Value)(&v).Canonicalize()
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	bare := strings.Replace(string(canonical()), `"id":"",`, "", 1)
	sum := sha256.Sum256([]byte(bare))
	r.ID = "AP-" + at.Format("20060102") + "-" + hex.EncodeToString(sum[:])[:20]
	v := canonical()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	return r.ID, append(v, '\n')
}

// A record verifies only for the one text that it approves, as it was given.
func TestVerify(t *testing.T) {
	const subject = "SKMB-2026-03-01-001"
	given := func(at time.Time) func(*approval.Record) {
		return func(r *approval.Record) { r.GivenAt = at.Format(time.RFC3339) }
	}
	cases := []struct {
		name   string
		change func(*approval.Record)
		why    string // "" if it verifies
	}{
		{"as it was sealed", func(*approval.Record) {}, ""},
		{"given when it was issued", given(issued), ""},
		{"given in the last second", given(issued.Add(approval.Life)), ""},
		{"given in another zone", given(issued.Add(time.Minute).In(time.FixedZone("", -3600))), "/given_at"},
		{"given before it was issued", given(issued.Add(-time.Second)), "outside of the time"},
		{"given too late", given(issued.Add(approval.Life + time.Second)), "outside of the time"},
		{"given at no time", func(r *approval.Record) { r.GivenAt = "" }, "/given_at"},
		{"a claim", func(r *approval.Record) { r.Method, r.Proof = approval.MethodStatement, approval.Proof{} }, ""},
		{"no method", func(r *approval.Record) { r.Method = "" }, "/method"},
		{"a method that nobody knows", func(r *approval.Record) { r.Method = "agent-policy" }, `"agent-policy" is no method`},
		{"another text on the terminal", func(r *approval.Record) { r.Proof.ShownSHA256 = digest }, "another text was shown"},
		{"no text on the terminal", func(r *approval.Record) { r.Proof = approval.Proof{} }, "another text was shown"},
		{"a later schema", func(r *approval.Record) { r.SchemaVersion = 2 }, "schema version 2"},
		{"another kind", func(r *approval.Record) { r.Kind = "audit" }, `of the kind "audit"`},
		{"another domain", func(r *approval.Record) { swap(r, "domain: skmb", "domain: install") }, "it approves install " + subject},
		{"another subject", func(r *approval.Record) { swap(r, subject, "SKMB-2026-03-01-002") }, "it approves skmb SKMB-2026-03-01-002"},
		{"another digest", func(r *approval.Record) { swap(r, "sha256:0", "sha256:1") }, "another text"},
		{"a longer life", func(r *approval.Record) { swap(r, "expires: 2026-03-03", "expires: 2027-03-03") }, "not in its one form"},
		{"a header more", func(r *approval.Record) { swap(r, "nonce:", "answer: 1\nnonce:") }, "header lines"},
		{"no statement", func(r *approval.Record) { r.Statement = "" }, "/statement"},
		{"another card", func(r *approval.Record) { r.Statement = strings.Replace(r.Statement, "Retry 3", "Retry 9", 1) }, "another text was shown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id, data := forge(t, c.change)
			err := verify(data, id, "skmb", subject, digest)
			if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("got the error %v, want %q in it", err, c.why)
			}
		})
	}

	id, data := forge(t, func(*approval.Record) {})
	for _, c := range []struct{ name, id, domain, subject, digest, why string }{
		{"for another id", "AP-20260302-" + strings.Repeat("0", 20), "skmb", subject, digest, "it is the record " + id},
		{"for another domain", id, "install", subject, digest, "it approves skmb"},
		{"for another subject", id, "skmb", subject + "0", digest, "it approves skmb"},
		{"for another digest", id, "skmb", subject, strings.Repeat("0", 64), "another text"},
		{"for an empty digest", id, "skmb", subject, "", "another text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := verify(data, c.id, c.domain, c.subject, c.digest); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got the error %v, want %q in it", err, c.why)
			}
		})
	}
	t.Run("with any byte changed", func(t *testing.T) {
		for i := range data {
			changed := bytes.Clone(data)
			changed[i] ^= 1
			if verify(changed, id, "skmb", subject, digest) == nil {
				t.Errorf("byte %d: %q verifies", i, changed[max(0, i-20):min(len(changed), i+20)])
			}
			if verify(slices.Delete(bytes.Clone(data), i, i+1), id, "skmb", subject, digest) == nil {
				t.Errorf("without byte %d it verifies", i)
			}
		}
	})
	for name, bad := range map[string]string{"of nothing": "", "of prose": "approved", "of null": "null\n", "of an array": "[]\n", "of an empty object": "{}\n"} {
		t.Run(name, func(t *testing.T) {
			if verify([]byte(bad), id, "skmb", subject, digest) == nil {
				t.Error("verifies")
			}
		})
	}
}

// swap changes a statement and says that the changed one was shown.
func swap(r *approval.Record, old, new string) {
	r.Statement = strings.Replace(r.Statement, old, new, 1)
	sum := sha256.Sum256([]byte(r.Statement))
	r.Proof.ShownSHA256 = hex.EncodeToString(sum[:])
}
