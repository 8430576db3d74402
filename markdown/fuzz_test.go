package markdown_test

import (
	"bytes"
	"errors"
	"html"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"

	"assent/internal/budget"
	"assent/markdown"
)

// seeds are small texts of every shape this room reads.
var seeds = []string{
	"", "\ufeff", "\n", "\r\n", "\r", "a", "# a", "#", "# #\n", "a\n===\n", "#1\n---\n", "  a\n b\n ---", "\f\n", "\v# a\n",
	"\ufeff# a\nb\n", "\ufeffa\n---\nb", "\ufeff| a |\n|-|\n", "\ufeff- a: b",
	"---\na: b\n---\n# c\n", "---\n---", "---\na: b\n...\n\n- d: e\n", "\ufeff---\r\na: b\r\n---\r\n# c\r\n",
	"| a | b |\n|---|:-:|\n| `x\\|y` | [z](w) |\n| 1 |\n| 1 | 2 | 3 |\n", "a | b\n- | -\n", "x\n|a|\n|-|\n|\\", "|\f|\n|-|\n",
	"- a: b\n- c:\n  - d\n  - e\n", "- a: >-\n  b\n\n  c\n", "- a: |\n      b\n", "* **a:** *b*\n\n\n", "-\ta:\tb\n", "- - a: b\n", "-\n  a: b\n", "- > a: b\n\n  c: d\n",
	"- ```\n  a: b\n  ```\n", "-\t#\n\n\ta: b\n", "- \u00a0a: b", "* ", "* 0: \n00", "1. a\n   - b: c\n", "- a\n* b\n+ c\n", "- a\n\n\n# b\n- c",
	"```\n# a\n```\n", "<!-- a -->\n# b\n", "<div>\n# a\n\n# b\n", "    # a\n", "> # a\n> - b: c\n", "[a]: b\n===\n", "[a]:\n- b: c\n",
	"> - 1. + * a\n", strings.Repeat("> ", 17), strings.Repeat("- ", 17) + "\n\n\n", nested(12), stairs("> ", 3), "- a\n \t- b\n\t\t- c\n",
	"# a\x00\xff\n- \xff: \x00\n| \xff |\n|-|\n", "# *a* `b` [c](d) &amp; <e>\n", "*a*\n\n    b", "![a [b](c) d](e)",
}

// checkSpans fails unless every span of d lies in the text, in order and at line starts.
func checkSpans(t *testing.T, d *markdown.Document, of markdown.Span) {
	t.Helper()
	src := d.Source()
	inside := func(what string, s, outer markdown.Span) {
		t.Helper()
		if s.Start < outer.Start || s.End < s.Start || s.End > outer.End {
			t.Fatalf("%q: %s %v leaves %v", src, what, s, outer)
		}
	}
	text := markdown.Span{Start: 0, End: len(src)}
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		text.Start = 3
	}
	if fm, ok := d.FrontMatter(); ok {
		inside("front matter", fm, text)
		text.Start = fm.End
	}
	lines := func(what string, s markdown.Span) {
		t.Helper()
		inside(what, s, text)
		if s.Start == s.End || s.Start != text.Start && src[s.Start-1] != '\n' || s.End != len(src) && src[s.End-1] != '\n' {
			t.Fatalf("%q: %s %v is not whole lines", src, what, s)
		}
	}
	after := func(what string, s, before markdown.Span) {
		t.Helper()
		if s.Start < before.End {
			t.Fatalf("%q: %s %v begins before the end of %v", src, what, s, before)
		}
	}
	oneLine := func(what, s string) {
		t.Helper()
		if s != strings.Join(strings.Fields(s), " ") {
			t.Fatalf("%q: %s %q has white space that is not collapsed", src, what, s)
		}
	}

	last := text.Start
	for _, s := range d.Sections() {
		lines("heading", s.Heading)
		after("heading", s.Heading, markdown.Span{End: last})
		inside("body", s.Body, text)
		oneLine("title", s.Title)
		if last = s.Heading.End; s.Body.Start != s.Heading.End {
			t.Fatalf("%q: body %v does not begin where heading %v ends", src, s.Body, s.Heading)
		}
		if s.Level < 1 || s.Level > 6 {
			t.Fatalf("%q: level %d", src, s.Level)
		}
	}

	row := func(what string, r markdown.Row) {
		t.Helper()
		lines(what, r.Line)
		last := r.Line.Start
		if len(r.Cells) == 0 || bytes.Count(r.Line.In(src), []byte("\n")) > 1 {
			t.Fatalf("%q: %s %v is not one line of cells", src, what, r.Line)
		}
		for _, c := range r.Cells {
			inside("cell", c.Raw, r.Line)
			after("cell", c.Raw, markdown.Span{End: last})
			last = c.Raw.End
			oneLine("cell", c.Text)
			if raw := c.Raw.In(src); len(bytes.Trim(raw, " \t\r\n")) != len(raw) {
				t.Fatalf("%q: cell %q has outer blanks", src, raw)
			}
		}
	}
	last = text.Start
	for _, table := range d.Tables(of) {
		row("header", table.Header)
		after("header", table.Header.Line, markdown.Span{End: last})
		lines("delimiter", table.Delimiter)
		last = table.Header.Line.End
		for _, r := range append([]markdown.Row{{Line: table.Delimiter}}, table.Rows...) {
			if r.Line.Start != last {
				t.Fatalf("%q: a line %v of the table does not follow on %d", src, r.Line, last)
			}
			last = r.Line.End
		}
		for _, r := range table.Rows {
			row("row", r)
		}
		if table.End() != last {
			t.Fatalf("%q: the table ends at %d, want %d", src, table.End(), last)
		}
	}

	last = text.Start
	for _, f := range d.Fields(of) {
		lines("item", f.Item)
		after("item", f.Item, markdown.Span{End: last})
		last = f.Item.End
		inside("value", f.Raw, f.Item)
		oneLine("value", f.Value)
		for _, item := range f.Items {
			oneLine("nested item", item)
		}
		if f.Key == "" {
			continue
		}
		before := string(src[f.Item.Start:f.Raw.Start])
		if key, _, ok := strings.Cut(before, ":"); !ok || !strings.Contains(key, f.Key) {
			t.Fatalf("%q: before the value of %q stands %q", src, f.Key, before)
		}
		if raw := f.Raw.In(src); len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\t' || bytes.ContainsAny(raw[len(raw)-1:], " \t\r\n")) {
			t.Fatalf("%q: value %q has outer blanks", src, raw)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range append(seeds, hostile...) {
		f.Add([]byte(s), uint16(0), uint16(len(s)))
		f.Add([]byte(s), uint16(len(s)/3), uint16(len(s)/2))
	}
	f.Fuzz(func(t *testing.T, src []byte, from, to uint16) {
		before := string(src)
		var d *markdown.Document
		var err error
		budget.Within(t, readingTime, func() { d, err = markdown.Parse(src) })
		if err != nil {
			var limit *markdown.LimitError
			if !errors.As(err, &limit) || limit.Line < 1 || limit.Line > strings.Count(before, "\n")+1 || d != nil {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		all := markdown.Span{Start: 0, End: len(src)}
		part := markdown.Span{Start: min(int(from), len(src)), End: min(int(to), len(src))}
		budget.Within(t, readingTime, func() {
			checkSpans(t, d, all)
			checkSpans(t, d, part)
		})
		if string(src) != before {
			t.Fatalf("%q became %q", before, src)
		}
		line, col := 1, 1
		for off := 0; off < len(src) && off < 100; off++ {
			if off > 0 && src[off-1] == '\n' {
				line, col = line+1, 1
			}
			if !utf8.RuneStart(src[off]) {
				continue
			}
			l, c := d.Position(off)
			if l != line || c < col {
				t.Fatalf("%q: %d is at %d:%d, behind %d:%d", src, off, l, c, line, col)
			}
			col = c
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range append(hostile, seeds...) {
		f.Add(s)
	}
	f.Fuzz(checkEscape)
}

// FuzzPlainText lets goldmark judge inline text. What it shows outside of text nodes,
// HTML and the text of images, is left out.
func FuzzPlainText(f *testing.F) {
	judge := goldmark.New(goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...))))
	tags := regexp.MustCompile(`<[^>]*>`)
	for _, s := range append(hostile, seeds...) {
		f.Add(s)
	}
	for _, s := range []string{`\&amp;`, "&amp;lt;", "&#38;lt;", "&#065;", "&#x1234567;", "*a **b*** `c\\`", "[a](b) [c](<d> 'e')", "a  \nb\\\nc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		raw = strings.Trim(raw, " \t\r\n")
		if strings.ContainsAny(raw, "<\x00") || strings.Contains(raw, "![") || len(raw) > 250 {
			return
		}
		for _, line := range strings.Split(raw, "\n")[1:] {
			if len(strings.TrimSpace(line)) == 0 {
				return // more than one paragraph
			}
		}
		shown := html.UnescapeString(tags.ReplaceAllString(render(t, judge, raw), ""))
		want := strings.Join(strings.Fields(shown), " ")
		if got := markdown.PlainText([]byte(raw)); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	})
}

func FuzzApply(f *testing.F) {
	for _, s := range seeds {
		n := uint16(len(s))
		f.Add([]byte(s), uint16(0), uint16(0), []byte("x\n\n"), n, n, []byte("\ny"))
		f.Add([]byte(s), n/3, n/2, []byte("```\n"), n/2, n/2, []byte(nil))
		f.Add([]byte(s), n/4, n/3, []byte(nil), n/2, n, []byte("# z\n"))
	}
	f.Fuzz(func(t *testing.T, src []byte, a, b uint16, first []byte, c, d uint16, second []byte) {
		before := string(src)
		same, err := markdown.Apply(src)
		if _, refused := markdown.Parse(src); (err == nil) != (refused == nil) {
			t.Fatalf("%q: no edits give %v, Parse gives %v", src, err, refused)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(same, src) {
			t.Fatalf("%q: no edits give %q", src, same)
		}

		clip := func(n uint16) int { return min(int(n), len(src)) }
		edits := []markdown.Edit{
			{Span: markdown.Span{Start: clip(a), End: clip(b)}, New: first},
			{Span: markdown.Span{Start: clip(c), End: clip(d)}, New: second},
		}
		got, err := markdown.Apply(src, edits...)
		if string(src) != before {
			t.Fatalf("%q became %q", before, src)
		}
		if err != nil {
			return
		}
		x, y := edits[0], edits[1]
		if y.Start < x.Start || y.Start == x.Start && y.End < x.End {
			x, y = y, x
		}
		want := string(src[:x.Start]) + string(x.New) + string(src[x.End:y.Start]) + string(y.New) + string(src[y.End:])
		if string(got) != want {
			t.Fatalf("%q with %v gives %q, want %q", src, edits, got, want)
		}
		if edits[0].Span != edits[1].Span {
			turned, err := markdown.Apply(src, edits[1], edits[0])
			if err != nil || !bytes.Equal(turned, got) {
				t.Fatalf("%q with %v in the other order gives %q, %v, want %q", src, edits, turned, err, got)
			}
		}

		// Every section no edit touched is in the result, in its order.
		kept := untouched(t, src, x, y)
		for _, s := range parse(t, string(got)).Sections() {
			if len(kept) > 0 && reflect.DeepEqual(title(s), kept[0]) {
				kept = kept[1:]
			}
		}
		if len(kept) > 0 {
			t.Fatalf("%q with %v gives %q, which lost the section %v", src, edits, got, kept[0])
		}
	})
}

type titled struct {
	level int
	title string
}

func title(s markdown.Section) titled { return titled{s.Level, s.Title} }

func untouched(t *testing.T, src []byte, edits ...markdown.Edit) (kept []titled) {
	for _, s := range parse(t, string(src)).Sections() {
		touched := false
		for _, e := range edits {
			touched = touched || e.Start < s.Heading.End && e.End > s.Heading.Start
		}
		if !touched {
			kept = append(kept, title(s))
		}
	}
	return kept
}
