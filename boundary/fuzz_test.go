package boundary_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"assent/boundary"
	"assent/finding"
	"assent/internal/budget"
	"assent/skmb"
)

// value is a node as encoding/json would read it.
func value(n *boundary.Node) any {
	switch n.Kind {
	case boundary.Object:
		out := map[string]any{}
		for _, m := range n.Members {
			out[m.Name] = value(m)
		}
		return out
	case boundary.Array:
		out := []any{}
		for _, i := range n.Items {
			out = append(out, value(i))
		}
		return out
	case boundary.String:
		return n.Text
	case boundary.Number:
		return json.Number(n.Text)
	case boundary.Bool:
		return n.Text == "true"
	}
	return nil
}

// FuzzReadJSON: no input panics, takes long or gets a place outside of it. What is read
// without objection is what another reader reads; what another reader reads and is
// refused here is refused for one of the reasons that this room has beyond JSON.
func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{
		"", " ", "{}", "{", "[]", "null", valid, skmb.DecisionKind.Example, everyExample, "\ufeff{}", "{}{}", "{} x", "```json\n{}\n```",
		`{"a":1,"a":2}`, `{"a":-0,"b":1e2,"c":1.5,"d":9007199254740993}`, `{"a":"\ud800","b":"\ud83d\ude00","c":"\ufffd\udc00"}`, "{\"\xff\":\"\xed\xa0\x80\"}",
		`{"a":[[[[[[]]]]]],"b":{"c":{"d":null}}}`, "{\r\n\"a\"\t:\n[ true , false ]\n}\n", `{"a":1,}`, `{"a" 1}`, `{"a":[1 2]}`, `{"a":"\u00`, `{"a/~":{"":[0,{"a/~":1,"a/~":2}]}}`,
		`{"title":"Über\u202e","status":"x","Scope":"\u0000","patterns":["A","A","Z"],"supersedes":[{},null]}`,
		strings.Repeat(`{"a":[`, 20), `{"a":"` + strings.Repeat("é𝄞\\n", 20),
	} {
		f.Add([]byte(s))
	}
	limits := boundary.Limits{Bytes: 4 << 10, Depth: 12, Values: 200}
	beyond := []string{"boundary/input-too-large", "boundary/too-deep", "boundary/too-many-values", "boundary/json-duplicate-name", "boundary/json-utf8", "boundary/json-number"}
	f.Fuzz(func(t *testing.T, data []byte) {
		budget.Within(t, soon, func() {
			n, vs := boundary.ReadJSON(bytes.NewReader(data), limits)
			p, err := skmb.DecisionKind.Read(bytes.NewReader(data), "<stdin>")
			inside(t, data, vs)
			object := json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
			for _, v := range vs {
				if object && !slices.Contains(beyond, v.Code) {
					t.Errorf("JSON gets %s: %s", v.Code, v.Message)
				}
				if v.Pointer != "" && n != nil && v.Code == "boundary/json-number" && n.At(v.Pointer) == nil && !strings.Contains(v.Pointer, "…") && !strings.Contains(v.Pointer+"/", "//") {
					t.Errorf("%s names nothing", v.Pointer)
				}
			}
			if len(vs) == 0 {
				var want any
				dec := json.NewDecoder(bytes.NewReader(data))
				dec.UseNumber()
				if err := dec.Decode(&want); err != nil || !object {
					t.Fatalf("no JSON object is taken: %v", err)
				}
				a, _ := json.Marshal(value(n))
				b, _ := json.Marshal(want)
				if !bytes.Equal(a, b) {
					t.Errorf("read as %s, by encoding/json as %s", a, b)
				}
			}
			if err == nil {
				for _, s := range append([]string{p.Value.Title, p.Value.Scope}, p.Value.AppliesTo...) {
					if finding.Clean(s) != s || strings.TrimSpace(s) == "" {
						t.Errorf("the text %q came in", s)
					}
				}
				return
			}
			var r *boundary.Refusal
			if !errors.As(err, &r) || len(r.Violations) == 0 || r.ExitCode() != finding.ExitInvalid {
				t.Fatalf("refused with %v", err)
			}
			inside(t, data, r.Violations)
			if text := r.Error(); finding.CleanLines(text) != text {
				t.Errorf("not fit for a terminal: %q", text)
			}
		})
	})
}
