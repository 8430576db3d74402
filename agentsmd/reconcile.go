package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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

// Planned is the result of reconcile: what a person may confirm, by number.
type Planned struct {
	SchemaVersion int         `json:"schema_version"`
	Plan          string      `json:"plan_id"` // "" if it has errors and was not registered
	Run           string      `json:"run_id"`
	Mode          string      `json:"mode"`
	Items         []Item      `json:"items"`
	Settled       []NoOpItem  `json:"no_ops"`
	Errors        []PlanIssue `json:"errors"`
	Warnings      []PlanIssue `json:"warnings"`
	Exit          int         `json:"-"`
}

// Item is one change that a person sees. It has no id.
type Item struct {
	Number int      `json:"selection_number"`
	Action Action   `json:"action"`
	Path   string   `json:"path"`
	Scope  string   `json:"scope"`
	Old    []string `json:"old"`
	New    string   `json:"new"`
	Diff   string   `json:"diff"`
	Near   string   `json:"near_duplicate_of,omitzero"`
	Other  int      `json:"alternative_to,omitzero"` // number of the global item that says it too
	Quotes []string `json:"quotes"`
	Status Status   `json:"status"`
}

// NoOpItem is a decision that changes nothing, and why.
type NoOpItem struct {
	Action Action `json:"action"`
	Text   string `json:"text"`
	Why    string `json:"why"`
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
			_ = k.append(ctx, AuditEntry{Run: overtaken, Event: "refused", Error: "agentsmd/run-overtaken", Effects: []Effect{{Op: opPublished, ID: overtaken}}})
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
	if err := k.logHolds(ctx); err != nil {
		release()
		return nil, err
	}
	if _, err := k.converge(ctx); err != nil {
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
	yes      *Yes // of the user's own act
}

// open makes the checks that stop at once (the page's 5.3, 1 to 6).
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
	m, err := readManifest(&r.tx.Reader, r.o.Run, r.sum)
	if err != nil {
		return err
	}
	for _, c := range m.Chunks {
		if _, err := readChunk(&r.tx.Reader, m, c.Number); err != nil {
			return err
		}
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

func quotaAllows(q *Quota) error {
	switch {
	case q == nil || q.Status == quotaAllowed:
		return nil
	case q.Status == quotaBlocked:
		return fault("quota-blocked", "", "the batch was collected with too little quota left")
	}
	return fault("quota-unknown", "", "it was not known how much of the quota was left")
}

// autoAllowed holds a file to what its user has allowed.
func autoAllowed(s *State, path string, now time.Time) error {
	for _, a := range s.Preferences.Auto {
		if a.Path == path && now.UTC().Format(time.DateOnly) <= a.Until {
			return nil
		}
	}
	return fault("auto-not-authorised", "", "Auto is not allowed for %s", path)
}

// decide makes the checks that collect all (5.3, 7 to 18).
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
	auto := 0
	for _, d := range r.all {
		if d.Action.Mutating() && r.o.Mode == Auto {
			auto++
			r.add(d, autoAllows(d, r.k.realProjects(r.ctx, r.state, d)))
		}
	}
	if auto > maxAuto {
		r.add(nil, fault("auto-limit", "", "the plan changes %d rules, and %d are the most", auto, maxAuto))
	}
	g := &gates{state: r.state, auto: r.o.Mode == Auto, refs: r.refs, block: func(path string) (*Block, error) {
		f, err := r.file(path)
		if err != nil {
			return nil, err
		}
		return f.block, nil
	}}
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

// notProject refuses to write the file that holds everywhere for the sake of one directory.
func notProject(root string) error {
	return fault("root-not-allowed", "make it a global rule", "%s has the file that holds everywhere", root)
}

// stillRoot holds a root to being there, and to being the top of its project still.
func (k *Keeper) stillRoot(ctx context.Context, root string, s *State) (Project, error) {
	p, ok, err := k.project(ctx, root, s)
	switch {
	case err != nil:
		return p, err
	case !ok:
		return p, fault("root-missing", "", "the directory %s is gone", root)
	case p.Root != root:
		return p, fault("root-missing", "collect again", "%s is a part of %s by now", root, p.Root)
	}
	return p, nil
}

// realProjects is how many distinct projects a global decision rests on, as they stand on disk
// now: of candidates the roots of their sources, else those of its evidence.
func (k *Keeper) realProjects(ctx context.Context, s *State, d *Decision) int {
	keys := map[string]bool{}
	counted := k.counted(ctx, s)
	for _, root := range d.SourceRoots {
		if key := counted(CandidateSource{Root: &root}); key != "" {
			keys[key] = true
		}
	}
	return len(keys)
}

// covered holds the decisions to reach every record that the batch must settle.
func (r *reconciling) covered() error {
	return coverage(r.plan.RecordIDs, r.all, r.refs)
}

func coverage(ids []string, decisions []*Decision, refs *references) error {
	reached := map[string]bool{}
	for _, d := range decisions {
		for _, ref := range d.Refs {
			if rec := refs.record(ref); rec != nil {
				reached[rec.ID] = true
			}
		}
	}
	var missing []string
	for _, id := range ids {
		if !reached[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return fault("coverage", "", "no decision reaches %s", strings.Join(missing, ", "))
	}
	return nil
}

// paths are the files that something changes: projects in order of appearance, then the global
// one.
func (r *reconciling) paths() (out []string) {
	global := false
	for _, d := range r.all {
		switch {
		case !d.live():
		case d.ScopeKey == GlobalScope:
			global = true
		case !slices.Contains(out, d.TargetPath):
			out = append(out, d.TargetPath)
		}
	}
	if global {
		out = append(out, r.k.GlobalPath())
	}
	return out
}

func (r *reconciling) file(path string) (*file, error) {
	if f, ok := r.files[path]; ok {
		return f, nil
	}
	f, err := readTarget(path)
	if err == nil {
		r.files[path] = f
	}
	return f, err
}

func (r *reconciling) warn(d *Decision, code, format string, args ...any) {
	id := ""
	if d != nil {
		id = d.ID
	}
	r.warnings = append(r.warnings, PlanIssue{Code: "agentsmd/" + code, Decision: id, Message: fmt.Sprintf(format, args...)})
}

// target plays the decisions on one file (5.3, 16 to 18).
func (r *reconciling) target(path string) {
	var mine []*Decision
	for _, d := range r.all {
		if d.live() && d.TargetPath == path {
			mine = append(mine, d)
		}
	}
	f, err := r.file(path)
	if r.add(mine[0], err) {
		return
	}
	known := published(r.state, path, mine[0].ScopeKey)
	state := f.block.State(known)
	if r.o.Mode == Auto && state == Drifted {
		r.add(mine[0], fault("block-drifted", "agentsmd adopt "+path, "somebody edited the block of %s", path))
		return
	}
	if r.o.Mode == Auto && f.block.Legacy != "" {
		r.add(mine[0], fault("block-legacy", "agentsmd adopt "+path, "the block of %s is that of %s", path, f.block.Legacy))
		return
	}
	effective := f.block.Effective()
	elsewhere := r.k.effectiveFor(r.ctx, mine[0].ScopeKey)
	var edits []Edit
	var kept []*Decision
	for _, d := range mine {
		if d.Action == Add && !d.Restore && !d.Override {
			if key := Norm(d.Instruction); effective[key] || elsewhere[key] {
				d.settle("it is effective already")
				continue
			}
		}
		if d.Action == Add && (d.Restore || d.Override) && effective[Norm(d.Instruction)] {
			d.settle("it stands there already")
			continue
		}
		alone, err := compose(f.block, path, f.src, []Edit{d.edit()}, false, false)
		var missing *Fault
		if errors.As(err, &missing) && missing.Code == "agentsmd/rule-not-found" { // another decision may have made it
			alone, err = Composed{}, nil
		}
		if r.add(d, err) {
			return
		}
		d.Diff = unified(FileName, f.src, alone.Bytes)
		if alone.Bytes == nil {
			d.Diff = ""
		}
		edits = append(edits, d.edit())
		kept = append(kept, d)
		for _, old := range d.Olds() {
			delete(effective, Norm(old))
		}
		if d.Instruction != "" {
			effective[Norm(d.Instruction)] = true
		}
		r.near(d, f.block)
	}
	if len(kept) == 0 {
		return
	}
	out, err := Compose(path, f.src, edits, false)
	if r.add(kept[0], err) || r.add(kept[0], grows(path, len(f.src), len(out.Bytes))) {
		return
	}
	t := PlanTarget{
		Path: path, Scope: kept[0].ScopeKey, Root: null(kept[0].Root), Existed: f.exists, State: state, Base: string(f.digest()), New: digest(out.Bytes),
		OldBytes: len(f.src), NewBytes: len(out.Bytes), Diff: unified(FileName, f.src, out.Bytes), Notes: []string{},
	}
	for _, d := range kept {
		t.Decisions = append(t.Decisions, d.ID)
	}
	if out.Adopts != "" {
		t.Notes = append(t.Notes, "adopts the block of "+out.Adopts)
	}
	if state == Drifted {
		t.Notes = append(t.Notes, "somebody edited the block; that stays as it is")
	}
	r.about(path, f, out.Bytes)
	r.plan.targets(t)
}

func (p *Plan) targets(t PlanTarget) { p.Targets = append(p.Targets, t) }

// published is what is known of a file's block; nothing, if another project stood there then.
func published(s *State, path, scope string) *Published {
	if b, ok := s.Blocks[path]; ok && b.Scope == scope {
		return &b
	}
	return nil
}

// about warns of what is no error in a file.
func (r *reconciling) about(path string, f *file, after []byte) {
	now, err := ParseBlock(path, after)
	if err != nil {
		return
	}
	if n := len(now.Rules); n > manyRules {
		r.warn(nil, "many-rules", "%s has %d rules; an agent heeds fewer better", path, n)
	}
	if f.block.Outside {
		r.warn(nil, "heading-outside", "%s has our heading outside of the block too", path)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), OverrideName)); err == nil {
		r.warn(nil, "inactive-override", "%s stands beside %s, and Codex reads it instead", OverrideName, path)
	}
	for _, c := range r.k.chainWarnings(r.ctx, path, len(after)) {
		r.warn(nil, "chain-budget", "%s", c)
	}
}

// OverrideName is the file that Codex reads in place of the one beside it.
const OverrideName = "AGENTS.override.md"

const (
	manyRules = 40
	nearness  = 0.8
)

// near notes a rule of the file that has nearly the same words.
func (r *reconciling) near(d *Decision, b *Block) {
	if d.Instruction == "" {
		return
	}
	olds := map[string]bool{}
	for _, old := range d.Olds() {
		olds[Norm(old)] = true
	}
	for _, rule := range b.Rules {
		if !olds[rule.Key()] && rule.Key() != Norm(d.Instruction) && similarity(rule.Text, d.Instruction) >= nearness {
			d.Near = rule.Text
			r.warn(d, "near-duplicate", "%q is nearly the rule %q", d.Instruction, rule.Text)
			return
		}
	}
}

// similarity is the share of words that two texts have in common.
func similarity(a, b string) float64 {
	words := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.FieldsFunc(Norm(s), func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f || r == '_')
		}) {
			out[w] = true
		}
		return out
	}
	x, y := words(a), words(b)
	both := 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	if all := len(x) + len(y) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 0
}

// publish writes the plan, and what follows from it (5.3, 19).
func (r *reconciling) publish() (Planned, error) {
	call, err := r.k.stamp()
	if err != nil {
		return Planned{}, err
	}
	p := r.plan
	p.Decisions, p.Errors, p.Warnings = r.all, r.list, r.warnings
	n := 0
	for _, global := range []bool{false, true} {
		for _, d := range r.all {
			if d.live() && (d.ScopeKey == GlobalScope) == global {
				n++
				d.Number = n
				d.Status = Pending
				if p.Mode == Auto {
					d.Status = Ready
				}
			}
		}
	}
	if err := r.inherit(); err != nil {
		return Planned{}, err
	}
	effects := r.settles()
	if p.Mode == Auto {
		p.Effects = effects
	}
	data, err := Document(p)
	if err != nil {
		return Planned{}, err
	}
	id := "P-" + digest(data)[:16]
	if old, ok := r.state.Plans[id]; ok && old.SHA256 != digest(data) {
		return Planned{}, fault("id-collision", "", "two plans have the id %s", id)
	}
	before, err := r.tx.Read(planName(id))
	if err != nil {
		return Planned{}, err
	}
	if err := r.tx.Put(store.State, planName(id), data, before.Digest); err != nil {
		return Planned{}, err
	}
	out := planned(id, p)
	if out.Exit = r.exit(); out.Exit != 0 {
		out.Plan = ""
		var codes []string
		for _, e := range r.list {
			codes = append(codes, e.Code)
		}
		return out, record(r.tx, r.state, r.old, AuditEntry{Call: call, Run: p.Run, At: p.CreatedAt, Event: "refused", Error: strings.Join(codes, " ")})
	}
	return out, r.record(call, id, digest(data), effects)
}

// inherit gives an item the evidence of pending ones that propose the same.
func (r *reconciling) inherit() error {
	if r.o.Mode == Auto {
		return nil
	}
	for _, d := range r.all {
		for _, old := range r.superseded(d) {
			_, p, err := readPlan(&r.tx.Reader, r.state, r.state.Pending[old].Plan)
			if err != nil {
				return err
			}
			if was := p.find(old); was != nil {
				d.Evidence = joinEvidence(d.Evidence, was.Evidence)
			}
		}
	}
	return nil
}

// superseded are the pending items that a new one takes the place of.
func (r *reconciling) superseded(d *Decision) (out []string) {
	if d.Number == 0 {
		return nil
	}
	for _, old := range slices.Sorted(maps.Keys(r.state.Pending)) {
		if p := r.state.Pending[old]; p.Rule == d.RuleID && p.Scope == d.ScopeKey && old != d.ID && old != r.edited {
			out = append(out, old)
		}
	}
	return out
}

// settles are the effects of a run being done: its records, cursors and candidates.
func (r *reconciling) settles() []Effect {
	if r.edited != "" {
		return r.effects
	}
	ids := slices.Clone(r.batch.RecordIDs)
	for _, rec := range r.batch.Records {
		if rec.CopyKey != "" && slices.Contains(r.batch.RecordIDs, rec.ID) {
			ids = append(ids, rec.CopyKey)
		}
	}
	effects := []Effect{{Op: opPublished, ID: r.batch.Run}, {Op: opProcessed, IDs: ids}}
	for _, key := range slices.Sorted(maps.Keys(r.batch.Cursors)) {
		c := r.batch.Cursors[key]
		effects = append(effects, Effect{Op: opCursor, ID: key, Cursor: &c})
	}
	for _, key := range slices.Sorted(maps.Keys(r.state.Cursors)) { // one that was moved is read anew once, and its processed ids keep that harmless
		if _, err := os.Lstat(r.state.Cursors[key].Path); errors.Is(err, fs.ErrNotExist) {
			effects = append(effects, Effect{Op: opCursorGone, ID: key})
		}
	}
	effects = append(effects, r.effects...)
	return append(effects, Effect{Op: opLastRun, LastRun: &LastRun{r.batch.Run, r.k.now(), r.o.Model, r.o.Effort}})
}

// record writes log, report and state of a plan that is sound.
func (r *reconciling) record(call, id, sum string, settles []Effect) error {
	p := r.plan
	entries := []AuditEntry{}
	effects := []Effect{{Op: opPlan, ID: id, PlanState: &PlanState{SHA256: sum, Mode: p.Mode, Run: p.Run, Open: true, Credit: Credit{Scopes: map[string]int{}, IDs: []string{}, Applied: []string{}, Rejected: []string{}}}}}
	rep := Report{SchemaVersion: SchemaVersion, Call: call, Run: p.Run, At: p.CreatedAt, Mode: p.Mode, Plan: id, Checkpoint: p.Mode == Suggest, Results: []Result{}}
	for _, d := range r.all {
		e := AuditEntry{Call: call, Run: p.Run, At: p.CreatedAt, Plan: id, Decision: shortened(d), Event: "no-op"}
		if d.Number > 0 && p.Mode == Suggest {
			e.Event = "suggested"
			for _, old := range r.superseded(d) {
				e.Effects = append(e.Effects, Effect{Op: opClosed, ID: old, Plan: r.state.Pending[old].Plan, Text: string(Superseded)})
			}
			e.Effects = append(e.Effects, Effect{Op: opPending, ID: d.ID, Pending: &PendingState{id, d.Number, string(d.Action), d.RuleID, d.ScopeKey, p.CreatedAt, d.Supersedes, d.AlternativeTo}})
		}
		if d.Status == Settles && d.Action.Mutating() && len(r.lifts[d.ID]) > 0 { // the user put it back already
			e.Effects = append(e.Effects, Effect{Op: opLift, IDs: r.lifts[d.ID]})
			e.Approval = r.yes
		}
		if d.Number > 0 && p.Mode == Auto {
			continue
		}
		if p.Mode == Auto {
			e.Effects = nil
		}
		entries = append(entries, e)
	}
	for _, t := range p.Targets {
		res := Result{Path: t.Path, Scope: t.Scope, Status: "suggested", Decisions: t.Decisions, State: t.State, Diff: t.Diff, Old: t.Base, New: t.New, Notes: t.Notes, Commit: ReportCommit{Status: "none"}}
		for _, did := range t.Decisions {
			res.Numbers = append(res.Numbers, p.find(did).Number)
		}
		rep.Results = append(rep.Results, res)
	}
	if p.Mode == Suggest {
		effects = append(effects, settles...)
		if n := slices.IndexFunc(r.all, func(d *Decision) bool { return d.Number > 0 }); n < 0 {
			effects = append(effects, Effect{Op: opPlanClosed, ID: id, At: p.CreatedAt})
		}
	}
	entries = append(append(r.before, AuditEntry{Call: call, Run: p.Run, At: p.CreatedAt, Event: "run", Plan: id, Counts: r.batch.Counts, Effects: effects}), entries...)
	data, err := Document(rep)
	if err != nil {
		return err
	}
	if err := r.tx.Put(store.View, reportName(call), data, ""); err != nil {
		return err
	}
	return record(r.tx, r.state, r.old, entries...)
}

// shortened is a decision for the log, without its diff: the target of the entry has one.
func shortened(d *Decision) *Decision {
	c := *d
	c.Diff = ""
	return &c
}

// planned is a plan as a person sees it.
func planned(id string, p *Plan) Planned {
	out := Planned{SchemaVersion: SchemaVersion, Plan: id, Run: p.Run, Mode: p.Mode, Items: []Item{}, Settled: []NoOpItem{}, Errors: p.Errors, Warnings: p.Warnings}
	for _, d := range p.Decisions {
		if d.Number == 0 {
			if d.Action == NeedsEvidence {
				continue
			}
			text, why := d.Instruction, d.Note
			if text == "" {
				text = strings.Join(d.Olds(), " | ")
			}
			if why == "" {
				why = d.Explanation
			}
			out.Settled = append(out.Settled, NoOpItem{d.Action, text, why})
			continue
		}
		i := Item{Number: d.Number, Action: d.Action, Path: d.TargetPath, Scope: d.ScopeKey, Old: d.Olds(), New: d.Instruction, Diff: d.Diff, Near: d.Near, Status: d.Status}
		for _, q := range d.Quotes {
			i.Quotes = append(i.Quotes, q.Quote)
		}
		if other := p.find(d.AlternativeTo); other != nil {
			i.Other = other.Number
		}
		out.Items = append(out.Items, i)
	}
	slices.SortStableFunc(out.Items, func(a, b Item) int { return a.Number - b.Number })
	return out
}
