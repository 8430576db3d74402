package skmb

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"assent/finding"
)

func validDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// edge is one full or partial supersession, resolved.
type edge struct {
	from    *Record
	to      string
	partial bool
}

// edges returns what records supersede, by field and section. References that resolve to
// none or several are given to the callbacks.
func (b *Base) edges(missing func(*Record, string), ambiguous func(*Record, string, []string)) []edge {
	var out []edge
	b.readable(func(r *Record) {
		for _, ref := range r.supersedes() {
			switch ids := b.resolve(ref.Text); {
			case len(ids) == 1:
				out = append(out, edge{r, ids[0], ref.Partial})
			case len(ids) == 0 && missing != nil:
				missing(r, ref.Text)
			case len(ids) > 1 && ambiguous != nil:
				ambiguous(r, ref.Text, ids)
			}
		}
	})
	return out
}

func supersededWithoutSuccessor(v *view) {
	named := map[string]bool{}
	for _, e := range v.base.edges(nil, nil) {
		if !e.partial && (e.from.Status == Accepted || e.from.Status == Superseded) {
			named[e.to] = true
		}
	}
	v.base.readable(func(r *Record) {
		if r.Status == Superseded && !named[r.ID] {
			v.report(r.Path, r.at("status"), r.ID, "skmb supersede "+r.ID+" --by ID", fmt.Sprintf("%s is superseded, but no accepted record names it under Supersedes", r.ID))
		}
	})
}

func supersedesMissing(v *view) {
	v.base.edges(func(r *Record, ref string) {
		v.report(r.Path, r.atSupersedes(), r.ID+" "+ref, "correct the id", fmt.Sprintf("%s supersedes %s, which is no record of this base", r.ID, ref))
	}, nil)
	v.base.readable(func(r *Record) {
		for _, ref := range References(r.value("superseded_by")) {
			if len(v.base.resolve(ref.Text)) == 0 {
				v.report(r.Path, r.at("superseded_by"), r.ID+" "+ref.Text, "correct the id", fmt.Sprintf("%s is superseded by %s, which is no record of this base", r.ID, ref.Text))
			}
		}
	})
}

func (r *Record) atSupersedes() finding.Pos {
	if s, ok := r.sections["supersedes"]; ok && len(References(r.value("supersedes"))) == 0 {
		return r.pos(s.body.Start)
	}
	return r.at("supersedes")
}

// shortCircle is the length up to which every circle is reported.
const shortCircle = 16

// supersedeCycle reports each circle once, at its smallest id. A long circle that shares
// a record with one that was reported waits until that one is mended: together they could
// be as long as the base is large, squared.
func supersedeCycle(v *view) {
	next := map[string][]string{}
	for _, e := range v.base.edges(nil, nil) {
		next[e.from.ID] = append(next[e.from.ID], e.to)
	}
	ids := make([]string, 0, len(next))
	for id := range next {
		slices.Sort(next[id])
		next[id] = slices.Compact(next[id])
		ids = append(ids, id)
	}
	slices.Sort(ids)
	done := map[string]bool{}
	for _, start := range ids {
		if done[start] {
			continue
		}
		// Walk from start with a stack of our own: a chain may be as long as the base.
		type step struct {
			id   string
			at   int
			told int // the highest place up to here, from 1, whose record is in a reported circle
		}
		stack := []step{{id: start}}
		on := map[string]int{start: 1} // places on the stack, from 1
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.at == len(next[top.id]) {
				delete(on, top.id)
				done[top.id] = true
				stack = stack[:len(stack)-1]
				continue
			}
			to := next[top.id][top.at]
			top.at++
			switch place := on[to]; {
			case place > 0 && (top.told < place || len(stack)-place < shortCircle):
				var circle []string
				for i := place - 1; i < len(stack); i++ {
					circle = append(circle, stack[i].id)
					stack[i].told = i + 1
				}
				reportCycle(v, circle)
			case place == 0 && !done[to]:
				stack = append(stack, step{id: to, told: top.told})
				on[to] = len(stack)
			}
		}
	}
}

func reportCycle(v *view, circle []string) {
	least := slices.Index(circle, slices.Min(circle))
	circle = append(circle[least:], circle[:least]...)
	r := v.base.byID[circle[0]]
	if r == nil {
		return
	}
	v.report(r.Path, r.atSupersedes(), strings.Join(circle, " "), "take one reference out", fmt.Sprintf("%s supersede each other in a circle", strings.Join(append(circle, circle[0]), " → ")))
}

func supersedeOneWay(v *view) {
	b := v.base
	knows := map[string]bool{} // "old new", new as it is written
	b.readable(func(r *Record) {
		for _, ref := range References(r.value("superseded_by") + "\n" + r.Section("Superseded By")) {
			knows[r.ID+" "+ref.Text] = true
		}
	})
	names := map[string]bool{} // "new old", whole supersessions
	for _, e := range b.edges(nil, nil) {
		names[e.from.ID+" "+e.to] = true
		old := b.byID[e.to]
		if e.partial || old == nil || old.fields == nil || old.Status == Rejected || old.Status == Withdrawn || (e.from.Status != Accepted && e.from.Status != Superseded) {
			continue
		}
		short := "SKMB" + e.from.ID[strings.LastIndexByte(e.from.ID, '-'):]
		if !knows[old.ID+" "+e.from.ID] && !knows[old.ID+" "+short] {
			v.report(old.Path, old.at("superseded_by"), e.from.ID+" "+old.ID, "skmb supersede "+old.ID+" --by "+e.from.ID,
				fmt.Sprintf("%s supersedes %s, whose superseded_by does not say so", e.from.ID, old.ID))
		}
	}
	b.readable(func(r *Record) {
		for _, ref := range References(r.value("superseded_by")) {
			ids := b.resolve(ref.Text)
			if len(ids) != 1 {
				continue // skmb/supersedes-missing or skmb/ambiguous-reference says so
			}
			if by := ids[0]; b.byID[by] != nil && !names[by+" "+r.ID] {
				v.report(r.Path, r.at("superseded_by"), by+" "+r.ID, "skmb supersede "+r.ID+" --by "+by,
					fmt.Sprintf("%s says that %s supersedes it, but that record does not", r.ID, by))
			}
		}
	})
}

// sourced calls fn for each row that rests on records, with its references.
func (b *Base) sourced(fn func(row, []Reference)) {
	for _, kind := range []table{states, transitions, invariants, failures} {
		for _, r := range b.Index.rows(kind) {
			if r.wellShaped() {
				fn(r, References(r.text("source")))
			}
		}
	}
}

func sourceUnresolved(v *view) {
	v.base.sourced(func(r row, refs []Reference) {
		for _, ref := range refs {
			if len(v.base.resolve(ref.Text)) == 0 {
				v.report(v.base.Index.Path, r.at("source"), r.id()+" "+ref.Text, "correct the source", fmt.Sprintf("%s rests on %s, which is no record of this base", idOr(r.id(), "the row"), ref.Text))
			}
		}
	})
}

func sourceNotAccepted(v *view) {
	v.base.sourced(func(r row, refs []Reference) {
		for _, ref := range refs {
			id, status := "", Open
			if ids := v.base.resolve(ref.Text); len(ids) == 1 {
				id = ids[0]
			}
			if rec := v.base.byID[id]; rec != nil && rec.Known {
				status = rec.Status
			} else if rec != nil || !isOpen(id) { // a question needs no file
				continue
			}
			if status != Accepted {
				v.report(v.base.Index.Path, r.at("source"), r.id()+" "+id, "skmb show "+id, fmt.Sprintf("%s rests on %s, which is %s", idOr(r.id(), "the row"), id, status))
			}
		}
	})
}

func ambiguousReference(v *view) {
	say := func(path string, pos finding.Pos, key, ref string, ids []string) {
		v.report(path, pos, key+" "+ref, "write the id in full", fmt.Sprintf("%s may mean %s", ref, anyOf(ids)))
	}
	v.base.edges(nil, func(r *Record, ref string, ids []string) { say(r.Path, r.atSupersedes(), r.ID, ref, ids) })
	v.base.readable(func(r *Record) {
		for _, ref := range References(r.value("superseded_by")) {
			if ids := v.base.resolve(ref.Text); len(ids) > 1 {
				say(r.Path, r.at("superseded_by"), r.ID, ref.Text, ids)
			}
		}
	})
	v.base.sourced(func(r row, refs []Reference) {
		for _, ref := range refs {
			if ids := v.base.resolve(ref.Text); len(ids) > 1 {
				say(v.base.Index.Path, r.at("source"), r.id(), ref.Text, ids)
			}
		}
	})
}

// anyOf names what a short reference may mean. A number may be that of every record, so
// only some are named.
func anyOf(ids []string) string {
	if len(ids) > 4 {
		return fmt.Sprintf("%s or %d others", strings.Join(ids[:3], " or "), len(ids)-3)
	}
	return strings.Join(ids, " or ")
}

// anyState reports whether a cell stands for no single state.
func anyState(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "*", "[*]", "-", "none", "":
		return true
	}
	first := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return len(first) > 0 && (first[0] == "any" || first[0] == "unchanged") || strings.Contains(s, " or ")
}

func transitionConflict(v *view) {
	type choice struct {
		row row
		to  string
	}
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	taken := map[string]choice{} // the first row; a later one is held against it alone, however many there are
	for _, r := range v.base.Index.rows(transitions) {
		from, event, to := r.text("from_state"), r.text("event"), r.text("to_state")
		if !r.wellShaped() || anyState(from) || anyState(to) || event == "" {
			continue
		}
		decided := slices.ContainsFunc(References(r.text("source")), func(ref Reference) bool {
			rec, ok := v.base.Record(ref.Text)
			return ok && rec.Status == Accepted
		})
		if !decided {
			continue
		}
		key := fold(from) + "\x00" + fold(event)
		other, second := taken[key]
		switch {
		case !second:
			taken[key] = choice{r, fold(to)}
		case other.to != fold(to):
			v.report(v.base.Index.Path, r.at("to_state"), other.row.id()+" "+r.id(), "supersede one of the two decisions",
				fmt.Sprintf("%s: %s --%s--> %s, but %s in line %d says %s", r.id(), from, event, to, other.row.id(), other.row.at("to_state").Line, other.row.text("to_state")))
		}
	}
}

func stateUnknown(v *view) {
	named := map[string]bool{}
	for _, r := range v.base.Index.rows(states) {
		named[strings.ToLower(r.id())] = true
	}
	if len(named) == 0 {
		return
	}
	for _, r := range v.base.Index.rows(transitions) {
		if !r.wellShaped() {
			continue
		}
		for _, column := range []string{"from_state", "to_state"} {
			for state := range strings.SplitSeq(strings.ToLower(r.text(column)), " or ") {
				if state = strings.TrimSpace(state); !anyState(state) && !named[state] {
					v.report(v.base.Index.Path, r.at(column), r.id()+" "+state, "add the state under Named States", fmt.Sprintf("%s names the state %s", idOr(r.id(), "the row"), state))
				}
			}
		}
	}
}
