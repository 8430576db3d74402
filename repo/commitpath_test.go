package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const added = "learned\n"

// blobAt returns the id and content of a path in HEAD or, with "", in the index.
func (s *sandbox) blobAt(rev, name string) (id string, data []byte) {
	s.t.Helper()
	cmd := exec.Command("git", "rev-parse", "--verify", "-q", rev+":"+name)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.Output()
	if err != nil {
		return "", nil
	}
	id = strings.TrimSpace(string(out))
	return id, []byte(s.git("cat-file", "blob", id))
}

// commitPath adds a line to a file in HEAD, index and on disk, and commits the first.
func (s *sandbox) commitPath(r *Repo, name string, step func(string) error) (string, error) {
	s.t.Helper()
	c := PathCommit{Path: name, Message: "docs: learn\n\nTrailer: x\n"}
	var head, index []byte
	c.HeadID, head = s.blobAt("HEAD", name)
	c.IndexID, index = s.blobAt("", name)
	c.Head, c.Index = append(head, added...), append(index, added...)
	p, err := r.Prepare(context.Background(), c)
	if err != nil {
		return "", err
	}
	p.step = step
	return p.Publish(context.Background())
}

// world is everything that must not change when a commit does not come about.
func (s *sandbox) world() string {
	s.t.Helper()
	index, _ := os.ReadFile(filepath.Join(s.dir, ".git/index"))
	cmd := exec.Command("git", "log", "-g", "--format=%H %gs", "HEAD")
	cmd.Dir, cmd.Env = s.dir, s.env
	log, _ := cmd.Output()
	locks, _ := filepath.Glob(filepath.Join(s.dir, ".git/*.lock"))
	tmp, _ := filepath.Glob(filepath.Join(s.dir, ".git/assent/tmp/*-*"))
	disk, _ := os.ReadFile(filepath.Join(s.dir, "AGENTS.md"))
	return fmt.Sprintf("%x\n%s\n%q %q %q", index, log, locks, tmp, disk)
}

func agents(t *testing.T, flags ...string) *sandbox {
	s := newSandbox(t, flags...)
	s.write("AGENTS.md", "one\ntwo\nthree\n")
	s.write("other.go", "package other\n")
	s.write("deep/er/AGENTS.md", "deep\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "base")
	return s
}

func (s *sandbox) hook(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, ".git/hooks", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755)); err != nil {
		s.t.Fatal(err)
	}
}

// One path is committed, whatever else is staged or not; HEAD, index and disk each keep what
// was theirs and get the line.
func TestCommitPath(t *testing.T) {
	for _, c := range []struct {
		name  string
		init  []string
		path  string
		make  func(*sandbox)
		after func(*testing.T, *sandbox)
	}{
		{name: "nothing else"},
		{name: "sha256", init: []string{"--object-format=sha256"}},
		{name: "in a deep directory", path: "deep/er/AGENTS.md"},
		{name: "in a directory that HEAD does not have", path: "new/dir/AGENTS.md", make: func(s *sandbox) { s.write("new/dir/x", "") }},
		{name: "a file that HEAD does not have", path: "NEW.md"},
		{name: "others staged and not", make: func(s *sandbox) {
			s.write("other.go", "package other // staged\n")
			s.write("added.go", "package added\n")
			s.git("add", "-A")
			s.write("other.go", "package other // on disk\n")
		}, after: func(t *testing.T, s *sandbox) {
			if got := s.git("diff", "--cached", "--name-status"); got != "A\tadded.go\nM\tother.go\n" {
				t.Errorf("staged is %q", got)
			}
		}},
		{name: "the file itself partly staged", make: func(s *sandbox) {
			s.write("AGENTS.md", "staged\none\ntwo\nthree\n")
			s.git("add", "AGENTS.md")
			s.write("AGENTS.md", "staged\none\ntwo\nthree\non disk\n")
		}, after: func(t *testing.T, s *sandbox) {
			if got := s.git("show", "HEAD:AGENTS.md"); got != "one\ntwo\nthree\n"+added {
				t.Errorf("HEAD has %q", got)
			}
			if got := s.git("show", ":AGENTS.md"); got != "staged\none\ntwo\nthree\n"+added {
				t.Errorf("the index has %q", got)
			}
			if got := s.git("diff", "--cached", "--stat"); !strings.Contains(got, "1 file changed, 1 insertion(+)") {
				t.Errorf("staged is %s", got)
			}
		}},
		{name: "a staged removal of another", make: func(s *sandbox) { s.git("rm", "-q", "other.go") }, after: func(t *testing.T, s *sandbox) {
			if got := s.git("diff", "--cached", "--name-status"); got != "D\tother.go\n" {
				t.Errorf("staged is %q", got)
			}
		}},
		{name: "intent to add of another", make: func(s *sandbox) { s.write("later.go", "x"); s.git("add", "-N", "later.go") }, after: func(t *testing.T, s *sandbox) {
			if got := s.git("status", "--porcelain", "later.go"); got != " A later.go\n" {
				t.Errorf("%q", got)
			}
		}},
		{name: "detached", make: func(s *sandbox) { s.git("checkout", "-q", "--detach") }},
		{name: "during a bisect", make: func(s *sandbox) { s.git("bisect", "start"); s.git("bisect", "bad") }},
		{name: "executable", make: func(s *sandbox) { s.git("update-index", "--chmod=+x", "AGENTS.md"); s.git("commit", "-qm", "x") }, after: func(t *testing.T, s *sandbox) {
			if got := s.git("ls-tree", "HEAD", "AGENTS.md"); !strings.HasPrefix(got, "100755") {
				t.Error(got)
			}
		}},
		{name: "index version 4", make: func(s *sandbox) { s.git("update-index", "--index-version", "4") }, after: func(t *testing.T, s *sandbox) {
			if data, _ := os.ReadFile(filepath.Join(s.dir, ".git/index")); data[7] != 4 {
				t.Errorf("version %d", data[7])
			}
		}},
		{name: "split index", make: func(s *sandbox) { s.git("config", "core.splitIndex", "true"); s.git("update-index", "--split-index") }, after: func(t *testing.T, s *sandbox) {
			if data, _ := os.ReadFile(filepath.Join(s.dir, ".git/index")); !bytes.Contains(data, []byte("link")) {
				t.Error("it is whole")
			}
		}},
		{name: "untracked cache", make: func(s *sandbox) { s.git("update-index", "--untracked-cache"); s.git("status") }, after: func(t *testing.T, s *sandbox) {
			if data, _ := os.ReadFile(filepath.Join(s.dir, ".git/index")); !bytes.Contains(data, []byte("UNTR")) {
				t.Error("the extension is gone")
			}
		}},
		{name: "sparse, inside the cone", path: "deep/er/AGENTS.md", make: func(s *sandbox) { s.git("sparse-checkout", "set", "--cone", "--sparse-index", "deep") }},
		{name: "hooks that look and speak", make: func(s *sandbox) {
			s.hook("pre-commit", "git diff --cached --name-only > .git/seen; git diff --quiet -- other.go || exit 1\n")
			s.hook("commit-msg", "echo 'Reviewed-by: reviewer' >> \"$1\"\n")
			s.hook("post-commit", "git rev-parse HEAD > .git/after; exit 3\n")
		}, after: func(t *testing.T, s *sandbox) {
			if seen, _ := os.ReadFile(filepath.Join(s.dir, ".git/seen")); string(seen) != "AGENTS.md\n" {
				t.Errorf("pre-commit saw %q", seen)
			}
			if got := s.git("log", "-1", "--format=%B"); !strings.Contains(got, "Reviewed-by: reviewer") {
				t.Errorf("the message is %q", got)
			}
			if after, _ := os.ReadFile(filepath.Join(s.dir, ".git/after")); string(after) != s.git("rev-parse", "HEAD") {
				t.Errorf("post-commit saw %q", after)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := agents(t, c.init...)
			if c.path == "" {
				c.path = "AGENTS.md"
			}
			if c.make != nil {
				c.make(s)
			}
			before := strings.TrimSpace(s.git("rev-parse", "HEAD"))
			_, want := s.blobAt("HEAD", c.path)
			staged := s.git("diff", "--cached", "--name-status", "--", ":!"+c.path)
			r := s.open()
			id, err := s.commitPath(r, c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if head := strings.TrimSpace(s.git("rev-parse", "HEAD")); head != id {
				t.Errorf("HEAD is %s, not %s", head, id)
			}
			if got := s.git("diff-tree", "--no-commit-id", "--name-only", "-r", "HEAD"); got != c.path+"\n" || strings.TrimSpace(s.git("rev-parse", "HEAD^")) != before {
				t.Errorf("the commit changes %q", got)
			}
			if got := s.git("show", "HEAD:"+c.path); got != string(want)+added {
				t.Errorf("HEAD has %q", got)
			}
			if got := s.git("diff", "--cached", "--name-status", "--", ":!"+c.path); got != staged {
				t.Errorf("staged is %q, was %q", got, staged)
			}
			if got := s.git("log", "-g", "-1", "--format=%gs"); got != "commit: docs: learn\n" {
				t.Errorf("the reflog says %q", got)
			}
			s.git("fsck", "--strict")
			if rest, _ := filepath.Glob(filepath.Join(s.dir, ".git/assent/tmp/*-*")); len(rest) > 0 {
				t.Errorf("%q is left", rest)
			}
			if c.after != nil {
				c.after(t, s)
			}
		})
	}
	t.Run("the first commit", func(t *testing.T) {
		s := newSandbox(t)
		s.write("other.go", "x")
		s.git("add", "other.go")
		if _, err := s.commitPath(s.open(), "AGENTS.md", nil); err != nil {
			t.Fatal(err)
		}
		if got := s.git("ls-tree", "-r", "--name-only", "HEAD"); got != "AGENTS.md\n" {
			t.Errorf("the commit has %q", got)
		}
		if got := s.git("diff", "--cached", "--name-status"); got != "A\tother.go\n" {
			t.Errorf("staged is %q", got)
		}
	})
}

func (s *sandbox) try(args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	_ = cmd.Run()
}

// What cannot be committed whole and alone is refused, and nothing at all changes.
func TestCommitPathRefuses(t *testing.T) {
	sides := func(s *sandbox) {
		s.git("checkout", "-qb", "side")
		s.write("other.go", "side\n")
		s.git("commit", "-qam", "side")
		s.write("other.go", "side 2\n")
		s.git("commit", "-qam", "side 2")
		s.git("checkout", "-q", "main")
		s.write("other.go", "main\n")
		s.git("commit", "-qam", "main")
	}
	for _, c := range []struct {
		name string
		err  error
		make func(*sandbox)
	}{
		{"merge", ErrState, func(s *sandbox) { sides(s); s.try("merge", "side") }},
		{"rebase", ErrState, func(s *sandbox) { sides(s); s.try("rebase", "side") }},
		{"rebase by apply", ErrState, func(s *sandbox) { sides(s); s.try("rebase", "--apply", "side") }},
		{"am", ErrState, func(s *sandbox) {
			sides(s)
			s.git("format-patch", "-q", "-1", "side~1", "-o", ".git/patches")
			s.write("other.go", "clash\n")
			s.git("commit", "-qam", "clash")
			s.try("am", ".git/patches/0001-side.patch")
		}},
		{"cherry-pick", ErrState, func(s *sandbox) { sides(s); s.try("cherry-pick", "side") }},
		{"revert of two", ErrState, func(s *sandbox) {
			sides(s)
			s.write("other.go", "again\n")
			s.git("commit", "-qam", "again")
			s.try("revert", "--no-edit", "HEAD~1", "HEAD")
		}},
		{"squash", ErrState, func(s *sandbox) {
			s.git("checkout", "-qb", "side")
			s.write("x", "x")
			s.git("add", "x")
			s.git("commit", "-qm", "x")
			s.git("checkout", "-q", "main")
			s.git("merge", "-q", "--squash", "side")
		}},
		{"skip-worktree", ErrUnsuitable, func(s *sandbox) { s.git("update-index", "--skip-worktree", "AGENTS.md") }},
		{"assume-unchanged", ErrUnsuitable, func(s *sandbox) { s.git("update-index", "--assume-unchanged", "AGENTS.md") }},
		{"outside the cone", ErrUnsuitable, func(s *sandbox) {
			s.git("sparse-checkout", "set", "--no-cone", "deep/")
			s.git("sparse-checkout", "reapply")
		}},
		{"intent to add", ErrUnsuitable, func(s *sandbox) {
			s.git("rm", "-q", "--cached", "AGENTS.md")
			s.git("commit", "-qm", "rm")
			s.git("add", "-N", "AGENTS.md")
		}},
		{"a link", ErrUnsuitable, func(s *sandbox) {
			os.Remove(filepath.Join(s.dir, "AGENTS.md"))
			os.Symlink("other.go", filepath.Join(s.dir, "AGENTS.md"))
		}},
		{"a link in HEAD", ErrUnsuitable, func(s *sandbox) {
			os.Remove(filepath.Join(s.dir, "AGENTS.md"))
			os.Symlink("other.go", filepath.Join(s.dir, "AGENTS.md"))
			s.git("commit", "-qam", "link")
			os.Remove(filepath.Join(s.dir, "AGENTS.md"))
			s.write("AGENTS.md", "x")
		}},
		{"a filter", ErrUnsuitable, func(s *sandbox) { s.write(".gitattributes", "*.md filter=x\n") }},
		{"another encoding", ErrUnsuitable, func(s *sandbox) { s.write(".gitattributes", "*.md working-tree-encoding=UTF-16\n") }},
		{"a hook that says no", ErrHook, func(s *sandbox) { s.hook("pre-commit", "echo no >&2; exit 1\n") }},
		{"a hook that empties the message", ErrHook, func(s *sandbox) { s.hook("prepare-commit-msg", ": > \"$1\"\n") }},
		{"a message hook that says no", ErrHook, func(s *sandbox) { s.hook("commit-msg", "exit 1\n") }},
		{"a hook of refs that says no", ErrCommit, func(s *sandbox) {
			s.hook("reference-transaction", "test \"$1\" != prepared || { echo no >&2; exit 1; }\n")
		}},
		{"a lock that was left on HEAD", ErrLocked, func(s *sandbox) { s.write(".git/HEAD.lock", "") }},
		{"a lock that was left on the branch", ErrLocked, func(s *sandbox) { s.write(".git/refs/heads/main.lock", "") }},
		{"a hook that stages something else", ErrHookChanged, func(s *sandbox) { s.hook("pre-commit", "echo more > other.go; git add other.go\n") }},
		{"a signature that fails", ErrCommit, func(s *sandbox) {
			s.git("config", "commit.gpgsign", "true")
			s.git("config", "gpg.program", "/bin/false")
		}},
		{"no identity", ErrCommit, func(s *sandbox) {
			s.git("config", "user.useConfigOnly", "true")
			for i, kv := range s.env {
				if strings.HasPrefix(kv, "GIT_COMMITTER_") || strings.HasPrefix(kv, "GIT_AUTHOR_") {
					s.env[i] = "X=y"
				}
			}
		}},
		{"the index locked", ErrLocked, func(s *sandbox) { s.write(".git/index.lock", "another's") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := agents(t)
			c.make(s)
			before := s.world()
			if _, err := s.commitPath(s.open(), "AGENTS.md", nil); !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if after := s.world(); after != before {
				t.Errorf("something changed\nbefore %s\nafter  %s", before, after)
			}
		})
	}
	t.Run("blobs that are no longer current", func(t *testing.T) {
		s := agents(t)
		id, data := s.blobAt("HEAD", "AGENTS.md")
		s.write("AGENTS.md", "newer\n")
		s.git("add", "AGENTS.md")
		before := s.world()
		if _, err := s.open().Prepare(context.Background(), PathCommit{Path: "AGENTS.md", HeadID: id, IndexID: id, Head: data, Index: data, Message: "x"}); !errors.Is(err, ErrMoved) || s.world() != before {
			t.Errorf("%v", err)
		}
	})
	for name, move := range map[string]func(*sandbox){
		"HEAD moves between": func(s *sandbox) {
			s.git("update-ref", "HEAD", strings.TrimSpace(s.git("commit-tree", "-p", "HEAD", "-m", "x", "HEAD^{tree}")))
		},
		"index moves between": func(s *sandbox) { s.write("AGENTS.md", "staged meanwhile\n"); s.git("add", "AGENTS.md") },
	} {
		t.Run(name, func(t *testing.T) {
			s := agents(t)
			r := s.open()
			id, data := s.blobAt("HEAD", "AGENTS.md")
			p, err := r.Prepare(context.Background(), PathCommit{Path: "AGENTS.md", HeadID: id, IndexID: id, Head: append(data, added...), Index: append(data, added...), Message: "x"})
			if err != nil {
				t.Fatal(err)
			}
			move(s)
			before := s.git("rev-parse", "HEAD") + s.git("ls-files", "-s")
			if _, err := p.Publish(context.Background()); !errors.Is(err, ErrMoved) {
				t.Errorf("%v", err)
			}
			if after := s.git("rev-parse", "HEAD") + s.git("ls-files", "-s"); after != before {
				t.Errorf("%s became %s", before, after)
			}
			if locks, _ := filepath.Glob(filepath.Join(s.dir, ".git/*.lock")); len(locks) > 0 {
				t.Errorf("%q is left", locks)
			}
		})
	}
}

// A process that dies anywhere in Publish leaves the world before or, after recovery, the
// world after; and no lock.
func TestPublishCrash(t *testing.T) {
	for _, at := range []string{"locked", "written", "moved", "renamed"} {
		t.Run(at, func(t *testing.T) {
			s := agents(t)
			s.write("other.go", "staged\n")
			s.git("add", "-A")
			before := s.git("rev-parse", "HEAD")
			r, err := Open(context.Background(), s.dir, s.env)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.commitPath(r, "AGENTS.md", func(step string) error {
				if step == at {
					return errCrash
				}
				return nil
			})
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			r.Close() // the process is gone, and with it its lock

			again := s.open()
			if _, err := s.commitPath(again, "AGENTS.md", nil); !errors.Is(err, ErrPublishing) {
				t.Errorf("the next commit says %v", err)
			}
			if _, err := again.RecoverPublish(context.Background()); err != nil {
				t.Fatal(err)
			}
			landed := s.git("rev-parse", "HEAD") != before
			if want := at == "moved" || at == "renamed"; landed != want {
				t.Errorf("landed: %v", landed)
			}
			if got := strings.Contains(s.git("show", ":AGENTS.md"), added); got != landed {
				t.Errorf("the index has the line: %v", got)
			}
			if got := s.git("diff", "--cached", "--name-status"); got != "M\tother.go\n" {
				t.Errorf("staged is %q", got)
			}
			locks, _ := filepath.Glob(filepath.Join(s.dir, ".git/*.lock"))
			rest, _ := filepath.Glob(filepath.Join(s.dir, ".git/assent/tmp/*-*"))
			if len(locks)+len(rest) > 0 {
				t.Errorf("left: %q %q", locks, rest)
			}
			if done, err := again.RecoverPublish(context.Background()); err != nil || len(done) > 0 {
				t.Errorf("again: %q, %v", done, err)
			}
		})
	}
	t.Run("somebody else's lock stays", func(t *testing.T) {
		s := agents(t)
		r, _ := Open(context.Background(), s.dir, s.env)
		if _, err := s.commitPath(r, "AGENTS.md", func(string) error { return errCrash }); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		r.Close()
		lock := filepath.Join(s.dir, ".git/index.lock")
		os.Remove(lock)
		s.write(".git/index.lock", "another's")
		if _, err := s.open().RecoverPublish(context.Background()); err != nil {
			t.Error(err)
		}
		if data, _ := os.ReadFile(lock); string(data) != "another's" {
			t.Errorf("the lock is %q", data)
		}
	})
}

// A commit is signed where the configuration says so, and only there.
func TestCommitPathSigns(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen")
	}
	s := agents(t)
	key := filepath.Join(s.dir, ".git/key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	public, _ := os.ReadFile(key + ".pub")
	s.write(".git/signers", "designer@example.com "+string(public))
	for k, v := range map[string]string{"commit.gpgsign": "true", "gpg.format": "ssh", "user.signingkey": key, "gpg.ssh.allowedSignersFile": filepath.Join(s.dir, ".git/signers")} {
		s.git("config", k, v)
	}
	if _, err := s.commitPath(s.open(), "AGENTS.md", nil); err != nil {
		t.Fatal(err)
	}
	s.git("verify-commit", "HEAD")
	s.git("config", "commit.gpgsign", "false")
	if _, err := s.commitPath(s.open(), "AGENTS.md", nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.git("cat-file", "commit", "HEAD"), "gpgsig") {
		t.Error("signed without being asked")
	}
}

// Git may be stopped after HEAD has moved: then the commit is carried to its end.
func TestPublishStoppedLate(t *testing.T) {
	s := agents(t)
	s.hook("reference-transaction", "test \"$1\" != committed || { touch .git/moved; sleep 30; }\n")
	id, data := s.blobAt("HEAD", "AGENTS.md")
	r := s.open()
	p, err := r.Prepare(context.Background(), PathCommit{Path: "AGENTS.md", HeadID: id, IndexID: id, Head: append(data, added...), Index: append(data, added...), Message: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for range 1000 {
			if _, err := os.Stat(filepath.Join(s.dir, ".git/moved")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	got, err := p.Publish(ctx)
	if err != nil || got != strings.TrimSpace(s.git("rev-parse", "HEAD")) {
		t.Fatalf("%s, %v", got, err)
	}
	if !strings.Contains(s.git("show", ":AGENTS.md"), added) || s.git("diff", "--cached", "--name-only") != "" {
		t.Error("the index is behind HEAD")
	}
	if locks, _ := filepath.Glob(filepath.Join(s.dir, ".git/*.lock")); len(locks) > 0 {
		t.Errorf("%q is left", locks)
	}
}

// A hook that ends well has said yes, whatever it left running; of one that says no the last lines are told.
func TestHooksThatTalk(t *testing.T) {
	s := agents(t)
	s.hook("pre-commit", "sleep 300 &\nexit 0\n")
	if _, err := s.commitPath(s.open(), "AGENTS.md", nil); err != nil {
		t.Fatal(err)
	}
	s.hook("pre-commit", "seq 4000 >&2; echo the real reason >&2; exit 1\n")
	_, err := s.commitPath(s.open(), "AGENTS.md", nil)
	if !errors.Is(err, ErrHook) || !strings.HasSuffix(err.Error(), "\n4000\nthe real reason") || len(err.Error()) > 500 {
		t.Errorf("%.300v", err)
	}
}
