package agentsmd

import (
	"bytes"
	"slices"
	"strings"

	"assent/markdown"
)

// Edit is one change of the block's rules.
type Edit struct {
	Action string   // add, merge, narrow, replace or remove
	Old    []string // rules that go, as texts
	New    string   // the rule that comes; "" for remove
}

// Composed is the result of edits on a file.
type Composed struct {
	Bytes  []byte
	Adopts string // name of the earlier tool whose markers became ours
}

// piece is a run of the body's bytes: a rule's lines, or anything else.
type piece struct {
	text []byte
	key  string // of a rule
	rule bool
	ours bool   // it may change: it is one paragraph
	mark string // with the blanks before it

	heading bool // it ends with our heading and the blank lines behind it
}

// Compose makes edits on a file's block, in order, and changes no other byte of the file. A file
// without a block gets one at its end. With lenient, as for the file as another place has it, an
// old rule that is not there and a new one that is there already are no faults. The result is
// read again and must be what was meant.
func Compose(path string, src []byte, edits []Edit, lenient bool) (Composed, error) {
	b, err := ParseBlock(path, src)
	if err != nil {
		return Composed{}, err
	}
	return compose(b, path, src, edits, lenient, true)
}

// compose is Compose on a file that was read already; without check the result is for showing
// alone. Beside lines of other hands a rule may have to stand apart, or at the end, so that each is
// read as what it is.
func compose(b *Block, path string, src []byte, edits []Edit, lenient, check bool) (out Composed, err error) {
	for way := touching; way <= last; way++ {
		if out, err = composeSo(b, path, src, edits, way, lenient, check || len(b.Foreign) > 0); !isFault(err, "compose-mismatch") || len(b.Foreign) == 0 {
			break
		}
	}
	return out, err
}

// Ways in which a rule comes and goes beside other lines.
const (
	touching = iota // without a line more
	apart           // with a blank line where it touches others
	last            // behind all of them
)

func composeSo(b *Block, path string, src []byte, edits []Edit, way int, lenient, check bool) (_ Composed, err error) {
	c := composer{path: path, src: src, block: b, way: way, eol: markdown.Newline(src)}
	if b.Present {
		c.take()
	} else if c.at, err = c.end(); err != nil {
		return Composed{}, err
	}
	for _, e := range edits {
		if err := c.edit(e, lenient); err != nil {
			return Composed{}, err
		}
	}
	if !c.changed && !b.Present {
		return Composed{Bytes: src}, nil
	}
	out := Composed{Bytes: c.render(), Adopts: b.Legacy}
	if !check {
		return out, nil
	}
	return out, c.verify(out.Bytes)
}

type composer struct {
	path    string
	src     []byte
	block   *Block
	way     int
	eol     string
	at      string // what a new block begins with, behind the file's last byte
	pieces  []piece
	changed bool
}

// take cuts the body into pieces.
func (c *composer) take() {
	b := c.block
	c.eol = "\n"
	if bytes.HasSuffix(b.Start.In(c.src), []byte("\r\n")) {
		c.eol = "\r\n"
	}
	off := b.Start.End
	for _, r := range b.Rules {
		if r.Lines.Start > off {
			c.cut(off, r.Lines.Start)
		}
		text := r.Lines.In(c.src)
		blanks := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		c.pieces = append(c.pieces, piece{text: text, key: r.Key(), rule: true, ours: r.Plain, mark: string(blanks) + string(r.mark)})
		off = r.Lines.End
	}
	c.cut(off, b.End.Start)
}

// cut adds what is no rule, in two pieces where the heading and the blank lines behind it end.
func (c *composer) cut(from, to int) {
	if h := c.block.heading; h > from && h <= to {
		for h < to {
			line := bytes.IndexByte(c.src[h:to], '\n') + 1
			if line == 0 || len(bytes.TrimSpace(c.src[h:h+line])) > 0 {
				break
			}
			h += line
		}
		c.pieces = append(c.pieces, piece{text: c.src[from:h], heading: true})
		from = h
	}
	if from < to || len(c.pieces) == 0 {
		c.pieces = append(c.pieces, piece{text: c.src[from:to]})
	}
}

// end is what a new block at the file's end begins with.
func (c *composer) end() (string, error) {
	if open := c.block.doc.OpenEnd(); open != "" {
		return "", fault("block-not-visible", "", "%s ends in %s: a block would not be read there", c.path, open)
	}
	body := bytes.TrimPrefix(c.src, []byte("\xef\xbb\xbf"))
	switch {
	case len(body) == 0:
		return "", nil
	case !bytes.HasSuffix(body, []byte("\n")):
		return c.eol + c.eol, nil
	case len(bytes.TrimSpace(body)) == 0 || bytes.HasSuffix(body, []byte("\n\n")) || bytes.HasSuffix(body, []byte("\n\r\n")):
		return "", nil
	}
	return c.eol, nil
}

func (c *composer) find(key string) []int {
	var out []int
	for i, p := range c.pieces {
		if p.rule && p.key == key {
			out = append(out, i)
		}
	}
	return out
}

// edit makes one change: a rule more, all equal ones gone, or old ones replaced where the first of
// them stands.
func (c *composer) edit(e Edit, lenient bool) error {
	fresh, key := "", ""
	if e.New != "" {
		fresh, key = e.New, Norm(e.New)
	}
	var gone []int
	for _, old := range e.Old {
		found := c.find(Norm(old))
		if len(found) == 0 && !lenient {
			return fault("rule-not-found", "", "%s: the block has no rule %q", c.path, old)
		}
		for _, i := range found {
			if !c.pieces[i].ours {
				return fault("rule-compound", "", "%s: the rule %q holds more than one paragraph", c.path, old)
			}
		}
		gone = append(gone, found...)
	}
	slices.Sort(gone)
	gone = slices.Compact(gone)
	stands := slices.DeleteFunc(c.find(key), func(i int) bool { return slices.Contains(gone, i) })
	if key != "" && len(gone) == 1 && len(stands) == 0 && c.pieces[gone[0]].key == key {
		return nil // its meaning stands there already
	}
	switch {
	case fresh != "" && len(stands) == 0 && len(gone) > 0:
		first := c.pieces[gone[0]]
		c.pieces[gone[0]] = c.line(fresh, key, first.mark, lineEnd(first.text, c.eol))
		gone, c.changed = gone[1:], true
	case fresh != "" && len(stands) == 0:
		c.insert(fresh, key)
		c.changed = true
	}
	for _, i := range slices.Backward(gone) {
		if c.way == touching { // else the lines around it may be read as one
			c.pieces = slices.Delete(c.pieces, i, i+1)
		} else {
			c.pieces[i] = piece{text: []byte(c.eol)}
		}
		c.changed = true
	}
	return nil
}

func lineEnd(line []byte, eol string) string {
	if bytes.HasSuffix(line, []byte("\r\n")) {
		return "\r\n"
	}
	if bytes.HasSuffix(line, []byte("\n")) {
		return "\n"
	}
	return eol
}

func (c *composer) line(text, key, mark, eol string) piece {
	return piece{text: []byte(mark + " " + text + eol), key: key, rule: true, ours: true, mark: mark}
}

// insert puts a rule behind the last one, or behind our heading, or before the end marker.
func (c *composer) insert(text, key string) {
	if !c.block.Present && len(c.pieces) == 0 {
		c.pieces = []piece{{text: []byte(Heading + c.eol + c.eol)}}
	}
	at, mark := len(c.pieces), "-"
	for i, p := range c.pieces {
		if p.rule {
			at, mark = i+1, p.mark
		}
	}
	if none := !slices.ContainsFunc(c.pieces, func(p piece) bool { return p.rule }); none && c.block.heading >= 0 {
		at = 1 + slices.IndexFunc(c.pieces, func(p piece) bool { return p.heading })
	}
	if c.way == last {
		at, mark = len(c.pieces), "-"
	}
	rule := c.line(text, key, mark, c.eol)
	switch other := func(i int) bool { return i >= 0 && i < len(c.pieces) && !c.pieces[i].rule }; {
	case c.way == last && other(at-1):
		rule.text = append([]byte(c.eol), rule.text...)
	case other(at) && (c.way == apart || at > 0 && c.pieces[at-1].heading && startsText(c.pieces[at].text)):
		rule.text = append(rule.text, c.eol...) // else a paragraph behind it would go on the rule
	}
	c.pieces = slices.Insert(c.pieces, at, rule)
}

// startsText reports whether the first line of some bytes is not blank.
func startsText(b []byte) bool {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return len(bytes.TrimSpace(line)) > 0
}

func (c *composer) render() []byte {
	var out bytes.Buffer
	b := c.block
	if !b.Present {
		out.Write(c.src)
		out.WriteString(c.at + marker(markerNames[0], "start") + c.eol)
		for _, p := range c.pieces {
			out.Write(p.text)
		}
		out.WriteString(marker(markerNames[0], "end"))
		if body := bytes.TrimPrefix(c.src, []byte("\xef\xbb\xbf")); len(body) == 0 || bytes.HasSuffix(body, []byte("\n")) {
			out.WriteString(c.eol)
		}
		return out.Bytes()
	}
	out.Write(c.src[:b.Start.Start])
	out.Write(c.renamed(b.Start))
	for _, p := range c.pieces {
		out.Write(p.text)
	}
	out.Write(c.renamed(b.End))
	out.Write(c.src[b.End.End:])
	return out.Bytes()
}

// renamed is a marker line, with our name for an earlier one.
func (c *composer) renamed(line markdown.Span) []byte {
	text := line.In(c.src)
	if c.block.Legacy == "" {
		return text
	}
	return bytes.Replace(text, []byte("<!-- "+c.block.Legacy+":"), []byte("<!-- "+markerNames[0]+":"), 1)
}

// verify reads the result again: one block where it is expected, the rules that are expected,
// and every other byte as it was.
func (c *composer) verify(out []byte) error {
	wrong := func(what string) error {
		return fault("compose-mismatch", "", "%s: %s", c.path, what)
	}
	now, err := ParseBlock(c.path, out)
	if err != nil {
		return wrong(err.Error())
	}
	var keys []string
	for _, p := range c.pieces {
		if p.rule {
			keys = append(keys, p.key)
		}
	}
	b := c.block
	switch {
	case !now.Present || now.Legacy != "":
		return wrong("the block is not read back")
	case !slices.Equal(now.Keys(), keys):
		return wrong("the rules that are read back are not those that were meant: " + strings.Join(now.Keys(), " | "))
	case !b.Present && !bytes.HasPrefix(out, c.src):
		return wrong("bytes before the block changed")
	case b.Present && (!bytes.Equal(out[:now.Start.Start], c.src[:b.Start.Start]) || !bytes.Equal(out[now.End.End:], c.src[b.End.End:])):
		return wrong("bytes outside of the block changed")
	case !bytes.Equal(now.foreign(), b.foreign()):
		return wrong("lines of other hands would be read otherwise")
	}
	return nil
}
