package skmb

import (
	"regexp"
	"strings"
	"sync"
)

// An id is SKMB-YYYY-MM-DD-NNN, SKMB-YYYY-MM-DD-slug, or OPEN-NNN. A reference may be
// shorter: SKMB-019 for the one record whose number is 019, and 005/007 for several
// numbers of one date.
var (
	idForm        = lazily(`^(?:SKMB-\d{4}-\d{2}-\d{2}-(?:\d{3,}|[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)|OPEN-\d{3,})$`)
	referenceForm = lazily(`\b(?:SKMB-\d{4}-\d{2}-\d{2}-[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|SKMB-\d{3,}|OPEN-\d{3,})(?:/\d{3,})*`)
)

// lazily compiles an expression when it is first asked for: most commits need none, and
// every start of the program would pay for all of them.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// ValidID reports whether s is a full id.
func ValidID(s string) bool { return idForm().MatchString(s) }

// isOpen reports whether the id names a question, not a decision.
func isOpen(id string) bool { return strings.HasPrefix(id, "OPEN-") }

// cutTitle splits a decision file's heading "<ID>: <Title>".
func cutTitle(heading string) (id, title string, ok bool) {
	id, title, ok = strings.Cut(heading, ":")
	if !ok { // a title is wanted, but the id alone is readable
		id = heading
	}
	id = strings.TrimSpace(id)
	return id, strings.TrimSpace(title), ValidID(id)
}

// Reference is one mention of an id in a text.
type Reference struct {
	Text    string // as written, list forms taken apart
	Partial bool   // "partial" or "partially" stands on the same line
}

// References returns the ids that a text mentions, in order, each line on its own.
func References(text string) []Reference {
	var out []Reference
	for line := range strings.Lines(text) {
		partial := strings.Contains(strings.ToLower(line), "partial") || strings.Contains(line, "部分")
		for _, m := range referenceForm().FindAllString(line, -1) {
			first, more, _ := strings.Cut(m, "/")
			out = append(out, Reference{first, partial})
			if stem := first[:strings.LastIndexByte(first, '-')+1]; more != "" {
				for n := range strings.SplitSeq(more, "/") {
					out = append(out, Reference{stem + n, partial})
				}
			}
		}
	}
	return out
}
