//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// access reports why this process may make no files in a directory.
func access(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write in", Path: dir, Err: err}
	}
	return nil
}

// lockFlag opens the lock file without following a link at its place.
const lockFlag = os.O_CREATE | os.O_RDWR | syscall.O_NOFOLLOW
