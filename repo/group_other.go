//go:build !unix

package repo

import "os/exec"

// ownGroup leaves the default: cancelling kills the process itself.
func ownGroup(*exec.Cmd) {}
