package commands

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/agentsmd"
	"assent/boundary"
	"assent/finding"
	"assent/hooks"
	"assent/install"
	"assent/lint"
	"assent/repo"
	"assent/skmb"
	"assent/store"
)

func background() context.Context { return context.Background() }

// modeFlags choose what is judged.
func modeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "staged", Usage: "what the next commit will hold (default)"},
		&cli.BoolFlag{Name: "worktree", Usage: "the tracked files as they stand on disk"},
		&cli.StringFlag{Name: "commit", Usage: "one commit, against its parents: `REV`"},
		&cli.StringFlag{Name: "range", Usage: "what `A..B` brings, judged with A's configuration"},
		&cli.BoolFlag{Name: "write-baseline", Usage: "record today's errors as known, so that only new ones block"},
		&cli.StringFlag{Name: "merge-with", Usage: "what merging `REV` into HEAD (or into --commit) would give"},
		&cli.BoolFlag{Name: "all", Usage: "every tracked path counts as changed"},
		&cli.StringFlag{Name: "trust", Usage: "take configuration, baseline and signers from `REV`"},
		&cli.StringSliceFlag{Name: "severity", Usage: "raise a finding: `CODE=LEVEL`"},
		&cli.StringFlag{Name: "fail-on", Usage: "exit 1 from this severity on: `LEVEL` is error (default) or warning"},
		&cli.BoolFlag{Name: "fetch", Usage: "let Git fetch what a partial clone lacks"},
		&cli.StringFlag{Name: "output", Usage: "write the result to `FILE`"},
		&cli.BoolFlag{Name: "proofs", Usage: "sum up what the checks that ran show: form, references, quotes, provenance, policy"},
		&cli.BoolFlag{Name: "verbose", Usage: "show findings of severity info, and baselined ones, too"},
		&cli.StringFlag{Name: "color", Usage: "colour severities: `WHEN` is auto, always or never", Value: "auto"},
		&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the output: text, json, sarif or github"}, dirFlag,
	}
}

func lintCommand() *cli.Command {
	return &cli.Command{
		Name:  "lint",
		Usage: "run the checks, as the hooks and CI do",
		UsageText: "assent lint                          what the next commit will hold\n" +
			"assent lint --range origin/main..HEAD    a branch, in CI\n" +
			"assent lint --merge-with main            what merging main would give\n" +
			"assent lint --commit HEAD --format json  one commit, for a program\n" +
			"assent lint --all --format sarif --output assent.sarif",
		Flags:  modeFlags(),
		Action: action(0, func(c *call) error { return c.lint("") }),
	}
}

// lint judges a target and prints the report: text to stderr, other formats to stdout. area
// limits the findings to codes that begin so.
func (c *call) lint(area string) error {
	write, err := c.printer()
	if err != nil {
		return err
	}
	failOn, ok := finding.ParseSeverity(cmp.Or(c.String("fail-on"), "error"))
	if !ok || failOn < finding.Warning {
		return invalid("use --fail-on error or --fail-on warning", "%q is no severity to fail on", c.String("fail-on"))
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if c.Bool("fetch") {
		r.AllowFetch()
	}
	report, err := c.judge(r, area)
	var done exit
	if errors.As(err, &done) {
		return exitWith(int(done))
	}
	if err != nil {
		var coder finding.Coder
		if !errors.As(err, &coder) {
			return err
		}
		report = finding.Report{Result: finding.Result{Unchecked: []finding.Unchecked{finding.UncheckedBy(err)}}}
	}
	report.Tool, report.Verbose, report.Color, report.Summary = "assent "+Version(), c.Bool("verbose"), c.color(), true
	report.FailOn, report.Proofs = failOn, c.Bool("proofs")
	if err := write(report); err != nil {
		return err
	}
	return exitWith(report.Exit())
}

// printer is how a report will be written. Nothing is judged for a format that does not exist.
func (c *call) printer() (func(finding.Report) error, error) {
	format := map[string]func(io.Writer, finding.Report) error{
		"": finding.WriteText, "text": finding.WriteText, "json": finding.WriteJSON, "sarif": finding.WriteSARIF, "github": finding.WriteGitHub,
	}[c.String("format")]
	if format == nil {
		return nil, invalid("use --format text, json, sarif or github", "there is no format %q", c.String("format"))
	}
	return func(r finding.Report) error {
		file := c.String("output")
		switch {
		case file == "" && (c.String("format") == "text" || c.String("format") == ""):
			return format(c.Stderr, r)
		case file == "":
			return format(c.Stdout, r)
		}
		r.Color = false
		var b bytes.Buffer
		if err := format(&b, r); err != nil {
			return err
		}
		if !filepath.IsAbs(file) && c.dir() != "." {
			file = filepath.Join(c.dir(), file)
		}
		return writeByRename(file, b.Bytes())
	}, nil
}

func (c *call) judge(r *repo.Repo, area string) (finding.Report, error) {
	if err := store.Pending(hooks.Private(r)); err != nil {
		return finding.Report{}, err
	}
	t, err := c.target(r)
	if err != nil {
		return finding.Report{}, err
	}
	if err := t.Apply(c.ctx, lint.Options{Trust: c.String("trust"), All: c.Bool("all")}); err != nil {
		return finding.Report{}, err
	}
	if t.Raise, err = raised(c.StringSlice("severity")); err != nil {
		return finding.Report{}, err
	}
	checks := hooks.Checks(t, r, c.Now().UTC().Format(time.DateOnly), true)
	if area != "" {
		t.Area = area
		var own []finding.Check
		for _, check := range checks {
			if strings.HasPrefix(check.Code, area) {
				own = append(own, check)
			}
		}
		checks = own
	}
	report, err := t.Run(c.ctx, checks)
	if err != nil {
		return report, err
	}
	t.NothingExamined(&report)
	if strings.HasPrefix("skmb/", area) {
		for _, root := range t.Config.Skmb.Roots {
			report.Open += skmb.OpenQuestions(t.Tree(), root)
		}
	}
	if err := c.onlyOf(r, t, &report); err != nil {
		return report, err
	}
	if c.Bool("write-baseline") && len(report.Unchecked) == 0 { // of what was not checked nothing is known
		return report, c.writeBaseline(r, t, report)
	}
	return report, nil
}

// onlyOf keeps the findings of the files that were named, which must be among those that hold
// learned rules.
func (c *call) onlyOf(r *repo.Repo, t *lint.Target, report *finding.Report) error {
	if len(c.only) == 0 {
		return nil
	}
	var names []string
	for _, f := range c.only {
		abs, err := filepath.Abs(c.at(f))
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(r.Root, abs)
		if rel = filepath.ToSlash(rel); err != nil || !slices.Contains(t.Config.Agentsmd.Files, rel) {
			return invalid("agentsmd.files in .assent.yaml has "+strings.Join(t.Config.Agentsmd.Files, ", "), "%s is none of the files that are checked", f)
		}
		names = append(names, rel)
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f finding.Finding) bool { return !slices.Contains(names, f.Path) })
	return nil
}

// raised reads the severities of the command line, CODE=LEVEL.
func raised(args []string) (map[string]finding.Severity, error) {
	if len(args) == 0 {
		return nil, nil
	}
	var codes []string
	for _, k := range hooks.AllCodes() {
		codes = append(codes, k.Code)
	}
	out := map[string]finding.Severity{}
	for _, a := range args {
		code, level, ok := strings.Cut(a, "=")
		s, known := finding.ParseSeverity(level)
		if !ok || !known {
			return nil, invalid("write --severity CODE=error, warning or info", "%q gives no code a severity", a)
		}
		if !slices.Contains(codes, code) {
			hint := "`assent explain` lists all codes"
			if near := boundary.Nearest(code, codes); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, invalid(hint, "there is no finding code %q", code)
		}
		out[code] = s
	}
	return out, nil
}

// writeBaseline records today's error findings, so that an old base can be adopted, and
// says what it adds and drops.
func (c *call) writeBaseline(r *repo.Repo, t *lint.Target, report finding.Report) error {
	if r.Bare() || t.Mode != lint.ModeStaged && t.Mode != lint.ModeWorktree {
		return invalid("use --staged or --worktree", "a baseline is written for what stands here now")
	}
	b, added, dropped, err := t.WriteBaseline(report)
	if err != nil {
		return err
	}
	data, err := b.Marshal()
	if err != nil {
		return err
	}
	s, err := c.store(r)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Update(c.ctx, func(tx *store.Tx) error {
		name := store.Name{Root: boundary.TreeRoot, Path: t.Config.Baseline}
		old, err := tx.Read(name)
		if err != nil {
			return err
		}
		return tx.Put(store.Record, name, data, old.Digest)
	})
	if err != nil {
		return err
	}
	if asJSON, err := c.json(); err != nil {
		return err
	} else if asJSON {
		if err := c.printJSON(writtenBaseline{1, len(b.Entries), entriesOf(added), entriesOf(dropped)}); err != nil {
			return err
		}
		return exit(finding.ExitOK)
	}
	for _, e := range added {
		c.out("added   %s %s", e.Code, e.Path)
	}
	for _, e := range dropped {
		c.out("dropped %s %s", e.Code, e.Path)
	}
	c.say("%s holds %s; add it: git add %s", t.Config.Baseline, entries(len(b.Entries)), t.Config.Baseline)
	return exit(finding.ExitOK)
}

type writtenBaseline struct {
	SchemaVersion int                  `json:"schema_version"`
	Entries       int                  `json:"entries"`
	Added         []lint.BaselineEntry `json:"added"`
	Dropped       []lint.BaselineEntry `json:"dropped"`
}

func entriesOf(list []lint.BaselineEntry) []lint.BaselineEntry {
	return append([]lint.BaselineEntry{}, list...)
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (c *call) target(r *repo.Repo) (*lint.Target, error) {
	chosen := 0
	for _, name := range []string{"staged", "worktree", "commit", "range"} {
		if c.IsSet(name) {
			chosen++
		}
	}
	if chosen > 1 {
		return nil, invalid("choose one of --staged, --worktree, --commit, --range", "more than one mode")
	}
	if c.IsSet("merge-with") {
		if chosen > 0 && !c.IsSet("commit") {
			return nil, invalid("--merge-with goes with --commit only", "more than one mode")
		}
		return lint.MergeWith(c.ctx, r, cmp.Or(c.String("commit"), "HEAD"), c.String("merge-with"))
	}
	switch {
	case c.IsSet("commit"):
		return lint.Commit(c.ctx, r, c.String("commit"))
	case c.IsSet("range"):
		a, b, err := splitRange(c.String("range"))
		if err != nil {
			return nil, err
		}
		return lint.Range(c.ctx, r, a, b)
	case c.Bool("worktree"):
		return lint.Worktree(c.ctx, r)
	}
	if r.Bare() {
		return nil, invalid("use --commit REV or --range A..B", "a bare repository has nothing staged")
	}
	return lint.Staged(c.ctx, r)
}

// splitRange takes A..B apart; A...B is the same.
func splitRange(s string) (a, b string, err error) {
	a, b, ok := strings.Cut(s, "..")
	b = strings.TrimPrefix(b, ".")
	if !ok || a == "" || b == "" {
		return "", "", invalid("write --range A..B", "%q is no range", s)
	}
	return a, b, nil
}

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "what a finding code means and how to mend it",
		ArgsUsage: "[CODE]",
		UsageText: "assent explain skmb/unresolved\nassent explain                     list all codes",
		Flags:     []cli.Flag{formatFlag, dirFlag},
		Action: action(1, func(c *call) error {
			asJSON, err := c.json()
			if err != nil {
				return err
			}
			all := explainable()
			if c.NArg() == 1 {
				code := c.Args().First()
				all = nil
				var near []string
				for _, k := range explainable() {
					switch {
					case k.Code == code:
						all = []finding.Check{k}
					case strings.Contains(k.Code, code) || strings.HasSuffix(code, k.Code[strings.IndexByte(k.Code, '/'):]):
						near = append(near, k.Code)
					}
				}
				if all == nil {
					hint := "`assent explain` lists all codes"
					if len(near) > 0 {
						hint = "did you mean " + strings.Join(near, ", ") + "?"
					}
					return invalid(hint, "there is no finding code %q", code)
				}
			}
			if asJSON {
				return c.printJSON(explained(all))
			}
			for _, k := range all {
				if c.NArg() == 0 {
					c.out("%-32s %-8s %s", k.Code, k.Severity, k.Title)
					continue
				}
				c.out("%s (%s): %s", k.Code, k.Severity, k.Title)
				c.out("")
				c.out("%s", k.Doc)
			}
			return nil
		}),
	}
}

type explanation struct {
	Code     string           `json:"code"`
	Severity finding.Severity `json:"severity"`
	Title    string           `json:"title"`
	Doc      string           `json:"doc"`
}

type explanations struct {
	SchemaVersion int           `json:"schema_version"`
	Codes         []explanation `json:"codes"`
}

func explained(checks []finding.Check) explanations {
	out := explanations{SchemaVersion: 1}
	for _, k := range checks {
		out.Codes = append(out.Codes, explanation{k.Code, k.Severity, k.Title, k.Doc})
	}
	return out
}

// explainable is every code that a person can meet: those of findings and those by which a
// submission is refused.
func explainable() []finding.Check {
	all := slices.Concat(allCodes(), skmb.RefusalCodes, agentsmd.RefusalCodes())
	for _, c := range boundary.Codes() {
		if !slices.ContainsFunc(all, func(k finding.Check) bool { return k.Code == c.Name }) {
			all = append(all, finding.Check{Code: c.Name, Severity: finding.Error, Title: c.Title,
				Doc: fmt.Sprintf("A submission is refused by it: stage %d, class %s, exit code %d. What to do: %s.", c.Stage, c.Class, c.Exit, c.Fix)})
		}
	}
	return all
}

// allCodes is the list of every finding code.
func allCodes() []finding.Check { return slices.Concat(hooks.AllCodes(), install.Codes) }
