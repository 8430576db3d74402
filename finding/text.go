package finding

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Report is what the writers print: the result of a run and what was looked at.
type Report struct {
	Result
	Tool     string // version of the program
	Mode     string // staged, worktree, commit, range
	Base     string // revision the change is measured against, if it has a name
	Head     string
	Files    int
	Commits  int
	Verbose  bool     // text: info findings too
	Color    bool     // text
	Summary  bool     // text: the closing line that says what was examined
	Open     int      // text: questions that nobody has answered, shown in that line
	FailOn   Severity // from which severity on the gate says no; Off: Error
	LastHint string
	Rules    []Check  // what ran
	Notes    []string // text: what to know of the run, shown beside findings or a summary
	Proofs   bool     // text and JSON: what the checks that ran show
}

// Proof is how many checks that show one thing ran, and what they found.
type Proof struct {
	Proves   string `json:"proves"`
	Checks   int    `json:"checks"`
	Findings int    `json:"findings"` // errors and warnings that are not baselined
}

// Proved sums up what the checks of a run show. What a run could not check it did not show.
func (r Report) Proved() []Proof {
	var out []Proof
	for _, name := range Proofs {
		p := Proof{Proves: name}
		for _, c := range r.Rules {
			if c.Proves != name || c.Run == nil {
				continue
			}
			p.Checks++
			for _, f := range r.Findings {
				if f.Code == c.Code && f.Severity >= Warning && !f.Baselined {
					p.Findings++
				}
			}
		}
		out = append(out, p)
	}
	return out
}

// Exit is the exit code of the run.
func (r Report) Exit() int {
	if r.FailOn == Warning && r.Count(Error)+r.Count(Warning) > 0 {
		return ExitFindings
	}
	return r.Result.Exit()
}

// WriteText prints a finding a line, `path:line:col: severity code: message`, each with
// its hint, and ends with LastHint, the action that mends the whole.
func WriteText(w io.Writer, r Report) error {
	b := bufio.NewWriter(w)
	for _, f := range r.Findings {
		if (f.Severity == Info || f.Baselined) && !r.Verbose {
			continue
		}
		known := ""
		if f.Baselined {
			known = " (baselined)"
		}
		fmt.Fprintf(b, "%s: %s%s %s: %s\n", f.Place(), paint(r.Color, f.Severity), known, f.Code, Clean(f.Message))
		if f.Fix != "" {
			fmt.Fprintf(b, "  hint: %s\n", Clean(f.Fix))
		}
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(b, "not checked: %s: %s\n", u.Code, Clean(u.Message))
		if u.Fix != "" {
			fmt.Fprintf(b, "  hint: %s\n", Clean(u.Fix))
		}
	}
	if r.Summary || b.Buffered() > 0 {
		for _, n := range r.Notes {
			fmt.Fprintf(b, "note: %s\n", Clean(n))
		}
	}
	if r.Proofs {
		for _, p := range r.Proved() {
			fmt.Fprintf(b, "%-10s  %s, %s\n", p.Proves, Count(p.Checks, "check"), Count(p.Findings, "finding"))
		}
	}
	if r.Summary {
		r.writeSummary(b)
	}
	if r.LastHint != "" {
		fmt.Fprintln(b, Clean(r.LastHint))
	}
	return b.Flush()
}

// writeSummary is the closing line: what was seen, and how it stands.
func (r Report) writeSummary(w io.Writer) {
	fmt.Fprintf(w, "examined %s", Count(r.Files, "file"))
	if r.Commits > 0 {
		fmt.Fprintf(w, ", %s", Count(r.Commits, "commit"))
	}
	fmt.Fprintf(w, ": %s, %s", Count(r.Count(Error), "error"), Count(r.Count(Warning), "warning"))
	if n := r.Baselined(); n > 0 {
		fmt.Fprintf(w, ", %d baselined", n)
	}
	if n := len(r.Unchecked); n > 0 {
		fmt.Fprintf(w, ", %d not checked", n)
	}
	if r.Open > 0 {
		fmt.Fprintf(w, ", %s", Count(r.Open, "open question"))
	}
	fmt.Fprintln(w)
}

// Count is a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func paint(color bool, s Severity) string {
	if !color {
		return s.String()
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", [...]string{"0", "36", "33", "31"}[s], s)
}

// Clean makes text of files, models and Git fit for a terminal: escape sequences,
// control characters, bidirectional controls and other invisible characters are taken
// out, line breaks become spaces, bytes that are not UTF-8 become U+FFFD.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == 0x2028 || r == 0x2029:
			return ' '
		case Unsafe(r):
			return -1
		}
		return r
	}, dropEscapes(strings.ToValidUTF8(s, "�")))
}

// CleanLines is Clean that keeps line breaks and tabs, for texts of several lines.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(Clean(strings.ReplaceAll(l, "\t", "    ")), "\t", "    ")
	}
	return strings.Join(lines, "\n")
}

func isClean(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// dropEscapes removes ANSI escape sequences whole, so that their letters do not stay.
func dropEscapes(s string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		s = after[escapeLength(after):]
	}
}

// escapeLength is how much of s belongs to an escape sequence whose ESC stands before it
// (ECMA-48). What breaks a sequence off is not part of it, and a string without an end is
// none: a sequence must not hide more text than it has.
func escapeLength(s string) int {
	run := func(from int, low, high byte) int {
		for from < len(s) && low <= s[from] && s[from] <= high {
			from++
		}
		return from
	}
	end, final := run(0, 0x20, 0x2f), byte(0x30) // intermediates, then one final byte
	switch {
	case strings.HasPrefix(s, "["): // CSI: parameters and intermediates, then one final byte
		end, final = run(1, 0x20, 0x3f), 0x40
	case s != "" && strings.IndexByte("]P_^X", s[0]) >= 0: // strings, ended by BEL or ESC \
		stop := strings.IndexAny(s, "\a\x1b")
		switch {
		case stop >= 0 && s[stop] == '\a':
			return stop + 1
		case stop >= 0 && strings.HasPrefix(s[stop:], "\x1b\\"):
			return stop + 2
		}
		return 1
	}
	if end < len(s) && final <= s[end] && s[end] <= 0x7e {
		end++
	}
	return end
}

// Unsafe reports whether a character is a control, a bidirectional control, a tag or
// another invisible character, or a noncharacter: something that can hide or forge text.
func Unsafe(r rune) bool {
	switch {
	case unicode.Is(unicode.Cc, r),
		r == 0x061c, r == 0x180e, r == 0xfeff,
		r >= 0x200b && r <= 0x200f,
		r >= 0x2028 && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f,
		r >= 0xfff9 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe007f,
		r >= 0xfdd0 && r <= 0xfdef,
		r&0xfffe == 0xfffe:
		return true
	}
	return false
}
