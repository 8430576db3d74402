package repo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tree that changes would give is the one that Git writes, over many random changes:
// files that become directories and back, directories that vanish, names that sort oddly.
func TestTreeWith(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSandbox(t, "--object-format="+format)
			r := s.open()
			random := rand.New(rand.NewPCG(1, 2))
			names := []string{"a", "a-b", "a.b", "a/b", "a/b/c", "a0", "b/x", "b/y/z", "b-", "c/d/e/f", "z"}
			for round := range 30 {
				for range 4 {
					name := names[random.IntN(len(names))]
					file := filepath.Join(s.dir, filepath.FromSlash(name))
					if random.IntN(3) == 0 {
						os.RemoveAll(file)
						continue
					}
					for dir := filepath.Dir(file); dir != s.dir; dir = filepath.Dir(dir) {
						if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
							os.Remove(dir)
						}
					}
					os.RemoveAll(file)
					if random.IntN(5) == 0 {
						os.MkdirAll(filepath.Dir(file), 0o755)
						os.Symlink("somewhere", file)
						continue
					}
					s.write(name, fmt.Sprint(random.IntN(1000)))
					if random.IntN(4) == 0 {
						os.Chmod(file, 0o755)
					}
				}
				s.git("add", "-A")
				head, err := r.HeadCommit()
				if round > 0 && err != nil {
					t.Fatal(err)
				}
				base := head.ID
				if base == "" {
					base = emptyTree[format]
				}
				changes, err := r.DiffIndex(context.Background(), base)
				if err != nil {
					t.Fatal(err)
				}
				got, err := r.TreeWith(head.Tree, changes)
				if want := strings.TrimSpace(s.git("write-tree")); err != nil || got != want && !(len(changes) == 0 && head.Tree == "") {
					t.Fatalf("round %d: %s, %v; Git writes %s", round, got, err, want)
				}
				s.git("commit", "-q", "--allow-empty", "-m", fmt.Sprint(round))
			}
		})
	}
}
