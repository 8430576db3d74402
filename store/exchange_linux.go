package store

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// exchange swaps two names of one directory at once (renameat2(2), RENAME_EXCHANGE).
func exchange(root *os.Root, a, b string) error { return rename(root, a, b, unix.RENAME_EXCHANGE) }

// place renames a to b in one directory unless there is a b (RENAME_NOREPLACE).
func place(root *os.Root, a, b string) error { return rename(root, a, b, unix.RENAME_NOREPLACE) }

func rename(root *os.Root, a, b string, flags uint) error {
	d, err := root.Open(path.Dir(a))
	if err != nil {
		return err
	}
	defer d.Close()
	fd := int(d.Fd())
	err = unix.Renameat2(fd, path.Base(a), fd, path.Base(b), flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
