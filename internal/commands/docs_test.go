package commands

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
