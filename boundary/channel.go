package boundary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"assent/finding"
	"assent/store"
)

// ChannelOptions say what the channel lock looks at.
type ChannelOptions struct {
	Kinds []*Form // of tracked records; Audit is one of them
	All   bool    // every record is judged, not only those that changed
	// History lists what each of several commits changes below directories against its parents;
	// nil: what is judged is compared with its parents alone.
	History   func(ctx context.Context, dirs []string) ([]Change, error)
	EveryTree bool // History also lists what has a name of store.StrayNames, wherever it is
	// Came lists what changes in what is judged, where its tree does not hold every file; nil:
	// the tree does.
	Came func(context.Context) ([]Change, error)
	// Amends reports whether a path came in with the very last commit, and that commit has gone
	// nowhere: then taking it out again may be an amend.
	Amends func(ctx context.Context, path string) bool
}

// Change is a file in which a commit differs from a parent.
type Change struct {
	Commit  string // "" for what is judged as a whole
	Path    string
	Added   bool
	Removed bool
	Read    func() ([]byte, error) // the content, where it is not in the tree that is judged
}

type channelRule struct {
	code, title, doc string
	proves           string
	run              func(*channel) error
}

// channelRules are the checks of the channel lock, in the order of the manual (seed 004,
// "Accepted Output Channel Lock"): the decidable part of what a submission was held to, over
// every tree. They prove that the procedure was followed; who may write everything can follow
// it too.
var channelRules = []channelRule{
	{"boundary/record-unparsable", "a record cannot be read", "A record is one JSON object in its stored form. Records are written by the program alone: take the change back.", "shape", (*channel).records},
	{"boundary/record-shape", "a record breaks the rules of its kind", "It has a member that its kind does not have, lacks one, or holds what the kind does not take. Records are written by the program alone: take the change back.", "shape", nil},
	{"boundary/record-bytes", "a record is not in its stored form", "Records have one byte form: members in canonical order, two blanks of indent, a newline at the end. An editor or a formatter changed it: take the change back, and keep formatters out of .assent.", "shape", nil},
	{"boundary/record-id", "a record has another id or name than its content gives", "The id of a record follows from its content, and its path from its id. The record was altered, copied or moved: take the change back.", "wiring", nil},
	{"boundary/schema-version", "a record is newer than the program", "It was written by a later release, which knows more: use that one. Exit code 3.", "shape", nil},
	{"boundary/audit-missing", "a record came in past the channel", "No entry below .assent/audit names the record with its digest, so it was not submitted. Add the entry if it was left out of the commit; otherwise submit the content again.", "wiring", (*channel).audit},
	{"boundary/audit-mismatch", "an audit entry names what is not there", "The entry names a record that the tree lacks or that has another digest. Add the record that belongs to it.", "wiring", nil},
	{"boundary/row-removed", "a record was removed", "What was said stays said: records are never taken out, and undoing is a record of its own. Bring the file back: `git restore --source=HEAD --staged --worktree` with its path.", "provenance", (*channel).lost},
	{"boundary/row-changed", "a record was changed", "Records are never changed. Bring the file back: `git restore --source=HEAD --staged --worktree` with its path. Bringing back what a commit before altered is no change; that commit itself is refused in every range that holds it, so rewrite it.", "provenance", nil},
	{"boundary/subject-vanished", "all records of a kind are gone", "A parent has records of the kind and this tree has none. Bring the directory back.", "provenance", (*channel).vanished},
	{"boundary/private-staged", "private state is about to be committed", "The file is of the program's private directory: it belongs to one clone. `git rm --cached` takes it out.", "policy", (*channel).strays},
	{"boundary/tmp-staged", "a temporary file of the program is about to be committed", "A process was interrupted while it wrote. `assent recover` completes what it did and removes the file; `git rm --cached` takes it out.", "policy", nil},
}

// Checks are the checks of the channel lock. One pass over the records feeds several codes.
func Checks(o ChannelOptions) []finding.Check {
	shared := &sharedChannel{}
	var out []finding.Check
	for _, r := range channelRules {
		c := finding.Check{Code: r.code, Title: r.title, Doc: r.doc, Severity: finding.Error, Fixed: true, Proves: r.proves, Scope: finding.ScopeChange}
		c.Run = func(p *finding.Pass) error { return shared.report(o, p, r.code) }
		out = append(out, c)
	}
	return out
}

// sharedChannel runs the rules once for all codes.
type sharedChannel struct {
	once     sync.Once
	findings []finding.Finding
	err      map[string]error // by the code whose rule could not do its work
}

func (s *sharedChannel) report(o ChannelOptions, p *finding.Pass, code string) error {
	s.once.Do(func() {
		c := &channel{ChannelOptions: o, Pass: p, shared: s, listed: map[*Form]listing{}}
		s.err = map[string]error{}
		if o.History != nil {
			var dirs []string
			for _, f := range o.Kinds {
				dirs = append(dirs, f.Dir)
			}
			var err error
			if c.history, err = o.History(p.Ctx, dirs); err != nil {
				s.err["boundary/row-removed"] = err
				return
			}
			type change struct {
				commit, path string
				added        bool
			}
			said := map[change]bool{} // of a merge there is a change against each parent
			c.history = slices.DeleteFunc(c.history, func(h Change) bool {
				this := change{h.Commit, h.Path, h.Added}
				defer func() { said[this] = true }()
				return said[this]
			})
		}
		for _, r := range channelRules {
			if r.run != nil {
				s.err[r.code] = r.run(c)
			}
		}
	})
	for _, f := range s.findings {
		if f.Code == code {
			p.Report(f)
		}
	}
	return s.err[code]
}

// channel is one run of the rules.
type channel struct {
	ChannelOptions
	*finding.Pass
	shared *sharedChannel
	read   map[string][]byte // records by path

	listed  map[*Form]listing
	history []Change // of commits that are judged one by one
}

// say reports a finding; until the next one the caller may add to it.
func (c *channel) say(code, name, fix, format string, args ...any) *finding.Finding {
	c.shared.findings = append(c.shared.findings, finding.Finding{Code: code, Path: name, Key: name, Fix: fix, Message: fmt.Sprintf(format, args...)})
	return &c.shared.findings[len(c.shared.findings)-1]
}

const (
	restore = "git restore --source=HEAD --staged --worktree -- "
	takeOut = "git rm -r --cached -- "
)

// back is the command that undoes what was done to a file: a parent has it, or nobody has.
func (c *channel) back(name string) string {
	for i, p := range c.Parents {
		if _, err := p.Stat(name); err != nil {
			continue
		}
		if i == 0 {
			return restore + finding.Shell(name)
		}
		return "git restore --source=MERGE_HEAD --staged --worktree -- " + finding.Shell(name)
	}
	return takeOut + finding.Shell(name)
}

// listing is what stands in the directory of a kind's records.
type listing struct {
	records []string
	others  []string // what is no record, the directory itself if it is none
}

// files lists what stands in the directory of a kind's records. What some file systems take for
// that directory counts as something else that stands there.
func files(tree finding.Tree, f *Form) (l listing, err error) {
	at := "."
	for part := range strings.SplitSeq(f.Dir, "/") {
		entries, err := tree.ReadDir(at)
		if errors.Is(err, fs.ErrNotExist) {
			return l, nil
		}
		if err != nil {
			return l, err
		}
		found := false
		for _, e := range entries {
			name := path.Join(at, e.Name())
			switch {
			case e.Name() == part && e.IsDir():
				found = true
			case e.Name() == part, strings.EqualFold(e.Name(), part) && e.IsDir():
				l.others = append(l.others, name)
			}
		}
		if at = path.Join(at, part); !found {
			return l, nil
		}
	}
	entries, err := tree.ReadDir(f.Dir)
	for _, e := range entries {
		name := path.Join(f.Dir, e.Name())
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") {
			l.records = append(l.records, name)
		} else if !strings.HasPrefix(e.Name(), store.TemporaryPrefix) {
			l.others = append(l.others, name)
		}
	}
	return l, err
}

// files lists what stands in the directory of a kind's records in the tree that is judged.
func (c *channel) files(f *Form) (listing, error) {
	l, ok := c.listed[f]
	if !ok {
		var err error
		if l, err = files(c.New, f); err != nil {
			return l, err
		}
		c.listed[f] = l
	}
	return l, nil
}

// changed reports which paths are judged.
func (c *channel) changed() (func(string) bool, error) {
	if c.All || c.Changed == nil {
		return func(string) bool { return true }, nil
	}
	paths, err := c.Changed()
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		for ; p != "." && !set[p]; p = path.Dir(p) { // a directory changes with what is in it
			set[p] = true
		}
	}
	return func(p string) bool { return set[p] }, err
}

// records holds every record to its kind.
func (c *channel) records() error {
	judged, err := c.changed()
	if err != nil {
		return err
	}
	c.read = map[string][]byte{}
	odd := map[string]bool{}
	var newer error
	for _, f := range c.Kinds {
		here, err := c.files(f)
		if err != nil {
			return err
		}
		for _, name := range here.others {
			if judged(name) && !odd[name] {
				odd[name] = true // one directory may be in the way of several kinds
				c.say("boundary/record-unparsable", name, c.back(name), "only records of the kind %s stand in %s", f.Name, f.Dir)
			}
		}
		for _, name := range here.records {
			if !judged(name) {
				continue
			}
			data, err := c.New.ReadFile(name)
			if err != nil {
				return err
			}
			c.read[name] = data
			var e *RecordError
			err = f.Unseal(data, nil)
			switch {
			case errors.As(err, &e):
				if e.Code == "boundary/schema-version" {
					newer = errors.Join(newer, &newerRecord{name, e.Text})
					continue
				}
				c.say(e.Code, name, c.back(name), "%s", e.Text).Start = finding.Pos{Line: e.Line, Col: min(e.Line, 1)}
			case err != nil:
				return err
			default:
				if id := recordID(data); f.Path(id) != name {
					c.say("boundary/record-id", name, c.back(name), "it is the record %s, which stands at %s", id, f.Path(id))
				}
			}
		}
	}
	return newer
}

// newerRecord is a record that was not judged because a later release wrote it.
type newerRecord struct{ name, text string }

func (e *newerRecord) Error() string { return e.name + ": " + e.text }
func (e *newerRecord) Code() string  { return "boundary/schema-version" }

func recordID(data []byte) string {
	var e struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(data, &e)
	return e.ID
}

// audit compares the records that are submitted with the entries that tell of them: all of
// them, as soon as one of either changed.
func (c *channel) audit() error {
	touched, err := c.touched()
	if err != nil || !touched {
		return err
	}
	entries, err := c.files(Audit)
	if err != nil {
		return err
	}
	told := map[string]bool{} // paths that an entry names
	for _, entry := range entries.records {
		data, err := c.content(entry)
		if err != nil {
			return err
		}
		var r AuditRecord
		if Audit.Unseal(data, &r) != nil {
			continue // records reports it
		}
		for _, o := range r.Outputs {
			told[o.Path] = true
			if !fs.ValidPath(o.Path) || !there(c.New, o.Path) {
				c.sayMismatch(entry, o.Path, "git add -- "+finding.Shell(o.Path), "it names %s, which is not there")
				continue
			}
			data, err := c.content(o.Path)
			switch {
			case err != nil:
				return err
			case hexSum(data) != o.SHA256:
				c.sayMismatch(entry, o.Path, c.back(o.Path), "%s is not what was submitted")
			}
		}
	}
	for _, f := range c.Kinds {
		if !f.Submitted() {
			continue
		}
		here, err := c.files(f)
		if err != nil {
			return err
		}
		for _, name := range here.records {
			if !told[name] {
				c.say("boundary/audit-missing", name, "git add -- "+Audit.Dir, "no audit entry names it")
			}
		}
	}
	return nil
}

// touched reports whether a record that is submitted, or an audit entry, is judged or gone.
func (c *channel) touched() (bool, error) {
	if c.All || c.Changed == nil {
		return true, nil
	}
	paths, err := c.Changed()
	return slices.ContainsFunc(paths, func(p string) bool {
		return slices.ContainsFunc(c.Kinds, func(f *Form) bool { return (f.Submitted() || f == Audit) && path.Dir(p) == f.Dir })
	}), err
}

// content is a file of the tree, which may have been read already.
func (c *channel) content(name string) ([]byte, error) {
	if data, ok := c.read[name]; ok {
		return data, nil
	}
	return c.New.ReadFile(name)
}

func (c *channel) sayMismatch(entry, output, fix, format string) {
	c.say("boundary/audit-mismatch", entry, fix, format, output).Key = output
}

// lost looks for records that a parent has and that are gone or changed.
func (c *channel) lost() error {
	if c.History != nil {
		for _, h := range c.history {
			i := slices.IndexFunc(c.Kinds, func(f *Form) bool { return path.Dir(h.Path) == f.Dir })
			if h.Added || i < 0 || !strings.HasSuffix(h.Path, ".json") {
				continue
			}
			if !h.Removed {
				if data, err := h.Read(); err == nil && restored(c.Kinds[i], h.Path, data) {
					continue
				}
			}
			c.sayLost(h)
		}
		return nil
	}
	for _, f := range c.Kinds {
		gone, err := c.gone(f)
		if err != nil {
			return err
		}
		for _, l := range gone {
			c.sayLost(l)
		}
	}
	return nil
}

// gone lists the records of a kind that a parent has and that are not the same any more.
func (c *channel) gone(f *Form) (out []Change, err error) {
	have, err := c.files(f)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, parent := range c.Parents {
		had, err := files(parent, f)
		if err != nil {
			return nil, err
		}
		for _, name := range had.records {
			if seen[name] {
				continue
			}
			removed, same := !slices.Contains(have.records, name), false
			if !removed {
				if same, err = equal(c.New, parent, name); err != nil {
					return nil, err
				}
				if !same {
					data, err := c.content(name)
					if err != nil {
						return nil, err
					}
					same = restored(f, name, data)
				}
			}
			if !same {
				seen[name] = true
				out = append(out, Change{Path: name, Removed: removed})
			}
		}
	}
	return out, nil
}

// restored reports whether a record that differs from what a parent has is the true one: the id
// follows from the content and the path from the id, so no other content can stand there. Then
// the parent's was altered past the guard, and this brings it back.
func restored(f *Form, name string, data []byte) bool {
	return f.Unseal(data, nil) == nil && f.Path(recordID(data)) == name
}

func (c *channel) sayLost(l Change) {
	code, what := "boundary/row-changed", "it was changed since it was written"
	if l.Removed {
		code, what = "boundary/row-removed", "it was removed"
	}
	fix := c.back(l.Path)
	if l.Commit != "" {
		name := finding.Shell(l.Path) // the commit that brought it has it as it was written
		fix = "git rebase -i " + l.Commit + `^, and there git checkout "$(git log -1 --full-history -m --diff-filter=A --format=%H -- ` + name + `)" -- ` + name
	}
	f := c.say(code, l.Path, fix, "%s", what)
	f.Commit = l.Commit
	if l.Removed && l.Commit == "" && c.Amends != nil && c.Amends(c.Ctx, l.Path) {
		f.Severity, f.Message = finding.Warning, "it was removed; the last commit brought it, so this may be an amend"
	}
}

// equal compares a file of two trees, by object ids where both have them.
func equal(a, b finding.Tree, name string) (bool, error) {
	x, ok := a.ObjectID(name)
	y, ok2 := b.ObjectID(name)
	if ok && ok2 {
		return x == y, nil
	}
	left, err := a.ReadFile(name)
	if err != nil {
		return false, err
	}
	right, err := b.ReadFile(name)
	return string(left) == string(right), err
}

// vanished looks for kinds of which nothing is left.
func (c *channel) vanished() error {
	for _, f := range c.Kinds {
		have, err := c.files(f)
		if err != nil {
			return err
		}
		if len(have.records) > 0 {
			continue
		}
		gone, err := c.gone(f)
		if err != nil {
			return err
		}
		amend := c.Amends != nil && !slices.ContainsFunc(gone, func(l Change) bool { return !c.Amends(c.Ctx, l.Path) })
		if len(gone) > 0 && !amend {
			c.say("boundary/subject-vanished", f.Dir, c.back(f.Dir), "no record of the kind %s is left, of %d", f.Name, len(gone))
		}
	}
	return nil
}

// strays looks for the store's own files among what came in: in each commit of a range that is
// not too long to look at every tree, else in what is judged as a whole.
func (c *channel) strays() error {
	came := c.history
	switch {
	case c.History != nil && c.EveryTree:
	case c.Came != nil:
		var err error
		if came, err = c.Came(c.Ctx); err != nil {
			return err
		}
	case c.Changed != nil:
		paths, err := c.Changed()
		if err != nil {
			return err
		}
		came = nil
		for _, p := range paths {
			if isStrayName(p) {
				came = append(came, Change{Path: p, Removed: !there(c.New, p), Read: func() ([]byte, error) { return c.New.ReadFile(p) }})
			}
		}
	}
	for _, h := range came {
		if h.Removed || !isStrayName(h.Path) {
			continue
		}
		code, what := "boundary/private-staged", "it is the private state of a clone"
		var data []byte
		if strings.HasPrefix(path.Base(h.Path), store.TemporaryPrefix) {
			code, what = "boundary/tmp-staged", "a process left it behind"
		} else {
			var err error
			if data, err = h.Read(); err != nil {
				return err
			}
		}
		if store.IsStray(h.Path, data) {
			fix := takeOut + finding.Shell(h.Path)
			if h.Commit != "" {
				fix = "git rebase -i " + h.Commit + "^, and take it out of that commit"
			}
			c.say(code, h.Path, fix, "%s", what).Commit = h.Commit
		}
	}
	return nil
}

func isStrayName(name string) bool {
	base := path.Base(name)
	return slices.ContainsFunc(store.StrayNames, func(pattern string) bool { ok, _ := path.Match(pattern, base); return ok })
}

func there(tree finding.Tree, name string) bool {
	info, err := tree.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
