package agentsmd

import (
	"context"
	"strings"
	"testing"
)

// A repository gets its lasting identity with its first commit. What was planned, written and
// withdrawn before holds after it, whether or not something was collected in between.
func TestFirstCommit(t *testing.T) {
	for _, between := range []bool{false, true} {
		l := learn(t)
		gitIn(t, l.dir, "init", "-q")
		if err := l.applies(l.plans(l.dir, "Run gofmt before you answer.", Add, map[string]any{"instruction": "Run gofmt."}).Plan, 1); err != nil {
			t.Fatal(err)
		}
		if err := l.applies(l.plans(l.dir, "Use tabs everywhere.", Add, map[string]any{"instruction": "Use tabs."}).Plan, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Withdraw(context.Background(), OwnOptions{Rule: "Use tabs.", Dir: l.dir, Said: Said{Words: "off"}}); err != nil {
			t.Fatal(err)
		}
		pending := l.plans(l.dir, "Say gofumpt instead of gofmt.", Replace, map[string]any{"existing_instruction": "Run gofmt.", "instruction": "Run gofumpt."})
		no := l.plans(l.dir, "Never push by yourself.", Add, map[string]any{"instruction": "Never push."})

		gitIn(t, l.dir, "commit", "-q", "--allow-empty", "-m", "one")
		l.projects = nil // another process
		if between {
			c := chunkOf(t, l.says(l.dir, "Thanks.").Chunks[0].Path)
			if err := l.decides(1, decisionOf(c, NoOp, map[string]any{"explanation": "Thanks."})); err != nil {
				t.Fatal(err)
			}
			l.reconciles()
		}
		o, err := l.Origins(context.Background(), l.dir)
		if err != nil || !o.Written[Norm("Run gofmt.")] || !o.Gone[Norm("Use tabs.")] {
			t.Errorf("between %v: %v, %+v", between, err, o)
		}
		if got := l.stateOf(l.dir); got != Current {
			t.Errorf("between %v: the block is %s", between, got)
		}
		if err := l.applies(pending.Plan, 1); err != nil {
			t.Errorf("between %v: %v", between, err)
		}
		if _, err := l.Reject(context.Background(), no.Plan, []int{1}, "no"); err != nil {
			t.Error(err)
		}
		for said, rule := range map[string]string{"Tabs, please, use them.": "Use tabs.", "Well, never push.": "Never push."} {
			if p := l.plans(l.dir, said, Add, map[string]any{"instruction": rule}); len(p.Items) != 0 {
				t.Errorf("between %v: %q came again: %+v", between, rule, p.Items)
			}
		}
		if got := l.file(l.dir); !strings.Contains(got, "- Run gofumpt.\n") || strings.Contains(got, "gofmt") {
			t.Errorf("the file holds %q", got)
		}
		if p := l.plans(l.dir, "Answer in one sentence.", Add, map[string]any{"instruction": "Answer briefly."}); l.applies(p.Plan, 1) != nil {
			t.Error("a new rule was refused")
		}
		if got := l.stateOf(l.dir); got != Current {
			t.Errorf("between %v: in the end the block is %s", between, got)
		}
		s, err := l.state(context.Background())
		if err != nil || len(s.Projects) != 1 {
			t.Errorf("%v, projects %+v", err, s.Projects)
		}
		for key, p := range s.Projects {
			if len(p.RootCommits) != 1 {
				t.Errorf("the project %s has the root commits %v", key, p.RootCommits)
			}
		}
		l.sound()
	}
}
