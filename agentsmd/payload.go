package agentsmd

import (
	"fmt"
	"slices"
	"strings"

	"assent/boundary"
)

// Action is what a decision does to the rules of a file.
type Action string

// Actions, in the order in which a reviewer tries them; needs_evidence is replaced by one of the
// others.
const (
	NoOp          Action = "no-op"
	Remove        Action = "remove"
	Narrow        Action = "narrow"
	Merge         Action = "merge"
	Replace       Action = "replace"
	Add           Action = "add"
	NeedsEvidence Action = "needs_evidence"
)

// EnumValues lists the actions.
func (Action) EnumValues() []string {
	return []string{string(Add), string(Merge), string(Narrow), string(Replace), string(Remove), string(NoOp), string(NeedsEvidence)}
}

// Mutating reports whether an action changes rules.
func (a Action) Mutating() bool { return a != NoOp && a != NeedsEvidence && a != "" }

// Target is which file a decision is about.
type Target string

// EnumValues lists the targets.
func (Target) EnumValues() []string { return []string{TargetProject, TargetGlobal} }

// Degree is how sure a reviewer is, or how much a rule may overconstrain.
type Degree string

// EnumValues lists the degrees.
func (Degree) EnumValues() []string { return []string{"low", "medium", "high"} }

// Disposition is what a decision means for all projects.
type Disposition string

// EnumValues lists the dispositions.
func (Disposition) EnumValues() []string {
	return []string{"candidate", "project-only", "already-global"}
}

// EventKind is a kind of transcript events.
type EventKind string

// EnumValues lists the kinds.
func (EventKind) EnumValues() []string { return []string{"user", "assistant", "tool", "lifecycle"} }

// DecisionPayload is what a reviewer decides about some records of a chunk (seed 000, "Decision
// Structure").
type DecisionPayload struct {
	Action      Action            `json:"action" jsonschema_description:"what to do; try no-op, remove, narrow, merge, replace, add in this order"`
	Target      Target            `json:"target" jsonschema_description:"project, or global for evidence that belongs to no project"`
	Root        string            `json:"project_root,omitzero" jsonschema:"minLength=1,maxLength=1024" text:"lines" jsonschema_description:"the chunk's root if left out; else one of explicit_project_roots, byte for byte"`
	Instruction string            `json:"instruction,omitzero" jsonschema:"minLength=1,maxLength=500" text:"rule" jsonschema_description:"the new rule: When <condition>, <action> because <reason, only if it helps>."`
	Old         string            `json:"existing_instruction,omitzero" jsonschema:"minLength=1,maxLength=2000" text:"lines" jsonschema_description:"the rule that goes or is replaced, as it stands there"`
	OldList     []string          `json:"existing_instructions,omitzero" jsonschema:"minItems=2,maxItems=32,uniqueItems=true,minLength=1,maxLength=2000" text:"lines" jsonschema_description:"the rules that are merged, as they stand there"`
	Refs        []string          `json:"evidence_refs" jsonschema:"minItems=1,maxItems=64,uniqueItems=true,minLength=1,maxLength=400" text:"line" ref:"references" jsonschema_description:"references of the records that it rests on, as the chunk lists them"`
	Quotes      []QuotePayload    `json:"evidence_quotes,omitzero" jsonschema:"minItems=1,maxItems=64" jsonschema_description:"the user's own words; at least one for a change"`
	Reason      string            `json:"reason,omitzero" jsonschema:"minLength=1,maxLength=1000" text:"line" jsonschema_description:"why, if it helps"`
	Semantic    string            `json:"semantic_scope,omitzero" jsonschema:"minLength=1,maxLength=500" text:"line" jsonschema_description:"the situations that it applies to"`
	Explanation string            `json:"explanation,omitzero" jsonschema:"minLength=1,maxLength=2000" text:"line" jsonschema_description:"why nothing changes, in particular"`
	Confidence  Degree            `json:"confidence,omitzero" jsonschema_description:"how sure it is that the user wants this lastingly"`
	Risk        Degree            `json:"risk_of_overconstraint,omitzero" jsonschema_description:"how much it may constrain what was not meant"`
	Query       EvidenceQuery     `json:"evidence_query,omitzero" jsonschema_description:"what must be looked at before it can be decided"`
	Restore     bool              `json:"restore_tombstone,omitzero" jsonschema_description:"the user brings a withdrawn rule back: a claim, which the program checks"`
	RestoreIDs  []string          `json:"restore_tombstone_ids,omitzero" jsonschema:"minItems=1,maxItems=64,uniqueItems=true,minLength=1,maxLength=40" text:"line" ref:"tombstones" jsonschema_description:"which ones, if the wording differs"`
	Override    bool              `json:"override_prior_rejection,omitzero" jsonschema_description:"the user wants what was rejected before: a claim, which the program checks"`
	OverrideIDs []string          `json:"override_rejection_ids,omitzero" jsonschema:"minItems=1,maxItems=64,uniqueItems=true,minLength=1,maxLength=40" text:"line" ref:"rejections" jsonschema_description:"which ones, if the wording differs"`
	Global      GlobalDisposition `json:"global_disposition" jsonschema_description:"what the same records mean for all projects, whatever is done here"`
	Label       string            `json:"decision_id,omitzero" jsonschema:"minLength=1,maxLength=64,pattern=^[A-Za-z0-9._-]+$" text:"line" jsonschema_description:"a label of your own; it becomes no id"`
}

// QuotePayload is the user's own words in a record.
type QuotePayload struct {
	Ref   string `json:"ref" jsonschema:"minLength=1,maxLength=400" text:"line" ref:"references" jsonschema_description:"reference of the record"`
	Quote string `json:"quote" jsonschema:"minLength=1,maxLength=2000" text:"quote" jsonschema_description:"words of its user_input, copied from there"`
}

// EvidenceQuery bounds what is looked up in a transcript.
type EvidenceQuery struct {
	Record string      `json:"record_id" jsonschema:"minLength=1,maxLength=40" text:"line" ref:"records" jsonschema_description:"the record whose transcript it is"`
	Start  int         `json:"line_start" jsonschema:"minimum=1,maximum=100000000" jsonschema_description:"first line"`
	End    int         `json:"line_end" jsonschema:"minimum=1,maximum=100000000" jsonschema_description:"last line, 500 lines further on at most"`
	Kinds  []EventKind `json:"kinds" jsonschema:"minItems=1,maxItems=4,uniqueItems=true" jsonschema_description:"which events"`
}

// GlobalDisposition says what a decision means for all projects.
type GlobalDisposition struct {
	Status      Disposition `json:"status" jsonschema_description:"candidate: it may hold everywhere; project-only: it cannot; already-global: a global rule says it"`
	Reason      string      `json:"reason" jsonschema:"minLength=1,maxLength=1000" text:"line" jsonschema_description:"why, in particular"`
	Instruction string      `json:"instruction,omitzero" jsonschema:"minLength=1,maxLength=500" text:"rule" jsonschema_description:"of a candidate: the rule as it would hold everywhere"`
	Semantic    string      `json:"semantic_scope,omitzero" jsonschema:"minLength=1,maxLength=500" text:"line" jsonschema_description:"of a candidate: the situations that it applies to"`
	Explicit    bool        `json:"explicit_global_intent,omitzero" jsonschema_description:"of a candidate: the user said that it holds everywhere; needs a quote that says so"`
}

// decisionRecord names what belongs to the program beside the payload.
type decisionRecord struct {
	DecisionPayload
	Supersedes string `json:"supersedes_decision_id" jsonschema:"maxLength=40" text:"line" jsonschema_description:"the item that it edits"`
	ScopeKey   string `json:"scope_key" jsonschema:"maxLength=80" text:"line" jsonschema_description:"global, or the project"`
	TargetPath string `json:"target_path" jsonschema:"maxLength=1024" text:"lines" jsonschema_description:"the file"`
	RuleID     string `json:"rule_id" jsonschema:"maxLength=40" text:"line" jsonschema_description:"id of the rule by its meaning"`
	Spans      string `json:"spans" jsonschema:"maxLength=1" text:"line" jsonschema_description:"where the quotes stand"`
	Projects   string `json:"evidence_projects" jsonschema:"maxLength=1" text:"line" jsonschema_description:"projects of the evidence"`
	Chunk      string `json:"chunk" jsonschema:"maxLength=1" text:"line" jsonschema_description:"the chunk"`
	Run        string `json:"run_id" jsonschema:"maxLength=40" text:"line" jsonschema_description:"the run"`
	Candidates string `json:"global_candidate_ids" jsonschema:"maxLength=1" text:"line" jsonschema_description:"candidates that it was promoted from"`
	Other      string `json:"alternative_to" jsonschema:"maxLength=40" text:"line" jsonschema_description:"the global item that says it too"`
	Near       string `json:"near_duplicate_of" jsonschema:"maxLength=500" text:"line" jsonschema_description:"a rule that is nearly the same"`
	Number     string `json:"selection_number" jsonschema:"maxLength=1" text:"line" jsonschema_description:"the number that a person sees"`
	Status     string `json:"status" jsonschema:"maxLength=20" text:"line" jsonschema_description:"where it stands"`
	Diff       string `json:"diff" jsonschema:"maxLength=1" text:"lines" jsonschema_description:"what it does to the file"`
}

// reviewing is the world that the decisions of a chunk are judged in.
type reviewing struct {
	refs   *references
	state  *State
	run    string
	number int
	chunk  string            // SHA-256 of the chunk
	root   string            // of the chunk; "" if its records have none
	scopes map[string]string // root -> scope key
	labels map[string]bool   // of other chunks
	done   bool              // the run is published
}

const mutatingMarks = "o o o o r r - "

// RuleDecisions is the submit channel of `agentsmd submit decisions`.
var RuleDecisions = boundary.Define[DecisionPayload, decisionRecord](boundary.Spec[DecisionPayload, reviewing]{
	Form: boundary.Form{
		Name: "rule-decision", Version: 1, Prefix: "D", Home: boundary.Private, Items: "decisions", Short: 8, Floor: boundary.TrustTranscript,
		Purpose: "Decide for every record of a chunk whether the user's words are a lasting preference, and which rule of AGENTS.md says it. Nothing is written: the program checks the evidence, a person confirms the change.",
		Command: "agentsmd submit decisions --chunk N",
		Example: `[{"action":"no-op","target":"project","evidence_refs":["R-0123456789abcdef"],"explanation":"The message corrects one file name and says nothing about later work.","global_disposition":{"status":"project-only","reason":"It is about one file."}}]`,
		Codes:   map[string]string{"boundary/ref-unknown": "agentsmd/evidence-untrusted", "boundary/ref-scope": "agentsmd/evidence-scope"},
		Matrix: []boundary.Matrix{
			{By: "action", Fields: "instruction existing_instruction existing_instructions evidence_quotes reason semantic_scope explanation confidence risk_of_overconstraint evidence_query restore_tombstone restore_tombstone_ids override_prior_rejection override_rejection_ids",
				Rows: map[string]string{
					"add":            "r - - " + mutatingMarks + "o o o o",
					"merge":          "r - r " + mutatingMarks + "o o o o",
					"narrow":         "r r - " + mutatingMarks + "o o o o",
					"replace":        "r r - " + mutatingMarks + "o o o o",
					"remove":         "- r - " + mutatingMarks + "- - o o",
					"no-op":          "- - - o o o r o o - - - - -",
					"needs_evidence": "- - - o o o o o o r - - - -",
				}},
			{By: "target", Fields: "project_root", Rows: map[string]string{"project": "o", "global": "-"}},
			{At: "/global_disposition", By: "status", Fields: "instruction semantic_scope explicit_global_intent", Rows: map[string]string{"candidate": "r r o", "project-only": "- - -", "already-global": "- - -"}},
		},
	},
	Sets: map[string]func(reviewing) boundary.Set{
		"references": func(w reviewing) boundary.Set { return w.refs.set() },
		"records":    func(w reviewing) boundary.Set { return w.refs.records() },
		"tombstones": func(w reviewing) boundary.Set { return entries(w.state.Tombstones) },
		"rejections": func(w reviewing) boundary.Set { return entries(w.state.Rejected) },
	},
	Scope: func(w reviewing, p DecisionPayload) string {
		if p.Target == TargetGlobal {
			return noRoot
		}
		return w.refs.authority[w.rootOf(p)] // "" goes with any: that the root is none is said elsewhere
	},
	ScopeReads: []string{"/target", "/project_root"},
	Source: func(w reviewing, i *boundary.Item[DecisionPayload], pointer string) (boundary.Source, error) {
		r := w.refs.record(i.Text(strings.TrimSuffix(pointer, "quote") + "ref"))
		if r == nil {
			return boundary.Source{}, &boundary.GroundError{Code: "boundary/ground-not-found", Message: "the reference names no record"}
		}
		return r.source(), nil
	},
	Rules: []boundary.Rule[DecisionPayload, reviewing]{
		{Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			if w.done {
				i.Violate("agentsmd/run-closed", "", "", "the run %s is published", w.run)
			}
		}},
		{Reads: []string{"/target", "/project_root"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			root := w.rootOf(i.Value)
			switch {
			case i.Value.Target != TargetProject:
			case root == "":
				i.Violate("agentsmd/root-not-allowed", "", exits()["agentsmd/root-not-allowed"].next, "the chunk has no project, and project_root names none")
			case root != w.root && !slices.Contains(w.refs.batch.ExplicitRoots, root):
				i.Violate("agentsmd/root-not-allowed", "/project_root", exits()["agentsmd/root-not-allowed"].next, "%s is neither the chunk's root nor one that the user named", root)
			}
		}},
		{Reads: []string{"/evidence_refs"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			for n, ref := range i.Value.Refs {
				if w.refs.bare[ref] {
					i.Violate("agentsmd/evidence-bare", fmt.Sprintf("/evidence_refs/%d", n), exits()["agentsmd/evidence-bare"].next, "%s is a session or a turn by itself", ref)
				}
			}
		}},
		{Reads: []string{"/action"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			if i.Value.Action.Mutating() && len(i.Value.Quotes) == 0 {
				i.Violate("agentsmd/evidence-missing", "", exits()["agentsmd/evidence-missing"].next, "a change needs evidence_quotes")
			}
		}},
		{Reads: []string{"/global_disposition", "/evidence_refs"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			g := i.Value.Global
			if g.Status != "candidate" {
				return
			}
			if g.Explicit && len(i.Value.Quotes) == 0 {
				i.Violate("agentsmd/evidence-missing", "/global_disposition/explicit_global_intent", "quote the words that say so", "that the user meant all projects needs a quote")
			}
			if !g.Explicit && !w.refs.anyRoot(i.Value.Refs) {
				i.Violate("agentsmd/global-intent", "/global_disposition/explicit_global_intent", "", "records that belong to no project make a candidate only if the user said that it holds everywhere")
			}
		}},
		{Reads: []string{"/decision_id"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			switch label := i.Value.Label; {
			case label == "":
			case strings.Trim(label, "0123456789") == "":
				i.Violate("agentsmd/label", "/decision_id", "", "a label is no number: numbers are what a person sees")
			case w.labels[label]:
				i.Violate("agentsmd/label", "/decision_id", "", "the label %s stands in another decision of the run", label)
			}
		}},
		{Reads: []string{"/evidence_query"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			if q := i.Value.Query; i.Value.Action == NeedsEvidence && (q.End < q.Start || q.End-q.Start >= maxQueryLines) {
				i.Violate("boundary/range", "/evidence_query/line_end", "", "a query spans 1 to %d lines", maxQueryLines)
			}
		}},
		{Reads: []string{"/restore_tombstone_ids", "/override_rejection_ids", "/target", "/project_root"}, Judge: func(i *boundary.Item[DecisionPayload], w reviewing) {
			scope := w.scopeOf(i.Value)
			for n, id := range i.Value.RestoreIDs {
				if w.state.Tombstones[id].Scope != scope {
					i.Violate("boundary/ref-scope", fmt.Sprintf("/restore_tombstone_ids/%d", n), "", "%s is of another scope", id)
				}
			}
			for n, id := range i.Value.OverrideIDs {
				if w.state.Rejected[id].Scope != scope {
					i.Violate("boundary/ref-scope", fmt.Sprintf("/override_rejection_ids/%d", n), "", "%s is of another scope", id)
				}
			}
		}},
	},
	Unit: func(w reviewing) boundary.Unit {
		return boundary.Unit{Name: fmt.Sprintf("%s chunk %d", w.run, w.number), Revision: w.chunk, Empty: "agentsmd/decisions-empty"}
	},
})

// maxQueryLines bounds what a decision may ask for.
const maxQueryLines = 500

// maxRule is the characters of a rule, as the payload's instruction has them at most.
const maxRule = 500

func (w reviewing) rootOf(p DecisionPayload) string {
	if p.Root != "" {
		return p.Root
	}
	return w.root
}

func (w reviewing) scopeOf(p DecisionPayload) string {
	if p.Target == TargetGlobal {
		return GlobalScope
	}
	return w.scopes[w.rootOf(p)]
}

func entries(of map[string]Entry) boundary.Set {
	s := boundary.Set{}
	for id := range of {
		s.Members = append(s.Members, boundary.Member{ID: id})
	}
	slices.SortFunc(s.Members, func(a, b boundary.Member) int { return strings.Compare(a.ID, b.ID) })
	return s
}

// source is a record as a text that is quoted from.
func (r *Record) source() boundary.Source {
	return boundary.Source{Data: []byte(r.User), Provenance: boundary.Provenance{Trust: boundary.TrustTranscript, Scope: boundary.InScope, Freshness: boundary.Fresh, Integrity: boundary.Intact}}
}

// references are what evidence may name: made from the batch alone, each time anew.
type references struct {
	batch     *Batch
	byRef     map[string]*Record
	bare      map[string]bool   // session and turn ids, which mean nothing by themselves
	authority map[string]string // root -> what references must have to support it
	order     []string
}

// noRoot is the scope of records that belong to no project.
const noRoot = "-"

// newReferences reads the trusted references of a batch. authority says of a root which
// repository it is a worktree of; a root without one supports itself alone.
func newReferences(b *Batch, authority func(root string) string) *references {
	x := &references{batch: b, byRef: map[string]*Record{}, bare: map[string]bool{}, authority: map[string]string{}}
	for _, root := range b.AllowedRoots {
		x.authority[root] = authority(root)
	}
	for _, list := range [][]Record{b.Records, b.Context} {
		for i := range list {
			r := &list[i]
			for _, ref := range r.Refs {
				if x.byRef[ref] == nil {
					x.order = append(x.order, ref)
				}
				x.byRef[ref] = r
			}
			x.bare[r.Session], x.bare[r.Turn] = true, true
			if r.ProjectRoot != nil && x.authority[*r.ProjectRoot] == "" {
				x.authority[*r.ProjectRoot] = authority(*r.ProjectRoot)
			}
		}
	}
	for ref := range x.byRef {
		delete(x.bare, ref)
	}
	return x
}

func (x *references) record(ref string) *Record { return x.byRef[ref] }

func (x *references) set() boundary.Set {
	var s boundary.Set
	for _, ref := range x.order {
		r := x.byRef[ref]
		if r.ProjectRoot == nil {
			s.Members = append(s.Members, boundary.Member{ID: ref, Scope: noRoot})
		} else {
			s.Members = append(s.Members, boundary.Member{ID: ref, Scope: x.authority[*r.ProjectRoot]})
		}
		if slices.Contains(x.batch.CurrentSessions, r.Session) { // what is said now may be about a root that the user named
			for _, root := range x.batch.ExplicitRoots {
				s.Members = append(s.Members, boundary.Member{ID: ref, Scope: x.authority[root]})
			}
		}
	}
	for id := range x.bare {
		s.Members = append(s.Members, boundary.Member{ID: id})
	}
	return s
}

func (x *references) records() boundary.Set {
	var s boundary.Set
	for _, list := range [][]Record{x.batch.Records, x.batch.Context} {
		for _, r := range list {
			s.Members = append(s.Members, boundary.Member{ID: r.ID})
		}
	}
	return s
}

// anyRoot reports whether any of the references belongs to a project.
func (x *references) anyRoot(refs []string) bool {
	return slices.ContainsFunc(refs, func(ref string) bool { r := x.byRef[ref]; return r != nil && r.ProjectRoot != nil })
}

// supports reports whether a reference may be evidence for a scope of the world.
func (x *references) supports(ref, root string) bool {
	r := x.byRef[ref]
	switch {
	case r == nil:
		return false
	case root == "":
		return r.ProjectRoot == nil
	case r.ProjectRoot != nil && x.authority[*r.ProjectRoot] == x.authority[root]:
		return true
	}
	return slices.Contains(x.batch.ExplicitRoots, root) && slices.Contains(x.batch.CurrentSessions, r.Session)
}
