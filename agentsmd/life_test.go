package agentsmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/approval"
	"assent/boundary"
)

// learner is a keeper with a home and a project of its own, and a clock that a test sets.
type learner struct {
	*Keeper
	t    *testing.T
	home string
	dir  string
	at   time.Time
	n    int
}

func learn(t *testing.T) *learner {
	l := &learner{t: t, home: t.TempDir(), dir: t.TempDir(), at: time.Now().UTC().Truncate(time.Second)}
	l.Keeper = keeper(t, l.home)
	l.Env.Now = func() time.Time { return l.at }
	return l
}

// says writes a session in a directory and collects it into chunks.
func (l *learner) says(dir string, texts ...string) Chunked {
	l.t.Helper()
	l.n++
	l.at = l.at.Add(2 * time.Hour) // what is said now is newer than what was decided before
	say(l.t, l.home, fmt.Sprintf("s%d", l.n), dir, l.at.Add(-time.Hour), texts...)
	return l.collects()
}

func (l *learner) collects() Chunked {
	l.t.Helper()
	if _, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1}); err != nil {
		l.t.Fatal(err)
	}
	c, err := l.Chunk(context.Background(), ChunkOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func chunkOf(t *testing.T, path string) (c Chunk) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// d is a decision about the first record of a chunk.
func decisionOf(c Chunk, action Action, fields map[string]any) map[string]any {
	d := map[string]any{"action": action, "target": "project", "evidence_refs": []string{c.Records[0].ID}, "global_disposition": map[string]any{"status": "project-only", "reason": "Here."}}
	if action.Mutating() {
		d["confidence"], d["risk_of_overconstraint"] = "high", "low"
		d["evidence_quotes"] = []map[string]string{{"ref": c.Records[0].ID, "quote": c.Records[0].User}}
	}
	for k, v := range fields {
		d[k] = v
	}
	return d
}

func (l *learner) decides(number int, decisions ...map[string]any) error {
	l.t.Helper()
	data, err := json.Marshal(decisions)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.SubmitDecisions(context.Background(), bytes.NewReader(data), "", number, boundary.Door{})
	return err
}

// plans makes a plan of one decision about what was said.
func (l *learner) plans(dir, text string, action Action, fields map[string]any) Planned {
	l.t.Helper()
	c := l.says(dir, text)
	if err := l.decides(1, decisionOf(chunkOf(l.t, c.Chunks[0].Path), action, fields)); err != nil {
		l.t.Fatal(err)
	}
	return l.reconciles()
}

func (l *learner) reconciles() Planned {
	l.t.Helper()
	out, err := l.Reconcile(context.Background(), ReconcileOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

func (l *learner) applies(p string, numbers ...int) error {
	rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p, Numbers: numbers, Said: Said{Words: "yes"}})
	if err == nil && rep.Exit != 0 {
		err = errors.New(rep.Results[0].Error.Code)
	}
	return err
}

func (l *learner) file(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return string(data)
}

func (l *learner) sound() {
	l.t.Helper()
	if problems, err := l.Verify(context.Background()); err != nil || len(problems) > 0 {
		l.t.Errorf("the state: %v, %v", problems, err)
	}
}

func isCode(err error, code string) bool {
	return err != nil && strings.Contains(err.Error(), "agentsmd/"+code)
}

// A decision with all the words that it may have, and a long yes, fit into the log.
func TestLongEntries(t *testing.T) {
	l := learn(t)
	words := strings.Repeat("wort ", 360)
	var said strings.Builder
	for i := range 31 {
		fmt.Fprintf(&said, "nummer %d %s\n", i, words)
	}
	c := l.says(l.dir, said.String())
	chunk := chunkOf(t, c.Chunks[0].Path)
	var quotes []map[string]string
	for i := range 31 {
		quotes = append(quotes, map[string]string{"ref": chunk.Records[0].ID, "quote": fmt.Sprintf("nummer %d %s", i, strings.TrimSpace(words))})
	}
	if err := l.decides(1, decisionOf(chunk, Add, map[string]any{"instruction": "Run gofmt.", "evidence_quotes": quotes})); err != nil {
		t.Fatal(err)
	}
	p := l.reconciles()
	rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Numbers: []int{1}, Said: Said{Confirm: func(s approval.Statement) (approval.Given, error) {
		return approval.Given{Method: approval.MethodTerminal, Statement: s}, nil
	}}})
	if err != nil || rep.Exit != 0 {
		t.Fatal(err, rep)
	}
	l.sound()
	why, err := l.Why(context.Background(), "Run gofmt.", ".")
	if err != nil || len(why.History) != 2 {
		t.Errorf("%v, %+v", err, why)
	}
}

// Texts that JSON makes longer do not make a batch that cannot be written.
func TestBatchOfEscapes(t *testing.T) {
	l := learn(t)
	var texts []string
	for i := range 130 {
		texts = append(texts, fmt.Sprint(i)+strings.Repeat(`{"a":"\n"},`, 5500))
	}
	say(t, l.home, "s", l.dir, l.at.Add(-time.Hour), texts...)
	got, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1})
	if err != nil || !got.More || got.Counts["records"] == 0 || got.Counts["records"] == 130 {
		t.Errorf("%v, %+v", err, got.Counts)
	}
}

// An item, its edit, and the edit of that are answered together, whichever is taken.
func TestAmendChain(t *testing.T) {
	l := learn(t)
	p := l.plans(l.dir, "Run gofmt now.", Add, map[string]any{"instruction": "Run gofmt."})
	second, err := l.Amend(context.Background(), AmendOptions{Plan: p.Plan, Number: 1, Text: "Run gofmt first."})
	if err != nil {
		t.Fatal(err)
	}
	sibling, err := l.Amend(context.Background(), AmendOptions{Plan: p.Plan, Number: 1, Text: "Run gofmt last."})
	if err != nil {
		t.Fatal(err)
	}
	third, err := l.Amend(context.Background(), AmendOptions{Plan: second.Plan, Number: 1, Text: "Run gofmt always.", Apply: true, Said: Said{Words: "so"}})
	if err != nil || third.Exit != 0 {
		t.Fatal(err, third)
	}
	for _, plan := range []string{p.Plan, second.Plan, sibling.Plan} {
		if err := l.applies(plan, 1); !isCode(err, "decision-closed") {
			t.Errorf("%s: %v", plan, err)
		}
	}
	if got := l.file(l.dir); strings.Count(got, "\n- ") != 1 || !strings.Contains(got, "always") {
		t.Errorf("the file:\n%s", got)
	}
	s, err := l.state(context.Background())
	if err != nil || len(s.Pending) != 0 {
		t.Errorf("%v, pending %v", err, s.Pending)
	}
	// Rejecting an item closes what edits it.
	p = l.plans(l.dir, "Never push now.", Add, map[string]any{"instruction": "Never push."})
	if _, err := l.Amend(context.Background(), AmendOptions{Plan: p.Plan, Number: 1, Text: "Do not push."}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reject(context.Background(), p.Plan, []int{1}, "no"); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.state(context.Background()); len(s.Pending) != 0 {
		t.Errorf("pending after a rejection: %v", s.Pending)
	}
	l.sound()
}

// What was proposed again and then rejected stays dead in the words of the first time, too.
func TestEvidenceGoesOn(t *testing.T) {
	l := learn(t)
	l.plans(l.dir, "Run gofmt, will you.", Add, map[string]any{"instruction": "Run gofmt."})
	p := l.plans(l.dir, "Once more: run gofmt.", Add, map[string]any{"instruction": "Run gofmt."})
	if _, err := l.Reject(context.Background(), p.Plan, []int{1}, "no"); err != nil {
		t.Fatal(err)
	}
	s, err := l.state(context.Background())
	if err != nil || len(s.Rejected) != 1 || len(s.Pending) != 0 {
		t.Fatalf("%v, %+v", err, s.Rejected)
	}
	for _, e := range s.Rejected {
		if len(e.Evidence) != 2 {
			t.Errorf("the rejection rests on %v", e.Evidence)
		}
	}
}

// A branch that has other rules is no withdrawal of ours, whichever way it came to them; a rule that
// a hand took out is one.
func TestOtherBranches(t *testing.T) {
	l := learn(t)
	l.Git = append(l.Git, "GIT_AUTHOR_NAME=Designer", "GIT_AUTHOR_EMAIL=designer@example.com", "GIT_COMMITTER_NAME=Designer", "GIT_COMMITTER_EMAIL=designer@example.com")
	gitIn(t, l.dir, "init", "-q")
	gitIn(t, l.dir, "commit", "-q", "--allow-empty", "-m", "one")
	if err := l.PreferCommit(context.Background(), "yes", Yes{}); err != nil {
		t.Fatal(err)
	}
	words := 0
	plan := func(rule string) Planned {
		words++
		return l.plans(l.dir, fmt.Sprintf("Word number %d: %s", words, rule), Add, map[string]any{"instruction": rule})
	}
	add := func(rule string) {
		t.Helper()
		if p := plan(rule); len(p.Items) != 1 {
			t.Errorf("%s: %+v", rule, p.Settled)
		} else if err := l.applies(p.Plan, 1); err != nil {
			t.Error(err)
		}
	}
	is := func(what string, want BlockState) {
		t.Helper()
		if got := l.stateOf(l.dir); got != want {
			t.Errorf("%s: the block is %s, not %s", what, got, want)
		}
	}
	add("Run gofmt.")
	gitIn(t, l.dir, "branch", "old")
	add("Never push.")
	gitIn(t, l.dir, "switch", "-q", "old")
	is("an older branch", Stale)
	add("Never push.")
	add("Use tabs.")
	is("the older branch, gone on", Current)
	gitIn(t, l.dir, "switch", "-q", "main")
	is("back on the first", Stale)
	add("Answer briefly.")
	gitIn(t, l.dir, "branch", "side", "main~1")
	gitIn(t, l.dir, "switch", "-q", "side")
	gitIn(t, l.dir, "merge", "-q", "-X", "union", "--no-edit", "main")
	l.writes(l.dir, block("Run gofmt.", "Use tabs.", "Answer briefly."))
	gitIn(t, l.dir, "commit", "-qam", "as if it was merged")
	is("rules with a yes, in a new mixture", Stale)
	if a, err := l.adoption(context.Background(), targetPath(l.dir), must(l.state(context.Background()))); err != nil || len(a.Hand)+len(a.Withdrawn) != 0 {
		t.Errorf("there is something to adopt: %v, %+v", err, a)
	}
	gitIn(t, l.dir, "switch", "-q", "main")
	gitIn(t, l.dir, "revert", "--no-edit", "HEAD")
	add("Say please.")
	is("after a revert", Current)
	gitIn(t, l.dir, "reset", "-q", "--hard", "main~1")
	is("after a reset", Stale)
	add("Say please.")
	gitIn(t, l.dir, "rm", "-q", FileName)
	gitIn(t, l.dir, "commit", "-qm", "none")
	add("Run gofmt.")
	is("after the file was gone", Current)

	// The same rules missing by a hand.
	add("Never push.")
	l.writes(l.dir, block("Never push."))
	is("one taken out", Drifted)
	if p := plan("Run gofmt."); len(p.Items) != 0 {
		t.Errorf("what a hand took out came back: %+v", p.Items)
	}
	if p := l.plans(l.dir, "Do bring gofmt back.", Add, map[string]any{"instruction": "Run gofmt.", "restore_tombstone": true}); len(p.Items) != 1 {
		t.Errorf("what the user brings back: %+v", p.Settled)
	}
	l.sound()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A plan does not replace a rule and make it anew.
func TestContradiction(t *testing.T) {
	l := learn(t)
	if err := l.applies(l.plans(l.dir, "Run all tests now.", Add, map[string]any{"instruction": "Run all tests."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	c := chunkOf(t, l.says(l.dir, "Only the tests of what changed.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Replace, map[string]any{"existing_instruction": "Run all tests.", "instruction": "Run some tests."}), decisionOf(c, Add, map[string]any{"instruction": "run ALL tests."})); err != nil {
		t.Fatal(err)
	}
	out := l.reconciles()
	if out.Exit != 2 || !slices.ContainsFunc(out.Errors, func(e ItemIssue) bool { return e.Code == "agentsmd/plan-contradiction" }) {
		t.Errorf("%d, %+v", out.Exit, out.Errors)
	}
}

// Batch and chunks are deleted two weeks after the last item was answered, and not before.
func TestSweep(t *testing.T) {
	l := learn(t)
	p := l.plans(l.dir, "Run gofmt now.", Add, map[string]any{"instruction": "Run gofmt."})
	batch := filepath.Join(l.Dir, "runs", p.Run, "batch.json")
	begins := func() { // as every writing command does
		t.Helper()
		release, err := l.begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	l.at = l.at.Add(30 * 24 * time.Hour)
	if err := l.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	begins()
	if _, err := os.Stat(batch); err != nil {
		t.Fatalf("while an item is pending: %v", err)
	}
	if err := l.applies(p.Plan, 1); err != nil {
		t.Fatal(err)
	}
	l.at = l.at.Add(13 * 24 * time.Hour)
	begins()
	if _, err := os.Stat(batch); err != nil {
		t.Fatalf("after 13 days: %v", err)
	}
	l.at = l.at.Add(2 * 24 * time.Hour)
	begins()
	if _, err := os.Stat(batch); !os.IsNotExist(err) {
		t.Errorf("after 15 days: %v", err)
	}
	l.sound()
	if err := l.applies(p.Plan, 1); !isCode(err, "run-closed") {
		t.Errorf("its plan: %v", err)
	}
}

// A project that became a part of another one is not written to by an older plan.
func TestRootMoved(t *testing.T) {
	l := learn(t)
	inner := filepath.Join(l.dir, "p")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	p := l.plans(inner, "Run gofmt now.", Add, map[string]any{"instruction": "Run gofmt."})
	l.projects = nil // another process
	gitIn(t, l.dir, "init", "-q")
	gitIn(t, l.dir, "commit", "-q", "--allow-empty", "-m", "x")
	if err := l.applies(p.Plan, 1); !isCode(err, "root-missing") {
		t.Errorf("got %v", err)
	}
	if l.file(inner) != "" || l.file(l.dir) != "" {
		t.Error("something was written")
	}
}

// accept says yes to whatever is shown, as a person at a terminal does.
func accept(s approval.Statement) (approval.Given, error) {
	return approval.Given{Method: approval.MethodTerminal, Statement: s}, nil
}

func (l *learner) decidesFor(run string, decisions ...map[string]any) error {
	l.t.Helper()
	data, err := json.Marshal(decisions)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.SubmitDecisions(context.Background(), bytes.NewReader(data), run, 1, boundary.Door{})
	return err
}

// What is blocked contradicts nothing.
func TestNoContradictionByTheDead(t *testing.T) {
	l := learn(t)
	if err := l.applies(l.plans(l.dir, "Run all tests now.", Add, map[string]any{"instruction": "Run all tests."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	p := l.plans(l.dir, "Only some tests.", Add, map[string]any{"instruction": "Run some tests."})
	if _, err := l.Reject(context.Background(), p.Plan, []int{1}, "no"); err != nil {
		t.Fatal(err)
	}
	c := chunkOf(t, l.says(l.dir, "Only the tests of what changed.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Replace, map[string]any{"existing_instruction": "Run all tests.", "instruction": "Run some tests."}), decisionOf(c, Add, map[string]any{"instruction": "run ALL tests."})); err != nil {
		t.Fatal(err)
	}
	if out := l.reconciles(); out.Exit != 0 || len(out.Items) != 0 || len(out.Settled) != 2 {
		t.Errorf("%d, %+v", out.Exit, out)
	}
}
