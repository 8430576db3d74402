// Package store makes results durable: all files of a change or none, after any crash,
// with a log whose chain shows tampering.
//
// A change is written to a journal first. Before the journal is in place nothing outside
// of the store's own staging has changed; after it the change is carried to its end, by
// this process or by the next one. A file that holds neither its old nor its new bytes by
// then belongs to somebody else and is never overwritten.
package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"
)

// Name is a file below one of the store's roots: "private", a root of Options.Roots, or, with
// Options.Anywhere, an absolute directory. Path is slash-separated and relative.
type Name struct {
	Root string `json:"root"`
	Path string `json:"path"`
}

func (n Name) String() string {
	if n.Root == Private {
		return "assent/" + n.Path
	}
	return n.Path
}

// Private is the root that the store itself owns.
const Private = "private"

// Digest is a hex SHA-256, "" for a file that does not exist.
type Digest string

// DigestOf returns the digest of bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// Class orders the writes of a transaction.
type Class int

const (
	Log    Class = iota
	Record       // immutable or authoritative files
	View         // rendered from records
	State
	result // the answer kept under a key
	head   // generation and log heads, last
)

// File is what was read of a Name. An absent file has the zero value.
type File struct {
	Data   []byte
	Digest Digest
	Mode   fs.FileMode
}

// Step is a point of a transaction at which it can be stopped in a test.
type Step struct {
	Op int // of the journal, -1 outside of an operation
	At string
}

// Options say where a store lives. Private is its private directory, made on first use;
// Roots are other directories it may write in, which must exist. With Anywhere the root of a
// Name may be an absolute directory: a change that was interrupted can then be completed by a
// process that works elsewhere.
type Options struct {
	Private  string
	Anywhere bool
	Share    fs.FileMode // what others than the owner may do with private files: permission bits
	Roots    map[string]string
	Now      func() time.Time
	LockWait time.Duration
	Third    func(Name, File) bool // a third value: true keeps it and goes on; nil stops
	Fault    func(Step) error      // tests only
}

// Limits of a store.
const (
	maxFile    = 8 << 20
	maxLine    = 64 << 10
	maxOps     = 256
	maxSegment = 64 << 20
	keyLife    = 90 * 24 * time.Hour
	lockPoll   = 4 * time.Millisecond  // until the second look at a lock that is held; every later one waits longer
	lockRest   = 32 * time.Millisecond // at the most
)

// Errors a caller branches on.
var (
	ErrBusy       = &stateError{"store/busy", "another assent process is writing; try again when it is done"}
	ErrRecovery   = &stateError{"store/recovery-needed", "a change was interrupted half-way: run `assent recover`"}
	ErrConflict   = &stateError{"store/conflict", "an interrupted change cannot be completed, because a file of it was edited meanwhile: run `assent recover`"}
	ErrStale      = errors.New("the file changed since it was read: run the command again")
	ErrKeyReused  = errors.New("the key was used for another request")
	ErrNotRegular = errors.New("not a regular file reached through plain directories")
	ErrTooLarge   = fmt.Errorf("larger than %d bytes", maxFile)
)

// stateError is an error with a finding code, so that a check that meets it is reported
// as unchecked under that code.
type stateError struct{ code, text string }

func (e *stateError) Error() string { return e.text }
func (e *stateError) Code() string  { return e.code }

// PersistError is a write that failed before the commit point: nothing has changed.
type PersistError struct {
	Step Step
	Err  error
}

func (e *PersistError) Error() string {
	return fmt.Sprintf("nothing was changed: writing failed (%s): %v", e.Step.At, e.Err)
}
func (e *PersistError) Unwrap() error { return e.Err }

// Store is one private directory and the roots it writes in. Several processes may have
// the same store open; writers take turns.
type Store struct {
	o     Options
	mu    sync.Mutex // of roots, which grow with Anywhere
	roots map[string]*os.Root
	held  bool
}

// Open opens a store and makes its private directory if need be. It changes nothing else.
func Open(o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	txn := filepath.Join(o.Private, "txn")
	_, found := os.Lstat(txn)
	err := os.MkdirAll(txn, 0o700)
	if err == nil && o.Share != 0 && found != nil { // the mask of the process does not count here
		err = errors.Join(os.Chmod(o.Private, dirMode(o.Share)), os.Chmod(txn, dirMode(o.Share)))
	}
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, roots: map[string]*os.Root{}}
	dirs := map[string]string{Private: o.Private}
	for name, dir := range o.Roots {
		dirs[name] = dir
	}
	for name, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.roots[name] = root
	}
	if found != nil {
		// A journal is only as durable as the directories above it.
		above, err := os.OpenRoot(filepath.Dir(o.Private))
		if err == nil {
			err = errors.Join(syncDir(s.roots[Private], "."), syncDir(above, "."), above.Close())
		}
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close releases the directories.
func (s *Store) Close() {
	for _, r := range s.roots {
		r.Close()
	}
}

const journalFile = "txn/journal.json"

// Pending reports whether a transaction is under way or was interrupted below a private
// directory: nil, ErrBusy or ErrRecovery. It waits up to a second for a writer to end.
// It takes no lock for longer than the look.
func Pending(private string) error {
	journal := filepath.Join(private, filepath.FromSlash(journalFile))
	for range 50 {
		if _, err := os.Lstat(journal); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		lock := newLock(private)
		free, err := lock.TryRLock()
		if err != nil {
			return err
		}
		if free {
			_, err := os.Lstat(journal)
			lock.Unlock()
			if err == nil {
				return ErrRecovery
			}
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ErrBusy
}

func newLock(private string) *flock.Flock {
	return flock.New(filepath.Join(private, "lock"), flock.SetFlag(lockFlag), flock.SetPermissions(0o600))
}

// lock takes the store's lock, which the kernel frees when the process dies. A free lock is taken
// however late this process gets to it.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if s.held {
		return func() {}, nil
	}
	l := newLock(s.o.Private)
	deadline := time.Now().Add(max(s.o.LockWait, lockPoll))
	for pause := lockPoll; ctx.Err() == nil; pause = min(2*pause, lockRest) {
		free, err := l.TryLock()
		left := time.Until(deadline)
		switch {
		case err != nil:
			return nil, fmt.Errorf("take the lock of the store: %w", err)
		case free:
			if s.o.Share != 0 {
				_ = s.roots[Private].Chmod("lock", 0o600|s.o.Share) // of somebody else's file it fails, and is as it should be
			}
			return func() { l.Close() }, nil
		case left <= 0:
			return nil, ErrBusy
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// Hold keeps the lock over several transactions of this store, until release: what they do in
// between, such as a commit, no other process comes into. The store must not be used by another
// goroutine meanwhile.
func (s *Store) Hold(ctx context.Context) (release func(), err error) {
	unlock, err := s.lock(ctx)
	if err != nil || s.held {
		return unlock, err
	}
	s.held = true
	return func() { s.held = false; unlock() }, nil
}

// headFile holds the generation, which grows with every transaction, and the end of
// every log.
const headFile = "head.json"

type heads struct {
	Generation uint64             `json:"generation"`
	Logs       map[string]logHead `json:"logs"`
}

type logHead struct {
	Segment int    `json:"segment"`
	Size    int64  `json:"size"`
	Seq     uint64 `json:"seq"`
	Last    Digest `json:"last"` // of the last line
}

// Reader reads files at one generation.
type Reader struct {
	s     *Store
	heads heads
	begun map[string]logHead // the logs as they stood when a transaction began; nil outside of one
}

// Generation grows by one with every transaction.
func (r *Reader) Generation() uint64 { return r.heads.Generation }

// Read returns a file, or the zero File if there is none.
func (r *Reader) Read(n Name) (File, error) { return r.s.read(n) }

// View runs fn on one consistent generation without the lock. fn may run several times.
func (s *Store) View(ctx context.Context, fn func(*Reader) error) error {
	for try := range 5 {
		if try > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		if err := Pending(s.o.Private); err != nil {
			return err
		}
		r := &Reader{s: s}
		var err error
		if r.heads, _, err = s.readHeads(); err != nil {
			return err
		}
		got := fn(r) // an error, too, counts only if it comes from one generation
		// The generation is read after the journal was seen to be gone: the other way
		// round a writer could end in between, and what fn saw be half of its change.
		if Pending(s.o.Private) != nil {
			continue
		}
		after, _, err := s.readHeads()
		if err != nil {
			return err
		}
		if after.Generation == r.heads.Generation {
			return cmp.Or(got, ctx.Err())
		}
	}
	return ErrBusy
}

// HeadsDamaged is that what says how the logs end cannot be read: nothing can be added to them.
type HeadsDamaged struct {
	Path string
	Err  error
}

func (e *HeadsDamaged) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *HeadsDamaged) Unwrap() error { return e.Err }
func (e *HeadsDamaged) Code() string  { return "store/head-damaged" }

// Hint says what is left if it cannot be restored.
func (e *HeadsDamaged) Hint() string {
	return fmt.Sprintf("restore it from a backup; if there is none, move it and %s elsewhere, and new logs begin", filepath.Join(filepath.Dir(e.Path), "log"))
}

func freshHeads(generation uint64) heads {
	return heads{Generation: generation, Logs: map[string]logHead{}}
}

func (s *Store) readHeads() (h heads, before Digest, err error) {
	f, err := s.read(Name{Private, headFile})
	if err != nil {
		return h, "", err
	}
	if f.Digest != "" {
		if err := json.Unmarshal(f.Data, &h, json.RejectUnknownMembers(true)); err != nil {
			return h, "", &HeadsDamaged{filepath.Join(s.o.Private, headFile), err}
		}
	}
	if h.Logs == nil {
		h.Logs = map[string]logHead{}
	}
	return h, f.Digest, nil
}

func (s *Store) read(n Name) (File, error) {
	root, err := s.root(n)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil // a directory that is gone has no files
	}
	if err != nil {
		return File{}, err
	}
	info, err := plain(root, n.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", n, err)
	}
	if info.Size() > maxFile {
		return File{}, fmt.Errorf("%s: %w", n, ErrTooLarge)
	}
	data, err := root.ReadFile(n.Path)
	if err != nil {
		return File{}, err
	}
	return File{Data: data, Digest: DigestOf(data), Mode: info.Mode()}, nil
}

func (s *Store) root(n Name) (*os.Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root := s.roots[n.Root]
	if root == nil && s.o.Anywhere && filepath.IsAbs(n.Root) {
		var err error
		if root, err = os.OpenRoot(n.Root); err != nil {
			return nil, err
		}
		s.roots[n.Root] = root
	}
	if root == nil {
		return nil, fmt.Errorf("the store has no root %q", n.Root)
	}
	if !fs.ValidPath(n.Path) || n.Path == "." {
		return nil, fmt.Errorf("%q is no path below a root", n.Path)
	}
	return root, nil
}

// plain describes a regular file, refusing links and special files on the way to it: an
// os.Root stops escapes, but follows links inside of it.
func plain(root *os.Root, name string) (fs.FileInfo, error) {
	// From the top: a link whose target lacks the rest of the path is still a link.
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(name[:i])
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, ErrNotRegular
		}
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	return info, nil
}
