package skmb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told is what was read of a base: every row by its columns, every record by its fields.
func told(b *Base) string {
	var out strings.Builder
	for kind := range tables {
		for _, r := range b.Index.rows(kind) {
			fmt.Fprintf(&out, "%s:", specs[kind].heading)
			for _, column := range specs[kind].columns {
				value := r.text(column)
				if column == "file" {
					value = r.file()
				}
				fmt.Fprintf(&out, " %s=%q", column, value)
			}
			out.WriteByte('\n')
		}
	}
	for _, r := range b.Records {
		fmt.Fprintf(&out, "%s %q %s %v %v %q %q %s\n", r.ID, r.Title, r.Status, r.Patterns, r.Paths, r.value("decided_by"), r.value("approval_source"), r.Digest())
	}
	return out.String()
}

// eachTable gives the cells of every line of every table of an index to fn and writes
// what it returns.
func eachTable(index string, fn func(cells []string) string) string {
	var out strings.Builder
	for l := range strings.Lines(index) {
		if text := strings.TrimSuffix(l, "\n"); strings.HasPrefix(text, "|") {
			cells := strings.Split(strings.Trim(text, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			l = fn(cells) + "\n"
		}
		out.WriteString(l)
	}
	return out.String()
}

func isRule(cells []string) bool { return strings.Trim(strings.Join(cells, ""), "-") == "" }

// TestOtherSpellingsOfTheIndexReadTheSame holds an index that a person keeps in another
// way against the plain one.
func TestOtherSpellingsOfTheIndexReadTheSame(t *testing.T) {
	pipes := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
	cases := []struct {
		claim  string
		change func(string) string
	}{
		{"headings in capitals", func(s string) string {
			for _, spec := range specs {
				s = strings.Replace(s, "## "+spec.heading, "## "+strings.ToUpper(spec.heading), 1)
			}
			return s
		}},
		{"headings with marks and closing hashes", func(s string) string {
			return strings.Replace(strings.Replace(s, "## Decision Index", "##  **Decision** `Index` ##", 1), "## Open Decisions", "## [Open](x.md) Decisions", 1)
		}},
		{"headings underlined", func(s string) string {
			return strings.NewReplacer("## Decision Index\n", "Decision Index\n---\n", "## Invariants\n", "Invariants\n--------\n").Replace(s)
		}},
		{"the other name of the defaults", func(s string) string {
			return strings.Replace(s, "## Statistical Defaults Allowed Temporarily", "## Reviewed statistical defaults", 1)
		}},
		{"columns turned around", func(s string) string {
			return eachTable(s, func(cells []string) string { slices.Reverse(cells); return pipes(cells) })
		}},
		{"no outer pipes", func(s string) string {
			return eachTable(s, func(cells []string) string { return strings.Join(cells, " | ") })
		}},
		{"no blanks around pipes", func(s string) string {
			return eachTable(s, func(cells []string) string { return "|" + strings.Join(cells, "|") + "|" })
		}},
		{"a pipe on the left only, and alignment", func(s string) string {
			return strings.ReplaceAll(eachTable(s, func(cells []string) string { return "  | " + strings.Join(cells, " \t| ") }), "---", ":---:")
		}},
		{"columns that nobody knows, first and last", func(s string) string {
			n := 0
			return eachTable(s, func(cells []string) string {
				n++
				if isRule(cells) {
					return pipes(append([]string{"---"}, append(cells, "---")...))
				}
				return pipes(append([]string{fmt.Sprintf("note %d", n)}, append(cells, "seen")...))
			})
		}},
		{"headers in capitals, bold, with blanks and dashes", func(s string) string {
			return strings.NewReplacer("| id | status |", "| **ID** | `STATUS` |", "from_state", "From State", "to_state", "to-state", "needed_before", "*Needed Before*").Replace(s)
		}},
		{"cells in bold, code and links", func(s string) string {
			return eachTable(s, func(cells []string) string {
				if !strings.HasPrefix(cells[0], "SKMB-") && !strings.HasPrefix(cells[0], "T-") {
					return pipes(cells)
				}
				for i := range cells {
					switch {
					case strings.HasSuffix(cells[i], ".md"):
						cells[i] = "[see](" + cells[i] + ")"
					case i%2 == 0:
						cells[i] = "**" + cells[i] + "**"
					default:
						cells[i] = "`" + cells[i] + "`"
					}
				}
				return pipes(cells)
			})
		}},
		{"an id as a link", func(s string) string {
			return strings.Replace(s, "| SKMB-2026-06-11-002 |", "| [SKMB-2026-06-11-002](decisions/002-race.md) |", 1)
		}},
		{"CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"a byte order mark", func(s string) string { return "\ufeff" + s }},
		{"CRLF and a byte order mark", func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") }},
		{"no final newline", func(s string) string { return strings.TrimRight(s, "\n") }},
		{"blanks at every line's end", func(s string) string { return strings.ReplaceAll(s, "\n", " \t\n") }},
		{"sections in another order", func(s string) string {
			at := strings.Index(s, "## Named States")
			return s[:strings.Index(s, "## Decision Index")] + s[at:] + "\n" + s[strings.Index(s, "## Decision Index"):at]
		}},
		{"prose, a list and another table in a section", func(s string) string {
			return strings.Replace(s, "## Decision Index\n", "## Decision Index\n\nHow to *read* it | what it means.\n\n- one\n\n| word | meaning |\n| --- | --- |\n| accepted | a designer decided |\n", 1)
		}},
		{"sections that nobody knows", func(s string) string {
			return strings.Replace(s, "## Named States", "## Glossary\n\n| id | status | file |\n| --- | --- | --- |\n| SKMB-2026-06-11-008 | proposed | x.md |\n\n## Named States", 1)
		}},
		{"rows in a fence, a comment, a quote, indented code and a list", func(s string) string {
			row := "| SKMB-2026-06-11-008 | proposed | x | F | decisions/008.md | pending |"
			table := "| id | status | scope | patterns | file | commit |\n| --- | --- | --- | --- | --- | --- |\n" + row + "\n"
			hidden := "```\n" + table + "```\n\n<!--\n\n## Decision Index\n\n" + table + "-->\n\n> " + strings.ReplaceAll(strings.TrimSuffix(table, "\n"), "\n", "\n> ") + "\n\n    " +
				strings.ReplaceAll(table, "\n", "\n    ") + "\n\n- " + strings.ReplaceAll(table, "\n", "\n  ") + "\n~~~md\n## Invariants\n~~~\n\n"
			return strings.Replace(s, "| id | status |", hidden+"| id | status |", 1)
		}},
		{"a table that is not opened by a blank line", func(s string) string {
			return strings.Replace(s, "## Decision Index\n\n", "## Decision Index\nAll of them:\n", 1)
		}},
	}
	want := told(load(t, treeOf(plain)))
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			s := setting()
			text := c.change(plain[indexFile])
			if text == plain[indexFile] {
				t.Fatal("the case changes nothing")
			}
			s.tree.files[indexFile] = []byte(text)
			if got := told(load(t, s.tree)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got := judge(t, s.options, s.tree); len(got) > 0 {
				t.Errorf("got%s", list(got))
			}
		})
	}
}

// TestOtherSpellingsOfADecisionReadTheSame holds decision files that people keep in other
// ways against the plain one.
func TestOtherSpellingsOfADecisionReadTheSame(t *testing.T) {
	head, body, _ := strings.Cut(plain[race], "## Decision")
	title, fieldList, _ := strings.Cut(head, "\n\n")
	items := strings.Split(strings.TrimSpace(fieldList), "\n")
	with := func(change func(string) string) string {
		return title + "\n\n" + change(fieldList) + "## Decision" + body
	}
	cases := []struct{ claim, text string }{
		{"keys in capitals", with(func(s string) string { return strings.ReplaceAll(s, "- s", "- S") })},
		{"keys with blanks", with(func(s string) string {
			return strings.NewReplacer("decided_by", "Decided By", "approval_source", "Approval-Source").Replace(s)
		})},
		{"keys in bold, the colon inside", with(func(s string) string { return strings.Replace(s, "- status:", "- **Status:**", 1) })},
		{"keys in bold, the colon outside", with(func(s string) string { return strings.Replace(s, "- status:", "- **Status**:", 1) })},
		{"values in marks", with(func(s string) string {
			return strings.NewReplacer(": accepted", ": **accepted**", ": designer", ": `designer`", "the first committed answer wins", "*the first* committed [answer](x.md) wins").Replace(s)
		})},
		{"stars as bullets", with(func(s string) string { return strings.ReplaceAll(s, "- ", "* ") })},
		{"blank lines between the items", with(func(s string) string { return strings.ReplaceAll(s, "\n- ", "\n\n- ") })},
		{"several lists", with(func(s string) string { return strings.Replace(s, "\n- date", "\n\nAnd:\n\n- date", 1) })},
		{"items in another order", with(func(string) string {
			r := slices.Clone(items)
			slices.Reverse(r)
			return strings.Join(r, "\n") + "\n\n"
		})},
		{"indented items", with(func(s string) string {
			return " " + strings.TrimSuffix(strings.ReplaceAll(s, "\n", "\n "), " \n ") + "\n"
		})},
		{"a value over several lines", with(func(s string) string { return strings.Replace(s, "committed answer", "committed\n  answer", 1) })},
		{"a folded scalar", with(func(s string) string {
			return strings.Replace(s, "the first committed answer wins", ">-\n    the first committed\n    answer wins", 1)
		})},
		{"a literal scalar", with(func(s string) string {
			return strings.Replace(s, "the first committed answer wins", "|\n  the first\n  committed answer wins", 1)
		})},
		{"patterns as a nested list", with(func(s string) string {
			return strings.Replace(s, "C, G", "\n  - G_irreversible_action\n  - C", 1)
		})},
		{"patterns as full codes", with(func(s string) string {
			return strings.Replace(s, "C, G", "C_concurrent_operations, G_irreversible_action", 1)
		})},
		{"patterns with slashes", with(func(s string) string { return strings.Replace(s, "C, G", "`g`/`c`", 1) })},
		{"a status with a tail", with(func(s string) string { return strings.Replace(s, "accepted", "Accepted; implemented", 1) })},
		{"an unknown field", with(func(s string) string { return s[:len(s)-1] + "- owner: nobody\n\n" })},
		{"prose before the list", with(func(s string) string { return "Status: proposed by the team, then accepted.\n\n" + s })},
		{"a fence that shows another status", with(func(s string) string { return "```\n- status: proposed\n- decided_by: pending\n```\n\n" + s })},
		{"a quote and a comment that show another status", with(func(s string) string { return "> - status: proposed\n\n<!--\n- status: proposed\n-->\n\n" + s })},
		{"another status in a section", plain[race] + "\n## Evidence\n\n- status: proposed\n- decided_by: pending\n"},
		{"front matter", "---\n" + strings.NewReplacer("- ", "", "C, G", "[G, C]").Replace(fieldList) + "---\n" + title + "\n\n## Decision" + body},
		{"front matter with other keys, beside a list", "---\ntags: [a, b]\nDecided-By: 'designer'\n---\n" + strings.Replace(plain[race], "- decided_by: designer\n", "", 1)},
		{"front matter with a folded scalar, behind a byte order mark", "\ufeff---\r\napproval_source: >-\r\n  the first committed\r\n  answer wins\r\n---\r\n" +
			strings.ReplaceAll(strings.Replace(plain[race], "- approval_source: the first committed answer wins\n", "", 1), "\n", "\r\n")},
		{"CRLF and a byte order mark", "\ufeff" + strings.ReplaceAll(plain[race], "\n", "\r\n")},
		{"no final newline", strings.TrimSuffix(plain[race], "\n")},
		{"blanks at every line's end", strings.ReplaceAll(plain[race], "\n", " \t\n")},
		{"the title underlined", strings.Replace(plain[race], "# SKMB-2026-06-11-002: Approval Resolution Race\n", "SKMB-2026-06-11-002: Approval Resolution Race\n===\n", 1)},
		{"the id in code", strings.Replace(plain[race], "# SKMB-2026-06-11-002:", "# `SKMB-2026-06-11-002` :", 1)},
		{"sections in other case", strings.NewReplacer("## Decision", "## DECISION", "## Supersedes", "## supersedes ##").Replace(plain[race])},
		{"prose before the title", "Written in June.\n\n" + plain[race]},
	}
	want := told(load(t, treeOf(plain)))
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			s := setting()
			if c.text == plain[race] {
				t.Fatal("the case changes nothing")
			}
			s.tree.files[race] = []byte(c.text)
			if got := told(load(t, s.tree)); got != want {
				t.Errorf("got\n%s\nwant\n%s\nof\n%s", got, want, c.text)
			}
			if got := judge(t, s.options, s.tree); len(got) > 0 {
				t.Errorf("got%s", list(got))
			}
		})
	}
}

func TestAStatusIsItsFirstWord(t *testing.T) {
	cases := []struct {
		id, text string
		want     Status
		tail     string
		known    bool
	}{
		{"SKMB-1", "accepted", Accepted, "", true},
		{"SKMB-1", " Accepted; implemented ", Accepted, "; implemented", true},
		{"SKMB-1", "accepted, then implemented", Accepted, ", then implemented", true},
		{"SKMB-1", "accepted(2026)", Accepted, "(2026)", true},
		{"SKMB-1", "reviewable_default", StatisticalDefault, "", true},
		{"SKMB-1", "Reviewable_Default until May", StatisticalDefault, " until May", true},
		{"SKMB-1", "open", Proposed, "", true},
		{"SKMB-1", "", Proposed, "", true},
		{"SKMB-1", "— accepted", Proposed, "— accepted", true},
		{"OPEN-001", "open", Open, "", true},
		{"OPEN-001", "", Open, "", true},
		{"OPEN-001", "proposed", Proposed, "", true},
		{"SKMB-1", "rejected", Rejected, "", true},
		{"SKMB-1", "withdrawn", Withdrawn, "", true},
		{"SKMB-1", "superseded by SKMB-2", Superseded, " by SKMB-2", true},
		{"SKMB-1", "done", "done", "", false},
		{"SKMB-1", "accepted2", Accepted, "2", true},
		{"SKMB-1", "acceptedé", "acceptedé", "", false},
		{"SKMB-1", "接受", "接受", "", false},
	}
	for _, c := range cases {
		t.Run(c.id+" "+c.text, func(t *testing.T) {
			got, tail, known := parseStatus(c.id, c.text)
			if got != c.want || tail != c.tail || known != c.known {
				t.Errorf("got %q, %q, %v, want %q, %q, %v", got, tail, known, c.want, c.tail, c.known)
			}
		})
	}
}

func TestPatternsAreReadInEverySpelling(t *testing.T) {
	cases := []struct{ text, letters, unknown string }{
		{"F", "F", ""},
		{"f", "F", ""},
		{"A, B", "A B", ""},
		{"B A", "A B", ""},
		{"A/B/A", "A B", ""},
		{"A+G & C; D", "A C D G", ""},
		{"A、B，C", "A B C", ""},
		{"F_fail_semantics", "F", ""},
		{"f_FAIL, G_irreversible_action", "F G", ""},
		{"F_", "F", ""},
		{"A,,  ,B\n", "A B", ""},
		{"none", "", ""},
		{"-", "", ""},
		{"None.", "", ""},
		{"pending", "", ""},
		{"", "", ""},
		{"H", "", "H"},
		{"A and B", "A B", "and"},
		{"AB", "", "AB"},
		{"Fail", "", "Fail"},
		{"_F", "", "_F"},
		{"Ａ", "", "Ａ"},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			letters, unknown := parsePatterns(c.text)
			if got := strings.Join(letters, " "); got != c.letters || strings.Join(unknown, " ") != c.unknown {
				t.Errorf("got %q and %q, want %q and %q", letters, unknown, c.letters, c.unknown)
			}
		})
	}
}

func TestAnIdHasOneOfThreeForms(t *testing.T) {
	for id, want := range map[string]bool{
		"SKMB-2026-06-11-001":          true,
		"SKMB-2026-06-11-1000":         true,
		"SKMB-2026-06-11-notifier":     true,
		"SKMB-2026-06-11-Notifier-2-x": true,
		"OPEN-001":                     true,
		"OPEN-1000":                    true,
		"OPEN-01":                      false,
		"SKMB-001":                     false,
		"SKMB-2026-6-11-001":           false,
		"SKMB-2026-06-11":              false,
		"SKMB-2026-06-11-":             false,
		"SKMB-2026-06-11--x":           false,
		"SKMB-2026-06-11-x-":           false,
		"SKMB-2026-06-11-übung":        false,
		"skmb-2026-06-11-001":          false,
		"SKMB-2026-06-11-001\n":        false,
		" SKMB-2026-06-11-001":         false,
		"":                             false,
	} {
		t.Run(id, func(t *testing.T) {
			if got := ValidID(id); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestReferencesAreFoundInProse(t *testing.T) {
	cases := []struct{ claim, text, want string }{
		{"none", "None.", ""},
		{"one", "SKMB-2026-06-11-001", "SKMB-2026-06-11-001"},
		{"a slug", "see SKMB-2026-06-11-retry-limit.", "SKMB-2026-06-11-retry-limit"},
		{"short", "SKMB-019", "SKMB-019"},
		{"a question", "(OPEN-002)", "OPEN-002"},
		{"a list of full ids", "- SKMB-2026-06-11-001\n- `SKMB-2026-06-11-002`\n", "SKMB-2026-06-11-001 SKMB-2026-06-11-002"},
		{"numbers of one day", "SKMB-2026-06-11-005/007/011", "SKMB-2026-06-11-005 SKMB-2026-06-11-007 SKMB-2026-06-11-011"},
		{"short numbers", "SKMB-005/007", "SKMB-005 SKMB-007"},
		{"a link", "[SKMB-2026-06-11-001](decisions/001.md)", "SKMB-2026-06-11-001"},
		{"a part", "SKMB-2026-06-11-001 (partial)", "SKMB-2026-06-11-001*"},
		{"a part, in a sentence", "Partially replaces SKMB-001.", "SKMB-001*"},
		{"a part, on its own line only", "SKMB-001\nSKMB-002 (partial)", "SKMB-001 SKMB-002*"},
		{"Chinese", "取代SKMB-2026-06-11-001的全部。", "SKMB-2026-06-11-001"},
		{"a part in Chinese", "部分取代SKMB-001，见SKMB-2026-06-11-002", "SKMB-001* SKMB-2026-06-11-002*"},
		{"no reference inside a word", "XSKMB-001 SKMB-01 skmb-001 OPEN-1", ""},
		{"twice is twice", "SKMB-001 SKMB-001", "SKMB-001 SKMB-001"},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			var got []string
			for _, r := range References(c.text) {
				if r.Partial {
					r.Text += "*"
				}
				got = append(got, r.Text)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// A short reference means the one record with its number, and an item of a nested list
// that says partial says nothing of the others.
func TestReferencesResolveToOneRecordOrSaySo(t *testing.T) {
	s := setting(put(other, record("SKMB-2026-06-12-001")), withField(race, "- supersedes:\n  - SKMB-003\n  - SKMB-001 (partial)"), swap(race, "None.", "SKMB-003"))
	b := load(t, s.tree)
	for ref, want := range map[string]string{
		"SKMB-003": "SKMB-2026-06-11-003", "SKMB-001": "", "SKMB-2026-06-12-001": "SKMB-2026-06-12-001", "SKMB-099": "", "OPEN-001": "", "": "", "003": "",
	} {
		got, ok := b.Record(ref)
		if ok != (want != "") || ok && got.ID != want {
			t.Errorf("%q: got %v, want %q", ref, got, want)
		}
	}
	if got, want := fmt.Sprint(b.byID["SKMB-2026-06-11-002"].supersedes()), "[{SKMB-003 false} {SKMB-001 true}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCommitHashesAreASetAmongWords(t *testing.T) {
	cases := []struct{ claim, text, want string }{
		{"pending", "pending", ""},
		{"one", "1f2e3d4", "1f2e3d4"},
		{"in capitals", "1F2E3D4", "1f2e3d4"},
		{"sorted, once each", "5a6b7c8, 1f2e3d4 and 5a6b7c8", "1f2e3d4 5a6b7c8"},
		{"in words", "merged as 1f2e3d4 (see #123), reverted", "1f2e3d4"},
		{"in marks", "`1f2e3d4`/**5a6b7c8**", "1f2e3d4 5a6b7c8"},
		{"in Chinese", "提交1f2e3d4完成", "1f2e3d4"},
		{"whole", strings.Repeat("1", 40), strings.Repeat("1", 40)},
		{"whole, letters only", strings.Repeat("a", 64), strings.Repeat("a", 64)},
		{"a word of hex letters is none", "defaced facade", ""},
		{"a number is none", "20260611 1234567", ""},
		{"too short", "1f2e3d", ""},
		{"too long", strings.Repeat("1f", 33), ""},
		{"part of a word is none", "x1f2e3d4 1f2e3d4x v1.0-3-g1f2e3d4", ""},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			if got := strings.Join(hashes(c.text), " "); got != c.want {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestAPlaceholderIsNoApproval(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " ": true, "pending": true, "Pending": true, "pending explicit designer approval": true, "pending: ask": true, "\"pending\"": true,
		"(pending)": true, "[pending]": true, "pending/tbd": true, "pending—see chat": true, "...": true, "…": true, "tbd": true, "TODO": true, "n/a": true, "N/A.": true, "none": true,
		"None.": true, ">-": true, ">": true, "|": true, "---": true, "12": true, "✓": true, "👍": true, "null": true,
		"OK": false, "ok!": false, "同意": false, "да": false, "approved": false, "a": false,
		"fail closed when a pending approval expires": false, "no pending work is lost": false, "none of the others: option 2": false, "appending is fine": false,
	} {
		t.Run(text, func(t *testing.T) {
			if got := isPlaceholder(text); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// The approved text has one form. These bytes are what approvals of years are of.
func TestTheApprovedTextIsCanonical(t *testing.T) {
	b := load(t, setting(withField(race, "- paths: b/**, a/*.go"), swap(race, "None.", "- SKMB-003 (partial)\n- SKMB-001\n- SKMB-001")).tree)
	want := `{"applies_to":"","decision":"The first committed answer wins; the second gets a conflict.","id":"SKMB-2026-06-11-002","paths":["b/**","a/*.go"],"patterns":["C","G"],"scope":"approval workflow","supersedes":["SKMB-001","SKMB-003 (partial)"],"title":"Approval Resolution Race"}`
	if got := string(b.byID["SKMB-2026-06-11-002"].ApprovedText()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestThePlaceOfAnUnreadableFileIsNamed(t *testing.T) {
	cases := []struct {
		claim string
		is    change
		place string
	}{
		{"no id", swap(race, "# SKMB-2026-06-11-002: ", "\n# "), race + ":2:1"},
		{"a byte that is not UTF-8", swap(race, "The first", "The\xff first"), race + ":13:1"},
		{"a field that stands twice", swap(race, "- scope: approval workflow", "- scope: approval workflow\n- scope: again"), race + ":10:1"},
		{"a field without a colon", swap(race, "- scope: approval", "- scope approval"), race + ":9:1"},
		{"a section that stands twice", swap(race, "## Supersedes", "## Decision"), race + ":15:1"},
		{"a section of the index that stands twice", swap(indexFile, "## Invariants", "## Decision index"), indexFile + ":26:1"},
		{"front matter that is no mapping", swap(race, "# SKMB", "---\n- a\n---\n# SKMB"), race + ":2:1"},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			got := load(t, setting(c.is).tree).Unread()
			if len(got) != 1 || got[0].Place() != c.place {
				t.Errorf("got%s\nwant %s", list(got), c.place)
			}
		})
	}
}

// Two files whose names no cell can tell apart are still two records.
func TestFilesWhoseNamesFoldToOneAreBothRead(t *testing.T) {
	b := load(t, setting(put(root+"/decisions/a  b.md", record("SKMB-2026-06-11-004")), put(root+"/decisions/a\tb.md", record("SKMB-2026-06-11-005")), put(root+"/decisions/a\u00a0b.md", record("SKMB-2026-06-11-006"))).tree)
	for _, id := range []string{"SKMB-2026-06-11-004", "SKMB-2026-06-11-005", "SKMB-2026-06-11-006"} {
		if _, ok := b.Record(id); !ok {
			t.Errorf("%s is not known", id)
		}
	}
	if got := b.named("decisions/a b.md"); got != nil {
		t.Errorf("the cell is taken for %q", got.Path)
	}
}

func TestACheckpointPutsTheWholeCaseBeforeTheDesigner(t *testing.T) {
	p := payload("Approval resolution race")
	p.Supersedes, p.Recommendation = []SupersededRef{{"SKMB-2026-06-11-002"}}, "the first wins"
	r, problem := parseRecord("x.md", p.Markdown(first, day))
	if problem != nil {
		t.Fatal(problem)
	}
	want := `ISME checkpoint: approval workflow

Context gathered:
Two operators can answer at once.

Designer decisions already found:
- SKMB-2026-06-11-002: Approval Resolution Race (to be superseded)

Pending decision:
SKMB-2026-06-20-001: Approval resolution race
The first committed answer wins.

Options:
1. the first wins
2. deny wins

Recommendation:
the first wins

Needed before:
the write path

Implementation after approval:
- the write path
- conflict tests
`
	if got := r.Checkpoint(load(t, treeOf(plain))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The card shows everything that is approved: what is not on it is not in the digest.
func TestTheCardShowsWhatIsApproved(t *testing.T) {
	r := load(t, setting(withField(notifier, "- paths: a/**, b.go"), swap(notifier, "None.", "- SKMB-002 (partial)")).tree).byID["SKMB-2026-06-11-001"]
	want := "SKMB-2026-06-11-001: Approval Notifier Failure\n\nscope: approval workflow\npatterns: F\npaths: a/**, b.go\n\nDecision\nRetry 3 times with exponential backoff. If all retries fail, transition to\nfail_closed and write an audit event.\n" +
		"\nApplies To\n- approval state transition\n- notifier adapter\n- audit log tests\n\nSupersedes\n- SKMB-002 (partial)\n"
	if got := r.Card(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestListsAreSortedAndComplete(t *testing.T) {
	b := load(t, setting(
		put(root+"/decisions/000.md", record("SKMB-2026-06-12-001")), swap(restart, "# SKMB-2026-06-11-003: ", "# "),
		swap(race, "- status: accepted", "- status: reviewable_default"), withField(race, "- review_by: 2026-09-01"), swap(notifier, "- status: accepted", "- status: statistical_default"), withField(notifier, "- review_by: 2026-06-19"),
	).tree)
	var got []string
	for _, s := range b.Summaries() {
		got = append(got, fmt.Sprintf("%s %s %v %q", s.ID, s.Status, s.Patterns, s.Title))
	}
	want := []string{
		`OPEN-001 open [D] "who pays for a retried call?"`,
		`SKMB-2026-06-11-001 statistical_default [F] "Approval Notifier Failure"`,
		`SKMB-2026-06-11-002 statistical_default [C G] "Approval Resolution Race"`,
		`SKMB-2026-06-12-001 accepted [D] "Other"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if got, want := fmt.Sprint(b.Debts(today)), fmt.Sprint([]Debt{{"SKMB-2026-06-11-001", "Approval Notifier Failure", "2026-06-19", true}, {"SKMB-2026-06-11-002", "Approval Resolution Race", "2026-09-01", false}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := b.Unread(); len(got) != 1 || got[0].Path != restart {
		t.Errorf("unread is%s", list(got))
	}
	var keys []string
	d := b.byID["SKMB-2026-06-11-001"].Detail()
	for _, f := range d.Fields {
		keys = append(keys, f.Key)
	}
	for _, s := range d.Sections {
		keys = append(keys, s.Title)
	}
	if got, want := strings.Join(keys, " "), "status decided_by approval_source date review_by commit patterns scope Decision Applies To Rationale Supersedes"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What replaces a decision says so by a line of references; what only speaks of one, or quotes it, does not.
func TestSupersedesIsReadByItsStructure(t *testing.T) {
	for _, c := range []struct{ section, want string }{
		{"None.", ""},
		{"- SKMB-001\n- SKMB-003 (partial)", "SKMB-001 SKMB-003?"},
		{"SKMB-001, SKMB-002/004 and SKMB-005.", "SKMB-001 SKMB-002 SKMB-004 SKMB-005"},
		{"Supersedes: SKMB-001", "SKMB-001"},
		{"取代SKMB-001", "SKMB-001"},
		{"取代SKMB-001的部分", "SKMB-001?"},
		{"- SKMB-001: Approval Notifier Failure\n- **SKMB-002** — Race", "SKMB-001 SKMB-002"},
		{"- [SKMB-2026-06-11-001](SKMB-2026-06-11-001-notifier.md)", "SKMB-2026-06-11-001"},
		{"None. SKMB-001 stays in force.", "SKMB-001?"},
		{"The timeout rule of SKMB-001 is replaced; the rest of it stays in force.", "SKMB-001?"},
		{"SKMB-001 stays in force.", "SKMB-001?"},
		{"The rule that was made in\nSKMB-001", "SKMB-001?"},
		{"<!-- not SKMB-001, it stays -->\nNone.", ""},
		{"SKMB-002 <!-- not SKMB-001 -->", "SKMB-002"},
		{"```\nSKMB-001\n```\n\n    SKMB-002\n\n> SKMB-003\n> - SKMB-004\n\n- SKMB-005", "SKMB-005"},
		{"- as a whole\n  - SKMB-001\n  - SKMB-002 (partially)", "SKMB-001 SKMB-002?"},
	} {
		r, p := parseRecord(race, []byte(strings.Replace(plain[race], "## Supersedes\n\nNone.", "## Supersedes\n\n"+c.section, 1)))
		var got []string
		for _, ref := range r.supersedes() {
			got = append(got, ref.Text+map[bool]string{true: "?"}[ref.Partial])
		}
		if strings.Join(got, " ") != c.want || p != nil {
			t.Errorf("%q replaces %q, want %q; %v", c.section, got, c.want, p)
		}
	}
}

// A state and an event are covered by one transition, not by two that have one of them each.
func TestLookupOfAStep(t *testing.T) {
	b := load(t, setting(swap(indexFile, "| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |", "| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |\n| T-2 | retrying | crash | failed | - | SKMB-2026-06-11-001 |")).tree)
	for _, c := range []struct {
		state, event string
		exact        bool
	}{{"pending", "timeout", true}, {"retrying", "crash", true}, {"failed", "crash", true}, {"pending", "crash", false}, {"retrying", "timeout", false}} {
		hits, err := b.Lookup(Query{State: c.state, Event: c.event})
		if err != nil || len(hits) == 0 || hits[0].ID != "SKMB-2026-06-11-001" || hits[0].Exact != c.exact {
			t.Errorf("%s in %s: %+v, %v", c.event, c.state, hits, err)
		}
	}
}
