package commands

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"assent/finding"
	"assent/repo"
	"assent/skmb"
)

// mendingCommands are fix and classify.
func mendingCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "fix", Usage: "mend what needs no judgement: field names, rows, the other half of a supersession",
			UsageText: "skmb fix --dry-run     print the difference\nskmb fix",
			Flags:     []cli.Flag{&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print the difference"}, rootFlag(), formatFlag, dirFlag},
			Action:    action(0, fix),
		},
		{
			Name: "classify", Usage: "which patterns a change probably touches, with the lines that say so; advice only",
			UsageText: "skmb classify                             what is staged\nskmb classify --range origin/main..HEAD",
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "staged", Usage: "what is staged (default)"},
				&cli.StringFlag{Name: "range", Usage: "what `A..B` changes"},
				formatFlag, dirFlag,
			},
			Action: action(0, classify),
		},
	}
}

func fix(c *call) error {
	if !c.Bool("dry-run") {
		return c.write(func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error) { return w.Fix(c.ctx) })
	}
	return c.withBase(func(r *repo.Repo, root string) error {
		previews, err := skmb.FixPreview(repo.Disk(r.Root), root)
		if err != nil {
			return withHint(err)
		}
		for _, p := range previews {
			fmt.Fprint(c.Stdout, finding.CleanLines(lineDiff(p.Path, string(p.Before), string(p.After))))
		}
		return nil
	})
}

type classified struct {
	SchemaVersion int         `json:"schema_version"`
	Signs         []skmb.Sign `json:"signs"`
}

func classify(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	var patch string
	if c.IsSet("range") {
		a, b, err := splitRange(c.String("range"))
		if err != nil {
			return err
		}
		if patch, err = r.PatchBetween(c.ctx, a, b); err != nil {
			return err
		}
	} else if patch, err = r.Patch(c.ctx); err != nil {
		return err
	}
	signs := skmb.Classify(skmb.AddedLines(patch))
	if asJSON {
		return c.printJSON(classified{1, signs})
	}
	last := ""
	for _, s := range signs {
		if s.Pattern != last {
			last = s.Pattern
			for _, p := range skmb.Patterns {
				if p.Letter == last {
					c.out("%s %s", p.Letter, p.Title)
				}
			}
		}
		c.out("  %s:%d: %s: %s", s.Path, s.Line, s.Word, s.Text)
	}
	if len(signs) == 0 {
		c.say("no line of the change looks like one of the patterns")
	}
	return nil
}
