package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/config"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
	"assent/skmb"
)

func readingCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "list", Usage: "the records of the base, as they stand on disk",
			UsageText: "skmb list\nskmb list --status proposed\nskmb list --pattern F --format json",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "status", Usage: "only records with the `STATUS`"},
				&cli.StringFlag{Name: "pattern", Usage: "only records with the pattern `LETTER`"},
				rootFlag(), formatFlag, dirFlag,
			},
			Action: action(0, list),
		},
		{
			Name: "show", Usage: "one record: its fields, its text and its digest", ArgsUsage: "ID",
			UsageText: "skmb show SKMB-2026-06-11-003\nskmb show 003",
			Flags:     []cli.Flag{rootFlag(), formatFlag, dirFlag},
			Action:    action(1, show),
		},
		{
			Name: "debt", Usage: "what goes on undecided by permission, by review date",
			UsageText: "skmb debt",
			Flags:     []cli.Flag{rootFlag(), formatFlag, dirFlag},
			Action:    action(0, debt),
		},
		group(&cli.Command{
			Name: "archive", Usage: "the archives that were made after commits",
			UsageText: "skmb archive verify\nskmb archive now",
			Subcommands: []*cli.Command{{
				Name: "now", Usage: "archive the base of HEAD, if it differs from the newest archive",
				UsageText: "skmb archive now\nskmb archive now --all     every base of .assent.yaml",
				Flags:     []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "every base of .assent.yaml"}, rootFlag(), dirFlag},
				Action:    action(0, archiveNow),
			}, {
				Name: "verify", Usage: "recompute every hash of every archive", ArgsUsage: "[NAME]",
				UsageText: "skmb archive verify",
				Flags:     []cli.Flag{rootFlag(), formatFlag, dirFlag},
				Action:    action(1, verifyArchives),
			}},
		}),
	}
}

// load reads the base on disk for a reading verb. What cannot be read is named on stderr,
// and then the verb ends with 3 after showing the rest.
func (c *call) load(run func(r *repo.Repo, b *skmb.Base) error) error {
	return c.withBase(func(r *repo.Repo, root string) error {
		b, err := loadBase(repo.Disk(r.Root), root)
		if err != nil {
			return err
		}
		return c.whole(run(r, b), b)
	})
}

// loadAll reads every base that stands on disk and hands them on together. Then it names
// what could not be read, as load does.
func (c *call) loadAll(run func(r *repo.Repo, conf config.Config, all []*skmb.Base) error) error {
	r, err := c.worktree()
	if err != nil {
		return err
	}
	defer r.Close()
	conf, err := c.config(r)
	if err != nil {
		return err
	}
	var all []*skmb.Base
	for _, root := range conf.Skmb.Roots {
		if err := c.checkedOut(r, root); err != nil {
			return err
		}
		b, err := skmb.Load(repo.Disk(r.Root), root)
		if err != nil {
			return err
		}
		if b != nil {
			all = append(all, b)
		}
	}
	return c.whole(run(r, conf, all), all...)
}

// whole is what a reading verb ends with: an answer, also that there is none, is not whole if something of
// the bases could not be read.
func (c *call) whole(err error, all ...*skmb.Base) error {
	var none *skmb.InputError
	switch unread := c.unread(all...); {
	case unread == nil:
		return err
	case errors.As(err, &none):
		return &failure{finding.ExitUnchecked, err, "mend what cannot be read: it may be what you look for"}
	case err != nil:
		return err
	default:
		return unread
	}
}

// unread names what of the bases could not be read: an answer without it is not whole.
func (c *call) unread(all ...*skmb.Base) error {
	var err error
	for _, b := range all {
		for _, f := range b.Unread() {
			c.say("%s: cannot be read: %s", f.Place(), f.Message)
			err = exit(finding.ExitUnchecked)
		}
	}
	return err
}

func joinStatuses() string {
	var out []string
	for _, s := range skmb.Statuses {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}

type listed struct {
	SchemaVersion int            `json:"schema_version"`
	Records       []skmb.Summary `json:"records"`
}

func list(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	if s := c.String("status"); c.IsSet("status") && !slices.Contains(skmb.Statuses, skmb.Status(s)) {
		return invalid(fmt.Sprintf("one of %s", joinStatuses()), "there is no status %q", s)
	}
	if p := strings.ToUpper(c.String("pattern")); c.IsSet("pattern") && (len(p) != 1 || p < "A" || p > "G") {
		return invalid("use a letter A to G", "there is no pattern %q", c.String("pattern"))
	}
	return c.load(func(_ *repo.Repo, b *skmb.Base) error {
		all := b.Summaries()
		all = slices.DeleteFunc(all, func(s skmb.Summary) bool {
			return c.IsSet("status") && string(s.Status) != c.String("status") ||
				c.IsSet("pattern") && !slices.Contains(s.Patterns, strings.ToUpper(c.String("pattern")))
		})
		if asJSON {
			return c.printJSON(listed{1, all})
		}
		for _, s := range all {
			c.out("%-22s %-19s %-8s %s", s.ID, s.Status, strings.Join(s.Patterns, ","), s.Title)
		}
		return nil
	})
}

func show(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	if c.NArg() == 0 {
		return invalid("skmb list", "which record?")
	}
	return c.load(func(_ *repo.Repo, b *skmb.Base) error {
		ref := c.Args().First()
		if q, ok := b.OpenQuestion(ref); ok {
			if asJSON {
				return c.printJSON(struct {
					SchemaVersion int `json:"schema_version"`
					skmb.OpenRow
				}{1, q})
			}
			c.out("%s: %s", q.ID, q.Context)
			c.out("patterns: %s", strings.Join(q.Patterns, ", "))
			c.out("needed before: %s", q.NeededBefore)
			c.out("paths: %s", strings.Join(q.Paths, ", "))
			return nil
		}
		r, err := b.Find(ref)
		if err != nil {
			return withHint(err)
		}
		if asJSON {
			return c.printJSON(r.Detail())
		}
		d := r.Detail()
		c.out("%s: %s", d.ID, d.Title)
		c.out("status: %s", d.Status)
		for _, f := range d.Fields {
			if f.Key != "status" {
				c.out("%s: %s", f.Key, f.Value)
			}
		}
		c.out("file: %s", d.File)
		c.out("digest: sha256:%s", d.Digest)
		for _, s := range d.Sections {
			c.out("")
			c.out("%s", s.Title)
			fmt.Fprintln(c.Stdout, finding.CleanLines(s.Text))
		}
		return nil
	})
}

type owed struct {
	SchemaVersion int         `json:"schema_version"`
	Debt          []skmb.Debt `json:"debt"`
}

func debt(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.load(func(_ *repo.Repo, b *skmb.Base) error {
		all := b.Debts(c.Now().UTC().Format(time.DateOnly))
		if asJSON {
			return c.printJSON(owed{1, all})
		}
		for _, d := range all {
			late := ""
			if d.Overdue {
				late = " (overdue)"
			}
			c.out("%-10s %s %s%s", d.ReviewBy, d.ID, d.Title, late)
		}
		return nil
	})
}

// archiveNow does what the hook does after a commit.
func archiveNow(c *call) error {
	r, err := c.worktree()
	if err != nil {
		return err
	}
	defer r.Close()
	conf, err := c.config(r)
	if err != nil {
		return err
	}
	roots := conf.Skmb.Roots
	if !c.Bool("all") {
		if err := c.withBase(func(_ *repo.Repo, root string) error { roots = []string{root}; return nil }); err != nil {
			return err
		}
	}
	a := hooks.Archiving{Repo: r, Now: c.Now(), Tool: "assent " + Version()}
	made, err := a.Run(c.ctx, roots)
	for _, name := range made {
		c.out("%s", name)
	}
	if err == nil && len(made) == 0 {
		c.say("the newest archive holds what HEAD has")
	}
	return err
}

type verified struct {
	SchemaVersion int               `json:"schema_version"`
	Archives      []verifiedArchive `json:"archives"`
}

type verifiedArchive struct {
	Name     string   `json:"name"`
	Problems []string `json:"problems"`
}

func verifyArchives(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.withBase(func(r *repo.Repo, root string) error {
		conf, err := c.config(r)
		if err != nil {
			return err
		}
		dir := filepath.Join(r.Root, filepath.FromSlash(root), conf.Skmb.Archive.Dir)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		out := verified{SchemaVersion: 1, Archives: []verifiedArchive{}}
		bad := false
		for _, e := range entries {
			if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || c.NArg() == 1 && e.Name() != c.Args().First() {
				continue
			}
			v := verifiedArchive{e.Name(), skmb.VerifyArchive(os.DirFS(filepath.Join(dir, e.Name())))}
			if v.Problems == nil {
				v.Problems = []string{}
			}
			bad = bad || len(v.Problems) > 0
			out.Archives = append(out.Archives, v)
		}
		if c.NArg() == 1 && len(out.Archives) == 0 {
			return invalid("skmb archive verify", "there is no archive %s", c.Args().First())
		}
		if asJSON {
			if err := c.printJSON(out); err != nil {
				return err
			}
		} else {
			for _, v := range out.Archives {
				state := "ok"
				if len(v.Problems) > 0 {
					state = "DAMAGED"
				}
				c.out("%s %s", v.Name, state)
				for _, p := range v.Problems {
					c.out("  %s", p)
				}
			}
			c.say("%s", finding.Count(len(out.Archives), "archive"))
		}
		if bad {
			return exit(finding.ExitFindings)
		}
		return nil
	})
}
