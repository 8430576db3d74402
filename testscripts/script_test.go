// Package testscripts tells the stories of the manual: each .txtar file is one of them,
// run with the built programs and real Git through real commits. A script's head says
// which story of which page it tells.
package testscripts

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs is where the built programs stand, for all scripts of the run.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "assent-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	args := []string{"build", "-tags", "urfave_cli_no_docs,story"}
	cover := os.Getenv("GOCOVERDIR") != ""
	if cover {
		args = append(args, "-cover", "-coverpkg=assent/...")
	}
	build := exec.Command("go", append(args, "-o", dir+string(filepath.Separator), "assent/cmd/assent", "assent/cmd/skmb", "assent/cmd/agentsmd")...)
	build.Env = withoutGit(os.Environ())
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// withoutGit takes out what may tie the tests to the repository they run in, or to the
// caller's own configuration.
func withoutGit(env []string) []string {
	var out []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "ASSENT_") && !strings.HasPrefix(kv, "CODEX_") && !strings.HasPrefix(kv, "CLAUDE_") {
			out = append(out, kv)
		}
	}
	return out
}

func TestStories(t *testing.T) {
	skipShort(t)
	readSources(t)
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"repository": cmdRepository,
			"unresolved": cmdUnresolved,
			"person":     cmdPerson,
			"digest":     cmdDigest,
			"tree":       cmdTree,
			"replace":    cmdReplace,
			"parallel":   cmdParallel,
			"processes":  cmdProcesses,
			"commitpath": cmdCommitPath,
			"talk":       cmdTalk,
			"transcript": cmdTranscript,
			"decide":     cmdDecide,
			"exits":      cmdExits,
			"plan":       cmdPlan,
			"record":     cmdRecord,
		},
	})
}

// skipShort leaves out what runs the built programs: -short is for the race detector, which does
// not look into them, and every other run has them.
func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("the built programs are not run with -short")
	}
}

// readSources reads every source that the programs are built from. Go notes which files a test
// reads: a change to one of them runs the stories again, also when only some are asked for.
func readSources(t *testing.T) {
	t.Helper()
	read := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return fs.SkipDir
		}
		if d.IsDir() || strings.HasSuffix(name, "_test.go") || filepath.Ext(name) != ".go" && filepath.Ext(name) != ".yml" && d.Name() != "go.mod" {
			return nil
		}
		read++
		_, err = os.ReadFile(name)
		return err
	})
	if err != nil || read < 100 {
		t.Errorf("%d files, %v", read, err)
	}
}

func condition(name string) (bool, error) {
	switch name {
	case "not-root":
		return os.Geteuid() != 0, nil
	case "root":
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// setup gives a script a home, an identity and a Git configuration of its own.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	config := "[user]\n\tname = Designer\n\temail = designer@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		return err
	}
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_STATE_HOME": filepath.Join(home, ".state"), "XDG_CACHE_HOME": filepath.Join(home, ".cache"),
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "EDITOR": "false", "TERM": "xterm",
		"PATH": programs + string(os.PathListSeparator) + os.Getenv("PATH"), "BIN": programs,
	} {
		e.Setenv(k, v)
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		e.Setenv("GOCOVERDIR", dir)
	}
	return nil
}

// TestEveryStoryIsNamed holds each script to say which story it tells.
func TestEveryStoryIsNamed(t *testing.T) {
	files, err := filepath.Glob("*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts found", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if head, _, _ := strings.Cut(string(data), "\n"); !strings.HasPrefix(head, "# story: ") {
			t.Errorf("%s begins with %q, not with `# story: `", f, head)
		}
	}
}
