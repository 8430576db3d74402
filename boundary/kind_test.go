package boundary_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/boundary"
	"assent/finding"
	"assent/skmb"
)

// mustPanic fails unless define panics with a text that says why.
func mustPanic(t *testing.T, why string, define func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, why) {
			t.Errorf("panics with %q, want %q in it", got, why)
		}
	}()
	define()
	t.Errorf("does not panic, want %q", why)
}

// define joins a payload to a record that has all of its fields.
func define[P any]() { boundary.Define[P, P]("bad-kind", "") }

type ringA struct {
	B ringB `json:"b" jsonschema_description:"x"`
}

type ringB struct {
	As []ringA `json:"as" jsonschema:"maxItems=1" jsonschema_description:"x"`
}

type nothing string

func (nothing) EnumValues() []string { return nil }

type one string

func (one) EnumValues() []string { return []string{"one"} }

type byPointer string

func (*byPointer) EnumValues() []string { return []string{"one"} }

// Define panics on every pair of types that breaks a rule, so that none is ever shipped.
func TestDefinePanics(t *testing.T) {
	type good struct {
		A string `json:"a" jsonschema:"maxLength=1" text:"line" jsonschema_description:"x"`
	}
	define[good]()
	const flag = `json:"a" jsonschema_description:"x"`
	cases := []struct {
		name, why string
		define    func()
	}{
		{"a field without name", "no json name", define[struct {
			A bool `jsonschema_description:"x"`
		}]},
		{"a field without name in its tag", "no json name", define[struct {
			A bool `json:",omitzero" jsonschema_description:"x"`
		}]},
		{"a field that is left out", "no json name", define[struct {
			A bool `json:"-" jsonschema_description:"x"`
		}]},
		{"an embedded struct", "no json name", define[struct{ good }]},
		{"a field that nobody can fill", "no json name", func() {
			boundary.ShapeOf(reflect.StructOf([]reflect.StructField{{Name: "a", PkgPath: "x", Type: reflect.TypeFor[bool](), Tag: flag}}))
		}},
		{"one name twice", "no json name of its own", func() {
			boundary.ShapeOf(reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[bool](), Tag: flag}, {Name: "B", Type: reflect.TypeFor[bool](), Tag: flag}}))
		}},
		{"no description", "no description", define[struct {
			A bool `json:"a"`
		}]},
		{"a string without bound", "needs maxLength", define[struct {
			A string `json:"a" text:"line" jsonschema_description:"x"`
		}]},
		{"a string that is neither line nor prose", `needs text:"line"`, define[struct {
			A string `json:"a" jsonschema:"maxLength=1" jsonschema_description:"x"`
		}]},
		{"a string of another sort", `needs text:"line"`, define[struct {
			A string `json:"a" jsonschema:"maxLength=1" text:"html" jsonschema_description:"x"`
		}]},
		{"a list without bound", "needs maxItems", define[struct {
			A []bool `json:"a" jsonschema_description:"x"`
		}]},
		{"a list of strings without bound", "needs maxLength", define[struct {
			A []string `json:"a" jsonschema:"maxItems=1" text:"line" jsonschema_description:"x"`
		}]},
		{"a number without lower bound", "needs minimum", define[struct {
			A int `json:"a" jsonschema:"maximum=1" jsonschema_description:"x"`
		}]},
		{"a number without upper bound", "needs maximum", define[struct {
			A int `json:"a" jsonschema:"minimum=1" jsonschema_description:"x"`
		}]},
		{"a bound that is no number", "maxLength is no number", define[struct {
			A string `json:"a" jsonschema:"maxLength=x" text:"line" jsonschema_description:"x"`
		}]},
		{"a misspelt keyword", "minLenght", define[struct {
			A string `json:"a" jsonschema:"maxLength=1,minLenght=1" text:"line" jsonschema_description:"x"`
		}]},
		{"an enum in a tag", "enum", define[struct {
			A string `json:"a" jsonschema:"maxLength=1,enum=a" text:"line" jsonschema_description:"x"`
		}]},
		{"a keyword of another type", "minItems", define[struct {
			A string `json:"a" jsonschema:"maxLength=1,minItems=1" text:"line" jsonschema_description:"x"`
		}]},
		{"a bound of a vocabulary", "maxLength", define[struct {
			A one `json:"a" jsonschema:"maxLength=1" jsonschema_description:"x"`
		}]},
		{"a pattern with a comma", "1}", define[struct {
			A string `json:"a" jsonschema:"maxLength=1,pattern=a{0,1}" text:"line" jsonschema_description:"x"`
		}]},
		{"a pattern that is none", "regexp", define[struct {
			A string `json:"a" jsonschema:"maxLength=1,pattern=(" text:"line" jsonschema_description:"x"`
		}]},
		{"unique numbers", "only strings", define[struct {
			A []int `json:"a" jsonschema:"maxItems=1,uniqueItems=true,minimum=1,maximum=2" jsonschema_description:"x"`
		}]},
		{"an empty vocabulary", "vocabulary is empty", define[struct {
			A nothing `json:"a" jsonschema_description:"x"`
		}]},
		{"a vocabulary of a pointer", "needs maxLength", define[struct {
			A byPointer `json:"a" jsonschema_description:"x"`
		}]},
		{"a float", "a field may be", define[struct {
			A float64 `json:"a" jsonschema_description:"x"`
		}]},
		{"an unsigned number", "a field may be", define[struct {
			A uint `json:"a" jsonschema_description:"x"`
		}]},
		{"bytes", "a field may be", define[struct {
			A []byte `json:"a" jsonschema:"maxItems=1" jsonschema_description:"x"`
		}]},
		{"a map", "a field may be", define[struct {
			A map[string]bool `json:"a" jsonschema_description:"x"`
		}]},
		{"a pointer", "a field may be", define[struct {
			A *bool `json:"a" jsonschema_description:"x"`
		}]},
		{"anything", "a field may be", define[struct {
			A any `json:"a" jsonschema_description:"x"`
		}]},
		{"an array", "a field may be", define[struct {
			A [2]bool `json:"a" jsonschema_description:"x"`
		}]},
		{"a list of lists", "a field may be", define[struct {
			A [][]bool `json:"a" jsonschema:"maxItems=1" jsonschema_description:"x"`
		}]},
		{"a time", "no json name", define[struct {
			A time.Time `json:"a" jsonschema_description:"x"`
		}]},
		{"a type that holds itself", "holds itself", define[ringA]},
		{"a fault deep inside", "needs maxLength", define[struct {
			A []struct {
				B struct {
					C string `json:"c" text:"line" jsonschema_description:"x"`
				} `json:"b" jsonschema_description:"x"`
			} `json:"a" jsonschema:"maxItems=1" jsonschema_description:"x"`
		}]},
		{"a record that lacks a field", "lacks the payload's field a", func() {
			boundary.Define[good, struct {
				B string `json:"b"`
			}]("bad-kind", "")
		}},
		{"a record that has it in another case", "lacks the payload's field a", func() {
			boundary.Define[good, struct {
				A string `json:"A"`
			}]("bad-kind", "")
		}},
		{"a payload with a name of the envelope", "may not bring created_at", func() {
			define[struct {
				At string `json:"created_at" jsonschema:"maxLength=1" text:"line" jsonschema_description:"x"`
			}]()
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { mustPanic(t, c.why, c.define) })
	}
	for _, name := range []string{"", "a", "A-kind", "1kind", "-kind", "a kind", "kind_", "kind2", "a/b", strings.Repeat("k", 42), "kind\n"} {
		t.Run(fmt.Sprintf("the kind name %q", name), func(t *testing.T) {
			mustPanic(t, "bad kind name", func() { boundary.Define[good, good](name, "") })
		})
	}
	for _, name := range []string{"ab", "skmb-decision", "evidence.row", "a--", strings.Repeat("k", 41)} {
		boundary.Define[good, good](name, "")
	}
}

type record struct {
	boundary.Envelope
	Text string   `json:"text"`
	List []string `json:"list"`
}

var noon = time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("", -3600)) // the next day in UTC

func seal(t *testing.T, r record) (id string, data []byte) {
	t.Helper()
	id, data, err := boundary.Seal("AB", &r, func(id string) { r.ID = id }, noon)
	if err != nil {
		t.Fatal(err)
	}
	return id, data
}

func newRecord() record {
	return record{
		Envelope: boundary.Envelope{SchemaVersion: 1, Kind: "a-record", CreatedAt: noon.UTC().Format(time.RFC3339), Basis: boundary.Basis{Revision: 7, Commit: "c0ffee"}, Parents: []string{}, ToolVersion: "v1"},
		Text:     "Größe \u2028 <&> \"\\", List: []string{"a", ""},
	}
}

// A sealed record reads back, and its id and bytes follow from its content alone.
func TestSeal(t *testing.T) {
	id, data := seal(t, newRecord())
	var back record
	if err := boundary.Unseal("AB", data, &back); err != nil {
		t.Fatal(err)
	}
	want := newRecord()
	want.ID = id
	if fmt.Sprintf("%+v", back) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", back, want)
	}

	// The id by other means: encoding/json sorts the keys of a map as RFC 8785 does, as
	// long as they are ASCII.
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "id")
	var bare bytes.Buffer
	enc := json.NewEncoder(&bare)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(members); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.TrimSuffix(bare.String(), "\n"), `\u2028`, "\u2028")
	sum := sha256.Sum256([]byte(text))
	if want := "AB-20260303-" + hex.EncodeToString(sum[:])[:20]; id != want {
		t.Errorf("the id is %s, want %s", id, want)
	}
	if !regexp.MustCompile(`\A\{\n  "basis": \{\n    "commit": "c0ffee",(?s:.*),\n  "tool_version": "v1"\n\}\n\z`).Match(data) {
		t.Errorf("the form is\n%s", data)
	}

	again, same := seal(t, newRecord())
	if again != id || !bytes.Equal(same, data) {
		t.Errorf("two runs give %s and %s", id, again)
	}
	old := newRecord()
	old.ID = "AB-20200101-00000000000000000000" // an id that stood there plays no part
	if again, _ := seal(t, old); again != id {
		t.Errorf("with an old id the id is %s, want %s", again, id)
	}
	zone := newRecord()
	zone.CreatedAt = noon.Format(time.RFC3339) // the day of the id is that of UTC all the same
	if id, data := seal(t, zone); !strings.HasPrefix(id, "AB-20260303-") || boundary.Unseal("AB", data, new(record)) != nil {
		t.Errorf("a record of another zone has the id %s and gives %v", id, boundary.Unseal("AB", data, new(record)))
	}
	other := newRecord()
	other.List[1] = "b"
	if again, _ := seal(t, other); again == id {
		t.Error("another content has the same id")
	}
}

// A record of which any byte was changed, taken out or put in is refused.
func TestUnsealRefusesEveryChange(t *testing.T) {
	_, data := seal(t, newRecord())
	tried := 0
	refuses := func(what string, changed []byte) {
		tried++
		if err := boundary.Unseal("AB", changed, new(record)); err == nil {
			t.Errorf("%s is taken:\n%s", what, changed)
		}
	}
	for i, c := range data {
		at := fmt.Sprintf("byte %d (%q) ", i, c)
		for _, to := range []byte{c ^ 1, c ^ 0x20, c ^ 0x80, ' ', '0', '}', 0, 0xff} {
			if to != c {
				changed := bytes.Clone(data)
				changed[i] = to
				refuses(fmt.Sprintf("%schanged to %q", at, to), changed)
			}
		}
		refuses(at+"taken out", slices.Delete(bytes.Clone(data), i, i+1))
		for _, in := range []byte{' ', '\n', '\t', '0', '"'} {
			refuses(fmt.Sprintf("%safter %q", at, in), slices.Insert(bytes.Clone(data), i, in))
		}
		refuses("what stands before "+at, data[:i])
	}
	for _, more := range []string{"\n", " ", "{}", "\x00"} {
		refuses(fmt.Sprintf("%q behind it", more), append(bytes.Clone(data), more...))
	}
	refuses("CR LF", bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	if tried < 2000 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// Whoever can compute an id still gets no record in that breaks the form.
func TestUnsealRefuses(t *testing.T) {
	id, data := seal(t, newRecord())
	replaced := func(old, new string) []byte {
		if !strings.Contains(string(data), old) {
			t.Fatalf("%q is not in\n%s", old, data)
		}
		return []byte(strings.Replace(string(data), old, new, 1))
	}
	type more struct {
		record
		Zone string `json:"zone"`
	}
	wide := more{record: newRecord(), Zone: "x"}
	_, surplus, err := boundary.Seal("AB", &wide, func(id string) { wide.ID = id }, noon)
	if err != nil {
		t.Fatal(err)
	}
	timeless := newRecord()
	timeless.CreatedAt = "yesterday"
	_, untimed, err := boundary.Seal("AB", &timeless, func(id string) { timeless.ID = id }, noon)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		prefix string
		data   []byte
		why    string
	}{
		{"an unknown member", "AB", surplus, "zone"},
		{"another prefix", "AC", data, "its id is"},
		{"another day", "AB", replaced(id, strings.Replace(id, "20260303", "20260304", 1)), "its id is"},
		{"no day", "AB", replaced(id, strings.Replace(id, "20260303", "", 1)), "its id is"},
		{"no id", "AB", replaced(id, ""), "its id is"},
		{"a longer id", "AB", replaced(id, id+"0"), "its id is"},
		{"an id in capitals", "AB", replaced(id, strings.ToUpper(id)), "its id is"},
		{"a time that is none", "AB", untimed, "created_at"},
		{"a name twice", "AB", replaced(`"kind": "a-record",`, "\"kind\": \"a-record\",\n  \"kind\": \"a-record\","), "duplicate"},
		{"a name in another case", "AB", replaced(`"kind"`, `"Kind"`), "Kind"},
		{"a value of another type", "AB", replaced(`"v1"`, `1`), "tool_version"},
		{"other member order", "AB", replaced("\"kind\": \"a-record\",\n  \"list\": [\n    \"a\",\n    \"\"\n  ],", "\"list\": [\n    \"a\",\n    \"\"\n  ],\n  \"kind\": \"a-record\","), "stored form"},
		{"an escape that need not be", "AB", replaced("Größe", `Gr\u00f6ße`), "stored form"},
		{"a number written otherwise", "AB", replaced(`"revision": 7`, `"revision": 70e-1`), ""},
		{"one line", "AB", bytes.ReplaceAll(data, []byte("\n"), nil), "stored form"},
		{"no newline at the end", "AB", bytes.TrimSuffix(data, []byte("\n")), "stored form"},
		{"a byte order mark", "AB", append([]byte("\ufeff"), data...), ""},
		{"an array", "AB", append(append([]byte("["), data...), ']'), ""},
		{"null", "AB", []byte("null\n"), ""},
		{"an empty object", "AB", []byte("{}\n"), "created_at"},
		{"nothing", "AB", nil, ""},
		{"bytes that are not UTF-8", "AB", replaced("c0ffee", "c0ffe\xff"), "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := boundary.Unseal(c.prefix, c.data, new(record))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got the error %v, want %q in it", err, c.why)
			}
		})
	}
	t.Run("text that is not UTF-8 is not sealed", func(t *testing.T) {
		r := newRecord()
		r.Text = "\xff"
		if id, _, err := boundary.Seal("AB", &r, func(id string) { r.ID = id }, noon); err == nil {
			t.Errorf("sealed as %s", id)
		}
	})
}

// Equal submissions are equal however they are written; others are not.
func TestRequest(t *testing.T) {
	request := func(doc string) string {
		t.Helper()
		p, err := skmb.DecisionKind.Read(strings.NewReader(doc), "")
		if err != nil {
			t.Fatal(err)
		}
		return p.Request
	}
	const doc = `{"title":"T é","patterns":["A"],"scope":"s","decision":"d","applies_to":["x","y"]}`
	want := request(doc)
	if len(want) != 64 {
		t.Errorf("the request is %q", want)
	}
	for name, same := range map[string]string{
		"other blanks":  strings.ReplaceAll(doc, ",", " ,\n\t"),
		"other order":   `{"applies_to":["x","y"],"decision":"d","scope":"s","patterns":["A"],"title":"T é"}`,
		"other escapes": strings.ReplaceAll(doc, "é", `\u00e9`),
	} {
		if got := request(same); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, other := range map[string]string{
		"other text":           strings.Replace(doc, "T", "t", 1),
		"other order of items": strings.Replace(doc, `"x","y"`, `"y","x"`, 1),
		"a field more":         strings.Replace(doc, "{", `{"context":"c",`, 1),
		"composed otherwise":   strings.Replace(doc, "é", `e\u0301`, 1),
	} {
		if got := request(other); got == want {
			t.Errorf("%s: the same request", name)
		}
	}
}

// Only what passes form and rules is persisted, and an answer tells what was.
func TestSubmit(t *testing.T) {
	broken := errors.New("disk full")
	type step struct {
		name, doc string
		rules     func(*boundary.Payload[skmb.DecisionPayload])
		persist   error
		want      []string // of the refusal
		calls     string
	}
	example := strings.Replace(skmb.DecisionKind.Example, "{", "{\n", 1)
	for _, s := range []step{
		{"accepted", example, nil, nil, nil, "rules persist"},
		{"bad form", "{}", nil, nil, []string{
			"1:1 boundary/missing-field /title", "1:1 boundary/missing-field /patterns", "1:1 boundary/missing-field /scope", "1:1 boundary/missing-field /decision", "1:1 boundary/missing-field /applies_to"}, ""},
		{"rules object", example, func(p *boundary.Payload[skmb.DecisionPayload]) {
			p.Violate("boundary/ref-unknown", "/applies_to/0", "a hint", "one")
			p.Violate("skmb/rule", "/title", "", "two")
			p.Violate("boundary/policy-denied", "/title", "", "first by its code")
			p.Violate("skmb/rule", "/no/such", "", "three")
		}, nil, []string{"1:1 skmb/rule /no/such", "2:9 boundary/policy-denied /title", "2:9 skmb/rule /title", "2:167 boundary/ref-unknown /applies_to/0"}, "rules"},
		{"not persisted", example, nil, broken, nil, "rules persist"},
	} {
		t.Run(s.name, func(t *testing.T) {
			var calls []string
			p, err := skmb.DecisionKind.Read(strings.NewReader(s.doc), "<stdin>")
			var a boundary.Answer
			rules := func(p *boundary.Payload[skmb.DecisionPayload]) {
				calls = append(calls, "rules")
				if s.rules != nil {
					s.rules(p)
				}
			}
			persist := func(_ context.Context, p *boundary.Payload[skmb.DecisionPayload]) (boundary.Answer, error) {
				calls = append(calls, "persist")
				return boundary.Answer{IDs: []string{p.Value.Title}, AuditID: "a:1", Replayed: true}, s.persist
			}
			if err == nil {
				a, err = boundary.Submit(t.Context(), skmb.DecisionKind, p, rules, persist)
			}
			if got := strings.Join(calls, " "); got != s.calls {
				t.Errorf("calls %q, want %q", got, s.calls)
			}
			switch {
			case s.persist != nil:
				if !errors.Is(err, s.persist) || a.Accepted {
					t.Errorf("got %+v, %v", a, err)
				}
			case s.want != nil:
				r := refusal(t, err)
				if got := told(r.Violations); !slices.Equal(got, s.want) || a.Accepted || r.Source != "<stdin>" {
					t.Errorf("got  %q\nwant %q\nfrom %s, %+v", got, s.want, r.Source, a)
				}
			default:
				want := boundary.Answer{SchemaVersion: 1, Kind: "skmb-decision", Accepted: true, IDs: []string{"Approval notifier failure"}, AuditID: "a:1", Replayed: true}
				if err != nil || fmt.Sprint(a) != fmt.Sprint(want) {
					t.Errorf("got  %+v, %v\nwant %+v", a, err, want)
				}
			}
		})
	}
}

// A value of another format is judged by the same shape, beside what its reader found.
func TestCheckNode(t *testing.T) {
	n := &boundary.Node{Kind: boundary.Object, Pos: boundary.Pos{Offset: 5, Line: 2, Column: 1}}
	err := boundary.CheckNode[deep](n, "file.yaml", []boundary.Violation{boundary.NewViolation("boundary/type", "/x", boundary.Pos{Offset: 9, Line: 3, Column: 4}, "odd")})
	r := refusal(t, err)
	if got, want := told(r.Violations), []string{"2:1 boundary/missing-field /level", "3:4 boundary/type /x"}; !slices.Equal(got, want) || r.ExitCode() != finding.ExitInvalid {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.HasPrefix(r.Error(), "file.yaml:2:1: boundary/missing-field /level: level is missing: the one number\n") {
		t.Errorf("got %s", r)
	}
	n.Members = []*boundary.Node{{Kind: boundary.Number, Name: "level", Text: "1"}}
	if err := boundary.CheckNode[deep](n, "file.yaml", nil); err != nil {
		t.Error(err)
	}
}
