//go:build !unix

package store

import "os"

const lockFlag = os.O_CREATE | os.O_RDWR

// access leaves it to the writing: what a directory takes, no call tells here.
func access(string) error { return nil }
