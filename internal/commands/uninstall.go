package commands

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"assent/approval"
	"assent/finding"
	"assent/install"
	"assent/repo"
	"assent/store"
)

func uninstallCommand() *cli.Command {
	return &cli.Command{
		Name: "uninstall", Usage: "take the hooks out of this clone",
		UsageText: "assent uninstall            shows what it will do and asks on your terminal\nassent uninstall --dry-run\nassent uninstall --purge    also receipts, log and what is remembered",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "purge", Usage: "also the program's own directory in the Git directory; archives stay"}, &cli.BoolFlag{Name: "dry-run", Usage: "print what would change, change nothing"}, dirFlag},
		Action:    action(0, uninstall),
	}
}

// uninstall removes the gate, so a person must say yes to exactly what will be done.
func uninstall(c *call) error {
	return c.inStore(c.open, func(r *repo.Repo, s *store.Store) error { return c.uninstall(r, s) })
}

func (c *call) uninstall(r *repo.Repo, s *store.Store) error {
	u, err := install.PlanRemoval(c.ctx, s, r)
	if err != nil {
		return err
	}
	if c.Bool("purge") {
		u.Purge(r)
	}
	show := func() {
		for _, line := range u.Lines() {
			c.out("%s", line)
		}
	}
	switch {
	case c.Bool("dry-run"):
		show()
	case len(u.Lines()) > 0: // the card shows them too
		err := c.consent("install", "uninstall", r.CommonDir, u.Lines(), "Take the gate out of this clone?")
		if errors.Is(err, approval.ErrNoTerminal) {
			show()
		}
		if err != nil {
			return err
		}
		if err := u.Apply(c.ctx, s, r, c.Now()); err != nil {
			return err
		}
		show()
	}
	if len(u.Left) > 0 {
		return &failure{finding.ExitStale, errors.New(strings.Join(u.Left, "\n")), ""}
	}
	if len(u.Lines()) == 0 {
		c.say("no hooks of ours are installed")
	}
	return nil
}
