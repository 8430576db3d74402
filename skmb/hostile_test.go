package skmb

import (
	"fmt"
	"strings"
	"testing"

	"assent/internal/budget"
)

// What somebody can commit to make the checks slow, or talkative without end, is answered
// in time; what is said grows with the base, not with its square (specification, story 30).
func TestAHostileBaseIsAnsweredInTime(t *testing.T) {
	const (
		decisionHead   = "\n## Decision Index\n\n| id | status | file |\n|-|-|-|\n"
		transitionHead = "\n## Transition Decisions\n\n| id | from_state | event | to_state | source |\n|-|-|-|-|-|\n"
		invariantHead  = "\n## Invariants\n\n| id | source |\n|-|-|\n"
	)
	const (
		slower = budget.Slower
		mib    = 1 << 20 / slower
	)
	repeat := func(n int, line func(i int) string) string {
		var out strings.Builder
		for i := range n {
			out.WriteString(line(i))
		}
		return out.String()
	}
	id := func(i int) string { return fmt.Sprintf("SKMB-%04d-%02d-%02d-001", 2000+i/300, i/25%12+1, i%25+1) }
	small := func(id, supersedes string) string { // an accepted decision
		return "# " + id + "\n\n- status: accepted\n- decided_by: designer\n- approval_source: yes\n- supersedes: " + supersedes + "\n"
	}
	chain := func(n int, more string) map[string]string {
		files := map[string]string{indexFile: decisionHead + repeat(n, func(i int) string { return fmt.Sprintf("|%s|accepted|decisions/%d.md|\n", id(i), i) })}
		for i := range n {
			files[fmt.Sprintf("%s/decisions/%d.md", root, i)] = small(id(i), id((i+1)%n)+more)
		}
		return files
	}
	cases := []struct {
		claim string
		files map[string]string
	}{
		{"one state and event, thousands of ways to go on", map[string]string{notifier: plain[notifier], indexFile: decisionHead + "|SKMB-2026-06-11-001|accepted|decisions/001-notifier.md|\n" +
			transitionHead + repeat(20_000/slower, func(i int) string { return fmt.Sprintf("|T%d|a|e|s%d|SKMB-001|\n", i, i) })}},
		{"one state and event, thousands of times", map[string]string{notifier: plain[notifier], indexFile: decisionHead + "|SKMB-2026-06-11-001|accepted|decisions/001-notifier.md|\n" +
			transitionHead + repeat(40_000/slower, func(i int) string { return "|T|a|e|s|SKMB-001|\n" })}},
		{"thousands of references that may mean thousands of records", map[string]string{indexFile: decisionHead + repeat(8_000/slower, func(i int) string { return "|" + id(i) + "|accepted|-|\n" }) +
			invariantHead + repeat(8_000/slower, func(i int) string { return fmt.Sprintf("|%d|SKMB-001|\n", i) })}},
		{"a circle through every record", chain(1500/slower, "")},
		{"a circle through every record, and one from each to the first", chain(1500/slower, ", "+id(0))},
		{"records that all name each other", chain(120/slower, ", "+repeat(120/slower, func(i int) string { return id(i) + " " }))},
		{"a record that names one thousands of times", map[string]string{indexFile: decisionHead + "|" + id(0) + "|accepted|decisions/0.md|\n", root + "/decisions/0.md": small(id(0), repeat(30_000/slower, func(i int) string { return id(1) + " " }))}},
		{"a record that names thousands", map[string]string{indexFile: decisionHead + "|" + id(0) + "|accepted|decisions/0.md|\n", root + "/decisions/0.md": small(id(0), repeat(30_000/slower, func(i int) string { return id(i+1) + " " }))}},
		{"thousands of hashes", map[string]string{indexFile: decisionHead + "|" + id(0) + "|accepted|decisions/0.md|\n", root + "/decisions/0.md": small(id(0), "none\n- commit: "+repeat(60_000/slower, func(i int) string { return fmt.Sprintf("a%07x ", i) }))}},
		{"a MiB of brackets", map[string]string{indexFile: decisionHead + strings.Repeat("[", mib), root + "/decisions/.gitkeep": ""}},
		{"a MiB of cells", map[string]string{indexFile: decisionHead + strings.Repeat("|", mib) + "\n", root + "/decisions/.gitkeep": ""}},
		{"a MiB of header cells", map[string]string{indexFile: "## Decision Index\n\n" + strings.Repeat("|a", mib/2) + "\n" + strings.Repeat("|-", mib/2) + "\n", root + "/decisions/.gitkeep": ""}},
		{"a MiB of comments that are not closed", map[string]string{indexFile: decisionHead + strings.Repeat("<!-- ", mib/5), root + "/decisions/.gitkeep": ""}},
		{"a MiB of quotes", map[string]string{indexFile: decisionHead + strings.Repeat("> ", mib/2), root + "/decisions/.gitkeep": ""}},
		{"a MiB of nested lists", map[string]string{indexFile: decisionHead, root + "/decisions/0.md": "# " + id(0) + "\n\n" + repeat(1400, func(i int) string { return strings.Repeat(" ", i) + "- a\n" })}},
		{"a field of a MiB of stars", map[string]string{indexFile: decisionHead, root + "/decisions/0.md": "# " + id(0) + "\n\n- status: " + strings.Repeat("*a", mib/2-100) + "\n"}},
		{"front matter of a MiB of brackets", map[string]string{indexFile: decisionHead, root + "/decisions/0.md": "---\na: " + strings.Repeat("[", mib-100) + "\n---\n# " + id(0) + "\n"}},
		{"front matter whose aliases grow", map[string]string{indexFile: decisionHead, root + "/decisions/0.md": "---\na0: &a0 [x]\n" + repeat(40, func(i int) string { return fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i) }) + "---\n# " + id(0) + "\n"}},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			size := 1 << 12
			for _, text := range c.files {
				size += len(text)
			}
			s := setting(func(s *scene) { s.tree = treeOf(c.files) }, strangers(repeatHash(60_000)...))
			said := 0
			budget.Within(t, soon, func() {
				said = 0
				for _, f := range judge(t, s.options, s.tree) {
					said += len(f.Message) + len(f.Key)
				}
			})
			if said > 16*size {
				t.Errorf("of %d bytes, %d were said", size, said)
			}
		})
	}
}

func repeatHash(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("a%07x", i)
	}
	return out
}
