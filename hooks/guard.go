package hooks

import (
	"slices"
	"sync/atomic"

	"assent/config"
	"assent/finding"
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
	j := &judging{run: r, cache: openReceipts(r)}
	head := make(chan error, 1)
	go func() { // Git starts while the index is read
		_, err := r.headCommit()
		head <- err
	}()
	j.scan, j.scanned = r.repo.ScanIndex(j.cache.watch)
	if err := <-head; err != nil {
		return err
	}
	if done, err := j.shortcut(); done || err != nil {
		return err
	}
	return j.full()
}

// judging is one look at what will be committed.
type judging struct {
	*run
	cache   *receipts
	scan    repo.IndexScan
	scanned error // why the scan does not count
}

// shortcut is taken when HEAD's tree was judged clean today by this build, and what is
// watched is the same in HEAD and index. Then the commit is as clean as HEAD: that is
// written down, and nothing said. A merge has a second parent and is always judged.
func (j *judging) shortcut() (bool, error) {
	if j.repo.Merging || len(j.repo.MergeHeads()) > 0 || j.head.ID == "" {
		return false, nil
	}
	x, ok := j.cache.clean(j.head.Tree)
	if !ok || j.scan.Folded {
		return false, nil
	}
	var changes []repo.Change
	if j.scanned != nil || j.scan.Tree == "" {
		var err error
		if changes, err = j.repo.DiffIndex(j.ctx, j.head.ID); err != nil {
			return false, err
		}
	}
	same := false
	if j.scanned == nil {
		same = watched(j.repo, j.scan.Entries, j.cache.watch) == x.Watched
	} else { // only Git reads this index
		same = !anyWatched(changes, j.cache.watch) &&
			len(onlyOnDisk(j.repo, j.cache.watch, func(p string) bool { return j.repo.HasObject("HEAD:" + p) })) == 0
	}
	if !same {
		return false, nil
	}
	tree, err := j.tree(changes)
	if err != nil {
		return false, nil
	}
	j.cache.add(receipt{Head: j.head.ID, Tree: tree, Watched: x.Watched, Key: x.Key, Verdict: clean})
	return true, nil
}

// tree is the one that the commit will have: the root that Git has just noted in the index,
// or, where it noted none (commit -- path, intent to add), HEAD's with the changes to HEAD.
func (j *judging) tree(changes []repo.Change) (string, error) {
	if j.scanned == nil && j.scan.Tree != "" {
		return j.scan.Tree, nil
	}
	return j.repo.TreeWith(j.head.Tree, changes)
}

// full reads the watched part of the index and runs all checks on it.
func (j *judging) full() error {
	staged, err := j.repo.Staged(j.ctx, j.cache.watch...)
	if err != nil {
		return err
	}
	target, err := lint.StagedFrom(j.ctx, j.repo, staged)
	if err != nil {
		return err
	}
	var depends atomic.Bool // on what no receipt names
	depends.Store(target.Local != nil)
	report, err := target.Run(j.ctx, checks(target, j.repo, j.today(), false, func() { depends.Store(true) }))
	if err != nil {
		return err
	}
	remember(j.repo, target)
	j.code = report.Exit()
	if j.code != finding.ExitOK {
		report.LastHint = Action(report.Findings)
	}
	j.witness(target, depends.Load())
	j.print(report)
	return nil
}

// witness writes down what was judged. Clean is only what the watched paths decided, and
// what the next commit will be judged by in the same way: signers and policy that count
// are those of HEAD, and a base that stands on disk alone is in no commit.
func (j *judging) witness(t *lint.Target, depends bool) {
	j.cache.looksAt(lint.Watch(t.Config))
	changes := t.Staged.Changes
	if len(t.Staged.Parents) > 1 && (j.scanned != nil || j.scan.Tree == "") { // those of a merge are fewer
		var err error
		if changes, err = j.repo.DiffIndex(j.ctx, j.head.ID); err != nil {
			return
		}
	}
	tree, err := j.tree(changes)
	if err != nil {
		return // no receipt costs a remark after the commit, no more
	}
	x := receipt{Head: j.head.ID, Tree: tree, Watched: watched(j.repo, t.Staged.Entries, j.cache.watch), Key: j.cache.key(), Verdict: clean}
	switch {
	case j.code != finding.ExitOK:
		x.Verdict = blocked
	case depends, anyWatched(t.Staged.Changes, policy(t.Config)), len(onlyOnDisk(j.repo, j.cache.watch, has(t.Staged.Entries))) > 0:
		x.Verdict = passed
	}
	j.cache.add(x)
}

// policy are the watched paths that are no bases: configuration, signers, baseline.
func policy(c config.Config) []string {
	return slices.DeleteFunc(lint.Watch(c), func(w string) bool { return slices.Contains(c.Skmb.Roots, w) })
}
