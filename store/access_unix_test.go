//go:build unix

package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"assent/store"
)

// A change to a directory that takes no files is refused before anything is written. The
// superuser may write everywhere, so the test runs itself as somebody else then.
func TestUnwritable(t *testing.T) {
	const inside = "ASSENT_TEST_UNWRITABLE"
	dir := os.Getenv(inside)
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("", "assent-unwritable-") // t.TempDir lies below what nobody else may enter
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		self := filepath.Join(dir, "test")
		data, err := os.ReadFile(os.Args[0])
		if err := errors.Join(err, os.WriteFile(self, data, 0o755), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestUnwritable$", "-test.v")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), inside+"="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if dir == "" {
		dir = t.TempDir()
	}
	tree := filepath.Join(dir, "tree")
	docs := filepath.Join(tree, "docs")
	if err := errors.Join(os.MkdirAll(docs, 0o755), os.WriteFile(filepath.Join(docs, "a"), []byte("old"), 0o644), os.Chmod(docs, 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(docs, 0o755)
	s, err := store.Open(store.Options{Private: filepath.Join(dir, "private"), Roots: map[string]string{"tree": tree}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"docs/a", "docs/b", "docs/c/d"} {
		n := store.Name{Root: "tree", Path: name}
		_, err := s.Update(t.Context(), func(tx *store.Tx) error {
			f, err := tx.Read(n)
			if err != nil {
				return err
			}
			return tx.Put(store.State, n, []byte("new"), f.Digest)
		})
		var persist *store.PersistError
		if !errors.As(err, &persist) || !errors.Is(err, os.ErrPermission) || errors.Is(err, store.ErrRecovery) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rec, err := s.Recover(t.Context()); rec.Pending || err != nil {
		t.Errorf("there is something to recover: %+v, %v", rec, err)
	}
	if data, err := os.ReadFile(filepath.Join(docs, "a")); string(data) != "old" || err != nil {
		t.Errorf("docs/a is %q, %v", data, err)
	}
}
