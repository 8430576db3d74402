package agentsmd

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/store"
)

// Planned is the result of reconcile: what a person may confirm, by number.
type Planned struct {
	SchemaVersion int         `json:"schema_version"`
	Plan          string      `json:"plan_id"` // "" if it has errors and was not registered
	Run           string      `json:"run_id"`
	Mode          string      `json:"mode"`
	Items         []Item      `json:"items"`
	Settled       []NoOpItem  `json:"no_ops"`
	Errors        []ItemIssue `json:"errors"`
	Warnings      []ItemIssue `json:"warnings"`
	Notes         []string    `json:"notes"`              // about the files
	File          string      `json:"plan_file,omitzero"` // of one that was not registered: for reading
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

// ItemIssue is a PlanIssue as a person sees it.
type ItemIssue struct {
	Code    string `json:"code"`
	Number  int    `json:"selection_number,omitzero"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	exit    int
}

// publish writes the plan, and what follows from it.
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
		out.Plan, out.File = "", filepath.Join(r.k.Dir, filepath.FromSlash(planName(id).Path))
		for i := range out.Items {
			out.Items[i].Status = Proposed
		}
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
			if isFault(err, "plan-changed") {
				continue // what it rested on is lost; the new one rests on itself
			}
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
		if d.Status == Settles && r.yes != nil && !d.dead { // the user's own act, and the file is as he wants it already
			e.Event, e.Approval = r.event, r.yes
			e.Effects = decided(r.state, d, id, r.lifts[d.ID], d.Action == Add, d.stands, p.CreatedAt)
		}
		if d.Status == Settles && r.yes == nil && !d.dead && len(r.lifts[d.ID]) > 0 { // his hand put it back
			e.Effects = []Effect{{Op: opLift, IDs: r.lifts[d.ID], Plan: id}}
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
	issues := func(list []PlanIssue) []ItemIssue {
		out := []ItemIssue{}
		for _, i := range list {
			n := 0
			if d := p.find(i.Decision); d != nil {
				n = d.Number
			}
			out = append(out, ItemIssue{i.Code, n, i.Message, i.Hint, i.exit})
		}
		return out
	}
	out := Planned{SchemaVersion: SchemaVersion, Plan: id, Run: p.Run, Mode: p.Mode, Items: []Item{}, Settled: []NoOpItem{}, Errors: issues(p.Errors), Warnings: issues(p.Warnings), Notes: []string{}}
	for _, t := range p.Targets {
		for _, n := range t.Notes {
			out.Notes = append(out.Notes, label(t.Path)+": "+n)
		}
	}
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
