package commands

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"assent/repo"
	"assent/skmb"
)

func inboxCommand() *cli.Command {
	return &cli.Command{
		Name: "inbox", Usage: "everything that waits for a person, with its age",
		UsageText: "assent inbox\nassent inbox --format json",
		Flags:     []cli.Flag{formatFlag, dirFlag},
		Action:    action(0, inbox),
	}
}

type waiting struct {
	SchemaVersion int              `json:"schema_version"`
	Items         []skmb.InboxItem `json:"items"`
}

// inbox looks at every base of the repository.
func inbox(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	r, err := c.worktree()
	if err != nil {
		return err
	}
	defer r.Close()
	conf, err := c.config(r)
	if err != nil {
		return err
	}
	today := c.Now().UTC()
	out := waiting{SchemaVersion: 1, Items: []skmb.InboxItem{}}
	for _, root := range conf.Skmb.Roots {
		if err := c.checkedOut(r, root); err != nil {
			return err
		}
		b, err := skmb.Load(repo.Disk(r.Root), root)
		if err != nil {
			return err
		}
		if b != nil {
			out.Items = append(out.Items, b.Inbox(today.Format(time.DateOnly))...)
		}
	}
	if asJSON {
		return c.printJSON(out)
	}
	last := ""
	for _, i := range out.Items {
		if i.Group != last {
			if last != "" {
				fmt.Fprintln(c.Stdout)
			}
			c.out("%s", i.Group)
			last = i.Group
		}
		c.out("  %-22s %6s  %s", i.ID, i.Age, i.Title)
		if i.Next != "" {
			c.out("  %-22s %6s  %s", "", "", i.Next)
		}
	}
	if len(out.Items) == 0 {
		c.say("nothing waits")
	}
	return nil
}
