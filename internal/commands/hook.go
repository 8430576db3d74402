package commands

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"assent/finding"
	"assent/hooks"
	"assent/hooks/shortcut"
)

func hookCommand() *cli.Command {
	return &cli.Command{
		Name:      "hook",
		Usage:     "what the installed hooks call",
		ArgsUsage: "EVENT [ARGUMENTS]",
		UsageText: "assent hook pre-commit      judge what is staged, as Git would\n" +
			"assent hook --list          the events and what runs at each",
		Flags:           []cli.Flag{&cli.BoolFlag{Name: "list", Usage: "print the events and their steps"}, dirFlag},
		SkipFlagParsing: false,
		Action: action(-1, func(c *call) error {
			if c.Bool("list") {
				for _, e := range hooks.Table {
					stops := "never stops Git"
					if e.MayStop() {
						stops = "may stop Git"
					}
					c.out("%-17s %-8s %s, %s; within %s", e.Name, e.Group, e.Input, stops, e.Limit)
					for _, s := range e.Steps {
						c.out("  %s", s.Name)
					}
				}
				return nil
			}
			if c.NArg() == 0 {
				return invalid("see `assent hook --list`", "which event?")
			}
			dir := ""
			if c.dir() != "." {
				dir = c.dir()
			}
			p := *c.Process
			p.Env = c.environ()
			return exitWith(RunHook(&p, dir, c.Args().First(), c.Args().Tail(), nil))
		}),
	}
}

// RunHook runs a hook event; it is also called directly, past the command-line library.
func RunHook(p *Process, dir, event string, args []string, begun *shortcut.Look) int {
	stdin := p.Stdin
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		stdin = strings.NewReader("") // a person runs it: Git has said nothing
	}
	return hooks.Run(background(), hooks.Call{
		Event: event, Dir: dir, Args: args, Env: p.Env, Stdin: stdin, Stderr: p.Stderr, Color: wantsColor(p), Now: p.Now, Build: shortcut.Build(), Begun: begun, Tool: "assent " + Version(),
	})
}

func exitWith(code int) error {
	if code == finding.ExitOK {
		return nil
	}
	return exit(code)
}
