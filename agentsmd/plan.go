package agentsmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"assent/approval"
	"assent/boundary"
	"assent/store"
)

// Modes of a plan.
const (
	Suggest = "suggest"
	Auto    = "auto"
)

// Plan is what reconcile made of a run: what may be confirmed, and what it was made from. Its id
// is P- and the first 16 digits of its file's SHA-256.
type Plan struct {
	SchemaVersion int          `json:"schema_version"`
	Run           string       `json:"run_id"`
	Mode          string       `json:"mode"`
	CreatedAt     string       `json:"created_at"`
	GuideVersion  int          `json:"guide_version"`
	CodexHome     string       `json:"codex_home"`
	Batch         string       `json:"batch_sha256"`
	Submitted     string       `json:"submitted_sha256"`
	Review        string       `json:"review_sha256"`
	AllowedRoots  []string     `json:"allowed_project_roots"`
	ExplicitRoots []string     `json:"explicit_project_roots"`
	RecordIDs     []string     `json:"record_ids"`
	Edited        bool         `json:"edited_acceptance"`
	Guard         Guard        `json:"state_guard"`
	Decisions     []*Decision  `json:"decisions"`
	Targets       []PlanTarget `json:"targets"`
	Effects       []Effect     `json:"effects"` // of publishing an auto plan
	Errors        []PlanIssue  `json:"errors"`
	Warnings      []PlanIssue  `json:"warnings"`
	Quota         *Quota       `json:"quota"`
	Metadata      RunMetadata  `json:"run_metadata"`
}

// Guard is the state that a plan was made on.
type Guard struct {
	Constraint int            `json:"constraint_revision"`
	Scopes     map[string]int `json:"scope_revisions"`
	Tombstones []string       `json:"tombstones"`
	Rejections []string       `json:"rejections"`
}

// PlanTarget is one file of a plan. It holds ids of decisions, and no decision.
type PlanTarget struct {
	Path      string     `json:"path"`
	Scope     string     `json:"scope"`
	Root      *string    `json:"project_root"`
	Existed   bool       `json:"existed"`
	State     BlockState `json:"block_state"`
	Base      string     `json:"base_sha256"`
	New       string     `json:"new_sha256"`
	OldBytes  int        `json:"old_bytes"`
	NewBytes  int        `json:"new_bytes"`
	Decisions []string   `json:"decision_ids"`
	Diff      string     `json:"diff"`
	Notes     []string   `json:"notes"`
}

// PlanIssue is an error or a warning of a plan.
type PlanIssue struct {
	Code     string `json:"code"`
	Decision string `json:"decision_id"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
	exit     int
}

// RunMetadata is what a host says of the model that reviewed: a claim.
type RunMetadata struct {
	Model  string `json:"model"`
	Effort string `json:"reasoning_effort"`
}

// find returns a decision of the plan by its id.
func (p *Plan) find(id string) *Decision {
	i := slices.IndexFunc(p.Decisions, func(d *Decision) bool { return d.ID == id })
	if i < 0 {
		return nil
	}
	return p.Decisions[i]
}

// number returns the decision with a number.
func (p *Plan) number(n int) *Decision {
	i := slices.IndexFunc(p.Decisions, func(d *Decision) bool { return d.Number == n && n > 0 })
	if i < 0 {
		return nil
	}
	return p.Decisions[i]
}

// guardOf is the guard of a state.
func guardOf(s *State) Guard {
	g := Guard{Constraint: s.Constraint, Scopes: map[string]int{}}
	for scope, n := range s.Scopes {
		g.Scopes[scope] = n
	}
	for id := range s.Tombstones {
		g.Tombstones = append(g.Tombstones, id)
	}
	for id := range s.Rejected {
		g.Rejections = append(g.Rejections, id)
	}
	slices.Sort(g.Tombstones)
	slices.Sort(g.Rejections)
	return g
}

// Yes is how a change was confirmed.
type Yes struct {
	Method string          `json:"method"` // statement, terminal or signature; auto for an authorisation given before
	Words  string          `json:"words,omitzero"`
	From   string          `json:"quoted_from,omitzero"`
	By     approval.Person `json:"by"`
	At     string          `json:"given_at"`
	Text   string          `json:"statement,omitzero"` // that was shown, byte for byte
	SHA256 string          `json:"statement_sha256,omitzero"`
	Proof  approval.Proof  `json:"proof,omitzero"`
}

// resolvePlan finds a registered plan by its id or the beginning of one.
func resolvePlan(s *State, name string) (string, error) {
	name = strings.TrimPrefix(name, "P-")
	if len(name) < 4 {
		return "", fault("plan-unknown", "", "%q is no plan: give 4 digits or more", name)
	}
	var found []string
	for id := range s.Plans {
		if strings.HasPrefix(id, "P-"+name) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", fault("plan-unknown", "", "there is no plan P-%s", name)
	case 1:
		return found[0], nil
	}
	return "", fault("plan-unknown", "give more digits", "P-%s may be %s", name, strings.Join(found, ", "))
}

// readPlan reads a registered plan and holds its bytes to what was registered.
func readPlan(r *store.Reader, s *State, name string) (id string, p *Plan, err error) {
	if id, err = resolvePlan(s, name); err != nil {
		return "", nil, err
	}
	f, err := r.Read(planName(id))
	if err != nil {
		return "", nil, err
	}
	if string(f.Digest) != s.Plans[id].SHA256 {
		return "", nil, fault("plan-changed", again(id), "the plan %s is not what was printed", id)
	}
	p = &Plan{}
	if err = readDocument("the plan "+id, f.Data, p); err == nil {
		p.renew(id, s)
	}
	return id, p, err
}

// renew gives what still waits of a plan the key that its project has by now.
func (p *Plan) renew(id string, s *State) {
	moved := map[string]string{}
	for _, d := range p.Decisions {
		if w, ok := s.Pending[d.ID]; ok && w.Plan == id && w.Scope != d.ScopeKey {
			moved[d.ScopeKey] = w.Scope
		}
	}
	for _, d := range p.Decisions {
		if to, ok := moved[d.ScopeKey]; ok {
			d.ScopeKey = to
			d.RuleID = d.ruleID()
		}
	}
	for i, t := range p.Targets {
		if to, ok := moved[t.Scope]; ok {
			p.Targets[i].Scope = to
		}
	}
	for from, to := range moved {
		p.Guard.Scopes[to] += p.Guard.Scopes[from]
		delete(p.Guard.Scopes, from)
	}
}

// again is the way on from a plan that is lost, whose records are settled.
func again(plan string) string {
	return fmt.Sprintf("restore it from a backup; if there is none, close its items (agentsmd reject %s N --reason …), and review the words once more: agentsmd collect --include processed", plan)
}

// label is what a difference calls a file: its name, with the directory that it is in.
func label(path string) string { return filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path) }

// unified is the difference of two texts of a file, with 3 lines of context. It is kept in plans, log and
// reports, so a credential that stands in the file is none in it.
func unified(path string, before, after []byte) string {
	if string(before) == string(after) {
		return ""
	}
	text, _ := boundary.Redact(string(diff.Diff("a/"+path, before, "b/"+path, after)))
	return text
}

// issues collects what is wrong with a plan.
type issues struct{ list []PlanIssue }

func (i *issues) add(d *Decision, err error) bool {
	if err == nil {
		return false
	}
	id := ""
	if d != nil {
		id = d.ID
	}
	var refusal *boundary.Refusal
	if asRefusal(err, &refusal) {
		for _, v := range refusal.Violations {
			i.list = append(i.list, PlanIssue{v.Code, id, fmt.Sprintf("%s: %s: %s %s", refusal.Source, v.Code, v.Pointer, v.Message), v.Hint, refusal.ExitCode()})
		}
		return true
	}
	code, exit := codeOf(err)
	same := func(o PlanIssue) bool { return o.Code == code && o.Message == err.Error() }
	if !slices.ContainsFunc(i.list, same) { // what is wrong with a file is so for each of its decisions
		i.list = append(i.list, PlanIssue{code, id, err.Error(), hintOf(err), exit})
	}
	return true
}

// exit is the first present of 3, 2, 4, 1.
func (i *issues) exit() int {
	for _, e := range []int{3, 2, 4, 1} {
		if slices.ContainsFunc(i.list, func(p PlanIssue) bool { return p.exit == e }) {
			return e
		}
	}
	return 0
}
