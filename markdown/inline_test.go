package markdown_test

import (
	"strings"
	"testing"

	"assent/markdown"
)

func TestPlainTextIsWhatAReaderSees(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"empty", "", ""},
		{"blanks", " \t ", ""},
		{"text", "a b", "a b"},
		{"white space collapses", "  a \t b\u00a0c\r\n d ", "a b c d"},
		{"emphasis", "*a* **b** ***c*** _d_ __e__", "a b c d e"},
		{"emphasis behind four blanks", "    *a*", "a"},
		{"emphasis that never closes", "*a _b", "*a _b"},
		{"stars with blanks", "2 * 3 * 4", "2 * 3 * 4"},
		{"underscores inside words", "a_b_c __init__.py", "a_b_c init.py"},
		{"code", "`a *b* \\_ &amp;`", "a *b* \\_ &amp;"},
		{"code with backticks", "`` a`b ``", "a`b"},
		{"code that never closes", "`a", "`a"},
		{"link", "[a *b*](c)", "a b"},
		{"image", "![a](b)", "a"},
		{"autolink", "<https://e.org/?a&amp;b>", "https://e.org/?a&amp;b"},
		{"mail autolink", "<a@e.org>", "a@e.org"},
		{"HTML stays", "a <b>c</b> <!-- d -->", "a <b>c</b> <!-- d -->"},
		{"escapes", `\*a\* \[b\] \\ \c`, `*a* [b] \ \c`},
		{"a backslash at the end", `a\`, `a\`},
		{"named references", "&lt;&amp;&auml;&nbsp;x &nosuch; &amp", "<&ä x &nosuch; &amp"},
		{"decimal references", "&#65;&#065;&#0;&#8364;", "AA\ufffd€"},
		{"hexadecimal references", "&#x41;&#X41;&#x0041;&#x1F600;", "AAA😀"},
		{"references that are none", "&; &#; &#x; &#a; &#12345678; &#x1234567;", "&; &#; &#x; &#a; &#12345678; &#x1234567;"},
		{"a code point that is none", "&#xD800;&#x110000;", "\ufffd\ufffd"},
		{"an escaped reference", `\&amp; \&lt; \&#65;`, "&amp; &lt; &#65;"},
		{"a reference that gives a reference", "&amp;lt; &#38;lt; &#38;#65;", "&lt; &lt; &#65;"},
		{"a reference that gives a backslash", "&#92;* &bsol;&lowbar;", `\* \_`},
		{"a reference is no syntax", "&#42;a&#42; &lbrack;b](c)", "*a* [b](c)"},
		{"an escaped backslash before a reference", `\\&lt;`, `\<`},
		{"a hard break", "a  \n*b*\\\nc", "a b c"},
		{"paragraphs stay apart", "*a*\n\nb", "a b"},
		{"block syntax is text", "# a", "# a"},
		{"a reference definition is text", "[a]: b", "[a]: b"},
		{"not UTF-8", "*a\xff*", "a\xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := markdown.PlainText([]byte(tt.raw)); got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.raw, got, tt.want)
			}
		})
	}
}

func TestPlainTextLeavesLongTextAsItStands(t *testing.T) {
	tests := []struct{ name, short, long string }{
		{"bytes", strings.Repeat("a", 4<<10-3) + "*b*", strings.Repeat("a", 4<<10-2) + "*b*"},
		{"brackets", strings.Repeat("[", 254) + " *b*", strings.Repeat("[", 255) + " *b*"},
		{"stars", strings.Repeat("* ", 254) + "*b*", strings.Repeat("* ", 255) + "*b*"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := markdown.PlainText([]byte(tt.short)); strings.HasSuffix(got, "*b*") {
				t.Errorf("emphasis left in %.20q…, which is within the limit", got)
			}
			if got := markdown.PlainText([]byte(tt.long)); got != tt.long {
				t.Errorf("got %.20q…, want the text as it stands", got)
			}
		})
	}
}

func TestEscapedMarksAndWordsAreNoMarks(t *testing.T) {
	for _, s := range []string{strings.Repeat(`\[`, 1000), strings.Repeat("a_b ", 1000)} {
		raw := s + "*c*"
		if got := markdown.PlainText([]byte(raw)); !strings.HasSuffix(got, "c") {
			t.Errorf("%.10q…: emphasis left in …%q", raw, got[len(got)-5:])
		}
	}
}
