package agentsmd

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"assent/boundary"
)

const (
	startLine = "<!-- agentsmd:start -->\n"
	endLine   = "<!-- agentsmd:end -->\n"
)

func block(rules ...string) string {
	out := startLine + Heading + "\n\n"
	for _, r := range rules {
		out += "- " + r + "\n"
	}
	return out + endLine
}

func add(text string) Edit { return Edit{Action: "add", New: text} }

func TestCompose(t *testing.T) {
	for _, c := range []struct {
		name, src string
		edits     []Edit
		want      string
		code      string // of the refusal
	}{
		{"a new file", "", []Edit{add("One."), add("Two.")}, block("One.", "Two."), ""},
		{"behind a text", "# Guide\n\nText.\n", []Edit{add("One.")}, "# Guide\n\nText.\n\n" + block("One."), ""},
		{"behind a blank line", "Text.\n\n", []Edit{add("One.")}, "Text.\n\n" + block("One."), ""},
		{"without a final newline", "Text.", []Edit{add("One.")}, "Text.\n\n" + strings.TrimSuffix(block("One."), "\n"), ""},
		{"CR LF", "A\r\nB\r\n", []Edit{add("One.")}, "A\r\nB\r\n\r\n" + strings.ReplaceAll(block("One."), "\n", "\r\n"), ""},
		{"a byte order mark alone", "\xef\xbb\xbf", []Edit{add("One.")}, "\xef\xbb\xbf" + block("One."), ""},
		{"markers in a fence", "```\n" + startLine + endLine + "```\n", []Edit{add("One.")}, "```\n" + startLine + endLine + "```\n\n" + block("One."), ""},
		{"an open fence", "```\n", []Edit{add("One.")}, "", "block-not-visible"},
		{"an open comment", "<!-- x\n", []Edit{add("One.")}, "", "block-not-visible"},
		{"a rule more", block("One."), []Edit{add("Two.")}, block("One.", "Two."), ""},
		{"a rule that stands there", block("One."), []Edit{add("ONE.")}, block("One."), ""},
		{"with the bullet of the one before", startLine + "* One.\n" + endLine, []Edit{add("Two.")}, startLine + "* One.\n* Two.\n" + endLine, ""},
		{"into an emptied block", block(), []Edit{add("One.")}, block("One."), ""},
		{"into a block without a heading", startLine + endLine, []Edit{add("One.")}, startLine + "- One.\n" + endLine, ""},
		{"before foreign lines behind the heading", startLine + Heading + "\n\nProse.\n" + endLine, []Edit{add("One.")}, startLine + Heading + "\n\n- One.\n\nProse.\n" + endLine, ""},
		{"foreign lines stay", startLine + "Prose.\n\n- One.\n\n<!-- x -->\n" + endLine, []Edit{add("Two.")}, startLine + "Prose.\n\n- One.\n- Two.\n\n<!-- x -->\n" + endLine, ""},
		{"all equal rules go", block("One.", "Two.", "one."), []Edit{{"remove", []string{"ONE."}, ""}}, block("Two."), ""},
		{"the last rule goes", block("One."), []Edit{{"remove", []string{"One."}, ""}}, block(), ""},
		{"replaced in place", block("One.", "Two.", "Three."), []Edit{{"replace", []string{"Two."}, "Second."}}, block("One.", "Second.", "Three."), ""},
		{"replaced by what stands there", block("One.", "Two."), []Edit{{"replace", []string{"One."}, "two."}}, block("Two."), ""},
		{"merged into the first place", block("One.", "Two.", "Three."), []Edit{{"merge", []string{"Three.", "One."}, "All."}}, block("All.", "Two."), ""},
		{"merged into what stands there", block("One.", "All.", "Three."), []Edit{{"merge", []string{"One.", "Three."}, "All."}}, block("All."), ""},
		{"merged into one of them", block("One.", "Two."), []Edit{{"merge", []string{"One.", "Two."}, "Two."}}, block("Two."), ""},
		{"beside a comment, behind a rule with a child", startLine + "- B.\n  - nested\n<!-- x -->\n" + endLine, []Edit{add("One.")}, startLine + "- B.\n  - nested\n- One.\n<!-- x -->\n" + endLine, ""},
		{"beside a numbered item", startLine + "- B.\n  - nested\n1. step\n" + endLine, []Edit{add("One.")}, startLine + "- B.\n  - nested\n- One.\n1. step\n" + endLine, ""},
		{"beside a heading", startLine + "- B.\n  - nested\n### More\n" + endLine, []Edit{add("One.")}, startLine + "- B.\n  - nested\n- One.\n### More\n" + endLine, ""},
		{"behind code", startLine + "    code\n" + endLine, []Edit{add("One.")}, startLine + "    code\n- One.\n" + endLine, ""},
		{"what the next line would go on", startLine + "- A.\n- B.\n\n2. step\n" + endLine, []Edit{{"remove", []string{"B."}, ""}}, startLine + "- A.\n\n2. step\n" + endLine, ""},
		{"it goes from between comments", startLine + "<!-- one -->\n- A.\n<!-- two -->\n" + endLine, []Edit{{"remove", []string{"A."}, ""}}, startLine + "<!-- one -->\n<!-- two -->\n" + endLine, ""},
		{"it goes from behind a rule with a child", startLine + "- B.\n  - n\n- A.\n<!-- c -->\n" + endLine, []Edit{{"remove", []string{"A."}, ""}}, startLine + "- B.\n  - n\n<!-- c -->\n" + endLine, ""},
		{"replaced in an indented list", startLine + "   - A.\n   - B.\n" + endLine, []Edit{{"replace", []string{"A."}, "C."}}, startLine + "   - C.\n   - B.\n" + endLine, ""},
		{"into an indented list", startLine + "  * A.\n" + endLine, []Edit{add("One.")}, startLine + "  * A.\n  * One.\n" + endLine, ""},
		{"a wrapped rule goes whole", startLine + "- One\n  goes on.\n- Two.\n" + endLine, []Edit{{"remove", []string{"One goes on."}, ""}}, startLine + "- Two.\n" + endLine, ""},
		{"an old rule that is not there", block("One."), []Edit{{"remove", []string{"Two."}, ""}}, "", "rule-not-found"},
		{"a rule with a nested list", startLine + "- One.\n  - more\n" + endLine, []Edit{{"remove", []string{"One."}, ""}}, "", "rule-compound"},
		{"beside a rule with a nested list", startLine + "- One.\n  - more\n- Two.\n" + endLine, []Edit{{"remove", []string{"Two."}, ""}}, startLine + "- One.\n  - more\n" + endLine, ""},
		{"an earlier tool's block", "A\n\n<!-- auto-preference-learner:start -->\n" + Heading + "\n\n- One.\n<!-- auto-preference-learner:end -->\n", []Edit{{"replace", []string{"One."}, "Two."}}, "A\n\n" + block("Two."), ""},
		{"half a pair", startLine + "- One.\n", []Edit{add("Two.")}, "", "block-malformed"},
		{"reversed", endLine + startLine, []Edit{add("Two.")}, "", "block-malformed"},
		{"two pairs", block("One.") + block("Two."), []Edit{add("3.")}, "", "block-malformed"},
		{"an earlier pair beside ours", block("One.") + "<!-- auto-preference-learner:start -->\n<!-- auto-preference-learner:end -->\n", []Edit{add("3.")}, "", "block-malformed"},
		{"other letter case", "<!-- Agentsmd:start -->\n", []Edit{add("3.")}, "", "block-malformed"},
		{"more text", "<!-- agentsmd:start v2 -->\n", []Edit{add("3.")}, "", "block-malformed"},
		{"no blanks", "<!--agentsmd:start-->\n", []Edit{add("3.")}, "", "block-malformed"},
		{"inside of a larger HTML block", "<div>\n" + startLine + endLine + "</div>\n", []Edit{add("3.")}, "", "block-malformed"},
		{"a comment about something else", "<!-- agentsmd is fine -->\n", []Edit{add("One.")}, "<!-- agentsmd is fine -->\n\n" + block("One."), ""},
		{"CR alone", "a\rb\r", []Edit{add("3.")}, "", "line-endings"},
		{"a NUL", "a\x00b", []Edit{add("3.")}, "", "target-unreadable"},
		{"not UTF-8", "a\xff\n", []Edit{add("3.")}, "", "target-unreadable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Compose(FileName, []byte(c.src), c.edits, false)
			var f *Fault
			if c.code != "" {
				if !errors.As(err, &f) || f.Code != "agentsmd/"+c.code {
					t.Fatalf("got %v and\n%s\nwant %s", err, got.Bytes, c.code)
				}
				return
			}
			if err != nil || string(got.Bytes) != c.want {
				t.Fatalf("got %v and\n%q\nwant\n%q", err, got.Bytes, c.want)
			}
			again, err := Compose(FileName, got.Bytes, c.edits, true)
			if err != nil || !bytes.Equal(again.Bytes, got.Bytes) {
				t.Errorf("a second time: %v\n%q", err, again.Bytes)
			}
		})
	}
}

// outside is what of a file is not the block.
func outside(t *testing.T, src []byte) (before, after []byte) {
	t.Helper()
	b, err := ParseBlock(FileName, src)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Present {
		return src, nil
	}
	return src[:b.Start.Start], src[b.End.End:]
}

// TestOutsideNeverChanges makes random edits on random files: what is outside of the block is
// the same afterwards, byte for byte, and so are foreign lines inside of it; the edits once
// more change nothing.
func TestOutsideNeverChanges(t *testing.T) {
	scraps := []string{"# Title\n", "Some text.\n", "- a list\n", "- One.\n", "\n", "```\ncode\n```\n", "    indented\n", "> quote\n", "<!-- note -->\n", "1. first\n", "line\r\n", "- [ ] box\n", "<div>\n</div>\n", "***\n", "| a | b |\n|---|---|\n", "tail"}
	texts := []string{"One.", "Two.", "When `x`, do *y*.", "Straße", "STRASSE", "Three, with [a link](b.md).", "4.5 is a number"}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(of []string) string { return of[r.IntN(len(of))] }
		var src strings.Builder
		for range r.IntN(6) {
			src.WriteString(pick(scraps))
		}
		if r.IntN(2) == 0 {
			src.WriteString("\n" + startLine)
			for range r.IntN(7) {
				if r.IntN(3) == 0 {
					src.WriteString(pick(scraps))
				} else {
					src.WriteString("- " + pick(texts) + "\n")
				}
			}
			src.WriteString("\n" + endLine)
			for range r.IntN(4) {
				src.WriteString(pick(scraps))
			}
		}
		var edits []Edit
		for range 1 + r.IntN(4) {
			switch r.IntN(3) {
			case 0:
				edits = append(edits, add(pick(texts)))
			case 1:
				edits = append(edits, Edit{"remove", []string{pick(texts)}, ""})
			case 2:
				edits = append(edits, Edit{"merge", []string{pick(texts), pick(texts)}, pick(texts)})
			}
		}
		in := []byte(src.String())
		if _, err := ParseBlock(FileName, in); err != nil {
			continue
		}
		got, err := Compose(FileName, in, edits, r.IntN(2) == 0)
		if err != nil {
			var f *Fault
			if !errors.As(err, &f) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		before, after := outside(t, in)
		before2, after2 := outside(t, got.Bytes)
		if before2 = before2[:min(len(before), len(before2))]; !bytes.Equal(before, before2) || !bytes.Equal(after, after2) {
			t.Fatalf("seed %d: %+v\n%q\nbecame\n%q", seed, edits, in, got.Bytes)
		}
	}
}

func TestState(t *testing.T) {
	body := func(src string) string {
		b, err := ParseBlock(FileName, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return digest(b.Body())
	}
	known := &Published{Body: body(block("One.", "Two.")), Rules: []string{Norm("One."), Norm("Two.")}, Earlier: []string{body(block("One."))}}
	all := map[string]bool{Norm("One."): true, Norm("Two."): true, Norm("Elsewhere."): true}
	head := func(rules ...string) func() ([]string, bool) {
		return func() (keys []string, ok bool) {
			for _, r := range rules {
				keys = append(keys, Norm(r))
			}
			return keys, len(rules) > 0
		}
	}
	for _, c := range []struct {
		name, src string
		known     *Published
		want      BlockState
		gone      int
		head      func() ([]string, bool)
	}{
		{"no marker", "Text.\n", known, Absent, 0, head()},
		{"as published", block("One.", "Two."), known, Current, 0, head()},
		{"nothing known", block("One."), nil, Current, 0, head()},
		{"an earlier body, without Git", block("One."), known, Drifted, 1, head()},
		{"an earlier body, as HEAD has it", block("One."), known, Stale, 0, head("One.")},
		{"an earlier body, of which HEAD has more", block("One."), known, Drifted, 1, head("One.", "Two.")},
		{"an earlier body, on a branch with another rule", block("One."), known, Stale, 0, head("One.", "Elsewhere.")},
		{"wrapped anew", startLine + "* One.\n* Two.\n" + endLine, known, Stale, 0, head()},
		{"an earlier tool's", strings.ReplaceAll(block("One."), "agentsmd:", "auto-preference-learner:"), nil, Stale, 0, head()},
		{"a rule more", block("One.", "Two.", "Three."), known, Drifted, 0, head()},
		{"a rule less", block("Two."), known, Drifted, 1, head()},
		{"a rule less, which HEAD has", block("Two."), known, Drifted, 1, head("One.", "Two.")},
		{"a rule less, as HEAD has it", block("Two."), known, Stale, 0, head("Two.")},
		{"another rule that has a yes", block("Two.", "Elsewhere."), known, Stale, 0, head("Two.", "Elsewhere.")},
		{"in another order", block("Two.", "One."), known, Stale, 0, head()},
		{"nothing known, and foreign lines", startLine + "Prose.\n\n- One.\n" + endLine, nil, Drifted, 0, head()},
		{"a rule reworded", block("One.", "2."), known, Drifted, 1, head("One.", "Two.")},
		{"foreign lines", startLine + "Prose.\n\n- One.\n" + endLine, known, Drifted, 1, head()},
	} {
		b, err := ParseBlock(FileName, []byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		if got, gone := b.State(c.known, witness{all, c.head}); got != c.want || len(gone) != c.gone {
			t.Errorf("%s: %s, want %s; gone are %v", c.name, got, c.want, gone)
		}
	}
}

func TestNorm(t *testing.T) {
	for _, pair := range [][2]string{{"Straße", "STRASSE"}, {"ﬁne", "fine"}, {"a\u00a0b", "a b"}, {"e\u0301", "é"}, {" a \x1f b\n", "A B"}} {
		if Norm(pair[0]) != Norm(pair[1]) {
			t.Errorf("%q and %q differ: %q, %q", pair[0], pair[1], Norm(pair[0]), Norm(pair[1]))
		}
	}
	for _, pair := range [][2]string{{"ı", "i"}, {"Run gofmt.", "Run gofmt"}, {"a-b", "a b"}} {
		if Norm(pair[0]) == Norm(pair[1]) {
			t.Errorf("%q and %q are equal", pair[0], pair[1])
		}
	}
	if a, b := id("D", "ab", "c"), id("D", "a", "bc"); a == b || len(a) != 18 {
		t.Errorf("ids %s, %s", a, b)
	}
}

// FuzzBlock reads any file and adds a rule: what was there stays, byte for byte.
func FuzzBlock(f *testing.F) {
	for _, s := range []string{"", "# A\n", block("One."), "a\r\n" + block("x"), "```\n", startLine, "\xef\xbb\xbfx"} {
		f.Add([]byte(s), "Run gofmt.")
	}
	f.Fuzz(func(t *testing.T, src []byte, rule string) {
		if !utf8.ValidString(rule) || boundary.Unsafe(rule, "rule") != "" || len(rule) > 500 {
			return
		}
		b, err := ParseBlock(FileName, src)
		if err != nil {
			return
		}
		got, err := Compose(FileName, src, []Edit{add(rule)}, false)
		if err != nil {
			if strings.Contains(fmt.Sprint(err), "compose-mismatch") && !b.Present {
				t.Fatal(err)
			}
			return
		}
		now, err := ParseBlock(FileName, got.Bytes)
		if err != nil || !now.Has(Norm(rule)) {
			t.Fatalf("%v: %q is not in %q", err, rule, got.Bytes)
		}
	})
}

// Whatever lines of other hands stand in a block, a rule can come and go, and they stay.
func TestComposeBesideForeignLines(t *testing.T) {
	lines := []string{"- A.", "- B.", "  - nested", "  goes on", "Prose.", "### More", "1. step", "2. step", "<!-- x -->", "    code", "| a |", "|---|", "> quote", "```", "- ", "* C.", "", "", "***", "  - D."}
	r := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for range 20000 {
		text := startLine + Heading + "\n\n"
		for range r.IntN(7) {
			text += lines[r.IntN(len(lines))] + "\n"
		}
		src := []byte(text + endLine)
		b, err := ParseBlock("f", src)
		if err != nil || !b.Present {
			continue // an open fence
		}
		edits := []Edit{add("New.")}
		for _, rule := range b.Rules {
			if rule.Plain && r.IntN(2) == 0 {
				edits = append(edits, Edit{"remove", []string{rule.Text}, ""})
				break
			}
		}
		tried++
		for _, e := range edits {
			out, err := Compose("f", src, []Edit{e}, false)
			if isCode(err, "rule-compound") {
				continue
			}
			if err != nil {
				t.Errorf("%q, %s %q: %v", src, e.Action, e.Old, err)
				continue
			}
			now, err := ParseBlock("f", out.Bytes)
			if err != nil || !bytes.Equal(now.foreign(), b.foreign()) || now.Has(Norm("New.")) != (e.Action == "add") {
				t.Errorf("%q, %s %q becomes %q, %v", src, e.Action, e.Old, out.Bytes, err)
			}
		}
	}
	if tried < 10000 {
		t.Errorf("%d blocks were tried", tried)
	}
}
