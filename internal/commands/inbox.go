package commands

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"assent/config"
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
	return c.loadAll(func(_ *repo.Repo, _ config.Config, all []*skmb.Base) error {
		today := c.Now().UTC().Format(time.DateOnly)
		out := waiting{SchemaVersion: 1, Items: []skmb.InboxItem{}}
		unread := false
		for _, b := range all {
			out.Items = append(out.Items, b.Inbox(today)...)
			unread = unread || len(b.Unread()) > 0
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
		if len(out.Items) == 0 && !unread {
			c.say("nothing waits")
		}
		return nil
	})
}
