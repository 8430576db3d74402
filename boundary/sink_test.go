package boundary_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"assent/boundary"
	"assent/finding"
	"assent/internal/budget"
	"assent/markdown"
)

// A whole reader of Markdown, as hosts and forges have one, judges what stands where text that
// came in is put.
var reader = goldmark.New(goldmark.WithExtensions(extension.GFM))

func parsed(src string) ast.Node { return reader.Parser().Parse(text.NewReader([]byte(src))) }

// count counts the nodes of a kind.
func count(n ast.Node, kind ast.NodeKind) (found int) {
	_ = ast.Walk(n, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if enter && n.Kind() == kind {
			found++
		}
		return ast.WalkContinue, nil
	})
	return found
}

// shown is the text of a node, without code spans' marks.
func shown(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && enter {
			b.Write(t.Segment.Value(src))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// soon is far more than reading or judging any payload takes.
const soon = 20 * time.Second

// sinks puts a text that the boundary lets in wherever such texts are put, and looks at what
// came out.
func sinks(t *testing.T, s string) {
	budget.Within(t, soon, func() {
		if strings.TrimSpace(s) == "" || len(s) > 2000 || !utf8.ValidString(s) { // the reader lets no other text in
			return
		}
		if boundary.Unsafe(s, "line") == "" && s == strings.Join(strings.Fields(s), " ") {
			for where, src := range map[string]string{
				"a heading": "# " + markdown.Escape(s) + "\n", "a list": "- " + markdown.Escape(s) + "\n", "a field": "- key: " + markdown.Escape(s) + "\n",
				"a table": "| a | b |\n| --- | --- |\n| " + markdown.Cell(s) + " | x |\n",
			} {
				n := parsed(src)
				for _, kind := range []ast.NodeKind{ast.KindRawHTML, ast.KindHTMLBlock, ast.KindImage, ast.KindCodeSpan, ast.KindEmphasis, ast.KindBlockquote, ast.KindFencedCodeBlock, ast.KindThematicBreak} {
					if count(n, kind) > 0 {
						t.Errorf("in %s %q becomes a %s", where, s, kind)
					}
				}
				if where == "a table" {
					rows := 0
					_ = ast.Walk(n, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
						if enter && n.Kind().String() == "TableCell" {
							rows++
						}
						return ast.WalkContinue, nil
					})
					if rows != 4 {
						t.Errorf("%q makes %d cells of 4", s, rows)
					}
				}
			}
			if finding.Clean(s) != s {
				t.Errorf("a terminal does not show %q as it is", s)
			}
		}
		if boundary.Unsafe(s, "prose") == "" {
			src := "# T\n\n## Before\n\n" + s + "\n\n## After\n\ntext\n"
			n := parsed(src)
			top, after := 0, false
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if h, ok := c.(*ast.Heading); ok && h.Level <= 2 {
					top++
					after = shown(h, []byte(src)) == "After"
				}
			}
			if top != 3 || !after {
				t.Errorf("%q leaves its section: %d headings", s, top)
			}
			if count(n, ast.KindHTMLBlock)+count(n, ast.KindRawHTML)+count(n, ast.KindImage) > 0 {
				t.Errorf("%q is more than text", s)
			}
		}
		if boundary.Unsafe(s, "rule") == "" {
			src := "before\n\n- " + s + "\n\nafter\n"
			n := parsed(src)
			list := n.FirstChild().NextSibling()
			if list == nil || list.Kind() != ast.KindList || list.ChildCount() != 1 || list.FirstChild().ChildCount() != 1 || list.NextSibling() == nil || list.NextSibling().NextSibling() != nil {
				t.Errorf("%q is no item of its own", s)
			}
			if count(n, ast.KindRawHTML)+count(n, ast.KindHTMLBlock)+count(n, ast.KindHeading)+count(n, ast.KindBlockquote)+count(n, ast.KindFencedCodeBlock) > 0 || strings.Contains(s, "<!--") {
				t.Errorf("%q is more than it seems", s)
			}
		}
		// Documents for programs, and terminals: whatever the text is.
		b, err := finding.Document(map[string]string{"text": s})
		var back map[string]string
		if err != nil || json.Unmarshal(b, &back) != nil || back["text"] != strings.ToValidUTF8(s, "\ufffd") && !strings.Contains(back["text"], "\ufffd") {
			t.Errorf("%q is %q in a document: %v", s, back["text"], err)
		}
		if bytes.ContainsAny(b, "\u202e\u2066\u200b\x1b\x07") || strings.ContainsAny(finding.CleanLines(s), "\u202e\u2066\u200b\x1b\x07") {
			t.Errorf("%q keeps what hides", s)
		}
	})
}

var sinkSeeds = []string{
	"plain", "a | b", "# h", "- x", "1. x", "> q", "```", "~~~", "---", "***", "<b>x</b>", "<!-- x -->", "[a](b)", "![a](b)", "[a]: b", "a\nb", "a\n===", "a\n---", "&lt;b&gt;", "\\<b>", "`a`", "``a` b``", "*a*", "__a__",
	"| a | b |\n| - | - |", "- [ ] x", "@docs/x.md", "a\u202eb", "a\u200bb", "a\u0085b", "+ x", "\t x", "    code", "x  \ny", "https://example.org/<x>", "<https://example.org>", "a\\", "#", "=", "-", "_ _ _", "<?x?>", "<![CDATA[x]]>", "</div>", "a `<b>` c", "~a~", "a^b", "\ufeffx", "é\u200dé",
}

// Text that came in stays text: no heading, list, quote, code, image or HTML comes out of it
// where it should not, nothing reaches beyond its place, and nothing hides.
func FuzzSinks(f *testing.F) {
	for _, s := range sinkSeeds {
		f.Add(s)
	}
	f.Fuzz(sinks)
}
