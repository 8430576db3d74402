package agentsmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"assent/store"
)

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
	opPublished  = "published" // ID: its records are settled; At: nothing more comes of it
	opProcessed  = "processed" // IDs
	opProject    = "project"   // ID, Project: seen there
	opRekey      = "rekey"     // ID, Text: a project has another key
	opPlan       = "plan"      // ID, PlanState
	opPlanClosed = "plan-closed"
	opPlanLost   = "plan-lost" // ID: its file is damaged, and that was answered
	opPending    = "pending"   // ID, Pending
	opClosed     = "closed"    // ID, Plan, Text: a decision is closed as Text
	opReject     = "reject"    // ID, Entry
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
	opManifest   = "manifest"    // ID, Text: digest of a run's manifest
	opSwept      = "swept"       // ID: batch and chunks of a run are deleted
	opSnapshot   = "snapshot"    // ID, Text: the log begins with the state of a file of that digest
)

// Apply folds one effect into the state. Every effect touches its own part alone, so that an
// older plan that is confirmed late takes nothing from newer runs.
func (s *State) Apply(e Effect) error {
	switch e.Op {
	case opRun:
		s.Runs[e.ID] = *e.Run
	case opPublished:
		r := s.Runs[e.ID]
		r.Published = true
		r.ClosedAt = cmp.Or(e.At, r.ClosedAt)
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
	case opPlanLost:
		p := s.Plans[e.ID]
		p.Lost = true
		s.Plans[e.ID] = p
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
		if !ok || old.Offset < e.Cursor.Offset || old.Offset == e.Cursor.Instead {
			now := *e.Cursor
			now.Instead = 0
			s.Cursors[e.ID] = now
		}
	case opCursorGone:
		delete(s.Cursors, e.ID)
	case opManifest:
		r := s.Runs[e.ID]
		r.Manifest = e.Text
		s.Runs[e.ID] = r
	case opSwept:
		r := s.Runs[e.ID]
		r.Swept = true
		s.Runs[e.ID] = r
	case opSnapshot: // it is what the state is already
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
	ids := map[string]string{} // of rules -> their new ones
	for _, entries := range []map[string]Entry{s.Tombstones, s.Rejected} {
		for id, e := range maps.Clone(entries) {
			if e.Scope == old {
				delete(entries, id)
				e.Scope = fresh
				kind := KindRule
				if e.Kind == KindRemoval {
					kind = KindRemoval
				}
				ids[id] = RuleID(kind, fresh, e.Text)
				entries[ids[id]] = e
			}
		}
	}
	for id, r := range maps.Clone(s.RuleEvidence) {
		if r.Scope == old {
			delete(s.RuleEvidence, id)
			r.Scope, ids[id] = fresh, RuleID(KindRule, fresh, r.Text)
			s.RuleEvidence[ids[id]] = r
		}
	}
	renamed := func(of []string) []string {
		out := slices.Clone(of)
		for i, id := range out {
			out[i] = cmp.Or(ids[id], id)
		}
		return out
	}
	for id, r := range s.RuleEvidence {
		r.Replaced = renamed(r.Replaced)
		s.RuleEvidence[id] = r
	}
	move := func(scopes map[string]int) {
		if n, ok := scopes[old]; ok {
			scopes[fresh] += n
			delete(scopes, old)
		}
	}
	move(s.Scopes)
	for id, p := range s.Plans {
		p.Credit.IDs, p.Credit.Scopes = renamed(p.Credit.IDs), maps.Clone(p.Credit.Scopes)
		move(p.Credit.Scopes)
		s.Plans[id] = p
	}
	for id, p := range s.Pending {
		if p.Scope == old {
			p.Scope = fresh
			s.Pending[id] = p
		}
	}
	for path, b := range s.Blocks {
		if b.Scope == old {
			b.Scope = fresh
			s.Blocks[path] = b
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

func snapshotName(id string) store.Name {
	return store.Name{Root: store.Private, Path: "snapshots/" + id + ".json"}
}

// snapshot reads the state that a log begins with.
func snapshot(ctx context.Context, s *store.Store, e Effect) (*State, error) {
	var f store.File
	if err := s.View(ctx, func(r *store.Reader) (err error) { f, err = r.Read(snapshotName(e.ID)); return err }); err != nil {
		return nil, err
	}
	if string(f.Digest) != e.Text {
		return nil, fault("audit-broken", "", "the state that the log begins with is not what was written")
	}
	state := &State{}
	return state, readDocument("the state that the log begins with", f.Data, state)
}

// foldLog makes the state again from the log.
func foldLog(ctx context.Context, s *store.Store) (*State, error) {
	state := NewState()
	var err error
	err = s.ReadLog(ctx, AuditLog, func(line []byte) error {
		var e struct {
			Seq     uint64   `json:"seq"`
			Effects []Effect `json:"effects"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		for _, effect := range e.Effects {
			if effect.Op == opSnapshot {
				if state, err = snapshot(ctx, s, effect); err != nil {
					return err
				}
			}
			if err := state.Apply(effect); err != nil {
				return err
			}
		}
		state.AuditHead.Seq = e.Seq
		return nil
	})
	return state, err
}
