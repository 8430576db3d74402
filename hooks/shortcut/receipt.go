// Package shortcut answers a hook that has nothing to do. Most commits touch nothing that is
// watched; they must cost next to nothing. What it answers from are receipts: what earlier
// hooks made of which tree. It imports little, so that it can run before the larger packages
// of the program are initialized.
package shortcut

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"assent/repo"
)

// A receipt says what an event made of a tree. The file of them is a cache and a witness,
// not a record: losing it costs one slow commit or one remark. Each line is one append
// under 4 KiB without a lock; the newest half is kept beyond
// 256 KiB, some 700 commits.
type Receipt struct {
	At      string  `json:"at"` // RFC 3339, UTC
	Event   string  `json:"event"`
	Head    string  `json:"head"` // HEAD at that time; "" before the first commit. Of a commit that was judged: its first parent
	Tree    string  `json:"tree"` // that the commit will have, or has
	Watched string  `json:"watched"`
	Key     string  `json:"key"`
	Verdict Verdict `json:"verdict"`
}

// Verdict is what a receipt says.
type Verdict string

const (
	Clean   Verdict = "clean"   // nothing to object to, and nothing but the watched paths decided that
	Passed  Verdict = "passed"  // nothing to object to in this commit
	Blocked Verdict = "blocked" // the guard said no; such a commit was not checked

	// What became known of a commit without a passing receipt, once it was made.
	Bypassed Verdict = "bypassed"
	Changed  Verdict = "changed-after-check"
	NotRun   Verdict = "not-run"
)

// guard reports whether a guard event wrote the receipt. The events after a commit write
// receipts too, which vouch for a tree but not that it was held back in time.
func (x Receipt) guard() bool {
	return (x.Event == "pre-commit" || x.Event == "pre-merge-commit") && (x.Verdict == Clean || x.Verdict == Passed || x.Verdict == Blocked)
}

// maxReceipts is small, because the whole file is read at every commit: at 1 MiB that took as
// long as all the rest of the shortcut.
const maxReceipts = 256 << 10

// indexName is what a watched directory holds if it is a decision base, with recordsName beside it.
const (
	indexName   = "SKMB.md"
	recordsName = "decisions"
)

// Receipts are the file as one run of a hook sees it.
type Receipts struct {
	Watch []string // what the newest judging looked at, in this worktree; nil: nothing was judged yet
	repo  *repo.Repo
	event string
	now   time.Time
	build string
	data  []byte // as it was read
	added []byte // by this run, newer than all of data
}

func receiptsFile(r *repo.Repo) string {
	return filepath.Join(r.CommonDir, "assent", "cache", "receipts")
}

// watchFile holds the watch list, a path a line. It is a cache of this worktree; the key of
// each receipt names the list that it was made with.
func watchFile(r *repo.Repo) string {
	return filepath.Join(r.GitDir, "assent", "cache", "watch")
}

// Open reads the receipts of a clone, for an event that happens now. build names the program:
// another build may judge differently.
func Open(r *repo.Repo, event string, now time.Time, build string) *Receipts {
	c := &Receipts{repo: r, event: event, now: now.UTC(), build: build}
	if data, err := os.ReadFile(receiptsFile(r)); err == nil && len(data) <= 2*maxReceipts {
		c.data = data
	}
	if b, err := os.ReadFile(watchFile(r)); err == nil && len(b) > 0 {
		c.Watch = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	return c
}

// about yields the receipts of a tree, the newest first. Lines that are no receipts do not
// count.
func (c *Receipts) about(tree string) iter.Seq[Receipt] {
	needle := []byte(`"tree":"` + tree + `"`)
	return func(yield func(Receipt) bool) {
		for _, data := range [][]byte{c.added, c.data} {
			var found []int // searching forwards is many times faster than backwards
			for at := 0; tree != ""; {
				i := bytes.Index(data[at:], needle)
				if i < 0 {
					break
				}
				found = append(found, at+i)
				at += i + len(needle)
			}
			for _, at := range slices.Backward(found) {
				start := bytes.LastIndexByte(data[:at], '\n') + 1
				line, _, _ := bytes.Cut(data[start:], []byte("\n"))
				var x Receipt
				if json.Unmarshal(line, &x) == nil && x.Tree == tree && !yield(x) {
					return
				}
			}
		}
	}
}

// Clean returns the receipt that shows a tree to be clean for this build, today, with this
// watch list. What was said last counts.
func (c *Receipts) Clean(tree string) (Receipt, bool) {
	key := c.Key()
	for x := range c.about(tree) {
		if x.Key == key && (x.Verdict == Clean || x.Verdict == Blocked) {
			return x, x.Verdict == Clean
		}
	}
	return Receipt{}, false
}

// Checked reports whether a guard event let a commit pass: the same tree on the same HEAD.
// What it said last counts.
func (c *Receipts) Checked(tree, head string) bool {
	for x := range c.about(tree) {
		if x.Head == head && x.guard() {
			return x.Verdict != Blocked
		}
	}
	return false
}

// Guarded reports whether guard events run in this clone: they have left receipts since the
// hooks were last taken out.
func (c *Receipts) Guarded() bool {
	data := c.data[max(bytes.LastIndex(c.data, []byte(`"event":"uninstall"`)), 0):]
	return bytes.Contains(data, []byte(`"event":"pre-commit"`)) || bytes.Contains(data, []byte(`"event":"pre-merge-commit"`))
}

// Outcome is what became known of a commit that no guard event let pass; "" if nothing did, or
// if the same content was checked on the same parent since.
func (c *Receipts) Outcome(tree, parent string) Verdict {
	for x := range c.about(tree) {
		switch {
		case x.Head != parent:
		case x.Verdict == Bypassed, x.Verdict == Changed, x.Verdict == NotRun:
			return x.Verdict
		case x.Verdict == Passed, x.guard() && x.Verdict == Clean:
			return ""
		}
	}
	return ""
}

// Last returns the receipt that a guard event of this clone wrote last.
func (c *Receipts) Last() (Receipt, bool) {
	for rest := bytes.TrimRight(c.data, "\n"); len(rest) > 0; {
		start := bytes.LastIndexByte(rest, '\n') + 1
		var x Receipt
		if json.Unmarshal(rest[start:], &x) == nil && x.guard() {
			return x, true
		}
		rest = rest[:max(start-1, 0)]
	}
	return Receipt{}, false
}

// Key changes with everything besides the watched content that can change a verdict.
func (c *Receipts) Key() string {
	return sum(func(h hash.Hash) {
		fmt.Fprintf(h, "%s\x00%s\x00%s", c.build, c.now.Format(time.DateOnly), strings.Join(c.Watch, "\x00"))
	})
}

func sum(write func(hash.Hash)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil))
}

// Watched names the content of the watched entries, and which bases stand on disk without
// being in the index.
func (c *Receipts) Watched(entries []repo.Entry) string {
	return sum(func(h hash.Hash) {
		for _, e := range entries {
			fmt.Fprintf(h, "%o %s %d %s\x00", e.Mode, e.ID, e.Stage, e.Path)
		}
		for _, root := range c.OnlyOnDisk(Has(entries)) {
			fmt.Fprintf(h, "disk %s\x00", root)
		}
	})
}

// Has reports of a path whether it is among entries.
func Has(entries []repo.Entry) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(entries, func(e repo.Entry) bool { return e.Path == path })
	}
}

// OnlyOnDisk are the bases that stand on disk, here or in the main worktree, and not in the
// index. What becomes of them is in no commit.
func (c *Receipts) OnlyOnDisk(tracked func(path string) bool) []string {
	var out []string
	for _, root := range c.Watch {
		index := path.Join(root, indexName)
		for _, top := range []string{c.repo.Root, c.repo.MainWorktree()} {
			if top == "" {
				continue
			}
			_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(index)))
			if err != nil { // half of a base
				_, err = os.Lstat(filepath.Join(top, filepath.FromSlash(root), recordsName))
			}
			if err == nil {
				if !tracked(index) {
					out = append(out, root)
				}
				break
			}
		}
	}
	return out
}

// below reports whether a path is root or under it, in any letter case.
func below(path, root string) bool {
	return len(path) >= len(root) && strings.EqualFold(path[:len(root)], root) && (len(path) == len(root) || path[len(root)] == '/')
}

// AnyBelow reports whether a change is at or below one of some paths, in any letter case.
func AnyBelow(changes []repo.Change, watch []string) bool {
	return slices.ContainsFunc(changes, func(ch repo.Change) bool {
		return slices.ContainsFunc(watch, func(root string) bool { return below(ch.Path, root) })
	})
}

// Add appends receipts. Failing to is no failure.
func (c *Receipts) Add(all ...Receipt) {
	var lines []byte
	for _, x := range all {
		x.At, x.Event = c.now.Format(time.RFC3339), c.event
		if line, err := json.Marshal(x); err == nil && len(line) < 2<<10 {
			lines = append(append(lines, line...), '\n')
		}
	}
	c.added = append(c.added, lines...)
	file := receiptsFile(c.repo)
	if len(lines) == 0 {
		return
	}
	f, err := c.repo.OpenPrivate(file, os.O_APPEND)
	if err != nil {
		return
	}
	_, _ = f.Write(lines)
	info, err := f.Stat()
	f.Close() // before it is replaced: an open file cannot be everywhere
	if err == nil && info.Size() > maxReceipts {
		halve(c.repo, file)
	}
}

// LooksAt makes a watch list the one of this worktree.
func (c *Receipts) LooksAt(watch []string) {
	if slices.Equal(watch, c.Watch) {
		return
	}
	c.Watch = watch
	replaceFile(c.repo, watchFile(c.repo), []byte(strings.Join(watch, "\n")+"\n"))
}

func replaceFile(r *repo.Repo, name string, data []byte) {
	tmp := fmt.Sprintf("%s.%d", name, os.Getpid())
	f, err := r.OpenPrivate(tmp, os.O_TRUNC)
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if errors.Join(err, f.Close()) != nil || os.Rename(tmp, name) != nil {
		_ = os.Remove(tmp)
	}
}

// halve keeps the newest half. Two processes doing so at once lose receipts at worst.
func halve(r *repo.Repo, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if i := bytes.IndexByte(data[len(data)/2:], '\n'); i >= 0 {
		replaceFile(r, file, data[len(data)/2+i+1:])
	}
}
