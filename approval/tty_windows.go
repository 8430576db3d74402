package approval

import (
	"os"

	"golang.org/x/sys/windows"
)

// openTerminal opens the console of the process.
func openTerminal() (in, out *os.File, err error) {
	if in, err = os.OpenFile("CONIN$", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile("CONOUT$", os.O_RDWR, 0); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// foreground holds for every process with a console: Windows has no background groups.
func foreground(*os.File) bool { return true }

// flush drops what was typed ahead.
func flush(tty *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd())) }
