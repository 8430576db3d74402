package agentsmd

import (
	"context"
	"os"
	"testing"
	"time"

	"assent/repo"
)

// gitIn runs git in a directory, with a configuration of its own.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Designer", "GIT_AUTHOR_EMAIL=designer@example.com", "GIT_COMMITTER_NAME=Designer", "GIT_COMMITTER_EMAIL=designer@example.com"}
	out, err := repo.Run(context.Background(), repo.Command{Name: "git", Args: append([]string{"-c", "init.defaultBranch=main"}, args...), Dir: dir, Env: env, Timeout: time.Minute})
	if err != nil || out.Code != 0 {
		t.Fatalf("git %v: %v, %d\n%s", args, err, out.Code, out.Stderr)
	}
	return string(out.Stdout)
}
