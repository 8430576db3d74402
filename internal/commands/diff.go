package commands

import "github.com/rogpeppe/go-internal/diff"

// lineDiff is a unified difference of two versions of a file.
func lineDiff(name, before, after string) string {
	return string(diff.Diff(name, []byte(before), name+" (from the files)", []byte(after)))
}
