package agentsmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// gates decide what stays dead, and how it lives again.
type gates struct {
	state  *State
	auto   bool
	refs   *references
	gone   func(path, scope string) []string // keys of rules that a hand took out of a target as it is on disk
	credit Credit                            // what the plan itself did is no obstacle
}

// blocking is an entry that stands in a decision's way.
type blocking struct {
	id    string
	entry Entry
}

func (g *gates) mine(id string) bool { return slices.Contains(g.credit.IDs, id) }

// blocks finds the entries of a decision's scope that stand in its way, or would be lifted by it.
func (g *gates) blocks(d *Decision) (tombstones, rejections []blocking) {
	pick := func(of map[string]Entry, hit func(id string, e Entry) bool) (out []blocking) {
		for _, id := range slices.Sorted(maps.Keys(of)) {
			if e := of[id]; e.Scope == d.ScopeKey && !g.mine(id) && hit(id, e) {
				out = append(out, blocking{id, e})
			}
		}
		return out
	}
	if d.Action == Remove {
		return nil, pick(g.state.Rejected, func(id string, e Entry) bool { return e.Kind == KindRemoval && id == d.RuleID })
	}
	meets := func(id string, e Entry) bool {
		return e.Kind != KindRemoval && (id == d.RuleID || e.Kind == KindRule && overlaps(e.Evidence, d.Evidence, g.auto))
	}
	return pick(g.state.Tombstones, meets), pick(g.state.Rejected, meets)
}

// judge makes a no-op of a decision that is blocked. A claim that brings it back must be proved:
// by a quote from a record that is newer than what it lifts. lifts are the entries that applying
// it takes away.
func (g *gates) judge(d *Decision) (lifts []string, err error) {
	tombstones, rejections := g.blocks(d)
	claim := func(found []blocking, claimed bool, listed []string, of map[string]Entry) error {
		if !claimed {
			return nil
		}
		for _, id := range listed {
			if e, ok := of[id]; ok && !slices.ContainsFunc(found, func(b blocking) bool { return b.id == id }) {
				found = append(found, blocking{id, e})
			}
		}
		for _, b := range found {
			if !g.newer(d, b.entry.At) {
				return fault("restore-unproved", "", "%s (%s) is from %s, and no quote of the decision is newer", b.id, b.entry.Text, b.entry.At)
			}
			lifts = append(lifts, b.id)
		}
		return nil
	}
	if err := claim(tombstones, d.Restore, d.RestoreIDs, g.state.Tombstones); err != nil {
		return nil, err
	}
	if err := claim(rejections, d.Override, d.OverrideIDs, g.state.Rejected); err != nil {
		return nil, err
	}
	for _, b := range tombstones {
		if !slices.Contains(lifts, b.id) {
			d.dies("withdrawn on %s (%s): %s", day(b.entry.At), b.id, b.entry.Text)
			return nil, nil
		}
	}
	for _, b := range rejections {
		if !slices.Contains(lifts, b.id) {
			d.dies("rejected on %s (%s): %s", day(b.entry.At), b.id, b.entry.Text)
			return nil, nil
		}
	}
	if d.Action != Remove && g.deletedByHand(d) {
		if at := published(g.state, d.TargetPath, d.ScopeKey).At; d.Restore && !g.newer(d, at) {
			return nil, fault("restore-unproved", "", "the rule was taken out of %s by hand after %s, and no quote of the decision is newer", d.TargetPath, at)
		}
		if !d.Restore {
			d.dies("the rule was taken out of %s by hand", d.TargetPath)
			return nil, nil
		}
	}
	return lifts, nil
}

// deletedByHand reports a rule that was written once, and that somebody took away.
func (g *gates) deletedByHand(d *Decision) bool {
	return slices.Contains(g.gone(d.TargetPath, d.ScopeKey), Norm(d.Instruction))
}

// newer reports whether a quote of a decision is from a record that began after a time.
func (g *gates) newer(d *Decision, at string) bool {
	then, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(d.Quotes, func(q QuotePayload) bool {
		r := g.refs.record(q.Ref)
		return r != nil && r.StartedAt != nil && isoTime(*r.StartedAt).After(then)
	})
}

func day(at string) string { return at[:min(len(at), len(time.DateOnly))] }

// contradiction finds a rule that a plan both removes and adds in one scope.
func contradiction(decisions []*Decision) error {
	added := map[string]*Decision{}
	for _, d := range decisions {
		if d.live() && d.Instruction != "" {
			added[d.ScopeKey+" "+Norm(d.Instruction)] = d
		}
	}
	for _, d := range decisions {
		if !d.live() {
			continue
		}
		for _, old := range d.Olds() {
			if other := added[d.ScopeKey+" "+Norm(old)]; other != nil && other != d {
				return fault("plan-contradiction", "", "%q goes by %s, and is made by %s", old, d.Action, other.Action)
			}
		}
	}
	return nil
}

// autoAllows holds a decision to what Auto may do without a question. projects is how many real
// ones a global decision rests on.
func autoAllows(d *Decision, projects int) error {
	switch {
	case d.Confidence != "high":
		return fault("auto-confidence", "", "%s has the confidence %s", describe(d), d.Confidence)
	case d.Risk != "low":
		return fault("auto-risk", "", "%s has the risk %s", describe(d), d.Risk)
	case d.ScopeKey == GlobalScope && projects < 2:
		return fault("auto-two-roots", "", "%s rests on %d project", describe(d), projects)
	case d.Restore || d.Override:
		return fault("auto-claim", "", "%s claims to bring back what was withdrawn or rejected", describe(d))
	}
	return nil
}

// maxAuto is how many rules a run may change without a question.
const maxAuto = 10

// describe names a decision by what it says: ids are for the machine.
func describe(d *Decision) string {
	text := d.Instruction
	if text == "" {
		text = strings.Join(d.Olds(), " | ")
	}
	if d.Number > 0 {
		return fmt.Sprintf("item %d (%s %q)", d.Number, d.Action, text)
	}
	return fmt.Sprintf("%s %q", d.Action, text)
}
