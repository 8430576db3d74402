package skmb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// End takes a proposed record back (withdraw) or says no to it (reject), with a reason.
// File and row stay; the number is never used again.
func (w *Writer) End(ctx context.Context, event Event, ref, reason string) (Done, error) {
	if isPlaceholder(reason) {
		return Done{}, &InputError{"a reason is needed", `write --reason "…"`}
	}
	if why := boundary.Unsafe(reason, "line"); why != "" {
		return Done{}, &InputError{"the reason " + why, "write it as one line of plain text"}
	}
	return w.change(ctx, string(event), func(tx *store.Tx, d *draft, done *Done) error {
		r, err := d.record(ref)
		if err != nil {
			return err
		}
		to, err := next(r, event)
		if err != nil {
			return err
		}
		done.IDs = []string{r.ID}
		if err := d.setField(r.ID, "status", string(to)); err != nil {
			return err
		}
		if err := d.setField(r.ID, "reason", reason); err != nil {
			return err
		}
		return d.syncRows(r.ID)
	})
}

// Question is an open question without a concrete decision.
type Question struct {
	Patterns, Context, NeededBefore string
	Paths                           []string
}

// Open adds a question as an OPEN row. It needs no file and blocks nothing by itself.
func (w *Writer) Open(ctx context.Context, q Question) (Done, error) {
	letters, unknown := parsePatterns(q.Patterns)
	switch {
	case strings.TrimSpace(q.Context) == "":
		return Done{}, &InputError{"a question needs its context", `write --context "…"`}
	case len(unknown) > 0:
		return Done{}, &InputError{fmt.Sprintf("%q is no pattern", strings.Join(unknown, " ")), "use the letters A to G"}
	}
	for _, text := range append([]string{q.Context, q.NeededBefore}, q.Paths...) {
		if why := boundary.Unsafe(text, "line"); why != "" {
			return Done{}, &InputError{fmt.Sprintf("%q %s", finding.Clean(text), why), "write it as one line of plain text"}
		}
	}
	q.Patterns = strings.Join(letters, ", ")
	return w.change(ctx, "open", func(tx *store.Tx, d *draft, done *Done) error {
		id, err := d.addQuestion(q)
		done.IDs = []string{id}
		return err
	})
}

func (d *draft) addQuestion(q Question) (string, error) {
	x, err := d.index()
	if err != nil {
		return "", err
	}
	most := 0
	used := slices.Collect(maps.Keys(d.base.known))
	d.base.readable(func(r *Record) { used = append(used, r.value("answers")) }) // a question that was answered keeps its number
	for _, id := range used {
		if number, ok := strings.CutPrefix(id, "OPEN-"); ok {
			if n, err := strconv.ParseUint(number, 10, 30); err == nil {
				most = max(most, int(n))
			}
		}
	}
	id := fmt.Sprintf("OPEN-%03d", most+1)
	values := cells{"id": id, "pattern": q.Patterns, "context": q.Context, "needed_before": q.NeededBefore, "file": "-", "paths": strings.Join(q.Paths, ", ")}
	if t := x.tables[opens]; t == nil || !t.present {
		if err := d.addTable(x, opens, newTable(opens, x.doc.Newline())); err != nil {
			return "", err
		}
		if x, err = d.index(); err != nil {
			return "", err
		}
	}
	if t := x.tables[opens]; len(q.Paths) > 0 && !slices.Contains(t.columns, "paths") {
		if err := d.addColumn(x, t, "paths"); err != nil {
			return "", err
		}
	}
	if err := d.setRow(opens, id, values); err != nil {
		return "", err
	}
	return id, d.verifyQuestion(id, q)
}

// verifyQuestion refuses a question that its row does not give back: it has no file that
// could say what a cell cannot hold.
func (d *draft) verifyQuestion(id string, q Question) error {
	x, err := d.index()
	if err != nil {
		return err
	}
	collapse := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	b := &Base{Index: x}
	got, _ := b.OpenQuestion(id)
	lost := ""
	switch {
	case got.Context != collapse(q.Context):
		lost = "context"
	case got.NeededBefore != collapse(q.NeededBefore):
		lost = "needed_before"
	case strings.Join(got.Patterns, ", ") != q.Patterns:
		lost = "pattern"
	case !slices.Equal(got.Paths, orEmpty(q.Paths)):
		lost = "paths"
	default:
		return nil
	}
	return &InputError{fmt.Sprintf("the %s of the question cannot be kept in the table %q", lost, specs[opens].heading), "add the column " + lost + ", or shorten the text; a path holds no comma and no blanks in a row"}
}

// Reopen turns a proposed record back into a question: the record is withdrawn, its number
// stays used, and an OPEN row carries its context on.
func (w *Writer) Reopen(ctx context.Context, ref string) (Done, error) {
	return w.change(ctx, "open", func(tx *store.Tx, d *draft, done *Done) error {
		r, err := d.record(ref)
		if err != nil {
			return err
		}
		to, err := next(r, EventOpen)
		if err != nil {
			return err
		}
		context := oneLine(r.Section("Context"))
		if context == "" {
			context = r.Title
		}
		id, err := d.addQuestion(Question{strings.Join(r.Patterns, ", "), fmt.Sprintf("%s (was %s)", context, r.ID), oneLine(r.Section("Needed Before")), r.Paths})
		if err != nil {
			return err
		}
		done.IDs = []string{r.ID, id}
		if err := d.setField(r.ID, "status", string(to)); err != nil {
			return err
		}
		if err := d.setField(r.ID, "reason", "open again as "+id); err != nil {
			return err
		}
		return d.syncRows(r.ID)
	})
}
