// Package install puts the hooks into a clone and takes them out again. It writes only
// hook files in the directory that Git names, keeps every foreign hook, and where another
// manager or a shared directory owns the hooks it writes nothing.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/hooks"
	"assent/repo"
)

// Answer is what a person said to the question.
type Answer string

const (
	Both    Answer = "both"
	Guard   Answer = "pre-commit" // the blocking part only
	Archive Answer = "post-commit"
	None    Answer = "none"
)

// Question is asked once for each clone.
const Question = `Install Git hooks in this clone? They are local: nothing is committed, hooks of others are kept.
  1. both (recommended)  guard: blocks commits and merges that carry unresolved decisions
                         archive: after a commit, copies the decision base to docs/isme/archive
  2. guard only          the blocking part: --hooks pre-commit
  3. none                files only
Archive only: --hooks post-commit. Another archive path: skmb.archive in .assent.yaml.
`

// ParseAnswer reads an answer: its name or its number.
func ParseAnswer(s string) (Answer, bool) {
	switch strings.TrimSpace(s) {
	case "1", "both":
		return Both, true
	case "2", "pre-commit", "guard":
		return Guard, true
	case "3", "none":
		return None, true
	case "post-commit", "archive":
		return Archive, true
	}
	return "", false
}

func (a Answer) wants(e hooks.Event) bool {
	switch a {
	case Both:
		return true
	case Guard:
		return e.Group == hooks.Guard
	case Archive:
		return e.Group == hooks.Archive
	}
	return false
}

// Refused is an installation that is not ours to make: another owns the hooks.
type Refused struct{ Why, Next string }

func (e *Refused) Error() string { return e.Why }

// Action is what happens to one hook file.
type Action string

const (
	Create  Action = "create"
	Replace Action = "replace"
	Chain   Action = "chain"
	Same    Action = "keep" // ours, up to date
	Remove  Action = "remove"
)

// Item is one hook file of a plan.
type Item struct {
	Event  string
	Action Action
	Path   string
	data   []byte
	chain  string // where a foreign file goes
}

// Plan is everything that an installation will change.
type Plan struct {
	Answer  Answer
	Dir     string // hooks directory
	top     string // of the worktree, for shorter names
	MakeDir bool
	Items   []Item
	Notes   []string // what a person should know
	Driver  string   // merge driver to set; "" leaves it as it is
}

// Changes reports whether carrying out the plan would change anything.
func (p *Plan) Changes() bool {
	return p.Driver != "" || slices.ContainsFunc(p.Items, func(i Item) bool { return i.Action != Same })
}

// Lines says what the plan will do, a line a file.
func (p *Plan) Lines() []string {
	var out []string
	for _, i := range p.Items {
		line := fmt.Sprintf("%-7s %s", i.Action, below(p.top, i.Path))
		if i.Action == Chain {
			line += fmt.Sprintf("  (the hook that stands there moves to %s and runs first)", filepath.Base(i.chain))
		}
		out = append(out, line)
	}
	if p.Driver != "" {
		out = append(out, "set     "+driverKey+" (merges the rows of SKMB.md)")
	}
	return out
}

// quoteIfNeeded is a path as a word for sh.
func quoteIfNeeded(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:") == "" {
		return path
	}
	return quote(path)
}

// below is a path as seen from the top of the worktree, if it lies there.
func below(top, path string) string {
	if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// Make looks at the clone and says what installing would do. bin is the program that the
// hooks will run, "" to leave it to PATH.
func Make(ctx context.Context, r *repo.Repo, answer Answer, bin string) (*Plan, error) {
	p := &Plan{Answer: answer, top: r.Root}
	if r.Bare() {
		return nil, &Refused{"a bare repository runs none of these hooks", "install in a clone with a worktree"}
	}
	h, err := r.HooksPath(ctx)
	if err != nil {
		return nil, err
	}
	p.Dir = h.Dir
	if err := owned(ctx, r, h); err != nil && answer != None {
		return nil, err
	}
	if info, err := os.Stat(p.Dir); errors.Is(err, fs.ErrNotExist) {
		p.MakeDir = answer != None
	} else if err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &Refused{fmt.Sprintf("the hooks directory %s is no directory", p.Dir), "correct core.hooksPath"}
	}
	if h.Set && !filepath.IsAbs(h.Value) && !strings.HasPrefix(h.Value, "~") {
		fix := "git config --local core.hooksPath " + quoteIfNeeded(h.Dir)
		if others, _ := os.ReadDir(filepath.Join(r.CommonDir, "worktrees")); len(others) > 0 {
			return nil, &Refused{fmt.Sprintf("core.hooksPath is %q, which each linked worktree looks for in itself: they would not be guarded", h.Value), fix}
		}
		p.Notes = append(p.Notes, fmt.Sprintf("core.hooksPath is %q: a linked worktree looks for it in itself and is not guarded; better: %s", h.Value, fix))
	}
	for _, e := range hooks.Table {
		if !answer.wants(e) {
			data, err := os.ReadFile(filepath.Join(p.Dir, e.Name))
			if err == nil && isOurs(data) {
				return nil, &Refused{fmt.Sprintf("the %s hook is installed already, and the answer %s leaves it out", e.Name, answer), "assent uninstall, then assent install --hooks " + string(answer)}
			}
			continue
		}
		item, err := planFile(p.Dir, e, shim(e, bin))
		if err != nil {
			return nil, err
		}
		p.Items = append(p.Items, item)
	}
	if answer != None {
		// Where the program is gone Git's own text merge does it: never less than without a driver.
		want := "if command -v assent >/dev/null 2>&1; then assent skmb merge-driver %O %A %B; else git merge-file -L ours -L base -L theirs %A %O %B; fi"
		if bin != "" {
			want = fmt.Sprintf("if test -x %[1]s; then %[1]s skmb merge-driver %%O %%A %%B; el%[2]s", quote(bin), want)
		}
		have, err := r.Config(ctx, driverKey)
		if err != nil {
			return nil, err
		}
		if have != want {
			p.Driver = want
		}
	}
	return p, nil
}

// The merge driver that .gitattributes of a base names (gitattributes(5)).
const (
	driverKey  = "merge.assent-skmb.driver"
	driverName = "merge.assent-skmb.name"
)

func planFile(dir string, e hooks.Event, want []byte) (Item, error) {
	item := Item{Event: e.Name, Path: filepath.Join(dir, e.Name), data: want, chain: filepath.Join(dir, e.Name+".pre-assent")}
	info, err := os.Lstat(item.Path)
	if errors.Is(err, fs.ErrNotExist) {
		item.Action = Create
		return item, nil
	}
	if err != nil {
		return item, err
	}
	if info.IsDir() {
		return item, &Refused{fmt.Sprintf("%s is a directory", item.Path), "remove it"}
	}
	data, err := os.ReadFile(item.Path)
	if err != nil && info.Mode()&fs.ModeSymlink == 0 {
		return item, err
	}
	if info.Mode().IsRegular() && isOurs(data) {
		if !isShim(e, data) {
			return item, &Refused{fmt.Sprintf("%s is our hook with somebody's edits in it", item.Path), "move the edits behind its last line, where they are kept, or remove the file; then install again"}
		}
		item.data = append(slices.Clone(want), behind(data)...)
		if item.Action = Replace; bytes.Equal(data, item.data) && info.Mode().Perm()&0o100 != 0 {
			item.Action = Same
		}
		return item, nil
	}
	if _, err := os.Lstat(item.chain); err == nil {
		kept, err := os.ReadFile(item.chain)
		if err != nil || !bytes.Equal(kept, data) {
			return item, &Refused{fmt.Sprintf("%s stands there already and differs from %s", item.chain, item.Path), "keep one of the two, then install again"}
		}
	}
	item.Action = Chain
	return item, nil
}

// owned refuses where the hooks belong to somebody else (first matching row).
func owned(ctx context.Context, r *repo.Repo, h repo.HooksPath) error {
	if h.Set && (h.Value == "" || h.Value == os.DevNull || h.Value == "/dev/null") {
		return &Refused{fmt.Sprintf("core.hooksPath is %q (%s, %s): Git runs no hooks here", h.Value, h.Scope, h.Origin), "unset it, then install again"}
	}
	if m := manager(r, h.Dir); m != "" {
		return &Refused{fmt.Sprintf("%s manages the hooks here (%s); nothing was written", m, h.Dir), "add `assent hook pre-commit` to its configuration"}
	}
	if h.Scope == "command" {
		return &Refused{fmt.Sprintf("core.hooksPath is set by the command line or the environment (%q)", h.Value), "take it out of there, then install again"}
	}
	switch h.Scope {
	case "global", "system":
		return &Refused{fmt.Sprintf("core.hooksPath is set for all your repositories (%s, %s); that directory is not written to", h.Scope, h.Origin),
			"give this clone its own, which turns the other hooks off here: git config --local core.hooksPath " + quoteIfNeeded(filepath.Join(r.CommonDir, "hooks"))}
	}
	resolved, err := filepath.EvalSymlinks(h.Dir)
	if err != nil {
		resolved = h.Dir
	}
	tracked, err := r.Tracked(ctx, resolved)
	if err != nil {
		return err
	}
	if tracked {
		return &Refused{fmt.Sprintf("the hooks directory %s is tracked by Git, so its files are the project's", h.Dir),
			"add the line `assent hook pre-commit \"$@\" || exit $?` to its pre-commit"}
	}
	return nil
}

// managers are recognised by the hooks directory, by a file at the top, or by text in a
// hook file.
var managers = []struct {
	name  string
	dirs  []string // endings of the hooks directory
	files []string // at the top of the worktree
	text  string   // in a hook file
}{
	{"husky", []string{".husky/_", ".husky"}, nil, ""},
	{"lefthook", nil, []string{"lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", ".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json"}, "LEFTHOOK"},
	{"pre-commit", nil, []string{".pre-commit-config.yaml"}, "generated by pre-commit"},
	{"prek", nil, []string{"prek.toml"}, "generated by prek"},
	{"overcommit", nil, []string{".overcommit.yml"}, "OVERCOMMIT"},
}

func manager(r *repo.Repo, dir string) string {
	slashed := filepath.ToSlash(dir)
	for _, m := range managers {
		for _, d := range m.dirs {
			if strings.HasSuffix(slashed, "/"+d) {
				return m.name
			}
		}
		for _, f := range m.files {
			if _, err := os.Stat(filepath.Join(r.Root, f)); err == nil {
				return m.name
			}
		}
		if m.text == "" {
			continue
		}
		for _, e := range hooks.Table {
			if data, err := os.ReadFile(filepath.Join(dir, e.Name)); err == nil && bytes.Contains(data, []byte(m.text)) {
				return m.name
			}
		}
	}
	return ""
}
