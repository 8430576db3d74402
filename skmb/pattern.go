package skmb

import (
	"slices"
	"strings"
)

// Pattern is one row of the classifier of seed 003, "Pattern Classifier".
type Pattern struct{ Letter, Code, Title string }

// Patterns are the seven kinds of behaviour whose decisions belong to a designer.
var Patterns = []Pattern{
	{"A", "A_async_wait", "Async Wait"},
	{"B", "B_state_persistence", "State Persistence"},
	{"C", "C_concurrent_operations", "Concurrent Operations"},
	{"D", "D_external_dependency", "External Dependency"},
	{"E", "E_security_boundary", "Security Boundary"},
	{"F", "F_fail_semantics", "Fail Semantics"},
	{"G", "G_irreversible_action", "Irreversible Action"},
}

// parsePatterns reads letters or full codes, separated by commas, blanks, slashes, plus
// or ampersand, and returns the sorted letters and the words that are neither.
func parsePatterns(values ...string) (letters, unknown []string) {
	for _, v := range values {
		for _, word := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",;/+& \t\n、，", r) }) {
			if letter, ok := patternLetter(word); ok {
				letters = append(letters, letter)
			} else if !isNone(word) {
				unknown = append(unknown, word)
			}
		}
	}
	slices.Sort(letters)
	return slices.Compact(letters), unknown
}

func patternLetter(word string) (string, bool) {
	head, _, _ := strings.Cut(word, "_")
	head = strings.ToUpper(head)
	return head, len(head) == 1 && head[0] >= 'A' && head[0] <= 'G'
}

// patternCode is the full code of a letter.
func patternCode(letter string) string { return Patterns[letter[0]-'A'].Code }

// isNone reports whether a cell or value says that there is nothing.
func isNone(s string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(s), ".")) {
	case "", "-", "–", "—", "none", "n/a", "pending":
		return true
	}
	return false
}
