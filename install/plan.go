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
  1. both (recommended)  guard: blocks commits, merges and pushes that carry unresolved decisions
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

// Method is how Git learns of the hooks.
type Method string

const (
	Files  Method = "file"   // files in the hooks directory
	Config Method = "config" // configured hooks, of Git 2.54 and newer
)

// Options are what is to be installed and how.
type Options struct {
	Answer  Answer
	Bin     string   // program that the hooks will run, "" to leave it to PATH
	With    []string // events, or the group message, beyond the answer
	Without []string // events of the answer that are left out
	Method  Method
	Server  bool // the pre-receive hook of a bare repository
}

// Events are the events that options ask for. An unknown name is an error.
func (o Options) Events() ([]hooks.Event, error) {
	for _, name := range slices.Concat(o.With, o.Without) {
		if _, ok := hooks.Find(name); !ok && name != string(hooks.Message) {
			return nil, fmt.Errorf("there is no hook %q; see assent hook --list", name)
		}
	}
	named := func(list []string, e hooks.Event) bool {
		return slices.Contains(list, e.Name) || e.Group == hooks.Message && slices.Contains(list, string(e.Group))
	}
	var out []hooks.Event
	for _, e := range hooks.Table {
		wanted := o.Server && e.Group == hooks.Server
		if !o.Server && e.Group != hooks.Server {
			switch o.Answer {
			case Both:
				wanted = e.Group == hooks.Guard || e.Group == hooks.Archive
			case Guard:
				wanted = e.Group == hooks.Guard
			case Archive:
				wanted = e.Group == hooks.Archive
			}
			wanted = (wanted || o.Answer != None && named(o.With, e)) && !named(o.Without, e)
		}
		if wanted {
			out = append(out, e)
		}
	}
	return out, nil
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
	kept   bool   // it stands there already, with the same bytes and mode
}

// Plan is everything that an installation will change.
type Plan struct {
	Options
	Dir     string // hooks directory
	top     string // of the worktree, for shorter names
	MakeDir bool
	Items   []Item   // hook files
	Keys    []Key    // configured hooks and the merge driver
	Notes   []string // what a person should know
}

// Key is one key of the clone's own configuration.
type Key struct {
	Name  string
	Value string // "" takes the key out
	About string
}

// Changes reports whether carrying out the plan would change anything.
func (p *Plan) Changes() bool {
	return len(p.Keys) > 0 || slices.ContainsFunc(p.Items, func(i Item) bool { return i.Action != Same })
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
	for _, k := range p.Keys {
		verb := "set    "
		if k.Value == "" {
			verb = "unset  "
		}
		out = append(out, strings.TrimSpace(verb+" "+k.Name+"  "+k.About))
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

// Make looks at the clone and says what installing would do.
func Make(ctx context.Context, r *repo.Repo, o Options) (*Plan, error) {
	p := &Plan{Options: o, top: r.Root}
	events, err := o.Events()
	if err != nil {
		return nil, err
	}
	if r.Bare() != o.Server {
		if o.Server {
			return nil, &Refused{"--server is for a bare repository that others push to", "install here without it"}
		}
		return nil, &Refused{"a bare repository runs none of these hooks", "assent install --server, which judges what is pushed to it; or install in a clone with a worktree"}
	}
	h, err := r.HooksPath(ctx)
	if err != nil {
		return nil, err
	}
	p.Dir = h.Dir
	for _, e := range hooks.Table {
		if slices.ContainsFunc(events, func(w hooks.Event) bool { return w.Name == e.Name }) {
			continue
		}
		command, err := configuredHook(ctx, r, e)
		if err != nil {
			return nil, err
		}
		data, err := readRegular(filepath.Join(p.Dir, e.Name))
		if _, configured := configuredFor(e, command); configured || err == nil && isOurs(data) {
			return nil, &Refused{fmt.Sprintf("the %s hook is installed already, and what is asked for leaves it out", e.Name), "assent uninstall, then install again"}
		}
	}
	if o.Answer == None && !o.Server {
		return p, nil
	}
	if o.Method == Config {
		if err := p.configured(ctx, r, h, events); err != nil {
			return nil, err
		}
	} else if err := p.files(ctx, r, h, events); err != nil {
		return nil, err
	}
	if o.Server {
		return p, nil
	}
	return p, p.driver(ctx, r)
}

// files plans hook files in the directory where Git looks for them.
func (p *Plan) files(ctx context.Context, r *repo.Repo, h repo.HooksPath, events []hooks.Event) error {
	if err := owned(ctx, r, h); err != nil {
		return err
	}
	if h.Set && !filepath.IsAbs(h.Value) && !strings.HasPrefix(h.Value, "~") && !r.Bare() {
		fix := "git config --local core.hooksPath " + quoteIfNeeded(h.Dir)
		if others, _ := os.ReadDir(filepath.Join(r.CommonDir, "worktrees")); len(others) > 0 {
			return &Refused{fmt.Sprintf("core.hooksPath is %q, which each linked worktree looks for in itself: they would not be guarded", h.Value), fix}
		}
		p.Notes = append(p.Notes, fmt.Sprintf("core.hooksPath is %q: a linked worktree looks for it in itself and is not guarded; better: %s", h.Value, fix))
	}
	if info, err := os.Stat(p.Dir); errors.Is(err, fs.ErrNotExist) {
		p.MakeDir = true
	} else if err != nil {
		return err
	} else if !info.IsDir() {
		return &Refused{fmt.Sprintf("the hooks directory %s is no directory", p.Dir), "correct core.hooksPath"}
	}
	for _, e := range events {
		item, err := planFile(p.Dir, e, shim(e, p.Bin))
		if err != nil {
			return err
		}
		p.Items = append(p.Items, item)
		if old, err := configuredHook(ctx, r, e); err != nil {
			return err
		} else if old != "" { // never both methods for one event
			p.Keys = append(p.Keys, Key{commandKey(e), "", "the file takes its place"}, Key{eventKey(e), "", ""})
		}
	}
	return nil
}

// driver plans the merge driver that .gitattributes of a base names (gitattributes(5)).
// Where the program is gone Git's own text merge does it: never less than without a driver.
func (p *Plan) driver(ctx context.Context, r *repo.Repo) error {
	want := driverFor(p.Bin)
	have, err := r.Config(ctx, driverKey)
	if err == nil && have != want {
		p.Keys = append(p.Keys, Key{driverKey, want, "(merges the rows of SKMB.md)"}, Key{driverName, "merge the rows of a decision index", ""})
	}
	return err
}

func driverFor(bin string) string {
	line := "if command -v assent >/dev/null 2>&1; then assent skmb merge-driver %O %A %B; else git merge-file -L ours -L base -L theirs %A %O %B; fi"
	if bin != "" {
		line = fmt.Sprintf("if test -x %[1]s; then %[1]s skmb merge-driver %%O %%A %%B; el%[2]s", quote(bin), line)
	}
	return line
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
	link := info.Mode()&fs.ModeSymlink != 0
	if !link && !info.Mode().IsRegular() {
		return item, &Refused{fmt.Sprintf("%s is no file", item.Path), "remove it"}
	}
	data, err := readRegular(item.Path)
	if err != nil && !link {
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
	if before, err := os.Lstat(item.chain); err == nil {
		kept, err := readRegular(item.chain)
		if err != nil || link || before.Mode() != info.Mode() || !bytes.Equal(kept, data) {
			return item, &Refused{fmt.Sprintf("%s stands there already and differs from %s", item.chain, item.Path), "keep one of the two, then install again"}
		}
		item.kept = true
	}
	item.Action = Chain
	return item, nil
}
