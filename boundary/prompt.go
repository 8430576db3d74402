package boundary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Field describes one member of a payload, for texts and schemas.
type Field struct {
	Name        string
	Description string
	Optional    bool
	Form        string   // what it must look like, in a few words
	Enum        []string // the closed vocabulary of it or of its items
}

// Fields lists the members of a payload in the order of its type; members of members have
// names with a slash.
func (f *Form) Fields() []Field { return f.shapes().payload.describe("") }

func (s *Shape) describe(above string) []Field {
	var out []Field
	for _, f := range s.fields {
		d := Field{Name: above + f.name, Description: f.description, Optional: f.optional, Form: f.shape.form(), Enum: f.shape.vocabulary()}
		out = append(out, d)
		inner := f.shape
		if inner.kind == Array {
			inner = inner.elem
		}
		if inner.kind == Object {
			out = append(out, inner.describe(d.Name+"/")...)
		}
	}
	return out
}

func (s *Shape) vocabulary() []string {
	if s.kind == Array {
		return s.elem.vocabulary()
	}
	return s.enum
}

// form says in a few words what a value must look like.
func (s *Shape) form() string {
	switch s.kind {
	case Array:
		unique := ""
		if s.unique {
			unique = " different"
		}
		return fmt.Sprintf("array of %s%s items: %s", between(s.minLength, s.maxLength), unique, s.elem.form())
	case Object:
		if s.elem != nil {
			return fmt.Sprintf("object of at most %d members: %s", s.maxLength, s.elem.form())
		}
		return "object"
	case Number:
		return fmt.Sprintf("integer, %d to %d", s.min, s.max)
	case String:
		if s.enum != nil {
			return "one of " + strings.Join(s.enum, ", ")
		}
		form := fmt.Sprintf("%s, %s characters", texts[s.text], between(s.minLength, s.maxLength))
		if s.pattern != nil {
			form += ", " + s.pattern.String()
		}
		if s.ref != "" {
			form += ", one of the " + s.ref
		}
		return form
	}
	return s.kind.String()
}

func between(least, most int) string {
	if least == 0 {
		return fmt.Sprintf("at most %d", most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// Prompt is the text that tells a model how to submit: the one command, every field, what
// belongs to the program, what refuses, and what to do then. It holds nothing of a repository.
func (f *Form) Prompt() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	what := "JSON object"
	if f.Items != "" {
		what = fmt.Sprintf("JSON array, or one JSON object whose member `%s` is that array,", f.Items)
	}
	line("# Submitting: %s", f.Name)
	line("\n%s", f.Purpose)
	line("\nThere is one way in: one %s on the standard input of\n\n    %s\n", what, f.Command)
	line("No prose, no code fence, nothing before or after it. Nothing is repaired: it is taken whole or refused whole,")
	line("with every violation at its place. What you write elsewhere changes nothing.")
	line("\n## Fields\n")
	line("| field | needed | form | meaning |\n| --- | --- | --- | --- |")
	sorts := map[string]bool{}
	f.shapes().payload.walk("", func(_ string, s *Shape) { sorts[s.text] = true })
	for _, d := range f.Fields() {
		needed := "yes"
		if d.Optional {
			needed = "no"
		}
		line("| `%s` | %s | %s | %s |", d.Name, needed, strings.ReplaceAll(d.Form, "|", "\\|"), d.Description)
	}
	line("")
	for _, sort := range slices.Sorted(maps.Keys(texts)) {
		if sorts[sort] {
			line("%s", sortRules[sort])
		}
	}
	for _, m := range f.Matrix {
		line("\n## What `%s` asks for\n", strings.TrimPrefix(m.At+"/"+m.By, "/"))
		line("r: required, o: optional, -: not here.\n")
		line("| `%s` | `%s` |", m.By, strings.Join(m.fields(), "` | `"))
		line("| --- |%s", strings.Repeat(" --- |", len(m.fields())))
		for _, value := range slices.Sorted(maps.Keys(m.Rows)) {
			line("| %s | %s |", value, strings.Join(strings.Fields(m.Rows[value]), " | "))
		}
	}
	line("\n## What belongs to the program\n")
	line("Leave these out; sending one is refused: %s.", "`"+strings.Join(f.shapes().owned, "`, `")+"`")
	line("\n## Limits\n")
	line("%d bytes, %d levels, %d values.", f.Limits.Bytes, f.Limits.Depth, f.Limits.Values)
	line("\n## When it is refused\n")
	line("The exit code and the class of each violation say what you may do.\n")
	line("| class | exit | what you may do |\n| --- | --- | --- |")
	exits := map[Class][]string{}
	for _, c := range Codes() {
		if exit := fmt.Sprint(c.Exit); !slices.Contains(exits[c.Class], exit) {
			exits[c.Class] = append(exits[c.Class], exit)
		}
	}
	for _, c := range classes {
		line("| %s | %s | %s |", c.class, strings.Join(slices.Sorted(slices.Values(exits[c.class])), ", "), c.may)
	}
	line("\n| code | what is wrong | what to do |\n| --- | --- | --- |")
	for _, c := range Codes() {
		name := c.Name
		if own, ok := f.Codes[name]; ok {
			name = own
		}
		if f.raises(c.Name) {
			line("| `%s` | %s | %s |", name, c.Title, c.Fix)
		}
	}
	line("\n## A minimal payload that is taken\n\n```json\n%s\n```", f.Example)
	return b.String()
}

// raises reports whether a submission of the kind can meet a code.
func (f *Form) raises(code string) bool {
	refs, quotes := false, false
	f.shapes().payload.walk("", func(_ string, s *Shape) {
		refs = refs || s.ref != ""
		quotes = quotes || s.text == "quote"
	})
	switch stage := ruleOf(code).stage; {
	case stage == 5:
		return len(f.Matrix) > 0
	case stage == 6:
		return refs
	case stage == 7 || stage == 8:
		return quotes
	}
	return true
}

// sortRules say what the sorts of texts may hold.
var sortRules = map[string]string{
	"line":  "Lines hold no line break, no blanks at their ends or several in a row, and no control, invisible or bidirectional character.",
	"prose": "Prose may have paragraphs, lists, emphasis, code, tables and headings from level 3; raw HTML, comments, images, link\ndefinitions and headings of level 1 and 2 are refused.",
	"rule":  "Rules are one line that reads as it stands: no line break, comment or raw HTML, no beginning of a heading, list, task, quote,\nfence, break, table or link definition, no word like @path/to/file outside of code.",
	"quote": "Quotes are copied from their source: letter case and punctuation count, line breaks and runs of blanks do not.",
	"lines": "Plain text may have line breaks and tabs, and no other control, invisible or bidirectional character.",
}

// classes say what the host of a model may do.
var classes = []struct {
	class Class
	may   string
}{
	{Transient, "send the same bytes again, at most three times, waiting longer each time"},
	{InvalidPayload, "correct the object and send it; after five refusals stop and ask a person"},
	{UnsupportedRef, "name what exists and send it; after five refusals stop and ask a person"},
	{Grounding, "quote what stands there and send it; after five refusals stop and ask a person"},
	{Policy, "nothing, until a person or a policy acts"},
	{Stale, "start again from what is there now"},
	{PartialPersistence, "run `assent recover` first"},
	{EffectUnknown, "nothing, until a person has looked"},
}

// Codes lists every code of the boundary, sorted, with its stage, class and exit code.
func Codes() []Code {
	var out []Code
	for code, r := range table {
		out = append(out, Code{code, r.stage, r.class, r.exit, r.title, r.fix})
	}
	slices.SortFunc(out, func(a, b Code) int { return cmp.Or(a.Stage-b.Stage, strings.Compare(a.Name, b.Name)) })
	return out
}

// Code is what is fixed about a code.
type Code struct {
	Name  string
	Stage int
	Class Class
	Exit  int
	Title string // what is wrong
	Fix   string // what to do about it
}
