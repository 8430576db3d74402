package skmb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assent/finding"
)

func TestThePlainBasePasses(t *testing.T) {
	s := setting()
	if got := judge(t, s.options, s.tree); len(got) > 0 {
		t.Errorf("the plain base gives%s", list(got))
	}
	if got := judge(t, s.options, s.tree, treeOf(plain)); len(got) > 0 {
		t.Errorf("the plain base, unchanged, gives%s", list(got))
	}
}

func TestEveryCheckHasTeeth(t *testing.T) {
	var codes []string
	for _, c := range Checks(Options{}) {
		codes = append(codes, c.Code)
		f := fixtures[c.Code]
		if len(f.fails) == 0 || len(f.passes) == 0 {
			t.Errorf("%s has no fixture that fails, or none that passes", c.Code)
		}
		for _, x := range f.fails {
			t.Run(c.Code+"/fails/"+x.claim, func(t *testing.T) {
				s := setting(x.is...)
				got := judge(t, s.options, s.tree, s.parents...)
				if len(got) == 0 {
					t.Error("no finding")
				}
				said := map[string]bool{}
				for _, f := range got {
					if said[f.Place()+f.Message] {
						t.Errorf("%s is said twice", f.Message)
					}
					said[f.Place()+f.Message] = true
					if f.Code != c.Code {
						t.Errorf("got %s too", f.Code)
					}
					if f.Severity != c.Severity || f.Title != c.Title || f.Message == "" {
						t.Errorf("%+v is not filled from the check", f)
					}
					inside(t, s.tree, f)
				}
				if t.Failed() {
					t.Logf("the findings:%s", list(got))
				}
			})
		}
		for _, x := range f.passes {
			t.Run(c.Code+"/passes/"+x.claim, func(t *testing.T) {
				s := setting(x.is...)
				if got := judge(t, s.options, s.tree, s.parents...); len(got) > 0 {
					t.Errorf("got%s", list(got))
				}
			})
		}
	}
	for code := range fixtures {
		if !slices.Contains(codes, code) {
			t.Errorf("there are fixtures for %s, which is no check", code)
		}
	}
}

// inside fails unless a finding's place is in its file.
func inside(t *testing.T, tree *memory, f finding.Finding) {
	t.Helper()
	if f.Start.Line == 0 {
		return
	}
	lines := strings.Split(string(tree.files[f.Path]), "\n")
	if _, ok := tree.files[f.Path]; !ok || f.Start.Line > len(lines) || f.Start.Col < 1 || f.Start.Col > len([]rune(lines[f.Start.Line-1]))+1 {
		t.Errorf("%s is no place of %s", f.Place(), f.Path)
	}
}

func TestEveryCheckIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks(Options{}) {
		if seen[c.Code] {
			t.Errorf("%s stands twice", c.Code)
		}
		seen[c.Code] = true
		if !strings.HasPrefix(c.Code, "skmb/") || c.Title == "" || strings.HasSuffix(c.Title, ".") || !strings.HasSuffix(c.Doc, ".") || c.Run == nil {
			t.Errorf("%s is not explained: %q %q", c.Code, c.Title, c.Doc)
		}
	}
}

// broken is a tree that gives no answer about one file.
type broken struct {
	*memory
	name string
	err  error
}

func (b *broken) ReadFile(name string) ([]byte, error) {
	if name == b.name {
		return nil, b.err
	}
	return b.memory.ReadFile(name)
}

func TestATreeThatGivesNoAnswerIsNoPass(t *testing.T) {
	o := Options{Roots: []string{root}, Today: today}
	for _, name := range []string{indexFile, race} {
		bad := &broken{treeOf(plain), name, errors.New("the object is missing")}
		for claim, pass := range map[string]finding.Pass{
			"judged": {Ctx: context.Background(), New: bad},
			"before": {Ctx: context.Background(), New: treeOf(plain), Parents: []finding.Tree{bad}},
		} {
			r := finding.Run(Checks(o), pass)
			if r.Exit() != finding.ExitUnchecked || len(r.Findings) > 0 {
				t.Errorf("%s cannot be read, %s: exit code %d, findings%s", name, claim, r.Exit(), list(r.Findings))
			}
		}
		if _, err := Load(bad, root); !errors.Is(err, bad.err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAFileThatATreeFindsTooLargeCannotBeRead(t *testing.T) {
	for _, name := range []string{indexFile, race} {
		tree := &broken{treeOf(plain), name, fmt.Errorf("read %s: %w", name, errors.New("larger than 8388608 bytes"))}
		got := judge(t, Options{}, tree)
		if len(got) != 1 || got[0].Code != "skmb/unreadable" || got[0].Path != name {
			t.Errorf("%s: got%s", name, list(got))
		}
	}
}

func TestEachBaseIsJudgedOnItsOwn(t *testing.T) {
	s := setting(statusOf(race, "proposed"))
	for name, text := range plain {
		s.tree.files["lib/"+name] = []byte(text) // the same ids, in another base
	}
	s.options.Roots = []string{root, "lib/" + root, "none"}
	got := judge(t, s.options, s.tree)
	if len(got) != 1 || got[0].Code != "skmb/unresolved" || got[0].Path != race {
		t.Errorf("got%s", list(got))
	}
}

// What a finding says is fit for a terminal, and short, whatever stands in the file.
func TestAFindingQuotesNoControlCharacters(t *testing.T) {
	hostile := "\x1b[31m\u202e" + strings.Repeat("x", 4000)
	s := setting(swap(race, "- status: accepted", "- status: "+hostile), swap(race, "decided_by: designer", "decided_by: "+hostile), swap(race, "Approval Resolution Race", hostile),
		swap(restart, "- patterns: A, B", "- patterns: "+hostile), swap(restart, "# SKMB-2026-06-11-003", "# "+hostile), swap(indexFile, "decisions/003-restart.md", hostile))
	for _, f := range judge(t, s.options, s.tree) {
		if finding.Clean(f.Message) != f.Message || len(f.Message) > 400 {
			t.Errorf("%s says %q", f.Code, f.Message)
		}
	}
}

// A fingerprint names a finding wherever it moves to, so that a baseline holds.
func TestAFindingIsKnownAgainWhereverItMoves(t *testing.T) {
	for code, f := range fixtures {
		for _, x := range f.fails {
			t.Run(code+"/"+x.claim, func(t *testing.T) {
				s := setting(x.is...)
				want := finding.Fingerprints(judge(t, s.options, s.tree, s.parents...))
				for _, name := range []string{indexFile, notifier, race, restart, other} {
					if text, ok := s.tree.files[name]; ok && !strings.HasPrefix(string(text), "---") && len(text) < 1<<16 {
						s.tree.files[name] = append([]byte("\n\n"), text...)
					}
				}
				got := finding.Fingerprints(judge(t, s.options, s.tree, s.parents...))
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("two lines further down there are other findings")
				}
			})
		}
	}
}

func TestALinkIsNamed(t *testing.T) {
	s := setting(kind(restart, link))
	var said []string
	for _, f := range judge(t, s.options, s.tree) {
		said = append(said, f.Code+" "+f.Message)
	}
	want := []string{"skmb/row-without-file SKMB-2026-06-11-003: docs/isme/decisions/003-restart.md is a symbolic link", "skmb/stray-file 003-restart.md is a symbolic link: its target is not read"}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}

// Of several tables under one heading the one that names its rows is read, else the first.
func TestTheTableThatNamesItsRowsIsRead(t *testing.T) {
	const legend, second = "| word | meaning |\n|---|---|\n| a | b |\n\n", "| w | m |\n|---|---|\n| a | b |\n\n"
	s := setting(swap(indexFile, "| id | status | scope", legend+second+"| key | status | scope"))
	got := judge(t, s.options, s.tree)
	if len(got) != 3 || got[0].Code != "skmb/column-missing" || got[0].Start.Line != 7 {
		t.Errorf("got%s", list(got))
	}
}
