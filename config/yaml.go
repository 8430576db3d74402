package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"

	"assent/boundary"
)

// toNode makes a Node of a YAML value, so that names and shape are judged by the one
// piece of code that judges payloads too. Anchors, aliases, tags and keys that are no
// strings are refused.
func toNode(y *yaml.Node, pointer string) (*boundary.Node, []boundary.Violation) {
	at := boundary.Pos{Line: y.Line, Column: y.Column, Offset: y.Line<<12 | min(y.Column, 1<<12-1)}
	n := &boundary.Node{Pos: at}
	var vs []boundary.Violation
	refuse := func(format string, args ...any) {
		vs = append(vs, boundary.NewViolation("boundary/type", pointer, at, format, args...))
	}
	if y.Anchor != "" || y.Style&yaml.TaggedStyle != 0 {
		refuse("anchors and tags are not read here")
	}
	switch y.Kind {
	case yaml.DocumentNode:
		return toNode(y.Content[0], pointer)
	case yaml.MappingNode:
		n.Kind = boundary.Object
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			k, wrong := toNode(key, pointer)
			if len(wrong) == 0 && key.ShortTag() != "!!str" {
				wrong = append(wrong, boundary.NewViolation("boundary/type", pointer, k.Pos, "a key must be a plain string"))
			}
			if vs = append(vs, wrong...); len(wrong) > 0 {
				continue
			}
			child := boundary.PointerTo(pointer, key.Value)
			m, more := toNode(y.Content[i+1], child)
			vs = append(vs, more...)
			m.Name, m.NamePos = key.Value, k.Pos
			if seen[key.Value] {
				vs = append(vs, boundary.NewViolation("boundary/json-duplicate-name", child, m.NamePos, "the key stands twice"))
				continue
			}
			seen[key.Value] = true
			n.Members = append(n.Members, m)
		}
	case yaml.SequenceNode:
		n.Kind = boundary.Array
		for i, item := range y.Content {
			m, more := toNode(item, fmt.Sprintf("%s/%d", pointer, i))
			vs = append(vs, more...)
			n.Items = append(n.Items, m)
		}
	case yaml.ScalarNode:
		n.Text = y.Value
		switch y.ShortTag() {
		case "!!null":
			n.Kind = boundary.Null
		case "!!bool":
			n.Kind, n.Text = boundary.Bool, strings.ToLower(y.Value) // True and TRUE are booleans too
		case "!!int":
			n.Kind = boundary.Number
			if v, err := strconv.ParseInt(y.Value, 10, 64); err != nil || strconv.FormatInt(v, 10) != y.Value {
				refuse("%q is no plain whole number", y.Value)
			}
		case "!!float":
			n.Kind = boundary.Number
			refuse("%q is no whole number", y.Value)
		default:
			n.Kind = boundary.String
		}
	default:
		refuse("aliases are not read here")
	}
	return n, vs
}

// decode fills a value from a node that was checked.
func decode(n *boundary.Node, into any) error {
	b, err := json.Marshal(plain(n))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into, json.RejectUnknownMembers(true))
}

func plain(n *boundary.Node) any {
	switch n.Kind {
	case boundary.Object:
		m := map[string]any{}
		for _, k := range n.Members {
			m[k.Name] = plain(k)
		}
		return m
	case boundary.Array:
		list := []any{}
		for _, i := range n.Items {
			list = append(list, plain(i))
		}
		return list
	case boundary.String:
		return n.Text
	case boundary.Null:
		return nil
	}
	return jsontext.Value(n.Text)
}
