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

// tmpPrefix begins the name of every file that is about to be renamed into place.
const tmpPrefix = ".assent-tmp-"

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
	if err := root.MkdirAll(dir, s.dirMode(n)); err != nil {
		return err
	}
	mode := fileMode(n)
	if old.Digest != "" {
		mode = old.Mode.Perm()
	}
	tmp := path.Join(dir, tmpPrefix+strings.ToLower(rand.Text()[:12]))
	if err := s.create(root, tmp, data, mode, step); err != nil {
		root.Remove(tmp)
		return err
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

func (s *Store) create(root *os.Root, name string, data []byte, mode fs.FileMode, step func(string) error) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
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
	if err := f.Chmod(mode); err != nil {
		return err
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

func (s *Store) dirMode(n Name) fs.FileMode {
	if n.Root == Private {
		return 0o700
	}
	return 0o755
}

func fileMode(n Name) fs.FileMode {
	if n.Root == Private {
		return 0o600
	}
	return 0o644
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
