package skmb

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"

	"assent/finding"
	"assent/markdown"
)

// Limits of the files of a base, in bytes.
const (
	maxIndex    = 8 << 20
	maxDecision = 1 << 20
)

// fields are the keys of a decision file that mean something. Other keys are kept.
var fields = []string{
	"status", "decided_by", "approval_source", "approval", "date", "commit", "commits", "patterns", "scope", "paths",
	"review_by", "permitted_by", "supersedes", "superseded_by", "recorded_by",
}

// approvedSections belong to the approved text; two of one name would leave open which.
var approvedSections = []string{"decision", "applies to", "supersedes"}

// Record is one decision file.
type Record struct {
	Path   string // from the top of the repository
	ID     string
	Title  string
	Status Status
	Tail   string // what follows the first word of the status
	Known  bool   // the status is one of the lifecycle

	Patterns    []string // sorted letters
	UnknownWord []string // in the patterns field
	Paths       []string

	replaces []Reference // what supersedes found

	doc      *markdown.Document
	head     markdown.Span // the field block: from the title to the first section
	title    markdown.Span
	fields   map[string]field
	sections map[string]section
}

type field struct {
	key   string // as written
	value string
	items []string
	span  markdown.Span // of the value
	item  markdown.Span // of the whole list item
	front bool          // it stands in YAML front matter
}

type section struct {
	title string
	body  markdown.Span
}

// problem is something that could not be read, with its place.
type problem struct {
	code, path, message, fix, key string
	pos                           finding.Pos
}

// parseRecord reads one decision file. A file that cannot be read gives a problem and a
// record that has at least its path.
func parseRecord(name string, data []byte) (*Record, *problem) {
	r := &Record{Path: name}
	unreadable := func(off int, format string, args ...any) (*Record, *problem) {
		r.fields = nil // half of a file says nothing
		p := &problem{code: "skmb/unreadable", path: name, message: fmt.Sprintf(format, args...), pos: finding.Pos{Line: 1, Col: 1}}
		if r.doc != nil {
			p.pos = r.pos(off)
		}
		return r, p
	}
	if p := unreadableBytes(name, data, maxDecision); p != nil {
		return r, p
	}
	doc, err := markdown.Parse(data)
	if err != nil {
		p := limitProblem(name, err)
		return r, p
	}
	r.doc = doc
	sections := doc.Sections()
	i := slices.IndexFunc(sections, func(s markdown.Section) bool { return s.Level == 1 })
	if i < 0 {
		return unreadable(0, "there is no title: the file must begin with `# <ID>: <Title>`")
	}
	var ok bool
	if r.ID, r.Title, ok = cutTitle(sections[i].Title); !ok {
		r.ID = ""
		return unreadable(sections[i].Heading.Start, "the title %q does not begin with an id: write `# SKMB-YYYY-MM-DD-NNN: <Title>`", short(sections[i].Title))
	}
	r.title = sections[i].Heading
	r.head = markdown.Span{Start: r.title.End, End: sections[i].Body.End}
	r.sections = map[string]section{}
	for _, s := range sections[i+1:] {
		if s.Level == 2 {
			if len(r.sections) == 0 {
				r.head.End = s.Heading.Start
			}
			key := strings.ToLower(s.Title)
			if _, twice := r.sections[key]; !twice {
				r.sections[key] = section{s.Title, s.Body}
			} else if slices.Contains(approvedSections, key) {
				return unreadable(s.Heading.Start, "the section %q stands twice", s.Title)
			}
		}
	}
	if off, err := r.readFields(); err != nil {
		return unreadable(off, "%v", err)
	}
	r.Status, r.Tail, r.Known = parseStatus(r.ID, r.value("status"))
	f := r.fields["patterns"]
	r.Patterns, r.UnknownWord = parsePatterns(append([]string{f.value}, f.items...)...)
	r.Paths = listValue(r.fields["paths"])
	r.replaces = r.readSupersedes()
	return r, nil
}

func listValue(f field) []string {
	out := slices.Clone(f.items)
	for v := range strings.SplitSeq(f.value, ",") {
		if !isNone(v) {
			out = append(out, strings.TrimSpace(v))
		}
	}
	return out
}

func (r *Record) readFields() (off int, err error) {
	r.fields = map[string]field{}
	if front, ok := r.doc.FrontMatter(); ok {
		if off, err := r.readFrontMatter(front); err != nil {
			return off, err
		}
	}
	for _, f := range r.doc.Fields(r.head) {
		key := fieldKey(f.Key)
		if f.Key == "" {
			word := strings.ToLower(f.Value)
			if end := strings.IndexFunc(word, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' }); end >= 0 {
				word = word[:end]
			}
			if slices.Contains(fields, word) {
				return f.Item.Start, fmt.Errorf("%q is no field: write `- %s: value`", short(f.Value), word)
			}
			continue
		}
		if _, twice := r.fields[key]; twice && slices.Contains(fields, key) {
			return f.Item.Start, fmt.Errorf("the field %s stands twice", key)
		}
		r.fields[key] = field{key: f.Key, value: f.Value, items: f.Items, span: f.Raw, item: f.Item}
	}
	return 0, nil
}

// readFrontMatter takes the same keys from YAML front matter.
func (r *Record) readFrontMatter(front markdown.Span) (off int, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(front.In(r.doc.Source()), &doc); err != nil {
		return front.Start, fmt.Errorf("the front matter is no YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return 0, nil
	}
	m := doc.Content[0]
	if m.Kind != yaml.MappingNode {
		return front.Start, fmt.Errorf("the front matter is no YAML mapping")
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := fieldKey(m.Content[i].Value), m.Content[i+1]
		end := front.End
		if i+2 < len(m.Content) {
			end = nodeOffset(r.doc.Source(), front.Start, m.Content[i+2])
		}
		f := field{front: true, span: valueSpan(r.doc.Source(), front.Start, end, m.Content[i], value)}
		switch value.Kind {
		case yaml.ScalarNode:
			f.value = strings.Join(strings.Fields(value.Value), " ")
		case yaml.SequenceNode:
			for _, v := range value.Content {
				f.items = append(f.items, v.Value)
			}
		}
		if _, twice := r.fields[key]; twice {
			return front.Start, fmt.Errorf("the field %s stands twice in the front matter", key)
		}
		r.fields[key] = f
	}
	return 0, nil
}

// nodeOffset is where a YAML node begins that was read from an offset on. YAML counts
// lines from 1 and columns in runes.
func nodeOffset(src []byte, from int, n *yaml.Node) int {
	for range n.Line - 1 {
		i := bytes.IndexByte(src[from:], '\n')
		if i < 0 {
			return len(src)
		}
		from += i + 1
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(src[from:])
		from += size
	}
	return from
}

// valueSpan is the text of a value, which ends before limit: comments and blanks behind
// it are no part of it. The reader of YAML says only where a value begins; whoever changes
// one must look at the result.
func valueSpan(src []byte, from, limit int, key, value *yaml.Node) markdown.Span {
	start := nodeOffset(src, from, value)
	if value.Kind == yaml.ScalarNode && value.Value == "" && value.Style == 0 { // nothing behind the colon
		start = nodeOffset(src, from, key)
		start += bytes.IndexByte(src[start:], ':') + 1
		return markdown.Span{Start: start, End: start}
	}
	end := max(start, min(limit, len(src)))
	text := src[start:end]
	switch {
	case value.Kind == yaml.ScalarNode && value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		for i := 1; i < len(text); i++ {
			if text[i] == '\\' && text[0] == '"' || text[i] == '\'' && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'' {
				i++
			} else if text[i] == text[0] {
				text = text[:i+1]
			}
		}
	case value.Kind == yaml.ScalarNode && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		if i := plainEnd().FindIndex(text); i != nil {
			text = text[:i[0]]
		}
	default:
		for {
			text = bytes.TrimRight(text, " \t\r\n")
			i := bytes.LastIndexByte(text, '\n') + 1
			if i == 0 || text[i] != '#' {
				break
			}
			text = text[:i]
		}
	}
	return markdown.Span{Start: start, End: start + len(bytes.TrimRight(text, " \t\r\n"))}
}

// plainEnd is the comment that ends a plain scalar.
var plainEnd = lazily(`[ \t\n]#`)

// fieldKey is a key in its one spelling: lower case, blanks and dashes as underscores.
func fieldKey(s string) string {
	return separators.Replace(strings.ToLower(strings.TrimSpace(s)))
}

var separators = strings.NewReplacer(" ", "_", "-", "_")

// value returns the text of a field, a nested list joined by commas, "" without it.
func (r *Record) value(key string) string {
	f := r.fields[key]
	if len(f.items) > 0 && f.value == "" {
		return strings.Join(f.items, ", ")
	}
	return f.value
}

// Field returns the text of a field of the decision file, "" without it.
func (r *Record) Field(key string) string { return r.value(key) }

// Section returns the text under a level-2 heading: LF line ends, blanks at line ends
// and blank lines around it cut.
func (r *Record) Section(title string) string {
	s, ok := r.sections[strings.ToLower(title)]
	if !ok {
		return ""
	}
	return sectionText(s.body.In(r.doc.Source()))
}

func sectionText(b []byte) string {
	lines := strings.Split(string(b), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// pos is the place of a byte offset of the record's file.
func (r *Record) pos(off int) finding.Pos { return docPos(r.doc, off) }

func docPos(d *markdown.Document, off int) finding.Pos {
	line, col := d.Position(off)
	return finding.Pos{Line: line, Col: col}
}

// at is the place of a field, or of the title if the field is absent.
func (r *Record) at(key string) finding.Pos {
	if r.doc == nil {
		return finding.Pos{Line: 1, Col: 1}
	}
	if f, ok := r.fields[key]; ok {
		return r.pos(f.span.Start)
	}
	return r.pos(r.title.Start)
}

// supersedes returns what the record says it replaces, from the field and the section,
// each once.
func (r *Record) supersedes() []Reference { return r.replaces }

// readSupersedes finds them: code, quotes and comments name nothing.
func (r *Record) readSupersedes() (out []Reference) {
	f := r.fields["supersedes"]
	all := replaced(f.value)
	for _, item := range f.items {
		all = append(all, replaced(item)...)
	}
	if s, ok := r.sections["supersedes"]; ok {
		for _, p := range r.doc.Paragraphs() {
			if !p.Quote && p.At >= s.body.Start && p.At < s.body.End {
				all = append(all, replaced(p.Lines...)...)
			}
		}
	}
	seen := map[Reference]bool{}
	for _, ref := range all {
		if !seen[ref] {
			out = append(out, ref)
		}
		seen[ref] = true
	}
	return out
}

var (
	inlineComment = lazily(`<!--.*?(-->|$)`)
	// naming is a line that says no more than what is replaced, each reference in it being an §, or
	// that and what a title follows.
	naming = lazily(`^(?i:(supersedes|replaces|取代|替代)?[\s:：]*§([\s,;、/&+§]|and|和)*([.。]|[:：—–-].*)?)?$`)
)

// replaced are the references of a paragraph. A line of references names what is replaced; from the
// first line on that is prose, they are mentioned, and nothing of them goes as a whole.
func replaced(lines ...string) (out []Reference) {
	prose := false
	for _, line := range lines {
		line = markdown.PlainText([]byte(inlineComment().ReplaceAllString(line, "")))
		prose = prose || !naming().MatchString(referenceForm().ReplaceAllString(line, "§"))
		for _, ref := range References(line) {
			ref.Partial = ref.Partial || prose
			out = append(out, ref)
		}
	}
	return out
}

var hashForm = lazily(`\b[0-9a-f]{7,64}\b`)

// hashes returns the sorted set of commit hashes in a text that may hold words too. A
// word of letters only, or a number, is no hash.
func hashes(text string) []string {
	var out []string
	for _, h := range hashForm().FindAllString(strings.ToLower(text), -1) {
		if strings.ContainsAny(h, "0123456789") && strings.ContainsAny(h, "abcdef") || len(h) >= 40 {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// approvedText is what an approval covers. Its RFC 8785 form is hashed.
type approvedText struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Patterns   []string `json:"patterns"`
	Scope      string   `json:"scope"`
	Paths      []string `json:"paths"`
	Decision   string   `json:"decision"`
	AppliesTo  string   `json:"applies_to"`
	Supersedes []string `json:"supersedes"`
}

// ApprovedText returns the canonical JSON of what a designer approves. Changes outside
// of it are editorial and void no approval.
func (r *Record) ApprovedText() []byte {
	t := approvedText{
		ID: r.ID, Title: r.Title, Patterns: r.Patterns, Scope: r.value("scope"), Paths: r.Paths,
		Decision: r.Section("Decision"), AppliesTo: r.Section("Applies To"), Supersedes: []string{},
	}
	for _, ref := range r.supersedes() {
		text := ref.Text
		if ref.Partial { // from a part to the whole is another decision
			text += " (partial)"
		}
		t.Supersedes = append(t.Supersedes, text)
	}
	slices.Sort(t.Supersedes)
	t.Supersedes = slices.Compact(t.Supersedes)
	b, err := json.Marshal(t)
	if err == nil {
		err = (*jsontext.Value)(&b).Canonicalize()
	}
	if err != nil {
		panic("skmb: approved text of strings does not encode: " + err.Error()) // text was checked to be UTF-8
	}
	return b
}

// Digest is the SHA-256 of the approved text, in hex.
func (r *Record) Digest() string {
	sum := sha256.Sum256(r.ApprovedText())
	return hex.EncodeToString(sum[:])
}

// Approval is the record's approval field: "<method> sha256:<digest> [<id>]".
type Approval struct{ Method, Digest, RecordID string }

func parseApproval(s string) (a Approval, ok bool) {
	f := strings.Fields(s)
	if len(f) < 2 || len(f) > 3 {
		return a, false
	}
	digest, ok := strings.CutPrefix(f[1], "sha256:")
	if !ok || len(digest) != 64 {
		return a, false
	}
	a = Approval{Method: f[0], Digest: digest}
	if len(f) == 3 {
		a.RecordID = f[2]
	}
	return a, true
}

func (a Approval) String() string {
	return strings.TrimSpace(a.Method + " sha256:" + a.Digest + " " + a.RecordID)
}

func unreadableBytes(name string, data []byte, limit int) *problem {
	p := &problem{code: "skmb/unreadable", path: name, pos: finding.Pos{Line: 1, Col: 1}}
	switch {
	case len(data) > limit:
		p.message, p.key = fmt.Sprintf("the file has %d bytes, more than %d", len(data), limit), "size"
	case !utf8.Valid(data):
		i := 0
		for i < len(data) {
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			i += n
		}
		p.pos.Line += strings.Count(string(data[:i]), "\n")
		p.message, p.key = fmt.Sprintf("byte %d is not UTF-8", i), "UTF-8"
	case slices.Contains(data, 0):
		p.message = "the file holds a NUL byte"
	default:
		return nil
	}
	return p
}

func limitProblem(name string, err error) *problem {
	p := &problem{code: "skmb/unreadable", path: name, message: err.Error(), pos: finding.Pos{Line: 1, Col: 1}}
	if limit, ok := err.(*markdown.LimitError); ok {
		p.message, p.pos.Line = limit.Limit, limit.Line
	}
	return p
}

// short is a text of a file as a message quotes it: made fit for a terminal, and cut.
func short(s string) string {
	s = finding.Clean(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
