package markdown

import (
	"fmt"
	"strings"
	"testing"
)

func TestHTML(t *testing.T) {
	d, err := Parse([]byte("\xef\xbb\xbf<!-- a -->\r\ntext\n<!-- b\n c -->\n> <!-- q -->\n\n- <!-- i -->\n\n```\n<!-- f -->\n```\n\n    <!-- code -->\n\n<div>\n<!-- d -->\n</div>\n\n  <!-- e -->\n<!-- x --> more\n<?php ?>\n<!-- last -->"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range d.HTML() {
		line, _ := d.Position(h.Lines.Start)
		got = append(got, fmt.Sprintf("%d %q %v %v", line, h.Text, h.Comment, h.Alone))
	}
	want := []string{
		`1 "<!-- a -->" true true`, `3 "<!-- b\n c -->" true false`, `15 "<div>\n<!-- d -->\n</div>" false false`,
		`19 "<!-- e -->" true true`, `20 "<!-- x --> more" true false`, `21 "<?php ?>" false false`, `22 "<!-- last -->" true true`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestItems(t *testing.T) {
	src := "# T\n\n- one\n- two\n  goes on\n\n* three\n\n  second\n* four\n  - nested\n1. five\n+ six\nlazy\n\n> - quoted\n\n-\n- `code`\n"
	d, err := Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range d.Items(Span{0, len(src)}) {
		got = append(got, fmt.Sprintf("%c %q %v %q", i.Mark, i.Text, i.Plain, i.Lines.In(d.Source())))
	}
	want := []string{
		`- "one" true "- one\n"`, `- "two goes on" true "- two\n  goes on\n"`, `* "three" false "* three\n\n  second\n"`,
		`* "four" false "* four\n  - nested\n"`, `+ "six lazy" true "+ six\nlazy\n"`, `- "" false "-\n"`, "- \"`code`\" true \"- `code`\\n\"",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParagraphs(t *testing.T) {
	d, err := Parse([]byte("# Title\n\none\ntwo\n\n- three\n\n  four\n\n> five\n\n```\nsix\n```\n\n    seven\n\n<!-- eight -->\n\nnine\n====\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Paragraphs() {
		line, _ := d.Position(p.At)
		got = append(got, fmt.Sprintf("%d %q", line, p.Lines))
	}
	if want := `[3 ["one" "two"] 6 ["three"] 8 ["four"] 10 ["five"]]`; fmt.Sprint(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOpenEnd(t *testing.T) {
	for src, open := range map[string]bool{"": false, "text": false, "- item": false, "    code": false, "```\ncode\n": true, "```\ncode\n```": false, "<!-- a": true, "<!-- a -->": false, "<div>": false, "<script>": true, "> ```\n> x": false} {
		d, err := Parse([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.OpenEnd(); (got != "") != open {
			t.Errorf("%q: %q", src, got)
		}
	}
}
