package agentsmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"assent/boundary"
	"assent/store"
)

// transcriptMB is how much transcript BenchmarkCollect reads; bench/collect.sh gives 1024.
var transcriptMB = flag.Int("transcript-mb", 32, "size of the generated transcripts of BenchmarkCollect")

// keeper opens a state of its own, on agents that live below a directory.
func keeper(tb testing.TB, home string) *Keeper {
	tb.Helper()
	k := &Keeper{Dir: filepath.Join(home, "state", "agentsmd"), CodexHome: filepath.Join(home, ".codex"), ClaudeHome: filepath.Join(home, ".claude"), Random: zeros{}, Git: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}}
	k.Env = boundary.Env{Now: time.Now}
	s, err := store.Open(store.Options{Private: k.Dir, Anywhere: true, Third: k.KeepThird})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	k.Store = s
	return k
}

// zeros stands in for randomness: each byte is another one.
type zeros struct{}

var drawn byte

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		drawn++
		p[i] = drawn
	}
	return len(p), nil
}

// generate writes sessions like those of real work: most of their bytes are what tools printed.
func generate(tb testing.TB, dir string, total int) (files []string) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the file test of a rule commit index line returns error when it is read from disk and written back with its mode kept")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		return b.String()
	}
	if err := os.MkdirAll(filepath.Join(dir, ".codex", "sessions"), 0o755); err != nil {
		tb.Fatal(err)
	}
	for size, n := 0, 0; size < total; n++ {
		name := filepath.Join(dir, ".codex", "sessions", fmt.Sprintf("rollout-%05d.jsonl", n))
		f, err := os.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		w := bufio.NewWriter(f)
		line := func(v any) {
			data, err := json.Marshal(v)
			if err != nil {
				tb.Fatal(err)
			}
			size += len(data) + 1
			w.Write(append(data, '\n'))
		}
		at := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)
		event := func(kind string, payload any) {
			at = at.Add(time.Second)
			line(map[string]any{"timestamp": at.Format(time.RFC3339), "type": kind, "payload": payload})
		}
		event("session_meta", map[string]any{"id": fmt.Sprintf("session-%d", n), "cwd": dir})
		for turn := 0; turn < 8 && size < total; turn++ {
			event("turn_context", map[string]any{"cwd": dir, "turn_id": fmt.Sprintf("turn-%d-%d", n, turn)})
			event("response_item", map[string]any{"type": "message", "role": "user", "content": []map[string]string{{"type": "input_text", "text": text(200 + r.IntN(2000))}}})
			for range 4 + r.IntN(12) {
				event("response_item", map[string]any{"type": "function_call", "name": "shell", "arguments": text(200)})
				event("response_item", map[string]any{"type": "function_call_output", "output": text(500 + r.IntN(40000))})
			}
			event("response_item", map[string]any{"type": "message", "role": "assistant", "phase": "final_answer", "content": []map[string]string{{"type": "output_text", "text": text(500)}}})
			event("event_msg", map[string]any{"type": "task_complete"})
		}
		if err := w.Flush(); err != nil {
			tb.Fatal(err)
		}
		if err := f.Close(); err != nil {
			tb.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

// valid is what one would write to look at each line: encoding/json says whether it is JSON.
func valid(tb testing.TB, files []string) (lines int) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		in := bufio.NewReaderSize(f, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				if !json.Valid(bytes.TrimSpace(line)) {
					tb.Fatal("not JSON")
				}
				lines++
			}
			if err != nil {
				break
			}
		}
		f.Close()
	}
	return lines
}

// BenchmarkCollect reads generated transcripts, beside a program that asks json.Valid of each
// line, one after the other in one run. Figures: ratio of the two, MB/s, and the most memory
// that the heap had.
func BenchmarkCollect(b *testing.B) {
	dir := b.TempDir()
	files := generate(b, dir, *transcriptMB<<20)
	for b.Loop() {
		start := time.Now()
		lines := valid(b, files)
		reference := time.Since(start)
		k := keeper(b, b.TempDir())
		k.CodexHome = filepath.Join(dir, ".codex")
		peak, stop := watchHeap()
		start = time.Now()
		got, err := k.Collect(context.Background(), CollectOptions{QuotaMin: -1})
		took := time.Since(start)
		stop()
		if err != nil || got.Run == "" || got.Counts["records"] == 0 || lines == 0 {
			b.Fatal(err, got)
		}
		b.ReportMetric(took.Seconds()/reference.Seconds(), "x-valid")
		b.ReportMetric(float64(*transcriptMB)/took.Seconds(), "MB/s")
		b.ReportMetric(float64(peak())/(1<<20), "MB-heap")
		b.ReportMetric(float64(got.Counts["turns"]), "turns")
	}
}

// watchHeap looks at the heap every few milliseconds.
func watchHeap() (peak func() uint64, stop func()) {
	var most uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.Sys-m.HeapReleased)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { return most }, func() { close(done); <-ended }
}

// say writes a session of Codex with these words, one turn for each, that begins at a time.
func say(tb testing.TB, home, name, dir string, at time.Time, texts ...string) {
	tb.Helper()
	var out bytes.Buffer
	event := func(kind string, payload map[string]any) {
		at = at.Add(time.Second)
		data, err := json.Marshal(map[string]any{"timestamp": at.Format(time.RFC3339), "type": kind, "payload": payload})
		if err != nil {
			tb.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	event("session_meta", map[string]any{"id": name, "cwd": dir})
	for i, text := range texts {
		event("turn_context", map[string]any{"cwd": dir, "turn_id": fmt.Sprint(name, "-", i)})
		event("response_item", map[string]any{"type": "message", "role": "user", "content": []map[string]string{{"type": "input_text", "text": text}}})
		event("event_msg", map[string]any{"type": "task_complete", "last_agent_message": "Done."})
	}
	file := filepath.Join(home, ".codex", "sessions", name+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkThousand plans and applies a thousand rules of one file.
func BenchmarkThousand(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		home, dir := b.TempDir(), b.TempDir()
		k := keeper(b, home)
		var texts []string
		for i := range 1000 {
			texts = append(texts, fmt.Sprintf("Please keep in mind: rule %04d.", i))
		}
		say(b, home, "s", dir, time.Now().UTC().Add(-time.Hour), texts...)
		ctx := context.Background()
		if _, err := k.Collect(ctx, CollectOptions{QuotaMin: -1}); err != nil {
			b.Fatal(err)
		}
		chunks, err := k.Chunk(ctx, ChunkOptions{MaxRecords: 500, MaxChars: 2_000_000})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, c := range chunks.Chunks {
			data, err := os.ReadFile(c.Path)
			if err != nil {
				b.Fatal(err)
			}
			var chunk Chunk
			if err := json.Unmarshal(data, &chunk); err != nil {
				b.Fatal(err)
			}
			var list []map[string]any
			for _, r := range chunk.Records {
				list = append(list, map[string]any{
					"action": "add", "target": "project", "instruction": fmt.Sprintf("Mind rule %04d.", n), "evidence_refs": []string{r.ID},
					"evidence_quotes": []map[string]string{{"ref": r.ID, "quote": "Please keep in mind"}}, "confidence": "high", "risk_of_overconstraint": "low",
					"global_disposition": map[string]any{"status": "project-only", "reason": "It is about this."},
				})
				n++
			}
			payload, err := json.Marshal(list)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := k.SubmitDecisions(ctx, bytes.NewReader(payload), "", c.Number, boundary.Door{}); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		plan, err := k.Reconcile(ctx, ReconcileOptions{})
		if err != nil || plan.Exit != 0 || len(plan.Items) != 1000 {
			b.Fatal(err, plan.Errors)
		}
		rep, err := k.Apply(ctx, ApplyOptions{Plan: plan.Plan, All: true, Said: Said{Words: "all of them"}})
		if err != nil || rep.Exit != 0 {
			b.Fatal(err, rep)
		}
	}
}
