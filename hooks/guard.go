package hooks

import (
	"slices"
	"sync/atomic"

	"assent/config"
	"assent/finding"
	"assent/hooks/shortcut"
	"assent/lint"
	"assent/repo"
	"assent/store"
)

// judgeStaged runs all checks on what will be committed, unless the shortcut shows that
// they have nothing to find.
func judgeStaged(r *run) error {
	if err := store.Pending(Private(r.repo)); err != nil {
		return err
	}
	look := r.look()
	if _, err := look.Head(); err != nil {
		return err
	}
	if r.Begun == nil && look.Staged(r.ctx) {
		return nil
	}
	watch := look.Receipts.Watch
	if watch == nil {
		watch = lint.Watch(config.Default())
	}
	mark := r.repo.IndexMark()
	staged, err := r.repo.Staged(r.ctx, watch...)
	if err != nil {
		return err
	}
	target, err := lint.StagedFrom(r.ctx, r.repo, staged)
	if err != nil {
		return err
	}
	var depends atomic.Bool // on what no receipt names
	depends.Store(target.Local != nil)
	report, err := target.Run(r.ctx, checks(target, r.repo, r.today(), false, func() { depends.Store(true) }))
	if err != nil {
		return err
	}
	if r.meanwhile != nil {
		r.meanwhile()
	}
	if moved, err := r.moved(mark, target.Staged); err != nil {
		return err
	} else if moved { // what was judged is not what Git will commit
		report.Add(finding.Result{Findings: []finding.Finding{indexMoved}})
	}
	remember(r.repo, target)
	r.code = report.Exit()
	switch r.code {
	case finding.ExitFindings:
		report.LastHint = Action(report.Findings)
	case finding.ExitUnchecked:
		report.LastHint = "assent: not everything could be checked, so the commit is stopped"
	}
	r.witness(target, depends.Load())
	r.print(report)
	return nil
}

// indexMoved is the finding that something else was judged than what will be committed.
var indexMoved = finding.Finding{Code: "boundary/index-moved", Severity: finding.Error, Fixed: true, Title: IndexCodes[0].Title,
	Message: "the index was changed while it was judged", Fix: "commit again"}

// moved reports whether the index holds something else than what was judged. Programs that only
// refresh it write it anew all the time, so its content is compared where its bytes differ.
func (r *run) moved(mark string, judged *repo.Staged) (bool, error) {
	if r.repo.IndexMark() == mark {
		return false, nil
	}
	now, err := r.repo.Staged(r.ctx, judged.Watch...)
	if err != nil {
		return false, err
	}
	return !slices.Equal(now.Changes, judged.Changes) || !slices.Equal(now.Entries, judged.Entries), nil
}

// witness writes down what was judged. Clean is only what the watched paths decided, and
// what the next commit will be judged by in the same way: signers and policy that count
// are those of HEAD, and a base that stands on disk alone is in no commit.
func (r *run) witness(t *lint.Target, depends bool) {
	look := r.look()
	head, _ := look.Head()
	look.Receipts.LooksAt(lint.Watch(t.Config))
	changes := t.Staged.Changes
	if len(t.Staged.Parents) > 1 { // of a merge these are those to all parents
		var err error
		if changes, err = r.repo.DiffIndex(r.ctx, head.ID); err != nil {
			return
		}
	}
	tree, err := look.Tree(changes)
	if err != nil {
		return // no receipt costs a remark after the commit, no more
	}
	c := look.Receipts
	x := shortcut.Receipt{Head: head.ID, Tree: tree, Watched: c.Watched(t.Staged.Entries), Key: c.Key(), Verdict: shortcut.Clean}
	switch {
	case r.code != finding.ExitOK:
		x.Verdict = shortcut.Blocked
	case depends, shortcut.AnyBelow(changes, policy(t.Config)), len(c.OnlyOnDisk(shortcut.Has(t.Staged.Entries))) > 0:
		x.Verdict = shortcut.Passed
	}
	c.Add(x)
}

// policy are the watched paths that are no bases: configuration, signers, baseline.
func policy(c config.Config) []string {
	return slices.DeleteFunc(lint.Watch(c), func(w string) bool { return slices.Contains(c.Skmb.Roots, w) })
}
