package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assent/boundary"
	"assent/config"
	"assent/skmb"
)

// What is committed is what the Go types say, and nothing else lies beside it.
func TestSchemaDrift(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadDir(filepath.Join("..", "..", dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range have {
		if files[f.Name()] == nil && f.Name() != "schema.go" {
			t.Errorf("%s/%s is not generated", dir, f.Name())
		}
	}
	for name, want := range files {
		data, err := os.ReadFile(filepath.Join("..", "..", dir, name))
		if err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s/%s is not what the types say (%v); run go run ./cmd/schemagen", dir, name, err)
		}
	}
}

// The form in which hosts take a tool stays within what providers take, and holds nothing but
// what stands in the code.
func TestToolProfile(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	tools := 0
	for name, data := range files {
		if !strings.HasSuffix(name, ".tool.json") {
			continue
		}
		tools++
		if len(data) > 16<<10 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
		var tool struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			Schema      map[string]any `json:"input_schema"`
		}
		if err := json.Unmarshal(data, &tool); err != nil {
			t.Fatal(err)
		}
		if strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyz_") != "" || tool.Description == "" {
			t.Errorf("%s: the tool is %q: %q", name, tool.Name, tool.Description)
		}
		var walk func(at string, depth int, v any)
		walk = func(at string, depth int, v any) {
			m, ok := v.(map[string]any)
			if !ok {
				return
			}
			for _, k := range []string{"$ref", "oneOf", "anyOf", "allOf", "$defs"} {
				if _, found := m[k]; found {
					t.Errorf("%s: %s has %s", name, at, k)
				}
			}
			if m["type"] == "object" {
				if m["additionalProperties"] != false {
					t.Errorf("%s: %s takes more than it names", name, at)
				}
				if depth > 5 {
					t.Errorf("%s: %s lies %d levels deep", name, at, depth)
				}
			}
			if props, ok := m["properties"].(map[string]any); ok {
				for k, p := range props {
					if p, ok := p.(map[string]any); !ok || p["description"] == "" || p["description"] == nil {
						t.Errorf("%s: %s/%s has no description", name, at, k)
					}
					walk(at+"/"+k, depth+1, p)
				}
			}
			walk(at+"/items", depth, m["items"])
		}
		walk("", 1, tool.Schema)
	}
	if tools == 0 {
		t.Error("no tool was looked at")
	}
}

// A change of what a schema accepts needs a new version; a change of words does not.
func TestFingerprints(t *testing.T) {
	one := map[string][]byte{"x.v1.json": []byte(`{"type":"string","maxLength":5,"description":"a","properties":{"title":{"title":"x","type":"string"}}}`)}
	print := func(data string) string {
		b, err := fingerprints(map[string][]byte{"x.v1.json": []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	was := print(string(one["x.v1.json"]))
	if print(strings.Replace(string(one["x.v1.json"]), `"description":"a"`, `"description":"b"`, 1)) != was {
		t.Error("a word changes it")
	}
	for _, change := range [][2]string{{`"maxLength":5`, `"maxLength":6`}, {`"title":{"title":"x","type":"string"}`, `"name":{"title":"x","type":"string"}`}} {
		if print(strings.Replace(string(one["x.v1.json"]), change[0], change[1], 1)) == was {
			t.Errorf("%s does not change it", change[1])
		}
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pinned([]byte(was)); err != nil {
		t.Errorf("nothing was pinned: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fingerprints.json"), []byte(was), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := pinned([]byte(strings.Replace(was, ": \"", ": \"0", 1))); err == nil {
		t.Error("another meaning under the same version was taken")
	}
	if err := pinned([]byte(was)); err != nil {
		t.Error(err)
	}
}

// judge is one of the two readers of a schema and the boundary's own.
type judge struct {
	schema *jsonschema.Schema
	read   func([]byte) error
}

func judges(t testing.TB) map[string]judge {
	t.Helper()
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	compile := func(name string) *jsonschema.Schema {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:"+name, doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("mem:" + name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return map[string]judge{
		"skmb-decision": {compile("skmb-decision.v1.submit.json"), func(b []byte) error {
			_, err := skmb.DecisionKind.Read(bytes.NewReader(b), "x")
			return err
		}},
		"assent.yaml": {compile("assent.yaml.v1.json"), func(b []byte) error { // JSON is YAML
			_, err := config.Parse(b)
			return err
		}},
	}
}

// alone are the codes with which the boundary may refuse what a schema takes: a schema cannot
// say them.
var alone = []string{"boundary/text-unsafe", "boundary/text-blank", "boundary/json-number", "boundary/json-duplicate-name", "boundary/json-utf8", "boundary/pattern", "boundary/secret-found"}

// agree holds the law: what the boundary takes the schema takes; what the boundary alone
// refuses it refuses with a code of its own.
func (j judge) agree(t *testing.T, instance []byte) (taken bool) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		if j.read(instance) == nil {
			t.Errorf("no JSON, and the boundary takes it: %.300s", instance)
		}
		return false
	}
	schema, own := j.schema.Validate(doc), j.read(instance)
	switch {
	case own == nil && schema != nil:
		t.Errorf("the boundary takes what the schema refuses (%v): %.300s", schema, instance)
	case own != nil && schema == nil:
		var refusal *boundary.Refusal
		if !errors.As(own, &refusal) {
			t.Errorf("the boundary alone refuses without violations (%v): %.300s", own, instance)
			break
		}
		for _, v := range refusal.Violations {
			if !slices.Contains(alone, v.Code) {
				t.Errorf("the boundary alone refuses with %s %s: %.300s", v.Code, v.Pointer, instance)
			}
		}
	}
	return own == nil
}

// whole are payloads with every member set.
var whole = map[string]string{
	"skmb-decision": `{"title":"t","patterns":["A","B_state_persistence"],"scope":"s","context":"c","decision":"d","applies_to":["x","y"],"options":["1","2"],"recommendation":"r","needed_before":"n","supersedes":[{"id":"SKMB-2026-01-01-001"}],"paths":["src/**"]}`,
	"assent.yaml":   `{"version":1,"skmb":{"roots":["a","b"],"gate":"related","archive":{"mode":"off","dir":"x"}},"approval":{"required":"terminal","allowed_signers":"s","touch":true,"domains":{"skmb":{"required":"signature"}}},"severity":{"a/b":"off"},"baseline":"b"}`,
}

// Both readers of the types judge every generated instance alike: each member in turn missing,
// null, of another type, empty, too long, out of its vocabulary, and beside an unknown one.
func TestAgree(t *testing.T) {
	for name, j := range judges(t) {
		t.Run(name, func(t *testing.T) {
			if !j.agree(t, []byte(whole[name])) {
				t.Fatalf("the whole payload is refused: %v", j.read([]byte(whole[name])))
			}
			var v any
			if err := json.Unmarshal([]byte(whole[name]), &v); err != nil {
				t.Fatal(err)
			}
			count, refused := 0, 0
			mutate(v, func(m any) {
				b, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				count++
				if !j.agree(t, b) {
					refused++
				}
			})
			if count < 150 || refused < count/2 || refused == count {
				t.Errorf("%d instances, %d refused", count, refused)
			}
		})
	}
}

// mutate calls visit with copies of a value, each with one place changed.
func mutate(root any, visit func(any)) {
	others := []any{nil, "", "x", strings.Repeat("x", 20_000), "unknown-word", float64(0), float64(1), float64(2), 1.5, true, []any{}, []any{"x"}, []any{"x", "x"}, map[string]any{}, map[string]any{"x": "y"}}
	var walk func(v any, put func(any))
	walk = func(v any, put func(any)) {
		for _, o := range others {
			put(o)
		}
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				less := maps.Clone(v)
				delete(less, k)
				put(less)
				twin := maps.Clone(v)
				twin[strings.ToUpper(k)] = v[k]
				put(twin)
				walk(v[k], func(x any) {
					m := maps.Clone(v)
					m[k] = x
					put(m)
				})
			}
			more := maps.Clone(v)
			more["unknown"] = "x"
			put(more)
		case []any:
			put(append(slices.Clone(v), v[0]))
			var many []any
			for i := range 300 {
				many = append(many, fmt.Sprint("item ", i))
			}
			put(many)
			walk(v[0], func(x any) {
				l := slices.Clone(v)
				l[0] = x
				put(l)
			})
		}
	}
	walk(root, visit)
}

// The example of a prompt is taken, and the text names every field and every owned name.
func TestPrompt(t *testing.T) {
	text := skmb.DecisionKind.Prompt(skmb.DecisionPurpose, "skmb submit")
	_, example, _ := strings.Cut(text, "```json\n")
	example, _, _ = strings.Cut(example, "\n```")
	if _, err := skmb.DecisionKind.Read(strings.NewReader(example), "x"); err != nil {
		t.Errorf("the example is refused: %v", err)
	}
	for _, f := range skmb.DecisionKind.Fields() {
		if !strings.Contains(text, "`"+f.Name+"`") || f.Description == "" || f.Form == "" {
			t.Errorf("%+v is not told of", f)
		}
	}
	for _, name := range skmb.DecisionKind.Owned() {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s is not told of", name)
		}
	}
}

// Whatever the bytes are, the two readers agree.
func FuzzAgree(f *testing.F) {
	for _, w := range whole {
		f.Add([]byte(w))
	}
	f.Add([]byte(skmb.DecisionKind.Example))
	j := judges(f)["skmb-decision"]
	f.Fuzz(func(t *testing.T, data []byte) { j.agree(t, data) })
}
