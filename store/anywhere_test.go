package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAnywhere writes below a directory that only the name of the file gives, and lets a process
// that never heard of it complete an interrupted change.
func TestAnywhere(t *testing.T) {
	private, project := t.TempDir(), t.TempDir()
	open := func(fault func(Step) error, third func(Name, File) bool) *Store {
		s, err := Open(Options{Private: private, Anywhere: true, Fault: fault, Third: third})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	n := Name{project, "AGENTS.md"}
	put := func(s *Store, text string, before Digest) error {
		_, err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(Record, n, []byte(text), before) })
		return err
	}
	if err := put(open(nil, nil), "one", ""); err != nil {
		t.Fatal(err)
	}
	crash := errors.New("crash")
	if err := put(open(func(s Step) error {
		if s.At == "committed" {
			return crash
		}
		return nil
	}, nil), "two", DigestOf([]byte("one"))); !errors.Is(err, ErrRecovery) {
		t.Fatalf("got %v", err)
	}
	if _, err := open(nil, nil).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(project, "AGENTS.md")); string(got) != "two" {
		t.Errorf("recovered to %q", got)
	}
	if err := put(open(func(s Step) error {
		if s.At == "committed" {
			return crash
		}
		return nil
	}, nil), "three", DigestOf([]byte("two"))); !errors.Is(err, ErrRecovery) {
		t.Fatalf("got %v", err)
	}
	if err := os.RemoveAll(project); err != nil {
		t.Fatal(err)
	}
	if _, err := open(nil, nil).Recover(t.Context()); !errors.Is(err, ErrConflict) {
		t.Errorf("a directory that is gone: %v", err)
	}
	if _, err := open(nil, func(Name, File) bool { return true }).Recover(t.Context()); err != nil {
		t.Errorf("kept: %v", err)
	}
	if _, err := os.Stat(project); !os.IsNotExist(err) {
		t.Errorf("the directory was made again: %v", err)
	}
}

// TestHold keeps the lock between two transactions, and gives it back.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		s, err := Open(Options{Private: dir, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	ours, theirs := open(), open()
	line := func(s *Store) error {
		_, err := s.Update(context.Background(), func(tx *Tx) error { _, err := tx.Append("log/x", map[string]int{"n": 1}); return err })
		return err
	}
	release, err := ours.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(line(ours), line(ours)); err != nil {
		t.Error(err)
	}
	if err := line(theirs); !errors.Is(err, ErrBusy) {
		t.Errorf("while it is held: %v", err)
	}
	if err := theirs.View(t.Context(), func(r *Reader) error { return nil }); err != nil {
		t.Errorf("reading while it is held: %v", err)
	}
	if _, err := theirs.Hold(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("held twice: %v", err)
	}
	release()
	if err := line(theirs); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}
