package agentsmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/boundary"
	"assent/store"
)

// AmendOptions are those of `agentsmd amend`.
type AmendOptions struct {
	Plan   string
	Number int
	Text   string
	Apply  bool
	Said   Said
}

// Amended is the result of amend: the plan of the edited item, and what applying it did.
type Amended struct {
	Planned
	Report *Report `json:"report"`
}

// Amend plans an item anew with the user's final text. Its scope, root and evidence stay; the
// item itself is closed when the edited one is applied.
func (k *Keeper) Amend(ctx context.Context, o AmendOptions) (out Amended, err error) {
	release, err := k.begin(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		out = Amended{}
		r, err := k.amending(ctx, tx, o)
		if err != nil {
			return err
		}
		if err := r.decide(); err != nil {
			return err
		}
		if d := r.all[0]; d.dead {
			return fault("decision-stale", fmt.Sprintf("agentsmd restore %q --dir DIR, if the user brings it back", o.Text), "%s", d.Note)
		}
		if out.Planned, err = r.publish(); err == nil && out.Exit != 0 && o.Apply { // nothing is kept of what cannot be done
			err = issueError(out.Planned)
		}
		return err
	})
	if err != nil || out.Exit != 0 || !o.Apply {
		return out, err
	}
	release() // apply takes it itself, and a person may have to be asked
	rep, err := k.Apply(ctx, ApplyOptions{Plan: out.Plan, All: true, Said: o.Said})
	if out.Report, out.Exit = &rep, rep.Exit; err != nil || rep.Exit != 0 {
		k.drop(ctx, out.Plan)
	}
	return out, err
}

// drop closes what is pending of a plan that was made for one call, which failed.
func (k *Keeper) drop(ctx context.Context, plan string) {
	s, err := k.state(ctx)
	if err != nil {
		return
	}
	e := AuditEntry{Event: "failed", Plan: plan, Effects: []Effect{{Op: opPlanClosed, ID: plan, At: k.now()}}}
	for id, p := range s.Pending {
		if p.Plan == plan {
			e.Effects = append(e.Effects, Effect{Op: opClosed, ID: id, Plan: plan, Text: string(Void)})
		}
	}
	_ = k.note(ctx, e)
}

// amending makes the plan of one edited item.
func (k *Keeper) amending(ctx context.Context, tx *store.Tx, o AmendOptions) (*reconciling, error) {
	s, f, err := loadState(&tx.Reader)
	if err != nil {
		return nil, err
	}
	id, p, err := readPlan(&tx.Reader, s, o.Plan)
	if err != nil {
		return nil, err
	}
	if p.Mode == Auto {
		return nil, fault("plan-mode", "", "%s is an auto plan", id)
	}
	d := p.number(o.Number)
	if d == nil {
		return nil, fault("selection-unknown", "agentsmd show "+id, "%s has no number %d", id, o.Number)
	}
	if w, ok := s.Pending[d.ID]; !ok || w.Plan != id {
		return nil, closedItem(s, id, d)
	}
	if d.Action == Remove {
		return nil, fault("amend-invalid", "reject the item, or apply it", "a removal has no text to edit")
	}
	switch why := boundary.Unsafe(o.Text, "rule"); {
	case why != "":
		return nil, fault("rule-text", "", "the text %s", why)
	case utf8.RuneCountInString(o.Text) > maxRule:
		return nil, fault("rule-text", "", "the text has more than %d characters", maxRule)
	case boundary.Secret(o.Text) != "":
		return nil, &Fault{"boundary/secret-found", "the text holds " + boundary.Secret(o.Text), "leave it out"}
	}
	b, sum, err := readBatch(&tx.Reader, s, p.Run)
	if err != nil {
		return nil, err
	}
	e := *d
	e.Instruction, e.Supersedes, e.Status, e.Note, e.Number, e.Diff, e.AlternativeTo, e.Near = o.Text, d.ID, Proposed, "", 0, "", "", ""
	e.ID = idOfEdit(d.ID, o.Text)
	e.RuleID = e.ruleID()
	r := &reconciling{
		k: k, ctx: ctx, o: ReconcileOptions{Run: p.Run, Mode: Suggest, Model: p.Metadata.Model, Effort: p.Metadata.Effort}, tx: tx, state: s, old: f.Digest,
		batch: b, sum: sum, refs: newReferences(b, k.authority(ctx, s)), all: []*Decision{&e}, edited: d.ID,
	}
	r.plan = &Plan{
		SchemaVersion: SchemaVersion, Run: p.Run, Mode: Suggest, CreatedAt: k.now(), GuideVersion: GuideVersion, CodexHome: b.CodexHome, Batch: sum, Submitted: p.Submitted, Review: p.Review,
		AllowedRoots: b.AllowedRoots, ExplicitRoots: b.ExplicitRoots, Edited: true, Guard: guardOf(s), Quota: b.Quota, Metadata: p.Metadata,
	}
	for _, ref := range e.Refs {
		if rec := r.refs.record(ref); rec != nil && slices.Contains(b.RecordIDs, rec.ID) && !slices.Contains(r.plan.RecordIDs, rec.ID) {
			r.plan.RecordIDs = append(r.plan.RecordIDs, rec.ID)
		}
	}
	return r, nil
}

func idOfEdit(of, text string) string { return id("D", "amend", of, text) }

// fitsEdited holds an edited item to the one that it replaces: that must be pending, of the same
// scope and root, with evidence that reaches no further.
func (a *applying) fitsEdited(r *store.Reader) error {
	bad := func(format string, args ...any) error { return fault("amend-invalid", "", format, args...) }
	if len(a.plan.Decisions) != 1 || a.plan.Decisions[0].Supersedes == "" {
		return bad("an edited plan holds one item, which replaces another")
	}
	d := a.plan.Decisions[0]
	pending, ok := a.state.Pending[d.Supersedes]
	if !ok {
		return fault("decision-closed", "", "the item that it edits is closed")
	}
	_, p, err := readPlan(r, a.state, pending.Plan)
	if err != nil {
		return err
	}
	old := p.find(d.Supersedes)
	switch {
	case old == nil:
		return bad("the item that it edits is not in %s", pending.Plan)
	case old.ScopeKey != d.ScopeKey || old.Root != d.Root || old.TargetPath != d.TargetPath || old.Action != d.Action:
		return bad("it is of another scope or root")
	case slices.ContainsFunc(d.Refs, func(ref string) bool { return !slices.Contains(old.Refs, ref) }):
		return bad("it rests on more evidence")
	}
	return nil
}

// closeEdited closes the item that a decision replaces which has nothing left to do.
func (a *applying) closeEdited(ctx context.Context) (Report, error) {
	d := a.plan.Decisions[0]
	rep := Report{SchemaVersion: SchemaVersion, Call: a.call, Run: a.plan.Run, At: a.k.now(), Mode: a.plan.Mode, Plan: a.id, Results: []Result{{
		Path: d.TargetPath, Scope: d.ScopeKey, Status: "no-op", Decisions: []string{d.ID}, Notes: []string{d.Note}, Commit: ReportCommit{"none", "", nothing},
	}}}
	_, err := a.k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		data, err := Document(rep)
		if err != nil {
			return err
		}
		if err := tx.Put(store.View, reportName(a.call), data, ""); err != nil {
			return err
		}
		return record(tx, s, f.Digest, AuditEntry{Call: a.call, Run: a.plan.Run, At: rep.At, Event: "edited-accepted", Plan: a.id, Decision: shortened(d), Approval: &a.yes, Effects: closes(s, d.ID, d.Supersedes, nil)}, AuditEntry{Call: a.call, Run: a.plan.Run, At: rep.At, Event: "run", Plan: a.id, Effects: []Effect{
			{Op: opPlanClosed, ID: a.id, At: rep.At},
		}})
	})
	return rep, err
}

// editsOf closes pending edits of an item that is closed itself.
func editsOf(s *State, id string) (out []Effect) {
	for _, other := range slices.Sorted(maps.Keys(s.Pending)) {
		if p := s.Pending[other]; p.Edits == id {
			out = append(out, Effect{Op: opClosed, ID: other, Plan: p.Plan, Text: string(Superseded)})
			out = append(out, editsOf(s, other)...)
		}
	}
	return out
}

// Reject closes items for good: the same candidate does not come again. A rule that stands stays.
func (k *Keeper) Reject(ctx context.Context, plan string, numbers []int, reason string) (rep Report, err error) {
	if len(numbers) == 0 {
		return rep, fault("selection-missing", "name the numbers: `agentsmd show PLAN` lists them", "which items?")
	}
	if n := len([]rune(strings.TrimSpace(reason))); n == 0 || n > 2000 {
		return rep, fault("reason", "", "the reason has %d characters", n)
	}
	release, err := k.begin(ctx)
	if err != nil {
		return rep, err
	}
	defer release()
	call, err := k.stamp()
	if err != nil {
		return rep, err
	}
	reason, _ = boundary.Redact(reason)
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		id, p, err := readPlan(&tx.Reader, s, plan)
		if isFault(err, "plan-changed") {
			rep, err = k.closeLost(tx, s, f.Digest, call, plan, numbers)
			return err
		}
		if err != nil {
			return err
		}
		if p.Mode == Auto {
			return fault("plan-mode", "agentsmd prefer auto=off, or plan it with --mode suggest", "%s is an auto plan: nothing of it waits for an answer", id)
		}
		rep = Report{SchemaVersion: SchemaVersion, Call: call, Run: p.Run, At: k.now(), Mode: p.Mode, Plan: id}
		var entries []AuditEntry
		for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
			d := p.number(n)
			if d == nil {
				return fault("selection-unknown", "agentsmd show "+id, "%s has no number %d", id, n)
			}
			if w, ok := s.Pending[d.ID]; !ok || w.Plan != id {
				return closedItem(s, id, d)
			}
			kind := KindRule
			if d.Action == Remove {
				kind = KindRemoval
			}
			text := d.Instruction
			if d.Action == Remove {
				text = d.Old
			}
			entries = append(entries, AuditEntry{Call: call, Run: p.Run, At: rep.At, Event: "rejected", Plan: id, Decision: shortened(d), Effects: []Effect{
				{Op: opReject, ID: d.RuleID, Plan: id, Entry: &Entry{Kind: kind, Scope: d.ScopeKey, Text: text, Norm: NormVersion, Evidence: orNone(d.Evidence), Decision: d.ID, Reason: reason, At: rep.At}},
				{Op: opClosed, ID: d.ID, Plan: id, Text: string(Rejected)},
				{Op: opRevision, Scope: d.ScopeKey, Plan: id},
			}})
			entries[len(entries)-1].Effects = append(entries[len(entries)-1].Effects, editsOf(s, d.ID)...)
			rep.Results = append(rep.Results, Result{Path: d.TargetPath, Scope: d.ScopeKey, Status: "no-op", Numbers: []int{n}, Decisions: []string{d.ID}, Notes: []string{fmt.Sprintf("rejected: %s %q", d.Action, text)}, Commit: ReportCommit{Status: "none"}})
		}
		if !k.leavesPending(s, entries, id) {
			entries[len(entries)-1].Effects = append(entries[len(entries)-1].Effects, Effect{Op: opPlanClosed, ID: id, At: rep.At})
		}
		data, err := Document(rep)
		if err != nil {
			return err
		}
		if err := tx.Put(store.View, reportName(call), data, ""); err != nil {
			return err
		}
		return record(tx, s, f.Digest, entries...)
	})
	return rep, err
}

// closeLost closes items of a plan whose file is not what was printed. What they said is not known, so
// it is not kept from coming again.
func (k *Keeper) closeLost(tx *store.Tx, s *State, old store.Digest, call, plan string, numbers []int) (rep Report, err error) {
	id, err := resolvePlan(s, plan)
	if err != nil {
		return rep, err
	}
	rep = Report{SchemaVersion: SchemaVersion, Call: call, Run: s.Plans[id].Run, At: k.now(), Mode: s.Plans[id].Mode, Plan: id, Results: []Result{}}
	e := AuditEntry{Call: call, Run: rep.Run, At: rep.At, Event: "rejected", Plan: id, Error: "agentsmd/plan-changed", Effects: []Effect{{Op: opPlanLost, ID: id}}}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		found := ""
		for item, w := range s.Pending {
			if w.Plan == id && w.Number == n {
				found = item
			}
		}
		if found == "" {
			return rep, fault("decision-closed", "", "no item %d of %s is pending", n, id)
		}
		e.Effects = append(e.Effects, Effect{Op: opClosed, ID: found, Plan: id, Text: string(Void)})
		e.Effects = append(e.Effects, editsOf(s, found)...)
		rep.Results = append(rep.Results, Result{Status: "no-op", Numbers: []int{n}, Decisions: []string{found}, Notes: []string{fmt.Sprintf("rejected: item %d, whose plan is lost; what it said may come again", n)}, Commit: ReportCommit{Status: "none"}})
	}
	if !k.leavesPending(s, []AuditEntry{e}, id) {
		e.Effects = append(e.Effects, Effect{Op: opPlanClosed, ID: id, At: rep.At})
	}
	data, err := Document(rep)
	if err != nil {
		return rep, err
	}
	if err := tx.Put(store.View, reportName(call), data, ""); err != nil {
		return rep, err
	}
	return rep, record(tx, s, old, e)
}
