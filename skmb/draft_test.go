package skmb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The rule of every edit: bytes outside of what was meant stay as they are.

// values are texts that must read back as they were written, whatever Markdown or YAML
// would make of them.
var values = []string{
	"plain", "two words", "a | b", "||", `back\slash`, `ends in \`, `\|`, `\\|`, "_emphasis_", "snake_case_word", "*bold* **x**", "***", "[link](x.md)", "[a]: b", "![image](x)", "`code`", "``", "```",
	"<tag>", "<!-- comment -->", "https://example.org/a_b_(c)", "<https://example.org>", "&amp; & &lt;", "&#35;", "# heading", "heading #", "- item", "+ item", "1. one", "1) one", "> quote", ">-", ">", "|", "|-", "---", "===", "~~~",
	"key: value", "key:", ": value", "status: proposed", "同意：第一个答案获胜", "第一 | 第二", "é\u0301 👍", "“quoted”", `"double" 'single'`, "{a: b}", "[a, b]", "%x", "@x", "!tag", "&anchor", "*alias", "? x", "a # comment", "null", "~", "2026-06-11", "yes", "0x1f",
	"SKMB-2026-06-11-001 (partial)", "a\u00adb", strings.Repeat("long ", 200) + "end", strings.Repeat("[", 40), strings.Repeat("*_`|", 30),
}

// ways are how one text can be kept in a file.
var ways = []struct {
	claim  string
	change func(string) string
}{
	{"LF", func(s string) string { return s }},
	{"CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
	{"a byte order mark", func(s string) string { return "\ufeff" + s }},
	{"CRLF, a byte order mark, no final newline", func(s string) string {
		return "\ufeff" + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\r\n")
	}},
	{"no final newline", func(s string) string { return strings.TrimRight(s, "\n") }},
	{"blanks at every line's end", func(s string) string { return strings.ReplaceAll(s, "\n", " \t\n") }},
}

func draftOf(t testing.TB, tree *memory) *draft {
	t.Helper()
	d, err := newDraft(tree, root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// draftOn is a draft of a base that has one record alone.
func draftOn(text []byte, id string) *draft {
	return &draft{tree: treeOf(map[string]string{race: string(text)}), root: root, files: map[string][]byte{},
		base: &Base{Root: root, known: map[string]bool{id: true}, byID: map[string]*Record{id: {Path: race}}}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// text is a file of a draft as it is by now.
func (d *draft) text(t testing.TB, name string) string {
	t.Helper()
	data, err := d.read(name)
	must(t, err)
	return string(data)
}

// lines are the lines of a text with their ends.
func lines(s string) []string { return slices.Collect(strings.Lines(s)) }

// kept fails unless got has every line of want in order, byte for byte, but for those
// that may change, and no more than extra others. Line ends are those of the file, and a
// missing final newline stays missing.
func kept(t testing.TB, want, got string, may func(line string) bool, extra int) {
	t.Helper()
	bare := func(s string) string { return strings.TrimRight(s, "\r\n") }
	rest := lines(got)
	for _, l := range lines(want) {
		if may(l) {
			continue
		}
		i := slices.IndexFunc(rest, func(r string) bool { return bare(r) == bare(l) })
		if i < 0 {
			t.Errorf("the line %q is gone, or not where it was, in\n%s", l, got)
			return
		}
		extra -= i
		rest = rest[i+1:]
	}
	if extra -= len(rest); extra < 0 {
		t.Errorf("%d lines too many in\n%s", -extra, got)
	}
	if strings.Contains(want, "\r\n") && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
		t.Errorf("a line ends in LF in\n%q", got)
	}
	if !strings.Contains(want, "\r") && strings.Contains(got, "\r") {
		t.Errorf("a line ends in CRLF in\n%q", got)
	}
	if strings.HasPrefix(want, "\ufeff") != strings.HasPrefix(got, "\ufeff") || strings.HasSuffix(want, "\n") != strings.HasSuffix(got, "\n") {
		t.Errorf("the byte order mark or the final newline is not as it was in\n%q", got)
	}
}

func fieldsOf(r *Record) map[string]string {
	out := map[string]string{}
	for k := range r.fields {
		out[k] = r.value(k)
	}
	return out
}

// setAndRead sets a field of the race record and fails unless it reads back, the other
// fields are as they were, and so is what is approved.
func setAndRead(t *testing.T, text, key, value string) string {
	t.Helper()
	d := draftOn([]byte(text), "SKMB-2026-06-11-002")
	old, err := d.record("SKMB-2026-06-11-002")
	must(t, err)
	want := fieldsOf(old)
	want[key] = value
	must(t, d.setField(old.ID, key, value))
	now, err := d.record(old.ID)
	must(t, err)
	if got := fieldsOf(now); !maps.Equal(got, want) {
		t.Errorf("%s = %q: got %q, want %q, in\n%s", key, value, got, want, d.text(t, race))
	}
	if key != "scope" && key != "paths" && key != "patterns" && key != "supersedes" && now.Digest() != old.Digest() {
		t.Errorf("%s = %q: the approved text changed in\n%s", key, value, d.text(t, race))
	}
	return d.text(t, race)
}

func TestAFieldReadsBackAsItWasSet(t *testing.T) {
	for _, way := range ways {
		t.Run(way.claim, func(t *testing.T) {
			text := way.change(plain[race])
			for _, value := range values {
				for _, key := range []string{"approval_source", "recorded_by", "reason"} { // there, new, and unknown
					got := setAndRead(t, text, key, value)
					kept(t, text, got, func(l string) bool { return strings.HasPrefix(l, "- "+key+":") }, 1)
				}
			}
		})
	}
}

func TestAFieldIsSetWhereverItStands(t *testing.T) {
	const head, body = "# SKMB-2026-06-11-002: Approval Resolution Race\n", "\n## Decision\n\nThe first wins.\n"
	cases := []struct{ claim, text, key, want string }{
		{"a value over several lines", head + "\n- status: proposed\n  and so\n  on\n- date: 2026-06-11\n" + body, "status", head + "\n- status: new\n- date: 2026-06-11\n" + body},
		{"a folded scalar", head + "\n- approval_source: >-\n    pending\n\n    approval\n- date: 2026-06-11\n" + body, "approval_source", head + "\n- approval_source: new\n- date: 2026-06-11\n" + body},
		{"a nested list", head + "\n- patterns:\n  - A\n  - B\n- date: 2026-06-11\n" + body, "patterns", head + "\n- patterns: new\n- date: 2026-06-11\n" + body},
		{"a bold key", head + "\n- **Status:** proposed\n" + body, "status", head + "\n- **Status:** new\n" + body},
		{"a bold key without a value", head + "\n- **Status:**\n- date: x\n" + body, "status", head + "\n- **Status:** new\n- date: x\n" + body},
		{"a key without a value", head + "\n- status:\n- date: x\n" + body, "status", head + "\n- status: new\n- date: x\n" + body},
		{"a key with a blank for a value", head + "\n- status: \n- date: x\n" + body, "status", head + "\n- status: new \n- date: x\n" + body},
		{"behind what precedes it", head + "\n- scope: x\n- status: proposed\n- date: x\n" + body, "decided_by", head + "\n- scope: x\n- status: proposed\n- decided_by: new\n- date: x\n" + body},
		{"behind a nested list", head + "\n- patterns:\n  - A\n\n- note: x\n" + body, "scope", head + "\n- patterns:\n  - A\n- scope: new\n\n- note: x\n" + body},
		{"behind the last, if nothing precedes it", head + "\n- note: x\n" + body, "status", head + "\n- note: x\n- status: new\n" + body},
		{"stars as bullets", head + "\n* status: x\n* date: x\n" + body, "decided_by", head + "\n* status: x\n* decided_by: new\n* date: x\n" + body},
		{"indented items", head + "\n  - status: x\n  - date: x\n" + body, "decided_by", head + "\n  - status: x\n  - decided_by: new\n  - date: x\n" + body},
		{"blanks behind the bullet", head + "\n-   status: x\n  - date: y\n" + body, "decided_by", head + "\n-   status: x\n-   decided_by: new\n  - date: y\n" + body},
		{"no list at all", head + body, "status", head + "\n- status: new\n" + body},
		{"no list, prose right below the title", head + "Prose.\n" + body, "status", head + "\n- status: new\n\nProse.\n" + body},
		{"nothing but the title", strings.TrimSuffix(head, "\n"), "status", head + "\n- status: new"},
		{"front matter", "---\nstatus: proposed # not yet\n# about the date\ndate: x\n---\n" + head + body, "status", "---\nstatus: \"new\" # not yet\n# about the date\ndate: x\n---\n" + head + body},
		{"front matter, quoted", "---\nstatus: 'a # b'\ndate: x\n---\n" + head + body, "status", "---\nstatus: \"new\"\ndate: x\n---\n" + head + body},
		{"front matter, folded", "---\nstatus: >-\n  a\n  b\n\ndate: x\n---\n" + head + body, "status", "---\nstatus: \"new\"\n\ndate: x\n---\n" + head + body},
		{"front matter, a list", "---\npatterns:\n  - A\n  - B\n---\n" + head + body, "patterns", "---\npatterns:\n  \"new\"\n---\n" + head + body},
		{"front matter, the last", "---\ndate: x\nstatus: proposed\n---\n" + head + body, "status", "---\ndate: x\nstatus: \"new\"\n---\n" + head + body},
		{"front matter, without a value", "---\nstatus:\ndate: x\n---\n" + head + body, "status", "---\nstatus: \"new\"\ndate: x\n---\n" + head + body},
		{"front matter alone gets a new field", "---\ndate: x\n---\n" + head + body, "status", "---\ndate: x\nstatus: \"new\"\n---\n" + head + body},
		{"front matter and a list", "---\ndate: x\n---\n" + head + "\n- scope: x\n" + body, "status", "---\ndate: x\n---\n" + head + "\n- scope: x\n- status: new\n" + body},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			if got := setAndRead(t, c.text, c.key, "new"); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestAFieldInFrontMatterReadsBackAsItWasSet(t *testing.T) {
	front := "---\r\nStatus: proposed\r\napproval_source: 'pending'   # ask\r\ndate: 2026-06-11\r\n---\r\n# SKMB-2026-06-11-002: Race\r\n\r\n## Decision\r\n\r\nx\r\n"
	for _, value := range values {
		for _, key := range []string{"approval_source", "status", "date", "recorded_by"} {
			got := setAndRead(t, front, key, value)
			kept(t, front, got, func(l string) bool { return strings.HasPrefix(strings.ToLower(l), key+":") }, 1)
		}
	}
}

// What an edit would damage is refused, and the file stays as it is.
func TestAFieldThatCannotBeSetIsRefused(t *testing.T) {
	const body = "# SKMB-2026-06-11-002: Race\n\n## Decision\n\nx\n"
	for claim, text := range map[string]string{
		"a flow mapping":                          "---\n{status: proposed, date: x}\n---\n" + body,
		"a flow mapping with an umlaut":           "---\n{ö: ä, status: proposed}\n---\n" + body,
		"an alias":                                "---\na: &x proposed\nstatus: *x\n---\n" + body,
		"a line separator that only YAML knows":   "---\na: \"b\u2028c\"\nstatus: proposed\ndate: x\n---\n" + body,
		"a tab behind the bullet":                 "# SKMB-2026-06-11-002: Race\n\n-\tstatus: x\n   - date: y\n\n## Decision\n\nx\n",
		"code that would become part of the item": "# SKMB-2026-06-11-002: Race\n\n    code\n\n## Decision\n\nx\n",
	} {
		for _, key := range []string{"status", "decided_by"} {
			t.Run(claim+", "+key, func(t *testing.T) {
				d := draftOn([]byte(text), "SKMB-2026-06-11-002")
				old, err := d.record("SKMB-2026-06-11-002")
				must(t, err)
				want := fieldsOf(old)
				want[key] = "new"
				if err := d.setField(old.ID, key, "new"); err != nil {
					if len(d.files) > 0 {
						t.Errorf("refused with %v, but the file became\n%s", err, d.text(t, race))
					}
					return
				}
				now, err := d.record(old.ID)
				must(t, err)
				if got := fieldsOf(now); !maps.Equal(got, want) || now.Digest() != old.Digest() {
					t.Errorf("not refused: got %q, want %q, in\n%s", got, want, d.text(t, race))
				}
			})
		}
	}
}

func TestAReferenceIsAddedToASection(t *testing.T) {
	const head = "# SKMB-2026-06-11-002: Race\n\n- status: proposed\n\n"
	cases := []struct{ claim, text, want string }{
		{"in place of None.", head + "## Supersedes\n\nNone.\n\n## Evidence\n", head + "## Supersedes\n\n- X\n\n## Evidence\n"},
		{"in place of a dash", head + "## Supersedes\n\n-\n", head + "## Supersedes\n\n- X\n"},
		{"in place of nothing", head + "## Supersedes\n\n## Evidence\n", head + "## Supersedes\n\n- X\n\n## Evidence\n"},
		{"in place of nothing, at the end", head + "## Supersedes\n", head + "## Supersedes\n\n- X\n"},
		{"in place of nothing, without a final newline", head + "## Supersedes", head + "## Supersedes\n\n- X"},
		{"behind a list", head + "## Supersedes\n\n- A\n- B\n\n## Evidence\n", head + "## Supersedes\n\n- A\n- B\n- X\n\n## Evidence\n"},
		{"behind prose", head + "## Supersedes\n\nA, in part.\n\n## Evidence\n", head + "## Supersedes\n\nA, in part.\n\n- X\n\n## Evidence\n"},
		{"behind a list that goes on", head + "## Supersedes\n\n- A\n  because\n", head + "## Supersedes\n\n- A\n  because\n\n- X\n"},
		{"in a section of another case", head + "## SUPERSEDES\n\nNone.\n", head + "## SUPERSEDES\n\n- X\n"},
		{"in a new section", head + "## Decision\n\nx\n", head + "## Decision\n\nx\n\n## Supersedes\n\n- X\n"},
		{"in a new section, without a final newline", head + "## Decision\n\nx", head + "## Decision\n\nx\n\n## Supersedes\n\n- X"},
	}
	for _, c := range cases {
		for _, way := range ways[:3] {
			t.Run(c.claim+", "+way.claim, func(t *testing.T) {
				d := draftOf(t, setting(put(race, way.change(c.text))).tree)
				must(t, d.addToSection("SKMB-2026-06-11-002", "Supersedes", "X"))
				if got, want := d.text(t, race), way.change(c.want); got != want {
					t.Errorf("got\n%q\nwant\n%q", got, want)
				}
			})
		}
	}
}

// A section that stands in what is not closed would be swallowed.
func TestAReferenceIsNotAddedBehindWhatIsNotClosed(t *testing.T) {
	for claim, open := range map[string]string{"a fence": "```\nx\n", "a comment": "<!-- x\n"} {
		t.Run(claim, func(t *testing.T) {
			d := draftOf(t, setting(put(race, "# SKMB-2026-06-11-002: Race\n\n- status: proposed\n\n## Decision\n\n"+open)).tree)
			if err := d.addToSection("SKMB-2026-06-11-002", "Supersedes", "SKMB-003"); err == nil {
				t.Errorf("not refused:\n%s", d.text(t, race))
			}
		})
	}
}

// indexes are ways in which people keep an index, beside line ends.
var indexes = []struct {
	claim  string
	change func(string) string
}{
	{"as it was made", func(s string) string { return s }},
	{"sorted by hand", func(s string) string {
		l := lines(s)
		i := slices.IndexFunc(l, func(l string) bool { return strings.HasPrefix(l, "| SKMB-2026-06-11-001") })
		l[i], l[i+2] = l[i+2], l[i]
		return strings.Join(l, "")
	}},
	{"without outer pipes", func(s string) string {
		return eachTable(s, func(cells []string) string { return strings.Join(cells, " | ") })
	}},
	{"with extra columns, tables and prose", func(s string) string {
		s = eachTable(s, func(cells []string) string {
			if isRule(cells) {
				return "|:--|" + strings.Join(cells, "|") + "|--:|"
			}
			return "| *n* | " + strings.Join(cells, "  |  ") + " | [x](y)\\| |"
		})
		return strings.Replace(s, "## Named States", "Read *this* first.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n### More\n\n```\n| id |\n```\n\n## Named States", 1)
	}},
	{"columns turned around", func(s string) string {
		return eachTable(s, func(cells []string) string { slices.Reverse(cells); return "| " + strings.Join(cells, " | ") + " |" })
	}},
	{"the last table of the file is the Decision Index", func(s string) string {
		at := strings.Index(s, "## Named States")
		return s[:strings.Index(s, "## Decision Index")] + s[at:] + "\n" + strings.TrimSpace(s[strings.Index(s, "## Decision Index"):at]) + "\n"
	}},
}

// eachIndex runs fn on every way to keep the index, each time with another sixth of the
// values: all of them meet each kind of index, and each kind of line end.
func eachIndex(t *testing.T, fn func(t *testing.T, text string, some []string)) {
	for i, x := range indexes {
		for j, way := range ways {
			some := []string{""}
			for k, v := range values {
				if (i+j+k)%len(ways) == 0 {
					some = append(some, v)
				}
			}
			t.Run(x.claim+", "+way.claim, func(t *testing.T) { fn(t, way.change(x.change(plain[indexFile])), some) })
		}
	}
}

func rowWith(t testing.TB, d *draft, kind table, id string) row {
	t.Helper()
	x, err := d.index()
	must(t, err)
	var found []row
	for _, r := range x.rows(kind) {
		if r.id() == id {
			found = append(found, r)
		}
	}
	if len(found) != 1 || !found[0].wellShaped() {
		t.Fatalf("%d rows of %s, or one of another shape, in\n%s", len(found), id, d.text(t, indexFile))
	}
	return found[0]
}

func TestACellReadsBackAsItWasSet(t *testing.T) {
	eachIndex(t, func(t *testing.T, text string, some []string) {
		tree := setting(put(indexFile, text)).tree
		for i, value := range append([]string{"", "", ""}, some...) {
			d := draftOf(t, tree)
			old := rowWith(t, d, decisions, "SKMB-2026-06-11-002")
			column := []string{"scope", "commit", "status", "file"}[i%4] // commit stands at an edge
			must(t, d.setRow(decisions, "SKMB-2026-06-11-002", cells{column: value}))
			now := rowWith(t, d, decisions, "SKMB-2026-06-11-002")
			if got := now.text(column); got != value && (value != "" || !isNone(got)) {
				t.Errorf("%s: got %q, want %q", column, got, value)
			}
			for i, c := range now.cells {
				if now.columns[i] != column && string(c.Raw.In(now.index.doc.Source())) != string(old.cells[i].Raw.In(old.index.doc.Source())) {
					t.Errorf("%s changed with %s", now.columns[i], column)
				}
			}
			kept(t, text, d.text(t, indexFile), func(l string) bool { return strings.Contains(l, "002-race.md") }, 1)
		}
	})
}

func TestANewRowReadsBackAndChangesNothingElse(t *testing.T) {
	eachIndex(t, func(t *testing.T, text string, some []string) {
		tree := setting(put(indexFile, text)).tree
		for i, value := range some {
			d := draftOf(t, tree)
			id := fmt.Sprintf("SKMB-2026-06-11-%s", []string{"000", "002x", "999"}[i%3])
			want := cells{"id": id, "status": "proposed", "scope": value, "patterns": "A, F", "file": "decisions/x.md", "commit": ""}
			if i%2 > 0 {
				want["scope"], want["commit"] = "", value
			}
			must(t, d.setRow(decisions, id, want))
			got := rowWith(t, d, decisions, id)
			for column, value := range want {
				if got.text(column) != value {
					t.Errorf("%s: got %q, want %q", column, got.text(column), value)
				}
			}
			kept(t, text, d.text(t, indexFile), func(string) bool { return false }, 1)
			must(t, d.removeRow(decisions, id))
			if got := d.text(t, indexFile); got != text {
				t.Errorf("the row was made and removed, and the index is not as before:\n%q\nwant\n%q", got, text)
			}
		}
	})
}

func TestANewRowStandsAtItsPlaceWhereRowsAreSorted(t *testing.T) {
	for _, c := range []struct{ claim, id, behind string }{
		{"first", "SKMB-2026-06-10-001", ""},
		{"in between", "SKMB-2026-06-11-002a", "SKMB-2026-06-11-002"},
		{"last", "SKMB-2026-06-12-001", "SKMB-2026-06-11-003"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			d := draftOf(t, setting().tree)
			must(t, d.setRow(decisions, c.id, cells{"id": c.id}))
			x, err := d.index()
			must(t, err)
			behind := ""
			for _, r := range x.rows(decisions) {
				if r.id() == c.id {
					break
				}
				behind = r.id()
			}
			if behind != c.behind {
				t.Errorf("it stands behind %q, want %q", behind, c.behind)
			}
		})
	}
	t.Run("at the end of rows sorted by hand", func(t *testing.T) {
		d := draftOf(t, setting(put(indexFile, indexes[1].change(plain[indexFile]))).tree)
		must(t, d.setRow(decisions, "SKMB-2026-06-10-001", cells{"id": "SKMB-2026-06-10-001"}))
		x, err := d.index()
		must(t, err)
		if r := x.rows(decisions); r[3].id() != "SKMB-2026-06-10-001" {
			t.Errorf("the last row is %s", r[3].id())
		}
	})
}

func TestARemovedRowTakesNothingWithIt(t *testing.T) {
	eachIndex(t, func(t *testing.T, text string, _ []string) {
		tree := setting(put(indexFile, text)).tree
		for _, id := range []string{"SKMB-2026-06-11-001", "SKMB-2026-06-11-002", "SKMB-2026-06-11-003"} {
			d := draftOf(t, tree)
			must(t, d.removeRow(decisions, id))
			x, err := d.index()
			must(t, err)
			if slices.ContainsFunc(x.rows(decisions), func(r row) bool { return r.id() == id }) || len(x.rows(decisions)) != 2 {
				t.Errorf("%s is still there", id)
			}
			kept(t, text, d.text(t, indexFile), func(l string) bool { return strings.Contains(l, "accepted") && strings.Contains(l, id) }, 0)
		}
		d := draftOf(t, tree)
		must(t, d.removeRow(decisions, "SKMB-2026-06-11-099"))
		if len(d.files) > 0 {
			t.Error("a row that is not there was removed")
		}
	})
}

func TestANewColumnChangesNothingElse(t *testing.T) {
	eachIndex(t, func(t *testing.T, text string, _ []string) {
		d := draftOf(t, setting(put(indexFile, text)).tree)
		x, err := d.index()
		must(t, err)
		old := rowWith(t, d, opens, "OPEN-001")
		must(t, d.addColumn(x, x.tables[opens], "paths"))
		now := rowWith(t, d, opens, "OPEN-001")
		if len(now.columns) != len(old.columns)+1 || now.columns[len(old.columns)] != "paths" || !isNone(now.text("paths")) {
			t.Errorf("the columns are %q", now.columns)
		}
		for i, c := range old.cells {
			if now.cells[i].Text != c.Text {
				t.Errorf("%s became %q", old.columns[i], now.cells[i].Text)
			}
		}
		from := strings.Index(text, "## Open Decisions")
		if got := d.text(t, indexFile); !strings.HasPrefix(got, text[:from]) {
			t.Errorf("what stands before the table changed:\n%s", got)
		}
		must(t, d.setRow(opens, "OPEN-001", cells{"paths": "a|b, c"}))
		if got := rowWith(t, d, opens, "OPEN-001").text("paths"); got != "a|b, c" {
			t.Errorf("paths is %q", got)
		}
	})
}

// A row whose shape is not known would become one that has another meaning.
func TestAColumnIsNotAddedToATableWithAMisshapenRow(t *testing.T) {
	d := draftOf(t, setting(addRow("OPEN-001", "| OPEN-002 | D | who | pays | - | surplus |")).tree)
	x, err := d.index()
	must(t, err)
	if err := d.addColumn(x, x.tables[opens], "paths"); err == nil {
		t.Errorf("not refused:\n%s", d.text(t, indexFile))
	}
}

func TestANewTableSwallowsNothing(t *testing.T) {
	const title = "# State Machine Knowledge Base\n\n"
	for claim, text := range map[string]string{
		"no section":                            title + "Prose.\n",
		"no section, no final newline":          title + "Prose.",
		"an empty section":                      title + "## Decision Index\n\n## Invariants\n",
		"a section at the end":                  title + "## Decision Index\n",
		"a section at the end, no newline":      title + "## Decision Index",
		"prose right below the heading":         title + "## Decision Index\nNothing yet.\n\n- a\n",
		"a list right below the heading":        title + "## Decision Index\n- a\n",
		"code right below the heading":          title + "## Decision Index\n    code\n",
		"an underlined heading with prose":      title + "Decision Index\n---\nNothing yet.\n",
		"another section right below":           title + "## Decision Index\n## Invariants\n",
		"a link definition right below":         title + "## Decision Index\n[a]: b\n",
		"a paragraph that looks like a divider": title + "## Decision Index\n---|---\n",
	} {
		for _, way := range ways {
			t.Run(claim+", "+way.claim, func(t *testing.T) {
				text := way.change(text)
				d := draftOf(t, setting(put(indexFile, text)).tree)
				must(t, d.setRow(decisions, "SKMB-2026-06-11-001", cells{"id": "SKMB-2026-06-11-001", "scope": "x | y"}))
				if got := rowWith(t, d, decisions, "SKMB-2026-06-11-001"); got.text("scope") != "x | y" {
					t.Errorf("the scope is %q", got.text("scope"))
				}
				x, err := d.index()
				must(t, err)
				if len(x.rows(decisions)) != 1 {
					t.Errorf("%d rows in\n%s", len(x.rows(decisions)), d.text(t, indexFile))
				}
				kept(t, text, d.text(t, indexFile), func(string) bool { return false }, 8)
			})
		}
	}
}

func TestARowIsNotGuessedAt(t *testing.T) {
	misshapen := swap(indexFile, "| accepted | approval workflow | C, G |", "| accepted | approval | workflow | C, G |")
	for verb, edit := range map[string]func(*draft) error{
		"set a row": func(d *draft) error { return d.setRow(decisions, "SKMB-2026-06-11-002", cells{"status": "rejected"}) },
		"sync rows": func(d *draft) error { return d.syncRows("SKMB-2026-06-11-002") },
	} {
		t.Run(verb, func(t *testing.T) {
			d := draftOf(t, setting(misshapen).tree)
			if err := edit(d); err == nil || len(d.files) > 0 {
				t.Errorf("not refused: %v\n%s", err, d.text(t, indexFile))
			}
		})
	}
}
