package boundary

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath is the most bytes of a path from outside.
const maxPath = 1024

// PlainPath says why a text is no plain path below the top of a repository, "" if it is one:
// relative, slash-separated, valid UTF-8, without empty parts, dots for directories,
// backslashes, colons, control or invisible characters, without a part that ends in a dot or
// a blank, and without any spelling of .git that some file system takes for it.
func PlainPath(s string) string {
	switch {
	case s == "" || len(s) > maxPath:
		return "must have 1 to 1024 bytes"
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsAny(s, `\:`):
		return "holds a backslash or a colon"
	}
	if why := Unsafe(s, "line"); why != "" {
		return why
	}
	for part := range strings.SplitSeq(s, "/") {
		switch {
		case part == "":
			return "has an empty part, or begins or ends with a slash"
		case part == "." || part == "..":
			return "has a part that is " + part
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			return "has a part that ends in a dot or a blank"
		case isGit(part):
			return "leads into the Git directory"
		}
	}
	return ""
}

// isGit reports whether some file system takes a name for .git: letter case does not count on
// several, ignorable characters on one, and another knows it by a short name (git-fsck(1),
// hasDotgit).
func isGit(part string) bool {
	bare := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, part)
	return bare == ".git" || bare == "git~1"
}

// denied are names of files that hold credentials: nothing of them is ever quoted.
var denied = []string{".env*", "*.pem", "*.key", "*.p12", "id_rsa*", "id_ed25519*", "id_ecdsa*", ".netrc"}

// DeniedPath reports whether a path names a file that holds credentials, by its name in any
// letter case. A directory of such a name is denied with all that is in it.
func DeniedPath(s string) bool {
	for part := range strings.SplitSeq(strings.ToLower(s), "/") {
		for _, pattern := range denied {
			if ok, _ := path.Match(pattern, part); ok {
				return true
			}
		}
	}
	return false
}
