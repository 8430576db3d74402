package commands

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"assent/boundary"
	"assent/finding"
	"assent/hooks"
	"assent/install"
	"assent/repo"
	"assent/skmb"
	"assent/store"
)

func installFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "hooks", Usage: "which hooks: `both`, pre-commit, post-commit or none"},
		&cli.StringSliceFlag{Name: "with", Usage: "one more hook: `EVENT`, or message"},
		&cli.StringSliceFlag{Name: "without", Usage: "leave out one hook: `EVENT`"},
		&cli.StringFlag{Name: "method", Usage: "how Git learns of them: `METHOD` is file (default), or config for Git 2.54 and newer"},
		&cli.StringFlag{Name: "bin", Usage: "program that the hooks run: `PATH`, taken as it is"},
		&cli.BoolFlag{Name: "dry-run", Usage: "print what would change, change nothing"},
		dirFlag,
	}
}

func installCommand() *cli.Command {
	return &cli.Command{
		Name:  "install",
		Usage: "put the hooks into this clone",
		UsageText: "assent install                 asks which hooks\n" +
			"assent install --hooks both\n" +
			"assent install --hooks both --dry-run\n" +
			"assent install --hooks both --without pre-push --with message\n" +
			"assent install --server             in a bare repository that others push to\n" +
			"assent install --print husky        what to add to a hook manager, or to CI",
		Flags: append(installFlags(),
			&cli.BoolFlag{Name: "server", Usage: "the pre-receive hook of a bare repository"},
			&cli.StringFlag{Name: "print", Usage: "print what to add to a `MANAGER`: " + strings.Join(install.Recipes(), ", ")}),
		Action: action(0, func(c *call) error {
			if name := c.String("print"); name != "" {
				text, ok := install.Recipe(name)
				if !ok {
					return invalid("one of "+strings.Join(install.Recipes(), ", "), "there is no recipe for %q", name)
				}
				_, err := fmt.Fprintln(c.Stdout, strings.TrimRight(text, "\n"))
				return err
			}
			return c.install(nil)
		}),
	}
}

// initCommand is `assent init` and `skmb init`.
func initCommand(program string) *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "make a decision base and install the hooks",
		UsageText: program + " init                  asks which hooks\n" +
			program + " init --hooks both     the whole gate\n" +
			program + " init --hooks none     files only",
		Flags: append(installFlags(), &cli.StringFlag{Name: "root", Usage: "directory of the base: `DIR` (default: the first root of .assent.yaml, docs/isme)"}),
		Action: action(0, func(c *call) error {
			return c.install(func(r *repo.Repo) (map[string][]byte, error) {
				conf, err := c.config(r)
				if err != nil {
					return nil, err
				}
				root := conf.Skmb.Roots[0]
				if c.IsSet("root") {
					root = filepath.ToSlash(filepath.Clean(c.String("root")))
					if !filepath.IsLocal(c.String("root")) || root == "." {
						return nil, invalid("name a directory below the top of the repository", "%q cannot be a base", c.String("root"))
					}
					if !slices.Contains(conf.Skmb.Roots, root) {
						return nil, invalid(fmt.Sprintf("write to .assent.yaml first:\nversion: 1\nskmb:\n  roots: [%s]", strings.Join(append(conf.Skmb.Roots, root), ", ")), "%s is no root that the gate looks at", root)
					}
				}
				if err := c.checkedOut(r, root); err != nil {
					return nil, err
				}
				return skmb.InitFiles(root, conf.Skmb.Archive.Dir), nil
			})
		}),
	}
}

// install asks the question, makes files if there are any to make, and puts the hooks in.
// Whatever refuses does so before anything is written.
func (c *call) install(files func(*repo.Repo) (map[string][]byte, error)) error {
	server := c.Bool("server")
	open := c.worktree
	if server {
		open = c.open
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	if ok, version, err := r.Has(c.ctx, repo.Oldest); err != nil {
		return err
	} else if !ok {
		return &failure{finding.ExitUnchecked, fmt.Errorf("this is Git %s", version), "assent needs Git " + repo.Oldest.String() + " or newer"}
	}
	var want map[string][]byte
	if files != nil {
		if want, err = files(r); err != nil {
			return err
		}
	}
	o := install.Options{Server: server, Bin: c.String("bin"), With: c.StringSlice("with"), Without: c.StringSlice("without")}
	if !server {
		if o, err = c.answer(r, o); err != nil {
			return err
		}
	}
	switch method := c.String("method"); method {
	case "file", "config":
		o.Method = install.Method(method)
	case "":
		if o.Method == "" {
			o.Method = install.Files
		}
	default:
		return invalid("use --method file or --method config", "there is no method %q", method)
	}
	if _, err := o.Events(); err != nil {
		return invalid("assent hook --list", "%v", err)
	}
	if o.Bin == "" {
		o.Bin = bakedPath(r)
	}
	plan, err := install.Make(c.ctx, r, o)
	var refused *install.Refused
	if errors.As(err, &refused) {
		return &failure{finding.ExitStale, err, refused.Next}
	}
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		for name := range want {
			if _, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(name))); err != nil {
				c.out("create  %s", name)
			}
		}
		c.printPlan(plan)
		return nil
	}
	s, err := c.store(r)
	if err != nil {
		return err
	}
	defer s.Close()
	if want != nil {
		if err := c.makeBase(s, want); err != nil {
			return err
		}
	}
	c.printPlan(plan)
	return install.Apply(c.ctx, s, r, plan)
}

func (c *call) printPlan(p *install.Plan) {
	switch {
	case p.Answer == install.None && !p.Server:
		c.out("no hooks were installed: unless another hook calls assent, nothing stops a commit with undecided records here; `assent install` changes that")
	case !p.Changes():
		c.out("the hooks are installed already, nothing to change")
	default:
		for _, line := range p.Lines() {
			c.out("%s", line)
		}
	}
	for _, note := range p.Notes {
		c.say("note: %s", note)
	}
}

// makeBase writes the files of a base that are not there yet.
func (c *call) makeBase(s *store.Store, want map[string][]byte) error {
	var made []string
	_, err := s.Update(c.ctx, func(tx *store.Tx) error {
		made = nil
		for _, name := range sortedKeys(want) {
			n := store.Name{Root: boundary.TreeRoot, Path: name}
			f, err := tx.Read(n)
			if err != nil {
				return err
			}
			if f.Digest != "" {
				continue
			}
			if err := tx.Put(store.Record, n, want[name], ""); err != nil {
				return err
			}
			made = append(made, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range made {
		c.out("create  %s", name)
	}
	return nil
}

// answer is what a person said about the hooks: by the flag, in an earlier run, or now on
// a terminal. There is no default. What an earlier run was told with it holds until another
// answer is given.
func (c *call) answer(r *repo.Repo, o install.Options) (install.Options, error) {
	if c.IsSet("hooks") {
		a, ok := install.ParseAnswer(c.String("hooks"))
		if !ok {
			return o, invalid("use --hooks both, pre-commit, post-commit or none", "there is no answer %q", c.String("hooks"))
		}
		o.Answer = a
		return o, nil
	}
	if _, err := os.Stat(hooks.Private(r)); err == nil {
		s, err := c.store(r)
		if err != nil {
			return o, err
		}
		defer s.Close()
		if st, ok, err := install.Remembered(s, r); err != nil || ok && st.Answer != "" {
			o.Answer = st.Answer
			o.With, o.Without = slices.Compact(slices.Sorted(slices.Values(append(o.With, st.With...)))), append(o.Without, st.Without...)
			o.With = slices.DeleteFunc(o.With, func(e string) bool { return slices.Contains(c.StringSlice("without"), e) })
			o.Without = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(o.Without))), func(e string) bool { return slices.Contains(c.StringSlice("with"), e) })
			if o.Method == "" {
				o.Method = st.Method
			}
			return o, err
		}
	}
	var err error
	o.Answer, err = c.ask()
	return o, err
}

// ask puts the question to a person.
func (c *call) ask() (install.Answer, error) {
	fmt.Fprint(c.Stderr, install.Question)
	in, ok := c.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", invalid("ask the person who owns this clone, then run it with --hooks both, pre-commit, post-commit or none", "the question needs an answer, and this is no terminal")
	}
	lines := bufio.NewReader(c.answers())
	for range 3 {
		fmt.Fprint(c.Stderr, "1, 2 or 3: ")
		line, err := lines.ReadString('\n')
		if a, ok := install.ParseAnswer(line); ok {
			return a, nil
		}
		if err != nil {
			break
		}
	}
	return "", invalid("run it again", "no answer was given; nothing was changed")
}

// bakedPath is the program that the hooks will run: assent as PATH spells it, or beside
// this program. A path that may vanish (temporary, cache, inside the repository) is not
// baked in.
func bakedPath(r *repo.Repo) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	name := "assent"
	if strings.HasSuffix(self, ".exe") {
		name += ".exe"
	}
	found := filepath.Join(filepath.Dir(self), name)
	if inPath, err := repo.LookPath(name); err == nil {
		if a, err := os.Stat(inPath); err == nil {
			if b, err := os.Stat(found); err != nil || os.SameFile(a, b) {
				found = inPath
			}
		}
	}
	if found, err = filepath.Abs(found); err != nil {
		return ""
	}
	if info, err := os.Stat(found); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	avoid := []string{os.TempDir(), r.Root, r.CommonDir}
	if cache, err := os.UserCacheDir(); err == nil {
		avoid = append(avoid, cache)
	}
	for _, dir := range avoid {
		if rel, err := filepath.Rel(dir, found); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return ""
		}
	}
	return filepath.ToSlash(found)
}
