package boundary_test

import (
	"strings"
	"testing"

	"assent/boundary"
)

func TestPaths(t *testing.T) {
	for _, good := range []string{"a", "docs/isme/SKMB.md", " lead", "-rf", "$(x)", "a b/c", "décision/日本.md", ".github/x", "git", "x.git/y", ".gitignore", "...a", strings.Repeat("a/", 511) + "a"} {
		if why := boundary.PlainPath(good); why != "" {
			t.Errorf("%q %s", good, why)
		}
	}
	for _, bad := range []string{"", "/", "/etc/passwd", "a//b", "a/", "./a", "a/./b", "..", "a/../b", `a\b`, "C:x", "a:b", "new\nline", "a\x00", "a\u202eb", "trail ", "trail.", "a./b", "a /b",
		".git", ".git/config", "x/.GIT/y", ".g\u200cit/config", ".\u200dgit", "git~1/config", "GIT~1", "\xff", strings.Repeat("a", 1025)} {
		if boundary.PlainPath(bad) == "" {
			t.Errorf("%q is taken", bad)
		}
	}
	for path, want := range map[string]bool{
		".env": true, "a/.env.local": true, "k/server.PEM": true, "id_rsa": true, "id_ed25519.pub": true, "x/.netrc": true, "a.key": true, ".envs/x": true,
		"env": false, "docs/keys.md": false, "key": false, "my_id_rsa.md": false,
	} {
		if boundary.DeniedPath(path) != want {
			t.Errorf("%s: denied %v", path, !want)
		}
	}
}
