package markdown

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark/ast"
)

// Strays says what in a text would reach beyond the section that it is put into, or is
// raw HTML; "" if it stays inside: no heading of level 1 or 2, no HTML, no fence or comment
// left open, no link definition. Lists, tables, emphasis, code and deeper headings are
// fine.
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
		case *ast.Paragraph:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				if t := bytes.TrimSpace(line.Value(d.src[d.body:])); len(t) > 0 && t[0] == '[' && bytes.Contains(t, []byte("]:")) {
					problem = "holds a link definition"
				}
			}
			if raw := d.linesOf(n).In(d.src); bytes.Contains(raw, []byte("<!--")) || bytes.Contains(raw, []byte("![")) {
				problem = "holds a comment or an image"
			}
		}
		if problem != "" {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return problem
}
