package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Repo is one repository as seen from one worktree. Close it: it may hold a process.
type Repo struct {
	Root      string // top of the worktree; "" in a bare repository
	GitDir    string // of this worktree, absolute
	CommonDir string // shared by all worktrees, absolute
	Shallow   bool   // known after Open only
	Merging   bool   // the caller is pre-merge-commit: its variables name the commits being merged

	env    []string // of our git commands
	caller []string // as given, for programs of the user

	mu      sync.Mutex
	format  string
	version GitVersion
	objects *objects
	atClose []func() error

	shareOnce sync.Once
	share     fs.FileMode
}

// Errors of Open. ErrUnsafe wraps Git's own refusal of a repository of another owner.
var (
	ErrNoRepo   = errors.New("not inside a Git repository: run this in one, or name one with -C DIR")
	ErrUnsafe   = errors.New("this repository is refused by Git")
	ErrNoBranch = errors.New("there is no commit yet")

	ErrLineBreak = errors.New("a repository whose path has a line break is not supported: rename the directory")
)

// Open asks Git about the repository that holds dir. env is as os.Environ gives it.
func Open(ctx context.Context, dir string, env []string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{Root: dir, caller: env, env: environment(env, dir)}
	args := []string{"rev-parse", "--is-bare-repository", "--is-shallow-repository", "--show-object-format", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"}
	out, err := r.git(ctx, args...)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	var git *GitError
	if errors.As(err, &git) && len(lines) < 5 {
		switch {
		case strings.Contains(git.Stderr, "dubious ownership"), strings.Contains(git.Stderr, "safe.directory"):
			return nil, fmt.Errorf("%w: %s", ErrUnsafe, git.Stderr)
		case strings.Contains(git.Stderr, "not a git repository"):
			return nil, ErrNoRepo
		}
		return nil, err
	}
	if len(lines) < 5 {
		return nil, err
	}
	if len(lines) > 6 {
		return nil, fmt.Errorf("%w: %q", ErrLineBreak, dir)
	}
	r.Shallow, r.format = lines[1] == "true", lines[2]
	r.GitDir = lines[3]
	if r.CommonDir = lines[4]; !filepath.IsAbs(r.CommonDir) {
		r.CommonDir = filepath.Join(dir, r.CommonDir)
	}
	if r.Root = ""; len(lines) > 5 && lines[0] == "false" {
		r.Root = lines[5]
	}
	return r, nil
}

// OpenHook is Open inside a hook, where Git has set the stage: the working directory
// is the top of the worktree, GIT_DIR or .git the Git directory. It starts no process.
func OpenHook(env []string) (*Repo, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	r := &Repo{Root: cwd, caller: env, env: environment(env, cwd)}
	if r.GitDir = Variable(r.env, "GIT_DIR"); r.GitDir == "" {
		if r.GitDir, err = dotGit(filepath.Join(cwd, ".git")); err != nil {
			return nil, err
		}
	}
	r.CommonDir = r.GitDir
	if common := Variable(r.env, "GIT_COMMON_DIR"); common != "" {
		r.CommonDir = common
	} else if b, err := os.ReadFile(filepath.Join(r.GitDir, "commondir")); err == nil {
		r.CommonDir = join(r.GitDir, string(bytes.TrimSpace(b)))
	}
	if _, err := os.Stat(filepath.Join(r.CommonDir, "objects")); err != nil && Variable(r.env, "GIT_OBJECT_DIRECTORY") == "" {
		return nil, ErrNoRepo
	}
	return r, nil
}

// dotGit resolves `.git`, which is a directory or a file that names one
// (gitrepository-layout(5)).
func dotGit(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", ErrNoRepo
	}
	if info.IsDir() {
		return path, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok {
		return "", ErrNoRepo
	}
	return join(filepath.Dir(path), target), nil
}

func join(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// Close ends the process that reads objects, if one runs.
func (r *Repo) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.objects != nil {
		err = r.objects.close()
		r.objects = nil
	}
	for _, f := range r.atClose {
		err = errors.Join(err, f())
	}
	r.atClose = nil
	return err
}

func (r *Repo) dir() string {
	if r.Root != "" {
		return r.Root
	}
	return r.GitDir
}

// MainWorktree is the top of the main worktree, "" if this is it or there is none.
func (r *Repo) MainWorktree() string {
	if r.GitDir == r.CommonDir || filepath.Base(r.CommonDir) != ".git" {
		return ""
	}
	return filepath.Dir(r.CommonDir)
}

// Caller returns the environment that Open was given, for programs of the user.
func (r *Repo) Caller() []string { return r.caller }

// Bare reports whether the repository has no worktree.
func (r *Repo) Bare() bool { return r.Root == "" }

// Format is the repository's object format, "sha1" or "sha256".
func (r *Repo) Format(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.format == "" {
		out, err := r.git(ctx, "rev-parse", "--show-object-format")
		if err != nil {
			return "", err
		}
		r.format = strings.TrimSpace(string(out))
	}
	return r.format, nil
}

// The ids of the empty tree and the empty blob, by object format.
var (
	emptyTree = map[string]string{
		"sha1":   "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		"sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
	}
	emptyBlobs = []string{
		"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
		"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
	}
)

// Resolve returns the full id of the commit that a revision names. A revision that
// names none is a *UnknownRevision.
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	var git *GitError
	if errors.As(err, &git) {
		return "", &UnknownRevision{Rev: rev, Shallow: r.Shallow}
	}
	return strings.TrimSpace(string(out)), err
}

// UnknownRevision is a name for which Git has no commit.
type UnknownRevision struct {
	Rev     string
	Shallow bool
}

func (e *UnknownRevision) Error() string {
	return fmt.Sprintf("%q names no commit of this repository", e.Rev)
}

// Branch returns the name of the current branch, "" when HEAD is detached.
func (r *Repo) Branch(ctx context.Context) (string, error) {
	out, err := r.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// MergeBase returns the best common ancestor of two commits, "" if they have none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := r.git(ctx, "merge-base", "--end-of-options", a, b)
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 && git.Stderr == "" {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// CountCommits returns the number of commits in a..b.
func (r *Repo) CountCommits(ctx context.Context, a, b string) (int, error) {
	out, err := r.git(ctx, "rev-list", "--count", "--end-of-options", a+".."+b)
	if err != nil {
		return 0, err
	}
	n := 0
	_, err = fmt.Sscan(string(out), &n)
	return n, err
}

// Identity is the Git identity of the caller: a claim, not a proof.
func (r *Repo) Identity(ctx context.Context) (name, email string, err error) {
	out, err := r.git(ctx, "var", "GIT_COMMITTER_IDENT")
	if err != nil {
		return "", "", fmt.Errorf("who is asking? Git knows no identity: set user.name and user.email (%w)", err)
	}
	line := string(out)
	open, end := strings.LastIndex(line, " <"), strings.LastIndex(line, "> ")
	if open < 0 || end < open {
		return "", "", fmt.Errorf("git var GIT_COMMITTER_IDENT: unexpected form %q", line)
	}
	return line[:open], line[open+2 : end], nil
}

// Ignored reports whether Git ignores a path of the worktree.
func (r *Repo) Ignored(ctx context.Context, path string) (bool, error) {
	args := []string{"check-ignore", "-q", "--", path}
	c := r.command(args...)
	c.Env = withoutLiteral(c.Env) // check-ignore takes no pathspec and refuses the setting
	_, err := r.run(ctx, c, args)
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// CommitInfo is what a commit object says of itself.
type CommitInfo struct {
	ID, Tree string
	Parents  []string
	Message  string
}

// CommitInfo reads a commit through the process that reads objects.
func (r *Repo) CommitInfo(ctx context.Context, rev string) (CommitInfo, error) {
	id, err := r.Resolve(ctx, rev)
	if err != nil {
		return CommitInfo{}, err
	}
	return r.readCommit(id)
}

// HeadCommit is CommitInfo of HEAD without asking for the name first. There is no commit
// yet: ErrNoBranch.
func (r *Repo) HeadCommit() (CommitInfo, error) {
	info, err := r.readCommit("HEAD")
	var missing *ErrMissingObject
	if errors.As(err, &missing) {
		err = ErrNoBranch
	}
	return info, err
}

// HasObject reports whether a revision or path, as in HEAD:path, names an object.
func (r *Repo) HasObject(name string) bool {
	got, err := r.read(name)
	return err == nil && got[0].err == nil
}

func (r *Repo) readCommit(name string) (CommitInfo, error) {
	all, err := r.Commits(name)
	if err != nil {
		return CommitInfo{}, err
	}
	return all[0], nil
}

// Commits reads commit objects in one batch. A name that is none is an error.
func (r *Repo) Commits(names ...string) ([]CommitInfo, error) {
	if len(names) == 0 {
		return nil, nil
	}
	got, err := r.read(names...)
	if err != nil {
		return nil, err
	}
	out := make([]CommitInfo, len(names))
	for i, o := range got {
		if o.err != nil {
			return nil, o.err
		}
		if o.kind != "commit" {
			return nil, fmt.Errorf("%s is a %s, not a commit", names[i], o.kind)
		}
		head, message, _ := strings.Cut(string(o.data), "\n\n")
		out[i] = CommitInfo{ID: o.id, Message: message}
		for line := range strings.Lines(head) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch key {
			case "tree":
				out[i].Tree = value
			case "parent":
				out[i].Parents = append(out[i].Parents, value)
			}
		}
	}
	return out, nil
}

// Peel returns the id of the commit that a revision or a tag names, "" if it names something
// that is no commit. A revision that names nothing here is a *ErrMissingObject.
func (r *Repo) Peel(name string) (string, error) {
	got, err := r.read(name)
	if err != nil {
		return "", err
	}
	if got[0].err != nil || got[0].kind == "commit" {
		return got[0].id, got[0].err
	}
	if got[0].kind != "tag" {
		return "", nil
	}
	if got, err = r.read(name + "^{commit}"); err != nil || got[0].err != nil {
		return "", err
	}
	return got[0].id, nil
}

// NotAncestors returns those commit hashes, perhaps abbreviated, that the repository does
// not have or that are no ancestors of tip.
func (r *Repo) NotAncestors(ctx context.Context, hashes []string, tip string) ([]string, error) {
	if tip == "" || len(hashes) == 0 {
		return nil, nil
	}
	names := make([]string, len(hashes))
	for i, h := range hashes {
		names[i] = h + "^{commit}"
	}
	got, err := r.read(names...)
	if err != nil {
		return nil, err
	}
	var unknown []string
	args := []string{"rev-list", "--stdin"}
	c := r.command(args...)
	var ask strings.Builder
	full := map[string]string{}
	for i, o := range got {
		if o.err != nil || o.kind != "commit" {
			unknown = append(unknown, hashes[i])
			continue
		}
		full[o.id] = hashes[i]
		fmt.Fprintln(&ask, o.id)
	}
	fmt.Fprintf(&ask, "^%s\n", tip)
	c.Stdin = strings.NewReader(ask.String())
	c.Stdout = func(in io.Reader) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if h, asked := full[lines.Text()]; asked {
				unknown = append(unknown, h)
			}
		}
		return lines.Err()
	}
	_, err = r.run(ctx, c, args)
	return unknown, err
}
