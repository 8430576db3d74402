// Package boundary is the only way in for text that a model wrote: one JSON value, judged
// whole, taken whole or refused whole, with every violation named at its place.
//
// Seed 004 is its source; the codes, their stages and retry classes are one table here.
package boundary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assent/finding"
)

// Class says what the host of a model may do after a refusal.
type Class string

const (
	Transient          Class = "transient"           // send the same bytes again
	InvalidPayload     Class = "invalid-payload"     // send corrected bytes
	UnsupportedRef     Class = "unsupported-ref"     // send corrected bytes
	Grounding          Class = "grounding"           // send corrected bytes
	Policy             Class = "policy"              // wait for a person or a policy
	Stale              Class = "stale"               // start again from a fresh basis
	PartialPersistence Class = "partial-persistence" // run assent recover first
)

// rule is what is fixed about a code.
type rule struct {
	stage int
	class Class
	exit  int
}

// table is every code: its stage, retry class and exit code. Codes of a domain's own rules
// ("<room>/…") belong to stage 5.
var table = map[string]rule{
	"boundary/input-too-large":      {1, InvalidPayload, finding.ExitInvalid},
	"boundary/too-deep":             {1, InvalidPayload, finding.ExitInvalid},
	"boundary/too-many-values":      {1, InvalidPayload, finding.ExitInvalid},
	"boundary/channel-empty":        {2, InvalidPayload, finding.ExitInvalid},
	"boundary/channel-rejected":     {2, InvalidPayload, finding.ExitInvalid},
	"boundary/json-syntax":          {2, InvalidPayload, finding.ExitInvalid},
	"boundary/json-truncated":       {2, InvalidPayload, finding.ExitInvalid},
	"boundary/json-trailing":        {2, InvalidPayload, finding.ExitInvalid},
	"boundary/json-duplicate-name":  {2, InvalidPayload, finding.ExitInvalid},
	"boundary/json-utf8":            {2, InvalidPayload, finding.ExitInvalid},
	"boundary/json-number":          {2, InvalidPayload, finding.ExitInvalid},
	"boundary/owned-field":          {3, InvalidPayload, finding.ExitInvalid},
	"boundary/unknown-field":        {3, InvalidPayload, finding.ExitInvalid},
	"boundary/missing-field":        {4, InvalidPayload, finding.ExitInvalid},
	"boundary/type":                 {4, InvalidPayload, finding.ExitInvalid},
	"boundary/enum":                 {4, InvalidPayload, finding.ExitInvalid},
	"boundary/length":               {4, InvalidPayload, finding.ExitInvalid},
	"boundary/range":                {4, InvalidPayload, finding.ExitInvalid},
	"boundary/pattern":              {4, InvalidPayload, finding.ExitInvalid},
	"boundary/item-duplicate":       {4, InvalidPayload, finding.ExitInvalid},
	"boundary/text-unsafe":          {4, InvalidPayload, finding.ExitInvalid},
	"boundary/text-blank":           {4, InvalidPayload, finding.ExitInvalid},
	"boundary/ref-unknown":          {6, UnsupportedRef, finding.ExitInvalid},
	"boundary/ref-ambiguous":        {6, UnsupportedRef, finding.ExitInvalid},
	"boundary/ground-kind":          {7, Grounding, finding.ExitInvalid},
	"boundary/ground-short":         {7, Grounding, finding.ExitInvalid},
	"boundary/ground-not-found":     {7, Grounding, finding.ExitInvalid},
	"boundary/ground-mid-word":      {7, Grounding, finding.ExitInvalid},
	"boundary/ground-ambiguous":     {7, Grounding, finding.ExitInvalid},
	"boundary/ground-span":          {7, Grounding, finding.ExitInvalid},
	"boundary/policy-denied":        {9, Policy, finding.ExitFindings},
	"boundary/secret-found":         {9, Policy, finding.ExitFindings},
	"boundary/busy":                 {10, Transient, finding.ExitBusy},
	"boundary/revision-stale":       {10, Stale, finding.ExitStale},
	"boundary/idempotency-conflict": {10, Stale, finding.ExitStale},
	"boundary/record-invalid":       {11, Policy, finding.ExitUnchecked},
	"store/persist-failed":          {12, Transient, finding.ExitUnchecked},
	"store/recovery-needed":         {12, PartialPersistence, finding.ExitUnchecked},
	"store/conflict":                {12, PartialPersistence, finding.ExitStale},
}

func ruleOf(code string) rule {
	if r, ok := table[code]; ok {
		return r
	}
	return rule{5, InvalidPayload, finding.ExitInvalid}
}

// Pos is a place in the input: a byte offset, and a 1-based line and column in runes.
type Pos struct{ Offset, Line, Column int }

// Violation is one thing that is wrong with a payload.
type Violation struct {
	Code    string `json:"code"`
	Stage   int    `json:"stage"`
	Pointer string `json:"pointer"` // RFC 6901
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
	Got     string `json:"got,omitzero"` // at most 80 bytes
	Class   Class  `json:"retry_class"`

	offset int
}

func newViolation(code, pointer string, at Pos, format string, args ...any) Violation {
	r := ruleOf(code)
	return Violation{Code: code, Stage: r.stage, Class: r.class, Pointer: pointer, Line: at.Line, Column: at.Column, offset: at.Offset, Message: fmt.Sprintf(format, args...)}
}

// maxViolations bounds what one refusal lists.
const maxViolations = 200

// Refusal is a payload that was not taken, with everything that is wrong with it. Nothing
// was written.
type Refusal struct {
	Source     string // what the places refer to, such as <stdin>
	Violations []Violation
	Count      int // of all violations; more than are listed if the list was cut

	exit int
}

func refuse(source string, vs []Violation) *Refusal {
	order := make([]int, len(vs)) // sorted in place of vs: a hostile payload has a hundred thousand
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(vs[a].offset-vs[b].offset, strings.Compare(vs[a].Code, vs[b].Code), a-b)
	})
	r := &Refusal{Source: source, Count: len(vs), exit: exitOf(vs)}
	for _, i := range order[:min(len(order), maxViolations)] {
		r.Violations = append(r.Violations, vs[i])
	}
	return r
}

// Error has one line for a violation, and one for its hint: names and values of the input
// break none.
func (r *Refusal) Error() string {
	var b strings.Builder
	for i, v := range r.Violations {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s %s: %s", r.Source, v.Line, v.Column, v.Code, finding.Clean(cmp.Or(v.Pointer, "/")), finding.Clean(v.Message))
		if v.Got != "" {
			fmt.Fprintf(&b, " (got %s)", v.Got)
		}
		if v.Hint != "" {
			fmt.Fprintf(&b, "\n  hint: %s", finding.Clean(v.Hint))
		}
	}
	if r.Count > len(r.Violations) {
		fmt.Fprintf(&b, "\nand %d more", r.Count-len(r.Violations))
	}
	return b.String()
}

// ExitCode is the first present of 3, 2, 4 and 1 over all violations, listed or not; 5
// comes alone.
func (r *Refusal) ExitCode() int { return r.exit }

func exitOf(vs []Violation) int {
	have := map[int]bool{}
	for _, v := range vs {
		have[ruleOf(v.Code).exit] = true
	}
	for _, code := range []int{finding.ExitUnchecked, finding.ExitInvalid, finding.ExitStale, finding.ExitFindings} {
		if have[code] {
			return code
		}
	}
	return finding.ExitBusy
}

// sample is what was found, cut and cleaned for a message; nothing of a credential.
func sample(s string) string {
	if Secret(s) != "" {
		return ""
	}
	return cut(finding.Clean(s))
}

// cut shortens a text to 80 bytes.
func cut(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "…"
	}
	return s
}
