package markdown_test

import (
	"reflect"
	"strings"
	"testing"

	"assent/markdown"
)

func TestFieldsAreTheItemsOfBulletLists(t *testing.T) {
	type field struct {
		key, value string
		items      []string
		raw        string // the bytes of the value
	}
	tests := []struct {
		name, src string
		want      []field
	}{
		{"empty text", "", nil},
		{"ordinary", "- a: b\n- c: d e\n", []field{{"a", "b", nil, "b"}, {"c", "d e", nil, "d e"}}},
		{"no final newline", "- a: b", []field{{"a", "b", nil, "b"}}},
		{"CRLF", "- a: b\r\n- c: d\r\n", []field{{"a", "b", nil, "b"}, {"c", "d", nil, "d"}}},
		{"byte order mark", "\ufeff- a: b\n", []field{{"a", "b", nil, "b"}}},
		{"every bullet", "- a: 1\n\n* b: 2\n\n+ c: 3\n", []field{{"a", "1", nil, "1"}, {"b", "2", nil, "2"}, {"c", "3", nil, "3"}}},
		{"blanks around", "  -   a:   b  \n", []field{{"a", "b", nil, "b"}}},
		{"tabs", "-\ta:\tb\n", []field{{"a", "b", nil, "b"}}},
		{"no value", "- a:\n- b: c\n", []field{{"a", "", nil, ""}, {"b", "c", nil, "c"}}},
		{"a colon in the value", "- a: b: c\n", []field{{"a", "b: c", nil, "b: c"}}},
		{"a key with blanks and dashes", "- Decided by: x\n- approval-source: y\n- approval_source: z\n", []field{
			{"Decided by", "x", nil, "x"}, {"approval-source", "y", nil, "y"}, {"approval_source", "z", nil, "z"}}},
		{"a bold key, colon inside", "- **a:** b\n", []field{{"a", "b", nil, "b"}}},
		{"a bold key, colon outside", "- **a**: b\n", []field{{"a", "b", nil, "b"}}},
		{"a bold italic key, colon inside", "- ***a:*** b\n", []field{{"a", "b", nil, "b"}}},
		{"an italic key", "- *a:* b\n- _a_: b\n", []field{{"a", "b", nil, "b"}, {"a", "b", nil, "b"}}},
		{"a key in code", "- `a`: b\n- `a:` b\n", []field{{"a", "b", nil, "b"}, {"a", "b", nil, "b"}}},
		{"a bold value", "- a: **b** `c`\n", []field{{"a", "b c", nil, "**b** `c`"}}},
		{"a value over indented lines", "- a: b\n  c\n    *d*\n- e: f\n", []field{{"a", "b c d", nil, "b\n  c\n    *d*"}, {"e", "f", nil, "f"}}},
		{"a value on a lazy line", "- a: b\nc\n", []field{{"a", "b c", nil, "b\nc"}}},
		{"a value that begins on the next line", "- a:\n  b\n", []field{{"a", "b", nil, "\n  b"}}},
		{"a value on the next line, blanks behind the colon", "- a: \t\n  b\n", []field{{"a", "b", nil, "\n  b"}}},
		{"an item that begins on the next line", "-\n  a: b\n", []field{{"a", "b", nil, "b"}}},
		{"a value of two paragraphs", "- a: b\n\n  c\n", []field{{"a", "b c", nil, "b\n\n  c"}}},
		{"a folded scalar", "- a: >-\n    b\n    c\n", []field{{"a", "b c", nil, ">-\n    b\n    c"}}},
		{"a folded scalar with CRLF", "- a: >-\r\n  b\r\n", []field{{"a", "b", nil, ">-\r\n  b"}}},
		{"a folded scalar with an empty line", "- a: >\n\n  b\n\n  c\n", []field{{"a", "b c", nil, ">\n\n  b\n\n  c"}}},
		{"a literal scalar", "- a: |\n  b\n  c\n", []field{{"a", "b c", nil, "|\n  b\n  c"}}},
		{"a literal scalar with indicators", "- a: |2+\n  b\n", []field{{"a", "b", nil, "|2+\n  b"}}},
		{"a folded scalar without text", "- a: >-\n", []field{{"a", ">-", nil, ">-"}}},
		{"more than the header of a scalar", "- a: > 5\n  b\n", []field{{"a", "> 5 b", nil, "> 5\n  b"}}},
		{"a nested list", "- a:\n  - b\n  - *c*\n    d\n", []field{{"a", "", []string{"b", "c d"}, "\n  - b\n  - *c*\n    d"}}},
		{"a nested numbered list", "- a:\n  1. b\n  2. c\n", []field{{"a", "", []string{"b", "c"}, "\n  1. b\n  2. c"}}},
		{"a nested list with an empty item", "- a:\n  - b\n  -\n", []field{{"a", "", []string{"b", ""}, "\n  - b\n  -"}}},
		{"a nested list behind a value", "- a: x\n  - b\n", []field{{"a", "x", []string{"b"}, "x\n  - b"}}},
		{"a nested list of fields is items", "- a:\n  - b: c\n", []field{{"a", "", []string{"b: c"}, "\n  - b: c"}}},
		{"loose items", "- a: b\n\n- c: d\n\n\ntext\n", []field{{"a", "b", nil, "b"}, {"c", "d", nil, "d"}}},
		{"an item that is no field", "- just *text*\n", []field{{"", "just text", nil, "just *text*"}}},
		{"an address is no field", "- https://e.org/\n", []field{{"", "https://e.org/", nil, "https://e.org/"}}},
		{"a time is no field", "- 10:30 noon\n", []field{{"", "10:30 noon", nil, "10:30 noon"}}},
		{"a sentence with punctuation is no field", "- (see a): b\n", []field{{"", "(see a): b", nil, "(see a): b"}}},
		{"an empty key is none", "- : b\n", []field{{"", ": b", nil, ": b"}}},
		{"a no-break space before the key", "- \u00a0a: b\n", []field{{"", "a: b", nil, "\u00a0a: b"}}},
		{"an empty item", "- a: b\n-\n- c: d\n", []field{{"a", "b", nil, "b"}, {"", "", nil, ""}, {"c", "d", nil, "d"}}},
		{"code in an item is no field", "- ```\n  a: b\n  ```\n", []field{{"", "a: b", nil, "a: b\n  ```"}}},
		{"a heading in an item is no field", "- # a: b\n", []field{{"", "a: b", nil, "a: b"}}},
		{"a quote in an item is no field", "- > a: b\n", []field{{"", "a: b", nil, "> a: b"}}},
		{"text behind a nested list", "- - x\n\n  a: b\n", []field{{"a", "b", []string{"x"}, "b"}}},
		{"a numbered list has no fields", "1. a: b\n", nil},
		{"hidden in a fence", "```\n- a: b\n```\n", nil},
		{"hidden in indented code", "    - a: b\n", nil},
		{"hidden in a quote", "> - a: b\n", nil},
		{"hidden in a comment", "<!--\n- a: b\n-->\n", nil},
		{"a paragraph is no field", "a: b\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []field
			for _, f := range parse(t, tt.src).Fields(whole(tt.src)) {
				got = append(got, field{f.Key, f.Value, f.Items, in(tt.src, f.Raw)})
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%q\n got %q\nwant %q", tt.src, got, tt.want)
			}
		})
	}
}

func TestFieldItemsSpanWholeLines(t *testing.T) {
	src := strings.ReplaceAll("\ufeff---\nx: y\n---\n# T\n\n - a: b\n   c\n\n\n - d:\n   - e\n \n\n* f: g \t\n\n## S\n- h: i ", "\n", "\r\n")
	want := []string{" - a: b\r\n   c\r\n", " - d:\r\n   - e\r\n", "* f: g \t\r\n", "- h: i "}
	var got []string
	for _, f := range parse(t, src).Fields(whole(src)) {
		got = append(got, in(src, f.Item))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFieldsOfASpanBeginInsideIt(t *testing.T) {
	src := "- a: 1\n\n# A\n- b: 2\n\n## B\n- c: 3\n"
	d := parse(t, src)
	sections := d.Sections()
	keys := func(s markdown.Span) (out string) {
		for _, f := range d.Fields(s) {
			out += f.Key
		}
		return out
	}
	for _, tt := range []struct {
		name string
		span markdown.Span
		want string
	}{
		{"the whole text", whole(src), "abc"},
		{"a section", sections[0].Body, "bc"},
		{"a section within", sections[1].Body, "c"},
		{"before the first section", markdown.Span{End: sections[0].Heading.Start}, "a"},
		{"between two headings", markdown.Span{Start: sections[0].Body.Start, End: sections[1].Heading.Start}, "b"},
		{"nothing", markdown.Span{}, ""},
	} {
		if got := keys(tt.span); got != tt.want {
			t.Errorf("%s: got fields %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAListThatLeavesItsSpanIsReadToItsEnd(t *testing.T) {
	src := "- a: b\n- c: d\n  e\n"
	fields := parse(t, src).Fields(markdown.Span{Start: 0, End: 3})
	if len(fields) != 2 || in(src, fields[1].Item) != "- c: d\n  e\n" || fields[1].Value != "d e" {
		t.Errorf("got %+v", fields)
	}
}
