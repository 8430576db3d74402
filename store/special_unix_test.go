//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"assent/store"
)

// Links and special files are neither read nor written, wherever they stand in a path and
// wherever they lead.
func TestLinksAndSpecialFilesAreRefused(t *testing.T) {
	link := func(to, at string) func(string) error {
		return func(w string) error { return os.Symlink(to, filepath.Join(w, at)) }
	}
	tests := []struct {
		name string
		make func(w string) error
		path string
	}{
		{"a link to a file", link("README.md", "tree/x"), "x"},
		{"a link to a file outside", link("../beside/canary", "tree/x"), "x"},
		{"an absolute link", link("/etc/passwd", "tree/x"), "x"},
		{"a link to nothing", link("nothing", "tree/x"), "x"},
		{"a link to itself", link("x", "tree/x"), "x"},
		{"a directory", func(w string) error { return os.Mkdir(filepath.Join(w, "tree/x"), 0o755) }, "x"},
		{"a named pipe", func(w string) error { return syscall.Mkfifo(filepath.Join(w, "tree/x"), 0o644) }, "x"},
		{"below a link", link("dir", "tree/x"), "x/file"},
		{"below a link, where nothing is", link("dir", "tree/x"), "x/new"},
		{"below a link, where no directory is", link("dir", "tree/x"), "x/new/deep/file"},
		{"below a link to outside", link("../beside", "tree/x"), "x/canary"},
		{"below a link to outside, where nothing is", link("../beside", "tree/x"), "x/new/file"},
		{"below a link to nothing", link("nothing", "tree/x"), "x/file"},
		{"below a link in a directory", link("../dir", "tree/dir/x"), "dir/x/file"},
		{"below a file", link("README.md", "tree/y"), "README.md/file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := begin(t)
			if err := os.Mkdir(filepath.Join(w, "tree/dir"), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, w, "tree/dir/file", "in the directory")
			if err := test.make(w); err != nil {
				t.Fatal(err)
			}
			n := store.Name{Root: "tree", Path: test.path}
			err := open(t, w).View(t.Context(), func(r *store.Reader) error {
				f, err := r.Read(n)
				if f.Digest != "" {
					t.Errorf("%q was read", f.Data)
				}
				return err
			})
			if !errors.Is(err, store.ErrNotRegular) {
				t.Errorf("Read: %v, want ErrNotRegular", err)
			}
			for _, want := range []store.Digest{"", store.DigestOf([]byte("sings")), want(readme)} {
				err := unchanged(t, w, func(tx *store.Tx) error { return tx.Put(store.View, n, []byte("new"), want) })
				if !errors.Is(err, store.ErrNotRegular) {
					t.Errorf("Put: %v, want ErrNotRegular", err)
				}
			}
		})
	}
}

// A link that takes a target's place once a change is decided leads it nowhere.
func TestLinksMadeLate(t *testing.T) {
	tests := []struct {
		name string
		make func(w string) error
	}{
		{"of the target", func(w string) error {
			at := filepath.Join(w, "tree/README.md")
			return errors.Join(os.Remove(at), os.Symlink("../beside/canary", at))
		}},
		{"of a directory", func(w string) error {
			if err := os.MkdirAll(filepath.Join(w, "tree/elsewhere"), 0o755); err != nil {
				return err
			}
			return os.Symlink("elsewhere", filepath.Join(w, "tree/docs"))
		}},
		{"of a directory, to outside", func(w string) error { return os.Symlink("../beside", filepath.Join(w, "tree/docs")) }},
	}
	for _, test := range tests {
		t.Run(test.name+" before the commit point", func(t *testing.T) {
			w := begin(t)
			var found snapshot
			_, err := open(t, w).Update(t.Context(), func(tx *store.Tx) error {
				err := errors.Join(change(tx), test.make(w))
				found = look(t, w)
				return err
			})
			if !errors.Is(err, store.ErrStale) {
				t.Errorf("Update: %v, want ErrStale", err)
			}
			whole(t, w, found, 1)
		})
		t.Run(test.name+" after it", func(t *testing.T) {
			w := begin(t)
			var found snapshot
			_, err := open(t, w, fault(func(at store.Step) error {
				if at != committed {
					return nil
				}
				err := test.make(w)
				found = look(t, w)
				return err
			})).Update(t.Context(), change)
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("Update: %v, want ErrConflict", err)
			}
			if _, err := open(t, w).Recover(t.Context()); !errors.Is(err, store.ErrConflict) {
				t.Errorf("Recover: %v, want ErrConflict", err)
			}
			if _, err := open(t, w).Resolve(t.Context(), store.Apply); !errors.Is(err, store.ErrRecovery) {
				t.Errorf("Apply: %v, want ErrRecovery", err)
			}
			if d := diff(look(t, w), found); d != "" {
				t.Errorf("something changed in spite of the conflict:%s", d)
			}
			if _, err := open(t, w).Resolve(t.Context(), store.Keep); err != nil {
				t.Error(err)
			}
			for name := range look(t, w) {
				if name == "tree/elsewhere/new" || name == "beside/new" {
					t.Errorf("%s was made through the link", name)
				}
			}
			if got := read(t, w, "beside/canary"); got != "sings" {
				t.Errorf("the neighbour was written through the link: %q", got)
			}
			if err := pending(w); err != nil {
				t.Error(err)
			}
		})
	}
}

// A link in the place of the lock would let somebody else's file be opened and locked.
func TestALinkedLockIsRefused(t *testing.T) {
	for name, to := range map[string]string{"to a file": "../beside/canary", "to nothing": "../beside/lock"} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			lock := filepath.Join(w, "private", "lock")
			if err := errors.Join(os.Remove(lock), os.Symlink(to, lock)); err != nil {
				t.Fatal(err)
			}
			found := look(t, w)
			s := open(t, w)
			_, uerr := s.Update(t.Context(), change)
			_, rerr := s.Recover(t.Context())
			_, serr := s.Resolve(t.Context(), store.Apply)
			write(t, w, journalFile, "{}") // else there is nothing for which to look at the lock
			perr := pending(w)
			for what, err := range map[string]error{"Update": uerr, "Recover": rerr, "Resolve": serr, "Pending": perr} {
				if !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.EMLINK) { // FreeBSD says EMLINK
					t.Errorf("%s: %v, want ELOOP", what, err)
				}
			}
			if d := diff(look(t, w), found); d != "" {
				t.Errorf("something changed in spite of the errors:%s", d)
			}
		})
	}
}

// A link or a directory in the place of the journal is not the absence of one.
func TestAJournalThatIsNoFileIsPending(t *testing.T) {
	for name, make := range map[string]func(at string) error{
		"a link to nothing": func(at string) error { return os.Symlink("nothing", at) },
		"a link to a file":  func(at string) error { return os.Symlink("../head.json", at) },
		"a directory":       func(at string) error { return os.Mkdir(at, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			if err := make(filepath.Join(w, filepath.FromSlash(journalFile))); err != nil {
				t.Fatal(err)
			}
			found := lookWhole(t, w)
			s := open(t, w)
			_, uerr := s.Update(t.Context(), change)
			_, rerr := s.Recover(t.Context())
			_, serr := s.Resolve(t.Context(), store.Keep)
			for what, err := range map[string]error{"Update": uerr, "Recover": rerr, "Resolve": serr, "Pending": pending(w)} {
				if !errors.Is(err, store.ErrRecovery) {
					t.Errorf("%s: %v, want ErrRecovery", what, err)
				}
			}
			if d := diff(lookWhole(t, w), found); d != "" {
				t.Errorf("something changed in spite of the errors:%s", d)
			}
		})
	}
}
