package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

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
	r, err := c.worktree()
	if err != nil {
		return err
	}
	defer r.Close()
	conf, err := c.config(r)
	if err != nil {
		return err
	}
	now := c.Now().UTC()
	var bases []skmb.ReportBase
	for _, root := range conf.Skmb.Roots {
		if err := c.checkedOut(r, root); err != nil {
			return err
		}
		b, err := skmb.Load(repo.Disk(r.Root), root)
		if err != nil {
			return err
		}
		if b == nil {
			continue
		}
		shown := b.Report(now.Format(time.DateOnly))
		shown.Archives = archivesOf(filepath.Join(r.Root, filepath.FromSlash(root), conf.Skmb.Archive.Dir))
		bases = append(bases, shown)
	}
	if len(bases) == 0 {
		return invalid("assent init", "there is no decision base here")
	}
	page, err := skmb.HTML("Decisions of "+filepath.Base(r.Root), "Made on "+now.Format(time.DateOnly)+" from the files on disk.", bases)
	if err != nil {
		return err
	}
	if !c.IsSet("output") {
		_, err = c.Stdout.Write(page)
		return err
	}
	out := c.String("output")
	tmp, err := os.CreateTemp(filepath.Dir(out), ".assent-tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(page); err != nil {
		return err
	}
	if err := errors.Join(tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), out)
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
