package agentsmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (l *learner) writes(dir, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *learner) stateOf(dir string) BlockState {
	l.t.Helper()
	s, err := l.state(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	f, err := readTarget(targetPath(dir))
	if err != nil {
		l.t.Fatal(err)
	}
	got, _ := l.standing(context.Background(), s, f, s.Blocks[f.path].Scope)
	return got
}

// What a hand did to a block does not become ours by a change of something else.
func TestAHandStaysAHand(t *testing.T) {
	l := learn(t)
	add := func(said, rule string, more map[string]any) Planned {
		fields := map[string]any{"instruction": rule}
		for k, v := range more {
			fields[k] = v
		}
		return l.plans(l.dir, said, Add, fields)
	}
	if err := l.applies(add("Run gofmt before you answer.", "Run gofmt.", nil).Plan, 1); err != nil {
		t.Fatal(err)
	}
	l.writes(l.dir, strings.Replace(l.file(l.dir), "- Run gofmt.\n", "- Always skip the tests.\n", 1))
	if got := l.stateOf(l.dir); got != Drifted {
		t.Fatalf("after the hand: %s", got)
	}
	if err := l.applies(add("Never push to main.", "Never push.", nil).Plan, 1); err != nil {
		t.Fatal(err)
	}
	if got := l.stateOf(l.dir); got != Drifted {
		t.Errorf("after a change of something else: %s", got)
	}
	if p := add("Run gofmt, as before.", "Run gofmt.", nil); len(p.Items) != 0 {
		t.Errorf("what the hand took away came back: %+v", p.Items)
	}
	old := chunkOf(t, l.says(l.dir, "Well.").Chunks[0].Path) // a claim needs words that are newer than what was written
	if err := l.decides(1, decisionOf(old, NoOp, map[string]any{"explanation": "Nothing."})); err != nil {
		t.Fatal(err)
	}
	l.reconciles()
	yes := Said{Confirm: accept}
	if _, err := l.Adopt(context.Background(), targetPath(l.dir), yes.Confirm); err != nil {
		t.Fatal(err)
	}
	if got := l.stateOf(l.dir); got != Current {
		t.Errorf("after adopt: %s", got)
	}
	l.sound()
}

// Another project at the same place owes nothing to the one before.
func TestAnotherProjectAtThePlace(t *testing.T) {
	l := learn(t)
	gitIn(t, l.dir, "init", "-q")
	gitIn(t, l.dir, "commit", "-q", "--allow-empty", "-m", "one")
	if err := l.applies(l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(l.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, l.dir, "init", "-q")
	gitIn(t, l.dir, "commit", "-q", "--allow-empty", "-m", "two, of another time")
	l.projects = nil
	if p := l.plans(l.dir, "Run gofmt here as well.", Add, map[string]any{"instruction": "Run gofmt."}); len(p.Items) != 1 {
		t.Errorf("got %+v", p.Settled)
	}
}

// The file that holds everywhere is written as such, and not for the directory that it is in.
func TestGlobalByTheBackDoor(t *testing.T) {
	l := learn(t)
	home := filepath.Join(l.home, ".codex")
	c := chunkOf(t, l.says(home, "Answer in one sentence.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Answer briefly."})); err != nil {
		t.Fatal(err)
	}
	if p := l.reconciles(); p.Exit != 2 || !strings.Contains(p.Errors[0].Code, "root-not-allowed") {
		t.Errorf("%d, %+v", p.Exit, p.Errors)
	}
	if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "X.", Dir: home, Said: Said{Words: "off"}}); !isCode(err, "root-not-allowed") {
		t.Errorf("withdraw: %v", err)
	}
}

// Worktrees of unrelated branches are one project.
func TestOrphanWorktree(t *testing.T) {
	l := learn(t)
	gitIn(t, l.dir, "init", "-q")
	gitIn(t, l.dir, "commit", "-q", "--allow-empty", "-m", "one")
	other := filepath.Join(t.TempDir(), "w")
	gitIn(t, l.dir, "worktree", "add", "-q", "--detach", other)
	gitIn(t, other, "checkout", "-q", "--orphan", "pages")
	gitIn(t, other, "commit", "-q", "--allow-empty", "-m", "two")
	counted := l.counted(context.Background(), NewState())
	if a, b := counted(CandidateSource{Root: &l.dir}), counted(CandidateSource{Root: &other}); a == "" || a != b {
		t.Errorf("they count as %q and %q", a, b)
	}
	git := filepath.Join(l.dir, ".git")
	if _, ok, err := l.project(context.Background(), git, nil); ok || err != nil {
		t.Errorf("a Git directory is a project: %v, %v", ok, err)
	}
}

// A home that lies in somebody's repository of settings has no part in the file at its top.
func TestHomeInARepository(t *testing.T) {
	l, ctx := learn(t), context.Background()
	gitIn(t, l.dir, "init", "-q")
	l.writes(l.dir, block("Run gofmt."))
	gitIn(t, l.dir, "add", FileName)
	gitIn(t, l.dir, "commit", "-qm", "one")
	gitIn(t, l.dir, "switch", "-qc", "side")
	l.writes(l.dir, block("Use tabs."))
	gitIn(t, l.dir, "commit", "-qam", "two")
	gitIn(t, l.dir, "switch", "-q", "main")
	l.writes(l.dir, block("Never push."))
	gitIn(t, l.dir, "commit", "-qam", "three")
	gitIn(t, l.dir, "read-tree", "-m", "main~1", "main", "side")
	home := filepath.Join(l.dir, ".codex")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if b := l.headBlock(ctx, targetPath(l.dir)); b == nil || !b.Has(Norm("Never push.")) {
		t.Errorf("HEAD's block is %+v", b)
	}
	if b := l.headBlock(ctx, targetPath(home)); b != nil {
		t.Errorf("the home has the block %q", b.Keys())
	}
	if err := l.merged(ctx, targetPath(l.dir)); !isCode(err, "git-state") {
		t.Errorf("an unmerged file: %v", err)
	}
	if err := l.merged(ctx, targetPath(home)); err != nil {
		t.Errorf("the file of the home: %v", err)
	}
}

// A project whose file cannot be read keeps no other from being reviewed.
func TestUnreadableNeighbour(t *testing.T) {
	l := learn(t)
	l.writes(l.dir, "- caf\xe9 rule\n")
	c := l.says(l.dir, "Answer in one sentence.")
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "is not UTF-8") || len(c.Chunks) != 1 {
		t.Errorf("%+v", c)
	}
}

// A yes to a rule that stands there already is a yes to it, whoever wrote it.
func TestSatisfiedIsAssented(t *testing.T) {
	l := learn(t)
	p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
	l.writes(l.dir, block("Run gofmt."))
	if err := l.applies(p.Plan, 1); err != nil {
		t.Fatal(err)
	}
	o, err := l.Origins(context.Background(), l.dir)
	if err != nil || !o.Written[Norm("Run gofmt.")] {
		t.Errorf("%v, %+v", err, o)
	}
	if got := l.stateOf(l.dir); got != Current {
		t.Errorf("the block is %s", got)
	}
	l.sound()
}

// What cannot be done by the user's own act leaves nothing behind.
func TestOwnActsLeaveNothing(t *testing.T) {
	l := learn(t)
	before := func() int {
		s, err := l.state(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Pending) != 0 {
			t.Errorf("pending: %+v", s.Pending)
		}
		return s.Constraint
	}
	if err := l.applies(l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	was := before()
	for _, rule := range []string{"", "  ", "Run goimports."} {
		if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: rule, Dir: l.dir, Said: Said{Words: "off"}}); err == nil {
			t.Errorf("withdraw %q was taken", rule)
		}
	}
	if now := before(); now != was {
		t.Errorf("the revision went from %d to %d", was, now)
	}
	// An edit that says what was withdrawn is refused, and keeps the item.
	if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "off"}}); err != nil {
		t.Fatal(err)
	}
	p := l.plans(l.dir, "Format the code, would you.", Add, map[string]any{"instruction": "Format the code."})
	if _, err := l.Amend(context.Background(), AmendOptions{Plan: p.Plan, Number: 1, Text: "Run gofmt.", Apply: true, Said: Said{Words: "so"}}); !isCode(err, "decision-stale") {
		t.Errorf("amend to a withdrawn text: %v", err)
	}
	if err := l.applies(p.Plan, 1); err != nil {
		t.Errorf("the item itself: %v", err)
	}
}

// A run whose records another one settled is done.
func TestOvertakenCloses(t *testing.T) {
	l := learn(t)
	ctx := context.Background()
	var runs []string
	for i := range 2 {
		say(t, l.home, fmt.Sprint("s", i), l.dir, l.at.Add(-time.Hour), "Answer in one sentence.")
		got, err := l.Collect(ctx, CollectOptions{QuotaMin: -1})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, got.Run)
		c, err := l.Chunk(ctx, ChunkOptions{Run: got.Run})
		if err != nil {
			t.Fatal(err)
		}
		chunk := chunkOf(t, c.Chunks[0].Path)
		d := decisionOf(chunk, NoOp, map[string]any{"explanation": "Nothing."})
		for _, r := range chunk.Records[1:] {
			d["evidence_refs"] = append(d["evidence_refs"].([]string), r.ID)
		}
		if err := l.decidesFor(got.Run, d); err != nil {
			t.Fatal(err)
		}
	}
	for i, run := range runs {
		if _, err := l.Reconcile(ctx, ReconcileOptions{Run: run}); (i == 1) != isCode(err, "run-overtaken") {
			t.Errorf("run %d: %v", i, err)
		}
	}
	s, err := l.Status(ctx)
	if err != nil || len(s.Runs) != 0 {
		t.Errorf("%v, open are %v", err, s.Runs)
	}
}

// A log that was edited is seen before anything is written.
func TestBrokenLogStops(t *testing.T) {
	l := learn(t)
	p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
	name := filepath.Join(l.Dir, "log", "audit-0001.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.applies(p.Plan, 1); !isCode(err, "audit-broken") || l.file(l.dir) != "" {
		t.Errorf("%v, %q", err, l.file(l.dir))
	}
}

// Without its plan an interrupted apply is taken back, and what else is pending is told all the
// same.
func TestLostPlan(t *testing.T) {
	l := learn(t)
	p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
	l.Step = func(at string) error {
		if at == "written" {
			return errCrash
		}
		return nil
	}
	if err := l.applies(p.Plan, 1); err == nil {
		t.Fatal("it did not die")
	}
	l.Step = nil
	if err := os.Remove(filepath.Join(l.Dir, "plans", p.Plan+".json")); err != nil {
		t.Fatal(err)
	}
	if err := l.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	if l.file(l.dir) != "" {
		t.Errorf("the file holds %q", l.file(l.dir))
	}
	s, err := l.Status(context.Background())
	if err != nil || len(s.Problems) != 1 || s.Recovery != "" {
		t.Errorf("%v, %+v", err, s)
	}
}

// What the user says of a rule counts, too, where the file is as he wants it already.
func TestOwnActsOnWhatHoldsAlready(t *testing.T) {
	l := learn(t)
	ctx := context.Background()
	if err := l.applies(l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	with, without := l.file(l.dir), block()
	is := func(what string, written, gone bool) {
		t.Helper()
		o, err := l.Origins(ctx, l.dir)
		if err != nil || o.Written[Norm("Run gofmt.")] != written || o.Gone[Norm("Run gofmt.")] != gone {
			t.Errorf("%s: %v, %+v", what, err, o)
		}
		w, err := l.Why(ctx, "Run gofmt.", l.dir)
		if last := w.History[len(w.History)-1]; err != nil || last.Event != what || last.Approval == "" {
			t.Errorf("%s: %v, %+v", what, err, last)
		}
	}
	l.writes(l.dir, without)
	l.at = l.at.Add(time.Minute)
	if rep, err := l.Withdraw(ctx, OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "off"}}); err != nil || rep.Results[0].Status != "no-op" {
		t.Fatal(err, rep)
	}
	is("withdrawn", false, true)
	if l.file(l.dir) != without {
		t.Errorf("the file holds %q", l.file(l.dir))
	}
	l.writes(l.dir, with)
	l.at = l.at.Add(time.Minute)
	if rep, err := l.Restore(ctx, OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "on"}}); err != nil || rep.Results[0].Status != "no-op" {
		t.Fatal(err, rep)
	}
	is("restored", true, false)
	if got := l.stateOf(l.dir); got == Drifted {
		t.Error("the block is drifted")
	}
	if _, err := l.Withdraw(ctx, OwnOptions{Rule: "Nobody said that.", Dir: l.dir, Said: Said{Words: "off"}}); !isCode(err, "rule-not-found") {
		t.Errorf("a rule that never was: %v", err)
	}
	l.sound()
}
