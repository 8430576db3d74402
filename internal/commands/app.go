// Package commands wires the rooms to the command line. No rule lives here: a command
// reads its arguments, calls a room, and prints what it gave.
package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"assent/boundary"
	"assent/finding"
	"assent/hooks/shortcut"
	"assent/repo"
	"assent/store"
)

// Process is the outside world of one run, so that tests can stand in for it.
type Process struct {
	Argv   []string // without the program's name
	Env    []string // as os.Environ gives it
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Now    func() time.Time

	started bool // a command of ours began
}

// Main runs a program with the real world and returns its exit code. begun is what a hook saw
// before the program was whole, nil if there is nothing.
func Main(program func(*Process) *cli.App, begun *shortcut.Look) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that went away is a failed write, not a death
	p := &Process{Argv: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: shortcut.Now}
	if len(p.Argv) > 1 && p.Argv[0] == "hook" && !strings.HasPrefix(p.Argv[1], "-") {
		return RunHook(p, "", p.Argv[1], p.Argv[2:], begun) // every commit takes this way: no command tree is built for it
	}
	return p.Run(program(p))
}

// Run runs the app and turns its error into a message and an exit code.
func (p *Process) Run(app *cli.App) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	app.Writer, app.ErrWriter = p.Stdout, p.Stderr
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.HideHelpCommand = true
	app.HideVersion = true
	app.EnableBashCompletion = true
	app.OnUsageError = usageError
	tidy(app.Commands)
	if len(p.Argv) == 1 && (p.Argv[0] == "--version" || p.Argv[0] == "version") {
		fmt.Fprintln(p.Stdout, app.Name, Version())
		return finding.ExitOK
	}
	if len(p.Argv) > 0 && p.Argv[0] == "help" {
		p.Argv = append(slices.Clone(p.Argv[1:]), "--help")
	}
	args, dir, err := sortArgs(app, p.Argv)
	if info, statErr := os.Stat(dir); err == nil && dir != "" && (statErr != nil || !info.IsDir()) {
		err = invalid("write -C DIR", "%s is no directory", dir)
	}
	if err == nil {
		app.Metadata = map[string]any{"process": p, "dir": dir}
		err = app.RunContext(ctx, append([]string{app.Name}, args...))
		if err != nil && !p.started { // the library objected, not a command
			var f *failure
			if !errors.As(err, &f) {
				err = invalid(seeHelp(app.Name, commandPath(app, args)), "%v", err)
			}
		}
	}
	return p.report(app.Name, err)
}

// tidy takes habits of the library out of a command tree: help on stdout after a usage
// error, help commands everywhere, "(default: false)".
func tidy(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		c.HideHelpCommand = true
		for _, f := range c.Flags {
			if b, ok := f.(*cli.BoolFlag); ok {
				b.DisableDefaultText = true
			}
		}
		tidy(c.Subcommands)
	}
}

// failure is an error with an exit code and the next step.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
func (f *failure) ExitCode() int { return f.code }

func invalid(hint, format string, args ...any) error {
	return &failure{finding.ExitInvalid, fmt.Errorf(format, args...), hint}
}

// exit ends a command whose output is already written.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// codes gives the exit codes of the sentinels of other rooms.
var codes = []struct {
	err  error
	code int
}{
	{store.ErrBusy, finding.ExitBusy},
	{store.ErrRecovery, finding.ExitUnchecked},
	{store.ErrConflict, finding.ExitStale},
	{store.ErrStale, finding.ExitStale},
	{repo.ErrNoRepo, finding.ExitInvalid},
	{repo.ErrUnsafe, finding.ExitUnchecked},
}

func exitCode(err error) int {
	var e exit
	if errors.As(err, &e) {
		return int(e)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	var unknown *repo.UnknownRevision
	if errors.As(err, &unknown) && !unknown.Shallow {
		return finding.ExitInvalid
	}
	return finding.ExitUnchecked
}

func (p *Process) report(name string, err error) int {
	if err == nil {
		return finding.ExitOK
	}
	var quiet exit
	if !errors.As(err, &quiet) {
		fmt.Fprintf(p.Stderr, "%s: %s\n", name, finding.CleanLines(err.Error()))
		var f *failure
		var hinter interface{ Hint() string }
		if errors.As(err, &f) && f.hint != "" {
			fmt.Fprintf(p.Stderr, "hint: %s\n", finding.CleanLines(f.hint))
		} else if errors.As(err, &hinter) {
			fmt.Fprintf(p.Stderr, "hint: %s\n", finding.CleanLines(hinter.Hint()))
		}
	}
	return exitCode(err)
}

func usageError(c *cli.Context, err error, _ bool) error {
	return invalid(seeHelp(c.App.Name, c.Command.FullName()), "%v", err)
}

// seeHelp names the help of a command; that of the program itself has the program's name or none.
func seeHelp(program, command string) string {
	if command == program {
		command = ""
	}
	return fmt.Sprintf("see `%s --help`", strings.TrimSpace(program+" "+command))
}

// commandPath is the command that sorted arguments begin with.
func commandPath(app *cli.App, args []string) string {
	commands, path := app.Commands, []string{}
	for _, a := range args {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(a) })
		if i < 0 {
			break
		}
		path, commands = append(path, a), commands[i].Subcommands
	}
	return strings.Join(path, " ")
}

// call is one run of a command.
type call struct {
	*cli.Context
	*Process
	ctx context.Context

	begun     time.Time
	logged    *boundary.Logged // whether the log has an entry of it
	recovered bool             // something that was interrupted was completed
	refused   bool             // a submission was, and that is in the log
	only      []string         // files that findings are wanted of; all if empty
}

// input is standard input for a command that takes all of it.
func (c *call) input() io.Reader {
	if f, ok := c.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.say("reading from the terminal; Ctrl-D ends it, Ctrl-C gives up")
	}
	return c.answers()
}

// answers is standard input of a command that holds nothing while it waits for it: an interrupt
// then ends the program.
func (c *call) answers() io.Reader {
	return &interruptible{ctx: c.ctx, in: c.Stdin, stop: func() {
		fmt.Fprintf(c.Stderr, "%s: interrupted; nothing was written\n", c.App.Name)
		os.Exit(finding.ExitUnchecked)
	}}
}

type interruptible struct {
	ctx  context.Context
	in   io.Reader
	stop func()
}

func (r *interruptible) Read(p []byte) (n int, err error) {
	done := make(chan struct{})
	go func() {
		n, err = r.in.Read(p)
		close(done)
	}()
	select {
	case <-done:
		return n, err
	case <-r.ctx.Done():
		r.stop()
		<-done
		return n, err
	}
}

// action makes a cli action of ours. A command that is given more arguments than it
// takes is a usage error; max < 0 takes any number.
func action(max int, run func(*call) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if max >= 0 && c.NArg() > max {
			return invalid(seeHelp(c.App.Name, c.Command.FullName()), "unexpected argument %q", c.Args().Get(max))
		}
		p := c.App.Metadata["process"].(*Process)
		p.started = true
		this := &call{Context: c, Process: p, ctx: c.Context, begun: p.Now()}
		err := run(this)
		this.logAfter(err)
		return err
	}
}

// group is a command that only holds others.
func group(c *cli.Command) *cli.Command {
	c.Action = func(ctx *cli.Context) error {
		if ctx.Bool("explain-lifecycle") {
			return printLifecycle(ctx, c.Name)
		}
		if ctx.NArg() == 0 {
			return cli.ShowSubcommandHelp(ctx)
		}
		return unknownCommand(ctx.App.Name+" "+ctx.Command.Name, ctx.Args().First(), c.Subcommands)
	}
	c.HideHelpCommand = true
	return c
}

func unknownCommand(parent, name string, known []*cli.Command) error {
	hint := fmt.Sprintf("see `%s --help`", parent)
	for _, k := range known {
		if strings.HasPrefix(k.Name, name) || strings.HasPrefix(name, k.Name) || within1(k.Name, name) {
			hint = fmt.Sprintf("did you mean `%s %s`?", parent, k.Name)
		}
	}
	return invalid(hint, "there is no command %q", name)
}

// within1 reports whether two words differ by one letter more, less, swapped or changed.
func within1(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch {
	case len(a) == len(b)+1:
		return a[1:] == b
	case len(b) == len(a)+1:
		return b[1:] == a
	case len(a) == len(b) && len(a) > 0:
		return a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
	}
	return false
}

// Flags that more than one command has.
var (
	formatFlag = &cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the output: text or json"}
	dirFlag    = &cli.StringFlag{Name: "C", Usage: "work in `DIR`"}
)

// json reports whether JSON was asked for. An unknown format is a usage error.
func (c *call) json() (bool, error) {
	switch f := c.String("format"); f {
	case "text", "":
		return false, nil
	case "json":
		return true, nil
	default:
		return false, invalid("use --format text or --format json", "there is no format %q", f)
	}
}

// printJSON writes one document.
func (c *call) printJSON(v any) error {
	b, err := finding.Document(v)
	if err != nil {
		return err
	}
	_, err = c.Stdout.Write(b)
	return err
}

// say writes a line for a person to stderr.
func (c *call) say(format string, args ...any) {
	fmt.Fprintln(c.Stderr, finding.Clean(fmt.Sprintf(format, args...)))
}

// sayLines writes a message of several lines to stderr.
func (c *call) sayLines(text string) { fmt.Fprintln(c.Stderr, finding.CleanLines(text)) }

// out writes a line of the result to stdout.
func (c *call) out(format string, args ...any) {
	fmt.Fprintln(c.Stdout, finding.Clean(fmt.Sprintf(format, args...)))
}

// dir is the directory to work in.
func (c *call) dir() string {
	dir, _ := c.App.Metadata["dir"].(string)
	if dir == "" {
		return "."
	}
	return dir
}

// open opens the repository.
func (c *call) open() (*repo.Repo, error) { return repo.Open(c.ctx, c.dir(), c.environ()) }

// environ is the caller's environment. With -C into another repository than the caller's the
// variables that tie it to the caller's are dropped.
func (c *call) environ() []string {
	if c.dir() == "." {
		return c.Env
	}
	foreign := repo.Foreign(c.Env)
	there, err := repo.Open(c.ctx, c.dir(), foreign)
	if err != nil {
		return foreign
	}
	defer there.Close()
	here, err := repo.Open(c.ctx, ".", c.Env)
	if err != nil {
		return foreign
	}
	defer here.Close()
	if here.CommonDir == there.CommonDir {
		return c.Env
	}
	return foreign
}

// worktree is open for commands that need files.
func (c *call) worktree() (*repo.Repo, error) {
	r, err := c.open()
	if err == nil && r.Bare() {
		return nil, invalid("run it in a worktree", "a bare repository has no files to work on")
	}
	return r, err
}

// color reports whether stderr takes colour.
func (c *call) color() bool {
	switch c.String("color") {
	case "always":
		return true
	case "never":
		return false
	}
	return wantsColor(c.Process)
}

func wantsColor(p *Process) bool {
	for _, kv := range p.Env {
		if k, v, _ := strings.Cut(kv, "="); k == "NO_COLOR" && v != "" || k == "TERM" && v == "dumb" {
			return false
		}
	}
	f, ok := p.Stderr.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// sortArgs puts flags before arguments, which the flag package wants and people do not,
// takes -C out, and writes --json as --format json. It walks down the command tree by the
// words that name commands.
func sortArgs(app *cli.App, args []string) (sorted []string, dir string, err error) {
	if n := len(args); n > 0 && args[n-1] == completionFlag { // it must stay last
		sorted, dir, err = sortArgs(app, args[:n-1])
		return append(sorted, completionFlag), dir, err
	}
	commands, flags := app.Commands, app.Flags
	var path, opts, rest []string
	var seen []cli.Flag
	leaf := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case a == "-C":
			if i++; i == len(args) {
				return nil, "", invalid("write -C DIR", "-C needs a directory")
			}
			dir = filepath.Join(dir, args[i])
			if filepath.IsAbs(args[i]) {
				dir = args[i]
			}
		case a == "--json":
			opts = append(opts, "--format", "json")
		case strings.HasPrefix(a, "-") && len(a) > 1:
			if f := findFlag(flags, a); f != nil && slices.Contains(seen, f) {
				return nil, "", invalid("give it once", "%s is given twice", a)
			} else if _, many := f.(*cli.StringSliceFlag); f != nil && !many {
				seen = append(seen, f)
			}
			opts = append(opts, a)
			known := flags
			if !leaf && findFlag(flags, a) == nil { // it stands before the command that it belongs to
				known = allFlags(commands)
			}
			if takesValue(known, a) {
				if i++; i == len(args) || strings.HasPrefix(args[i], "--") && findFlag(flags, args[i]) != nil {
					return nil, "", invalid("write "+a+"=VALUE", "%s needs a value", a)
				}
				opts = append(opts, args[i])
			}
		case !leaf:
			j := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(a) })
			if j < 0 {
				leaf = true
				rest = append(rest, a)
				continue
			}
			path = append(path, a)
			commands, flags = commands[j].Subcommands, commands[j].Flags
			leaf = len(commands) == 0
		default:
			rest = append(rest, a)
		}
	}
	sorted = append(path, opts...)
	if len(rest) > 0 {
		sorted = append(append(sorted, "--"), rest...)
	}
	return sorted, dir, nil
}

// allFlags are those of all commands below some.
func allFlags(commands []*cli.Command) (out []cli.Flag) {
	for _, c := range commands {
		out = append(append(out, c.Flags...), allFlags(c.Subcommands)...)
	}
	return out
}

// findFlag returns the flag that a word names, with or without a value behind it.
func findFlag(flags []cli.Flag, arg string) cli.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

func takesValue(flags []cli.Flag, arg string) bool {
	f, ok := findFlag(flags, arg).(cli.DocGenerationFlag)
	return ok && f.TakesValue() && !strings.Contains(arg, "=")
}

// Version names the build.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
