package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/config"
	"assent/repo"
	"assent/skmb"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "one HTML page: decisions, diagrams, debt, inbox, archives",
		UsageText: "assent report > report.html\nassent report --output report.html",
		Flags:     []cli.Flag{&cli.StringFlag{Name: "output", Usage: "write to `FILE`, by a rename"}, dirFlag},
		Action:    action(0, report),
	}
}

func report(c *call) error {
	return c.loadAll(func(r *repo.Repo, conf config.Config, all []*skmb.Base) error {
		if len(all) == 0 {
			return invalid("assent init", "there is no decision base here")
		}
		today := c.Now().UTC().Format(time.DateOnly)
		var shown []skmb.ReportBase
		for _, b := range all {
			one := b.Report(today)
			one.Archives = archivesOf(filepath.Join(r.Root, filepath.FromSlash(b.Root), conf.Skmb.Archive.Dir))
			shown = append(shown, one)
		}
		page, err := skmb.HTML("Decisions of "+filepath.Base(r.Root), "Made on "+today+" from the files on disk.", shown)
		if err != nil {
			return err
		}
		if !c.IsSet("output") {
			_, err = c.Stdout.Write(page)
			return err
		}
		return writeByRename(c.String("output"), page)
	})
}

// writeByRename leaves the old file or the new one, whatever happens.
func writeByRename(name string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".assent-tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// archivesOf lists the archives of a base, newest first, with what their hashes say.
func archivesOf(dir string) []skmb.ReportArchive {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []skmb.ReportArchive
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		a := skmb.ReportArchive{Name: e.Name(), Problems: skmb.VerifyArchive(os.DirFS(filepath.Join(dir, e.Name())))}
		if data, err := os.ReadFile(filepath.Join(dir, e.Name(), "MANIFEST.md")); err == nil && len(a.Problems) == 0 {
			if m, err := skmb.ParseManifest(data); err == nil {
				a.Check = m.Check
			}
		}
		out = append(out, a)
	}
	return out
}
