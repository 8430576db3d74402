package agentsmd

import (
	"fmt"
	"slices"
	"strings"

	"assent/boundary"
)

// Decision is what a reviewer decided, with what the program knows of it.
type Decision struct {
	ID       string `json:"decision_id"`
	LabelOwn string `json:"label,omitzero"`
	DecisionPayload
	Supersedes      string     `json:"supersedes_decision_id,omitzero"`
	ScopeKey        string     `json:"scope_key"`
	TargetPath      string     `json:"target_path"`
	RuleID          string     `json:"rule_id,omitzero"`
	Evidence        []Evidence `json:"spans"`
	EvidenceRoot    string     `json:"evidence_root,omitzero"` // of its first reference that has one
	EvidenceProject string     `json:"evidence_project,omitzero"`
	Projects        []string   `json:"evidence_projects"` // keys, sorted
	Chunk           int        `json:"chunk"`             // 0 for one of the global pass
	Run             string     `json:"run_id"`
	Candidates      []string   `json:"global_candidate_ids"`
	SourceRoots     []string   `json:"source_roots,omitzero"` // of the candidates
	AlternativeTo   string     `json:"alternative_to,omitzero"`
	Near            string     `json:"near_duplicate_of,omitzero"`
	Number          int        `json:"selection_number"` // 0 for what is not reviewed
	Status          Status     `json:"status"`
	Note            string     `json:"note,omitzero"` // why the program made it a no-op
	Diff            string     `json:"diff"`

	dead   bool // a no-op because it was withdrawn or rejected
	stands bool // a no-op because it stands in the block
}

// Olds are the rules that go.
func (d *Decision) Olds() []string {
	if d.Old != "" {
		return []string{d.Old}
	}
	return d.OldList
}

// edit is what the decision does to a block.
func (d *Decision) edit() Edit { return Edit{string(d.Action), d.Olds(), d.Instruction} }

// ruleID is the id of what the decision makes, or, of a removal, of what it takes away.
func (d *Decision) ruleID() string {
	if d.Action == Remove {
		return RuleID(KindRemoval, d.ScopeKey, d.Old)
	}
	return RuleID(KindRule, d.ScopeKey, d.Instruction)
}

// settle makes it a no-op.
func (d *Decision) settle(note string, args ...any) {
	d.Status, d.Note, d.Diff = Settles, fmt.Sprintf(note, args...), ""
}

// dies makes it a no-op because what it proposes was withdrawn or rejected.
func (d *Decision) dies(note string, args ...any) {
	d.settle(note, args...)
	d.dead = true
}

// live reports whether it is still to change something.
func (d *Decision) live() bool { return d.Action.Mutating() && d.Status != Settles }

// decide makes a decision of what was submitted for a chunk and judged.
func decide(p DecisionPayload, quotes []boundary.Grounded, x *references, run string, chunk, position int, root, scope, path string) *Decision {
	d := &Decision{LabelOwn: p.Label, DecisionPayload: p, ScopeKey: scope, TargetPath: path, Chunk: chunk, Run: run, Candidates: []string{}, Status: Proposed}
	d.Label = ""
	if p.Target == TargetProject {
		d.Root = root
	}
	d.Evidence = evidenceOf(p, quotes, x)
	for _, ref := range p.Refs {
		r := x.record(ref)
		if r == nil || r.ProjectRoot == nil {
			continue
		}
		if d.EvidenceRoot == "" {
			d.EvidenceRoot, d.EvidenceProject = *r.ProjectRoot, *r.ProjectKey
		}
		d.Projects = append(d.Projects, *r.ProjectKey)
	}
	slices.Sort(d.Projects)
	d.Projects = slices.Compact(d.Projects)
	texts := append([]string{p.Instruction}, d.Olds()...)
	d.ID = id("D", append([]string{run, fmt.Sprint(chunk), fmt.Sprint(position), string(p.Action), string(p.Target), scope}, texts...)...)
	if p.Action.Mutating() {
		d.RuleID = d.ruleID()
	}
	return d
}

// evidenceOf lists where the words stand that a decision rests on: the quotes, and whole records
// that it names without quoting them.
func evidenceOf(p DecisionPayload, quotes []boundary.Grounded, x *references) (out []Evidence) {
	quoted := map[string]bool{}
	add := func(e Evidence) {
		if !slices.ContainsFunc(out, func(o Evidence) bool { return sameEvidence(o, e) }) {
			out = append(out, e)
		}
	}
	for i, q := range p.Quotes {
		r := x.record(q.Ref)
		if r == nil || i >= len(quotes) {
			continue
		}
		quoted[r.ID] = true
		add(Evidence{r.ID, &Span{quotes[i].Span.Start, quotes[i].Span.End}})
	}
	for _, ref := range p.Refs {
		if r := x.record(ref); r != nil && !quoted[r.ID] {
			add(Evidence{r.ID, nil})
		}
	}
	return out
}

func sameEvidence(a, b Evidence) bool {
	if a.Record != b.Record || (a.Span == nil) != (b.Span == nil) {
		return false
	}
	return a.Span == nil || *a.Span == *b.Span
}

// overlaps reports whether two lists of evidence meet: in one record, in spans that touch. Under
// whole the same record is enough.
func overlaps(a, b []Evidence, whole bool) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Record == y.Record && (whole || x.Span == nil || y.Span == nil || x.Span.Start < y.Span.End && y.Span.Start < x.Span.End) {
				return true
			}
		}
	}
	return false
}

// joinEvidence is the union, at most as much as a decision may have.
func joinEvidence(lists ...[]Evidence) (out []Evidence) {
	for _, list := range lists {
		for _, e := range list {
			if !slices.ContainsFunc(out, func(o Evidence) bool { return sameEvidence(o, e) }) && len(out) < 128 {
				out = append(out, e)
			}
		}
	}
	return out
}

// summary is a decision as one line for a commit message or a table.
func (d *Decision) summary() string {
	switch d.Action {
	case Remove:
		return "- " + d.Old
	case Add:
		return "+ " + d.Instruction
	}
	return "- " + strings.Join(d.Olds(), "\n- ") + "\n+ " + d.Instruction
}
