//go:build unix

package store_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assent/store"
)

// What a store makes is the owner's alone; in a shared clone it has Git's modes for such a
// clone, whatever the mask of the process is.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name      string
		share     fs.FileMode
		file, dir fs.FileMode
	}{
		{"alone", 0, 0o600, 0o700},
		{"group", 0o060, 0o660, fs.ModeSetgid | 0o770},
		{"all", 0o064, 0o664, fs.ModeSetgid | 0o775},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := syscall.Umask(0o077)
			defer syscall.Umask(old)
			w := empty(t)
			s := open(t, w, func(o *store.Options) { o.Share = c.share })
			if _, err := s.Update(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.Append(log, map[string]any{"what": "begun"}); err != nil {
					return err
				}
				if _, _, err := tx.Once(key, request); err != nil {
					return err
				}
				if err := tx.Result([]byte("{}")); err != nil {
					return err
				}
				return tx.Put(store.State, store.Name{Root: store.Private, Path: "state/deep/x.json"}, []byte("{}"), "")
			}); err != nil {
				t.Fatal(err)
			}
			files := 0
			err := filepath.WalkDir(filepath.Join(w, "private"), func(name string, e fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := e.Info()
				want := c.file
				if e.IsDir() {
					want = c.dir
				} else {
					files++
				}
				if err == nil && info.Mode()&(fs.ModePerm|fs.ModeSetgid) != want {
					t.Errorf("%s has the mode %v, want %v", strings.TrimPrefix(name, w), info.Mode(), want)
				}
				return err
			})
			if err != nil || files < 4 {
				t.Errorf("%d files: %v", files, err)
			}
			if info, err := os.Stat(filepath.Join(w, "private")); err != nil || !info.IsDir() {
				t.Error(err)
			}
		})
	}
}
