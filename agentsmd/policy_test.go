package agentsmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/boundary"
)

// The table of docs/agentsmd-policy.md names tests and stories that are there.
func TestPolicyTable(t *testing.T) {
	page, err := os.ReadFile("../docs/agentsmd-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, f := range append(files, "../testscripts/killed_apply_test.go") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(data)
	}
	rows := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.Contains(line, "---") || strings.Contains(line, "held by") {
			continue
		}
		rows++
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 && !strings.Contains(cells[2], "guide") {
			t.Errorf("nothing holds:%s", cells[1])
		}
		for _, n := range names {
			if strings.HasPrefix(n[1], "Test") {
				if !strings.Contains(source.String(), "func "+n[1]+"(t *testing.T)") {
					t.Errorf("there is no test %s", n[1])
				}
			} else if _, err := os.Stat("../testscripts/agentsmd-" + n[1] + ".txtar"); err != nil {
				t.Errorf("there is no story %s", n[1])
			}
		}
	}
	if rows < 50 {
		t.Errorf("the table has %d rows", rows)
	}
}

// What an action needs and what it leaves no place for.
func TestEveryFieldOfADecision(t *testing.T) {
	l := learn(t)
	c := chunkOf(t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
	needs := map[Action][]string{Add: {"instruction"}, Replace: {"instruction", "existing_instruction"}, Narrow: {"instruction", "existing_instruction"}, Merge: {"instruction", "existing_instructions"}, Remove: {"existing_instruction"}, NoOp: {"explanation"}, NeedsEvidence: {"evidence_query"}}
	value := map[string]any{
		"instruction": "Run gofmt.", "existing_instruction": "Old.", "existing_instructions": []string{"Old.", "Older."}, "explanation": "Nothing lasts.",
		"evidence_query": map[string]any{"record_id": c.Records[0].ID, "line_start": 1, "line_end": 5, "kinds": []string{"user"}},
	}
	refused := func(d map[string]any, code string) {
		t.Helper()
		if err := l.decides(1, d); err == nil || !strings.Contains(err.Error(), code) {
			t.Errorf("%v: got %v, want %s", d, err, code)
		}
	}
	for action, fields := range needs {
		full := map[string]any{}
		for _, f := range fields {
			full[f] = value[f]
		}
		if err := l.decides(1, decisionOf(c, action, full)); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		for _, f := range fields {
			d := decisionOf(c, action, full)
			delete(d, f)
			refused(d, "boundary/field-required-here")
		}
		for name := range value {
			if slices.Contains(fields, name) || name == "explanation" {
				continue
			}
			d := decisionOf(c, action, full)
			d[name] = value[name]
			refused(d, "boundary/field-not-here")
		}
		for _, name := range []string{"evidence_refs", "global_disposition", "action", "target"} {
			d := decisionOf(c, action, full)
			delete(d, name)
			refused(d, "boundary/missing-field")
		}
		if action.Mutating() {
			d := decisionOf(c, action, full)
			delete(d, "evidence_quotes")
			refused(d, "agentsmd/evidence-missing")
			for _, name := range []string{"confidence", "risk_of_overconstraint"} {
				d := decisionOf(c, action, full)
				delete(d, name)
				refused(d, "boundary/field-required-here")
			}
		}
		for _, owned := range []string{"rule_id", "status", "selection_number", "scope_key", "target_path", "diff"} {
			d := decisionOf(c, action, full)
			d[owned] = "x"
			refused(d, "boundary/owned-field")
		}
	}
	refused(decisionOf(c, NoOp, map[string]any{"explanation": "x", "decision_id": "12"}), "agentsmd/label")
	refused(decisionOf(c, NoOp, map[string]any{"explanation": "x", "global_disposition": map[string]any{"status": "candidate", "reason": "x"}}), "boundary/field-required-here")
}

// Words of no project make a rule for all of them only, and only if the user said so.
func TestNoRoot(t *testing.T) {
	l := learn(t)
	c := l.says("", "Everywhere: answer in one sentence.")
	chunk := chunkOf(t, c.Chunks[0].Path)
	if chunk.Root != nil {
		t.Fatalf("the root is %s", *chunk.Root)
	}
	if err := l.decides(1, decisionOf(chunk, Add, map[string]any{"instruction": "Answer briefly."})); !isCode(err, "root-not-allowed") {
		t.Errorf("for a project: %v", err)
	}
	candidate := func(explicit bool) map[string]any {
		return map[string]any{"target": "global", "explanation": "x", "global_disposition": map[string]any{"status": "candidate", "reason": "x", "instruction": "Answer briefly.", "semantic_scope": "all", "explicit_global_intent": explicit}}
	}
	if err := l.decides(1, decisionOf(chunk, NoOp, candidate(false))); !isCode(err, "global-intent") {
		t.Errorf("an implicit candidate: %v", err)
	}
	d := decisionOf(chunk, NoOp, candidate(true))
	if err := l.decides(1, d); !isCode(err, "evidence-missing") {
		t.Errorf("explicit without a quote: %v", err)
	}
	if err := l.decides(1, decisionOf(chunk, Add, map[string]any{"target": "global", "instruction": "Answer in one sentence."})); err != nil {
		t.Errorf("a global rule: %v", err)
	}
	p := l.reconciles()
	if err := l.applies(p.Plan, 1); err != nil || !strings.Contains(l.file(filepath.Join(l.home, ".codex")), "one sentence") {
		t.Errorf("applied: %v", err)
	}
	// What belongs to a project is no evidence for it.
	chunk = chunkOf(t, l.says(l.dir, "Answer in French.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(chunk, Add, map[string]any{"target": "global", "instruction": "Answer in French."})); !isCode(err, "evidence-scope") {
		t.Errorf("a project's words for all: %v", err)
	}
}

// forge changes a plan behind the program's back, and its registration with it: what a careless
// program could be made to believe.
func (l *learner) forge(plan string, change func(*Plan)) string {
	l.t.Helper()
	name := filepath.Join(l.Dir, "plans", plan+".json")
	data, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	p := &Plan{}
	if err := readDocument("plan", data, p); err != nil {
		l.t.Fatal(err)
	}
	change(p)
	forged, err := Document(p)
	if err != nil {
		l.t.Fatal(err)
	}
	state := filepath.Join(l.Dir, "state.json")
	old, err := os.ReadFile(state)
	if err != nil {
		l.t.Fatal(err)
	}
	for file, text := range map[string][]byte{name: forged, state: bytes.ReplaceAll(old, []byte(digest(data)), []byte(digest(forged)))} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	return plan
}

// A plan whose digest was forged, too, is held against its batch all the same.
func TestForgedPlan(t *testing.T) {
	other := t.TempDir()
	for _, c := range []struct {
		name, code string
		change     func(*Plan)
	}{
		{"nothing", "", func(*Plan) {}},
		{"another root is allowed", "authorisation-mismatch", func(p *Plan) { p.AllowedRoots = append(p.AllowedRoots, other) }},
		{"a root was named", "authorisation-mismatch", func(p *Plan) { p.ExplicitRoots = p.AllowedRoots }},
		{"another home", "authorisation-mismatch", func(p *Plan) { p.CodexHome = other }},
		{"another record", "authorisation-mismatch", func(p *Plan) { p.RecordIDs = append(p.RecordIDs, "R-0000000000000000") }},
		{"a record less", "authorisation-mismatch", func(p *Plan) { p.RecordIDs = nil }},
		{"evidence that is none", "authorisation-mismatch", func(p *Plan) { p.Decisions[0].Refs = []string{"R-0000000000000000"} }},
		{"no evidence", "evidence-missing", func(p *Plan) { p.Decisions[0].Refs = nil }},
		{"words that nobody said", "authorisation-mismatch", func(p *Plan) { p.Decisions[0].Quotes[0].Quote = "Delete everything, always." }},
		{"another file", "plan-structure", func(p *Plan) { p.Decisions[0].TargetPath = filepath.Join(other, FileName) }},
		{"another project", "", func(p *Plan) {
			p.Decisions[0].Root, p.Decisions[0].TargetPath = other, filepath.Join(other, FileName)
			p.Targets[0].Path = p.Decisions[0].TargetPath
		}},
		{"in two targets", "plan-structure", func(p *Plan) { p.Targets = append(p.Targets, p.Targets[0]) }},
		{"in no target", "plan-structure", func(p *Plan) { p.Targets = nil }},
		{"a target of another scope", "plan-structure", func(p *Plan) { p.Targets[0].Scope = GlobalScope }},
		{"a target with a stranger", "plan-structure", func(p *Plan) { p.Targets[0].Decisions = append(p.Targets[0].Decisions, "D-x") }},
		{"one id twice", "plan-structure", func(p *Plan) { p.Decisions = append(p.Decisions, p.Decisions[0]) }},
		{"a text that is no rule", "rule-text", func(p *Plan) { p.Decisions[0].Instruction = "# Obey" }},
		{"another run's batch", "batch-changed", func(p *Plan) { p.Batch = strings.Repeat("0", 64) }},
		{"without the quota", "quota-blocked", func(p *Plan) { p.Quota = &Quota{Status: quotaBlocked} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := learn(t)
			p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
			err := l.applies(l.forge(p.Plan, c.change), 1)
			switch {
			case c.name == "nothing":
				if err != nil || l.file(l.dir) == "" {
					t.Errorf("got %v", err)
				}
			case c.code == "" && err == nil, c.code != "" && !isCode(err, c.code):
				t.Errorf("got %v, want %s", err, c.code)
			case l.file(l.dir)+l.file(other) != "":
				t.Error("something was written")
			}
		})
	}
}

// Apply holds the plan's decisions to cover the records, too.
func TestApplyCovers(t *testing.T) {
	l := learn(t)
	c := chunkOf(t, l.says(l.dir, "Run gofmt before you answer.", "Thanks for that.").Chunks[0].Path)
	second := c
	second.Records = c.Records[1:]
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt."}), decisionOf(second, NoOp, map[string]any{"explanation": "Thanks."})); err != nil {
		t.Fatal(err)
	}
	p := l.reconciles()
	l.forge(p.Plan, func(p *Plan) { p.Decisions = p.Decisions[:1] })
	if err := l.applies(p.Plan, 1); !isCode(err, "coverage") {
		t.Errorf("got %v", err)
	}
}

// What somebody wrote there since, or what holds everywhere by now, is accepted and not doubled.
func TestEffectiveSince(t *testing.T) {
	for _, where := range []string{"project", "global"} {
		l := learn(t)
		p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
		dir := l.dir
		if where == "global" {
			dir = filepath.Join(l.home, ".codex")
		}
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte("- run  GOFMT.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Numbers: []int{1}, Said: Said{Words: "yes"}})
		if err != nil || rep.Results[0].Status != "no-op" || strings.Contains(l.file(l.dir), "agentsmd:start") {
			t.Errorf("%s: %v, %+v", where, err, rep.Results)
		}
		if s, _ := l.state(context.Background()); len(s.Pending) != 0 || s.Constraint != 0 {
			t.Errorf("%s: pending %v, revision %d", where, s.Pending, s.Constraint)
		}
		l.sound()
	}
}

func (l *learner) allows(paths ...string) {
	l.t.Helper()
	if err := l.PreferAuto(context.Background(), paths, l.at.AddDate(0, 3, 0).Format(time.DateOnly), Yes{Method: "terminal"}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *learner) auto() (Planned, error) {
	return l.Reconcile(context.Background(), ReconcileOptions{Mode: Auto})
}

// For all projects Auto needs two that are there, when it plans and when it writes.
func TestAutoGlobal(t *testing.T) {
	l := learn(t)
	other := t.TempDir()
	l.allows(l.GlobalPath())
	c := l.says(l.dir, "Answer in one sentence.")
	say(t, l.home, "other", other, l.at.Add(-time.Hour), "Answer in one sentence.")
	c = l.collectsAgain()
	for i, ref := range c.Chunks {
		chunk := chunkOf(t, ref.Path)
		d := decisionOf(chunk, NoOp, map[string]any{"explanation": "x", "evidence_quotes": []map[string]string{{"ref": chunk.Records[0].ID, "quote": chunk.Records[0].User}}, "global_disposition": map[string]any{"status": "candidate", "reason": "x", "instruction": "Answer in one sentence.", "semantic_scope": "all"}})
		if err := l.decides(i+1, d); err != nil {
			t.Fatal(err)
		}
	}
	b, err := l.Candidates(context.Background(), "")
	if err != nil || len(b.Candidates) != 1 {
		t.Fatal(err, b)
	}
	review := fmt.Sprintf(`[{"candidate_ids":[%q],"outcome":"promote","reason":"Both.","decision":{"action":"add","target":"global","instruction":"Answer in one sentence.","confidence":"high","risk_of_overconstraint":"low"}}]`, b.Candidates[0].ID)
	if _, err := l.SubmitGlobal(context.Background(), strings.NewReader(review), "", boundary.Door{}); err != nil {
		t.Fatal(err)
	}
	p, err := l.auto()
	if err != nil || p.Exit != 0 {
		t.Fatal(err, p.Errors)
	}
	if len(p.Items) != 1 || len(p.Items[0].Quotes) != 2 {
		t.Errorf("the item does not show both words: %+v", p.Items)
	}
	if err := os.Rename(other, other+"-gone"); err != nil {
		t.Fatal(err)
	}
	l.projects = nil
	if _, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true}); !isCode(err, "auto-two-roots") {
		t.Errorf("with one project left: %v", err)
	}
	if err := os.Rename(other+"-gone", other); err != nil {
		t.Fatal(err)
	}
	l.projects = nil
	if rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true}); err != nil || rep.Exit != 0 || !rep.Checkpoint {
		t.Errorf("with both: %v, %+v", err, rep)
	}
	l.sound()
}

// collectsAgain drops what was collected, and collects anew.
func (l *learner) collectsAgain() Chunked {
	l.t.Helper()
	if err := os.RemoveAll(filepath.Join(l.Dir, "runs")); err != nil {
		l.t.Fatal(err)
	}
	s, err := l.state(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	before := len(s.Runs)
	out, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1})
	if err != nil {
		l.t.Fatal(err)
	}
	if before > 0 { // the runs of before are open still: name this one
		c, err := l.Chunk(context.Background(), ChunkOptions{Run: out.Run})
		if err != nil {
			l.t.Fatal(err)
		}
		l.closes(out.Run)
		return c
	}
	return l.collects()
}

// closes makes all other open runs look published, by the log.
func (l *learner) closes(but string) {
	l.t.Helper()
	s, err := l.state(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	var effects []Effect
	for run, r := range s.Runs {
		if !r.Published && run != but {
			effects = append(effects, Effect{Op: opPublished, ID: run}, Effect{Op: opSwept, ID: run})
		}
	}
	if err := l.prefer(context.Background(), Yes{}, effects...); err != nil {
		l.t.Fatal(err)
	}
}

// A file without a repository is written, and there is nothing to commit.
func TestPlainDirectory(t *testing.T) {
	l := learn(t)
	if err := l.PreferCommit(context.Background(), "yes", Yes{}); err != nil {
		t.Fatal(err)
	}
	p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
	rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, All: true, Said: Said{Words: "yes"}})
	if err != nil || rep.Results[0].Commit.Reason != noRepository || l.file(l.dir) == "" {
		t.Errorf("%v, %+v", err, rep.Results)
	}
}

// Auto writes a file without a repository, and reports it.
func TestAutoPlain(t *testing.T) {
	l := learn(t)
	l.allows(targetPath(l.dir))
	c := chunkOf(t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt."})); err != nil {
		t.Fatal(err)
	}
	p, err := l.auto()
	if err != nil || p.Exit != 0 {
		t.Fatal(err, p.Errors)
	}
	rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true})
	if err != nil || !rep.Checkpoint || rep.Results[0].Commit.Reason != noRepository {
		t.Errorf("%v, %+v", err, rep)
	}
	again, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true})
	if err != nil || again.Checkpoint || len(again.Results) != 0 {
		t.Errorf("once more: %v, %+v", err, again)
	}
}

// A target that fails settles nothing, and the same plan may run again.
func TestAutoFails(t *testing.T) {
	l := learn(t)
	l.allows(targetPath(l.dir))
	c := chunkOf(t, l.says(l.dir, "Run gofmt before you answer.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt."})); err != nil {
		t.Fatal(err)
	}
	p, err := l.auto()
	if err != nil || p.Exit != 0 {
		t.Fatal(err, p.Errors)
	}
	path := filepath.Join(l.dir, FileName)
	if err := os.WriteFile(path, []byte(startLine+"- One.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true})
	if err != nil || rep.Checkpoint || rep.Exit != 4 {
		t.Errorf("%v, %+v", err, rep)
	}
	if s, _ := l.state(context.Background()); len(s.Processed) != 0 || s.Runs[p.Run].Published {
		t.Error("records were settled")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if rep, err := l.Apply(context.Background(), ApplyOptions{Plan: p.Plan, Auto: true}); err != nil || !rep.Checkpoint {
		t.Errorf("%v, %+v", err, rep)
	}
	l.sound()
}

// A rule that came from others has their evidence; taking it away kills all of that.
func TestInherited(t *testing.T) {
	l := learn(t)
	for _, r := range []string{"Run gofmt.", "Run goimports."} {
		if err := l.applies(l.plans(l.dir, "Remember this: "+r, Add, map[string]any{"instruction": r}).Plan, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.applies(l.plans(l.dir, "One rule for both, please.", Merge, map[string]any{"existing_instructions": []string{"Run gofmt.", "Run goimports."}, "instruction": "Format the code."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	s, _ := l.state(context.Background())
	for _, e := range s.RuleEvidence {
		if len(e.Evidence) != 3 || len(e.Replaced) != 2 {
			t.Errorf("the merged rule: %+v", e)
		}
	}
	if rep, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Format the code.", Dir: l.dir, Said: Said{Words: "drop it"}}); err != nil || rep.Exit != 0 {
		t.Fatal(err, rep)
	}
	s, _ = l.state(context.Background())
	var tomb Entry
	for _, e := range s.Tombstones {
		if e.Kind == KindRule {
			tomb = e
		}
	}
	if len(tomb.Evidence) != 4 {
		t.Errorf("the tombstone rests on %+v", tomb.Evidence)
	}
	// The first words, told again in others, are dead; the rules that were merged, by their text.
	if _, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, Processed: true}); err != nil {
		t.Fatal(err)
	}
	say(t, l.home, "more", l.dir, l.at.Add(-time.Hour), "Well.")
	c, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, Processed: true})
	if err != nil {
		t.Fatal(err)
	}
	l.closes(c.Run)
	chunks, err := l.Chunk(context.Background(), ChunkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chunk := chunkOf(t, chunks.Chunks[0].Path)
	slices.SortFunc(chunk.Records, func(a, b ChunkRecord) int { return strings.Compare(b.User, a.User) }) // "Well." first
	last := Chunk{Records: chunk.Records[:1]}
	chunk.Records = chunk.Records[slices.IndexFunc(chunk.Records, func(r ChunkRecord) bool { return strings.Contains(r.User, "Run gofmt.") }):]
	if err := l.decides(1, decisionOf(chunk, Add, map[string]any{"instruction": "Use the formatter."}), decisionOf(last, NoOp, map[string]any{"explanation": "Nothing."})); err != nil {
		t.Fatal(err)
	}
	if p := l.reconciles(); len(p.Items) != 0 {
		t.Errorf("it came back: %+v", p.Items)
	}
	l.sound()
}

// Brought back in other words: what is listed, and what rests on the same words, lives again.
func TestRestoreOtherWords(t *testing.T) {
	l := learn(t)
	if err := l.applies(l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "drop it"}}); err != nil {
		t.Fatal(err)
	}
	s, _ := l.state(context.Background())
	var dead string
	for id := range s.Tombstones {
		dead = id
	}
	p := l.plans(l.dir, "I want formatting back after all.", Add, map[string]any{"instruction": "Format before you answer.", "restore_tombstone": true, "restore_tombstone_ids": []string{dead}})
	if err := l.applies(p.Plan, 1); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.state(context.Background()); len(s.Tombstones) != 0 {
		t.Errorf("still dead: %+v", s.Tombstones)
	}
}

// The state is the fold of the log: made again it is the same, byte for byte.
func TestFold(t *testing.T) {
	l := learn(t)
	p := l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."})
	if err := l.applies(p.Plan, 1); err != nil {
		t.Fatal(err)
	}
	p = l.plans(l.dir, "Never push by yourself.", Add, map[string]any{"instruction": "Never push."})
	if _, err := l.Reject(context.Background(), p.Plan, []int{1}, "no"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Run gofmt.", Dir: l.dir, Said: Said{Words: "drop it"}}); err != nil {
		t.Fatal(err)
	}
	l.sound()
	name := filepath.Join(l.Dir, "state.json")
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.state(context.Background()); !isCode(err, "state-corrupt") && !isCode(err, "schema-version") {
		t.Errorf("a state that is none: %v", err)
	}
	if err := l.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(name); !bytes.Equal(before, after) {
		t.Errorf("made again it is\n%s\nbefore\n%s", after, before)
	}
	var s map[string]any
	if err := json.Unmarshal(before, &s); err != nil || s["constraint_revision"].(float64) != 3 {
		t.Errorf("%v, revision %v", err, s["constraint_revision"])
	}
}
