package finding_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"assent/finding"
)

// golden is the document of the hostile result: every control, bidirectional and
// invisible character is escaped, and a path that is not UTF-8 is there as it is, too.
const golden = `{
  "schema_version": 1,
  "tool": "v1",
  "mode": "staged",
  "base": "",
  "head": "HE\u202eAD",
  "examined": {
    "files": 3,
    "commits": 0
  },
  "findings": [
    {
      "code": "skmb/pair",
      "severity": "warning",
      "title": "half",
      "message": "half a base",
      "fix": "skmb init",
      "path": "",
      "fingerprint": "4e2f",
      "state": "new"
    },
    {
      "code": "skmb/unresolved",
      "severity": "error",
      "title": "a decision is open",
      "message": "forged \ndocs/a.md:1:1: error x/y: z\u001b[2K",
      "fix": "skmb approve \u202e --statement",
      "path": "docs/\nisme.md",
      "line": 2,
      "column": 7,
      "end_line": 2,
      "end_column": 9,
      "fingerprint": "4e2f",
      "state": "new"
    },
    {
      "code": "skmb/twin",
      "severity": "error",
      "title": "twin",
      "message": "one",
      "path": "docs/naïve.md",
      "fingerprint": "4e2f",
      "state": "new"
    },
    {
      "code": "skmb/twin",
      "severity": "error",
      "title": "twin",
      "message": "one",
      "path": "docs/naïve.md",
      "fingerprint": "4e2f",
      "state": "new"
    },
    {
      "code": "skmb/note",
      "severity": "info",
      "title": "note",
      "message": "a\u007f no\u0085te",
      "path": "docs/naïve.md",
      "line": 9,
      "column": 9,
      "fingerprint": "4e2f",
      "state": "new"
    },
    {
      "code": "skmb/bytes",
      "severity": "error",
      "title": "bytes",
      "message": "�",
      "path": "docs/�.md",
      "path_base64": "ZG9jcy//Lm1k",
      "line": 1,
      "column": 1,
      "fingerprint": "4e2f",
      "state": "new"
    }
  ],
  "unchecked": [
    {
      "code": "lint/check-failed",
      "message": "it broke\nhere",
      "fix": "try\tagain"
    },
    {
      "code": "lint/object-missing",
      "message": "gone"
    }
  ],
  "summary": {
    "errors": 4,
    "warnings": 1,
    "infos": 1,
    "baselined": 0,
    "unchecked": 2
  },
  "exit": 1
}
`

// The report is one document whose bytes follow from the result alone.
func TestWriteJSON(t *testing.T) {
	r := finding.Report{Result: hostile(), Tool: "v1", Mode: "staged", Head: "HE\u202eAD", Files: 3, LastHint: "for the text only"}
	want := golden
	for _, p := range finding.Fingerprints(r.Findings) {
		want = strings.Replace(want, `"4e2f"`, `"`+p+`"`, 1)
	}
	for range 2 {
		var out bytes.Buffer
		if err := finding.WriteJSON(&out, r); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
		if !json.Valid(out.Bytes()) {
			t.Error("no JSON")
		}
	}
	t.Run("of nothing", func(t *testing.T) {
		var out bytes.Buffer
		if err := finding.WriteJSON(&out, finding.Report{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"findings": []`, `"unchecked": []`, `"exit": 0`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %s in\n%s", want, out.String())
			}
		}
	})
	t.Run("to a writer that breaks", func(t *testing.T) {
		broken := errors.New("broken")
		if err := finding.WriteJSON(refusing{broken}, r); !errors.Is(err, broken) {
			t.Errorf("JSON: %v", err)
		}
		if err := finding.WriteText(refusing{broken}, r); !errors.Is(err, broken) {
			t.Errorf("text: %v", err)
		}
	})
}

type refusing struct{ err error }

func (w refusing) Write([]byte) (int, error) { return 0, w.err }

// Every character of Unicode goes through a document and comes back, and none that is
// unsafe stands in it.
func TestDocument(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r <= 0x10ffff; r++ {
		if r < 0xd800 || r > 0xdfff {
			all.WriteRune(r)
		}
	}
	b, err := finding.Document(map[string]string{"\u202e": all.String()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range string(b) {
		if finding.Unsafe(r) && r != '\n' {
			t.Errorf("U+%04X stands in the document", r)
		}
	}
	if lines := bytes.Count(b, []byte("\n")); lines != 3 || !bytes.HasSuffix(b, []byte("}\n")) {
		t.Errorf("%d lines", lines)
	}
	var back map[string]string
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, map[string]string{"\u202e": all.String()}) {
		t.Errorf("does not come back: %v", err)
	}
	if b, err := finding.Document("a\xffb"); err != nil || string(b) != "\"a\ufffdb\"\n" {
		t.Errorf("bytes that are not UTF-8: %q, %v", b, err)
	}
	if _, err := finding.Document(func() {}); err == nil {
		t.Error("a function has a document")
	}
}
