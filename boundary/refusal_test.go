package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/boundary"
	"assent/finding"
	"assent/skmb"
	"assent/store"
)

// A command answers with the first of 3, 2, 4 and 1; 5 comes alone.
func TestRefusalExitCode(t *testing.T) {
	const (
		unchecked = "boundary/record-invalid"
		invalid   = "boundary/ref-unknown"
		stale     = "boundary/revision-stale"
		denied    = "boundary/policy-denied"
		busy      = "boundary/busy"
	)
	cases := []struct {
		name  string
		codes []string
		want  int
	}{
		{"unchecked before all", []string{busy, denied, stale, invalid, unchecked}, finding.ExitUnchecked},
		{"invalid before stale", []string{busy, denied, stale, invalid}, finding.ExitInvalid},
		{"stale before denied", []string{busy, denied, stale}, finding.ExitStale},
		{"denied before busy", []string{busy, denied}, finding.ExitFindings},
		{"busy alone", []string{busy}, finding.ExitBusy},
		{"a rule of a domain", []string{"skmb/rule", denied}, finding.ExitInvalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := objected(t, "", func(i *boundary.Item[everyPayload]) {
				for _, code := range c.codes {
					i.Violate(code, "/name", "", "x")
				}
			})
			if got := r.ExitCode(); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
	t.Run("what is not listed counts", func(t *testing.T) {
		r := objected(t, "", func(o *boundary.Item[everyPayload]) {
			for i := range 300 {
				o.Violate(denied, []string{"/score", "/name"}[i%2], "", "%d", i)
			}
			o.Violate(invalid, "/flags", "", "x")
		})
		if len(r.Violations) != 200 || r.Count != 301 || r.ExitCode() != finding.ExitInvalid {
			t.Errorf("%d of %d violations are listed, exit code %d", len(r.Violations), r.Count, r.ExitCode())
		}
		for i, v := range r.Violations {
			want := 2*i + 1 // of one place in the order of noting, the name before the score
			if i >= 150 {
				want = 2 * (i - 150)
			}
			if v.Message != fmt.Sprint(want) {
				t.Fatalf("violation %d is the one of number %s, want %d", i, v.Message, want)
			}
		}
	})
}

// objected is the refusal of a payload to which a rule has objections.
func objected(t *testing.T, source string, rule func(*boundary.Item[everyPayload])) *boundary.Refusal {
	t.Helper()
	k := boundary.Define[everyPayload, everyRecord](boundary.Spec[everyPayload, struct{}]{
		Form:  boundary.Form{Name: "every-type", Version: 1, Example: everyExample},
		Rules: []boundary.Rule[everyPayload, struct{}]{{Judge: func(i *boundary.Item[everyPayload], _ struct{}) { rule(i) }}},
	})
	_, err := k.Submit(t.Context(), k.Parse(strings.NewReader(everyExample), source), door(t), boundary.Task[everyPayload, struct{}]{
		World: func(context.Context) (w struct{}, err error) { return w, nil },
		Write: func(*store.Tx, *boundary.Payload[everyPayload], struct{}) (boundary.Taken, error) {
			t.Error("it was written")
			return boundary.Taken{}, nil
		},
	})
	return refusal(t, err)
}

// A refusal lists 200 violations and tells how many there are.
func TestRefusalIsBounded(t *testing.T) {
	for _, n := range []int{200, 201, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var doc strings.Builder
			doc.WriteString(strings.TrimSuffix(skmb.DecisionKind.Example, "}"))
			for i := range n {
				fmt.Fprintf(&doc, ",\n\"u%d\":1", i)
			}
			doc.WriteString("}")
			_, err := skmb.DecisionKind.Read(strings.NewReader(doc.String()), "<stdin>")
			r := refusal(t, err)
			if len(r.Violations) != 200 || r.Count != n {
				t.Errorf("%d of %d are listed, want 200 of %d", len(r.Violations), r.Count, n)
			}
			for i, v := range r.Violations {
				if want := fmt.Sprintf("/u%d", i); v.Pointer != want || v.Line != i+2 {
					t.Fatalf("violation %d is of %s on line %d, want %s on line %d", i, v.Pointer, v.Line, want, i+2)
				}
			}
			more := fmt.Sprintf("\nand %d more", n-200)
			if got := strings.HasSuffix(r.Error(), more); got != (n > 200) {
				t.Errorf("the text ends in %q", r.Error()[len(r.Error())-40:])
			}
			d := r.Document()
			if d.Truncated != (n > 200) || d.Count != n || d.Accepted || d.Exit != finding.ExitInvalid || d.SchemaVersion != 1 {
				t.Errorf("the document is %+v", d)
			}
		})
	}
}

// The text has a line for a violation and one for its hint, whatever the input holds.
func TestRefusalText(t *testing.T) {
	cases := []struct{ name, doc, want string }{
		{"a field in another case", `{"Title":1,"zz":2}`, "<stdin>:1:2: boundary/unknown-field /Title: there is no field \"Title\"\n  hint: did you mean title?\n" +
			`<stdin>:1:12: boundary/unknown-field /zz: there is no field "zz"`},
		{"a field without underscores", `{"appliesTo":[]}`, "<stdin>:1:2: boundary/unknown-field /appliesTo: there is no field \"appliesTo\"\n  hint: did you mean applies_to?"},
		{"a slip of the pen", `{"decison":"a"}`, "<stdin>:1:2: boundary/unknown-field /decison: there is no field \"decison\"\n  hint: did you mean decision?"},
		{"a name that forges a line", `{"a\n<stdin>:1:1: boundary/enum /b: c":1}`, `<stdin>:1:2: boundary/unknown-field /a <stdin>:1:1: boundary~1enum ~1b: c: there is no field "a <stdin>:1:1: boundary/enum /b: c"`},
		{"a name that colours", `{"\u001b[31ma\u202e":1}`, `<stdin>:1:2: boundary/unknown-field /a: there is no field "a"`},
		{"a value that forges a line", `{"patterns":["Z\n<stdin>:1:1: x"]}`, "<stdin>:1:14: boundary/enum /patterns/0: must be one of "},
		{"a name of a kilobyte", `{"` + strings.Repeat("é", 500) + `":1}`, `<stdin>:1:2: boundary/unknown-field /` + strings.Repeat("é", 38) + `…: there is no field "` + strings.Repeat("é", 38) + `…"`},
		{"a syntax error below a name", `{"` + strings.Repeat("k", 300) + "\\n\":\x00}", `<stdin>:1:307: boundary/json-syntax /: this is no JSON: invalid character '\x00' at start of value` + "\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := skmb.DecisionKind.Read(strings.NewReader(c.doc), "<stdin>")
			r := refusal(t, err)
			var lines []string
			hints := 0
			for _, l := range strings.Split(r.Error(), "\n") {
				if strings.HasPrefix(l, "  hint: ") {
					hints++
				} else {
					lines = append(lines, l)
				}
			}
			if len(lines) != len(r.Violations) {
				t.Errorf("%d lines for %d violations:\n%s", len(lines), len(r.Violations), r)
			}
			if !strings.Contains(r.Error()+"\n", c.want) {
				t.Errorf("got\n%s\nwant in it\n%s", r, c.want)
			}
			if finding.CleanLines(r.Error()) != r.Error() {
				t.Errorf("not fit for a terminal: %q", r.Error())
			}
		})
	}
}

// A rule of a domain may quote what it likes; it breaks no line either.
func TestRefusalOfARule(t *testing.T) {
	r := objected(t, "payload.json", func(i *boundary.Item[everyPayload]) {
		i.Violate("skmb/rule", "/score", "known: a\nb\u202e", "there is no %s", "c\n<stdin>:1:1: x\x1b[2K")
	})
	want := "payload.json:1:22: skmb/rule /score: there is no c <stdin>:1:1: x\n  hint: known: a b"
	if got := r.Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if v := r.Violations[0]; v.Hint != "known: a\nb\u202e" || v.Stage != 5 || v.Class != boundary.InvalidPayload {
		t.Errorf("got %+v", v)
	}
}

// What was found is told in at most 80 bytes of clean text.
func TestGot(t *testing.T) {
	cases := []struct{ name, value, want string }{
		{"short", `"Z"`, "Z"},
		{"a number", "12", "12"},
		{"80 bytes", `"` + strings.Repeat("Z", 80) + `"`, strings.Repeat("Z", 80)},
		{"81 bytes", `"` + strings.Repeat("Z", 81) + `"`, strings.Repeat("Z", 77) + "…"},
		{"cut inside a character", `"` + strings.Repeat("𝄞", 21) + `"`, strings.Repeat("𝄞", 19) + "…"},
		{"controls", `"Z\u001b[2J\u202e\n\u0000Z"`, "Z Z"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc := strings.Replace(skmb.DecisionKind.Example, `["F"]`, "["+c.value+"]", 1)
			_, err := skmb.DecisionKind.Read(strings.NewReader(doc), "")
			got := refusal(t, err).Violations[0].Got
			if got != c.want || len(got) > 80 || !utf8.ValidString(got) {
				t.Errorf("got %q (%d bytes), want %q", got, len(got), c.want)
			}
		})
	}
}

// The document for programs is JSON in which nothing hides, and its example is taken.
func TestRefusalDocument(t *testing.T) {
	_, err := skmb.DecisionKind.Read(strings.NewReader(`{"\u202e~/":1, "patterns": ["\u0007"]}`), "<stdin>")
	b, err := finding.Document(refusal(t, err).Document())
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(b), "\u202e\u0007") {
		t.Errorf("holds a control: %q", b)
	}
	var d struct {
		Kind       string
		Accepted   bool
		Violations []map[string]any
		Example    json.RawMessage
		Exit       int
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if v := d.Violations[4]; v["pointer"] != "/\u202e~0~1" || v["line"] != 1.0 || v["column"] != 2.0 || v["retry_class"] != "invalid-payload" || v["stage"] != 3.0 {
		t.Errorf("got %v", v)
	}
	if _, err := skmb.DecisionKind.Read(strings.NewReader(string(d.Example)), ""); err != nil || d.Kind != "skmb-decision" || d.Accepted || d.Exit != 2 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// The nearest name is a hint for a slip, and no guess.
func TestNearest(t *testing.T) {
	known := []string{"title", "applies_to", "id", "needed_before"}
	cases := []struct{ name, want string }{
		{"Title", "title"}, {"TITLE", "title"}, {"titel", "title"}, {"titles", "title"}, {"tite", "title"}, {"appliesTo", "applies_to"}, {"applies-to", "applies_to"},
		{"ID", "id"}, {"ids", "id"}, {"needed before", "needed_before"},
		{"xy", ""}, {"", ""}, {"t", ""}, {"status", ""}, {"titlexxx", ""}, {strings.Repeat("title", 10), ""}, {"ти", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := boundary.Nearest(c.name, known); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
