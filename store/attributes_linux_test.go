package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What a file has beside its bytes and mode, it has after a change, too.
func TestAttributesStay(t *testing.T) {
	private, project := t.TempDir(), t.TempDir()
	name := filepath.Join(project, "AGENTS.md")
	if err := os.WriteFile(name, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(name, "user.note", []byte("kept"), 0); errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		t.Skip("this file system has no extended attributes")
	} else if err != nil {
		t.Fatal(err)
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
	value := make([]byte, 16)
	n, err := unix.Getxattr(name, "user.note", value)
	info, statErr := os.Stat(name)
	if err != nil || statErr != nil || string(value[:n]) != "kept" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v, %v", value[:max(n, 0)], err, info.Mode())
	}
}
