package hooks

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"assent/agentsmd"
	"assent/config"
	"assent/finding"
	"assent/lint"
	"assent/repo"
	"assent/store"
)

// StateHome is where the private state of a user is kept: ASSENT_HOME, else assent in the state
// directory of the XDG base directories; "" if no home is known.
func StateHome(env []string) string {
	if dir := repo.Variable(env, "ASSENT_HOME"); dir != "" {
		return dir
	}
	if dir := repo.Variable(env, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "assent")
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := repo.Variable(env, name); dir != "" {
			return filepath.Join(dir, ".local", "state", "assent")
		}
	}
	return ""
}

// learned are the checks of the files that learned rules stand in.
func learned(t *lint.Target, r *repo.Repo, depends func()) []finding.Check {
	o := agentsmd.CheckOptions{Files: t.Config.Agentsmd.Files, Warn: t.Config.Agentsmd.HandEdits == config.Warn, ChainBytes: t.Config.Agentsmd.MaxChainBytes, Depends: depends}
	o.Named = func(ctx context.Context) (finding.Tree, []string, error) { return named(ctx, t, r) }
	if t.Mode == lint.ModeStaged || t.Mode == lint.ModeWorktree {
		o.Origins = func(ctx context.Context) (*agentsmd.Origins, error) { return origins(ctx, r) }
		var others []string
		if t.Mode == lint.ModeWorktree {
			if t.Trusted() != nil {
				o.Also = append(o.Also, t.Trusted())
			}
			others = r.MergeHeads()
		}
		if _, err := os.Lstat(filepath.Join(r.GitDir, "CHERRY_PICK_HEAD")); err == nil { // what it brings is another commit's
			others = append(others, "CHERRY_PICK_HEAD")
		}
		for _, id := range others {
			if other, err := r.Commit(context.Background(), id); err == nil {
				o.Also = append(o.Also, other)
			}
		}
	}
	return agentsmd.Checks(o)
}

// origins are what this user's log has published for a repository; nothing, if there is no log.
func origins(ctx context.Context, r *repo.Repo) (*agentsmd.Origins, error) {
	home := StateHome(r.Caller())
	if home == "" {
		return nil, agentsmd.ErrNoHome
	}
	dir := filepath.Join(home, "agentsmd")
	if _, err := os.Stat(filepath.Join(dir, "head.json")); os.IsNotExist(err) {
		return &agentsmd.Origins{}, nil
	}
	s, err := store.Open(store.Options{Private: dir, Anywhere: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	k := &agentsmd.Keeper{Store: s, Dir: dir, Git: repo.Foreign(r.Caller())}
	return k.Origins(ctx, r.Root)
}

// named are the files of a target that a host reads as rules, whatever directory they are in.
func named(ctx context.Context, t *lint.Target, r *repo.Repo) (finding.Tree, []string, error) {
	names := []string{agentsmd.FileName, agentsmd.OverrideName}
	switch t.Mode {
	case lint.ModeStaged:
		paths, err := r.IndexPaths(ctx, names...)
		if err != nil || len(paths) == 0 {
			return t.New, nil, err
		}
		s, err := r.Staged(ctx, paths...)
		if err != nil {
			return nil, nil, err
		}
		return s.Snapshot(), paths, nil
	case lint.ModeWorktree:
		paths, err := r.IndexPaths(ctx, names...)
		return repo.Disk(r.Root), paths, err
	case lint.ModeMerge:
		return t.New, nil, nil // the merge result has no name to list by
	}
	all, err := r.Paths(ctx, t.Tip)
	var paths []string
	for _, p := range all {
		if base := path.Base(p); base == agentsmd.FileName || base == agentsmd.OverrideName {
			paths = append(paths, p)
		}
	}
	return t.New, paths, err
}
