//go:build unix

package approval

import (
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal opens the controlling terminal of the process.
func openTerminal() (in, out *os.File, err error) {
	if in, err = os.OpenFile("/dev/tty", os.O_RDONLY, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile("/dev/tty", os.O_WRONLY, 0); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// foreground reports whether the process may talk to its terminal now.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
