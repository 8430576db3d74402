package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
)

// oracleFiles have names at which sorting, quoting and nesting go wrong.
var oracleFiles = map[string]string{
	"docs/isme/SKMB.md":             "| ID |\r\n",
	"docs/isme/decisions/a.md":      "# a\n",
	"docs/isme/decisions/a/b.md":    "nested\n",
	"docs/isme/decisions/a-b.md":    "sorts before a/\n",
	"docs/isme/decisions/empty.md":  "",
	"docs/isme/decisions/ two  .md": "blanks\n",
	"docs/isme/decisions/決定.md":     "\xff\x00 not UTF-8\n",
	"docs/isme/decisions/\"q\".md":  "quoted by Git\n",
	"other/code.go":                 "package other\n",
}

// described is what a snapshot holds below a directory, a line for each file.
func described(t *testing.T, s *Snapshot, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(s, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := s.ReadFile(name)
		id, _ := s.ObjectID(name)
		out = append(out, fmt.Sprintf("%q %s %q", name, id, text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// treeByGoGit is the same of a commit, read by another implementation of Git.
func treeByGoGit(t *testing.T, g *git.Repository, commit plumbing.Hash, dir string) []string {
	t.Helper()
	c, err := g.CommitObject(commit)
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	err = files.ForEach(func(f *gitobject.File) error {
		text, err := f.Contents()
		if strings.HasPrefix(f.Name, dir+"/") {
			out = append(out, fmt.Sprintf("%q %s %q", f.Name, f.Hash, text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// What go-git commits is read here as go-git reads it; what Git stages is listed here as
// go-git decodes the index. The git program takes part in one side only.
func TestAgainstGoGit(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := newSandbox(t)
	g, err := git.PlainOpen(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range oracleFiles {
		s.write(name, text)
		if _, err := w.Add(name); err != nil {
			t.Fatal(err)
		}
	}
	who := &gitobject.Signature{Name: "Designer", Email: "designer@example.com", When: time.Unix(1781136000, 0)}
	commit, err := w.Commit("a base", &git.CommitOptions{Author: who})
	if err != nil {
		t.Fatal(err)
	}
	r := s.open()
	ctx := context.Background()

	tree, err := r.Commit(ctx, commit.String())
	if err != nil {
		t.Fatal(err)
	}
	want := treeByGoGit(t, g, commit, "docs")
	if len(want) != len(oracleFiles)-1 {
		t.Fatalf("go-git reads %d files of %d", len(want), len(oracleFiles)-1)
	}
	if got := described(t, tree, "docs"); !slices.Equal(got, want) {
		t.Errorf("commit:\n%s\ngo-git:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// From here Git stages: changed, added, removed, executable, a link.
	s.write("docs/isme/decisions/a.md", "# changed\n")
	s.write("docs/isme/decisions/new.md", "# new\n")
	if err := errors.Join(os.Remove(filepath.Join(s.dir, "docs/isme/decisions/a-b.md")),
		os.Symlink("a.md", filepath.Join(s.dir, "docs/isme/decisions/link.md"))); err != nil {
		t.Fatal(err)
	}
	s.git("add", "-A")
	s.git("update-index", "--chmod=+x", "docs/isme/decisions/new.md")
	s.write("docs/isme/decisions/a.md", "# not staged\n")

	staged, err := r.Staged(ctx, "docs")
	if err != nil {
		t.Fatal(err)
	}
	index, err := g.Storer.Index()
	if err != nil {
		t.Fatal(err)
	}
	var listed, decoded []string
	for _, e := range staged.Entries {
		listed = append(listed, fmt.Sprintf("%q %o %s %d", e.Path, e.Mode, e.ID, e.Stage))
	}
	for _, e := range index.Entries {
		if strings.HasPrefix(e.Name, "docs/") {
			decoded = append(decoded, fmt.Sprintf("%q %o %s %d", e.Name, uint32(e.Mode), e.Hash, e.Stage))
		}
	}
	if !slices.Equal(listed, decoded) {
		t.Errorf("staged:\n%s\ngo-git:\n%s", strings.Join(listed, "\n"), strings.Join(decoded, "\n"))
	}
	for _, e := range staged.Entries {
		text, err := staged.Snapshot().ReadFile(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if id := plumbing.ComputeHash(plumbing.BlobObject, text); id.String() != e.ID {
			t.Errorf("%q: content of blob %s, entry %s", e.Path, id, e.ID)
		}
	}

	// What the commit then holds is what the index was said to hold.
	s.git("commit", "-q", "-m", "staged")
	head, err := g.Head()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := described(t, staged.Snapshot(), "docs"), treeByGoGit(t, g, head.Hash(), "docs"); !slices.Equal(got, want) {
		t.Errorf("staged:\n%s\ncommitted, by go-git:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
