//go:build unix

package agentsmd

import (
	"io/fs"
	"os"
	"syscall"
)

// names is how many names a file has, and whether it belongs to another user.
func names(info fs.FileInfo) (links uint64, foreign bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1, false
	}
	return uint64(s.Nlink), int(s.Uid) != os.Geteuid() && os.Geteuid() != 0
}

// lockFlag opens what a lock is taken on: a directory is only read.
const lockFlag = syscall.O_RDONLY | syscall.O_CLOEXEC

const canLockDirs = true
