package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PathCommit is a commit that changes one file and leaves everything else that is staged
// staged. The caller has made its edit three times, each with the line ends of its place: in
// HEAD's blob, in the index's blob, and in the file on disk, which is not looked at here.
type PathCommit struct {
	Path    string // from the top of the worktree, slash-separated
	HeadID  string // blob that the edit of HEAD began with; "" if HEAD has no such file
	Head    []byte // what the commit gets
	IndexID string // blob that the edit of the index began with; "" if the index has no such file
	Index   []byte // what the index gets
	Message string
}

// Errors of Prepare and Publish. Whatever they are, HEAD, index and refs are as they were.
var (
	ErrState       = errors.New("something else must be ended first")
	ErrUnsuitable  = errors.New("the file cannot be committed by itself")
	ErrHook        = errors.New("a hook of this repository refused the commit")
	ErrHookChanged = errors.New("a hook of this repository changed what was to be committed")
	ErrCommit      = errors.New("the commit could not be made")
	ErrMoved       = errors.New("HEAD or the index changed meanwhile: look again")
	ErrLocked      = errors.New("another Git command holds the index or HEAD")
)

// Unmerged is the reason of an Unsuitable that has a conflict.
const Unmerged = "it is unmerged"

// Unsuitable is an ErrUnsuitable with its reason and what ends it.
type Unsuitable struct{ Path, Why, Next string }

func (e *Unsuitable) Error() string        { return fmt.Sprintf("%v: %s: %s", ErrUnsuitable, e.Path, e.Why) }
func (e *Unsuitable) Is(target error) bool { return target == ErrUnsuitable }

// Hint is the next step.
func (e *Unsuitable) Hint() string { return e.Next }

// hookTimeout bounds the hooks of the repository, which may run whole test suites.
const hookTimeout = 10 * time.Minute

// Pending is a commit that is made but not published: loose objects, and files of its own
// below assent/tmp in the Git directory. Publish it or Discard it.
type Pending struct {
	ID      string // of the commit
	commit  PathCommit
	repo    *Repo
	dir     string
	old     string // HEAD before, "" before the first commit
	mode    Mode
	blob    string // for the index
	tree    string
	subject string
	step    func(string) error // tests stop here
}

// Prepare makes the commit without publishing it. It refuses with ErrState while a merge,
// rebase, am, cherry-pick, revert or sequence is under way, and with ErrUnsuitable what it
// cannot commit whole and alone: an unmerged, intent-to-add, skip-worktree or assume-unchanged
// entry, a link at or above the path, a submodule, a file with a filter, ident or
// working-tree-encoding. Blobs that are no longer current are ErrMoved. The hooks pre-commit,
// prepare-commit-msg and commit-msg run as for git commit, on an index of their own; a no is
// ErrHook. A commit that cannot be made (no identity, a signature that fails) is ErrCommit.
func (r *Repo) Prepare(ctx context.Context, c PathCommit) (*Pending, error) {
	if ok, version, err := r.Has(ctx, HookRun); err != nil {
		return nil, err
	} else if !ok {
		return nil, &ErrOldGit{fmt.Sprintf("running the repository's hooks needs Git %s, this is %s", HookRun, version)}
	}
	p := &Pending{commit: c, repo: r}
	if err := p.suits(ctx); err != nil {
		return nil, err
	}
	if err := p.makeDir(); err != nil {
		return nil, err
	}
	if err := p.make(ctx); err != nil {
		return nil, errors.Join(err, p.Discard())
	}
	return p, nil
}

// Discard removes what Prepare made. The loose objects are left to git gc.
func (p *Pending) Discard() error { return os.RemoveAll(p.dir) }

func (p *Pending) refuse(next, format string, args ...any) error {
	return &Unsuitable{p.commit.Path, fmt.Sprintf(format, args...), next}
}

// suits holds the state of the repository and of the path to what Prepare promises.
func (p *Pending) suits(ctx context.Context) error {
	r, name := p.repo, p.commit.Path
	if r.Bare() || !fs.ValidPath(name) || name == "." {
		return p.refuse("name a file of a worktree", "it is no path of a worktree")
	}
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	if what := state.Busy(); what != "" {
		return fmt.Errorf("%w: %s is under way", ErrState, what)
	}
	if link := r.linkAbove(name); link != "" {
		return p.refuse("make it a directory", "%s is no directory", link)
	}
	info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(name)))
	if err == nil && !info.Mode().IsRegular() {
		return p.refuse("make it a regular file", "it is no regular file")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := p.entries(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Dir(filepath.Join(r.Root, filepath.FromSlash(name)))); err != nil {
		return p.refuse("git sparse-checkout add "+filepath.ToSlash(filepath.Dir(name)), "its directory is not checked out")
	}
	attr, err := r.Alters(ctx, name)
	if err != nil {
		return err
	}
	if attr != "" {
		return p.refuse("take the attribute away", "its attribute %s changes its bytes", attr)
	}
	return nil
}

// Alters is the attribute by which Git may hold a path as something else than its text, "" if none does.
// Line ends and ident leave the text what it is: an edit of it can be made on either form.
func (r *Repo) Alters(ctx context.Context, name string) (attr string, err error) {
	out, err := r.git(ctx, "check-attr", "-z", "filter", "working-tree-encoding", "--", name)
	if err != nil {
		return "", err
	}
	f := strings.Split(string(out), "\x00") // path, attribute and value, each time
	if len(f) != 2*3+1 {
		return "", fmt.Errorf("git check-attr: %q", out)
	}
	for i := 0; i+2 < len(f); i += 3 {
		if f[i+2] != "unspecified" && f[i+2] != "unset" {
			return f[i+1], nil
		}
	}
	return "", nil
}

// entries holds the file in HEAD and in the index to what the caller has edited.
func (p *Pending) entries(ctx context.Context) error {
	e, err := p.repo.PathEntry(ctx, p.commit.Path)
	if err != nil {
		return err
	}
	p.old, p.mode = e.Commit, e.Mode
	if e.Head != p.commit.HeadID || e.Index != p.commit.IndexID {
		return fmt.Errorf("%w: %s", ErrMoved, p.commit.Path)
	}
	return nil
}

// PathEntry is what HEAD and the index have of one file.
type PathEntry struct {
	Commit string // HEAD, "" before the first commit
	Head   string // blob in HEAD, "" if it has no such file
	Index  string // blob in the index, "" if it has no such file
	Mode   Mode   // that a commit of the file gives it
}

// PathEntry looks a file up in HEAD and in the index. ErrUnsuitable is one that is unmerged,
// not checked out or assumed to be unchanged, only intended to be added, or no regular file.
func (r *Repo) PathEntry(ctx context.Context, name string) (e PathEntry, err error) {
	refuse := func(why, next string) error { return &Unsuitable{name, why, next} }
	head, err := r.HeadCommit()
	if err != nil && !errors.Is(err, ErrNoBranch) {
		return e, err
	}
	e.Commit, e.Mode = head.ID, ModeFile
	var inHead *Entry
	if e.Commit != "" {
		if inHead, err = r.lsTree(ctx, head.ID, name); err != nil {
			return e, err
		}
	}
	staged, err := r.listIndex(ctx, []string{name}, "-v")
	if err != nil {
		return e, err
	}
	staged = slices.DeleteFunc(staged, func(e Entry) bool { return e.Path != name })
	var inIndex *Entry
	for i, s := range staged {
		switch {
		case s.Stage != 0:
			return e, &Unsuitable{name, Unmerged, "resolve the conflict, then git add " + name}
		case s.Skip:
			return e, refuse("it is not checked out, or assumed to be unchanged", "git update-index --no-skip-worktree "+name+" && git update-index --no-assume-unchanged "+name+"; in a sparse checkout: git sparse-checkout add "+name)
		}
		inIndex = &staged[i]
	}
	if inIndex != nil {
		added, err := r.intentToAdd(ctx, e.Commit, name, inHead != nil)
		if err != nil {
			return e, err
		}
		if added {
			return e, refuse("it is only intended to be added", "git add "+name)
		}
	}
	for _, mode := range []Mode{modeOf(inHead), modeOf(inIndex)} {
		if mode != 0 && mode != ModeFile && mode != ModeExec {
			return e, refuse("it is no regular file", "make it one, and commit that")
		}
	}
	if inHead != nil {
		e.Mode = inHead.Mode
	} else if inIndex != nil {
		e.Mode = inIndex.Mode
	}
	e.Head, e.Index = idOf(inHead), idOf(inIndex)
	return e, nil
}

// BlobOf is the id of the blob that Git would make of a file's bytes on disk: line ends and
// other filters of the path are applied. Nothing is written.
func (r *Repo) BlobOf(ctx context.Context, name string, data []byte) (string, error) {
	return r.write(ctx, data, "hash-object", "--stdin", "--path", name)
}

// RawBlobOf is the id of the blob that has exactly these bytes. Nothing is written.
func (r *Repo) RawBlobOf(ctx context.Context, data []byte) (string, error) {
	format, err := r.Format(ctx)
	return objectID(format, "blob", data), err
}

// modeOf and idOf are those of an entry that may not be there.
func modeOf(e *Entry) Mode {
	if e == nil {
		return 0
	}
	return e.Mode
}

func idOf(e *Entry) string {
	if e == nil {
		return ""
	}
	return e.ID
}

// intentToAdd reports whether an entry of the index stands for nothing yet: what Git would
// commit does not have it.
func (r *Repo) intentToAdd(ctx context.Context, head, name string, inHead bool) (bool, error) {
	base := head
	if base == "" {
		format, err := r.Format(ctx)
		if err != nil {
			return false, err
		}
		base = emptyTree[format]
	}
	changes, err := r.rawDiff(ctx, "diff-index", "--cached", "--ita-invisible-in-index", base, "--", name)
	if err != nil {
		return false, err
	}
	for _, c := range changes {
		if c.Path == name {
			return c.New == "", nil
		}
	}
	return !inHead, nil
}

// lsTree returns the entry of a path in a commit or tree, nil if it has none.
func (r *Repo) lsTree(ctx context.Context, tree, name string) (*Entry, error) {
	out, err := r.git(ctx, "ls-tree", "-z", "--full-tree", tree, "--", name)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	line := strings.TrimSuffix(string(out), "\x00")
	head, found, _ := strings.Cut(line, "\t")
	f := strings.Fields(head)
	if len(f) != 3 || found != name {
		return nil, fmt.Errorf("git ls-tree answered %q", line)
	}
	mode, err := strconv.ParseUint(f[0], 8, 32)
	return &Entry{Path: name, Mode: Mode(mode), ID: f[2]}, err
}

// make writes the objects, asks the hooks, and makes the commit.
func (p *Pending) make(ctx context.Context) error {
	blob, err := p.repo.writeBlob(ctx, p.commit.Head)
	if err != nil {
		return err
	}
	if p.blob, err = p.repo.writeBlob(ctx, p.commit.Index); err != nil {
		return err
	}
	base := ""
	if p.old != "" {
		base = p.old + "^{tree}"
	}
	if p.tree, err = p.repo.writeTree(ctx, base, p.commit.Path, p.mode, blob); err != nil {
		return err
	}
	message, err := p.hooks(ctx)
	if err != nil {
		return err
	}
	p.subject, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if err := p.commitTree(ctx, message); err != nil {
		return err
	}
	return p.readBack(ctx, blob)
}

func (r *Repo) writeBlob(ctx context.Context, data []byte) (string, error) {
	return r.write(ctx, data, "hash-object", "-w", "--stdin", "--no-filters")
}

func (r *Repo) write(ctx context.Context, in []byte, args ...string) (string, error) {
	c := r.command(args...)
	c.Stdin, c.Timeout = bytes.NewReader(in), WriteTimeout
	out, err := r.run(ctx, c, args)
	return strings.TrimSpace(string(out)), err
}

// writeTree writes the trees from a file's directory up to the top, with the file in them,
// and returns the top one. base is "" for no tree at all.
func (r *Repo) writeTree(ctx context.Context, base, name string, mode Mode, id string) (string, error) {
	dir, rest, nested := strings.Cut(name, "/")
	var listing []byte
	if base != "" {
		var err error
		if listing, err = r.git(ctx, "ls-tree", "-z", base); err != nil {
			return "", err
		}
	}
	kind := "blob"
	if nested {
		below := ""
		if base != "" {
			e, err := r.lsTree(ctx, base, dir)
			if err != nil {
				return "", err
			}
			if e != nil && e.Mode == ModeTree {
				below = e.ID
			}
		}
		var err error
		if id, err = r.writeTree(ctx, below, rest, mode, id); err != nil {
			return "", err
		}
		kind, mode = "tree", ModeTree
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(listing), "\x00"), "\x00") {
		if _, found, ok := strings.Cut(line, "\t"); ok && found != dir {
			lines = append(lines, line)
		}
	}
	lines = append(lines, fmt.Sprintf("%06o %s %s\t%s", uint32(mode), kind, id, dir))
	return r.write(ctx, []byte(strings.Join(lines, "\x00")+"\x00"), "mktree", "-z", "--missing")
}

// user is a git command that runs programs of the user, who knows nothing of our settings:
// the environment is the caller's own, with what Git itself would set.
func (p *Pending) user(args ...string) Command {
	env := slices.DeleteFunc(slices.Clone(p.repo.caller), func(kv string) bool { return strings.HasPrefix(kv, "GIT_INDEX_FILE=") })
	return Command{Name: "git", Args: args, Dir: p.repo.Root, Env: append(env, "GIT_INDEX_FILE="+p.index(), "GIT_EDITOR=:"), Timeout: hookTimeout}
}

func (p *Pending) index() string { return filepath.Join(p.dir, "index") }

// hooks runs the hooks that git commit would run, on an index that is the new tree and
// otherwise as the real one, and returns the message as they leave it.
func (p *Pending) hooks(ctx context.Context) (string, error) {
	if err := copyFile(p.repo.IndexFile(), p.index()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	own := p.repo.command("-c", "core.splitIndex=false", "read-tree", "--reset", p.tree)
	own.Env = append(slices.Clone(own.Env), "GIT_INDEX_FILE="+p.index())
	if _, err := p.repo.run(ctx, own, []string{"read-tree"}); err != nil {
		return "", err
	}
	file := filepath.Join(p.dir, "COMMIT_EDITMSG")
	if err := os.WriteFile(file, []byte(p.commit.Message), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"pre-commit"}, {"prepare-commit-msg", "--", file, "message"}, {"commit-msg", "--", file}} {
		out, err := Run(ctx, p.user(append([]string{"hook", "run", "--ignore-missing"}, args...)...))
		if err != nil {
			return "", fmt.Errorf("the hook %s: %w", args[0], err)
		}
		if out.Code != 0 {
			return "", fmt.Errorf("%w: %s ended with %d\n%s", ErrHook, args[0], out.Code, lastLines(string(out.Stdout)+out.Stderr, 20))
		}
	}
	check := p.repo.command("write-tree")
	check.Env = append(slices.Clone(check.Env), "GIT_INDEX_FILE="+p.index())
	out, err := p.repo.run(ctx, check, []string{"write-tree"})
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(out)) != p.tree {
		return "", ErrHookChanged
	}
	message, err := os.ReadFile(file)
	if err == nil && len(bytes.TrimSpace(message)) == 0 { // as for git commit
		err = fmt.Errorf("%w: one of them left no message", ErrHook)
	}
	return string(message), err
}

// lastLines are the last lines of what a program printed.
func lastLines(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}

// commitTree makes the commit, signed if the configuration says so.
func (p *Pending) commitTree(ctx context.Context, message string) error {
	args := []string{"commit-tree", p.tree, "-F", "-"}
	if p.old != "" {
		args = append(args, "-p", p.old)
	}
	sign, err := p.repo.git(ctx, "config", "--type=bool", "--get", "commit.gpgSign")
	var git *GitError
	if err != nil && !(errors.As(err, &git) && git.Code == 1) {
		return err
	}
	if strings.TrimSpace(string(sign)) == "true" {
		args = append(args, "-S")
	}
	c := p.user(args...)
	c.Stdin = strings.NewReader(strings.TrimRight(message, "\n") + "\n")
	out, err := Run(ctx, c)
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("%w: %s", ErrCommit, out.Stderr)
	}
	p.ID = strings.TrimSpace(string(out.Stdout))
	return nil
}

// readBack holds the commit to what was meant: one parent, one path, the blob and the mode.
func (p *Pending) readBack(ctx context.Context, blob string) error {
	c, err := p.repo.CommitInfo(ctx, p.ID)
	if err != nil {
		return err
	}
	changes, err := p.repo.DiffTrees(ctx, p.old, p.ID)
	if err != nil {
		return err
	}
	wrong := c.Tree != p.tree || len(c.Parents) > 1 || first(c.Parents) != p.old
	if p.commit.HeadID != blob {
		wrong = wrong || len(changes) != 1 || changes[0].Path != p.commit.Path || changes[0].New != blob || changes[0].NewMode != p.mode
	}
	if wrong {
		return fmt.Errorf("%w: the commit %s is not what was to be made", ErrCommit, p.ID)
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err == nil { // racy entries are told by the index's own time (git-update-index(1), racy-git)
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return err
}
