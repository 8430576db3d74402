package skmb

import (
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
