package markdown

import (
	"strings"
	"testing"
)

// What may stand in a list as a rule for agents, and what may not.
func TestRule(t *testing.T) {
	for _, s := range []string{
		"When only documentation changed, run only the documentation tests.",
		"a", "Größe zählt: 1 < 2 & 3 > 2", "use `<b>` and `@docs/x.md` with care", "write *strong* and _soft_, [a link](https://example.org)",
		"ask @reviewer first", "mail to team@example.org", "#hashtag is a word", "+1 for tests", "x | y", "C# and F#", "5 > 4", "\\# not a heading",
		"see [1]", "[maybe] use it", "`code` first", "a -- b", "e.g. this", "say \"@\" aloud",
	} {
		if at, why := NoRule(s); why != "" {
			t.Errorf("%q is refused at %d: %s", s, at, why)
		}
	}
	for _, c := range []struct {
		s, why string
		at     int
	}{
		{"", "blanks at its ends", 0}, {" a", "blanks at its ends", 0}, {"a\u00a0", "blanks at its ends", 0},
		{"a\nb", "more than one line", 1}, {"a\rb", "more than one line", 1}, {"a\vb", "more than one line", 1}, {"a\fb", "more than one line", 1},
		{"a\u0085b", "more than one line", 1}, {"é\u2028b", "more than one line", 2}, {"a\u2029b", "more than one line", 1},
		{"a <!-- b", "comment", 2}, {"a --> b", "comment", 2}, {"a --!> b", "comment", 2}, {"`<!-- x -->`", "comment", 1},
		{"[ ] a task", "task", 0}, {"[x] done", "task", 0}, {"| a | b |", "table", 0}, {"[x]: https://example.org", "link definition", 0},
		{"# heading", "heading", 0}, {"###### deep", "heading", 0}, {"#", "heading", 0}, {"- item", "list", 0}, {"* item", "list", 0}, {"+ item", "list", 0}, {"1. item", "list", 0}, {"1) item", "list", 0},
		{"> quote", "quote", 0}, {">quote", "quote", 0}, {"```", "fence", 0}, {"~~~ x", "fence", 0}, {"---", "break", 0}, {"***", "break", 0}, {"_ _ _", "break", 0}, {"<div>", "list", 0}, {"<?php ?>", "list", 0},
		{"a <b>c</b>", "raw HTML", 2}, {"a <br/> b", "raw HTML", 2}, {"a `c` <i>", "raw HTML", 6},
		{"see @docs/x.md", "file to be read", 4}, {"@~/x", "file to be read", 0}, {"(@../x)", "file to be read", 1}, {"a `@b/c` @d.e", "file to be read", 9}, {"Read\u00a0@../x.md", "file to be read", 6}, {"a\u3000(@~/b) c", "file to be read", 5},
		{"a " + strings.Repeat("[", 300), "too many marks", 0},
	} {
		if at, why := NoRule(c.s); !strings.Contains(why, c.why) || at != c.at {
			t.Errorf("%q: %q at %d, want %q at %d", c.s, why, at, c.why, c.at)
		}
	}
}
