package repo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gitindex "github.com/go-git/go-git/v5/plumbing/format/index"
)

// everything is watched by its first directory or name, so that a scan shows all of it.
func everything(r *Repo, t *testing.T) (watch []string, listed []Entry) {
	t.Helper()
	entries, err := r.listIndex(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		top, _, _ := strings.Cut(e.Path, "/")
		if !slices.Contains(watch, top) {
			watch = append(watch, top)
		}
	}
	return watch, entries
}

// indexForms are ways to come by an index; each must be read exactly as Git reads it, or
// be left to Git.
var indexForms = []struct {
	name  string
	init  []string
	make  func(*sandbox)
	toGit bool // only Git reads it
}{
	{name: "version 2", make: func(s *sandbox) {}},
	{name: "sha256", init: []string{"--object-format=sha256"}, make: func(s *sandbox) {}},
	{name: "version 3, with intent to add", make: func(s *sandbox) { s.write("new.txt", "new\n"); s.git("add", "-N", "new.txt") }},
	{name: "version 3, skip-worktree", make: func(s *sandbox) { s.git("update-index", "--skip-worktree", "a.txt") }},
	{name: "version 4", make: func(s *sandbox) { s.git("update-index", "--index-version", "4") }},
	{name: "version 4, sha256", init: []string{"--object-format=sha256"}, make: func(s *sandbox) { s.git("update-index", "--index-version", "4") }},
	{name: "assume unchanged", make: func(s *sandbox) { s.git("update-index", "--assume-unchanged", "a.txt") }},
	{name: "untracked cache", make: func(s *sandbox) { s.git("update-index", "--untracked-cache"); s.git("status") }},
	{name: "no trailer hash", make: func(s *sandbox) { s.git("-c", "index.skipHash=true", "add", "-A") }},
	{name: "resolved conflict", make: func(s *sandbox) {
		conflict(s)
		s.write("a.txt", "resolved\n")
		s.git("add", "a.txt")
	}},
	{name: "a submodule", make: func(s *sandbox) {
		s.git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,sub")
	}},
	{name: "no entries", make: func(s *sandbox) { s.git("rm", "-q", "-r", "--cached", ".") }},
	{name: "conflict", make: conflict, toGit: true},
	{name: "split", make: func(s *sandbox) { s.git("update-index", "--split-index") }, toGit: true},
	{name: "sparse index", make: func(s *sandbox) { s.git("sparse-checkout", "set", "--cone", "--sparse-index", "docs") }, toGit: true},
	{name: "sparse checkout", make: func(s *sandbox) { s.git("sparse-checkout", "set", "--cone", "docs") }},
}

func conflict(s *sandbox) {
	s.git("checkout", "-q", "-b", "side")
	s.write("a.txt", "side\n")
	s.git("commit", "-qam", "side")
	s.git("checkout", "-q", "main")
	s.write("a.txt", "main\n")
	s.git("commit", "-qam", "main")
	cmd := exec.Command("git", "merge", "-q", "side")
	cmd.Dir, cmd.Env = s.dir, s.env
	_ = cmd.Run()
}

func (s *sandbox) populate() {
	for name, text := range oracleFiles {
		s.write(name, text)
	}
	s.write("a.txt", "a\n")
	s.write("docs/x", strings.Repeat("x", 10))
	s.write("long/"+strings.Repeat("d/", 100)+strings.Repeat("n", 200), "deep\n")
	for i := range 60 {
		s.write(fmt.Sprintf("many/%d/file-%04d.txt", i%7, i), fmt.Sprint(i))
	}
	if err := os.Symlink("a.txt", filepath.Join(s.dir, "link")); err != nil {
		s.t.Fatal(err)
	}
	s.write("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(s.dir, "run.sh"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.git("add", "-A")
	s.git("commit", "-qm", "base")
}

// The scan reads what Git and go-git read, entry by entry, and its root is the tree that
// Git would write.
func TestScanIndexAgrees(t *testing.T) {
	for _, form := range indexForms {
		t.Run(form.name, func(t *testing.T) {
			s := newSandbox(t, form.init...)
			s.populate()
			form.make(s)
			r := s.open()
			watch, want := everything(r, t)
			got, err := r.ScanIndex(watch, nil)
			if form.toGit {
				if !errors.Is(err, ErrUseGit) {
					t.Fatalf("not left to Git: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Count != len(want) {
				t.Errorf("%d entries, Git has %d", got.Count, len(want))
			}
			staged, err := r.Staged(context.Background(), watch...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Entries, staged.Entries) {
				t.Errorf("entries differ from Git's\ngot  %v\nwant %v", got.Entries, staged.Entries)
			}
			if got.Tree != "" {
				if tree := strings.TrimSpace(s.git("write-tree")); got.Tree != tree {
					t.Errorf("tree %s, Git writes %s", got.Tree, tree)
				}
			}
			if err := againstGoGit(filepath.Join(s.dir, ".git/index"), got); err != nil && len(form.init) == 0 {
				t.Error(err)
			}
			head, _ := r.HeadCommit()
			tree, err := r.TreeWith(head.Tree, staged.Changes)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSpace(s.git("write-tree")); tree != want {
				t.Errorf("computed tree %s, Git writes %s", tree, want)
			}
		})
	}
}

func againstGoGit(file string, got IndexScan) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var idx gitindex.Index
	if err := gitindex.NewDecoder(f).Decode(&idx); err != nil {
		return nil // it refuses forms that we read
	}
	var other []string
	for _, e := range idx.Entries {
		if !e.IntentToAdd {
			other = append(other, fmt.Sprintf("%o %s %s", uint32(e.Mode), e.Hash, e.Name))
		}
	}
	var ours []string
	for _, e := range got.Entries {
		ours = append(ours, fmt.Sprintf("%o %s %s", uint32(e.Mode), e.ID, e.Path))
	}
	if !slices.Equal(ours, other) {
		return fmt.Errorf("go-git has other entries\nours   %q\ntheirs %q", ours, other)
	}
	return nil
}

// Only watched paths come out, and one that differs in letter case alone is told.
func TestScanIndexWatches(t *testing.T) {
	s := newSandbox(t)
	for _, name := range []string{"docs/isme/a", "docs/isme", "docs/ismes/b", "Docs/Isme/c", ".assent.yaml"} {
		if name != "docs/isme" {
			s.git("update-index", "--add", "--cacheinfo", "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,"+name)
		}
	}
	got, err := s.open().ScanIndex([]string{"docs/isme", ".assent.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range got.Entries {
		names = append(names, e.Path)
	}
	if !slices.Equal(names, []string{".assent.yaml", "docs/isme/a"}) || !got.Folded || got.Tree != "" {
		t.Errorf("%q folded %v tree %q", names, got.Folded, got.Tree)
	}
}

// seedIndexes are index files of every form, for the tests that break them.
func seedIndexes(t testing.TB) [][]byte {
	var out [][]byte
	for _, form := range indexForms {
		s := &sandbox{}
		switch x := t.(type) {
		case *testing.T:
			s = newSandbox(x, form.init...)
		default:
			continue
		}
		s.write("docs/isme/a", "a\n")
		s.write("docs/isme/b/c", "c\n")
		s.write("a.txt", "a\n")
		s.git("add", "-A")
		s.git("commit", "-qm", "x")
		form.make(s)
		data, err := os.ReadFile(filepath.Join(s.dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

// A file that was cut off is left to Git, or, where it was cut between two extensions and
// the rest could be a trailer, it still has the same entries: none is lost or invented.
func TestScanIndexTruncated(t *testing.T) {
	for _, data := range seedIndexes(t) {
		whole, err := scanIndex(bytes.NewReader(data), int64(len(data)), []string{"docs/isme"}, nil)
		if err != nil {
			continue // only Git reads it, and refuses it when it is cut off
		}
		for n := range len(data) {
			got, err := scanIndex(bytes.NewReader(data[:n]), int64(n), []string{"docs/isme"}, nil)
			if err == nil && (!slices.Equal(got.Entries, whole.Entries) || got.Count != whole.Count || got.Tree != "" && got.Tree != whole.Tree) {
				t.Fatalf("%d of %d bytes were read as %+v", n, len(data), got)
			}
			if _, err := scanIndex(bytes.NewReader(data[:n]), int64(len(data)), []string{"docs/isme"}, nil); err == nil && n < len(data)-32 {
				t.Fatalf("%d bytes were read although the file has %d", n, len(data))
			}
		}
	}
}

// Whatever the bytes are, the scan ends, keeps order, and never invents a watched path.
func FuzzScanIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00TREE\x00\x00\x00\x19\x000 0\n01234567890123456789AAAAAAAAAAAAAAAAAAAA"))
	files, _ := filepath.Glob("testdata/index/*")
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := scanIndex(bytes.NewReader(data), int64(len(data)), []string{"docs/isme"}, nil)
		if err != nil {
			if !errors.Is(err, ErrUseGit) {
				t.Fatal(err)
			}
			return
		}
		for i, e := range got.Entries {
			if !strings.HasPrefix(e.Path+"/", "docs/isme/") || i > 0 && got.Entries[i-1].Path >= e.Path || len(e.ID) != 40 && len(e.ID) != 64 {
				t.Fatalf("%+v", got.Entries)
			}
		}
		if n := len(got.Tree); n != 0 && n != 40 && n != 64 {
			t.Fatalf("tree %q", got.Tree)
		}
	})
}

func BenchmarkScanIndex(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		var buf bytes.Buffer
		buf.WriteString("DIRC\x00\x00\x00\x02")
		buf.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
		for i := range n {
			name := fmt.Sprintf("src/d%06d/file-%06d.txt", i/100, i)
			e := make([]byte, (62+len(name)+8)&^7)
			e[26], e[27] = 0x81, 0xa4
			e[61] = byte(len(name))
			copy(e[62:], name)
			buf.Write(e)
		}
		buf.WriteString(strings.Repeat("\x00", 20))
		name := filepath.Join(b.TempDir(), "index")
		if err := os.WriteFile(name, buf.Bytes(), 0o644); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := &Repo{env: []string{"GIT_INDEX_FILE=" + name}}
			for b.Loop() {
				if s, err := r.ScanIndex([]string{"docs/isme", ".assent"}, nil); err != nil || s.Count != n {
					b.Fatal(err)
				}
			}
		})
	}
}
