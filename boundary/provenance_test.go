package boundary_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assent/boundary"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
)

// Every kind of the house keeps the rules of kinds.
func TestDefine(t *testing.T) {
	if len(hooks.Kinds) < 3 {
		t.Errorf("only %d kinds are known", len(hooks.Kinds))
	}
	names := map[string]bool{}
	for _, k := range append(hooks.Kinds[:len(hooks.Kinds):len(hooks.Kinds)], learnedKind.Form, recordKind) {
		k.Ready()
		if names[k.Name] {
			t.Errorf("two kinds are called %s", k.Name)
		}
		names[k.Name] = true
		if k.Submitted() && (k.Purpose == "" || k.Command == "") && k.Name != "learned" {
			t.Errorf("%s does not say what it is for, and how it is submitted", k.Name)
		}
	}
}

// What a kind declares must fit its types.
func TestDeclarations(t *testing.T) {
	type item struct {
		Act  action `json:"act" jsonschema_description:"x"`
		Text string `json:"text,omitzero" jsonschema:"maxLength=9" text:"line" jsonschema_description:"x"`
		Must string `json:"must" jsonschema:"maxLength=9" text:"line" jsonschema_description:"x"`
	}
	type reference struct {
		Ref string `json:"ref" jsonschema:"maxLength=9" text:"line" ref:"things" jsonschema_description:"x"`
	}
	type quote struct {
		Quote string `json:"quote" jsonschema:"maxLength=9" text:"quote" jsonschema_description:"x"`
	}
	type echo struct {
		World string `json:"world" jsonschema:"maxLength=9" text:"line" echo:"true" jsonschema_description:"x"`
	}
	form := boundary.Form{Name: "declared", Version: 1}
	with := func(m boundary.Matrix) func() {
		f := form
		f.Matrix = []boundary.Matrix{m}
		return func() { boundary.Define[item, item](boundary.Spec[item, struct{}]{Form: f}).Ready() }
	}
	rows := func(row string) map[string]string { return map[string]string{"add": row, "remove": row, "no-op": row} }
	with(boundary.Matrix{By: "act", Fields: "text", Rows: rows("r")})()
	for _, c := range []struct {
		why    string
		define func()
	}{
		{"which is no object", with(boundary.Matrix{At: "/nowhere", By: "act", Fields: "text", Rows: rows("r")})},
		{"which is no vocabulary", with(boundary.Matrix{By: "text", Fields: "text", Rows: rows("r")})},
		{"which is no optional field", with(boundary.Matrix{By: "act", Fields: "must", Rows: rows("r")})},
		{"which is no optional field", with(boundary.Matrix{By: "act", Fields: "nothing", Rows: rows("r")})},
		{"has not a mark for each field", with(boundary.Matrix{By: "act", Fields: "text", Rows: rows("r r")})},
		{"has not a mark for each field", with(boundary.Matrix{By: "act", Fields: "text", Rows: rows("x")})},
		{"has not a mark for each field", with(boundary.Matrix{By: "act", Fields: "text", Rows: map[string]string{"add": "r"}})},
		{"a value that does not exist", with(boundary.Matrix{By: "act", Fields: "text", Rows: map[string]string{"add": "r", "remove": "r", "no-op": "r", "merge": "r"}})},
		{"nothing builds the set things of /ref", func() { boundary.Define[reference, reference](boundary.Spec[reference, struct{}]{Form: form}).Ready() }},
		{"quotes and no source", func() { boundary.Define[quote, quote](boundary.Spec[quote, struct{}]{Form: form}).Ready() }},
		{"nothing says what /world must repeat", func() { boundary.Define[echo, echo](boundary.Spec[echo, struct{}]{Form: form}).Ready() }},
		{"the coverage is of a set things", func() {
			boundary.Define[item, item](boundary.Spec[item, struct{}]{Form: form, Coverage: []boundary.Coverage[struct{}]{{Of: "things"}}}).Ready()
		}},
		{"no code that could have another name", func() {
			f := form
			f.Codes = map[string]string{"boundary/none": "x/y"}
			boundary.Define[item, item](boundary.Spec[item, struct{}]{Form: f}).Ready()
		}},
		{"a payload holds no map, such as /m", func() {
			type m struct {
				M map[string]action `json:"m" jsonschema:"maxItems=2" jsonschema_description:"x"`
			}
			boundary.Define[m, m](boundary.Spec[m, struct{}]{Form: form}).Ready()
		}},
		{"the record needs /text, which the payload may leave out", func() {
			boundary.Define[item, struct {
				Act  action `json:"act" jsonschema_description:"x"`
				Text string `json:"text" jsonschema:"maxLength=9" text:"line" jsonschema_description:"x"`
				Must string `json:"must" jsonschema:"maxLength=9" text:"line" jsonschema_description:"x"`
			}](boundary.Spec[item, struct{}]{Form: form}).Ready()
		}},
		{"the record has other limits than the payload", func() {
			boundary.Define[struct {
				A []string `json:"a" jsonschema:"maxItems=2,maxLength=9" text:"line" jsonschema_description:"x"`
			}, struct {
				A []string `json:"a" jsonschema:"maxItems=3,maxLength=9" text:"line" jsonschema_description:"x"`
			}](boundary.Spec[struct {
				A []string `json:"a" jsonschema:"maxItems=2,maxLength=9" text:"line" jsonschema_description:"x"`
			}, struct{}]{Form: form}).Ready()
		}},
		{"the record has another form than the payload at /text", func() {
			boundary.Define[item, struct {
				Act  action `json:"act" jsonschema_description:"x"`
				Text string `json:"text,omitzero" jsonschema:"maxLength=8" text:"line" jsonschema_description:"x"`
				Must string `json:"must" jsonschema:"maxLength=9" text:"line" jsonschema_description:"x"`
			}](boundary.Spec[item, struct{}]{Form: form}).Ready()
		}},
	} {
		t.Run(c.why, func(t *testing.T) { mustPanic(t, c.why, c.define) })
	}
	// An echo is compared with the world and never taken, in a list too.
	type several struct {
		Rows []echo `json:"rows" jsonschema:"maxItems=3" jsonschema_description:"x"`
	}
	many := boundary.Define[several, several](boundary.Spec[several, string]{Form: form, Echo: map[string]func(string) string{"/rows/*/world": func(w string) string { return w }}})
	if r, err := boundary.Judge(many, many.Parse(strings.NewReader(`{"rows":[{"world":"w1"},{"world":"w2"}]}`), "x"), "w1"); err != nil || r == nil || !slices.Equal(found(t, r), []string{"boundary/revision-stale /rows/1/world"}) {
		t.Errorf("in a list: %v, %v", r, err)
	}
	k := boundary.Define[echo, echo](boundary.Spec[echo, string]{Form: form, Echo: map[string]func(string) string{"/world": func(w string) string { return w }}})
	for world, stale := range map[string]bool{"w1": false, "w2": true} {
		r, err := boundary.Judge(k, k.Parse(strings.NewReader(`{"world":"w1"}`), "x"), world)
		if err != nil || (r != nil) != stale || stale && (r.Violations[0].Code != "boundary/revision-stale" || r.ExitCode() != finding.ExitStale) {
			t.Errorf("in the world %s: %v, %v", world, r, err)
		}
	}
}

// files of a snapshot with modes of their own.
type modes struct {
	memory
	all fstest.MapFS
}

func (m modes) Stat(name string) (fs.FileInfo, error) { return m.all.Lstat(name) }

// A path leads to a text of the snapshot, byte for byte, or it is said why not.
func TestReadSource(t *testing.T) {
	tree := memory{"a/b.md": "some text\n", "empty": "", "lfs.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "large": strings.Repeat("x", 4<<20+1), ".env": "x", "keys/id_rsa": "x"}
	all := tree.files()
	all["link"] = &fstest.MapFile{Data: []byte("a/b.md"), Mode: fs.ModeSymlink | 0o777}
	all["sub"] = &fstest.MapFile{Mode: fs.ModeIrregular}
	for _, c := range []struct{ path, code, message string }{
		{"a/b.md", "", ""}, {"empty", "", ""},
		{"a/c.md", "boundary/ground-path", "no such file"}, {"A/b.md", "boundary/ground-path", "no such file"}, {"a", "boundary/ground-path", "a directory"},
		{"/a/b.md", "boundary/ground-path", ""}, {"a//b.md", "boundary/ground-path", ""}, {"../a/b.md", "boundary/ground-path", ""}, {"a/./b.md", "boundary/ground-path", ""}, {"", "boundary/ground-path", ""},
		{"-rf", "boundary/ground-path", "no such file"}, {"$(x)", "boundary/ground-path", "no such file"}, {"a\nb", "boundary/ground-path", "U+000A"}, {".git/config", "boundary/ground-path", ""}, {".GIT/config", "boundary/ground-path", ""}, {"a\\b.md", "boundary/ground-path", ""},
		{"link", "boundary/ground-kind", "link"}, {"sub", "boundary/ground-kind", "submodule"}, {"large", "boundary/ground-kind", "more than"}, {"lfs.bin", "boundary/ground-kind", "Git LFS"},
	} {
		s, err := boundary.ReadSource(modes{tree, all}, c.path, boundary.TrustStaged)
		var g *boundary.GroundError
		switch {
		case c.code == "":
			if err != nil || string(s.Data) != tree[c.path] || s.Provenance != (boundary.Provenance{Trust: boundary.TrustStaged, Scope: boundary.InScope, Freshness: boundary.Fresh, Integrity: boundary.Intact}) {
				t.Errorf("%s: %+v, %v", c.path, s, err)
			}
		case !errors.As(err, &g) || g.Code != c.code || !strings.Contains(g.Message, c.message):
			t.Errorf("%q: %v, want %s (%s)", c.path, err, c.code, c.message)
		}
	}
	for _, path := range []string{".env", "keys/id_rsa"} {
		if s, err := boundary.ReadSource(modes{tree, all}, path, boundary.TrustStaged); err != nil || s.Scope != boundary.DeniedScope || s.Data != nil {
			t.Errorf("%s: %+v, %v", path, s, err)
		}
	}
	if _, err := boundary.ReadSource(lying{tree}, "a/b.md", boundary.TrustStaged); err != nil {
		t.Error(err)
	} else if s, _ := boundary.ReadSource(lying{tree}, "a/b.md", boundary.TrustStaged); s.Integrity != boundary.Mismatch {
		t.Errorf("bytes that are not those of the id: %+v", s)
	}
}

// lying is a tree whose object ids are of other content.
type lying struct{ memory }

func (lying) ObjectID(string) (string, bool) { return strings.Repeat("ab", 20), true }

// An object that the clone lacks is neither there nor changed: it cannot be told. In both object
// formats the id of what is there is computed anew.
func TestShallow(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			origin, partial := filepath.Join(dir, "origin"), filepath.Join(dir, "partial")
			git(t, dir, "init", "-q", "--object-format="+format, origin)
			if err := os.WriteFile(filepath.Join(origin, "notes.md"), []byte("retries stop after three attempts\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			git(t, origin, "add", "-A")
			git(t, origin, "commit", "-qm", "x")
			git(t, origin, "config", "uploadpack.allowFilter", "true")
			git(t, dir, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+origin, partial)
			read := func(at string) boundary.Source {
				r, err := repo.Open(t.Context(), at, gitEnv(t))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				tree, err := r.Commit(t.Context(), "HEAD")
				if err != nil {
					t.Fatal(err)
				}
				s, err := boundary.ReadSource(tree, "notes.md", boundary.TrustTracked)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			if s := read(origin); s.Integrity != boundary.Intact || s.Freshness != boundary.Fresh || len(s.Data) == 0 {
				t.Errorf("where it is: %+v", s)
			}
			s := read(partial)
			if s.Integrity != boundary.IntegrityUnknown || s.Freshness != boundary.FreshnessUnknown || s.Data != nil {
				t.Errorf("where it is not: %+v", s)
			}
			for _, o := range s.Objections(boundary.TrustTracked) {
				if o.Code != "boundary/prov-unverifiable" {
					t.Errorf("got %+v", o)
				}
				if v := boundary.NewViolation(o.Code, "", boundary.Pos{}, "x"); v.Class != boundary.Transient {
					t.Errorf("got %+v", v)
				}
			}
		})
	}
}

func gitEnv(t testing.TB) []string {
	home := t.TempDir()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=agent", "GIT_AUTHOR_EMAIL=agent@example.org", "GIT_COMMITTER_NAME=agent", "GIT_COMMITTER_EMAIL=agent@example.org"}
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, gitEnv(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
