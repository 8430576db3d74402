package skmb

import (
	"slices"
	"strings"

	"assent/finding"
	"assent/markdown"
)

// table is one kind of table of the index.
type table int

const (
	decisions table = iota
	states
	transitions
	invariants
	failures
	defaults
	opens
	tables // their number
)

// tableSpec says how a table is headed and which columns it has, in the order in which
// a new one is written. key is the column that names a row.
type tableSpec struct {
	heading  string
	also     string // another heading that is read
	key      string
	columns  []string
	required []string
}

var specs = [tables]tableSpec{
	decisions:   {"Decision Index", "", "id", []string{"id", "status", "scope", "patterns", "file", "commit"}, []string{"id", "status", "file"}},
	states:      {"Named States", "", "state", []string{"state", "meaning", "owner", "notes", "source"}, []string{"state"}},
	transitions: {"Transition Decisions", "", "id", []string{"id", "from_state", "event", "to_state", "actions", "source"}, []string{"id"}},
	invariants:  {"Invariants", "", "id", []string{"id", "invariant", "source"}, []string{"id"}},
	failures:    {"Fail Semantics", "", "id", []string{"id", "context", "behavior", "source"}, []string{"id"}},
	defaults: {"Statistical Defaults Allowed Temporarily", "Reviewed Statistical Defaults", "id",
		[]string{"id", "pattern", "context", "default", "reason_allowed", "review_by", "file"}, []string{"id", "file"}},
	opens: {"Open Decisions", "", "id", []string{"id", "pattern", "context", "needed_before", "file"}, []string{"id"}},
}

// Index is a parsed SKMB.md.
type Index struct {
	Path   string
	doc    *markdown.Document
	tables [tables]*indexTable
}

// indexTable is one table of the index with the section it stands in.
type indexTable struct {
	section markdown.Section
	table   markdown.Table
	present bool // a table, not only the heading
	columns []string
	rows    []row
}

// row is one row of the index. Its cells are found by column name.
type row struct {
	kind    table
	index   *Index
	columns []string
	cells   []markdown.TableCell
	line    markdown.Span
}

func (r row) cell(column string) (markdown.TableCell, bool) {
	i := slices.Index(r.columns, column)
	if i < 0 || i >= len(r.cells) {
		return markdown.TableCell{}, false
	}
	return r.cells[i], true
}

func (r row) text(column string) string {
	c, _ := r.cell(column)
	return c.Text
}

// id is the name of the row.
func (r row) id() string { return strings.TrimSpace(r.text(specs[r.kind].key)) }

// wellShaped reports whether the row has one cell for each column.
func (r row) wellShaped() bool { return len(r.cells) == len(r.columns) }

// at is the place of a cell, or of the row if it has no such cell.
func (r row) at(column string) finding.Pos {
	if c, ok := r.cell(column); ok && r.wellShaped() {
		return docPos(r.index.doc, c.Raw.Start)
	}
	return docPos(r.index.doc, r.line.Start)
}

// file is what the file cell names: the link's target, else its text; "" for nothing.
func (r row) file() string {
	c, _ := r.cell("file")
	name := c.Text
	if c.Link != "" {
		name = c.Link
	}
	if isNone(name) {
		return ""
	}
	return name
}

func parseIndex(name string, data []byte) (*Index, *problem) {
	if p := unreadableBytes(name, data, maxIndex); p != nil {
		return nil, p
	}
	doc, err := markdown.Parse(data)
	if err != nil {
		return nil, limitProblem(name, err)
	}
	x := &Index{Path: name, doc: doc}
	var first *problem
	unread := func(off int, message string) {
		if first == nil {
			first = &problem{code: "skmb/unreadable", path: name, message: message, pos: docPos(doc, off)}
		}
	}
	for _, s := range doc.Sections() {
		if s.Level != 2 {
			continue
		}
		kind := slices.IndexFunc(specs[:], func(t tableSpec) bool {
			return strings.EqualFold(s.Title, t.heading) || t.also != "" && strings.EqualFold(s.Title, t.also)
		})
		if kind < 0 {
			continue
		}
		if x.tables[kind] != nil {
			unread(s.Heading.Start, "the section "+s.Title+" stands twice")
			continue
		}
		var second *markdown.Table
		x.tables[kind], second = x.readTable(table(kind), s)
		if second != nil {
			unread(second.Header.Line.Start, "the section "+s.Title+" has two tables of its kind, and one is read: put the rows of this one into the first")
		}
		if stray := doc.StrayRows(s.Body); len(stray) > 0 {
			unread(stray[0].Start, "a row of the section "+s.Title+" belongs to no table: a table has a line of dashes with as many cells below its header, and no blank line")
		}
	}
	return x, first
}

// readTable takes the first table of a section that has the key column, else the first. Another one
// that has it is second.
func (x *Index) readTable(kind table, s markdown.Section) (t *indexTable, second *markdown.Table) {
	t = &indexTable{section: s}
	has := false
	for _, m := range x.doc.Tables(s.Body) {
		columns := make([]string, len(m.Header.Cells))
		for i, c := range m.Header.Cells {
			columns[i] = fieldKey(c.Text)
		}
		hasKey := slices.Contains(columns, specs[kind].key)
		if has && hasKey {
			second = &m
			break
		}
		if t.present && !hasKey || has {
			continue
		}
		t.present, t.table, t.columns, has = true, m, columns, hasKey
	}
	for _, m := range t.table.Rows {
		t.rows = append(t.rows, row{kind, x, t.columns, m.Cells, m.Line})
	}
	return t, second
}

// OpenQuestions counts the rows of the open questions of a base: what a summary shows. A base that is not
// there or cannot be read has none; the checks say so.
func OpenQuestions(tree finding.Tree, root string) (n int) {
	name := IndexPath(root)
	data, err := tree.ReadFile(name)
	if err != nil {
		return 0
	}
	x, _ := parseIndex(name, data)
	for _, r := range x.rows(opens) {
		if isOpen(r.id()) {
			n++
		}
	}
	return n
}

// rows returns the rows of a table, none if the index does not have it.
func (x *Index) rows(kind table) []row {
	if x == nil || x.tables[kind] == nil {
		return nil
	}
	return x.tables[kind].rows
}
