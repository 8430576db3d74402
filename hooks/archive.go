package hooks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/config"
	"assent/finding"
	"assent/lint"
	"assent/repo"
	"assent/skmb"
)

// archiveHead copies the bases of HEAD, from the commit's own blobs, if their content is
// not what the newest archive holds. During a sequence nothing is done: its end, or the
// next commit, finds the difference.
func archiveHead(r *run) error {
	if r.repo.Bare() || r.skipped() {
		return nil
	}
	head, err := r.repo.HeadCommit()
	if errors.Is(err, repo.ErrNoBranch) {
		return nil
	}
	if err != nil {
		return err
	}
	tree, err := r.repo.Tree(head.Tree)
	if err != nil {
		return err
	}
	conf, err := config.Load(tree)
	if err != nil {
		return fmt.Errorf("the configuration cannot be read: %w", err)
	}
	if conf.Skmb.Archive.Mode == config.Off {
		return nil
	}
	var failed []error
	judged := ""
	for _, root := range conf.Skmb.Roots {
		a := skmb.Archiver{Top: r.repo.Root, Root: root, Dir: conf.Skmb.Archive.Dir, Now: r.Now()}
		if _, gone := os.Lstat(filepath.Join(r.repo.Root, filepath.FromSlash(root))); gone != nil {
			continue // not checked out here: nothing is made outside of a sparse checkout
		}
		source, err := r.source(tree, root)
		if err != nil || source == nil {
			failed = append(failed, err)
			continue
		}
		names, err := skmb.ArchiveNames(source, root)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		objects := ""
		if source == finding.Tree(tree) {
			objects = skmb.ObjectsDigest(tree, root, names)
		}
		newest, err := a.Newest()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		changed := conf.Skmb.Archive.Mode == config.Changed
		if changed && newest != nil && objects != "" && newest.Objects == objects {
			continue
		}
		if judged == "" {
			judged = r.judge(head)
		}
		branch, err := r.repo.Branch(r.ctx)
		if branch == "" {
			branch = "detached"
		}
		if err == nil {
			_, err = a.Write(source, names, skmb.Manifest{Commit: head.ID, Branch: branch, Check: judged, Tool: r.Tool, Objects: objects}, newest, changed)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s was not archived: %w", root, err))
		}
	}
	return errors.Join(failed...)
}

// source is where a base is archived from: the commit, or, for a base that Git ignores, the
// files on disk; nil if there is none.
func (r *run) source(commit *repo.Snapshot, root string) (finding.Tree, error) {
	names, err := skmb.ArchiveNames(commit, root)
	if err != nil || len(names) > 0 {
		return commit, err
	}
	disk := repo.Disk(r.repo.Root)
	if _, err := disk.Stat(skmb.IndexPath(root)); err != nil {
		return nil, nil
	}
	ignored, err := r.repo.Ignored(r.ctx, skmb.IndexPath(root))
	if err != nil || !ignored {
		return nil, err
	}
	return disk, nil
}

// skipped reports whether this call of the event has nothing to do.
func (r *run) skipped() bool {
	switch r.Event {
	case "post-commit":
		return r.repo.InSequence()
	case "post-merge":
		return slices.Equal(r.Args, []string{"1"}) // --squash: nothing was committed
	case "post-rewrite":
		return !slices.Contains(r.Args, "rebase")
	}
	return false
}

// judge runs the checks on the commit itself, so that an archive says whether what it holds
// had passed.
func (r *run) judge(head repo.CommitInfo) string {
	t, err := lint.OfCommit(r.repo, head)
	if err != nil {
		return "failed (" + strings.ReplaceAll(err.Error(), "\n", " ") + ")"
	}
	report, err := t.Run(r.ctx, Checks(t, r.repo, r.today(), false))
	if err != nil {
		return "failed (" + strings.ReplaceAll(err.Error(), "\n", " ") + ")"
	}
	if report.Exit() == finding.ExitOK {
		return "passed"
	}
	if n := len(report.Unchecked); n > 0 {
		return fmt.Sprintf("failed (%d errors, %d not checked)", report.Count(finding.Error), n)
	}
	return fmt.Sprintf("failed (%d errors)", report.Count(finding.Error))
}
