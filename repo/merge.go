package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrOldGit is a Git without what was asked for.
type ErrOldGit struct{ Needs string }

func (e *ErrOldGit) Error() string { return "this Git is too old: " + e.Needs }

// Code makes it an unchecked part of a run.
func (e *ErrOldGit) Code() string { return "lint/check-failed" }

// MergeResult returns the tree that merging two commits would give, and the paths at which
// they conflict. Git writes the objects of it into a directory of their own, so that the
// repository gains none; it is removed by Close.
func (r *Repo) MergeResult(ctx context.Context, ours, theirs string) (*Snapshot, []string, error) {
	// Both names become ids first: merge-tree ends with 1 for an unknown name as for a conflict.
	a, err := r.Resolve(ctx, ours)
	if err != nil {
		return nil, nil, err
	}
	b, err := r.Resolve(ctx, theirs)
	if err != nil {
		return nil, nil, err
	}
	m, err := r.scratch()
	if err != nil {
		return nil, nil, err
	}
	args := []string{"merge-tree", "--write-tree", "-z", "--no-messages", "--name-only", a, b}
	out, err := Run(ctx, m.command(args...))
	if err != nil {
		return nil, nil, err
	}
	fields := strings.Split(strings.TrimSuffix(string(out.Stdout), "\x00"), "\x00")
	switch {
	case out.Code > 1 && strings.Contains(out.Stderr, "usage:"):
		return nil, nil, &ErrOldGit{"merge-tree --write-tree needs Git 2.38"}
	case out.Code > 1 || len(fields[0]) < 40:
		return nil, nil, &GitError{Args: args, Code: out.Code, Stderr: out.Stderr}
	}
	conflicts := slices.Compact(slices.Sorted(slices.Values(fields[1:])))
	tree, err := m.Tree(fields[0])
	return tree, conflicts, err
}

// scratch is the same repository for commands that write objects which must not stay: they
// go to a temporary directory, with the real one behind it.
func (r *Repo) scratch() (*Repo, error) {
	objects := Variable(r.env, "GIT_OBJECT_DIRECTORY")
	if objects == "" {
		objects = filepath.Join(r.CommonDir, "objects")
	}
	dir, err := os.MkdirTemp("", "assent-objects-")
	if err != nil {
		return nil, err
	}
	behind := quoteAlternate(objects)
	if more := Variable(r.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES"); more != "" {
		behind += string(os.PathListSeparator) + more
	}
	m := &Repo{Root: r.Root, GitDir: r.GitDir, CommonDir: r.CommonDir, Shallow: r.Shallow, caller: r.caller, format: r.format}
	m.env = append(slices.DeleteFunc(slices.Clone(r.env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "GIT_OBJECT_DIRECTORY" || name == "GIT_ALTERNATE_OBJECT_DIRECTORIES"
	}), "GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+behind)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atClose = append(r.atClose, func() error { return errors.Join(m.Close(), os.RemoveAll(dir)) })
	return m, nil
}

// quoteAlternate writes a path for GIT_ALTERNATE_OBJECT_DIRECTORIES, where the separator
// and quotes mean something (git(1)).
func quoteAlternate(path string) string {
	if !strings.ContainsAny(path, "\"\n"+string(os.PathListSeparator)) {
		return path
	}
	return fmt.Sprintf("%q", path)
}
