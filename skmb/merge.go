package skmb

import (
	"context"
	"slices"
	"strings"

	"assent/markdown"
	"assent/store"
)

// ErrCannotMerge says that an index cannot be merged by its rows; Git's own text merge
// has to do.
type ErrCannotMerge struct{ Why string }

func (e *ErrCannotMerge) Error() string { return e.Why }

// MergeIndex merges three versions of an index by the ids of its rows: a row that only one
// side changed, added or removed is taken from that side. One id with two different rows is
// a true conflict and stays one, between Git's markers. conflicts is their number.
func MergeIndex(base, ours, theirs []byte) (merged []byte, conflicts int, err error) {
	var parsed [3]*Index
	for i, data := range [][]byte{base, ours, theirs} {
		x, p := parseIndex("SKMB.md", data)
		if p != nil {
			return nil, 0, &ErrCannotMerge{p.message}
		}
		parsed[i] = x
	}
	frames := [3]string{}
	for i, x := range parsed {
		frame, ok := x.frame()
		if !ok {
			return nil, 0, &ErrCannotMerge{"a table has a row whose shape is not known, or two rows with one id"}
		}
		frames[i] = frame
	}
	// What is not a row changed on one side at most, else the text has to be merged.
	var skeleton *Index
	switch {
	case frames[2] == frames[0] || frames[2] == frames[1]:
		skeleton = parsed[1]
	case frames[1] == frames[0]:
		skeleton = parsed[2]
	default:
		return nil, 0, &ErrCannotMerge{"both sides changed what is not a row"}
	}
	src, nl := skeleton.doc.Source(), skeleton.doc.Newline()
	var edits []markdown.Edit
	for kind := range tables {
		t := skeleton.tables[kind]
		if t == nil || !t.present {
			continue
		}
		rows, n := mergeRows(parsed[0].lines(kind), parsed[1].lines(kind), parsed[2].lines(kind), nl)
		conflicts += n
		region := markdown.Span{Start: t.table.Delimiter.End, End: t.table.End()}
		if text := strings.Join(rows, ""); text != string(region.In(src)) {
			if region.End == len(src) && !strings.HasSuffix(string(src), "\n") {
				text = strings.TrimSuffix(text, nl)
			}
			edits = append(edits, markdown.Edit{Span: region, New: []byte(text)})
		}
	}
	merged, err = markdown.Apply(src, edits...)
	return merged, conflicts, err
}

// frame is the index without its rows. ok is false if a row cannot be told by its id.
func (x *Index) frame() (text string, ok bool) {
	src := x.doc.Source()
	var cuts []markdown.Edit
	for kind := range tables {
		seen := map[string]bool{}
		for _, r := range x.rows(kind) {
			if !r.wellShaped() || r.id() == "" || seen[r.id()] {
				return "", false
			}
			seen[r.id()] = true
			cuts = append(cuts, markdown.Edit{Span: r.line})
		}
	}
	slices.SortFunc(cuts, func(a, b markdown.Edit) int { return a.Start - b.Start })
	var out strings.Builder
	at := 0
	for _, c := range cuts {
		out.Write(src[at:c.Start])
		at = c.End
	}
	out.Write(src[at:])
	return strings.TrimRight(out.String(), "\r\n"), true
}

// lines are the rows of a table as they stand.
func (x *Index) lines(kind table) []line {
	var out []line
	for _, r := range x.rows(kind) {
		out = append(out, line{r.id(), strings.TrimRight(string(r.line.In(x.doc.Source())), "\r\n")})
	}
	return out
}

// mergeRows merges the rows of one table. Their order is ours, with their new rows where
// the ids belong if ours are sorted, else at the end.
func mergeRows(base, ours, theirs []line, nl string) (out []string, conflicts int) {
	find := func(list []line, id string) (string, bool) {
		i := slices.IndexFunc(list, func(l line) bool { return l.id == id })
		if i < 0 {
			return "", false
		}
		return list[i].text, true
	}
	var merged []line
	decide := func(id string) {
		o, inBase := find(base, id)
		a, inOurs := find(ours, id)
		b, inTheirs := find(theirs, id)
		switch {
		case inOurs == inTheirs && a == b:
			if inOurs {
				merged = append(merged, line{id, a + nl})
			}
		case inBase == inOurs && o == a: // only they changed it
			if inTheirs {
				merged = append(merged, line{id, b + nl})
			}
		case inBase == inTheirs && o == b: // only we did
			if inOurs {
				merged = append(merged, line{id, a + nl})
			}
		default:
			conflicts++
			text := "<<<<<<< ours" + nl
			if inOurs {
				text += a + nl
			}
			text += "=======" + nl
			if inTheirs {
				text += b + nl
			}
			merged = append(merged, line{id, text + ">>>>>>> theirs" + nl})
		}
	}
	byID := func(a, b line) int { return strings.Compare(a.id, b.id) }
	sorted := slices.IsSortedFunc(ours, byID) && slices.IsSortedFunc(theirs, byID)
	for _, l := range ours {
		decide(l.id)
	}
	for _, l := range theirs {
		if _, have := find(ours, l.id); !have {
			decide(l.id)
		}
	}
	if sorted {
		slices.SortStableFunc(merged, byID)
	}
	for _, l := range merged {
		out = append(out, l.text)
	}
	return out, conflicts
}

// ResolveConflicts takes Git's conflict markers (also in diff3 style) out of an index where
// both sides are rows: the rows of both are kept, each once. Of two rows with one id and one
// file the one that agrees with the decision file is taken; two rows that name different
// files both stay, for a person to give one a new number. left is the number of conflicts
// that are no rows and stay as they are.
func (b *Base) ResolveConflicts(text string) (out string, resolved, left int) {
	var result strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "<<<<<<<") {
			result.WriteString(lines[i])
			continue
		}
		ours, theirs, end, ok := conflict(lines, i)
		if !ok || !allRows(ours) || !allRows(theirs) {
			left++
			for ; i < min(end, len(lines)-1); i++ {
				result.WriteString(lines[i])
			}
			result.WriteString(lines[i])
			continue
		}
		resolved++
		for _, row := range b.unite(ours, theirs) {
			result.WriteString(row)
		}
		i = end
	}
	return result.String(), resolved, left
}

// conflict reads the two sides of the conflict that opens at a line; end is its last line.
func conflict(lines []string, open int) (ours, theirs []string, end int, ok bool) {
	side := &ours
	for i := open + 1; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "|||||||"):
			side = nil
		case strings.HasPrefix(lines[i], "=======") && strings.TrimRight(lines[i], "\r\n") == "=======":
			side = &theirs
		case strings.HasPrefix(lines[i], ">>>>>>>"):
			return ours, theirs, i, true
		case side != nil:
			*side = append(*side, lines[i])
		}
	}
	return nil, nil, len(lines) - 1, false
}

func allRows(lines []string) bool {
	for _, l := range lines {
		if t := strings.TrimSpace(l); t != "" && !strings.Contains(t, "|") {
			return false
		}
	}
	return true
}

// unite keeps the rows of both sides.
func (b *Base) unite(ours, theirs []string) []string {
	out := slices.Clone(ours)
	for _, row := range theirs {
		id, file := rowSubject(row)
		i := slices.IndexFunc(out, func(o string) bool {
			oid, ofile := rowSubject(o)
			return strings.TrimSpace(o) == strings.TrimSpace(row) || id != "" && oid == id && ofile == file
		})
		switch {
		case i < 0:
			out = append(out, row)
		case id != "" && b != nil && b.byID[id] != nil && !strings.Contains(out[i], string(b.byID[id].Status)) && strings.Contains(row, string(b.byID[id].Status)):
			out[i] = row
		}
	}
	return out
}

// rowSubject finds the id and the decision file in the text of a row.
func rowSubject(row string) (id, file string) {
	for _, c := range strings.Split(row, "|") {
		c = strings.Trim(strings.TrimSpace(c), "*`[]")
		if id == "" && ValidID(c) {
			id = c
		}
		if strings.Contains(c, "decisions/") {
			file = c
		}
	}
	return id, file
}

// Resolve takes conflict markers out of the index on disk, as ResolveConflicts does. What a
// person has to decide, such as two records with one number, is left to the checks.
func (w *Writer) Resolve(ctx context.Context) (done Done, resolved, left int, err error) {
	done, err = w.change(ctx, "resolve", func(tx *store.Tx, d *draft, done *Done) error {
		name := IndexPath(d.root)
		data, err := d.read(name)
		if err != nil {
			return err
		}
		var text string
		text, resolved, left = d.base.ResolveConflicts(string(data))
		done.IDs = []string{}
		if resolved > 0 {
			d.files[name] = []byte(text)
			d.tolerated = []string{"skmb/duplicate-id", "skmb/id-mismatch", "skmb/status-mismatch", "skmb/patterns-mismatch", "skmb/unresolved", "skmb/row-without-file"}
		}
		return nil
	})
	return done, resolved, left, err
}
