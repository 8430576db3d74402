package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// Mode is a Git file mode.
type Mode uint32

const (
	ModeTree    Mode = 0o040000
	ModeFile    Mode = 0o100644
	ModeExec    Mode = 0o100755
	ModeSymlink Mode = 0o120000
	ModeGitlink Mode = 0o160000
)

// fileMode is the mode as io/fs has it. A submodule is a directory without content.
func (m Mode) fileMode() fs.FileMode {
	switch m {
	case ModeTree:
		return fs.ModeDir | 0o755
	case ModeGitlink:
		return fs.ModeDir | fs.ModeIrregular
	case ModeSymlink:
		return fs.ModeSymlink | 0o777
	case ModeExec:
		return 0o755
	case ModeFile:
		return 0o644
	}
	return fs.ModeIrregular
}

// Entry is one path of the index. Path holds raw bytes; Stage is not 0 while unmerged.
type Entry struct {
	Path  string
	Mode  Mode
	ID    string
	Stage int
	Skip  bool // not checked out; known in Worktree only
}

// ErrUnmerged is a path with a conflict: there is no one content to judge.
type ErrUnmerged struct{ Path string }

func (e *ErrUnmerged) Error() string {
	return fmt.Sprintf("%s is unmerged: resolve the conflict and add it", e.Path)
}

// Code makes a check that meets the error report it under this code.
func (e *ErrUnmerged) Code() string { return "lint/unmerged" }

// Snapshot is the content of an index, a commit, or the files on disk, as an fs.FS with
// object ids. Symbolic links are not followed and read as their target; a submodule is
// a directory without content. Reads are lazy: the first read in a directory fetches all
// files of that directory in one batch. A Snapshot is safe for concurrent use.
type Snapshot struct {
	repo  *Repo
	mu    sync.Mutex
	root  *node
	disk  string // top directory, if content comes from disk
	ids   int    // bytes of an object id, for trees
	files int
}

type node struct {
	name     string
	mode     Mode
	id       string
	at       string // directory on disk, of one whose entries are read from there
	unmerged bool
	skip     bool // content comes from the index although the snapshot is of the disk
	kids     map[string]*node
	loaded   bool // kids are known
	fetched  bool // data or err is known
	data     []byte
	err      error
}

func (n *node) isDir() bool { return n.mode == ModeTree || n.mode == ModeGitlink }

func newDir(name string) *node {
	return &node{name: name, mode: ModeTree, kids: map[string]*node{}, loaded: true}
}

func fromEntries(r *Repo, entries []Entry, disk string) *Snapshot {
	s := &Snapshot{repo: r, root: newDir("."), disk: disk}
	for _, e := range entries {
		dir := s.root
		parts := strings.Split(e.Path, "/")
		for _, p := range parts[:len(parts)-1] {
			next := dir.kids[p]
			if next == nil {
				next = newDir(p)
				dir.kids[p] = next
			}
			dir = next
		}
		if dir.kids == nil {
			dir.kids = map[string]*node{}
		}
		name := parts[len(parts)-1]
		dir.kids[name] = &node{name: name, mode: e.Mode, id: e.ID, unmerged: e.Stage != 0, skip: e.Skip, loaded: true}
	}
	return s
}

// Commit returns the content of a commit. The revision is resolved by Git.
func (r *Repo) Commit(ctx context.Context, rev string) (*Snapshot, error) {
	id, err := r.Resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	return r.Tree(id + "^{tree}")
}

// Tree returns the content of a tree, named by its id or by "<commit>^{tree}". It starts
// no process beside the one that reads objects.
func (r *Repo) Tree(name string) (*Snapshot, error) {
	got, err := r.read(name)
	if err != nil {
		return nil, err
	}
	if got[0].err != nil {
		return nil, got[0].err
	}
	if got[0].kind != "tree" {
		return nil, fmt.Errorf("%s is a %s, not a tree", name, got[0].kind)
	}
	s := &Snapshot{repo: r, ids: len(got[0].id) / 2}
	s.root = &node{name: ".", mode: ModeTree, id: got[0].id}
	return s, s.fill(s.root, got[0].data)
}

// Disk returns the files of a directory as they stand on disk, tracked or not. Entries
// are read when they are asked for; `.git` is left out.
func Disk(dir string) *Snapshot {
	return &Snapshot{disk: dir, root: &node{name: ".", mode: ModeTree, at: dir}}
}

// diskMode is the Git mode of what stands on disk; 0 for what Git does not track.
func diskMode(m fs.FileMode) Mode {
	switch {
	case m&fs.ModeSymlink != 0:
		return ModeSymlink
	case m.IsDir():
		return ModeTree
	case !m.IsRegular():
		return 0
	case m&0o111 != 0:
		return ModeExec
	}
	return ModeFile
}

func (n *node) readDisk() error {
	entries, err := os.ReadDir(n.at)
	if err != nil {
		return err
	}
	n.kids, n.loaded = make(map[string]*node, len(entries)), true
	for _, e := range entries {
		k := &node{name: e.Name(), loaded: true}
		switch {
		case e.Name() == ".git":
			continue
		case e.IsDir():
			k.mode, k.at, k.loaded = ModeTree, filepath.Join(n.at, k.name), false
		default:
			k.mode = diskMode(e.Type())
		}
		n.kids[k.name] = k
	}
	return nil
}

// EmptyTree is the content of no commit at all: what the first commit is compared with.
func (r *Repo) EmptyTree() *Snapshot { return fromEntries(r, nil, "") }

func (s *Snapshot) fill(dir *node, data []byte) error {
	entries, err := parseTree(data, s.ids)
	if err != nil {
		return err
	}
	dir.kids = make(map[string]*node, len(entries))
	for _, e := range entries {
		dir.kids[e.name] = &node{name: e.name, mode: e.mode, id: e.id, loaded: e.mode != ModeTree}
	}
	dir.loaded = true
	return nil
}

// children returns the entries of a directory, reading its tree object if need be.
func (s *Snapshot) children(dir *node) (map[string]*node, error) {
	if dir.loaded {
		return dir.kids, nil
	}
	if dir.at != "" {
		return dir.kids, dir.readDisk()
	}
	got, err := s.repo.read(dir.id)
	if err != nil {
		return nil, err
	}
	if got[0].err != nil {
		return nil, got[0].err
	}
	return dir.kids, s.fill(dir, got[0].data)
}

func (s *Snapshot) find(op, name string) (dir, n *node, err error) {
	if !fs.ValidPath(name) {
		return nil, nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n = s.root
	if name == "." {
		return nil, n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if n.mode != ModeTree {
			return nil, nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		kids, err := s.children(n)
		if err != nil {
			return nil, nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
		if dir, n = n, kids[part]; n == nil {
			return nil, nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return dir, n, nil
}

// ReadFile returns the content of a file, or the target of a symbolic link.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, n, err := s.find("read", name)
	if err != nil {
		return nil, err
	}
	if n.isDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	if n.unmerged {
		return nil, &ErrUnmerged{name}
	}
	if !n.fetched {
		if err := s.fetch(path.Dir(name), dir); err != nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: err}
		}
	}
	if n.err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: n.err}
	}
	return slices.Clone(n.data), nil
}

// fetch reads the content of every file of one directory.
func (s *Snapshot) fetch(name string, dir *node) error {
	var files []*node
	for _, n := range dir.kids {
		if !n.isDir() && !n.fetched && !n.unmerged {
			files = append(files, n)
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].name < files[j].name })
	s.files += len(files)
	if s.disk != "" {
		for _, n := range files {
			if n.skip {
				got, err := s.repo.read(n.id)
				if err != nil {
					return err
				}
				n.data, n.err, n.fetched = got[0].data, got[0].err, true
				continue
			}
			n.data, n.err = readDisk(filepath.Join(s.disk, filepath.FromSlash(name), n.name), n)
			n.fetched = true
		}
		return nil
	}
	ids := make([]string, len(files))
	for i, n := range files {
		ids[i] = n.id
	}
	got, err := s.repo.read(ids...)
	if err != nil {
		return err
	}
	for i, n := range files {
		n.data, n.err, n.fetched = got[i].data, got[i].err, true
	}
	return nil
}

// readDisk reads one file as it stands on disk. A link is not followed.
func readDisk(name string, n *node) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		n.mode = ModeSymlink
		target, err := os.Readlink(name)
		return []byte(target), err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > MaxBlob:
		return nil, ErrTooLarge
	}
	return os.ReadFile(name)
}

// ReadDir returns the entries of a directory, sorted by name. Names that are not valid
// in an fs.FS are left out; Invalid lists them.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, n, err := s.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if n.mode == ModeGitlink {
		return nil, nil
	}
	if n.mode != ModeTree {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	kids, err := s.children(n)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, 0, len(kids))
	for _, k := range kids {
		if fs.ValidPath(k.name) {
			out = append(out, fs.FileInfoToDirEntry(info{k}))
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Invalid returns the raw paths below a directory that an fs.FS cannot name: they are
// not UTF-8. Only directories that were read are looked at.
func (s *Snapshot) Invalid() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	var walk func(prefix string, n *node)
	walk = func(prefix string, n *node) {
		for _, k := range n.kids {
			full := path.Join(prefix, k.name)
			if prefix == "" {
				full = k.name
			}
			if !fs.ValidPath(k.name) {
				out = append(out, full)
				continue
			}
			walk(full, k)
		}
	}
	walk("", s.root)
	slices.Sort(out)
	return out
}

// Below returns the entries at and below some paths, sorted by bytes, as an index would
// have them.
func (s *Snapshot) Below(paths []string) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Entry
	var walk func(name string, n *node) error
	walk = func(name string, n *node) error {
		if n.mode != ModeTree {
			out = append(out, Entry{Path: name, Mode: n.mode, ID: n.id})
			return nil
		}
		kids, err := s.children(n)
		for _, k := range kids {
			if err == nil {
				err = walk(name+"/"+k.name, k)
			}
		}
		return err
	}
	for _, p := range paths {
		_, n, err := s.find("below", p)
		if err == nil {
			err = walk(p, n)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(out), nil
}

// Stat describes a path without following links.
func (s *Snapshot) Stat(name string) (fs.FileInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, n, err := s.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// ObjectID returns the Git object id of a path, if its content has one.
func (s *Snapshot) ObjectID(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, n, err := s.find("id", name)
	if err != nil || n.id == "" || s.disk != "" {
		return "", false
	}
	return n.id, true
}

// FilesRead returns how many files were fetched so far.
func (s *Snapshot) FilesRead() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files
}

// Open implements fs.FS.
func (s *Snapshot) Open(name string) (fs.File, error) {
	stat, err := s.Stat(name)
	if err != nil {
		return nil, err
	}
	if stat.IsDir() {
		entries, err := s.ReadDir(name)
		return &openDir{stat, entries}, err
	}
	data, err := s.ReadFile(name)
	return &openFile{stat, strings.NewReader(string(data))}, err
}

type info struct{ n *node }

func (i info) Name() string       { return i.n.name }
func (i info) Size() int64        { return int64(len(i.n.data)) }
func (i info) Mode() fs.FileMode  { return i.n.mode.fileMode() }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.n.isDir() }
func (i info) Sys() any           { return nil }

type openFile struct {
	fs.FileInfo
	r io.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.FileInfo, nil }
func (f *openFile) Read(p []byte) (int, error) { return f.r.Read(p) }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	fs.FileInfo
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.FileInfo, nil }
func (d *openDir) Read([]byte) (int, error)   { return 0, errors.New("is a directory") }
func (d *openDir) Close() error               { return nil }
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.rest) {
		if n > 0 && len(d.rest) == 0 {
			return nil, io.EOF
		}
		n = len(d.rest)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}
