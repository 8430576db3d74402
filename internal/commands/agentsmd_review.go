package commands

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/agentsmd"
	"assent/boundary"
	schema "assent/docs/schema"
	"assent/finding"
)

// reviewCommands lead from transcripts to decisions that are taken.
func reviewCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "collect", Usage: "read what is new in the transcripts of Codex and Claude Code",
			UsageText: "agentsmd collect\nagentsmd collect --source claude-code --since 2026-11-01\nagentsmd collect --project-root ../other --session latest",
			Flags: []cli.Flag{
				&cli.StringSliceFlag{Name: "source", Usage: "only of this `AGENT`: codex or claude-code; may be given again"},
				&cli.StringFlag{Name: "since", Usage: "only turns from a `TIME` on: YYYY-MM-DD, or RFC 3339"},
				&cli.StringSliceFlag{Name: "session", Usage: "the current conversation, of which the open turn counts, too: its `ID`, or latest"},
				&cli.StringSliceFlag{Name: "project-root", Usage: "a project that the user named in this request: `DIR`"},
				&cli.StringSliceFlag{Name: "only-root", Usage: "leave other projects than this for later: `DIR`"},
				&cli.StringSliceFlag{Name: "include", Usage: "`WHAT` else: processed, noninteractive, or a transcript FILE.jsonl"},
				&cli.DurationFlag{Name: "settle", Value: agentsmd.DefaultSettle, Usage: "how long a transcript must rest before its last turn counts: `TIME`"},
				&cli.IntFlag{Name: "max-records", Value: agentsmd.MaxRecords, Usage: "at most `N` records, the oldest first"},
				&cli.IntFlag{Name: "quota-min", Value: -1, Usage: "begin nothing if less than `PERCENT` of Codex's limits is left", DefaultText: "not asked"},
			},
			Action: action(0, collect),
		},
		{
			Name: "chunk", Usage: "cut the batch into files to review", UsageText: "agentsmd chunk\nagentsmd chunk --max-chars 50000",
			Flags: []cli.Flag{
				&cli.IntFlag{Name: "max-records", Value: agentsmd.DefaultChunkRecords, Usage: "at most `N` records a chunk"},
				&cli.IntFlag{Name: "max-chars", Value: agentsmd.DefaultChunkChars, Usage: "at most `N` characters a chunk, 4000 or more"},
				&cli.BoolFlag{Name: "again", Usage: "drop what was submitted about the chunks, and cut them anew"},
				runFlag(),
			},
			Action: action(0, func(c *call) error {
				if err := cmp.Or(c.atLeast("max-records", 1), c.atLeast("max-chars", agentsmd.MinChunkChars)); err != nil {
					return err
				}
				return answer(c, func(k *agentsmd.Keeper) (agentsmd.Chunked, error) {
					return k.Chunk(c.ctx, agentsmd.ChunkOptions{Run: c.String("run"), MaxRecords: c.Int("max-records"), MaxChars: c.Int("max-chars"), Again: c.Bool("again")})
				}, func(out agentsmd.Chunked) {
					for _, f := range out.Chunks {
						c.out("%s", f.Path)
					}
					for _, w := range out.Warnings {
						c.say("warning: %s", w)
					}
				})
			}),
		},
		{
			Name: "guide", Usage: "how to review: the text for a model", UsageText: "agentsmd guide",
			Action: action(0, func(c *call) error {
				asJSON, err := c.json()
				if err != nil {
					return err
				}
				prompt, err := fs.ReadFile(schema.Files, schemaFile(agentsmd.RuleDecisions.Form, "prompt.md"))
				if err == nil && asJSON {
					return c.printJSON(guideDocument{1, agentsmd.GuideVersion, agentsmd.Guide, string(prompt)})
				}
				if err == nil {
					_, err = fmt.Fprintf(c.Stdout, "%s\n%s", agentsmd.Guide, prompt)
				}
				return err
			}),
		},
		{
			Name: "evidence", Usage: "show lines of a record's transcript, redacted; nothing is kept",
			UsageText: "agentsmd evidence --record R-0123456789abcdef --lines 10-60 --kinds user,tool",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "record", Usage: "which `RECORD`", Required: true},
				&cli.StringFlag{Name: "lines", Usage: "lines `A-B` of the transcript, 500 at most; those of the record if left out"},
				&cli.StringFlag{Name: "kinds", Usage: "which `KINDS` of lines: user,assistant,tool,lifecycle"},
				&cli.IntFlag{Name: "max-events", Value: agentsmd.DefaultEvents, Usage: "at most `N` lines"},
				&cli.IntFlag{Name: "max-chars", Value: agentsmd.DefaultEventChars, Usage: "at most `N` characters of each"},
				runFlag(),
			},
			Action: action(0, showEvidence),
		},
		group(&cli.Command{
			Name: "submit", Usage: "take decisions as JSON from standard input",
			UsageText: "agentsmd submit decisions --chunk 1 < decisions.json\nagentsmd submit global < review.json",
			Subcommands: []*cli.Command{
				{
					Name: "decisions", Usage: "the decisions about a chunk", UsageText: "agentsmd submit decisions --chunk 1 < decisions.json\n\nA minimal payload:\n" + agentsmd.RuleDecisions.Example,
					Flags: append([]cli.Flag{&cli.IntFlag{Name: "chunk", Usage: "which chunk: `N`", Required: true}, runFlag()}, submitFlags()...),
					Action: action(0, func(c *call) error {
						return c.takeRules(agentsmd.RuleDecisions.Form, func(k *agentsmd.Keeper, door boundary.Door) (boundary.Answer, error) {
							return k.SubmitDecisions(c.ctx, c.input(), c.String("run"), c.Int("chunk"), door)
						})
					}),
				},
				{
					Name: "global", Usage: "the outcomes of all candidates for a global rule", UsageText: "agentsmd submit global < review.json\n\nA minimal payload:\n" + agentsmd.GlobalReview.Example,
					Flags: append([]cli.Flag{runFlag()}, submitFlags()...),
					Action: action(0, func(c *call) error {
						return c.takeRules(agentsmd.GlobalReview.Form, func(k *agentsmd.Keeper, door boundary.Door) (boundary.Answer, error) {
							return k.SubmitGlobal(c.ctx, c.input(), c.String("run"), door)
						})
					}),
				},
			},
		}),
		{
			Name: "candidates", Usage: "the candidates for a global rule, once every chunk has its decisions", UsageText: "agentsmd candidates > candidates.json",
			Flags: []cli.Flag{runFlag()},
			Action: action(0, func(c *call) error {
				return c.keeper(func(k *agentsmd.Keeper) error {
					out, err := k.Candidates(c.ctx, c.String("run"))
					if err != nil {
						return c.printRefusal(err)
					}
					return c.printJSON(out)
				})
			}),
		},
	}
}

type guideDocument struct {
	SchemaVersion int    `json:"schema_version"`
	Version       int    `json:"guide_version"`
	Guide         string `json:"guide"`
	Prompt        string `json:"prompt"`
}

func (c *call) takeRules(form *boundary.Form, take func(*agentsmd.Keeper, boundary.Door) (boundary.Answer, error)) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.keeper(func(k *agentsmd.Keeper) error {
		door, err := c.door(form)
		if err != nil {
			return err
		}
		answer, err := take(k, door)
		if err != nil {
			return c.printRefusal(err)
		}
		if asJSON {
			return c.printJSON(answer)
		}
		if answer.Replayed {
			c.say("this was submitted before: the answer is the same, and nothing was written")
		}
		c.say("taken: %d", len(answer.IDs))
		return nil
	})
}

func collect(c *call) error {
	o := agentsmd.CollectOptions{
		Sources: c.StringSlice("source"), Sessions: c.StringSlice("session"), ExplicitRoots: c.StringSlice("project-root"), OnlyRoots: c.StringSlice("only-root"),
		Settle: c.Duration("settle"), MaxRecords: c.Int("max-records"), QuotaMin: c.Int("quota-min"),
	}
	for _, dirs := range [][]string{o.ExplicitRoots, o.OnlyRoots} {
		for i := range dirs {
			dirs[i] = c.at(dirs[i])
		}
	}
	for _, s := range o.Sources {
		if s != "codex" && s != "claude-code" {
			return invalid("use codex or claude-code", "there is no source %q", s)
		}
	}
	if o.Settle < 0 {
		return invalid("write a time such as 15m, or 0s", "--settle is negative")
	}
	if o.QuotaMin < -1 || o.QuotaMin > 100 {
		return invalid("write a percentage", "--quota-min is 0 to 100")
	}
	if o.MaxRecords < 1 || o.MaxRecords > agentsmd.MaxRecords {
		return invalid("use 1 to 2000", "--max-records is %d", o.MaxRecords)
	}
	if s := c.String("since"); s != "" {
		var err error
		if o.Since, err = time.Parse(time.DateOnly, s); err != nil {
			if o.Since, err = time.Parse(time.RFC3339, s); err != nil {
				return invalid("write YYYY-MM-DD, or RFC 3339", "%q is no time", s)
			}
		}
	}
	for _, what := range c.StringSlice("include") {
		switch {
		case what == "processed":
			o.Processed = true
		case what == "noninteractive":
			o.Noninteractive = true
		case strings.HasSuffix(what, ".jsonl"):
			o.Files = append(o.Files, c.at(what))
		default:
			return invalid("use processed, noninteractive, or a FILE.jsonl", "there is nothing called %q to include", what)
		}
	}
	return answer(c, func(k *agentsmd.Keeper) (agentsmd.Collected, error) { return k.Collect(c.ctx, o) }, func(out agentsmd.Collected) {
		for _, w := range out.Warnings {
			c.say("warning: %s", w)
		}
		var left []string
		for _, name := range []string{"delegated", "noninteractive", "injected", "processed", "copies", "open", "filtered"} {
			if n := out.Counts[name]; n > 0 && !(name == "processed" && o.Processed) {
				left = append(left, fmt.Sprintf("%d %s", n, name))
			}
		}
		also := ""
		if len(left) > 0 {
			also = "; left out: " + strings.Join(left, ", ")
		}
		if out.Run == "" {
			c.say("nothing new in %d transcripts%s", out.Counts["files"], also)
			if out.Counts["open"] > 0 {
				c.say("hint: what is being said in this very conversation counts with --session latest")
			}
			return
		}
		c.out("%s", out.Run)
		if o.Processed {
			also = fmt.Sprintf(" to decide about, %d settled ones as evidence%s", out.Counts["processed"], also)
		}
		c.say("%s%s", finding.Count(out.Counts["records"], "record"), also)
		if out.More {
			c.say("there is more: collect again when this run is published")
		}
	})
}

// atLeast refuses a number below the least.
func (c *call) atLeast(flag string, least int) error {
	if n := c.Int(flag); n < least {
		return invalid(fmt.Sprintf("use %d or more", least), "--%s is %d", flag, n)
	}
	return nil
}

func showEvidence(c *call) error {
	if err := cmp.Or(c.atLeast("max-events", 1), c.atLeast("max-chars", 1)); err != nil {
		return err
	}
	o := agentsmd.EvidenceOptions{Run: c.String("run"), Record: c.String("record"), MaxEvents: c.Int("max-events"), MaxChars: c.Int("max-chars")}
	if lines := c.String("lines"); lines != "" {
		if n, err := fmt.Sscanf(lines, "%d-%d", &o.Start, &o.End); n != 2 || err != nil {
			return invalid("write --lines A-B", "%q is no range of lines", lines)
		}
	}
	if kinds := c.String("kinds"); kinds != "" {
		o.Kinds = strings.Split(kinds, ",")
		for _, k := range o.Kinds {
			if !slices.Contains(agentsmd.EventKind("").EnumValues(), k) {
				return invalid("use user, assistant, tool or lifecycle", "there is no kind %q", k)
			}
		}
	}
	return answer(c, func(k *agentsmd.Keeper) (agentsmd.EvidenceEvents, error) { return k.Evidence(c.ctx, o) }, func(out agentsmd.EvidenceEvents) {
		for _, e := range out.Events {
			fmt.Fprintf(c.Stdout, "%d %s\n%s\n\n", e.Line, e.Kind, finding.CleanLines(e.Text))
		}
		if out.Truncated {
			c.say("there is more: ask for fewer lines, or raise --max-events or --max-chars")
		}
	})
}
