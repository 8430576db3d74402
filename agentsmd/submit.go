package agentsmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"assent/boundary"
	"assent/store"
)

// submitted is what was taken for a chunk.
type submitted struct {
	SchemaVersion int               `json:"schema_version"`
	Run           string            `json:"run_id"`
	Chunk         int               `json:"chunk"`
	ChunkSHA256   string            `json:"chunk_sha256"`
	Decisions     []DecisionPayload `json:"decisions"`
}

// reviewed is what was taken for the global pass.
type reviewed struct {
	SchemaVersion int            `json:"schema_version"`
	Run           string         `json:"run_id"`
	Bundle        string         `json:"candidates_sha256"`
	Groups        []GroupPayload `json:"groups"`
}

// SubmitDecisions takes the decisions about a chunk, in place of earlier ones, until the run is
// published.
func (k *Keeper) SubmitDecisions(ctx context.Context, in io.Reader, run string, chunk int, door boundary.Door) (boundary.Answer, error) {
	if err := k.mend(ctx); err != nil {
		return boundary.Answer{}, err
	}
	s, err := k.state(ctx)
	if err != nil {
		return boundary.Answer{}, err
	}
	if run, err = openRun(s, run); err != nil {
		return boundary.Answer{}, err
	}
	door.Env, door.Store, door.Call = k.Env, k.Store, k.Call
	p := RuleDecisions.Parse(in, "<stdin>")
	return RuleDecisions.Submit(ctx, p, door, boundary.Task[DecisionPayload, reviewing]{
		World: func(ctx context.Context) (w reviewing, err error) {
			err = k.Store.View(ctx, func(r *store.Reader) error {
				w, err = k.reviewing(ctx, r, run, chunk)
				return err
			})
			return w, err
		},
		Write: func(tx *store.Tx, p *boundary.Payload[DecisionPayload], w reviewing) (boundary.Taken, error) {
			doc := submitted{SchemaVersion: SchemaVersion, Run: run, Chunk: chunk, ChunkSHA256: w.chunk}
			var ids []string
			labels := map[string]bool{}
			for i, item := range p.Items {
				if l := item.Value.Label; l != "" && labels[l] {
					return boundary.Taken{}, p.Object("agentsmd/label", "", "the label %s stands twice", l)
				}
				labels[item.Value.Label] = true
				doc.Decisions = append(doc.Decisions, item.Value)
				ids = append(ids, k.decided(item, w, i).ID)
			}
			if err := rewrite(tx, submittedName(run, chunk), doc); err != nil {
				return boundary.Taken{}, err
			}
			// What was said about all projects was said about other decisions.
			return boundary.Taken{IDs: ids}, removeAll(tx, "runs/"+run+"/global")
		},
		Holds: func(a boundary.Answer, w reviewing) bool { return false },
	})
}

func rewrite(tx *store.Tx, n store.Name, v any) error {
	data, err := Document(v)
	if err != nil {
		return err
	}
	old, err := tx.Read(n)
	if err != nil {
		return err
	}
	return tx.Put(store.State, n, data, old.Digest)
}

// decided is the decision that a judged item makes.
func (k *Keeper) decided(i *boundary.Item[DecisionPayload], w reviewing, position int) *Decision {
	var quotes []boundary.Grounded
	for n := range i.Value.Quotes {
		quotes = append(quotes, i.Quotes[fmt.Sprintf("/evidence_quotes/%d/quote", n)])
	}
	root := w.rootOf(i.Value)
	path := k.GlobalPath()
	if i.Value.Target == TargetProject {
		path = targetPath(root)
	} else {
		root = ""
	}
	return decide(i.Value, quotes, w.refs, w.run, w.number, position, root, w.scopeOf(i.Value), path)
}

// reviewing is the world of a chunk.
func (k *Keeper) reviewing(ctx context.Context, r *store.Reader, run string, number int) (w reviewing, err error) {
	s, _, err := loadState(r)
	if err != nil {
		return w, err
	}
	b, sum, err := readBatch(r, s, run)
	if err != nil {
		return w, err
	}
	if err := k.homeOf(b); err != nil {
		return w, err
	}
	m, err := readManifest(r, s, run, sum)
	if err != nil {
		return w, err
	}
	c, err := readChunk(r, m, number)
	if err != nil {
		return w, err
	}
	w = reviewing{refs: newReferences(b, k.authority(ctx, s)), state: s, run: run, number: number, root: orEmpty(c.Root), done: s.Runs[run].Published, labels: map[string]bool{}}
	w.scopes = k.scopes(ctx, b, s)
	for _, ref := range m.Chunks {
		if ref.Number == number {
			w.chunk = ref.SHA256
			continue
		}
		doc, ok, err := readSubmitted(r, run, ref.Number)
		if err != nil {
			return w, err
		}
		for _, d := range doc.Decisions {
			if ok && d.Label != "" {
				w.labels[d.Label] = true
			}
		}
	}
	return w, nil
}

// scopes are the scope keys of the roots of a batch.
func (k *Keeper) scopes(ctx context.Context, b *Batch, s *State) map[string]string {
	out := map[string]string{}
	for key, p := range b.Projects {
		for _, root := range p.Roots {
			out[root] = ProjectScope(key)
		}
	}
	for _, root := range b.AllowedRoots { // the key may be another since: the history became complete
		if p, ok, err := k.project(ctx, root, s); err == nil && ok && p.Root == root {
			out[root] = ProjectScope(p.Key)
		}
	}
	return out
}

func readSubmitted(r *store.Reader, run string, number int) (doc submitted, ok bool, err error) {
	f, err := r.Read(submittedName(run, number))
	if err != nil || f.Digest == "" {
		return doc, false, err
	}
	return doc, true, readDocument("a submission", f.Data, &doc)
}

// rejudge judges what was taken for a chunk once more, in the present world, and returns its
// decisions.
func (k *Keeper) rejudge(ctx context.Context, r *store.Reader, m *Manifest, number int) ([]*Decision, error) {
	doc, ok, err := readSubmitted(r, m.Run, number)
	if err != nil {
		return nil, err
	}
	w, err := k.reviewing(ctx, r, m.Run, number)
	if err != nil {
		return nil, err
	}
	if !ok || doc.ChunkSHA256 != w.chunk {
		return nil, fault("chunk-open", fmt.Sprintf("agentsmd submit decisions --chunk %d", number), "the chunk %d of %s has no decisions", number, m.Run)
	}
	w.done = false
	data, err := json.Marshal(doc.Decisions)
	if err != nil {
		return nil, err
	}
	p := RuleDecisions.Parse(bytes.NewReader(data), fmt.Sprintf("chunk %d", number))
	if err := RuleDecisions.Judge(ctx, p, w); err != nil {
		return nil, err
	}
	if len(p.Items) == 0 {
		return nil, fault("decisions-empty", "", "the chunk %d of %s has no decision", number, m.Run)
	}
	var out []*Decision
	for i, item := range p.Items {
		out = append(out, k.decided(item, w, i))
	}
	return out, nil
}

// allDecisions are those of all chunks, in order.
func (k *Keeper) allDecisions(ctx context.Context, r *store.Reader, m *Manifest) (out []*Decision, err error) {
	for _, c := range m.Chunks {
		list, err := k.rejudge(ctx, r, m, c.Number)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// Candidates makes the bundle of the global pass, once every chunk has its decisions.
func (k *Keeper) Candidates(ctx context.Context, run string) (out Bundle, err error) {
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, _, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		if run, err = openRun(s, run); err != nil {
			return err
		}
		if out, err = k.bundle(ctx, &tx.Reader, s, run); err != nil {
			return err
		}
		return rewrite(tx, bundleName(run), out)
	})
	return out, err
}

func (k *Keeper) bundle(ctx context.Context, r *store.Reader, s *State, run string) (Bundle, error) {
	batch, sum, err := readBatch(r, s, run)
	if err != nil {
		return Bundle{}, err
	}
	if err := k.homeOf(batch); err != nil {
		return Bundle{}, err
	}
	m, err := readManifest(r, s, run, sum)
	if err != nil {
		return Bundle{}, err
	}
	decisions, err := k.allDecisions(ctx, r, m)
	if err != nil {
		return Bundle{}, err
	}
	return bundle(run, decisions, s), nil
}

// passing is the world of the global pass.
func (k *Keeper) passing(ctx context.Context, r *store.Reader, run string) (w passing, err error) {
	s, _, err := loadState(r)
	if err != nil {
		return w, err
	}
	b, err := k.bundle(ctx, r, s, run)
	if err != nil {
		return w, err
	}
	return k.passingOf(ctx, s, b)
}

func (k *Keeper) passingOf(ctx context.Context, s *State, b Bundle) (w passing, err error) {
	data, err := Document(b)
	if err != nil {
		return w, err
	}
	w = passing{run: b.Run, bundle: digest(data), candidates: map[string]Candidate{}, done: s.Runs[b.Run].Published, projects: k.counted(ctx, s)}
	for _, c := range b.Candidates {
		w.candidates[c.ID] = Candidate{c.Instruction, c.Scope, c.Reason, c.Explicit, c.Sources}
	}
	return w, nil
}

// counted is the project that a source counts as for the rule of two: worktrees, clones and
// forks are one; a root that is gone counts not at all.
func (k *Keeper) counted(ctx context.Context, s *State) func(CandidateSource) string {
	of := map[string]string{} // common directory -> key: worktrees of unrelated branches are one, too
	return func(c CandidateSource) string {
		if c.Root == nil {
			return ""
		}
		p, ok, err := k.project(ctx, *c.Root, s)
		if err != nil || !ok {
			return ""
		}
		if p.CommonDir == "" {
			return p.Key
		}
		if of[p.CommonDir] == "" {
			of[p.CommonDir] = p.Key
		}
		return of[p.CommonDir]
	}
}

// SubmitGlobal takes the outcomes of all candidates.
func (k *Keeper) SubmitGlobal(ctx context.Context, in io.Reader, run string, door boundary.Door) (boundary.Answer, error) {
	if err := k.mend(ctx); err != nil {
		return boundary.Answer{}, err
	}
	s, err := k.state(ctx)
	if err != nil {
		return boundary.Answer{}, err
	}
	if run, err = openRun(s, run); err != nil {
		return boundary.Answer{}, err
	}
	door.Env, door.Store, door.Call = k.Env, k.Store, k.Call
	return GlobalReview.Submit(ctx, GlobalReview.Parse(in, "<stdin>"), door, boundary.Task[GroupPayload, passing]{
		World: func(ctx context.Context) (w passing, err error) {
			err = k.Store.View(ctx, func(r *store.Reader) error { w, err = k.passing(ctx, r, run); return err })
			if err == nil && len(w.candidates) == 0 {
				err = fault("global-none", "", "the run %s has no candidate", run)
			}
			return w, err
		},
		Write: func(tx *store.Tx, p *boundary.Payload[GroupPayload], w passing) (boundary.Taken, error) {
			doc := reviewed{SchemaVersion: SchemaVersion, Run: run, Bundle: w.bundle}
			var ids []string
			for _, item := range p.Items {
				doc.Groups = append(doc.Groups, item.Value)
				ids = append(ids, item.Value.Candidates...)
			}
			return boundary.Taken{IDs: ids}, rewrite(tx, reviewName(run), doc)
		},
		Holds: func(boundary.Answer, passing) bool { return false },
	})
}

// promote makes the decisions of the global pass, and says what became of each candidate. A run
// without candidates has passed.
func (k *Keeper) promote(ctx context.Context, r *store.Reader, s *State, b *Batch, all []*Decision) (out []*Decision, effects []Effect, err error) {
	w, err := k.passingOf(ctx, s, bundle(b.Run, all, s))
	if err != nil {
		return nil, nil, err
	}
	if len(w.candidates) == 0 {
		return nil, nil, nil
	}
	f, err := r.Read(reviewName(b.Run))
	if err != nil {
		return nil, nil, err
	}
	var doc reviewed
	if f.Digest != "" {
		if err := readDocument("review.json", f.Data, &doc); err != nil {
			return nil, nil, err
		}
	}
	if f.Digest == "" || doc.Bundle != w.bundle {
		return nil, nil, fault("global-open", "", "%d candidates have no outcome", len(w.candidates))
	}
	w.done = false
	data, err := json.Marshal(doc.Groups)
	if err != nil {
		return nil, nil, err
	}
	p := GlobalReview.Parse(bytes.NewReader(data), "the global review")
	if err := GlobalReview.Judge(ctx, p, w); err != nil {
		return nil, nil, err
	}
	for n, item := range p.Items {
		g := item.Value
		var sources []CandidateSource
		projects := map[string]bool{}
		for _, cid := range g.Candidates {
			for _, src := range w.candidates[cid].Sources {
				sources = append(sources, src)
				if key := w.projects(src); key != "" {
					projects[key] = true
				}
			}
		}
		keys := sortedKeys(projects)
		for _, cid := range g.Candidates {
			c := w.candidates[cid]
			switch g.Outcome {
			case "keep":
				effects = append(effects, Effect{Op: opCandidate, ID: cid, Candidate: &c})
			default:
				effects = append(effects, Effect{Op: opSettled, ID: cid, Settled: &Settled{string(g.Outcome), keys, k.now()}})
			}
		}
		if g.Outcome != "promote" {
			continue
		}
		d := &Decision{ScopeKey: GlobalScope, TargetPath: k.GlobalPath(), Run: b.Run, Candidates: g.Candidates, Projects: keys, Status: Proposed}
		gp := g.Decision
		d.DecisionPayload = DecisionPayload{
			Action: gp.Action, Target: TargetGlobal, Instruction: gp.Instruction, Old: gp.Old, OldList: gp.OldList, Reason: gp.Reason, Semantic: gp.Semantic,
			Explanation: gp.Explanation, Confidence: gp.Confidence, Risk: gp.Risk, Restore: gp.Restore, Override: gp.Override,
			Global: GlobalDisposition{Status: "already-global", Reason: g.Reason},
		}
		for _, src := range sources {
			for _, ref := range src.Refs {
				if !slices.Contains(d.Refs, ref) && len(d.Refs) < 64 {
					d.Refs = append(d.Refs, ref)
				}
			}
			d.Evidence = joinEvidence(d.Evidence, src.Evidence)
			for _, q := range src.Quotes {
				if len(d.Quotes) < 64 && !slices.Contains(d.Quotes, q) {
					d.Quotes = append(d.Quotes, q)
				}
			}
			if src.Root != nil && !slices.Contains(d.SourceRoots, *src.Root) {
				d.SourceRoots = append(d.SourceRoots, *src.Root)
			}
		}
		texts := append([]string{d.Instruction}, d.Olds()...)
		d.ID = id("D", append([]string{b.Run, "global", fmt.Sprint(n), string(d.Action), TargetGlobal, GlobalScope}, texts...)...)
		d.RuleID = d.ruleID()
		for _, local := range all {
			if local.Action.Mutating() && slices.ContainsFunc(sources, func(src CandidateSource) bool { return src.Decision == local.ID }) {
				local.AlternativeTo = d.ID
			}
		}
		out = append(out, d)
	}
	return out, effects, nil
}

func sortedKeys(m map[string]bool) []string {
	out := []string{}
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
