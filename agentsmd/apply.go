package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// ApplyOptions are those of `agentsmd apply`.
type ApplyOptions struct {
	Plan      string
	Numbers   []int
	All, Auto bool
	NoCommit  bool
	SkipStale bool
	Said      Said
}

// Apply writes the selected changes of a plan, each to what its file holds now, and commits one
// path where that is wanted. Everything that the plan claims is read again from its batch and
// judged on today's state; one objection stops the call before anything is written. Then each
// file is changed by itself: one that fails leaves the others changed.
func (k *Keeper) Apply(ctx context.Context, o ApplyOptions) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	if err := k.mend(ctx); err != nil {
		return Report{}, err
	}
	var given *approval.Given
	if !o.Auto && o.Said.Words == "" { // a person may take his time: nothing is locked meanwhile
		a, err := k.judged(ctx, o)
		if err != nil {
			return Report{}, err
		}
		g, err := a.ask(ctx)
		if err != nil {
			return Report{}, err
		}
		given = &g
	}
	release, err := k.begin(ctx)
	if err != nil {
		return Report{}, err
	}
	defer release()
	a, err := k.judged(ctx, o)
	if err != nil {
		return Report{}, err
	}
	if err := a.agree(ctx, given); err != nil {
		return Report{}, err
	}
	return a.write(ctx)
}

func (o ApplyOptions) check() error {
	ways := 0
	for _, w := range []bool{len(o.Numbers) > 0, o.All, o.Auto} {
		if w {
			ways++
		}
	}
	switch {
	case ways == 0:
		return fault("selection-missing", "", "which items?")
	case ways > 1:
		return fault("selection-conflict", "", "numbers, --all and --auto exclude each other")
	}
	return nil
}

// applying is one run of apply.
type applying struct {
	k        *Keeper
	o        ApplyOptions
	id       string
	plan     *Plan
	state    *State
	batch    *Batch
	refs     *references
	gates    *gates
	selected []*Decision
	lifts    map[string][]string
	skipped  []string // notes about items that were left out
	yes      Yes
	event    string
	call     string
}

// judged reads plan, batch and state of one generation and judges the selection: one
// objection refuses the call before anything is written.
func (k *Keeper) judged(ctx context.Context, o ApplyOptions) (a *applying, err error) {
	err = k.Store.View(ctx, func(r *store.Reader) error {
		a = &applying{k: k, o: o, lifts: map[string][]string{}, event: "accepted"}
		return a.judge(ctx, r)
	})
	return a, err
}

func (a *applying) judge(ctx context.Context, r *store.Reader) (err error) {
	if a.state, _, err = loadState(r); err != nil {
		return err
	}
	if a.id, a.plan, err = readPlan(r, a.state, a.o.Plan); err != nil {
		return err
	}
	if (a.plan.Mode == Auto) != a.o.Auto {
		return fault("plan-mode", "", "%s is of the mode %s", a.id, a.plan.Mode)
	}
	if err := a.choose(); err != nil {
		return err
	}
	if a.o.Auto {
		a.event = "auto-applied"
		for _, d := range a.selected {
			if err := autoAllowed(a.state, d.TargetPath, a.k.Env.Now()); err != nil {
				return err
			}
		}
	}
	if err := quotaAllows(a.plan.Quota); err != nil {
		return err
	}
	if err := a.authorised(ctx, r); err != nil {
		return err
	}
	if err := a.sound(); err != nil {
		return err
	}
	if err := a.stands(ctx); err != nil {
		return err
	}
	if err := coverage(a.plan.RecordIDs, a.plan.Decisions, a.refs); err != nil {
		return err
	}
	if a.plan.Edited {
		return a.fitsEdited(r)
	}
	return nil
}

// choose resolves numbers to decisions.
func (a *applying) choose() error {
	credit := a.state.Plans[a.id].Credit
	switch {
	case a.o.Auto, a.o.All:
		for _, d := range a.plan.Decisions {
			_, pending := a.state.Pending[d.ID]
			if d.Number > 0 && (pending || a.o.Auto && !slices.Contains(credit.Applied, d.ID)) {
				a.selected = append(a.selected, d)
			}
		}
		if len(a.selected) == 0 && !a.o.Auto && !a.plan.Edited {
			return fault("decision-closed", "", "nothing of %s is pending", a.id)
		}
	default:
		for _, n := range slices.Compact(slices.Sorted(slices.Values(a.o.Numbers))) {
			d := a.plan.number(n)
			if d == nil {
				return fault("selection-unknown", "agentsmd show "+a.id, "%s has no number %d", a.id, n)
			}
			a.selected = append(a.selected, d)
		}
	}
	return nil
}

// authorised makes roots, records and references again from the batch: the plan's own lists
// prove nothing.
func (a *applying) authorised(ctx context.Context, r *store.Reader) error {
	b, sum, err := readBatch(r, a.state, a.plan.Run)
	if err != nil {
		return err
	}
	if sum != a.plan.Batch {
		return fault("batch-changed", "", "the plan is of another batch")
	}
	a.batch, a.refs = b, newReferences(b, a.k.authority(ctx, a.state))
	differs := ""
	switch {
	case a.plan.CodexHome != b.CodexHome:
		differs = "codex_home"
	case !slices.Equal(a.plan.AllowedRoots, b.AllowedRoots):
		differs = "allowed_project_roots"
	case !slices.Equal(a.plan.ExplicitRoots, b.ExplicitRoots):
		differs = "explicit_project_roots"
	case !a.plan.Edited && !slices.Equal(a.plan.RecordIDs, b.RecordIDs):
		differs = "record_ids"
	}
	if differs != "" {
		return fault("authorisation-mismatch", "", "%s is not what the batch has", differs)
	}
	return a.k.homeOf(b)
}

// sound holds the plan's structure: ids that stand once, and every change in one target, of its
// scope and root.
func (a *applying) sound() error {
	bad := func(format string, args ...any) error { return fault("plan-structure", "", format, args...) }
	seen := map[string]bool{}
	for _, d := range a.plan.Decisions {
		if seen[d.ID] {
			return bad("two decisions have one id")
		}
		seen[d.ID] = true
		want := a.k.GlobalPath()
		if d.ScopeKey != GlobalScope {
			want = targetPath(d.Root)
		}
		if d.TargetPath != want {
			return bad("%s is not the file of %s", d.TargetPath, d.ScopeKey)
		}
		n := 0
		for _, t := range a.plan.Targets {
			if slices.Contains(t.Decisions, d.ID) {
				n++
				if t.Path != d.TargetPath || t.Scope != d.ScopeKey {
					return bad("%s stands in the target %s", describe(d), t.Path)
				}
			}
		}
		if d.Number > 0 && n != 1 {
			return bad("%s stands in %d targets", describe(d), n)
		}
	}
	for _, t := range a.plan.Targets {
		for _, id := range t.Decisions {
			if !seen[id] {
				return bad("the target %s names a decision that is not there", t.Path)
			}
		}
	}
	return nil
}

// stands judges every selected item on today's state. With SkipStale those that came too late
// are left out.
func (a *applying) stands(ctx context.Context) error {
	plan := a.state.Plans[a.id]
	a.gates = &gates{state: a.state, auto: a.o.Auto, refs: a.refs, credit: plan.Credit, gone: a.k.goneFrom(ctx, a.state, readTarget)}
	if a.o.Auto {
		if err := a.guard(plan.Credit); err != nil {
			return err
		}
	}
	var kept []*Decision
	for _, d := range a.selected {
		if slices.Contains(plan.Credit.Applied, d.ID) && a.o.Auto {
			continue
		}
		err := a.item(ctx, d, plan)
		if err != nil && a.o.SkipStale {
			if _, exit := codeOf(err); exit == 4 {
				a.skipped = append(a.skipped, fmt.Sprintf("item %d is left out: %v", d.Number, err))
				continue
			}
		}
		if err != nil {
			return err
		}
		if a.mine(d, plan) {
			a.before(d)
		} else {
			kept = append(kept, d)
		}
	}
	a.selected = kept
	return nil
}

// before notes an item that was written before, and does not stand there any more: it is not written
// again.
func (a *applying) before(d *Decision) {
	f, err := readTarget(d.TargetPath)
	if err != nil || d.Instruction == "" || f.block.Effective()[Norm(d.Instruction)] {
		return
	}
	where := "--global"
	if d.Root != "" {
		where = "--dir " + finding.Shell(d.Root)
	}
	a.skipped = append(a.skipped, fmt.Sprintf("item %d was written before, and does not stand in %s any more; to bring it back: agentsmd restore %s %s", d.Number, d.TargetPath, finding.Shell(d.Instruction), where))
}

// mine reports an item that this plan wrote already.
func (a *applying) mine(d *Decision, plan PlanState) bool {
	return slices.Contains(plan.Credit.Applied, d.ID)
}

// guard holds an auto plan to the very state that it was made on, but for what it did itself.
func (a *applying) guard(c Credit) error {
	now, was := guardOf(a.state), a.plan.Guard
	own := func(ids []string) []string {
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(c.IDs, id) })
	}
	for scope, n := range now.Scopes {
		if n-c.Scopes[scope] != was.Scopes[scope] {
			return fault("plan-stale", "", "something of %s was changed or rejected since", scope)
		}
	}
	if now.Constraint-c.Constraint != was.Constraint || !slices.Equal(own(now.Tombstones), own(was.Tombstones)) || !slices.Equal(own(now.Rejections), own(was.Rejections)) {
		return fault("plan-stale", "", "something was changed, withdrawn or rejected since")
	}
	return nil
}

func (a *applying) item(ctx context.Context, d *Decision, plan PlanState) error {
	if a.mine(d, plan) {
		return nil
	}
	if p, ok := a.state.Pending[d.ID]; !a.o.Auto && (!ok || p.Plan != a.id) {
		return closedItem(a.state, a.id, d)
	}
	if err := a.evidence(d); err != nil {
		return err
	}
	if d.Target == TargetProject {
		now, err := a.k.stillRoot(ctx, d.Root, a.state)
		if err != nil {
			return err
		}
		if ProjectScope(now.Key) != d.ScopeKey {
			return fault("scope-moved", "", "item %d: %s is another project by now", d.Number, d.Root)
		}
		if targetPath(d.Root) == a.k.GlobalPath() {
			return notProject(d.Root)
		}
		if !slices.Contains(a.batch.AllowedRoots, d.Root) {
			return fault("root-not-allowed", "", "%s is no root of the run", d.Root)
		}
	}
	if why := boundary.Unsafe(d.Instruction, "rule"); d.Instruction != "" && why != "" {
		return fault("rule-text", "", "item %d %s", d.Number, why)
	}
	if a.o.Auto {
		if err := autoAllows(d, a.k.realProjects(ctx, a.state, d)); err != nil {
			return err
		}
	} else if d.Action != Add {
		if now := a.state.Scopes[d.ScopeKey] - plan.Credit.Scopes[d.ScopeKey]; now != a.plan.Guard.Scopes[d.ScopeKey] {
			return fault("scope-moved", "", "item %d: rules of the same scope were changed or rejected since the plan", d.Number)
		}
	}
	probe := *d
	lifts, err := a.gates.judge(&probe)
	if err != nil {
		return err
	}
	if probe.Status == Settles {
		return fault("decision-stale", "", "item %d: %s", d.Number, probe.Note)
	}
	a.lifts[d.ID] = lifts
	return nil
}

// evidence grounds an item again: its references are the batch's, support its scope, and hold
// its quotes where it says.
func (a *applying) evidence(d *Decision) error {
	if len(d.Refs) == 0 {
		return fault("evidence-missing", "", "%s has no evidence", describe(d))
	}
	if len(d.Candidates) > 0 { // of the global pass: the records of its candidates are those of other runs, too
		if !slices.ContainsFunc(d.Refs, func(ref string) bool { return a.refs.record(ref) != nil }) {
			return fault("authorisation-mismatch", "", "%s rests on nothing of the batch", describe(d))
		}
		return nil
	}
	root := d.Root
	if d.Target == TargetGlobal {
		root = ""
	}
	for _, ref := range d.Refs {
		switch {
		case a.refs.record(ref) == nil:
			return fault("authorisation-mismatch", "", "%s rests on %s, which the batch does not have", describe(d), ref)
		case !a.refs.supports(ref, root):
			return fault("evidence-scope", "", "%s rests on %s, which is of another project", describe(d), ref)
		}
	}
	for _, q := range d.Quotes {
		r := a.refs.record(q.Ref)
		if r == nil {
			return fault("authorisation-mismatch", "", "%s quotes %s, which the batch does not have", describe(d), q.Ref)
		}
		if _, err := boundary.Ground([]byte(r.User), q.Quote, nil); err != nil {
			var g *boundary.GroundError
			if errors.As(err, &g) && g.Code == "boundary/ground-short" {
				continue // short quotes were judged by the kind's own rule
			}
			return fault("authorisation-mismatch", "", "%s: %v", describe(d), err)
		}
	}
	return nil
}
