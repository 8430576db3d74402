package agentsmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/markdown"
)

// FileName is the one file that rules are written to, at the top of a project or in the home of
// the agent.
const FileName = "AGENTS.md"

// Heading is what a new block begins with.
const Heading = "## Learned working preferences"

// markerNames are ours and those of earlier tools, whose blocks are taken over.
var markerNames = []string{"agentsmd", "auto-preference-learner", "auto-optimize-codex-agents-md"}

func marker(name, end string) string { return "<!-- " + name + ":" + end + " -->" }

// anyMarker is what looks like a marker: a comment that begins with the name of one, whatever
// its case, spacing, or the text behind it.
var anyMarker = lazily(`(?i)<!--[\s\pZ]*(` + strings.Join(markerNames, "|") + `)[\s\pZ]*:[\s\pZ]*(start|end)\b`)

// Rule is one bullet of the block.
type Rule struct {
	Text  string // as it is written, lines joined
	Lines markdown.Span
	Plain bool // one paragraph: what has more stays as it is
	mark  byte
}

// Key is the form in which rules are compared.
func (r Rule) Key() string { return Norm(r.Text) }

// Block is the managed block of a file. The zero Block with a nil Body is a file that has none.
type Block struct {
	src        []byte
	doc        *markdown.Document
	Present    bool
	Legacy     string // name of an earlier tool's markers; "" for ours
	Start, End markdown.Span
	Rules      []Rule
	Foreign    []markdown.Span // lines that are neither heading, blank nor a rule
	Outside    bool            // our heading stands outside of the block
	heading    int             // where a first rule would go; -1 without our heading
}

// Body is what stands between the marker lines.
func (b *Block) Body() []byte { return b.src[b.Start.End:b.End.Start] }

// Keys are the rules in the form in which they are compared, in order.
func (b *Block) Keys() []string {
	var out []string
	for _, r := range b.Rules {
		out = append(out, r.Key())
	}
	return out
}

// Has reports whether a rule of a key stands in the block.
func (b *Block) Has(key string) bool { return slices.Contains(b.Keys(), key) }

// Position is the 1-based line and column of an offset of the file.
func (b *Block) Position(off int) (line, col int) { return b.doc.Position(off) }

// maxFile bounds a file that rules are written to.
const maxFile = 256 << 10

// ParseBlock reads the managed block of a file. Half a pair, two pairs, and what nearly is a
// marker are a Fault, block-malformed, that names each place: it never reads as absent, so that
// no second block grows beside half a first.
func ParseBlock(path string, src []byte) (*Block, error) {
	switch {
	case len(src) > maxFile:
		return nil, fault("target-unreadable", "", "%s has more than %d bytes", path, maxFile)
	case !utf8.Valid(src):
		return nil, fault("target-unreadable", "", "%s is not UTF-8", path)
	case bytes.IndexByte(src, 0) >= 0:
		return nil, fault("target-unreadable", "", "%s holds a NUL", path)
	case bytes.IndexByte(src, '\r') >= 0 && bytes.IndexByte(src, '\n') < 0:
		return nil, fault("line-endings", "", "%s ends its lines with CR alone", path)
	}
	d, err := markdown.Parse(src)
	if err != nil {
		return nil, fault("target-unreadable", "", "%s: %v", path, err)
	}
	b := &Block{src: src, doc: d, heading: -1}
	type place struct {
		name, end string
		lines     markdown.Span
	}
	var real []place
	var odd []string
	at := func(off int) string {
		line, col := d.Position(off)
		return fmt.Sprintf("%s:%d:%d", path, line, col)
	}
	for _, h := range d.HTML() {
		known := false
		if h.Comment && h.Alone {
			for _, name := range markerNames {
				for _, end := range []string{"start", "end"} {
					if h.Text == marker(name, end) {
						real, known = append(real, place{name, end, h.Lines}), true
					}
				}
			}
		}
		if known {
			continue
		}
		for _, m := range anyMarker().FindAllIndex(h.Lines.In(src), -1) {
			odd = append(odd, at(h.Lines.Start+m[0])+": this is nearly a marker")
		}
	}
	sound := len(real) == 0 || len(real) == 2 && real[0].name == real[1].name && real[0].end == "start" && real[1].end == "end"
	if !sound {
		for _, p := range real {
			odd = append(odd, at(p.lines.Start)+": "+marker(p.name, p.end))
		}
	}
	if len(odd) > 0 {
		return nil, fault("block-malformed", "", "the markers do not form one pair:\n%s", strings.Join(odd, "\n"))
	}
	if len(real) == 0 {
		b.Outside = b.hasHeading(markdown.Span{Start: 0, End: len(src)})
		return b, nil
	}
	b.Present, b.Start, b.End = true, real[0].lines, real[1].lines
	if real[0].name != markerNames[0] {
		b.Legacy = real[0].name
	}
	b.read()
	return b, nil
}

// read sorts the lines between the markers.
func (b *Block) read() {
	body := markdown.Span{Start: b.Start.End, End: b.End.Start}
	ours := map[int]int{} // start of lines that are known -> their end
	for _, i := range b.doc.Items(body) {
		if i.Text == "" {
			continue
		}
		b.Rules = append(b.Rules, Rule{i.Text, i.Lines, i.Plain, i.Mark})
		ours[i.Lines.Start] = i.Lines.End
		if !i.Plain {
			b.Foreign = append(b.Foreign, i.Lines)
		}
	}
	for _, s := range b.doc.Sections() {
		inside := s.Heading.Start >= body.Start && s.Heading.End <= body.End
		switch {
		case s.Title != strings.TrimPrefix(Heading, "## ") || s.Level != 2:
		case inside && b.heading < 0:
			ours[s.Heading.Start], b.heading = s.Heading.End, s.Heading.End
		case !inside:
			b.Outside = true
		}
	}
	for off := body.Start; off < body.End; {
		if end, ok := ours[off]; ok {
			off = end
			continue
		}
		next := body.End
		if i := bytes.IndexByte(b.src[off:body.End], '\n'); i >= 0 {
			next = off + i + 1
		}
		if len(bytes.TrimSpace(b.src[off:next])) > 0 {
			if n := len(b.Foreign); n > 0 && b.Foreign[n-1].End == off {
				b.Foreign[n-1].End = next
			} else {
				b.Foreign = append(b.Foreign, markdown.Span{Start: off, End: next})
			}
		}
		off = next
	}
	slices.SortFunc(b.Foreign, func(x, y markdown.Span) int { return x.Start - y.Start })
}

// foreign is all that is neither heading, blank nor a rule that may change.
func (b *Block) foreign() []byte {
	var out []byte
	for _, s := range b.Foreign {
		out = append(out, s.In(b.src)...)
	}
	return out
}

func (b *Block) hasHeading(s markdown.Span) bool {
	return slices.ContainsFunc(b.doc.Sections(), func(x markdown.Section) bool {
		return x.Level == 2 && x.Title == strings.TrimPrefix(Heading, "## ") && x.Heading.Start >= s.Start && x.Heading.End <= s.End
	})
}

// Effective returns the lines of a file that an agent reads as instructions, in the form in
// which rules are compared: each paragraph, also of a list item, and each of its lines.
func (b *Block) Effective() map[string]bool { return effective(b.doc) }

func effective(d *markdown.Document) map[string]bool {
	out := map[string]bool{}
	for _, p := range d.Paragraphs() {
		out[Norm(strings.Join(p.Lines, " "))] = true
		for _, l := range p.Lines {
			out[Norm(l)] = true
		}
	}
	delete(out, "")
	return out
}
