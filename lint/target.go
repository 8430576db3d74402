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
	Area    string // only findings whose code begins so

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
}

// Watch are the paths that a configuration makes the gate look at.
func Watch(c config.Config) []string {
	watch := []string{config.Name, ".assent"}
	if !strings.HasPrefix(c.Approval.AllowedSigners, ".assent/") {
		watch = append(watch, c.Approval.AllowedSigners)
	}
	return append(watch, c.Skmb.Roots...)
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
	if t.trusted != nil {
		t.compareConfig(t.trusted)
	}
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
	return t, t.configure(trusted)
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
	t.Tip, t.Commits = to, len(ids)
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
	if err := t.configure(trusted); err != nil {
		return err
	}
	t.compareConfig(trusted)
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
	if err := t.configure(theirs); err != nil {
		return nil, err
	}
	for _, name := range conflicts {
		f := finding.Finding{Code: "lint/merge-conflict", Title: "the merge has a conflict", Severity: finding.Info, Path: name, Key: name,
			Message: "merging " + other + " conflicts here", Fix: "merge it, and resolve the conflict"}
		for _, w := range Watch(t.Config) {
			if name == w || strings.HasPrefix(name, w+"/") {
				f.Severity = finding.Error
			}
		}
		t.own.Findings = append(t.own.Findings, f)
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

// Code makes it an unchecked part of the run.
func (e *HistoryCut) Code() string { return "lint/history-cut" }

func (t *Target) configure(trusted finding.Tree) error {
	c, err := config.Load(trusted)
	t.Config = c
	return err
}

// compareConfig says when what is judged changes the configuration that would judge the
// next. Where it loosens the gate that is an error, in the index a warning: what is staged is
// judged by its own configuration, CI by that of the base.
func (t *Target) compareConfig(trusted finding.Tree) {
	before, had := trusted.ObjectID(config.Name)
	after, has := t.New.ObjectID(config.Name)
	if before == after && had == has {
		return
	}
	add := func(code, title, message string, severity finding.Severity) {
		t.own.Findings = append(t.own.Findings, finding.Finding{Code: code, Title: title, Severity: severity, Path: config.Name, Message: message})
	}
	if t.Mode != ModeStaged {
		add("lint/config-changed", "the change touches .assent.yaml", "the configuration changes; this was judged with the one before", finding.Warning)
	}
	old, err1 := config.Load(trusted)
	now, err2 := config.Load(t.New)
	if err1 != nil || err2 != nil {
		return // what cannot be read is reported where it is used
	}
	severity := finding.Error
	if t.Mode == ModeStaged {
		severity = finding.Warning
	}
	for _, what := range now.Loosens(old) {
		add("lint/config-loosened", "the change loosens the gate", what, severity)
	}
}

// NothingExamined adds the finding that there was nothing to look at, if so. A hook does
// not ask: a repository without a base is none of its business.
func (t *Target) NothingExamined(r *finding.Report) {
	if r.Files == 0 && len(r.Unchecked) == 0 {
		r.Add(finding.Result{Findings: []finding.Finding{{Code: "lint/nothing-examined", Title: "there was nothing to look at", Severity: finding.Warning,
			Message: "no watched file exists here: nothing was judged", Fix: "assent init, if this repository should have a decision base"}}})
	}
}

// Run runs the checks over the target, holds the findings against the baseline, and makes
// the report.
func (t *Target) Run(ctx context.Context, checks []finding.Check) (finding.Report, error) {
	pass := finding.Pass{Ctx: ctx, New: t.Tree(), Parents: t.Parents}
	if t.changed != nil {
		pass.Changed = sync.OnceValues(func() ([]string, error) { return t.changed(ctx) })
	}
	if t.commits != nil {
		pass.Commits = sync.OnceValues(t.commits)
	}
	result := finding.Run(checks, pass)
	if err := t.applyBaseline(ctx, checks, &result); err != nil {
		return finding.Report{}, err
	}
	for _, name := range t.New.Invalid() {
		t.own.Findings = append(t.own.Findings, finding.Finding{
			Code: "lint/path-not-utf8", Title: "a watched name is not UTF-8", Severity: finding.Error, Path: name, Key: name,
			Message: fmt.Sprintf("the name %q is not UTF-8, so the file is not read", name), Fix: "rename it",
		})
	}
	result.Add(t.own)
	if t.Area != "" {
		result.Findings = slices.DeleteFunc(result.Findings, func(f finding.Finding) bool { return !strings.HasPrefix(f.Code, t.Area) })
	}
	return finding.Report{Result: result, Mode: string(t.Mode), Base: t.Base, Head: t.Head, Files: t.filesRead(), Commits: t.Commits, Notes: t.Notes}, nil
}
