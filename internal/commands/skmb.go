package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assent/boundary"
	"assent/config"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
	"assent/skmb"
)

func skmbCommand() *cli.Command {
	return group(&cli.Command{
		Name: "skmb", Usage: "the decision base: propose, decide, read, check",
		UsageText:   "assent skmb submit < payload.json\nassent skmb approve SKMB-2026-06-11-003\nassent skmb list --status proposed",
		Subcommands: skmbCommands(),
		Flags:       []cli.Flag{lifecycleFlag()},
	})
}

// lifecycleFlag prints the state machine of a record.
func lifecycleFlag() cli.Flag {
	return &cli.BoolFlag{Name: "explain-lifecycle", Usage: "print from which status which command leads to which"}
}

// lifecycle is the state machine as lines of text.
func lifecycle() []string {
	out := []string{fmt.Sprintf("%-19s  %-14s  %-19s  %s", "from", "command", "to", "who")}
	for _, t := range skmb.Lifecycle {
		out = append(out, fmt.Sprintf("%-19s  %-14s  %-19s  %s", cmp.Or(t.From, "-"), t.Event, t.To, t.Who))
	}
	return out
}

// printLifecycle prints the state machine of the domain that a group or program is about.
func printLifecycle(c *cli.Context, domain string) error {
	lines := lifecycle()
	if domain == "agentsmd" {
		lines = lifecycleOfRules()
	}
	for _, line := range lines {
		fmt.Fprintln(c.App.Writer, strings.TrimRight(line, " "))
	}
	return nil
}

func skmbCommands() []*cli.Command {
	return append([]*cli.Command{initCommand("skmb"), checkCommand(), newCommand()}, slices.Concat(writingCommands(), readingCommands(), askingCommands(), mergingCommands(), historyCommands(), mendingCommands())...)
}

func checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "run the checks of the decision base",
		UsageText: "skmb check                 what the next commit will hold\nskmb check --worktree      the files as they stand on disk",
		Flags:     modeFlags(),
		Action:    action(0, func(c *call) error { return c.lint("skmb/") }),
	}
}

// rootFlag chooses a base where there are several.
func rootFlag() cli.Flag {
	return &cli.StringFlag{Name: "root", Usage: "directory of the base, where .assent.yaml has several: `DIR`"}
}

// yesFlags say how a designer said yes.
func yesFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "statement", Usage: "record these `WORDS` of the designer; a claim, shown as one"},
		&cli.StringFlag{Name: "quoted-from", Usage: "where they were said: `chat`, issue, mail or meeting"},
		&cli.BoolFlag{Name: "sign", Usage: "sign the text with an SSH key"},
		&cli.StringFlag{Name: "key", Usage: "key `FILE` for --sign; without it user.signingKey of Git"},
		&cli.BoolFlag{Name: "print", Usage: "print the text to be signed elsewhere: ssh-keygen -Y sign -n assent -f KEY FILE"},
		&cli.StringFlag{Name: "signature", Usage: "`FILE` with the signature of the text that --print gave"},
		&cli.StringFlag{Name: "digest", Usage: "refuse if the text has another digest than `SHA256`"},
		rootFlag(), formatFlag, dirFlag,
	}
}

func writingCommands() []*cli.Command {
	common := []cli.Flag{rootFlag(), formatFlag, dirFlag}
	return []*cli.Command{
		{
			Name: "submit", Usage: "take a proposal as JSON from standard input",
			UsageText: "skmb submit < payload.json\nskmb submit --from OPEN-001 < payload.json\n\nA minimal payload:\n" + skmb.DecisionKind.Example,
			Flags:     slices.Concat([]cli.Flag{&cli.StringFlag{Name: "from", Usage: "the open question that it answers: `OPEN-NNN`"}}, common, submitFlags()),
			Action:    action(0, submit),
		},
		{
			Name: "approve", Usage: "record that the designer decided", ArgsUsage: "ID...",
			UsageText: "skmb approve SKMB-2026-06-11-003\n    shows the text and asks for a code on your terminal\n" +
				"skmb approve SKMB-2026-06-11-003 --statement \"designer chose option 2\"\n    records a quotation, as a claim",
			Flags: yesFlags(),
			Action: action(-1, func(c *call) error {
				if c.NArg() == 0 {
					return invalid("skmb list --status proposed", "which record?")
				}
				return c.write(func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error) {
					yes, err := c.yes(w, r)
					if err != nil {
						return skmb.Done{}, err
					}
					return w.Approve(c.ctx, c.Args().Slice(), yes)
				})
			}),
		},
		{
			Name: "permit-default", Usage: "record that the designer permits going on undecided until a date", ArgsUsage: "ID",
			UsageText: "skmb permit-default SKMB-2026-06-11-003 --review-by 2026-09-01 --statement \"go on with the default for now\"",
			Flags:     append([]cli.Flag{&cli.StringFlag{Name: "review-by", Usage: "when it must be looked at again: `YYYY-MM-DD`", Required: true}}, yesFlags()...),
			Action: one(func(c *call, w *skmb.Writer, r *repo.Repo, id string) (skmb.Done, error) {
				yes, err := c.yes(w, r)
				if err != nil {
					return skmb.Done{}, err
				}
				return w.PermitDefault(c.ctx, id, c.String("review-by"), yes)
			}),
		},
		{
			Name: "supersede", Usage: "let a record replace another", ArgsUsage: "OLD",
			UsageText: "skmb supersede SKMB-2026-06-11-001 --by SKMB-2026-08-01-002 --statement \"the new policy replaces it\"",
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "by", Usage: "the record that replaces it: `NEW`", Required: true},
				&cli.BoolFlag{Name: "partial", Usage: "it replaces a part only; the old record stays accepted"},
			}, yesFlags()...),
			Action: one(func(c *call, w *skmb.Writer, r *repo.Repo, id string) (skmb.Done, error) {
				yes, err := c.yes(w, r)
				if err != nil {
					return skmb.Done{}, err
				}
				return w.Supersede(c.ctx, id, c.String("by"), c.Bool("partial"), yes)
			}),
		},
		endCommand("reject", "say no to a proposal", skmb.EventReject, common),
		endCommand("withdraw", "take a proposal back", skmb.EventWithdraw, common),
		{
			Name: "open", Usage: "keep a question visible that is not decided", ArgsUsage: "[ID]",
			UsageText: "skmb open --context \"who wins when two operators answer at once?\" --pattern C --needed-before \"the write path\"\n" +
				"skmb open SKMB-2026-06-11-003      turn a proposal back into a question",
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "context", Usage: "the question: `TEXT`"},
				&cli.StringFlag{Name: "pattern", Usage: "`LETTERS` A to G"},
				&cli.StringFlag{Name: "needed-before", Usage: "what cannot go on without an answer: `TEXT`"},
				&cli.StringSliceFlag{Name: "path", Aliases: []string{"paths"}, Usage: "`PATTERN` of the code it is about; may be given again"},
			}, common...),
			Action: action(1, func(c *call) error {
				return c.write(func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error) {
					if c.NArg() == 1 {
						for _, name := range []string{"context", "pattern", "needed-before", "path"} {
							if c.IsSet(name) {
								return skmb.Done{}, invalid("leave it out; the record's own text is taken", "--%s does not go with a record", name)
							}
						}
						return w.Reopen(c.ctx, c.Args().First())
					}
					return w.Open(c.ctx, skmb.Question{Patterns: c.String("pattern"), Context: c.String("context"), NeededBefore: c.String("needed-before"), Paths: c.StringSlice("path")})
				})
			}),
		},
		{
			Name: "index", Usage: "write the rows of the index from the files",
			UsageText: "skmb index\nskmb index --check     print what it would change; exit 1 if anything",
			Flags:     append([]cli.Flag{&cli.BoolFlag{Name: "check", Usage: "change nothing, print the difference"}}, common...),
			Action:    action(0, index),
		},
	}
}

func endCommand(name, usage string, event skmb.Event, common []cli.Flag) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ID",
		UsageText: "skmb " + name + " SKMB-2026-06-11-003 --reason \"the case cannot occur any more\"",
		Flags:     append([]cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why: `TEXT`", Required: true}}, common...),
		Action: one(func(c *call, w *skmb.Writer, r *repo.Repo, id string) (skmb.Done, error) {
			return w.End(c.ctx, event, id, c.String("reason"))
		}),
	}
}

// one is the action of a verb on one record.
func one(run func(c *call, w *skmb.Writer, r *repo.Repo, id string) (skmb.Done, error)) cli.ActionFunc {
	return action(1, func(c *call) error {
		if c.NArg() == 0 {
			return invalid("skmb list", "which record?")
		}
		return c.write(func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error) { return run(c, w, r, c.Args().First()) })
	})
}

// withBase opens the repository and the base that the command is about.
func (c *call) withBase(run func(r *repo.Repo, root string) error) error {
	r, err := c.worktree()
	if err != nil {
		return err
	}
	defer r.Close()
	conf, err := c.config(r)
	if err != nil {
		return err
	}
	root := conf.Skmb.Roots[0]
	if c.IsSet("root") {
		if root = path.Clean(filepath.ToSlash(c.String("root"))); !slices.Contains(conf.Skmb.Roots, root) {
			return invalid("use one of "+strings.Join(conf.Skmb.Roots, ", "), "%s is no root of .assent.yaml", root)
		}
	} else if len(conf.Skmb.Roots) > 1 {
		return invalid("add --root with one of "+strings.Join(conf.Skmb.Roots, ", "), "this repository has several bases")
	}
	if err := c.checkedOut(r, root); err != nil {
		return err
	}
	return run(r, root)
}

// checkedOut refuses a base that the index has and the disk does not: in a sparse checkout
// it is no absent base, and nothing may be written in its place.
func (c *call) checkedOut(r *repo.Repo, root string) error {
	name := filepath.Join(r.Root, filepath.FromSlash(skmb.IndexPath(root)))
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if main := r.MainWorktree(); main != "" {
		if _, err := os.Lstat(filepath.Join(main, filepath.FromSlash(skmb.IndexPath(root)))); err == nil {
			if ignored, err := r.Ignored(c.ctx, skmb.IndexPath(root)); err == nil && ignored {
				return invalid("add -C "+main, "the base at %s is ignored by Git and stands in the main worktree", root)
			}
		}
	}
	skipped, err := r.NotCheckedOut(c.ctx, skmb.IndexPath(root))
	if err == nil && skipped {
		err = &failure{finding.ExitUnchecked, fmt.Errorf("the base at %s is not checked out here", root), "git sparse-checkout add " + root}
	}
	return err
}

// writer opens the base for a writing verb.
func (c *call) writer(run func(w *skmb.Writer, r *repo.Repo) error) error {
	return c.withBase(func(r *repo.Repo, root string) error {
		conf, err := c.config(r)
		if err != nil {
			return err
		}
		s, err := c.store(r)
		if err != nil {
			return err
		}
		defer s.Close()
		return run(&skmb.Writer{
			Store: s, Root: root, Tool: "assent " + Version(), Call: c.entry(r),
			Policy:    c.policy(r, conf),
			Tree:      func() finding.Tree { return repo.Disk(r.Root) },
			Elsewhere: func(ctx context.Context) ([]string, error) { return r.NamesOnBranches(ctx, skmb.DecisionsDir(root)) },
			Env: boundary.Env{Now: c.Now, Who: func(ctx context.Context) (string, string, error) {
				name, email, err := r.Identity(ctx)
				if err != nil {
					return "", "", &failure{finding.ExitInvalid, err, "git config user.name and user.email"}
				}
				return name, email, nil
			}},
		}, r)
	})
}

// policy is what a yes must be, and who may sign: as the last commit has it.
func (c *call) policy(r *repo.Repo, conf config.Config) skmb.Options {
	o := skmb.Options{Required: hooks.Required(conf), Touch: conf.Approval.Touch, Env: c.Env}
	if head, err := r.Commit(c.ctx, "HEAD"); err == nil {
		o.Signers, _ = hooks.Signers(head, conf) // what cannot be read lists nobody, so no signature holds
	}
	return o
}

// written is the document of a writing verb.
type written struct {
	SchemaVersion int      `json:"schema_version"`
	IDs           []string `json:"ids"`
	Files         []string `json:"files"`
}

func (c *call) write(run func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error)) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.writer(func(w *skmb.Writer, r *repo.Repo) error {
		done, err := run(w, r)
		if err != nil {
			return withHint(err)
		}
		if asJSON {
			return c.printJSON(written{1, done.IDs, done.Files})
		}
		if len(done.IDs) > 0 {
			c.out("%s", strings.Join(done.IDs, " "))
		}
		c.sayFiles(r, done)
		return nil
	})
}

// sayFiles says what to add: a verb stages nothing.
func (c *call) sayFiles(r *repo.Repo, done skmb.Done) {
	if len(done.Files) == 0 {
		return
	}
	files := make([]string, len(done.Files))
	for i, f := range done.Files {
		files[i] = finding.Shell(c.fromHere(r, f))
	}
	if ignored, err := r.Ignored(c.ctx, done.Files[0]); err == nil && ignored {
		c.say("changed, and ignored by Git: %s", strings.Join(files, " "))
	} else {
		c.say("changed, to be added: git add %s", strings.Join(files, " "))
	}
}

// fromHere is a path of the repository as a command that is typed next would name it.
func (c *call) fromHere(r *repo.Repo, name string) string {
	here, err := os.Getwd()
	if err != nil {
		return name
	}
	if in, err := filepath.Rel(r.Root, here); err != nil || !filepath.IsLocal(in) {
		return name // it will be typed with -C
	}
	if rel, err := filepath.Rel(here, filepath.Join(r.Root, filepath.FromSlash(name))); err == nil {
		return rel
	}
	return name
}

// withHint gives an input error of a domain its hint on the command line.
func withHint(err error) error {
	var input *skmb.InputError
	if errors.As(err, &input) {
		return &failure{finding.ExitInvalid, err, input.Next}
	}
	var policy *skmb.PolicyError
	if errors.As(err, &policy) {
		return &failure{finding.ExitFindings, err, policy.Next}
	}
	return err
}

func submit(c *call) error {
	if _, err := c.json(); err != nil { // before anything is written
		return err
	}
	return c.writer(func(w *skmb.Writer, r *repo.Repo) error {
		door, err := c.door(skmb.DecisionKind.Form)
		if err != nil {
			return err
		}
		answer, done, err := w.Submit(c.ctx, c.input(), c.String("from"), door)
		return c.proposed(w, r, answer, done, err)
	})
}

func index(c *call) error {
	if !c.Bool("check") {
		return c.write(func(w *skmb.Writer, r *repo.Repo) (skmb.Done, error) { return w.Index(c.ctx) })
	}
	return c.withBase(func(r *repo.Repo, root string) error {
		before, after, err := skmb.IndexRewrite(repo.Disk(r.Root), root)
		if err != nil {
			return withHint(err)
		}
		if string(before) == string(after) {
			return nil
		}
		fmt.Fprint(c.Stdout, finding.CleanLines(lineDiff(skmb.IndexPath(root), string(before), string(after))))
		return exit(finding.ExitFindings)
	})
}
