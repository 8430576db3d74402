//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file stays its owner's, also when root writes it.
func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	private, project := t.TempDir(), t.TempDir()
	name := filepath.Join(project, "AGENTS.md")
	if err := os.WriteFile(name, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 1234, 4321); err != nil {
		t.Skip(err)
	}
	s, err := Open(Options{Private: private, Anywhere: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Update(t.Context(), func(tx *Tx) error {
		return tx.Put(Record, Name{project, "AGENTS.md"}, []byte("two"), DigestOf([]byte("one")))
	}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 4321 || info.Mode().Perm() != 0o640 {
		t.Errorf("it belongs to %d:%d, with %v", st.Uid, st.Gid, info.Mode())
	}
}
