package markdown

import "strings"

// Escape returns s as one line of text that stays text wherever Markdown puts it:
// rendered, it is one text node that reads as s with white space collapsed. Bytes that
// are not UTF-8, and NUL, which Markdown cannot hold, become U+FFFD.
func Escape(s string) string { return escape(s, false) }

// Cell is Escape for one cell of a table: pipes are escaped too.
func Cell(s string) string { return escape(s, true) }

func escape(s string, cell bool) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	s = strings.ReplaceAll(s, "\x00", "�")
	// A byte order mark at the start of a file is cut before Markdown is read.
	head := len(s) - len(strings.TrimLeft(strings.TrimPrefix(s, string(bom)), " "))
	tail := len(strings.TrimRight(s, "#")) // in a heading the rest would be its closing sequence
	var out strings.Builder
	out.Grow(len(s) + 8)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case strings.IndexByte("\\`*[]<~", c) >= 0,
			c == '|' && cell,
			c == '_' && !(i > 0 && i < len(s)-1 && isWord(s[i-1]) && isWord(s[i+1])),
			c == '&' && i+1 < len(s) && (isWord(s[i+1]) || s[i+1] == '#'),
			i == head && strings.IndexByte("#-+=>:|", c) >= 0,
			(c == '.' || c == ')') && i > head && isNumber(s[head:i]),
			c == '#' && i >= tail:
			out.WriteByte('\\')
		}
		out.WriteByte(c)
	}
	return out.String()
}

// isNumber reports whether s could be the number of an ordered list item.
func isNumber(s string) bool {
	return len(s) > 0 && len(s) <= 9 && strings.Trim(s, "0123456789") == ""
}
