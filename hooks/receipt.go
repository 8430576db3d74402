package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
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

// A receipt says that watched content was judged. The file is a cache and a witness, not
// a record: losing it costs one slow commit. Each line is one append under 4 KiB without
// a lock; the newest half is kept beyond 1 MiB.
type receipt struct {
	At      string   `json:"at"` // RFC 3339, UTC
	Event   string   `json:"event"`
	Watched string   `json:"watched"` // SHA-256 over mode, id and path of the watched entries
	Key     string   `json:"key"`     // SHA-256 over build, UTC date and watch list
	Config  string   `json:"config"`  // id of .assent.yaml that the watch list came from
	Watch   []string `json:"watch"`
	Verdict string   `json:"verdict"`
}

const maxReceipts = 1 << 20

// receipts is the cache as one run of a hook sees it.
type receipts struct {
	run   *run
	file  string
	lines []receipt
	watch []string // of the newest receipt, else of the default configuration
}

func receiptsFile(r *repo.Repo) string { return filepath.Join(Private(r), "cache", "receipts") }

func openReceipts(r *run) *receipts {
	c := &receipts{run: r, file: receiptsFile(r.repo), watch: lint.Watch(config.Default())}
	data, err := os.ReadFile(c.file)
	if err != nil || len(data) > 2*maxReceipts {
		return c
	}
	for line := range bytes.Lines(data) {
		var x receipt
		if json.Unmarshal(line, &x) == nil && x.Verdict == "clean" {
			c.lines = append(c.lines, x)
		}
	}
	if n := len(c.lines); n > 0 {
		c.watch = c.lines[n-1].Watch
	}
	return c
}

// key changes with everything besides the watched content that can change a verdict.
func (c *receipts) key(watch []string) string {
	return sum(func(h hash.Hash) {
		fmt.Fprintf(h, "%s\x00%s\x00%s", c.run.Build, c.run.today(), strings.Join(watch, "\x00"))
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
		for _, root := range onlyOnDisk(r, entries, watch) {
			fmt.Fprintf(h, "disk %s\x00", root)
		}
	})
}

// onlyOnDisk are the bases that stand on disk, here or in the main worktree, and not in the
// index. What becomes of them is in no commit, so no receipt is written while there are any.
func onlyOnDisk(r *repo.Repo, entries []repo.Entry, watch []string) []string {
	var out []string
	for _, root := range watch {
		index := skmb.IndexPath(root)
		if slices.ContainsFunc(entries, func(e repo.Entry) bool { return e.Path == index }) {
			continue
		}
		for _, top := range []string{r.Root, lint.MainWorktree(r)} {
			if top == "" {
				continue
			}
			if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(index))); err == nil {
				out = append(out, root)
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

func configID(entries []repo.Entry) string {
	for _, e := range entries {
		if e.Path == config.Name {
			return e.ID
		}
	}
	return ""
}

// clean reports whether what is staged needs no judging: nothing watched differs from
// HEAD, no merge is being concluded, and the same content was judged clean today by this
// build. Nothing watched at all is clean too.
func (c *receipts) clean(s *repo.Staged) bool {
	if len(s.Parents) > 1 || slices.ContainsFunc(s.Changes, func(ch repo.Change) bool {
		return slices.ContainsFunc(c.watch, func(root string) bool { return below(ch.Path, root) })
	}) {
		return false
	}
	w, key, id := watched(c.run.repo, s.Entries, c.watch), c.key(c.watch), configID(s.Entries)
	return slices.ContainsFunc(c.lines, func(x receipt) bool { return x.Watched == w && x.Key == key && x.Config == id })
}

// add appends a receipt for a target that was judged clean. Failing to is no failure.
func (c *receipts) add(t *lint.Target) {
	watch := lint.Watch(t.Config)
	if len(onlyOnDisk(c.run.repo, t.Staged.Entries, watch)) > 0 {
		return
	}
	for _, ch := range t.Staged.Changes { // signers and policy that count are those of HEAD: after this commit they are others
		if slices.ContainsFunc(watch, func(w string) bool { return below(ch.Path, w) && !slices.Contains(t.Config.Skmb.Roots, w) }) {
			return
		}
	}
	line, err := json.Marshal(receipt{
		At: c.run.Now().UTC().Format(time.RFC3339), Event: c.run.Event, Watched: watched(c.run.repo, t.Staged.Entries, watch),
		Key: c.key(watch), Config: configID(t.Staged.Entries), Watch: watch, Verdict: "clean",
	})
	if err != nil || len(line) >= 4<<10 || os.MkdirAll(filepath.Dir(c.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(c.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
	if info, err := f.Stat(); err == nil && info.Size() > maxReceipts {
		c.halve()
	}
}

// halve keeps the newest half. Two processes doing so at once lose receipts at worst.
func (c *receipts) halve() {
	data, err := os.ReadFile(c.file)
	if err != nil {
		return
	}
	if i := bytes.IndexByte(data[len(data)/2:], '\n'); i >= 0 {
		tmp := fmt.Sprintf("%s.%d", c.file, os.Getpid())
		if os.WriteFile(tmp, data[len(data)/2+i+1:], 0o600) == nil {
			_ = os.Rename(tmp, c.file)
		}
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
