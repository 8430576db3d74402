package skmb

import (
	"regexp"
	"strings"
)

// signs are words in changed code that make a pattern likely (seed 003, "Pattern
// Classifier"). They are a hint to look, never a verdict.
var signs = map[string]func() *regexp.Regexp{
	"A": word(`await|async|callback|webhook|pending|approval|poll(ing)?|subscribe|promise|wait(ing|for)?|deadline|timeout`),
	"B": word(`persist(ed|ence)?|checkpoint|resume|restore|snapshot|migrat(e|ion)|journal|session|cache|fsync|durable|recover(y)?`),
	"C": word(`mutex|lock(ed|ing)?|semaphore|goroutine|thread|concurren(t|cy)|race|atomic|queue|idempoten(t|cy)|transaction|parallel`),
	"D": word(`http(s|client)?|grpc|api|client|endpoint|request|adapter|smtp|provider|third.?party|fetch`),
	"E": word(`auth(n|z|entication|orization)?|token|permission|role|secret|password|credential|scope|identity|session|csrf|oauth|sudo`),
	"F": word(`retr(y|ies)|fallback|fail(ed|ure|over)?|error|panic|recover|catch|backoff|circuit|degrade|ignore`),
	"G": word(`delete|drop|truncate|send|charge|refund|pay(ment)?|deploy|publish|grant|revoke|commit|purge|irreversib(le|ly)`),
}

func word(alternatives string) func() *regexp.Regexp {
	return lazily(`(?i)(?:^|[^\pL\pN]|_)(` + alternatives + `)(?:$|[^\pL\pN]|_)`)
}

// camel is a border inside a name such as retryCount, where a word may begin.
var camel = lazily(`(\p{Ll})(\p{Lu})`)

// Sign is one changed line that makes a pattern likely.
type Sign struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Word    string `json:"word"`
	Text    string `json:"text"`
}

// AddedLine is one line that a change adds.
type AddedLine struct {
	Path string
	Line int
	Text string
}

// Classify says which patterns a change probably touches, with the lines that say so, in
// the order of the patterns and then of the change.
func Classify(lines []AddedLine) []Sign {
	out := []Sign{}
	for _, p := range Patterns {
		for _, l := range lines {
			text := camel().ReplaceAllString(l.Text, "$1 $2")
			if m := signs[p.Letter]().FindStringSubmatch(text); m != nil {
				out = append(out, Sign{p.Letter, l.Path, l.Line, strings.ToLower(m[1]), strings.TrimSpace(l.Text)})
			}
		}
	}
	return out
}

// AddedLines reads the added lines of a patch (git-diff(1), "generating patch text").
func AddedLines(patch string) []AddedLine {
	var out []AddedLine
	path, line := "", 0
	for text := range strings.Lines(patch) {
		text = strings.TrimRight(text, "\r\n")
		switch {
		case strings.HasPrefix(text, "+++ "):
			path = strings.TrimPrefix(strings.TrimPrefix(text, "+++ "), "b/")
		case strings.HasPrefix(text, "@@ "):
			line = hunkStart(text)
		case strings.HasPrefix(text, "+") && path != "" && path != "/dev/null":
			out = append(out, AddedLine{path, line, text[1:]})
			line++
		}
	}
	return out
}

// hunkStart is the first line of the new side of "@@ -1,2 +3,4 @@".
func hunkStart(header string) int {
	_, after, _ := strings.Cut(header, " +")
	n := 0
	for _, c := range after {
		if c < '0' || c > '9' || n > 1<<30 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}
