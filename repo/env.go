package repo

import (
	"path/filepath"
	"slices"
	"strings"
)

// localVars are the variables that tie an environment to one repository, as
// `git rev-parse --local-env-vars` prints them. Versions differ by a name or two; a test
// holds the list to hold all of Git's.
var localVars = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
	"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
	"GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE",
	"GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX",
}

// pathVars hold paths that are relative to the directory of whoever set them.
var pathVars = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_QUARANTINE_PATH"}

// removed change how a command reads its arguments or what it prints.
var removed = []string{
	"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_LITERAL_PATHSPECS", "GIT_EXTERNAL_DIFF",
	"GIT_DIFF_OPTS", "GIT_PREFIX", "GIT_ATTR_SOURCE", "GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT",
}

// set holds for every git command of ours. Nothing is fetched, asked or paged, no
// optional lock is taken, replaced objects are seen as they are.
var set = []string{
	"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0",
	"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
}

// environment makes the environment of our git commands from the caller's, whose
// working directory is cwd.
func environment(env []string, cwd string) []string {
	drop := func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(removed, name) || strings.HasPrefix(name, "GIT_REDIRECT_") ||
			slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		if drop(kv) {
			continue
		}
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(pathVars, name) && value != "" && !filepath.IsAbs(value) {
			kv = name + "=" + filepath.Join(cwd, value)
		}
		out = append(out, kv)
	}
	return append(out, set...)
}

// withoutLiteral takes the setting out that makes every pathspec literal.
func withoutLiteral(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "GIT_LITERAL_PATHSPECS=") })
}

// Foreign returns env without everything that ties it to one repository, for a process
// that works in another one.
func Foreign(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(localVars, name) || name == "GIT_QUARANTINE_PATH" || strings.HasPrefix(name, "GIT_CONFIG_KEY_") ||
			strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
	})
}

// Variable returns the value of a variable in an environment, "" without one.
func Variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, _ := strings.Cut(env[i], "="); k == name {
			return v
		}
	}
	return ""
}

// AllowFetch lets Git fetch objects that a partial clone lacks: the one form of a question
// that goes over the network.
func (r *Repo) AllowFetch() {
	r.env = slices.DeleteFunc(r.env, func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_NO_LAZY_FETCH=") || kv == "GIT_ALLOW_PROTOCOL=none"
	})
}
