// Package finding holds what a check is, what it is given and what it reports.
//
// A Check is a value: adding a rule is adding one value to a domain's list. Its pass
// gives it a Tree, which may be an index, a commit or a directory; a check cannot tell
// which, so the hook and CI cannot disagree. The explanation of a code, the manual and
// the tests are derived from the same list.
package finding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Severity says what a finding does to the exit code.
type Severity int

const (
	Off     Severity = iota
	Info             // shown only when asked for
	Warning          // shown
	Error            // shown, and the gate says no
)

var severityNames = [...]string{"off", "info", "warning", "error"}

func (s Severity) String() string { return severityNames[s] }

// MarshalText writes the name of the severity.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Scope says what of a change a check looks at, and so how often it runs.
type Scope int

const (
	ScopeTree   Scope = iota // the whole tree, once
	ScopeChange              // the net change against the parents, once
	ScopeCommit              // each commit of what is judged
)

func (s Scope) String() string { return [...]string{"tree", "change", "commit"}[s] }

// Check is one rule. Code is "area/kebab-name"; a published code never changes its
// meaning. Run reports through the pass and returns an error only if it could not do
// its work; an error, like a panic, makes the run incomplete, never a pass.
type Check struct {
	Code     string
	Title    string // one line, without a full stop
	Doc      string // what it means, and how to mend it
	Severity Severity
	Scope    Scope
	Fixed    bool   // neither configuration nor baseline may soften it
	Proves   string // what it shows when it finds nothing: one of Proofs
	Run      func(*Pass) error
}

// Proofs are what checks can show (seed 004, "Design Procedure", step 15): that something has its
// form, that its references lead somewhere, that what is quoted stands there, that it comes
// from where it should, that a policy was kept; or nothing, as advice does.
var Proofs = []string{"shape", "wiring", "grounding", "provenance", "policy", "advisory"}

// Tree is the content that is judged. Names are slash-separated and relative to the
// top of the repository. ObjectID is the Git object id of a name, if it has one.
type Tree interface {
	fs.FS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	ObjectID(name string) (string, bool)
}

// Pass is one run of one check.
type Pass struct {
	Ctx     context.Context
	New     Tree
	Parents []Tree
	Changed func() ([]string, error) // paths that differ from every parent; nil: it is not known
	Commits func() ([]Commit, error) // what is judged, oldest first; nil: no commits are
	Commit  *Commit                  // in a check of ScopeCommit, which runs once for each
	Report  func(Finding)
}

// Commit is what a check of ScopeCommit looks at. ID is "" for a commit that is being made.
type Commit struct {
	ID, Tree string
	Parents  []string
	Message  string
}

// Pos is a place in a file: 1-based, columns count runes. The zero Pos is no place.
type Pos struct{ Line, Col int }

// Finding is one thing that a check objects to. Code and Severity are filled from the
// check. Key names the subject (a record id, a row id) for the fingerprint; without one
// the message is taken.
type Finding struct {
	Code     string
	Path     string
	Message  string
	Fix      string // the command or edit that mends it
	Key      string
	Commit   string // id of the commit it is about, in checks of ScopeCommit
	Start    Pos
	End      Pos
	Severity Severity
	Title    string

	Fixed     bool // of the check, or of this finding alone
	Advisory  bool // of a check that proves nothing: never more than a note
	Baselined bool // known from before: shown only when asked for, and blocks nothing
}

// Unchecked is a part of the run that gave no verdict. It makes the exit code 3 unless
// something worse was found.
type Unchecked struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitzero"`
}

// Coder is an error that names the code under which it is reported as unchecked. With a
// method Hint() string it also says what to run.
type Coder interface {
	error
	Code() string
}

// UncheckedBy makes an error the reason why something was not checked: under its own code, or
// as a check that failed.
func UncheckedBy(err error) Unchecked {
	u := Unchecked{Code: "lint/check-failed", Message: err.Error()}
	var coder Coder
	if errors.As(err, &coder) {
		u.Code = coder.Code()
	}
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		u.Fix = hinter.Hint()
	}
	return u
}

// ParseSeverity reads the name of a severity.
func ParseSeverity(s string) (Severity, bool) {
	i := slices.Index(severityNames[:], s)
	return Severity(max(i, 0)), i >= 0
}

// Result is what a run of checks found, sorted by path, place, code and message.
type Result struct {
	Findings  []Finding
	Unchecked []Unchecked
}

// Exit codes of the house.
const (
	ExitOK        = 0 // nothing to object to
	ExitFindings  = 1 // the gate says no
	ExitInvalid   = 2 // input, usage or configuration; nothing was changed
	ExitUnchecked = 3 // could not be checked; never a pass
	ExitStale     = 4 // the world changed since the plan
	ExitBusy      = 5 // another process holds the lock
)

// Exit is the exit code of the result: an error finding comes before an unchecked part.
func (r Result) Exit() int {
	for _, f := range r.Findings {
		if f.Severity == Error && !f.Baselined {
			return ExitFindings
		}
	}
	if len(r.Unchecked) > 0 {
		return ExitUnchecked
	}
	return ExitOK
}

// Count returns the number of findings of a severity, baselined ones left out.
func (r Result) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s && !f.Baselined {
			n++
		}
	}
	return n
}

// Baselined returns the number of findings that the baseline knows.
func (r Result) Baselined() int {
	n := 0
	for _, f := range r.Findings {
		if f.Baselined {
			n++
		}
	}
	return n
}

// Place is "path:line:col" as far as it is known, fit for a terminal.
func (f Finding) Place() string {
	switch {
	case f.Path == "":
		return "repository"
	case f.Start.Line == 0:
		return Name(f.Path)
	}
	return fmt.Sprintf("%s:%d:%d", Name(f.Path), f.Start.Line, f.Start.Col)
}

// Shell is a word for sh that stands for exactly s, for commands that somebody may run as they
// stand. A name that a terminal would not show as it is is escaped as printf has it.
func Shell(s string) string {
	if s != "" && s[0] != '-' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-") == "" {
		return s
	}
	if Clean(s) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("\"$(printf '")
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03o`, s[i])
	}
	return b.String() + "')\""
}

// Name is a path fit for a terminal: as it is, or, where a terminal would not show every byte
// of it, quoted with escapes, so that it is still told exactly.
func Name(path string) string {
	if Clean(path) == path {
		return path
	}
	return strconv.QuoteToGraphic(path)
}
