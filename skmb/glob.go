package skmb

import "strings"

// matchPath reports whether a path pattern covers a path. `*` and `?` stay inside one
// component, `**` stands for any number of components, and a pattern that names a
// directory covers everything below it.
func matchPath(pattern, path string) bool {
	pattern = strings.Trim(strings.TrimPrefix(strings.TrimSpace(pattern), "./"), "/")
	if pattern == "" {
		return false
	}
	return matchParts(strings.Split(pattern, "/"), strings.Split(path, "/"))
}

// matchParts goes back to the last `**` only, as matchPart does to the last star: what
// follows a `**` is best found as early as it can be.
func matchParts(pattern, path []string) bool {
	p, n, stars, mark := 0, 0, -1, 0
	for p < len(pattern) {
		switch {
		case pattern[p] == "**":
			stars, mark = p, n
			p++
		case n < len(path) && matchPart(pattern[p], path[n]):
			p++
			n++
		case stars >= 0 && mark < len(path):
			mark++
			p, n = stars+1, mark
		default:
			return false
		}
	}
	return true // what is left of the path lies below the directory that was named
}

// matchPart matches one component. It goes back to the last star only, so its cost is the
// product of the two lengths at worst.
func matchPart(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
