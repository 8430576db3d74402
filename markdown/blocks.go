package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// HTML is an HTML block that is a direct child of the document: what is in fences, indented
// code, quotes and list items is none.
type HTML struct {
	Lines   Span   // whole lines, final newline included
	Text    string // blanks at its ends cut
	Comment bool   // a comment, whatever it holds
	Alone   bool   // it has one line and ends on it
}

// HTML returns the HTML blocks of the document, in order.
func (d *Document) HTML() []HTML {
	var out []HTML
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		block, ok := n.(*ast.HTMLBlock)
		if !ok {
			continue
		}
		lines := block.Lines()
		h := HTML{Lines: Span{d.startOf(n), d.startOf(n)}, Comment: block.HTMLBlockType == ast.HTMLBlockType2}
		if lines.Len() > 0 {
			h.Lines.End = d.body + lines.At(lines.Len()-1).Stop
		}
		if block.HasClosure() {
			h.Lines.End = d.body + block.ClosureLine.Stop
		}
		h.Text = string(bytes.TrimSpace(h.Lines.In(d.src)))
		h.Alone = lines.Len() == 1 && !block.HasClosure() && strings.HasSuffix(h.Text, "-->")
		out = append(out, h)
	}
	return out
}

// Item is one item of a bullet list that is a direct child of the document.
type Item struct {
	Lines Span   // whole lines of all that it holds, trailing blank lines left out
	Mark  byte   // '-', '*' or '+'
	Text  string // of its first paragraph as it is written, lines joined by a blank
	Plain bool   // it holds that paragraph and nothing else
}

// Items returns the items of the bullet lists that begin inside s and are direct children of
// the document, in order.
func (d *Document) Items(s Span) []Item {
	var out []Item
	for item, end := range d.bullets(s) {
		i := Item{Lines: Span{d.startOf(item), end}, Mark: item.Parent().(*ast.List).Marker}
		for i.Lines.End > i.Lines.Start && isBlank(d.src[i.Lines.End-1]) {
			i.Lines.End--
		}
		_, i.Lines.End = cutLine(d.src, i.Lines.End)
		if p := item.FirstChild(); p != nil && isParagraph(p) {
			i.Text, i.Plain = strings.Join(d.textLines(p), " "), p.NextSibling() == nil
		}
		out = append(out, i)
	}
	return out
}

func isParagraph(n ast.Node) bool {
	return n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock
}

// Paragraph is a piece of running text, also that of a list item or a quote.
type Paragraph struct {
	At    int      // offset of the line that it begins on
	Lines []string // as they are written, blanks at their ends cut
	Quote bool     // it stands in a block quote
}

// Paragraphs returns all paragraphs of the document, in order; headings, code, HTML and
// comments are none.
func (d *Document) Paragraphs() []Paragraph {
	var out []Paragraph
	_ = ast.Walk(d.root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if enter && isParagraph(n) {
			quote := false
			for p := n.Parent(); p != nil && !quote; p = p.Parent() {
				quote = p.Kind() == ast.KindBlockquote
			}
			out = append(out, Paragraph{d.linesOf(n).Start, d.textLines(n), quote})
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return out
}

// OpenEnd says what a line put at the end of the document would be swallowed by, "" if it would
// stand there as a block of its own: a fence, a comment or another HTML block that nothing ends.
func (d *Document) OpenEnd() string {
	n := d.root.LastChild()
	const probe = "<!-- end -->"
	with, err := Parse(append(append(bytes.Clone(d.src), "\n\n"...), probe...))
	if err != nil {
		return err.Error()
	}
	if h := with.HTML(); len(h) > 0 && h[len(h)-1].Text == probe && h[len(h)-1].Lines.Start >= len(d.src) {
		return ""
	}
	switch n.(type) {
	case *ast.FencedCodeBlock:
		return "a code fence that nothing ends"
	case *ast.HTMLBlock:
		return "a comment or HTML block that nothing ends"
	}
	return "a block that nothing ends"
}
