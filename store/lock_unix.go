//go:build unix

package store

import (
	"os"
	"syscall"
)

// lockFlag opens the lock file without following a link at its place.
const lockFlag = os.O_CREATE | os.O_RDWR | syscall.O_NOFOLLOW
