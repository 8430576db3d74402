package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// NodeKind is the kind of a JSON value.
type NodeKind int

const (
	Null NodeKind = iota
	Bool
	Number
	String
	Array
	Object
)

func (k NodeKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Node is one value of a document, with its place. It knows no format: the JSON reader
// makes Nodes here, the configuration makes them from YAML.
type Node struct {
	Kind    NodeKind
	Name    string // of a member of an object
	Text    string // decoded string, or a number or boolean as written
	NamePos Pos
	Pos     Pos
	Members []*Node
	Items   []*Node
}

// Member returns the member of a name, nil without one.
func (n *Node) Member(name string) *Node {
	for _, m := range n.Members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// At returns the node that a pointer names, nil without one.
func (n *Node) At(pointer string) *Node {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if part == "" || n == nil {
			continue
		}
		part = fromPointer.Replace(part)
		if n.Kind == Array {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
			continue
		}
		n = n.Member(part)
	}
	return n
}

var (
	intoPointer = strings.NewReplacer("~", "~0", "/", "~1")
	fromPointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// PointerTo is the pointer to a member of what parent names (RFC 6901). A name that is
// longer than any field's is cut: it would be repeated with every value below it. One that is a
// credential is not shown.
func PointerTo(parent, name string) string {
	if name = cut(name); Secret(name) != "" {
		name = "…"
	}
	return parent + "/" + intoPointer.Replace(name)
}

// Limits bound a payload.
type Limits struct {
	Bytes  int
	Depth  int
	Values int
}

// DefaultLimits are those of a kind that names none.
var DefaultLimits = Limits{Bytes: 1 << 20, Depth: 32, Values: 50_000}

// ReadJSON reads one JSON object and returns it with every violation of form. Only a true
// syntax error ends the reading early, because what follows is unknowable. The node is nil
// if there was no object to read.
func ReadJSON(r io.Reader, l Limits) (*Node, []Violation) {
	_, n, vs := readJSON(r, l, false)
	return n, vs
}

// readJSON is ReadJSON that also returns what was read, and takes an array too if list is set.
func readJSON(r io.Reader, l Limits, list bool) ([]byte, *Node, []Violation) {
	data, err := io.ReadAll(io.LimitReader(r, int64(l.Bytes)+1))
	p := &reader{data: data, limits: l}
	n := p.top(err, list)
	return data, n, p.vs
}

// top reads the one value.
func (p *reader) top(err error, list bool) *Node {
	data, what := p.data, "one JSON object"
	if list {
		what = "one JSON array, or an object that holds it"
	}
	start := len(data) - len(bytes.TrimLeft(data, " \t\r\n"))
	switch {
	case err != nil:
		p.violate("boundary/json-truncated", "", 0, "the input could not be read: %v", err)
		return nil
	case len(data) > p.limits.Bytes:
		p.violate("boundary/input-too-large", "", 0, "the input has more than %d bytes", p.limits.Bytes)
		return nil
	case start == len(data):
		p.violate("boundary/channel-empty", "", 0, "there is no input: send %s on standard input", what)
		return nil
	case data[start] != '{' && !(list && data[start] == '['):
		p.violate("boundary/channel-rejected", "", start, "the input must be %s, with nothing around it: no prose, no code fence, no byte order mark", what)
		return nil
	}
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	n, err := p.value("", 1)
	if err != nil {
		p.syntax(err)
		return nil
	}
	if rest := bytes.TrimLeft(data[p.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		p.violate("boundary/json-trailing", "", len(data)-len(rest), "there is text after the value")
	}
	return n
}

type reader struct {
	data   []byte
	limits Limits
	dec    *jsontext.Decoder
	values int
	vs     []Violation
	line   Pos // the last position that was computed, to count on from
}

var errLimit = errors.New("a limit was passed")

func (p *reader) violate(code, pointer string, off int, format string, args ...any) {
	p.vs = append(p.vs, NewViolation(code, pointer, p.pos(off), format, args...))
}

// pos counts lines and columns on from the last position asked for.
func (p *reader) pos(off int) Pos {
	from := p.line
	if from.Line == 0 || off < from.Offset {
		from = Pos{0, 1, 1}
	}
	chunk := p.data[from.Offset:off]
	if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
		from.Line += bytes.Count(chunk, []byte("\n"))
		from.Column = 1
		chunk = chunk[i+1:]
	}
	from.Column += utf8.RuneCount(chunk)
	from.Offset = off
	p.line = from
	return from
}

func (p *reader) syntax(err error) {
	if errors.Is(err, errLimit) {
		return
	}
	off := int(p.dec.InputOffset())
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		off = int(syntactic.ByteOffset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		p.violate("boundary/json-truncated", "", len(p.data), "the input ends before the value does")
		return
	}
	if syntactic != nil {
		err = syntactic.Err // without the names of the input that lead there
	}
	p.violate("boundary/json-syntax", "", min(off, len(p.data)), "this is no JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
}

// next reads a token and returns where it begins and its raw text.
func (p *reader) next() (tok jsontext.Token, start int, raw []byte, err error) {
	from := int(p.dec.InputOffset())
	if tok, err = p.dec.ReadToken(); err != nil {
		return tok, from, nil, err
	}
	end := int(p.dec.InputOffset())
	start = from
	for start < end && strings.IndexByte(" \t\r\n,:", p.data[start]) >= 0 {
		start++
	}
	return tok, start, p.data[start:end], nil
}

func (p *reader) value(pointer string, depth int) (*Node, error) {
	tok, start, raw, err := p.next()
	if err != nil {
		return nil, err
	}
	if p.values++; p.values > p.limits.Values {
		p.violate("boundary/too-many-values", pointer, start, "the input has more than %d values", p.limits.Values)
		return nil, errLimit
	}
	n := &Node{Pos: p.pos(start)}
	switch kind := tok.Kind(); kind {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.Text = Bool, string(raw)
	case '0':
		n.Kind, n.Text = Number, string(raw)
		if !isInteger(n.Text) {
			p.violate("boundary/json-number", pointer, start, "numbers are whole, within ±(2^53-1), and written plainly")
		}
	case '"':
		n.Kind = String
		n.Text = p.text(raw, pointer, start)
	default:
		if depth > p.limits.Depth {
			p.violate("boundary/too-deep", pointer, start, "values are nested deeper than %d", p.limits.Depth)
			return nil, errLimit
		}
		if kind == '{' {
			n.Kind = Object
			return n, p.object(n, pointer, depth)
		}
		n.Kind = Array
		return n, p.array(n, pointer, depth)
	}
	return n, nil
}

func (p *reader) object(n *Node, pointer string, depth int) error {
	seen := map[string]bool{}
	for p.dec.PeekKind() != '}' {
		_, start, raw, err := p.next()
		if err != nil {
			return err
		}
		name := p.text(raw, pointer, start)
		at := p.pos(start)
		child := PointerTo(pointer, name)
		if seen[name] {
			p.violate("boundary/json-duplicate-name", child, start, "the name %q stands twice in one object", sample(name))
		}
		seen[name] = true
		m, err := p.value(child, depth+1)
		if err != nil {
			return err
		}
		m.Name, m.NamePos = name, at
		n.Members = append(n.Members, m)
	}
	_, _, _, err := p.next()
	return err
}

func (p *reader) array(n *Node, pointer string, depth int) error {
	for p.dec.PeekKind() != ']' {
		m, err := p.value(fmt.Sprintf("%s/%d", pointer, len(n.Items)), depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, m)
	}
	_, _, _, err := p.next()
	return err
}

// text decodes a string. The decoder replaces what is not Unicode; that it had to is the
// violation.
func (p *reader) text(raw []byte, pointer string, start int) string {
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		p.violate("boundary/json-utf8", pointer, start, "the string is not Unicode: bytes that are not UTF-8, or half of a surrogate pair")
	}
	return string(s)
}

// isInteger reports whether s is -?(0|[1-9][0-9]*), not -0, within ±(2^53-1): what RFC
// 8785 writes back unchanged.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 16 || s == "-0" || digits[0] == '0' && len(digits) > 1 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return err == nil && v <= 1<<53-1 && v >= -(1<<53-1)
}
