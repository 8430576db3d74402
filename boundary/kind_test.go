package boundary_test

import (
	"bytes"
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

// kind joins a payload to a record, for tests of its form.
func kind[P, R any](name, example string) *boundary.Kind[P, struct{}] {
	return boundary.Define[P, R](boundary.Spec[P, struct{}]{Form: boundary.Form{Name: name, Version: 1, Example: example}})
}

// define joins a payload to a record that has all of its fields.
func define[P any]() { kind[P, P]("bad-kind", "").Ready() }

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
		{"a record that lacks a field", "lacks the payload's field /a", func() {
			kind[good, struct {
				B string `json:"b" jsonschema:"maxLength=1" text:"line" jsonschema_description:"x"`
			}]("bad-kind", "").Ready()
		}},
		{"a record that has it in another case", "lacks the payload's field /a", func() {
			kind[good, struct {
				A string `json:"A" jsonschema:"maxLength=1" text:"line" jsonschema_description:"x"`
			}]("bad-kind", "").Ready()
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
			mustPanic(t, "bad kind name", func() { kind[good, good](name, "").Ready() })
		})
	}
	for _, name := range []string{"ab", "skmb-decision", "evidence.row", "a--", strings.Repeat("k", 41)} {
		kind[good, good](name, "").Ready()
	}
}

type record struct {
	boundary.Envelope
	Text string   `json:"text" jsonschema:"maxLength=100" text:"lines" jsonschema_description:"x"`
	List []string `json:"list" jsonschema:"maxItems=5,maxLength=100" text:"line" jsonschema_description:"x"`
}

var recordKind = boundary.DefineRecord[record](boundary.Form{Name: "a-record", Version: 1, Prefix: "AB", Home: boundary.Tracked})

var noon = time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("", -3600)) // the next day in UTC

func seal(t *testing.T, r record) (id string, data []byte) {
	t.Helper()
	id, data, err := recordKind.Seal(&r, func(id string) { r.ID = id }, noon)
	if err != nil {
		t.Fatal(err)
	}
	return id, data
}

func newRecord() record {
	return record{
		Envelope: boundary.Envelope{SchemaVersion: 1, Kind: "a-record", CreatedAt: noon.UTC().Format(time.RFC3339), Basis: boundary.Basis{Revision: 7, Commit: "c0ffee"}, Parents: []string{}, ToolVersion: "v1"},
		Text:     "Größe \n <&> \"\\", List: []string{"a", "b"},
	}
}

// A sealed record reads back, and its id and bytes follow from its content alone.
func TestSeal(t *testing.T) {
	id, data := seal(t, newRecord())
	var back record
	if err := recordKind.Unseal(data, &back); err != nil {
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
	text := strings.TrimSuffix(bare.String(), "\n")
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
	other := newRecord()
	other.List[1] = "c"
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
		if err := recordKind.Unseal(changed, new(record)); err == nil {
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

func recordIDOf(data []byte) string {
	var r record
	_ = json.Unmarshal(data, &r)
	return r.ID
}

// forged is a record with an id that follows from its content, as anybody can compute it.
func forged(t *testing.T, change func(members map[string]any)) []byte {
	t.Helper()
	_, data := seal(t, newRecord())
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	change(members)
	delete(members, "id")
	write := func(indent string) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", indent)
		if err := enc.Encode(members); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	sum := sha256.Sum256([]byte(strings.TrimSuffix(write(""), "\n")))
	members["id"] = "AB-20260303-" + hex.EncodeToString(sum[:])[:20]
	return []byte(write("  "))
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
	if same := forged(t, func(map[string]any) {}); !bytes.Equal(same, data) {
		t.Fatalf("a forgery without a change is\n%s\nnot\n%s", same, data)
	}
	const unparsable, shape, form, ident = "boundary/record-unparsable", "boundary/record-shape", "boundary/record-bytes", "boundary/record-id"
	cases := []struct {
		name, code string
		data       []byte
		why        string
	}{
		{"an unknown member", shape, forged(t, func(m map[string]any) { m["zone"] = "x" }), "zone"},
		{"a member less", shape, forged(t, func(m map[string]any) { delete(m, "text") }), "text is missing"},
		{"a text that is too long", shape, forged(t, func(m map[string]any) { m["text"] = strings.Repeat("x", 101) }), "/text"},
		{"a text that hides", shape, forged(t, func(m map[string]any) { m["text"] = "a\u202eb" }), "U+202E"},
		{"another kind", shape, forged(t, func(m map[string]any) { m["kind"] = "b-record" }), `of the kind "b-record"`},
		{"a later version", "boundary/schema-version", forged(t, func(m map[string]any) { m["schema_version"] = 2 }), "knows up to 1"},
		{"version 0", shape, forged(t, func(m map[string]any) { m["schema_version"] = 0 }), "versions begin with 1"},
		{"a version that is no number", shape, forged(t, func(m map[string]any) { m["schema_version"] = "1" }), "/schema_version"},
		{"a time that is none", shape, forged(t, func(m map[string]any) { m["created_at"] = "yesterday, about noon" }), "/created_at"},
		{"a time of another form", shape, forged(t, func(m map[string]any) { m["created_at"] = "2026-13-02T11:00:00Z" }), "/created_at"},
		{"another day", ident, replaced(id, strings.Replace(id, "20260303", "20260304", 1)), "its id is"},
		{"no day", ident, replaced(id, strings.Replace(id, "20260303", "", 1)), "its id is"},
		{"another prefix", ident, replaced(id, "AC"+id[2:]), "its id is"},
		{"no id", shape, replaced(id, ""), "/id"},
		{"a longer id", ident, replaced(id, id+"0"), "its id is"},
		{"an id in capitals", ident, replaced(id, strings.ToUpper(id)), "its id is"},
		{"a name twice", unparsable, replaced(`"kind": "a-record",`, "\"kind\": \"a-record\",\n  \"kind\": \"a-record\","), "twice"},
		{"a name in another case", shape, replaced(`"kind"`, `"Kind"`), "Kind"},
		{"a value of another type", shape, replaced(`"v1"`, `1`), "tool_version"},
		{"other member order", form, replaced("\"kind\": \"a-record\",\n  \"list\": [\n    \"a\",\n    \"b\"\n  ],", "\"list\": [\n    \"a\",\n    \"b\"\n  ],\n  \"kind\": \"a-record\","), "stored form"},
		{"an escape that need not be", form, replaced("Größe", `Gr\u00f6ße`), "stored form"},
		{"a number written otherwise", unparsable, replaced(`"revision": 7`, `"revision": 70e-1`), "plainly"},
		{"one line", form, bytes.ReplaceAll(data, []byte("\n"), nil), "stored form"},
		{"no newline at the end", form, bytes.TrimSuffix(data, []byte("\n")), "stored form"},
		{"a byte order mark", unparsable, append([]byte("\ufeff"), data...), ""},
		{"an array", unparsable, append(append([]byte("["), data...), ']'), ""},
		{"null", unparsable, []byte("null\n"), ""},
		{"an empty object", shape, []byte("{}\n"), "missing"},
		{"nothing", unparsable, nil, ""},
		{"bytes that are not UTF-8", unparsable, replaced("c0ffee", "c0ffe\xff"), "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := recordKind.Unseal(c.data, new(record))
			var e *boundary.RecordError
			if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got the error %v (%+v), want %s with %q in it", err, e, c.code, c.why)
			}
		})
	}
}

// A record that breaks the rules of its own kind is not written: that is the program's fault,
// and named as such.
func TestSealRefuses(t *testing.T) {
	for name, change := range map[string]func(*record){
		"a text that is too long":  func(r *record) { r.Text = strings.Repeat("x", 101) },
		"a text that hides":        func(r *record) { r.Text = "a\u202eb" },
		"an item too many":         func(r *record) { r.List = make([]string, 6) },
		"no version":               func(r *record) { r.SchemaVersion = 0 },
		"a number below its range": func(r *record) { r.Basis.Revision = -1 },
		"another kind":             func(r *record) { r.Kind = "b-record" },
		"a later version":          func(r *record) { r.SchemaVersion = 2 },
		"another day than its id":  func(r *record) { r.CreatedAt = "2026-03-04T00:30:00Z" },
		"no time":                  func(r *record) { r.CreatedAt = "about noon, yesterday" },
	} {
		r := newRecord()
		change(&r)
		id, data, err := recordKind.Seal(&r, func(id string) { r.ID = id }, noon)
		var invalid *boundary.InvalidRecord
		if !errors.As(err, &invalid) || id != "" || data != nil || !strings.Contains(err.Error(), "a fault of the program") {
			t.Errorf("%s: %s, %v", name, id, err)
		}
	}
	r := newRecord()
	r.Text = "\xff"
	if id, _, err := recordKind.Seal(&r, func(id string) { r.ID = id }, noon); err == nil {
		t.Errorf("text that is not UTF-8 is sealed as %s", id)
	}
	if _, _, err := recordKind.Seal(&boundary.Envelope{}, func(string) {}, noon); err == nil {
		t.Error("a record of another type is sealed")
	}
}

// Records of an older version are read as the present one, and stay what they are: the id is
// that of their own bytes.
func TestUpcast(t *testing.T) {
	type newer struct {
		boundary.Envelope
		Words string   `json:"words" jsonschema:"maxLength=100" text:"lines" jsonschema_description:"x"`
		List  []string `json:"list" jsonschema:"maxItems=5,maxLength=100" text:"line" jsonschema_description:"x"`
		Mark  string   `json:"mark" jsonschema:"maxLength=100" text:"line" jsonschema_description:"x"`
	}
	type older struct {
		boundary.Envelope
		Words string   `json:"words" jsonschema:"maxLength=100" text:"lines" jsonschema_description:"x"`
		List  []string `json:"list" jsonschema:"maxItems=5,maxLength=100" text:"line" jsonschema_description:"x"`
	}
	var steps []string
	form := boundary.DefineRecord[newer](boundary.Form{Name: "a-record", Version: 3, Prefix: "AB", Home: boundary.Tracked, Older: []boundary.Older{
		{Record: record{}, Lift: func(n *boundary.Node) { steps = append(steps, "1"); n.Member("text").Name = "words" }},
		{Record: older{}, Lift: func(n *boundary.Node) {
			steps = append(steps, "2")
			n.Members = append(n.Members, &boundary.Node{Kind: boundary.String, Name: "mark", Text: "was older"})
		}},
	}})
	id, data := seal(t, newRecord())
	var got newer
	if err := form.Unseal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Words != newRecord().Text || got.Mark != "was older" || got.ID != id || got.SchemaVersion != 3 || strings.Join(steps, "") != "12" {
		t.Errorf("got %+v by the steps %v", got, steps)
	}
	if err := form.Unseal(bytes.Replace(data, []byte("Größe"), []byte("Grosse"), 1), &got); err == nil {
		t.Error("an older record that was changed is taken")
	}
	// It has the form of its own version, and nothing of a later one.
	for name, bad := range map[string][]byte{
		"a record with a member of a later version": forged(t, func(m map[string]any) { m["mark"] = "x" }),
		"a record without a member of its version":  forged(t, func(m map[string]any) { delete(m, "text") }),
		"nothing but a version":                     []byte("{\n  \"schema_version\": 1\n}\n"),
	} {
		var e *boundary.RecordError
		if err := form.Unseal(bad, &got); !errors.As(err, &e) || e.Code != "boundary/record-shape" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for versions, up := range map[int]int{2: 0, 3: 1, 1: 1, 0: 0} {
		mustPanic(t, "steps that lift", func() {
			boundary.DefineRecord[newer](boundary.Form{Name: "a-record", Version: versions, Older: make([]boundary.Older, up)}).Ready()
		})
	}
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

// A map takes any names, values of its vocabulary, and no more than it may have.
func TestMaps(t *testing.T) {
	type moods struct {
		Moods map[string]mood `json:"moods" jsonschema:"maxItems=2" jsonschema_description:"x"`
	}
	for doc, want := range map[string]string{
		`{"moods":{}}`: "",
		`{"moods":{"a/b":"calm","any name":"wild"}}`:   "",
		`{"moods":{"a":"calm","b":"wild","c":"calm"}}`: "1:10 boundary/length /moods",
		`{"moods":{"a/b":"angry"}}`:                    "1:17 boundary/enum /moods/a~1b",
		`{"moods":{"a":1}}`:                            "1:15 boundary/type /moods/a",
		`{"moods":[]}`:                                 "1:10 boundary/type /moods",
	} {
		n, vs := boundary.ReadJSON(strings.NewReader(doc), boundary.DefaultLimits)
		err := boundary.CheckNode[moods](n, "x", vs)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", doc, err)
			}
			continue
		}
		if got := told(refusal(t, err).Violations); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
}
