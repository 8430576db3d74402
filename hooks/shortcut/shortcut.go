package shortcut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/repo"
	"assent/store"
)

// Look is the first look of a hook at its repository: HEAD, the receipts and, before a
// commit, the index. Whoever goes on from there asks for none of it again.
type Look struct {
	Repo     *repo.Repo
	Receipts *Receipts
	Scan     repo.IndexScan
	Scanned  error // why the scan does not count; repo.ErrUseGit after the commit

	event   string
	asked   chan struct{}
	head    repo.CommitInfo
	headErr error
}

// Begin looks. Git starts while the files are read.
func Begin(r *repo.Repo, event string, now time.Time, build string) *Look {
	l := &Look{Repo: r, event: event, Scanned: repo.ErrUseGit, asked: make(chan struct{})}
	go func() {
		defer close(l.asked)
		if l.head, l.headErr = r.HeadCommit(); errors.Is(l.headErr, repo.ErrNoBranch) {
			l.headErr = nil
		}
	}()
	l.Receipts = Open(r, event, now, build)
	if event == "pre-commit" || event == "pre-merge-commit" {
		l.Scan, l.Scanned = r.ScanIndex(l.Receipts.Watch, store.MayBeStray)
	}
	return l
}

// Head is the commit that HEAD names, zero before the first one.
func (l *Look) Head() (repo.CommitInfo, error) {
	<-l.asked
	return l.head, l.headErr
}

// Parent is the first parent of a commit, "" if it has none.
func Parent(c repo.CommitInfo) string {
	if len(c.Parents) == 0 {
		return ""
	}
	return c.Parents[0]
}

// Staged reports whether what is staged needs no judging: HEAD's tree was judged clean
// today by this build, and what is watched is the same in HEAD and index. Then the commit
// is as clean as HEAD; that is written down. A merge has a second parent and is always
// judged, and what cannot be told here is left to the judging.
func (l *Look) Staged(ctx context.Context) bool {
	c := l.Receipts
	head, err := l.Head()
	if err != nil || head.ID == "" || l.Repo.Merging || len(l.Repo.MergeHeads()) > 0 || c.Watch == nil || l.Scan.Folded {
		return false
	}
	x, ok := c.Clean(head.Tree)
	if !ok {
		return false
	}
	if l.Scanned == nil && (c.Watched(l.Scan.Entries) != x.Watched || l.Scan.Odd) {
		return false
	}
	var changes []repo.Change
	if l.Scanned != nil || l.Scan.Tree == "" {
		if changes, err = l.Repo.DiffIndex(ctx, head.ID); err != nil {
			return false
		}
	}
	if l.Scanned != nil { // only Git reads this index
		tracked := func(p string) bool { return l.Repo.HasObject("HEAD:" + p) }
		stray := func(ch repo.Change) bool { return store.MayBeStray([]byte(ch.Path)) }
		if AnyBelow(changes, c.Watch) || len(c.OnlyOnDisk(tracked)) > 0 || slices.ContainsFunc(changes, stray) {
			return false
		}
	}
	tree, err := l.Tree(changes)
	if err != nil {
		return false
	}
	c.Add(Receipt{Head: head.ID, Tree: tree, Watched: x.Watched, Key: x.Key, Verdict: Clean})
	return true
}

// Tree is the one that the commit will have: the root that Git has just noted in the index,
// or, where it noted none (commit -- path, intent to add), HEAD's with the changes to HEAD.
func (l *Look) Tree(changes []repo.Change) (string, error) {
	if l.Scanned == nil && l.Scan.Tree != "" {
		return l.Scan.Tree, nil
	}
	head, err := l.Head()
	if err != nil {
		return "", err
	}
	return l.Repo.TreeWith(head.Tree, changes)
}

// Committed reports whether there is nothing to do after a commit: a guard event let it
// pass, or there is no guard and it is known to be clean; and its base is the one that was
// archived last.
func (l *Look) Committed() bool {
	head, err := l.Head()
	c := l.Receipts
	if err != nil || head.ID == "" || c.Watch == nil {
		return false
	}
	x, ok := c.Clean(head.Tree)
	if !c.Checked(head.Tree, Parent(head)) {
		if c.Guarded() {
			return false
		}
		x, ok = l.Known()
	}
	return ok && l.archived(x.Watched)
}

// Known returns the receipt by which HEAD is clean without being judged: its only parent was
// judged clean, and what is watched is the same in both. A commit that changes what is
// watched is always judged, even if it brings back what was clean before: some rules look at
// the change.
func (l *Look) Known() (Receipt, bool) {
	c := l.Receipts
	if c.Watch == nil || len(l.head.Parents) != 1 {
		return Receipt{}, false
	}
	parents, err := l.Repo.Commits(l.head.Parents[0])
	if err != nil {
		return Receipt{}, false
	}
	before, ok := c.Clean(parents[0].Tree)
	if !ok {
		return Receipt{}, false
	}
	if x, ok := c.Clean(l.head.Tree); ok {
		return x, x.Watched == before.Watched
	}
	scan, err := l.Repo.ScanIndex(c.Watch, store.MayBeStray)
	if err != nil || scan.Folded || scan.Odd || scan.Tree != l.head.Tree || c.Watched(scan.Entries) != before.Watched {
		return Receipt{}, false
	}
	before.Head, before.Tree = Parent(l.head), l.head.Tree
	c.Add(before)
	return before, true
}

// archivedFile says of this worktree which archives hold the base that a digest of watched
// entries names: the digest, then a line for each archive directory with the number of
// archives in it and the last name. It is a cache.
func archivedFile(r *repo.Repo) string {
	return filepath.Join(r.GitDir, "assent", "cache", "archived")
}

func (l *Look) archived(watched string) bool {
	b, err := os.ReadFile(archivedFile(l.Repo))
	if err != nil {
		return false
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if lines[0] != watched {
		return false
	}
	for _, line := range lines[1:] {
		f := strings.SplitN(line, " ", 3)
		if len(f) != 3 || f[0]+" "+f[1] != held(filepath.Join(l.Repo.Root, filepath.FromSlash(f[2]))) {
			return false
		}
	}
	return true
}

// Archived notes that the archives in some directories hold what HEAD has.
func (l *Look) Archived(dirs []string) {
	head, err := l.Head()
	if err != nil {
		return
	}
	x, ok := l.Receipts.Clean(head.Tree)
	if !ok {
		return
	}
	note := x.Watched + "\n"
	for _, dir := range dirs {
		if held(filepath.Join(l.Repo.Root, filepath.FromSlash(dir))) == "damaged" {
			return
		}
		note += held(filepath.Join(l.Repo.Root, filepath.FromSlash(dir))) + " " + dir + "\n"
	}
	replaceFile(l.Repo, archivedFile(l.Repo), []byte(note))
}

// held is the number of names in a directory that are not hidden, and the last of them.
func held(dir string) string {
	n, last := 0, "-"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			n, last = n+1, e.Name()
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, last, "MANIFEST.md")); err != nil && n > 0 {
		return "damaged" // never noted: the archiving looks at it
	}
	return fmt.Sprintf("%d %s", n, last)
}

// Silent reports whether the event has nothing to do and nothing to say.
func (l *Look) Silent(ctx context.Context) bool {
	switch l.event {
	case "pre-commit":
		return store.Pending(filepath.Join(l.Repo.CommonDir, "assent")) == nil && l.Staged(ctx)
	case "post-commit":
		return l.Committed()
	}
	return false
}

// Build names the running program: another size or time of its file is another build.
func Build() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(self)
	if err != nil {
		return self
	}
	return fmt.Sprintf("%s %d %d", self, info.Size(), info.ModTime().UnixNano())
}
