package boundary_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/boundary"
)

// The entry of an accepted and of a refused submission, field by field.
func TestAuditGolden(t *testing.T) {
	d := door(t)
	d.Key = "host-1"
	d.Schemas = []string{strings.Repeat("5c", 32)}
	d.Claims = boundary.Claims{Provider: "a provider", Model: "a model", ModelVersion: "3", Prompt: strings.Repeat("7e", 32)}
	d.Call.Args = []string{"--format=json", "learned"}
	w := theWorld()
	w.unit = boundary.Unit{Name: "chunk 1", Revision: "r1"}
	if _, err := submit(t, d, `[{"action":"add"}]`, w); err == nil {
		t.Fatal("taken")
	}
	if _, err := submit(t, d, "["+add+"]", w); err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	if err := d.Store.ReadLog(t.Context(), boundary.CallsLog, func(line []byte) error {
		var m map[string]any
		lines = append(lines, m)
		return json.Unmarshal(line, &lines[len(lines)-1])
	}); err != nil {
		t.Fatal(err)
	}
	// Of the fields that the boundary promises each stands in one of the two.
	promised := []string{"id", "at", "tool", "command", "class", "args_redacted", "kind", "unit", "input", "schema", "claimed", "snapshot", "basis", "stages", "verdict", "retry", "key", "outputs", "duration_ms", "seq", "prev"}
	have := map[string]bool{}
	for _, m := range lines {
		for k := range m {
			have[k] = true
		}
	}
	for _, name := range promised {
		if !have[name] {
			t.Errorf("no entry has %s", name)
		}
	}
	for i, want := range []string{
		`{"args_redacted":["--format=json","learned"],"at":"2026-03-02T10:00:00Z","basis":"r1","claimed":{"model":"a model","model_version":"3","prompt_packet_sha256":"` + strings.Repeat("7e", 32) + `","provider":"a provider"},"class":"reversible_write","command":"submit learned","duration_ms":0,"input":{"bytes":18,"sha256":"…"},"kind":"learned","retry":{"attempt":1},"schema":{"sha256":"` + strings.Repeat("5c", 32) + `","version":1},"snapshot":{"commit":"c0ffee","object_format":"sha1","tree":"7ea"},"tool":{"go":"go","version":"test"},"unit":"chunk 1","verdict":"refused"}`,
		`{"args_redacted":["--format=json","learned"],"at":"2026-03-02T10:00:00Z","basis":"r1","claimed":{"model":"a model","model_version":"3","prompt_packet_sha256":"` + strings.Repeat("7e", 32) + `","provider":"a provider"},"class":"reversible_write","command":"submit learned","duration_ms":0,"input":{"bytes":192,"sha256":"…"},"kind":"learned","schema":{"sha256":"` + strings.Repeat("5c", 32) + `","version":1},"snapshot":{"commit":"c0ffee","object_format":"sha1","tree":"7ea"},"tool":{"go":"go","version":"test"},"unit":"chunk 1","verdict":"accepted"}`,
	} {
		m := lines[i]
		stages := m["stages"].([]any)
		for _, name := range []string{"id", "prev", "seq", "stages", "key", "outputs"} {
			delete(m, name)
		}
		if i == 1 {
			if r := m["retry"].(map[string]any); r["attempt"] != 2.0 || !strings.HasPrefix(r["retry_of"].(string), "CL-20260302-") || len(r["reasons"].([]any)) != 2 {
				t.Errorf("the retry is %v", r)
			}
			delete(m, "retry")
		}
		m["input"].(map[string]any)["sha256"] = "…"
		got, err := json.Marshal(m)
		if err != nil || string(got) != want {
			t.Errorf("entry %d\ngot  %s\nwant %s", i, got, want)
		}
		seen := map[string]string{}
		for _, s := range stages {
			s := s.(map[string]any)
			seen[string(rune('a'+int(s["stage"].(float64))))] = s["verdict"].(string)
			if i == 0 && s["stage"] == 4.0 && s["codes"].(map[string]any)["boundary/missing-field"] != 2.0 {
				t.Errorf("stage 4 is %v", s)
			}
		}
		if i == 0 && (seen["e"] != "refused" || seen["b"] != "passed") || i == 1 && len(seen) != 12 {
			t.Errorf("the stages are %v", stages)
		}
	}
}

// Nothing of what was submitted stands in the private directory: no text, no quote, no
// credential, no absolute path. The records themselves are where they belong.
func TestAuditSilence(t *testing.T) {
	d, tree := doorIn(t)
	planted := []string{"heliotrope", "run only the documentation", "abcd1234efgh5678", tree}
	for _, doc := range []string{
		"[" + strings.Replace(add, "When only", "heliotrope: when only", 1) + "]",
		"[" + strings.Replace(add, "When only", "heliotrope token=abcd1234efgh5678", 1) + "]",
		`[{"action":"heliotrope","token":"token=abcd1234efgh5678"}]`,
		"heliotrope",
	} {
		_, _ = submit(t, d, doc, theWorld())
	}
	var found []string
	looked := 0
	err := filepath.WalkDir(filepath.Join(filepath.Dir(tree), "private"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		looked++
		for _, p := range planted {
			if strings.Contains(string(data), p) {
				found = append(found, name+": "+p)
			}
		}
		return err
	})
	if err != nil || looked < 3 || len(found) > 0 {
		t.Errorf("%d files, %v: %q", looked, err, found)
	}
	if log := calls(t, d); len(log) != 4 || !slices.ContainsFunc(log, func(c boundary.Call) bool { return c.Verdict == "accepted" }) {
		t.Errorf("the log is %+v", log)
	}
}
