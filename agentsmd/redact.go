package agentsmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"assent/boundary"
)

// redactor is one shape of what must not be stored. group is the part of a match that goes.
type redactor struct {
	kind       string
	hints      []string // in small letters; without one of them the shape cannot be there
	expression string
	group      int
}

const privateKey = `-----%s [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`

// redactors take out more than the boundary refuses: what is lost to a reviewer is a word, what
// is kept may be a key.
var redactors = []redactor{
	{"private-key", []string{"private key"}, `(?s)` + fmt.Sprintf(privateKey, "BEGIN") + `.*?(` + fmt.Sprintf(privateKey, "END") + `|$)`, 0},
	{"private-key", []string{"private key"}, `(?s)^[A-Za-z0-9+/=\s]*` + fmt.Sprintf(privateKey, "END"), 0},
	{"service-key", []string{"akia", "asia", "agpa", "aida", "aroa", "gh", "glpat-", "xox", "aiza", "sk-", "sk_", "rk_", "pk_", "npm_", "pypi-", "hf_", "hooks.slack.com"},
		`\b((AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|sk-[A-Za-z0-9_-]{20,}|[srp]k_(live|test)_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{30,}|hooks\.slack\.com/services/[A-Za-z0-9/]+)`, 0},
	{"jwt", []string{"eyj"}, `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, 0},
	{"url-password", []string{"://"}, `(?i)[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@`, 1},
	{"authorization", []string{"authorization"}, `(?i)authorization["']?\s*[:=]\s*["']?((?:(?:basic|bearer|token|digest|negotiate|aws4-hmac-sha256)\s+)?[^\s"']{4,})`, 1},
	{"authorization", []string{"bearer"}, `(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})`, 1},
	{"secret", []string{"password", "passwd", "secret", "token", "api", "private", "credential"},
		`(?i)(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|credential)[a-z0-9_-]*["']?\s*(?::=|=>|=|:)\s*(?:"([^"\n]{8,})"|'([^'\n]{8,})'|([^\s"']{8,}))`, -1},
}

var redactExpressions = sync.OnceValue(func() (out []*regexp.Regexp) {
	for _, r := range redactors {
		out = append(out, regexp.MustCompile(r.expression))
	}
	return out
})

// Redact replaces what looks like a credential by [redacted:KIND], the same each time, and says
// how many it replaced.
func Redact(text string) (string, int) {
	text, n := replaceHits(text, ownHits(text))
	var rest []hit
	for _, s := range boundary.SecretSpans(text) { // whatever a rule could not say is not stored either
		if !strings.Contains(text[s.Start:s.End], "[redacted:") {
			rest = append(rest, hit{s, "secret"})
		}
	}
	text, more := replaceHits(text, rest)
	return text, n + more
}

// hit is a place of a text that goes.
type hit struct {
	boundary.Span
	kind string
}

// ownHits are those of the redactors.
func ownHits(text string) (hits []hit) {
	small := strings.ToLower(text)
	for i, r := range redactors {
		if !slices.ContainsFunc(r.hints, func(h string) bool { return strings.Contains(small, h) }) {
			continue
		}
		for _, m := range redactExpressions()[i].FindAllStringSubmatchIndex(text, -1) {
			if r.group >= 0 {
				hits = append(hits, hit{boundary.Span{Start: m[2*r.group], End: m[2*r.group+1]}, r.kind})
				continue
			}
			for g := 1; 2*g < len(m); g++ { // whichever of the groups matched
				if m[2*g] >= 0 {
					hits = append(hits, hit{boundary.Span{Start: m[2*g], End: m[2*g+1]}, r.kind})
				}
			}
		}
	}
	return hits
}

func replaceHits(text string, hits []hit) (string, int) {
	if len(hits) == 0 {
		return text, 0
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.Start - b.Start })
	var out strings.Builder
	at, n := 0, 0
	for _, h := range hits {
		if strings.HasPrefix(text[h.Start:h.End], "[redacted:") || h.Start < at && h.End <= at {
			continue
		}
		if h.Start >= at {
			out.WriteString(text[at:h.Start] + "[redacted:" + h.kind + "]")
			n++
		}
		at = h.End
	}
	out.WriteString(text[at:])
	return out.String(), n
}

// Limits of a record's text, in bytes: a longer one loses its middle.
const (
	textHead = 48 << 10
	textTail = 16 << 10
	textSeam = 4 << 10 // looked at beyond the cut, for a credential that lies across it
)

// cleanText is a text as it is stored: redacted, and cut to head and tail. cut says how many
// bytes were lost.
func cleanText(text string) (out string, redactions, cut int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= textHead+textTail {
		out, redactions = Redact(text)
		if len(out) <= textHead+textTail {
			return out, redactions, 0
		}
	}
	head, n1 := Redact(text[:border(text, min(len(text), textHead+textSeam))])
	tail, n2 := Redact(text[border(text, max(0, len(text)-textTail-textSeam)):])
	head, tail = head[:border(head, min(len(head), textHead))], tail[border(tail, max(0, len(tail)-textTail)):]
	return head + "\n[…]\n" + tail, n1 + n2, len(text) - len(head) - len(tail)
}

// border moves a place back to where a character begins.
func border(s string, at int) int {
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	return at
}
