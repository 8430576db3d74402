package commands

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"assent/agentsmd"
	"assent/boundary"
	"assent/hooks"
	"assent/skmb"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/")

// Parts of the manual are rendered from the tables that the code runs on. -update writes
// them anew; without it a difference fails.
func TestManualFollowsTheTables(t *testing.T) {
	parts := map[string]string{}
	var b strings.Builder
	b.WriteString("| code | severity | when |\n| --- | --- | --- |\n")
	for _, k := range allCodes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Code, k.Severity, k.Title)
	}
	parts["docs/lint.md checks"] = b.String()

	b.Reset()
	b.WriteString("| from | command | to | who |\n| --- | --- | --- | --- |\n")
	for _, l := range skmb.Lifecycle {
		from := string(l.From)
		if from == "" {
			from = "–"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", from, l.Event, l.To, l.Who)
	}
	b.WriteString("\n```mermaid\nstateDiagram-v2\n")
	for _, l := range skmb.Lifecycle {
		from := string(l.From)
		if from == "" {
			from = "[*]"
		}
		fmt.Fprintf(&b, "  %s --> %s : %s\n", from, l.To, l.Event)
	}
	b.WriteString("```\n")
	parts["docs/skmb.md lifecycle"] = b.String()

	b.Reset()
	b.WriteString("| from | event | to | effects |\n| --- | --- | --- | --- |\n")
	for _, l := range agentsmd.Lifecycle {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.From, l.Event, l.To, l.Effects)
	}
	b.WriteString("\n```mermaid\nstateDiagram-v2\n")
	for _, l := range agentsmd.Lifecycle {
		id := func(s agentsmd.Status) string { return strings.ReplaceAll(string(s), "-", "_") }
		fmt.Fprintf(&b, "  %s --> %s : %s\n", id(l.From), id(l.To), l.Event)
	}
	b.WriteString("```\n")
	parts["docs/agentsmd.md lifecycle"] = b.String()

	b.Reset()
	b.WriteString("| event | group | judged | steps | may stop Git | if a step fails | limit |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, e := range hooks.Table {
		var steps []string
		for _, s := range e.Steps {
			steps = append(steps, s.Name)
		}
		stops, fails := "no", "one line, Git goes on"
		if e.MayStop() {
			stops, fails = "yes", "Git is stopped"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", e.Name, e.Group, e.Input, strings.Join(steps, ", "), stops, fails, e.Limit)
	}
	parts["docs/hooks.md events"] = b.String()

	b.Reset()
	b.WriteString("| code | stage | class | exit | what is wrong |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range boundary.Codes() {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %d | %s |\n", c.Name, c.Stage, c.Class, c.Exit, c.Title)
	}
	parts["docs/boundary.md codes"] = b.String()

	parts["docs/commands.md commands"] = commandTable()

	for key, want := range parts {
		file, name, _ := strings.Cut(key, " ")
		path := filepath.Join("..", "..", file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		begin, end := fmt.Sprintf("<!-- generated: %s -->\n\n", name), "\n<!-- end -->\n"
		before, rest, ok := strings.Cut(string(data), begin)
		have, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Errorf("%s has no part %s", file, name)
			continue
		}
		if have == want {
			continue
		}
		if !*update {
			t.Errorf("%s: the part %s is not what the table says; run go test ./internal/commands -update\n--- want\n%s\n--- have\n%s", file, name, want, have)
			continue
		}
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// The manual says what is shown by which test: each of them exists.
func TestManualNamesTests(t *testing.T) {
	have := map[string]bool{}
	for _, p := range goList(t, "./...") {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(data), -1) {
				have[m[1]] = true
			}
		}
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "boundary.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(doc), -1) {
		if named++; !have[m[1]] {
			t.Errorf("docs/boundary.md names %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile("stor(?:y|ies) `([a-z-]+)`(?:, `([a-z-]+)`)?").FindAllStringSubmatch(string(doc), -1) {
		for _, story := range m[1:] {
			if story == "" {
				continue
			}
			named++
			if _, err := os.Stat(filepath.Join("..", "..", "testscripts", story+".txtar")); err != nil {
				t.Errorf("docs/boundary.md names the story %s: %v", story, err)
			}
		}
	}
	if named < 60 {
		t.Errorf("only %d tests are named", named)
	}
}

// commandTable is every command with what it can do to the world.
func commandTable() string {
	usage := map[string]string{}
	walk(Assent(&Process{}).Commands, "", func(path string, c *cli.Command) { usage[path] = c.Usage })
	var b strings.Builder
	b.WriteString("| command | what it does | class | lane |\n| --- | --- | --- | --- |\n")
	for _, e := range effects {
		fmt.Fprintf(&b, "| `assent %s` | %s | %s | %s |\n", e.form, usage[e.form], e.class, e.lane)
	}
	return b.String()
}

// walk calls visit with every command that does something itself, by the words that lead to it.
func walk(commands []*cli.Command, above string, visit func(path string, c *cli.Command)) {
	for _, c := range commands {
		path := strings.TrimSpace(above + " " + c.Name)
		if len(c.Subcommands) > 0 {
			walk(c.Subcommands, path, visit)
			continue
		}
		visit(path, c)
	}
}

// Every command of every program says what it can do to the world, and nothing is said of a
// command or form that does not exist. Nothing sends anything anywhere.
func TestCommandTree(t *testing.T) {
	said := map[string]effect{}
	for _, e := range effects {
		if _, twice := said[e.form]; twice {
			t.Errorf("%s stands twice", e.form)
		}
		said[e.form] = e
		if e.class == externalSend || e.class == financialLegal {
			t.Errorf("%s is %s", e.form, e.class)
		}
		if e.class == destructive && e.lane != human {
			t.Errorf("%s takes away what nothing brings back, without a person", e.form)
		}
	}
	seen := map[string]bool{}
	look := func(above string, commands []*cli.Command) {
		walk(commands, above, func(path string, c *cli.Command) {
			if _, ok := said[path]; !ok {
				t.Errorf("%s says nothing of what it can do", path)
			}
			seen[path] = true
			for _, f := range c.Flags {
				for _, name := range f.Names() {
					seen[path+" --"+name] = true
				}
				if name := f.Names()[0]; name == "dry-run" || name == "check" {
					if e := said[path+" --"+name]; e.class != readOnly {
						t.Errorf("%s --%s is %q, not read_only", path, name, e.class)
					}
				}
			}
		})
	}
	look("", Assent(&Process{}).Commands)
	look("skmb", Skmb(&Process{}).Commands)
	for form := range said {
		if !seen[form] {
			t.Errorf("there is no %s", form)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d commands and flags were seen", len(seen))
	}
}
