package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"assent/store"
)

// targetPath is the file of a project's root.
func targetPath(root string) string { return filepath.Join(root, FileName) }

// file is a target as it is on disk.
type file struct {
	path   string
	exists bool
	src    []byte
	block  *Block
}

func (f *file) name() store.Name {
	return store.Name{Root: filepath.Dir(f.path), Path: filepath.Base(f.path)}
}

func (f *file) digest() store.Digest {
	if !f.exists {
		return ""
	}
	return store.DigestOf(f.src)
}

// readTarget reads a file that rules are written to, and refuses what is not a plain file of its
// own: a link, one with other names, another user's, one whose name is spelled otherwise. The
// directory must be there; it is never made.
func readTarget(path string) (*file, error) {
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fault("root-missing", "", "the directory %s is gone", dir)
	}
	f := &file{path: path}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // beside one in other letters it could not be checked out everywhere
		if _, other := spelled(dir, filepath.Base(path)); other != "" {
			return nil, fault("target-case", "", "%s is called %s there", path, other)
		}
	case err != nil:
		return nil, fault("target-unreadable", "", "%v", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fault("target-symlink", "", "%s is a symbolic link", path)
	case !info.Mode().IsRegular():
		return nil, fault("target-kind", "", "%s is no regular file", path)
	default:
		links, foreign := names(info)
		switch exact, other := spelled(dir, filepath.Base(path)); {
		case links > 1:
			return nil, fault("target-hardlink", "", "%s has %d names", path, links)
		case foreign:
			return nil, fault("target-owner", "", "%s belongs to another user", path)
		case !exact && other != "":
			return nil, fault("target-case", "", "%s is called %s there", path, other)
		}
		if info.Size() > maxFile {
			return nil, fault("target-unreadable", "", "%s has more than %d bytes", path, maxFile)
		}
		if f.src, err = os.ReadFile(path); err != nil {
			return nil, fault("target-unreadable", "", "%v", err)
		}
		f.exists = true
	}
	f.block, err = ParseBlock(path, f.src)
	return f, err
}

// spelled reports whether a directory has a name letter by letter, and else one that differs in
// case alone.
func spelled(dir, name string) (exact bool, other string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true, ""
	}
	for _, e := range entries {
		if e.Name() == name {
			return true, ""
		}
		if strings.EqualFold(e.Name(), name) {
			other = e.Name()
		}
	}
	return false, other
}

// lockRoot keeps other state homes from writing to a directory's file at the same time.
func lockRoot(dir string) (unlock func(), err error) {
	if !canLockDirs {
		return func() {}, nil
	}
	l := flock.New(dir, flock.SetFlag(lockFlag))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, store.ErrBusy)
	}
	return func() { l.Close() }, nil
}

// maxGrown is how large a file may become by our own writing.
const maxGrown = 32 << 10

// grows says why a file may not become what it would.
func grows(path string, before, after int) error {
	if after > maxGrown && after > before {
		return fault("size-limit", "", "%s would grow from %d to %d bytes, and %d are the limit: merge, narrow, replace or remove rules", path, before, after, maxGrown)
	}
	return nil
}

// effectiveFor are the lines that hold for a target beside its own file: for a project the
// global file's.
func (k *Keeper) effectiveFor(_ context.Context, scope string) map[string]bool {
	if scope == GlobalScope {
		return nil
	}
	f, err := readTarget(k.GlobalPath())
	if err != nil {
		return nil // a global file that cannot be read says nothing here; it is judged when it is a target
	}
	return f.block.Effective()
}
