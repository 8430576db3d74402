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

func matchParts(pattern, path []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for len(pattern) > 1 && pattern[1] == "**" { // several in a row mean one
				pattern = pattern[1:]
			}
			if len(pattern) == 1 {
				return true
			}
			for i := range path {
				if matchParts(pattern[1:], path[i:]) {
					return true
				}
			}
			return false
		}
		if len(path) == 0 || !matchPart(pattern[0], path[0]) {
			return false
		}
		pattern, path = pattern[1:], path[1:]
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
