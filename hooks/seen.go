package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assent/lint"
	"assent/repo"
	"assent/skmb"
)

// The roots at which this clone has had a base, one a line, so that a base that vanishes
// is noticed.
func seenFile(r *repo.Repo) string { return filepath.Join(Private(r), "cache", "bases") }

func seen(r *repo.Repo) []string {
	b, err := os.ReadFile(seenFile(r))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func remember(r *repo.Repo, t *lint.Target) {
	known := seen(r)
	for _, root := range t.Config.Skmb.Roots {
		if _, err := t.Tree().Stat(skmb.IndexPath(root)); err != nil || slices.Contains(known, root) {
			continue
		}
		if f, err := r.OpenPrivate(seenFile(r), os.O_APPEND); err == nil {
			fmt.Fprintln(f, root)
			f.Close()
		}
	}
}
