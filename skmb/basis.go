package skmb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"gopkg.in/yaml.v3"

	"assent/finding"
)

// A decision basis is the block that an agent writes before it acts (seed 003, "Decision
// Basis Block"), in one of two dialects: lines between <decision_basis> tags, or a fenced
// YAML mapping decision_basis.

// basisKeys are the keys of a block; all but the last are needed.
var basisKeys = []string{"patterns", "context", "decision", "resolved_by", "skmb_ref", "confidence", "applies_to", "permitted"}

// BasisCodes are the findings about blocks and trailers. They are about texts, not trees,
// so they are no checks of a snapshot.
var BasisCodes = []finding.Check{
	basisCode("unreadable", "a decision basis cannot be read", "The block is not closed, a line has no key, or the YAML is none."),
	basisCode("unknown-key", "a decision basis has a key that means nothing", "The keys are patterns, context, decision, resolved_by, skmb_ref, confidence, applies_to, and permitted for a default."),
	basisCode("missing-key", "a decision basis lacks a key", "patterns, context, decision, resolved_by, skmb_ref, confidence and applies_to are all needed."),
	basisCode("value", "a decision basis has a value that means nothing", "resolved_by is designer, statistical_default or pending; confidence is high, medium or low; patterns are A to G."),
	basisCode("ref-missing", "a decision basis cites no record that exists", "resolved_by: designer, and a commit trailer SKMB:, need the id of a record of the base."),
	basisCode("ref-not-accepted", "a decision basis cites a record that is not accepted", "A proposal is no authority. Let the designer decide first: `skmb approve`."),
	basisCode("pattern-mismatch", "a decision basis claims patterns that its record does not have", "A record covers the patterns that it names. Narrow the claim, or have the rest decided."),
	basisCode("pending", "work went on over a pending decision", "A pending block means stop: nothing that depends on it is implemented or committed."),
	basisCode("default-high-impact", "a statistical default where the seed forbids one", "With low confidence, or on patterns B, C, E or G, a default needs the designer's recorded permission: a record made by `skmb permit-default`."),
}

func basisCode(name, title, doc string) finding.Check {
	return finding.Check{Code: "skmb/basis-" + name, Severity: finding.Error, Proves: "wiring", Title: title, Doc: doc}
}

// Basis is one block of a text.
type Basis struct {
	Line   int // of its first line, 1-based
	Values map[string]string
	lines  map[string]int
	broken string // why it cannot be read
}

// ParseBasis finds the blocks of a text. In a transcript of JSON lines the strings of each
// line are searched.
func ParseBasis(text string) []Basis {
	var out []Basis
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(lines[i], "> "), ">") // a quoted block is one too
		line := strings.TrimSpace(lines[i])
		switch tag := strings.ToLower(line); {
		case strings.HasPrefix(line, "{") && strings.Contains(line, "decision_basis"):
			out = append(out, basisInJSON(line, i+1)...)
		case tag == "<decision_basis>":
			b, next := tagged(lines, i)
			out = append(out, b)
			i = next
		case strings.HasPrefix(tag, "<decision_basis>"):
			b := newBasis(i + 1)
			b.broken = "the tags stand on lines of their own"
			out = append(out, b)
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			end := closingFence(lines, i)
			if first := firstKey(lines, i+1, end); first < end && strings.HasPrefix(lines[first], "decision_basis:") {
				out = append(out, fencedBasis(lines[first:end], first+1))
				i = end
			}
		}
	}
	return out
}

// closingFence is the line that closes the fence opened at a line, or the number of lines.
func closingFence(lines []string, open int) int {
	mark := strings.TrimSpace(lines[open])
	n := len(mark) - len(strings.TrimLeft(mark, mark[:1]))
	for i := open + 1; i < len(lines); i++ {
		if t := strings.TrimSpace(lines[i]); len(t) >= n && strings.Trim(t, mark[:1]) == "" {
			return i
		}
	}
	return len(lines)
}

// firstKey is the first line of YAML that is not blank, a comment or the mark of a document.
func firstKey(lines []string, from, to int) int {
	for from < to {
		if l := strings.TrimSpace(lines[from]); l != "" && l != "---" && !strings.HasPrefix(l, "#") {
			break
		}
		from++
	}
	return from
}

func newBasis(line int) Basis {
	return Basis{Line: line, Values: map[string]string{}, lines: map[string]int{}}
}

func tagged(lines []string, open int) (b Basis, end int) {
	b = newBasis(open + 1)
	last := ""
	for i := open + 1; i < len(lines); i++ {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(lines[i], "> "), ">")
		line := strings.TrimSpace(lines[i])
		if strings.EqualFold(line, "</decision_basis>") {
			return b, i
		}
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		indented := strings.TrimLeft(lines[i], " \t") != lines[i]
		switch {
		case indented && last != "" && (!ok || !slices.Contains(basisKeys, fieldKey(key))):
			b.Values[last] = strings.TrimSpace(b.Values[last] + " " + line)
		case !ok:
			b.broken = fmt.Sprintf("line %d has no key", i+1)
		default:
			last = fieldKey(key)
			b.set(last, strings.TrimSpace(value), i+1)
		}
	}
	b.broken = "the block is not closed"
	return b, len(lines)
}

func (b *Basis) set(key, value string, line int) {
	if _, twice := b.Values[key]; twice {
		b.broken = fmt.Sprintf("%s stands twice", key)
	}
	b.Values[key], b.lines[key] = value, line
}

func fencedBasis(lines []string, line int) Basis {
	b := newBasis(line)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(strings.Join(lines, "\n")), &doc); err != nil {
		b.broken = err.Error()
		return b
	}
	if doc.Content[0].Kind != yaml.MappingNode || len(doc.Content[0].Content) != 2 || doc.Content[0].Content[1].Kind != yaml.MappingNode {
		b.broken = "decision_basis is no mapping of its own"
		return b
	}
	m := doc.Content[0].Content[1].Content
	for i := 0; i+1 < len(m); i += 2 {
		var values []string
		switch v := m[i+1]; v.Kind {
		case yaml.ScalarNode:
			values = append(values, v.Value)
		case yaml.SequenceNode:
			for _, item := range v.Content {
				values = append(values, item.Value)
			}
		default:
			b.broken = m[i].Value + " is neither a value nor a list"
		}
		b.set(fieldKey(m[i].Value), strings.Join(strings.Fields(strings.Join(values, ", ")), " "), line+m[i].Line-1)
	}
	return b
}

// basisInJSON searches the strings of one JSON line. Places are those of the line.
func basisInJSON(line string, n int) []Basis {
	var v any
	if json.Unmarshal([]byte(line), &v) != nil {
		return nil
	}
	var out []Basis
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if !strings.HasPrefix(strings.TrimSpace(v), "{") { // no transcript inside a transcript
				out = append(out, ParseBasis(v)...)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, k := range sortedNames(v) {
				walk(v[k])
			}
		}
	}
	walk(v)
	for i := range out {
		out[i].Line, out[i].lines = n, map[string]int{}
	}
	return out
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// BasisSource is a text that may hold blocks.
type BasisSource struct {
	Name    string // path, "<stdin>", or "commit <hash>"
	Text    string
	IsWork  bool   // the text goes with work that was done: a commit message
	Trailer bool   // trailers `SKMB: <id>` count
	Today   string // YYYY-MM-DD; "": no permission is past its review
}

// CheckBasis holds the blocks, and the trailers, of a text against the base. It returns the
// findings and how many blocks and trailers there were.
func (b *Base) CheckBasis(s BasisSource) (out []finding.Finding, seen int) {
	report := func(line int, name, fix, format string, args ...any) {
		i := slices.IndexFunc(BasisCodes, func(c finding.Check) bool { return c.Code == "skmb/basis-"+name })
		c := finding.Check{Code: "skmb/" + name, Title: "a short reference means several records", Severity: finding.Error}
		if i >= 0 {
			c = BasisCodes[i]
		}
		f := finding.Finding{Code: c.Code, Title: c.Title, Severity: c.Severity, Path: s.Name, Message: fmt.Sprintf(format, args...), Fix: fix}
		if line > 0 {
			f.Start = finding.Pos{Line: line, Col: 1}
		}
		out = append(out, f)
	}
	blocks := ParseBasis(s.Text)
	for i, block := range blocks {
		seen++
		b.checkBlock(block, s, s.IsWork || i < len(blocks)-1, report)
	}
	if s.Trailer {
		for _, t := range Trailers(s.Text) {
			seen++
			b.cited(0, t, report)
		}
	}
	return out, seen
}

type basisReport func(line int, name, fix, format string, args ...any)

func (b *Base) checkBlock(block Basis, s BasisSource, wentOn bool, report basisReport) {
	at := func(key string) int {
		if n := block.lines[key]; n > 0 {
			return n
		}
		return block.Line
	}
	if block.broken != "" {
		report(block.Line, "unreadable", "write one key: value a line, and close the block", "the decision basis cannot be read: %s", block.broken)
		return
	}
	for _, key := range sortedKeysOf(block.Values) {
		if !slices.Contains(basisKeys, key) {
			report(at(key), "unknown-key", "leave it out", "%q is no key of a decision basis", short(key))
		}
	}
	for _, key := range basisKeys[:len(basisKeys)-1] {
		if strings.TrimSpace(block.Values[key]) == "" {
			report(block.Line, "missing-key", "add "+key+": …", "the decision basis has no %s", key)
		}
	}
	letters, unknown := parsePatterns(block.Values["patterns"])
	if len(unknown) > 0 {
		report(at("patterns"), "value", "use the letters A to G", "%q is no pattern", short(strings.Join(unknown, " ")))
	}
	confidence := strings.ToLower(block.Values["confidence"])
	if confidence != "" && !slices.Contains([]string{"high", "medium", "low"}, confidence) {
		report(at("confidence"), "value", "write high, medium or low", "the confidence is %q", short(confidence))
	}
	switch by := strings.ToLower(block.Values["resolved_by"]); by {
	case "designer":
		refs := References(block.Values["skmb_ref"])
		if len(refs) == 0 {
			report(at("skmb_ref"), "ref-missing", "cite the record that the designer accepted", "resolved_by is designer, but skmb_ref names no record")
		}
		var covered []string
		all := len(refs) > 0
		for _, ref := range refs {
			if r := b.cited(at("skmb_ref"), ref.Text, report); r != nil {
				covered = append(covered, r.Patterns...)
			} else {
				all = false
			}
		}
		for _, l := range letters {
			if all && !slices.Contains(covered, l) {
				report(at("patterns"), "pattern-mismatch", "narrow the claim, or have the rest decided", "the pattern %s is claimed, but no cited record has it", l)
			}
		}
	case "pending":
		if wentOn {
			report(at("resolved_by"), "pending", "wait for the designer: skmb submit, then skmb approve", "work went on over a decision that is pending: %s", short(block.Values["context"]))
		}
	case "statistical_default":
		b.checkDefault(block, s.Today, letters, confidence, at("resolved_by"), report)
	case "":
	default:
		report(at("resolved_by"), "value", "write designer, statistical_default or pending", "resolved_by is %q", short(by))
	}
}

// checkDefault holds a default to what the seed allows one for ("Statistical Defaults"):
// not about recovery, concurrency, security or what cannot be undone, and not with low
// confidence, unless the designer's permission of the same patterns is recorded, and not past its review.
func (b *Base) checkDefault(block Basis, today string, letters []string, confidence string, line int, report basisReport) {
	why, need := "", []string{}
	for _, l := range letters {
		if strings.Contains("BCEG", l) {
			why, need = "on pattern "+l, append(need, l)
		}
	}
	if confidence == "low" {
		why, need = cmp.Or(why, "with low confidence"), letters
	}
	if why == "" {
		return
	}
	for _, ref := range References(block.Values["skmb_ref"] + " " + block.Values["permitted"]) {
		r, ok := b.Record(ref.Text)
		if !ok || r.fields == nil || r.Status != StatisticalDefault || !isDesigner(r.value("permitted_by")) {
			continue
		}
		by := r.value("review_by")
		missing := slices.IndexFunc(need, func(l string) bool { return !slices.Contains(r.Patterns, l) })
		switch {
		case missing >= 0:
			report(line, "default-high-impact", "skmb permit-default ID --review-by DATE for a record of these patterns", "%s permits no default on pattern %s", r.ID, need[missing])
		case today != "" && validDate(by) && by < today:
			report(line, "default-high-impact", "skmb permit-default "+r.ID+" --review-by DATE", "the permission of %s was to be reviewed by %s", r.ID, by)
		}
		return
	}
	report(line, "default-high-impact", "let the designer permit it: skmb permit-default ID --review-by DATE", "a statistical default %s, and skmb_ref names no permission of the designer", why)
}

// cited returns the accepted record that a reference names, or reports why there is none.
func (b *Base) cited(line int, ref string, report basisReport) *Record {
	ids := b.resolve(ref)
	switch {
	case len(ids) > 1:
		report(line, "ambiguous-reference", "write the id in full", "%s may mean %s", ref, strings.Join(slices.Sorted(slices.Values(ids)), " or "))
		return nil
	case len(ids) == 0 || b.byID[ids[0]] == nil:
		report(line, "ref-missing", "cite a record of the base", "%s is no record of the base", short(ref))
		return nil
	}
	r := b.byID[ids[0]]
	if r.Status != Accepted {
		report(line, "ref-not-accepted", "skmb approve "+r.ID, "%s is %s", r.ID, r.Status)
		return nil
	}
	return r
}

func sortedKeysOf(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Trailers returns the ids of the `SKMB:` trailers of a commit message. What trailers are is
// Git's rule (git-interpret-trailers(1)): the last paragraph, if all of its lines are trailers,
// or a quarter of them are and one is Git's own. A block of conflicts at the end does not
// count as a paragraph.
func Trailers(message string) []string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(message, "\r\n", "\n"), " \t\n"), "\n")
	block := lastParagraph(lines)
	if len(block) > 0 && strings.HasPrefix(block[0], "Conflicts:") {
		block = lastParagraph(lines[:len(lines)-len(block)])
	}
	if len(block) == 0 {
		return nil
	}
	var out []string
	trailers, others, own := 0, 0, false
	for _, line := range block {
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimRight(key, " \t")
		switch {
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"): // goes on with the line above
			continue
		case strings.HasPrefix(line, "(cherry picked from commit "):
			trailers, own = trailers+1, true
			continue
		case !ok || key == "" || strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "":
			others++
			continue
		}
		trailers++
		own = own || key == "Signed-off-by"
		if strings.EqualFold(key, "SKMB") {
			out = append(out, strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })...)
		}
	}
	if others > 0 && (!own || trailers*3 < others) {
		return nil
	}
	return out
}

// lastParagraph is what follows the last blank line; nothing if there is no blank line, for
// then it is the subject.
func lastParagraph(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) == "" {
			return lines[i+1:]
		}
	}
	return nil
}

// CommitChecks hold the trailers of each commit message against the bases of the tree: a
// commit must not claim a decision that nobody made.
func CommitChecks(o Options) []finding.Check {
	var out []finding.Check
	for _, code := range []string{trailerMissing, "skmb/basis-ref-not-accepted"} {
		c := BasisCodes[slices.IndexFunc(BasisCodes, func(c finding.Check) bool { return c.Code == code })]
		c.Scope = finding.ScopeCommit
		c.Run = func(p *finding.Pass) error { return checkTrailers(p, o.Roots, c) }
		out = append(out, c)
	}
	return out
}

// trailerMissing is the code of a trailer that names no one record; one that may mean several does not.
const trailerMissing = "skmb/basis-ref-missing"

// checkTrailers reports the trailers that no base answers for: a record may stand in any of
// them, and what is wrong with it is said by the last one that knows it.
func checkTrailers(p *finding.Pass, roots []string, c finding.Check) error {
	name := "commit message"
	if p.Commit.ID != "" {
		name = "commit " + p.Commit.ID[:min(len(p.Commit.ID), 10)]
	}
	for _, ref := range Trailers(p.Commit.Message) {
		said := []finding.Finding{{Code: trailerMissing, Message: short(ref) + " is no record: there is no base", Fix: "leave the trailer out"}}
		for _, root := range roots {
			b, err := Load(p.New, root)
			if err != nil {
				return err
			}
			if b == nil {
				continue
			}
			found, _ := b.CheckBasis(BasisSource{Name: name, Text: "x\n\nSKMB: " + ref, Trailer: true})
			if len(found) > 0 && found[0].Code == "skmb/ambiguous-reference" {
				found[0].Code = trailerMissing
			}
			if said[0].Code == trailerMissing || len(found) == 0 {
				if said = found; len(found) == 0 {
					break
				}
			}
		}
		if len(said) > 0 && said[0].Code == c.Code {
			p.Report(finding.Finding{Message: fmt.Sprintf("%s, trailer SKMB: %s", name, said[0].Message), Key: p.Commit.ID + " " + ref, Fix: said[0].Fix})
		}
	}
	return nil
}

// BasisBlock is the block that cites an accepted record.
func (r *Record) BasisBlock() string {
	var codes []string
	for _, l := range r.Patterns {
		codes = append(codes, patternCode(l))
	}
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	list := func(s string) string {
		var items []string
		for l := range strings.Lines(s) {
			if t := strings.TrimLeft(strings.TrimSpace(l), "-*0123456789. "); t != "" {
				items = append(items, t)
			}
		}
		return strings.Join(items, ", ")
	}
	context := r.Section("Context")
	if context == "" {
		context = r.value("scope") + ": " + r.Title
	}
	return fmt.Sprintf("<decision_basis>\npatterns: %s\ncontext: %s\ndecision: %s\nresolved_by: designer\nskmb_ref: %s\nconfidence: high\napplies_to: %s\n</decision_basis>\n",
		strings.Join(codes, ", "), line(context), line(r.Section("Decision")), r.ID, line(list(r.Section("Applies To"))))
}
