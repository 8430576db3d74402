package shortcut

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assent/repo"
)

var day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func clone(t *testing.T) *repo.Repo {
	dir := t.TempDir()
	return &repo.Repo{Root: dir, GitDir: filepath.Join(dir, ".git"), CommonDir: filepath.Join(dir, ".git")}
}

// What was said last of a tree, a commit or a bypass is what counts.
func TestReceiptsLastWord(t *testing.T) {
	const (
		tree, head, other = "1111", "aaaa", "bbbb"
	)
	type fact struct{ event, head, tree, verdict string }
	for _, c := range []struct {
		name           string
		facts          []fact
		clean, checked bool
		outcome        Verdict
	}{
		{"nothing", nil, false, false, ""},
		{"a pass", []fact{{"pre-commit", head, tree, "clean"}}, true, true, ""},
		{"a pass in part", []fact{{"pre-commit", head, tree, "passed"}}, false, true, ""},
		{"a block", []fact{{"pre-commit", head, tree, "blocked"}}, false, false, ""},
		{"a block after a pass", []fact{{"pre-commit", head, tree, "clean"}, {"pre-commit", head, tree, "blocked"}}, false, false, ""},
		{"a pass after a block", []fact{{"pre-commit", head, tree, "blocked"}, {"pre-commit", head, tree, "clean"}}, true, true, ""},
		{"a pass on another HEAD", []fact{{"pre-commit", other, tree, "clean"}}, true, false, ""},
		{"a pass of another tree", []fact{{"pre-commit", head, "2222", "clean"}}, false, false, ""},
		{"a tree whose id begins so", []fact{{"pre-commit", head, "11112", "clean"}}, false, false, ""},
		{"a merge", []fact{{"pre-merge-commit", head, tree, "clean"}}, true, true, ""},
		{"judged after the commit", []fact{{"post-commit", head, tree, "clean"}}, true, false, ""},
		{"a bypass", []fact{{"post-commit", head, tree, "bypassed"}}, false, false, Bypassed},
		{"a bypass that was clean", []fact{{"post-commit", head, tree, "bypassed"}, {"post-commit", head, tree, "clean"}}, true, false, Bypassed},
		{"a bypass, then checked", []fact{{"post-commit", head, tree, "bypassed"}, {"pre-commit", head, tree, "clean"}}, true, true, ""},
		{"a bypass, then amended and checked", []fact{{"post-commit", head, tree, "bypassed"}, {"post-commit", head, tree, "passed"}}, false, false, ""},
		{"a bypass elsewhere", []fact{{"post-commit", other, tree, "bypassed"}}, false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := clone(t)
			for _, f := range c.facts {
				w := Open(r, f.event, day, "build")
				w.Watch = []string{"docs"}
				w.Add(Receipt{Head: f.head, Tree: f.tree, Watched: "w", Key: w.Key(), Verdict: Verdict(f.verdict)})
			}
			got := Open(r, "", day, "build")
			got.Watch = []string{"docs"}
			if _, ok := got.Clean(tree); ok != c.clean {
				t.Errorf("clean: %v", ok)
			}
			if ok := got.Checked(tree, head); ok != c.checked {
				t.Errorf("checked: %v", ok)
			}
			if v := got.Outcome(tree, head); v != c.outcome {
				t.Errorf("outcome: %q", v)
			}
		})
	}
}

// Another day, build or watch list is judged anew.
func TestReceiptsKey(t *testing.T) {
	r := clone(t)
	w := Open(r, "pre-commit", day, "build")
	w.LooksAt([]string{"docs", ".assent"})
	w.Add(Receipt{Head: "a", Tree: "t", Watched: "w", Key: w.Key(), Verdict: Clean})
	for _, c := range []struct {
		name  string
		now   time.Time
		build string
		watch []string
		want  bool
	}{
		{"the same", day.Add(11 * time.Hour), "build", nil, true},
		{"the next day", day.Add(12 * time.Hour), "build", nil, false},
		{"another build", day, "built", nil, false},
		{"another watch list", day, "build", []string{"docs"}, false},
	} {
		got := Open(r, "", c.now, c.build)
		if c.watch != nil {
			got.LooksAt(c.watch)
		}
		if _, ok := got.Clean("t"); ok != c.want {
			t.Errorf("%s: %v", c.name, ok)
		}
		if c.watch == nil && strings.Join(got.Watch, " ") != "docs .assent" {
			t.Errorf("the watch list is %q", got.Watch)
		}
	}
}

// The file stays small, and what is no receipt is passed over.
func TestReceiptsFile(t *testing.T) {
	r := clone(t)
	w := Open(r, "pre-commit", day, "build")
	w.Watch = []string{"docs"}
	file := filepath.Join(r.CommonDir, "assent", "cache", "receipts")
	for range 5000 {
		w.Add(Receipt{Head: strings.Repeat("a", 40), Tree: "old", Watched: strings.Repeat("w", 64), Key: w.Key(), Verdict: Clean})
	}
	w.Add(Receipt{Head: "a", Tree: "new", Watched: "w", Key: w.Key(), Verdict: Clean})
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxReceipts {
		t.Fatal(info.Size(), err)
	}
	noise := "{\"tree\":\"new\"\nnot json \"tree\":\"new\"\n{\"tree\":\"new\",\"verdict\":1}\n{\"verdict\":\"blocked\",\"message\":\"\\\"tree\\\":\\\"new\\\"\"}\n"
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(noise); err != nil {
		t.Fatal(err)
	}
	f.Close()
	got := Open(r, "", day, "build")
	got.Watch = []string{"docs"}
	if _, ok := got.Clean("new"); !ok {
		t.Error("the receipt is lost in the noise")
	}
	if last, ok := got.Last(); !ok || last.Tree != "new" {
		t.Errorf("the last receipt is %+v", last)
	}
	if err := os.WriteFile(file, make([]byte, 3*maxReceipts), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := Open(r, "", day, "build").Last(); ok {
		t.Error("a receipt in nothing but NULs")
	}
	w = Open(r, "pre-commit", day, "build")
	w.Add(Receipt{Head: "a", Tree: "t", Verdict: Clean})
	if info, err := os.Stat(file); err != nil || info.Size() > 2*maxReceipts {
		t.Errorf("a file that is too large stays so: %d, %v", info.Size(), err)
	}
}
