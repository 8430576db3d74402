//go:build unix && !linux

package approval

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what was typed ahead (FREAD).
func flush(tty *os.File) { _ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, 1) }
