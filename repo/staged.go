package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxEntries bounds what is read of one listing.
const maxEntries = 1_000_000

// Change is one path that differs between two trees. An empty id means absent.
type Change struct {
	Path, Old, New   string
	OldMode, NewMode Mode
}

// Staged is what will be committed: the index that Git names, limited to the watched
// paths, and every path in which it differs from HEAD.
type Staged struct {
	Entries []Entry  // below the watched paths, in any letter case, sorted by bytes
	Changes []Change // the whole index against all parents
	Parents []string // revisions: "HEAD", then the commits being merged; empty for a first commit
	Watch   []string // what Entries were asked for
	repo    *Repo
}

// Staged reads the index with two processes at once. Nothing is written, not even the
// index's own cached data.
func (r *Repo) Staged(ctx context.Context, watch ...string) (*Staged, error) {
	s := &Staged{repo: r, Parents: []string{"HEAD"}, Watch: watch}
	s.Parents = append(s.Parents, r.MergeHeads()...)
	listed := make(chan error, 1)
	go func() {
		var err error
		s.Entries, err = r.listIndex(ctx, watch)
		listed <- err
	}()
	changeErr := s.readChanges(ctx)
	if err := <-listed; err != nil {
		return nil, err
	}
	if changeErr != nil {
		return nil, changeErr
	}
	s.dropIntentToAdd()
	return s, nil
}

// Snapshot is the content of the watched part of the index.
func (s *Staged) Snapshot() *Snapshot { return fromEntries(s.repo, s.Entries, "") }

// Worktree is the content on disk below the watched paths: what the index has, and what is
// neither tracked nor ignored. A tracked file that is not checked out (sparse checkout) is
// read from the index; a directory that is a link is a link, and nothing behind it is read.
func (r *Repo) Worktree(ctx context.Context, watch ...string) (*Snapshot, error) {
	entries, err := r.listIndex(ctx, watch, "-t")
	if err != nil {
		return nil, err
	}
	others, err := r.git(ctx, append([]string{"ls-files", "-o", "--exclude-standard", "-z", "--"}, watch...)...)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(others), "\x00"), "\x00") {
		if name != "" {
			entries = append(entries, Entry{Path: name, Mode: ModeFile})
		}
	}
	var found []Entry
	links := map[string]bool{}
	for _, e := range entries {
		if link := r.linkAbove(e.Path); link != "" {
			if !links[link] {
				links[link] = true
				found = append(found, Entry{Path: link, Mode: ModeSymlink})
			}
			continue
		}
		info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(e.Path)))
		switch {
		case errors.Is(err, os.ErrNotExist):
			if e.Skip {
				found = append(found, e)
			}
			continue
		case err != nil:
			return nil, err
		}
		e.Skip, e.Stage = false, 0 // a conflict is in the index; the file on disk is one
		if e.Mode != ModeGitlink {
			e.Mode = diskMode(info.Mode())
		}
		found = append(found, e)
	}
	return fromEntries(r, found, r.Root), nil
}

// Linked reports whether a directory on the way from a worktree's top to a path is a link or
// no directory: Git asks nothing about what lies behind one.
func (r *Repo) Linked(top, path string) bool {
	return (&Repo{Root: top}).linkAbove(path) != ""
}

// linkAbove returns the first directory on the way to a path that is no directory on disk.
func (r *Repo) linkAbove(path string) string {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(path[:i]))); err == nil && !info.IsDir() {
			return path[:i]
		}
	}
	return ""
}

// MergeHeads returns the other parents of a commit that concludes a merge. In
// pre-merge-commit MERGE_HEAD is not written yet; Git names the merged commits in
// variables GITHEAD_<id>, which mean nothing anywhere else.
func (r *Repo) MergeHeads() []string {
	var out []string
	if b, err := os.ReadFile(filepath.Join(r.GitDir, "MERGE_HEAD")); err == nil {
		return strings.Fields(string(b))
	}
	if !r.Merging {
		return nil
	}
	for _, kv := range r.caller {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GITHEAD_") {
			out = append(out, strings.TrimPrefix(name, "GITHEAD_"))
		}
	}
	return out
}

func (s *Staged) readChanges(ctx context.Context) error {
	for i, parent := range s.Parents {
		changes, err := s.repo.DiffIndex(ctx, parent)
		if err != nil && i == 0 {
			if _, unborn := s.repo.Resolve(ctx, "HEAD"); unborn == nil {
				return err
			}
			format, ferr := s.repo.Format(ctx)
			if ferr != nil {
				return ferr
			}
			s.Parents = nil
			s.Changes, err = s.repo.DiffIndex(ctx, emptyTree[format])
			return err
		}
		if err != nil {
			return err
		}
		if i == 0 {
			s.Changes = changes
			continue
		}
		s.Changes = slices.DeleteFunc(s.Changes, func(c Change) bool {
			_, found := slices.BinarySearchFunc(changes, c.Path, func(c Change, path string) int { return strings.Compare(c.Path, path) })
			return !found
		})
	}
	return nil
}

// DiffTrees lists the paths in which two commits or trees differ; from "" is no tree at all.
func (r *Repo) DiffTrees(ctx context.Context, from, to string) ([]Change, error) {
	if from == "" {
		format, err := r.Format(ctx)
		if err != nil {
			return nil, err
		}
		from = emptyTree[format]
	}
	return r.rawDiff(ctx, "diff-tree", "-r", "--end-of-options", from, to)
}

// DiffIndex lists the paths in which the whole index differs from a commit or tree. Entries
// of intent to add do not count.
func (r *Repo) DiffIndex(ctx context.Context, tree string) ([]Change, error) {
	return r.rawDiff(ctx, "diff-index", "--cached", "--ita-invisible-in-index", tree, "--")
}

// rawDiff runs a diff command whose output is raw, whatever the user's configuration says.
func (r *Repo) rawDiff(ctx context.Context, command string, args ...string) ([]Change, error) {
	args = append([]string{command, "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"}, args...)
	c := r.command(args...)
	var changes []Change
	c.Stdout = func(in io.Reader) (err error) {
		changes, err = parseRawDiff(in)
		return err
	}
	_, err := r.run(ctx, c, args)
	return changes, err
}

// parseRawDiff reads `diff-index --raw -z` (git-diff-index(1), "RAW OUTPUT FORMAT"):
// ":<mode> <mode> <id> <id> <status>" NUL path NUL.
func parseRawDiff(in io.Reader) ([]Change, error) {
	var out []Change
	b := bufio.NewReaderSize(in, 64<<10)
	for {
		head, err := readRecord(b)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		f := strings.Split(head, " ")
		if len(f) != 5 || !strings.HasPrefix(f[0], ":") {
			return nil, fmt.Errorf("git diff-index answered %q", head)
		}
		path, err := readRecord(b)
		if err != nil {
			return nil, fmt.Errorf("git diff-index: %w", io.ErrUnexpectedEOF)
		}
		before, err1 := strconv.ParseUint(f[0][1:], 8, 32)
		after, err2 := strconv.ParseUint(f[1], 8, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("git diff-index answered %q", head)
		}
		c := Change{Path: path, OldMode: Mode(before), NewMode: Mode(after)}
		if before != 0 {
			c.Old = f[2]
		}
		if after != 0 {
			c.New = f[3]
		}
		if n := len(out); n > 0 && out[n-1].Path == path { // unmerged: a second line for the same path
			continue
		}
		if out = append(out, c); len(out) > maxEntries {
			return nil, fmt.Errorf("more than %d changed paths", maxEntries)
		}
	}
}

// listIndex lists the index below the watched paths. The paths match in any letter case,
// so that a base under another spelling is seen.
func (r *Repo) listIndex(ctx context.Context, watch []string, flags ...string) ([]Entry, error) {
	args := append(append(append([]string{"ls-files", "-s", "-z"}, flags...), "--"), watch...)
	c := r.command(args...)
	c.Env = append(withoutLiteral(c.Env), "GIT_NOGLOB_PATHSPECS=1", "GIT_ICASE_PATHSPECS=1")
	var entries []Entry
	c.Stdout = func(in io.Reader) (err error) {
		entries, err = parseLsFiles(in)
		return err
	}
	_, err := r.run(ctx, c, args)
	return entries, err
}

// parseLsFiles reads `ls-files -s -z`: "<mode> <id> <stage>" TAB path NUL; with -t each has
// a letter and a blank before it, S for a path that is not checked out.
func parseLsFiles(in io.Reader) ([]Entry, error) {
	var out []Entry
	b := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readRecord(b)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		head, path, ok := strings.Cut(line, "\t")
		f := strings.Split(head, " ")
		skip := false
		if len(f) == 4 && len(f[0]) == 1 {
			skip = f[0] == "S" || f[0] == strings.ToLower(f[0]) // with -v: small letters are assumed to be unchanged
			f = f[1:]
		}
		if !ok || len(f) != 3 || path == "" {
			return nil, fmt.Errorf("git ls-files answered %q", line)
		}
		mode, err1 := strconv.ParseUint(f[0], 8, 32)
		stage, err2 := strconv.Atoi(f[2])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("git ls-files answered %q", line)
		}
		if out = append(out, Entry{path, Mode(mode), f[1], stage, skip}); len(out) > maxEntries {
			return nil, fmt.Errorf("more than %d paths", maxEntries)
		}
	}
}

// readRecord reads up to NUL. The end of input inside a record is an error.
func readRecord(b *bufio.Reader) (string, error) {
	s, err := b.ReadBytes(0)
	if err == io.EOF && len(s) > 0 {
		return "", io.ErrUnexpectedEOF
	}
	return string(bytes.TrimSuffix(s, []byte{0})), err
}

// dropIntentToAdd takes out entries that `git add -N` made: they will not be committed.
// ls-files shows them with the empty blob; diff-index does not show them at all, and no
// parent has them.
func (s *Staged) dropIntentToAdd() {
	s.Entries = slices.DeleteFunc(s.Entries, func(e Entry) bool {
		if e.Stage != 0 || !slices.Contains(emptyBlobs, e.ID) {
			return false
		}
		if i := slices.IndexFunc(s.Changes, func(c Change) bool { return c.Path == e.Path }); i >= 0 {
			return s.Changes[i].New == "" // it is the deletion that will be committed
		}
		for _, p := range s.Parents {
			t, err := s.repo.Tree(p + "^{tree}")
			if err != nil {
				return false
			}
			if _, err := t.Stat(e.Path); err == nil {
				return false
			}
		}
		return true
	})
}
