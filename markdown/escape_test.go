package markdown_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"assent/markdown"
)

// hostile are texts that mean something somewhere in Markdown.
var hostile = []string{
	"", " ", "a", "a b", " a\tb \r\n c ", "\u00a0a\u2003b\u0085", "\v\f", "é_a_é", "日本語",
	"# a", "#", "###", "a #", "a ##", "# #", "####### a", "#a#b#",
	"- a", "-", "---", "- - -", "+ a", "+", "* a", "***", "___", "_ _ _", "=", "===", "a\n===", "a\n---",
	"1. a", "1) a", "1.", "123456789. a", "1234567890. a", "1.5", "a 1. b", "01)",
	"> a", ">", ">>", "    a", "\ta", "```", "``` a", "~~~", "~a~", "`", "`a`", "``a``", "a`b", "`a",
	"*a*", "**a**", "_a_", "__a__", "a_b_c", "a__b", "_", "__init__", "a*b*c", "*", "**", "*_a_*", "~~a~~",
	"[a](b)", "![a](b)", "!", "![", "a!", "[a]", "[a]: b", "[a][b]", "[", "]", "](", "[ ] a", "[x] a", "[^1]", "[^1]: a",
	"<a>", "<a", "<", "<!-- a -->", "<!--", "<https://e.org/>", "<a@e.org>", "</a>", "<?", "<!A", "<![CDATA[", "a < b > c",
	"&amp;", "&", "& ", "&a", "&#65;", "&#x41;", "&lt;b&gt;", "a & b", "AT&T", "&&amp;;", "&nosuch;", "&copy",
	"\\", "\\\\", "\\*", "a\\", "\\#", "\\&amp;", "\\n", "\\|", "a\\|b", "\\\\|",
	"|", "a|b", "| a |", "|---|", "||", "a |", "| a", ":", ": a", ":-:", "`a|b`",
	"https://e.org/a_b", "a@e.org", "{#id}", "a {#id}", "$a$", "---\na: b\n---", "\"a\" 'b'", "(c)", "a--b", "...",
	"\x00", "a\x00b", "\xff", "a\xff\xfeb", "\xed\xa0\x80", "\ufffd", "\ufeff", "\ufeff# a", "\ufeff- a", "\ufeff 1. a", "\u200b# a", "\x1b[0m", "\u202ea",
}

// collapsed is what Escape and Cell promise to read back as.
func collapsed(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	return strings.Join(strings.Fields(s), " ")
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func render(t testing.TB, md goldmark.Markdown, src string) string {
	t.Helper()
	var out bytes.Buffer
	if err := md.Convert([]byte(src), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	plainGoldmark = goldmark.New()
	tableGoldmark = goldmark.New(goldmark.WithExtensions(extension.Table))
)

// checkEscape judges Escape and Cell by what goldmark renders.
func checkEscape(t *testing.T, s string) {
	t.Helper()
	text := collapsed(s)
	shown := htmlEscaper.Replace(text)
	e := markdown.Escape(s)
	paragraph := "<p>" + shown + "</p>\n"
	if text == "" {
		paragraph = ""
	}
	contexts := []struct{ name, src, want string }{
		{"paragraph", e, paragraph},
		{"heading", "# " + e, "<h1>" + shown + "</h1>\n"},
		{"list item", "- " + e, "<ul>\n<li>" + shown + "</li>\n</ul>\n"},
		{"quote", "> " + e, "<blockquote>\n" + paragraph + "</blockquote>\n"},
		{"second line", "x\n" + e, "<p>" + strings.TrimSuffix("x\n"+shown, "\n") + "</p>\n"},
		{"inside a line", "x " + e + " x", "<p>x " + shown + " x</p>\n"},
	}
	for _, c := range contexts {
		if got := render(t, plainGoldmark, c.src); got != c.want {
			t.Errorf("Escape(%q) in a %s: %q renders\n     %q\nwant %q", s, c.name, c.src, got, c.want)
		}
	}
	if got := markdown.PlainText([]byte(e)); got != text && len(e) <= 4<<10 {
		t.Errorf("PlainText(%q) = %q, want %q", e, got, text)
	}
	if d := parse(t, e+"\n"); len(d.Sections())+len(d.Fields(whole(e)))+len(d.Tables(whole(e))) > 0 {
		t.Errorf("Escape(%q) = %q is structure at the start of a file", s, e)
	}

	c := markdown.Cell(s)
	src := "| h |\n|---|\n| " + c + " |\n"
	tables := parse(t, src).Tables(whole(src))
	if len(tables) != 1 || len(tables[0].Rows) != 1 || len(tables[0].Rows[0].Cells) != 1 {
		t.Fatalf("Cell(%q): %q gives %+v, want one row of one cell", s, src, tables)
	}
	if got := tables[0].Rows[0].Cells[0]; len(c) <= 4<<10 && (got.Text != text || got.Link != "") || in(src, got.Raw) != c {
		t.Errorf("Cell(%q): %q reads back as %+v, want %q", s, src, got, text)
	}
	want := "<table>\n<thead>\n<tr>\n<th>h</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>" + shown + "</td>\n</tr>\n</tbody>\n</table>\n"
	if got := render(t, tableGoldmark, src); got != want {
		t.Errorf("Cell(%q): %q renders\n     %q\nwant %q", s, src, got, want)
	}
}

func TestEscapedTextStaysText(t *testing.T) {
	for _, s := range hostile {
		checkEscape(t, s)
	}
}

func TestPairsOfHostileTextsStayText(t *testing.T) {
	var short []string
	for _, s := range hostile {
		if len(s) <= 3 {
			short = append(short, s)
		}
	}
	for _, a := range short {
		for _, b := range short {
			checkEscape(t, a+b)
		}
	}
}

func TestEscapeLeavesOrdinaryTextAlone(t *testing.T) {
	for _, s := range []string{
		"Plain words, with a comma.", "snake_case_name", "a - b", "x = 1", "50 % & more", "C#7", "a > b", "issue #7 is open",
		"(a)", "10 % of 1.5", "key: value", "日本語", "path/to/file.go:12", "a|b", "wow!",
	} {
		if got := markdown.Escape(s); got != s {
			t.Errorf("Escape(%q) = %q", s, got)
		}
	}
	if got, want := markdown.Cell("a|b"), `a\|b`; got != want {
		t.Errorf("Cell gives %q, want %q", got, want)
	}
}
