package repo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// GitVersion is a Git version, as far as features hang on it.
type GitVersion struct{ Major, Minor int }

func (v GitVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Less reports whether v is older than w.
func (v GitVersion) Less(w GitVersion) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// What hangs on the version of Git, and the oldest that serves at all.
var (
	Oldest      = GitVersion{2, 30}
	HookRun     = GitVersion{2, 36}
	ConfigHooks = GitVersion{2, 54}
)

// ParseVersion reads what `git version` prints: "git version 2.39.5 (Apple Git-154)",
// "git version 2.45.1.windows.1", "git version 2.55.GIT".
func ParseVersion(s string) (GitVersion, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(s), "git version ")
	major, rest, ok2 := strings.Cut(text, ".")
	minor := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		minor = rest[:i]
	}
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if !ok || !ok2 || err1 != nil || err2 != nil {
		return GitVersion{}, fmt.Errorf("git version answered %q", s)
	}
	return GitVersion{a, b}, nil
}

// Has reports whether Git is new enough for something, and which version it is. It asks
// once; the paths that every commit takes never do.
func (r *Repo) Has(ctx context.Context, needs GitVersion) (bool, GitVersion, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version == (GitVersion{}) {
		out, err := r.git(ctx, "version")
		if err != nil {
			return false, GitVersion{}, err
		}
		if r.version, err = ParseVersion(string(out)); err != nil {
			return false, GitVersion{}, err
		}
	}
	return !r.version.Less(needs), r.version, nil
}
