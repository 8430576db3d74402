package markdown_test

import (
	"reflect"
	"strings"
	"testing"

	"assent/markdown"
)

// parse reads a text that no guard may refuse.
func parse(t testing.TB, src string) *markdown.Document {
	t.Helper()
	d, err := markdown.Parse([]byte(src))
	if err != nil {
		t.Fatalf("Parse(%.60q): %v", src, err)
	}
	return d
}

// whole is the span of all of src.
func whole(src string) markdown.Span { return markdown.Span{Start: 0, End: len(src)} }

// in returns the bytes of a span, so that a table can name them instead of numbers.
func in(src string, s markdown.Span) string { return string(s.In([]byte(src))) }

func TestSectionsAreTheHeadingsOfTheTopLevel(t *testing.T) {
	type section struct {
		level         int
		title         string
		heading, body string
	}
	tests := []struct {
		name, src string
		want      []section
	}{
		{"empty text", "", nil},
		{"only a byte order mark", "\ufeff", nil},
		{"text without headings", "a\n\nb\n", nil},
		{"one heading", "# A\n\ntext\n", []section{{1, "A", "# A\n", "\ntext\n"}}},
		{"byte order mark", "\ufeff# A\nx\n", []section{{1, "A", "# A\n", "x\n"}}},
		{"CRLF", "# A\r\nx\r\n## B\r\ny\r\n", []section{
			{1, "A", "# A\r\n", "x\r\n## B\r\ny\r\n"}, {2, "B", "## B\r\n", "y\r\n"}}},
		{"a lone CR ends no line", "# A\rx\n", []section{{1, "A x", "# A\rx\n", ""}}},
		{"no final newline", "x\n\n# A", []section{{1, "A", "# A", ""}}},
		{"a body ends at the next heading of its level or above", "# A\n## B\nb\n### C\n## D\n# E\n", []section{
			{1, "A", "# A\n", "## B\nb\n### C\n## D\n"}, {2, "B", "## B\n", "b\n### C\n"},
			{3, "C", "### C\n", ""}, {2, "D", "## D\n", ""}, {1, "E", "# E\n", ""}}},
		{"a deeper heading first", "### C\nc\n# A\na\n", []section{{3, "C", "### C\n", "c\n"}, {1, "A", "# A\n", "a\n"}}},
		{"levels up to six", "###### F\n####### g\n", []section{{6, "F", "###### F\n", "####### g\n"}}},
		{"indented by three blanks", "   ## A ##  \nx\n", []section{{2, "A", "   ## A ##  \n", "x\n"}}},
		{"no blank behind the mark", "#A\n", nil},
		{"a tab behind the mark", "#\tA\n", []section{{1, "A", "#\tA\n", ""}}},
		{"empty heading", "#\nx\n", []section{{1, "", "#\n", "x\n"}}},
		{"empty heading with CRLF", "##\r\nx\r\n", []section{{2, "", "##\r\n", "x\r\n"}}},
		{"empty heading at the end", "x\n\n#", []section{{1, "", "#", ""}}},
		{"empty heading with blanks", "#   \nx\n", []section{{1, "", "#   \n", "x\n"}}},
		{"empty heading with a closing sequence", "### ###\nx\n", []section{{3, "", "### ###\n", "x\n"}}},
		{"setext", "A\n===\nx\n\nB\n---\ny\n", []section{
			{1, "A", "A\n===\n", "x\n\nB\n---\ny\n"}, {2, "B", "B\n---\n", "y\n"}}},
		{"setext with CRLF", "A\r\n=\r\nx\r\n", []section{{1, "A", "A\r\n=\r\n", "x\r\n"}}},
		{"setext without final newline", "A\n---", []section{{2, "A", "A\n---", ""}}},
		{"setext over several indented lines", "  A\n   *b*\n      c  \n  ---  \nx\n", []section{
			{2, "A b c", "  A\n   *b*\n      c  \n  ---  \n", "x\n"}}},
		{"setext whose text begins with a hash", "#1\n---\nx\n", []section{{2, "#1", "#1\n---\n", "x\n"}}},
		{"setext whose text begins with an escaped hash", "\\# a\n===\nx\n", []section{{1, "# a", "\\# a\n===\n", "x\n"}}},
		{"a rule is no underline", "A\n\n---\nx\n", nil},
		{"inline syntax in the title", "# *A* `b|c` [d](e) &amp; \\# f_g ![h](i)\n", []section{
			{1, "A b|c d & # f_g h", "# *A* `b|c` [d](e) &amp; \\# f_g ![h](i)\n", ""}}},
		{"behind front matter", "---\ntitle: x\n# no\n---\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"hidden in fences", "```\n# no\n```\n~~~~\n# no\n~~~\n# no\n~~~~\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"hidden in a fence that never closes", "# A\n```\n# no\n", []section{{1, "A", "# A\n", "```\n# no\n"}}},
		{"hidden in a quote", "> # no\n\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"hidden in a list", "- # no\n\n  ## no\n\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"hidden in a comment", "<!--\n# no\n\n# no\n-->\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"hidden in an HTML block", "<div>\n# no\n\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"hidden in indented code", "    # no\n\n\t# no\n# A\n", []section{{1, "A", "# A\n", ""}}},
		{"not UTF-8", "# A\xff\n\xfe\n", []section{{1, "A\xff", "# A\xff\n", "\xfe\n"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []section
			for _, s := range parse(t, tt.src).Sections() {
				got = append(got, section{s.Level, s.Title, in(tt.src, s.Heading), in(tt.src, s.Body)})
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%q\n got %#v\nwant %#v", tt.src, got, tt.want)
			}
		})
	}
}

func TestSectionSpansAreOffsetsIntoTheWholeSource(t *testing.T) {
	src := "\ufeff---\nid: 1\n---\ntext\n\n# A\nbody\n# B\n"
	s := parse(t, src).Sections()[0]
	if want := strings.Index(src, "# A"); s.Heading.Start != want {
		t.Errorf("heading starts at %d, want %d", s.Heading.Start, want)
	}
	if want := strings.Index(src, "# B"); s.Body.End != want {
		t.Errorf("body ends at %d, want %d", s.Body.End, want)
	}
}

func TestFrontMatterStandsBetweenTheFencesOfLineOne(t *testing.T) {
	const none = "(none)"
	tests := []struct{ name, src, want string }{
		{"empty text", "", none},
		{"no fence", "a: 1\n", none},
		{"closed by dashes", "---\na: 1\n---\nx\n", "a: 1\n"},
		{"closed by dots", "---\na: 1\n...\nx\n", "a: 1\n"},
		{"empty", "---\n---\nx\n", ""},
		{"byte order mark", "\ufeff---\na: 1\n---\n", "a: 1\n"},
		{"CRLF", "---\r\na: 1\r\n---\r\nx\r\n", "a: 1\r\n"},
		{"blanks behind the fences", "--- \na: 1\n---\t\nx\n", "a: 1\n"},
		{"no final newline", "---\na: 1\n---", "a: 1\n"},
		{"a fence inside a value is none", "---\na: ---\n b: 1\n---\n", "a: ---\n b: 1\n"},
		{"never closed", "---\na: 1\n", none},
		{"a rule alone", "---", none},
		{"not on line one", "\n---\na: 1\n---\n", none},
		{"indented", " ---\na: 1\n---\n", none},
		{"four dashes", "----\na: 1\n----\n", none},
		{"a lone CR ends no line", "---\ra: 1\r---\r", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := none
			if s, ok := parse(t, tt.src).FrontMatter(); ok {
				got = in(tt.src, s)
			}
			if got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.src, got, tt.want)
			}
		})
	}
}

func TestFrontMatterIsNotMarkdown(t *testing.T) {
	src := "---\n# a\n- b: c\n\n| d |\n|---|\n---\n"
	d := parse(t, src)
	if s, f, tab := d.Sections(), d.Fields(whole(src)), d.Tables(whole(src)); len(s)+len(f)+len(tab) > 0 {
		t.Errorf("found %v, %v, %v inside front matter", s, f, tab)
	}
}

func TestUnclosedFrontMatterIsMarkdown(t *testing.T) {
	if got := parse(t, "---\n# A\n").Sections(); len(got) != 1 || got[0].Title != "A" {
		t.Errorf("got %v, want one section A", got)
	}
}

func TestPositionCountsLinesAndRunes(t *testing.T) {
	tests := []struct {
		name, src string
		off       int
		line, col int
	}{
		{"empty text", "", 0, 1, 1},
		{"first byte", "abc", 0, 1, 1},
		{"end of the text", "abc", 3, 1, 4},
		{"behind the text", "abc", 99, 1, 4},
		{"before the text", "abc", -1, 1, 1},
		{"on the newline", "ab\ncd", 2, 1, 3},
		{"behind the newline", "ab\ncd", 3, 2, 1},
		{"behind the final newline", "ab\n", 3, 2, 1},
		{"an empty line", "a\n\nb", 2, 2, 1},
		{"runes of many bytes", "äöü€x", 9, 1, 5},
		{"bytes that are no rune", "\xff\xfex", 2, 1, 3},
		{"CRLF", "a\r\nb", 3, 2, 1},
		{"a lone CR ends no line", "a\rb", 2, 1, 3},
		{"byte order mark is no column", "\ufeffab", 4, 1, 2},
		{"inside the byte order mark", "\ufeffab", 1, 1, 1},
		{"at the byte order mark", "\ufeffab", 0, 1, 1},
		{"byte order mark counts on line one only", "\ufeffa\n\ufeffb", 8, 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line, col := parse(t, tt.src).Position(tt.off)
			if line != tt.line || col != tt.col {
				t.Errorf("%q at %d: got %d:%d, want %d:%d", tt.src, tt.off, line, col, tt.line, tt.col)
			}
		})
	}
}

func TestNewlineIsWhatMostLinesEndIn(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"empty text", "", "\n"},
		{"one line", "a", "\n"},
		{"LF", "a\nb\n", "\n"},
		{"CRLF", "a\r\nb\r\n", "\r\n"},
		{"more CRLF", "a\r\nb\r\nc\n", "\r\n"},
		{"more LF", "a\r\nb\nc\n", "\n"},
		{"as many of both", "a\r\nb\n", "\n"},
		{"lone CRs", "a\rb\rc\n", "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parse(t, tt.src).Newline(); got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.src, got, tt.want)
			}
			if got := markdown.Newline([]byte(tt.src)); got != tt.want {
				t.Errorf("%q: Newline gives %q, want %q", tt.src, got, tt.want)
			}
		})
	}
}

func TestParseKeepsItsSource(t *testing.T) {
	src := []byte("\ufeff---\r\na: 1\r\n---\r\n# A\tb\r\n\x00\xff\r\n")
	before := string(src)
	d, err := markdown.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	d.Sections()
	if string(src) != before || string(d.Source()) != before {
		t.Errorf("source is now %q, was %q", src, before)
	}
}
