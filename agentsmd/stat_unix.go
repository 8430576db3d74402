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
	return uint64(s.Nlink), int(s.Uid) != user() && user() != 0
}

// user is who runs the program. Root may write to anybody's file, which stays his.
var user = os.Geteuid

// lockFlag opens what a lock is taken on: a directory is only read.
const lockFlag = syscall.O_RDONLY | syscall.O_CLOEXEC

const canLockDirs = true
