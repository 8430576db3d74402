package repo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxRefs bounds how many branches are looked at.
const maxRefs = 200

// NamesOnBranches returns the names that a directory has on any local or remote-tracking
// branch, newest branches first, 200 at most.
func (r *Repo) NamesOnBranches(ctx context.Context, dir string) ([]string, error) {
	out, err := r.git(ctx, "for-each-ref", fmt.Sprintf("--count=%d", maxRefs), "--sort=-committerdate", "--format=%(objectname)", "refs/heads", "refs/remotes")
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(string(out))
	if len(ids) == 0 || strings.ContainsAny(dir, "\n\x00") {
		return nil, nil
	}
	asked := make([]string, len(ids))
	for i, id := range ids {
		asked[i] = id + ":" + dir
	}
	got, err := r.read(asked...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range got {
		if o.err != nil || o.kind != "tree" { // the branch has no such directory
			continue
		}
		entries, err := parseTree(o.data, len(o.id)/2)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, e.name)
		}
	}
	return names, nil
}

// Version is a path at one commit that changed it.
type Version struct {
	Commit  string
	Data    []byte // nil if the commit removed it
	Subject string
	Message string
	Author  string // name
	When    string // committer date, seconds since 1970 and zone, as Git stores it
}

// History returns the versions of a path in the history of HEAD, oldest first. Merges count
// where they changed it.
func (r *Repo) History(ctx context.Context, path string) ([]Version, error) {
	ids, err := r.listCommits(ctx, "--reverse", "--topo-order", "HEAD", "--", path)
	if err != nil {
		return nil, err
	}
	asked := make([]string, 0, 2*len(ids))
	for _, id := range ids {
		asked = append(asked, id, id+":"+path)
	}
	if len(asked) == 0 || strings.ContainsAny(path, "\n\x00") {
		return nil, nil
	}
	got, err := r.read(asked...)
	if err != nil {
		return nil, err
	}
	var out []Version
	for i, id := range ids {
		v := Version{Commit: id}
		if got[2*i].err != nil {
			return nil, got[2*i].err
		}
		v.readCommit(string(got[2*i].data))
		if got[2*i+1].err == nil {
			v.Data = got[2*i+1].data
		}
		out = append(out, v)
	}
	return out, nil
}

// Messages returns the commits of a..b, oldest first, with their messages.
func (r *Repo) Messages(ctx context.Context, a, b string) ([]Version, error) {
	return r.messages(ctx, "--end-of-options", a+".."+b)
}

func (r *Repo) messages(ctx context.Context, args ...string) ([]Version, error) {
	ids, err := r.listCommits(ctx, append([]string{"--reverse", "--topo-order"}, args...)...)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	got, err := r.read(ids...)
	if err != nil {
		return nil, err
	}
	var out []Version
	for i, id := range ids {
		if got[i].err != nil {
			return nil, got[i].err
		}
		v := Version{Commit: id}
		v.readCommit(string(got[i].data))
		out = append(out, v)
	}
	return out, nil
}

func (v *Version) readCommit(data string) {
	head, message, _ := strings.Cut(data, "\n\n")
	v.Message = message
	v.Subject, _, _ = strings.Cut(message, "\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch key {
		case "author":
			v.Author, _, _ = strings.Cut(value, " <")
		case "committer":
			if i := strings.LastIndex(value, "> "); i >= 0 {
				v.When = value[i+2:]
			}
		}
	}
}

func (r *Repo) listCommits(ctx context.Context, args ...string) ([]string, error) {
	args = append([]string{"rev-list"}, args...)
	c := r.command(args...)
	var ids []string
	c.Stdout = func(in io.Reader) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if ids = append(ids, lines.Text()); len(ids) > maxEntries {
				return fmt.Errorf("more than %d commits", maxEntries)
			}
		}
		return lines.Err()
	}
	_, err := r.run(ctx, c, args)
	return ids, err
}

// Mentioning returns the commits in the history of HEAD whose message holds a text, oldest
// first.
func (r *Repo) Mentioning(ctx context.Context, text string) ([]Version, error) {
	return r.messages(ctx, "--fixed-strings", "--grep="+text, "HEAD", "--")
}

// Reflog is one entry of what HEAD was.
type Reflog struct {
	ID, Tree string
	Parent   string // the first; "" of a root
	Subject  string
}

// HeadLog returns the newest entries of HEAD's reflog, none if it has none.
func (r *Repo) HeadLog(ctx context.Context, most int) ([]Reflog, error) {
	out, err := r.git(ctx, "log", "-g", fmt.Sprintf("-%d", most), "--no-show-signature", "--no-color", "--no-ext-diff", "-z", "--format=%H%n%T%n%P%n%gs", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	var log []Reflog
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if f := strings.SplitN(entry, "\n", 4); len(f) == 4 {
			parent, _, _ := strings.Cut(f[2], " ")
			log = append(log, Reflog{f[0], f[1], parent, f[3]})
		}
	}
	return log, nil
}

// Lacking returns those of some commits that are not reachable from what the other side has,
// in rev-list's words, and everything between.
func (r *Repo) Lacking(ctx context.Context, tips, has []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(tips) == 0 {
		return out, nil
	}
	var in strings.Builder
	args := []string{"rev-list", "--stdin", "--not"}
	for _, tip := range tips {
		fmt.Fprintln(&in, tip)
	}
	for _, h := range has {
		if strings.HasPrefix(h, "-") {
			args = append(args, h)
		} else {
			fmt.Fprintln(&in, "^"+h)
		}
	}
	c := r.command(args...)
	c.Stdin, c.Timeout = strings.NewReader(in.String()), WriteTimeout
	c.Stdout = func(in io.Reader) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			out[lines.Text()] = true
		}
		return lines.Err()
	}
	_, err := r.run(ctx, c, args)
	return out, err
}

// NewCommits lists the commits reachable from tip and from none of what follows --not in
// rev-list's own words, oldest first, and the newest commit that they stand on, "" if they
// stand on none.
func (r *Repo) NewCommits(ctx context.Context, tip string, not ...string) (ids []string, on string, err error) {
	listed, err := r.listCommits(ctx, append([]string{"--topo-order", "--reverse", "--boundary", tip, "--not"}, not...)...)
	if err != nil {
		return nil, "", err
	}
	var edge []string
	for _, id := range listed {
		if known, ok := strings.CutPrefix(id, "-"); ok {
			edge = append(edge, known)
		} else {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || len(edge) == 0 {
		return ids, first(edge), nil
	}
	newest, err := r.listCommits(ctx, append([]string{"--no-walk=sorted", "--max-count=1"}, edge...)...)
	return ids, first(newest), err
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// IsAncestor reports whether a commit is reachable from another.
func (r *Repo) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	_, err := r.git(ctx, "merge-base", "--is-ancestor", a, b)
	var git *GitError
	if errors.As(err, &git) && git.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// CommitsBetween lists the commits of a..b, oldest first; all of b's history without a.
func (r *Repo) CommitsBetween(ctx context.Context, a, b string) ([]string, error) {
	args := []string{"--topo-order", "--reverse", b}
	if a != "" {
		args = append(args, "^"+a)
	}
	return r.listCommits(ctx, args...)
}

// Paths lists every path of a commit, or of the index if no revision is given.
func (r *Repo) Paths(ctx context.Context, rev string) ([]string, error) {
	args := []string{"ls-files", "-z", "--cached"}
	if rev != "" {
		args = []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", rev}
	}
	c := r.command(args...)
	var out []string
	c.Stdout = func(in io.Reader) error {
		b := bufio.NewReaderSize(in, 64<<10)
		for {
			name, err := readRecord(b)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if out = append(out, name); len(out) > maxEntries {
				return fmt.Errorf("more than %d paths", maxEntries)
			}
		}
	}
	_, err := r.run(ctx, c, args)
	return slices.Compact(out), err
}

// RootCommits are the commits without parents that HEAD comes from, sorted. complete is false
// where the history is cut off, or where there is no commit yet.
func (r *Repo) RootCommits(ctx context.Context) (ids []string, complete bool, err error) {
	if _, err := r.HeadCommit(); err != nil {
		if errors.Is(err, ErrNoBranch) {
			err = nil
		}
		return nil, false, err
	}
	args := []string{"rev-list", "--max-parents=0", "HEAD"}
	c := r.command(args...)
	c.Timeout = WriteTimeout
	out, err := r.run(ctx, c, args)
	ids = strings.Fields(string(out))
	slices.Sort(ids)
	return ids, err == nil && !r.Shallow && len(ids) > 0, err
}
