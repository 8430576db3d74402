package commands

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"assent/agentsmd"
	"assent/finding"
)

// lookCommands show what stands there, and mend what was interrupted.
func lookCommands() []*cli.Command {
	check := checkCommand()
	check.Usage = "run the checks of the files that learned rules stand in"
	check.UsageText = "agentsmd check                 what the next commit will hold\nagentsmd check --worktree      the files as they stand on disk\nagentsmd check --state         whether the private state is what was written"
	check.Flags = append([]cli.Flag{&cli.BoolFlag{Name: "state", Usage: "look at the private state instead: digests, the chain of the log, the state that follows from it"}}, check.Flags...)
	check.ArgsUsage = "[FILE...]"
	check.Action = action(-1, func(c *call) error {
		if !c.Bool("state") {
			c.only = c.Args().Slice()
			return c.lint("agentsmd/")
		}
		for _, other := range []string{"staged", "worktree", "commit", "range", "merge-with", "write-baseline"} {
			if c.IsSet(other) || c.NArg() > 0 {
				return invalid("agentsmd check --state", "--state looks at the private state alone")
			}
		}
		return c.checkState()
	})
	return []*cli.Command{
		check,
		{
			Name: "rules", Usage: "the rules that an agent reads in a directory, and where each came from", ArgsUsage: "[DIR]", UsageText: "agentsmd rules\nagentsmd rules internal/store --host claude",
			Flags:  []cli.Flag{&cli.StringFlag{Name: "host", Value: agentsmd.HostCodex, Usage: "the `HOST` that reads them: codex or claude"}},
			Action: action(1, showRules),
		},
		{
			Name: "why", Usage: "who said what when about a rule", ArgsUsage: "RULE", UsageText: "agentsmd why \"Run gofmt.\"\nagentsmd why AGENTS.md:12\nagentsmd why C-0123456789abcdef",
			Action: action(1, why),
		},
		{
			Name: "status", Usage: "open runs, pending items, preferences, what is closed", UsageText: "agentsmd status\nagentsmd status --explain-lifecycle",
			Flags: []cli.Flag{lifecycleFlag()},
			Action: action(0, func(c *call) error {
				if c.Bool("explain-lifecycle") {
					for _, l := range lifecycleOfRules() {
						c.out("%s", l)
					}
					return nil
				}
				return answer(c, func(k *agentsmd.Keeper) (agentsmd.StatusDocument, error) { return k.Status(c.ctx) }, c.printStatus)
			}),
		},
		{
			Name: "report", Usage: "what was done with a plan, or by a call; by the last one if neither is named", ArgsUsage: "[PLAN | CALL]", UsageText: "agentsmd report\nagentsmd report P-3fa9\nagentsmd report --format json",
			Action: action(1, func(c *call) error {
				return c.keeper(func(k *agentsmd.Keeper) error {
					rep, err := k.Report(c.ctx, c.Args().First())
					if err != nil {
						return err
					}
					rep.Exit = 0
					return c.report(rep)
				})
			}),
		},
		{
			Name: "recover", Usage: "finish or take back what was interrupted", UsageText: "agentsmd recover\nagentsmd recover --rebuild-state     make the state again from the log",
			Flags: []cli.Flag{&cli.BoolFlag{Name: "rebuild-state", Usage: "make the state again from the log"}, &cli.BoolFlag{Name: "set-log-aside", Usage: "move a broken log to rescue, and begin another; asks a person on a terminal"}},
			Action: action(0, func(c *call) error {
				asJSON, err := c.json()
				if err != nil {
					return err
				}
				return c.keeper(func(k *agentsmd.Keeper) error {
					var done []string
					if c.Bool("set-log-aside") {
						if err := k.SetLogAside(c.ctx, c.confirm); err != nil {
							return err
						}
						done = append(done, "the log was set aside; a new one begins with the state as it is")
					}
					if c.Bool("rebuild-state") {
						if err := k.Rebuild(c.ctx); err != nil {
							return err
						}
						done = append(done, "the state was made again from the log")
					}
					if err := k.Recover(c.ctx); err != nil {
						return err
					}
					done = append(done, k.Done...)
					k.Done = nil
					if asJSON {
						return c.printJSON(mended{1, append([]string{}, done...)})
					}
					for _, d := range done {
						c.say("%s", d)
					}
					if len(done) == 0 {
						c.say("nothing was interrupted")
					}
					return nil
				})
			}),
		},
	}
}

type mended struct {
	SchemaVersion int      `json:"schema_version"`
	Done          []string `json:"done"`
}

func (c *call) printStatus(s agentsmd.StatusDocument) {
	for _, r := range s.Runs {
		c.out("run      %s", r)
	}
	for _, p := range s.Pending {
		c.out("pending  %s %d  %s %s  %s", p.Plan, p.Number, p.Action, c.short(p.Path), p.Text)
	}
	for _, e := range s.Closed {
		c.out("closed   %s  %s  %s", e.ID, e.Kind, e.Text)
	}
	for _, b := range s.Blocks {
		state := string(b.State)
		if state == "" {
			state = "cannot be read"
		}
		c.out("block    %s  %s, %s", c.short(b.Path), state, finding.Count(b.Rules, "rule"))
	}
	c.out("commit=%s", s.Preferences.Commit)
	for _, a := range s.Preferences.Auto {
		c.out("auto=on  %s  until %s", a.Path, a.Until)
	}
	for _, p := range s.Problems {
		c.say("problem: %s", p)
	}
	if s.Recovery != "" {
		c.say("%s", s.Recovery)
	}
}

func showRules(c *call) error {
	host := c.String("host")
	if host != agentsmd.HostCodex && host != agentsmd.HostClaude {
		return invalid("use --host codex or --host claude", "there is no host %q", host)
	}
	dir := c.at(c.Args().First())
	return answer(c, func(k *agentsmd.Keeper) (agentsmd.RulesDocument, error) { return k.Rules(c.ctx, dir, host) }, func(out agentsmd.RulesDocument) {
		for _, l := range out.Chain {
			c.out("file     %s  %d of %d bytes", c.short(l.Path), l.Used, l.Bytes)
		}
		for _, r := range out.Rules {
			where := fmt.Sprintf("%s:%d", c.short(r.Path), r.Line)
			if r.Provenance != "managed" {
				c.out("%-8s %s  %s", r.Provenance, where, r.Text)
				continue
			}
			c.out("%-8s %s  %s  (%s, %s)", r.Provenance, where, r.Text, r.Plan, r.At)
			for _, q := range r.Quotes {
				c.out("         said: %s", strings.Join(strings.Fields(q), " "))
			}
		}
		for _, w := range out.Warnings {
			c.say("warning: %s", w)
		}
	})
}

func why(c *call) error {
	if c.NArg() == 0 {
		return invalid("`agentsmd rules` lists them", "which rule?")
	}
	return answer(c, func(k *agentsmd.Keeper) (agentsmd.WhyDocument, error) { return k.Why(c.ctx, c.Args().First(), c.dir()) }, func(out agentsmd.WhyDocument) {
		c.out("%s  %s", out.ID, out.Rule)
		for _, e := range out.History {
			c.out("%s  %s  %s  %s", e.At, e.Event, e.Action, e.Plan)
			for _, old := range e.Old {
				c.out("     - %s", old)
			}
			if e.Text != "" {
				c.out("     + %s", e.Text)
			}
			for _, q := range e.Quotes {
				c.out("     said: %s", strings.Join(strings.Fields(q), " "))
			}
			if e.Approval != "" {
				c.out("     yes:  %s", e.Approval)
			}
			if e.Reason != "" {
				c.out("     why:  %s", e.Reason)
			}
			if e.Commit != "" {
				c.out("     commit %.10s", e.Commit)
			}
		}
	})
}

// checkState looks at the private state itself.
func (c *call) checkState() error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.keeper(func(k *agentsmd.Keeper) error {
		problems, err := k.Verify(c.ctx)
		if err != nil {
			return err
		}
		if asJSON {
			if err := c.printJSON(stateProblems{1, append([]string{}, problems...)}); err != nil {
				return err
			}
		}
		for _, p := range problems {
			c.say("%s", p)
		}
		if len(problems) > 0 {
			return exitWith(finding.ExitUnchecked)
		}
		c.say("the state is what was written")
		return nil
	})
}

type stateProblems struct {
	SchemaVersion int      `json:"schema_version"`
	Problems      []string `json:"problems"`
}
