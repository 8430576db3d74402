//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives a file the owner and the group of another, so that root's writing takes no file
// from whom it belongs to. Who may not do that keeps the file that he made.
func copyOwner(root *os.Root, from, to string) error {
	a, err := root.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed a moment ago: that is the swap's to find
	}
	if err != nil {
		return err
	}
	b, err := root.Lstat(to)
	if err != nil {
		return err
	}
	old, ok := a.Sys().(*syscall.Stat_t)
	now, also := b.Sys().(*syscall.Stat_t)
	if !ok || !also || old.Uid == now.Uid && old.Gid == now.Gid {
		return nil
	}
	if err := root.Lchown(to, int(old.Uid), int(old.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
