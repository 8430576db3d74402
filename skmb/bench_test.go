package skmb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// large is a base of n decisions to which no check objects. Every tenth supersedes the
// one before it; one transition in four rests on each of the first decisions.
func large(n int) *memory {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id := func(i int) string {
		return fmt.Sprintf("SKMB-%s-%03d", day.AddDate(0, 0, i/50).Format(time.DateOnly), i%50+1)
	}
	var rows, states, transitions strings.Builder
	files := map[string]string{}
	for i := range n {
		status, old, by := "accepted", "None.", ""
		if i%10 == 9 {
			old = "- " + id(i-1)
		}
		if i%10 == 8 && i+1 < n {
			status, by = "superseded", "- superseded_by: "+id(i+1)+"\n"
		}
		name := fmt.Sprintf("decisions/%s-retry-limit-of-job-%d.md", strings.TrimPrefix(id(i), "SKMB-"), i)
		fmt.Fprintf(&rows, "| %s | %s | importer, job %d | A, F | %s | `%07x` |\n", id(i), status, i, name, 0xa000000+i)
		files[root+"/"+name] = fmt.Sprintf(`# %s: Retry limit of job %d

- status: %s
- decided_by: designer
- approval_source: "three times is enough", said in the review of the importer
- date: 2026-01-02
- commit: %07x
- patterns:
  - A_async_wait
  - F_fail_semantics
- scope: importer, job %d
%s
## Context

The importer retries *without* a limit, which hid an outage for two days.

## Decision

Retry three times with exponential backoff. If all retries fail, the job is marked as
failed and an audit event is written.

## Applies To

- %[1]s of the importer
- its scheduler
- the tests of job %[2]d

## Supersedes

%[7]s
`, id(i), i, status, 0xa000000+i, i, by, old)
		if i%4 == 0 {
			fmt.Fprintf(&states, "| state %d | waits | importer | - | %s |\n", i, id(i))
			fmt.Fprintf(&transitions, "| T-%d | state %d | timeout | state %d | retry | %s |\n", i, i, i, id(i))
		}
	}
	files[indexFile] = "# State Machine Knowledge Base\n\n## Decision Index\n\n| id | status | scope | patterns | file | commit |\n| --- | --- | --- | --- | --- | --- |\n" + rows.String() +
		"\n## Named States\n\n| state | meaning | owner | notes | source |\n| --- | --- | --- | --- | --- |\n" + states.String() +
		"\n## Transition Decisions\n\n| id | from_state | event | to_state | actions | source |\n| --- | --- | --- | --- | --- | --- |\n" + transitions.String()
	return treeOf(files)
}

// BenchmarkCheck runs every check. Linear growth shows in ns/record, which stays as it is.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{25, 1000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tree := large(n)
			for _, f := range judge(b, Options{}, tree) {
				if f.Code != "skmb/source-not-accepted" { // every tenth decision was superseded
					b.Fatalf("%s: %s", f.Code, f.Message)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				judge(b, Options{}, tree)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}

// BenchmarkIndexRewrite makes 1000 rows from the files: all as they should be, and all
// turned around with a status that is behind. The files are read before.
func BenchmarkIndexRewrite(b *testing.B) {
	right := large(1000)
	wrong := right.clone()
	var rows, rest []string
	for l := range strings.Lines(string(right.files[indexFile])) {
		if strings.HasPrefix(l, "| SKMB-") {
			rows = append(rows, strings.Replace(l, "| accepted |", "| proposed |", 1))
		} else {
			rest = append(rest, l)
		}
	}
	slices.Reverse(rows)
	wrong.files[indexFile] = []byte(strings.Join(slices.Insert(rest, 6, rows...), ""))
	for _, is := range []struct {
		name string
		tree *memory
	}{{"right", right}, {"wrong", wrong}} {
		b.Run(is.name, func(b *testing.B) {
			tree, loaded := is.tree, load(b, is.tree)
			b.ReportAllocs()
			for b.Loop() {
				d := &draft{tree: tree, root: root, base: loaded, files: map[string][]byte{}}
				if err := d.rewriteIndex(); err != nil {
					b.Fatal(err)
				}
				got, err := d.read(indexFile)
				if err != nil || string(got) != string(right.files[indexFile]) {
					b.Fatalf("the rewritten index is not the right one: %v", err)
				}
			}
		})
	}
	b.Run("with the files read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := IndexRewrite(wrong, root); err != nil {
				b.Fatal(err)
			}
		}
	})
}
