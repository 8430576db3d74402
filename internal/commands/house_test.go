package commands

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath   string
	Dir          string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Standard     bool
	Module       *struct{ Path, Version string }
	GoFiles      []string
}

func goList(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json", "-tags", "urfave_cli_no_docs"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// floor is how high a room lies: it imports only what lies below it. The domains share a
// floor and do not see each other; lint stands beside them and is handed their checks.
var floor = map[string]int{
	"internal/budget": 9, // above all that ships: only tests import it
	"cmd":             9, "internal/commands": 8, "install": 7, "hooks": 6,
	"hooks/shortcut": 2, "lint": 5, "skmb": 5, "agentsmd": 5, "approval": 4, "config": 3, "boundary": 2, "repo": 1, "store": 1, "markdown": 0, "finding": 0, "docs/schema": 0,
}

// levels that rooms of one floor may look across: none.
func TestFloors(t *testing.T) {
	rooms := 0
	for _, p := range goList(t, "./...") {
		room := strings.TrimPrefix(p.ImportPath, "assent/")
		if strings.HasPrefix(room, "cmd/") {
			room = "cmd"
		}
		if room == "testscripts" || strings.HasPrefix(room, "bench") {
			continue
		}
		at, known := floor[room]
		if !known {
			t.Errorf("%s has no floor", room)
			continue
		}
		rooms++
		for _, i := range p.Imports {
			below, ours := strings.CutPrefix(i, "assent/")
			if ours && floor[below] >= at {
				t.Errorf("%s (floor %d) imports %s (floor %d)", room, at, below, floor[below])
			}
		}
	}
	if rooms < len(floor) {
		t.Errorf("%d rooms were looked at, %d are known", rooms, len(floor))
	}
}

// Processes are started in one room, the clock and the environment are read in one.
func TestOneRoomForEach(t *testing.T) {
	rules := []struct {
		pattern string
		allowed []string
	}{
		{`"os/exec"`, []string{"repo"}},
		{`\bos\.(Environ|Getenv|LookupEnv)\(`, []string{"internal/commands", "cmd/assent/early"}},
		{`\bos\.Exit\(`, []string{"internal/commands", "cmd/assent", "cmd/skmb", "cmd/agentsmd", "cmd/assent/early", "cmd/schemagen"}},
		{`\btime\.Now\(`, []string{"hooks/shortcut", "store", "internal/budget"}},
		{`\bfmt\.Print|os\.Std(out|err)\b`, []string{"internal/commands", "cmd/schemagen"}},
	}
	seen := 0
	for _, p := range goList(t, "./...") {
		room := strings.TrimPrefix(p.ImportPath, "assent/")
		for _, f := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			seen++
			for _, r := range rules {
				if !slices.Contains(r.allowed, room) && regexp.MustCompile(r.pattern).Match(data) {
					t.Errorf("%s/%s: %s belongs to %v", room, f, r.pattern, r.allowed)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// What answers a silent commit links nothing that takes long to initialize.
func TestEarlyIsLight(t *testing.T) {
	light := []string{"assent", "github.com/go-json-experiment/json", "github.com/gofrs/flock", "golang.org/x/sys"}
	own := 0
	for _, p := range goList(t, "-deps", "./cmd/assent/early") {
		if p.Module == nil {
			continue
		}
		if own++; !slices.Contains(light, p.Module.Path) {
			t.Errorf("%s is linked by it", p.ImportPath)
		}
	}
	if own < 4 {
		t.Errorf("only %d packages were looked at", own)
	}
}

// What the shipped programs link is written down with its reason and cost.
func TestLinked(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for _, p := range goList(t, "-deps", "./cmd/assent", "./cmd/skmb") {
		if p.Module != nil && p.Module.Path != "assent" {
			linked[p.Module.Path] = true
			if !strings.Contains(string(doc), "`"+p.Module.Path+"` "+p.Module.Version) {
				t.Errorf("docs/dependencies.md does not name `%s` %s", p.Module.Path, p.Module.Version)
			}
		}
	}
	if len(linked) < 3 {
		t.Errorf("only %d modules are linked: the list was not read", len(linked))
	}
	section, _, _ := strings.Cut(string(doc), "## Tests")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` v").FindAllStringSubmatch(section, -1) {
		if !linked[m[1]] {
			t.Errorf("docs/dependencies.md names %s, which is not linked", m[1])
		}
	}
}
