package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// ReconcileOptions are those of `agentsmd reconcile`.
type ReconcileOptions struct {
	Run    string
	Mode   string
	Model  string
	Effort string
}

// codeOf is the code and the exit code of an error of any room.
func codeOf(err error) (string, int) {
	var coded interface{ Code() string }
	var f *Fault
	code, exit := "agentsmd/error", finding.ExitUnchecked
	if errors.As(err, &f) {
		return f.Code, f.ExitCode()
	}
	if errors.As(err, &coded) {
		code = coded.Code()
	}
	var e interface{ ExitCode() int }
	if errors.As(err, &e) {
		exit = e.ExitCode()
	}
	switch {
	case errors.Is(err, store.ErrBusy):
		exit = finding.ExitBusy
	case errors.Is(err, store.ErrStale), errors.Is(err, store.ErrConflict):
		exit = finding.ExitStale
	}
	return code, exit
}

func asRefusal(err error, into **boundary.Refusal) bool { return errors.As(err, into) }

// Reconcile turns the decisions of a run into a plan, on what is there now. With an error the plan
// is kept for reading and not registered: nothing is pending, and no record is settled. In
// Suggest the run is published: its records are settled, and its changes wait for a yes. In Auto
// the plan is registered only.
func (k *Keeper) Reconcile(ctx context.Context, o ReconcileOptions) (out Planned, err error) {
	if o.Mode == "" {
		o.Mode = Suggest
	}
	release, err := k.begin(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	overtaken := ""
	defer func() {
		if overtaken != "" { // nothing more comes of it; what is left of its records is collected again
			_ = k.note(ctx, AuditEntry{Run: overtaken, Event: "refused", Error: "agentsmd/run-overtaken", Effects: []Effect{{Op: opPublished, ID: overtaken, At: k.now()}}})
		}
	}()
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		out = Planned{}
		r := &reconciling{k: k, ctx: ctx, o: o, tx: tx}
		if err := r.open(); err != nil {
			var f *Fault
			if errors.As(err, &f) && f.Code == "agentsmd/run-overtaken" {
				overtaken = r.o.Run
			}
			return err
		}
		if err := r.decide(); err != nil {
			return err
		}
		out, err = r.publish()
		return err
	})
	return out, err
}

// begin takes the lock for the whole of a command, and brings what was interrupted to its end.
func (k *Keeper) begin(ctx context.Context) (release func(), err error) {
	if release, err = k.Store.Hold(ctx); err != nil {
		return nil, err
	}
	err = k.recoverFiles(ctx)
	if err == nil {
		err = k.logHolds(ctx)
	}
	if err == nil {
		err = k.converge(ctx)
	}
	if err != nil {
		release()
		return nil, err
	}
	if err := k.sweep(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// reconciling is one run of reconcile.
type reconciling struct {
	k     *Keeper
	ctx   context.Context
	o     ReconcileOptions
	tx    *store.Tx
	state *State
	old   store.Digest // of the state
	batch *Batch
	sum   string
	refs  *references
	all   []*Decision
	lifts map[string][]string // decision id -> entries
	plan  *Plan
	issues
	warnings []PlanIssue
	files    map[string]*file
	effects  []Effect // of the global pass
	edited   string   // id of the item that is amended; "" else
	before   []AuditEntry
	yes      *Yes   // of the user's own act
	event    string // what that is called
}

// open makes the checks that stop at once: on them nothing else could be judged.
func (r *reconciling) open() error {
	s, f, err := loadState(&r.tx.Reader)
	if err != nil {
		return err
	}
	r.state, r.old = s, f.Digest
	if r.o.Run, err = openRun(s, r.o.Run); err != nil {
		return err
	}
	if r.batch, r.sum, err = readBatch(&r.tx.Reader, s, r.o.Run); err != nil {
		return err
	}
	if err := r.k.homeOf(r.batch); err != nil {
		return err
	}
	m, err := readChunks(&r.tx.Reader, s, r.o.Run, r.sum)
	if err != nil {
		return err
	}
	for _, id := range r.batch.RecordIDs {
		if _, done := slices.BinarySearch(s.Processed, id); done {
			return fault("run-overtaken", "", "another run has settled the record %s", id)
		}
	}
	if err := quotaAllows(r.batch.Quota); err != nil {
		return err
	}
	r.plan = &Plan{
		SchemaVersion: SchemaVersion, Run: r.o.Run, Mode: r.o.Mode, CreatedAt: r.k.now(), GuideVersion: GuideVersion, CodexHome: r.batch.CodexHome, Batch: r.sum,
		AllowedRoots: r.batch.AllowedRoots, ExplicitRoots: r.batch.ExplicitRoots, RecordIDs: r.batch.RecordIDs, Guard: guardOf(s), Quota: r.batch.Quota, Metadata: RunMetadata{r.o.Model, r.o.Effort},
	}
	var submitted []byte
	for _, c := range m.Chunks {
		f, err := r.tx.Read(submittedName(r.o.Run, c.Number))
		if err != nil {
			return err
		}
		submitted = append(submitted, f.Data...)
	}
	review, err := r.tx.Read(reviewName(r.o.Run))
	if err != nil {
		return err
	}
	r.plan.Submitted, r.plan.Review = digest(submitted), digest(review.Data)
	for _, c := range m.Chunks {
		list, err := r.k.rejudge(r.ctx, &r.tx.Reader, m, c.Number)
		var refusal *boundary.Refusal
		if errors.As(err, &refusal) { // what was right when it was sent, and is not any more
			r.add(nil, err)
			continue
		}
		if err != nil {
			return err
		}
		r.all = append(r.all, list...)
	}
	r.refs = newReferences(r.batch, r.k.authority(r.ctx, s))
	if len(r.list) == 0 {
		global, effects, err := r.k.promote(r.ctx, &r.tx.Reader, s, r.batch, r.all)
		if err != nil {
			return err
		}
		r.all, r.effects = append(r.all, global...), effects
	}
	if r.o.Mode == Auto {
		for _, d := range r.all {
			if d.Action.Mutating() {
				if err := autoAllowed(s, d.TargetPath, r.k.Env.Now()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// decide makes the checks that collect all.
func (r *reconciling) decide() error {
	r.files, r.lifts = map[string]*file{}, map[string][]string{}
	seen := map[string]bool{}
	for _, d := range r.all {
		if seen[d.ID] {
			return fault("id-collision", "", "two decisions have the id %s", d.ID)
		}
		seen[d.ID] = true
		if d.Action == NeedsEvidence {
			r.add(d, fault("evidence-unresolved", fmt.Sprintf("agentsmd evidence --record %s --lines %d-%d", d.Query.Record, d.Query.Start, d.Query.End), "a decision of chunk %d asks for evidence", d.Chunk))
		}
		if d.Action == NoOp {
			d.Status = Settles
		}
		if d.Target == TargetProject {
			r.add(d, r.allowed(d.Root))
		}
	}
	for _, d := range r.all {
		if d.Action.Mutating() && r.o.Mode == Auto {
			r.add(d, autoAllows(d, r.k.realProjects(r.ctx, r.state, d)))
		}
	}
	g := &gates{state: r.state, auto: r.o.Mode == Auto, refs: r.refs, gone: r.k.goneFrom(r.ctx, r.state, r.file)}
	for _, d := range r.all {
		if !d.live() {
			continue
		}
		lifts, err := g.judge(d)
		if !r.add(d, err) {
			r.lifts[d.ID] = lifts
		}
	}
	r.add(nil, contradiction(r.all))
	r.add(nil, r.covered())
	for _, path := range r.paths() {
		r.target(path)
	}
	changes := 0
	for _, d := range r.all {
		if d.live() {
			changes++
		}
	}
	if r.o.Mode == Auto && changes > maxAuto {
		r.add(nil, fault("auto-limit", "", "the plan changes %d rules, and %d are the most", changes, maxAuto))
	}
	return nil
}

// allowed holds a root to those of the run.
func (r *reconciling) allowed(root string) error {
	if !slices.Contains(r.batch.AllowedRoots, root) {
		return fault("root-not-allowed", "", "%s is no root of the run", root)
	}
	if targetPath(root) == r.k.GlobalPath() {
		return notProject(root)
	}
	_, err := r.k.stillRoot(r.ctx, root, r.state)
	return err
}

// covered holds the decisions to reach every record that the batch must settle.
func (r *reconciling) covered() error {
	return coverage(r.plan.RecordIDs, r.all, r.refs)
}
