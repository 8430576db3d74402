package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/config"
	"assent/finding"
	"assent/lint"
	"assent/repo"
	"assent/skmb"
)

// archiveHead copies the bases of HEAD if their content is not what the newest archive
// holds. During a sequence nothing is done: its end, or the next commit, finds the
// difference.
func archiveHead(r *run) error {
	if r.repo.Bare() || r.skipped() {
		return nil
	}
	a := Archiving{Repo: r.repo, Now: r.Now(), Tool: r.Tool}
	if r.verdict != "" { // judged a moment ago
		a.verdicts = map[bool]string{false: r.verdict}
	}
	if _, err := a.Run(r.ctx, nil); err != nil {
		return err
	}
	if a.settled != nil {
		r.look().Archived(*a.settled)
	}
	return nil
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
	case "post-checkout":
		return len(r.Args) != 3 || r.Args[2] != "1" || r.repo.InSequence() // 1: a branch, not a file
	}
	return false
}

// Archiving makes archives of the bases of HEAD.
type Archiving struct {
	Repo *repo.Repo
	Now  time.Time
	Tool string

	verdicts map[bool]string // by whether the files on disk were judged
	settled  *[]string       // archive directories that hold what HEAD has; nil: the next run must look again
}

// Run archives the bases at roots, all if there are none given, from the commit's own blobs,
// and returns the names of the archives it made. With roots given the mode off does not
// count. What fails for one base does not keep the others from being archived.
func (a *Archiving) Run(ctx context.Context, roots []string) (made []string, err error) {
	head, err := a.Repo.HeadCommit()
	if errors.Is(err, repo.ErrNoBranch) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tree, err := a.Repo.Tree(head.Tree)
	if err != nil {
		return nil, err
	}
	conf, err := config.Load(tree)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	if roots == nil {
		if roots = conf.Skmb.Roots; conf.Skmb.Archive.Mode == config.Off {
			a.settled = &[]string{}
			return nil, nil
		}
	}
	var failed []error
	var dirs []string
	settled := conf.Skmb.Archive.Mode != config.Every
	for _, root := range roots {
		name, err := a.one(ctx, head, tree, conf.Skmb.Archive, root)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s was not archived: %w", root, err))
		} else if name != "" {
			made = append(made, name)
		}
		dirs = append(dirs, path.Join(root, conf.Skmb.Archive.Dir))
		if _, err := os.Lstat(filepath.Join(a.Repo.Root, filepath.FromSlash(root))); err != nil {
			settled = false // it may be checked out later
		}
	}
	if settled && len(failed) == 0 {
		a.settled = &dirs
	}
	return made, errors.Join(failed...)
}

func (a *Archiving) one(ctx context.Context, head repo.CommitInfo, commit *repo.Snapshot, conf config.Archive, root string) (string, error) {
	if _, err := os.Lstat(filepath.Join(a.Repo.Root, filepath.FromSlash(root))); err != nil {
		return "", nil // not checked out here: nothing is made outside of a sparse checkout
	}
	source, err := a.source(ctx, commit, root)
	if err != nil || source == nil {
		return "", err
	}
	names, err := skmb.ArchiveNames(source, root)
	if err != nil {
		return "", err
	}
	archiver := skmb.Archiver{Top: a.Repo.Root, Root: root, Dir: conf.Dir, Now: a.Now}
	newest, err := archiver.Newest()
	if err != nil {
		return "", err
	}
	onDisk := source != finding.Tree(commit)
	objects := ""
	if !onDisk {
		objects = skmb.ObjectsDigest(commit, root, names)
	}
	changed := conf.Mode != config.Every
	if changed && newest != nil && objects != "" && newest.Objects == objects {
		return "", nil
	}
	branch, err := a.Repo.Branch(ctx)
	if err != nil {
		return "", err
	}
	if branch == "" {
		branch = "detached"
	}
	m := skmb.Manifest{Commit: head.ID, Branch: branch, Check: a.verdict(ctx, head, onDisk), Tool: a.Tool, Objects: objects}
	return archiver.Write(source, names, m, newest, changed)
}

// source is where a base is archived from: the commit, or, for a base that Git ignores, the
// files on disk; nil if there is none.
func (a *Archiving) source(ctx context.Context, commit *repo.Snapshot, root string) (finding.Tree, error) {
	names, err := skmb.ArchiveNames(commit, root)
	if err != nil || len(names) > 0 {
		return commit, err
	}
	disk := repo.Disk(a.Repo.Root)
	if _, err := disk.Stat(skmb.IndexPath(root)); err != nil {
		return nil, nil
	}
	if a.Repo.Linked(a.Repo.Root, skmb.IndexPath(root)) {
		return nil, nil
	}
	ignored, err := a.Repo.Ignored(ctx, skmb.IndexPath(root))
	if err != nil || !ignored {
		return nil, err
	}
	return disk, nil
}

// verdict runs the checks on what is archived, so that an archive says whether it had
// passed: on the commit itself, or with the ignored bases as they stand on disk.
func (a *Archiving) verdict(ctx context.Context, head repo.CommitInfo, onDisk bool) string {
	if v, ok := a.verdicts[onDisk]; ok {
		return v
	}
	v, err := a.judge(ctx, head, onDisk)
	if err != nil {
		v = "failed (" + strings.ReplaceAll(err.Error(), "\n", " ") + ")"
	}
	if a.verdicts == nil {
		a.verdicts = map[bool]string{}
	}
	a.verdicts[onDisk] = v
	return v
}

func (a *Archiving) judge(ctx context.Context, head repo.CommitInfo, onDisk bool) (string, error) {
	t, err := lint.OfCommit(a.Repo, head)
	if onDisk {
		t, err = lint.Staged(ctx, a.Repo)
	}
	if err != nil {
		return "", err
	}
	report, err := t.Run(ctx, Checks(t, a.Repo, a.Now.UTC().Format(time.DateOnly), false))
	return verdictText(report), err
}
