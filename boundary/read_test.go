package boundary_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"assent/boundary"
	"assent/internal/budget"
	"assent/skmb"
)

// inside fails for a violation whose place is not in the text.
func inside(t *testing.T, text []byte, vs []boundary.Violation) {
	t.Helper()
	lines := bytes.Split(text, []byte("\n"))
	for _, v := range vs {
		if v.Line < 1 || v.Line > len(lines) || v.Column < 1 || v.Column > utf8.RuneCount(lines[v.Line-1])+1 {
			t.Errorf("%s %s stands at %d:%d, outside of %.200q", v.Code, v.Pointer, v.Line, v.Column, text)
		}
	}
}

// told writes a violation with its place.
func told(vs []boundary.Violation) []string {
	out := []string{}
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%d:%d %s %s", v.Line, v.Column, v.Code, v.Pointer))
	}
	return out
}

// Several defects are all named in one refusal, in the order of the text, each at its
// line and column in characters.
func TestCollect(t *testing.T) {
	cases := []struct {
		name, doc string
		want      []string
	}{
		{"one defect of each stage", `{
  "title": "Über\u202e",
  "patterns": ["A", "Z"], "status": "accepted",
	"Scope": "x", "décidé": 1e2,
  "decision": "## Heading",
  "context": "lone \ud800", "context": "again",
  "supersedes": [{}, {"id": 7, "kind": "a"}, null],
  "applies_to": ["a", "a", ""]
}`, []string{
			"1:1 boundary/missing-field /scope",
			"2:12 boundary/text-unsafe /title",
			"3:21 boundary/enum /patterns/1",
			"3:27 boundary/owned-field /status",
			"4:2 boundary/unknown-field /Scope",
			"4:16 boundary/unknown-field /décidé",
			"4:26 boundary/json-number /décidé",
			"5:15 boundary/text-unsafe /decision",
			"6:14 boundary/json-utf8 /context",
			"6:29 boundary/json-duplicate-name /context",
			"7:18 boundary/missing-field /supersedes/0/id",
			"7:29 boundary/type /supersedes/1/id",
			"7:32 boundary/owned-field /supersedes/1/kind",
			"7:46 boundary/type /supersedes/2",
			"8:23 boundary/item-duplicate /applies_to/1",
			"8:28 boundary/length /applies_to/2",
		}},
		{"all on one line behind wide characters", `{"title":"日本","patterns":[],"scope":"𝄞","decision":"d","applies_to":["é"],"x":1,"id":2}`, []string{
			"1:26 boundary/length /patterns",
			"1:75 boundary/unknown-field /x",
			"1:81 boundary/owned-field /id",
		}},
		{"a syntax error does not hide what stands before it", "{\"title\": \"\xff\",\n\"title\": -0, ]", []string{
			"1:11 boundary/json-utf8 /title",
			"2:1 boundary/json-duplicate-name /title",
			"2:10 boundary/json-number /title",
			"2:12 boundary/json-syntax ",
		}},
		{"text after the object does not hide what is in it", "{}\r\n{}", []string{
			"1:1 boundary/missing-field /title",
			"1:1 boundary/missing-field /patterns",
			"1:1 boundary/missing-field /scope",
			"1:1 boundary/missing-field /decision",
			"1:1 boundary/missing-field /applies_to",
			"2:1 boundary/json-trailing ",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := skmb.DecisionKind.Read(strings.NewReader(c.doc), "<stdin>")
			if got := told(refusal(t, err).Violations); !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

const valid = "{\n  \"title\": \"Ünïcode \\u00e9 \\ud834\\udd1e 𝄞\",\n\t\"patterns\": [\"A\", \"G\"],\n" +
	"  \"scope\": \"a\", \"decision\": \"Retry 3 times.\\n\\n- then \\\"fail\\\"\",\n  \"applies_to\": [\"x\"], \"supersedes\": [{\"id\": \"SKMB-2026-01-01-001\"}]\n}"

// No part of a payload is a payload: output that was cut off is refused wherever it ends.
func TestTruncated(t *testing.T) {
	if _, err := skmb.DecisionKind.Read(strings.NewReader(valid+" \r\n\t"), ""); err != nil {
		t.Fatalf("the whole is not taken: %v", err)
	}
	for i := range len(valid) {
		prefix := valid[:i]
		p, err := skmb.DecisionKind.Read(strings.NewReader(prefix), "<stdin>")
		if p != nil || err == nil {
			t.Fatalf("%q is taken", prefix)
		}
		want := "boundary/json-truncated "
		if strings.TrimSpace(prefix) == "" {
			want = "boundary/channel-empty "
		}
		if got := found(t, err); !slices.Equal(got, []string{want}) {
			t.Errorf("%q:\ngot  %q\nwant %q", prefix, got, want)
		}
		inside(t, []byte(prefix), refusal(t, err).Violations)
	}
}

// Only one JSON object with nothing around it comes in.
func TestChannel(t *testing.T) {
	example := skmb.DecisionKind.Example
	cases := []struct{ name, in, want string }{
		{"nothing", "", "1:1 boundary/channel-empty "},
		{"blanks", " \t\r\n ", "1:1 boundary/channel-empty "},
		{"a refusal in prose", "I'm sorry, but I can't help with that.", "1:1 boundary/channel-rejected "},
		{"prose before", "Here is the JSON:\n" + example, "1:1 boundary/channel-rejected "},
		{"prose after", example + "\nLet me know!", "2:1 boundary/json-trailing "},
		{"a fence around", "```json\n" + example + "\n```", "1:1 boundary/channel-rejected "},
		{"a fence after", example + "\n```", "2:1 boundary/json-trailing "},
		{"a tilde fence", "\n~~~\n" + example, "2:1 boundary/channel-rejected "},
		{"a byte order mark", "\ufeff" + example, "1:1 boundary/channel-rejected "},
		{"a byte order mark after blanks", " \ufeff" + example, "1:2 boundary/channel-rejected "},
		{"a byte order mark after", example + "\ufeff", "1:188 boundary/json-trailing "},
		{"UTF-16", "\xff\xfe{\x00}\x00", "1:1 boundary/channel-rejected "},
		{"a no-break space before", "\u00a0" + example, "1:1 boundary/channel-rejected "},
		{"a NUL before", "\x00" + example, "1:1 boundary/channel-rejected "},
		{"a NUL after", example + "\x00", "1:188 boundary/json-trailing "},
		{"an array", "[" + example + "]", "1:1 boundary/channel-rejected "},
		{"a string", `"` + strings.ReplaceAll(example, `"`, `\"`) + `"`, "1:1 boundary/channel-rejected "},
		{"a number", "1", "1:1 boundary/channel-rejected "},
		{"null", "null", "1:1 boundary/channel-rejected "},
		{"two objects", example + example, "1:188 boundary/json-trailing "},
		{"two objects on two lines", example + "\n" + example, "2:1 boundary/json-trailing "},
		{"a brace too many", example + "}", "1:188 boundary/json-trailing "},
		{"a comma after", example + ",", "1:188 boundary/json-trailing "},
		{"a comment after", example + " // done", "1:189 boundary/json-trailing "},
		{"a comment before", "/* */" + example, "1:1 boundary/channel-rejected "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := skmb.DecisionKind.Read(strings.NewReader(c.in), "<stdin>")
			if got := told(refusal(t, err).Violations); !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func readJSON(doc string, l boundary.Limits) (*boundary.Node, []boundary.Violation) {
	return boundary.ReadJSON(strings.NewReader(doc), l)
}

// What is no JSON, or JSON that two readers could read in two ways, is refused at its
// place; what is neither is read.
func TestReadJSON(t *testing.T) {
	syntax, truncated, number, utf8, twice := "boundary/json-syntax ", "boundary/json-truncated ", "boundary/json-number /a", "boundary/json-utf8 /a", "boundary/json-duplicate-name "
	cases := []struct {
		name, doc string
		want      []string
	}{
		{"zero", `{"a":0}`, nil},
		{"the largest number", `{"a":9007199254740991}`, nil},
		{"the smallest number", `{"a":-9007199254740991}`, nil},
		{"one above the largest", `{"a":9007199254740992}`, []string{"1:6 " + number}},
		{"one that rounds", `{"a":9007199254740993}`, []string{"1:6 " + number}},
		{"one below the smallest", `{"a":-9007199254740992}`, []string{"1:6 " + number}},
		{"one beyond 64 bits", `{"a":18446744073709551616}`, []string{"1:6 " + number}},
		{"one beyond every float", `{"a":1e400}`, []string{"1:6 " + number}},
		{"minus zero", `{"a":-0}`, []string{"1:6 " + number}},
		{"a whole float", `{"a":1.0}`, []string{"1:6 " + number}},
		{"a float", `{"a": 1.5}`, []string{"1:7 " + number}},
		{"an exponent", `{"a":1e2}`, []string{"1:6 " + number}},
		{"a large exponent", `{"a":1E+2}`, []string{"1:6 " + number}},
		{"a leading zero", `{"a":01}`, []string{"1:7 " + syntax}},
		{"a leading plus", `{"a":+1}`, []string{"1:6 " + syntax}},
		{"a leading point", `{"a":.5}`, []string{"1:6 " + syntax}},
		{"a trailing point", `{"a":1.}`, []string{"1:8 " + syntax}},
		{"a lone minus", `{"a":-}`, []string{"1:7 " + syntax}},
		{"hexadecimal", `{"a":0x1}`, []string{"1:7 " + syntax}},
		{"NaN", `{"a":NaN}`, []string{"1:6 " + syntax}},
		{"infinity", `{"a":-Infinity}`, []string{"1:7 " + syntax}},

		{"a pair of surrogates", `{"a":"\ud83d\ude00"}`, nil},
		{"the replacement character as it is", `{"a":"�"}`, nil},
		{"the replacement character escaped", `{"a":"\ufffd"}`, nil},
		{"a high surrogate", `{"a":"\ud83d"}`, []string{"1:6 " + utf8}},
		{"a low surrogate", `{"a":"\ude00"}`, []string{"1:6 " + utf8}},
		{"surrogates the wrong way round", `{"a":"\ude00\ud83d"}`, []string{"1:6 " + utf8}},
		{"a high surrogate before a letter", `{"a":"\ud83d\u0041"}`, []string{"1:6 " + utf8}},
		{"half a surrogate beside a replacement character", `{"a":"�\ud800"}`, []string{"1:6 " + utf8}},
		{"half a surrogate beside an escaped replacement character", `{"a":"\ufffd\ud800"}`, []string{"1:6 " + utf8}},
		{"half a surrogate beside text that looks like an escape", `{"a":"\\ufffd\ud800"}`, []string{"1:6 " + utf8}},
		{"a byte that is not UTF-8", "{\"a\":\"x\xff\"}", []string{"1:6 " + utf8}},
		{"an encoded surrogate", "{\"a\":\"\xed\xa0\x80\"}", []string{"1:6 " + utf8}},
		{"an overlong slash", "{\"a\":\"\xc0\xaf\"}", []string{"1:6 " + utf8}},
		{"a character beyond Unicode", "{\"a\":\"\xf4\x90\x80\x80\"}", []string{"1:6 " + utf8}},
		{"a bad byte in a name", "{\"\xff\":1}", []string{"1:2 boundary/json-utf8 "}},
		{"half a surrogate in a name", `{"\ud800":1}`, []string{"1:2 boundary/json-utf8 "}},
		{"a bad byte between values", "{\xff}", []string{"1:2 " + syntax}},
		{"a newline in a string", "{\"a\":\"\n\"}", []string{"1:7 " + syntax}},
		{"a NUL in a string", "{\"a\":\"\x00\"}", []string{"1:7 " + syntax}},
		{"an escaped NUL", `{"a":"\u0000"}`, nil},
		{"an unknown escape", `{"a":"\x41"}`, []string{"1:7 " + syntax}},
		{"a broken escape", `{"a":"\u00g0"}`, []string{"1:7 " + syntax}},
		{"single quotes", `{'a':1}`, []string{"1:2 " + syntax}},

		{"one name twice", `{"a":1,"a":2}`, []string{"1:8 " + twice + "/a"}},
		{"one name three times", `{"a":1,"a":2,"a":3}`, []string{"1:8 " + twice + "/a", "1:14 " + twice + "/a"}},
		{"one name in two spellings", `{"a":1,"\u0061":2}`, []string{"1:8 " + twice + "/a"}},
		{"one name twice, deep", `{"x":[0,{"a/~":1,"a/~":2}]}`, []string{"1:18 " + twice + "/x/1/a~1~0"}},
		{"the empty name twice", `{"":1,"":2}`, []string{"1:7 " + twice + "/"}},
		{"one name in two objects", `{"a":{"a":1},"b":{"a":1}}`, nil},
		{"two names that differ in case", `{"a":1,"A":1}`, nil},

		{"a trailing comma", `{"a":1,}`, []string{"1:7 " + syntax}},
		{"a trailing comma in an array", `{"a":[1,]}`, []string{"1:8 " + syntax}},
		{"a leading comma", `{,}`, []string{"1:2 " + syntax}},
		{"two commas", `{"a":1,,"b":2}`, []string{"1:8 " + syntax}},
		{"no comma", `{"a":1 "b":2}`, []string{"1:8 " + syntax}},
		{"no colon", `{"a" 1}`, []string{"1:6 " + syntax}},
		{"two colons", `{"a"::1}`, []string{"1:6 " + syntax}},
		{"a name without value", `{"a"}`, []string{"1:5 " + syntax}},
		{"a name that is no string", `{1:2}`, []string{"1:2 " + syntax}},
		{"brackets that do not match", `{"a":[}`, []string{"1:7 " + syntax}},
		{"a closing bracket", `{]`, []string{"1:2 " + syntax}},
		{"a comment", "{ // c\n}", []string{"1:3 " + syntax}},
		{"a word", `{"a":nil}`, []string{"1:7 " + syntax}},
		{"a word in capitals", `{"a":True}`, []string{"1:6 " + syntax}},
		{"a no-break space", "{\u00a0}", []string{"1:2 " + syntax}},
		{"an open object", "{\n", []string{"2:1 " + truncated}},
		{"an open string", `{"a":"é`, []string{"1:8 " + truncated}},
		{"an open array", `{"a":[`, []string{"1:7 " + truncated}},
		{"an open number", `{"a":-`, []string{"1:7 " + truncated}},
		{"an open word", `{"a":tru`, []string{"1:9 " + truncated}},
		{"an open escape", `{"a":"\u00`, []string{"1:11 " + truncated}},
		{"every kind of value", " {\"a\" : [ null, true , false, 1, \"x\", {}, [] ] }\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n, vs := readJSON(c.doc, boundary.DefaultLimits)
			if got := told(vs); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%q:\ngot  %q\nwant %q", c.doc, got, c.want)
			}
			if len(c.want) == 0 && n == nil {
				t.Error("no node")
			}
		})
	}
}

// A node has the kind, the text and the place of what it was read from.
func TestNode(t *testing.T) {
	n, vs := readJSON("{\"a/b\": [null, {\"~1\": \"x\\ny\"}],\n \"é\": -7, \"\": true}", boundary.DefaultLimits)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	cases := []struct {
		pointer, want string
	}{
		{"", `an object "" at 1:1`},
		{"/a~1b", `an array "" at 1:9`},
		{"/a~1b/0", `null "" at 1:10`},
		{"/a~1b/1", `an object "" at 1:16`},
		{"/a~1b/1/~01", `a string "x\ny" at 1:23`},
		{"/é", `a number "-7" at 2:7`},
		{"/a~1b/2", "none"},
		{"/a~1b/-1", "none"},
		{"/a~1b/x", "none"},
		{"/é/x", "none"},
		{"/no/way", "none"},
	}
	for _, c := range cases {
		t.Run(c.pointer, func(t *testing.T) {
			got := "none"
			if n := n.At(c.pointer); n != nil {
				got = fmt.Sprintf("%s %q at %d:%d", n.Kind, n.Text, n.Pos.Line, n.Pos.Column)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if m := n.Member(""); m == nil || m.Kind != boundary.Bool || m.Text != "true" || m.NamePos.Line != 2 || m.NamePos.Column != 11 || m.NamePos.Offset != len("{\"a/b\": [null, {\"~1\": \"x\\ny\"}],\n \"é\": -7, ") {
		t.Errorf("the member without a name: %+v", m)
	}
}

// Every limit holds exactly.
func TestLimits(t *testing.T) {
	nested := func(depth int) string {
		return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
	}
	cases := []struct {
		name   string
		doc    string
		limits boundary.Limits
		want   []string
	}{
		{"as many bytes as allowed", `{"a":12}`, boundary.Limits{Bytes: 8, Depth: 1, Values: 2}, nil},
		{"a byte more", `{"a":123}`, boundary.Limits{Bytes: 8, Depth: 1, Values: 2}, []string{"1:1 boundary/input-too-large "}},
		{"a blank more", `{"a":12} `, boundary.Limits{Bytes: 8, Depth: 1, Values: 2}, []string{"1:1 boundary/input-too-large "}},
		{"as deep as allowed", nested(3), boundary.Limits{Bytes: 99, Depth: 3, Values: 9}, nil},
		{"deeper", nested(4), boundary.Limits{Bytes: 99, Depth: 3, Values: 9}, []string{"1:8 boundary/too-deep /a/0/0"}},
		{"as many values as allowed", `{"a":[1,{}]}`, boundary.Limits{Bytes: 99, Depth: 9, Values: 4}, nil},
		{"a value more", `{"a":[1,{}],"b":2}`, boundary.Limits{Bytes: 99, Depth: 9, Values: 4}, []string{"1:17 boundary/too-many-values /b"}},
		{"the default depth", nested(32), boundary.DefaultLimits, nil},
		{"deeper than the default", nested(33), boundary.DefaultLimits, []string{"1:37 boundary/too-deep " + "/a" + strings.Repeat("/0", 31)}},
		{"what stands before a limit is listed", `{"a":-0,"a":[[]]}`, boundary.Limits{Bytes: 99, Depth: 2, Values: 9}, []string{"1:6 boundary/json-number /a", "1:9 boundary/json-duplicate-name /a", "1:14 boundary/too-deep /a/0"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n, vs := readJSON(c.doc, c.limits)
			if got := told(vs); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if (n == nil) != (c.want != nil) {
				t.Errorf("node %v", n)
			}
		})
	}
}

// Input made to be slow is judged in a moment.
func TestHostileSizes(t *testing.T) {
	const most = 1 << 20
	long := strings.Repeat("k", 500_000)
	cases := []struct{ name, doc, want string }{
		{"brackets", `{"a":` + strings.Repeat("[", most-5), "boundary/too-deep"},
		{"braces", strings.Repeat(`{"a":`, most/5), "boundary/too-deep"},
		{"numbers", `{"a":[1` + strings.Repeat(",1", most/2-10), "boundary/too-many-values"},
		{"bad numbers", `{"a":[1.5` + strings.Repeat(",1.5", 20_000) + "]}", "boundary/json-number"},
		{"one long name over many values", `{"` + long + `":[1` + strings.Repeat(",1", 40_000) + "]}", "boundary/unknown-field"},
		{"one long name over many bad values", `{"` + long + `":[1.5` + strings.Repeat(",1.5", 20_000) + "]}", "boundary/json-number"},
		{"one name many times", `{"a":1` + strings.Repeat(`,"a":1`, 20_000) + "}", "boundary/json-duplicate-name"},
		{"many unknown names", "{" + strings.Repeat(`"titel_x":1,`, 15_000) + `"a":1}`, "boundary/unknown-field"},
		{"many lines", "{" + strings.Repeat("\n", most-100) + `"a":-0}`, "boundary/json-number"},
		{"an open string", `{"a":"` + strings.Repeat("x", most-6), "boundary/json-truncated"},
		{"many escapes", `{"a":"` + strings.Repeat(`\ud800`, most/6-10) + `"}`, "boundary/json-utf8"},
		{"long prose", `{"decision":"` + strings.Repeat("> ", most/2-20) + `"}`, "boundary/length"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var err error
			budget.Within(t, soon, func() { _, err = skmb.DecisionKind.Read(strings.NewReader(c.doc), "<stdin>") })
			r := refusal(t, err)
			if !slices.ContainsFunc(r.Violations, func(v boundary.Violation) bool { return v.Code == c.want }) {
				t.Errorf("no %s in %.300s", c.want, r)
			}
			if n := len(r.Error()); n > 200_000 {
				t.Errorf("the refusal has %d bytes", n)
			}
		})
	}
}

// Input that cannot be read, or arrives in pieces, is neither a pass nor another verdict.
func TestReader(t *testing.T) {
	t.Run("an error", func(t *testing.T) {
		n, vs := boundary.ReadJSON(io.MultiReader(strings.NewReader(`{"a":1}`), iotest.ErrReader(errors.New("broken"))), boundary.DefaultLimits)
		if got := told(vs); n != nil || !slices.Equal(got, []string{"1:1 boundary/json-truncated "}) || !strings.Contains(vs[0].Message, "broken") {
			t.Errorf("got %v, %q", n, got)
		}
	})
	t.Run("byte by byte", func(t *testing.T) {
		p, err := skmb.DecisionKind.Read(iotest.OneByteReader(strings.NewReader(valid)), "")
		if err != nil || p.Value.Title != "Ünïcode é 𝄞 𝄞" || p.Value.Supersedes[0].ID != "SKMB-2026-01-01-001" {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("no end", func(t *testing.T) {
		_, vs := boundary.ReadJSON(endless{}, boundary.DefaultLimits)
		if got := told(vs); !slices.Equal(got, []string{"1:1 boundary/input-too-large "}) {
			t.Errorf("got %q", got)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
