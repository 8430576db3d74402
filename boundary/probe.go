package boundary

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Probe is a payload with one fault that a route which enforces the schema cannot produce: a
// host asks its model for exactly this, through that route, and hands over what came back.
type Probe struct {
	Probe   string         `json:"probe"` // code of the fault, and pointer to it below the item
	Payload jsontext.Value `json:"payload"`
}

// Reply is what came back for a probe.
type Reply struct {
	Probe   string         `json:"probe"`
	Reply   string         `json:"reply"` // payload, refusal, incomplete or empty
	Payload jsontext.Value `json:"payload,omitzero"`
}

// Replies are the words for what came back.
var Replies = []string{"payload", "refusal", "incomplete", "empty"}

// Verdicts on a route.
const (
	Enforced    = "enforced"     // a payload came back, and the fault was not in it
	NotEnforced = "not_enforced" // the fault came back
	NotKnown    = "unknown"      // nothing came back that tells
)

// Probes are the fixed faults of a kind: one of each that a schema can rule out, at the first
// place that has room for it. They follow from the types and the example alone.
func (f *Form) Probes() []Probe {
	var out []Probe
	add := func(code, pointer string, change func(*Node)) {
		n, vs := f.example()
		if n == nil || len(vs) > 0 {
			panic("boundary: the example of " + f.Name + " cannot be read")
		}
		change(n)
		data, err := canonical(plain(n))
		if err != nil {
			panic(err)
		}
		out = append(out, Probe{"boundary/" + code + " " + pointer, data})
	}
	top := func(n *Node) *Node {
		items, _, _, _ := f.items(n)
		return items[0]
	}
	word := func(text string) *Node { return &Node{Kind: String, Text: text} }
	set := func(n *Node, name string, value *Node) {
		value.Name = name
		if i := slices.IndexFunc(n.Members, func(m *Node) bool { return m.Name == name }); i >= 0 {
			n.Members[i] = value
			return
		}
		n.Members = append(n.Members, value)
	}
	add("unknown-field", "/unknown_to_the_schema", func(n *Node) { set(top(n), "unknown_to_the_schema", word("x")) })
	if len(f.shapes().owned) > 0 {
		add("owned-field", "/"+f.shapes().owned[0], func(n *Node) { set(top(n), f.shapes().owned[0], word("x")) })
	}
	done := map[string]bool{}
	for _, field := range f.shapes().payload.fields {
		name, at, s := field.name, PointerTo("", field.name), field.shape
		if !field.optional && !done["missing"] {
			done["missing"] = true
			add("missing-field", at, func(n *Node) {
				top(n).Members = slices.DeleteFunc(top(n).Members, func(m *Node) bool { return m.Name == name })
			})
		}
		if s.kind == String && s.enum == nil && !done["type"] {
			done["type"] = true
			add("type", at, func(n *Node) { set(top(n), name, &Node{Kind: Null}) })
		}
		if s.kind == String && s.enum == nil && s.maxLength <= 1024 && !done["long"] {
			done["long"] = true
			add("length", at, func(n *Node) { set(top(n), name, word(strings.Repeat("x", s.maxLength+1))) })
		}
		if s.kind == String && s.enum != nil && !done["enum"] {
			done["enum"] = true
			add("enum", at, func(n *Node) { set(top(n), name, word("none of them")) })
		}
		if s.kind == Number && !done["range"] {
			done["range"] = true
			add("range", at, func(n *Node) { set(top(n), name, &Node{Kind: Number, Text: fmt.Sprint(s.max + 1)}) })
		}
		if s.kind == Array && s.elem.enum != nil && !done["enum items"] {
			done["enum items"] = true
			add("enum", at+"/0", func(n *Node) { set(top(n), name, &Node{Kind: Array, Items: []*Node{word("none of them")}}) })
		}
		if s.kind == Array && s.elem.kind == String && s.elem.enum == nil && s.maxLength <= 100 && !done["items"] {
			done["items"] = true
			add("length", at, func(n *Node) {
				list := &Node{Kind: Array}
				for i := range s.maxLength + 1 {
					list.Items = append(list.Items, word(fmt.Sprintf("item %d", i)))
				}
				set(top(n), name, list)
			})
		}
	}
	return out
}

func (f *Form) example() (*Node, []Violation) {
	_, n, vs := readJSON(strings.NewReader(f.Example), f.Limits, f.Items != "")
	return n, vs
}

// JudgeReply says what a reply to one of some probes tells of the route that it came by.
func (f *Form) JudgeReply(probes []Probe, r Reply) (verdict string, err error) {
	if !slices.ContainsFunc(probes, func(p Probe) bool { return p.Probe == r.Probe }) {
		return "", fmt.Errorf("there is no probe %q", sample(r.Probe))
	}
	switch {
	case !slices.Contains(Replies, r.Reply):
		return "", fmt.Errorf("%q is none of %s", sample(r.Reply), strings.Join(Replies, ", "))
	case r.Reply != "payload":
		return NotKnown, nil
	}
	_, n, _ := readJSON(bytes.NewReader(r.Payload), f.Limits, f.Items != "")
	if n == nil {
		return NotKnown, nil
	}
	items, _, _, _ := f.items(n)
	if len(items) == 0 {
		return NotKnown, nil
	}
	verdict = Enforced
	for _, item := range items {
		for _, v := range f.shapes().payload.Check(item, f.shapes().owned) {
			if v.Code+" "+v.Pointer == r.Probe {
				return NotEnforced, nil
			}
			verdict = NotKnown // what breaks the schema elsewhere did not come by a route that enforces it
		}
	}
	return verdict, nil
}

// ReadReplies reads what came back, a JSON object a line.
func ReadReplies(data []byte) ([]Reply, error) {
	var out []Reply
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var r Reply
		if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		out = append(out, r)
	}
	return out, nil
}
