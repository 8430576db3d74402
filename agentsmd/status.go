package agentsmd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/store"
)

// Statement is a text that is confirmed about the state itself.
func (k *Keeper) Statement(action, subject, card string) approval.Statement {
	return approval.Statement{
		Domain: "agentsmd", Action: action, Subject: subject, Digest: digest([]byte(card)), Repository: digest([]byte(k.Dir))[:32],
		Issued: k.Env.Now().UTC().Truncate(1e9), Nonce: approval.NewNonce(), Card: card,
	}
}

// Show is a registered plan as a person sees it, with where its items stand now. Without numbers
// it is all of it.
func (k *Keeper) Show(ctx context.Context, plan string, numbers []int) (out Planned, err error) {
	err = k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		id, p, err := readPlan(r, s, plan)
		if err != nil {
			return err
		}
		for _, d := range p.Decisions {
			d.Status = standing(s, id, d)
		}
		out = planned(id, p)
		if len(numbers) == 0 {
			return nil
		}
		for _, n := range numbers {
			if p.number(n) == nil {
				return fault("selection-unknown", "agentsmd show "+id, "%s has no number %d", id, n)
			}
		}
		out.Settled = []NoOpItem{}
		out.Items = slices.DeleteFunc(out.Items, func(i Item) bool { return !slices.Contains(numbers, i.Number) })
		return nil
	})
	return out, err
}

// standing is where a decision of a plan stands now.
func standing(s *State, plan string, d *Decision) Status {
	credit := s.Plans[plan].Credit
	if d.Number == 0 || slices.Contains(credit.Applied, d.ID) {
		if d.Number > 0 {
			return Applied
		}
		return d.Status
	}
	for _, c := range credit.Rejected {
		if id, how, _ := strings.Cut(c, " "); id == d.ID {
			return Status(how)
		}
	}
	return d.Status
}

// StatusDocument is the result of status.
type StatusDocument struct {
	SchemaVersion int           `json:"schema_version"`
	Runs          []string      `json:"runs"` // that are open
	Pending       []StatusItem  `json:"pending"`
	Closed        []ClosedRule  `json:"closed"` // withdrawn and rejected
	Preferences   Preferences   `json:"preferences"`
	Blocks        []StatusBlock `json:"blocks"`
	Recovery      string        `json:"recovery"` // what must be recovered first; "" if nothing
	Problems      []string      `json:"problems"` // plans that are lost
}

// StatusItem is one pending item.
type StatusItem struct {
	Plan   string `json:"plan_id"`
	Number int    `json:"selection_number"`
	Action Action `json:"action"`
	Path   string `json:"path"`
	Text   string `json:"text"`
}

// StatusBlock is a file that was written to.
type StatusBlock struct {
	Path  string     `json:"path"`
	State BlockState `json:"state"` // "" if it cannot be read
	Rules int        `json:"rules"`
}

// Status is what there is to go on with.
func (k *Keeper) Status(ctx context.Context) (out StatusDocument, err error) {
	err = k.Store.View(ctx, func(r *store.Reader) error {
		out = StatusDocument{SchemaVersion: SchemaVersion, Runs: []string{}, Pending: []StatusItem{}, Closed: []ClosedRule{}, Blocks: []StatusBlock{}, Problems: []string{}}
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		out.Preferences = s.Preferences
		for _, id := range slices.Sorted(maps.Keys(s.Runs)) {
			if !s.Runs[id].Published {
				out.Runs = append(out.Runs, id)
			}
		}
		plans := map[string]*Plan{}
		for _, id := range slices.Sorted(maps.Keys(s.Pending)) {
			p := s.Pending[id]
			if plans[p.Plan] == nil {
				if _, plans[p.Plan], err = readPlan(r, s, p.Plan); err != nil {
					plans[p.Plan] = &Plan{}
					out.Problems = append(out.Problems, err.Error())
				}
			}
			item := StatusItem{Plan: p.Plan, Number: p.Number, Action: Action(p.Action)}
			if d := plans[p.Plan].find(id); d != nil {
				if item.Path, item.Text = d.TargetPath, d.Instruction; item.Text == "" {
					item.Text = d.Old
				}
			}
			out.Pending = append(out.Pending, item)
		}
		slices.SortFunc(out.Pending, func(a, b StatusItem) int {
			if c := strings.Compare(a.Plan, b.Plan); c != 0 {
				return c
			}
			return a.Number - b.Number
		})
		for _, entries := range []map[string]Entry{s.Tombstones, s.Rejected} {
			for id, e := range entries {
				out.Closed = append(out.Closed, ClosedRule{id, e.Kind, e.Text, e.At})
			}
		}
		slices.SortFunc(out.Closed, func(a, b ClosedRule) int { return strings.Compare(a.At+a.ID, b.At+b.ID) })
		for _, path := range slices.Sorted(maps.Keys(s.Blocks)) {
			b := StatusBlock{Path: path}
			if f, err := readTarget(path); err == nil {
				b.State, _ = k.standing(ctx, s, f, s.Blocks[path].Scope)
				b.Rules = len(f.block.Rules)
			}
			out.Blocks = append(out.Blocks, b)
		}
		left, err := r.Effects()
		if len(left) > 0 {
			out.Recovery = "an apply was interrupted: run `agentsmd recover`"
		}
		return err
	})
	if out.Recovery != "" {
		if release, busy := k.Store.Hold(ctx); errors.Is(busy, store.ErrBusy) {
			out.Recovery = "an apply is at work just now"
		} else if busy == nil {
			release()
		}
	}
	return out, err
}

// Report is what a call did, or all calls about a plan; the last one if neither is named.
func (k *Keeper) Report(ctx context.Context, call string) (rep Report, err error) {
	err = k.Store.View(ctx, func(r *store.Reader) error {
		names, err := r.Names(store.Private, "reports")
		if err != nil {
			return err
		}
		if call == "" {
			if call, err = lastReport(r, names); err != nil {
				return err
			}
		}
		if strings.HasPrefix(call, "P-") {
			return ofPlan(r, call, names, &rep)
		}
		var found []string
		for _, n := range names {
			if id := strings.TrimSuffix(n, ".json"); id == call || call != "" && strings.HasPrefix(id, call) {
				found = append(found, id)
			}
		}
		if len(found) != 1 {
			return fault("call-unknown", "", "no report is that of %q", call)
		}
		f, err := r.Read(reportName(found[0]))
		if err != nil {
			return err
		}
		return readDocument("the report "+found[0], f.Data, &rep)
	})
	return rep, err
}

// ofPlan joins the reports of all calls about a plan, oldest first.
func ofPlan(r *store.Reader, plan string, names []string, rep *Report) error {
	s, _, err := loadState(r)
	if err != nil {
		return err
	}
	id, err := resolvePlan(s, plan)
	if err != nil {
		return err
	}
	*rep = Report{SchemaVersion: SchemaVersion, Plan: id, Run: s.Plans[id].Run, Mode: s.Plans[id].Mode, Results: []Result{}}
	for _, n := range names {
		f, err := r.Read(store.Name{Root: store.Private, Path: "reports/" + n})
		var one Report
		if err == nil {
			err = readDocument("the report "+n, f.Data, &one)
		}
		if err != nil {
			return err
		}
		if one.Plan == id {
			rep.At, rep.Checkpoint = one.At, rep.Checkpoint || one.Checkpoint
			rep.Results, rep.Notes = append(rep.Results, one.Results...), append(rep.Notes, one.Notes...)
		}
	}
	return nil
}

// lastReport is the last call of the log that has a report: ids of one second have no order.
func lastReport(r *store.Reader, names []string) (string, error) {
	lines, err := r.Tail(AuditLog, 1<<20)
	if err != nil {
		return "", err
	}
	for _, line := range slices.Backward(lines) {
		var e struct {
			Call string `json:"call_id"`
		}
		if json.Unmarshal(line, &e) == nil && slices.Contains(names, e.Call+".json") {
			return e.Call, nil
		}
	}
	return "", fault("call-unknown", "", "nothing was reported yet")
}

// closedItem is the refusal of an item that is not pending: it names what closed it.
func closedItem(s *State, plan string, d *Decision) error {
	return fault("decision-closed", "", "item %d is %s", d.Number, standing(s, plan, d))
}
