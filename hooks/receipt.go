package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"assent/config"
	"assent/lint"
	"assent/repo"
	"assent/skmb"
)

// A receipt says what an event made of a tree. The file of them is a cache and a witness,
// not a record: losing it costs one slow commit or one remark. Each line is one append
// under 4 KiB without a lock; the newest half is kept beyond 1 MiB.
type receipt struct {
	At      string  `json:"at"` // RFC 3339, UTC
	Event   string  `json:"event"`
	Head    string  `json:"head"` // HEAD at that time; "" before the first commit. Of a commit that was judged: its first parent
	Tree    string  `json:"tree"` // that the commit will have, or has
	Watched string  `json:"watched"`
	Key     string  `json:"key"`
	Verdict verdict `json:"verdict"`
}

// verdict is what a receipt says.
type verdict string

const (
	clean   verdict = "clean"   // nothing to object to, and nothing but the watched paths decided that
	passed  verdict = "passed"  // nothing to object to in this commit
	blocked verdict = "blocked" // the guard said no; such a commit was not checked

	// What became known of a commit without a passing receipt, once it was made.
	bypassed verdict = "bypassed"
	changed  verdict = "changed-after-check"
	notRun   verdict = "not-run"
)

// letPass reports whether a guard event found nothing to object to. The events after a
// commit write receipts too, which vouch for a tree but not that it was held back in time.
func (x receipt) letPass() bool {
	return (x.Event == "pre-commit" || x.Event == "pre-merge-commit") && (x.Verdict == clean || x.Verdict == passed)
}

const maxReceipts = 1 << 20

// receipts are the file as one run of a hook sees it.
type receipts struct {
	run   *run
	data  []byte
	watch []string // what the newest judging looked at, in this worktree
}

func receiptsFile(r *repo.Repo) string { return filepath.Join(Private(r), "cache", "receipts") }

// watchFile holds the watch list, a path a line. It is a cache of this worktree; the key of
// each receipt names the list that it was made with.
func watchFile(r *repo.Repo) string {
	return filepath.Join(r.GitDir, "assent", "cache", "watch")
}

func openReceipts(r *run) *receipts {
	c := &receipts{run: r, data: readReceipts(r.repo), watch: lint.Watch(config.Default())}
	if b, err := os.ReadFile(watchFile(r.repo)); err == nil && len(b) > 0 {
		c.watch = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	return c
}

func readReceipts(r *repo.Repo) []byte {
	data, err := os.ReadFile(receiptsFile(r))
	if err != nil || len(data) > 2*maxReceipts {
		return nil
	}
	return data
}

// about yields the receipts of a tree, the newest first. Lines that are no receipts do not
// count.
func about(data []byte, tree string) iter.Seq[receipt] {
	needle := []byte(`"tree":"` + tree + `"`)
	return func(yield func(receipt) bool) {
		for rest := data; tree != ""; {
			at := bytes.LastIndex(rest, needle)
			if at < 0 {
				return
			}
			start := bytes.LastIndexByte(rest[:at], '\n') + 1
			line, _, _ := bytes.Cut(data[start:], []byte("\n"))
			var x receipt
			if json.Unmarshal(line, &x) == nil && x.Tree == tree && !yield(x) {
				return
			}
			rest = rest[:start]
		}
	}
}

// clean returns the receipt that shows a tree to be clean for this build, today, with this
// watch list.
func (c *receipts) clean(tree string) (receipt, bool) {
	key := c.key()
	for x := range about(c.data, tree) {
		if x.Verdict == clean && x.Key == key {
			return x, true
		}
	}
	return receipt{}, false
}

// checked reports whether a guard event let a commit pass: the same tree on the same HEAD.
func checked(data []byte, tree, head string) bool {
	for x := range about(data, tree) {
		if x.letPass() && x.Head == head {
			return true
		}
	}
	return false
}

// outcome is what became known of a commit that no guard event let pass; "" if nothing did.
func outcome(data []byte, tree, parent string) verdict {
	for x := range about(data, tree) {
		switch x.Verdict {
		case bypassed, changed, notRun:
			if x.Head == parent {
				return x.Verdict
			}
		}
	}
	return ""
}

// passedOn reports whether a guard event let some tree pass on a HEAD.
func passedOn(data []byte, head string) bool {
	needle := []byte(`"head":"` + head + `"`)
	for line := range bytes.Lines(data) {
		var x receipt
		if bytes.Contains(line, needle) && json.Unmarshal(line, &x) == nil {
			if x.letPass() && x.Head == head {
				return true
			}
		}
	}
	return false
}

// key changes with everything besides the watched content that can change a verdict.
func (c *receipts) key() string {
	return sum(func(h hash.Hash) {
		fmt.Fprintf(h, "%s\x00%s\x00%s", c.run.Build, c.run.today(), strings.Join(c.watch, "\x00"))
	})
}

func sum(write func(hash.Hash)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil))
}

// watched names the content of the watched entries, and which bases stand on disk without
// being in the index.
func watched(r *repo.Repo, entries []repo.Entry, watch []string) string {
	return sum(func(h hash.Hash) {
		for _, e := range entries {
			fmt.Fprintf(h, "%o %s %d %s\x00", e.Mode, e.ID, e.Stage, e.Path)
		}
		for _, root := range onlyOnDisk(r, watch, has(entries)) {
			fmt.Fprintf(h, "disk %s\x00", root)
		}
	})
}

func has(entries []repo.Entry) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(entries, func(e repo.Entry) bool { return e.Path == path })
	}
}

// onlyOnDisk are the bases that stand on disk, here or in the main worktree, and not in the
// index. What becomes of them is in no commit.
func onlyOnDisk(r *repo.Repo, watch []string, tracked func(path string) bool) []string {
	var out []string
	for _, root := range watch {
		index := skmb.IndexPath(root)
		for _, top := range []string{r.Root, lint.MainWorktree(r)} {
			if top == "" {
				continue
			}
			if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(index))); err == nil {
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

func anyWatched(changes []repo.Change, watch []string) bool {
	return slices.ContainsFunc(changes, func(ch repo.Change) bool {
		return slices.ContainsFunc(watch, func(root string) bool { return below(ch.Path, root) })
	})
}

// add appends receipts. Failing to is no failure.
func (c *receipts) add(all ...receipt) {
	var lines []byte
	for _, x := range all {
		x.At, x.Event = c.run.Now().UTC().Format(time.RFC3339), c.run.Event
		if line, err := json.Marshal(x); err == nil && len(line) < 2<<10 {
			lines = append(append(lines, line...), '\n')
		}
	}
	file := receiptsFile(c.run.repo)
	if len(lines) == 0 || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(lines)
	if info, err := f.Stat(); err == nil && info.Size() > maxReceipts {
		halve(file)
	}
}

// looksAt makes a watch list the one of this worktree.
func (c *receipts) looksAt(watch []string) {
	if slices.Equal(watch, c.watch) {
		return
	}
	c.watch = watch
	file := watchFile(c.run.repo)
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		replaceFile(file, []byte(strings.Join(watch, "\n")+"\n"))
	}
}

func replaceFile(name string, data []byte) {
	tmp := fmt.Sprintf("%s.%d", name, os.Getpid())
	if os.WriteFile(tmp, data, 0o600) == nil {
		_ = os.Rename(tmp, name)
	}
}

// halve keeps the newest half. Two processes doing so at once lose receipts at worst.
func halve(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if i := bytes.IndexByte(data[len(data)/2:], '\n'); i >= 0 {
		replaceFile(file, data[len(data)/2+i+1:])
	}
}

// The roots at which this clone has had a base, one a line, so that a base that vanishes
// is noticed.
func seenFile(r *repo.Repo) string { return filepath.Join(Private(r), "cache", "bases") }

func seen(r *repo.Repo) []string {
	b, err := os.ReadFile(seenFile(r))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func remember(r *repo.Repo, t *lint.Target) {
	known := seen(r)
	for _, root := range t.Config.Skmb.Roots {
		if _, err := t.New.Stat(skmb.IndexPath(root)); err != nil || slices.Contains(known, root) || os.MkdirAll(filepath.Dir(seenFile(r)), 0o700) != nil {
			continue
		}
		if f, err := os.OpenFile(seenFile(r), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, root)
			f.Close()
		}
	}
}
