package markdown

import (
	"bytes"
	"strconv"
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
// entities, emphasis, code spans and links resolved, white space collapsed. A text over
// 4 KiB or with more than 256 unescaped brackets, stars and the like is returned as it
// stands, white space collapsed: the inline parser is quadratic in them.
func PlainText(raw []byte) string {
	text, _ := inlineText(raw)
	return text
}

func inlineText(raw []byte) (plain, link string) {
	raw = bytes.Trim(raw, " \t\r\n") // four leading blanks would be code, which is not read here
	if len(raw) > maxInlineText || isPlain(raw) || tooManyMarks(raw) {
		return strings.Join(strings.Fields(string(raw)), " "), ""
	}
	root := inlines.Parse(text.NewReader(raw))
	var out strings.Builder
	_ = ast.Walk(root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Paragraph:
			out.WriteByte(' ')
		case *ast.Text:
			value := n.Segment.Value(raw)
			if n.Parent().Kind() != ast.KindCodeSpan {
				value = unescape(value)
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
				link = string(unescape(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " "), link
}

// unescape resolves backslashes and character references from left to right. What one
// of them gives is text and never part of another: `\&lt;` reads as "&lt;".
func unescape(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 && bytes.IndexByte(s, '&') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]) {
			i++
		} else if s[i] == '&' {
			end := i + 1
			for end < len(s) && (isWord(s[end]) || end == i+1 && s[end] == '#') {
				end++
			}
			if end < len(s) && s[end] == ';' {
				if text, ok := reference(string(s[i+1 : end])); ok {
					out = append(out, text...)
					i = end
					continue
				}
			}
		}
		out = append(out, s[i])
	}
	return out
}

// reference returns the text of the character reference `&name;`.
func reference(name string) (string, bool) {
	if entity, ok := util.LookUpHTML5EntityByName(name); ok {
		return string(entity.Characters), true
	}
	digits, ok := strings.CutPrefix(name, "#")
	base, longest := 10, 7
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base, longest = digits[1:], 16, 6
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if !ok || len(digits) > longest || err != nil {
		return "", false
	}
	return string(util.ToValidRune(rune(n))), true
}

// isPlain reports whether the slice holds no inline syntax. An underscore between
// letters or digits is none.
func isPlain(raw []byte) bool {
	if bytes.ContainsAny(raw, "\\`*[]<>&!") {
		return false
	}
	for i := range raw {
		if isUnderscore(raw, i) {
			return false
		}
	}
	return true
}

// isUnderscore reports whether raw has an underscore at i that could be emphasis.
func isUnderscore(raw []byte, i int) bool {
	return raw[i] == '_' && (i == 0 || i == len(raw)-1 || !isWord(raw[i-1]) || !isWord(raw[i+1]))
}

func tooManyMarks(raw []byte) bool {
	marks := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\':
			i++
		case c == '[', c == ']', c == '*', c == '<', isUnderscore(raw, i):
			marks++
		}
	}
	return marks > maxMarks
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
