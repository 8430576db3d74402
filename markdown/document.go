// Package markdown reads Markdown with byte offsets and edits it without loss.
//
// goldmark decides what is structure: its block parsers alone run over the whole
// text, inline syntax is read on demand for one heading, cell or field value. All
// offsets are byte offsets into the source as it was given, byte order mark and
// front matter included. Parse never changes the source.
package markdown

import (
	"bytes"
	"sort"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Span is a half-open range of bytes of the source.
type Span struct{ Start, End int }

// In returns the bytes of the span.
func (s Span) In(src []byte) []byte { return src[s.Start:s.End] }

// Document is one parsed text, safe for concurrent reading. It keeps the source it was
// given and must not outlive changes to it.
type Document struct {
	src    []byte
	body   int // where Markdown begins: after byte order mark and front matter
	front  Span
	hasFM  bool
	root   ast.Node
	once   sync.Once
	starts []int // offsets of line starts, filled by the first Position
}

var bom = []byte("\xef\xbb\xbf")

// blocks is goldmark with its block parsers only: no inline parsers, and no
// paragraph transformers, which are quadratic on link reference definitions.
var blocks = parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))

// Parse reads src once. A text that a guard refuses gives a *LimitError; no other
// error is possible, since every byte sequence is Markdown.
func Parse(src []byte) (*Document, error) {
	d := &Document{src: src}
	d.front, d.body, d.hasFM = frontMatter(src)
	if err := guard(src, d.body); err != nil {
		return nil, err
	}
	root, err := bounded(func() ast.Node { return blocks.Parse(text.NewReader(src[d.body:])) }, len(src))
	if err != nil {
		return nil, err
	}
	d.root = root
	if err := d.checkDepth(); err != nil {
		return nil, err
	}
	return d, nil
}

// Source returns the bytes that were parsed.
func (d *Document) Source() []byte { return d.src }

// FrontMatter returns the span between the `---` of line 1 and its closing `---`
// or `...`, both lines excluded.
func (d *Document) FrontMatter() (Span, bool) { return d.front, d.hasFM }

func frontMatter(src []byte) (front Span, body int, ok bool) {
	if bytes.HasPrefix(src, bom) {
		body = len(bom)
	}
	fence := func(line []byte) []byte { return bytes.TrimRight(line, " \t\r\n") }
	line, first := cutLine(src, body)
	if string(fence(line)) != "---" {
		return Span{}, body, false
	}
	for at := first; at < len(src); {
		line, next := cutLine(src, at)
		if f := fence(line); string(f) == "---" || string(f) == "..." {
			return Span{first, at}, next, true
		}
		at = next
	}
	return Span{}, body, false
}

// cutLine returns the line at off with its line end, and where the next begins.
// A lone CR ends no line.
func cutLine(src []byte, off int) (line []byte, next int) {
	if i := bytes.IndexByte(src[off:], '\n'); i >= 0 {
		return src[off : off+i+1], off + i + 1
	}
	return src[off:], len(src)
}

// lineStart returns where the line begins that holds an offset of the parsed body. A
// byte order mark is no part of the first line.
func (d *Document) lineStart(off int) int {
	return d.body + bytes.LastIndexByte(d.src[d.body:d.body+off], '\n') + 1
}

// Position returns the 1-based line and column of a byte offset. Columns count
// runes; a byte order mark is no column.
func (d *Document) Position(off int) (line, col int) {
	d.once.Do(func() {
		d.starts = append(d.starts, 0)
		for i, c := range d.src {
			if c == '\n' {
				d.starts = append(d.starts, i+1)
			}
		}
	})
	off = min(max(off, 0), len(d.src))
	line = sort.SearchInts(d.starts, off+1)
	from := d.starts[line-1]
	if line == 1 && bytes.HasPrefix(d.src, bom) {
		from = min(len(bom), off)
	}
	return line, utf8.RuneCount(d.src[from:off]) + 1
}

// Newline returns what most lines end in: "\r\n" or "\n". A text without line
// ends has "\n".
func (d *Document) Newline() string { return Newline(d.src) }

// Newline returns what most lines of src end in.
func Newline(src []byte) string {
	if crlf := bytes.Count(src, []byte("\r\n")); crlf > bytes.Count(src, []byte("\n"))-crlf {
		return "\r\n"
	}
	return "\n"
}

// Section is one heading of the document's top level with what stands under it.
type Section struct {
	Title   string // plain text
	Level   int    // 1 to 6
	Heading Span   // whole lines, final newline included
	Body    Span   // up to the next heading of the same or a higher level
}

// Sections returns the headings that are direct children of the document, in
// order. Headings inside lists, quotes, fences and comments are not sections.
func (d *Document) Sections() []Section {
	var out []Section
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		start := d.startOf(n)
		raw := d.linesOf(n)
		_, end := cutLine(d.src, max(start, raw.End-1))
		if raw.End == raw.Start {
			_, end = cutLine(d.src, start)
		} else if mark := firstMark(d.src, start); d.src[mark] != '#' || mark == raw.Start {
			// A setext heading has an underline; its text may begin with '#' ("#1").
			_, end = cutLine(d.src, end)
		}
		out = append(out, Section{Title: PlainText(raw.In(d.src)), Level: h.Level, Heading: Span{start, end}})
	}
	for i := range out {
		out[i].Body = Span{out[i].Heading.End, len(d.src)}
		for _, next := range out[i+1:] {
			if next.Level <= out[i].Level {
				out[i].Body.End = next.Heading.Start
				break
			}
		}
	}
	return out
}

func firstMark(src []byte, off int) int {
	for off < len(src)-1 && src[off] == ' ' {
		off++
	}
	return off
}

// startOf returns where the first line of a block begins.
func (d *Document) startOf(n ast.Node) int { return d.lineStart(n.Pos()) }

// linesOf spans the text lines of a leaf block, without its final newline.
func (d *Document) linesOf(n ast.Node) Span {
	lines := n.Lines()
	if lines == nil || lines.Len() == 0 {
		return Span{d.body + max(n.Pos(), 0), d.body + max(n.Pos(), 0)}
	}
	return Span{d.body + lines.At(0).Start, d.body + lines.At(lines.Len()-1).Stop}
}
