package agentsmd

import (
	"context"

	"github.com/go-json-experiment/json"

	"assent/store"
)

// AuditLog is the log of what was learned, beside the log of calls.
const AuditLog = "log/audit"

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

// note puts an entry in the log, and what follows from it in the state.
func (k *Keeper) note(ctx context.Context, e AuditEntry) error {
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
	_ = k.note(ctx, AuditEntry{Event: "refused", Error: code})
}
