package agentsmd

import (
	"context"
	"maps"
	"slices"

	"assent/boundary"
	"assent/store"
)

// closing writes log, report and state of a call, and settles what was noted.
func (k *Keeper) closing(ctx context.Context, id string, plan *Plan, notes []string, outcomes []outcome, call string) (rep Report, err error) {
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		rep = Report{SchemaVersion: SchemaVersion, Call: call, Run: plan.Run, At: k.now(), Mode: plan.Mode, Plan: id, Results: []Result{}, Notes: append([]string{}, notes...)}
		var entries []AuditEntry
		failed := false
		for i := range outcomes {
			o := &outcomes[i]
			rep.Approval = &o.journal.Yes
			rep.Results = append(rep.Results, result(o, plan))
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

func result(o *outcome, plan *Plan) Result {
	j := &o.journal
	r := Result{Path: j.Path, Scope: j.Scope, Status: "applied", State: j.State, Old: j.Before, New: j.After, Notes: slices.Clone(j.Notes), Commit: ReportCommit{Status: "none"}}
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
		r.Status, r.Error = "failed", &ReportError{code, o.err.Error(), hintOf(o.err), o.rollback, exit}
		r.New = r.Old
		return r
	case j.After == j.Before:
		r.Status = "no-op"
	default:
		r.Diff = unified(label(j.Path), o.before, o.after)
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
		target.Diff = unified(label(j.Path), o.before, o.after)
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

// publishes is what is known of a block after a change: what stands there; where another hand was
// in it, what was known before, and the change, so that its edits do not become ours.
func publishes(known *Published, o *outcome, plan *Plan) (p Published, ok bool) {
	j := &o.journal
	after, err := ParseBlock(j.Path, o.after)
	if err != nil || !after.Present {
		return p, false
	}
	rules := after.Keys()
	if known != nil && j.State == Drifted {
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
	have := after.Keys()
	same := slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(rules)))
	if same && (len(after.Foreign) == 0 || j.State == Current) { // with foreign lines only where they were adopted
		p.Body, p.Rules = digest(after.Body()), have
	}
	p.Rules = slices.Clone(p.Rules)
	for _, r := range after.Rules {
		if boundary.Secret(r.Text) != "" { // it is not for us to keep
			p.Rules = slices.DeleteFunc(p.Rules, func(k string) bool { return k == r.Key() })
		}
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
