package agentsmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/approval"
	"assent/boundary"
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

// Said is how a person says yes in this call.
type Said struct {
	Words string // quoted; "" asks on the terminal
	From  string // chat, issue, mail or meeting
	// Confirm shows a statement and gets the yes to it.
	Confirm func(approval.Statement) (approval.Given, error)
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

// judged reads plan, batch and state of one generation and judges the selection (the page's 5.4,
// 1 to 9).
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
	a.gates = &gates{state: a.state, auto: a.o.Auto, refs: a.refs, credit: plan.Credit, block: func(path string) (*Block, error) {
		f, err := readTarget(path)
		if err != nil {
			return nil, err
		}
		return f.block, nil
	}}
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
		if !a.mine(d, plan) {
			kept = append(kept, d)
		}
	}
	a.selected = kept
	return nil
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
		how := "closed"
		for _, c := range plan.Credit.Rejected {
			if id, by, _ := strings.Cut(c, " "); id == d.ID {
				how = by
			}
		}
		return fault("decision-closed", "", "item %d is %s", d.Number, how)
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

// card is what is confirmed: the texts as they will stand.
func (a *applying) card() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of its changes\n", a.id, len(a.selected))
	for _, d := range a.selected {
		fmt.Fprintf(&b, "\n%d  %s  %s\n", d.Number, d.Action, d.TargetPath)
		for _, old := range d.Olds() {
			fmt.Fprintf(&b, "   - %s\n", old)
		}
		if d.Instruction != "" {
			fmt.Fprintf(&b, "   + %s\n", d.Instruction)
		}
		for _, q := range d.Quotes {
			fmt.Fprintf(&b, "     said: %s\n", strings.Join(strings.Fields(q.Quote), " "))
		}
	}
	return b.String()
}

func (a *applying) statement() approval.Statement {
	card := a.card()
	sum := digest([]byte(a.k.Dir))
	return approval.Statement{
		Domain: "agentsmd", Action: "apply", Subject: a.id, Digest: digest([]byte(card)), Repository: sum[:32],
		Issued: a.k.Env.Now().UTC().Truncate(time.Second), Nonce: approval.NewNonce(), Card: strings.TrimRight(card, "\n"),
	}
}

// ask gets a person's yes to the selection.
func (a *applying) ask(context.Context) (approval.Given, error) {
	if a.o.Said.Confirm == nil {
		return approval.Given{}, approval.ErrNoTerminal
	}
	return a.o.Said.Confirm(a.statement())
}

// said is a yes by quoted words: a claim.
func said(s Said) Yes {
	words, _ := Redact(s.Words)
	return Yes{Method: approval.MethodStatement, Words: words, From: cmp.Or(s.From, "chat")}
}

// agree takes the yes of this call: the user's permission for Auto, his words, or what he typed
// on the terminal, which must be to the selection as it is now.
func (a *applying) agree(ctx context.Context, given *approval.Given) error {
	switch {
	case a.o.Auto:
		return a.agreed(ctx, Yes{Method: "auto"})
	case given == nil:
		return a.agreed(ctx, said(a.o.Said))
	case given.Statement.Digest != digest([]byte(a.card())):
		return fault("plan-stale", "", "the selection changed while it was confirmed")
	}
	return a.agreed(ctx, Yes{Method: given.Method, Text: given.Statement.Text(), Proof: given.Proof})
}

// agreed holds a yes to what the policy of every target asks for.
func (a *applying) agreed(ctx context.Context, yes Yes) error {
	a.yes = yes
	a.yes.At = a.k.now()
	if a.k.Env.Who != nil {
		name, email, _ := a.k.Env.Who(ctx)
		a.yes.By = approval.Person{Name: strings.ToValidUTF8(name, "?"), Email: strings.ToValidUTF8(email, "?")}
	}
	if a.o.Auto {
		return nil
	}
	for _, d := range a.selected {
		if err := a.k.enough(ctx, d.Root, yes); err != nil {
			return err
		}
	}
	return nil
}

// enough holds a yes to what the policy of a project asks for; the global file, "", asks for none.
func (k *Keeper) enough(ctx context.Context, root string, yes Yes) error {
	if k.Policy == nil || root == "" {
		return nil
	}
	least, err := k.Policy(ctx, root)
	if err == nil && approval.LevelOf(yes.Method) < least {
		err = fault("approval-weak", "", "%s asks for %s, and this is a %s", root, least, yes.Method)
	}
	return err
}

// targets are the files of the selection, the global one first.
func (a *applying) targets() (out []string) {
	for _, global := range []bool{true, false} {
		for _, d := range a.selected {
			if (d.ScopeKey == GlobalScope) == global && !slices.Contains(out, d.TargetPath) {
				out = append(out, d.TargetPath)
			}
		}
	}
	return out
}

// write changes the files one by one, and then closes the call.
func (a *applying) write(ctx context.Context) (Report, error) {
	var err error
	if a.call, err = a.k.stamp(); err != nil {
		return Report{}, err
	}
	if a.plan.Edited && len(a.selected) == 0 {
		return a.closeEdited(ctx)
	}
	var outcomes []outcome
	for _, path := range a.targets() {
		var mine []*Decision
		for _, d := range a.selected {
			if d.TargetPath == path {
				mine = append(mine, d)
			}
		}
		o, err := a.target(ctx, path, mine)
		if errors.Is(err, errCrash) {
			return Report{}, err
		}
		if errors.Is(err, store.ErrRecovery) || errors.Is(err, store.ErrConflict) {
			return Report{}, err
		}
		o.err = err
		outcomes = append(outcomes, o)
	}
	if err := a.k.at("closing"); err != nil {
		return Report{}, err
	}
	return a.k.closing(ctx, a.id, a.plan, a.skipped, outcomes, a.call)
}

// errCrash stops a test where a process could die: nothing is cleaned up.
var errCrash = errors.New("crash")

// Journal is what is noted of a file before it changes, so that another process can finish or
// take back what this one began.
type Journal struct {
	SchemaVersion int                 `json:"schema_version"`
	Call          string              `json:"call_id"`
	Plan          string              `json:"plan_id"`
	Event         string              `json:"event"`
	Path          string              `json:"path"`
	Scope         string              `json:"scope"`
	State         BlockState          `json:"block_state"`
	Existed       bool                `json:"existed"`
	Before        string              `json:"old_sha256"`
	After         string              `json:"new_sha256"`
	Old           []byte              `json:"old_bytes"`
	Applied       []string            `json:"applied"`
	Satisfied     []string            `json:"satisfied"`
	Rules         []string            `json:"rules"` // keys that come in
	Gone          []string            `json:"gone"`
	Wanted        bool                `json:"commit_wanted"`
	Head          string              `json:"head"`
	Branch        string              `json:"branch"`
	Stands        []string            `json:"stands"` // satisfied by what stands in the block
	Commit        string              `json:"commit"` // that was made, "" before
	Skip          string              `json:"skip"`
	Lifts         map[string][]string `json:"lifts"`
	Yes           Yes                 `json:"approval"`
	Notes         []string            `json:"notes"`
}

// effectID names a journal among the store's effects.
func (j *Journal) effectID() string { return j.Call + "." + digest([]byte(j.Path))[:12] }

// outcome is what became of one file.
type outcome struct {
	journal  Journal
	noted    bool // the journal is an effect of the store that must be settled
	after    []byte
	before   []byte
	err      error
	rollback string
}

// target changes one file (5.4, 10).
func (a *applying) target(ctx context.Context, path string, mine []*Decision) (o outcome, err error) {
	o.journal = Journal{SchemaVersion: SchemaVersion, Call: a.call, Plan: a.id, Event: a.event, Path: path, Scope: mine[0].ScopeKey, Lifts: map[string][]string{}, Yes: a.yes}
	j := &o.journal
	for _, d := range mine {
		if l := a.lifts[d.ID]; len(l) > 0 {
			j.Lifts[d.ID] = l
		}
	}
	f, err := readTarget(path)
	if err != nil {
		j.Applied = ids(mine)
		return o, err
	}
	j.State, j.Existed, j.Before, j.Old, o.before = f.block.State(published(a.state, path, j.Scope)), f.exists, string(f.digest()), f.src, f.src
	if a.o.Auto {
		if j.State == Drifted {
			err = fault("block-drifted", "agentsmd adopt "+path, "somebody edited the block of %s", path)
		} else if f.block.Legacy != "" {
			err = fault("block-legacy", "agentsmd adopt "+path, "the block of %s is that of %s", path, f.block.Legacy)
		}
	}
	unlock, lockErr := func() {}, error(nil)
	if err == nil {
		unlock, lockErr = lockRoot(filepath.Dir(path))
	}
	if err = cmp.Or(err, lockErr); err != nil {
		j.Applied = ids(mine)
		return o, err
	}
	defer unlock()
	edits, todo := a.remaining(ctx, f, mine, j)
	out, err := Compose(path, f.src, edits, false)
	if err == nil {
		err = grows(path, len(f.src), len(out.Bytes))
	}
	if err != nil {
		j.Applied, j.Satisfied = ids(mine), nil
		return o, err
	}
	j.Applied = ids(todo)
	if out.Adopts != "" {
		j.Notes = append(j.Notes, "adopted the block of "+out.Adopts)
	}
	if len(todo) == 0 || string(out.Bytes) == string(f.src) {
		o.after, j.After, j.Skip = f.src, j.Before, nothing
		return o, nil
	}
	o.after, j.After = out.Bytes, digest(out.Bytes)
	for _, d := range todo {
		if d.Instruction != "" {
			j.Rules = append(j.Rules, Norm(d.Instruction))
		}
		for _, old := range d.Olds() {
			j.Gone = append(j.Gone, Norm(old))
		}
	}
	wanted := !a.o.NoCommit && (a.o.Auto || a.state.Preferences.Commit == "yes")
	c, err := a.k.prepare(ctx, f, out.Bytes, j.Scope, edits, wanted, message(a.id, todo))
	if err != nil {
		return o, err
	}
	defer c.close()
	j.Skip, j.Wanted, j.Head, j.Branch = c.skip, c.skip == "", c.entry.Commit, c.branch
	return o, a.k.carry(ctx, &o, f, c)
}

func ids(ds []*Decision) (out []string) {
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}

// remaining are the edits that are still to be made: what is effective already is satisfied.
func (a *applying) remaining(ctx context.Context, f *file, mine []*Decision, j *Journal) (edits []Edit, todo []*Decision) {
	effective := f.block.Effective()
	elsewhere := a.k.effectiveFor(ctx, j.Scope)
	for _, d := range mine {
		key := Norm(d.Instruction)
		done := d.Action == Add && (effective[key] || elsewhere[key] && !d.Restore && !d.Override)
		if done {
			j.Satisfied = append(j.Satisfied, d.ID)
			if f.block.Has(key) {
				j.Stands = append(j.Stands, d.ID)
			}
			continue
		}
		for _, old := range d.Olds() {
			delete(effective, Norm(old))
		}
		if key != "" {
			effective[key] = true
		}
		edits, todo = append(edits, d.edit()), append(todo, d)
	}
	return edits, todo
}

// carry writes the file and makes its commit, or brings everything back.
func (k *Keeper) carry(ctx context.Context, o *outcome, f *file, c *committing) error {
	j := &o.journal
	note, err := Document(j)
	if err != nil {
		return err
	}
	changed := false
	k.third = func(n store.Name) bool { changed = true; return n == f.name() }
	defer func() { k.third = nil }()
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Note(store.Effect{ID: j.effectID(), Note: note}); err != nil {
			return err
		}
		return tx.Put(store.Record, f.name(), o.after, f.digest())
	})
	switch {
	case errors.Is(err, store.ErrStale):
		return fault("target-changed", "", "%s changed while it was written", f.path)
	case err != nil:
		return err
	}
	o.noted = true
	if changed { // somebody wrote it between the look and the write: that stays
		return fault("target-changed", "", "%s changed while it was written", f.path)
	}
	if err := k.at("written"); err != nil {
		return err
	}
	if !j.Wanted {
		return nil
	}
	if err := k.commit(ctx, o, c); err != nil {
		if errors.Is(err, errCrash) {
			return err
		}
		return k.rollback(ctx, o, err)
	}
	return nil
}

// commit makes and publishes the commit of a file that is written.
func (k *Keeper) commit(ctx context.Context, o *outcome, c *committing) error {
	j := &o.journal
	pending, err := c.repo.Prepare(ctx, c.commit)
	if err != nil {
		return gitFault(err)
	}
	j.Commit = pending.ID
	note, err := Document(j)
	if err == nil {
		err = k.at("prepared")
	}
	if err == nil {
		_, err = k.Store.Update(ctx, func(tx *store.Tx) error { return tx.Renote(store.Effect{ID: j.effectID(), Note: note}) })
	}
	if err == nil {
		err = k.at("noted")
	}
	if err != nil {
		if errors.Is(err, errCrash) {
			return err
		}
		return errors.Join(err, pending.Discard())
	}
	if id, err := pending.Publish(ctx); err != nil {
		if id == "" {
			j.Commit = ""
			return gitFault(err)
		}
		j.Notes = append(j.Notes, err.Error()) // HEAD has it: nothing is taken back
	}
	return k.at("committed")
}

// rollback brings a file back to what it was before, if it still holds what was written.
func (k *Keeper) rollback(ctx context.Context, o *outcome, cause error) error {
	j := &o.journal
	ctx = context.WithoutCancel(ctx)
	n := store.Name{Root: filepath.Dir(j.Path), Path: filepath.Base(j.Path)}
	o.rollback = "done"
	_, err := k.Store.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Read(n)
		if err != nil {
			return err
		}
		if string(now.Digest) != j.After {
			return errEdited
		}
		if !j.Existed {
			return tx.Remove(store.State, n, now.Digest)
		}
		return tx.Put(store.Record, n, j.Old, now.Digest)
	})
	if err == nil {
		return cause
	}
	o.rollback = "incomplete"
	name := store.Name{Root: store.Private, Path: "rescue/" + j.effectID() + "-" + FileName}
	_, rescued := k.Store.Update(ctx, func(tx *store.Tx) error { return tx.Put(store.Record, name, j.Old, "") })
	return fault("rollback-incomplete", "", "%v; and %s was edited meanwhile: its bytes of before are in %s (%v)", cause, j.Path, filepath.Join(k.Dir, filepath.FromSlash(name.Path)), errors.Join(err, rescued))
}

var errEdited = errors.New("it does not hold what was written")

// closing writes log, report and state of a call, and settles what was noted.
func (k *Keeper) closing(ctx context.Context, id string, plan *Plan, notes []string, outcomes []outcome, call string) (rep Report, err error) {
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		rep = Report{SchemaVersion: SchemaVersion, Call: call, Run: plan.Run, At: k.now(), Mode: plan.Mode, Plan: id, Results: []Result{}}
		var entries []AuditEntry
		failed := false
		for i := range outcomes {
			o := &outcomes[i]
			rep.Approval = &o.journal.Yes
			rep.Results = append(rep.Results, result(o, plan, notes))
			failed = failed || o.err != nil
			entries = append(entries, k.entries(s, o, id, plan, call)...)
			if o.noted {
				if err := tx.Settle(o.journal.effectID()); err != nil {
					return err
				}
			}
		}
		last := AuditEntry{Call: call, Run: plan.Run, At: k.now(), Event: "run", Plan: id}
		if plan.Mode == Auto && !failed && s.Plans[id].Open {
			rep.Checkpoint = true
			last.Effects = append(last.Effects, plan.Effects...)
			last.Effects = append(last.Effects, Effect{Op: opPlanClosed, ID: id, At: rep.At})
		}
		if plan.Mode == Suggest && !k.leavesPending(s, entries, id) {
			last.Effects = append(last.Effects, Effect{Op: opPlanClosed, ID: id, At: rep.At})
		}
		data, err := Document(rep)
		if err != nil {
			return err
		}
		if err := tx.Put(store.View, reportName(call), data, ""); err != nil {
			return err
		}
		return record(tx, s, f.Digest, append(entries, last)...)
	})
	rep.Exit = rep.exit()
	return rep, err
}

// leavesPending reports whether something of a plan still waits after some entries.
func (k *Keeper) leavesPending(s *State, entries []AuditEntry, plan string) bool {
	closed := map[string]bool{}
	for _, e := range entries {
		for _, x := range e.Effects {
			if x.Op == opClosed {
				closed[x.ID] = true
			}
		}
	}
	for id, p := range s.Pending {
		if p.Plan == plan && !closed[id] {
			return true
		}
	}
	return false
}

func result(o *outcome, plan *Plan, notes []string) Result {
	j := &o.journal
	r := Result{Path: j.Path, Scope: j.Scope, Status: "applied", State: j.State, Old: j.Before, New: j.After, Notes: append(slices.Clone(notes), j.Notes...), Commit: ReportCommit{Status: "none"}}
	r.Decisions = append(slices.Clone(j.Applied), j.Satisfied...)
	for _, id := range r.Decisions {
		if d := plan.find(id); d != nil {
			r.Numbers = append(r.Numbers, d.Number)
		}
	}
	slices.Sort(r.Numbers)
	switch {
	case o.err != nil:
		code, exit := codeOf(o.err)
		r.Status, r.Error = "failed", &ReportError{code, o.err.Error(), o.rollback, exit}
		r.New = r.Old
		return r
	case j.After == j.Before:
		r.Status = "no-op"
	default:
		r.Diff = unified(FileName, o.before, o.after)
	}
	switch {
	case j.Commit != "":
		r.Commit = ReportCommit{"committed", j.Commit, ""}
	case j.Skip == nothing:
		r.Commit.Reason = nothing
	case j.Skip != "":
		r.Commit = ReportCommit{"skipped", "", j.Skip}
	}
	return r
}

// entries are the lines of the log about one file.
func (k *Keeper) entries(s *State, o *outcome, id string, plan *Plan, call string) (out []AuditEntry) {
	j := &o.journal
	at := k.now()
	target := &AuditTarget{Path: j.Path, Old: j.Before, New: j.After}
	if o.err == nil {
		target.Diff = unified(FileName, o.before, o.after)
	}
	for _, list := range [][]string{j.Applied, j.Satisfied} {
		for _, did := range list {
			d := plan.find(did)
			if d == nil {
				continue
			}
			e := AuditEntry{Call: call, Run: plan.Run, At: at, Event: j.Event, Plan: id, Decision: shortened(d), Target: target, Commit: j.Commit, Approval: &j.Yes}
			if o.err != nil {
				code, _ := codeOf(o.err)
				e.Event, e.Error, e.Target = "failed", code, nil
				out = append(out, e)
				continue
			}
			satisfied := slices.Contains(j.Satisfied, did)
			e.Effects = decided(s, d, id, j.Lifts[did], satisfied, slices.Contains(j.Stands, did), at)
			if d.Supersedes != "" {
				e.Event = "edited-accepted"
			}
			e.Effects = append(e.Effects, closes(s, did, d.Supersedes, j.Applied)...)
			out = append(out, e)
			target = &AuditTarget{Path: j.Path, Old: j.Before, New: j.After}
		}
	}
	if o.err == nil && (j.After != j.Before || len(j.Stands) > 0) && len(out) > 0 {
		last := &out[len(out)-1]
		if p, ok := publishes(published(s, j.Path, j.Scope), o, plan); ok {
			p.At = at
			last.Effects = append(last.Effects, Effect{Op: opBlock, ID: j.Path, Block: &p})
		}
	}
	return out
}

// publishes is what is known of a block after a change: what was known before, and the change.
// Another hand's edits do not become ours by it.
func publishes(known *Published, o *outcome, plan *Plan) (p Published, ok bool) {
	j := &o.journal
	after, err := ParseBlock(j.Path, o.after)
	if err != nil || !after.Present {
		return p, false
	}
	rules := after.Keys()
	if known != nil {
		rules = slices.Clone(known.Rules)
		for _, list := range [][]string{j.Applied, j.Stands} {
			for _, id := range list {
				d := plan.find(id)
				if d == nil {
					continue
				}
				for _, old := range d.Olds() {
					rules = slices.DeleteFunc(rules, func(r string) bool { return r == Norm(old) })
				}
				if key := Norm(d.Instruction); key != "" && !slices.Contains(rules, key) {
					rules = append(rules, key)
				}
			}
		}
	}
	p = Published{Scope: j.Scope, Rules: rules, Earlier: []string{}}
	if have := after.Keys(); len(after.Foreign) == 0 && slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(rules))) {
		p.Body, p.Rules = digest(after.Body()), have
	}
	return p, true
}

// closes are the pending items that are answered with one: those that it edits, whatever edits they
// were themselves, other edits of the same item, and local ones that a global one makes needless.
// selected ones are answered by themselves.
func closes(s *State, did, edits string, selected []string) (out []Effect) {
	answered := map[string]bool{did: true}
	for e := edits; e != "" && !answered[e]; e = s.Pending[e].Edits {
		answered[e] = true
	}
	for grown := true; grown; {
		grown = false
		for _, id := range slices.Sorted(maps.Keys(s.Pending)) {
			p := s.Pending[id]
			if !answered[id] && (p.Edits != "" && answered[p.Edits] || p.Other != "" && answered[p.Other]) && !slices.Contains(selected, id) {
				answered[id], grown = true, true
			}
		}
	}
	delete(answered, did)
	chain := map[string]bool{}
	for e := edits; e != "" && !chain[e]; e = s.Pending[e].Edits {
		chain[e] = true
	}
	for _, id := range slices.Sorted(maps.Keys(answered)) {
		if p, ok := s.Pending[id]; ok {
			how := Superseded
			if chain[id] {
				how = Edited
			}
			out = append(out, Effect{Op: opClosed, ID: id, Plan: p.Plan, Text: string(how)})
		}
	}
	return out
}

// decided are the effects of a decision that is written, or of one that holds already.
func decided(s *State, d *Decision, plan string, lifts []string, satisfied, stands bool, at string) (out []Effect) {
	status := Applied
	if satisfied {
		status = Satisfied
	}
	out = append(out, Effect{Op: opClosed, ID: d.ID, Plan: plan, Text: string(status)})
	if len(lifts) > 0 {
		out = append(out, Effect{Op: opLift, IDs: lifts, Plan: plan})
	}
	if satisfied {
		if c := RuleID(KindRule, d.ScopeKey, d.Instruction); stands { // it has a yes now, whoever wrote it there
			out = append(out, Effect{Op: opRule, ID: c, Rule: &RuleEvidence{Path: d.TargetPath, Scope: d.ScopeKey, Text: d.Instruction, Decision: d.ID, Plan: plan, Evidence: orNone(joinEvidence(s.RuleEvidence[c].Evidence, d.Evidence)), Replaced: []string{}, UpdatedAt: at}})
		}
		return out
	}
	entry := func(kind, text string, evidence []Evidence) *Entry {
		return &Entry{Kind: kind, Scope: d.ScopeKey, Text: text, Norm: NormVersion, Evidence: orNone(evidence), Decision: d.ID, Reason: d.Reason, At: at}
	}
	evidence, replaced := d.Evidence, []string{}
	fresh := ""
	if d.Instruction != "" {
		fresh = RuleID(KindRule, d.ScopeKey, d.Instruction)
	}
	for _, old := range d.Olds() {
		c := RuleID(KindRule, d.ScopeKey, old)
		if c == fresh {
			evidence = joinEvidence(s.RuleEvidence[c].Evidence, evidence)
			continue
		}
		was := s.RuleEvidence[c]
		kind, holds := "text", []Evidence(nil)
		if d.Action == Remove {
			kind, holds = KindRule, joinEvidence(d.Evidence, was.Evidence)
		}
		evidence = joinEvidence(was.Evidence, evidence)
		replaced = append(append(replaced, c), was.Replaced...)
		out = append(out, Effect{Op: opTombstone, ID: c, Plan: plan, Entry: entry(kind, old, holds)}, Effect{Op: opRuleGone, ID: c})
	}
	if fresh != "" {
		out = append(out, Effect{Op: opRule, ID: fresh, Rule: &RuleEvidence{Path: d.TargetPath, Scope: d.ScopeKey, Text: d.Instruction, Decision: d.ID, Plan: plan, Evidence: orNone(evidence), Replaced: replaced[:min(len(replaced), 64)], UpdatedAt: at}})
	}
	return append(out, Effect{Op: opRevision, Scope: d.ScopeKey, Plan: plan})
}

func orNone(e []Evidence) []Evidence {
	if e == nil {
		return []Evidence{}
	}
	return e
}
