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
func (k *Kind[P]) Fields() []Field { return k.shape.describe("") }

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
		return fmt.Sprintf("array of %s to %d%s items: %s", number(s.minLength), s.maxLength, unique, s.elem.form())
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
		text := map[string]string{"line": "one line", "prose": "Markdown prose"}[s.text]
		return fmt.Sprintf("%s, %s to %d characters", text, number(s.minLength), s.maxLength)
	}
	return s.kind.String()
}

func number(n int) string {
	if n == 0 {
		return "no"
	}
	return fmt.Sprint(n)
}

// Prompt is the text that tells a model how to submit: the one command, every field, what
// belongs to the program, what refuses, and what to do then. It holds nothing of a repository.
func (k *Kind[P]) Prompt(purpose, command string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Submitting: %s", k.Name)
	line("\n%s", purpose)
	line("\nThere is one way in: one JSON object on the standard input of\n\n    %s\n", command)
	line("No prose, no code fence, nothing before or after the object. Nothing is repaired: it is taken whole or refused whole,")
	line("with every violation at its place. What you write elsewhere changes nothing.")
	line("\n## Fields\n")
	line("| field | needed | form | meaning |\n| --- | --- | --- | --- |")
	for _, f := range k.Fields() {
		needed := "yes"
		if f.Optional {
			needed = "no"
		}
		line("| `%s` | %s | %s | %s |", f.Name, needed, f.Form, f.Description)
	}
	line("\nLines hold no line break, no blanks at their ends, and no control, invisible or bidirectional character. Prose may have")
	line("paragraphs, lists, emphasis, code, tables and headings from level 3; raw HTML, comments, images, link definitions and")
	line("headings of level 1 and 2 are refused.")
	line("\n## What belongs to the program\n")
	line("Leave these out; sending one is refused: %s.", "`"+strings.Join(slices.Sorted(slices.Values(k.owned)), "`, `")+"`")
	line("\n## Limits\n")
	line("%d bytes, %d levels, %d values.", k.limits.Bytes, k.limits.Depth, k.limits.Values)
	line("\n## When it is refused\n")
	line("The exit code and the class of each violation say what you may do.\n")
	line("| class | exit | what you may do |\n| --- | --- | --- |")
	exits := map[Class][]string{}
	for _, code := range slices.Sorted(maps.Keys(table)) {
		r := table[code]
		if exit := fmt.Sprint(r.exit); !slices.Contains(exits[r.class], exit) {
			exits[r.class] = append(exits[r.class], exit)
		}
	}
	for _, c := range classes {
		line("| %s | %s | %s |", c.class, strings.Join(slices.Sorted(slices.Values(exits[c.class])), ", "), c.may)
	}
	line("\n## A minimal object that is taken\n\n```json\n%s\n```", k.Example)
	return b.String()
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
}

// Codes lists every code of the boundary, sorted, with its stage, class and exit code.
func Codes() []Code {
	var out []Code
	for code, r := range table {
		out = append(out, Code{code, r.stage, r.class, r.exit})
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
}
