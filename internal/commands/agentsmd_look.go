package commands

import (
	"github.com/urfave/cli/v2"

	"assent/agentsmd"
)

// lookCommands show what stands there, and mend what was interrupted.
func lookCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "status", Usage: "open runs, pending items, preferences, what is closed", UsageText: "agentsmd status\nagentsmd status --explain-lifecycle",
			Flags: []cli.Flag{&cli.BoolFlag{Name: "explain-lifecycle", Usage: "print from which status what leads to which"}},
			Action: action(0, func(c *call) error {
				if c.Bool("explain-lifecycle") {
					for _, l := range lifecycleOfRules() {
						c.out("%s", l)
					}
					return nil
				}
				asJSON, err := c.json()
				if err != nil {
					return err
				}
				return c.keeper(func(k *agentsmd.Keeper) error {
					s, err := k.Status(c.ctx)
					if err != nil {
						return err
					}
					if asJSON {
						return c.printJSON(s)
					}
					c.printStatus(s)
					return nil
				})
			}),
		},
		{
			Name: "report", Usage: "what a call did, the last one if none is named", ArgsUsage: "[CALL]", UsageText: "agentsmd report\nagentsmd report --format json",
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
			Flags: []cli.Flag{&cli.BoolFlag{Name: "rebuild-state", Usage: "make the state again from the log"}},
			Action: action(0, func(c *call) error {
				asJSON, err := c.json()
				if err != nil {
					return err
				}
				return c.keeper(func(k *agentsmd.Keeper) error {
					var done []string
					if c.Bool("rebuild-state") {
						if err := k.Rebuild(c.ctx); err != nil {
							return err
						}
						done = append(done, "the state was made again from the log")
					}
					more, err := k.Recover(c.ctx)
					if err != nil {
						return err
					}
					done = append(done, more...)
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
		c.out("block    %s  %s, %d rules", c.short(b.Path), b.State, b.Rules)
	}
	c.out("commit=%s", s.Preferences.Commit)
	for _, a := range s.Preferences.Auto {
		c.out("auto=on  %s  until %s", a.Path, a.Until)
	}
	if s.Recovery != "" {
		c.say("%s", s.Recovery)
	}
}
