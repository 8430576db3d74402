package hooks

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"assent/finding"
	"assent/repo"
	"assent/store"
)

// What is staged while the index is judged does not slip through; a mere refresh stops nothing.
func TestIndexMoved(t *testing.T) {
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		out, err := repo.Run(context.Background(), repo.Command{Name: "git", Args: args, Dir: dir, Env: env})
		if err != nil || out.Code != 0 {
			t.Fatalf("git %v: %v %s", args, err, out.Stderr)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a", "1")
	git("add", "a")
	for _, c := range []struct {
		name      string
		meanwhile func()
		code      int
	}{
		{"nothing happens", func() {}, finding.ExitOK},
		{"a refresh", func() {
			later := time.Now().Add(time.Hour)
			_ = os.Chtimes(dir+"/a", later, later)
			git("update-index", "--refresh")
		}, finding.ExitOK},
		{"another file is staged", func() { write("b", "1"); git("add", "b") }, finding.ExitFindings},
		{"a file is staged with other content", func() { write("a", "2"); git("add", "a") }, finding.ExitFindings},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			event := Event{Name: "pre-commit", Group: Guard, Stops: true, Limit: time.Minute, Steps: []Step{{"step", func(r *run) error {
				r.meanwhile = c.meanwhile
				return judgeStaged(r)
			}}}}
			code := Call{Event: event.Name, Dir: dir, Env: env, Stderr: &out, Now: time.Now, Build: t.Name()}.run(context.Background(), event)
			if code != c.code || (code != finding.ExitOK) != strings.Contains(out.String(), "boundary/index-moved") {
				t.Errorf("exit %d: %s", code, out.String())
			}
		})
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Table {
		if seen[e.Name] || e.Name == "" || e.Input == "" || e.Limit <= 0 || len(e.Steps) == 0 {
			t.Errorf("bad row %+v", e)
		}
		seen[e.Name] = true
		if found, ok := Find(e.Name); !ok || found.Name != e.Name {
			t.Errorf("%s is not found", e.Name)
		}
	}
}

// What goes wrong in a step stops Git in a guard event, and never in another.
func TestStepsThatFail(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/.git/objects", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, c := range []struct {
		name string
		step func(*run) error
		code int // in a guard event
		says string
	}{
		{"an error", func(*run) error { return errors.New("the disk is gone") }, finding.ExitUnchecked, "the disk is gone"},
		{"a panic", func(*run) error { panic("a defect") }, finding.ExitUnchecked, "internal error: a defect"},
		{"a half-written change", func(*run) error { return store.ErrRecovery }, finding.ExitUnchecked, "assent recover"},
		{"a time-out", func(r *run) error { <-r.ctx.Done(); time.Sleep(50 * time.Millisecond); return nil }, finding.ExitUnchecked, "took longer than"},
		{"findings", func(r *run) error { r.code = finding.ExitFindings; return nil }, finding.ExitFindings, ""},
		{"nothing", func(*run) error { return nil }, finding.ExitOK, ""},
	} {
		for _, group := range []Group{Guard, Archive} {
			t.Run(c.name+" in "+string(group), func(t *testing.T) {
				var out bytes.Buffer
				limit := time.Minute
				if c.name == "a time-out" {
					limit = 100 * time.Millisecond
				}
				event := Event{Name: "some-event", Group: group, Stops: group == Guard, Limit: limit, Steps: []Step{{"step", c.step}}}
				code := Call{Event: event.Name, Stderr: &out, Now: time.Now}.run(context.Background(), event)
				want := c.code
				if group == Archive {
					want = finding.ExitOK
				}
				if code != want || !strings.Contains(out.String(), c.says) || c.says == "" && out.Len() > 0 {
					t.Errorf("exit %d, %q; want %d, %q", code, out.String(), want, c.says)
				}
				if group == Archive && strings.Count(out.String(), "\n") > 1 {
					t.Errorf("more than one line: %q", out.String())
				}
			})
		}
	}
}

func TestOutsideOfARepository(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	if code := Run(context.Background(), Call{Event: "pre-commit", Stderr: &out, Now: time.Now}); code != finding.ExitUnchecked {
		t.Errorf("exit %d, %q", code, out.String())
	}
	if code := Run(context.Background(), Call{Event: "post-commit", Stderr: &out, Now: time.Now}); code != finding.ExitOK {
		t.Errorf("exit %d", code)
	}
}

// The last line of a blocked commit is an action, and none that goes round the gate.
func TestAction(t *testing.T) {
	unresolved := func(ids ...string) (fs []finding.Finding) {
		for _, id := range ids {
			fs = append(fs, finding.Finding{Code: "skmb/unresolved", Key: "SKMB-2026-06-11-00" + id + " 0123456789abcdef"})
		}
		return fs
	}
	for _, c := range []struct {
		name, ends string
		findings   []finding.Finding
	}{
		{"one record", "skmb approve SKMB-2026-06-11-001", unresolved("1")},
		{"two records", "skmb approve SKMB-2026-06-11-001 SKMB-2026-06-11-002", unresolved("1", "2")},
		{"many records", "SKMB-2026-06-11-005 …", unresolved("1", "2", "3", "4", "5", "6")},
		{"one that is known, and something else", "commit again", []finding.Finding{{Code: "skmb/unresolved", Key: "SKMB-2026-06-11-001 0123456789abcdef", Baselined: true}, {Code: "skmb/row-shape"}}},
		{"something else", "commit again", []finding.Finding{{Code: "skmb/row-shape"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Action(c.findings); !strings.HasSuffix(got, c.ends) || strings.Contains(got, "verify") {
				t.Errorf("%q does not end in %q", got, c.ends)
			}
		})
	}
}
