package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// What a user does by himself: withdraw a rule, bring one back, take over what a hand wrote, and
// say what he prefers.

// OwnOptions are those of withdraw and restore.
type OwnOptions struct {
	Rule   string // its text; for restore also the id of a tombstone
	Dir    string // of the project
	Global bool
	Said   Said
}

// Withdraw takes a rule out of its file and keeps it out.
func (k *Keeper) Withdraw(ctx context.Context, o OwnOptions) (Report, error) {
	return k.own(ctx, o, "withdrawn", func(s *State, scope string) (DecisionPayload, error) {
		p := DecisionPayload{Action: Remove, Old: o.Rule}
		if e, ok := s.Rejected[RuleID(KindRemoval, scope, o.Rule)]; ok && e.Kind == KindRemoval { // the user's words of now outrank it
			p.Override, p.OverrideIDs = true, []string{RuleID(KindRemoval, scope, o.Rule)}
		}
		return p, nil
	})
}

// Restore brings a rule back that was withdrawn or rejected.
func (k *Keeper) Restore(ctx context.Context, o OwnOptions) (Report, error) {
	return k.own(ctx, o, "restored", func(s *State, scope string) (DecisionPayload, error) {
		id := o.Rule
		if !strings.HasPrefix(id, "C-") {
			id = RuleID(KindRule, scope, o.Rule)
		}
		p := DecisionPayload{Action: Add, Instruction: o.Rule}
		tomb, dead := s.Tombstones[id]
		no, rejected := s.Rejected[id]
		switch {
		case dead && tomb.Scope == scope:
			p.Instruction = tomb.Text
		case rejected && no.Scope == scope && no.Kind != KindRemoval:
			p.Instruction = no.Text
		case rejected && no.Scope == scope:
			return p, fault("rule-unknown", fmt.Sprintf("agentsmd withdraw %q does it", no.Text), "what was rejected is that the rule goes")
		case !dead && !rejected && !strings.HasPrefix(o.Rule, "C-") && deletedRule(s, scope, o.Rule):
		default:
			return p, fault("rule-unknown", "`agentsmd status` lists what is closed", "nothing of that text was withdrawn or rejected there")
		}
		if p.Restore = true; dead {
			p.RestoreIDs = []string{id}
		}
		if rejected {
			p.Override, p.OverrideIDs = true, []string{id}
		}
		return p, nil
	})
}

// deletedRule reports a rule that was written there once: somebody may have taken it away.
func deletedRule(s *State, scope, text string) bool {
	_, ok := s.RuleEvidence[RuleID(KindRule, scope, text)]
	return ok
}

// own makes a record of the user's own words, one decision of it, and plans and applies that
// under one lock.
func (k *Keeper) own(ctx context.Context, o OwnOptions, event string, make func(*State, string) (DecisionPayload, error)) (rep Report, err error) {
	if Norm(o.Rule) == "" {
		return rep, fault("rule-unknown", "", "which rule?")
	}
	if err := k.mend(ctx); err != nil {
		return rep, err
	}
	s, err := k.state(ctx)
	if err != nil {
		return rep, err
	}
	root, scope := "", GlobalScope
	if !o.Global {
		p, ok, err := k.project(ctx, o.Dir, s)
		if err != nil {
			return rep, err
		}
		if !ok {
			return rep, fault("no-directory", "", "%s is no directory", o.Dir)
		}
		root, scope = p.Root, ProjectScope(p.Key)
	}
	payload, err := make(s, scope)
	if err != nil {
		return rep, err
	}
	for _, text := range append([]string{o.Rule, payload.Instruction, payload.Old}, payload.OldList...) {
		if err := tellable(text, "the rule"); err != nil {
			return rep, err
		}
	}
	words, _, _ := cleanText(o.Said.Words)
	if words == "" {
		words = fmt.Sprintf("%s: %s", event, o.Rule)
	}
	b, err := k.statementBatch(ctx, words, root, s)
	if err != nil {
		return rep, err
	}
	payload.Target, payload.Root = TargetProject, root
	if o.Global {
		payload.Target = TargetGlobal
	}
	payload.Refs, payload.Quotes = []string{b.Records[0].ID}, []QuotePayload{{b.Records[0].ID, words}}
	payload.Confidence, payload.Risk, payload.Global = "high", "low", GlobalDisposition{Status: "project-only", Reason: "The user said it about this file."}
	refs := newReferences(b, k.authority(ctx, s))
	path := k.GlobalPath()
	if !o.Global {
		path = targetPath(root)
	}
	d := decide(payload, nil, refs, b.Run, 0, 0, root, scope, path)
	d.Evidence = []Evidence{{b.Records[0].ID, nil}}

	yes, err := k.ownYes(o, event, path)
	if err != nil {
		return rep, err
	}
	if err := k.enough(ctx, root, yes); err != nil {
		return rep, err
	}
	release, err := k.begin(ctx)
	if err != nil {
		return rep, err
	}
	defer release()
	var out Planned
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		r := &reconciling{k: k, ctx: ctx, o: ReconcileOptions{Run: b.Run, Mode: Suggest}, tx: tx, batch: b, refs: refs, all: []*Decision{d}, yes: &yes, event: event}
		var f store.File
		var err error
		if r.state, f, err = loadState(&tx.Reader); err != nil {
			return err
		}
		e, sum, err := putBatch(tx, r.state, b)
		if err != nil {
			return err
		}
		r.old, r.sum, r.before = f.Digest, sum, []AuditEntry{e}
		r.plan = &Plan{
			SchemaVersion: SchemaVersion, Run: b.Run, Mode: Suggest, CreatedAt: k.now(), GuideVersion: GuideVersion, CodexHome: b.CodexHome, Batch: sum,
			AllowedRoots: b.AllowedRoots, ExplicitRoots: b.ExplicitRoots, RecordIDs: b.RecordIDs, Guard: guardOf(r.state),
		}
		if err := r.decide(); err != nil {
			return err
		}
		if out, err = r.publish(); err == nil && out.Exit != 0 { // nothing is kept of what cannot be done
			err = issueError(out)
		}
		return err
	})
	if err != nil {
		return rep, err
	}
	if len(out.Items) == 0 { // it says so already
		return Report{SchemaVersion: SchemaVersion, Run: b.Run, At: k.now(), Mode: Suggest, Plan: out.Plan, Results: []Result{{Path: path, Scope: scope, Status: "no-op", Notes: []string{out.Settled[0].Why}, Commit: ReportCommit{Status: "none", Reason: nothing}}}}, nil
	}
	a, err := k.judged(ctx, ApplyOptions{Plan: out.Plan, All: true, Said: o.Said})
	if err == nil {
		a.event = event
		err = a.agreed(ctx, yes)
	}
	if err == nil {
		rep, err = a.write(ctx)
	}
	if err != nil && !errors.Is(err, errCrash) || rep.Exit != 0 { // his next word is another act
		k.drop(ctx, out.Plan)
	}
	return rep, err
}

// ownYes is the user's yes to his own act: the words that he gave, or a yes on the terminal.
func (k *Keeper) ownYes(o OwnOptions, event, path string) (Yes, error) {
	if o.Said.Words != "" {
		return said(o.Said), nil
	}
	if o.Said.Confirm == nil {
		return Yes{}, approval.ErrNoTerminal
	}
	g, err := o.Said.Confirm(k.Statement(map[string]string{"withdrawn": "withdraw", "restored": "restore"}[event], filepath.Base(filepath.Dir(path))+"/"+FileName, path+"\n   "+o.Rule))
	return Yes{Method: g.Method, Text: g.Statement.Text(), Proof: g.Proof}, err
}

// issueError is the first error of a plan that was not registered.
func issueError(p Planned) error {
	for _, e := range p.Errors {
		if e.exit == p.Exit {
			if r, ok := exits()[e.Code]; ok {
				return &Fault{e.Code, strings.TrimPrefix(e.Message, e.Code+": "), r.next}
			}
			return &exitError{e.Message, e.exit}
		}
	}
	return fmt.Errorf("the plan has errors")
}

type exitError struct {
	text string
	code int
}

func (e *exitError) Error() string { return e.text }
func (e *exitError) ExitCode() int { return e.code }

// statementBatch is a batch of one record: what the user says now.
func (k *Keeper) statementBatch(ctx context.Context, words, root string, s *State) (*Batch, error) {
	run, err := k.stamp()
	if err != nil {
		return nil, err
	}
	at := k.Env.Now().UTC().Format(time.RFC3339Nano)
	r := Record{
		ID: id("R", "statement", run, "1"), SourceName: "statement", Session: run, Turn: "statement", Outcome: Complete, User: words, StartedAt: &at, EndedAt: &at,
		Source: SourceRef{LineStart: 1, LineEnd: 1, ByteEnd: int64(len(words)), SHA256: digest([]byte(words))},
	}
	r.Refs = []string{r.ID, run + "/statement"}
	b := &Batch{
		SchemaVersion: SchemaVersion, Run: run, CreatedAt: k.now(), CodexHome: k.CodexHome, ClaudeHome: k.ClaudeHome, Projects: map[string]ProjectID{}, Cursors: map[string]Cursor{},
		CurrentSessions: []string{run}, RecordIDs: []string{r.ID}, Episodes: []Episode{{id("E", r.ID), r.ID, nil}}, Counts: map[string]int{"records": 1},
	}
	if root != "" {
		p, _, err := k.project(ctx, root, s)
		if err != nil {
			return nil, err
		}
		r.ProjectRoot, r.ProjectKey, r.Cwd = &root, &p.Key, &root
		b.AllowedRoots, b.ExplicitRoots = []string{root}, []string{root}
		b.Projects[p.Key] = ProjectID{[]string{root}, p.RootCommits}
	}
	b.Records = []Record{r}
	return b, nil
}

// Adopted is the result of adopt.
type Adopted struct {
	SchemaVersion int      `json:"schema_version"`
	Path          string   `json:"path"`
	Hand          []string `json:"hand"`      // rules that are taken over
	Withdrawn     []string `json:"withdrawn"` // rules that were taken away
	Legacy        string   `json:"legacy"`    // tool whose markers became ours
	Foreign       int      `json:"foreign"`   // runs of lines that are no rules, and stay
}

// Adopt records a yes to what stands in a block: rules that a hand wrote are kept as such, rules
// that it took away are withdrawn. No rule is rewritten; of an earlier tool's block the two
// marker lines become ours.
func (k *Keeper) Adopt(ctx context.Context, path string, confirm func(approval.Statement) (approval.Given, error)) (out Adopted, err error) {
	path, err = cleanPath(path)
	if err != nil {
		return out, err
	}
	if err := k.mend(ctx); err != nil {
		return out, err
	}
	s, err := k.state(ctx)
	if err != nil {
		return out, err
	}
	plan, err := k.adoption(ctx, path, s)
	if err != nil {
		return out, err
	}
	if confirm == nil {
		return out, approval.ErrNoTerminal
	}
	card := plan.card()
	given, err := confirm(approval.Statement{
		Domain: "agentsmd", Action: "adopt", Subject: filepath.Base(filepath.Dir(path)) + "/" + FileName, Digest: digest([]byte(card)), Repository: digest([]byte(k.Dir))[:32],
		Issued: k.Env.Now().UTC().Truncate(time.Second), Nonce: approval.NewNonce(), Card: strings.TrimRight(card, "\n"),
	})
	if err != nil {
		return out, err
	}
	yes := Yes{Method: given.Method, Text: given.Statement.Text(), Proof: given.Proof, At: k.now()}
	root := filepath.Dir(path)
	if path == k.GlobalPath() {
		root = ""
	}
	if err := k.enough(ctx, root, yes); err != nil {
		return out, err
	}
	release, err := k.begin(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	unlock, err := lockRoot(filepath.Dir(path))
	if err != nil {
		return out, err
	}
	defer unlock()
	call, err := k.stamp()
	if err != nil {
		return out, err
	}
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		now, err := k.adoption(ctx, path, s)
		if err != nil {
			return err
		}
		if now.card() != card {
			return fault("target-changed", "run it again", "%s changed while it was confirmed", path)
		}
		out = now.Adopted
		if now.bytes != nil {
			if err := tx.Put(store.Record, now.file.name(), now.bytes, now.file.digest()); err != nil {
				return err
			}
		}
		return record(tx, s, f.Digest, AuditEntry{Call: call, At: k.now(), Event: "adopted", Target: &AuditTarget{Path: path, Old: string(now.file.digest()), New: digest(now.after())}, Approval: &yes, Effects: now.effects})
	})
	return out, err
}

type adoption struct {
	Adopted
	file    *file
	bytes   []byte // new ones; nil if the file stays as it is
	effects []Effect
}

func (a *adoption) after() []byte {
	if a.bytes != nil {
		return a.bytes
	}
	return a.file.src
}

func (a *adoption) card() string {
	var b strings.Builder
	fmt.Fprintf(&b, "take over the block of %s\n", a.Path)
	for _, r := range a.Hand {
		fmt.Fprintf(&b, "   keep      %s\n", r)
	}
	for _, r := range a.Withdrawn {
		fmt.Fprintf(&b, "   withdraw  %s\n", r)
	}
	if a.Legacy != "" {
		fmt.Fprintf(&b, "   the markers of %s become ours\n", a.Legacy)
	}
	if a.Foreign > 0 {
		fmt.Fprintf(&b, "   other lines stay as they are\n")
	}
	return b.String()
}

// tellable refuses a rule that must not go into the log, or that a person could not see as it is.
func tellable(text, where string) error {
	if what := boundary.Secret(text); what != "" {
		return &Fault{"boundary/secret-found", fmt.Sprintf("%s holds %s, and the log would keep it", where, what), "take it out of the file by hand, and change it if it is a real one: it was shown to a program that it is not for"}
	}
	if finding.Clean(text) != text {
		return fault("rule-text", "reword it in the file first", "%s holds characters that cannot be seen: %s", where, strconv.QuoteToASCII(text))
	}
	return nil
}

// adoption is what adopting a file would do.
func (k *Keeper) adoption(ctx context.Context, path string, s *State) (*adoption, error) {
	f, err := readTarget(path)
	if err != nil {
		return nil, err
	}
	if err := k.merged(ctx, path); err != nil {
		return nil, err
	}
	scope := GlobalScope
	if path != k.GlobalPath() {
		p, ok, err := k.project(ctx, filepath.Dir(path), s)
		if err != nil {
			return nil, err
		}
		if !ok || path != targetPath(p.Root) {
			return nil, fault("root-not-allowed", "name the AGENTS.md at the top of the project", "%s is not at the top of its project", path)
		}
		scope = ProjectScope(p.Key)
	}
	if !f.block.Present && published(s, path, scope) == nil {
		return nil, fault("rule-unknown", "", "%s has no managed block", path)
	}
	a := &adoption{Adopted: Adopted{SchemaVersion: SchemaVersion, Path: path, Hand: []string{}, Withdrawn: []string{}, Legacy: f.block.Legacy, Foreign: len(f.block.Foreign)}, file: f}
	at := k.now()
	touched := false
	for _, r := range f.block.Rules {
		c := RuleID(KindRule, scope, r.Text)
		if _, ok := s.RuleEvidence[c]; ok {
			continue
		}
		line, _ := f.block.Position(r.Lines.Start)
		if err := tellable(r.Text, fmt.Sprintf("%s:%d", path, line)); err != nil {
			return nil, err
		}
		a.Hand = append(a.Hand, r.Text)
		a.effects = append(a.effects, Effect{Op: opLift, IDs: []string{c}}, Effect{Op: opRule, ID: c, Rule: &RuleEvidence{Path: path, Scope: scope, Text: r.Text, Hand: true, Evidence: []Evidence{}, Replaced: []string{}, UpdatedAt: at}})
		touched = true
	}
	for _, text := range k.takenOut(ctx, s, f, scope) {
		c := RuleID(KindRule, scope, text)
		e := s.RuleEvidence[c] // none of a rule that came from somebody else
		a.Withdrawn = append(a.Withdrawn, text)
		a.effects = append(a.effects, Effect{Op: opTombstone, ID: c, Entry: &Entry{Kind: KindRule, Scope: scope, Text: text, Norm: NormVersion, Evidence: orNone(e.Evidence), Decision: e.Decision, Reason: "taken out by hand", At: at}}, Effect{Op: opRuleGone, ID: c})
		touched = true
	}
	if touched {
		a.effects = append(a.effects, Effect{Op: opRevision, Scope: scope})
	}
	var body []byte
	if f.block.Present {
		body = f.block.Body()
	}
	if f.block.Legacy != "" {
		out, err := compose(f.block, path, f.src, nil, false, true)
		if err != nil {
			return nil, err
		}
		a.bytes = out.Bytes
	}
	a.effects = append(a.effects, Effect{Op: opBlock, ID: path, Block: &Published{Scope: scope, Body: digest(body), Rules: f.block.Keys(), Earlier: []string{}, At: at}})
	return a, nil
}

// PreferCommit says whether confirmed rules are committed.
func (k *Keeper) PreferCommit(ctx context.Context, value string, yes Yes) error {
	return k.prefer(ctx, yes, Effect{Op: opCommit, Text: value})
}

// MaxAutoDays is how long Auto may be allowed at most; DefaultAutoDays unless a day is named.
const (
	MaxAutoDays     = 366
	DefaultAutoDays = 90
)

// AutoPaths are the files that a person names for Auto.
func (k *Keeper) AutoPaths(ctx context.Context, roots []string, global bool) (paths []string, err error) {
	s, err := k.state(ctx)
	if err != nil {
		return nil, err
	}
	all, err := k.roots(ctx, roots, s)
	if err != nil {
		return nil, err
	}
	for _, root := range all {
		paths = append(paths, targetPath(root))
	}
	if global {
		paths = append(paths, k.GlobalPath())
	}
	return paths, nil
}

// PreferAuto allows changes of files without a question, until a day.
func (k *Keeper) PreferAuto(ctx context.Context, paths []string, until string, yes Yes) error {
	var effects []Effect
	for _, p := range paths {
		effects = append(effects, Effect{Op: opAuto, Auto: &AutoFile{p, until}})
	}
	return k.prefer(ctx, yes, effects...)
}

// PreferNoAuto takes every such permission back.
func (k *Keeper) PreferNoAuto(ctx context.Context, yes Yes) error {
	return k.prefer(ctx, yes, Effect{Op: opAutoOff})
}

func (k *Keeper) prefer(ctx context.Context, yes Yes, effects ...Effect) error {
	release, err := k.begin(ctx)
	if err != nil {
		return err
	}
	defer release()
	call, err := k.stamp()
	if err != nil {
		return err
	}
	if yes.At == "" {
		yes.At = k.now()
	}
	yes.Words, _ = boundary.Redact(yes.Words)
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		return record(tx, s, f.Digest, AuditEntry{Call: call, At: k.now(), Event: "preference", Approval: &yes, Effects: effects})
	})
	return err
}

// Preferences are those of the state.
func (k *Keeper) Preferences(ctx context.Context) (Preferences, error) {
	s, err := k.state(ctx)
	if err != nil {
		return Preferences{}, err
	}
	return s.Preferences, nil
}
