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

	"assent/config"
	"assent/skmb"
)

const dir = "docs/schema"

func main() {
	replace := flag.Bool("replace", false, "let a schema under its old version accept something else: only before it is released")
	flag.Parse()
	files, err := generate()
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

// generate makes every file of docs/schema.
func generate() (map[string][]byte, error) {
	submit, err := schema("skmb-decision:1:submit", reflect.TypeFor[skmb.DecisionPayload]())
	if err != nil {
		return nil, err
	}
	tool, err := toolProfile("skmb-decision", skmb.DecisionPurpose, submit)
	if err != nil {
		return nil, err
	}
	yaml, err := schema("assent.yaml:1", reflect.TypeFor[config.Config]())
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"skmb-decision.v1.submit.json": submit,
		"skmb-decision.v1.tool.json":   tool,
		"skmb-decision.v1.prompt.md":   []byte(skmb.DecisionKind.Prompt(skmb.DecisionPurpose, "skmb submit")),
		"assent.yaml.v1.json":          yaml,
	}
	files["fingerprints.json"], err = fingerprints(files)
	return files, err
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
func toolProfile(kind, purpose string, submit []byte) ([]byte, error) {
	var schema map[string]any
	if err := json.Unmarshal(submit, &schema); err != nil {
		return nil, err
	}
	delete(schema, "$schema")
	delete(schema, "$id")
	name := "assent_submit_" + strings.NewReplacer("-", "_", ".", "_").Replace(kind)
	return indented(map[string]any{"name": name, "description": purpose, "input_schema": schema})
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
