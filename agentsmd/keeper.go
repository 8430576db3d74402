// Package agentsmd keeps rules for coding agents that are learned from what a user said: each
// one traceable to those words, in one managed block of AGENTS.md, by a yes that is recorded.
//
// A model judges and phrases. The program decides what is evidence, what is shown, what is
// written, and what stays dead. Seed 000 is its source.
package agentsmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"assent/boundary"
	"assent/repo"
	"assent/store"
)

// Keeper does the work of the commands on one private directory.
type Keeper struct {
	Store      *store.Store
	Dir        string // the store's private directory
	CodexHome  string
	CodexGiven bool // it was named in this call: then it must be that of the batch
	ClaudeHome string
	Env        boundary.Env
	Random     io.Reader
	Git        []string // environment of Git, without what ties it to a repository
	Call       boundary.Call
	// Policy holds a yes to what a project asks for before its file changes, and verifies a
	// signature; nil: every yes is enough.
	Policy func(ctx context.Context, root string, yes Yes) error
	// Step stops a test where a process could die; nil: nowhere.
	Step func(at string) error

	// Done is what was brought to its end that another call had begun: for a person to read.
	Done []string

	third    func(store.Name) bool // while a target is written: whether an edit of it stays
	mu       sync.Mutex
	projects map[string]Project // by directory
}

// Within reports the worktree that a directory lies in, "" if it lies in none: private state
// must not become a file of a repository.
func Within(ctx context.Context, dir string, env []string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			r, err := repo.Open(ctx, at, repo.Foreign(env))
			if err != nil {
				return ""
			}
			defer r.Close()
			return r.Root
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// HomeInWorktree is the refusal of such a place.
func HomeInWorktree(dir, root string) error {
	return fault("home-in-worktree", "", "%s lies in the worktree %s", dir, root)
}

func (k *Keeper) now() string { return k.Env.Now().UTC().Format(time.RFC3339) }

// stamp names a run or a call: UTC and six random hex digits.
func (k *Keeper) stamp() (string, error) {
	var b [3]byte
	if _, err := io.ReadFull(k.Random, b[:]); err != nil {
		return "", err
	}
	return k.Env.Now().UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:]), nil
}

func (k *Keeper) at(step string) error {
	if k.Step == nil {
		return nil
	}
	return k.Step(step)
}

// GlobalPath is the file that holds for all projects.
func (k *Keeper) GlobalPath() string { return filepath.Join(k.CodexHome, FileName) }

// Project is a directory as the program knows it.
type Project struct {
	Root        string // top of its worktree, else the directory itself
	CommonDir   string // real path of its Git common directory; "" for a plain one
	Key         string
	RootCommits []string // nil if the history is not complete
	// Next is what it is by now, where the state knows it by a key of the time before its history
	// was complete: collecting gives it that; nil: nothing else.
	Next *Project
}

// renewed is the project by its lasting key.
func (p Project) renewed() Project {
	if p.Next != nil {
		return *p.Next
	}
	return p
}

// Authority is what references must have in common with a root to support it: all worktrees of
// a repository have one.
func (p Project) Authority() string {
	if p.CommonDir != "" {
		return "git " + p.CommonDir
	}
	return "dir " + p.Root
}

// cleanPath is the one form of a path, for plan and apply alike: absolute and cleaned, links not
// resolved.
func cleanPath(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	return filepath.Abs(path)
}

// project identifies the project of a directory; ok is false if the directory is gone. The key
// that the state remembers for a root is taken where its history is still there.
func (k *Keeper) project(ctx context.Context, dir string, s *State) (p Project, ok bool, err error) {
	if dir, err = cleanPath(dir); err != nil {
		return p, false, err
	}
	if !utf8.ValidString(dir) {
		return p, false, fault("no-directory", "rename it", "%q is not UTF-8, and no record can name it", dir)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.projects[dir]; ok {
		return p, p.Root != "", nil
	}
	if k.projects == nil {
		k.projects = map[string]Project{}
	}
	p, err = k.identify(ctx, dir, s)
	if err != nil {
		return p, false, err
	}
	k.projects[dir] = p
	return p, p.Root != "", nil
}

// identify finds out which project a directory belongs to. One that was collected before its
// history was complete keeps the key of then, until the next collect.
func (k *Keeper) identify(ctx context.Context, dir string, s *State) (Project, error) {
	p, err := k.identity(ctx, dir, s)
	if err != nil || p.Root == "" || s == nil {
		return p, err
	}
	for key, known := range s.Projects {
		if key == p.Key || len(known.RootCommits) > 0 || !slices.Contains(known.Roots, p.Root) {
			continue
		}
		old := Project{Root: p.Root, CommonDir: p.CommonDir, Key: key}
		if p.RootCommits != nil {
			old.Next = &p
		}
		return old, nil
	}
	return p, nil
}

func (k *Keeper) identity(ctx context.Context, dir string, s *State) (p Project, err error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return p, nil
	}
	r, err := repo.Open(ctx, dir, repo.Foreign(k.Git))
	if err == nil && r.Root == "" { // inside of a Git directory, or a bare repository
		return p, r.Close()
	}
	if err != nil {
		if !errors.Is(err, repo.ErrNoRepo) {
			return p, fmt.Errorf("%s: %w", dir, err)
		}
		real, err := filepath.EvalSymlinks(dir)
		return Project{Root: dir, Key: key("dir", real)}, err
	}
	defer r.Close()
	p.Root = filepath.Clean(r.Root)
	if p.CommonDir, err = filepath.EvalSymlinks(r.CommonDir); err != nil {
		return p, err
	}
	if s != nil {
		for key, known := range s.Projects {
			if len(known.RootCommits) > 0 && slices.Contains(known.Roots, p.Root) && r.HasObject(known.RootCommits[0]) {
				p.Key, p.RootCommits = key, known.RootCommits
				return p, nil
			}
		}
	}
	commits, complete, err := r.RootCommits(ctx)
	if err != nil && ctx.Err() != nil {
		return p, err
	}
	if complete {
		p.Key, p.RootCommits = key(append([]string{"commits"}, commits...)...), commits
	} else {
		p.Key = key("dir", p.CommonDir)
	}
	return p, nil
}

// forget makes every project known anew: the state calls one otherwise by now.
func (k *Keeper) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.projects = nil
}

// key is the identity of a project, 16 hex digits.
func key(parts ...string) string { return strings.TrimPrefix(id("", parts...), "-") }

// roots are directories that a person names, as roots of projects. One that is not there is an
// error.
func (k *Keeper) roots(ctx context.Context, dirs []string, s *State) (out []string, err error) {
	for _, dir := range dirs {
		p, ok, err := k.project(ctx, dir, s)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fault("no-directory", "", "%s is no directory", dir)
		}
		if !slices.Contains(out, p.Root) {
			out = append(out, p.Root)
		}
	}
	return out, nil
}

func (k *Keeper) authority(ctx context.Context, s *State) func(root string) string {
	return func(root string) string {
		if p, ok, err := k.project(ctx, root, s); err == nil && ok && p.Root == root {
			return p.Authority()
		}
		return "dir " + root
	}
}

// state reads the state of one generation, without the lock.
func (k *Keeper) state(ctx context.Context) (s *State, err error) {
	err = k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err = loadState(r)
		return err
	})
	return s, err
}

// homeOf takes the home of Codex from a batch: the global file is the one beside its transcripts.
func (k *Keeper) homeOf(b *Batch) error {
	if k.CodexGiven && k.CodexHome != b.CodexHome {
		return fault("home-mismatch", "", "the run was collected from %s", b.CodexHome)
	}
	k.CodexHome = b.CodexHome
	return nil
}

// files of a run.
func runName(run string, path ...string) store.Name {
	return store.Name{Root: store.Private, Path: strings.Join(append([]string{"runs", run}, path...), "/")}
}

func batchName(run string) store.Name    { return runName(run, "batch.json") }
func manifestName(run string) store.Name { return runName(run, "review", "manifest.json") }
func chunkName(run string, n int) store.Name {
	return runName(run, "review", fmt.Sprintf("chunk-%04d.json", n))
}
func submittedName(run string, n int) store.Name {
	return runName(run, "submitted", fmt.Sprintf("chunk-%04d.json", n))
}
func bundleName(run string) store.Name { return runName(run, "global", "candidates.json") }
func reviewName(run string) store.Name { return runName(run, "global", "review.json") }
func planName(id string) store.Name {
	return store.Name{Root: store.Private, Path: "plans/" + id + ".json"}
}
func reportName(call string) store.Name {
	return store.Name{Root: store.Private, Path: "reports/" + call + ".json"}
}

// openRun is the run that a command is about: the one that is named, or the only open one.
func openRun(s *State, name string) (string, error) {
	if name != "" {
		r, ok := s.Runs[name]
		switch {
		case !ok:
			return "", fault("run-unknown", "", "there is no run %s", name)
		case r.Published:
			return "", fault("run-closed", "", "the run %s is published", name)
		}
		return name, nil
	}
	var open []string
	for id, r := range s.Runs {
		if !r.Published {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	switch len(open) {
	case 0:
		return "", fault("run-unknown", "begin one with `agentsmd collect`", "no run is open")
	case 1:
		return open[0], nil
	}
	return "", fault("run-ambiguous", "", "open are %s", strings.Join(open, ", "))
}

// readBatch reads a batch and holds it to the digest that was registered.
func readBatch(r *store.Reader, s *State, run string) (*Batch, string, error) {
	state, ok := s.Runs[run]
	if !ok {
		return nil, "", fault("run-unknown", "", "there is no run %s", run)
	}
	if state.Swept {
		return nil, "", fault("run-closed", "", "the batch of %s is deleted: it was answered long ago", run)
	}
	f, err := r.Read(batchName(run))
	if err != nil {
		return nil, "", err
	}
	if string(f.Digest) != state.Batch {
		next := "" // what is not settled is collected again
		if state.Published {
			next = again("PLAN")
		}
		return nil, "", fault("batch-changed", next, "the batch of %s is not what was collected", run)
	}
	b := &Batch{}
	if err := readDocument("batch.json", f.Data, b); err != nil {
		return nil, "", err
	}
	return b, string(f.Digest), nil
}

// readManifest reads a manifest, which must be what was written, and of the batch.
func readManifest(r *store.Reader, s *State, run, batch string) (*Manifest, error) {
	f, err := r.Read(manifestName(run))
	if err != nil {
		return nil, err
	}
	if f.Digest == "" {
		return nil, fault("chunk-open", "agentsmd chunk", "the batch of %s is not cut into chunks", run)
	}
	if string(f.Digest) != s.Runs[run].Manifest {
		return nil, fault("chunk-changed", "", "the manifest of %s is not what was written", run)
	}
	m := &Manifest{}
	if err := readDocument("manifest.json", f.Data, m); err != nil {
		return nil, err
	}
	if m.Batch != batch || m.Run != run {
		return nil, fault("chunk-changed", "", "the manifest of %s is of another batch", run)
	}
	return m, nil
}

// readChunk reads a chunk and holds it to the manifest.
func readChunk(r *store.Reader, m *Manifest, number int) (*Chunk, error) {
	i := slices.IndexFunc(m.Chunks, func(c ChunkRef) bool { return c.Number == number })
	if i < 0 {
		return nil, fault("chunk-unknown", "", "%s has no chunk %d, it has %d", m.Run, number, len(m.Chunks))
	}
	f, err := r.Read(chunkName(m.Run, number))
	if err != nil {
		return nil, err
	}
	if string(f.Digest) != m.Chunks[i].SHA256 {
		return nil, fault("chunk-changed", "", "the chunk %d of %s is not what was written", number, m.Run)
	}
	c := &Chunk{}
	return c, readDocument("chunk", f.Data, c)
}

// readChunks reads a manifest, and holds all of its chunks to it.
func readChunks(r *store.Reader, s *State, run, batch string) (*Manifest, error) {
	m, err := readManifest(r, s, run, batch)
	if err != nil {
		return nil, err
	}
	for _, c := range m.Chunks {
		if _, err := readChunk(r, m, c.Number); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// readPlain reads a regular file, through a link if it is one: what is none, such as a FIFO, is never
// opened.
func readPlain(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// homeFS is the file system below a home, through a link to it once; nil if it is not there.
func homeFS(dir string) fs.FS {
	if dir == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil
	}
	return os.DirFS(real)
}
