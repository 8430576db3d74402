package markdown

import (
	"bytes"
	"iter"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// TableCell is one cell of a table row.
type TableCell struct {
	Raw  Span   // between the pipes, blanks cut
	Text string // plain text: escapes, emphasis, code and links resolved
	Link string // destination of the first link in the cell, "" without one
}

// Row is one line of a table. A row whose number of cells differs from the header's
// is returned as it stands: what belongs where is for the caller to refuse.
type Row struct {
	Line  Span // the whole line, final newline included
	Cells []TableCell
}

// Table is a pipe table as GitHub Flavored Markdown has it. Its first and last pipes
// on a line are optional.
type Table struct {
	Header    Row
	Delimiter Span // the whole line
	Rows      []Row
}

// End returns where the table's last line ends.
func (t Table) End() int {
	if n := len(t.Rows); n > 0 {
		return t.Rows[n-1].Line.End
	}
	return t.Delimiter.End
}

// Tables returns the tables among the paragraphs that begin inside s and are direct
// children of the document. Their lines are read as they stand in the source: the
// parser's table extension is quadratic in the number of columns and drops surplus cells.
func (d *Document) Tables(s Span) []Table {
	var out []Table
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindParagraph || d.body+n.Pos() < s.Start {
			continue
		}
		if d.body+n.Pos() >= s.End {
			break
		}
		lines := n.Lines()
		for i := 1; i < lines.Len(); i++ {
			delimiter := d.wholeLine(lines.At(i).Start)
			if !isDelimiter(delimiter.In(d.src)) {
				continue
			}
			header := d.row(lines.At(i - 1).Start)
			if len(header.Cells) != countCells(delimiter.In(d.src)) {
				continue
			}
			t := Table{Header: header, Delimiter: delimiter}
			for j := i + 1; j < lines.Len(); j++ {
				t.Rows = append(t.Rows, d.row(lines.At(j).Start))
			}
			out = append(out, t)
			break
		}
	}
	return out
}

// StrayRows returns the lines that look like rows of a table and belong to none: those with a pipe in
// front, in paragraphs that begin inside s and are direct children of the document. A delimiter that
// has not as many cells as its header, or is not there, makes such lines of a table, and so does a
// blank line within one.
func (d *Document) StrayRows(s Span) []Span {
	tables := d.Tables(s)
	var out []Span
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindParagraph || d.body+n.Pos() < s.Start {
			continue
		}
		if d.body+n.Pos() >= s.End {
			break
		}
		for i := range n.Lines().Len() {
			line := d.wholeLine(n.Lines().At(i).Start)
			inside := func(t Table) bool { return line.Start >= t.Header.Line.Start && line.Start < t.End() }
			if bytes.HasPrefix(bytes.TrimLeft(line.In(d.src), " "), []byte("|")) && !slices.ContainsFunc(tables, inside) {
				out = append(out, line)
			}
		}
	}
	return out
}

// wholeLine spans the line that holds an offset of the parsed body.
func (d *Document) wholeLine(off int) Span {
	start := d.lineStart(off)
	_, end := cutLine(d.src, start)
	return Span{start, end}
}

// isDelimiter reports whether the line is a delimiter row: dashes between optional
// colons, at least one pipe.
func isDelimiter(line []byte) bool {
	pipe, dash := false, false
	for _, c := range bytes.TrimSpace(line) {
		switch c {
		case '|':
			pipe = true
		case '-':
			dash = true
		case ':', ' ', '\t':
		default:
			return false
		}
	}
	if !pipe || !dash {
		return false
	}
	for c := range cells(line, 0) {
		cell := bytes.Trim(line[c.Start:c.End], " \t\r\n")
		cell = bytes.TrimPrefix(cell, []byte(":"))
		cell = bytes.TrimSuffix(cell, []byte(":"))
		if len(cell) == 0 || len(bytes.Trim(cell, "-")) > 0 {
			return false
		}
	}
	return true
}

func countCells(line []byte) (n int) {
	for range cells(line, 0) {
		n++
	}
	return n
}

func (d *Document) row(off int) Row {
	line := d.wholeLine(off)
	src := line.In(d.src)
	row := Row{Line: line, Cells: make([]TableCell, 0, countCells(src))}
	for s := range cells(src, line.Start) {
		text, link := inlineText(unescapePipes(s.In(d.src)))
		row.Cells = append(row.Cells, TableCell{Raw: s, Text: text, Link: link})
	}
	return row
}

// cells cuts a row at its pipes, which only a backslash protects, code spans do
// not (GFM, "Tables"). The spans are shifted by base and have no outer blanks.
func cells(line []byte, base int) iter.Seq[Span] {
	trim := func(a, b int) Span {
		for a < b && isBlank(line[a]) {
			a++
		}
		for b > a && isBlank(line[b-1]) {
			b--
		}
		return Span{a, b}
	}
	return func(yield func(Span) bool) {
		outer := trim(0, len(line))
		start, end := outer.Start, outer.End
		if start < end && line[start] == '|' {
			start++
		}
		at := start
		for i := start; i < end; i++ {
			switch line[i] {
			case '\\':
				i++
			case '|':
				s := trim(at, i)
				if !yield(Span{base + s.Start, base + s.End}) {
					return
				}
				at = i + 1
			}
		}
		if s := trim(at, end); at < end || at == start {
			yield(Span{base + s.Start, base + s.End})
		}
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func unescapePipes(cell []byte) []byte {
	if !bytes.Contains(cell, []byte(`\|`)) {
		return cell
	}
	return bytes.ReplaceAll(cell, []byte(`\|`), []byte("|"))
}
