package agentsmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// session writes lines as a transcript of an agent, @ in them being a directory.
func (l *learner) session(agent, name, dir string, lines ...string) string {
	l.t.Helper()
	file := filepath.Join(l.home, ".codex", "sessions", name+".jsonl")
	if agent == "claude" {
		file = filepath.Join(l.home, ".claude", "projects", "p", name+".jsonl")
	}
	if agent == "elsewhere" {
		file = filepath.Join(l.home, name+".jsonl")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		l.t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "@", dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		l.t.Fatal(err)
	}
	return file
}

var (
	codexLines = []string{
		`{"timestamp":"2026-11-30T10:00:00Z","type":"session_meta","payload":{"id":"c","cwd":"@"}}`,
		`{"timestamp":"2026-11-30T10:00:01Z","type":"turn_context","payload":{"cwd":"@","turn_id":"1"}}`,
		`{"timestamp":"2026-11-30T10:00:02Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Run gofmt. My key is ghp_0123456789abcdefghijABCDEFGHIJ012345."}]}}`,
		`{"timestamp":"2026-11-30T10:00:03Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"cmd\":\"ls\"}"}}`,
		`{"timestamp":"2026-11-30T10:00:04Z","type":"response_item","payload":{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"Formatted."}]}}`,
		`{"timestamp":"2026-11-30T10:00:05Z","type":"event_msg","payload":{"type":"agent_message","message":"Formatted, said aloud."}}`,
		`{"timestamp":"2026-11-30T10:00:06Z","type":"event_msg","payload":{"type":"user_message","message":"Run gofmt, typed."}}`,
		`{"timestamp":"2026-11-30T10:00:07Z","type":"event_msg","payload":{"type":"task_complete","last_agent_message":"Formatted."}}`,
	}
	claudeLines = []string{
		`{"timestamp":"2026-11-30T11:00:00Z","type":"user","sessionId":"s","uuid":"u1","cwd":"@","message":{"role":"user","content":"Use tabs."}}`,
		`{"timestamp":"2026-11-30T11:00:01Z","type":"assistant","sessionId":"s","uuid":"u2","message":{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","name":"Read","input":{"file":"a.go"}}]}}`,
		`{"timestamp":"2026-11-30T11:00:02Z","type":"user","sessionId":"s","uuid":"u3","message":{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"package a"}]}]}}`,
		`{"timestamp":"2026-11-30T11:00:03Z","type":"summary","sessionId":"s","summary":"x"}`,
		`{"timestamp":"2026-11-30T11:00:04Z","type":"assistant","sessionId":"s","uuid":"u4","message":{"role":"assistant","content":"Tabs it is.","stop_reason":"end_turn"}}`,
	}
)

func (l *learner) collected(o CollectOptions) (Collected, *Batch) {
	l.t.Helper()
	if o.QuotaMin == 0 {
		o.QuotaMin = -1
	}
	out, err := l.Collect(context.Background(), o)
	if err != nil {
		l.t.Fatal(err)
	}
	b := &Batch{}
	if out.Run != "" {
		data, err := os.ReadFile(filepath.Join(l.Dir, "runs", out.Run, "batch.json"))
		if err == nil {
			err = readDocument("batch.json", data, b)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return out, b
}

// Evidence is the lines of a transcript by what they are, redacted, and no more than was asked for.
func TestEvidence(t *testing.T) {
	l := learn(t)
	l.session("codex", "c", l.dir, codexLines...)
	l.session("claude", "s", l.dir, claudeLines...)
	_, b := l.collected(CollectOptions{})
	if len(b.Records) != 2 {
		t.Fatalf("%d records", len(b.Records))
	}
	see := func(o EvidenceOptions) (out []string, more bool) {
		t.Helper()
		got, err := l.Evidence(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Events {
			out = append(out, fmt.Sprintf("%d %s %s", e.Line, e.Kind, e.Text))
		}
		return out, got.Truncated
	}
	of := func(i int) string { return b.Records[i].ID }
	for _, c := range []struct {
		o    EvidenceOptions
		more bool
		want []string
	}{
		{EvidenceOptions{Record: of(0), Start: 1, End: 100, Kinds: []string{"user", "assistant", "tool"}}, false, []string{
			"3 user Run gofmt. My key is [redacted:service-key].", `4 tool {"type":"function_call","name":"shell","arguments":"{\"cmd\":\"ls\"}"}`, "5 assistant Formatted.", "6 assistant Formatted, said aloud.", "7 user Run gofmt, typed.",
		}},
		{EvidenceOptions{Record: of(0), Start: 4, End: 5}, false, []string{`4 tool {"type":"function_call","name":"shell","arguments":"{\"cmd\":\"ls\"}"}`, "5 assistant Formatted."}},
		{EvidenceOptions{Record: of(0), Kinds: []string{"user"}, MaxEvents: 1}, true, []string{"3 user Run gofmt. My key is [redacted:service-key]."}},
		{EvidenceOptions{Record: of(1), Kinds: []string{"user", "assistant", "tool"}}, false, []string{"1 user Use tabs.", "2 tool Looking.\n\n" + `Read {"file":"a.go"}`, "3 tool package a", "5 assistant Tabs it is."}},
		{EvidenceOptions{Record: of(1), Kinds: []string{"lifecycle"}}, false, []string{"4 lifecycle summary"}},
	} {
		got, more := see(c.o)
		if !reflect.DeepEqual(got, c.want) || more != c.more {
			t.Errorf("%+v: more is %v, got\n%s", c.o, more, strings.Join(got, "\n"))
		}
	}
	if got, more := see(EvidenceOptions{Record: of(0), Kinds: []string{"assistant"}, MaxChars: 6, MaxEvents: 1}); !more || len([]rune(got[0])) > len("5 assistant ")+30 || strings.Contains(got[0], "Formatted.") {
		t.Errorf("cut: %v, %v", got, more)
	}
}

// A transcript from elsewhere is read by the adapter that knows its first lines.
func TestIncludeFile(t *testing.T) {
	for agent, lines := range map[string][]string{"codex": codexLines, "claude-code": claudeLines} {
		for _, odd := range []string{"", "\xef\xbb\xbf", `{"type":"file-history-snapshot","snapshot":{}}` + "\n"} {
			l := learn(t)
			if odd != "" && odd[0] == '{' && agent == "codex" {
				odd = "no json at all\n"
			}
			file := l.session("elsewhere", "x", l.dir, append([]string{odd + lines[0]}, lines[1:]...)...)
			_, b := l.collected(CollectOptions{Files: []string{file}})
			if len(b.Records) != 1 || b.Records[0].SourceName != agent || *b.Records[0].ProjectRoot != l.dir {
				t.Errorf("%s, after %q: %+v", agent, odd, b.Records)
			}
		}
	}
}

// What cannot be read is told, and keeps nothing else from being read.
func TestReadingWarns(t *testing.T) {
	l := learn(t)
	l.session("codex", "c", l.dir, codexLines...)
	l.session("codex", "torn", l.dir, append(slices.Clone(claudeLines[:0]), codexLines[0], "no json", `["a list"]`)...)
	zst := l.session("codex", "z", l.dir, "x")
	if err := os.Rename(zst, zst+".zst"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.dir, filepath.Join(filepath.Dir(zst), "loop")); err != nil {
		t.Fatal(err)
	}
	out, b := l.collected(CollectOptions{})
	told := strings.Join(out.Warnings, "\n")
	for _, want := range []string{"line 2 is no JSON object", "line 3 is no JSON object", "z.jsonl.zst is compressed", "loop is a link to a directory"} {
		if !strings.Contains(told, want) {
			t.Errorf("nothing tells %q:\n%s", want, told)
		}
	}
	if len(b.Records) != 1 {
		t.Errorf("%d records", len(b.Records))
	}
}

// A line over the limit is told and left out; the lines behind it are read.
func TestLongLine(t *testing.T) {
	l := learn(t)
	file := l.session("codex", "c", l.dir, codexLines[:2]...)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	part := []byte(strings.Repeat("x", 1<<20))
	if _, err := f.WriteString(`{"type":"response_item","payload":{"type":"function_call_output","output":"`); err != nil {
		t.Fatal(err)
	}
	for range maxTranscriptLine>>20 + 1 {
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	rest := strings.ReplaceAll("\"}}\n"+strings.Join(codexLines[2:], "\n")+"\n", "@", l.dir)
	if _, err := f.WriteString(rest); err != nil {
		t.Fatal(err)
	}
	out, b := l.collected(CollectOptions{})
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], fmt.Sprintf("line 3 has more than %d bytes", maxTranscriptLine)) {
		t.Errorf("warnings: %v", out.Warnings)
	}
	if len(b.Records) != 1 || !strings.HasPrefix(b.Records[0].User, "Run gofmt.") {
		t.Errorf("records: %+v", b.Records)
	}
}

// What was read once is not read again: not where the file was moved, not where it grew; one that is
// another file by now is read anew, and what is known of it comes no second time.
func TestCursors(t *testing.T) {
	l := learn(t)
	settle := func(o CollectOptions) (Collected, int) {
		t.Helper()
		out, b := l.dismisses(o)
		return out, len(b.Records)
	}
	filler := `{"type":"response_item","payload":{"type":"function_call_output","output":"` + strings.Repeat("x", headBytes) + `"}}`
	file := l.session("codex", "c", l.dir, slices.Insert(slices.Clone(codexLines), 1, filler)...)
	if _, n := settle(CollectOptions{}); n != 1 {
		t.Fatalf("%d records", n)
	}
	if out, n := settle(CollectOptions{}); n != 0 || out.Counts["turns"] != 0 {
		t.Errorf("once more: %d, %v", n, out.Counts)
	}
	archived := filepath.Join(l.home, ".codex", "archived_sessions", "c.jsonl")
	if err := os.MkdirAll(filepath.Dir(archived), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, archived); err != nil {
		t.Fatal(err)
	}
	if out, n := settle(CollectOptions{}); n != 0 || out.Counts["turns"] != 0 {
		t.Errorf("archived: %d, %v", n, out.Counts)
	}
	more := strings.NewReplacer(`"1"`, `"2"`, "Run gofmt.", "Never push.").Replace(strings.Join(codexLines[1:], "\n"))
	data, err := os.ReadFile(archived)
	if err == nil {
		err = os.WriteFile(archived, append(data, strings.ReplaceAll(more+"\n", "@", l.dir)...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, n := settle(CollectOptions{}); n != 1 || out.Counts["turns"] != 1 {
		t.Errorf("grown: %d, %v", n, out.Counts)
	}
	if err := os.WriteFile(archived, append([]byte("{}\n"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, n := settle(CollectOptions{}); n != 0 || !strings.Contains(strings.Join(out.Warnings, "\n"), "is read anew") {
		t.Errorf("another file: %d, %+v", n, out)
	}
	if out, b := l.collected(CollectOptions{Processed: true}); len(b.Records) != 1 || len(b.RecordIDs) != 0 || !b.Records[0].Processed {
		t.Errorf("processed ones again: %+v, %+v", out, b)
	}
	l.sound()
}

// Filters leave for later what they leave out.
func TestCollectFilters(t *testing.T) {
	l := learn(t)
	other := t.TempDir()
	l.session("codex", "c", l.dir, codexLines...)
	l.session("claude", "s", other, claudeLines...)
	for _, c := range []struct {
		name string
		o    CollectOptions
		want []string
	}{
		{"a source", CollectOptions{Sources: []string{"claude-code"}}, []string{"s"}},
		{"a root", CollectOptions{OnlyRoots: []string{l.dir}}, []string{"c"}},
		{"a time", CollectOptions{Since: time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)}, []string{"s"}},
		{"the oldest", CollectOptions{MaxRecords: 1}, []string{"c"}},
		{"none", CollectOptions{}, []string{"c", "s"}},
	} {
		out, b := l.collected(c.o)
		var got []string
		for _, r := range b.Records {
			got = append(got, r.Session)
		}
		if !slices.Equal(got, c.want) || out.More != (c.o.MaxRecords == 1) {
			t.Errorf("%s: %v, more is %v", c.name, got, out.More)
		}
	}
}

// How much is left is read from the newest event at the ends of Codex's files; another agent writes
// none.
func TestQuota(t *testing.T) {
	l := learn(t)
	limits := func(at, used string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-30T1%s:00Z","type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":%s},"secondary":{"used_percent":3}}}}`, at, used)
	}
	l.session("codex", "old", l.dir, append(slices.Clone(codexLines), limits("0:09", "99"))...)
	filler := `{"type":"response_item","payload":{"type":"function_call_output","output":"` + strings.Repeat("x", quotaTail) + `"}}`
	l.session("codex", "new", l.dir, append(slices.Clone(codexLines), limits("1:00", "50"), filler, limits("2:00", "40"))...)
	ctx := context.Background()
	q, err := l.quota(ctx, 20, nil)
	if err != nil || q.Status != quotaAllowed || *q.Remaining != 60 {
		t.Errorf("%v, %+v", err, q)
	}
	if _, err := l.Collect(ctx, CollectOptions{QuotaMin: 61}); !isCode(err, "quota-blocked") {
		t.Errorf("61 %%: %v", err)
	}
	if _, err := l.Collect(ctx, CollectOptions{QuotaMin: 1, Sources: []string{"claude-code"}}); !isCode(err, "quota-unknown") {
		t.Errorf("of another agent: %v", err)
	}
	if s := must(l.state(ctx)); len(s.Runs) != 0 {
		t.Errorf("runs: %v", s.Runs)
	}
	if err := os.RemoveAll(filepath.Join(l.home, ".codex", "sessions")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.quota(ctx, 1, nil); !isCode(err, "quota-unknown") {
		t.Errorf("of no transcript: %v", err)
	}
}

// Whatever is said, and however much of it, it fits into chunks: each as large as was asked for, and
// every record in one.
func TestChunksFit(t *testing.T) {
	l := learn(t)
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprintf("%d: %s", i, strings.Repeat("word ", []int{5, 100, 3000}[i%3])))
	}
	var rules strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rules, "- Rule number %d of this project.\n", i)
	}
	l.writes(l.dir, rules.String())
	c := l.says(l.dir, texts...)
	for _, most := range []int{MinChunkChars, 20000, DefaultChunkChars} {
		out, err := l.Chunk(context.Background(), ChunkOptions{Run: c.Run, MaxChars: most, MaxRecords: 7})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, ref := range out.Chunks {
			data, err := os.ReadFile(ref.Path)
			if err != nil {
				t.Fatal(err)
			}
			chunk := chunkOf(t, ref.Path)
			if n := len([]rune(string(data))); n > most || len(chunk.Records) > 7 || len(chunk.Records) == 0 {
				t.Errorf("%d: %s has %d characters and %d records", most, ref.Path, n, len(chunk.Records))
			}
			for _, r := range chunk.Records {
				if r.User == "" || r.Abridged != !strings.Contains(r.User, strings.TrimSpace(texts[seen])) {
					t.Errorf("%d: record %d is abridged: %v, %d characters", most, seen, r.Abridged, len(r.User))
				}
				seen++
			}
			if most == MinChunkChars && chunk.EffectiveOmitted == 0 {
				t.Error("no rule was left out")
			}
		}
		if seen != len(texts) {
			t.Errorf("%d: %d records", most, seen)
		}
	}
}
