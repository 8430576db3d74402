package markdown_test

import (
	"strings"
	"testing"

	"assent/markdown"
)

// edit replaces the only occurrence of old in src.
func edit(t *testing.T, src, old, text string) markdown.Edit {
	t.Helper()
	if strings.Count(src, old) != 1 {
		t.Fatalf("%q is not in %q exactly once", old, src)
	}
	at := strings.Index(src, old)
	return markdown.Edit{Span: markdown.Span{Start: at, End: at + len(old)}, New: []byte(text)}
}

func insert(at int, text string) markdown.Edit {
	return markdown.Edit{Span: markdown.Span{Start: at, End: at}, New: []byte(text)}
}

func TestApplyChangesTheEditedBytesAlone(t *testing.T) {
	tests := []struct {
		name, src string
		edits     func(t *testing.T, src string) []markdown.Edit
		want      string
	}{
		{"no edits", "\ufeff# a\r\nb", func(*testing.T, string) []markdown.Edit { return nil }, "\ufeff# a\r\nb"},
		{"no edits, no text", "", func(*testing.T, string) []markdown.Edit { return nil }, ""},
		{"replace", "# a\nb\nc\n", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "b", "longer")}
		}, "# a\nlonger\nc\n"},
		{"delete", "# a\nb\nc\n", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "b\n", "")}
		}, "# a\nc\n"},
		{"append", "# a\n", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{insert(len(s), "b")}
		}, "# a\nb"},
		{"insert before the first byte", "# a\n", func(*testing.T, string) []markdown.Edit {
			return []markdown.Edit{insert(0, "b\n\n")}
		}, "b\n\n# a\n"},
		{"byte order mark, CRLF and a missing final newline survive", "\ufeff# a\r\nb\r\nc", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "b", "x")}
		}, "\ufeff# a\r\nx\r\nc"},
		{"bytes that are not UTF-8 survive", "\xff\x00b\xfe", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "b", "x")}
		}, "\xff\x00x\xfe"},
		{"any order", "a b c d", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "d", "4"), edit(t, s, "a", "1"), edit(t, s, "c", "")}
		}, "1 b  4"},
		{"edits that touch", "abcd", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "cd", "2"), edit(t, s, "ab", "1")}
		}, "12"},
		{"an insertion where a replacement begins", "abc", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "b", "x"), insert(1, "+")}
		}, "a+xc"},
		{"insertions at one place keep their order", "ab", func(*testing.T, string) []markdown.Edit {
			return []markdown.Edit{insert(1, "1"), insert(1, "2")}
		}, "a12b"},
		{"a heading may be renamed", "# a\nb\n", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "# a", "## c")}
		}, "## c\nb\n"},
		{"a section may be deleted", "# a\nb\n# c\n", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{edit(t, s, "# a\nb\n", "")}
		}, "# c\n"},
		{"a section may be added", "# a\n# c\n", func(t *testing.T, s string) []markdown.Edit {
			return []markdown.Edit{insert(len("# a\n"), "# b\n")}
		}, "# a\n# b\n# c\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := []byte(tt.src)
			got, err := markdown.Apply(src, tt.edits(t, tt.src)...)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			if string(src) != tt.src {
				t.Errorf("the source is now %q", src)
			}
		})
	}
}

func TestApplyKeepsTheCallersEdits(t *testing.T) {
	edits := []markdown.Edit{insert(2, "x"), insert(0, "y")}
	if _, err := markdown.Apply([]byte("ab"), edits...); err != nil {
		t.Fatal(err)
	}
	if edits[0].Start != 2 || edits[1].Start != 0 {
		t.Errorf("the edits were sorted in place: %v", edits)
	}
}

func TestApplyRefuses(t *testing.T) {
	tests := []struct {
		name, src string
		edits     []markdown.Edit
		says      string
	}{
		{"edits that overlap", "abcd", []markdown.Edit{{Span: markdown.Span{Start: 0, End: 2}}, {Span: markdown.Span{Start: 1, End: 3}}}, "bytes 1 to 3 overlaps"},
		{"an insertion inside a replacement", "abcd", []markdown.Edit{{Span: markdown.Span{Start: 0, End: 3}}, insert(1, "x")}, "bytes 1 to 1 overlaps"},
		{"an edit behind the text", "ab", []markdown.Edit{insert(3, "x")}, "leaves the text"},
		{"an edit before the text", "ab", []markdown.Edit{insert(-1, "x")}, "leaves the text"},
		{"an edit that ends before it begins", "ab", []markdown.Edit{{Span: markdown.Span{Start: 2, End: 1}}}, "bytes 2 to 1"},
		{"a fence that swallows a section", "a\n\n# b\n", []markdown.Edit{insert(0, "```\n")}, `hide the section "b"`},
		{"a comment that swallows a section", "a\n\n# b\n", []markdown.Edit{insert(0, "<!--\n")}, `hide the section "b"`},
		{"front matter that swallows a section", "a\n\n# b\n---\n", []markdown.Edit{insert(0, "---\n")}, `hide the section "b"`},
		{"text glued to a heading", "# b\n", []markdown.Edit{insert(0, "a")}, `hide the section "b"`},
		{"text glued to a heading without newline", "# b", []markdown.Edit{insert(3, "c")}, `hide the section "b"`},
		{"a line that joins a setext heading", "\nb\n===\n", []markdown.Edit{insert(0, "a")}, `hide the section "b"`},
		{"one of two sections of one name", "# b\n# b\n", []markdown.Edit{insert(4, "```\n")}, `hide the section "b"`},
		{"a fence's end that is deleted", "```\n```\n# b\n", []markdown.Edit{{Span: markdown.Span{Start: 4, End: 8}}}, `hide the section "b"`},
		{"a result that a guard refuses", "# b\n", []markdown.Edit{insert(4, strings.Repeat("- ", 17))}, "line 2: more than 16 containers"},
		{"a text that a guard refuses", strings.Repeat("- ", 17), nil, "line 1: more than 16 containers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := markdown.Apply([]byte(tt.src), tt.edits...)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q, %v, want an error that says %q", got, err, tt.says)
			}
			if got != nil {
				t.Errorf("a text came with the error: %q", got)
			}
		})
	}
}
