package repo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// CommitChange is a path in which a commit differs from one of its parents, as
// `git diff-tree --raw` has it (git-diff-tree(1), "RAW OUTPUT FORMAT").
type CommitChange struct {
	Commit string
	Path   string
	Status byte   // 'A' added, 'D' deleted, 'M' changed, 'T' became another type
	ID     string // object id of the content in the commit; zeros where it was deleted
}

// CommitChanges lists what each of some commits changes against each of its parents, below some
// directories and at names that match patterns without a slash, wherever they are. It is one
// process for any number of commits; with names Git walks the whole of every tree that differs.
func (r *Repo) CommitChanges(ctx context.Context, ids, dirs, names []string) ([]CommitChange, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []string{"diff-tree", "--stdin", "-r", "-m", "--root", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--"}
	for _, d := range dirs {
		args = append(args, ":(top,literal)"+d)
	}
	for _, n := range names {
		args = append(args, ":(top,glob)**/"+n)
	}
	c := r.command(args...)
	c.Env = withoutLiteral(c.Env)
	c.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	c.Timeout = WriteTimeout // a long range takes its time
	var out []CommitChange
	c.Stdout = func(in io.Reader) error {
		b := bufio.NewReaderSize(in, 64<<10)
		commit := ""
		for {
			head, err := readRecord(b)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if !strings.HasPrefix(head, ":") {
				commit = head
				continue
			}
			f := strings.Split(head, " ")
			name, err := readRecord(b)
			if len(f) != 5 || f[4] == "" || commit == "" || err != nil {
				return fmt.Errorf("git diff-tree answered %q", head)
			}
			if f[2] != f[3] { // of a mode alone the content is the same
				out = append(out, CommitChange{commit, name, f[4][0], f[3]})
			}
		}
	}
	_, err := r.run(ctx, c, args)
	return out, err
}

// Blob reads the content of an object by its id.
func (r *Repo) Blob(id string) ([]byte, error) {
	got, err := r.read(id)
	if err != nil {
		return nil, err
	}
	return got[0].data, got[0].err
}

// OnlyInHead reports whether a path came in with the commit that HEAD names, and that commit has
// gone nowhere that this clone knows of.
func (r *Repo) OnlyInHead(ctx context.Context, path string) bool {
	head, err := r.HeadCommit()
	if err != nil || head.ID == "" || !r.HasObject(head.ID+":"+path) {
		return false
	}
	for _, p := range head.Parents {
		if !r.HasObject(p) || r.HasObject(p+":"+path) { // of a parent that is not here nothing is known
			return false
		}
	}
	out, err := r.git(ctx, "for-each-ref", "--count=1", "--contains", head.ID, "--format=%(refname)", "refs/remotes")
	return err == nil && len(out) == 0
}
