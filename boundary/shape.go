package boundary

import (
	"fmt"
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
	text      string // line or prose
}

type shapeField struct {
	name        string
	optional    bool
	description string
	shape       *Shape
}

// enumerated is a closed vocabulary: a named string type that lists its values.
type enumerated interface{ EnumValues() []string }

// ShapeOf reads a struct type. The rules of the tags:
//
//	json:"name,omitzero"            omitzero makes the field optional
//	jsonschema:"maxLength=120"      minLength maxLength minItems maxItems uniqueItems minimum maximum pattern
//	jsonschema_description:"…"      wanted for every field
//	text:"line"                     or prose; what characters a string may hold
//
// A map has string keys, values of a closed vocabulary, and maxItems.
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
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() || slices.Contains(s.names(), name) {
			panic(fmt.Sprintf("boundary: %s.%s has no json name of its own", t, f.Name))
		}
		if f.Tag.Get("jsonschema_description") == "" {
			panic(fmt.Sprintf("boundary: %s.%s has no description", t, f.Name))
		}
		s.fields = append(s.fields, shapeField{name, strings.Contains(opts, "omitzero"), f.Tag.Get("jsonschema_description"), fieldShape(t, f, within)})
	}
	return s
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
		if s.text = f.Tag.Get("text"); s.text != "prose" && s.text != "line" {
			fail(`needs text:"line" or text:"prose"`)
		}
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
func (s *Shape) Check(n *Node, owned []string) []Violation {
	c := &checker{owned: owned}
	c.value(s, n, "")
	return c.vs
}

type checker struct {
	owned []string
	vs    []Violation
}

func (c *checker) violate(code, pointer string, at Pos, got, format string, args ...any) {
	v := newViolation(code, pointer, at, format, args...)
	v.Got = sample(got)
	c.vs = append(c.vs, v)
}

func (c *checker) value(s *Shape, n *Node, pointer string) {
	if n.Kind != s.kind {
		c.violate("boundary/type", pointer, n.Pos, n.Text, "must be %s, is %s", s.kind, n.Kind)
		return
	}
	switch s.kind {
	case Object:
		c.object(s, n, pointer)
	case Array:
		if len(n.Items) < s.minLength || len(n.Items) > s.maxLength {
			c.violate("boundary/length", pointer, n.Pos, "", "must have %d to %d items, has %d", s.minLength, s.maxLength, len(n.Items))
		}
		seen := map[string]bool{}
		for i, item := range n.Items {
			at := fmt.Sprintf("%s/%d", pointer, i)
			if s.unique && item.Kind == String {
				if seen[item.Text] {
					c.violate("boundary/item-duplicate", at, item.Pos, item.Text, "the item stands twice")
				}
				seen[item.Text] = true
			}
			c.value(s.elem, item, at)
		}
	case Number:
		if v, err := strconv.ParseInt(n.Text, 10, 64); err == nil && isInteger(n.Text) && (v < s.min || v > s.max) {
			c.violate("boundary/range", pointer, n.Pos, n.Text, "must be %d to %d", s.min, s.max)
		}
	case String:
		c.str(s, n, pointer)
	}
}

func (c *checker) object(s *Shape, n *Node, pointer string) {
	if s.elem != nil { // a map: any names
		if len(n.Members) > s.maxLength {
			c.violate("boundary/length", pointer, n.Pos, "", "must have at most %d members, has %d", s.maxLength, len(n.Members))
		}
		for _, m := range n.Members {
			c.value(s.elem, m, PointerTo(pointer, m.Name))
		}
		return
	}
	names := s.names()
	for _, m := range n.Members {
		at := PointerTo(pointer, m.Name)
		i := slices.Index(names, m.Name)
		switch {
		case i >= 0:
			c.value(s.fields[i].shape, m, at)
		case slices.Contains(c.owned, m.Name):
			c.violate("boundary/owned-field", at, m.NamePos, "", "%s is filled in by the program; leave it out", m.Name)
		default:
			c.violate("boundary/unknown-field", at, m.NamePos, "", "there is no field %q", sample(m.Name))
			if near := Nearest(m.Name, names); near != "" {
				c.vs[len(c.vs)-1].Hint = "did you mean " + near + "?"
			}
		}
	}
	for _, f := range s.fields {
		if !f.optional && n.Member(f.name) == nil {
			c.violate("boundary/missing-field", PointerTo(pointer, f.name), n.Pos, "", "%s is missing: %s", f.name, f.description)
		}
	}
}

func (c *checker) str(s *Shape, n *Node, pointer string) {
	if s.enum != nil {
		if !slices.Contains(s.enum, n.Text) {
			c.violate("boundary/enum", pointer, n.Pos, n.Text, "must be one of %s", strings.Join(s.enum, ", "))
		}
		return
	}
	if count := utf8.RuneCountInString(n.Text); count < s.minLength || count > s.maxLength {
		c.violate("boundary/length", pointer, n.Pos, "", "must have %d to %d characters, has %d", s.minLength, s.maxLength, count)
	}
	if strings.TrimSpace(n.Text) == "" {
		if n.Text != "" { // of nothing at all the length says enough
			c.violate("boundary/text-blank", pointer, n.Pos, "", "holds nothing but blanks")
		}
		return
	}
	if s.pattern != nil && !s.pattern.MatchString(n.Text) {
		c.violate("boundary/pattern", pointer, n.Pos, n.Text, "must match %s", s.pattern)
	}
	if s.text == "line" && n.Text != strings.Join(strings.Fields(n.Text), " ") && Unsafe(n.Text, false) == "" {
		c.violate("boundary/text-unsafe", pointer, n.Pos, n.Text, "has blanks at its ends or several in a row, which Markdown would not keep")
	}
	if why := Unsafe(n.Text, s.text == "prose"); why != "" {
		c.violate("boundary/text-unsafe", pointer, n.Pos, "", "%s", why)
	}
}

// Unsafe says why a text may not come in, "" if it may. A line holds no control, no
// bidirectional, tag, zero-width or noncharacter. Prose may also have tabs, newlines and
// joiners, and its Markdown must stay inside its own section.
func Unsafe(s string, prose bool) string {
	for _, r := range s {
		switch {
		case prose && (r == '\n' || r == '\t' || r == 0x200c || r == 0x200d):
		case finding.Unsafe(r):
			return fmt.Sprintf("holds the character U+%04X, which cannot be seen or changes how text is seen", r)
		}
	}
	if prose {
		return markdown.Strays([]byte(s))
	}
	return ""
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
