// Package lint resolves what is to be judged, takes the configuration from where it can
// be trusted, and runs checks that it is handed. It knows no domain.
package lint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"assent/config"
	"assent/finding"
	"assent/repo"
)

// Mode names what is judged and against what.
type Mode string

const (
	ModeStaged   Mode = "staged"   // the index, against HEAD and the commits being merged
	ModeWorktree Mode = "worktree" // the tracked files on disk; no parents
	ModeCommit   Mode = "commit"   // one commit, against its parents
	ModeRange    Mode = "range"    // the end of a range, against the merge base of its ends
	ModeMerge    Mode = "merge"    // what merging two commits would give, against the second
)

// Options are what a caller asks for beyond the mode.
type Options struct {
	Trust string // revision whose configuration, baseline and signers count; "" for the mode's own
	All   bool   // every tracked path counts as changed
}

// Target is one tree to be judged.
type Target struct {
	Mode    Mode
	New     *repo.Snapshot
	Parents []finding.Tree
	Config  config.Config
	Base    string // revision that the change is measured against, "" without a name
	Head    string
	Tip     string // commit whose history is asked; "" if there is none yet
	Commits int
	IDs     []string // of the commits of a range, oldest first
	Area    string   // only findings whose code begins so

	Known func() []finding.Check      // every code there is, for the severities of the configuration
	Raise map[string]finding.Severity // severities that the caller raises

	Staged *repo.Staged // in ModeStaged
	Local  *LocalTree   // the snapshot with ignored bases from disk, if there are any

	Sides    []finding.Tree // the two sides of a merge or range
	Ancestor finding.Tree   // of both sides; nil if they have none

	Notes []string // what to know of the target

	repo    *repo.Repo
	changed func(context.Context) ([]string, error) // nil: not known
	commits func() ([]finding.Commit, error)        // nil: no commits are judged
	trusted finding.Tree                            // where baseline and signers that count stand; nil: none count
	own     finding.Result                          // what the configuration and the names gave
	before  finding.Tree                            // whose configuration the change is told against; nil: none is
}

// Watch are the paths that a configuration makes the gate look at.
func Watch(c config.Config) []string {
	watch := []string{config.Name, ".assent"}
	for _, file := range []string{c.Approval.AllowedSigners, c.Baseline} {
		if !strings.HasPrefix(file, ".assent/") {
			watch = append(watch, file)
		}
	}
	return slices.Concat(watch, c.Skmb.Roots, c.Agentsmd.Files)
}

// Staged judges what will be committed: the index that Git names. The configuration is
// the index's own, which is a convenience of the clone; CI reads it from the base.
func Staged(ctx context.Context, r *repo.Repo) (*Target, error) {
	return StagedFrom(ctx, r, nil)
}

// StagedFrom is Staged for a caller that has listed the index already. If the configuration
// watches other paths than were asked for, the index is listed again.
func StagedFrom(ctx context.Context, r *repo.Repo, have *repo.Staged) (*Target, error) {
	t := &Target{Mode: ModeStaged, repo: r, Base: "HEAD", Staged: have}
	if t.Staged == nil {
		var err error
		if t.Staged, err = r.Staged(ctx, Watch(config.Default())...); err != nil {
			return nil, err
		}
	}
	t.New = t.Staged.Snapshot()
	if err := t.configure(t.New); err != nil {
		return nil, err
	}
	if !slices.Equal(Watch(t.Config), t.Staged.Watch) {
		var err error
		if t.Staged, err = r.Staged(ctx, Watch(t.Config)...); err != nil {
			return nil, err
		}
		t.New = t.Staged.Snapshot()
	}
	if len(t.Staged.Parents) > 0 {
		t.Tip = "HEAD"
	}
	for _, p := range t.Staged.Parents {
		tree, err := r.Tree(p + "^{tree}")
		if err != nil {
			return nil, err
		}
		t.Parents = append(t.Parents, tree)
	}
	if len(t.Parents) > 0 {
		t.trusted = t.Parents[0]
	}
	t.changed = func(context.Context) ([]string, error) { return paths(t.Staged.Changes), nil }
	t.before = t.trusted
	return t, t.localOnly(ctx)
}

func paths(changes []repo.Change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Path
	}
	return out
}

// changedBetween are the paths in which to differs from every one of some commits.
func (t *Target) changedBetween(to string, from ...string) {
	t.changed = func(ctx context.Context) ([]string, error) {
		if len(from) == 0 {
			from = []string{""}
		}
		var out []string
		for i, f := range from {
			changes, err := t.repo.DiffTrees(ctx, f, to)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				out = paths(changes)
				continue
			}
			both := map[string]bool{}
			for _, c := range changes {
				both[c.Path] = true
			}
			out = slices.DeleteFunc(out, func(p string) bool { return !both[p] })
		}
		return out, nil
	}
}

// Worktree judges the tracked files as they stand on disk.
func Worktree(ctx context.Context, r *repo.Repo) (*Target, error) {
	t := &Target{Mode: ModeWorktree, repo: r, Tip: "HEAD"}
	if r.Bare() {
		return nil, errors.New("a bare repository has no worktree: use --commit or --range")
	}
	if err := t.configure(repo.Disk(r.Root)); err != nil {
		return nil, err
	}
	var err error
	if t.New, err = r.Worktree(ctx, Watch(t.Config)...); err != nil {
		return nil, err
	}
	if head, err := r.Commit(ctx, "HEAD"); err == nil {
		t.trusted = head
	}
	return t, t.localOnly(ctx)
}

// Commit judges one commit, with the configuration of its first parent.
func Commit(ctx context.Context, r *repo.Repo, rev string) (*Target, error) {
	info, err := r.CommitInfo(ctx, rev)
	if err != nil {
		return nil, err
	}
	t, err := OfCommit(r, info)
	if t != nil {
		t.Head = rev
	}
	return t, err
}

// OfCommit is Commit for a caller that has read the commit already.
func OfCommit(r *repo.Repo, info repo.CommitInfo) (t *Target, err error) {
	t = &Target{Mode: ModeCommit, repo: r, Head: info.ID, Tip: info.ID, Commits: 1}
	if t.New, err = r.Tree(info.ID + "^{tree}"); err != nil {
		return nil, err
	}
	for _, p := range info.Parents {
		tree, err := r.Tree(p + "^{tree}")
		if err != nil {
			return nil, cut(r, err, info.ID)
		}
		t.Parents = append(t.Parents, tree)
	}
	trusted := finding.Tree(t.New)
	if len(t.Parents) > 0 {
		trusted, t.Base = t.Parents[0], info.Parents[0]
		t.trusted = trusted
	}
	t.changedBetween(info.ID, info.Parents...)
	t.commits = func() ([]finding.Commit, error) { return commits(r, []string{info.ID}) }
	t.before = t.trusted
	return t, t.configureFrom(trusted)
}

// Range judges the end of a..b against the merge base of both, with the configuration of
// a: a branch cannot loosen the gate that judges it.
func Range(ctx context.Context, r *repo.Repo, a, b string) (*Target, error) {
	from, err := r.Resolve(ctx, a)
	if err != nil {
		return nil, cut(r, err, a+".."+b)
	}
	to, err := r.Resolve(ctx, b)
	if err != nil {
		return nil, cut(r, err, a+".."+b)
	}
	ids, err := r.CommitsBetween(ctx, from, to)
	if err != nil {
		return nil, err
	}
	base, err := r.MergeBase(ctx, from, to)
	if err != nil {
		return nil, err
	}
	if base == "" && r.Shallow {
		return nil, &HistoryCut{Range: a + ".." + b}
	}
	t := &Target{Mode: ModeRange, repo: r, Base: a, Head: b}
	if base == "" {
		t.Notes = append(t.Notes, a+" and "+b+" have no common ancestor: everything in "+b+" counts as changed")
	}
	trusted, err := r.Tree(from + "^{tree}")
	if err != nil {
		return nil, err
	}
	return t, t.between(base, to, trusted, ids)
}

// New judges commits that somebody does not have yet: the last of them against the commit
// that they stand on, "" for none, with the configuration of a trusted one. ids are not empty.
func New(r *repo.Repo, ids []string, on, trusted string) (*Target, error) {
	tip := ids[len(ids)-1]
	t := &Target{Mode: ModeRange, repo: r, Base: on, Head: tip}
	tree, err := r.Tree(trusted + "^{tree}")
	if err != nil {
		return nil, err
	}
	return t, t.between(on, tip, tree, ids)
}

// between makes a target of the net change from one commit to another.
func (t *Target) between(from, to string, trusted *repo.Snapshot, ids []string) (err error) {
	t.Tip, t.Commits, t.IDs = to, len(ids), ids
	t.commits = func() ([]finding.Commit, error) { return commits(t.repo, ids) }
	if t.New, err = t.repo.Tree(to + "^{tree}"); err != nil {
		return err
	}
	if from == "" {
		t.changedBetween(to)
	} else {
		parent, err := t.repo.Tree(from + "^{tree}")
		if err != nil {
			return err
		}
		t.Parents, t.Ancestor = []finding.Tree{parent}, parent
		t.changedBetween(to, from)
	}
	t.Sides, t.trusted = []finding.Tree{t.New, trusted}, trusted
	if err := t.configureFrom(trusted); err != nil {
		return err
	}
	if from != "" { // what has nothing in common with it does not change it
		t.before = trusted
	}
	return nil
}

// commits reads what checks want to know of some commits.
func commits(r *repo.Repo, ids []string) ([]finding.Commit, error) {
	read, err := r.Commits(ids...)
	out := make([]finding.Commit, len(read))
	for i, c := range read {
		out[i] = finding.Commit{ID: c.ID, Tree: c.Tree, Parents: c.Parents, Message: c.Message}
	}
	return out, err
}

// MergeWith judges what merging other into ours would give, with the configuration of other:
// two branches that are clean by themselves may not be so together.
func MergeWith(ctx context.Context, r *repo.Repo, ours, other string) (*Target, error) {
	t := &Target{Mode: ModeMerge, repo: r, Base: other, Head: ours}
	tree, conflicts, err := r.MergeResult(ctx, ours, other)
	if err != nil {
		return nil, cut(r, err, ours+".."+other)
	}
	t.New = tree
	mine, err := r.Commit(ctx, ours)
	if err != nil {
		return nil, err
	}
	theirs, err := r.Commit(ctx, other)
	if err != nil {
		return nil, err
	}
	base, err := r.MergeBase(ctx, ours, other)
	if err != nil {
		return nil, err
	}
	if base != "" {
		if t.Ancestor, err = r.Commit(ctx, base); err != nil {
			return nil, err
		}
	}
	t.Parents, t.Sides, t.trusted = []finding.Tree{theirs, mine}, []finding.Tree{mine, theirs}, theirs
	if err := t.configureFrom(theirs); err != nil {
		return nil, err
	}
	t.before = theirs
	for _, name := range conflicts {
		f := finding.Finding{Code: "lint/merge-conflict", Severity: finding.Info, Path: name, Key: name,
			Message: "merging " + other + " conflicts here", Fix: "merge it, and resolve the conflict"}
		for _, w := range Watch(t.Config) {
			if name == w || strings.HasPrefix(name, w+"/") {
				f.Severity = finding.Error
			}
		}
		t.say(f)
	}
	return t, nil
}

// Trusted is the tree whose baseline and signers count: HEAD, or the base of what is judged;
// nil if there is none.
func (t *Target) Trusted() finding.Tree { return t.trusted }

// cut says of an error in a shallow clone what is really missing.
func cut(r *repo.Repo, err error, what string) error {
	var unknown *repo.UnknownRevision
	var missing *repo.ErrMissingObject
	if r.Shallow && (errors.As(err, &unknown) || errors.As(err, &missing)) {
		return &HistoryCut{Range: what}
	}
	return err
}

// HistoryCut is a range whose history a shallow clone does not have.
type HistoryCut struct{ Range string }

func (e *HistoryCut) Error() string {
	return fmt.Sprintf("%s needs history that this shallow clone does not have", e.Range)
}

// Hint says what to run.
func (e *HistoryCut) Hint() string {
	return "git fetch --unshallow (or --shallow-exclude); in CI: fetch-depth: 0"
}

// Code makes it an unchecked part of the run.
func (e *HistoryCut) Code() string { return "lint/history-cut" }

// Apply carries out the options.
func (t *Target) Apply(ctx context.Context, o Options) (err error) {
	if o.All && t.Mode != ModeMerge { // of a merge result everything counts as it is
		t.changed = func(ctx context.Context) ([]string, error) {
			rev := t.Tip
			if t.Mode == ModeStaged || t.Mode == ModeWorktree {
				rev = ""
			}
			return t.repo.Paths(ctx, rev)
		}
	}
	if o.Trust == "" {
		return nil
	}
	tree, err := t.repo.Commit(ctx, o.Trust)
	if err != nil {
		return cut(t.repo, err, o.Trust)
	}
	t.trusted = tree
	t.own.Findings = slices.DeleteFunc(t.own.Findings, func(f finding.Finding) bool { return f.Code == "lint/config-unreadable" })
	if err := t.configureFrom(tree); err != nil {
		return err
	}
	switch {
	case t.Mode == ModeStaged && !slices.Equal(Watch(t.Config), t.Staged.Watch):
		if t.Staged, err = t.repo.Staged(ctx, Watch(t.Config)...); err == nil {
			t.New = t.Staged.Snapshot()
		}
	case t.Mode == ModeWorktree:
		t.New, err = t.repo.Worktree(ctx, Watch(t.Config)...)
	}
	return err
}

// say adds a finding of lint's own, filled from its code.
func (t *Target) say(f finding.Finding) {
	for _, c := range Codes {
		if c.Code == f.Code {
			f.Title, f.Fixed = c.Title, c.Fixed
			if f.Severity == finding.Off {
				f.Severity = c.Severity
			}
		}
	}
	t.own.Findings = append(t.own.Findings, f)
}

// NothingExamined adds the finding that there was nothing to look at, if so. A hook does
// not ask: a repository without a base is none of its business.
func (t *Target) NothingExamined(r *finding.Report) {
	if r.Files == 0 && len(r.Unchecked) == 0 {
		t.own = finding.Result{}
		t.say(finding.Finding{Code: "lint/nothing-examined", Message: "no watched file exists here: nothing was judged", Fix: "assent init, if this repository should have a decision base"})
		r.Add(finding.Result{Findings: t.weigh(t.own.Findings)})
	}
}

// Run runs the checks over the target, weighs the findings, holds them against the baseline,
// and makes the report.
func (t *Target) Run(ctx context.Context, checks []finding.Check) (finding.Report, error) {
	if err := t.knownCodes(); err != nil {
		return finding.Report{}, err
	}
	pass := finding.Pass{Ctx: ctx, New: t.Tree(), Parents: t.Parents}
	if t.changed != nil {
		pass.Changed = sync.OnceValues(func() ([]string, error) { return t.changed(ctx) })
	}
	if t.commits != nil {
		pass.Commits = sync.OnceValues(t.commits)
	}
	result := finding.Run(checks, pass)
	result.Findings = t.weigh(result.Findings)
	if err := t.applyBaseline(ctx, checks, &result); err != nil {
		return finding.Report{}, err
	}
	for _, name := range t.New.Invalid() {
		t.say(finding.Finding{Code: "lint/path-not-utf8", Path: name, Key: name, Message: fmt.Sprintf("the name %q is not UTF-8, so the file is not read", name), Fix: "rename it"})
	}
	t.compareConfig()
	if err := t.cases(); err != nil {
		return finding.Report{}, err
	}
	result.Add(finding.Result{Findings: t.weigh(t.own.Findings), Unchecked: t.own.Unchecked})
	if t.Area != "" {
		result.Findings = slices.DeleteFunc(result.Findings, func(f finding.Finding) bool { return !strings.HasPrefix(f.Code, t.Area) })
	}
	return finding.Report{Result: result, Mode: string(t.Mode), Base: t.Base, Head: t.Head, Files: t.filesRead(), Commits: t.Commits, Notes: t.Notes, Rules: slices.Concat(checks, Codes)}, nil
}

// cases reports watched names that differ only in letter case.
func (t *Target) cases() error {
	var entries []repo.Entry
	var err error
	if t.Staged != nil {
		entries = t.Staged.Entries
	} else if entries, err = t.New.Below(Watch(t.Config)); err != nil {
		return nil // what cannot be read was reported
	}
	seen := make(map[string]string, len(entries))
	for _, e := range entries {
		fold := strings.ToLower(e.Path)
		if other := seen[fold]; other != "" && other != e.Path {
			t.say(finding.Finding{Code: "lint/path-case", Path: e.Path, Key: e.Path, Message: fmt.Sprintf("%s stands there too", other), Fix: "rename one of the two"})
		}
		seen[fold] = e.Path
	}
	return nil
}
