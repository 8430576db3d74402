package skmb

import (
	"context"
	"maps"
	"slices"
	"strings"

	"assent/finding"
	"assent/markdown"
	"assent/store"
)

// Index rewrites the rows of the three decision tables from the files, sorted by id.
func (w *Writer) Index(ctx context.Context) (Done, error) {
	return w.change(ctx, "index", func(tx *store.Tx, d *draft, done *Done) error {
		done.IDs = []string{}
		return d.rewriteIndex()
	})
}

// IndexRewrite returns the index as it is and as the files would have it.
func IndexRewrite(tree finding.Tree, root string) (before, after []byte, err error) {
	d, err := newDraft(tree, root)
	if err != nil {
		return nil, nil, err
	}
	before = d.base.Index.doc.Source()
	if err := d.rewriteIndex(); err != nil {
		return nil, nil, err
	}
	after, err = d.read(IndexPath(root))
	return before, after, err
}

// rewriteIndex makes the rows of the three tables anew. A row that is right keeps its
// bytes; in one that is not only the wrong cells change; a row without a file, or whose
// shape is not known, stays where its id belongs. Every byte outside of the rows is kept.
// Lines of a table that are no rows, such as conflict markers, cannot be sorted: they are
// refused.
func (d *draft) rewriteIndex() error {
	for _, kind := range []table{decisions, defaults, opens} {
		if err := d.rewriteTable(kind); err != nil {
			return err
		}
	}
	return nil
}

// line is one row of a table that is being made, with its line end.
type line struct{ id, text string }

func (d *draft) rewriteTable(kind table) error {
	x, err := d.index()
	if err != nil {
		return err
	}
	src, nl := x.doc.Source(), x.doc.Newline()
	want := map[string]*Record{}
	for _, r := range d.base.Records {
		if r.ID != "" && r.fields != nil && belongs(kind, r) && want[r.ID] == nil {
			want[r.ID] = r
		}
	}
	t := x.tables[kind]
	if t == nil || !t.present {
		if len(want) == 0 {
			return nil
		}
		if err := d.addTable(x, kind, newTable(kind, nl)); err != nil {
			return err
		}
		if x, err = d.index(); err != nil {
			return err
		}
		src, t = x.doc.Source(), x.tables[kind]
	}
	if err := t.keyed(kind); err != nil && len(want) > 0 {
		return err
	}
	rows := map[string]int{}
	for _, r := range t.rows {
		rows[r.id()]++
	}
	var lines []line
	missing := maps.Clone(want)
	for _, r := range t.rows {
		text := string(r.line.In(src))
		known := d.base.byID[r.id()]
		switch {
		case !r.wellShaped() && !ValidID(r.id()): // a conflict marker or prose: its place is all that it has
			return misshapenRow(r, "a row without an id")
		case !r.wellShaped(): // it is somebody's row, whatever it says
			for _, c := range r.cells {
				delete(missing, c.Text)
			}
		case rows[r.id()] > 1:
			delete(missing, r.id()) // of two rows with one id a person says which is which
		case want[r.id()] != nil:
			delete(missing, r.id())
			text = rewriteRow(src, r, want[r.id()])
		case kind == defaults && known != nil && known.fields != nil:
			continue // a default no longer
		}
		if !strings.HasSuffix(text, "\n") {
			text += nl
		}
		lines = append(lines, line{r.id(), text})
	}
	header := string(t.table.Header.Line.In(src))
	for _, rec := range missing {
		values := rowValues(d.root, rec)
		if kind == defaults {
			values = defaultValues(d.root, rec)
		}
		lines = append(lines, line{rec.ID, renderRow(t.columns, values, header) + nl})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.id, b.id) })
	region := markdown.Span{Start: t.table.Delimiter.End, End: t.table.End()}
	var out strings.Builder
	if region.Start > 0 && src[region.Start-1] != '\n' {
		out.WriteString(nl)
	}
	for _, l := range lines {
		out.WriteString(l.text)
	}
	text := out.String()
	if region.End > 0 && src[region.End-1] != '\n' {
		text = strings.TrimRight(text, "\r\n")
	}
	if text == string(region.In(src)) {
		return nil
	}
	return d.apply(x.Path, src, markdown.Edit{Span: region, New: []byte(text)})
}

func belongs(kind table, r *Record) bool {
	switch kind {
	case decisions:
		return !isOpen(r.ID)
	case defaults:
		return r.Status == StatisticalDefault
	}
	return isOpen(r.ID)
}

// rewriteRow is the row's own text with the cells changed that the file decides.
func rewriteRow(src []byte, r row, rec *Record) string {
	changes := rowChanges(r, rec)
	if by := rec.value("review_by"); r.kind == defaults && r.text("review_by") != by {
		changes["review_by"] = by
	}
	text := string(r.line.In(src))
	var edits []markdown.Edit
	for column, value := range changes {
		if c, ok := r.cell(column); ok {
			edits = append(edits, cellEdit(src, c.Raw, value))
		}
	}
	slices.SortFunc(edits, func(a, b markdown.Edit) int { return b.Start - a.Start })
	for _, e := range edits {
		text = text[:e.Start-r.line.Start] + string(e.New) + text[e.End-r.line.Start:]
	}
	return text
}
