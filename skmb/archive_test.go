package skmb

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 6, 20, 14, 0, 0, 0, time.FixedZone("", 2*3600)) // 12:00 UTC

const head = "0123456789abcdef0123456789abcdef01234567"

// shelf is a worktree into which archives are written.
func shelf(t testing.TB) Archiver {
	top := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(top, filepath.FromSlash(root)), 0o755))
	return Archiver{Top: top, Root: root, Dir: "archive", Now: noon}
}

func (a Archiver) archive(t testing.TB, tree *memory, changed bool) string {
	t.Helper()
	newest, err := a.Newest()
	must(t, err)
	names, err := ArchiveNames(tree, root)
	must(t, err)
	name, err := a.Write(tree, names, Manifest{Commit: head, Branch: "main", Check: "passed", Tool: "assent test", Objects: ObjectsDigest(tree, root, names)}, newest, changed)
	must(t, err)
	return name
}

func (a Archiver) at(name string) string { return filepath.Join(a.Top, filepath.FromSlash(name)) }

func (a Archiver) verify(name string) []string { return VerifyArchive(os.DirFS(a.at(name))) }

// shelved are the entries of the archive directory.
func (a Archiver) shelved(t testing.TB) string {
	t.Helper()
	entries, err := os.ReadDir(a.dir())
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestAnArchiveHoldsTheBaseAndItsHashes(t *testing.T) {
	a := shelf(t)
	tree := setting(put(root+"/decisions/.gitkeep", ""), put(root+"/decisions/notes.txt", "x"), put(root+"/decisions/old/1.md", "x"), kind(root+"/decisions/link.md", link), put(root+"/README.md", "x")).tree
	name := a.archive(t, tree, true)
	if want := root + "/archive/20260620T120000Z-0123456789ab"; name != want {
		t.Errorf("got %s, want %s", name, want)
	}
	got := map[string]string{}
	must(t, filepath.Walk(a.at(name), func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(a.at(name), p)
		got[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	manifest, err := ParseManifest([]byte(got["MANIFEST.md"]))
	must(t, err)
	delete(got, "MANIFEST.md")
	want := map[string]string{}
	for n, text := range plain {
		want[strings.TrimPrefix(n, root+"/")] = text
	}
	if !maps.Equal(got, want) {
		t.Errorf("the archive holds %q", slices.Sorted(maps.Keys(got)))
	}
	if manifest.Commit != head || manifest.Branch != "main" || manifest.CreatedAt != "2026-06-20T12:00:00Z" || manifest.Source != root || manifest.Archive != name || manifest.Check != "passed" || manifest.Tool != "assent test" {
		t.Errorf("the manifest is %+v", manifest)
	}
	if len(manifest.Files) != 4 || manifest.Files[0].Name != "SKMB.md" || manifest.Files[1].Name != "decisions/001-notifier.md" {
		t.Errorf("the manifest lists %+v", manifest.Files)
	}
	for _, f := range manifest.Files {
		sum := sha256.Sum256([]byte(want[f.Name]))
		if f.Size != int64(len(want[f.Name])) || f.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%+v is not of the file", f)
		}
	}
	if bad := a.verify(name); len(bad) > 0 {
		t.Errorf("it does not verify: %q", bad)
	}
	if data, err := os.ReadFile(filepath.Join(a.dir(), ".gitignore")); err != nil || string(data) != "*\n" {
		t.Errorf("the ignore file is %q, %v", data, err)
	}
}

func TestTheManifestIsTheSeedsAndStaysReadable(t *testing.T) {
	m := Manifest{Commit: head, Branch: "main", CreatedAt: "2026-06-20T12:00:00Z", Source: root, Archive: root + "/archive/x", Check: "failed (2 errors)", Tool: "assent 1.0", Objects: "aa", Content: "bb",
		Files: []ArchivedFile{{"SKMB.md", 3, "cc"}, {"decisions/a.md", 0, "dd"}}}
	want := "# SKMB archive\n\n- commit: " + head + "\n- branch: main\n- created_at: 2026-06-20T12:00:00Z\n- source: docs/isme\n- archive: docs/isme/archive/x\n- check: failed (2 errors)\n- tool: assent 1.0\n- objects: aa\n- content: bb\n" +
		"\n| file | size | sha256 |\n| --- | --- | --- |\n| SKMB.md | 3 | cc |\n| decisions/a.md | 0 | dd |\n"
	if got := string(m.Markdown()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAManifestReadsBackAsItWasWritten(t *testing.T) {
	for _, text := range append(values, "feature/`x`", "a%20b") {
		m := Manifest{Commit: head, Branch: text, CreatedAt: "2026-06-20T12:00:00Z", Source: text, Archive: text, Check: text, Tool: text, Objects: "aa", Content: "bb"}
		for _, name := range []string{text, "a  b", " a ", "a\tb\nc", "a\u00a0\u3000b", "100%", "%2F", "a|b", "\u2028"} {
			m.Files = append(m.Files, ArchivedFile{"decisions/" + name + ".md", 1 << 40, "cc"})
		}
		got, err := ParseManifest(m.Markdown())
		if err != nil || !reflect.DeepEqual(got, &m) {
			t.Errorf("got %+v, %v, want %+v", got, err, m)
		}
	}
}

func TestAFileOfAnyNameIsArchivedAndVerified(t *testing.T) {
	a := shelf(t)
	tree := setting(put(root+"/decisions/a  b | c%20d_e_*f*.md", "x"), put(root+"/decisions/同意.md", "y"), put(root+"/decisions/-.md", "")).tree
	name := a.archive(t, tree, true)
	if bad := a.verify(name); len(bad) > 0 {
		t.Errorf("it does not verify: %q", bad)
	}
	if again := a.archive(t, tree, true); again != "" {
		t.Errorf("the same content was archived again as %s", again)
	}
}

func TestNoManifestIsTakenForOne(t *testing.T) {
	good := string(Manifest{Content: "bb", Files: []ArchivedFile{{"SKMB.md", 3, "cc"}}}.Markdown())
	for claim, text := range map[string]string{
		"nothing":                "",
		"no content digest":      strings.Replace(good, "- content: bb\n", "", 1),
		"no table":               good[:strings.Index(good, "| file")],
		"two tables":             good + "\n" + good[strings.Index(good, "| file"):],
		"a row of another shape": strings.Replace(good, "| 3 |", "|", 1),
		"a size that is none":    strings.Replace(good, "| 3 |", "| three |", 1),
		"a name that is none":    strings.Replace(good, "| SKMB.md |", "| %zz |", 1),
		"nested beyond reading":  strings.Repeat("> ", 40) + good,
	} {
		t.Run(claim, func(t *testing.T) {
			if m, err := ParseManifest([]byte(text)); err == nil {
				t.Errorf("got %+v", m)
			}
		})
	}
}

func TestVerifyFindsEveryChange(t *testing.T) {
	change := func(name string, do func(string) error) func(string) error {
		return func(dir string) error { return do(filepath.Join(dir, name)) }
	}
	write := func(text string) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(text), 0o644) }
	}
	edit := func(old, new string) func(string) error {
		return func(name string) error {
			data, err := os.ReadFile(name)
			if err != nil || !bytes.Contains(data, []byte(old)) {
				return fmt.Errorf("%s does not hold %q: %w", name, old, err)
			}
			return os.WriteFile(name, bytes.Replace(data, []byte(old), []byte(new), 1), 0o644)
		}
	}
	cases := []struct {
		claim string
		do    func(dir string) error
		want  string
	}{
		{"a file changed", change("decisions/002-race.md", edit("first", "frist")), "decisions/002-race.md"},
		{"a file grew", change("SKMB.md", edit("\n", "\n\n")), "SKMB.md"},
		{"a file is missing", change("decisions/002-race.md", os.Remove), "decisions/002-race.md"},
		{"a file became a directory", change("decisions/002-race.md", func(n string) error { return errors.Join(os.Remove(n), os.Mkdir(n, 0o755)) }), "decisions/002-race.md"},
		{"a file is too many", change("decisions/extra.md", write("x")), "decisions/extra.md"},
		{"a file is too many, above", change("notes.txt", write("x")), "notes.txt"},
		{"a link is too many", change("decisions/extra.md", func(n string) error { return os.Symlink("002-race.md", n) }), "decisions/extra.md"},
		{"a row is missing", change("MANIFEST.md", edit("| decisions/002-race.md |", "| decisions/003-restart.md |")), "MANIFEST.md"},
		{"a hash changed with its file", func(dir string) error {
			sum := sha256.Sum256([]byte(plain[race]))
			other := sha256.Sum256([]byte("x"))
			return errors.Join(change("MANIFEST.md", edit(fmt.Sprintf("%d | %x", len(plain[race]), sum), fmt.Sprintf("1 | %x", other)))(dir), change("decisions/002-race.md", write("x"))(dir))
		}, "MANIFEST.md"},
		{"a row leaves the archive", change("MANIFEST.md", edit("| decisions/002-race.md |", "| ../../SKMB.md |")), "../../SKMB.md"},
		{"the manifest is missing", change("MANIFEST.md", os.Remove), "MANIFEST.md"},
		{"the manifest is none", change("MANIFEST.md", write("x")), "MANIFEST.md"},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			a := shelf(t)
			name := a.archive(t, treeOf(plain), true)
			must(t, c.do(a.at(name)))
			bad := a.verify(name)
			if len(bad) == 0 || !slices.ContainsFunc(bad, func(b string) bool { return strings.HasPrefix(b, c.want+": ") }) {
				t.Errorf("got %q, want something of %s", bad, c.want)
			}
		})
	}
}

func TestEqualContentIsArchivedOnce(t *testing.T) {
	a := shelf(t)
	tree := treeOf(plain)
	one := a.archive(t, tree, true)
	a.Now = a.Now.Add(time.Hour)
	if again := a.archive(t, tree, true); again != "" {
		t.Errorf("nothing changed, but there is %s", again)
	}
	if every := a.archive(t, tree, false); every == "" || every == one {
		t.Errorf("each commit was asked for, but got %q", every)
	}
	a.Now = a.Now.Add(time.Hour)
	changed := setting(swap(race, "first", "last")).tree
	if a.archive(t, changed, true) == "" {
		t.Error("a change was not archived")
	}
	a.Now = a.Now.Add(time.Hour)
	if back := a.archive(t, tree, true); back == "" { // the newest counts, not any
		t.Error("the way back was not archived")
	}
	moved := setting(gone(race), put(root+"/decisions/002.md", plain[race])).tree
	a.Now = a.Now.Add(time.Hour)
	if a.archive(t, moved, true) == "" {
		t.Error("a file that moved was not archived")
	}
}

func TestArchivesOfOneSecondStandBesideEachOther(t *testing.T) {
	a := shelf(t)
	one := a.archive(t, treeOf(plain), false)
	two := a.archive(t, setting(swap(race, "first", "last")).tree, false)
	three := a.archive(t, treeOf(plain), false)
	if two != one+"-2" || three != one+"-3" {
		t.Errorf("got %s, %s, %s", one, two, three)
	}
	for _, name := range []string{one, two, three} {
		if bad := a.verify(name); len(bad) > 0 {
			t.Errorf("%s does not verify: %q", name, bad)
		}
	}
	for i, name := range []string{one, two, three} {
		must(t, os.Chtimes(a.at(name), noon, noon.Add(time.Duration(i)*time.Second)))
	}
	newest, err := a.Newest()
	if err != nil || newest.Archive != three {
		t.Errorf("the newest is %+v, %v", newest, err)
	}
}

func TestTheNewestArchiveIsTheReadableOne(t *testing.T) {
	a := shelf(t)
	if newest, err := a.Newest(); newest != nil || err != nil {
		t.Errorf("without an archive directory got %+v, %v", newest, err)
	}
	one := a.archive(t, treeOf(plain), true)
	for _, later := range []string{"20260621T000000Z-x", "20260622T000000Z", "29990101T000000Z-x", "notes", "2026-06-23", "20269999T000000Z-x", ".tmp-x"} {
		must(t, os.MkdirAll(filepath.Join(a.dir(), later), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(a.dir(), "20260621T000000Z-x", "MANIFEST.md"), []byte("half"), 0o644))
	must(t, os.WriteFile(filepath.Join(a.dir(), "20260624T000000Z-x"), nil, 0o644))
	if newest, err := a.Newest(); err != nil || newest == nil || newest.Archive != one {
		t.Errorf("got %+v, %v, want %s", newest, err, one)
	}
}

func TestAnArchiveIsNeverHalf(t *testing.T) {
	t.Run("a file that cannot be read leaves nothing", func(t *testing.T) {
		a := shelf(t)
		a.archive(t, treeOf(plain), true)
		before := a.shelved(t)
		if name, err := a.Write(treeOf(plain), []string{"SKMB.md", "decisions/gone.md"}, Manifest{Commit: head}, nil, false); err == nil {
			t.Errorf("got %s", name)
		}
		if got := a.shelved(t); got != before {
			t.Errorf("got %s, want %s", got, before)
		}
	})
	t.Run("what cannot be written leaves nothing", func(t *testing.T) {
		a := shelf(t)
		tree := setting(put(root+"/decisions/"+strings.Repeat("x", 300)+".md", "")).tree // no file system has it
		names, err := ArchiveNames(tree, root)
		must(t, err)
		if name, err := a.Write(tree, names, Manifest{Commit: head}, nil, false); err == nil {
			t.Errorf("got %s", name)
		}
		if got := a.shelved(t); got != ".gitignore" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("what a killed process left is cleared after an hour", func(t *testing.T) {
		a := shelf(t)
		for name, age := range map[string]time.Duration{".tmp-old": 61 * time.Minute, ".tmp-new": 59 * time.Minute, "mine": 61 * time.Minute} {
			must(t, os.MkdirAll(filepath.Join(a.dir(), name, "decisions"), 0o755))
			must(t, os.Chtimes(filepath.Join(a.dir(), name), noon.Add(-age), noon.Add(-age)))
		}
		name := a.archive(t, treeOf(plain), true)
		if got, want := a.shelved(t), ".tmp-new "+filepath.Base(name)+" mine"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("in a directory whose name is a pattern", func(t *testing.T) {
		top := t.TempDir()
		a := Archiver{Top: filepath.Join(top, "[ab]"), Root: root, Dir: "archive", Now: noon}
		neighbour := filepath.Join(top, "a", filepath.FromSlash(root), "archive", ".tmp-old")
		for _, dir := range []string{a.dir(), neighbour} {
			must(t, os.MkdirAll(dir, 0o755))
			must(t, os.Chtimes(dir, noon.AddDate(0, 0, -1), noon.AddDate(0, 0, -1)))
		}
		a.archive(t, treeOf(plain), true)
		if _, err := os.Stat(neighbour); err != nil {
			t.Errorf("it cleared the neighbour's directory: %v", err)
		}
	})
}

func TestNothingIsArchivedThroughALinkOrAFile(t *testing.T) {
	for _, name := range []string{root + "/archive", root, "docs"} {
		for _, what := range []string{"a link", "a file"} {
			t.Run(name+" is "+what, func(t *testing.T) {
				a := Archiver{Top: t.TempDir(), Root: root, Dir: "archive", Now: noon}
				outside := t.TempDir()
				must(t, os.MkdirAll(filepath.Join(outside, "isme", "archive"), 0o755))
				must(t, os.MkdirAll(filepath.Dir(a.at(name)), 0o755))
				if what == "a link" {
					must(t, os.Symlink(outside, a.at(name)))
				} else {
					must(t, os.WriteFile(a.at(name), nil, 0o644))
				}
				if newest, err := a.Newest(); err == nil {
					t.Errorf("the newest is %+v", newest)
				}
				if made, err := a.Write(treeOf(plain), []string{"SKMB.md"}, Manifest{Commit: head}, nil, false); err == nil {
					t.Errorf("got %s", made)
				}
				if left, err := filepath.Glob(filepath.Join(outside, "*", "*", "*")); err != nil || len(left) > 0 {
					t.Errorf("outside stands %q, %v", left, err)
				}
				if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
					t.Errorf("outside stands %v, %v", entries, err)
				}
			})
		}
	}
}

func TestAnIgnoreFileThatWasTakenAwayStaysAway(t *testing.T) {
	a := shelf(t)
	must(t, os.Mkdir(a.dir(), 0o755))
	name := a.archive(t, treeOf(plain), true)
	if got := a.shelved(t); got != filepath.Base(name) {
		t.Errorf("got %s", got)
	}
}

func TestNothingIsArchivedOfNoBase(t *testing.T) {
	for claim, is := range map[string]change{
		"no base":             gone(root),
		"the index is a link": func(s *scene) { gone(root)(s); s.tree.files[indexFile] = nil; s.tree.modes[indexFile] = symlink },
	} {
		t.Run(claim, func(t *testing.T) {
			if names, err := ArchiveNames(setting(is).tree, root); err != nil || len(names) > 0 {
				t.Errorf("got %q, %v", names, err)
			}
		})
	}
}

func TestTheObjectsNameTheContent(t *testing.T) {
	of := func(tree *memory) string {
		names, err := ArchiveNames(tree, root)
		must(t, err)
		return ObjectsDigest(tree, root, names)
	}
	same := of(treeOf(plain))
	if got := of(setting(put(root+"/decisions/notes.txt", "")).tree); got != same {
		t.Error("a file that is not archived changed it")
	}
	for claim, is := range map[string]change{"a file changed": put(race, "other"), "a file moved": func(s *scene) { gone(race)(s); put(root+"/decisions/002.md", plain[race])(s) }, "a file is gone": gone(race)} {
		if of(setting(is).tree) == same {
			t.Errorf("%s, and the name is the same", claim)
		}
	}
}
