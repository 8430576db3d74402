package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assent/hooks"
)

// runShim writes the shim of an event and a program, and runs it as Git would.
func runShim(t *testing.T, event, bin, after string, program bool, env ...string) (code int, out string) {
	t.Helper()
	e, _ := hooks.Find(event)
	dir := t.TempDir()
	if bin != "" {
		bin = filepath.Join(dir, bin)
	}
	hook := filepath.Join(dir, event)
	if err := os.WriteFile(hook, append(shim(e, bin), after...), 0o755); err != nil {
		t.Fatal(err)
	}
	if program {
		if err := os.WriteFile(bin, []byte("#!/bin/sh\necho \"ran $*\"\nexit ${CODE:-0}\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(hook, "an argument")
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=/usr/bin:/bin"}, env...)
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

func TestShim(t *testing.T) {
	for _, c := range []struct {
		name, event, bin, after string
		program                 bool
		env                     []string
		code                    int
		says                    []string
	}{
		{"runs the baked program", "pre-commit", "assent", "", true, nil, 0, []string{"ran hook pre-commit an argument"}},
		{"a path with blanks and quotes", "pre-commit", "it's a \"dir\" $HOME", "", true, nil, 0, []string{"ran hook pre-commit an argument"}},
		{"the program's no is Git's no", "pre-commit", "assent", "", true, []string{"CODE=1"}, 1, []string{"ran"}},
		{"what stands behind runs too", "pre-commit", "assent", "echo behind\n", true, nil, 0, []string{"ran", "behind"}},
		{"no program: a guard stops", "pre-commit", "gone", "", false, nil, 1, []string{"gone and assent in PATH", "assent install"}},
		{"no program: an archive does not", "post-commit", "gone", "", false, nil, 0, []string{"gone and assent in PATH"}},
		{"nothing baked, nothing in PATH", "pre-commit", "", "", false, nil, 1, []string{"looked for assent in PATH"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out := runShim(t, c.event, c.bin, c.after, c.program, c.env...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, out)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("%q is not in %q", s, out)
				}
			}
		})
	}
}

// A manager that chained our file and is chained by it must not run in a circle.
func TestShimDoesNotLoop(t *testing.T) {
	e, _ := hooks.Find("pre-commit")
	dir := t.TempDir()
	hook := filepath.Join(dir, "pre-commit")
	bin := filepath.Join(dir, "assent")
	for name, text := range map[string]string{hook: string(shim(e, bin)), bin: "#!/bin/sh\necho judged\n", hook + ".pre-assent": "#!/bin/sh\necho foreign\n" + hook + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(hook)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "foreign\njudged\njudged\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestOurs(t *testing.T) {
	for _, e := range hooks.Table {
		text := shim(e, "/usr/bin/assent")
		if !isOurs(text) || !bytes.HasPrefix(text, []byte("#!/bin/sh\n"+shimMark+e.Name+"\n")) || !bytes.HasSuffix(text, []byte(shimEnd)) {
			t.Errorf("%s: the shim does not know itself:\n%s", e.Name, text)
		}
		if !isOurs(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))) {
			t.Errorf("%s: with CRLF it is not recognised", e.Name)
		}
		if got := behind(append(text, "more\n"...)); string(got) != "more\n" {
			t.Errorf("%s: behind is %q", e.Name, got)
		}
	}
	for _, foreign := range []string{"", "#!/bin/sh\necho # assent hook v1\n", "#!/bin/sh\n\n# assent hook v1 pre-commit\n"} {
		if isOurs([]byte(foreign)) {
			t.Errorf("%q is taken for ours", foreign)
		}
	}
}

// Every text that a released version wrote is known as ours: testdata/shims has them, as
// <version>-<event>.
func TestShimsOfThePast(t *testing.T) {
	files, err := filepath.Glob("testdata/shims/*")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(filepath.Base(f), "-")
		e, ok := hooks.Find(name)
		if !ok || !isOurs(data) || !isShim(e, data) {
			t.Errorf("%s is not recognised", f)
			continue
		}
		dir := t.TempDir()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o755); err != nil {
			t.Fatal(err)
		}
		item, err := planFile(dir, e, shim(e, "/new/assent"))
		if err != nil || item.Action != Replace || !bytes.Equal(item.data, shim(e, "/new/assent")) {
			t.Errorf("%s is not replaced: %v %v", f, item.Action, err)
		}
	}
	for _, e := range hooks.Table { // today's belong among them once they are released
		if !isCurrent(e, shim(e, "/usr/bin/assent")) {
			t.Errorf("%s: the shim does not know itself", e.Name)
		}
	}
}
