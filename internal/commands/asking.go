package commands

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/finding"
	"assent/repo"
	"assent/skmb"
)

// askingCommands look things up in a base and draw it.
func askingCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "lookup", Usage: "which records cover a behaviour, and what of it they do not",
			UsageText: "skmb lookup --pattern F --path notifier/x.go\nskmb lookup --state pending --event timeout\nskmb lookup --text \"notifier retry\"",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "pattern", Usage: "`LETTERS` A to G"},
				&cli.StringFlag{Name: "state", Usage: "a `STATE`"},
				&cli.StringFlag{Name: "event", Usage: "an `EVENT`"},
				&cli.StringFlag{Name: "path", Usage: "a `FILE` of the code"},
				&cli.StringFlag{Name: "text", Usage: "`WORDS` that must all occur"},
				rootFlag(), formatFlag, dirFlag,
			},
			Action: action(0, lookup),
		},
		{
			Name: "checkpoint", Usage: "the text that puts undecided records before the designer", ArgsUsage: "[ID...]",
			UsageText: "skmb checkpoint\nskmb checkpoint SKMB-2026-06-11-003",
			Flags:     []cli.Flag{rootFlag(), dirFlag},
			Action: action(-1, func(c *call) error {
				return c.load(func(_ *repo.Repo, b *skmb.Base) error {
					text, err := b.Checkpoints(c.Args().Slice())
					if err != nil {
						return withHint(err)
					}
					if text == "" {
						c.say("nothing is undecided")
					}
					_, err = fmt.Fprint(c.Stdout, finding.CleanLines(text))
					return err
				})
			}),
		},
		{
			Name: "graph", Usage: "the records and what supersedes what, as a drawing",
			UsageText: "skmb graph > graph.mmd\nskmb graph --format dot | dot -Tsvg > graph.svg\nskmb graph --format json",
			Flags:     []cli.Flag{drawFlag("mermaid, dot or json"), rootFlag(), dirFlag},
			Action: action(0, func(c *call) error {
				return c.draw(func(b *skmb.Base) (drawing, any) { g := b.Graph(); return g, g })
			}),
		},
		{
			Name: "states", Usage: "the state diagram that the index tells of; what is dashed was not decided",
			UsageText: "skmb states > states.mmd\nskmb states --format dot | dot -Tsvg > states.svg",
			Flags:     []cli.Flag{drawFlag("mermaid, dot or json"), rootFlag(), dirFlag},
			Action: action(0, func(c *call) error {
				return c.draw(func(b *skmb.Base) (drawing, any) { d := b.States(); return d, d })
			}),
		},
		group(&cli.Command{
			Name: "basis", Usage: "decision basis blocks: write one, check those of a text",
			UsageText: "skmb basis print SKMB-2026-06-11-001\nskmb basis check --range origin/main..HEAD",
			Subcommands: []*cli.Command{
				{
					Name: "print", Usage: "the block that cites an accepted record", ArgsUsage: "ID",
					UsageText: "skmb basis print SKMB-2026-06-11-001",
					Flags:     []cli.Flag{rootFlag(), dirFlag},
					Action:    action(1, basisPrint),
				},
				{
					Name: "check", Usage: "hold the blocks of a text, and SKMB: trailers of commits, against the base", ArgsUsage: "[FILE|-]",
					UsageText: "skmb basis check notes.md\nskmb basis check - < transcript.jsonl\nskmb basis check --range origin/main..HEAD",
					Flags:     []cli.Flag{&cli.StringFlag{Name: "range", Usage: "the commit messages of `A..B`"}, rootFlag(), formatFlag, dirFlag},
					Action:    action(1, basisCheck),
				},
			},
		}),
	}
}

type drawing interface {
	Mermaid() string
	Dot() string
}

func drawFlag(formats string) cli.Flag {
	return &cli.StringFlag{Name: "format", Value: "mermaid", Usage: "`FORMAT` of the drawing: " + formats}
}

func (c *call) draw(make func(*skmb.Base) (drawing, any)) error {
	return c.load(func(_ *repo.Repo, b *skmb.Base) error {
		d, data := make(b)
		var err error
		switch f := c.String("format"); f {
		case "mermaid":
			_, err = fmt.Fprint(c.Stdout, finding.CleanLines(d.Mermaid()))
		case "dot":
			_, err = fmt.Fprint(c.Stdout, finding.CleanLines(d.Dot()))
		case "json":
			err = c.printJSON(data)
		default:
			err = invalid("use mermaid, dot or json", "there is no format %q", f)
		}
		return err
	})
}

type found struct {
	SchemaVersion int        `json:"schema_version"`
	Hits          []skmb.Hit `json:"hits"`
}

func lookup(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.load(func(_ *repo.Repo, b *skmb.Base) error {
		hits, err := b.Lookup(skmb.Query{Patterns: c.String("pattern"), State: c.String("state"), Event: c.String("event"), Path: c.String("path"), Text: c.String("text")})
		if err != nil {
			return withHint(err)
		}
		if asJSON {
			return c.printJSON(found{1, hits})
		}
		for _, h := range hits {
			if h.Exact {
				c.out("exact    %s %s (%s)", h.ID, h.Title, strings.Join(h.Matched, ", "))
				continue
			}
			c.out("partial  %s %s (%s)", h.ID, h.Title, strings.Join(h.Matched, ", "))
			c.out("         not covered: %s", strings.Join(h.Missing, ", "))
		}
		if len(hits) == 0 {
			c.say("no record covers any of it")
		}
		return nil
	})
}

func basisPrint(c *call) error {
	if c.NArg() == 0 {
		return invalid("skmb list --status accepted", "which record?")
	}
	return c.load(func(_ *repo.Repo, b *skmb.Base) error {
		r, err := b.Find(c.Args().First())
		if err != nil {
			return withHint(err)
		}
		if r.Status != skmb.Accepted {
			return invalid("skmb approve "+r.ID, "%s is %s: only an accepted record is a basis", r.ID, r.Status)
		}
		_, err = fmt.Fprint(c.Stdout, finding.CleanLines(r.BasisBlock()))
		return err
	})
}

func blocks(n int) string {
	if n == 1 {
		return "1 block or trailer"
	}
	return fmt.Sprintf("%d blocks or trailers", n)
}

// maxBasisText caps what is read of one text.
const maxBasisText = 64 << 20

func basisCheck(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.withBase(func(r *repo.Repo, root string) error {
		report := finding.Report{Tool: "assent " + Version(), Mode: "basis", Verbose: true, Color: c.color()}
		b, sources, err := c.basisSources(r, root, &report)
		if err != nil {
			return err
		}
		seen := 0
		for _, s := range sources {
			s.Today = c.Now().UTC().Format(time.DateOnly)
			found, n := b.CheckBasis(s)
			seen += n
			report.Add(finding.Result{Findings: found})
		}
		if asJSON {
			err = finding.WriteJSON(c.Stdout, report)
		} else if err = finding.WriteText(c.Stderr, report); err == nil {
			c.say("examined %s: %s", blocks(seen), finding.Count(report.Count(finding.Error), "error"))
		}
		if err != nil {
			return err
		}
		return exitWith(report.Exit())
	})
}

// basisSources are the texts to check and the base to hold them against: the files on disk,
// or in a range the base of its end.
func (c *call) basisSources(r *repo.Repo, root string, report *finding.Report) (*skmb.Base, []skmb.BasisSource, error) {
	if c.IsSet("range") {
		a, z, err := splitRange(c.String("range"))
		if err != nil {
			return nil, nil, err
		}
		commits, err := r.Messages(c.ctx, a, z)
		if err != nil {
			return nil, nil, err
		}
		tree, err := r.Commit(c.ctx, z)
		if err != nil {
			return nil, nil, err
		}
		b, err := loadBase(tree, root)
		var out []skmb.BasisSource
		for _, k := range commits {
			out = append(out, skmb.BasisSource{Name: "commit " + k.Commit[:12], Text: k.Message, IsWork: true, Trailer: true})
		}
		report.Base, report.Head, report.Commits = a, z, len(commits)
		return b, out, err
	}
	name, in := "<stdin>", io.Reader(nil)
	if f := c.Args().First(); f != "" && f != "-" {
		file, err := os.Open(f)
		if err != nil {
			return nil, nil, invalid("name a file, or - for standard input", "%v", err)
		}
		defer file.Close()
		name, in = f, file
	} else {
		in = c.input()
	}
	data, err := io.ReadAll(io.LimitReader(in, maxBasisText+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxBasisText {
		return nil, nil, invalid("cut it up", "%s has more than %d bytes", name, maxBasisText)
	}
	b, err := loadBase(repo.Disk(r.Root), root)
	return b, []skmb.BasisSource{{Name: name, Text: string(data)}}, err
}

func loadBase(tree finding.Tree, root string) (*skmb.Base, error) {
	b, err := skmb.Load(tree, root)
	if err == nil && b == nil {
		err = invalid("skmb init", "there is no decision base at %s", root)
	}
	return b, err
}
