//go:build !unix

package agentsmd

import (
	"io/fs"
	"os"
)

// names is how many names a file has, and whether it belongs to another user: here neither is
// known.
func names(fs.FileInfo) (links uint64, foreign bool) { return 1, false }

const lockFlag = os.O_RDONLY

const canLockDirs = false
