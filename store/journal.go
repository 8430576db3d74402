package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// op is one write of the journal: a file that goes from before to after, or a line that
// is added to a log at a size.
type op struct {
	Name   Name   `json:"name"`
	Class  Class  `json:"class"`
	Before Digest `json:"before"`
	After  Digest `json:"after"`
	Staged string `json:"staged,omitzero"` // file in txn that holds the new bytes
	IsLog  bool   `json:"is_log,omitzero"`
	Size   int64  `json:"size,omitzero"` // of the log before
	Line   string `json:"line,omitzero"` // several, if one change adds several

	data []byte
}

// removes reports whether the operation takes a file away.
func (o op) removes() bool { return !o.IsLog && o.After == "" }

type journal struct {
	Version int  `json:"version"`
	Ops     []op `json:"ops"`
}

func (s *Store) step(op int) func(string) error {
	return func(at string) error {
		if s.o.Fault == nil {
			return nil
		}
		return s.o.Fault(Step{op, at})
	}
}

// commit makes the operations durable. Until the journal is in place every failure leaves
// the old world; from then on the new one is only a recovery away.
func (s *Store) commit(ops []op) error {
	// What cannot be applied must not be committed: nothing but a person could get it
	// out of the way again.
	for _, o := range ops {
		switch st, err := s.classify(o); {
		case err != nil:
			return err
		case st == third && o.IsLog:
			return &DamagedLog{o.Name.Path, s.o.Private}
		case st == third:
			return fmt.Errorf("%s: %w", o.Name, ErrStale)
		}
		if err := s.writable(o.Name); err != nil {
			return &PersistError{Step{-1, "looking"}, err}
		}
	}
	if err := s.stage(ops); err != nil {
		s.sweep()
		return err
	}
	if err := s.roll(ops, s.o.Third, false); err != nil {
		return err
	}
	s.prune()
	return nil
}

// writable sees whether the directory of a file takes new names, or the nearest one above it
// that is there.
func (s *Store) writable(n Name) error {
	root, err := s.root(n)
	if err != nil {
		return err
	}
	dir := path.Dir(n.Path)
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := root.Lstat(dir); !notExist(err) {
			break
		}
	}
	return access(filepath.Join(root.Name(), filepath.FromSlash(dir)))
}

// DamagedLog is a log that a transaction cannot add to.
type DamagedLog struct{ Log, Dir string }

func (e *DamagedLog) Error() string {
	return fmt.Sprintf("%s does not end as %s says: restore it, nothing can be added to it", filepath.Join(e.Dir, filepath.FromSlash(e.Log)), headFile)
}

func (e *DamagedLog) Code() string { return "store/log-damaged" }

// Hint says what is left if it cannot be restored.
func (e *DamagedLog) Hint() string {
	return fmt.Sprintf("assent audit verify; if it cannot be restored, move %s and %s elsewhere, and new logs begin", filepath.Join(e.Dir, "log"), filepath.Join(e.Dir, headFile))
}

// roll carries a committed transaction to its end.
func (s *Store) roll(ops []op, keep func(Name, File) bool, force bool) error {
	err := s.apply(ops, keep, force)
	if err == nil {
		err = s.finish()
	}
	switch {
	case errors.Is(err, errThird):
		return ErrConflict
	case err != nil:
		return fmt.Errorf("%w (%v)", ErrRecovery, err)
	}
	return nil
}

// stage writes the new bytes and then the journal, whose place is the commit point.
func (s *Store) stage(ops []op) error {
	fail := func(i int, err error) error { return &PersistError{Step{i, "staging"}, err} }
	private := s.roots[Private]
	for i := range ops {
		if ops[i].IsLog || ops[i].removes() {
			continue
		}
		ops[i].Staged = fmt.Sprintf("txn/new-%d", i)
		if err := s.create(private, ops[i].Staged, ops[i].data, 0o600|s.o.Share, s.step(i)); err != nil {
			return fail(i, err)
		}
	}
	if err := syncDirs(private, "txn", "txn", s.step(-1)); err != nil {
		return fail(-1, err)
	}
	data, err := json.Marshal(journal{1, ops}, json.Deterministic(true))
	if err != nil {
		return fail(-1, err)
	}
	const tmp = "txn/" + tmpPrefix + "journal"
	if err := s.create(private, tmp, data, 0o600|s.o.Share, s.step(-1)); err != nil {
		return fail(-1, err)
	}
	if err := private.Rename(tmp, journalFile); err != nil {
		return fail(-1, err)
	}
	// From here on a failure needs recovery: the rename may be durable or not.
	if err := s.step(-1)("committed"); err != nil {
		return fmt.Errorf("%w (%v)", ErrRecovery, err)
	}
	if err := syncDirs(private, "txn", "txn", s.step(-1)); err != nil {
		return fmt.Errorf("%w (%v)", ErrRecovery, err)
	}
	return nil
}

// standing says how far an operation got.
type standing int

const (
	before standing = iota
	after
	third
)

func (s *Store) classify(o op) (standing, error) {
	if o.IsLog {
		return s.classifyLog(o)
	}
	if _, err := s.root(o.Name); errors.Is(err, fs.ErrNotExist) {
		return third, nil // somebody took the directory away: it is never made again
	}
	f, err := s.read(o.Name)
	switch {
	case errors.Is(err, ErrNotRegular), errors.Is(err, ErrTooLarge):
		return third, nil
	case err != nil:
		return third, err
	case f.Digest == o.After:
		return after, nil
	case f.Digest == o.Before:
		return before, nil
	}
	return third, nil
}

// classifyLog compares the log's tail with the line. A tail that is a prefix of the line
// is an append that was cut off.
func (s *Store) classifyLog(o op) (standing, error) {
	root, err := s.root(o.Name)
	if err != nil {
		return third, err
	}
	info, err := plain(root, o.Name.Path)
	switch {
	case notExist(err) && o.Size == 0:
		return before, nil
	case notExist(err), errors.Is(err, ErrNotRegular):
		return third, nil
	case err != nil:
		return third, err
	case info.Size() < o.Size || info.Size() > o.Size+int64(len(o.Line)):
		return third, nil
	}
	f, err := root.Open(o.Name.Path)
	if err != nil {
		return third, err
	}
	defer f.Close()
	tail, err := io.ReadAll(io.NewSectionReader(f, o.Size, int64(len(o.Line))))
	switch {
	case err != nil:
		return third, err
	case string(tail) == o.Line:
		return after, nil
	case strings.HasPrefix(o.Line, string(tail)):
		return before, nil
	}
	return third, nil
}

// apply carries out what is not done yet. All operations are looked at before any is
// touched: a third value stops the whole, unless keep passes over it. force overwrites
// third values, after what was found has been put into rescue.
func (s *Store) apply(ops []op, keep func(Name, File) bool, force bool) error {
	found := make([]standing, len(ops))
	for i, o := range ops {
		st, err := s.classify(o)
		if err != nil {
			return err
		}
		found[i] = st
		if st == third {
			f, err := s.read(o.Name)
			switch {
			case force && !o.IsLog:
				if err == nil && f.Digest != "" {
					err = s.rescue(o.Name.Path, f.Data)
				}
				if err != nil {
					return err
				}
				ops[i].Before, found[i] = f.Digest, before
			case keep != nil && keep(o.Name, f):
			default:
				return errThird
			}
		}
	}
	s.sweepTargets(ops)
	for i, o := range ops {
		var err error
		switch found[i] {
		case before:
			err = s.applyOne(o, s.step(i))
		case after:
			err = s.settle(o, s.step(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle makes durable what was found done: whoever did it may have died before the sync.
func (s *Store) settle(o op, step func(string) error) error {
	root, err := s.root(o.Name)
	if err != nil {
		return err
	}
	if _, err := root.Lstat(path.Dir(o.Name.Path)); o.removes() && notExist(err) {
		return nil // its directory went with it
	}
	if o.IsLog {
		f, err := root.OpenFile(o.Name.Path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if err := step("synced"); err != nil {
			return err
		}
	}
	return syncDirs(root, path.Dir(o.Name.Path), o.top(), step)
}

// top is the highest directory that may be as new as the file.
func (o op) top() string {
	if o.Before == "" && o.Size == 0 {
		return "."
	}
	return path.Dir(o.Name.Path)
}

func (s *Store) applyOne(o op, step func(string) error) error {
	if o.IsLog {
		return s.appendLine(o, step)
	}
	if o.removes() {
		return s.remove(o, step)
	}
	data := o.data
	if data == nil {
		f, err := s.roots[Private].ReadFile(o.Staged)
		if err != nil {
			return fmt.Errorf("the staged bytes are gone: %w", err)
		}
		if data = f; DigestOf(data) != o.After {
			return fmt.Errorf("the staged bytes of %s are damaged", o.Name)
		}
	}
	return s.replace(o, data, step)
}

func (s *Store) appendLine(o op, step func(string) error) error {
	root := s.roots[Private]
	if err := s.makeDir(Private, path.Dir(o.Name.Path)); err != nil {
		return err
	}
	f, err := root.OpenFile(o.Name.Path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.o.Share != 0 {
		_ = f.Chmod(s.fileMode(o.Name)) // of somebody else's file it fails, and is as it should be
	}
	if err := f.Truncate(o.Size); err != nil {
		return err
	}
	half := len(o.Line) / 2
	if _, err := f.WriteAt([]byte(o.Line[:half]), o.Size); err != nil {
		return err
	}
	if err := step("half"); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(o.Line[half:]), o.Size+int64(half)); err != nil {
		return err
	}
	if err := step("written"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := step("synced"); err != nil {
		return err
	}
	return syncDirs(root, path.Dir(o.Name.Path), o.top(), step)
}

// sweepTargets removes temporaries that a killed process left beside the targets: our own
// bytes, whole or cut off, or the old ones. Anything else is somebody's edit that was
// swapped out, and goes to rescue.
func (s *Store) sweepTargets(ops []op) {
	for _, o := range ops {
		root, err := s.root(o.Name)
		if err != nil || o.IsLog {
			continue
		}
		dir, err := root.Open(path.Dir(o.Name.Path))
		if err != nil {
			continue
		}
		entries, _ := dir.ReadDir(-1)
		dir.Close()
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), tmpPrefix) || !e.Type().IsRegular() {
				continue
			}
			name := path.Join(path.Dir(o.Name.Path), e.Name())
			data, err := root.ReadFile(name)
			if err == nil && (s.ours(ops, data) || s.rescue(o.Name.Path, data) == nil) {
				root.Remove(name)
			}
		}
	}
}

// ours reports whether bytes belong to any of the operations, since several have targets
// in one directory.
func (s *Store) ours(ops []op, data []byte) bool {
	d := DigestOf(data)
	return slices.ContainsFunc(ops, func(o op) bool {
		if o.IsLog {
			return false
		}
		staged := o.data
		if staged == nil {
			staged, _ = s.roots[Private].ReadFile(o.Staged)
		}
		return d == o.Before || d == o.After || bytes.HasPrefix(staged, data)
	})
}

// rescue keeps bytes that are not ours below the private directory, durably: they are
// about to go from where they were found.
func (s *Store) rescue(name string, data []byte) error {
	root := s.roots[Private]
	if err := s.makeDir(Private, "rescue"); err != nil {
		return err
	}
	at := s.o.Now().UTC().Format("20060102T150405Z")
	f, err := root.OpenFile(fmt.Sprintf("rescue/%s-%s-%s", at, DigestOf(data)[:8], path.Base(name)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(syncDir(root, "rescue"), syncDir(root, "."))
}

// finish removes the journal, durably, and then the staged bytes.
func (s *Store) finish() error {
	private := s.roots[Private]
	if err := s.step(-1)("applied"); err != nil {
		return err
	}
	if err := private.Remove(journalFile); err != nil {
		return err
	}
	if err := s.step(-1)("journal removed"); err != nil {
		return err
	}
	if err := syncDirs(private, "txn", "txn", s.step(-1)); err != nil {
		return err
	}
	s.sweep()
	return nil
}

// sweep removes staging that no journal refers to.
func (s *Store) sweep() {
	if _, err := s.roots[Private].Lstat(journalFile); !notExist(err) {
		return
	}
	dir, err := s.roots[Private].Open("txn")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		_ = s.roots[Private].Remove("txn/" + e.Name())
	}
}
