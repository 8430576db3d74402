package boundary

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Payload is a submission as it was read: its items, and what is wrong with its form.
type Payload[P any] struct {
	Value   P          // of a kind that takes no batch
	Items   []*Item[P] // one for such a kind
	Request string     // hex SHA-256 of the canonical payload, for equal submissions

	source string
	raw    []byte // nil for what was read from another format
	root   *Node
	form   []Violation
	err    *Refusal // of form, nil if there is nothing wrong with it
}

// Item is one item of a payload while it is judged: the payload itself, unless its kind takes
// a batch.
type Item[P any] struct {
	Value  P
	At     string              // pointer to the item, "" for a payload that is no batch
	Quotes map[string]Grounded // where the quotes stand, by the pointers to them below the item

	node *Node
	j    *judging
}

// Violate notes an objection to what a pointer below the item names.
func (i *Item[P]) Violate(code, pointer, hint, format string, args ...any) {
	at := i.node.Pos
	if n := i.node.At(pointer); n != nil {
		at = n.Pos
	}
	i.j.violate(code, i.At+pointer, at, hint, format, args...)
}

// Text is the string at a pointer below the item, "" if there is none.
func (i *Item[P]) Text(pointer string) string {
	if n := i.node.At(pointer); n != nil && n.Kind == String {
		return n.Text
	}
	return ""
}

// Parse reads a submission and judges its form: bounds, syntax, names, shape, text and
// credentials. What is wrong with it is in Err, and keeps Judge from nothing that can be judged
// all the same. source is what places refer to, such as <stdin>.
func (k *Kind[P, W]) Parse(in io.Reader, source string) *Payload[P] {
	data, n, vs := readJSON(in, k.Limits, k.Items != "")
	return k.parse(n, vs, source, data)
}

// ParseNode is Parse for a value that was read from another format, with what was wrong with
// its form. A nil node is one that could not be read at all.
func (k *Kind[P, W]) ParseNode(n *Node, vs []Violation, source string) *Payload[P] {
	return k.parse(n, vs, source, nil)
}

// Read is Parse for who wants nothing but a payload of the right form.
func (k *Kind[P, W]) Read(in io.Reader, source string) (*Payload[P], error) {
	p := k.Parse(in, source)
	if p.err != nil {
		return nil, p.err
	}
	return p, nil
}

// Err is the refusal of the form, nil if nothing is wrong with it.
func (p *Payload[P]) Err() error {
	if p.err == nil {
		return nil
	}
	return p.err
}

func (k *Kind[P, W]) parse(n *Node, vs []Violation, source string, raw []byte) *Payload[P] {
	p := &Payload[P]{source: source, root: n, raw: raw, form: vs}
	if n != nil {
		items, _, at, wrong := k.items(n)
		p.form = append(p.form, wrong...)
		for i, item := range items {
			p.form = append(p.form, k.shapes().payload.check(item, k.shapes().owned, at[i])...)
			p.Items = append(p.Items, &Item[P]{At: at[i], node: item})
		}
		p.form = append(p.form, secrets(n, "")...)
	}
	if len(p.form) > 0 {
		p.err = k.refuse(source, p.form)
	}
	for _, i := range p.Items {
		if err := decode(k.shapes().payload, i.node, &i.Value); err != nil {
			panic(fmt.Sprintf("boundary: %s: what the shape lets through does not decode: %v", k.Name, err))
		}
	}
	if len(p.Items) > 0 && k.Items == "" {
		p.Value = p.Items[0].Value
	}
	if p.err == nil {
		p.Request = request(p)
	}
	return p
}

// items finds the items of a payload, the pointer to the list that holds them, the pointers to
// themselves, and what is wrong with the list. What is beyond the most that a batch may have is
// left out.
func (f *Form) items(top *Node) (items []*Node, list string, at []string, vs []Violation) {
	if f.Items == "" {
		return []*Node{top}, "", []string{""}, nil
	}
	held := top
	if top.Kind == Object { // as a tool submits it
		list, held = "/"+f.Items, top.Member(f.Items)
		c := &checker{owned: f.shapes().owned}
		c.names(f.shapes().batch, top, "")
		vs = c.vs
	}
	switch {
	case held == nil:
		return nil, list, nil, vs
	case held.Kind != Array:
		return nil, list, nil, append(vs, NewViolation("boundary/type", list, held.Pos, "must be %s, is %s", Array, held.Kind))
	case len(held.Items) > f.most():
		vs = append(vs, NewViolation("boundary/length", list, held.Pos, "must have at most %d items, has %d", f.most(), len(held.Items)))
	}
	for i, item := range held.Items[:min(len(held.Items), f.most())] {
		items, at = append(items, item), append(at, fmt.Sprintf("%s/%d", list, i))
	}
	return items, list, at, vs
}

// most is how many items a batch may have: a tracked record is a file of its own, and all of
// them are written in one transaction.
func (f *Form) most() int {
	if f.Home == Tracked {
		return MaxTracked
	}
	return MaxItems
}

// MaxItems bounds a batch, MaxTracked one whose items become tracked records.
const (
	MaxItems   = 1000
	MaxTracked = 200
)

// request names a payload by its canonical form.
func request[P any](p *Payload[P]) string {
	values := make([]P, len(p.Items))
	for i, item := range p.Items {
		values[i] = item.Value
	}
	data, err := json.Marshal(values)
	if err == nil {
		err = (*jsontext.Value)(&data).Canonicalize()
	}
	if err != nil {
		panic("boundary: a payload that was decoded does not encode: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// decode fills a value from a node as far as the node has the shape: what has not is left at
// its zero value, so that rules can be asked about the rest.
func decode(s *Shape, n *Node, into any) error {
	var b bytes.Buffer
	fitting(&b, s, n)
	return json.Unmarshal(b.Bytes(), into, json.RejectUnknownMembers(true))
}

// fitting writes what of a node has the shape, as JSON.
func fitting(b *bytes.Buffer, s *Shape, n *Node) {
	switch {
	case n.Kind != s.kind || n.Kind == Number && !s.holds(n.Text):
		b.WriteString(map[NodeKind]string{Bool: "false", Number: "0", String: `""`, Array: "[]", Object: "{}"}[s.kind])
	case s.kind == Object:
		b.WriteByte('{')
		first := true
		for _, f := range s.fields {
			m := n.Member(f.name)
			if m == nil {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			name, _ := jsontext.AppendQuote(nil, f.name)
			b.Write(name)
			b.WriteByte(':')
			fitting(b, f.shape, m)
		}
		b.WriteByte('}')
	case s.kind == Array:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			fitting(b, s.elem, item)
		}
		b.WriteByte(']')
	case s.kind == String:
		text, _ := jsontext.AppendQuote(nil, n.Text)
		b.Write(text)
	default:
		b.WriteString(n.Text)
	}
}

// refuse makes the refusal of a submission of the kind.
func (f *Form) refuse(source string, vs []Violation) *Refusal {
	r := refuse(source, f.named(vs))
	r.Kind, r.Example = f.Name, f.Example
	return r
}

// named gives codes the names that they have in the kind's room.
func (f *Form) named(vs []Violation) []Violation {
	if len(f.Codes) == 0 {
		return vs
	}
	out := slices.Clone(vs)
	for i, v := range out {
		if name, ok := f.Codes[v.Code]; ok {
			out[i].Code = name
		}
	}
	return out
}
