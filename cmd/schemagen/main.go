// Command schemagen writes docs/schema from the Go types: JSON schemas for hosts and editors,
// and the texts that tell a model how to submit. It is a development command and not
// shipped. Run it from the top of the repository; the tests say when it is needed.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"assent/boundary"
	"assent/config"
	"assent/hooks"
)

const dir = "docs/schema"

func main() {
	replace := flag.Bool("replace", false, "let a schema under its old version accept something else: only before it is released")
	flag.Parse()
	files, err := generate(hooks.Kinds)
	if err == nil && !*replace {
		err = pinned(files["fingerprints.json"])
	}
	for name, data := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

// pinned refuses what changes the meaning of a schema without a new version.
func pinned(now []byte) error {
	data, err := os.ReadFile(filepath.Join(dir, "fingerprints.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before, after map[string]string
	if err = errors.Join(err, json.Unmarshal(data, &before), json.Unmarshal(now, &after)); err != nil {
		return err
	}
	for name, print := range before {
		if after[name] != print {
			return fmt.Errorf("%s would accept something else than before: give it a new version", name)
		}
	}
	return nil
}

// generate makes every file of docs/schema that is not written by hand.
func generate(kinds []*boundary.Form) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, k := range kinds {
		payload, record := k.Types()
		name := fmt.Sprintf("%s.v%d.", k.Name, k.Version)
		id := fmt.Sprintf("%s:%d:", k.Name, k.Version)
		var err error
		if k.Home == boundary.Tracked { // its records are JSON that anybody may read
			if files[name+"record.json"], err = schema(id+"record", record); err != nil {
				return nil, err
			}
		}
		if !k.Submitted() {
			continue
		}
		if files[name+"submit.json"], err = submitSchema(k, id+"submit", payload); err != nil {
			return nil, err
		}
		if files[name+"tool.json"], err = toolProfile(k, payload); err != nil {
			return nil, err
		}
		files[name+"prompt.md"] = []byte(k.Prompt())
		var probes bytes.Buffer
		for _, p := range k.Probes() {
			line, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			probes.Write(append(line, '\n'))
		}
		files[name+"probe.jsonl"] = probes.Bytes()
	}
	yaml, err := schema("assent.yaml:1", reflect.TypeFor[config.Config]())
	if err != nil {
		return nil, err
	}
	files["assent.yaml.v1.json"] = yaml
	files["fingerprints.json"], err = fingerprints(files)
	return files, err
}

// submitSchema is the schema of what a kind takes: an object, or a list of them where it takes
// a batch.
func submitSchema(k *boundary.Form, id string, payload reflect.Type) ([]byte, error) {
	item, err := schema(id, payload)
	if err != nil || k.Items == "" {
		return item, err
	}
	list, err := listOf(item)
	if err != nil {
		return nil, err
	}
	list["$schema"], list["$id"] = "https://json-schema.org/draft/2020-12/schema", "urn:assent:schema:"+id
	return indented(list)
}

// listOf is the schema of a batch of items that have a schema.
func listOf(item []byte) (map[string]any, error) {
	var s map[string]any
	if err := json.Unmarshal(item, &s); err != nil {
		return nil, err
	}
	delete(s, "$schema")
	delete(s, "$id")
	return map[string]any{"type": "array", "maxItems": boundary.MaxItems, "items": s}, nil
}

// schema reads a Go type in the way of invopop/jsonschema: another reader than the one that
// judges payloads, so that a test can hold the two together.
func schema(id string, t reflect.Type) ([]byte, error) {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: enumerated}
	s := r.ReflectFromType(t)
	s.ID = jsonschema.ID("urn:assent:schema:" + id)
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() != reflect.Map {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		_, limit, _ := strings.Cut(f.Tag.Get("jsonschema"), "maxItems=")
		most, err := strconv.ParseUint(limit, 10, 64)
		if p, ok := s.Properties.Get(name); ok && err == nil {
			p.MaxProperties = &most
		}
	}
	return indented(s)
}

// enumerated gives a closed vocabulary its enum.
func enumerated(t reflect.Type) *jsonschema.Schema {
	e, ok := reflect.Zero(t).Interface().(interface{ EnumValues() []string })
	if !ok {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range e.EnumValues() {
		s.Enum = append(s.Enum, v)
	}
	return s
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// toolProfile is the form in which hosts take a tool: a name, what it is for, and one object.
func toolProfile(k *boundary.Form, payload reflect.Type) ([]byte, error) {
	item, err := schema("", payload)
	if err != nil {
		return nil, err
	}
	var input map[string]any
	if err := json.Unmarshal(item, &input); err != nil {
		return nil, err
	}
	delete(input, "$schema")
	delete(input, "$id")
	if k.Items != "" {
		list, err := listOf(item)
		if err != nil {
			return nil, err
		}
		list["description"] = "the items"
		input = map[string]any{"type": "object", "additionalProperties": false, "required": []string{k.Items}, "properties": map[string]any{k.Items: list}}
	}
	name := "assent_submit_" + strings.NewReplacer("-", "_", ".", "_").Replace(k.Name)
	return indented(map[string]any{"name": name, "description": k.Purpose, "input_schema": input})
}

// fingerprints names what each schema accepts: the SHA-256 of it without titles and
// descriptions. A change of it under the same version is refused by a test.
func fingerprints(files map[string][]byte) ([]byte, error) {
	out := map[string]string{}
	for name, data := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return nil, err
		}
		bare, err := json.Marshal(withoutWords(v))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(bare)
		out[name] = hex.EncodeToString(sum[:])
	}
	return indented(out)
}

func withoutWords(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if _, text := x.(string); !text || k != "title" && k != "description" {
				out[k] = withoutWords(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutWords(v[i])
		}
		return out
	}
	return v
}
