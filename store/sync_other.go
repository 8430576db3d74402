//go:build !windows

package store

import "os"

func dirSync(d *os.File) error { return d.Sync() }
