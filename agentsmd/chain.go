package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assent/config"
	"assent/repo"
)

// chainBytes is how much the files of a chain may have together, as the project says.
func chainBytes(root string) int {
	conf, err := config.Load(repo.Disk(root))
	if err != nil {
		return config.Default().Agentsmd.MaxChainBytes
	}
	return conf.Agentsmd.MaxChainBytes
}

// chainDirs are the directories of a project that have a file of their own, slash-separated from
// its root, which is ".". They come from the index: what is not tracked is nobody else's.
func chainDirs(ctx context.Context, root string, env []string) ([]string, error) {
	r, err := repo.Open(ctx, root, repo.Foreign(env))
	if errors.Is(err, repo.ErrNoRepo) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Root == "" || filepath.Clean(r.Root) != root {
		return nil, nil
	}
	names, err := r.IndexPaths(ctx, FileName, OverrideName)
	var out []string
	for _, n := range names {
		if dir := path.Dir(n); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out, err
}

// chainFile is the file that a host reads in a directory: Codex the override, if there is one.
func chainFile(dir, host string) (name string, size int64) {
	for _, n := range []string{OverrideName, FileName} {
		if host == HostClaude && n == OverrideName {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, n)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, n), info.Size()
		}
	}
	return "", 0
}

// chainWarnings name every directory that does not get all of its files once a file of the chain
// has a size: they share a budget, the root first.
func (k *Keeper) chainWarnings(ctx context.Context, changed string, size int) (out []string) {
	if changed == k.GlobalPath() {
		return nil
	}
	root := filepath.Dir(changed)
	dirs, err := chainDirs(ctx, root, k.Git)
	if err != nil {
		return nil
	}
	if !slices.Contains(dirs, ".") {
		dirs = append(dirs, ".")
	}
	budget := chainBytes(root)
	for _, dir := range dirs {
		links := chain(root, dir, HostCodex)
		used := 0
		for i := range links {
			if links[i].Path == changed {
				links[i].Bytes = size
			}
			used += links[i].Bytes
		}
		if used <= budget || len(links) == 0 {
			continue
		}
		links = spend(links, budget)
		for _, l := range links {
			if l.Used < l.Bytes {
				out = append(out, fmt.Sprintf("in %s the files that are read together have %d bytes of %d: %s is cut at byte %d", path.Join(filepath.Base(root), dir), used, budget, l.Path, l.Used))
				break
			}
		}
	}
	return out
}

// ChainLink is one file that a host reads, and how much of it.
type ChainLink struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Used  int    `json:"used_bytes"`
}

// chain are the files from a root down to a directory below it, in reading order.
func chain(root, dir, host string) (out []ChainLink) {
	at := root
	steps := append([]string{""}, strings.Split(dir, "/")...)
	for _, step := range steps {
		if step == "." {
			continue
		}
		at = filepath.Join(at, step)
		if name, size := chainFile(at, host); name != "" {
			out = append(out, ChainLink{Path: name, Bytes: int(size)})
		}
	}
	return out
}

// spend gives the files their bytes, the first one first.
func spend(links []ChainLink, budget int) []ChainLink {
	for i := range links {
		links[i].Used = min(links[i].Bytes, budget)
		budget -= links[i].Used
	}
	return links
}
