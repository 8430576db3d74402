package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// InSequence reports whether a rebase, am, or a cherry-pick or revert of several commits
// is under way in this worktree. A lone cherry-pick or revert is not a sequence.
func (r *Repo) InSequence() bool {
	return r.marked("rebase-merge") || r.marked("rebase-apply") || r.marked("sequencer")
}

func (r *Repo) marked(name string) bool {
	_, err := os.Lstat(filepath.Join(r.GitDir, name))
	return err == nil
}

// State is what is under way in this worktree. Several may hold at once: a rebase can stop
// in a merge.
type State struct {
	Branch                                                          string // "" when detached
	Unborn, Detached                                                bool
	Merge, Rebase, Am, CherryPick, Revert, Sequence, Squash, Bisect bool
}

// Busy names what has to be ended before a commit of our own can be made, "" for nothing. A
// bisect is a detached HEAD and no more.
func (s State) Busy() string {
	for _, x := range []struct {
		is   bool
		name string
	}{{s.Merge, "a merge"}, {s.Rebase, "a rebase"}, {s.Am, "git am"}, {s.CherryPick, "a cherry-pick"}, {s.Revert, "a revert"}, {s.Sequence, "a sequence of cherry-picks or reverts"}, {s.Squash, "a squash merge"}} {
		if x.is {
			return x.name
		}
	}
	return ""
}

// State asks what is under way. CHERRY_PICK_HEAD and REVERT_HEAD are refs, which are no files
// in a reftable repository; the rest are files of the worktree's own Git directory.
func (r *Repo) State(ctx context.Context) (State, error) {
	s := State{
		Merge: r.marked("MERGE_HEAD"), Squash: r.marked("SQUASH_MSG"), Sequence: r.marked("sequencer"), Bisect: r.marked("BISECT_LOG"),
		Rebase: r.marked("rebase-merge"), CherryPick: r.HasObject("CHERRY_PICK_HEAD"), Revert: r.HasObject("REVERT_HEAD"),
	}
	if r.marked("rebase-apply") {
		s.Am = r.marked(filepath.Join("rebase-apply", "applying"))
		s.Rebase = s.Rebase || !s.Am
	}
	_, err := r.HeadCommit()
	if s.Unborn = errors.Is(err, ErrNoBranch); err != nil && !s.Unborn {
		return s, err
	}
	s.Branch, err = r.Branch(ctx)
	s.Detached = s.Branch == ""
	return s, err
}

// HooksPath is where Git looks for hook files here, and who said so.
type HooksPath struct {
	Dir    string // absolute
	Value  string // of core.hooksPath; "" if unset
	Set    bool
	Scope  string // local, worktree, global, system, command; "" if unset
	Origin string // file that sets it, as Git prints it
}

// Off reports whether the configuration makes Git run no hook files at all.
func (h HooksPath) Off() bool {
	return h.Set && (h.Value == "" || h.Value == os.DevNull || h.Value == "/dev/null")
}

// HooksPath asks Git for the hooks directory and the origin of its configuration.
func (r *Repo) HooksPath(ctx context.Context) (HooksPath, error) {
	h := HooksPath{}
	out, err := r.git(ctx, "config", "--show-scope", "--show-origin", "-z", "--get", "core.hooksPath")
	var git *GitError
	switch {
	case errors.As(err, &git) && git.Code == 1:
	case err != nil:
		return h, err
	default:
		f := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(f) == 3 {
			h.Set, h.Scope, h.Origin, h.Value = true, f[0], strings.TrimPrefix(f[1], "file:"), f[2]
		}
	}
	out, err = r.git(ctx, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return h, err
	}
	h.Dir = join(r.dir(), strings.TrimSuffix(string(out), "\n"))
	return h, nil
}

// SameDir reports whether two names are one directory.
func SameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// SetConfig sets a key of the clone's own configuration; an empty value takes it out, and with
// the last key of a section the section.
func (r *Repo) SetConfig(ctx context.Context, key, value string) error {
	args := []string{"config", "--local", key, value}
	if value == "" {
		args = []string{"config", "--local", "--unset-all", key}
	}
	_, err := r.git(ctx, args...)
	var git *GitError
	if value == "" && errors.As(err, &git) && git.Code == 5 { // it is not set
		return nil
	}
	return err
}

// Config returns the value of a key of the clone's own configuration, "" without one.
func (r *Repo) Config(ctx context.Context, key string) (string, error) {
	out, err := r.git(ctx, "config", "--local", "-z", "--get", key)
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 {
		return "", nil
	}
	return strings.TrimSuffix(string(out), "\x00"), err
}

// LocalConfig returns all values that a key has in the clone's own configuration.
func (r *Repo) LocalConfig(ctx context.Context, key string) ([]string, error) {
	out, err := r.git(ctx, "config", "--local", "-z", "--get-all", key)
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
}

// SigningKey is the SSH key that Git signs with, as a file; "" if Git signs with something
// else or not at all.
func (r *Repo) SigningKey(ctx context.Context) (string, error) {
	get := func(args ...string) (string, error) {
		out, err := r.git(ctx, append([]string{"config", "-z"}, args...)...)
		var git *GitError
		if errors.As(err, &git) && git.Code == 1 {
			return "", nil
		}
		return strings.TrimSuffix(string(out), "\x00"), err
	}
	format, err := get("--get", "gpg.format")
	if err != nil || format != "ssh" {
		return "", err
	}
	return get("--type=path", "--get", "user.signingKey")
}

// MergeFile merges three versions of a file line by line into the first (git-merge-file(1)),
// and returns the number of conflicts.
func (r *Repo) MergeFile(ctx context.Context, ours, base, theirs string) (int, error) {
	args := []string{"merge-file", "-L", "ours", "-L", "base", "-L", "theirs", ours, base, theirs}
	_, err := r.git(ctx, args...)
	var git *GitError
	if errors.As(err, &git) && git.Code > 0 && git.Code < 128 {
		return git.Code, nil
	}
	return 0, err
}

// NotCheckedOut reports whether the index has a path that a sparse checkout leaves out.
func (r *Repo) NotCheckedOut(ctx context.Context, path string) (bool, error) {
	out, err := r.git(ctx, "ls-files", "-t", "-z", "--", path)
	return strings.HasPrefix(string(out), "S "), err
}

// Tracked reports whether the index has anything at or below a path of the worktree.
func (r *Repo) Tracked(ctx context.Context, path string) (bool, error) {
	rel, err := filepath.Rel(r.Root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || r.Root == "" {
		return false, nil
	}
	out, err := r.git(ctx, "ls-files", "-z", "--", filepath.ToSlash(rel))
	return len(out) > 0, err
}

// IndexPaths lists the paths of the index whose last part is one of some names, sorted as Git
// sorts them.
func (r *Repo) IndexPaths(ctx context.Context, names ...string) ([]string, error) {
	args := []string{"ls-files", "-z", "--"}
	for _, n := range names {
		args = append(args, ":(top,glob)**/"+n)
	}
	c := r.command(args...)
	c.Env = withoutLiteral(c.Env)
	out, err := r.run(ctx, c, args)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// StripComments returns a commit message as Git will take it, without the lines that its
// configuration makes comments (git-stripspace(1)). With core.commentChar=auto Git chose a
// character that begins no line of the text; its own lines stand at the end.
func (r *Repo) StripComments(ctx context.Context, message []byte) (string, error) {
	out, err := r.git(ctx, "config", "--get", "core.commentChar")
	var git *GitError
	if err != nil && !(errors.As(err, &git) && git.Code == 1) {
		return "", err
	}
	args := []string{"stripspace", "--strip-comments"}
	if strings.TrimSpace(string(out)) == "auto" {
		lines := bytes.Split(bytes.TrimSpace(message), []byte("\n"))
		last := string(lines[len(lines)-1])
		if last != "" && strings.ContainsRune("#;@!$%^&|:", rune(last[0])) {
			args = append([]string{"-c", "core.commentChar=" + last[:1]}, args...)
		} else {
			args = args[:1]
		}
	}
	c := r.command(args...)
	c.Stdin = bytes.NewReader(message)
	out, err = r.run(ctx, c, args)
	return string(out), err
}

// Worktrees are the tops of all worktrees of the repository, this one included.
func (r *Repo) Worktrees(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var tops []string
	for block := range strings.SplitSeq(string(out), "\n\n") {
		if top, ok := strings.CutPrefix(strings.SplitN(block, "\n", 2)[0], "worktree "); ok && !strings.Contains(block, "\nbare") && !strings.Contains(block, "\nprunable") {
			tops = append(tops, top)
		}
	}
	return tops, nil
}

// Submodules are the paths of the submodules that the index has.
func (r *Repo) Submodules(ctx context.Context) ([]string, error) {
	entries, err := r.listIndex(ctx, nil)
	var out []string
	for _, e := range entries {
		if e.Mode == ModeGitlink {
			out = append(out, e.Path)
		}
	}
	return out, err
}

// Setting is a value of a key, and who gave it.
type Setting struct{ Value, Scope, Origin string }

// AllConfig returns every value that a key has for Git, in the order in which Git reads them,
// with scope and origin.
func (r *Repo) AllConfig(ctx context.Context, key string) ([]Setting, error) {
	out, err := r.git(ctx, "config", "--show-scope", "--show-origin", "-z", "--get-all", key)
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 {
		return nil, nil
	}
	f := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var all []Setting
	for ; len(f) >= 3; f = f[3:] {
		all = append(all, Setting{f[2], f[0], strings.TrimPrefix(f[1], "file:")})
	}
	return all, err
}

// LastCommits reads the newest commits of HEAD, none before the first.
func (r *Repo) LastCommits(ctx context.Context, most int) ([]CommitInfo, error) {
	if _, err := r.HeadCommit(); err != nil {
		if errors.Is(err, ErrNoBranch) {
			err = nil
		}
		return nil, err
	}
	ids, err := r.listCommits(ctx, fmt.Sprintf("--max-count=%d", most), "HEAD")
	if err != nil {
		return nil, err
	}
	return r.Commits(ids...)
}
