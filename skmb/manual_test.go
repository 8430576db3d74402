package skmb

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of examples in docs/skmb.md")

// The manual's table of examples is the table of fixtures, each of which runs as a test.
func TestTheManualTellsTheFixtures(t *testing.T) {
	var b strings.Builder
	b.WriteString("| code | fails | passes |\n| --- | --- | --- |\n")
	claims := func(fs []fixture) string {
		var out []string
		for _, f := range fs {
			out = append(out, strings.ReplaceAll(f.claim, "|", `\|`))
		}
		return strings.Join(out, "; ")
	}
	for _, c := range Checks(Options{}) {
		f := fixtures[c.Code]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Code, claims(f.fails), claims(f.passes))
	}
	for _, c := range BasisCodes {
		f := basisFixtures[c.Code]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Code, f.failing, f.passing)
	}
	const path = "../docs/skmb.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- generated: examples -->\n\n", "\n<!-- end -->\n"
	before, rest, ok := strings.Cut(string(data), begin)
	have, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no part for the examples", path)
	case have == b.String():
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("%s does not tell the fixtures; run go test ./skmb -run Manual -update", path)
	}
}
