package approval

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what was typed ahead.
func flush(tty *os.File) { _ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
