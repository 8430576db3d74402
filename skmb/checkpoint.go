package skmb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// riskOrder is the order in which patterns are put before a designer: what cannot be undone
// and who may do what come first (seed 003, "Strong Stop Conditions").
const riskOrder = "GEFCBAD"

// groupFrom is the number of records from which on they are grouped by pattern.
const groupFrom = 6

// Checkpoints is the text that puts records before the designer, highest risk first; more
// than five are grouped by their riskiest pattern. Without refs it is all that is proposed.
func (b *Base) Checkpoints(refs []string) (string, error) {
	var records []*Record
	for _, ref := range refs {
		r, err := b.Find(ref)
		if err != nil {
			return "", err
		}
		records = append(records, r)
	}
	if len(refs) == 0 {
		b.readable(func(r *Record) {
			if r.Status == Proposed {
				records = append(records, r)
			}
		})
	}
	slices.SortStableFunc(records, func(x, y *Record) int {
		return cmp.Or(risk(x)-risk(y), len(y.Patterns)-len(x.Patterns), strings.Compare(x.ID, y.ID))
	})
	var out strings.Builder
	last := -1
	for i, r := range records {
		if i > 0 {
			out.WriteByte('\n')
		}
		if at := risk(r); len(records) >= groupFrom && at != last {
			last = at
			title := "no pattern"
			if at < len(riskOrder) {
				p := Patterns[riskOrder[at]-'A']
				title = p.Letter + ", " + p.Title
			}
			fmt.Fprintf(&out, "=== %s ===\n\n", title)
		}
		out.WriteString(r.Checkpoint(b))
	}
	return out.String(), nil
}

// risk is the place of a record's riskiest pattern in the order of risk.
func risk(r *Record) int {
	least := len(riskOrder)
	for _, l := range r.Patterns {
		if i := strings.Index(riskOrder, l); i >= 0 {
			least = min(least, i)
		}
	}
	return least
}
