package skmb

import (
	"io/fs"
	"time"
)

// newFile describes a regular file that is not written yet.
type newFile string

func (n newFile) Name() string     { return string(n) }
func (newFile) Size() int64        { return 0 }
func (newFile) Mode() fs.FileMode  { return 0o644 }
func (newFile) ModTime() time.Time { return time.Time{} }
func (newFile) IsDir() bool        { return false }
func (newFile) Sys() any           { return nil }
