package repo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// sandbox is a repository with a Git configuration and home of its own.
type sandbox struct {
	t   *testing.T
	dir string
	env []string
}

func newSandbox(t *testing.T, initFlags ...string) *sandbox {
	t.Helper()
	top := t.TempDir()
	s := &sandbox{t: t, dir: filepath.Join(top, "r")}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "HOME=") && !strings.HasPrefix(kv, "XDG_") {
			s.env = append(s.env, kv)
		}
	}
	s.env = append(s.env, "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Designer", "GIT_AUTHOR_EMAIL=designer@example.com",
		"GIT_COMMITTER_NAME=Designer", "GIT_COMMITTER_EMAIL=designer@example.com")
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git(append([]string{"init", "-q", "-b", "main"}, initFlags...)...)
	return s
}

func (s *sandbox) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *sandbox) write(name, text string) {
	s.t.Helper()
	full := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) open() *Repo {
	s.t.Helper()
	r, err := Open(context.Background(), s.dir, s.env)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Close() })
	return r
}

func TestLocalVariablesHoldThoseOfGit(t *testing.T) {
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(out))
	if len(names) < 10 {
		t.Fatalf("Git lists %q", names)
	}
	for _, name := range names {
		if !slices.Contains(localVars, name) {
			t.Errorf("localVars lacks %s", name)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := environment([]string{
		"PATH=/bin", "GIT_DIR=.git", "GIT_INDEX_FILE=/abs/index", "GIT_ICASE_PATHSPECS=1", "GIT_LITERAL_PATHSPECS=0", "GIT_EXTERNAL_DIFF=x",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c", "LC_ALL=de_DE", "GIT_REDIRECT_STDOUT=x",
	}, "/top/tree")
	for name, want := range map[string]string{
		"GIT_DIR": "/top/tree/.git", "GIT_INDEX_FILE": "/abs/index", "GIT_LITERAL_PATHSPECS": "1", "GIT_ICASE_PATHSPECS": "", "GIT_EXTERNAL_DIFF": "",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "c", "LC_ALL": "C", "GIT_REDIRECT_STDOUT": "", "GIT_ALLOW_PROTOCOL": "none", "PATH": "/bin",
	} {
		if got := Variable(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	foreign := Foreign([]string{"GIT_DIR=x", "GIT_INDEX_FILE=y", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a", "GIT_CONFIG_VALUE_0=b", "GIT_QUARANTINE_PATH=q", "GIT_AUTHOR_NAME=a", "HOME=h"})
	if !slices.Equal(foreign, []string{"GIT_AUTHOR_NAME=a", "HOME=h"}) {
		t.Errorf("what stays for another repository: %v", foreign)
	}
}

func TestRun(t *testing.T) {
	sh := func(script string) Command {
		return Command{Name: "sh", Args: []string{"-c", script}, Dir: t.TempDir(), Env: os.Environ()}
	}
	t.Run("an exit code is no error", func(t *testing.T) {
		out, err := Run(context.Background(), sh("echo out; echo err >&2; exit 7"))
		if err != nil || out.Code != 7 || string(out.Stdout) != "out\n" || out.Stderr != "err" {
			t.Errorf("%+v, %v", out, err)
		}
	})
	t.Run("a timeout kills the whole group", func(t *testing.T) {
		c := sh("sleep 30 & sleep 30")
		c.Timeout = 100 * time.Millisecond
		start := time.Now()
		if _, err := Run(context.Background(), c); !errors.Is(err, ErrTimeout) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(start); took > 25*time.Second {
			t.Errorf("it took %s", took)
		}
	})
	t.Run("endless output is cut", func(t *testing.T) {
		if _, err := Run(context.Background(), sh("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done")); !errors.Is(err, ErrTooMuch) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a flood of stderr is kept to its head", func(t *testing.T) {
		out, err := Run(context.Background(), sh("yes | head -c 1000000 >&2"))
		if err != nil || len(out.Stderr) > maxStderr {
			t.Errorf("%d bytes, %v", len(out.Stderr), err)
		}
	})
	t.Run("a program that is not there", func(t *testing.T) {
		if _, err := Run(context.Background(), Command{Name: "no-such-program-here"}); err == nil {
			t.Error("no error")
		}
	})
}

func TestOpen(t *testing.T) {
	s := newSandbox(t)
	s.write("a/b.txt", "x")
	s.git("add", "-A")
	s.git("commit", "-qm", "x")
	t.Run("from a subdirectory", func(t *testing.T) {
		r, err := Open(context.Background(), filepath.Join(s.dir, "a"), s.env)
		if err != nil || r.Root != s.dir || r.GitDir != filepath.Join(s.dir, ".git") || r.CommonDir != r.GitDir || r.Bare() {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("a linked worktree shares the common directory", func(t *testing.T) {
		s.git("worktree", "add", "-q", "../linked")
		r, err := Open(context.Background(), filepath.Join(s.dir, "..", "linked"), s.env)
		if err != nil || r.CommonDir != filepath.Join(s.dir, ".git") || r.GitDir == r.CommonDir {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("bare", func(t *testing.T) {
		s.git("clone", "-q", "--bare", ".", "../bare.git")
		r, err := Open(context.Background(), filepath.Join(s.dir, "..", "bare.git"), s.env)
		if err != nil || !r.Bare() {
			t.Fatalf("%+v, %v", r, err)
		}
		defer r.Close()
		if tree, err := r.Commit(context.Background(), "HEAD"); err != nil {
			t.Error(err)
		} else if b, err := tree.ReadFile("a/b.txt"); err != nil || string(b) != "x" {
			t.Errorf("%q, %v", b, err)
		}
	})
	t.Run("shallow", func(t *testing.T) {
		s.git("commit", "-q", "--allow-empty", "-m", "y")
		s.git("clone", "-q", "--depth", "1", "file://"+s.dir, "../shallow")
		r, err := Open(context.Background(), filepath.Join(s.dir, "..", "shallow"), s.env)
		if err != nil || !r.Shallow {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		if _, err := Open(context.Background(), t.TempDir(), append(s.env, "GIT_CEILING_DIRECTORIES=/")); !errors.Is(err, ErrNoRepo) {
			t.Errorf("error %v", err)
		}
	})
}

func TestSnapshotsAgree(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSandbox(t, "--object-format="+format)
			s.write("docs/isme/SKMB.md", "index\n")
			s.write("docs/isme/decisions/é.md", "one\n")
			s.write("docs/isme/decisions/-x.md", "two\n")
			s.write("src/a.go", "package a\n")
			if err := os.Symlink("../../src/a.go", filepath.Join(s.dir, "docs", "isme", "link.md")); err != nil {
				t.Fatal(err)
			}
			s.git("add", "-A")
			s.git("commit", "-qm", "x")
			r := s.open()
			ctx := context.Background()
			staged, err := r.Staged(ctx, "docs")
			if err != nil {
				t.Fatal(err)
			}
			index := staged.Snapshot()
			commit, err := r.Commit(ctx, "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			disk, err := r.Worktree(ctx, "docs")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"docs/isme/SKMB.md", "docs/isme/decisions/é.md", "docs/isme/decisions/-x.md", "docs/isme/link.md"} {
				a, err1 := index.ReadFile(name)
				b, err2 := commit.ReadFile(name)
				c, err3 := disk.ReadFile(name)
				if err := errors.Join(err1, err2, err3); err != nil || !bytes.Equal(a, b) || !bytes.Equal(b, c) {
					t.Errorf("%s: %q %q %q, %v", name, a, b, c, err)
				}
				i1, _ := index.ObjectID(name)
				i2, _ := commit.ObjectID(name)
				if i1 == "" || i1 != i2 {
					t.Errorf("%s: ids %s and %s", name, i1, i2)
				}
			}
			if info, err := commit.Stat("docs/isme/link.md"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link is %v, %v", info, err)
			}
			sub, err := fs.Sub(commit, "docs/isme/decisions")
			if err != nil {
				t.Fatal(err)
			}
			if err := fstest.TestFS(sub, "é.md", "-x.md"); err != nil {
				t.Error(err)
			}
			if _, err := commit.ReadFile("docs/none.md"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what is absent gives %v", err)
			}
			if _, err := commit.ReadFile("docs"); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a directory read as a file gives %v", err)
			}
		})
	}
}

func TestStaged(t *testing.T) {
	ctx := context.Background()
	s := newSandbox(t)
	s.write("Docs/ISME/SKMB.md", "other case\n")
	s.write("docs/isme/SKMB.md", "index\n")
	s.write("src/a.go", "a\n")
	s.git("add", "-A")
	t.Run("a first commit is compared with nothing", func(t *testing.T) {
		got, err := s.open().Staged(ctx, "docs/isme")
		if err != nil || len(got.Parents) != 0 || len(got.Changes) != 3 || len(got.Entries) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	s.git("commit", "-qm", "x")
	t.Run("only what differs from HEAD changes", func(t *testing.T) {
		s.write("src/a.go", "b\n")
		s.write("docs/isme/new.md", "")
		s.git("add", "src")
		s.git("add", "-N", "docs/isme/new.md")
		got, err := s.open().Staged(ctx, "docs/isme")
		if err != nil || len(got.Changes) != 1 || got.Changes[0].Path != "src/a.go" {
			t.Errorf("%+v, %v", got, err)
		}
		if slices.ContainsFunc(got.Entries, func(e Entry) bool { return e.Path == "docs/isme/new.md" }) {
			t.Error("an intent to add is no entry of the commit")
		}
	})
	t.Run("an empty file that is really added is an entry", func(t *testing.T) {
		s.git("add", "docs/isme/new.md")
		got, err := s.open().Staged(ctx, "docs/isme")
		if err != nil || !slices.ContainsFunc(got.Entries, func(e Entry) bool { return e.Path == "docs/isme/new.md" }) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("the index that Git names", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "index")
		s2 := &sandbox{t: t, dir: s.dir, env: append(slices.Clone(s.env), "GIT_INDEX_FILE="+other)}
		s2.git("read-tree", "HEAD")
		r, err := Open(ctx, s.dir, s2.env)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := r.Staged(ctx, "docs/isme")
		if err != nil || len(got.Changes) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestUnmergedIsNoContent(t *testing.T) {
	s := newSandbox(t)
	s.write("docs/a.md", "base\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "base")
	s.git("checkout", "-qb", "side")
	s.write("docs/a.md", "side\n")
	s.git("commit", "-qam", "side")
	s.git("checkout", "-q", "main")
	s.write("docs/a.md", "main\n")
	s.git("commit", "-qam", "main")
	cmd := exec.Command("git", "merge", "-q", "side")
	cmd.Dir, cmd.Env = s.dir, s.env
	if cmd.Run() == nil {
		t.Fatal("the merge has no conflict")
	}
	got, err := s.open().Staged(context.Background(), "docs")
	if err != nil || len(got.Parents) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	var unmerged *ErrUnmerged
	if _, err := got.Snapshot().ReadFile("docs/a.md"); !errors.As(err, &unmerged) {
		t.Errorf("an unmerged path reads with %v", err)
	}
}

func TestMissingObjectIsNotAbsent(t *testing.T) {
	s := newSandbox(t)
	s.write("docs/a.md", "content\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "x")
	id := strings.TrimSpace(s.git("rev-parse", "HEAD:docs/a.md"))
	if err := os.Remove(filepath.Join(s.dir, ".git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	tree, err := s.open().Commit(context.Background(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var missing *ErrMissingObject
	if _, err := tree.ReadFile("docs/a.md"); !errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	s := newSandbox(t)
	s.write("docs/d\xe9cision.md", "x\n")
	s.write("docs/a b.md", "x\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "x")
	tree, err := s.open().Commit(context.Background(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := tree.ReadDir("docs")
	if err != nil || len(entries) != 1 || entries[0].Name() != "a b.md" {
		t.Errorf("%v, %v", entries, err)
	}
	if got := tree.Invalid(); !slices.Equal(got, []string{"docs/d\xe9cision.md"}) {
		t.Errorf("names that are not UTF-8: %q", got)
	}
}

func TestNotAncestors(t *testing.T) {
	s := newSandbox(t)
	s.git("commit", "-q", "--allow-empty", "-m", "one")
	one := strings.TrimSpace(s.git("rev-parse", "HEAD"))
	s.git("checkout", "-qb", "side")
	s.git("commit", "-q", "--allow-empty", "-m", "side")
	side := strings.TrimSpace(s.git("rev-parse", "HEAD"))
	s.git("checkout", "-q", "main")
	got, err := s.open().NotAncestors(context.Background(), []string{one, one[:9], side, "deadbee"}, "HEAD")
	slices.Sort(got)
	want := []string{side, "deadbee"}
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
}

func TestMergeResult(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSandbox(t, "--object-format="+format)
			s.write("docs/a.md", "1\n2\n3\n4\n5\n")
			s.git("add", "-A")
			s.git("commit", "-qm", "base")
			s.git("checkout", "-qb", "side")
			s.write("docs/a.md", "1\n2\n3\n4\nside\n")
			s.write("docs/side.md", "side\n")
			s.git("add", "-A")
			s.git("commit", "-qm", "side")
			s.git("checkout", "-q", "main")
			s.write("docs/a.md", "main\n2\n3\n4\n5\n")
			s.git("commit", "-qam", "main")
			before := s.git("count-objects", "-v")
			r := s.open()
			tree, conflicts, err := r.MergeResult(context.Background(), "main", "side")
			if err != nil || len(conflicts) > 0 {
				t.Fatal(conflicts, err)
			}
			if b, err := tree.ReadFile("docs/a.md"); err != nil || string(b) != "main\n2\n3\n4\nside\n" {
				t.Errorf("%q, %v", b, err)
			}
			if b, err := tree.ReadFile("docs/side.md"); err != nil || string(b) != "side\n" {
				t.Errorf("%q, %v", b, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if after := s.git("count-objects", "-v"); after != before {
				t.Errorf("the repository gained objects:\n%s\nbefore\n%s", after, before)
			}
			s.write("docs/a.md", "other\n2\n3\n4\nmain\n")
			s.git("commit", "-qam", "conflict")
			if _, conflicts, err := s.open().MergeResult(context.Background(), "main", "side"); err != nil || !slices.Equal(conflicts, []string{"docs/a.md"}) {
				t.Errorf("conflicts %q, %v", conflicts, err)
			}
			var unknown *UnknownRevision
			if _, _, err := s.open().MergeResult(context.Background(), "main", "nowhere"); !errors.As(err, &unknown) {
				t.Errorf("an unknown name gives %v", err)
			}
		})
	}
}

func FuzzParseLsFiles(f *testing.F) {
	f.Add([]byte("100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\ta b\x00160000 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 2\tx\x00"))
	f.Add([]byte("100644 x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseLsFiles(bytes.NewReader(data))
		if err != nil {
			return
		}
		if bytes.Count(data, []byte{0}) != len(entries) {
			t.Errorf("%d records gave %d entries", bytes.Count(data, []byte{0}), len(entries))
		}
		fromEntries(nil, entries, "").Invalid()
	})
}

func FuzzParseRawDiff(f *testing.F) {
	f.Add([]byte(":100644 000000 aa bb M\x00path\x00:000000 100644 0 cc A\x00other\x00"))
	f.Add([]byte(":100644"))
	f.Fuzz(func(t *testing.T, data []byte) {
		changes, err := parseRawDiff(bytes.NewReader(data))
		if err == nil && 2*len(changes) > bytes.Count(data, []byte{0}) {
			t.Errorf("%q gave %d changes", data, len(changes))
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00aaaaaaaaaaaaaaaaaaaa40000 d\x00bbbbbbbbbbbbbbbbbbbb"), true)
	f.Add([]byte("x"), false)
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		n := 20
		if long {
			n = 32
		}
		entries, err := parseTree(data, n)
		if err != nil {
			return
		}
		total := 0
		for _, e := range entries {
			if len(e.id) != 2*n {
				t.Errorf("an id of %d digits", len(e.id))
			}
			total += len(e.name) + n + 2
		}
		if total > len(data) {
			t.Errorf("%d bytes gave entries of %d", len(data), total)
		}
	})
}

// Git's answer cannot be told apart where a path has line breaks.
func TestOpenLineBreak(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\nb")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := Run(context.Background(), Command{Name: "git", Args: []string{"init", "-q"}, Dir: dir, Env: env}); err != nil || out.Code != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := Open(context.Background(), dir, env); !errors.Is(err, ErrLineBreak) {
		t.Errorf("got %v", err)
	}
}
