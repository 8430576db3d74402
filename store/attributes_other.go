//go:build !linux

package store

import "os"

// copyAttributes does nothing where extended attributes are not known.
func copyAttributes(*os.Root, string, string) {}
