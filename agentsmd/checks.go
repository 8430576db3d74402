package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// CheckOptions are what the checks of the managed block need besides the tree that they judge.
type CheckOptions struct {
	Files      []string // slash-separated from the top of the repository
	Warn       bool     // an edit by hand warns only
	ChainBytes int
	// Named lists the paths of the tree that a host reads as rules, with a tree that has them; nil:
	// it is not asked.
	Named func(context.Context) (finding.Tree, []string, error)
	// Origins are the rules that this user's log has published; nil where nobody's log counts, as in
	// CI. An error that wraps ErrNoHome is told, and blocks nothing.
	Origins func(context.Context) (*Origins, error)
	Also    []finding.Tree // trees that a commit may take rules from, such as that of a cherry-pick
	Depends func()         // called when a verdict depends on the log; may be nil
}

// ErrNoHome is that there is no place to look for the log of what was published.
var ErrNoHome = errors.New("no home directory is known, so it cannot be told who wrote the rules")

// Origins are the rules that came in by a recorded yes, and those that went so.
type Origins struct {
	Written map[string]bool // keys
	Gone    map[string]bool
}

// mark is what any marker of a block holds: a file without it is none of our business.
var mark = lazily(`(?i)(` + strings.Join(markerNames, "|") + `)[\s\pZ]*:[\s\pZ]*(start|end)`)

// ruleFile is one file of a tree.
type ruleFile struct {
	path  string
	src   []byte
	block *Block
	err   error
}

// ruleCheck is one row of the list of checks.
type ruleCheck struct {
	code     string
	severity finding.Severity
	scope    finding.Scope
	proves   string
	title    string
	doc      string
	run      func(c *ruleChecks, p *finding.Pass, f *ruleFile) error
}

// ruleChecks is a run of them over one target.
type ruleChecks struct {
	CheckOptions
	origins func(context.Context) (*Origins, error)
	read    sync.Map // of treeFile: each file is parsed once for all of them
}

type treeFile struct {
	tree finding.Tree
	name string
}

func (c *ruleChecks) file(t finding.Tree, name string) (*ruleFile, error) {
	if f, ok := c.read.Load(treeFile{t, name}); ok {
		return f.(*ruleFile), nil
	}
	f, err := readRuleFile(t, name)
	if err == nil {
		c.read.Store(treeFile{t, name}, f)
	}
	return f, err
}

// Checks are the checks of the files that learned rules stand in.
func Checks(o CheckOptions) []finding.Check {
	c := &ruleChecks{CheckOptions: o}
	if o.Origins != nil {
		var once sync.Once
		var got *Origins
		var err error
		c.origins = func(ctx context.Context) (*Origins, error) {
			once.Do(func() {
				if got, err = o.Origins(ctx); o.Depends != nil {
					o.Depends()
				}
			})
			return got, err
		}
	}
	var out []finding.Check
	for _, r := range ruleRows {
		severity := r.severity
		if r.code == "agentsmd/block-unassented" && o.Warn {
			severity = finding.Warning
		}
		out = append(out, finding.Check{Code: r.code, Title: r.title, Doc: r.doc, Severity: severity, Scope: r.scope, Proves: r.proves, Run: func(p *finding.Pass) error {
			for _, name := range o.Files {
				f, err := c.file(p.New, name)
				if err != nil {
					return err
				}
				if err := r.run(c, p, f); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return out
}

// readRuleFile reads a file of a tree. One that is not there is empty; one without a mark of a
// block is not read as Markdown.
func readRuleFile(t finding.Tree, name string) (*ruleFile, error) {
	f := &ruleFile{path: name}
	info, err := t.Stat(name)
	if err == nil && info.Mode().IsRegular() {
		f.src, err = t.ReadFile(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if mark().Match(f.src) {
		f.block, f.err = ParseBlock(name, f.src)
	}
	return f, nil
}

// present reports whether the file has a block that can be read.
func (f *ruleFile) present() bool { return f.block != nil && f.block.Present }

func (f *ruleFile) at(off int) finding.Pos {
	line, col := f.block.Position(off)
	return finding.Pos{Line: line, Col: col}
}

var ruleRows = []ruleCheck{
	{
		code: "agentsmd/block-malformed", severity: finding.Error, scope: finding.ScopeTree, proves: "shape",
		title: "the markers of the managed block do not form one pair",
		doc:   "Half a pair, two pairs, a pair in the wrong order, an earlier tool's pair beside ours, and what nearly is a marker: no rule can be written to the file, and nobody can tell which rules are managed. Repair the marker lines that are named. A file with a marker that cannot be read as Markdown is told of here, too.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			var wrong *Fault
			if !errors.As(f.err, &wrong) {
				return nil
			}
			text, places, _ := strings.Cut(wrong.Text, "\n")
			if places == "" {
				p.Report(finding.Finding{Path: f.path, Key: f.path, Message: text, Fix: exits()[wrong.Code].next})
			}
			for line := range strings.SplitSeq(places, "\n") {
				pos, what := cutPlace(strings.TrimPrefix(line, f.path+":"))
				if line != "" {
					p.Report(finding.Finding{Path: f.path, Start: pos, Key: f.path, Message: what, Fix: exits()[wrong.Code].next})
				}
			}
			return nil
		},
	},
	{
		code: "agentsmd/block-unassented", severity: finding.Error, scope: finding.ScopeChange, proves: "provenance",
		title: "a rule of the managed block came in without a yes",
		doc:   "Against every parent a rule of the block is new, reworded or gone, and the user's log has not published that: somebody edited the block by hand. `agentsmd adopt FILE`, on a terminal, records a yes to what stands there; or move the text out of the block, which is yours. `agentsmd.hand_edits: warn` in .assent.yaml makes it a warning. Taking the whole file away is a warning, too.",
		run:   (*ruleChecks).unassented,
	},
	{
		code: "agentsmd/origin-unchecked", severity: finding.Info, scope: finding.ScopeChange, proves: "provenance",
		title: "who wrote the rules was not checked",
		doc:   "Rules of the block changed, and here is no log to hold them against: in CI, and where no home directory is known. The commit hook of the user who published them did that.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			added, gone, err := c.changed(p, f)
			if err != nil || len(added)+len(gone) == 0 {
				return err
			}
			severity := finding.Info
			if c.origins != nil {
				if _, err := c.origins(p.Ctx); !errors.Is(err, ErrNoHome) {
					return nil
				}
				severity = finding.Warning
			}
			p.Report(finding.Finding{Path: f.path, Key: f.path, Severity: severity, Message: fmt.Sprintf("%d rules came and %d went; where from was not checked", len(added), len(gone))})
			return nil
		},
	},
	{
		code: "agentsmd/rule-text", severity: finding.Error, scope: finding.ScopeTree, proves: "shape",
		title: "a rule of the block is no plain line",
		doc:   "A rule that is too long, hides something, opens a list, a heading or HTML, or makes a host read another file, does not say what it seems to say. Write it as one plain line. The program never writes such a text.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if !f.present() {
				return nil
			}
			for _, r := range f.block.Rules {
				why := boundary.Unsafe(r.Text, "rule")
				key := r.Text
				if what := boundary.Secret(r.Text); what != "" {
					why, key = "holds "+what, digest([]byte(r.Text)) // a report is no place for it
				}
				if n := utf8.RuneCountInString(r.Text); why == "" && n > maxRule {
					why = fmt.Sprintf("has %d characters, and %d are the most", n, maxRule)
				}
				if why != "" {
					p.Report(finding.Finding{Path: f.path, Start: f.at(r.Lines.Start), Key: key, Message: "the rule " + why, Fix: "reword it, then " + f.settle()})
				}
			}
			return nil
		},
	},
	{
		code: "agentsmd/size-limit", severity: finding.Error, scope: finding.ScopeChange, proves: "policy",
		title: "the file has more than 32 KiB",
		doc:   "A file with a managed block that grew beyond 32,768 bytes is read in part only by some hosts. Merge, narrow, replace or remove rules. One that was so large before is a warning.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if !f.present() || len(f.src) <= maxGrown {
				return nil
			}
			parents := p.Parents
			if len(parents) == 0 { // the files on disk are held to what they would be committed onto
				parents = c.Also
			}
			grew := len(parents) > 0
			for _, parent := range parents {
				old, err := c.file(parent, f.path)
				if err != nil {
					return err
				}
				grew = grew && len(f.src) > len(old.src)
			}
			severity := finding.Warning
			if grew {
				severity = finding.Error
			}
			p.Report(finding.Finding{Path: f.path, Key: f.path, Severity: severity, Message: fmt.Sprintf("it has %d bytes, and %d are the limit", len(f.src), maxGrown), Fix: "merge, narrow, replace or remove rules"})
			return nil
		},
	},
	{
		code: "agentsmd/block-foreign", severity: finding.Warning, scope: finding.ScopeTree, proves: "shape",
		title: "the managed block holds lines that are no rules",
		doc:   "Other hands wrote into the block. The lines stay as they are; changes without a question wait until they are gone, or `agentsmd adopt FILE` has taken the block over.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if f.present() && len(f.block.Foreign) > 0 {
				p.Report(finding.Finding{Path: f.path, Start: f.at(f.block.Foreign[0].Start), Key: f.path, Message: "lines that are no rules stand in the block", Fix: "move them out of it"})
			}
			return nil
		},
	},
	{
		code: "agentsmd/block-legacy", severity: finding.Warning, scope: finding.ScopeTree, proves: "shape",
		title: "the block has the markers of an earlier tool",
		doc:   "It is read as a managed block. Its markers become ours with the first rule that is accepted for it, or by `agentsmd adopt FILE`.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if f.present() && f.block.Legacy != "" {
				p.Report(finding.Finding{Path: f.path, Start: f.at(f.block.Start.Start), Key: f.path, Message: "the block is that of " + f.block.Legacy, Fix: f.settle()})
			}
			return nil
		},
	},
	{
		code: "agentsmd/rule-duplicate", severity: finding.Warning, scope: finding.ScopeTree, proves: "shape",
		title: "a rule stands twice in the block",
		doc:   "Two rules say the same but for letter case and spacing. Take one away.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if !f.present() {
				return nil
			}
			seen := map[string]bool{}
			for _, r := range f.block.Rules {
				if seen[r.Key()] {
					p.Report(finding.Finding{Path: f.path, Start: f.at(r.Lines.Start), Key: r.Key(), Message: "the rule stands twice: " + r.Text, Fix: "take one away"})
				}
				seen[r.Key()] = true
			}
			return nil
		},
	},
	{
		code: "agentsmd/chain-budget", severity: finding.Warning, scope: finding.ScopeTree, proves: "policy",
		title: "a directory does not get all of the files that are read there",
		doc:   "A host reads AGENTS.md from the root down to a directory and stops after agentsmd.max_chain_bytes: what comes last is cut. An AGENTS.override.md replaces its neighbour. A change of one of these files is told of, or all with --all. Shorten the files that are named.",
		run:   (*ruleChecks).chain,
	},
	{
		code: "agentsmd/many-rules", severity: finding.Warning, scope: finding.ScopeTree, proves: "policy",
		title: "the block has many rules",
		doc:   "An agent heeds a few rules better than many. Merge what belongs together, and withdraw what is not needed any more.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if f.present() && len(f.block.Rules) > manyRules {
				p.Report(finding.Finding{Path: f.path, Start: f.at(f.block.Start.Start), Key: f.path, Message: fmt.Sprintf("the block has %d rules", len(f.block.Rules)), Fix: "merge or withdraw some"})
			}
			return nil
		},
	},
	{
		code: "agentsmd/heading-outside", severity: finding.Warning, scope: finding.ScopeTree, proves: "shape",
		title: "our heading stands outside of the block",
		doc:   "A second \"Learned working preferences\" outside of the markers is not managed: what stands below it is taken for hand-written text. Rename it.",
		run: func(c *ruleChecks, p *finding.Pass, f *ruleFile) error {
			if f.block != nil && f.block.Outside {
				p.Report(finding.Finding{Path: f.path, Key: f.path, Message: "the heading of the managed block stands outside of it", Fix: "rename it"})
			}
			return nil
		},
	},
}

// cutPlace splits "LINE:COL: text".
func cutPlace(s string) (pos finding.Pos, text string) {
	if n, _ := fmt.Sscanf(s, "%d:%d:", &pos.Line, &pos.Col); n == 2 {
		_, text, _ = strings.Cut(s, ": ")
		return pos, text
	}
	return finding.Pos{}, s
}

// changed are the rules that are new against every parent, and those that every parent has and
// the file has not.
func (c *ruleChecks) changed(p *finding.Pass, f *ruleFile) (added, gone []Rule, err error) {
	if f.err != nil {
		return nil, nil, nil // that it cannot be read is said elsewhere
	}
	now := map[string]bool{}
	if f.present() {
		for _, k := range f.block.Keys() {
			now[k] = true
		}
	}
	var parents []map[string]Rule
	for _, tree := range append(slices.Clone(p.Parents), c.Also...) {
		old, err := c.file(tree, f.path)
		if err != nil {
			return nil, nil, err
		}
		rules := map[string]Rule{}
		if old.present() {
			for _, r := range old.block.Rules {
				rules[r.Key()] = r
			}
		}
		parents = append(parents, rules)
	}
	if len(parents) == 0 {
		if f.present() {
			added = f.block.Rules
		}
		return added, nil, nil
	}
	everywhere := func(k string, want bool) bool {
		return !slices.ContainsFunc(parents, func(rules map[string]Rule) bool { _, has := rules[k]; return has != want })
	}
	if f.present() {
		for _, r := range f.block.Rules {
			if everywhere(r.Key(), false) {
				added = append(added, r)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(parents[0])) {
		if f.path == FileName && !now[k] && everywhere(k, true) {
			gone = append(gone, parents[0][k])
		}
	}
	return added, gone, nil
}

// settle says what makes the block one that the user agreed to. Learned rules stand at the top of a
// project alone.
func (f *ruleFile) settle() string {
	if f.path != FileName {
		return "move what stands in the block out of it: learned rules have their place in the AGENTS.md at the top"
	}
	return fmt.Sprintf("agentsmd adopt %s, on your own terminal", finding.Shell(f.path))
}

func (c *ruleChecks) unassented(p *finding.Pass, f *ruleFile) error {
	if c.origins == nil {
		return nil
	}
	added, gone, err := c.changed(p, f)
	if err != nil || len(added)+len(gone) == 0 {
		return err
	}
	o, err := c.origins(p.Ctx)
	if errors.Is(err, ErrNoHome) {
		return nil
	}
	if err != nil {
		return err
	}
	fix := f.settle()
	if f.path == FileName {
		fix += "; or move it out of the block"
	}
	for _, r := range added {
		if !o.Written[r.Key()] {
			p.Report(finding.Finding{Path: f.path, Start: f.at(r.Lines.Start), Key: r.Key(), Message: "the rule came in without a yes: " + r.Text, Fix: fix})
		}
	}
	if _, err := p.New.Stat(f.path); errors.Is(err, fs.ErrNotExist) && len(gone) > 0 { // who takes the whole file away hides nothing
		p.Report(finding.Finding{Path: f.path, Key: f.path, Severity: finding.Warning, Message: fmt.Sprintf("the file is gone, with %d rules", len(gone))})
		return nil
	}
	for _, r := range gone {
		if !o.Gone[r.Key()] {
			p.Report(finding.Finding{Path: f.path, Key: r.Key(), Message: "the rule was taken out without a yes: " + r.Text, Fix: fmt.Sprintf("agentsmd withdraw %s --dir %s, if the user said so; or %s", finding.Shell(r.Text), finding.Shell(path.Dir(f.path)), f.settle())})
		}
	}
	return nil
}

// chain looks at every directory of the tree that has a file of its own.
func (c *ruleChecks) chain(p *finding.Pass, f *ruleFile) error {
	if c.Named == nil || f.path != c.Files[0] || !f.present() { // who has no rules of ours has no budget of ours
		return nil
	}
	if p.Changed != nil { // what is as it was is told of once
		changed, err := p.Changed()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(changed, func(name string) bool { return path.Base(name) == FileName || path.Base(name) == OverrideName }) {
			return nil
		}
	}
	tree, names, err := c.Named(p.Ctx)
	if err != nil {
		return err
	}
	size := func(name string) int {
		info, err := tree.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		return int(info.Size())
	}
	read := map[string]string{} // directory -> the file that is read there
	for _, n := range names {
		if dir := path.Dir(n); path.Base(n) == OverrideName || read[dir] == "" {
			read[dir] = n
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(read)) {
		if dir == "." { // one file alone is no chain
			continue
		}
		used, cut, at := 0, "", 0
		for _, above := range ancestors(dir) {
			name := read[above]
			n := size(name)
			if name == "" || n < 0 {
				continue
			}
			if used+n > c.ChainBytes && cut == "" {
				cut, at = name, max(c.ChainBytes-used, 0)
			}
			used += n
		}
		if cut != "" {
			p.Report(finding.Finding{Path: cut, Key: dir, Message: fmt.Sprintf("in %s the files that are read together have %d bytes of %d: %s is cut at byte %d", dir, used, c.ChainBytes, cut, at), Fix: "shorten them"})
		}
	}
	return nil
}

// ancestors are a directory and those above it, the top first.
func ancestors(dir string) []string {
	out := []string{dir}
	for dir != "." {
		dir = path.Dir(dir)
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// Origins are what the log says of the rules of a project, with what an apply is at just now.
func (k *Keeper) Origins(ctx context.Context, root string) (o *Origins, err error) {
	o = &Origins{Written: map[string]bool{}, Gone: map[string]bool{}}
	return o, k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		p, ok, err := k.project(ctx, filepath.Clean(root), s)
		if err != nil || !ok {
			return err
		}
		scope := ProjectScope(p.Key)
		for _, e := range s.RuleEvidence {
			if e.Scope == scope {
				o.Written[Norm(e.Text)] = true
			}
		}
		for _, e := range s.Tombstones {
			if e.Scope == scope {
				o.Gone[Norm(e.Text)] = true
			}
		}
		left, err := r.Effects()
		for _, e := range left {
			var j Journal
			if readDocument("a journal", e.Note, &j) == nil && j.Scope == scope {
				for _, key := range j.Rules {
					o.Written[key] = true
				}
				for _, key := range j.Gone {
					o.Gone[key] = true
				}
			}
		}
		return err
	})
}
