package boundary_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assent/boundary"
	"assent/finding"
)

// memory is a tree of files by name.
type memory map[string]string

func (m memory) files() fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range m {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return out
}

func (m memory) Open(name string) (fs.File, error)          { return m.files().Open(name) }
func (m memory) ReadFile(name string) ([]byte, error)       { return m.files().ReadFile(name) }
func (m memory) ReadDir(name string) ([]fs.DirEntry, error) { return m.files().ReadDir(name) }
func (m memory) Stat(name string) (fs.FileInfo, error)      { return m.files().Stat(name) }
func (m memory) ObjectID(name string) (string, bool) {
	text, ok := m[name]
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
	return hex.EncodeToString(sum[:]), ok
}

// with is a copy of a tree with other files; an empty text takes a file out.
func (m memory) with(changes memory) memory {
	out := maps.Clone(m)
	for name, text := range changes {
		if out[name] = text; text == "" {
			delete(out, name)
		}
	}
	return out
}

// submitted is what a submission leaves in the tree: three records and their audit entry.
func submitted(t testing.TB) (tree memory, records []string, entry string) {
	t.Helper()
	d, dir := doorIn(t)
	a, err := submit(t, d, "["+add+","+remove+","+noop+"]", theWorld())
	if err != nil {
		t.Fatal(err)
	}
	tree = memory{"README.md": "x\n"}
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		tree[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range a.IDs {
		records = append(records, learnedKind.Path(id))
	}
	return tree, records, boundary.Audit.Path(a.AuditID)
}

var channelKinds = []*boundary.Form{learnedKind.Form, recordKind, boundary.Audit}

// lock runs the channel lock over a tree.
func lock(o boundary.ChannelOptions, tree finding.Tree, changed []string, parents ...finding.Tree) (codes []string, r finding.Result) {
	o.Kinds = channelKinds
	p := finding.Pass{Ctx: context.Background(), New: tree, Parents: parents, Changed: func() ([]string, error) { return changed, nil }}
	r = finding.Run(boundary.Checks(o), p)
	for _, f := range r.Findings {
		codes = append(codes, f.Code+" "+f.Path)
	}
	slices.Sort(codes)
	return codes, r
}

// Whatever is done to a record that a submission left behind is seen, by the code that says
// what was done; what is as it was left is silent.
func TestChannelLock(t *testing.T) {
	tree, names, entry := submitted(t)
	first := names[0]
	_, single := seal(t, newRecord())
	alone := recordKind.Path(recordIDOf(single))
	const b = "boundary/"
	cases := []struct {
		name    string
		change  memory
		parents []finding.Tree
		want    []string
	}{
		{"as it was left", nil, nil, nil},
		{"as it was left, on what was there before", nil, []finding.Tree{tree}, nil},
		{"on nothing", nil, []finding.Tree{memory{}}, nil},
		{"a record that is no JSON", memory{first: "approved\n"}, nil, []string{b + "audit-mismatch " + entry, b + "record-unparsable " + first}},
		{"an empty record", memory{first: " "}, nil, []string{b + "audit-mismatch " + entry, b + "record-unparsable " + first}},
		{"a word changed", memory{first: strings.Replace(tree[first], "documentation", "the manual", 1)}, []finding.Tree{tree}, []string{b + "audit-mismatch " + entry, b + "record-id " + first, b + "row-changed " + first}},
		{"brought back as it was", nil, []finding.Tree{tree.with(memory{first: strings.Replace(tree[first], "documentation", "the manual", 1)})}, nil},
		{"a member more", memory{first: strings.Replace(tree[first], "{", "{\n  \"aa\": 1,", 1)}, nil, []string{b + "audit-mismatch " + entry, b + "record-shape " + first}},
		{"reformatted", memory{first: strings.ReplaceAll(tree[first], "\n  ", "\n\t")}, []finding.Tree{tree}, []string{b + "audit-mismatch " + entry, b + "record-bytes " + first, b + "row-changed " + first}},
		{"CR LF", memory{first: strings.ReplaceAll(tree[first], "\n", "\r\n")}, nil, []string{b + "audit-mismatch " + entry, b + "record-bytes " + first}},
		{"a copy under another name", memory{".assent/learned/LE-20260302-00000000000000000000.json": tree[first]}, nil, []string{b + "audit-missing .assent/learned/LE-20260302-00000000000000000000.json", b + "record-id .assent/learned/LE-20260302-00000000000000000000.json"}},
		{"a record taken out", memory{first: ""}, []finding.Tree{tree}, []string{b + "audit-mismatch " + entry, b + "row-removed " + first}},
		{"a record taken out that only one parent has", memory{first: ""}, []finding.Tree{memory{}, tree}, []string{b + "audit-mismatch " + entry, b + "row-removed " + first}},
		{"all records taken out", memory{names[0]: "", names[1]: "", names[2]: ""}, []finding.Tree{tree}, []string{b + "audit-mismatch " + entry, b + "audit-mismatch " + entry, b + "audit-mismatch " + entry,
			b + "row-removed " + names[0], b + "row-removed " + names[1], b + "row-removed " + names[2], b + "subject-vanished .assent/learned"}},
		{"the audit entry taken out", memory{entry: ""}, []finding.Tree{tree}, []string{b + "audit-missing " + names[0], b + "audit-missing " + names[1], b + "audit-missing " + names[2], b + "row-removed " + entry, b + "subject-vanished .assent/audit"}},
		{"the audit entry edited", memory{entry: strings.Replace(tree[entry], `"attempt": 1`, `"attempt": 2`, 1)}, nil, []string{b + "audit-missing " + names[0], b + "audit-missing " + names[1], b + "audit-missing " + names[2], b + "record-id " + entry}},
		{"a note among the records", memory{".assent/learned/README.md": "x"}, nil, []string{b + "record-unparsable .assent/learned/README.md"}},
		{"a file nested below the records", memory{".assent/learned/sub/x.json": "{}"}, nil, []string{b + "record-unparsable .assent/learned/sub"}},
		{"a directory that some file systems take for that of the records", memory{".assent/Learned/x.json": "{}"}, nil, []string{b + "record-unparsable .assent/Learned"}},
		{"a directory that some file systems take for ours", memory{".ASSENT/learned/x.json": "{}"}, nil, []string{b + "record-unparsable .ASSENT"}},
		{"an entry that names what is no path", memory{entry: strings.Replace(tree[entry], first, "../x", 1)}, nil, []string{b + "audit-missing " + names[0], b + "audit-missing " + names[1], b + "audit-missing " + names[2], b + "record-id " + entry}},
		{"a merge that drops what only the other side had", memory{first: ""}, []finding.Tree{tree.with(memory{first: ""}), tree}, []string{b + "audit-mismatch " + entry, b + "row-removed " + first}},
		{"a record of a kind that nobody submits needs no entry", memory{alone: string(single)}, nil, nil},
		{"a file of a kind that is not known", memory{".assent/later/x.json": "{}"}, nil, nil},
		{"a temporary", memory{".assent/learned/.assent-tmp-abc": "x", "docs/.assent-tmp-": "x"}, nil, []string{b + "tmp-staged .assent/learned/.assent-tmp-abc", b + "tmp-staged docs/.assent-tmp-"}},
		{"a name that only looks like one", memory{"docs/x.assent-tmp-y": "x"}, nil, nil},
		{"a log", memory{"copy/calls-0001.jsonl": `{"at":"x","prev":"` + strings.Repeat("0", 64) + `","seq":1}` + "\n"}, nil, []string{b + "private-staged copy/calls-0001.jsonl"}},
		{"heads", memory{"head.json": `{"generation":1,"logs":{}}`}, nil, []string{b + "private-staged head.json"}},
		{"a journal", memory{"a/journal.json": `{"version":1,"ops":[{}]}`}, nil, []string{b + "private-staged a/journal.json"}},
		{"an answer", memory{"idem/" + strings.Repeat("ab", 32) + ".json": `{"request":"x","at":"y","result":{}}`}, nil, []string{b + "private-staged idem/" + strings.Repeat("ab", 32) + ".json"}},
		{"files of others with such names", memory{"head.json": `{"title":"x"}`, "journal.json": `[]`, "data-0001.jsonl": `{"x":1}`, "x/" + strings.Repeat("ab", 32) + ".json": `{"request":1}`}, nil, nil},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now := tree.with(c.change)
			changed := slices.Sorted(maps.Keys(c.change))
			if c.parents == nil {
				changed = slices.Sorted(maps.Keys(now))
			}
			slices.Sort(c.want)
			for _, all := range []bool{true, false} {
				got, r := lock(boundary.ChannelOptions{All: all}, now, changed, c.parents...)
				if !slices.Equal(got, c.want) {
					t.Errorf("all %v: got\n%s\nwant\n%s", all, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
				if len(r.Unchecked) > 0 {
					t.Errorf("not checked: %+v", r.Unchecked)
				}
				for _, f := range r.Findings {
					seen[f.Code] = true
					if f.Severity != finding.Error || !f.Fixed || f.Fix == "" || f.Message == "" {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
	for _, c := range boundary.Checks(boundary.ChannelOptions{}) {
		if !seen[c.Code] && c.Code != "boundary/schema-version" {
			t.Errorf("no case has %s", c.Code)
		}
		if !slices.Contains(finding.Proofs, c.Proves) || c.Title == "" || c.Doc == "" {
			t.Errorf("%+v", c)
		}
	}
	// What did not change is not judged before a commit, and is in CI.
	broken := tree.with(memory{first: "x"})
	if got, _ := lock(boundary.ChannelOptions{}, broken, []string{"README.md"}, broken); len(got) > 0 {
		t.Errorf("untouched records: %q", got)
	}
	if got, _ := lock(boundary.ChannelOptions{All: true}, broken, []string{"README.md"}, broken); len(got) == 0 {
		t.Error("CI passes over records that did not change")
	}
}

// A record of a later release is not judged, which is no pass.
func TestNewerRecordIsUnchecked(t *testing.T) {
	tree, names, _ := submitted(t)
	got, r := lock(boundary.ChannelOptions{All: true}, tree.with(memory{names[0]: strings.Replace(tree[names[0]], `"schema_version": 1`, `"schema_version": 2`, 1)}), nil)
	if len(r.Unchecked) != 1 || r.Unchecked[0].Code != "boundary/schema-version" || !strings.Contains(r.Unchecked[0].Message, names[0]) || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "record-") }) {
		t.Errorf("got %q, not checked %+v", got, r.Unchecked)
	}
}

// Taking out what the very last commit brought may be an amend: a warning before the commit, an
// error where the parents are known.
func TestAmend(t *testing.T) {
	tree, names, _ := submitted(t)
	now := tree.with(memory{names[0]: ""})
	_, r := lock(boundary.ChannelOptions{Amends: func(_ context.Context, path string) bool { return path == names[0] }}, now, names[:1], tree)
	for _, f := range r.Findings {
		if f.Code == "boundary/row-removed" && f.Severity != finding.Warning {
			t.Errorf("got %+v", f)
		}
	}
	_, r = lock(boundary.ChannelOptions{Amends: func(context.Context, string) bool { return false }}, now, names[:1], tree)
	if r.Exit() != finding.ExitFindings {
		t.Errorf("got %+v", r)
	}
}

// The commands that hints name stand for the file alone, whatever it is called.
func TestHintsAreSafe(t *testing.T) {
	for name, want := range map[string]string{
		"x/.assent-tmp-$(touch pwned)": `git rm -r --cached -- 'x/.assent-tmp-$(touch pwned)'`,
		"x/.assent-tmp-it's":           `git rm -r --cached -- 'x/.assent-tmp-it'\''s'`,
		"-x/.assent-tmp-a":             `git rm -r --cached -- '-x/.assent-tmp-a'`,
		"x/.assent-tmp-a\nb":           `git rm -r --cached -- "$(printf '\170\057\056\141\163\163\145\156\164\055\164\155\160\055\141\012\142')"`,
	} {
		_, r := lock(boundary.ChannelOptions{}, memory{name: "x"}, []string{name})
		if len(r.Findings) != 1 || r.Findings[0].Fix != want {
			t.Errorf("%q: %+v", name, r.Findings)
		}
	}
}

// In a range each commit answers for itself: what one took out another cannot bring back unseen.
func TestChannelHistory(t *testing.T) {
	tree, names, entry := submitted(t)
	for _, c := range []struct {
		change boundary.Change
		want   string
	}{
		{boundary.Change{Commit: "c1", Path: names[0], Removed: true}, "boundary/row-removed " + names[0]},
		{boundary.Change{Commit: "c1", Path: entry, Read: func() ([]byte, error) { return []byte(tree[entry] + " "), nil }}, "boundary/row-changed " + entry},
		{boundary.Change{Commit: "c1", Path: entry, Read: func() ([]byte, error) { return []byte(tree[entry]), nil }}, ""},
		{boundary.Change{Commit: "c1", Path: entry, Read: func() ([]byte, error) { return []byte(tree[names[0]]), nil }}, "boundary/row-changed " + entry},
		{boundary.Change{Commit: "c1", Path: names[0], Added: true}, ""},
		{boundary.Change{Commit: "c1", Path: ".assent/learned/sub/x.json", Removed: true}, ""},
		{boundary.Change{Commit: "c1", Path: ".assent/learned/x.md", Removed: true}, ""},
		{boundary.Change{Commit: "c1", Path: "x/.assent-tmp-1", Added: true}, "boundary/tmp-staged x/.assent-tmp-1"},
		{boundary.Change{Commit: "c1", Path: "x/head.json", Added: true, Read: func() ([]byte, error) { return []byte(`{"generation":1,"logs":{}}`), nil }}, "boundary/private-staged x/head.json"},
		{boundary.Change{Commit: "c1", Path: "x/head.json", Added: true, Read: func() ([]byte, error) { return []byte(`{}`), nil }}, ""},
		{boundary.Change{Commit: "c1", Path: "x/head.json", Removed: true}, ""},
	} {
		got, r := lock(boundary.ChannelOptions{All: true, EveryTree: true, History: func(_ context.Context, dirs []string) ([]boundary.Change, error) {
			if !slices.Contains(dirs, ".assent/learned") {
				t.Errorf("asked for %q", dirs)
			}
			return []boundary.Change{c.change, c.change}, nil // as of a merge, against each parent
		}}, tree, nil, memory{})

		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: got %q, want %q", c.change, got, c.want)
		}
		if c.want != "" && r.Findings[0].Commit != "c1" {
			t.Errorf("%+v: the commit is not named: %+v", c.change, r.Findings[0])
		}
	}
	_, r := lock(boundary.ChannelOptions{All: true, History: func(context.Context, []string) ([]boundary.Change, error) {
		return nil, errors.New("history is cut")
	}}, tree, nil)
	if r.Exit() != finding.ExitUnchecked {
		t.Errorf("history that cannot be read is %+v", r)
	}
}

// Where the tree does not hold what came in, it is read from elsewhere.
func TestStraysFromElsewhere(t *testing.T) {
	head := func() ([]byte, error) { return []byte(`{"generation":1,"logs":{}}`), nil }
	for _, c := range []struct {
		change boundary.Change
		want   string
	}{
		{boundary.Change{Path: "x/.assent-tmp-1"}, "boundary/tmp-staged x/.assent-tmp-1"},
		{boundary.Change{Path: "x/.assent-tmp-1", Removed: true}, ""},
		{boundary.Change{Path: "x/head.json", Read: head}, "boundary/private-staged x/head.json"},
		{boundary.Change{Path: "x/head.json", Removed: true}, ""},
		{boundary.Change{Path: "x/heads.json", Read: head}, ""},
	} {
		got, _ := lock(boundary.ChannelOptions{Came: func(context.Context) ([]boundary.Change, error) { return []boundary.Change{c.change}, nil }}, memory{}, []string{})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: got %q, want %q", c.change, got, c.want)
		}
	}
	_, r := lock(boundary.ChannelOptions{Came: func(context.Context) ([]boundary.Change, error) {
		return []boundary.Change{{Path: "head.json", Read: func() ([]byte, error) { return nil, errors.New("it is not here") }}}, nil
	}}, memory{}, []string{})
	if r.Exit() != finding.ExitUnchecked {
		t.Errorf("what cannot be read is %+v", r)
	}
}
