package boundary_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assent/boundary"
	"assent/finding"
	"assent/hooks"
	"assent/skmb"
)

// everyPayload has what no payload of the house has yet: numbers, booleans, patterns and
// objects in objects.
type everyPayload struct {
	Name   string   `json:"name" jsonschema:"minLength=2,maxLength=5,pattern=^[a-z]+$" text:"line" jsonschema_description:"a pattern"`
	Score  int      `json:"score" jsonschema:"minimum=-3,maximum=100" jsonschema_description:"a number"`
	Total  int64    `json:"total,omitzero" jsonschema:"minimum=0,maximum=9007199254740991" jsonschema_description:"a large number"`
	Ready  bool     `json:"ready" jsonschema_description:"a boolean"`
	Mood   mood     `json:"mood" jsonschema_description:"a vocabulary"`
	Marks  []int    `json:"marks,omitzero" jsonschema:"minItems=1,maxItems=3,minimum=1,maximum=9" jsonschema_description:"numbers"`
	Flags  []bool   `json:"flags" jsonschema:"maxItems=2" jsonschema_description:"booleans"`
	Inner  inner    `json:"inner" jsonschema_description:"an object"`
	Inners []inner  `json:"inners,omitzero" jsonschema:"minItems=1,maxItems=2" jsonschema_description:"objects"`
	Odd    []string `json:"a/b~c,omitzero" jsonschema:"maxItems=2,maxLength=3" text:"prose" jsonschema_description:"a name with both characters that a pointer escapes"`
}

type inner struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=40" text:"prose" jsonschema_description:"prose"`
	Deep deep   `json:"deep,omitzero" jsonschema_description:"an object in an object"`
}

type deep struct {
	Level int `json:"level" jsonschema:"minimum=1,maximum=1" jsonschema_description:"the one number"`
}

type mood string

func (mood) EnumValues() []string { return []string{"calm", "wild"} }

type everyRecord struct {
	boundary.Envelope
	everyPayload
	Verdict string `json:"verdict" jsonschema:"maxLength=10" text:"line" jsonschema_description:"x"`
}

const everyExample = `{"name":"ab","score":1,"ready":false,"mood":"calm","flags":[],"inner":{"text":"x"}}`

// alphabetic are valid values where a pattern asks for more than a length.
func alphabetic(n int) string { return strings.Repeat("b", n) }

// matrix makes the cases of one payload type out of its fields and their tags.
type matrix struct {
	root    reflect.Type
	owned   []string
	foreign []string // names that belong to the program in other kinds
	item    bool     // the payload is a list of items, of which the cases make one
	cases   []matrixCase
}

type matrixCase struct {
	name, doc string
	want      []string // "code pointer"; none for a payload that is taken
}

// spoil changes the one valid payload: the value at a pointer, or the members of the
// object there.
type spoil struct {
	at      string
	value   string
	members func([]member) []member
}

type member struct{ name, value string }

func (m *matrix) add(name string, s spoil, want ...string) {
	doc := s.build(m.root, "", "")
	if m.item {
		doc, want = "["+doc+"]", slices.Clone(want)
		for i, w := range want {
			code, pointer, _ := strings.Cut(w, " ")
			want[i] = code + " /0" + pointer
		}
	}
	slices.Sort(want)
	m.cases = append(m.cases, matrixCase{name, doc, want})
}

func (s spoil) build(t reflect.Type, tag reflect.StructTag, at string) string {
	if s.value != "" && s.at == at {
		return s.value
	}
	switch t.Kind() {
	case reflect.Struct:
		var ms []member
		for i := range t.NumField() {
			f := t.Field(i)
			ms = append(ms, member{jsonName(f), s.build(f.Type, f.Tag, boundary.PointerTo(at, jsonName(f)))})
		}
		if s.members != nil && s.at == at {
			ms = s.members(ms)
		}
		var out []string
		for _, m := range ms {
			out = append(out, quote(m.name)+": "+m.value)
		}
		return "{" + strings.Join(out, ",\n") + "}"
	case reflect.Slice:
		return "[" + s.build(t.Elem(), tag, at+"/0") + "]"
	case reflect.Bool:
		return "true"
	case reflect.String:
		if e, ok := reflect.Zero(t).Interface().(interface{ EnumValues() []string }); ok {
			return quote(e.EnumValues()[0])
		}
		return quote(alphabetic(max(1, limit(tag, "minLength", 0))))
	}
	return strconv.Itoa(limit(tag, "minimum", 0))
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func limit(tag reflect.StructTag, key string, without int) int {
	for kv := range strings.SplitSeq(tag.Get("jsonschema"), ",") {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			n, _ := strconv.Atoi(v)
			return n
		}
	}
	return without
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (m *matrix) object(t reflect.Type, at string) {
	own := map[string]bool{}
	for i := range t.NumField() {
		own[jsonName(t.Field(i))] = true
	}
	with := func(name string) spoil {
		return spoil{at: at, members: func(ms []member) []member { return append(ms, member{name, `"x"`}) }}
	}
	m.add(at+"/ unknown sibling", with("zz_unknown"), "boundary/unknown-field "+at+"/zz_unknown")
	m.add(at+"/ nameless sibling", with(""), "boundary/unknown-field "+at+"/")
	for _, name := range m.owned {
		if !own[name] {
			m.add(at+"/ owned "+name, with(name), "boundary/owned-field "+at+"/"+name)
			m.add(at+"/ owned "+name+" in capitals", with(strings.ToUpper(name)), "boundary/unknown-field "+at+"/"+strings.ToUpper(name))
		}
	}
	for _, name := range m.foreign {
		if !own[name] && !slices.Contains(m.owned, name) {
			m.add(at+"/ "+name+" of another kind", with(name), "boundary/unknown-field "+at+"/"+name)
		}
	}
	if at != "" {
		m.wrongTypes(at, reflect.Struct)
	}
	var missing []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, pointer := jsonName(f), boundary.PointerTo(at, jsonName(f))
		var gone []string
		if !strings.Contains(f.Tag.Get("json"), ",omitzero") {
			gone = []string{"boundary/missing-field " + pointer}
			missing = append(missing, gone[0])
		}
		m.add(pointer+" missing", spoil{at: at, members: func(ms []member) []member { return slices.Delete(ms, i, i+1) }}, gone...)
		m.add(pointer+" twice", spoil{at: at, members: func(ms []member) []member { return append(ms, ms[i]) }}, "boundary/json-duplicate-name "+pointer)
		variant := strings.ToUpper(name[:1]) + name[1:]
		m.add(pointer+" in another case", spoil{at: at, members: func(ms []member) []member { ms[i].name = variant; return ms }},
			append(gone, "boundary/unknown-field "+boundary.PointerTo(at, variant))...)
		m.field(f, pointer)
	}
	m.add(at+"/ no members", spoil{at: at, value: "{}"}, missing...)
}

func (m *matrix) field(f reflect.StructField, at string) {
	t := f.Type
	if t.Kind() == reflect.Slice {
		m.wrongTypes(at, reflect.Slice)
		least, most := limit(f.Tag, "minItems", 0), limit(f.Tag, "maxItems", -1)
		m.add(at+" empty", spoil{at: at, value: "[]"}, ifTrue(least > 0, "boundary/length "+at)...)
		if most > 1 {
			m.add(at+" full", spoil{at: at, value: items(t.Elem(), f.Tag, most)})
		}
		m.add(at+" over-long", spoil{at: at, value: items(t.Elem(), f.Tag, most+1)}, "boundary/length "+at)
		one := spoil{}.build(t.Elem(), f.Tag, "")
		m.add(at+" with equal items", spoil{at: at, value: "[" + one + "," + one + "]"}, ifTrue(strings.Contains(f.Tag.Get("jsonschema"), "uniqueItems"), "boundary/item-duplicate "+at+"/1")...)
		at, t = at+"/0", t.Elem()
	}
	if t.Kind() == reflect.Struct {
		m.object(t, at)
		return
	}
	m.wrongTypes(at, t.Kind())
	switch t.Kind() {
	case reflect.String:
		m.text(t, f.Tag, at)
	case reflect.Int, reflect.Int64:
		least, most := limit(f.Tag, "minimum", 0), limit(f.Tag, "maximum", 0)
		m.add(at+" least", spoil{at: at, value: strconv.Itoa(least)})
		m.add(at+" most", spoil{at: at, value: strconv.Itoa(most)})
		m.add(at+" below", spoil{at: at, value: strconv.Itoa(least - 1)}, "boundary/range "+at)
		if most < 1<<53-1 {
			m.add(at+" above", spoil{at: at, value: strconv.Itoa(most + 1)}, "boundary/range "+at)
		}
		for _, v := range []string{"1.0", "1e0", "-0", "1.5"} {
			m.add(at+" "+v, spoil{at: at, value: v}, "boundary/json-number "+at)
		}
	}
}

func (m *matrix) text(t reflect.Type, tag reflect.StructTag, at string) {
	if e, ok := reflect.Zero(t).Interface().(interface{ EnumValues() []string }); ok {
		for _, v := range e.EnumValues() {
			m.add(at+" "+v, spoil{at: at, value: quote(v)})
		}
		first := e.EnumValues()[0]
		for _, v := range []string{"zz", "", " ", first + " ", strings.ToUpper(first[:1]) + "\u0130" + first[1:], first + "\u0000"} {
			m.add(fmt.Sprintf("%s bad enum %q", at, v), spoil{at: at, value: quote(v)}, "boundary/enum "+at)
		}
		return
	}
	least, most, sort := limit(tag, "minLength", 0), limit(tag, "maxLength", 0), tag.Get("text")
	pattern := strings.Contains(tag.Get("jsonschema"), "pattern=")
	m.add(at+" empty", spoil{at: at, value: `""`}, ifTrue(least > 0, "boundary/length "+at)...)
	m.add(at+" longest", spoil{at: at, value: quote(alphabetic(most))})
	m.add(at+" over-long", spoil{at: at, value: quote(alphabetic(most + 1))}, "boundary/length "+at)
	blank := strings.Repeat(" ", max(1, least))
	m.add(at+" blank", spoil{at: at, value: quote(blank)}, "boundary/text-blank "+at)
	m.add(at+" blank in another alphabet", spoil{at: at, value: quote(strings.Repeat("\u2003", max(1, least)))}, "boundary/text-blank "+at)
	m.add(at+" half a surrogate", spoil{at: at, value: `"` + alphabetic(max(1, least)-1) + `\ud800"`},
		append(ifTrue(pattern, "boundary/pattern "+at), "boundary/json-utf8 "+at)...)
	if pattern {
		m.add(at+" beside its pattern", spoil{at: at, value: `"a1"`}, "boundary/pattern "+at)
		return
	}
	if most > 3 {
		for _, v := range []string{" a", "a ", "a  b"} {
			m.add(fmt.Sprintf("%s with blanks that do not stay: %q", at, v), spoil{at: at, value: quote(v)}, ifTrue(sort == "line" || sort == "rule" && v != "a  b", "boundary/text-unsafe "+at)...)
		}
	}
	m.add(at+" longest in characters of four bytes", spoil{at: at, value: quote(strings.Repeat("𝄞", most))})
	m.add(at+" one character of four bytes too many", spoil{at: at, value: quote(strings.Repeat("𝄞", most+1))}, "boundary/length "+at)
	m.add(at+" turned around", spoil{at: at, value: quote("a\u202e")}, "boundary/text-unsafe "+at)
	m.add(at+" with two lines", spoil{at: at, value: quote("a\nb")}, ifTrue(sort == "line" || sort == "rule", "boundary/text-unsafe "+at)...)
	if most > 2 {
		m.add(at+" that is a heading", spoil{at: at, value: quote("# a")}, ifTrue(sort == "prose" || sort == "rule", "boundary/text-unsafe "+at)...)
	}
}

// wrongTypes puts a value of each other kind at a pointer.
func (m *matrix) wrongTypes(at string, own reflect.Kind) {
	values := map[reflect.Kind]string{reflect.String: `"b"`, reflect.Int: "1", reflect.Bool: "true", reflect.Slice: `["b"]`, reflect.Struct: `{"a":1}`, reflect.Invalid: "null"}
	if own == reflect.Int64 {
		own = reflect.Int
	}
	for _, kind := range slices.Sorted(maps.Keys(values)) {
		if kind != own {
			m.add(at+" is "+values[kind], spoil{at: at, value: values[kind]}, "boundary/type "+at)
		}
	}
}

// items is a list of n values of which no two strings are equal.
func items(t reflect.Type, tag reflect.StructTag, n int) string {
	var out []string
	for i := range n {
		v := spoil{}.build(t, tag, "")
		if e, ok := reflect.Zero(t).Interface().(interface{ EnumValues() []string }); ok {
			v = quote(e.EnumValues()[i])
		} else if t.Kind() == reflect.String {
			v = quote(strconv.FormatInt(int64(i), 36))
		}
		out = append(out, v)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func ifTrue(is bool, want string) []string {
	if is {
		return []string{want}
	}
	return nil
}

// found returns what a refusal lists, as sorted "code pointer".
func found(t *testing.T, err error) []string {
	t.Helper()
	var out []string
	for _, v := range refusal(t, err).Violations {
		out = append(out, v.Code+" "+v.Pointer)
	}
	slices.Sort(out)
	return out
}

func refusal(t *testing.T, err error) *boundary.Refusal {
	t.Helper()
	var r *boundary.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("got the error %v, want a refusal", err)
	}
	return r
}

func judge[P, W any](t *testing.T, k *boundary.Kind[P, W]) {
	read := func(doc string) error {
		_, err := k.Read(strings.NewReader(doc), "<stdin>")
		return err
	}
	m := &matrix{root: reflect.TypeFor[P](), owned: k.Owned(), item: k.Items != ""}
	for _, other := range append([]*boundary.Form{learnedKind.Form}, hooks.Kinds...) {
		m.foreign = append(m.foreign, other.Owned()...)
	}
	slices.Sort(m.foreign)
	m.foreign = slices.Compact(m.foreign)
	if err := read(k.Example); err != nil {
		t.Fatalf("the example is not taken: %v", err)
	}
	full := (spoil{}).build(m.root, "", "")
	if m.item {
		full = "[" + full + "]"
	}
	if read(full) != nil {
		t.Fatalf("a payload with all fields is not taken: %v\n%s", read(full), full)
	}
	m.object(m.root, "")
	refused := 0
	for _, c := range m.cases {
		err := read(c.doc)
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: is refused:\n%v\n%.300s", c.name, err, c.doc)
			}
			continue
		}
		refused++
		if err == nil {
			t.Errorf("%s: is taken, want %q\n%.300s", c.name, c.want, c.doc)
			continue
		}
		if got := found(t, err); !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q\n%.300s", c.name, got, c.want, c.doc)
		}
		if code := refusal(t, err).ExitCode(); code != finding.ExitInvalid {
			t.Errorf("%s: exit code %d, want %d", c.name, code, finding.ExitInvalid)
		}
		inside(t, []byte(c.doc), refusal(t, err).Violations)
	}
	if refused < 150 || len(m.cases)-refused < 20 {
		t.Errorf("%d cases that are refused and %d that are taken: the matrix has lost most of itself", refused, len(m.cases)-refused)
	}
	t.Logf("%d cases, %d of them refused", len(m.cases), refused)
}

// Each field of each object of each kind, spoilt in each way, is refused with exactly the
// code and the pointer of that way.
func TestMatrix(t *testing.T) {
	t.Run("skmb-decision", func(t *testing.T) { judge(t, skmb.DecisionKind) })
	t.Run("a batch", func(t *testing.T) { judge(t, learnedKind) })
	t.Run("every type of field", func(t *testing.T) {
		judge(t, kind[everyPayload, everyRecord]("every-type", everyExample))
	})
}

// The names that the program owns are those of the record type, whoever adds to it.
func TestOwnedFollowsTypes(t *testing.T) {
	envelope := []string{"schema_version", "kind", "id", "created_at", "basis", "request_sha256", "parents", "tool_version"}
	cases := []struct {
		name string
		got  []string
		want []string
	}{
		{"skmb-decision", skmb.DecisionKind.Owned(), append(slices.Clone(envelope), "status", "decided_by", "approval_source", "approval", "date", "commit", "file", "permitted_by", "review_by", "superseded_by", "recorded_by")},
		{"a record with one field more", kind[everyPayload, everyRecord]("every-type", "").Owned(), append(slices.Clone(envelope), "verdict")},
		{"a record with two", kind[everyPayload, struct {
			everyRecord
			Rank int `json:"rank" jsonschema:"minimum=0,maximum=1" jsonschema_description:"x"`
		}]("every-type", "").Owned(), append(slices.Clone(envelope), "verdict", "rank")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			slices.Sort(c.want)
			if !slices.Equal(c.got, c.want) {
				t.Errorf("owned\ngot  %q\nwant %q", c.got, c.want)
			}
		})
	}
}
