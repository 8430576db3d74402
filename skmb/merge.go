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
			if region.Start > 0 && src[region.Start-1] != '\n' { // a table without rows at the end of a text without a final newline
				text = nl + text
			}
			if region.End == len(src) && !strings.HasSuffix(string(src), "\n") {
				text = strings.TrimRight(text, "\r\n")
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
		out = append(out, line{r.id(), string(r.line.In(x.doc.Source()))})
	}
	return out
}

// mergeRows merges the rows of one table. Their order is ours, with their new rows where
// the ids belong if ours are sorted, else at the end. A row keeps its line end.
func mergeRows(base, ours, theirs []line, nl string) (out []string, conflicts int) {
	byName := func(list []line) map[string]string {
		m := make(map[string]string, len(list))
		for _, l := range list {
			m[l.id] = l.text
		}
		return m
	}
	inBase, inOurs, inTheirs := byName(base), byName(ours), byName(theirs)
	find := func(side map[string]string, id string) (text, bare string) {
		text = side[id]
		if bare = strings.TrimRight(text, "\r\n"); bare == text && text != "" {
			text += nl
		}
		return text, bare
	}
	var merged []line
	decide := func(id string) {
		_, o := find(inBase, id)
		ourText, a := find(inOurs, id)
		theirText, b := find(inTheirs, id)
		switch { // a side without the row has "" for it
		case a == b, o == b: // both have it so, or only we changed it
			if a != "" {
				merged = append(merged, line{id, ourText})
			}
		case o == a: // only they changed it
			if b != "" {
				merged = append(merged, line{id, theirText})
			}
		default:
			conflicts++
			merged = append(merged, line{id, "<<<<<<< ours" + nl + ourText + "=======" + nl + theirText + ">>>>>>> theirs" + nl})
		}
	}
	byID := func(a, b line) int { return strings.Compare(a.id, b.id) }
	sorted := slices.IsSortedFunc(ours, byID) && slices.IsSortedFunc(theirs, byID)
	for _, l := range ours {
		decide(l.id)
	}
	for _, l := range theirs {
		if inOurs[l.id] == "" {
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

// ResolveConflicts takes Git's conflict markers (also in diff3 style) out of the tables of an
// index: the rows of both sides are kept, each once. Of two rows for one decision and one file
// that differ only in what the file decides, the one that agrees with the file is taken; two
// rows that name different files both stay, for a person to give one a new number. Whatever
// else two rows with one name differ in, and every conflict outside of a table, stays a
// conflict; left is their number.
func (b *Base) ResolveConflicts(text string) (out string, resolved, left int) {
	var result strings.Builder
	lines := strings.SplitAfter(text, "\n")
	fence, before := "", ""
	for i := 0; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		if !strings.HasPrefix(lines[i], "<<<<<<<") {
			if mark := strings.TrimLeft(l, "`~"); len(l)-len(mark) >= 3 {
				switch mark := l[:3]; fence {
				case "":
					fence = mark
				case mark:
					fence = ""
				}
			}
			before = l
			result.WriteString(lines[i])
			continue
		}
		c, end, ok := conflict(lines, i)
		var rows []string
		if ok = ok && fence == "" && isTableLine(before) && allRows(c.ours) && allRows(c.theirs); ok {
			rows, ok = b.unite(c)
		}
		if !ok {
			left++
			for ; i < end; i++ {
				result.WriteString(lines[i])
			}
			result.WriteString(lines[i])
			continue
		}
		resolved++
		for _, row := range rows {
			result.WriteString(row)
			before = strings.TrimSpace(row)
		}
		i = end
	}
	return result.String(), resolved, left
}

// isTableLine reports whether a line can stand in a table: it has a pipe that no backslash
// protects.
func isTableLine(line string) bool { return len(rowCells(line)) > 1 }

// rowCells are the texts of a row's cells, outer pipes left out.
func rowCells(line string) []string {
	line = strings.TrimSpace(line)
	var cells []string
	at := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			cells = append(cells, strings.TrimSpace(line[at:i]))
			at = i + 1
		}
	}
	cells = append(cells, strings.TrimSpace(line[min(at, len(line)):]))
	if len(cells) > 1 && cells[0] == "" && strings.HasPrefix(line, "|") {
		cells = cells[1:]
	}
	if n := len(cells); n > 1 && cells[n-1] == "" {
		cells = cells[:n-1]
	}
	return cells
}

// sides are those of a conflict. What both came from is told by some of Git's styles of conflict alone.
type sides struct {
	ours, theirs, base []string
	based              bool
}

// conflict reads the conflict that opens at a line; end is its last line.
func conflict(lines []string, open int) (c sides, end int, ok bool) {
	side := &c.ours
	for i := open + 1; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "|||||||"):
			side, c.based = &c.base, true
		case strings.HasPrefix(lines[i], "=======") && strings.TrimRight(lines[i], "\r\n") == "=======":
			side = &c.theirs
		case strings.HasPrefix(lines[i], ">>>>>>>"):
			return c, i, true
		default:
			*side = append(*side, lines[i])
		}
	}
	return sides{}, len(lines) - 1, false
}

func allRows(lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" && !isTableLine(l) })
}

// sameRow finds the row of a list that is about what another one is about.
func sameRow(list []string, row string) int {
	name, file := rowSubject(row)
	return slices.IndexFunc(list, func(o string) bool {
		oname, ofile := rowSubject(o)
		return strings.TrimSpace(o) == strings.TrimSpace(row) || oname == name && ofile == file
	})
}

// unite keeps the rows of both sides, but for those that one side took out and the other left as they
// were. ok is false if two rows with one name differ in something that no file decides, or if one side
// took out what the other changed.
func (b *Base) unite(c sides) (out []string, ok bool) {
	gone := func(row string, other []string) (gone, changed bool) {
		i := sameRow(c.base, row)
		if !c.based || i < 0 || sameRow(other, row) >= 0 {
			return false, false
		}
		same := strings.TrimSpace(c.base[i]) == strings.TrimSpace(row)
		return same, !same
	}
	for _, row := range c.ours {
		switch gone, changed := gone(row, c.theirs); {
		case changed:
			return nil, false
		case !gone:
			out = append(out, row)
		}
	}
	for _, row := range c.theirs {
		name, _ := rowSubject(row)
		i := sameRow(out, row)
		gone, changed := gone(row, c.ours)
		switch {
		case changed:
			return nil, false
		case gone:
		case i < 0:
			out = append(out, row)
		case strings.TrimSpace(out[i]) == strings.TrimSpace(row):
		default:
			taken, ok := b.choose(out[i], row, name)
			if !ok {
				return nil, false
			}
			out[i] = taken
		}
	}
	return out, true
}

// choose takes the one of two rows of a decision that agrees with its file, if they differ
// in status and patterns only.
func (b *Base) choose(ours, theirs, id string) (string, bool) {
	r := b.byID[id]
	x, y := rowCells(ours), rowCells(theirs)
	if r == nil || r.fields == nil || len(x) != len(y) {
		return "", false
	}
	agrees := [2]bool{true, true}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		for side, cell := range []string{x[i], y[i]} {
			cell = markdown.PlainText([]byte(cell))
			status, _, isStatus := parseStatus(id, cell)
			letters, unknown := parsePatterns(cell)
			switch {
			case isStatus && cell != "":
				agrees[side] = agrees[side] && status == r.Status
			case len(unknown) == 0 && len(letters) > 0:
				agrees[side] = agrees[side] && slices.Equal(letters, r.Patterns)
			default:
				return "", false
			}
		}
	}
	switch {
	case agrees[0]:
		return ours, true
	case agrees[1]:
		return theirs, true
	}
	return "", false
}

// rowSubject is what a row is about: the id and the decision file of a decision, else the
// text of its first cell.
func rowSubject(row string) (name, file string) {
	cells := rowCells(row)
	for _, c := range cells {
		c = markdown.PlainText([]byte(c))
		if strings.Contains(c, "decisions/") || strings.HasSuffix(c, ".md") {
			file = c
		}
		if name == "" && ValidID(c) {
			name = c
		}
	}
	if file == "" || name == "" {
		return strings.Trim(cells[0], "*`"), ""
	}
	return name, file
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
