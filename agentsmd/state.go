package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"assent/store"
)

// State is what is needed to go on: the fold of the effects of the log, and nothing else. It
// can be made again from the log at any time.
type State struct {
	SchemaVersion int                     `json:"schema_version"`
	AuditHead     AuditHead               `json:"audit_head"`
	Processed     []string                `json:"processed_record_ids"` // sorted; with the keys of turns that have copies
	Runs          map[string]RunState     `json:"runs"`
	Plans         map[string]PlanState    `json:"plans"`
	Pending       map[string]PendingState `json:"pending_decisions"`
	Rejected      map[string]Entry        `json:"rejected_candidates"`
	Tombstones    map[string]Entry        `json:"tombstones"`
	RuleEvidence  map[string]RuleEvidence `json:"rule_evidence"`
	Constraint    int                     `json:"constraint_revision"`
	Scopes        map[string]int          `json:"scope_revisions"`
	Candidates    map[string]Candidate    `json:"global_candidates"`
	Settled       map[string]Settled      `json:"settled_candidates"`
	Projects      map[string]ProjectID    `json:"projects"`
	Blocks        map[string]Published    `json:"blocks"`
	Cursors       map[string]Cursor       `json:"cursors"`
	Preferences   Preferences             `json:"preferences"`
	LastRun       LastRun                 `json:"last_run"`
}

// AuditHead is the entry of the log that the state has come to.
type AuditHead struct {
	Seq uint64 `json:"seq"`
}

// RunState is what became of a run.
type RunState struct {
	Batch     string `json:"batch_sha256"`
	Published bool   `json:"published"`
	At        string `json:"at"`
	ClosedAt  string `json:"closed_at,omitzero"` // when the last item of it was answered
	Swept     bool   `json:"swept,omitzero"`     // batch and chunks are deleted
}

// PlanState is a plan that was registered.
type PlanState struct {
	SHA256 string `json:"sha256"` // of its file
	Mode   string `json:"mode"`
	Run    string `json:"run_id"`
	Open   bool   `json:"open"`
	Credit Credit `json:"credit"`
}

// Credit is what a plan itself has changed of what its guards look at.
type Credit struct {
	Constraint int            `json:"constraint"`
	Scopes     map[string]int `json:"scopes"`
	IDs        []string       `json:"ids"`      // of entries that it made or lifted
	Applied    []string       `json:"applied"`  // decisions that it wrote
	Rejected   []string       `json:"rejected"` // decisions of it that were closed otherwise
}

// PendingState is a suggested change that nobody has answered yet.
type PendingState struct {
	Plan      string `json:"plan_id"`
	Number    int    `json:"selection_number"`
	Action    string `json:"action"`
	Rule      string `json:"rule_id"`
	Scope     string `json:"scope_key"`
	CreatedAt string `json:"created_at"`
	Edits     string `json:"supersedes_decision_id,omitzero"` // item that it edits
	Other     string `json:"alternative_to,omitzero"`         // global item that says it too
}

// Evidence is where in a record a rule was said; without a span it is the whole record.
type Evidence struct {
	Record string `json:"record_id"`
	Span   *Span  `json:"span"`
}

// Span is a stretch of a record's user_input, in bytes, half open.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Entry is a tombstone or a rejection.
type Entry struct {
	Kind     string     `json:"kind"` // rule or removal; "text" for the old text of a rule that was replaced
	Scope    string     `json:"scope_key"`
	Text     string     `json:"text"`
	Norm     int        `json:"norm_version"`
	Evidence []Evidence `json:"evidence"`
	Decision string     `json:"decision_id"`
	Reason   string     `json:"reason"`
	At       string     `json:"at"`
}

// RuleEvidence is why a rule stands there.
type RuleEvidence struct {
	Path      string     `json:"target_path"`
	Scope     string     `json:"scope_key"`
	Text      string     `json:"text"`
	Decision  string     `json:"decision_id"`
	Plan      string     `json:"plan_id"`
	Hand      bool       `json:"hand"` // adopted: somebody wrote it there
	Evidence  []Evidence `json:"evidence"`
	Replaced  []string   `json:"replaced"`
	UpdatedAt string     `json:"updated_at"`
}

// Candidate is a rule that may hold for all projects.
type Candidate struct {
	Instruction string            `json:"instruction"`
	Scope       string            `json:"semantic_scope"`
	Reason      string            `json:"reason"`
	Explicit    bool              `json:"explicit_global_intent"`
	Sources     []CandidateSource `json:"sources"`
}

// CandidateSource is a decision that proposed it.
type CandidateSource struct {
	Decision   string         `json:"decision_id"`
	Run        string         `json:"run_id"`
	Root       *string        `json:"project_root"`
	ProjectKey *string        `json:"project_key"`
	Refs       []string       `json:"evidence_refs"`
	Evidence   []Evidence     `json:"spans"`
	Quotes     []QuotePayload `json:"quotes"`
	Action     string         `json:"local_action"`
	Current    bool           `json:"current"` // of the run that is reviewed
}

// Settled is a candidate that was rejected, or that a global rule covers.
type Settled struct {
	Outcome  string   `json:"outcome"`
	Projects []string `json:"projects"` // keys that it had then
	At       string   `json:"at"`
}

// Preferences are what the user allowed once.
type Preferences struct {
	Commit string     `json:"commit"` // yes, no, or unset
	Auto   []AutoFile `json:"auto"`
}

// AutoFile is a file that may be changed without a question, until a day.
type AutoFile struct {
	Path  string `json:"path"`
	Until string `json:"until"`
}

// LastRun is what is known of the last run that was published.
type LastRun struct {
	Run    string `json:"run_id"`
	At     string `json:"at"`
	Model  string `json:"model"`
	Effort string `json:"reasoning_effort"`
}

// Effect is one change of the state, as the log holds it. Which members count depends on Op.
type Effect struct {
	Op        string        `json:"op"`
	ID        string        `json:"id,omitzero"`
	IDs       []string      `json:"ids,omitzero"`
	At        string        `json:"at,omitzero"`
	Plan      string        `json:"plan_id,omitzero"`
	Scope     string        `json:"scope,omitzero"`
	Text      string        `json:"text,omitzero"`
	Run       *RunState     `json:"run,omitzero"`
	PlanState *PlanState    `json:"plan,omitzero"`
	Pending   *PendingState `json:"pending,omitzero"`
	Entry     *Entry        `json:"entry,omitzero"`
	Rule      *RuleEvidence `json:"rule,omitzero"`
	Candidate *Candidate    `json:"candidate,omitzero"`
	Settled   *Settled      `json:"settled,omitzero"`
	Project   *ProjectID    `json:"project,omitzero"`
	Block     *Published    `json:"block,omitzero"`
	Cursor    *Cursor       `json:"cursor,omitzero"`
	Auto      *AutoFile     `json:"auto,omitzero"`
	LastRun   *LastRun      `json:"last_run,omitzero"`
}

// Operations of effects.
const (
	opRun        = "run"       // ID, Run: a run was collected
	opPublished  = "published" // ID: its records are settled
	opProcessed  = "processed" // IDs
	opProject    = "project"   // ID, Project: seen there
	opRekey      = "rekey"     // ID, Text: a project has another key
	opPlan       = "plan"      // ID, PlanState
	opPlanClosed = "plan-closed"
	opPending    = "pending" // ID, Pending
	opClosed     = "closed"  // ID, Plan, Text: a decision is closed as Text
	opReject     = "reject"  // ID, Entry
	opTombstone  = "tombstone"
	opLift       = "lift" // IDs: tombstones and rejections that hold no more
	opRule       = "rule" // ID, Rule
	opRuleGone   = "rule-gone"
	opRevision   = "revision" // Scope, Plan: something of it changed
	opCandidate  = "candidate"
	opSettled    = "settled"
	opBlock      = "block"  // ID is the path
	opCursor     = "cursor" // ID is the file's key
	opCommit     = "commit" // Text: yes or no
	opAuto       = "auto"
	opAutoOff    = "auto-off"
	opLastRun    = "last-run"
	opCursorGone = "cursor-gone" // ID: its file is not there any more
	opSwept      = "swept"       // ID: batch and chunks of a run are deleted
)

// NewState is the state before anything was learned.
func NewState() *State {
	return &State{
		SchemaVersion: SchemaVersion, Processed: []string{}, Runs: map[string]RunState{}, Plans: map[string]PlanState{}, Pending: map[string]PendingState{},
		Rejected: map[string]Entry{}, Tombstones: map[string]Entry{}, RuleEvidence: map[string]RuleEvidence{}, Scopes: map[string]int{},
		Candidates: map[string]Candidate{}, Settled: map[string]Settled{}, Projects: map[string]ProjectID{}, Blocks: map[string]Published{},
		Cursors: map[string]Cursor{}, Preferences: Preferences{Commit: "unset", Auto: []AutoFile{}},
	}
}

// Apply folds one effect into the state. Every effect touches its own part alone, so that an
// older plan that is confirmed late takes nothing from newer runs.
func (s *State) Apply(e Effect) error {
	switch e.Op {
	case opRun:
		s.Runs[e.ID] = *e.Run
	case opPublished:
		r := s.Runs[e.ID]
		r.Published = true
		s.Runs[e.ID] = r
	case opProcessed:
		s.Processed = slices.Compact(slices.Sorted(slices.Values(append(s.Processed, e.IDs...))))
	case opProject:
		p := s.Projects[e.ID]
		p.Roots = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.Roots), e.Project.Roots...))))
		if len(e.Project.RootCommits) > 0 || p.RootCommits == nil {
			p.RootCommits = slices.Clone(e.Project.RootCommits)
		}
		for key, other := range s.Projects { // a root is of one project at a time
			if key != e.ID {
				other.Roots = slices.DeleteFunc(slices.Clone(other.Roots), func(r string) bool { return slices.Contains(e.Project.Roots, r) })
				s.Projects[key] = other
			}
		}
		s.Projects[e.ID] = p
	case opRekey:
		s.rekey(e.ID, e.Text)
	case opPlan:
		s.Plans[e.ID] = *e.PlanState
	case opPlanClosed:
		p := s.Plans[e.ID]
		p.Open = false
		s.Plans[e.ID] = p
		if r, ok := s.Runs[p.Run]; ok && e.At != "" {
			r.ClosedAt = e.At
			s.Runs[p.Run] = r
		}
	case opPending:
		s.Pending[e.ID] = *e.Pending
	case opClosed:
		delete(s.Pending, e.ID)
		if p, ok := s.Plans[e.Plan]; ok {
			if e.Text == string(Applied) || e.Text == string(Satisfied) {
				p.Credit.Applied = append(slices.Clone(p.Credit.Applied), e.ID)
			} else {
				p.Credit.Rejected = append(slices.Clone(p.Credit.Rejected), e.ID+" "+e.Text)
			}
			s.Plans[e.Plan] = p
		}
	case opReject:
		s.Rejected[e.ID] = *e.Entry
		s.credit(e.Plan, e.ID)
	case opTombstone:
		s.Tombstones[e.ID] = *e.Entry
		s.credit(e.Plan, e.ID)
	case opLift:
		for _, id := range e.IDs {
			delete(s.Tombstones, id)
			delete(s.Rejected, id)
			s.credit(e.Plan, id)
		}
	case opRule:
		s.RuleEvidence[e.ID] = *e.Rule
	case opRuleGone:
		delete(s.RuleEvidence, e.ID)
	case opRevision:
		s.Constraint++
		s.Scopes[e.Scope]++
		if p, ok := s.Plans[e.Plan]; ok {
			p.Credit.Constraint++
			p.Credit.Scopes = maps.Clone(p.Credit.Scopes)
			if p.Credit.Scopes == nil {
				p.Credit.Scopes = map[string]int{}
			}
			p.Credit.Scopes[e.Scope]++
			s.Plans[e.Plan] = p
		}
	case opCandidate: // joined with what newer runs know, and not brought back once it is settled
		if _, done := s.Settled[e.ID]; done && !newProject(s.Settled[e.ID], *e.Candidate) {
			break
		}
		c := *e.Candidate
		if now, ok := s.Candidates[e.ID]; ok {
			c.Explicit = c.Explicit || now.Explicit
			c.Sources = joinSources(now.Sources, c.Sources)
		}
		s.Candidates[e.ID] = c
	case opSettled:
		s.Settled[e.ID] = *e.Settled
		delete(s.Candidates, e.ID)
	case opBlock:
		b := *e.Block
		if old, ok := s.Blocks[e.ID]; ok && old.Body != b.Body {
			b.Earlier = append(slices.Clone(old.Earlier), old.Body)
			b.Earlier = b.Earlier[max(0, len(b.Earlier)-maxEarlier):]
		} else if ok {
			b.Earlier = old.Earlier
		}
		s.Blocks[e.ID] = b
	case opCursor:
		old, ok := s.Cursors[e.ID]
		if another := old.HeadSize == e.Cursor.HeadSize && old.Head != e.Cursor.Head; !ok || another || old.Offset < e.Cursor.Offset {
			s.Cursors[e.ID] = *e.Cursor
		}
	case opCursorGone:
		delete(s.Cursors, e.ID)
	case opSwept:
		r := s.Runs[e.ID]
		r.Swept = true
		s.Runs[e.ID] = r
	case opCommit:
		s.Preferences.Commit = e.Text
	case opAuto:
		s.Preferences.Auto = append(slices.DeleteFunc(slices.Clone(s.Preferences.Auto), func(a AutoFile) bool { return a.Path == e.Auto.Path }), *e.Auto)
	case opAutoOff:
		s.Preferences.Auto = []AutoFile{}
	case opLastRun:
		s.LastRun = *e.LastRun
	default:
		return fmt.Errorf("there is no effect %q", e.Op)
	}
	return nil
}

func (s *State) credit(plan, id string) {
	if p, ok := s.Plans[plan]; ok {
		p.Credit.IDs = append(slices.Clone(p.Credit.IDs), id)
		s.Plans[plan] = p
	}
}

// rekey gives a project its new key wherever the old one stands. Ids of rules are made again
// from their texts.
func (s *State) rekey(from, to string) {
	old, fresh := ProjectScope(from), ProjectScope(to)
	if p, ok := s.Projects[from]; ok {
		now := s.Projects[to]
		now.Roots = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(now.Roots), p.Roots...))))
		s.Projects[to] = now
		delete(s.Projects, from)
	}
	for _, entries := range []map[string]Entry{s.Tombstones, s.Rejected} {
		for id, e := range maps.Clone(entries) {
			if e.Scope == old {
				delete(entries, id)
				e.Scope = fresh
				kind := KindRule
				if e.Kind == KindRemoval {
					kind = KindRemoval
				}
				entries[RuleID(kind, fresh, e.Text)] = e
			}
		}
	}
	for id, r := range maps.Clone(s.RuleEvidence) {
		if r.Scope == old {
			delete(s.RuleEvidence, id)
			r.Scope = fresh
			s.RuleEvidence[RuleID(KindRule, fresh, r.Text)] = r
		}
	}
	s.Scopes[fresh] += s.Scopes[old]
	delete(s.Scopes, old)
	for id, p := range s.Pending {
		if p.Scope == old {
			p.Scope = fresh
			s.Pending[id] = p
		}
	}
	for id, c := range s.Candidates {
		c.Sources = slices.Clone(c.Sources)
		for i, src := range c.Sources {
			if src.ProjectKey != nil && *src.ProjectKey == from {
				c.Sources[i].ProjectKey = &to
			}
		}
		s.Candidates[id] = c
	}
	for id, c := range s.Settled {
		c.Projects = slices.Clone(c.Projects)
		for i, key := range c.Projects {
			if key == from {
				c.Projects[i] = to
			}
		}
		s.Settled[id] = c
	}
}

// AuditLog is the log of what was learned, beside the log of calls.
const AuditLog = "log/audit"

var stateName = store.Name{Root: store.Private, Path: "state.json"}

// AuditEntry is one line of the log. Effects are what it does to the state.
type AuditEntry struct {
	Call     string         `json:"call_id"`
	Run      string         `json:"run_id,omitzero"`
	At       string         `json:"at"`
	Event    string         `json:"event"`
	Plan     string         `json:"plan_id,omitzero"`
	Decision *Decision      `json:"decision,omitzero"`
	Target   *AuditTarget   `json:"target,omitzero"`
	Commit   string         `json:"commit,omitzero"`
	Approval *Yes           `json:"approval,omitzero"`
	Error    string         `json:"error,omitzero"`
	Counts   map[string]int `json:"counts,omitzero"`
	Effects  []Effect       `json:"effects"`
}

// AuditTarget is what a change did to a file.
type AuditTarget struct {
	Path string `json:"path"`
	Old  string `json:"old_sha256"`
	New  string `json:"new_sha256"`
	Diff string `json:"diff"`
}

// loadState reads the state of a generation.
func loadState(r *store.Reader) (*State, store.File, error) {
	f, err := r.Read(stateName)
	if err != nil {
		return nil, f, fault("state-corrupt", "", "the state cannot be read: %v", err)
	}
	s := NewState()
	if f.Digest == "" {
		if n := r.LogLines(AuditLog); n > 0 {
			return nil, f, fault("state-corrupt", "", "the state is gone, and the log has %d entries", n)
		}
		return s, f, nil
	}
	s = &State{}
	if err := readDocument("state.json", f.Data, s); err != nil {
		var version *Fault
		if errors.As(err, &version) {
			return nil, f, err
		}
		return nil, f, fault("state-corrupt", "", "%v", err)
	}
	if n := r.LogLines(AuditLog); n != s.AuditHead.Seq {
		return nil, f, fault("state-corrupt", "", "the state has come to entry %d of %d of the log", s.AuditHead.Seq, n)
	}
	return s, f, nil
}

// record appends entries to the log and writes the state that follows from them, in one
// transaction.
func record(tx *store.Tx, s *State, old store.Digest, entries ...AuditEntry) error {
	for _, e := range entries {
		for _, part := range splitEntry(e) {
			ref, err := tx.Append(AuditLog, part)
			if err != nil {
				return err
			}
			for _, effect := range part.Effects {
				if err := s.Apply(effect); err != nil {
					return err
				}
			}
			s.AuditHead.Seq = ref.Seq
		}
	}
	data, err := Document(s)
	if err != nil {
		return err
	}
	return tx.Put(store.State, stateName, data, old)
}

// maxEntry is how many bytes of an entry go into one line of the log: a line holds 64 KiB.
const maxEntry = 48 << 10

// splitEntry cuts an entry whose effects are too many for one line. What does not fit at all is
// shortened: a diff, first of all.
func splitEntry(e AuditEntry) []AuditEntry {
	size := func(v any) int {
		data, err := json.Marshal(v)
		if err != nil {
			return 0
		}
		return len(data)
	}
	if e.Target != nil && len(e.Target.Diff) > maxEntry/4 {
		t := *e.Target
		t.Diff = t.Diff[:border(t.Diff, maxEntry/4)] + "\n[…]\n"
		e.Target = &t
	}
	if e.Approval != nil && e.Approval.Text != "" { // the report of the call has it whole
		y := *e.Approval
		y.SHA256, y.Text = digest([]byte(y.Text)), ""
		e.Approval = &y
	}
	if e.Effects == nil {
		e.Effects = []Effect{}
	}
	if size(e) <= maxEntry {
		return []AuditEntry{e}
	}
	effects := splitEffects(e.Effects, size)
	first := e
	first.Effects = []Effect{}
	if d := first.Decision; d != nil && size(first) > maxEntry { // the plan has it whole
		first.Decision = &Decision{
			ID: d.ID, LabelOwn: d.LabelOwn, Supersedes: d.Supersedes, ScopeKey: d.ScopeKey, TargetPath: d.TargetPath, RuleID: d.RuleID, Chunk: d.Chunk, Run: d.Run, Number: d.Number, Status: d.Status,
			DecisionPayload: DecisionPayload{Action: d.Action, Target: d.Target, Root: d.Root, Instruction: d.Instruction, Global: GlobalDisposition{Status: d.Global.Status}},
			Evidence:        []Evidence{}, Projects: []string{}, Candidates: []string{}, Note: "shortened; the plan has it whole",
		}
		if d.Old != "" {
			first.Decision.Old = d.Old
		}
	}
	out := []AuditEntry{first}
	room := maxEntry - size(first)
	more := AuditEntry{Call: e.Call, Run: e.Run, At: e.At, Event: e.Event, Plan: e.Plan}
	for _, effect := range effects {
		n := size(effect) + 1
		if n > room && len(out[len(out)-1].Effects) > 0 || n > room && len(out) == 1 {
			more.Effects = []Effect{}
			out = append(out, more)
			room = maxEntry - 1024
		}
		last := &out[len(out)-1]
		last.Effects = append(last.Effects, effect)
		room -= n
	}
	return out
}

// splitEffects cuts effects over long lists of ids into several.
func splitEffects(effects []Effect, size func(any) int) (out []Effect) {
	for _, e := range effects {
		for len(e.IDs) > 500 {
			part := e
			part.IDs = e.IDs[:500]
			out = append(out, part)
			e.IDs = e.IDs[500:]
		}
		out = append(out, e)
	}
	return out
}

// foldLog makes the state again from the log.
func foldLog(ctx context.Context, s *store.Store) (*State, error) {
	state := NewState()
	err := s.ReadLog(ctx, AuditLog, func(line []byte) error {
		var e struct {
			Seq     uint64   `json:"seq"`
			Effects []Effect `json:"effects"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		for _, effect := range e.Effects {
			if err := state.Apply(effect); err != nil {
				return err
			}
		}
		state.AuditHead.Seq = e.Seq
		return nil
	})
	return state, err
}

// append notes an entry in the log, and what follows from it in the state.
func (k *Keeper) append(ctx context.Context, e AuditEntry) error {
	call, err := k.stamp()
	if err != nil {
		return err
	}
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil || f.Digest == "" { // nothing was ever written here
			return err
		}
		e.Call, e.At = call, k.now()
		return record(tx, s, f.Digest, e)
	})
	return err
}

// NoteRefusal notes in the log that a call was refused, and by which code. It has no effects; a log
// that cannot be written takes nothing from the refusal.
func (k *Keeper) NoteRefusal(ctx context.Context, code string) {
	_ = k.append(ctx, AuditEntry{Event: "refused", Error: code})
}
