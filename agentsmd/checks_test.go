package agentsmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assent/finding"
)

// tree is a directory in memory.
type tree struct{ fstest.MapFS }

func (tree) ObjectID(string) (string, bool) { return "", false }

func treeOf(files map[string]string) *tree {
	t := &tree{fstest.MapFS{}}
	for name, text := range files {
		t.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return t
}

type change struct {
	name          string
	before, after map[string]string
	written       []string
	gone          []string
	noHome        bool
	elsewhere     bool // no log counts
}

func nested(text string) map[string]string { return map[string]string{"docs/AGENTS.md": text} }

func file1(text string) map[string]string { return map[string]string{FileName: text} }

func many(n int) string {
	var rules []string
	for i := range n {
		rules = append(rules, fmt.Sprintf("Rule %d.", i))
	}
	return block(rules...)
}

// Every check has a change that gives exactly its code, and a near miss that gives nothing.
var changes = map[string]struct{ fails, passes []change }{
	"agentsmd/block-malformed": {
		fails:  []change{{name: "half a pair", after: file1(startLine + "- One.\n")}, {name: "nearly a marker", after: file1("<!-- agentsmd: start -->\n")}, {name: "not UTF-8", after: file1(block("One.") + "\xff\n"), written: []string{"one."}}},
		passes: []change{{name: "in a fence", after: file1("```\n" + startLine + "```\n")}, {name: "a word about it", after: file1("See agentsmd:start in the manual.\n")}, {name: "no text at all", after: file1("\xff\x00")}},
	},
	"agentsmd/block-unassented": {
		fails: []change{
			{name: "a rule more", before: file1(block("One.")), after: file1(block("One.", "Two."))},
			{name: "a rule less", before: file1(block("One.", "Two.")), after: file1(block("One."))},
			{name: "the block is gone", before: file1(block("One.")), after: file1("Text.\n")},
			{name: "a new block", after: file1(block("One."))},
			{name: "where no rule can be learned", before: nested(block("One.")), after: nested(block("One.", "Two."))},
		},
		passes: []change{
			{name: "a rule that was published", before: file1(block("One.")), after: file1(block("One.", "Two.")), written: []string{"Two."}},
			{name: "a rule that was withdrawn", before: file1(block("One.", "Two.")), after: file1(block("One.")), gone: []string{"Two."}},
			{name: "laid out anew", before: file1(block("One rule.")), after: file1(startLine + "* one\n  RULE.\n" + endLine)},
			{name: "taken from where it could not be learned", before: nested(block("One.", "Two.")), after: nested(block("One."))},
			{name: "outside of the block", before: file1(block("One.")), after: file1("# More\n\n" + block("One."))},
		},
	},
	"agentsmd/origin-unchecked": {
		fails:  []change{{name: "in CI", after: file1(block("One.")), elsewhere: true}, {name: "without a home", after: file1(block("One.")), noHome: true}},
		passes: []change{{name: "nothing changed", before: file1(block("One.")), after: file1(block("One.")), elsewhere: true}},
	},
	"agentsmd/rule-text": {
		fails:  []change{{name: "a hidden comment", before: file1(block("One <!-- x -->.")), after: file1(block("One <!-- x -->."))}, {name: "an import", before: file1(block("Read @../x.md.")), after: file1(block("Read @../x.md."))}, {name: "a key", before: file1(block("Use ghp_" + strings.Repeat("a1b2", 9) + ".")), after: file1(block("Use ghp_" + strings.Repeat("a1b2", 9) + "."))}, {name: "too long", before: file1(block(strings.Repeat("x", maxRule+1))), after: file1(block(strings.Repeat("x", maxRule+1)))}},
		passes: []change{{name: "in code", before: file1(block("Write `<b>`.")), after: file1(block("Write `<b>`."))}, {name: "as long as may be", before: file1(block(strings.Repeat("é", maxRule))), after: file1(block(strings.Repeat("é", maxRule)))}},
	},
	"agentsmd/size-limit": {
		fails:  []change{{name: "it grew", before: file1(block("One.")), after: file1(strings.Repeat("x", 33000) + "\n\n" + block("One."))}, {name: "it was so before", before: file1(strings.Repeat("x", 33000) + "\n\n" + block("One.")), after: file1(strings.Repeat("x", 33000) + "\n\n" + block("One."))}},
		passes: []change{{name: "a large file without a block", after: file1(strings.Repeat("x", 33000))}, {name: "just as much as it may", before: file1(block("One.")), after: file1(strings.Repeat("x", maxGrown-len(block("One."))-2) + "\n\n" + block("One."))}},
	},
	"agentsmd/block-foreign": {
		fails:  []change{{name: "prose", before: file1(startLine + "Prose.\n" + endLine), after: file1(startLine + "Prose.\n" + endLine)}},
		passes: []change{{name: "blank lines and the heading", before: file1(block("One.")), after: file1(startLine + "\n\n" + Heading + "\n\n\n- One.\n\n" + endLine)}},
	},
	"agentsmd/block-legacy": {
		fails:  []change{{name: "an earlier tool's", before: file1(strings.ReplaceAll(block("One."), "agentsmd:", "auto-preference-learner:")), after: file1(strings.ReplaceAll(block("One."), "agentsmd:", "auto-preference-learner:"))}},
		passes: []change{{name: "taken over", before: file1(strings.ReplaceAll(block("One."), "agentsmd:", "auto-preference-learner:")), after: file1(block("One."))}},
	},
	"agentsmd/rule-duplicate": {
		fails:  []change{{name: "in other letters", before: file1(block("One.", "ONE.")), after: file1(block("One.", "ONE."))}},
		passes: []change{{name: "another full stop", before: file1(block("One.", "One")), after: file1(block("One.", "One"))}},
	},
	"agentsmd/chain-budget": {
		fails: []change{{name: "a package", before: file1(block("One.")), after: map[string]string{FileName: strings.Repeat("x", 30000) + "\n\n" + block("One."), "pkg/AGENTS.md": strings.Repeat("y", 5000)}}},
		passes: []change{
			{name: "an override replaces its neighbour", before: file1(block("One.")), after: map[string]string{FileName: strings.Repeat("x", 30000) + "\n\n" + block("One."), "pkg/AGENTS.md": strings.Repeat("y", 5000), "pkg/AGENTS.override.md": "z"}},
			{name: "two packages side by side", before: file1(block("One.")), after: map[string]string{FileName: strings.Repeat("x", 30000) + "\n\n" + block("One."), "a/AGENTS.md": strings.Repeat("y", 2000), "b/AGENTS.md": strings.Repeat("y", 2000)}},
			{name: "no rules of ours", after: map[string]string{FileName: strings.Repeat("x", 30000), "pkg/AGENTS.md": strings.Repeat("y", 5000)}},
		},
	},
	"agentsmd/many-rules": {
		fails:  []change{{name: "41", before: file1(many(41)), after: file1(many(41))}},
		passes: []change{{name: "40", before: file1(many(40)), after: file1(many(40))}},
	},
	"agentsmd/heading-outside": {
		fails:  []change{{name: "twice", before: file1(Heading + "\n\n" + block("One.")), after: file1(Heading + "\n\n" + block("One."))}},
		passes: []change{{name: "of another level", before: file1("#" + Heading + "\n\n" + block("One.")), after: file1("#" + Heading + "\n\n" + block("One."))}},
	},
}

func (c change) run() (found []finding.Finding) {
	after := treeOf(c.after)
	o := CheckOptions{Files: []string{FileName, "docs/AGENTS.md"}, ChainBytes: 32768, Named: func(context.Context) (finding.Tree, []string, error) {
		var names []string
		for name := range c.after {
			names = append(names, name)
		}
		slices.Sort(names)
		return after, names, nil
	}}
	if !c.elsewhere {
		o.Origins = func(context.Context) (*Origins, error) {
			if c.noHome {
				return nil, ErrNoHome
			}
			got := &Origins{map[string]bool{}, map[string]bool{}}
			for _, w := range c.written {
				got.Written[Norm(w)] = true
			}
			for _, g := range c.gone {
				got.Gone[Norm(g)] = true
			}
			return got, nil
		}
	}
	res := finding.Run(Checks(o), finding.Pass{Ctx: context.Background(), New: after, Parents: []finding.Tree{treeOf(c.before)}})
	for _, u := range res.Unchecked {
		found = append(found, finding.Finding{Code: "unchecked " + u.Code, Message: u.Message})
	}
	return append(found, res.Findings...)
}

func TestEveryCheckHasTeeth(t *testing.T) {
	for _, k := range Checks(CheckOptions{Files: []string{FileName}}) {
		f, ok := changes[k.Code]
		if !ok || len(f.fails) == 0 || len(f.passes) == 0 {
			t.Errorf("%s has no change that it objects to, or no near miss", k.Code)
		}
		for _, c := range f.fails {
			got := c.run()
			if len(got) == 0 || slices.ContainsFunc(got, func(x finding.Finding) bool { return x.Code != k.Code }) {
				t.Errorf("%s, %s: got %+v", k.Code, c.name, got)
			}
		}
		for _, c := range f.passes {
			if got := c.run(); len(got) != 0 {
				t.Errorf("%s, %s: got %+v", k.Code, c.name, got)
			}
		}
	}
	if len(changes) != len(ruleRows) {
		t.Errorf("%d checks, fixtures for %d", len(ruleRows), len(changes))
	}
}

// A rule that any parent of a merge has is nobody's addition, and one that any parent lacks is
// nobody's removal.
func TestMergedRules(t *testing.T) {
	o := CheckOptions{Files: []string{FileName}, Origins: func(context.Context) (*Origins, error) { return &Origins{}, nil }}
	run := func(after string, parents ...string) int {
		var trees []finding.Tree
		for _, p := range parents {
			trees = append(trees, treeOf(file1(p)))
		}
		return len(finding.Run(Checks(o), finding.Pass{Ctx: context.Background(), New: treeOf(file1(after)), Parents: trees}).Findings)
	}
	if n := run(block("One.", "Two.", "Three."), block("One.", "Two."), block("One.", "Three.")); n != 0 {
		t.Errorf("what both sides bring: %d findings", n)
	}
	if n := run(block("One."), block("One.", "Two."), block("One.")); n != 0 {
		t.Errorf("what one side took away: %d findings", n)
	}
	if n := run(block("One.", "Mine."), block("One."), block("One.")); n != 1 {
		t.Errorf("what no side has: %d findings", n)
	}
	if n := run(block(), block("One."), block("One.")); n != 1 {
		t.Errorf("what both sides have: %d findings", n)
	}
}

// A line nested in a rule does not hide what the rule holds.
func TestRuleTextOfACompoundRule(t *testing.T) {
	odd := file1(block("One <!-- x -->.\n  - nested"))
	found := change{before: odd, after: odd}.run()
	if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Code == "agentsmd/rule-text" && f.Severity == finding.Error }) {
		t.Errorf("got %+v", found)
	}
}
