package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// inlines reads one slice as the text of a single paragraph.
var inlines = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
)

// PlainText returns what a reader sees of one line of inline Markdown: escapes,
// entities, emphasis, code spans and links resolved, white space collapsed. Over 4 KiB
// the text is returned as it stands, white space collapsed.
func PlainText(raw []byte) string {
	text, _ := inlineText(raw)
	return text
}

func inlineText(raw []byte) (plain, link string) {
	if len(raw) > maxInlineText || isPlain(raw) {
		return strings.Join(strings.Fields(string(raw)), " "), ""
	}
	root := inlines.Parse(text.NewReader(raw))
	var out strings.Builder
	_ = ast.Walk(root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Segment.Value(raw)
			if n.Parent().Kind() != ast.KindCodeSpan {
				value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
			}
			out.Write(value)
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(raw))
			if link == "" {
				link = string(n.URL(raw))
			}
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				s := n.Segments.At(i)
				out.Write(s.Value(raw))
			}
		case *ast.Link:
			if link == "" {
				link = string(util.ResolveEntityNames(util.UnescapePunctuations(n.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " "), link
}

// isPlain reports whether the slice holds no inline syntax. An underscore between
// letters or digits is none.
func isPlain(raw []byte) bool {
	if bytes.ContainsAny(raw, "\\`*[]<>&!") {
		return false
	}
	for i, c := range raw {
		if c == '_' && (i == 0 || i == len(raw)-1 || !isWord(raw[i-1]) || !isWord(raw[i+1])) {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
