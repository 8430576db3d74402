package boundary

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// detector is one form of a credential. group is the value in the match, and counts says
// whether it looks like one: an identifier or a word does not.
type detector struct {
	name       string
	hints      []string // in small letters; without one of them the form cannot be there
	expression string
	group      int
	counts     func(value string) bool
	compiled   func() *regexp.Regexp
}

const secretName = `(^|[^a-z0-9])(token|secret|passwd|password|pwd|api[_-]?key|access[_-]?key|client[_-]?secret)`

var secretWords = []string{"token", "secret", "passwd", "password", "pwd", "api", "access"}

// maxSecret is the most bytes that are looked at: no field may be longer, so that a longer text
// is refused for its length.
const maxSecret = 64 << 10

// secretEnd is what may stand behind a value: otherwise it goes on, and is code.
const secretEnd = `=*(["'\s,;&)]|\.(\s|$)|$)`

// detectors find credentials by their shape. Words alone, "password" or "secretary", never
// match: a decision may be about them.
var detectors = []detector{
	{name: "a key of a known service", hints: []string{"akia", "asia", "agpa", "aida", "aroa", "gh", "glpat-", "xox", "aiza", "sk-", "eyj"}, expression: `(^|[^A-Za-z0-9])((AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|sk-[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})`,
		group: 2, counts: func(v string) bool { return !strings.HasPrefix(v, "sk-") || hasDigit(v) }},
	{name: "a private key", hints: []string{"private key"}, expression: `-----BEGIN [A-Z ]*PRIVATE KEY`},
	{name: "a named secret", hints: secretWords, expression: `(?i)` + secretName + `["']?=["']?([A-Za-z0-9+/_-]{12,})` + secretEnd},
	{name: "a named secret", hints: secretWords, expression: `(?i)` + secretName + `["']?\s*(=|:|:=|=>)\s*["']?([A-Za-z0-9+/_-]{12,})` + secretEnd,
		group: 4, counts: func(v string) bool { return hasDigit(v) && strings.Trim(v, "0123456789+/_-") != "" }},
	{name: "an authorization header", hints: []string{"authorization"}, expression: `(?i)(^|[^a-z-])(proxy-)?authorization\s*:\s*(basic|bearer|token|digest|negotiate)\s+\S{8,}`},
	{name: "a bearer token", hints: []string{"bearer"}, expression: `(?i)(^|[^a-z])bearer\s+([A-Za-z0-9._~+/-]{16,})=*`, group: 2, counts: hasDigit},
	{name: "a password in a URL", hints: []string{"://"}, expression: `(?i)[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@`},
}

func init() {
	for i := range detectors {
		expression := detectors[i].expression
		detectors[i].compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	}
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// Secret says what kind of credential a text seems to hold, "" if none. It does not repeat
// the credential.
func Secret(text string) string {
	if len(text) > maxSecret {
		return ""
	}
	for s := range secretSpans(text) {
		return s
	}
	return ""
}

// SecretSpans are the places of a text of any length that Secret objects to.
func SecretSpans(text string) (out []Span) {
	for _, at := range secretSpans(text) {
		out = append(out, at)
	}
	return out
}

// secretSpans finds kind and place of what looks like a credential.
func secretSpans(text string) iter.Seq2[string, Span] {
	return func(yield func(string, Span) bool) {
		if len(text) < 12 {
			return
		}
		small := strings.ToLower(text)
		for _, d := range detectors {
			if !slices.ContainsFunc(d.hints, func(h string) bool { return strings.Contains(small, h) }) {
				continue
			}
			for _, m := range d.compiled().FindAllStringSubmatchIndex(text, -1) {
				at := Span{m[2*d.group], m[2*d.group+1]}
				if (d.counts == nil || d.counts(text[at.Start:at.End])) && !yield(d.name, at) {
					return
				}
			}
		}
	}
}

// secrets are the violations of a value that holds credentials: their place, never their text.
func secrets(n *Node, pointer string) []Violation {
	var vs []Violation
	if n.Kind == String {
		if what := Secret(n.Text); what != "" {
			v := NewViolation("boundary/secret-found", pointer, n.Pos, "holds %s", what)
			v.Hint = "leave it out, and change it if it is a real one: it was shown to a program that it is not for"
			vs = append(vs, v)
		}
	}
	for _, m := range n.Members {
		vs = append(vs, secrets(m, PointerTo(pointer, m.Name))...)
	}
	for i, item := range n.Items {
		vs = append(vs, secrets(item, PointerTo(pointer, strconv.Itoa(i)))...)
	}
	return vs
}
