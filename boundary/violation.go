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

	"github.com/go-json-experiment/json/jsontext"

	"assent/finding"
)

// Class says what the host of a model may do after a refusal.
type Class string

const (
	Transient          Class = "transient"           // send the same bytes with the same key again
	InvalidPayload     Class = "invalid-payload"     // send corrected bytes
	UnsupportedRef     Class = "unsupported-ref"     // send corrected bytes
	Grounding          Class = "grounding"           // send corrected bytes
	Policy             Class = "policy"              // wait for a person or a policy
	Stale              Class = "stale"               // start again from a fresh basis
	PartialPersistence Class = "partial-persistence" // run assent recover first
	EffectUnknown      Class = "effect-unknown"      // wait until a probe or a person settles it
)

// rule is what is fixed about a code.
type rule struct {
	stage int
	class Class
	exit  int
	title string
	fix   string // what the host of a model, or a person, does about it
}

// table is every code: its stage, retry class and exit code. Codes of a domain's own rules
// ("<room>/…") belong to stage 5.
var table = map[string]rule{
	"boundary/input-too-large": {1, InvalidPayload, finding.ExitInvalid, "the input has too many bytes", "send less at once"},
	"boundary/too-deep":        {1, InvalidPayload, finding.ExitInvalid, "values are nested too deeply", "follow the fields of the schema"},
	"boundary/too-many-values": {1, InvalidPayload, finding.ExitInvalid, "the input has too many values", "send less at once"},

	"boundary/channel-empty":       {2, InvalidPayload, finding.ExitInvalid, "there is no input", "send the JSON on standard input"},
	"boundary/channel-rejected":    {2, InvalidPayload, finding.ExitInvalid, "the input is not the one JSON value that is taken", "leave prose, code fences and byte order marks away"},
	"boundary/json-syntax":         {2, InvalidPayload, finding.ExitInvalid, "the input is no JSON", "correct it at the place that is named"},
	"boundary/json-truncated":      {2, InvalidPayload, finding.ExitInvalid, "the input ends too early", "send all of it"},
	"boundary/json-trailing":       {2, InvalidPayload, finding.ExitInvalid, "something stands behind the value", "send nothing after it"},
	"boundary/json-duplicate-name": {2, InvalidPayload, finding.ExitInvalid, "an object has a name twice", "keep one of the two"},
	"boundary/json-utf8":           {2, InvalidPayload, finding.ExitInvalid, "a string is not Unicode", "write valid UTF-8 and whole surrogate pairs"},
	"boundary/json-number":         {2, InvalidPayload, finding.ExitInvalid, "a number is not plain and whole", "write digits alone, without fraction or exponent"},

	"boundary/owned-field":   {3, InvalidPayload, finding.ExitInvalid, "the field belongs to the program", "leave it out"},
	"boundary/unknown-field": {3, InvalidPayload, finding.ExitInvalid, "there is no such field", "take the name from the schema, letter by letter"},

	"boundary/missing-field":  {4, InvalidPayload, finding.ExitInvalid, "a required field is missing", "add it"},
	"boundary/type":           {4, InvalidPayload, finding.ExitInvalid, "a value is of another type", "write the type of the schema; null is none"},
	"boundary/enum":           {4, InvalidPayload, finding.ExitInvalid, "a value is not in its vocabulary", "take one of the values that are listed"},
	"boundary/length":         {4, InvalidPayload, finding.ExitInvalid, "a text or list is too short or too long", "keep to the limits that are named"},
	"boundary/range":          {4, InvalidPayload, finding.ExitInvalid, "a number is out of its range", "keep to the limits that are named"},
	"boundary/pattern":        {4, InvalidPayload, finding.ExitInvalid, "a text does not match its pattern", "follow the pattern that is named"},
	"boundary/item-duplicate": {4, InvalidPayload, finding.ExitInvalid, "an item stands twice", "keep one of the two"},
	"boundary/text-unsafe":    {4, InvalidPayload, finding.ExitInvalid, "a text holds what is not shown as it is, or breaks out of its place", "write plain text; for the file's own layout the program sees"},
	"boundary/text-blank":     {4, InvalidPayload, finding.ExitInvalid, "a text is blank", "write something, or leave the field out"},

	"boundary/field-required-here": {5, InvalidPayload, finding.ExitInvalid, "another field makes this one necessary", "add it"},
	"boundary/field-not-here":      {5, InvalidPayload, finding.ExitInvalid, "another field leaves no place for this one", "leave it out"},

	"boundary/ref-unknown":        {6, UnsupportedRef, finding.ExitInvalid, "a reference names nothing", "name something that is there"},
	"boundary/ref-ambiguous":      {6, UnsupportedRef, finding.ExitInvalid, "a reference may mean several things", "write it in full"},
	"boundary/ref-scope":          {6, UnsupportedRef, finding.ExitInvalid, "a reference belongs to something else", "name what belongs to the same scope"},
	"boundary/ref-set-empty":      {6, UnsupportedRef, finding.ExitInvalid, "there is nothing that could be named", "leave the field out, or say why nothing applies"},
	"boundary/coverage-missing":   {6, UnsupportedRef, finding.ExitInvalid, "not everything is accounted for", "name what is listed"},
	"boundary/coverage-duplicate": {6, UnsupportedRef, finding.ExitInvalid, "something is accounted for twice", "name it once"},

	"boundary/ground-path":      {7, Grounding, finding.ExitInvalid, "the path leads to no text of the snapshot", "name a file that is there"},
	"boundary/ground-kind":      {7, Grounding, finding.ExitInvalid, "what is quoted from is no plain text", "quote from a text file"},
	"boundary/ground-short":     {7, Grounding, finding.ExitInvalid, "a quote is too short to prove anything", "quote more, or a whole line"},
	"boundary/ground-not-found": {7, Grounding, finding.ExitInvalid, "a quote does not stand in its source", "copy it from there"},
	"boundary/ground-mid-word":  {7, Grounding, finding.ExitInvalid, "a quote begins or ends inside of a word", "quote whole words"},
	"boundary/ground-ambiguous": {7, Grounding, finding.ExitInvalid, "a quote stands in its source several times", "quote more, so that one place is meant"},
	"boundary/ground-span":      {7, Grounding, finding.ExitInvalid, "the span does not hold the quote once", "give the span that does"},

	"boundary/prov-trust":        {8, Policy, finding.ExitFindings, "the source may not support this", "support it by a better source"},
	"boundary/prov-scope":        {8, Policy, finding.ExitFindings, "the source lies outside of what may be used", "support it by a source inside"},
	"boundary/prov-integrity":    {8, Policy, finding.ExitFindings, "the source is not what it seems", "have a person look at it"},
	"boundary/prov-stale":        {8, Stale, finding.ExitStale, "the source has changed since", "read it again"},
	"boundary/prov-unverifiable": {8, Transient, finding.ExitUnchecked, "the source is not in this clone", "fetch it, then send the same again"},

	"boundary/policy-denied":      {9, Policy, finding.ExitFindings, "a policy says no", "have a person or the policy act"},
	"boundary/approval-required":  {9, Policy, finding.ExitFindings, "a person must say yes first", "have a person say it"},
	"boundary/secret-found":       {9, Policy, finding.ExitFindings, "a text holds a credential", "leave it out, and change it if it is a real one"},
	"boundary/attempts-exhausted": {9, Policy, finding.ExitFindings, "this was refused too often", "stop, and ask a person"},

	"boundary/busy":                 {10, Transient, finding.ExitBusy, "another process is writing", "send the same again"},
	"boundary/revision-stale":       {10, Stale, finding.ExitStale, "it rests on what is not there any more", "start again from what is there now"},
	"boundary/schema-stale":         {10, Stale, finding.ExitStale, "it was made for another schema", "read the schema again"},
	"boundary/schema-version":       {10, Policy, finding.ExitUnchecked, "it has a version that this program does not know", "use the release that wrote it"},
	"boundary/unit-taken":           {10, Stale, finding.ExitStale, "an answer was taken already", "start again from what is there now"},
	"boundary/idempotency-conflict": {10, Stale, finding.ExitStale, "the key was used for another request", "use a key of its own"},

	"boundary/record-invalid": {11, Policy, finding.ExitUnchecked, "the program made a record that breaks its own rules", "report it: this is a fault of the program"},

	"store/persist-failed":  {12, Transient, finding.ExitUnchecked, "writing failed, nothing was changed", "send the same again"},
	"store/recovery-needed": {12, PartialPersistence, finding.ExitUnchecked, "a change was interrupted half-way", "run `assent recover`"},
	"store/conflict":        {12, PartialPersistence, finding.ExitStale, "an interrupted change meets an edit", "run `assent recover`"},
	"store/effect-unknown":  {12, EffectUnknown, finding.ExitStale, "whether an effect happened is not known", "have a person look at it"},
}

// ruleOf is the rule of a code; a domain's own codes have that of stage 5.
func ruleOf(code string) rule {
	if r, ok := table[code]; ok {
		return r
	}
	return rule{stage: 5, class: InvalidPayload, exit: finding.ExitInvalid}
}

// Pos is a place in the input: a byte offset, and a 1-based line and column in runes.
type Pos struct{ Offset, Line, Column int }

// Violation is one thing that is wrong with a payload.
type Violation struct {
	Code     string `json:"code"`
	Stage    int    `json:"stage"`
	Pointer  string `json:"pointer"` // RFC 6901
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
	Expected string `json:"expected,omitzero"`
	Got      string `json:"got,omitzero"` // at most 80 bytes, nothing of a credential
	Hint     string `json:"hint,omitzero"`
	Class    Class  `json:"retry_class"`

	offset int
	exit   int
}

// NewViolation is a violation at a place. Stage, class and exit code follow from the code.
func NewViolation(code, pointer string, at Pos, format string, args ...any) Violation {
	r := ruleOf(code)
	return Violation{Code: code, Stage: r.stage, Class: r.class, exit: r.exit, Pointer: pointer, Line: at.Line, Column: at.Column, offset: at.Offset, Message: fmt.Sprintf(format, args...)}
}

// maxViolations bounds what one refusal lists.
const maxViolations = 200

// Refusal is a payload that was not taken, with everything that is wrong with it. Nothing
// was written.
type Refusal struct {
	Source     string // what the places refer to, such as <stdin>
	Kind       string // "" for what is no submission, such as a configuration
	Example    string // a payload of the kind that would be taken
	Violations []Violation
	Count      int    // of all violations; more than are listed if the list was cut
	Note       string // what happened besides, "" if nothing did

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
	if r.Note != "" {
		fmt.Fprintf(&b, "\n%s", finding.Clean(r.Note))
	}
	return b.String()
}

// Refused is a refusal as a document, with a payload that would be taken.
type Refused struct {
	SchemaVersion int            `json:"schema_version"`
	Kind          string         `json:"kind"`
	Accepted      bool           `json:"accepted"`
	Violations    []Violation    `json:"violations"`
	Count         int            `json:"count"`
	Truncated     bool           `json:"truncated"`
	Note          string         `json:"note,omitzero"`
	Example       jsontext.Value `json:"example"`
	Exit          int            `json:"exit"`
}

// Document is the refusal as a document for programs.
func (r *Refusal) Document() Refused {
	return Refused{1, r.Kind, false, r.Violations, r.Count, r.Count > len(r.Violations), r.Note, jsontext.Value(r.Example), r.exit}
}

// ExitCode is the first present of 3, 2, 4 and 1 over all violations, listed or not; 5
// comes alone.
func (r *Refusal) ExitCode() int { return r.exit }

func exitOf(vs []Violation) int {
	have := map[int]bool{}
	for _, v := range vs {
		have[v.exit] = true
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
	if len(s) > maxSecret {
		s = s[:maxSecret]
	}
	shown := cut(finding.Clean(s))
	if Secret(s) != "" || Secret(shown) != "" {
		return ""
	}
	return shown
}

// cut shortens a text to 80 bytes.
func cut(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "…"
	}
	return s
}
