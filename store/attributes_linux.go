package store

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyAttributes gives a file the extended attributes of another, such as an access list, as far as
// the caller may set them: what he may not is the system's, and it has set that itself.
func copyAttributes(root *os.Root, from, to string) {
	src, err := root.Open(from)
	if err != nil {
		return
	}
	defer src.Close()
	dst, err := root.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer dst.Close()
	size, err := unix.Flistxattr(int(src.Fd()), nil)
	if err != nil || size == 0 {
		return
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(int(src.Fd()), names); err != nil {
		return
	}
	for name := range strings.SplitSeq(strings.Trim(string(names[:size]), "\x00"), "\x00") {
		n, err := unix.Fgetxattr(int(src.Fd()), name, nil)
		if err != nil {
			continue
		}
		value := make([]byte, n)
		if n, err = unix.Fgetxattr(int(src.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(dst.Fd()), name, value[:n], 0)
		}
	}
	_ = dst.Sync()
}
