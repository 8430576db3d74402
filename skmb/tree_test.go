package skmb

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/finding"
)

// memory is a finding.Tree that is held in memory. A directory is there if a file below
// it is; links, submodules and executables have a mode of their own.
type memory struct {
	files   map[string][]byte
	modes   map[string]fs.FileMode
	changed []string // paths that the change touches; nil: not known
}

const (
	symlink   = fs.ModeSymlink | 0o777
	submodule = fs.ModeDir | fs.ModeIrregular
)

func treeOf(files map[string]string) *memory {
	t := &memory{files: map[string][]byte{}, modes: map[string]fs.FileMode{}}
	for name, text := range files {
		t.files[name] = []byte(text)
	}
	return t
}

func (t *memory) clone() *memory {
	return &memory{files: maps.Clone(t.files), modes: maps.Clone(t.modes), changed: t.changed}
}

func (t *memory) mode(name string) (fs.FileMode, bool) {
	if m, ok := t.modes[name]; ok {
		return m, true
	}
	if _, ok := t.files[name]; ok {
		return 0o644, true
	}
	if name == "." {
		return fs.ModeDir | 0o755, true
	}
	for f := range t.files {
		if strings.HasPrefix(f, name+"/") {
			return fs.ModeDir | 0o755, true
		}
	}
	return 0, false
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

func (t *memory) Stat(name string) (fs.FileInfo, error) {
	m, ok := t.mode(name)
	if !ok {
		return nil, missing("stat", name)
	}
	return described{path.Base(name), m, int64(len(t.files[name]))}, nil
}

func (t *memory) ReadFile(name string) ([]byte, error) {
	data, ok := t.files[name]
	if !ok {
		return nil, missing("read", name)
	}
	return bytes.Clone(data), nil
}

func (t *memory) ReadDir(dir string) ([]fs.DirEntry, error) {
	if m, ok := t.mode(dir); !ok || !m.IsDir() {
		return nil, missing("readdir", dir)
	}
	names := map[string]bool{}
	for f := range t.files {
		rest, below := f, true
		if dir != "." {
			rest, below = strings.CutPrefix(f, dir+"/")
		}
		if first, _, _ := strings.Cut(rest, "/"); below {
			names[first] = true
		}
	}
	var out []fs.DirEntry
	for _, n := range slices.Sorted(maps.Keys(names)) {
		info, err := t.Stat(path.Join(dir, n))
		if err != nil {
			return nil, err
		}
		out = append(out, fs.FileInfoToDirEntry(info))
	}
	return out, nil
}

func (t *memory) ObjectID(name string) (string, bool) {
	data, ok := t.files[name]
	return strings.Repeat("0", 8) + string(data[:min(len(data), 8)]), ok
}

func (t *memory) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	return opened{info, bytes.NewReader(t.files[name])}, err
}

type described struct {
	name string
	mode fs.FileMode
	size int64
}

func (d described) Name() string       { return d.name }
func (d described) Size() int64        { return d.size }
func (d described) Mode() fs.FileMode  { return d.mode }
func (d described) ModTime() time.Time { return time.Time{} }
func (d described) IsDir() bool        { return d.mode.IsDir() }
func (d described) Sys() any           { return nil }

type opened struct {
	fs.FileInfo
	io.Reader
}

func (o opened) Stat() (fs.FileInfo, error) { return o.FileInfo, nil }
func (o opened) Close() error               { return nil }

// judge runs every check and returns what shows without --verbose.
func judge(t testing.TB, o Options, tree finding.Tree, parents ...finding.Tree) []finding.Finding {
	t.Helper()
	if o.Roots == nil {
		o.Roots = []string{root}
	}
	if o.Today == "" {
		o.Today = today
	}
	pass := finding.Pass{Ctx: context.Background(), New: tree, Parents: parents}
	if m, ok := tree.(*memory); ok && m.changed != nil {
		pass.Changed = func() ([]string, error) { return m.changed, nil }
	}
	r := finding.Run(Checks(o), pass)
	for _, u := range r.Unchecked {
		t.Errorf("not checked: %s: %s", u.Code, u.Message)
	}
	return r.Findings
}

// list is findings as a failing test prints them.
func list(fs []finding.Finding) string {
	var out strings.Builder
	for _, f := range fs {
		out.WriteString("\n  " + f.Place() + ": " + f.Severity.String() + " " + f.Code + ": " + f.Message)
	}
	return out.String()
}

func load(t testing.TB, tree finding.Tree) *Base {
	t.Helper()
	b, err := Load(tree, root)
	if err != nil {
		t.Fatal(err)
	}
	if b == nil {
		t.Fatalf("there is no base at %s", root)
	}
	return b
}
