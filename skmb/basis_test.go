package skmb

import (
	"strings"
	"testing"
	"time"

	"assent/finding"
	"assent/internal/budget"
)

func FuzzBasis(f *testing.F) {
	for _, s := range []string{
		"<decision_basis>\npatterns: F\ncontext: c\n  goes on\n</decision_basis>\n",
		"```yaml\ndecision_basis:\n  patterns: [A, B]\n  skmb_ref: SKMB-001/002\n```\n",
		"~~~~\ndecision_basis: {a: b}\n~~~~",
		`{"text":"<decision_basis>\nx: y\n</decision_basis>"}`,
		"<decision_basis>\n", "```\ndecision_basis:\n", "{\"decision_basis", "subject\n\nSKMB: SKMB-2026-06-11-001, OPEN-001\nSKMB:\n",
	} {
		f.Add(s)
	}
	b, err := Load(treeOf(plain), root)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		budget.Within(t, soon, func() {
			lines := strings.Count(text, "\n") + 1
			for _, block := range ParseBasis(text) {
				if block.Line < 1 || block.Line > lines {
					t.Errorf("a block begins in line %d of %d", block.Line, lines)
				}
			}
			found, seen := b.CheckBasis(BasisSource{Name: "x", Text: text, IsWork: true, Trailer: true})
			for _, x := range found {
				if x.Start.Line > lines || x.Code == "" || x.Message == "" {
					t.Errorf("%+v in %d lines", x, lines)
				}
			}
			if len(found) > 0 && seen == 0 {
				t.Errorf("%d findings about nothing", len(found))
			}
		})
	})
}

func TestTrailers(t *testing.T) {
	for _, c := range []struct {
		name, message string
		want          string
	}{
		{"none", "subject\n", ""},
		{"in the subject they are none", "SKMB: SKMB-2026-06-11-001", ""},
		{"one", "subject\n\nbody\n\nSKMB: SKMB-2026-06-11-001\n", "SKMB-2026-06-11-001"},
		{"several, in any case", "subject\n\nSigned-off-by: x\nskmb: A-1, B-2\nSKMB: C-3", "A-1 B-2 C-3"},
		{"only in the last paragraph", "subject\n\nSKMB: A-1\n\nmore text", ""},
		{"CRLF", "subject\r\n\r\nSKMB: A-1\r\n", "A-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(Trailers(c.message), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What BasisBlock writes of an accepted record, CheckBasis takes.
func TestTheBlockOfARecordPasses(t *testing.T) {
	b, err := Load(treeOf(plain), root)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range b.Records {
		if r.Status != Accepted || r.Section("Applies To") == "" {
			continue
		}
		n++
		if found, _ := b.CheckBasis(BasisSource{Name: "x", Text: r.BasisBlock()}); len(found) > 0 {
			t.Errorf("%s\ngives %+v", r.BasisBlock(), found)
		}
	}
	if n == 0 {
		t.Error("no record was tried")
	}
}

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a/b.go", "a/b.go", true}, {"a/b.go", "a/c.go", false}, {"a", "a/b/c.go", true}, {"a/", "a/b.go", true}, {"a", "ab/c.go", false},
		{"a/*.go", "a/b.go", true}, {"a/*.go", "a/b/c.go", false}, {"a/**", "a/b/c.go", true}, {"**/c.go", "a/b/c.go", true}, {"**/c.go", "c.go", true},
		{"a/**/d", "a/b/c/d", true}, {"a/**/d", "a/d", true}, {"a/**/d", "a/b/c", false}, {"?.go", "a.go", true}, {"?.go", "ab.go", false},
		{"*a*a*a*b", strings.Repeat("a", 60), false}, {"**/**/**/**/x", strings.Repeat("a/", 60) + "y", false}, {"", "a", false}, {"./a", "a", true},
	} {
		budget.Within(t, time.Second, func() {
			if got := matchPath(c.pattern, c.path); got != c.want {
				t.Errorf("%q over %q: %v", c.pattern, c.path, got)
			}
		})
	}
}

// Merging rows: one side's change is taken, two sides' different changes conflict, and the
// order of the arguments does not decide what is in the result.
func TestMergeIndex(t *testing.T) {
	head := "# State Machine Knowledge Base\n\n## Decision Index\n\n| id | status | file |\n| --- | --- | --- |\n"
	row := func(n, status string) string {
		return "| SKMB-2026-01-01-00" + n + " | " + status + " | decisions/" + n + ".md |\n"
	}
	base := head + row("1", "accepted") + row("2", "proposed")
	for _, c := range []struct {
		name, ours, theirs, want string
		conflicts                int
	}{
		{"nothing", base, base, base, 0},
		{"a row on each side", base + row("3", "accepted"), base + row("4", "accepted"), base + row("3", "accepted") + row("4", "accepted"), 0},
		{"one side changes, the other adds", head + row("1", "accepted") + row("2", "accepted"), base + row("3", "proposed"), head + row("1", "accepted") + row("2", "accepted") + row("3", "proposed"), 0},
		{"one side removes", head + row("1", "accepted"), base, head + row("1", "accepted"), 0},
		{"both do the same", base + row("3", "x"), base + row("3", "x"), base + row("3", "x"), 0},
		{"both change one row", head + row("1", "accepted") + row("2", "rejected"), head + row("1", "accepted") + row("2", "accepted"), "", 1},
		{"one removes what the other changes", head + row("1", "accepted"), head + row("1", "accepted") + row("2", "accepted"), "", 1},
		{"prose on one side, a row on the other", strings.Replace(base, "## Dec", "Prose.\n\n## Dec", 1), base + row("3", "x"), strings.Replace(base, "## Dec", "Prose.\n\n## Dec", 1) + row("3", "x"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, n, err := MergeIndex([]byte(base), []byte(c.ours), []byte(c.theirs))
			if err != nil || n != c.conflicts || n == 0 && string(got) != c.want {
				t.Errorf("%d conflicts, %v\n%s\nwant %d\n%s", n, err, got, c.conflicts, c.want)
			}
			back, m, err := MergeIndex([]byte(base), []byte(c.theirs), []byte(c.ours))
			if err != nil || m != n || n == 0 && string(back) != string(got) {
				t.Errorf("the other way round: %d conflicts, %v\n%s", m, err, back)
			}
		})
	}
	if _, _, err := MergeIndex([]byte(base), []byte(base+"prose\n\nmore"), []byte(strings.Replace(base, "## Dec", "Prose.\n\n## Dec", 1))); err == nil {
		t.Error("prose on both sides is merged by rows")
	}
}

// Conflicts in tables are resolved by what rows are about; whatever a person has to decide
// stays a conflict, and no row is lost.
func TestResolveConflicts(t *testing.T) {
	b, err := Load(treeOf(plain), root)
	if err != nil {
		t.Fatal(err)
	}
	table := "| id | status | scope | patterns | file |\n| --- | --- | --- | --- | --- |\n"
	hunk := func(ours, theirs string) string {
		return "<<<<<<< HEAD\n" + ours + "=======\n" + theirs + ">>>>>>> side\n"
	}
	race := func(status, scope string) string {
		return "| SKMB-2026-06-11-002 | " + status + " | " + scope + " | C, G | decisions/002-race.md |\n"
	}
	for _, c := range []struct {
		name, in, want string
		left           int
	}{
		{"a row on each side", table + hunk("| A-1 | x | s | F | decisions/1.md |\n", "| A-2 | x | s | F | decisions/2.md |\n"), table + "| A-1 | x | s | F | decisions/1.md |\n| A-2 | x | s | F | decisions/2.md |\n", 0},
		{"diff3", table + "<<<<<<< HEAD\n" + race("accepted", "s") + "||||||| base\n" + race("proposed", "s") + "=======\n" + race("proposed", "s") + ">>>>>>> x\n", table + race("accepted", "s"), 0},
		{"diff3, one side took a row out", table + "<<<<<<< HEAD\n||||||| base\n| OPEN-001 | x | s | F | - |\n=======\n| OPEN-001 | x | s | F | - |\n| OPEN-002 | x | s | F | - |\n>>>>>>> x\n", table + "| OPEN-002 | x | s | F | - |\n", 0},
		{"diff3, the other side did", table + "<<<<<<< HEAD\n| OPEN-001 | x | s | F | - |\n| OPEN-002 | x | s | F | - |\n||||||| base\n| OPEN-001 | x | s | F | - |\n=======\n>>>>>>> x\n", table + "| OPEN-002 | x | s | F | - |\n", 0},
		{"diff3, one side took out what the other changed", table + "<<<<<<< HEAD\n||||||| base\n| OPEN-001 | x | s | F | - |\n=======\n| OPEN-001 | x | t | F | - |\n>>>>>>> x\n", "", 1},
		{"the file decides, whatever the scope says", table + hunk(race("proposed", "accepted uploads"), race("accepted", "accepted uploads")), table + race("accepted", "accepted uploads"), 0},
		{"hand-written cells differ", table + hunk(race("accepted", "ours"), race("accepted", "theirs")), "", 1},
		{"one id, two files", table + hunk("| SKMB-2026-06-11-009 | x | s | F | decisions/a.md |\n", "| SKMB-2026-06-11-009 | x | s | F | decisions/b.md |\n"), table + "| SKMB-2026-06-11-009 | x | s | F | decisions/a.md |\n| SKMB-2026-06-11-009 | x | s | F | decisions/b.md |\n", 0},
		{"two states with one source", "| state | meaning | source |\n| --- | --- | --- |\n" + hunk("| denied | no | SKMB-2026-06-11-001 |\n", "| retry | again | SKMB-2026-06-11-001 |\n"), "| state | meaning | source |\n| --- | --- | --- |\n| denied | no | SKMB-2026-06-11-001 |\n| retry | again | SKMB-2026-06-11-001 |\n", 0},
		{"one state, two meanings", "| state | meaning |\n| --- | --- |\n" + hunk("| denied | no |\n", "| denied | never |\n"), "", 1},
		{"one open question, two texts", "| id | pattern | context |\n| --- | --- | --- |\n" + hunk("| OPEN-001 | C | who wins? |\n", "| OPEN-001 | D | who pays? |\n"), "", 1},
		{"prose with a pipe", "Text.\n\n" + hunk("a | b\n", "c | d\n"), "", 1},
		{"in a fence", "```\n| a |\n" + hunk("| x | y |\n", "| z | w |\n") + "```\n", "", 1},
		{"never closed", table + "<<<<<<< HEAD\n| a | b |\n", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, resolved, left := b.ResolveConflicts(c.in)
			if c.left > 0 {
				c.want = c.in
			}
			if got != c.want || left != c.left || (resolved == 0) != (c.left > 0) {
				t.Errorf("resolved %d, left %d\n%s\nwant left %d\n%s", resolved, left, got, c.left, c.want)
			}
		})
	}
}

// A permission covers the patterns that it names, until its review.
func TestThePermissionOfADefault(t *testing.T) {
	s := setting(put(other, strings.Replace(record("SKMB-2026-06-11-004"), "status: accepted", "status: statistical_default\n- permitted_by: designer\n- review_by: 2026-06-30", 1)), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004")))
	b := load(t, s.tree)
	r := b.byID["SKMB-2026-06-11-004"]
	for _, c := range []struct{ patterns, confidence, today, want string }{
		{"C", "high", "", "permits no default on pattern C"},
		{strings.Join(r.Patterns, ", "), "low", "2026-06-30", ""},
		{strings.Join(r.Patterns, ", "), "low", "2026-07-01", "was to be reviewed by 2026-06-30"},
		{strings.Join(r.Patterns, ", ") + ", A", "low", "", "permits no default on pattern A"},
	} {
		text := block(designer, byDefault, "patterns: F", "patterns: "+c.patterns, "confidence: high", "confidence: "+c.confidence, "SKMB-2026-06-11-001", r.ID)
		found, _ := b.CheckBasis(BasisSource{Name: "x", Text: text, Today: c.today})
		got := ""
		for _, f := range found {
			got += f.Code + " " + f.Message
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && len(found) != 1 {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A mapping in a fence is a block also where comments or the mark of a document come first.
func TestBasisBehindComments(t *testing.T) {
	for _, before := range []string{"", "\n", "---\n", "# why\n\n---\n# so\n"} {
		if got := ParseBasis("```yaml\n" + before + "decision_basis:\n  patterns: F\n```\n"); len(got) != 1 || got[0].Values["patterns"] != "F" {
			t.Errorf("%q: %+v", before, got)
		}
	}
}

// A trailer that may mean several records names none.
func TestAnAmbiguousTrailer(t *testing.T) {
	s := setting(put(other, record("SKMB-2026-06-12-001")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-12-001")))
	for ref, want := range map[string]string{"SKMB-001": "may mean", "SKMB-2026-06-12-001": "", "SKMB-099": "is no record"} {
		pass := finding.Pass{New: s.tree, Commits: func() ([]finding.Commit, error) {
			return []finding.Commit{{Message: "x\n\nSKMB: " + ref + "\n"}}, nil
		}}
		found := finding.Run(CommitChecks(Options{Roots: []string{root}}), pass).Findings
		if want == "" && len(found) != 0 || want != "" && (len(found) != 1 || found[0].Code != trailerMissing || !strings.Contains(found[0].Message, want)) {
			t.Errorf("%s: %+v", ref, found)
		}
	}
}
