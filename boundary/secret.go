package boundary

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// detector is one form of a credential. What it says of a place is refused in a submission; only
// makes it one that is no more than redacted.
type detector struct {
	kind       string   // in the text that takes the credential's place
	name       string   // in a refusal
	hints      []string // in small letters; without one of them the form cannot be there
	expression string
	groups     []int                   // of the value, of which one matches; none: all of the match
	counts     func(value string) bool // whether a value is refused: an identifier or a word is not
	only       bool
	whole      bool // a key of a service: what is before it is no letter or digit, and it has shortestKey bytes
}

const (
	secretName = `(^|[^a-z0-9])(token|secret|passwd|password|pwd|api[_-]?key|access[_-]?key|client[_-]?secret|private[_-]?key|credential)`
	wideName   = `(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|credential)[a-z0-9_-]*\\*["']?\s*(?::=|=>|=|:)\s*`

	// secretEnd is what may stand behind a value: otherwise it goes on, and is code.
	secretEnd = `=*(["'\s,;&)]|\.(\s|$)|$)`

	privateKeyEnd = `-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`
)

var secretWords = []string{"token", "secret", "passwd", "password", "pwd", "api", "access", "private", "credential"}

// maxSecret is the most bytes that are looked at: no field may be longer, so that a longer text
// is refused for its length.
const maxSecret = 64 << 10

// services are the forms of keys that their issuers document, each with what it begins with, in
// small letters. A word could look like one of the forms that begin as words do: without a digit it
// is not refused.
var services = []struct {
	hints      []string
	expression string
}{
	// clouds
	{[]string{"akia", "asia", "agpa", "aida", "aroa"}, `(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}`},
	{[]string{"aiza"}, `AIza[A-Za-z0-9_-]{35}`},
	{[]string{"ya29."}, `ya29\.[A-Za-z0-9_-]{20,}`},
	{[]string{"gocspx-"}, `GOCSPX-[A-Za-z0-9_-]{20,}`},
	{[]string{"accountkey=", "sharedaccesskey="}, `(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}=*`},
	{[]string{"dop_v1_", "doo_v1_", "dor_v1_"}, `do[opr]_v1_[a-f0-9]{40,}`},
	{[]string{"hvs."}, `hvs\.[A-Za-z0-9_-]{20,}`},
	// forges
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, `gh[pousr]_[A-Za-z0-9]{20,}`},
	{[]string{"github_pat_"}, `github_pat_[A-Za-z0-9_]{22,}`},
	{[]string{"glpat-", "glrt-", "gldt-", "glptt-", "glcbt-", "glsoat-"}, `gl(?:pat|rt|dt|ptt|cbt|soat)-[A-Za-z0-9_-]{20,}`},
	{[]string{"atbb", "atatt3"}, `(?:ATBB[A-Za-z0-9]{24,}|ATATT3[A-Za-z0-9_=-]{40,})`},
	// chats
	{[]string{"xox"}, `xox[abeprs]-[A-Za-z0-9-]{10,}`},
	{[]string{"xapp-"}, `xapp-[0-9]-[A-Za-z0-9-]{20,}`},
	{[]string{"hooks.slack.com"}, `hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{16,}`},
	{[]string{"/api/webhooks/"}, `discord(?:app)?\.com/api/webhooks/[0-9]{15,}/[A-Za-z0-9_-]{30,}`},
	{[]string{"discord"}, `[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`},
	{[]string{":aa"}, `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`}, // Telegram
	// payment
	{[]string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"}, `[srp]k_(?:live|test)_[A-Za-z0-9]{16,}`},
	{[]string{"whsec_"}, `whsec_[A-Za-z0-9+/]{24,}`},
	{[]string{"sq0"}, `sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}`},
	{[]string{"access_token$"}, `access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}`},
	{[]string{"shpat_", "shpca_", "shppa_", "shpss_"}, `shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}`},
	// packages
	{[]string{"npm_"}, `npm_[A-Za-z0-9]{30,}`},
	{[]string{"pypi-"}, `pypi-[A-Za-z0-9_-]{16,}`},
	{[]string{"rubygems_"}, `rubygems_[a-f0-9]{40,}`},
	{[]string{"dckr_pat_", "dckr_oat_"}, `dckr_[po]at_[A-Za-z0-9_-]{20,}`},
	{[]string{"cio"}, `cio[A-Za-z0-9]{32}`}, // crates
	// models
	{[]string{"sk-"}, `sk-[A-Za-z0-9_-]{20,}`},
	{[]string{"hf_"}, `hf_[A-Za-z0-9]{30,}`},
	{[]string{"gsk_"}, `gsk_[A-Za-z0-9]{30,}`},
	{[]string{"r8_"}, `r8_[A-Za-z0-9]{30,}`},
	{[]string{"xai-"}, `xai-[A-Za-z0-9]{30,}`},
	{[]string{"pplx-"}, `pplx-[A-Za-z0-9]{30,}`},
	// mail and telephone
	{[]string{"sg."}, `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},
	{[]string{"sk"}, `SK[a-f0-9]{32}`}, // Twilio
}

// detectors find credentials by their shape. Words alone, "password" or "secretary", never
// match: a decision may be about them. Those that are redacted only come last, and take more: what
// is lost to a reader is a word, what is kept may be a key. They look through the backslashes of a text
// in JSON, to any depth.
var detectors = func() (out []detector) {
	for _, s := range services {
		d := detector{kind: "service-key", name: "a key of a known service", hints: s.hints, expression: s.expression, whole: true}
		if slices.Contains(s.hints, "sk-") || slices.Contains(s.hints, "cio") || slices.Contains(s.hints, "pypi-") {
			d.counts = hasDigit
		}
		out = append(out, d)
	}
	return append(out, []detector{
		{kind: "jwt", name: "a JSON Web Token", hints: []string{"eyj"}, expression: `(?:^|[^A-Za-z0-9])(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})`, groups: []int{1}},
		{kind: "private-key", name: "a private key", hints: []string{"private key"}, expression: `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?:[A-Z ]*-----(?s:.*?)(?:` + privateKeyEnd + `|$))?`},
		{kind: "secret", name: "a named secret", hints: secretWords, expression: `(?i)` + secretName + `["']?=["']?([A-Za-z0-9+/_-]{12,})` + secretEnd, groups: []int{3}},
		{kind: "secret", name: "a named secret", hints: secretWords, expression: `(?i)` + secretName + `["']?\s*(=|:|:=|=>)\s*["']?([A-Za-z0-9+/_-]{8,})` + secretEnd, groups: []int{4},
			counts: func(v string) bool { return hasDigit(v) && strings.Trim(v, "0123456789+/_-") != "" }},
		{kind: "authorization", name: "an authorization header", hints: []string{"authorization"}, expression: `(?i)(^|[^a-z-])(proxy-)?authorization\s*:\s*((basic|bearer|token|digest|negotiate)\s+\S{8,})`, groups: []int{3}},
		{kind: "authorization", name: "a bearer token", hints: []string{"bearer"}, expression: `(?i)(^|[^a-z])bearer\s+([A-Za-z0-9._~+/-]{16,})=*`, groups: []int{2}, counts: hasDigit},
		{kind: "url-password", name: "a password in a URL", hints: []string{"://"}, expression: `(?i)[a-z][a-z0-9+.-]*://[^/\s:@]+:([^/\s@]+)@`, groups: []int{1}},

		{only: true, kind: "private-key", hints: []string{"private key"}, expression: `^[A-Za-z0-9+/=\s]*` + privateKeyEnd},
		{only: true, kind: "jwt", hints: []string{"eyj"}, expression: `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`},
		{only: true, kind: "url-password", hints: []string{"://"}, expression: `(?i)[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@`, groups: []int{1}},
		{only: true, kind: "authorization", hints: []string{"authorization"}, expression: `(?i)authorization\\*["']?\s*[:=]\s*\\*["']?((?:(?:basic|bearer|token|digest|negotiate|aws4-hmac-sha256)\s+)?[^\s"']{4,})`, groups: []int{1}},
		{only: true, kind: "authorization", hints: []string{"bearer"}, expression: `(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})`, groups: []int{1}},
		{only: true, kind: "secret", hints: secretWords, expression: `(?i)` + wideName + `(?:\\*"([^"\n]{8,})"|\\*'([^'\n]{8,})'|([^\s"']{8,}))`, groups: []int{1, 2, 3}},
	}...)
}()

// expressions are compiled when they are first asked for: most texts ask for none.
var expressions = func() []func() *regexp.Regexp {
	out := make([]func() *regexp.Regexp, len(detectors))
	for i, d := range detectors {
		out[i] = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(d.expression) })
	}
	return out
}()

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// Secret says what kind of credential a text seems to hold, "" if none. It does not repeat
// the credential.
func Secret(text string) string {
	if len(text) > maxSecret || len(text) < 12 {
		return ""
	}
	for d := range credentials(text, false) {
		return d.name
	}
	return ""
}

// credentials finds the places of a text that detectors object to: all, or those that a submission
// is refused for.
func credentials(text string, all bool) iter.Seq2[*detector, Span] {
	return func(yield func(*detector, Span) bool) {
		small, keys := strings.ToLower(text), longestWord(text) >= shortestKey
		for i := range detectors {
			d := &detectors[i]
			if d.only && !all || d.whole && !keys || !slices.ContainsFunc(d.hints, func(h string) bool { return strings.Contains(small, h) }) {
				continue
			}
			for _, m := range expressions[i]().FindAllStringSubmatchIndex(text, -1) {
				at := Span{m[0], m[1]}
				if d.whole && at.Start > 0 && isAlnum(text[at.Start-1]) {
					continue
				}
				for _, g := range d.groups {
					if m[2*g] >= 0 {
						at = Span{m[2*g], m[2*g+1]}
					}
				}
				if (all || d.counts == nil || d.counts(text[at.Start:at.End])) && !yield(d, at) {
					return
				}
			}
		}
	}
}

// shortestKey is the least bytes of a key of a service.
const shortestKey = 15

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// longestWord is how many bytes stand without a blank between them, at most.
func longestWord(s string) (most int) {
	n := 0
	for i := range len(s) {
		if n++; s[i] <= ' ' {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// redacted is what the text that takes a credential's place begins with.
const redacted = "[redacted:"

// Redact replaces what looks like a credential by [redacted:KIND], the same each time, and says how
// many it replaced. Whatever Secret objects to goes, and more.
func Redact(text string) (string, int) {
	type hit struct {
		Span
		kind string
	}
	var hits []hit
	for d, at := range credentials(text, true) {
		if !strings.Contains(text[at.Start:at.End], redacted) {
			hits = append(hits, hit{at, d.kind})
		}
	}
	if len(hits) == 0 {
		return text, 0
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.Start - b.Start })
	var out strings.Builder
	at, n := 0, 0
	for _, h := range hits {
		if h.End <= at {
			continue
		}
		if h.Start >= at {
			out.WriteString(text[at:h.Start] + redacted + h.kind + "]")
			n++
		}
		at = h.End
	}
	out.WriteString(text[at:])
	return out.String(), n
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
