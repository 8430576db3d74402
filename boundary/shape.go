package boundary

import (
	"fmt"
	"html"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assent/finding"
	"assent/markdown"
)

// Shape is what a value must look like, read from a Go type.
type Shape struct {
	kind      NodeKind
	fields    []shapeField
	elem      *Shape
	minLength int // of a string in runes, of an array in items
	maxLength int
	unique    bool
	min, max  int64
	pattern   *regexp.Regexp
	enum      []string
	text      string // one of texts
	ref       string // the set that a string names a member of
}

type shapeField struct {
	name        string
	optional    bool
	echo        bool
	description string
	shape       *Shape
}

// enumerated is a closed vocabulary: a named string type that lists its values.
type enumerated interface{ EnumValues() []string }

// texts are the sorts of strings, with what they are called.
var texts = map[string]string{
	"line":  "one line",
	"prose": "Markdown prose",
	"rule":  "one line of Markdown that reads as it stands",
	"quote": "text as its source has it",
	"lines": "plain text",
}

// ShapeOf reads a struct type. The rules of the tags:
//
//	json:"name,omitzero"            omitzero makes the field optional
//	jsonschema:"maxLength=120"      minLength maxLength minItems maxItems uniqueItems minimum maximum pattern
//	jsonschema_description:"…"      wanted for every field
//	text:"line"                     what a string may hold: line, prose, rule, quote or lines (Unsafe)
//	ref:"records"                   the string names a member of a set that the program builds
//	echo:"true"                     the payload repeats a value of the basis, which is compared and never taken
//
// A map has string keys, values of a closed vocabulary, and maxItems. Embedded structs give
// their fields to the one that embeds them; of fields with one name the outer one counts.
//
// It panics on a type that breaks them: every string has maxLength, every slice maxItems,
// every int both bounds, every field a description and a name of its own; no type holds
// itself, and no tag has another keyword.
func ShapeOf(t reflect.Type) *Shape { return shapeOf(t, nil) }

func shapeOf(t reflect.Type, within []reflect.Type) *Shape {
	if slices.Contains(within, t) {
		panic(fmt.Sprintf("boundary: %s holds itself", t))
	}
	within = append(slices.Clip(within), t)
	s := &Shape{kind: Object}
	for _, f := range fieldsOf(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("jsonschema_description") == "" {
			panic(fmt.Sprintf("boundary: %s.%s has no description", t, f.Name))
		}
		s.fields = append(s.fields, shapeField{name, strings.Contains(opts, "omitzero"), f.Tag.Get("echo") != "", f.Tag.Get("jsonschema_description"), fieldShape(t, f, within)})
	}
	return s
}

// fieldsOf lists the members of the JSON object that a struct is written as: those of embedded
// structs too, unless an outer one has the name.
func fieldsOf(t reflect.Type) []reflect.StructField {
	type member struct {
		reflect.StructField
		name  string
		depth int
	}
	var all []member
	var collect func(t reflect.Type, depth int)
	collect = func(t reflect.Type, depth int) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous && f.Tag == "" && f.Type.Kind() == reflect.Struct {
				collect(f.Type, depth+1)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" || !f.IsExported() {
				panic(fmt.Sprintf("boundary: %s.%s has no json name of its own", t, f.Name))
			}
			all = append(all, member{f, name, depth})
		}
	}
	collect(t, 0)
	var out []reflect.StructField
	for i, f := range all {
		hidden := false
		for j, other := range all {
			if i == j || other.name != f.name {
				continue
			}
			if other.depth == f.depth {
				panic(fmt.Sprintf("boundary: %s.%s has no json name of its own", t, f.Name))
			}
			hidden = hidden || other.depth < f.depth
		}
		if !hidden {
			out = append(out, f.StructField)
		}
	}
	return out
}

func fieldShape(t reflect.Type, f reflect.StructField, within []reflect.Type) *Shape {
	limits := map[string]string{} // those that no rule has taken yet
	for kv := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
		k, v, _ := strings.Cut(kv, "=")
		limits[k] = v
	}
	delete(limits, "")
	fail := func(why string) { panic(fmt.Sprintf("boundary: %s.%s: %s", t, f.Name, why)) }
	number := func(key string, wanted bool) int64 {
		v, ok := limits[key]
		if !ok {
			if wanted {
				fail("needs " + key)
			}
			return 0
		}
		delete(limits, key)
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			fail(key + " is no number")
		}
		return n
	}
	s := &Shape{}
	ft, value := f.Type, s
	if _, closed := reflect.New(elemOf(ft)).Elem().Interface().(enumerated); closed && ft.Kind() == reflect.Map {
		s.kind = Object
		s.maxLength = int(number("maxItems", true))
		if ft.Key().Kind() != reflect.String {
			fail("a map has string keys")
		}
		ft, s.elem = ft.Elem(), &Shape{}
		value = s.elem
	}
	if ft.Kind() == reflect.Slice {
		s.kind = Array
		s.minLength, s.maxLength = int(number("minItems", false)), int(number("maxItems", true))
		if _, s.unique = limits["uniqueItems"]; s.unique {
			delete(limits, "uniqueItems")
		}
		ft, s.elem = ft.Elem(), &Shape{}
		value = s.elem
	}
	leaf(value, ft, f, limits, within, number, fail)
	if s.unique && value.kind != String {
		fail("only strings can be held to be unique")
	}
	for keyword := range limits {
		fail("has the keyword " + keyword + ", which means nothing here")
	}
	return s
}

// elemOf is the type of a map's values, else the type itself.
func elemOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	return t
}

func leaf(s *Shape, ft reflect.Type, f reflect.StructField, limits map[string]string, within []reflect.Type, number func(string, bool) int64, fail func(string)) {
	switch ft.Kind() {
	case reflect.String:
		s.kind = String
		if e, ok := reflect.Zero(ft).Interface().(enumerated); ok {
			if s.enum = e.EnumValues(); len(s.enum) == 0 {
				fail("its vocabulary is empty")
			}
			return
		}
		s.minLength, s.maxLength = int(number("minLength", false)), int(number("maxLength", true))
		if p, ok := limits["pattern"]; ok {
			delete(limits, "pattern")
			s.pattern = regexp.MustCompile(p)
		}
		if s.text = f.Tag.Get("text"); texts[s.text] == "" {
			fail(`needs text:"line", or another of ` + strings.Join(slices.Sorted(maps.Keys(texts)), ", "))
		}
		s.ref = f.Tag.Get("ref")
	case reflect.Int, reflect.Int64:
		s.kind = Number
		s.min, s.max = number("minimum", true), number("maximum", true)
	case reflect.Bool:
		s.kind = Bool
	case reflect.Struct:
		*s = *shapeOf(ft, within)
	default:
		fail("a field may be a string, int, bool, struct, a slice of these, or a map to a closed vocabulary")
	}
}

// names returns the field names of an object, at this level.
func (s *Shape) names() []string {
	var out []string
	for _, f := range s.fields {
		out = append(out, f.name)
	}
	return out
}

// Check returns every violation of names and shape. owned are the names that the program
// fills in and nobody may submit.
func (s *Shape) Check(n *Node, owned []string) []Violation { return s.check(n, owned, "") }

// check is Check for a value that stands at a pointer.
func (s *Shape) check(n *Node, owned []string, pointer string) []Violation {
	c := &checker{owned: owned}
	c.value(s, n, pointer)
	return c.vs
}

type checker struct {
	owned []string
	vs    []Violation
}

// violate notes what is wrong; want is the shape that was not met, nil if names are wrong.
func (c *checker) violate(code, pointer string, at Pos, want *Shape, got, format string, args ...any) {
	v := NewViolation(code, pointer, at, format, args...)
	v.Got = sample(got)
	if want != nil {
		v.Expected = want.form()
	}
	c.vs = append(c.vs, v)
}

func (c *checker) value(s *Shape, n *Node, pointer string) {
	if n.Kind != s.kind {
		c.violate("boundary/type", pointer, n.Pos, s, n.Text, "must be %s, is %s", s.kind, n.Kind)
		return
	}
	switch s.kind {
	case Object:
		c.object(s, n, pointer)
	case Array:
		if len(n.Items) < s.minLength || len(n.Items) > s.maxLength {
			c.violate("boundary/length", pointer, n.Pos, s, "", "must have %d to %d items, has %d", s.minLength, s.maxLength, len(n.Items))
		}
		seen := map[string]bool{}
		for i, item := range n.Items {
			at := fmt.Sprintf("%s/%d", pointer, i)
			if s.unique && item.Kind == String {
				if seen[item.Text] {
					c.violate("boundary/item-duplicate", at, item.Pos, nil, item.Text, "the item stands twice")
				}
				seen[item.Text] = true
			}
			c.value(s.elem, item, at)
		}
	case Number:
		if isInteger(n.Text) && !s.holds(n.Text) {
			c.violate("boundary/range", pointer, n.Pos, s, n.Text, "must be %d to %d", s.min, s.max)
		}
	case String:
		c.str(s, n, pointer)
	}
}

// holds reports whether a number as it is written is one, and in the range.
func (s *Shape) holds(text string) bool {
	v, err := strconv.ParseInt(text, 10, 64)
	return err == nil && isInteger(text) && v >= s.min && v <= s.max
}

func (c *checker) object(s *Shape, n *Node, pointer string) {
	if s.elem != nil { // a map: any names
		if len(n.Members) > s.maxLength {
			c.violate("boundary/length", pointer, n.Pos, s, "", "must have at most %d members, has %d", s.maxLength, len(n.Members))
		}
		for _, m := range n.Members {
			c.value(s.elem, m, PointerTo(pointer, m.Name))
		}
		return
	}
	c.names(s, n, pointer)
	for _, m := range n.Members {
		if i := slices.Index(s.names(), m.Name); i >= 0 {
			c.value(s.fields[i].shape, m, PointerTo(pointer, m.Name))
		}
	}
}

// names holds the names of an object's members to those that there are.
func (c *checker) names(s *Shape, n *Node, pointer string) {
	names := s.names()
	for _, m := range n.Members {
		at := PointerTo(pointer, m.Name)
		switch {
		case slices.Contains(names, m.Name):
		case slices.Contains(c.owned, m.Name):
			c.violate("boundary/owned-field", at, m.NamePos, nil, "", "%s is filled in by the program; leave it out", m.Name)
		default:
			c.violate("boundary/unknown-field", at, m.NamePos, nil, "", "there is no field %q", sample(m.Name))
			if near := Nearest(m.Name, names); near != "" {
				c.vs[len(c.vs)-1].Hint = "did you mean " + near + "?"
			}
		}
	}
	for _, f := range s.fields {
		if !f.optional && n.Member(f.name) == nil {
			c.violate("boundary/missing-field", PointerTo(pointer, f.name), n.Pos, f.shape, "", "%s is missing: %s", f.name, f.description)
		}
	}
}

func (c *checker) str(s *Shape, n *Node, pointer string) {
	if s.enum != nil {
		if !slices.Contains(s.enum, n.Text) {
			c.violate("boundary/enum", pointer, n.Pos, s, n.Text, "must be one of %s", strings.Join(s.enum, ", "))
		}
		return
	}
	if count := utf8.RuneCountInString(n.Text); count < s.minLength || count > s.maxLength {
		c.violate("boundary/length", pointer, n.Pos, s, "", "must have %d to %d characters, has %d", s.minLength, s.maxLength, count)
	}
	if strings.TrimSpace(n.Text) == "" {
		if n.Text != "" { // of nothing at all the length says enough
			c.violate("boundary/text-blank", pointer, n.Pos, s, "", "holds nothing but blanks")
		}
		return
	}
	if s.pattern != nil && !s.pattern.MatchString(n.Text) {
		c.violate("boundary/pattern", pointer, n.Pos, s, n.Text, "must match %s", s.pattern)
	}
	if s.text == "line" && n.Text != strings.Join(strings.Fields(n.Text), " ") && Unsafe(n.Text, s.text) == "" {
		c.violate("boundary/text-unsafe", pointer, n.Pos, s, n.Text, "has blanks at its ends or several in a row, which Markdown would not keep")
	}
	if why := Unsafe(n.Text, s.text); why != "" {
		c.violate("boundary/text-unsafe", pointer, n.Pos, s, "", "%s", why)
	}
}

// Unsafe says why a text may not come in, "" if it may. sort is what the text is for:
//
//	line   no control, bidirectional, tag, zero-width or noncharacter
//	prose  also tabs, newlines and joiners; its Markdown stays inside its own section
//	rule   also joiners between characters that are not ASCII; one line of Markdown that a
//	       reader sees as it stands (markdown.NoRule)
//	quote  also tabs, newlines and joiners
//	lines  the same, for text that is no Markdown
func Unsafe(s, sort string) string {
	before := rune(0)
	for i, r := range s {
		joiner := r == 0x200c || r == 0x200d
		switch {
		case (r == '\n' || r == '\t') && sort != "line" && sort != "rule":
		case joiner && sort != "line" && sort != "rule":
		case joiner && sort == "rule" && before > 0x7f && after(s[i+utf8.RuneLen(r):]) > 0x7f:
		case sort == "rule" && (r == 0xfe0e || r == 0xfe0f) && before >= 0x2000: // how a symbol is drawn
		case finding.Unsafe(r), sort == "rule" && ignorable(r):
			why := fmt.Sprintf("holds the character U+%04X, which cannot be seen or changes how text is seen", r)
			if sort == "rule" {
				why += character(s, i)
			}
			return why
		}
		before = r
	}
	switch sort {
	case "prose":
		return markdown.Strays([]byte(s))
	case "rule":
		for _, r := range html.UnescapeString(s) {
			if (finding.Unsafe(r) || ignorable(r)) && !strings.ContainsRune(s, r) {
				return fmt.Sprintf("holds a reference to the character U+%04X, which cannot be seen or changes how text is seen", r)
			}
		}
		at, why := markdown.NoRule(s)
		if why != "" {
			why += character(s, at)
		}
		return why
	}
	return ""
}

// character tells where an offset of a line is.
func character(s string, at int) string {
	return fmt.Sprintf(", at character %d", utf8.RuneCountInString(s[:at])+1)
}

// ignorable reports characters that are drawn as nothing, beside those that are refused everywhere
// (Default_Ignorable_Code_Point of Unicode, and blanks that are no white space).
func ignorable(r rune) bool {
	switch {
	case r == 0xad, r == 0x34f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f, r == 0x2800, r == 0x3164, r == 0xffa0,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

func after(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// Nearest returns the known name that a wrong one was probably meant to be: equal but for
// case and separators, or one or two letters away. "" if there is none.
func Nearest(name string, known []string) string {
	fold := func(s string) string { return separators.Replace(strings.ToLower(s)) }
	best, distance := "", 3
	for _, k := range known {
		if d := edits(fold(name), fold(k)); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance, cut off at long words.
func edits(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 99
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
