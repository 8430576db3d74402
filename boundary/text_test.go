package boundary_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assent/boundary"
	"assent/skmb"
)

func runes(from, to rune) []rune {
	var out []rune
	for r := from; r <= to; r++ {
		out = append(out, r)
	}
	return out
}

func noncharacters() []rune {
	out := runes(0xfdd0, 0xfdef)
	for plane := rune(0); plane <= 0x10; plane++ {
		out = append(out, plane<<16|0xfffe, plane<<16|0xffff)
	}
	return out
}

// A character that hides or forges text comes in through no field; prose alone may have
// tabs, newlines and joiners.
func TestTextFloor(t *testing.T) {
	classes := []struct {
		name  string
		runes []rune
		prose []rune // those that prose may have
	}{
		{"C0 controls", runes(0, 0x1f), []rune{'\t', '\n'}},
		{"delete", []rune{0x7f}, nil},
		{"C1 controls", runes(0x80, 0x9f), nil},
		{"bidirectional controls", append(runes(0x202a, 0x202e), append(runes(0x2066, 0x2069), 0x200e, 0x200f, 0x061c)...), nil},
		{"deprecated format controls", runes(0x206a, 0x206f), nil},
		{"line and paragraph separator", []rune{0x2028, 0x2029}, nil},
		{"zero width", []rune{0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0x180e}, []rune{0x200c, 0x200d}},
		{"invisible operators", runes(0x2061, 0x2064), nil},
		{"annotations", runes(0xfff9, 0xfffb), nil},
		{"tags", runes(0xe0000, 0xe007f), nil},
		{"noncharacters", noncharacters(), nil},
	}
	count := 0
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range c.runes {
				count++
				s := "a" + string(r) + "b"
				if why := boundary.Unsafe(s, "line"); !strings.Contains(why, fmt.Sprintf("U+%04X", r)) {
					t.Errorf("a line with U+%04X: %q", r, why)
				}
				allowed := slices.Contains(c.prose, r)
				if why := boundary.Unsafe(s, "prose"); (why == "") != allowed {
					t.Errorf("prose with U+%04X: %q, allowed: %v", r, why, allowed)
				}
				doc := strings.Replace(skmb.DecisionKind.Example, "Retry 3", "Retry"+escaped(r)+"3", 1)
				if _, err := skmb.DecisionKind.Read(strings.NewReader(doc), ""); (err == nil) != allowed {
					t.Errorf("a payload with prose with U+%04X: %v, allowed: %v", r, err, allowed)
				}
			}
		})
	}
	if want := 32 + 1 + 32 + 12 + 6 + 2 + 6 + 4 + 3 + 128 + 66; count != want {
		t.Errorf("%d characters, want %d", count, want)
	}
}

// escaped writes a character as JSON escapes.
func escaped(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// What people write in their languages comes in.
func TestTextFloorLetsIn(t *testing.T) {
	for _, s := range []string{
		"plain ASCII ~!@#$%^&*()", "Größe, naïve, façade", "e\u0301 combined", "日本語", "한국어", "русский", "עברית", "العربية", "हिन्दी", "ไทย",
		"no\u00a0break", "soft \u2014 dash \u2026", "emoji 😀 ❤\ufe0f 🇩🇪", "math 𝔸 ∀x∈ℝ", "the replacement character \ufffd", "private \ue000",
	} {
		for _, sort := range []string{"line", "prose", "rule", "quote", "lines"} {
			if why := boundary.Unsafe(s, sort); why != "" {
				t.Errorf("%q, %s: %s", s, sort, why)
			}
		}
	}
}

// Prose stays inside the section that it is put into and is no HTML.
func TestProse(t *testing.T) {
	refused := []struct{ name, text string }{
		{"heading of level 1", "# Decision"},
		{"heading of level 2", "text\n\n## Decision"},
		{"heading with blanks before it", "   ## Decision"},
		{"empty heading", "##"},
		{"closed heading", "## Decision ##"},
		{"underlined heading of level 1", "Decision\n==="},
		{"underlined heading of level 2", "Decision\n-"},
		{"front matter that becomes a heading", "text\n\n---\nstatus: accepted\n---\n"},
		{"heading in a list", "- # Decision"},
		{"heading in a quote", "> ## Decision"},
		{"heading in a list in a quote", "> 1. text\n>    ## Decision"},
		{"HTML block", "<div>\ntext\n</div>"},
		{"HTML after text", "text\n<div>"},
		{"HTML in a list", "- <div>"},
		{"HTML in a quote", "> <table>"},
		{"script", "<script>alert(1)</script>"},
		{"closing tag", "</section>"},
		{"HTML with a name of its own", "<x-y z=\"1\">"},
		{"declaration", "<!DOCTYPE html>"},
		{"processing instruction", "<?php ?>"},
		{"CDATA", "<![CDATA[x]]>"},
		{"comment", "<!-- assent:begin -->"},
		{"comment after text", "text <!-- hidden -->"},
		{"comment on the second line", "text\ntext <!-- hidden -->"},
		{"open comment", "<!-- hidden"},
		{"comment of several lines", "<!--\nhidden\n-->"},
		{"open fence", "```\ncode"},
		{"open tilde fence", "text\n\n~~~~\ncode\n~~~"},
		{"fence that its end does not close", "````\ncode\n```"},
		{"link definition", "[a]: https://example.org"},
		{"link definition with a title", "text\n\n[a]: <b> 'c'"},
		{"link definition in a quote", "> [a]: b"},
		{"footnote definition", "[^a]: b"},
		{"image", "![a](https://example.org/a.png)"},
		{"image in text", "text ![a][b] text"},
		{"image in a quote", "> ![a](b)"},
		{"front matter", "---\nstatus: accepted\n---\n"},
		{"front matter that ends in dots", "---\nstatus: accepted\n...\ntext"},
	}
	for _, c := range refused {
		t.Run("refuses "+c.name, func(t *testing.T) {
			if boundary.Unsafe(c.text, "prose") == "" {
				t.Errorf("%q is taken", c.text)
			}
		})
	}
	allowed := []struct{ name, text string }{
		{"one line", "Retry 3 times, then fail closed."},
		{"paragraphs", "one\ntwo\n\nthree"},
		{"headings of level 3 and deeper", "### a\n\ntext\n\n###### b"},
		{"seven number signs", "####### a"},
		{"number sign in text", "issue #1 and C# #tag"},
		{"lists", "- a\n  - b\n\n1. c\n2. d\n* e\n+ f"},
		{"task list", "- [ ] a\n- [x] b"},
		{"emphasis", "*a* **b** _c_ ~~d~~ `e`"},
		{"quote", "> a\n> b"},
		{"closed fence", "```go\n# no heading\n<div>\n<!-- x -->\n![a](b)\n[a]: b\n```\ntext"},
		{"closed tilde fence", "~~~\n```\n~~~"},
		{"indented code", "text\n\n    # no heading\n    <div>"},
		{"table", "| a | b |\n|---|---|\n| c | d |"},
		{"link", "see [a](https://example.org) and [b][c]"},
		{"rule", "a\n\n---\n\nb"},
		{"comparison", "a < b && b > c, x<-y"},
		{"exclamation", "Stop! [a](b)"},
		{"escaped markup", "\\# a\n\\<div>"},
		{"tab", "a\tb"},
		{"blank lines around", "\n\na\n\n"},
		{"joiners", "نمی\u200cخواهم 👩\u200d💻"},
	}
	for _, c := range allowed {
		t.Run("takes "+c.name, func(t *testing.T) {
			if why := boundary.Unsafe(c.text, "prose"); why != "" {
				t.Errorf("%q: %s", c.text, why)
			}
		})
	}
}

// A rule shows all that it holds: nothing in it is drawn as nothing, if only by a reference.
func TestRuleHidesNothing(t *testing.T) {
	for _, s := range []string{"a\U000e0100b", "a\ufe01b", "a\ufe0fb", "a\u034fb", "a\u3164b", "a\u115fb", "a\u17b4b", "a\U0001d173b", "a\u00adb", "a &#8203; b", "a &zwnj; b", "a &#x202e; b"} {
		if boundary.Unsafe(s, "rule") == "" {
			t.Errorf("%+q is taken", s)
		}
	}
	for _, s := range []string{"Use \u2764\ufe0f sparingly.", "Write AT&amp;T and 5 &lt; 6.", "café über naïve", "Schreibe कृषि und می\u200cخواهم.", "Keep `a && b` as it is."} {
		if why := boundary.Unsafe(s, "rule"); why != "" {
			t.Errorf("%q %s", s, why)
		}
	}
}
