package agentsmd

import (
	"errors"

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
	Manifest  string `json:"manifest_sha256,omitzero"` // "" before it is cut into chunks
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
	Lost   bool   `json:"lost,omitzero"` // its file is damaged, and that was answered
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

// NewState is the state before anything was learned.
func NewState() *State {
	return &State{
		SchemaVersion: SchemaVersion, Processed: []string{}, Runs: map[string]RunState{}, Plans: map[string]PlanState{}, Pending: map[string]PendingState{},
		Rejected: map[string]Entry{}, Tombstones: map[string]Entry{}, RuleEvidence: map[string]RuleEvidence{}, Scopes: map[string]int{},
		Candidates: map[string]Candidate{}, Settled: map[string]Settled{}, Projects: map[string]ProjectID{}, Blocks: map[string]Published{},
		Cursors: map[string]Cursor{}, Preferences: Preferences{Commit: "unset", Auto: []AutoFile{}},
	}
}

var stateName = store.Name{Root: store.Private, Path: "state.json"}

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
	switch n := r.LogLines(AuditLog); {
	case n < s.AuditHead.Seq:
		return nil, f, fault("audit-broken", "", "the log has %d entries, and the state has come to entry %d", n, s.AuditHead.Seq)
	case n > s.AuditHead.Seq:
		return nil, f, fault("state-corrupt", "", "the state has come to entry %d of %d of the log", s.AuditHead.Seq, n)
	}
	return s, f, nil
}
