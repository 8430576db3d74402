package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assent/config"
	"assent/finding"
)

// Baseline is the content of the file: findings that are known and do not block.
type Baseline struct {
	SchemaVersion int             `json:"schema_version"`
	Entries       []BaselineEntry `json:"entries"`
}

// BaselineEntry is one known finding. The fingerprint decides; code, path and note are for
// people.
type BaselineEntry struct {
	Fingerprint string `json:"fingerprint"`
	Code        string `json:"code"`
	Path        string `json:"path"`
	Note        string `json:"note,omitzero"`
}

// ReadBaseline reads the baseline of a tree, an empty one if there is none.
func ReadBaseline(tree finding.Tree, name string) (Baseline, error) {
	b := Baseline{SchemaVersion: 1}
	data, err := tree.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &b, json.RejectUnknownMembers(true))
	}
	if err == nil && b.SchemaVersion != 1 {
		err = fmt.Errorf("its schema_version is %d; this program knows 1", b.SchemaVersion)
	}
	if err != nil {
		return b, &baselineError{fmt.Errorf("%s cannot be read: %w", name, err)}
	}
	return b, nil
}

type baselineError struct{ error }

func (e *baselineError) Unwrap() error { return e.error }

// ExitCode is the house's code for invalid configuration.
func (e *baselineError) ExitCode() int { return finding.ExitInvalid }

// Marshal is the file's one form: sorted, indented, with a final newline.
func (b Baseline) Marshal() ([]byte, error) {
	slices.SortFunc(b.Entries, func(x, y BaselineEntry) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.Code, y.Code), strings.Compare(x.Fingerprint, y.Fingerprint))
	})
	if b.Entries == nil {
		b.Entries = []BaselineEntry{}
	}
	data, err := json.Marshal(b, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	return append(data, '\n'), err
}

// applyBaseline marks the findings that the baseline knows. An entry counts only if the
// trusted baseline has it, or the parent itself already had that finding: so an old base is
// adopted in one step, and no change can exempt what it brings.
func (t *Target) applyBaseline(ctx context.Context, checks []finding.Check, result *finding.Result) error {
	own, err := ReadBaseline(t.New, t.Config.Baseline)
	if err != nil {
		return err
	}
	if len(own.Entries) == 0 {
		return nil
	}
	var trusted Baseline
	if t.trusted != nil {
		name := t.Config.Baseline
		if c, err := config.Load(t.trusted); err == nil {
			name = c.Baseline
		}
		if trusted, err = ReadBaseline(t.trusted, name); err != nil {
			trusted = Baseline{} // what cannot be read exempts nothing
		}
	}
	known := map[string]bool{}
	for _, e := range trusted.Entries {
		known[e.Fingerprint] = true
	}
	found := map[string]int{}
	for i, print := range finding.Fingerprints(result.Findings) {
		found[print] = i
	}
	var before map[string]bool // findings of the parent, asked for once and only if needed
	for _, e := range own.Entries {
		i, there := found[e.Fingerprint]
		if !there {
			t.own.Findings = append(t.own.Findings, finding.Finding{Code: "lint/baseline-stale", Title: "a baseline entry has no finding any more", Severity: finding.Warning,
				Path: t.Config.Baseline, Key: e.Fingerprint, Message: fmt.Sprintf("%s in %s is mended; the entry can go", e.Code, e.Path), Fix: "assent lint --write-baseline"})
			continue
		}
		if !known[e.Fingerprint] {
			if before == nil {
				before = t.findingsBefore(ctx, checks)
			}
			if !before[e.Fingerprint] {
				t.own.Findings = append(t.own.Findings, finding.Finding{Code: "lint/baseline-grew", Title: "a change exempts a finding that it brings", Severity: finding.Error, Fixed: true,
					Path: t.Config.Baseline, Key: e.Fingerprint, Message: fmt.Sprintf("the entry for %s in %s is new, and so is the finding", e.Code, e.Path), Fix: "mend the finding, and take the entry out"})
				continue
			}
		}
		if f := result.Findings[i]; f.Severity == finding.Error && !f.Fixed {
			result.Findings[i].Baselined = true
		}
	}
	return nil
}

// findingsBefore are the fingerprints of what the parent tree, or a parent of a merge, is
// objected to for.
func (t *Target) findingsBefore(ctx context.Context, checks []finding.Check) map[string]bool {
	before := map[string]bool{}
	parents := t.Parents
	if t.trusted != nil && len(parents) < 2 { // of a merge each side may have had it
		parents = []finding.Tree{t.trusted}
	}
	for _, tree := range parents {
		r := finding.Run(checks, finding.Pass{Ctx: ctx, New: tree})
		for _, print := range finding.Fingerprints(r.Findings) {
			before[print] = true
		}
	}
	return before
}

// WriteBaseline is the baseline of today's error findings, with what it adds and drops
// against the present one. Notes of entries that stay are kept, and so are the entries of what was not
// judged.
func (t *Target) WriteBaseline(r finding.Report) (b Baseline, added, dropped []BaselineEntry, err error) {
	old, err := ReadBaseline(t.New, t.Config.Baseline)
	if err != nil {
		return b, nil, nil, err
	}
	b = Baseline{SchemaVersion: 1}
	for i, print := range finding.Fingerprints(r.Findings) {
		f := r.Findings[i]
		if f.Severity != finding.Error || f.Fixed || strings.HasPrefix(f.Code, "lint/") {
			continue
		}
		e := BaselineEntry{Fingerprint: print, Code: f.Code, Path: f.Path}
		if k := slices.IndexFunc(old.Entries, func(o BaselineEntry) bool { return o.Fingerprint == print }); k >= 0 {
			e.Note = old.Entries[k].Note
		} else {
			added = append(added, e)
		}
		b.Entries = append(b.Entries, e)
	}
	for _, o := range old.Entries {
		if !strings.HasPrefix(o.Code, t.Area) {
			b.Entries = append(b.Entries, o)
			continue
		}
		if !slices.ContainsFunc(b.Entries, func(e BaselineEntry) bool { return e.Fingerprint == o.Fingerprint }) {
			dropped = append(dropped, o)
		}
	}
	return b, added, dropped, nil
}
