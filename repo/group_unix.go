//go:build unix

package repo

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own and makes cancelling kill the group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
