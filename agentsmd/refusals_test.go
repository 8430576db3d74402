package agentsmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/repo"
)

// codes are those of the errors of a plan.
func (p Planned) codes() error {
	var out []string
	for _, e := range p.Errors {
		out = append(out, e.Code)
	}
	if len(out) == 0 {
		return nil
	}
	return errors.New(strings.Join(out, " "))
}

func (l *learner) repository() {
	l.t.Helper()
	l.Git = append(l.Git, "GIT_AUTHOR_NAME=Designer", "GIT_AUTHOR_EMAIL=designer@example.com", "GIT_COMMITTER_NAME=Designer", "GIT_COMMITTER_EMAIL=designer@example.com")
	gitIn(l.t, l.dir, "init", "-q")
	l.writes(l.dir, "# Guide\n")
	gitIn(l.t, l.dir, "add", FileName)
	gitIn(l.t, l.dir, "commit", "-q", "-m", "one")
	if err := l.PreferCommit(context.Background(), "yes", Yes{}); err != nil {
		l.t.Fatal(err)
	}
}

// one is a plan of one rule.
func (l *learner) one() Planned {
	return l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
}

// two are the chunk of two records, and a plan with an item of each.
func (l *learner) two() (Chunk, Planned) {
	c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.", "Never push by yourself.").Chunks[0].Path)
	second := c
	second.Records = c.Records[1:]
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt."}), decisionOf(second, Add, map[string]any{"instruction": "Never push."})); err != nil {
		l.t.Fatal(err)
	}
	return c, l.reconciles()
}

// overwrite changes a private file behind the program's back.
func (l *learner) overwrite(name, old, fresh string) {
	l.t.Helper()
	path := filepath.Join(l.Dir, filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), old) {
		l.t.Fatalf("%s: %v, it has no %q", name, err, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, fresh, 1)), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// refusalCases are calls that are refused; some codes have several ways to them.
var refusalCases = []struct {
	code, name string
	call       func(l *learner) error
}{
	{"no-directory", "a name that is not UTF-8", func(l *learner) error {
		_, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Run gofmt.", Dir: filepath.Join(l.dir, "\xff"), Said: Said{Words: "away"}})
		return err
	}},
	{"include", "no file", func(l *learner) error {
		_, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, Files: []string{filepath.Join(l.dir, "none.jsonl")}})
		return err
	}},
	{"include", "no transcript", func(l *learner) error {
		name := filepath.Join(l.dir, "x.jsonl")
		if err := os.WriteFile(name, []byte("{\"a\":1}\nno json\n"), 0o644); err != nil {
			return err
		}
		_, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, Files: []string{name}})
		return err
	}},
	{"include", "a directory", func(l *learner) error {
		_, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, Files: []string{l.dir}})
		return err
	}},
	{"run-unknown", "none is open", func(l *learner) error {
		_, err := l.Chunk(context.Background(), ChunkOptions{})
		return err
	}},
	{"run-unknown", "a name", func(l *learner) error {
		l.one()
		_, err := l.Chunk(context.Background(), ChunkOptions{Run: "20260101T000000Z-000000"})
		return err
	}},
	{"run-closed", "a published run", func(l *learner) error {
		_, err := l.Chunk(context.Background(), ChunkOptions{Run: l.one().Run})
		return err
	}},
	{"chunk-open", "before it is cut", func(l *learner) error {
		say(l.t, l.home, "s", l.dir, l.at.Add(-time.Hour), "Run gofmt.")
		if _, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1}); err != nil {
			return err
		}
		_, err := l.Reconcile(context.Background(), ReconcileOptions{})
		return err
	}},
	{"chunk-open", "one of two has no decisions", func(l *learner) error {
		say(l.t, l.home, "other", l.t.TempDir(), l.at.Add(-time.Hour), "Use tabs.")
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		if err := l.decides(1, decisionOf(c, NoOp, map[string]any{"explanation": "x"})); err != nil {
			return err
		}
		_, err := l.Reconcile(context.Background(), ReconcileOptions{})
		return err
	}},
	{"chunk-changed", "the manifest", func(l *learner) error {
		c := l.says(l.dir, "Run gofmt before you answer.")
		l.overwrite("runs/"+c.Run+"/review/manifest.json", `"max_records": 100`, `"max_records": 99`)
		_, err := l.Reconcile(context.Background(), ReconcileOptions{})
		return err
	}},
	{"chunk-changed", "a chunk", func(l *learner) error {
		c := l.says(l.dir, "Run gofmt before you answer.")
		chunk := chunkOf(l.t, c.Chunks[0].Path)
		l.overwrite("runs/"+c.Run+"/review/chunk-0001.json", "Run gofmt before", "Run gofmt after")
		return l.decides(1, decisionOf(chunk, NoOp, map[string]any{"explanation": "x"}))
	}},
	{"chunk-unknown", "a number", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		return l.decides(2, decisionOf(c, NoOp, map[string]any{"explanation": "x"}))
	}},
	{"batch-changed", "its bytes", func(l *learner) error {
		p := l.one()
		l.overwrite("runs/"+p.Run+"/batch.json", "Run gofmt before", "Run gofmt after")
		return l.applies(p.Plan, 1)
	}},
	{"decisions-empty", "an empty list", func(l *learner) error {
		l.says(l.dir, "Run gofmt before you answer.")
		_, err := l.SubmitDecisions(context.Background(), strings.NewReader("[]"), "", 1, boundary.Door{})
		return err
	}},
	{"evidence-unresolved", "a query that nobody answered", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		if err := l.decides(1, decisionOf(c, NeedsEvidence, map[string]any{"evidence_query": map[string]any{"record_id": c.Records[0].ID, "line_start": 1, "line_end": 5, "kinds": []string{"user"}}})); err != nil {
			return err
		}
		return l.reconciles().codes()
	}},
	{"label", "in one payload", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		d := decisionOf(c, NoOp, map[string]any{"explanation": "x", "decision_id": "one"})
		return l.decides(1, d, d)
	}},
	{"label", "in another chunk", func(l *learner) error {
		say(l.t, l.home, "other", l.t.TempDir(), l.at.Add(-time.Hour), "Use tabs.")
		all := l.says(l.dir, "Run gofmt before you answer.")
		for i, c := range all.Chunks {
			if err := l.decides(i+1, decisionOf(chunkOf(l.t, c.Path), NoOp, map[string]any{"explanation": "x", "decision_id": "one"})); err != nil {
				return err
			}
		}
		return nil
	}},
	{"evidence-range", "a query over too much", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		_, err := l.Evidence(context.Background(), EvidenceOptions{Record: c.Records[0].ID, Start: 1, End: 501})
		return err
	}},
	{"evidence-range", "backwards", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		_, err := l.Evidence(context.Background(), EvidenceOptions{Record: c.Records[0].ID, Start: 9, End: 3})
		return err
	}},
	{"evidence-untrusted", "a record of another run", func(l *learner) error {
		l.says(l.dir, "Run gofmt before you answer.")
		_, err := l.Evidence(context.Background(), EvidenceOptions{Record: "R-0000000000000000"})
		return err
	}},
	{"evidence-gone", "the transcript", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		if err := os.RemoveAll(filepath.Join(l.home, ".codex", "sessions")); err != nil {
			return err
		}
		_, err := l.Evidence(context.Background(), EvidenceOptions{Record: c.Records[0].ID})
		return err
	}},
	{"evidence-gone", "other bytes at the place", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		say(l.t, l.home, "s1", l.dir, l.at, "Run goimports before you ask.")
		_, err := l.Evidence(context.Background(), EvidenceOptions{Record: c.Records[0].ID})
		return err
	}},
	{"global-twice", "in two groups", func(l *learner) error {
		l.candidate()
		return l.settles(map[string]any{"outcome": "keep", "reason": "One project."}, map[string]any{"outcome": "keep", "reason": "One project."})
	}},
	{"global-none", "nothing to review", func(l *learner) error {
		c := chunkOf(l.t, l.says(l.dir, "Answer in one sentence.").Chunks[0].Path)
		if err := l.decides(1, decisionOf(c, NoOp, map[string]any{"explanation": "x"})); err != nil {
			return err
		}
		_, err := l.SubmitGlobal(context.Background(), strings.NewReader(`{"groups":[]}`), "", boundary.Door{})
		return err
	}},
	{"global-open", "left out", func(l *learner) error {
		l.candidate()
		return l.reconcileError()
	}},
	{"global-two-roots", "one project", func(l *learner) error {
		l.candidate()
		return l.settles(map[string]any{"outcome": "promote", "reason": "x", "decision": map[string]any{"action": "add", "target": "global", "instruction": "Answer briefly.", "confidence": "high", "risk_of_overconstraint": "low"}})
	}},
	{"auto-claim", "a restore", func(l *learner) error {
		if err := l.applies(l.one().Plan, 1); err != nil {
			return err
		}
		if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "off"}}); err != nil {
			return err
		}
		l.allows(targetPath(l.dir))
		c := chunkOf(l.t, l.says(l.dir, "Do bring gofmt back.").Chunks[0].Path)
		if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt.", "restore_tombstone": true})); err != nil {
			return err
		}
		p, err := l.auto()
		return errors.Join(err, p.codes())
	}},
	{"auto-limit", "eleven rules", func(l *learner) error {
		l.allows(targetPath(l.dir))
		c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
		var all []map[string]any
		for i := range maxAuto + 1 {
			all = append(all, decisionOf(c, Add, map[string]any{"instruction": fmt.Sprintf("Rule %d.", i)}))
		}
		if err := l.decides(1, all...); err != nil {
			return err
		}
		p, err := l.auto()
		return errors.Join(err, p.codes())
	}},
	{"root-missing", "the project is gone", func(l *learner) error {
		p := l.one()
		if err := os.RemoveAll(l.dir); err != nil {
			return err
		}
		l.forget()
		return l.applies(p.Plan, 1)
	}},
	{"no-directory", "a root", func(l *learner) error {
		_, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, ExplicitRoots: []string{filepath.Join(l.dir, "none")}})
		return err
	}},
	{"no-directory", "of a rule", func(l *learner) error {
		_, err := l.Withdraw(context.Background(), OwnOptions{Rule: "X.", Dir: filepath.Join(l.dir, "none"), Said: Said{Words: "off"}})
		return err
	}},
	{"target-unreadable", "too large", func(l *learner) error {
		p := l.one()
		l.writes(l.dir, strings.Repeat("x", maxFile+1))
		return l.applies(p.Plan, 1)
	}},
	{"target-kind", "a directory", func(l *learner) error {
		p := l.one()
		if err := os.Mkdir(filepath.Join(l.dir, FileName), 0o755); err != nil {
			return err
		}
		return l.applies(p.Plan, 1)
	}},
	{"plan-unknown", "too short", func(l *learner) error { return l.applies(l.one().Plan[:5], 1) }},
	{"plan-unknown", "no such", func(l *learner) error { return l.applies("P-0123456789abcdef", 1) }},
	{"plan-changed", "its bytes", func(l *learner) error {
		p := l.one()
		l.overwrite("plans/"+p.Plan+".json", "Run gofmt.", "Run rm -r.")
		return l.applies(p.Plan, 1)
	}},
	{"plan-mode", "amend of an auto plan", func(l *learner) error {
		_, err := l.Amend(context.Background(), AmendOptions{Plan: l.autoPlan().Plan, Number: 1, Text: "X."})
		return err
	}},
	{"plan-mode", "reject of an auto plan", func(l *learner) error {
		p := l.autoPlan()
		_, err := l.Reject(context.Background(), p.Plan, []int{1}, "no")
		return err
	}},
	{"plan-stale", "a rule was withdrawn", func(l *learner) error {
		if err := l.applies(l.one().Plan, 1); err != nil {
			return err
		}
		l.allows(targetPath(l.dir))
		c := chunkOf(l.t, l.says(l.dir, "Never push by yourself.").Chunks[0].Path)
		if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Never push."})); err != nil {
			return err
		}
		p, err := l.auto()
		if err != nil || p.Exit != 0 {
			return errors.Join(err, p.codes())
		}
		if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "off"}}); err != nil {
			return err
		}
		_, err = l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true})
		return err
	}},
	{"plan-stale", "the selection changed while it was confirmed", func(l *learner) error {
		_, p := l.two()
		_, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, All: true, Said: Said{Confirm: func(s approval.Statement) (approval.Given, error) {
			if _, err := l.Reject(context.Background(), p.Plan, []int{2}, "no"); err != nil {
				return approval.Given{}, err
			}
			return accept(s)
		}}})
		return err
	}},
	{"selection-missing", "reject", func(l *learner) error {
		_, err := l.Reject(context.Background(), l.one().Plan, nil, "no")
		return err
	}},
	{"selection-missing", "apply", func(l *learner) error { return l.applies(l.one().Plan) }},
	{"selection-unknown", "apply", func(l *learner) error { return l.applies(l.one().Plan, 2) }},
	{"selection-unknown", "show", func(l *learner) error {
		_, err := l.Show(context.Background(), l.one().Plan, []int{2})
		return err
	}},
	{"selection-unknown", "amend", func(l *learner) error {
		_, err := l.Amend(context.Background(), AmendOptions{Plan: l.one().Plan, Number: 2, Text: "X."})
		return err
	}},
	{"selection-unknown", "reject", func(l *learner) error {
		_, err := l.Reject(context.Background(), l.one().Plan, []int{2}, "no")
		return err
	}},
	{"reason", "none", func(l *learner) error {
		_, err := l.Reject(context.Background(), l.one().Plan, []int{1}, "  ")
		return err
	}},
	{"reason", "too long", func(l *learner) error {
		_, err := l.Reject(context.Background(), l.one().Plan, []int{1}, strings.Repeat("x", 2001))
		return err
	}},
	{"decision-closed", "after an apply", func(l *learner) error {
		p := l.one()
		if err := l.applies(p.Plan, 1); err != nil {
			return err
		}
		_, err := l.Reject(context.Background(), p.Plan, []int{1}, "no")
		if err != nil && !strings.Contains(err.Error(), "item 1 is applied") {
			return fmt.Errorf("it does not say what closed it: %w", err)
		}
		return err
	}},
	{"decision-closed", "nothing is pending", func(l *learner) error {
		p := l.one()
		if err := l.applies(p.Plan, 1); err != nil {
			return err
		}
		_, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, All: true, Said: Said{Words: "yes"}})
		return err
	}},
	{"amend-invalid", "of a removal", func(l *learner) error {
		if err := l.applies(l.one().Plan, 1); err != nil {
			return err
		}
		p := l.plans(l.dir, "Drop the gofmt thing.", Remove, map[string]any{"existing_instruction": "Run gofmt."})
		_, err := l.Amend(context.Background(), AmendOptions{Plan: p.Plan, Number: 1, Text: "X."})
		return err
	}},
	{"amend-invalid", "two decisions", func(l *learner) error {
		return l.forgedEdit(func(p *Plan) {
			d := *p.Decisions[0]
			d.ID, d.Number, d.Status = "D-0000000000000000", 0, Settles
			p.Decisions = append(p.Decisions, &d)
		})
	}},
	{"amend-invalid", "of an item that is in no plan", func(l *learner) error {
		return l.forgedEdit(func(p *Plan) { p.Decisions[0].Supersedes = "" })
	}},
	{"amend-invalid", "another action", func(l *learner) error {
		return l.forgedEdit(func(p *Plan) { p.Decisions[0].Action, p.Decisions[0].Old = Replace, "X." })
	}},
	{"rule-text", "too long", func(l *learner) error {
		_, err := l.Amend(context.Background(), AmendOptions{Plan: l.one().Plan, Number: 1, Text: strings.Repeat("x", 501)})
		return err
	}},
	{"id-collision", "two decisions of a run", func(l *learner) error {
		d := &Decision{ID: "D-1", Status: Settles, DecisionPayload: DecisionPayload{Action: NoOp}}
		r := &reconciling{k: l.Keeper, ctx: context.Background(), plan: &Plan{}, batch: &Batch{}, all: []*Decision{d, d}}
		return r.decide()
	}},
	{"compose-mismatch", "bytes outside changed", func(l *learner) error {
		return (&composer{path: FileName, src: []byte("Text.\n"), block: &Block{}}).verify([]byte("Test.\n" + block("One.")))
	}},
	{"log-sound", "nothing is broken", func(l *learner) error {
		l.one()
		return l.SetLogAside(context.Background(), accept)
	}},
	{"audit-broken", "the log is shorter than the state", func(l *learner) error {
		l.one()
		for _, name := range []string{"log/audit-0001.jsonl", "head.json"} {
			if err := os.Remove(filepath.Join(l.Dir, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
		if err := l.Rebuild(context.Background()); !isCode(err, "audit-broken") {
			return fmt.Errorf("the state is made again from nothing: %v", err)
		}
		_, err := l.state(context.Background())
		return err
	}},
	{"state-corrupt", "it is behind the log", func(l *learner) error {
		name := filepath.Join(l.Dir, "state.json")
		l.one()
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		l.plans(l.dir, "Never push by yourself.", Add, map[string]any{"instruction": "Never push."})
		if err := os.WriteFile(name, old, 0o600); err != nil {
			return err
		}
		_, err = l.state(context.Background())
		if rebuilt := l.Rebuild(context.Background()); rebuilt != nil {
			return rebuilt
		}
		l.sound()
		return err
	}},
	{"call-unknown", "nothing was reported", func(l *learner) error {
		_, err := l.Report(context.Background(), "")
		return err
	}},
	{"call-unknown", "a name", func(l *learner) error {
		l.one()
		_, err := l.Report(context.Background(), "2026")
		if err == nil {
			_, err = l.Report(context.Background(), "none")
		}
		return err
	}},
	{"rule-unknown", "a line without a rule", func(l *learner) error {
		if err := l.applies(l.one().Plan, 1); err != nil {
			return err
		}
		if w, err := l.Why(context.Background(), FileName+":4", l.dir); err != nil || w.Rule != "Run gofmt." {
			return fmt.Errorf("line 4: %v, %+v", err, w)
		}
		_, err := l.Why(context.Background(), FileName+":999", l.dir)
		return err
	}},
	{"rule-unknown", "no file", func(l *learner) error {
		_, err := l.Why(context.Background(), "none.md:1", l.dir)
		return err
	}},
	{"rule-unknown", "nothing to restore", func(l *learner) error {
		_, err := l.Restore(context.Background(), OwnOptions{Rule: "X.", Dir: l.dir, Said: Said{Words: "on"}})
		return err
	}},
	{"rule-unknown", "nothing to adopt", func(l *learner) error {
		l.writes(l.dir, "Text.\n")
		_, err := l.Adopt(context.Background(), targetPath(l.dir), accept)
		return err
	}},
	{"root-not-allowed", "a file that is not at the top", func(l *learner) error {
		l.repository()
		if err := os.Mkdir(filepath.Join(l.dir, "sub"), 0o755); err != nil {
			return err
		}
		l.writes(filepath.Join(l.dir, "sub"), block("One."))
		_, err := l.Adopt(context.Background(), targetPath(filepath.Join(l.dir, "sub")), accept)
		return err
	}},
	{"target-changed", "while it was confirmed", func(l *learner) error {
		l.writes(l.dir, block("One."))
		_, err := l.Adopt(context.Background(), targetPath(l.dir), func(s approval.Statement) (approval.Given, error) {
			l.writes(l.dir, block("Two."))
			return accept(s)
		})
		return err
	}},
	{"git-state", "a conflict is adopted", func(l *learner) error {
		l.conflict()
		_, err := l.Adopt(context.Background(), targetPath(l.dir), accept)
		if err != nil && !strings.Contains(hintOf(err), "git add") {
			return fmt.Errorf("it does not say what to do: %w", err)
		}
		return err
	}},
	{"git-state", "the removal is staged", func(l *learner) error {
		l.repository()
		p := l.one()
		gitIn(l.t, l.dir, "rm", "-q", "--cached", FileName)
		return l.applies(p.Plan, 1)
	}},
	{"git-state", "the repository took the directory in", func(l *learner) error {
		p := l.one()
		gitIn(l.t, filepath.Dir(l.dir), "init", "-q")
		k := l.Keeper
		f, err := readTarget(targetPath(l.dir))
		if err != nil {
			return err
		}
		_, err = k.prepare(context.Background(), f, nil, ProjectScope("x"), nil, true, p.Plan)
		return err
	}},
	{"git-filter", "an attribute", func(l *learner) error {
		l.repository()
		p := l.one()
		if err := os.WriteFile(filepath.Join(l.dir, ".gitattributes"), []byte("AGENTS.md filter=x\n"), 0o644); err != nil {
			return err
		}
		return l.applies(p.Plan, 1)
	}},
	{"git-identity", "none", func(l *learner) error {
		l.repository()
		p := l.one()
		gitIn(l.t, l.dir, "config", "user.useConfigOnly", "true")
		l.Git = l.Git[:len(l.Git)-4]
		return l.applies(p.Plan, 1)
	}},
	{"commit-failed", "a signature that cannot be made", func(l *learner) error {
		l.repository()
		p := l.one()
		gitIn(l.t, l.dir, "config", "commit.gpgSign", "true")
		gitIn(l.t, l.dir, "config", "gpg.program", "/bin/false")
		return l.applies(p.Plan, 1)
	}},
	{"git-version", "one that cannot run hooks", func(l *learner) error {
		l.repository()
		p := l.one()
		bin := l.t.TempDir()
		real, err := exec.LookPath("git")
		if err != nil {
			return err
		}
		script := fmt.Sprintf("#!/bin/sh\nfor a; do test \"$a\" = version -o \"$a\" = --version && echo git version 2.30.0 && exit; done\nexec %s \"$@\"\n", real)
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
			return err
		}
		l.t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		return l.applies(p.Plan, 1)
	}},
	{"head-moved", "a hook commits", func(l *learner) error {
		l.repository()
		p := l.one()
		l.hook("pre-commit", "echo x > x; unset GIT_INDEX_FILE; git add x; git commit -qnm x")
		return l.applies(p.Plan, 1)
	}},
	{"hook-refused", "a message", func(l *learner) error {
		l.repository()
		p := l.one()
		l.hook("commit-msg", "exit 1")
		return l.applies(p.Plan, 1)
	}},
	{"rollback-incomplete", "a hook edits the file and refuses", func(l *learner) error {
		l.repository()
		p := l.one()
		l.hook("pre-commit", "echo more >> AGENTS.md; exit 1")
		err := l.applies(p.Plan, 1)
		saved, globErr := filepath.Glob(filepath.Join(l.Dir, "rescue", "*"+FileName))
		if globErr != nil || len(saved) != 1 || !strings.HasSuffix(l.file(l.dir), "more\n") {
			return fmt.Errorf("saved is %v, the file holds %q: %v, %v", saved, l.file(l.dir), globErr, err)
		}
		return err
	}},
	{"not-closed", "the report cannot be written", func(l *learner) error {
		p := l.one()
		l.Step = func(at string) error {
			if at == "closing" {
				if err := os.RemoveAll(filepath.Join(l.Dir, "reports")); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(l.Dir, "reports"), nil, 0o600)
			}
			return nil
		}
		return l.applies(p.Plan, 1)
	}},
}

// Every refusal is met: by a call here, or by a story or a test that names its code.
func TestEveryRefusal(t *testing.T) {
	met := map[string]bool{}
	for _, c := range refusalCases {
		met[c.code] = true
		t.Run(c.code+"/"+strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			l := learn(t)
			if err := c.call(l); !isCode(err, c.code) {
				t.Errorf("got %v", err)
			}
		})
	}
	var told strings.Builder
	stories, err := filepath.Glob("../testscripts/agentsmd-*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(stories, tests...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".txtar" { // what a script expects, not what it says
			data = []byte(strings.Join(regexp.MustCompile(`(?m)^(stderr|stdout) .*$`).FindAllString(string(data), -1), "\n"))
		}
		told.Write(data)
	}
	met["target-case"] = true // needs a file system that ignores case: TestSpelled
	for _, r := range refusals {
		quoted := fmt.Sprintf("%q", r.code)
		if !met[r.code] && !strings.Contains(told.String(), "agentsmd/"+r.code) && !strings.Contains(told.String(), quoted) {
			t.Errorf("nothing meets agentsmd/%s", r.code)
		}
	}
}

// A directory on a file system that ignores case has the file in other letters.
func TestSpelled(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Agents.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if exact, other := spelled(dir, FileName); exact || other != "Agents.md" {
		t.Errorf("%v, %q", exact, other)
	}
	if exact, _ := spelled(dir, "Agents.md"); !exact {
		t.Error("the very name is not found")
	}
}

// An apply that could not note what it did is completed later.
func TestNotClosedConverges(t *testing.T) {
	l := learn(t)
	l.repository()
	p := l.one()
	reports := filepath.Join(l.Dir, "reports")
	l.Step = func(at string) error {
		if at != "closing" {
			return nil
		}
		if err := os.RemoveAll(reports); err != nil {
			return err
		}
		return os.WriteFile(reports, nil, 0o600)
	}
	err := l.applies(p.Plan, 1)
	if !isCode(err, "not-closed") || !strings.Contains(err.Error(), "was written and committed as") || strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v", err)
	}
	l.Step = nil
	if err := os.Remove(reports); err != nil {
		t.Fatal(err)
	}
	if err := l.Recover(context.Background()); err != nil || len(l.Done) != 1 {
		t.Errorf("%v, %v", err, l.Done)
	}
	if s := must(l.state(context.Background())); len(s.Pending) != 0 {
		t.Errorf("pending: %v", s.Pending)
	}
	l.sound()
}

// A call that dies after it has brought a file back is no edit of the user's.
func TestDiesAfterRollback(t *testing.T) {
	l := learn(t)
	l.repository()
	p := l.one()
	l.hook("pre-commit", "exit 1\n")
	before := l.file(l.dir)
	l.Step = func(at string) error {
		if at == "closing" {
			return errCrash
		}
		return nil
	}
	if err := l.applies(p.Plan, 1); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	l.Step = nil
	if err := l.Recover(context.Background()); err != nil || len(l.Done) != 1 || !strings.HasSuffix(l.Done[0], "was brought back") || l.file(l.dir) != before {
		t.Errorf("%v, %q", err, l.Done)
	}
	told := false
	reports, _ := filepath.Glob(filepath.Join(l.Dir, "reports", "*.json"))
	for _, name := range reports {
		data, err := os.ReadFile(name)
		told = told || err == nil && strings.Contains(string(data), `"agentsmd/interrupted"`)
	}
	if !told {
		t.Errorf("none of %q says so", reports)
	}
	l.hook("pre-commit", "exit 0\n")
	if err := l.applies(p.Plan, 1); err != nil || l.file(l.dir) == before {
		t.Errorf("applied again: %v", err)
	}
	l.sound()
}

// candidate submits a decision that proposes a rule for all projects.
func (l *learner) candidate() {
	l.t.Helper()
	c := chunkOf(l.t, l.says(l.dir, "Answer in one sentence.").Chunks[0].Path)
	d := decisionOf(c, NoOp, map[string]any{"explanation": "x", "global_disposition": map[string]any{"status": "candidate", "reason": "x", "instruction": "Answer briefly.", "semantic_scope": "all"}})
	if err := l.decides(1, d); err != nil {
		l.t.Fatal(err)
	}
}

// settles sends outcomes for the one candidate.
func (l *learner) settles(groups ...map[string]any) error {
	l.t.Helper()
	b, err := l.Candidates(context.Background(), "")
	if err != nil || len(b.Candidates) != 1 {
		l.t.Fatalf("%v, %+v", err, b)
	}
	for _, g := range groups {
		g["candidate_ids"] = []string{b.Candidates[0].ID}
	}
	data, err := json.Marshal(map[string]any{"groups": groups})
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.SubmitGlobal(context.Background(), bytes.NewReader(data), "", boundary.Door{})
	return err
}

func (l *learner) reconcileError() error {
	p, err := l.Reconcile(context.Background(), ReconcileOptions{})
	return errors.Join(err, p.codes())
}

func (l *learner) autoPlan() Planned {
	l.t.Helper()
	l.allows(targetPath(l.dir))
	c := chunkOf(l.t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt."})); err != nil {
		l.t.Fatal(err)
	}
	p, err := l.auto()
	if err != nil || p.Exit != 0 {
		l.t.Fatal(err, p.Errors)
	}
	return p
}

// forgedEdit applies the plan of an edited item after it was changed.
func (l *learner) forgedEdit(change func(*Plan)) error {
	out, err := l.Amend(context.Background(), AmendOptions{Plan: l.one().Plan, Number: 1, Text: "Run gofumpt."})
	if err != nil {
		return err
	}
	_, err = l.Apply(context.Background(), ApplyOptions{Plan: l.forge(out.Plan, change), All: true, Said: Said{Words: "yes"}})
	return err
}

func (l *learner) hook(name, script string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, ".git", "hooks", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// conflict leaves the file unmerged.
func (l *learner) conflict() {
	l.t.Helper()
	l.repository()
	gitIn(l.t, l.dir, "branch", "side")
	l.writes(l.dir, block("One."))
	gitIn(l.t, l.dir, "commit", "-qam", "one")
	gitIn(l.t, l.dir, "switch", "-q", "side")
	l.writes(l.dir, block("Two."))
	gitIn(l.t, l.dir, "commit", "-qam", "two")
	if out, err := repo.Run(context.Background(), repo.Command{Name: "git", Args: []string{"merge", "main"}, Dir: l.dir, Env: l.Git, Timeout: time.Minute}); err != nil || out.Code == 0 {
		l.t.Fatalf("it merged: %v", err)
	}
}
