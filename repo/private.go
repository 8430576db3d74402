package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Share is what others than the owner may do with the private files of this clone, as
// permission bits of a file: nothing, unless core.sharedRepository says that the clone is shared
// (git-config(1)). Git is asked only where the Git directory looks like that of a shared clone,
// which is writable for its group and hands its group on: a hook asks this often.
func (r *Repo) Share() fs.FileMode {
	info, err := os.Stat(r.CommonDir)
	if err != nil || info.Mode()&fs.ModeSetgid == 0 || info.Mode()&0o020 == 0 {
		return 0
	}
	r.shareOnce.Do(func() {
		value, err := r.Config(context.Background(), "core.sharedRepository")
		bits, octal := strconv.ParseUint(value, 8, 16)
		switch {
		case err != nil:
		case value == "group" || value == "true" || value == "1":
			r.share = 0o060
		case value == "all" || value == "world" || value == "everybody" || value == "2":
			r.share = 0o064
		case octal == nil && len(value) > 1:
			r.share = fs.FileMode(bits) & 0o066
		}
	})
	return r.share
}

// MakePrivate makes a private directory, and those above it.
func (r *Repo) MakePrivate(dir string) error { return MakePrivate(dir, r.Share()) }

// MakePrivate makes a directory of mode 0700, and those above it; share are the permission bits
// that others have for the files in it.
func MakePrivate(dir string, share fs.FileMode) error {
	if share == 0 {
		return os.MkdirAll(dir, 0o700)
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := MakePrivate(filepath.Dir(dir), share); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil { // the mask of the process does not count here
		err = os.Chmod(dir, fs.ModeSetgid|0o700|share|share&0o044>>2)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// OpenPrivate opens a private file to write to, and makes it and its directory if need be.
func (r *Repo) OpenPrivate(name string, flag int) (*os.File, error) {
	share := r.Share()
	if err := MakePrivate(filepath.Dir(name), share); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, flag|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil && share != 0 {
		_ = f.Chmod(0o600 | share) // of somebody else's file it fails, and is as it should be
	}
	return f, err
}
