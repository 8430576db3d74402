package agentsmd

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/approval"
)

// turnLine are the lines of one turn of Codex; without an answer it goes on.
func turnLines(turn, text string, at time.Time, answered bool) []string {
	stamp := func(n int) string { return at.Add(time.Duration(n) * time.Second).UTC().Format(time.RFC3339) }
	out := []string{
		fmt.Sprintf(`{"timestamp":%q,"type":"turn_context","payload":{"cwd":"@","turn_id":%q}}`, stamp(0), turn),
		fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`, stamp(1), text),
	}
	if answered {
		out = append(out, fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_complete","turn_id":%q,"last_agent_message":"Done."}}`, stamp(2), turn))
	}
	return out
}

func metaLine(session string) string {
	return fmt.Sprintf(`{"type":"session_meta","payload":{"id":%q,"cwd":"@"}}`, session)
}

// touch makes a transcript one that was written just now.
func (l *learner) touch(file string) {
	l.t.Helper()
	if err := os.Chtimes(file, l.at, l.at); err != nil {
		l.t.Fatal(err)
	}
}

// dismisses settles all that is new with a no-op for each chunk, and says how many records it had.
func (l *learner) dismisses(o CollectOptions) (Collected, *Batch) {
	l.t.Helper()
	out, b := l.collected(o)
	if out.Run == "" {
		return out, b
	}
	c, err := l.Chunk(context.Background(), ChunkOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	for i, ref := range c.Chunks {
		chunk := chunkOf(l.t, ref.Path)
		d := decisionOf(chunk, NoOp, map[string]any{"explanation": "x"})
		for _, r := range chunk.Records[1:] {
			d["evidence_refs"] = append(d["evidence_refs"].([]string), r.ID)
		}
		if err := l.decides(i+1, d); err != nil {
			l.t.Fatal(err)
		}
	}
	l.reconciles()
	return out, b
}

func saidIn(b *Batch) (out []string) {
	for _, r := range b.Records {
		out = append(out, r.User)
	}
	return out
}

// The current conversation is the one in which something is being said, although that is no whole turn
// yet; its words count, and those of other open turns wait.
func TestCurrentConversation(t *testing.T) {
	l := learn(t)
	other, asked := t.TempDir(), t.TempDir()
	now := l.at.Add(-time.Minute)
	l.session("codex", "y", other, append([]string{metaLine("y")}, turnLines("y1", "Said in another place.", now.Add(-time.Hour), true)...)...)
	l.touch(l.session("codex", "z", other, append([]string{metaLine("z")}, turnLines("z1", "Said elsewhere, just before.", now.Add(-time.Minute), false)...)...))
	l.touch(l.session("codex", "x", l.dir, append([]string{metaLine("x")}, turnLines("x1", "In that project, never push.", now, false)...)...))
	for _, session := range []string{"latest", "x"} {
		out, b := l.collected(CollectOptions{ExplicitRoots: []string{asked}, Sessions: []string{session}, Settle: DefaultSettle})
		if !slices.Equal(b.CurrentSessions, []string{"x"}) || !slices.Equal(saidIn(b), []string{"Said in another place.", "In that project, never push."}) || out.Counts["open"] != 1 {
			t.Errorf("%s: current is %q, said is %q, %v", session, b.CurrentSessions, saidIn(b), out.Counts)
		}
	}
	if out, b := l.collected(CollectOptions{Settle: DefaultSettle}); len(b.CurrentSessions) != 0 || len(b.Records) != 1 || out.Counts["open"] != 2 {
		t.Errorf("without: %q, %q, %v", b.CurrentSessions, saidIn(b), out.Counts)
	}
}

// Turns that say different things are different records, whatever ids they have; and each is offered
// until it is settled, and then no more.
func TestTurnsOfOneID(t *testing.T) {
	const uuid = "0199aaaa-0000-7000-8000-00000000000a"
	for name, ids := range map[string][3]string{"numbers": {"1", "2", "1"}, "UUIDs": {uuid, "2", uuid}} {
		l := learn(t)
		texts := []string{"Run gofmt.", "Thanks.", "Never touch the lock file."}
		lines := []string{metaLine("s")}
		for i, text := range texts {
			lines = append(lines, turnLines(ids[i], text, l.at.Add(time.Duration(i-60)*time.Minute), true)...)
		}
		file := l.session("codex", "s", l.dir, lines...)
		_, b := l.collected(CollectOptions{})
		if !slices.Equal(saidIn(b), texts) || len(slices.Compact(slices.Sorted(slices.Values(b.RecordIDs)))) != 3 {
			t.Fatalf("%s: %q, %q", name, saidIn(b), b.RecordIDs)
		}
		if _, again := l.dismisses(CollectOptions{}); !slices.Equal(again.RecordIDs, b.RecordIDs) {
			t.Errorf("%s: once more they are %q", name, again.RecordIDs)
		}
		// The same id once more, with other words, in a file that is read on.
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, append(data, strings.ReplaceAll(strings.Join(turnLines(ids[0], "And no force push.", l.at, true), "\n")+"\n", "@", l.dir)...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, b := l.dismisses(CollectOptions{}); !slices.Equal(saidIn(b), []string{"And no force push."}) || len(b.Episodes) != 1 || len(b.Episodes[0].Context) != 2 {
			t.Errorf("%s: then %q, %+v", name, saidIn(b), b.Episodes)
		}
		if _, b := l.collected(CollectOptions{Processed: true}); len(b.RecordIDs) != 0 || len(b.Records) != 4 {
			t.Errorf("%s: settled are all of %q but %q", name, saidIn(b), b.RecordIDs)
		}
		l.sound()
	}
}

// A transcript that shrank is read anew, once, and then on from there; one that grew again past the old
// place, too.
func TestShrunk(t *testing.T) {
	l := learn(t)
	at := l.at.Add(-3 * time.Hour)
	turn := func(n int, text string) []string {
		return turnLines(fmt.Sprint("t", n), text, at.Add(time.Duration(n)*time.Minute), true)
	}
	head := append([]string{metaLine("s"), `{"type":"response_item","payload":{"type":"function_call_output","output":"` + strings.Repeat("x", headBytes) + `"}}`}, turn(0, "First.")...)
	collect := func(want string, lines []string) {
		t.Helper()
		l.session("codex", "s", l.dir, append(slices.Clone(head), lines...)...)
		if _, b := l.dismisses(CollectOptions{}); strings.Join(saidIn(b), " ") != want {
			t.Errorf("got %q, want %q", saidIn(b), want)
		}
	}
	collect("First. Second. Third.", slices.Concat(turn(1, "Second."), turn(2, "Third.")))
	collect("A.", turn(3, "A."))
	collect("B.", slices.Concat(turn(3, "A."), turn(4, "B.")))
	long := strings.Repeat("long ", 300)
	collect(long+"C.", slices.Concat(turn(3, "A."), turn(5, long+"C.")))
	for _, cur := range must(l.state(context.Background())).Cursors {
		if cur.Session != "s" || cur.Instead != 0 {
			t.Errorf("the cursor is %+v", cur)
		}
	}
	l.sound()
}

// The context of a record is the latest of what was said before it: in its session, and in the others of
// its project.
func TestContextIsTheLatest(t *testing.T) {
	l := learn(t)
	at := l.at.Add(-100 * time.Hour)
	for i := range 9 {
		name := fmt.Sprintf("old-%d", i)
		l.session("codex", name, l.dir, append([]string{metaLine(name)}, turnLines("1", "In "+name+".", at.Add(time.Duration((i*5)%9)*time.Hour), true)...)...)
	}
	l.dismisses(CollectOptions{})
	context := func(b *Batch, of int, relation string) (out []string) {
		texts := map[string]string{}
		for _, list := range [][]Record{b.Context, b.Records} {
			for _, r := range list {
				texts[r.ID] = r.User
			}
		}
		for _, c := range b.Episodes[of].Context {
			if c.Relation == relation {
				out = append(out, texts[c.Record])
			}
		}
		return out
	}
	var lines []string
	for i := range 12 {
		lines = append(lines, turnLines(fmt.Sprint(i), fmt.Sprintf("New %d.", i), at.Add(time.Duration(20+i)*time.Hour), true)...)
	}
	l.session("codex", "new", l.dir, append([]string{metaLine("new")}, lines...)...)
	l.session("codex", "last", l.dir, append([]string{metaLine("last")}, turnLines("1", "Last.", at.Add(50*time.Hour), true)...)...)
	_, b := l.collected(CollectOptions{})
	newest := []string{"In old-7.", "In old-5."} // at the hours 8 and 7
	for i := range 12 {
		if got := context(b, i, sameProject); !slices.Equal(got, newest) {
			t.Errorf("turn %d has the context %q of other sessions, want %q", i, got, newest)
		}
	}
	if got := context(b, 11, sameSession); !slices.Equal(got, []string{"New 9.", "New 10."}) {
		t.Errorf("the last turn has the context %q of its session", got)
	}
	if got := context(b, 12, sameProject); !slices.Equal(got, []string{"New 11.", "New 10."}) {
		t.Errorf("another session has the context %q", got)
	}
}

// Where there is no room for all of the context, the oldest is left out.
func TestContextThatFits(t *testing.T) {
	all, before := map[string]*Record{}, map[string][]string{}
	for i := range 4 {
		at := fmt.Sprintf("2026-11-30T0%d:00:00Z", i)
		all[fmt.Sprint(i)] = &Record{ID: fmt.Sprint(i), User: strings.Repeat("x", 1000), StartedAt: &at}
	}
	before["3"] = []string{"0", "1", "2"}
	for most, want := range map[int]string{2000: "", 6000: "2", 16000: "1 2", 40000: "0 1 2"} {
		var c Chunk
		fill(&c, []*Record{all["3"]}, all, before, 10, most)
		var got []string
		for _, r := range c.Context {
			got = append(got, r.ID)
		}
		if strings.Join(got, " ") != want || c.ContextOmitted != 3-len(got) {
			t.Errorf("with room for %d: %q, %d left out, want %q", most, got, c.ContextOmitted, want)
		}
	}
}

// Chunks about which something was decided stay, until they shall go.
func TestChunksStay(t *testing.T) {
	l := learn(t)
	ctx := context.Background()
	c := chunkOf(t, l.says(l.dir, "Run gofmt now.").Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, NoOp, map[string]any{"explanation": "x"})); err != nil {
		t.Fatal(err)
	}
	l.writes(l.dir, "A rule that came meanwhile.\n")
	out, err := l.Chunk(ctx, ChunkOptions{MaxChars: MinChunkChars})
	if err != nil || len(out.Chunks) != 1 || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "agentsmd chunk --again") || len(chunkOf(t, out.Chunks[0].Path).Effective) != 0 {
		t.Errorf("%v, %+v", err, out)
	}
	l.overwrite(filepath.Join("runs", out.Run, "review", "chunk-0001.json"), "records", "record_s")
	if out, err := l.Chunk(ctx, ChunkOptions{}); err != nil || len(out.Warnings) != 0 {
		t.Errorf("of a damaged one: %v, %+v", err, out)
	}
	if err := l.decides(1, decisionOf(c, NoOp, map[string]any{"explanation": "x"})); err != nil {
		t.Fatal(err)
	}
	if out, err := l.Chunk(ctx, ChunkOptions{Again: true, MaxRecords: 3}); err != nil || len(out.Warnings) != 0 || len(chunkOf(t, out.Chunks[0].Path).Effective) != 1 {
		t.Errorf("again: %v, %+v", err, out)
	}
	if _, err := l.Reconcile(ctx, ReconcileOptions{}); !isCode(err, "chunk-open") {
		t.Errorf("what was decided is there still: %v", err)
	}
}

// All that is wrong with a file's decisions is said at once, with no id, and the plan can be read.
func TestAllErrors(t *testing.T) {
	l := learn(t)
	if err := l.applies(l.plans(l.dir, "Run gofmt now.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	c := chunkOf(t, l.says(l.dir, "Some other way.").Chunks[0].Path)
	var list []map[string]any
	for i := range 3 {
		list = append(list, decisionOf(c, Replace, map[string]any{"existing_instruction": fmt.Sprintf("Gone %d.", i), "instruction": fmt.Sprintf("New %d.", i)}))
	}
	list = append(list, decisionOf(c, Remove, map[string]any{"existing_instruction": "Run gofmt."}))
	if err := l.decides(1, list...); err != nil {
		t.Fatal(err)
	}
	out := l.reconciles()
	data, err := Document(out)
	if err != nil || out.Exit != 4 || len(out.Errors) != 3 || strings.Contains(string(data), `"D-`) || strings.Contains(string(data), "decision_id") {
		t.Errorf("%d, %v, %s", out.Exit, err, data)
	}
	p := &Plan{}
	if data, err = os.ReadFile(out.File); err == nil {
		err = readDocument("plan", data, p)
	}
	if err != nil || len(p.Errors) != 3 || len(p.Decisions) != 4 || filepath.Dir(filepath.Dir(out.File)) != l.Dir {
		t.Errorf("%v: the plan has %d errors of %d decisions", err, len(p.Errors), len(p.Decisions))
	}
}

// Newer words bring a rule back; where the user's hand did so before, they end the entry all the same.
func TestRestoredByHand(t *testing.T) {
	l := learn(t)
	ctx := context.Background()
	if err := l.applies(l.plans(l.dir, "Run gofmt now.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	if err := l.applies(l.plans(l.dir, "No gofmt any more.", Remove, map[string]any{"existing_instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	if s := must(l.state(ctx)); len(s.Tombstones) != 1 {
		t.Fatalf("%d tombstones", len(s.Tombstones))
	}
	l.writes(l.dir, strings.Replace(l.file(l.dir), Heading+"\n", Heading+"\n\n- Run gofmt.\n", 1))
	out := l.plans(l.dir, "Bring gofmt back, please.", Add, map[string]any{"instruction": "Run gofmt.", "restore_tombstone": true})
	if s := must(l.state(ctx)); len(out.Items) != 0 || len(out.Settled) != 1 || len(s.Tombstones) != 0 {
		t.Errorf("%+v; %d tombstones", out, len(s.Tombstones))
	}
	l.sound()
}

// A run that another one overtook leaves nothing of what was said, and collecting is enough for that.
func TestSweepOvertaken(t *testing.T) {
	l := learn(t)
	ctx := context.Background()
	first := l.says(l.dir, "Run gofmt now.")
	if err := l.decides(1, decisionOf(chunkOf(t, first.Chunks[0].Path), NoOp, map[string]any{"explanation": "x"})); err != nil {
		t.Fatal(err)
	}
	second := must(l.Collect(ctx, CollectOptions{QuotaMin: -1, ExplicitRoots: []string{t.TempDir()}}))
	c := must(l.Chunk(ctx, ChunkOptions{Run: second.Run}))
	if err := l.decidesFor(second.Run, decisionOf(chunkOf(t, c.Chunks[0].Path), NoOp, map[string]any{"explanation": "x"})); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(ctx, ReconcileOptions{Run: second.Run}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(ctx, ReconcileOptions{Run: first.Run}); !isCode(err, "run-overtaken") {
		t.Fatal(err)
	}
	l.at = l.at.Add(sweepAfter + time.Hour)
	say(t, l.home, "later", l.dir, l.at.Add(-time.Hour), "Something else.")
	l.collected(CollectOptions{})
	for _, run := range []string{first.Run, second.Run} {
		if left, _ := filepath.Glob(filepath.Join(l.Dir, "runs", run, "*", "*")); len(left) != 0 {
			t.Errorf("%q is left", left)
		}
	}
	l.sound()
}

// Git's own marks in a file are expanded on disk and not in the commit: both are edited as they are.
func TestIdent(t *testing.T) {
	l := learn(t)
	l.repository()
	if err := os.WriteFile(filepath.Join(l.dir, ".gitattributes"), []byte("AGENTS.md ident\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.writes(l.dir, "# Guide\n\n$Id$\n")
	gitIn(t, l.dir, "add", ".")
	gitIn(t, l.dir, "commit", "-q", "-m", "two")
	if err := os.Remove(filepath.Join(l.dir, FileName)); err != nil {
		t.Fatal(err)
	}
	gitIn(t, l.dir, "checkout", "--", FileName)
	if !strings.Contains(l.file(l.dir), "$Id: ") {
		t.Fatalf("not expanded: %q", l.file(l.dir))
	}
	if err := l.applies(l.one().Plan, 1); err != nil {
		t.Fatal(err)
	}
	if got := gitIn(t, l.dir, "show", "HEAD:"+FileName); !strings.Contains(got, "$Id$\n") || !strings.Contains(got, "- Run gofmt.") || !strings.Contains(l.file(l.dir), "$Id: ") {
		t.Errorf("committed is %q, on disk %q", got, l.file(l.dir))
	}
	if got := gitIn(t, l.dir, "status", "--porcelain"); got != "" {
		t.Errorf("left is %q", got)
	}
}

// A credential that somebody wrote into the block comes into none of our files, and what cannot be seen is
// not agreed to.
func TestSecretInTheBlock(t *testing.T) {
	for _, key := range []string{"ghp_" + strings.Repeat("a1b2", 9), "AKIA" + strings.Repeat("A1B2", 4)} {
		secretInTheBlock(t, key)
	}
}

func secretInTheBlock(t *testing.T, key string) {
	l := learn(t)
	ctx := context.Background()
	rule := "Use the token " + key + " always."
	l.writes(l.dir, block(rule))
	confirm := func(s approval.Statement) (approval.Given, error) {
		return approval.Given{Method: "terminal", Statement: s}, nil
	}
	if _, err := l.Adopt(ctx, filepath.Join(l.dir, FileName), confirm); err == nil || !strings.HasPrefix(err.Error(), "boundary/secret-found") || strings.Contains(err.Error(), key) {
		t.Errorf("adopted: %v", err)
	}
	if _, err := l.Withdraw(ctx, OwnOptions{Rule: rule, Dir: l.dir, Said: Said{Words: "away"}}); err == nil || !strings.HasPrefix(err.Error(), "boundary/secret-found") || strings.Contains(err.Error(), key) {
		t.Errorf("withdrawn: %v", err)
	}
	if err := l.applies(l.one().Plan, 1); err != nil {
		t.Fatal(err)
	}
	if err := l.applies(l.plans(l.dir, "No gofmt any more.", Remove, map[string]any{"existing_instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(l.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(bytes.ToLower(data), []byte(strings.ToLower(key))) {
			t.Errorf("%s has it", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	l.writes(l.dir, block("Be ki\u200bnd."))
	if _, err := l.Adopt(ctx, filepath.Join(l.dir, FileName), confirm); !isCode(err, "rule-text") || !strings.Contains(err.Error(), `\u200b`) {
		t.Errorf("adopted: %v", err)
	}
	l.sound()
}

// A rule that a hand took out comes back by newer words alone.
func TestOldWordsBringNothingBack(t *testing.T) {
	l := learn(t)
	ctx := context.Background()
	if err := l.applies(l.plans(l.dir, "Run gofmt now.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
		t.Fatal(err)
	}
	l.writes(l.dir, strings.Replace(l.file(l.dir), "- Run gofmt.\n", "", 1))
	l.at = l.at.Add(time.Hour)
	l.collected(CollectOptions{Processed: true})
	c := chunkOf(t, must(l.Chunk(ctx, ChunkOptions{})).Chunks[0].Path)
	if err := l.decides(1, decisionOf(c, Add, map[string]any{"instruction": "Run gofmt.", "restore_tombstone": true})); err != nil {
		t.Fatal(err)
	}
	out := l.reconciles()
	if len(out.Errors) != 1 || out.Errors[0].Code != "agentsmd/restore-unproved" || !strings.Contains(out.Errors[0].Message, "by hand") {
		t.Errorf("%+v", out)
	}
}
