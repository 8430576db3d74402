package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// TemporaryPrefix begins the name of every file that is about to be renamed into place.
const TemporaryPrefix = ".assent-tmp-"

const tmpPrefix = TemporaryPrefix

// errThird is a target that holds neither the bytes before nor those after.
var errThird = errors.New("the file holds neither its old nor its new content")

// replace writes a file as one step: a temporary beside it, synced and read back, swapped
// in, the directory synced, read back. The target must still hold what it held before.
func (s *Store) replace(o op, data []byte, step func(at string) error) error {
	n := o.Name
	root, err := s.root(n)
	if err != nil {
		return err
	}
	dir := path.Dir(n.Path)
	old, err := s.read(n) // before a directory is made, which would follow a link
	if err != nil {
		return err
	}
	if old.Digest != o.Before {
		return errThird
	}
	if err := s.makeDir(n.Root, dir); err != nil {
		return err
	}
	mode := s.fileMode(n)
	if old.Digest != "" {
		mode = old.Mode.Perm()
	}
	tmp := path.Join(dir, tmpPrefix+strings.ToLower(rand.Text()[:tmpRandom]))
	if err := s.create(root, tmp, data, mode, step); err != nil {
		root.Remove(tmp)
		return err
	}
	if old.Digest != "" {
		if err := copyOwner(root, n.Path, tmp); err != nil {
			root.Remove(tmp)
			return err
		}
	}
	if n.Root != Private && old.Digest != "" { // access lists and labels are the file's, not the bytes'
		copyAttributes(root, n.Path, tmp)
	}
	if err := s.swap(root, n, tmp, data, o.Before, step); err != nil {
		return err
	}
	if err := step("renamed"); err != nil {
		return err
	}
	if err := syncDirs(root, dir, o.top(), step); err != nil {
		return err
	}
	if got, err := s.read(n); err != nil || got.Digest != DigestOf(data) {
		return fmt.Errorf("%s does not read back as it was written (%v)", n, err)
	}
	return nil
}

// remove takes a file away. Where others write it goes to a temporary name first, so that an
// edit made in the last moment is seen and goes back.
func (s *Store) remove(o op, step func(at string) error) error {
	n := o.Name
	root, err := s.root(n)
	if err != nil {
		return err
	}
	now, err := s.read(n)
	if err != nil {
		return err
	}
	if now.Digest != o.Before {
		return errThird
	}
	at := n.Path
	if n.Root != Private {
		at = path.Join(path.Dir(n.Path), tmpPrefix+strings.ToLower(rand.Text()[:tmpRandom]))
		if err := root.Rename(n.Path, at); err != nil {
			return err
		}
		if err := step("moved away"); err != nil {
			return err
		}
		if out, err := s.read(Name{n.Root, at}); err != nil || out.Digest != o.Before {
			if back := place(root, at, n.Path); errors.Is(back, errors.ErrUnsupported) {
				_ = root.Rename(at, n.Path)
			} // else somebody has made another file there, and recovery brings this one to rescue
			return errThird
		}
	}
	if err := root.Remove(at); err != nil {
		return err
	}
	if err := step("removed"); err != nil {
		return err
	}
	return syncDirs(root, path.Dir(n.Path), path.Dir(n.Path), step)
}

func (s *Store) create(root *os.Root, name string, data []byte, mode fs.FileMode, step func(string) error) error {
	open := mode
	if mode != newMode {
		open = 0o600
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, open)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := step("created"); err != nil {
		return err
	}
	if _, err := f.Write(data[:len(data)/2]); err != nil {
		return err
	}
	if err := step("half"); err != nil {
		return err
	}
	if _, err := f.Write(data[len(data)/2:]); err != nil {
		return err
	}
	if mode != newMode {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := step("written"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := step("synced"); err != nil {
		return err
	}
	got, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	if DigestOf(got) != DigestOf(data) {
		return fmt.Errorf("%s does not read back as it was written", name)
	}
	return nil
}

// swap puts the temporary in the target's place. Where the system can exchange two names
// the bytes that come out are compared, and an edit made in the last moment goes back.
func (s *Store) swap(root *os.Root, n Name, tmp string, data []byte, before Digest, step func(string) error) error {
	err := errors.ErrUnsupported
	switch {
	case n.Root == Private: // nobody edits it
	case before == "":
		err = place(root, tmp, n.Path)
	default:
		err = exchange(root, tmp, n.Path)
	}
	switch {
	case err == nil && before != "":
		if err := step("exchanged"); err != nil {
			return err
		}
		out, err := s.read(Name{n.Root, tmp})
		if err == nil && out.Digest == before {
			return root.Remove(tmp)
		}
		// Whatever came out, if only a link or a directory, goes back.
		if err := exchange(root, tmp, n.Path); err != nil {
			return err
		}
		if back, err := s.read(Name{n.Root, tmp}); err == nil && back.Digest == DigestOf(data) {
			root.Remove(tmp)
		} // else it was edited once more, and recovery brings that to rescue
		return errThird
	case errors.Is(err, errors.ErrUnsupported):
		var now File
		now, err = s.read(n)
		if err == nil && now.Digest != before {
			err = errThird
		}
		if err == nil {
			err = root.Rename(tmp, n.Path)
		}
	case notExist(err), errors.Is(err, fs.ErrExist):
		err = errThird
	}
	if err != nil {
		root.Remove(tmp)
	}
	return err
}

// makeDir makes a directory below a root, and those above it.
func (s *Store) makeDir(of, dir string) error {
	root, err := s.root(Name{of, "x"})
	if err != nil {
		return err
	}
	switch {
	case of != Private:
		return root.MkdirAll(dir, 0o755)
	case s.o.Share == 0:
		return root.MkdirAll(dir, 0o700)
	case dir == ".":
		return nil
	}
	if _, err := root.Lstat(dir); err == nil {
		return nil
	}
	if err := s.makeDir(of, path.Dir(dir)); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return root.Chmod(dir, dirMode(s.o.Share)) // the mask of the process does not count here
}

// dirMode is the mode of a private directory whose files others share.
func dirMode(share fs.FileMode) fs.FileMode { return fs.ModeSetgid | 0o700 | share | share&0o044>>2 }

// newMode is that of a new file outside of the private directory, less the mask of the process.
const newMode fs.FileMode = 0o666

func (s *Store) fileMode(n Name) fs.FileMode {
	if n.Root == Private {
		return 0o600 | s.o.Share
	}
	return newMode
}

// syncDirs makes a name in dir durable, and the directories on the way from it to top.
func syncDirs(root *os.Root, dir, top string, step func(string) error) error {
	for ; ; dir = path.Dir(dir) {
		if err := syncDir(root, dir); err != nil {
			return err
		}
		if err := step("dirsynced"); err != nil || dir == top {
			return err
		}
	}
}

// syncDir makes a rename in a directory durable. Windows cannot, and does not need to.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return dirSync(d)
}
