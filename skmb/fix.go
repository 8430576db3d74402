package skmb

import (
	"context"
	"slices"
	"strings"

	"assent/finding"
	"assent/markdown"
	"assent/store"
)

// Fix makes the mends that need no judgement: the spelling of known field names, the other
// half of a supersession that only one side records, and the rows of the index where the
// files are right.
func (w *Writer) Fix(ctx context.Context) (Done, error) {
	return w.change(ctx, "fix", func(tx *store.Tx, d *draft, done *Done) error {
		done.IDs = []string{}
		return d.fix()
	})
}

// Preview is a file as it is and as a change would have it.
type Preview struct {
	Path          string
	Before, After []byte
}

// FixPreview returns what Fix would change, sorted by path.
func FixPreview(tree finding.Tree, root string) ([]Preview, error) {
	d, err := newDraft(tree, root)
	if err != nil {
		return nil, err
	}
	if err := d.fix(); err != nil {
		return nil, err
	}
	var out []Preview
	for name, after := range d.files {
		before, err := tree.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if string(before) != string(after) {
			out = append(out, Preview{name, before, after})
		}
	}
	slices.SortFunc(out, func(a, b Preview) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (d *draft) fix() error {
	for _, r := range d.base.Records {
		if r.ID == "" || r.fields == nil || d.base.byID[r.ID] != r { // one of two with one id is for a person
			continue
		}
		if err := d.fixKeys(r); err != nil {
			return err
		}
	}
	for _, e := range d.base.edges(nil, nil) {
		old := d.base.byID[e.to]
		if e.partial || old == nil || old.fields == nil || old.Status != Superseded || old.value("superseded_by") != "" || old.Section("Superseded By") != "" {
			continue
		}
		if e.from.Status != Accepted && e.from.Status != Superseded {
			continue
		}
		now, err := d.record(old.ID)
		if err != nil {
			return err
		}
		if now.value("superseded_by") == "" {
			if err := d.setField(old.ID, "superseded_by", e.from.ID); err != nil {
				return err
			}
		}
	}
	return d.rewriteIndex()
}

// fixKeys writes the known field names of a record in their one spelling.
func (d *draft) fixKeys(r *Record) error {
	src := r.doc.Source()
	var edits []markdown.Edit
	for key, f := range r.fields {
		if f.front || f.key == key || !slices.Contains(fields, key) {
			continue
		}
		at := strings.Index(string(src[f.item.Start:f.span.Start]), f.key)
		if at < 0 {
			continue
		}
		at += f.item.Start
		edits = append(edits, markdown.Edit{Span: markdown.Span{Start: at, End: at + len(f.key)}, New: []byte(key)})
	}
	if len(edits) == 0 {
		return nil
	}
	return d.apply(r.Path, src, edits...)
}
