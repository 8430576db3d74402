package commands

import "github.com/urfave/cli/v2"

// Assent is the program with everything in it; the installed hooks call this one.
func Assent(p *Process) *cli.App {
	return root(&cli.App{
		Name:  "assent",
		Usage: "nothing that an agent decides enters the repository without assent",
		UsageText: "assent init --hooks both        make a decision base and install the hooks\n" +
			"assent lint                     judge what the next commit will hold\n" +
			"assent skmb --help              the commands for decisions\n" +
			"assent demo                     see it work on a throw-away repository",
		Commands: []*cli.Command{
			initCommand("assent"), lintCommand(), explainCommand(), skmbCommand(), agentsmdCommand(), pick("approve"), pick("reject"), inboxCommand(), reportCommand(), installCommand(), uninstallCommand(), doctorCommand(), recoverCommand(), auditCommand(), schemaCommand(), submitCommand(), probeCommand(), demoCommand(), completionCommand(), hookCommand(),
		},
	})
}

// pick is a command of skmb as a command of assent itself: the acts that every domain has.
func pick(name string) *cli.Command {
	for _, c := range writingCommands() {
		if c.Name == name {
			return c
		}
	}
	panic("no command " + name)
}

func root(app *cli.App) *cli.App {
	app.Action = func(c *cli.Context) error {
		if c.Bool("explain-lifecycle") {
			return printLifecycle(c, app.Name)
		}
		if c.NArg() == 0 {
			return cli.ShowAppHelp(c)
		}
		return unknownCommand(app.Name, c.Args().First(), app.Commands)
	}
	return app
}

// Skmb is the decision base alone.
func Skmb(p *Process) *cli.App {
	return root(&cli.App{Name: "skmb", Usage: "the decision base and its gate", Commands: skmbCommands(), Flags: []cli.Flag{lifecycleFlag()}})
}

// Agentsmd is the keeping of learned rules alone.
func Agentsmd(p *Process) *cli.App {
	return root(&cli.App{Name: "agentsmd", Usage: "rules for agents, learned from what a user said", Commands: agentsmdCommands(), Flags: []cli.Flag{lifecycleFlag()}})
}
