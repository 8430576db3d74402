package skmb

import (
	"slices"
	"strings"
	"testing"
)

func rewrite(t testing.TB, tree *memory) string {
	t.Helper()
	_, after, err := IndexRewrite(tree, root)
	must(t, err)
	return string(after)
}

// An index that says what the files say keeps every byte, however it is kept, unless its
// rows are in another order.
func TestARightIndexKeepsEveryByte(t *testing.T) {
	eachIndex(t, func(t *testing.T, text string, _ []string) {
		want := text
		if l := lines(text); strings.Contains(t.Name(), "sorted_by_hand") {
			i := slices.IndexFunc(l, func(l string) bool { return strings.HasPrefix(l, "| SKMB-2026-06-11-003") })
			l[i], l[i+2] = l[i+2], l[i]
			want = strings.Join(l, "")
		}
		if got := rewrite(t, setting(put(indexFile, text)).tree); got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	})
}

// The second time there is nothing to do (specification, story 28), whatever the first
// time had to mend; and what stands outside of the rows of the three tables is kept.
func TestRewritingTheIndexTwiceChangesNothing(t *testing.T) {
	const expired = "- review_by: 2026-09-01\n- permitted_by: designer"
	cases := []struct {
		claim string
		is    []change
	}{
		{"nothing to mend", nil},
		{"a status that is behind", []change{swap(race, "- status: accepted", "- status: rejected")}},
		{"patterns that are behind", []change{swap(race, "- patterns: C, G", "- patterns: A")}},
		{"patterns that are gone", []change{swap(race, "- patterns: C, G\n", "")}},
		{"a file without a row", []change{put(other, record("SKMB-2026-06-11-000"))}},
		{"a file without a row or a commit, last", []change{put(other, record("SKMB-2026-06-12-004"))}},
		{"a row without a file", []change{gone(race)}},
		{"a file that moved", []change{gone(race), put(root+"/decisions/2026-06-11-002-race.md", plain[race])}},
		{"a new default", []change{swap(race, "- status: accepted", "- status: statistical_default"), withField(race, expired)}},
		{"a question with a file", []change{put(root+"/decisions/open-002.md", "# OPEN-002: Who pays?\n\n- patterns: D\n\n## Context\n\nA | B?\n")}},
		{"an unreadable file", []change{swap(race, "# SKMB-2026-06-11-002: ", "# ")}},
		{"everything at once", []change{swap(race, "- status: accepted", "- status: statistical_default"), withField(race, expired), put(other, record("SKMB-2026-06-11-000")), gone(restart)}},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			eachIndex(t, func(t *testing.T, text string, _ []string) {
				s := setting(append([]change{put(indexFile, text)}, c.is...)...)
				once := rewrite(t, s.tree)
				s.tree.files[indexFile] = []byte(once)
				if twice := rewrite(t, s.tree); twice != once {
					t.Errorf("the second time got\n%q\nwant\n%q", twice, once)
				}
				b := load(t, s.tree)
				for _, r := range b.Records {
					if r.ID == "" {
						continue
					}
					kind := decisions
					if isOpen(r.ID) {
						kind = opens
					}
					var found []row
					for _, row := range b.Index.rows(kind) {
						if row.id() == r.ID {
							found = append(found, row)
						}
					}
					if len(found) != 1 || !found[0].wellShaped() || len(rowChanges(found[0], r)) > 0 && kind == decisions {
						t.Errorf("%s has not one right row in\n%s", r.ID, once)
					}
				}
				ids := []string{}
				for _, r := range b.Index.rows(decisions) {
					ids = append(ids, r.id())
				}
				if !slices.IsSorted(ids) {
					t.Errorf("the rows are not sorted: %q", ids)
				}
				mine := func(l string) bool {
					return strings.Contains(l, "SKMB-2026-06-11-00") && strings.Contains(l, ".md") || strings.Contains(l, "OPEN-00")
				}
				kept(t, text, once, mine, 6)
			})
		})
	}
}

func TestRewritingChangesOnlyWhatTheFileDecides(t *testing.T) {
	tree := setting(
		swap(indexFile, "| SKMB-2026-06-11-002 | accepted | approval workflow | C, G | decisions/002-race.md | pending |",
			"|  [SKMB-2026-06-11-002](x.md)|`accepted`; done | *by hand*, a\\|b |C/G|[race](decisions/002-race.md) | by hand 1f2e3d4|"),
		swap(race, "- status: accepted", "- status: Withdrawn, at last"),
	).tree
	want := "|  [SKMB-2026-06-11-002](x.md)|withdrawn | *by hand*, a\\|b |C/G|[race](decisions/002-race.md) | by hand 1f2e3d4|\n"
	if got := rewrite(t, tree); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
}

func TestADefaultHasItsRowAsLongAsItIsOne(t *testing.T) {
	const head = "| id | pattern | context | default | reason_allowed | review_by | file |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	made := "| SKMB-2026-06-11-002 | C, G | approval workflow | The first committed answer wins; the second gets a conflict. | the first committed answer wins | 2026-09-01 | decisions/002-race.md |\n"
	s := setting(swap(race, "- status: accepted", "- status: reviewable_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: designer"))
	once := rewrite(t, s.tree)
	if !strings.Contains(once, head+made) {
		t.Errorf("got\n%s\nwant in it\n%s", once, head+made)
	}

	// What was written by hand stays; date and file follow the record.
	s = setting(put(indexFile, strings.NewReplacer("| approval workflow | The first", "| by hand | The first", "decisions/002-race.md |\n\n## Open", "decisions/002.md |\n\n## Open").Replace(once)),
		swap(race, "- status: accepted", "- status: statistical_default"), withField(race, "- review_by: 2026-12-01\n- permitted_by: designer"))
	want := strings.NewReplacer("approval workflow", "by hand", "2026-09-01", "2026-12-01").Replace(made)
	if got := rewrite(t, s.tree); !strings.Contains(got, head+want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, head+want)
	}

	s = setting(put(indexFile, once))
	if got := rewrite(t, s.tree); strings.Contains(got, made) || !strings.Contains(got, head+"\n## Open") {
		t.Errorf("the record is accepted, but its row among the defaults is still there:\n%s", got)
	}
}

func TestLinesThatAreNoRowsAreNotSorted(t *testing.T) {
	for claim, old := range map[string]string{
		"conflict markers": "<<<<<<< HEAD\n| SKMB-2026-06-11-002 |",
		"prose":            "And the rest:\n| SKMB-2026-06-11-002 |",
	} {
		t.Run(claim, func(t *testing.T) {
			_, _, err := IndexRewrite(setting(swap(indexFile, "| SKMB-2026-06-11-002 |", old), swap(race, "- status: accepted", "- status: rejected")).tree, root)
			if err == nil {
				t.Error("not refused")
			}
		})
	}
}

func TestARowOfAnotherShapeIsLeftAsItIs(t *testing.T) {
	s := setting(swap(indexFile, "| accepted | approval workflow | C, G |", "| accepted | approval | workflow | C, G |"), swap(race, "- status: accepted", "- status: rejected"), swap(restart, "- status: accepted", "- status: rejected"))
	want := strings.Replace(string(s.tree.files[indexFile]), "| accepted | recovery |", "| rejected | recovery |", 1)
	if got := rewrite(t, s.tree); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnIndexThatIsNotClosedIsRefused(t *testing.T) {
	for claim, end := range map[string]string{"a fence": "```\n", "a comment": "<!--\n", "a fence, no newline": "~~~"} {
		t.Run(claim, func(t *testing.T) {
			text := "# State Machine Knowledge Base\n\n" + end
			if _, after, err := IndexRewrite(setting(put(indexFile, text)).tree, root); err == nil {
				t.Errorf("not refused:\n%s", after)
			}
		})
	}
}
