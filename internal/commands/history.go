package commands

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/repo"
	"assent/skmb"
)

// historyCommands connect records with commits.
func historyCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "backfill", Usage: "write the commits in which records became accepted",
			UsageText: "skmb backfill      replaces `commit: pending`, and hashes that were rewritten since",
			Flags:     []cli.Flag{&cli.BoolFlag{Name: "staged", Usage: "only records whose files are staged"}, rootFlag(), formatFlag, dirFlag},
			Action:    action(0, backfill),
		},
		{
			Name: "log", Usage: "what history says about a record", ArgsUsage: "ID",
			UsageText: "skmb log SKMB-2026-06-11-001",
			Flags:     []cli.Flag{rootFlag(), formatFlag, dirFlag},
			Action:    action(1, logRecord),
		},
	}
}

func backfill(c *call) error {
	return c.write(func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error) {
		h := skmb.History{
			File: func(ctx context.Context, path string) ([]skmb.Past, error) { return past(ctx, r, path) },
			Unknown: func(ctx context.Context, hashes []string) ([]string, error) {
				return r.NotAncestors(ctx, hashes, "HEAD")
			},
		}
		if c.Bool("staged") {
			staged, err := r.Staged(c.ctx, w.Root)
			if err != nil {
				return skmb.Done{}, err
			}
			h.Only = func(path string) bool {
				return slices.ContainsFunc(staged.Changes, func(ch repo.Change) bool { return ch.Path == path })
			}
		}
		return w.Backfill(c.ctx, h)
	})
}

// past reads the versions of a file.
func past(ctx context.Context, r *repo.Repo, path string) ([]skmb.Past, error) {
	versions, err := r.History(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []skmb.Past
	for _, v := range versions {
		out = append(out, skmb.Past{Commit: v.Commit, Subject: v.Subject, Author: v.Author, When: when(v.When), Data: v.Data})
	}
	return out, nil
}

// when is a time as Git stores it, as RFC 3339 in UTC.
func when(git string) string {
	seconds, _, _ := strings.Cut(git, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return git
	}
	return time.Unix(n, 0).UTC().Format(time.RFC3339)
}

type recordLog struct {
	SchemaVersion int            `json:"schema_version"`
	ID            string         `json:"id"`
	Log           []skmb.LogLine `json:"log"`
}

func logRecord(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	if c.NArg() == 0 {
		return invalid("skmb list", "which record?")
	}
	return c.load(func(r *repo.Repo, b *skmb.Base) error {
		rec, err := b.Find(c.Args().First())
		if err != nil {
			return withHint(err)
		}
		versions, err := past(c.ctx, r, rec.Path)
		if err != nil {
			return err
		}
		lines := rec.Log(versions)
		citing, err := r.Mentioning(c.ctx, rec.ID)
		if err != nil {
			return err
		}
		for _, v := range citing {
			if slices.Contains(skmb.Trailers(v.Message), rec.ID) {
				lines = append(lines, skmb.LogLine{Commit: v.Commit, When: when(v.When), Author: v.Author, Subject: v.Subject, What: "cited by a trailer"})
			}
		}
		slices.SortStableFunc(lines, func(x, y skmb.LogLine) int { return cmp.Compare(x.When, y.When) })
		if asJSON {
			return c.printJSON(recordLog{1, rec.ID, lines})
		}
		for _, l := range lines {
			c.out("%s %s  %-22s %s (%s)", l.Commit[:12], l.When, l.What, l.Subject, l.Author)
		}
		if len(lines) == 0 {
			c.say("no commit has %s yet", rec.ID)
		}
		return nil
	})
}
