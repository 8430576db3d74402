package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assent/boundary"
	"assent/config"
	"assent/finding"
	"assent/internal/budget"
)

// exitCode is what a command answers with after an error.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) {
		t.Fatalf("the error %v has no exit code", err)
	}
	return coded.ExitCode()
}

// A repository without the file, and one whose file says nothing, have every default.
func TestDefaults(t *testing.T) {
	want := config.Config{
		Version:  1,
		Skmb:     config.Skmb{Roots: []string{"docs/isme"}, Gate: config.Strict, Archive: config.Archive{Mode: config.Changed, Dir: "archive"}},
		Agentsmd: config.Agentsmd{Files: []string{"AGENTS.md"}, MaxChainBytes: 32768, HandEdits: config.Block},
		Approval: config.Approval{Required: "statement", AllowedSigners: ".assent/allowed_signers"},
		Baseline: ".assent/baseline.json",
	}
	cases := []struct {
		name string
		tree fstest.MapFS
	}{
		{"no file", fstest.MapFS{}},
		{"version alone", fstest.MapFS{config.Name: {Data: []byte("version: 1\n")}}},
		{"empty mappings", fstest.MapFS{config.Name: {Data: []byte("version: 1\nskmb: {archive: {}}\napproval: {domains: {skmb: {}}}\n")}}},
		{"the defaults spelt out", fstest.MapFS{config.Name: {Data: []byte("version: 1\nskmb:\n  roots: [docs/isme]\n  archive: {mode: changed, dir: archive}\napproval: {required: statement, allowed_signers: .assent/allowed_signers, touch: false}\nagentsmd: {files: [AGENTS.md], max_chain_bytes: 32768, hand_edits: block}\n")}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Load(c.tree)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
	if got := config.Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	config.Default().Skmb.Roots[0] = "changed"
	if got := config.Default(); !reflect.DeepEqual(got, want) {
		t.Error("who changes the defaults changes them for all")
	}
}

// The level of a domain is the highest that is asked for: configuration only raises it.
func TestRequiredFor(t *testing.T) {
	cases := []struct{ name, all, domain, want string }{
		{"nothing", "", "", "statement"},
		{"for all", "terminal", "", "terminal"},
		{"for the domain", "statement", "signature", "signature"},
		{"less for the domain", "signature", "statement", "signature"},
		{"equal", "terminal", "terminal", "terminal"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := (config.Approval{Required: config.Level(c.all)}).RequiredFor(config.Level(c.domain)); string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A boolean is one in each of the spellings that YAML has for it.
func TestBooleans(t *testing.T) {
	for text, want := range map[string]string{"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "yes": "", "on": "", "1": "", "'true'": "", "~": ""} {
		t.Run(text, func(t *testing.T) {
			c, err := config.Parse([]byte("version: 1\napproval: {touch: " + text + "}\n"))
			switch {
			case want == "" && (err == nil || !strings.HasPrefix(err.Error(), ".assent.yaml:2:19: boundary/type /approval/touch: ")):
				t.Errorf("got %v, %v", c.Approval.Touch, err)
			case want != "" && (err != nil || fmt.Sprint(c.Approval.Touch) != want):
				t.Errorf("got %v, %v, want %s", c.Approval.Touch, err, want)
			}
		})
	}
}

// What the file says is what holds, in every way in which YAML can say it.
func TestParse(t *testing.T) {
	want := config.Default()
	want.Skmb = config.Skmb{Roots: []string{"docs/isme", "équipe/décisions"}, Gate: config.Strict, Archive: config.Archive{Mode: config.Off, Dir: "old"}}
	cases := []struct{ name, text string }{
		{"block style", "version: 1\nskmb:\n  roots:\n    - docs/isme\n    - équipe/décisions\n  archive:\n    mode: off\n    dir: old\n"},
		{"flow style", "{version: 1, skmb: {roots: [docs/isme, équipe/décisions], archive: {mode: off, dir: old}}}"},
		{"JSON", `{"version": 1, "skmb": {"roots": ["docs/isme", "équipe/d\u00e9cisions"], "archive": {"mode": "off", "dir": "old"}}}`},
		{"comments", "# head\nversion: 1 # one\nskmb: # bases\n  roots: [docs/isme, équipe/décisions] # two\n  # archive\n  archive: {mode: off, dir: old}\n# foot"},
		{"quotes", "\"version\": 1\n'skmb': {roots: ['docs/isme', \"équipe/décisions\"], archive: {mode: 'off', dir: \"old\"}}"},
		{"a byte order mark and CR LF", "\ufeffversion: 1\r\nskmb:\r\n  roots: [docs/isme, équipe/décisions]\r\n  archive: {mode: off, dir: old}\r\n"},
		{"document marks", "---\nversion: 1\nskmb: {roots: [docs/isme, équipe/décisions], archive: {mode: off, dir: old}}\n...\n# end\n"},
		{"a directive", "%YAML 1.1\n---\nversion: 1\nskmb: {roots: [docs/isme, équipe/décisions], archive: {mode: off, dir: old}}\n"},
		{"a block scalar", "version: 1\nskmb:\n  roots: [docs/isme, équipe/décisions]\n  archive:\n    mode: off\n    dir: |-\n      old\n"},
		{"explicit keys", "? version\n: 1\n? skmb\n: {roots: [docs/isme, équipe/décisions], archive: {mode: off, dir: old}}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Parse([]byte(c.text))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// Everything that is wrong with the file is told with its line and column, and nothing
// of the file holds.
func TestViolations(t *testing.T) {
	const missing = "1:1 boundary/missing-field /version"
	cases := []struct {
		name, text string
		want       []string
	}{
		{"an empty file", "", []string{missing}},
		{"blank lines", "\n  \n\n", []string{missing}},
		{"comments alone", "# version: 1\n\n# skmb\n", []string{missing}},
		{"a byte order mark alone", "\ufeff", []string{missing}},
		{"an empty mapping", "{}", []string{missing}},
		{"no version", "\n\nskmb: {}\n", []string{"3:1 boundary/missing-field /version"}},
		{"an empty document", "---\n", []string{"2:1 boundary/type "}},
		{"null", "~", []string{"1:1 boundary/type "}},
		{"a list", "- version: 1\n", []string{"1:1 boundary/type "}},
		{"a text", "version 1\n", []string{"1:1 boundary/type "}},

		{"an unknown key", "version: 1\ngate: strict\n", []string{"2:1 boundary/unknown-field /gate"}},
		{"an unknown key in a mapping", "version: 1\nskmb:\n  archive:\n    mode: off\n    path: x\n", []string{"5:5 boundary/unknown-field /skmb/archive/path"}},
		{"an unknown key behind wide characters", "{version: 1, é: 1, 日本: 2}", []string{"1:14 boundary/unknown-field /é", "1:20 boundary/unknown-field /日本"}},
		{"a key in another case", "Version: 1\n", []string{missing, "1:1 boundary/unknown-field /Version"}},
		{"a key that a pointer escapes", "version: 1\na/b~c: 1\n", []string{"2:1 boundary/unknown-field /a~1b~0c"}},
		{"an empty key", "version: 1\n'': 1\n", []string{"2:1 boundary/unknown-field /"}},
		{"a key that breaks lines", "version: 1\n\"a\\nb\": 1\n", []string{"2:1 boundary/unknown-field /a\nb"}},

		{"a key twice", "version: 1\nskmb: {}\nversion: 1\n", []string{"3:1 boundary/json-duplicate-name /version"}},
		{"a key three times", "version: 1\nversion: 2\nversion: 3\n", []string{"2:1 boundary/json-duplicate-name /version", "3:1 boundary/json-duplicate-name /version"}},
		{"a key twice, once in quotes", "version: 1\nskmb: {archive: {mode: off, 'mode': every}}\n", []string{"2:29 boundary/json-duplicate-name /skmb/archive/mode"}},
		{"a key twice that a pointer escapes", "version: 1\n~a/: 1\n~a/: 1\n", []string{"2:1 boundary/unknown-field /~0a~1", "3:1 boundary/json-duplicate-name /~0a~1"}},

		{"a version of tomorrow", "version: 2", []string{"1:10 boundary/range /version"}},
		{"a version of yesterday", "version: 0", []string{"1:10 boundary/range /version"}},
		{"a version as text", "version: '1'", []string{"1:10 boundary/type /version"}},
		{"a version as a float", "version: 1.0", []string{"1:10 boundary/type /version"}},
		{"no value of version", "version:\n", []string{"1:9 boundary/type /version"}},
		{"a number in hexadecimal", "version: 0x1", []string{"1:10 boundary/type /version"}},
		{"a number with a plus", "version: +1", []string{"1:10 boundary/type /version"}},
		{"a number with a zero before it", "version: 01", []string{"1:10 boundary/type /version"}},
		{"a number with an underscore", "version: 1_0", []string{"1:10 boundary/type /version"}},
		{"minus zero", "version: -0", []string{"1:10 boundary/type /version"}},
		{"a number in base 60", "version: 1:0", []string{"1:10 boundary/type /version"}},
		{"a number beyond 64 bits", "version: 99999999999999999999", []string{"1:10 boundary/type /version"}},
		{"infinity", "version: .inf", []string{"1:10 boundary/type /version"}},
		{"a boolean", "version: true", []string{"1:10 boundary/type /version"}},
		{"a list for a mapping", "version: 1\nskmb: []\n", []string{"2:7 boundary/type /skmb"}},
		{"null for a mapping", "version: 1\nskmb:\n", []string{"2:6 boundary/type /skmb"}},
		{"a text for a list", "version: 1\nskmb: {roots: docs/isme}\n", []string{"2:15 boundary/type /skmb/roots"}},
		{"numbers and more in a list of texts", "version: 1\nskmb:\n  roots: [1, true, null, 1.5, [a], {a: b}, docs]\n", []string{
			"3:11 boundary/type /skmb/roots/0", "3:14 boundary/type /skmb/roots/1", "3:20 boundary/type /skmb/roots/2", "3:26 boundary/type /skmb/roots/3", "3:26 boundary/type /skmb/roots/3",
			"3:31 boundary/type /skmb/roots/4", "3:36 boundary/type /skmb/roots/5"}},
		{"a mode that is none", "version: 1\nskmb: {archive: {mode: never}}\n", []string{"2:24 boundary/enum /skmb/archive/mode"}},
		{"a mode in capitals", "version: 1\nskmb: {archive: {mode: OFF}}\n", []string{"2:24 boundary/enum /skmb/archive/mode"}},
		{"a mode that is a boolean", "version: 1\nskmb: {archive: {mode: false}}\n", []string{"2:24 boundary/type /skmb/archive/mode"}},

		{"an anchor", "version: &v 1\n", []string{"1:10 boundary/type /version"}},
		{"an anchor of a mapping", "version: 1\nskmb: &s {archive: &a {}}\n", []string{"2:7 boundary/type /skmb", "2:20 boundary/type /skmb/archive"}},
		{"an anchor of a key", "version: 1\n&k skmb: {}\n", []string{"2:1 boundary/type "}},
		{"an alias", "version: 1\nskmb: {roots: [docs, *r]}\n", nil}, // unknown: a syntax error
		{"an alias of an anchor", "version: 1\nskmb: {roots: [&r docs, *r]}\n", []string{"2:16 boundary/type /skmb/roots/0", "2:25 boundary/type /skmb/roots/1", "2:25 boundary/type /skmb/roots/1"}},
		{"a merge", "version: 1\nskmb:\n  <<: {roots: [docs]}\n", []string{"3:3 boundary/type /skmb"}},
		{"a tag", "version: !!int '1'\n", []string{"1:10 boundary/type /version"}},
		{"a tag of one's own", "version: 1\nskmb: {roots: [!env HOME]}\n", []string{"2:16 boundary/type /skmb/roots/0"}},
		{"a tag of the file", "!config\nversion: 1\n", []string{"1:1 boundary/type "}},
		{"a number as key", "version: 1\n1: a\n", []string{"2:1 boundary/type "}},
		{"null as key", "version: 1\n~: a\n", []string{"2:1 boundary/type "}},
		{"a boolean as key", "version: 1\nskmb: {true: a}\n", []string{"2:8 boundary/type /skmb"}},
		{"a date as key", "version: 1\n2026-01-01: a\n", []string{"2:1 boundary/type "}},
		{"a list as key", "version: 1\n? [a]\n: b\n", []string{"2:3 boundary/type "}},

		{"no roots", "version: 1\nskmb: {roots: []}\n", []string{"2:15 boundary/length /skmb/roots"}},
		{"too many roots", "version: 1\nskmb: {roots: [" + many(33) + "]}\n", []string{"2:15 boundary/length /skmb/roots"}},
		{"a root twice", "version: 1\nskmb:\n  roots:\n    - docs\n    - docs\n", []string{"5:7 boundary/item-duplicate /skmb/roots/1"}},
		{"an empty root", "version: 1\nskmb: {roots: ['']}\n", []string{"2:16 boundary/length /skmb/roots/0"}},
		{"a long root", "version: 1\nskmb: {roots: [" + strings.Repeat("é", 201) + "]}\n", []string{"2:16 boundary/length /skmb/roots/0"}},
		{"a root that hides", "version: 1\nskmb: {roots: [\"a\\u202eb\"]}\n", []string{"2:16 boundary/text-unsafe /skmb/roots/0"}},
		{"a root of two lines", "version: 1\nskmb: {roots: [\"a\\nb\"]}\n", []string{"2:16 boundary/text-unsafe /skmb/roots/0"}},
		{"an empty archive", "version: 1\nskmb: {archive: {dir: ''}}\n", []string{"2:23 boundary/length /skmb/archive/dir"}},
		{"a long archive", "version: 1\nskmb: {archive: {dir: " + strings.Repeat("a", 61) + "}}\n", []string{"2:23 boundary/length /skmb/archive/dir"}},
		{"a list for the archive", "version: 1\nskmb: {archive: {dir: [a]}}\n", []string{"2:23 boundary/type /skmb/archive/dir"}},

		{"all at once", "Version: 1\nskmb:\n  roots: [a, a, ../b]\n  archive: {mode: x, dir: a/b}\n  skmb: 1\n", []string{
			missing, "1:1 boundary/unknown-field /Version", "3:14 boundary/item-duplicate /skmb/roots/1", "3:17 boundary/pattern /skmb/roots/2",
			"4:19 boundary/enum /skmb/archive/mode", "4:27 boundary/pattern /skmb/archive/dir", "5:3 boundary/unknown-field /skmb/skmb"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Parse([]byte(c.text))
			if err == nil || !reflect.DeepEqual(got, config.Config{}) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if code := exitCode(t, err); code != finding.ExitInvalid {
				t.Errorf("exit code %d, want %d", code, finding.ExitInvalid)
			}
			if c.want == nil {
				return
			}
			var r *boundary.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("got the error %v, want a refusal", err)
			}
			told := []string{}
			for _, v := range r.Violations {
				told = append(told, fmt.Sprintf("%d:%d %s %s", v.Line, v.Column, v.Code, v.Pointer))
			}
			if !slices.Equal(told, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(told, "\n  "), strings.Join(c.want, "\n  "))
			}
			for l := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(l, "  hint: ") && !strings.HasPrefix(l, ".assent.yaml:") {
					t.Errorf("the line %q names no place", l)
				}
			}
		})
	}
}

func many(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("r%d", i))
	}
	return strings.Join(out, ",")
}

// Only a plain path below the top of the repository is a root, only a plain name an
// archive.
func TestPaths(t *testing.T) {
	parse := func(text string) error {
		_, err := config.Parse([]byte(text))
		return err
	}
	judge := func(t *testing.T, taken bool, err error, pointer string) {
		t.Helper()
		if taken {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), ": boundary/pattern "+pointer+": ") || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("got %v", err)
		}
	}
	for path, taken := range map[string]bool{
		"docs/isme": true, "docs": true, "a b/c": true, "docs/.hidden": true, ".assent-docs": true, "équipe": true, "git": true, "a.git/b": true, "...": false, "a.": false, "GIT~1": false, "-rf": true, "$(x)": true,
		".": false, "..": false, "./docs": false, "docs/.": false, "docs/..": false, "../docs": false, "docs/../..": false, "a/./b": false,
		"/": false, "/docs": false, "docs/": false, "docs//isme": false, `docs\isme`: false, `\docs`: false, "C:": false, "C:/docs": false, "a:b": false,
		".git": false, ".git/hooks": false, ".GIT": false, "docs/.Git/x": false,
	} {
		t.Run("root "+path, func(t *testing.T) {
			judge(t, taken, parse(fmt.Sprintf("version: 1\nskmb: {roots: [%q]}", path)), "/skmb/roots/0")
		})
	}
	for name, taken := range map[string]bool{
		"archive": true, "old ones": true, "a.b": true, "archivé": true, "decisions2": true,
		".": false, "..": false, ".git": false, ".hidden": false, "a/b": false, "/a": false, "a/": false, `a\b`: false, "a:b": false,
		"decisions": false, "Decisions": false, "DECISIONS": false,
	} {
		t.Run("archive "+name, func(t *testing.T) {
			judge(t, taken, parse(fmt.Sprintf("version: 1\nskmb: {archive: {dir: %q}}", name)), "/skmb/archive/dir")
		})
	}
}

// What is no YAML, or more than one document, is an error of invalid input, never a file
// that says nothing.
func TestSyntax(t *testing.T) {
	const good = "version: 1\n"
	cases := []struct{ name, text, want string }{
		{"a second document", good + "---\nversion: 1\n", ".assent.yaml:2:1: a second document"},
		{"a second document that is empty", good + "---\n", ".assent.yaml:2:1: a second document"},
		{"a second document behind an end", good + "...\n\n---\nskmb: {}\n", ".assent.yaml:4:1: a second document"},
		{"a second document that is no YAML", good + "---\n{ bad", ".assent.yaml: yaml: line 2: "},
		{"text behind the end", good + "...\n{ bad", ".assent.yaml: yaml: line 2: "},
		{"text behind the mapping", "{version: 1} bad", ".assent.yaml: yaml: "},
		{"a second mapping", "{version: 1}\n{skmb: {}}", ".assent.yaml: yaml: "},
		{"an open list", good + "skmb: [", ".assent.yaml: yaml: line 2: "},
		{"an open text", good + "skmb: '", ".assent.yaml: yaml: line "},
		{"a tab", good + "skmb:\n\troots: []", ".assent.yaml: yaml: line 3: "},
		{"two values", "version: 1: 2", ".assent.yaml: yaml: "},
		{"an unknown alias", "version: *v", ".assent.yaml: yaml: unknown anchor"},
		{"a bad byte", good + "skmb: \"\xff\"", ".assent.yaml: yaml: "},
		{"a NUL", good + "\x00", ".assent.yaml: yaml: "},
		{"a control", good + "# \x1b[31m", ".assent.yaml: yaml: "},
		{"a version of YAML to come", "%YAML 2.0\n---\n" + good, ".assent.yaml: yaml: "},
		{"no mapping", "...\n", ".assent.yaml: yaml: "},
		{"a file that is too large", good + "#" + strings.Repeat("x", 256<<10-len(good)), ".assent.yaml has more than 262144 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Parse([]byte(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || !reflect.DeepEqual(got, config.Config{}) {
				t.Fatalf("got %+v, %v\nwant %q", got, err, c.want)
			}
			if code := exitCode(t, err); code != finding.ExitInvalid {
				t.Errorf("exit code %d, want %d", code, finding.ExitInvalid)
			}
		})
	}
	if _, err := config.Parse([]byte(good + "#" + strings.Repeat("x", 256<<10-len(good)-1))); err != nil {
		t.Errorf("a file of exactly the largest size: %v", err)
	}
}

// A file that is there and cannot be read is an error, not an absent file.
func TestLoad(t *testing.T) {
	if _, err := config.Load(fstest.MapFS{config.Name: {Mode: fs.ModeDir}}); err == nil {
		t.Error("a directory reads as absent")
	}
	if _, err := config.Load(broken{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got the error %v", err)
	}
	if c, err := config.Load(fstest.MapFS{config.Name: {Data: []byte("version: 1\nskmb: {roots: [a]}")}}); err != nil || !slices.Equal(c.Skmb.Roots, []string{"a"}) {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := config.Load(fstest.MapFS{config.Name: {}}); err == nil {
		t.Error("an empty file reads as absent")
	}
}

type broken struct{ fstest.MapFS }

func (broken) ReadFile(string) ([]byte, error) { return nil, fs.ErrPermission }

// soon is far more than any file of the largest size takes.
const soon = 5 * time.Second

// A file made to be slow is judged in a moment.
func TestHostileSizes(t *testing.T) {
	const most = 64 << 10 / budget.Slower
	for name, unit := range map[string]string{
		"open lists": "[", "open mappings": "{", "lists on one line": "- ", "keys of keys": "? ", "anchors": "&a ", "tags": "!a ", "values of values": "a: ", "mappings in mappings": "{a: ",
		"lines": "\n", "comments": "#\n", "items": "-\n", "items with comments": "- # c\n", "equal keys": "a: 1\n", "keys with comments": "a:\n# c\n", "explicit keys": "? a\n", "quotes": "'a", "texts": "\"\n", "documents": "---\n", "directives": "%YAML 1.1\n", "aliases": "*a ",
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			budget.Within(t, soon, func() { _, err = config.Parse([]byte(strings.Repeat(unit, most/len(unit)))) })
			if err == nil {
				t.Fatal("taken")
			}
			if n := len(err.Error()); n > 100_000 {
				t.Errorf("the error has %d bytes", n)
			}
		})
	}
	t.Run("one long key over many values", func(t *testing.T) {
		budget.Within(t, soon, func() {
			if _, err := config.Parse([]byte("? " + strings.Repeat("k", most/2) + "\n: [" + strings.Repeat("~,", most/4-10) + "]")); err == nil {
				t.Error("taken")
			}
		})
	})
}

// FuzzParse: no file panics or takes long; what is refused is refused as invalid input, at
// places inside of it; what is taken keeps the rules.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "#", "---\n", "---", "...\n", "~", "version: 1", "version: 1\nskmb:\n  roots: [docs/isme, a]\n  archive: {mode: every, dir: old}\n", "version: +1\n", "version: 0x1", "version: 01",
		"version: 1\n---\n{", "{version: 1} x", "version: &a 1\nskmb: *a\n", "<<: *a", "? [a, {b: c}]\n: !t d", "version: !!binary AA==", "a: |\n  b\n   c\n\nd: >-\n  e\n", "\ufeffversion: 1\r\n", "version: 1\r#\u0085#\u2028a: 1",
		"\xff\xfev\x00:\x00 \x001\x00", "%TAG ! !a\n---\n!b c", "'a''b': \"\\u202e\\x00\\\n  x\"", "- - - a\n  - b\n", "a: [b, {c: d}, [e]]\nA: {\"f\":1,g}\n", "version: 1\nversion: 1\n", "1: 2\n~: 3\ntrue: 4\n2026-01-01: 5\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c config.Config
		var err error
		budget.Within(t, soon, func() { c, err = config.Parse(data) })
		if err == nil {
			if c.Version != 1 || len(c.Skmb.Roots) == 0 || !slices.Contains(config.Changed.EnumValues(), string(c.Skmb.Archive.Mode)) || !fs.ValidPath(c.Skmb.Archive.Dir) || strings.Contains(c.Skmb.Archive.Dir, "/") {
				t.Errorf("taken: %+v", c)
			}
			for _, r := range c.Skmb.Roots {
				if !fs.ValidPath(r) || r == "." || boundary.Unsafe(r, "line") != "" {
					t.Errorf("taken: the root %q", r)
				}
			}
			return
		}
		if !reflect.DeepEqual(c, config.Config{}) {
			t.Errorf("refused, and yet %+v", c)
		}
		if code := exitCode(t, err); code != finding.ExitInvalid {
			t.Errorf("exit code %d: %v", code, err)
		}
		var r *boundary.Refusal
		if !errors.As(err, &r) {
			return
		}
		text := string(data)
		breaks := 1                                                            // an empty value at the end stands on the line behind it
		for _, b := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} { // as YAML 1.1 has them
			breaks += strings.Count(text, b)
		}
		for _, v := range r.Violations {
			if v.Line < 1 || v.Column < 1 || v.Line > breaks+1 || v.Column > len(text)+1 {
				t.Errorf("%s stands at %d:%d of %q", v.Code, v.Line, v.Column, text)
			}
		}
	})
}

// Loosens tells of everything by which a configuration asks for less, and of nothing else.
func TestLoosens(t *testing.T) {
	for _, c := range []struct{ name, before, now, want string }{
		{"nothing", "", "", ""},
		{"stricter", "approval: {required: statement}", "approval: {required: signature, touch: true}", ""},
		{"a weaker yes", "approval: {required: terminal}", "approval: {required: statement}", "approval.required is lowered"},
		{"a weaker yes in one domain", "approval: {domains: {skmb: {required: signature}}}", "", "approval.required is lowered"},
		{"a weaker yes to rules", "approval: {domains: {agentsmd: {required: terminal}}}", "", "approval.required is lowered"},
		{"edits by hand", "", "agentsmd: {hand_edits: warn}", "agentsmd.hand_edits only warns"},
		{"a file of rules less", "", "agentsmd: {files: [docs/AGENTS.md]}", "agentsmd.files leaves out AGENTS.md"},
		{"no touch", "approval: {touch: true}", "", "approval.touch is switched off"},
		{"other signers", "", "approval: {allowed_signers: mine}", "approval.allowed_signers names another file"},
		{"another baseline", "", "baseline: mine.json", "baseline names another file"},
		{"a related gate", "", "skmb: {gate: related}", "skmb.gate is no longer strict"},
		{"a root less", "skmb: {roots: [a, b]}", "skmb: {roots: [b]}", "skmb.roots leaves out a"},
		{"a root more", "skmb: {roots: [a]}", "skmb: {roots: [a, b]}", ""},
		{"severities are not compared here", "", "severity: {skmb/unresolved: off}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err1 := config.Parse([]byte("version: 1\n" + c.before + "\n"))
			now, err2 := config.Parse([]byte("version: 1\n" + c.now + "\n"))
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if got := strings.Join(now.Loosens(before), "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
