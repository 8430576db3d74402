package skmb

import (
	"fmt"
	"slices"
	"strings"

	"assent/boundary"
	"assent/markdown"
)

// DecisionPayload is what a model may propose (seed 003, "Elicitation Rules"). Everything
// else of a record belongs to the program or to the designer.
type DecisionPayload struct {
	Title          string          `json:"title" jsonschema:"minLength=1,maxLength=120" text:"line" jsonschema_description:"what is decided, in a few words"`
	Patterns       []PatternName   `json:"patterns" jsonschema:"minItems=1,maxItems=7,uniqueItems=true" jsonschema_description:"which of the patterns A to G it touches"`
	Scope          string          `json:"scope" jsonschema:"minLength=1,maxLength=200" text:"line" jsonschema_description:"the module or workflow it holds for"`
	Context        string          `json:"context,omitzero" jsonschema:"maxLength=16384" text:"prose" jsonschema_description:"what is known from code, specification and earlier decisions"`
	Decision       string          `json:"decision" jsonschema:"minLength=1,maxLength=16384" text:"prose" jsonschema_description:"the exact behaviour that will be implemented after approval"`
	AppliesTo      []string        `json:"applies_to" jsonschema:"minItems=1,maxItems=64,uniqueItems=true,minLength=1,maxLength=200" text:"line" jsonschema_description:"behaviours, files or tests it applies to"`
	Options        []string        `json:"options,omitzero" jsonschema:"maxItems=8,uniqueItems=true,minLength=1,maxLength=1024" text:"line" jsonschema_description:"the choices and their consequences"`
	Recommendation string          `json:"recommendation,omitzero" jsonschema:"maxLength=1024" text:"line" jsonschema_description:"the choice that is technically safer, if one is"`
	NeededBefore   string          `json:"needed_before,omitzero" jsonschema:"maxLength=200" text:"line" jsonschema_description:"what cannot be implemented without it"`
	Supersedes     []SupersededRef `json:"supersedes,omitzero" jsonschema:"maxItems=64" jsonschema_description:"records that it replaces"`
	Paths          []string        `json:"paths,omitzero" jsonschema:"maxItems=64,uniqueItems=true,minLength=1,maxLength=200" text:"line" jsonschema_description:"path patterns of the code it is about"`
}

// SupersededRef names a record that a proposal replaces.
type SupersededRef struct {
	ID string `json:"id" jsonschema:"minLength=1,maxLength=120" text:"line" ref:"records" jsonschema_description:"full id of the record"`
}

// PatternName is a letter A to G or its full code.
type PatternName string

// EnumValues lists both spellings of every pattern.
func (PatternName) EnumValues() []string {
	var out []string
	for _, p := range Patterns {
		out = append(out, p.Letter)
	}
	for _, p := range Patterns {
		out = append(out, p.Code)
	}
	return out
}

// decisionRecord is a record as the boundary sees it: what it has beyond the payload is
// owned by the program.
type decisionRecord struct {
	boundary.Envelope
	DecisionPayload
	Status         string `json:"status" jsonschema:"maxLength=80" text:"line" jsonschema_description:"where it stands: a submission is always proposed"`
	DecidedBy      string `json:"decided_by" jsonschema:"maxLength=80" text:"line" jsonschema_description:"who decided"`
	ApprovalSource string `json:"approval_source" jsonschema:"maxLength=2000" text:"line" jsonschema_description:"how the yes was given"`
	Approval       string `json:"approval" jsonschema:"maxLength=300" text:"line" jsonschema_description:"method and digest of the yes, and its record"`
	Date           string `json:"date" jsonschema:"maxLength=10" text:"line" jsonschema_description:"day of the last change of status"`
	Commit         string `json:"commit" jsonschema:"maxLength=64" text:"line" jsonschema_description:"commit in which it became accepted"`
	File           string `json:"file" jsonschema:"maxLength=300" text:"line" jsonschema_description:"its file"`
	PermittedBy    string `json:"permitted_by" jsonschema:"maxLength=80" text:"line" jsonschema_description:"who permitted going on undecided"`
	ReviewBy       string `json:"review_by" jsonschema:"maxLength=10" text:"line" jsonschema_description:"day until which that holds"`
	SupersededBy   string `json:"superseded_by" jsonschema:"maxLength=120" text:"line" jsonschema_description:"record that replaces it"`
	RecordedBy     string `json:"recorded_by" jsonschema:"maxLength=300" text:"line" jsonschema_description:"Git identity that recorded the yes"`
}

// proposing is the world that a proposal is judged in: the base as it is on disk, and the open
// question that it answers.
type proposing struct {
	draft *draft
	from  string
}

// DecisionKind is the submit channel of `skmb submit`.
var DecisionKind = boundary.Define[DecisionPayload, decisionRecord](boundary.Spec[DecisionPayload, proposing]{
	Form: boundary.Form{
		Name: "skmb-decision", Version: 1, Prefix: "SKMB", Home: boundary.Written,
		Purpose: "Propose a design decision that nobody has taken yet. It enters the base as proposed, and blocks commits until a designer approves or rejects it; a proposal never decides anything.",
		Command: "skmb submit",
		Example: `{"title":"Approval notifier failure","patterns":["F"],"scope":"approval workflow","decision":"Retry 3 times, then fail closed and write an audit event.","applies_to":["notifier adapter"]}`,
	},
	Sets: map[string]func(proposing) boundary.Set{
		"records": func(p proposing) boundary.Set {
			b := p.draft.base
			s := boundary.Set{Resolve: b.resolve, Hint: func(string) string { return b.knownHint() }}
			for _, r := range b.Records {
				if r.ID != "" {
					s.Members = append(s.Members, boundary.Member{ID: r.ID})
				}
			}
			return s
		},
	},
	Rules: []boundary.Rule[DecisionPayload, proposing]{
		{Judge: func(i *boundary.Item[DecisionPayload], in proposing) {
			if in.from != "" && !in.draft.isOpen(in.from) {
				i.Violate("skmb/not-open", "", "skmb list --status open", "there is no open question %s", short(in.from))
			}
		}},
		{Reads: []string{"/supersedes"}, Judge: func(i *boundary.Item[DecisionPayload], in proposing) {
			seen := map[string]bool{}
			for n, s := range i.Value.Supersedes {
				for _, id := range in.draft.base.resolve(s.ID) {
					if seen[id] {
						i.Violate("boundary/item-duplicate", fmt.Sprintf("/supersedes/%d/id", n), "", "%s stands twice", id)
					}
					seen[id] = true
				}
			}
		}},
	},
	Unit: func(p proposing) boundary.Unit {
		return boundary.Unit{Name: strings.TrimSpace(p.draft.root + " " + p.from)}
	},
})

// knownHint names the last records, if there are any.
func (b *Base) knownHint() string {
	if ids := b.newest(3); len(ids) > 0 {
		return "the last ones are " + strings.Join(ids, ", ")
	}
	return ""
}

// newest returns the ids of the last records, for a hint.
func (b *Base) newest(n int) []string {
	var ids []string
	for _, r := range b.Records {
		if r.ID != "" {
			ids = append(ids, r.ID)
		}
	}
	slices.Sort(ids)
	return ids[max(0, len(ids)-n):]
}

// Markdown is the decision file of a proposal, in the canonical form of the seed.
func (p DecisionPayload) Markdown(id, date string) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	section := func(title, body string) {
		if body != "" {
			line("\n## %s\n\n%s", title, strings.Trim(body, "\n"))
		}
	}
	list := func(items []string) string {
		var out []string
		for _, i := range items {
			out = append(out, "- "+markdown.Escape(i))
		}
		return strings.Join(out, "\n")
	}
	line("# %s: %s\n", id, markdown.Escape(p.Title))
	line("- status: proposed")
	line("- decided_by: pending")
	line("- approval_source: pending explicit designer approval")
	line("- date: %s", date)
	line("- commit: pending")
	line("- patterns:")
	letters, _ := parsePatterns(p.patterns()...)
	for _, l := range letters {
		line("  - %s", patternCode(l))
	}
	line("- scope: %s", markdown.Escape(p.Scope))
	if len(p.Paths) > 0 {
		line("- paths:")
		for _, path := range p.Paths {
			line("  - %s", markdown.Escape(path))
		}
	}
	section("Context", p.Context)
	section("Decision", p.Decision)
	section("Applies To", list(p.AppliesTo))
	if len(p.Options) > 0 {
		var options []string
		for i, o := range p.Options {
			options = append(options, fmt.Sprintf("%d. %s", i+1, markdown.Escape(o)))
		}
		section("Options", strings.Join(options, "\n"))
	}
	section("Recommendation", markdown.Escape(p.Recommendation))
	section("Needed Before", markdown.Escape(p.NeededBefore))
	var old []string
	for _, s := range p.Supersedes {
		old = append(old, s.ID)
	}
	if len(old) == 0 {
		section("Supersedes", "None.")
	} else {
		section("Supersedes", list(old))
	}
	return []byte(b.String())
}

func (p DecisionPayload) patterns() []string {
	var out []string
	for _, n := range p.Patterns {
		out = append(out, string(n))
	}
	return out
}

// Checkpoint is the text that puts a record before the designer (seed 003, "Elicitation
// Rules").
func (r *Record) Checkpoint(b *Base) string {
	var out strings.Builder
	part := func(title, body string) {
		if body != "" {
			fmt.Fprintf(&out, "\n%s:\n%s\n", title, body)
		}
	}
	fmt.Fprintf(&out, "ISME checkpoint: %s\n", r.value("scope"))
	part("Context gathered", r.Section("Context"))
	var found []string
	for _, ref := range r.supersedes() {
		if old, ok := b.Record(ref.Text); ok {
			found = append(found, fmt.Sprintf("- %s: %s (to be superseded)", old.ID, old.Title))
		}
	}
	part("Designer decisions already found", strings.Join(found, "\n"))
	part("Pending decision", fmt.Sprintf("%s: %s\n%s", r.ID, r.Title, r.Section("Decision")))
	part("Options", r.Section("Options"))
	recommendation := r.Section("Recommendation")
	if recommendation == "" {
		recommendation = "no recommendation"
	}
	part("Recommendation", recommendation)
	part("Needed before", r.Section("Needed Before"))
	part("Implementation after approval", r.Section("Applies To"))
	return out.String()
}

// Card is the text that is approved, for the person who approves it.
func (r *Record) Card() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n\nscope: %s\npatterns: %s\n", r.ID, r.Title, r.value("scope"), letterList(r.Patterns))
	if len(r.Paths) > 0 {
		fmt.Fprintf(&out, "paths: %s\n", strings.Join(r.Paths, ", "))
	}
	for _, title := range []string{"Decision", "Applies To", "Supersedes"} {
		if body := r.Section(title); body != "" {
			fmt.Fprintf(&out, "\n%s\n%s\n", title, body)
		}
	}
	return out.String()
}
