package markdown

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Strays says what in a text would reach beyond the section that it is put into, or is more
// than text; "" if it stays inside: no heading of level 1 or 2, no HTML, no image, no fence or
// comment left open, no link definition. Lists, tables, emphasis, links, code and deeper
// headings are fine.
func Strays(src []byte) string {
	const probe = "\n\n## after\n"
	d, err := Parse(append(bytes.Clone(src), probe...))
	if err != nil {
		return err.Error()
	}
	if _, ok := d.FrontMatter(); ok {
		return "begins with front matter"
	}
	if s := d.Sections(); len(s) == 0 || s[len(s)-1].Title != "after" || s[len(s)-1].Heading.Start < len(src) {
		return "leaves a code fence or a comment open"
	}
	problem := ""
	_ = ast.Walk(d.root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter || n.Type() != ast.TypeBlock || d.body+n.Pos() >= len(src) && n.Kind() != ast.KindDocument {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level <= 2 {
				problem = fmt.Sprintf("holds a heading of level %d; use level 3 or deeper", n.Level)
			}
		case *ast.HTMLBlock:
			problem = "holds raw HTML"
		case *ast.Paragraph, *ast.TextBlock:
			problem = straysInline(n.Lines().Value(d.src[d.body:]))
		}
		if problem != "" {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return problem
}

// straysInline says what the text of one paragraph holds that is no text.
func straysInline(raw []byte) string {
	for line := range bytes.Lines(raw) {
		if t := bytes.TrimSpace(line); len(t) > 0 && t[0] == '[' && bytes.Contains(t, []byte("]:")) {
			return "holds a link definition"
		}
	}
	if !bytes.ContainsRune(raw, '<') && !bytes.Contains(raw, []byte("![")) {
		return ""
	}
	if bytes.Contains(raw, []byte("<!--")) {
		return "holds a comment"
	}
	if len(raw) > maxInlineText || tooManyMarks(raw) {
		return "holds what may be HTML or an image, and too much beside it to tell"
	}
	bare, html := withoutCode(raw)
	switch {
	case html >= 0:
		return "holds raw HTML"
	case bytes.Contains(bare, []byte("![")): // also one whose target would be defined elsewhere
		return "holds an image"
	}
	return ""
}

// withoutCode returns the text of one paragraph with back-ticks for the content of its code
// spans, and where raw HTML begins, -1 if there is none.
func withoutCode(raw []byte) (bare []byte, html int) {
	bare, html = bytes.Clone(raw), -1
	_ = ast.Walk(inlines.Parse(text.NewReader(raw)), func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.RawHTML:
			if at := n.Segments.At(0).Start; html < 0 {
				html = at
			}
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil && enter; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					for i := t.Segment.Start; i < t.Segment.Stop; i++ {
						bare[i] = '`'
					}
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return bare, html
}
