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
// in, the directory synced, read back. The target must still hold before.
func (s *Store) replace(n Name, data []byte, mode fs.FileMode, before Digest, step func(at string) error) error {
	root, err := s.root(n)
	if err != nil {
		return err
	}
	dir := path.Dir(n.Path)
	if err := root.MkdirAll(dir, s.dirMode(n)); err != nil {
		return err
	}
	old, err := s.read(n)
	if err != nil {
		return err
	}
	if old.Digest != before {
		return errThird
	}
	if old.Digest != "" {
		mode = old.Mode.Perm()
	}
	tmp := path.Join(dir, tmpPrefix+strings.ToLower(rand.Text()[:12]))
	if err := s.create(root, tmp, data, mode, step); err != nil {
		root.Remove(tmp)
		return err
	}
	if err := s.swap(root, n, tmp, before, step); err != nil {
		return err
	}
	if err := step("renamed"); err != nil {
		return err
	}
	if err := syncDir(root, dir); err != nil {
		return err
	}
	if err := step("dirsynced"); err != nil {
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
func (s *Store) swap(root *os.Root, n Name, tmp string, before Digest, step func(string) error) error {
	if before != "" && n.Root != Private {
		switch err := exchange(root, tmp, n.Path); {
		case err == nil:
			out, err := root.ReadFile(tmp)
			if err == nil && DigestOf(out) != before {
				if err := exchange(root, tmp, n.Path); err != nil {
					return err
				}
				root.Remove(tmp)
				return errThird
			}
			if err := step("exchanged"); err != nil {
				return err
			}
			return errors.Join(err, root.Remove(tmp))
		case !errors.Is(err, errors.ErrUnsupported):
			root.Remove(tmp)
			return err
		}
	}
	now, err := s.read(n)
	if err == nil && now.Digest != before {
		err = errThird
	}
	if err == nil {
		err = root.Rename(tmp, n.Path)
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

// syncDir makes a rename in a directory durable. Windows cannot, and does not need to.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return dirSync(d)
}
