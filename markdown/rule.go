package markdown

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// opening is what Markdown would not read as the beginning of a paragraph, or what a reader
// would not: a task box, a table's row, a link definition.
var opening = regexp.MustCompile(`^(\[[ xX]\]([ \t]|$)|\||\[[^\]]+\]:)`)

// NoRule says why a text is no rule, "" if it is one: put behind "- " it must be one list with
// one item, whose one paragraph reads as it stands. Raw HTML and comments hide or do something,
// and a word like @docs/x.md makes some hosts read another file: they count only inside of code
// spans. at is the byte at which the trouble begins.
func NoRule(s string) (at int, why string) {
	if strings.TrimSpace(s) != s || s == "" {
		return 0, "is empty, or has blanks at its ends"
	}
	if i := strings.IndexAny(s, "\n\r\v\f\u0085\u2028\u2029"); i >= 0 {
		return i, "has more than one line"
	}
	for _, mark := range []string{"<!--", "-->", "--!>"} {
		if i := strings.Index(s, mark); i >= 0 {
			return i, "holds the mark of a comment"
		}
	}
	if opening.MatchString(s) {
		return 0, "begins like a task, a table or a link definition"
	}
	if !oneParagraph(s) {
		return 0, "would not be read as one item of a list: it begins like a heading, a list, a quote, a fence or a break"
	}
	if len(s) > maxInlineText || tooManyMarks([]byte(s)) {
		return 0, "has too many marks to be read"
	}
	return noInline(s)
}

// oneParagraph reports whether "- " and a text are one item with one paragraph.
func oneParagraph(s string) bool {
	d, err := Parse([]byte("- " + s + "\n"))
	if err != nil {
		return false
	}
	list := d.root.FirstChild()
	if list == nil || list.Kind() != ast.KindList || list.NextSibling() != nil || list.ChildCount() != 1 {
		return false
	}
	item := list.FirstChild()
	p := item.FirstChild()
	if p == nil || p.NextSibling() != nil || p.Kind() != ast.KindTextBlock && p.Kind() != ast.KindParagraph {
		return false
	}
	return string(bytes.TrimSpace(p.Lines().Value(d.src[d.body:]))) == s
}

// noInline says what of a line's inline Markdown is no text to read.
func noInline(s string) (at int, why string) {
	raw, html := withoutCode([]byte(s))
	if html >= 0 {
		return html, "holds raw HTML"
	}
	end := 0
	for word := range bytes.FieldsFuncSeq(raw, unicode.IsSpace) {
		end += bytes.Index(raw[end:], word) + len(word)
		word = bytes.TrimLeft(word, `("'[{*_`)
		if len(word) > 1 && word[0] == '@' && bytes.ContainsAny(word, "/.~") {
			return end - len(word), "holds a word that some hosts take for a file to be read"
		}
	}
	return 0, ""
}
