package boundary

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// ReadYAML reads one YAML document into a Node. A text that is no YAML, or more than one
// document, gives an error; everything else that is wrong gives violations. Nothing but
// comments is a mapping without members, not an absent file.
func ReadYAML(data []byte) (*Node, []Violation, error) {
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&doc)
	if err == io.EOF {
		doc = yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}
	} else if err == nil {
		err = dec.Decode(&second)
	}
	switch {
	case err == nil:
		return nil, nil, fmt.Errorf("%d:%d: a second document: the file is one", second.Line, second.Column)
	case err != io.EOF:
		return nil, nil, err
	}
	n, vs := toNode(&doc, "")
	return n, vs, nil
}

// toNode makes a Node of a YAML value, so that names and shape are judged by the one
// piece of code that judges payloads too. Anchors, aliases, tags and keys that are no
// strings are refused.
func toNode(y *yaml.Node, pointer string) (*Node, []Violation) {
	at := Pos{Line: y.Line, Column: y.Column, Offset: y.Line<<12 | min(y.Column, 1<<12-1)}
	n := &Node{Pos: at}
	var vs []Violation
	refuse := func(format string, args ...any) {
		vs = append(vs, NewViolation("boundary/type", pointer, at, format, args...))
	}
	if y.Anchor != "" || y.Style&yaml.TaggedStyle != 0 {
		refuse("anchors and tags are not read here")
	}
	switch y.Kind {
	case yaml.DocumentNode:
		return toNode(y.Content[0], pointer)
	case yaml.MappingNode:
		n.Kind = Object
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			k, wrong := toNode(key, pointer)
			if len(wrong) == 0 && key.ShortTag() != "!!str" {
				wrong = append(wrong, NewViolation("boundary/type", pointer, k.Pos, "a key must be a plain string"))
			}
			if vs = append(vs, wrong...); len(wrong) > 0 {
				continue
			}
			child := PointerTo(pointer, key.Value)
			m, more := toNode(y.Content[i+1], child)
			vs = append(vs, more...)
			m.Name, m.NamePos = key.Value, k.Pos
			if seen[key.Value] {
				vs = append(vs, NewViolation("boundary/json-duplicate-name", child, m.NamePos, "the key stands twice"))
				continue
			}
			seen[key.Value] = true
			n.Members = append(n.Members, m)
		}
	case yaml.SequenceNode:
		n.Kind = Array
		for i, item := range y.Content {
			m, more := toNode(item, fmt.Sprintf("%s/%d", pointer, i))
			vs = append(vs, more...)
			n.Items = append(n.Items, m)
		}
	case yaml.ScalarNode:
		n.Text = y.Value
		switch y.ShortTag() {
		case "!!null":
			n.Kind = Null
		case "!!bool":
			n.Kind, n.Text = Bool, strings.ToLower(y.Value) // True and TRUE are booleans too
		case "!!int":
			n.Kind = Number
			if v, err := strconv.ParseInt(y.Value, 10, 64); err != nil || strconv.FormatInt(v, 10) != y.Value {
				refuse("%q is no plain whole number", y.Value)
			}
		case "!!float":
			n.Kind = Number
			refuse("%q is no whole number", y.Value)
		default:
			n.Kind = String
		}
	default:
		refuse("aliases are not read here")
	}
	return n, vs
}

// DecodeNode fills a value from a node that was checked.
func DecodeNode(n *Node, into any) error {
	b, err := json.Marshal(plain(n))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into, json.RejectUnknownMembers(true))
}

func plain(n *Node) any {
	switch n.Kind {
	case Object:
		m := map[string]any{}
		for _, k := range n.Members {
			m[k.Name] = plain(k)
		}
		return m
	case Array:
		list := []any{}
		for _, i := range n.Items {
			list = append(list, plain(i))
		}
		return list
	case String:
		return n.Text
	case Null:
		return nil
	}
	return jsontext.Value(n.Text)
}
