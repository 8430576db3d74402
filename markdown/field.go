package markdown

import (
	"bytes"
	"iter"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Field is one `- key: value` item of a bullet list.
type Field struct {
	Key   string   // as written, without emphasis; "" if the item is no field
	Value string   // plain text, continuation lines folded; "" if the value is a nested list
	Items []string // the items of a nested list
	Item  Span     // the whole item, from its line start, trailing blank lines left out
	Raw   Span     // the value: from behind "key:" and blanks to the end of the item
}

// Fields returns the items of the bullet lists that begin inside s and are direct
// children of the document. A value may go on over indented lines, be a nested list,
// or be a YAML folded (`>`) or literal (`|`) scalar. An item that is no field has an
// empty Key and its text in Value.
func (d *Document) Fields(s Span) []Field {
	var out []Field
	for item, end := range d.bullets(s) {
		out = append(out, d.field(item, end))
	}
	return out
}

// bullets are the items of the bullet lists that begin inside s and are direct children of the
// document, each with where the next block begins.
func (d *Document) bullets(s Span) iter.Seq2[ast.Node, int] {
	return func(yield func(ast.Node, int) bool) {
		for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
			list, ok := n.(*ast.List)
			if !ok || list.IsOrdered() || d.startOf(n) < s.Start {
				continue
			}
			if d.startOf(n) >= s.End {
				return
			}
			end := len(d.src)
			if n.NextSibling() != nil {
				end = d.startOf(n.NextSibling())
			}
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				to := end
				if item.NextSibling() != nil {
					to = d.startOf(item.NextSibling())
				}
				if !yield(item, to) {
					return
				}
			}
		}
	}
}

func (d *Document) field(item ast.Node, end int) Field {
	f := Field{Item: Span{d.startOf(item), end}}
	for f.Item.End > f.Item.Start && isBlank(d.src[f.Item.End-1]) {
		f.Item.End--
	}
	f.Raw = Span{f.Item.End, f.Item.End}
	_, f.Item.End = cutLine(d.src, f.Item.End)
	var text []string
	var first ast.Node // the block whose first line may hold the key
	for n := item.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindList {
			for it := n.FirstChild(); it != nil; it = it.NextSibling() {
				f.Items = append(f.Items, PlainText([]byte(strings.Join(d.textLines(it), " "))))
			}
			continue
		}
		text = append(text, d.textLines(n)...)
		if first == nil && len(text) > 0 {
			first = n
		}
	}
	if first == nil {
		return f
	}
	start := d.linesOf(first).Start
	line := text[0]
	key, at, ok := cutKey(line)
	if !ok || first.Kind() != ast.KindParagraph && first.Kind() != ast.KindTextBlock {
		f.Value = PlainText([]byte(strings.Join(text, " ")))
		f.Raw.Start = min(start, f.Raw.End)
		return f
	}
	f.Key = key
	f.Raw.Start = min(start+at, f.Raw.End)
	for f.Raw.Start < f.Raw.End && (d.src[f.Raw.Start] == ' ' || d.src[f.Raw.Start] == '\t') {
		f.Raw.Start++ // blanks at the line's end, which line lacks
	}
	value := line[at:]
	if len(text) > 1 && isBlockScalar(value) {
		value = ""
	}
	f.Value = PlainText([]byte(strings.TrimSpace(value + " " + strings.Join(text[1:], " "))))
	return f
}

// textLines returns the text of every leaf block below n, line by line.
func (d *Document) textLines(n ast.Node) []string {
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		var out []string
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			out = append(out, d.textLines(c)...)
		}
		return out
	}
	var out []string
	if lines := n.Lines(); lines != nil {
		for i := range lines.Len() {
			s := lines.At(i)
			out = append(out, strings.Trim(string(d.src[d.body+s.Start:d.body+s.Stop]), " \t\r\n"))
		}
	}
	return out
}

// cutKey splits "key: value" and returns where in line the value begins. The key may
// stand in bold, italic or code. As in YAML a blank or the line's end follows the
// colon: "https://example.org" and "10:30" have no key.
func cutKey(line string) (key string, at int, ok bool) {
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return "", 0, false
	}
	raw := line[:colon]
	key = strings.Trim(raw, "*_` \t")
	if key == "" {
		return "", 0, false
	}
	for i := range len(key) {
		if c := key[i]; !isWord(c) && c != '_' && c != '-' && c != ' ' {
			return "", 0, false
		}
	}
	at = colon + 1
	for _, mark := range []string{"***", "**", "__", "*", "_", "`"} { // **key:** value
		if strings.HasPrefix(raw, mark) && !strings.HasSuffix(raw, mark) && strings.HasPrefix(line[at:], mark) {
			at += len(mark)
			break
		}
	}
	if at < len(line) && line[at] != ' ' && line[at] != '\t' {
		return "", 0, false
	}
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	return key, at, true
}

// isBlockScalar reports whether s is the header of a YAML block scalar.
func isBlockScalar(s string) bool {
	if s = strings.TrimSpace(s); s == "" || (s[0] != '>' && s[0] != '|') {
		return false
	}
	return len(bytes.Trim([]byte(s[1:]), "+-0123456789")) == 0 && len(s) <= 3
}
