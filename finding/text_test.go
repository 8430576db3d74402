package finding_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assent/finding"
)

// Clean leaves nothing that a terminal would obey or a reader could not see.
func TestClean(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain text", "docs/isme/a.md: x~", "docs/isme/a.md: x~"},
		{"other alphabets", "Größe 日本 😀 עברית", "Größe 日本 😀 עברית"},
		{"line breaks", "a\nb\r\nc\u2028d\u2029e", "a b c d e"},
		{"a carriage return", "safe\revil", "safeevil"},
		{"tabs", "a\tb", "a b"},
		{"other controls", "a\x00b\x07c\x08d\x0be\x0cf\x7fg\u0085h", "abcdefgh"},
		{"bidirectional controls", "a\u202eb\u202cc\u2066d\u2069e\u200ef\u061cg", "abcdefg"},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", "abcdef"},
		{"tags", "a\U000e0041\U000e007fb", "ab"},
		{"noncharacters", "a\ufdd0\ufffe\U0010ffffb", "ab"},
		{"bytes that are not UTF-8", "a\xffb\xed\xa0\x80c", "a\ufffdb\ufffdc"},

		{"a colour", "\x1b[31mred\x1b[0m", "red"},
		{"a colour in many parts", "\x1b[38;2;255;0;0;1mred\x1b[m", "red"},
		{"a cursor movement", "a\x1b[2J\x1b[1;1Hb\x1b[?25l", "ab"},
		{"a sequence with intermediates", "a\x1b[0 qb\x1b[!pc", "abc"},
		{"a character set", "a\x1b(Bb\x1b)0c\x1b#8d", "abcd"},
		{"sequences of two characters", "a\x1bcb\x1b7c\x1b=d", "abcd"},
		{"a title", "a\x1b]0;evil\x07b", "ab"},
		{"a link", "\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device control", "a\x1bPq#0\x1b\\b\x1b_x\x07c\x1b^y\x07d\x1bXz\x07e", "abcde"},
		{"a sequence of eight bits", "a\u009b31mb\u009d0;t\u009cc", "a31mb0;tc"},
		{"an escape at the end", "a\x1b", "a"},
		{"an escape before an escape", "a\x1b\x1b[31mb", "ab"},
		{"a sequence that is cut short", "a\x1b[31", "a"},
		{"a sequence in a sequence", "a\x1b[31\x1b[32mb", "ab"},
		{"a sequence before a wide character", "a\x1b[31日本", "a日本"},
		{"an escape before a wide character", "a\x1bé", "aé"},
		{"an escape before a line break", "a\x1b\nb", "a b"},
		{"a sequence over a line break", "a\x1b[3\nb", "a b"},
		{"a title without end hides nothing", "a\x1b]0;all of this stays", "a0;all of this stays"},
		{"a title that another sequence breaks off hides nothing", "a\x1b]0;seen\x1b[31mred", "a0;seenred"},
		{"escapes that a removal would join", "a\x1b\x1b[mc[31mb", "ac[31mb"},
		{"escapes around characters that go", "a\x1b\u200b[31mb", "a[31mb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := finding.Clean(c.in)
			if got != c.want {
				t.Errorf("Clean(%q)\ngot  %q\nwant %q", c.in, got, c.want)
			}
			if again := finding.Clean(got); again != got {
				t.Errorf("cleaned again: %q", again)
			}
		})
	}
}

// CleanLines keeps lines apart and is otherwise as strict.
func TestCleanLines(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"lines", "a\n\nb\n", "a\n\nb\n"},
		{"CR LF", "a\r\nb\r\n", "a\nb\n"},
		{"tabs", "a\n\tb\tc", "a\n    b    c"},
		{"other line breaks", "a\u2028b\u0085c\x0bd", "a bcd"},
		{"blanks at the ends", "  a  \n b ", "  a  \n b "},
		{"a colour over lines", "\x1b[31mred\nstill\x1b[0m", "red\nstill"},
		{"a title over lines hides none", "a\x1b]0;b\nc\x07d\ne", "a0;b\ncd\ne"},
		{"a sequence over lines", "a\x1b[3\n1mb", "a\n1mb"},
		{"bidirectional controls", "if\u202e {\n}\u2066", "if {\n}"},
		{"bytes that are not UTF-8", "a\xff\n\xfeb", "a\ufffd\n\ufffdb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := finding.CleanLines(c.in)
			if got != c.want {
				t.Errorf("CleanLines(%q)\ngot  %q\nwant %q", c.in, got, c.want)
			}
			if again := finding.CleanLines(got); again != got {
				t.Errorf("cleaned again: %q", again)
			}
		})
	}
}

// FuzzClean: what comes out is visible text of one line, stays as it is when cleaned
// again, and has every letter that stood outside of a sequence.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "\x1bP\x1b\\", "\x1b\x1b", "\xff\x1b\xff", "\u202e\U000e0041\ufffe", "é\x1bé", "\x1b(B", "\r\t\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []struct {
			name, got, again string
			keeps            rune
		}{
			{"Clean", finding.Clean(s), finding.Clean(finding.Clean(s)), ' '},
			{"CleanLines", finding.CleanLines(s), finding.CleanLines(finding.CleanLines(s)), '\n'},
		} {
			for _, r := range c.got {
				if finding.Unsafe(r) && r != c.keeps {
					t.Errorf("%s(%q) = %q has U+%04X", c.name, s, c.got, r)
				}
			}
			if !utf8.ValidString(c.got) || c.again != c.got {
				t.Errorf("%s(%q) = %q, cleaned again %q", c.name, s, c.got, c.again)
			}
		}
		if strings.Count(s, "\n") != strings.Count(finding.CleanLines(s), "\n") {
			t.Errorf("CleanLines(%q) = %q has other lines", s, finding.CleanLines(s))
		}
		if !strings.Contains(s, "\x1b") {
			var want strings.Builder
			for _, r := range strings.ToValidUTF8(s, "\ufffd") {
				switch {
				case r == '\n' || r == '\t' || r == 0x2028 || r == 0x2029:
					want.WriteByte(' ')
				case !finding.Unsafe(r):
					want.WriteRune(r)
				}
			}
			if got := finding.Clean(s); got != want.String() {
				t.Errorf("Clean(%q) = %q, want %q", s, got, want.String())
			}
		}
	})
}

// The text has a line for a finding and one for its hint; nothing in a finding makes
// another.
func TestWriteText(t *testing.T) {
	r := finding.Report{Result: hostile(), Files: 3, Commits: 1, Summary: true, LastHint: "mend it\nfirst"}
	plain := "repository: warning skmb/pair: half a base\n" +
		"  hint: skmb init\n" +
		"\"docs/\\nisme.md\":2:7: error skmb/unresolved: forged  docs/a.md:1:1: error x/y: z\n" +
		"  hint: skmb approve  --statement\n" +
		"docs/naïve.md: error skmb/twin: one\n" +
		"docs/naïve.md: error skmb/twin: one\n" +
		"\"docs/\\xff.md\":1:1: error skmb/bytes: \ufffd\n" +
		"not checked: lint/check-failed: it broke here\n" +
		"  hint: try again\n" +
		"not checked: lint/object-missing: gone\n" +
		"examined 3 files, 1 commit: 4 errors, 1 warning, 2 not checked\n" +
		"mend it first\n"
	verbose := strings.Replace(plain, "\"docs/\\xff.md\":1:1", "docs/naïve.md:9:9: info skmb/note: a note\n\"docs/\\xff.md\":1:1", 1)
	cases := []struct {
		name string
		set  func(*finding.Report)
		want string
	}{
		{"plain", func(*finding.Report) {}, plain},
		{"verbose", func(r *finding.Report) { r.Verbose = true }, verbose},
		{"without summary and hint", func(r *finding.Report) { r.Summary, r.LastHint = false, "" }, plain[:strings.Index(plain, "examined")]},
		{"of nothing", func(r *finding.Report) { *r = finding.Report{} }, ""},
		{"of nothing, with summary", func(r *finding.Report) { *r = finding.Report{Summary: true, Files: 1} }, "examined 1 file: 0 errors, 0 warnings\n"},
		{"in colour", func(r *finding.Report) {
			*r = finding.Report{Color: true, Result: finding.Result{Findings: r.Findings[:2]}}
		}, "repository: \x1b[33mwarning\x1b[0m skmb/pair: half a base\n  hint: skmb init\n" +
			"\"docs/\\nisme.md\":2:7: \x1b[31merror\x1b[0m skmb/unresolved: forged  docs/a.md:1:1: error x/y: z\n  hint: skmb approve  --statement\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := r
			c.set(&r)
			var out strings.Builder
			if err := finding.WriteText(&out, r); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
			}
			if !r.Color && finding.CleanLines(out.String()) != out.String() {
				t.Errorf("not fit for a terminal: %q", out.String())
			}
		})
	}
}

// hostile is a result whose texts came from files and models.
func hostile() finding.Result {
	r := finding.Result{
		Findings: []finding.Finding{
			{Code: "skmb/unresolved", Title: "a decision is open", Path: "docs/\nisme.md", Message: "forged \ndocs/a.md:1:1: error x/y: z\x1b[2K", Fix: "skmb approve \u202e --statement", Key: "SKMB-1", Start: finding.Pos{Line: 2, Col: 7}, End: finding.Pos{Line: 2, Col: 9}, Severity: finding.Error},
			{Code: "skmb/bytes", Title: "bytes", Path: "docs/\xff.md", Message: "\xfe", Start: finding.Pos{Line: 1, Col: 1}, Severity: finding.Error},
			{Code: "skmb/pair", Title: "half", Message: "half a base", Fix: "skmb init", Severity: finding.Warning},
			{Code: "skmb/twin", Title: "twin", Path: "docs/naïve.md", Message: "one", Severity: finding.Error},
			{Code: "skmb/note", Title: "note", Path: "docs/naïve.md", Message: "a\x7f no\u0085te", Start: finding.Pos{Line: 9, Col: 9}, Severity: finding.Info},
			{Code: "skmb/twin", Title: "twin", Path: "docs/naïve.md", Message: "one", Severity: finding.Error},
		},
	}
	var out finding.Result
	out.Add(r)
	out.Add(finding.Result{Unchecked: []finding.Unchecked{{Code: "lint/object-missing", Message: "gone"}, {Code: "lint/check-failed", Message: "it broke\nhere", Fix: "try\tagain"}}})
	return out
}

// A place is as exact as what is known of it.
func TestPlace(t *testing.T) {
	cases := []struct {
		name string
		f    finding.Finding
		want string
	}{
		{"no path", finding.Finding{Start: finding.Pos{Line: 1, Col: 1}}, "repository"},
		{"a path", finding.Finding{Path: "a b.md"}, "a b.md"},
		{"a line and a column", finding.Finding{Path: "a.md", Start: finding.Pos{Line: 3, Col: 14}}, "a.md:3:14"},
		{"a path that forges a line", finding.Finding{Path: "a\x1b[31m\nb.md", Start: finding.Pos{Line: 1, Col: 1}}, `"a\x1b[31m\nb.md":1:1`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.f.Place(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
