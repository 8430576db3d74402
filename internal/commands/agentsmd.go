package commands

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"assent/agentsmd"
	"assent/approval"
	"assent/boundary"
	"assent/config"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
	"assent/store"
)

func agentsmdCommand() *cli.Command {
	return group(&cli.Command{
		Name: "agentsmd", Usage: "rules for agents, learned from what you said: collect, review, confirm",
		UsageText:   "assent agentsmd collect\nassent agentsmd reconcile\nassent agentsmd apply P-3fa9 1 2 --statement \"yes, both\"",
		Subcommands: agentsmdCommands(),
		Flags:       []cli.Flag{lifecycleFlag()},
	})
}

func agentsmdCommands() []*cli.Command {
	var out []*cli.Command
	for _, c := range append(append(reviewCommands(), ruleCommands()...), lookCommands()...) {
		if c.Name == "submit" { // what was piped into it was not taken
			c.Action = func(ctx *cli.Context) error {
				if ctx.NArg() > 0 {
					return unknownCommand("agentsmd submit", ctx.Args().First(), c.Subcommands)
				}
				return invalid("agentsmd submit decisions --chunk N, or agentsmd submit global", "what is submitted?")
			}
		}
		add := func(c *cli.Command) {
			for _, f := range homeFlags() {
				if findFlag(c.Flags, f.Names()[0]) == nil {
					c.Flags = append(c.Flags, f)
				}
			}
		}
		for _, sub := range c.Subcommands {
			add(sub)
		}
		if len(c.Subcommands) == 0 {
			add(c)
		}
		out = append(out, c)
	}
	return out
}

func homeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "home", Usage: "private state of assent: `DIR`; else ASSENT_HOME, $XDG_STATE_HOME/assent or ~/.local/state/assent"},
		&cli.StringFlag{Name: "codex-home", Usage: "home of Codex: `DIR`; else CODEX_HOME or ~/.codex"},
		&cli.StringFlag{Name: "claude-home", Usage: "home of Claude Code: `DIR`; else CLAUDE_CONFIG_DIR or ~/.claude"},
		&cli.DurationFlag{Name: "wait", Usage: "wait `TIME` for another process to end, such as 10s"},
		formatFlag, dirFlag,
	}
}

func runFlag() cli.Flag {
	return &cli.StringFlag{Name: "run", Usage: "which `RUN`; the only open one if left out"}
}

// lifecycleOfRules is the state machine of a decision about a rule.
func lifecycleOfRules() []string {
	out := []string{fmt.Sprintf("%-9s  %-52s  %-10s  %s", "from", "event", "to", "effects")}
	for _, t := range agentsmd.Lifecycle {
		out = append(out, fmt.Sprintf("%-9s  %-52s  %-10s  %s", t.From, t.Event, t.To, t.Effects))
	}
	return out
}

// home is a directory that a flag, a variable or a default names.
func (c *call) home(flag, variable, otherwise string) (string, error) {
	dir := c.String(flag)
	if dir == "" {
		dir = repo.Variable(c.Env, variable)
	}
	if dir == "" && flag == "home" {
		dir = hooks.StateHome(c.Env)
	} else if user := cmp.Or(repo.Variable(c.Env, "HOME"), repo.Variable(c.Env, "USERPROFILE")); dir == "" && user != "" {
		dir = filepath.Join(user, otherwise)
	}
	if dir == "" {
		return "", &failure{finding.ExitUnchecked, errors.New("no home directory is known"), "set HOME, or give --" + flag + " DIR"}
	}
	return filepath.Abs(dir)
}

// answer prints what was asked of the private state: as JSON where that is wanted, else for a person.
func answer[T any](c *call, ask func(*agentsmd.Keeper) (T, error), show func(T)) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	return c.keeper(func(k *agentsmd.Keeper) error {
		out, err := ask(k)
		switch {
		case err != nil:
			return err
		case asJSON:
			return c.printJSON(out)
		}
		show(out)
		return nil
	})
}

// acts reports what was done to the rules.
func (c *call) acts(do func(*agentsmd.Keeper) (agentsmd.Report, error)) error {
	return c.keeper(func(k *agentsmd.Keeper) error {
		rep, err := do(k)
		if err != nil {
			return err
		}
		return c.report(rep)
	})
}

// keeper opens the private state for a command.
func (c *call) keeper(run func(*agentsmd.Keeper) error) error {
	home, err := c.home("home", "ASSENT_HOME", "")
	if err != nil {
		return err
	}
	k := &agentsmd.Keeper{Dir: filepath.Join(home, "agentsmd"), Random: rand.Reader, Git: repo.Foreign(c.Env), Policy: c.rulePolicy}
	k.CodexGiven = c.IsSet("codex-home")
	if k.CodexHome, err = c.home("codex-home", "CODEX_HOME", ".codex"); err != nil {
		return err
	}
	if k.ClaudeHome, err = c.home("claude-home", "CLAUDE_CONFIG_DIR", ".claude"); err != nil {
		return err
	}
	if root := agentsmd.Within(c.ctx, k.Dir, c.Env); root != "" {
		return agentsmd.HomeInWorktree(k.Dir, root)
	}
	k.Env = boundary.Env{Now: c.Now, Who: func(ctx context.Context) (string, string, error) {
		r, err := repo.Open(ctx, c.dir(), repo.Foreign(c.Env))
		if err != nil {
			return "", "", nil // outside of a repository nobody is known, and nothing needs him
		}
		defer r.Close()
		return r.Identity(ctx)
	}}
	if k.Store, err = store.Open(store.Options{Private: k.Dir, Anywhere: true, Now: c.Now, LockWait: c.Duration("wait"), Third: k.KeepThird, Fault: fault}); err != nil {
		return err
	}
	defer k.Store.Close()
	c.logged = new(boundary.Logged)
	k.Call = boundary.Call{Command: c.path(), Class: string(c.effect().class), Args: c.redacted(), Tool: boundary.Tool{Version: "assent " + Version()}}.Begin(c.begun, c.logged)
	k.Step = ruleStep
	err = run(k)
	for _, d := range k.Done {
		c.say("first ended what was interrupted: %s", d)
	}
	err = c.refusal(err)
	c.noteRules(k, err)
	return err
}

// refusal is an error as a program reads it: with --format json it is a document of its own. What
// the store says of recovering is said with the name of this program's command.
func (c *call) refusal(err error) error {
	var quiet exit
	if err == nil || errors.As(err, &quiet) {
		return err
	}
	var heads *store.HeadsDamaged
	var log *store.DamagedLog
	if errors.As(err, &heads) || errors.As(err, &log) {
		err = &failure{exitCode(err), err, "restore it from a backup; if there is none, agentsmd recover --set-log-aside, on your own terminal"}
	}
	var journal *store.JournalDamaged
	if !errors.As(err, &journal) && (errors.Is(err, store.ErrRecovery) || errors.Is(err, store.ErrConflict)) {
		err = &failure{exitCode(err), errors.New(strings.ReplaceAll(err.Error(), "assent recover", "agentsmd recover")), "agentsmd recover"}
	}
	if asJSON, jsonErr := c.json(); jsonErr != nil || !asJSON {
		return err
	}
	doc := refusalDocument{SchemaVersion: 1, Exit: exitCode(err)}
	doc.Error.Message = err.Error()
	var coded interface{ Code() string }
	var own *agentsmd.Fault
	if errors.As(err, &own) {
		doc.Error.Code = own.Code
	} else if errors.As(err, &coded) {
		doc.Error.Code = coded.Code()
	}
	var hinter interface{ Hint() string }
	var f *failure
	if errors.As(err, &f) {
		doc.Error.Hint = f.hint
	} else if errors.As(err, &hinter) {
		doc.Error.Hint = hinter.Hint()
	}
	if printErr := c.printJSON(doc); printErr != nil {
		return printErr
	}
	return err
}

type refusalDocument struct {
	SchemaVersion int `json:"schema_version"`
	Exit          int `json:"exit"`
	Error         struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"error"`
}

// noteRules notes the call in the log of calls of the private state, and a refusal with its code in
// the log of what was learned.
func (c *call) noteRules(k *agentsmd.Keeper, err error) {
	class := c.effect().class
	if class == readOnly || class == "" || errors.Is(err, store.ErrBusy) {
		return
	}
	var own *agentsmd.Fault
	var coded interface{ Code() string }
	if errors.As(err, &own) {
		k.NoteRefusal(c.ctx, own.Code)
	} else if errors.As(err, &coded) {
		k.NoteRefusal(c.ctx, coded.Code())
	}
	if c.logged.Done() || err != nil && exitCode(err) != finding.ExitOK && exitCode(err) != finding.ExitFindings && exitCode(err) != finding.ExitUnchecked {
		return
	}
	e := k.Call
	e.Verdict = "accepted"
	if err != nil && exitCode(err) != finding.ExitOK {
		e.Verdict = "refused"
	}
	_, _ = k.Store.Update(c.ctx, func(tx *store.Tx) error { _, err := e.Append(tx, c.Now()); return err })
}

// rulePolicy holds a yes to what a project asks for, and its signature to the signers of the last
// commit.
func (c *call) rulePolicy(ctx context.Context, root string, yes agentsmd.Yes) error {
	least, err := c.ruleLevel(ctx, root)
	if err != nil {
		return err
	}
	if approval.LevelOf(yes.Method) < least {
		return agentsmd.TooWeak(root, yes, least)
	}
	if yes.Method != approval.MethodSignature {
		return nil
	}
	r, err := repo.Open(ctx, root, repo.Foreign(c.Env))
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := approval.ParseStatement(yes.Text)
	if err != nil {
		return err
	}
	_, err = c.verified(r, s, yes.Proof.Signature)
	return err
}

// ruleLevel is the least yes that a change of a project's rules asks for: the stricter of what
// the last commit says and what stands on disk.
func (c *call) ruleLevel(ctx context.Context, root string) (approval.Level, error) {
	level := approval.LevelStatement
	stricter := func(conf config.Config, err error) error {
		if err == nil {
			level = max(level, approval.LevelOf(string(conf.Approval.RequiredFor(conf.Approval.Domains.Agentsmd.Required))))
		}
		return err
	}
	if err := stricter(config.Load(repo.Disk(root))); err != nil {
		return level, err
	}
	r, err := repo.Open(ctx, root, repo.Foreign(c.Env))
	if errors.Is(err, repo.ErrNoRepo) {
		return level, nil
	}
	if err != nil {
		return level, err
	}
	defer r.Close()
	head, err := r.Commit(ctx, "HEAD")
	var unknown *repo.UnknownRevision
	if errors.As(err, &unknown) {
		return level, nil
	}
	if err != nil {
		return level, err
	}
	return level, stricter(config.Load(head))
}

// said is how a person says yes in this call.
func (c *call) said() (agentsmd.Said, error) {
	s := agentsmd.Said{Words: c.String("statement"), From: c.String("quoted-from")}
	switch n := len([]rune(s.Words)); {
	case !utf8.ValidString(s.Words):
		return s, invalid("write it in UTF-8", "--statement is no text")
	case c.IsSet("statement") && (strings.TrimSpace(s.Words) == "" || n > 2000):
		return s, invalid("quote what the user said", "--statement has 1 to 2000 characters")
	case s.From != "" && !slices.Contains([]string{"chat", "issue", "mail", "meeting"}, s.From):
		return s, invalid("use chat, issue, mail or meeting", "nothing is quoted from %q", s.From)
	case s.From != "" && s.Words == "":
		return s, invalid(`add --statement "…"`, "--quoted-from needs the words")
	case c.Bool("sign") && s.Words != "":
		return s, invalid("choose one", "--statement and --sign exclude each other")
	}
	s.Confirm = c.confirm
	return s, nil
}

// signRules signs what is confirmed. Whether the key counts is for each project to say.
func (c *call) signRules(s approval.Statement) (g approval.Given, err error) {
	key := c.String("key")
	if key == "" {
		r, err := c.open()
		if err == nil {
			defer r.Close()
			key, err = r.SigningKey(c.ctx)
		}
		if err != nil || key == "" {
			return g, invalid("--sign --key ~/.ssh/id_ed25519", "no key is named, and Git's user.signingKey is no SSH key")
		}
	}
	fmt.Fprint(c.Stderr, finding.CleanLines(s.Text()))
	armored, err := approval.Sign(c.ctx, c.Env, key, s)
	return approval.Given{Method: approval.MethodSignature, Statement: s, Proof: approval.Proof{Signature: armored}}, err
}

// confirm asks on the terminal, or signs.
func (c *call) confirm(s approval.Statement) (approval.Given, error) {
	if c.Bool("sign") {
		return c.signRules(s)
	}
	g, err := approval.Ask(c.ctx, c.Env, s, "Shall it be so?")
	if errors.Is(err, approval.ErrNoTerminal) {
		hint := "run it on your own terminal"
		if s.Action == "prefer" && strings.HasPrefix(s.Subject, "commit") || slices.Contains([]string{"apply", "withdraw", "restore"}, s.Action) {
			hint += `, or record what the user said: --statement "…"`
		}
		return g, &failure{finding.ExitFindings, err, hint}
	}
	return g, err
}

func sayFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "statement", Usage: "record these `WORDS` of the user; a claim, shown as one. Without it the change is confirmed on the terminal"},
		&cli.StringFlag{Name: "quoted-from", Usage: "where they were said: `chat`, issue, mail or meeting"},
		&cli.BoolFlag{Name: "sign", Usage: "sign the change with an SSH key, for a project that asks for a signature"},
		&cli.StringFlag{Name: "key", Usage: "key `FILE` for --sign; without it user.signingKey of Git"},
	}
}

// at is a path as an argument names it, seen from -C.
func (c *call) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.dir(), path)
}

// numbers are the arguments from the second on.
func (c *call) numbers() ([]int, error) {
	var out []int
	for _, a := range c.Args().Slice()[min(1, c.NArg()):] {
		n, err := strconv.Atoi(a)
		if err != nil || n < 1 {
			return nil, invalid("write the numbers that `agentsmd show PLAN` lists", "%q is no number of an item", a)
		}
		out = append(out, n)
	}
	return out, nil
}

func (c *call) planArgument() (string, error) {
	if c.NArg() == 0 {
		return "", invalid("`agentsmd status` lists them", "which plan?")
	}
	return c.Args().First(), nil
}

// report prints what became of each file.
func (c *call) report(rep agentsmd.Report) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	if asJSON {
		if err := c.printJSON(rep); err != nil {
			return err
		}
		return exitWith(rep.Exit)
	}
	for _, n := range rep.Notes {
		c.say("note: %s", n)
	}
	if len(rep.Results)+len(rep.Notes) == 0 {
		c.say("nothing is left to do")
	}
	for _, r := range rep.Results {
		numbers := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Numbers)), " "), "[]")
		status := r.Status
		if len(r.Notes) > 0 && strings.HasPrefix(r.Notes[0], "rejected: ") {
			status = "rejected"
		}
		if numbers != "" {
			numbers = "item " + numbers
		}
		line := fmt.Sprintf("%-8s  %s  %s", status, r.Path, numbers)
		switch {
		case r.Commit.OID != "":
			line += fmt.Sprintf("  committed %.10s", r.Commit.OID)
		case r.Commit.Reason != "" && r.Status == "applied":
			line += "  not committed: " + r.Commit.Reason
		}
		c.out("%s", strings.TrimRight(line, " "))
		for _, n := range r.Notes {
			c.say("note: %s", n)
		}
		if r.Error != nil {
			c.sayLines(r.Error.Message)
			if r.Error.Hint != "" {
				c.say("hint: %s", finding.CleanLines(r.Error.Hint))
			}
			switch {
			case r.Error.Rollback == "done" && r.Error.Code == "agentsmd/head-moved":
				c.say("the file is as before; the same command works now, on what HEAD is")
			case r.Error.Rollback == "done":
				c.say("the file, the index and HEAD are as before; the same command works once the cause is gone")
			}
		}
	}
	return exitWith(rep.Exit)
}

// refused prints a refusal of the boundary.
func (c *call) printRefusal(err error) error {
	var refusal *boundary.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	fmt.Fprintln(c.Stderr, finding.CleanLines(refusal.Error()))
	if asJSON, err := c.json(); err == nil && asJSON {
		if err := c.printJSON(refusal.Document()); err != nil {
			return err
		}
	}
	c.refused = true
	return exit(refusal.ExitCode())
}

func until(c *call) (string, error) {
	now := c.Now().UTC()
	if !c.IsSet("until") {
		return now.AddDate(0, 0, agentsmd.DefaultAutoDays).Format(time.DateOnly), nil
	}
	t, err := time.Parse(time.DateOnly, c.String("until"))
	if err != nil || t.Before(now.Truncate(24*time.Hour)) || t.After(now.AddDate(0, 0, agentsmd.MaxAutoDays)) {
		return "", invalid("write YYYY-MM-DD, a day within the next year", "Auto cannot be allowed until %q", c.String("until"))
	}
	return t.Format(time.DateOnly), nil
}
