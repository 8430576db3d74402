package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assent/agentsmd"
	"assent/approval"
	"assent/boundary"
	"assent/config"
	"assent/hooks"
	"assent/skmb"
)

// What is committed is what the Go types say, and nothing else lies beside it.
func TestSchemaDrift(t *testing.T) {
	files, err := generate(hooks.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadDir(filepath.Join("..", "..", dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range have {
		if files[f.Name()] == nil && f.Name() != "schema.go" && f.Name() != "samples" {
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
	files, err := generate(hooks.Kinds)
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
	whole  string // an instance with every member set
}

// Two kinds with what no kind of the house has yet: a batch, numbers, booleans, patterns, and
// records that add fields at several levels.
type mood string

func (mood) EnumValues() []string { return []string{"calm", "wild"} }

type partPayload struct {
	Name  string   `json:"name" jsonschema:"minLength=2,maxLength=5,pattern=^[a-z]+$" text:"line" jsonschema_description:"x"`
	Score int      `json:"score" jsonschema:"minimum=-3,maximum=100" jsonschema_description:"x"`
	Ready bool     `json:"ready,omitzero" jsonschema_description:"x"`
	Mood  mood     `json:"mood" jsonschema_description:"x"`
	Marks []int    `json:"marks,omitzero" jsonschema:"minItems=1,maxItems=3,minimum=1,maximum=9" jsonschema_description:"x"`
	Inner []deeper `json:"inner,omitzero" jsonschema:"maxItems=2" jsonschema_description:"x"`
}

type deeper struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=40" text:"prose" jsonschema_description:"x"`
}

type partRecord struct {
	boundary.Envelope
	partPayload
	Inner []deeperRecord `json:"inner,omitzero" jsonschema:"maxItems=2" jsonschema_description:"x"`
}

type deeperRecord struct {
	deeper
	Place int `json:"place" jsonschema:"minimum=0,maximum=9" jsonschema_description:"x"`
}

var part = boundary.Define[partPayload, partRecord](boundary.Spec[partPayload, struct{}]{Form: boundary.Form{
	Name: "part", Version: 1, Prefix: "PA", Home: boundary.Tracked, Items: "parts", Purpose: "x", Command: "x", Example: `[{"name":"ab","score":1,"mood":"calm"}]`,
}})

const envelope = `"schema_version":1,"kind":"kk","id":"i","created_at":"2026-01-01T00:00:00Z","basis":{"revision":1,"commit":"c","tree":"t"},"request_sha256":"r","parents":["p"],"tool_version":"v"`

func judges(t testing.TB) map[string]judge {
	t.Helper()
	files, err := generate(append([]*boundary.Form{part.Form}, hooks.Kinds...))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(name string) *jsonschema.Schema {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(files[name]))
		if err != nil {
			t.Fatal(name, err)
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
	shape := func(record any) func([]byte) error { // of a stored record, whatever its bytes and id are
		s := boundary.ShapeOf(reflect.TypeOf(record))
		return func(b []byte) error {
			n, vs := boundary.ReadJSON(bytes.NewReader(b), boundary.DefaultLimits)
			if n != nil {
				vs = append(vs, s.Check(n, nil)...)
			}
			if len(vs) > 0 {
				return &boundary.Refusal{Violations: vs}
			}
			return nil
		}
	}
	return map[string]judge{
		"skmb-decision": {compile("skmb-decision.v1.submit.json"), func(b []byte) error {
			_, err := skmb.DecisionKind.Read(bytes.NewReader(b), "x")
			return err
		}, `{"title":"t","patterns":["A","B_state_persistence"],"scope":"s","context":"c","decision":"d","applies_to":["x","y"],"options":["1","2"],"recommendation":"r","needed_before":"n","supersedes":[{"id":"SKMB-2026-01-01-001"}],"paths":["src/**"]}`},
		"assent.yaml": {compile("assent.yaml.v1.json"), func(b []byte) error { // JSON is YAML
			_, err := config.Parse(b)
			return err
		}, `{"version":1,"skmb":{"roots":["a","b"],"gate":"related","archive":{"mode":"off","dir":"x"}},"approval":{"required":"terminal","allowed_signers":"s","touch":true,"domains":{"skmb":{"required":"signature"}}},"severity":{"a/b":"off"},"baseline":"b"}`},
		"approval record": {compile("approval.v1.record.json"), shape(approval.Record{}),
			`{` + envelope + `,"statement":"s","method":"m","given_at":"2026-01-01T00:00:00Z","by":{"name":"n","email":"e"},"proof":{"foreground":true,"tries":1,"shown_sha256":"a","principal":"p","key_type":"k","fingerprint":"f","signature":"s","touch":true}}`},
		"audit record": {compile("audit.v1.record.json"), shape(boundary.AuditRecord{}),
			`{` + envelope + `,"command":"c","artifact":"ab","unit":"u","input":{"sha256":"a","bytes":1},"schema":{"version":1,"sha256":"a"},"claimed":{"provider":"p","model":"m","model_version":"v","prompt_packet_sha256":"a"},"stages":[{"stage":1,"verdict":"passed","proves":"shape"}],"attempt":1,"outputs":[{"path":"p","sha256":"` + strings.Repeat("a", 64) + `","id":"i"}],"approval_id":"a"}`},
		"a batch": {compile("part.v1.submit.json"), func(b []byte) error {
			_, err := part.Read(bytes.NewReader(b), "x")
			return err
		}, `[{"name":"abc","score":1,"ready":true,"mood":"wild","marks":[1,2],"inner":[{"text":"t"}]},{"name":"ab","score":0,"mood":"calm"}]`},
		"a record with more at two levels": {compile("part.v1.record.json"), shape(partRecord{}),
			`{` + envelope + `,"name":"abc","score":1,"ready":true,"mood":"wild","marks":[1,2],"inner":[{"text":"t","place":1}]}`},
	}
}

// A batch as a tool is one object that holds the list.
func TestBatchTool(t *testing.T) {
	files, err := generate([]*boundary.Form{part.Form})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(files["part.v1.tool.json"]))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:tool", doc.(map[string]any)["input_schema"]); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:tool")
	if err != nil {
		t.Fatal(err)
	}
	for instance, taken := range map[string]bool{`{"parts":` + part.Example + `}`: true, part.Example: false, `{"parts":[{}]}`: false, `{"parts":[],"more":1}`: false, `{}`: false} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(instance))
		if err != nil {
			t.Fatal(err)
		}
		_, own := part.Read(strings.NewReader(instance), "x")
		if got := s.Validate(v) == nil; got != taken || taken && own != nil {
			t.Errorf("%s: taken by the schema: %v, by the boundary: %v", instance, got, own)
		}
	}
}

// alone are the codes with which the boundary may refuse what a schema takes: a schema cannot
// say them.
var alone = []string{"boundary/text-unsafe", "boundary/text-blank", "boundary/json-number", "boundary/json-duplicate-name", "boundary/json-utf8", "boundary/secret-found"}

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
		// Of a name that stands twice a schema sees the last value only.
		twice := slices.ContainsFunc(refusal.Violations, func(v boundary.Violation) bool { return v.Code == "boundary/json-duplicate-name" })
		for _, v := range refusal.Violations {
			if !twice && !slices.Contains(alone, v.Code) {
				t.Errorf("the boundary alone refuses with %s %s: %.300s", v.Code, v.Pointer, instance)
			}
		}
	}
	return own == nil
}

// Both readers of the types judge every generated instance alike: each member in turn missing,
// null, of another type, empty, too long, out of its vocabulary, and beside an unknown one.
func TestAgree(t *testing.T) {
	for name, j := range judges(t) {
		t.Run(name, func(t *testing.T) {
			if !j.agree(t, []byte(j.whole)) {
				t.Fatalf("the whole payload is refused: %v", j.read([]byte(j.whole)))
			}
			var v any
			if err := json.Unmarshal([]byte(j.whole), &v); err != nil {
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
			if count < 100 || refused < count/2 || refused == count {
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

// The example of a prompt is taken, and the text names every field, every owned name and every
// code that a submission can meet.
func TestPrompt(t *testing.T) {
	for _, k := range append([]*boundary.Form{part.Form}, hooks.Kinds...) {
		if !k.Submitted() {
			continue
		}
		text := k.Prompt()
		_, example, _ := strings.Cut(text, "```json\n")
		example, _, _ = strings.Cut(example, "\n```")
		if example != k.Example || example == "" {
			t.Errorf("%s: the example is %s", k.Name, example)
		}
		for _, f := range k.Fields() {
			if !strings.Contains(text, "| `"+f.Name+"` |") || f.Description == "" || f.Form == "" {
				t.Errorf("%s: %+v is not told of", k.Name, f)
			}
		}
		for _, name := range k.Owned() {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s: %s is not told of", k.Name, name)
			}
		}
		for _, code := range []string{"boundary/owned-field", "boundary/secret-found", "boundary/busy", "store/recovery-needed"} {
			if !strings.Contains(text, "| `"+code+"` |") {
				t.Errorf("%s: %s is not told of", k.Name, code)
			}
		}
	}
	if _, err := skmb.DecisionKind.Read(strings.NewReader(skmb.DecisionKind.Example), "x"); err != nil {
		t.Errorf("the example is refused: %v", err)
	}
	if strings.Contains(part.Prompt(), "boundary/ground-short") || strings.Contains(part.Prompt(), "boundary/ref-unknown") {
		t.Error("a kind without quotes and references tells of their codes")
	}
}

// Of every version that was ever released there is a sample, written once and never again, and
// it is still read.
func TestSamples(t *testing.T) {
	dir := filepath.Join("..", "..", dir, "samples")
	wanted := map[string]bool{}
	for _, k := range hooks.Kinds {
		for v := 1; v <= k.Version; v++ {
			name := fmt.Sprintf("%s.v%d.json", k.Name, v)
			wanted[name] = true
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
				continue
			}
			switch k.Name {
			case "skmb-decision":
				_, err = skmb.DecisionKind.Read(bytes.NewReader(data), name)
			case "rule-decision":
				_, err = agentsmd.RuleDecisions.Read(bytes.NewReader(data), name)
			case "global-review":
				_, err = agentsmd.GlobalReview.Read(bytes.NewReader(data), name)
			default:
				err = k.Unseal(data, nil)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !wanted[e.Name()] {
			t.Errorf("%s is a sample of nothing", e.Name())
		}
	}
}

// Schemas and prompts are the same in every repository and hold nothing of any: they are made
// of the types alone, without paths, ids, references or credentials.
func TestSchemasHoldNoData(t *testing.T) {
	here, err := generate(hooks.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	there, err := generate(hooks.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range here {
		if !bytes.Equal(data, there[name]) {
			t.Errorf("%s depends on where it is made", name)
		}
		for _, odd := range []string{"/home/", "/Users/", "/tmp/", "C:\\", "SKMB-20", "AP-20"} {
			if bytes.Contains(data, []byte(odd)) {
				t.Errorf("%s holds %q", name, odd)
			}
		}
		for line := range strings.Lines(string(data)) {
			if what := boundary.Secret(line); what != "" {
				t.Errorf("%s holds %s: %s", name, what, line)
			}
		}
	}
}

// Whatever the bytes are, the two readers agree. The configuration is not among them: its
// reader reads YAML, which takes more than JSON.
func FuzzAgree(f *testing.F) {
	all := judges(f)
	delete(all, "assent.yaml")
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		f.Add(byte(i), []byte(all[name].whole))
	}
	f.Add(byte(0), []byte(skmb.DecisionKind.Example))
	f.Add(byte(0), []byte(`[{"name":"a","score":"","score":0,"mood":"calm"}]`))
	f.Fuzz(func(t *testing.T, which byte, data []byte) { all[names[int(which)%len(names)]].agree(t, data) })
}
