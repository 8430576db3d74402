package agentsmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"assent/finding"
	"assent/repo"
)

// Reasons why a file is written and not committed.
const (
	noRepository = "no-repository"
	globalFile   = "global"
	ignoredFile  = "ignored"
	untracked    = "untracked"
	unborn       = "unborn"
	preference   = "preference"
	nothing      = "nothing-to-commit"
)

// committing is the commit of one file: the same edits on what HEAD and the index have of it.
type committing struct {
	repo   *repo.Repo
	skip   string // why there is none; "" if there is
	entry  repo.PathEntry
	branch string
	commit repo.PathCommit
}

func (c *committing) close() {
	if c != nil && c.repo != nil {
		c.repo.Close()
	}
}

// prepare looks at the repository of a file before anything is written, and refuses what would
// lose or mix up somebody's work. wanted says whether a commit is.
func (k *Keeper) prepare(ctx context.Context, f *file, after []byte, scope string, edits []Edit, wanted bool, message string) (c *committing, err error) {
	c = &committing{}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if scope == GlobalScope {
		c.skip = globalFile
		return c, nil
	}
	root := filepath.Dir(f.path)
	c.repo, err = repo.Open(ctx, root, repo.Foreign(k.Git))
	if errors.Is(err, repo.ErrNoRepo) || err == nil && c.repo.Root == "" {
		c.skip = noRepository
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if filepath.Clean(c.repo.Root) != root {
		return c, fault("git-state", "collect again", "%s is a part of %s by now", root, c.repo.Root)
	}
	if c.entry, err = c.repo.PathEntry(ctx, FileName); err != nil {
		return c, gitFault(err)
	}
	if !wanted {
		c.skip = preference
		return c, nil
	}
	tracked := c.entry.Head != "" || c.entry.Index != ""
	if !tracked {
		if ignored, err := c.repo.Ignored(ctx, FileName); err != nil || ignored {
			c.skip = ignoredFile
			return c, err
		}
	}
	switch {
	case c.entry.Commit == "":
		c.skip = unborn
		return c, nil
	case !tracked && f.exists:
		c.skip = untracked
		return c, nil
	case c.entry.Head != "" && c.entry.Index == "":
		return c, fault("git-state", "git restore --staged "+FileName+", or add --no-commit", "the removal of %s is staged", f.path)
	}
	if c.branch, err = k.suits(ctx, c.repo); err != nil {
		return c, err
	}
	c.commit = repo.PathCommit{Path: FileName, HeadID: c.entry.Head, IndexID: c.entry.Index, Message: message}
	if c.commit.Head, err = k.replay(c.repo, c.entry.Head, f.path+" in HEAD", edits); err != nil {
		return c, err
	}
	if c.commit.Index, err = k.replay(c.repo, c.entry.Index, f.path+" in the index", edits); err != nil {
		return c, err
	}
	if id, err := c.repo.RawBlobOf(ctx, c.commit.Head); err != nil {
		return c, err
	} else if id == c.entry.Head {
		c.skip = nothing
		return c, nil
	}
	return c, k.filtered(ctx, c, f, after)
}

// suits holds the repository to a state in which one path can be committed. It returns the branch.
func (k *Keeper) suits(ctx context.Context, r *repo.Repo) (branch string, err error) {
	state, err := r.State(ctx)
	if err != nil {
		return "", err
	}
	if what := state.Busy(); what != "" {
		return "", fault("git-state", "", "%s is under way in %s", what, r.Root)
	}
	if state.Detached {
		return "", fault("git-state", "git switch BRANCH, or add --no-commit", "HEAD of %s is detached", r.Root)
	}
	if ok, version, err := r.Has(ctx, repo.HookRun); err != nil {
		return "", err
	} else if !ok {
		return "", fault("git-version", "", "this is Git %s", version)
	}
	if _, _, err := r.Identity(ctx); err != nil {
		return "", fault("git-identity", "", "%v", err)
	}
	attr, err := r.Alters(ctx, FileName)
	if err == nil && attr != "" {
		err = fault("git-filter", "", "the attribute %s changes the bytes of %s", attr, FileName)
	}
	return state.Branch, err
}

// replay makes the edits on a blob of the file. There old rules may be gone, and new ones stand
// there, already.
func (k *Keeper) replay(r *repo.Repo, id, what string, edits []Edit) ([]byte, error) {
	var src []byte
	if id != "" {
		var err error
		if src, err = r.Blob(id); err != nil {
			return nil, err
		}
	}
	out, err := Compose(what, src, edits, true)
	var f *Fault
	if errors.As(err, &f) {
		return nil, fault("git-state", "commit or restore it first, or add --no-commit", "%s", f.Text)
	}
	return out.Bytes, err
}

// filtered holds Git's own conversion of line ends to give the index's bytes from the file's, if
// it did before.
func (k *Keeper) filtered(ctx context.Context, c *committing, f *file, after []byte) error {
	if !f.exists || c.entry.Index == "" {
		return nil
	}
	before, err := c.repo.BlobOf(ctx, FileName, f.src)
	if err != nil || before != c.entry.Index {
		return err
	}
	now, err := c.repo.BlobOf(ctx, FileName, after)
	if err != nil {
		return err
	}
	want, err := c.repo.RawBlobOf(ctx, c.commit.Index)
	if err == nil && now != want {
		err = fault("git-filter", "", "Git would make other bytes of %s than stand in the index", f.path)
	}
	return err
}

// gitFault gives the errors of a one-path commit their codes.
func gitFault(err error) error {
	var unsuitable *repo.Unsuitable
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unsuitable):
		return fault("git-state", unsuitable.Next, "%s: %s", unsuitable.Path, unsuitable.Why)
	case errors.Is(err, repo.ErrState):
		return fault("git-state", "", "%v", err)
	case errors.Is(err, repo.ErrHookChanged):
		return fault("hook-changed-index", "", "%v", err)
	case errors.Is(err, repo.ErrHook):
		return fault("hook-refused", "", "%v", err)
	case errors.Is(err, repo.ErrCommit):
		return fault("commit-failed", "", "%v", err)
	case errors.Is(err, repo.ErrMoved):
		return fault("head-moved", "", "%v", err)
	case errors.Is(err, repo.ErrLocked):
		return &indexHeld{err}
	}
	return err
}

// indexHeld is another Git command at work: nothing was done, and later it will go.
type indexHeld struct{ err error }

func (e *indexHeld) Error() string {
	return e.err.Error() + ": wait for it to end, or remove the file if nothing runs"
}
func (e *indexHeld) ExitCode() int { return finding.ExitBusy }
func (e *indexHeld) Code() string  { return "agentsmd/busy" }

// message is that of the commit: a line for each rule that goes or comes, and the plan.
func message(plan string, decisions []*Decision) string {
	var lines []string
	for _, d := range decisions {
		lines = append(lines, d.summary())
	}
	return "docs(agents): update working preferences\n\n" + strings.Join(lines, "\n") + "\n\nAgentsmd-Plan: " + plan + "\n"
}
