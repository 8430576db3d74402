package lint

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"assent/finding"
	"assent/repo"
)

// LocalTree is a snapshot in which some directories come from disk: bases that Git ignores
// are in no commit, so the files themselves are judged.
type LocalTree struct {
	finding.Tree
	roots map[string]*repo.Snapshot // root -> the disk it stands on
}

func (t *LocalTree) at(name string) finding.Tree {
	for root, disk := range t.roots {
		if name == root || strings.HasPrefix(name, root+"/") || strings.HasPrefix(root, name+"/") {
			return disk
		}
	}
	return t.Tree
}

func (t *LocalTree) Open(name string) (fs.File, error)          { return t.at(name).Open(name) }
func (t *LocalTree) ReadFile(name string) ([]byte, error)       { return t.at(name).ReadFile(name) }
func (t *LocalTree) ReadDir(name string) ([]fs.DirEntry, error) { return t.at(name).ReadDir(name) }
func (t *LocalTree) Stat(name string) (fs.FileInfo, error)      { return t.at(name).Stat(name) }
func (t *LocalTree) ObjectID(name string) (string, bool)        { return t.at(name).ObjectID(name) }

// localOnly looks for bases that the index does not have and Git ignores: in this worktree,
// or, from a linked one, in the main worktree.
func (t *Target) localOnly(ctx context.Context) error {
	for _, root := range t.Config.Skmb.Roots {
		if _, err := t.New.Stat(path.Join(root, "SKMB.md")); err == nil {
			continue
		}
		for _, top := range []string{t.repo.Root, t.repo.MainWorktree()} {
			index := path.Join(root, "SKMB.md")
			if top == "" {
				continue
			}
			_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(index)))
			if err != nil { // half of a base is one, too
				_, err = os.Lstat(filepath.Join(top, filepath.FromSlash(root), "decisions"))
			}
			if err != nil {
				continue
			}
			if t.repo.Linked(top, index) {
				continue // behind a link nothing is read
			}
			ignored, err := t.repo.Ignored(ctx, index)
			if err != nil {
				return err
			}
			if !ignored {
				break
			}
			if t.Local == nil {
				t.Local = &LocalTree{Tree: t.New, roots: map[string]*repo.Snapshot{}}
			}
			t.Local.roots[root] = repo.Disk(top)
			t.Notes = append(t.Notes, root+" is ignored by Git, so the files on disk were judged")
			break
		}
	}
	return nil
}

func (t *Target) filesRead() int {
	n := t.New.FilesRead()
	if t.Local != nil {
		for _, disk := range t.Local.roots {
			n += disk.FilesRead()
		}
	}
	return n
}

// Tree is what the checks see.
func (t *Target) Tree() finding.Tree {
	if t.Local != nil {
		return t.Local
	}
	return t.New
}
