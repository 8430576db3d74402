package commands

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"assent/finding"
	"assent/repo"
	"assent/skmb"
)

// mergingCommands mend what parallel work does to an index.
func mergingCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "resolve", Usage: "take Git's conflict markers out of the index",
			UsageText: "skmb resolve      after a merge or rebase that stopped at SKMB.md",
			Flags:     []cli.Flag{rootFlag(), formatFlag, dirFlag},
			Action:    action(0, resolve),
		},
		{
			Name: "merge-driver", Usage: "merge an index by its rows; Git calls it", ArgsUsage: "BASE OURS THEIRS",
			UsageText: "skmb merge-driver BASE OURS THEIRS     the result goes into OURS; exit code 1 for a conflict",
			Flags:     []cli.Flag{dirFlag},
			Action:    action(3, mergeDriver),
		},
	}
}

type resolvedRows struct {
	SchemaVersion int      `json:"schema_version"`
	Resolved      int      `json:"resolved"`
	Left          int      `json:"left"`
	Files         []string `json:"files"`
}

func resolve(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.writer(func(w *skmb.Writer, r *repo.Repo) error {
		done, resolved, left, err := w.Resolve(c.ctx)
		if err != nil {
			return withHint(err)
		}
		if asJSON {
			if err := c.printJSON(resolvedRows{1, resolved, left, done.Files}); err != nil {
				return err
			}
		} else {
			c.say("resolved %s, left %d", finding.Count(resolved, "conflict"), left)
			c.sayFiles(r, done)
			if resolved > 0 {
				c.say("then: skmb check --worktree")
			}
		}
		if left > 0 {
			return exit(finding.ExitFindings)
		}
		return nil
	})
}

// mergeDriver merges three files by the rows of their tables. Where that is not possible
// Git's own text merge does it, so that there is never less than without a driver.
func mergeDriver(c *call) error {
	if c.NArg() != 3 {
		return invalid("Git calls it with %O %A %B", "three files are needed")
	}
	base, ours, theirs := c.Args().Get(0), c.Args().Get(1), c.Args().Get(2)
	var data [3][]byte
	for i, name := range []string{base, ours, theirs} {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		data[i] = b
	}
	merged, conflicts, err := skmb.MergeIndex(data[0], data[1], data[2])
	var cannot *skmb.ErrCannotMerge
	if errors.As(err, &cannot) {
		r, err := c.open()
		if err != nil {
			return err
		}
		defer r.Close()
		if conflicts, err = r.MergeFile(c.ctx, ours, base, theirs); err != nil {
			return err
		}
	} else if err != nil {
		return err
	} else if err := os.WriteFile(ours, merged, 0o644); err != nil { // Git's own temporary file
		return err
	}
	if conflicts > 0 {
		return exit(finding.ExitFindings)
	}
	return nil
}
