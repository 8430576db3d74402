package commands

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"assent/agentsmd"
	"assent/approval"
	"assent/finding"
)

// ruleCommands plan, confirm and change rules.
func ruleCommands() []*cli.Command {
	ownFlags := append([]cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "of the project: `DIR`"},
		&cli.BoolFlag{Name: "global", Usage: "of the file that holds for all projects"},
	}, sayFlags()...)
	return []*cli.Command{
		{
			Name: "reconcile", Usage: "turn the decisions into a plan",
			UsageText: "agentsmd reconcile\nagentsmd reconcile --mode auto",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "mode", Value: "suggest", Usage: "`MODE`: suggest, or auto for files where the user allowed it"},
				&cli.StringFlag{Name: "model", Usage: "note that this `MODEL` reviewed"},
				&cli.StringFlag{Name: "effort", Usage: "and its reasoning `EFFORT`"},
				runFlag(),
			},
			Action: action(0, func(c *call) error {
				mode := c.String("mode")
				if mode != agentsmd.Suggest && mode != agentsmd.Auto {
					return invalid("use --mode suggest or --mode auto", "there is no mode %q", mode)
				}
				return c.keeper(func(k *agentsmd.Keeper) error {
					out, err := k.Reconcile(c.ctx, agentsmd.ReconcileOptions{Run: c.String("run"), Mode: mode, Model: c.String("model"), Effort: c.String("effort")})
					if err != nil {
						return c.printRefusal(err)
					}
					return c.plan(k, out)
				})
			}),
		},
		{
			Name: "show", Usage: "numbers and differences of a plan", ArgsUsage: "PLAN [N...]", UsageText: "agentsmd show P-3fa9\nagentsmd show P-3fa9 2",
			Action: action(-1, showPlan),
		},
		{
			Name: "apply", Usage: "write what was confirmed, and commit it where that is wanted", ArgsUsage: "PLAN (N... | --all | --auto)",
			UsageText: "agentsmd apply P-3fa9 1 2 --statement \"yes, the first two\"\nagentsmd apply P-3fa9 1        shows the change and asks on your terminal\nagentsmd apply P-3fa9 --all",
			Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "all", Usage: "everything that is pending: the user took every item"},
				&cli.BoolFlag{Name: "auto", Usage: "all of an auto plan, as the user allowed"},
				&cli.BoolFlag{Name: "no-commit", Usage: "write the file, and commit nothing"},
				&cli.BoolFlag{Name: "skip-stale", Usage: "leave out items that came too late"},
			}, sayFlags()...),
			Action: action(-1, func(c *call) error {
				plan, err := c.planArgument()
				if err != nil {
					return err
				}
				o := agentsmd.ApplyOptions{Plan: plan, All: c.Bool("all"), Auto: c.Bool("auto"), NoCommit: c.Bool("no-commit"), SkipStale: c.Bool("skip-stale")}
				if o.Numbers, err = c.numbers(); err != nil {
					return err
				}
				if o.Said, err = c.said(); err != nil {
					return err
				}
				return c.acts(func(k *agentsmd.Keeper) (agentsmd.Report, error) { return k.Apply(c.ctx, o) })
			}),
		},
		{
			Name: "reject", Usage: "close items for good: they do not come again", ArgsUsage: "PLAN N...", UsageText: "agentsmd reject P-3fa9 2 --reason \"only meant for that file\"",
			Flags: []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why: `TEXT`", Required: true}},
			Action: action(-1, func(c *call) error {
				plan, err := c.planArgument()
				if err != nil {
					return err
				}
				numbers, err := c.numbers()
				if err != nil {
					return err
				}
				if !utf8.ValidString(c.String("reason")) {
					return invalid("write it in UTF-8", "--reason is no text")
				}
				return c.acts(func(k *agentsmd.Keeper) (agentsmd.Report, error) {
					return k.Reject(c.ctx, plan, numbers, c.String("reason"))
				})
			}),
		},
		{
			Name: "amend", Usage: "plan an item anew with the user's final text", ArgsUsage: "PLAN N",
			UsageText: "agentsmd amend P-3fa9 2 --text \"Run gofmt before you answer.\" --apply --statement \"yes, but before answering\"\nagentsmd amend P-3fa9 2 - < text",
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "text", Usage: "the rule as it shall stand: `TEXT`; - as the last argument reads it from standard input"},
				&cli.BoolFlag{Name: "apply", Usage: "apply it at once"},
			}, sayFlags()...),
			Action: action(3, amend),
		},
		{
			Name: "withdraw", Usage: "take a rule out, and keep it out", ArgsUsage: "RULE", UsageText: "agentsmd withdraw \"Run gofmt.\" --dir . --statement \"drop that one\"",
			Flags:  ownFlags,
			Action: action(1, func(c *call) error { return c.own((*agentsmd.Keeper).Withdraw) }),
		},
		{
			Name: "restore", Usage: "bring a rule back that was withdrawn or rejected", ArgsUsage: "(C | RULE)", UsageText: "agentsmd restore \"Run gofmt.\" --dir . --statement \"bring it back\"",
			Flags:  ownFlags,
			Action: action(1, func(c *call) error { return c.own((*agentsmd.Keeper).Restore) }),
		},
		{
			Name: "adopt", Usage: "take over what a hand wrote into a block, or an earlier tool's block", ArgsUsage: "FILE", UsageText: "agentsmd adopt AGENTS.md     asks on your terminal: nobody knows whose hand it was",
			Flags:  sayFlags()[2:],
			Action: action(1, adopt),
		},
		{
			Name: "prefer", Usage: "what the user allowed once: commit=yes|no, auto=on|off", ArgsUsage: "NAME=VALUE",
			UsageText: "agentsmd prefer commit=yes --statement \"yes, commit them\"\nagentsmd prefer auto=on --root . --until 2027-03-01     on your own terminal\nagentsmd prefer auto=off",
			Flags: append([]cli.Flag{
				&cli.StringSliceFlag{Name: "root", Usage: "with auto=on: a project `DIR`; may be given again"},
				&cli.BoolFlag{Name: "global", Usage: "with auto=on: the file that holds for all projects"},
				&cli.StringFlag{Name: "until", Usage: "with auto=on: until `YYYY-MM-DD`, at most a year; 90 days if left out"},
			}, sayFlags()...),
			Action: action(1, prefer),
		},
	}
}

// plan prints what a person may confirm.
func (c *call) plan(k *agentsmd.Keeper, out agentsmd.Planned) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	if asJSON {
		if err := c.printJSON(out); err != nil {
			return err
		}
		return exitWith(out.Exit)
	}
	for _, w := range out.Warnings {
		c.say("warning: %s: %s", w.Code, w.Message)
	}
	if out.Exit != 0 {
		for _, e := range out.Errors {
			c.sayLines(e.Message)
			if e.Hint != "" {
				c.say("hint: %s", finding.CleanLines(e.Hint))
			}
		}
		c.say("no plan: nothing is pending, and no record is settled")
		c.say("what it would be: %s", out.File)
		return exitWith(out.Exit)
	}
	c.printRules(out)
	return nil
}

func (c *call) printRules(out agentsmd.Planned) {
	files := map[string]bool{}
	for _, i := range out.Items {
		files[i.Path] = true
	}
	c.out("%s  %s  %s, %s", out.Plan, out.Mode, finding.Count(len(out.Items), "change"), finding.Count(len(files), "file"))
	for _, i := range out.Items {
		lines := []string{i.New}
		if len(i.Old) > 0 {
			lines = nil
			for _, old := range i.Old {
				lines = append(lines, "- "+old)
			}
			if i.New != "" {
				lines = append(lines, "+ "+i.New)
			}
		}
		status := ""
		if i.Status != agentsmd.Pending && i.Status != agentsmd.Ready {
			status = "  (" + string(i.Status) + ")"
		}
		where := c.short(i.Path)
		c.out("%3d  %-8s %s  %s%s", i.Number, i.Action, where, lines[0], status)
		for _, l := range lines[1:] {
			c.out("%s%s", strings.Repeat(" ", 3+2+8+1+len([]rune(where))+2), l)
		}
		if i.Near != "" {
			c.out("     nearly the same: %s", i.Near)
		}
		if i.Other > 0 {
			c.out("     item %d says it for all projects", i.Other)
		}
	}
	for _, n := range out.Notes {
		c.say("note: %s", n)
	}
	if n := len(out.Settled); n > 0 {
		c.say("%s", finding.Count(n, "no-op"))
		for _, s := range out.Settled {
			c.say("     %s: %s", strings.TrimSpace(string(s.Action)+" "+s.Text), s.Why)
		}
	}
	if len(out.Items) == 0 {
		return
	}
	id := out.Plan[:min(len(out.Plan), 6)]
	if out.Mode == agentsmd.Auto {
		c.say("agentsmd apply %s --auto", id)
		return
	}
	var open []string
	for _, i := range out.Items {
		if i.Status == agentsmd.Pending {
			open = append(open, fmt.Sprint(i.Number))
		}
	}
	if len(open) > 0 {
		c.say("agentsmd apply %s %s · agentsmd apply %s --all · agentsmd reject %s %s --reason \"…\"", id, strings.Join(open, " "), id, id, open[len(open)-1])
	}
}

// short is a path as it is seen from here.
func (c *call) short(path string) string {
	dir, err := filepath.Abs(c.dir())
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func showPlan(c *call) error {
	plan, err := c.planArgument()
	if err != nil {
		return err
	}
	numbers, err := c.numbers()
	if err != nil {
		return err
	}
	return answer(c, func(k *agentsmd.Keeper) (agentsmd.Planned, error) { return k.Show(c.ctx, plan, numbers) }, func(out agentsmd.Planned) {
		c.printRules(out)
		for _, i := range out.Items {
			fmt.Fprintf(c.Stdout, "\n%d\n%s", i.Number, finding.CleanLines(i.Diff))
			for _, q := range i.Quotes {
				c.out("said: %s", strings.Join(strings.Fields(q), " "))
			}
		}
	})
}

func amend(c *call) error {
	plan, err := c.planArgument()
	if err != nil {
		return err
	}
	args := c.Args().Slice()
	text, fromInput := c.String("text"), len(args) == 3 && args[2] == "-"
	if len(args) < 2 || len(args) == 3 && !fromInput || fromInput == c.IsSet("text") {
		return invalid("agentsmd amend PLAN N --text \"…\"", "name a plan, a number, and the text")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return invalid("agentsmd show "+plan, "%q is no number of an item", args[1])
	}
	if fromInput {
		data, err := io.ReadAll(io.LimitReader(c.input(), 64<<10))
		if err != nil {
			return err
		}
		text = strings.TrimRight(string(data), "\r\n")
	}
	if !utf8.ValidString(text) {
		return invalid("write it in UTF-8", "the rule is no text")
	}
	o := agentsmd.AmendOptions{Plan: plan, Number: n, Text: text, Apply: c.Bool("apply")}
	if o.Said, err = c.said(); err != nil {
		return err
	}
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.keeper(func(k *agentsmd.Keeper) error {
		out, err := k.Amend(c.ctx, o)
		if err != nil {
			return err
		}
		if asJSON {
			if err := c.printJSON(out); err != nil {
				return err
			}
			return exitWith(out.Exit)
		}
		if out.Report != nil {
			return c.report(*out.Report)
		}
		return c.plan(k, out.Planned)
	})
}

func (c *call) own(do func(*agentsmd.Keeper, context.Context, agentsmd.OwnOptions) (agentsmd.Report, error)) error {
	if c.NArg() == 0 {
		return invalid("`agentsmd rules` lists them", "which rule?")
	}
	if !utf8.ValidString(c.Args().First()) {
		return invalid("write it in UTF-8", "the rule is no text")
	}
	if c.IsSet("dir") == c.Bool("global") {
		return invalid("add --dir DIR or --global", "which file?")
	}
	said, err := c.said()
	if err != nil {
		return err
	}
	return c.acts(func(k *agentsmd.Keeper) (agentsmd.Report, error) {
		return do(k, c.ctx, agentsmd.OwnOptions{Rule: c.Args().First(), Dir: c.at(c.String("dir")), Global: c.Bool("global"), Said: said})
	})
}

func adopt(c *call) error {
	if c.NArg() == 0 {
		return invalid("agentsmd adopt AGENTS.md", "which file?")
	}
	name := c.at(c.Args().First())
	return answer(c, func(k *agentsmd.Keeper) (agentsmd.Adopted, error) { return k.Adopt(c.ctx, name, c.confirm) }, func(out agentsmd.Adopted) {
		for _, r := range out.Hand {
			c.out("kept       %s", r)
		}
		for _, r := range out.Withdrawn {
			c.out("withdrawn  %s", r)
		}
		if out.Legacy != "" {
			c.out("adopted    the block of %s", out.Legacy)
		}
	})
}

func prefer(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	said, err := c.said()
	if err != nil {
		return err
	}
	value := c.Args().First()
	if value != "auto=on" && (c.IsSet("root") || c.Bool("global") || c.IsSet("until")) {
		return invalid("agentsmd prefer auto=on --root DIR", "--root, --global and --until go with auto=on")
	}
	return c.keeper(func(k *agentsmd.Keeper) error {
		yes := agentsmd.Yes{Method: approval.MethodStatement, Words: said.Words, From: said.From}
		ask := func(card string) error {
			g, err := c.confirm(k.Statement("prefer", value, card))
			if err == nil {
				yes = agentsmd.Yes{Method: g.Method, Text: g.Statement.Text(), Proof: g.Proof}
			}
			return err
		}
		var err error
		switch value {
		case "commit=yes", "commit=no":
			if said.Words == "" {
				err = ask("confirmed rules are committed: " + strings.TrimPrefix(value, "commit="))
			}
			if err == nil {
				err = k.PreferCommit(c.ctx, strings.TrimPrefix(value, "commit="), yes)
			}
		case "auto=off":
			err = k.PreferNoAuto(c.ctx, agentsmd.Yes{Method: approval.MethodStatement, Words: said.Words, From: said.From})
		case "auto=on":
			if c.IsSet("statement") || c.Bool("sign") {
				return invalid("run it on your own terminal", "no statement or signature allows Auto")
			}
			var day string
			if day, err = until(c); err != nil {
				return err
			}
			roots := c.StringSlice("root")
			for i := range roots {
				roots[i] = c.at(roots[i])
			}
			paths, perr := k.AutoPaths(c.ctx, roots, c.Bool("global"))
			if perr != nil {
				return perr
			}
			if len(paths) == 0 {
				return invalid("add --root DIR or --global", "Auto is allowed file by file")
			}
			if err = ask("rules of these files may be changed without a question until " + day + ":\n" + strings.Join(paths, "\n")); err == nil {
				err = k.PreferAuto(c.ctx, paths, day, yes)
			}
		default:
			err = invalid("commit=yes, commit=no, auto=on or auto=off", "there is no preference %q", value)
		}
		if err != nil {
			return err
		}
		p, err := k.Preferences(c.ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return c.printJSON(preferences{1, p.Commit, p.Auto})
		}
		c.out("commit=%s", p.Commit)
		for _, a := range p.Auto {
			c.out("auto=on  %s  until %s", a.Path, a.Until)
		}
		return nil
	})
}

type preferences struct {
	SchemaVersion int                 `json:"schema_version"`
	Commit        string              `json:"commit"`
	Auto          []agentsmd.AutoFile `json:"auto"`
}
