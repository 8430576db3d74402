package agentsmd

import (
	"maps"
	"slices"

	"assent/boundary"
)

// Outcome is what becomes of candidates for a global rule.
type Outcome string

// EnumValues lists the outcomes.
func (Outcome) EnumValues() []string { return []string{"promote", "keep", "reject", "already-global"} }

// GroupPayload is one outcome of the global pass (seed 000, "Coverage and Semantic
// Decomposition").
type GroupPayload struct {
	Candidates []string      `json:"candidate_ids" jsonschema:"minItems=1,maxItems=64,uniqueItems=true,minLength=1,maxLength=40" text:"line" ref:"candidates" jsonschema_description:"candidates that mean the same"`
	Outcome    Outcome       `json:"outcome" jsonschema_description:"promote: make it a global rule; keep: wait for another project; reject: never; already-global: a global rule says it"`
	Reason     string        `json:"reason" jsonschema:"minLength=1,maxLength=1000" text:"line" jsonschema_description:"why, in particular"`
	Decision   GlobalPayload `json:"decision,omitzero" jsonschema_description:"with promote: the change of the global file; evidence and projects follow from the candidates"`
}

// GlobalPayload is a change of the global file.
type GlobalPayload struct {
	Action      Action   `json:"action" jsonschema_description:"add, merge, narrow, replace or remove"`
	Target      Target   `json:"target" jsonschema_description:"global"`
	Instruction string   `json:"instruction,omitzero" jsonschema:"minLength=1,maxLength=500" text:"rule" jsonschema_description:"the new rule"`
	Old         string   `json:"existing_instruction,omitzero" jsonschema:"minLength=1,maxLength=2000" text:"lines" jsonschema_description:"the rule that goes or is replaced"`
	OldList     []string `json:"existing_instructions,omitzero" jsonschema:"minItems=2,maxItems=32,uniqueItems=true,minLength=1,maxLength=2000" text:"lines" jsonschema_description:"the rules that are merged"`
	Reason      string   `json:"reason,omitzero" jsonschema:"minLength=1,maxLength=1000" text:"line" jsonschema_description:"why, if it helps"`
	Semantic    string   `json:"semantic_scope,omitzero" jsonschema:"minLength=1,maxLength=500" text:"line" jsonschema_description:"the situations that it applies to"`
	Explanation string   `json:"explanation,omitzero" jsonschema:"minLength=1,maxLength=2000" text:"line" jsonschema_description:"more about it"`
	Confidence  Degree   `json:"confidence" jsonschema_description:"how sure it is that the user wants this everywhere"`
	Risk        Degree   `json:"risk_of_overconstraint" jsonschema_description:"how much it may constrain what was not meant"`
	Restore     bool     `json:"restore_tombstone,omitzero" jsonschema_description:"the user brings a withdrawn rule back: a claim, which the program checks"`
	Override    bool     `json:"override_prior_rejection,omitzero" jsonschema_description:"the user wants what was rejected before: a claim, which the program checks"`
}

type groupRecord struct {
	GroupPayload
	Sources string `json:"sources" jsonschema:"maxLength=1" text:"line" jsonschema_description:"decisions that proposed it"`
}

// passing is the world of the global pass.
type passing struct {
	run        string
	bundle     string // SHA-256 of candidates.json
	candidates map[string]Candidate
	projects   func(CandidateSource) string // identity for the two-root rule, "" if it is not known
	done       bool
}

// GlobalReview is the submit channel of `agentsmd submit global`.
var GlobalReview = boundary.Define[GroupPayload, groupRecord](boundary.Spec[GroupPayload, passing]{
	Form: boundary.Form{
		Name: "global-review", Version: 1, Prefix: "G", Home: boundary.Private, Items: "groups", Floor: boundary.TrustTranscript,
		Purpose: "Settle every candidate for a global rule: those that several projects show, or that the user said holds everywhere, are promoted; others wait, or are turned down.",
		Command: "agentsmd submit global",
		Example: `{"groups":[{"candidate_ids":["G-0123456789abcdef"],"outcome":"keep","reason":"One project alone has shown it."}]}`,
		Codes:   map[string]string{"boundary/coverage-missing": "agentsmd/global-open", "boundary/coverage-duplicate": "agentsmd/global-twice"},
		Matrix: []boundary.Matrix{
			{By: "outcome", Fields: "decision", Rows: map[string]string{"promote": "r", "keep": "-", "reject": "-", "already-global": "-"}},
			{At: "/decision", By: "action", Fields: "instruction existing_instruction existing_instructions restore_tombstone override_prior_rejection", Rows: map[string]string{
				"add": "r - - o o", "merge": "r - r o o", "narrow": "r r - o o", "replace": "r r - o o", "remove": "- r - - o", "no-op": "- - - - -", "needs_evidence": "- - - - -",
			}},
		},
	},
	Sets: map[string]func(passing) boundary.Set{
		"candidates": func(w passing) boundary.Set {
			var s boundary.Set
			for _, id := range slices.Sorted(maps.Keys(w.candidates)) {
				s.Members = append(s.Members, boundary.Member{ID: id})
			}
			return s
		},
	},
	Coverage: []boundary.Coverage[passing]{{Of: "candidates", Once: true}},
	Rules: []boundary.Rule[GroupPayload, passing]{
		{Judge: func(i *boundary.Item[GroupPayload], w passing) {
			if w.done {
				i.Violate("agentsmd/run-closed", "", "", "the run %s is published", w.run)
			}
		}},
		{Reads: []string{"/decision", "/outcome"}, Judge: func(i *boundary.Item[GroupPayload], w passing) {
			d := i.Value.Decision
			if i.Value.Outcome != "promote" {
				return
			}
			if !d.Action.Mutating() {
				i.Violate("boundary/enum", "/decision/action", "", "a promoted candidate changes the global file")
			}
			if d.Target != TargetGlobal {
				i.Violate("boundary/enum", "/decision/target", "", "a promoted candidate is global")
			}
		}},
		{Reads: []string{"/candidate_ids", "/outcome"}, Judge: func(i *boundary.Item[GroupPayload], w passing) {
			if i.Value.Outcome != "promote" {
				return
			}
			projects, explicit, current := map[string]bool{}, false, false
			for _, id := range i.Value.Candidates {
				c := w.candidates[id]
				explicit = explicit || c.Explicit
				for _, s := range c.Sources {
					current = current || s.Current
					if p := w.projects(s); p != "" {
						projects[p] = true
					}
				}
			}
			if !current {
				i.Violate("agentsmd/evidence-missing", "/candidate_ids", "keep it", "none of the candidates was seen in this run")
			}
			if !explicit && len(projects) < 2 {
				i.Violate("agentsmd/global-two-roots", "/outcome", exits()["agentsmd/global-two-roots"].next, "%d project shows it, and the user has not said that it holds everywhere", len(projects))
			}
		}},
	},
	Unit: func(w passing) boundary.Unit {
		return boundary.Unit{Name: w.run + " global", Revision: w.bundle, Empty: "agentsmd/global-open"}
	},
})

// candidateID names a candidate by what it says.
func candidateID(instruction, scope string) string { return id("G", Norm(instruction), Norm(scope)) }

// Bundle is what the global pass is about.
type Bundle struct {
	SchemaVersion int               `json:"schema_version"`
	Run           string            `json:"run_id"`
	Candidates    []BundleCandidate `json:"candidates"`
}

// BundleCandidate is one of them.
type BundleCandidate struct {
	ID          string            `json:"candidate_id"`
	Instruction string            `json:"instruction"`
	Scope       string            `json:"semantic_scope"`
	Reason      string            `json:"reason"`
	Explicit    bool              `json:"explicit_global_intent"`
	Sources     []CandidateSource `json:"sources"`
}

// Limits of a candidate: decisions that are kept of it, of each project and in all, and what is
// kept of each. It must fit into a line of the log.
const (
	maxSources     = 12
	maxSourcesEach = 3
	maxSourceRefs  = 16
	maxSourceWords = 2
)

// joinSources keeps the newest decisions of each project.
func joinSources(lists ...[]CandidateSource) (out []CandidateSource) {
	for _, list := range lists {
		for _, s := range list {
			out = append(slices.DeleteFunc(out, func(o CandidateSource) bool { return o.Decision == s.Decision }), s)
		}
	}
	each := map[string]int{}
	for i := len(out) - 1; i >= 0; i-- {
		if each[orEmpty(out[i].ProjectKey)]++; each[orEmpty(out[i].ProjectKey)] > maxSourcesEach {
			out = slices.Delete(out, i, i+1)
		}
	}
	return out[max(0, len(out)-maxSources):]
}

// newProject reports whether a candidate has a project that it had not when it was settled.
func newProject(settled Settled, c Candidate) bool {
	return slices.ContainsFunc(c.Sources, func(s CandidateSource) bool {
		return s.ProjectKey != nil && !slices.Contains(settled.Projects, *s.ProjectKey)
	})
}

// bundle joins the candidates of the run's decisions with those that wait in the state. One
// that was turned down returns only with a project that it had not.
func bundle(run string, decisions []*Decision, s *State) Bundle {
	all := map[string]Candidate{}
	for id, c := range s.Candidates {
		c.Sources = slices.Clone(c.Sources)
		for i := range c.Sources {
			c.Sources[i].Current = false
		}
		all[id] = c
	}
	for _, d := range decisions {
		if d.Global.Status != "candidate" {
			continue
		}
		id := candidateID(d.Global.Instruction, d.Global.Semantic)
		c, known := all[id]
		if !known {
			c = Candidate{Instruction: d.Global.Instruction, Scope: d.Global.Semantic, Reason: d.Global.Reason}
		}
		c.Explicit = c.Explicit || d.Global.Explicit
		source := CandidateSource{Decision: d.ID, Run: run, Refs: d.Refs[:min(len(d.Refs), maxSourceRefs)], Evidence: d.Evidence[:min(len(d.Evidence), maxSourceRefs)], Quotes: d.Quotes[:min(len(d.Quotes), maxSourceWords)], Action: string(d.Action), Current: true}
		if d.EvidenceRoot != "" {
			root, key := d.EvidenceRoot, d.EvidenceProject
			source.Root, source.ProjectKey = &root, &key
		}
		c.Sources = joinSources(c.Sources, []CandidateSource{source})
		all[id] = c
	}
	b := Bundle{SchemaVersion: SchemaVersion, Run: run, Candidates: []BundleCandidate{}}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		c := all[id]
		if settled, ok := s.Settled[id]; ok && !newProject(settled, c) {
			continue
		}
		b.Candidates = append(b.Candidates, BundleCandidate{id, c.Instruction, c.Scope, c.Reason, c.Explicit, c.Sources})
	}
	return b
}
