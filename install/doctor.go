package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"assent/finding"
	"assent/hooks"
	"assent/hooks/shortcut"
	"assent/repo"
)

// Codes are what doctor finds.
var Codes = []finding.Check{
	code("missing", finding.Error, "no program of ours runs at an event", "The answer to the installer's question asks for this event, and nothing that Git runs there calls `assent hook`."),
	code("wrong-path", finding.Error, "the hooks stand where Git does not look", "They were installed into one directory, and core.hooksPath or a moved repository now names another."),
	code("hooks-off", finding.Error, "Git runs no hooks here", "core.hooksPath is empty or /dev/null."),
	code("not-executable", finding.Error, "a hook file cannot be executed", "Git leaves such a hook out, with a hint at most."),
	code("crlf", finding.Error, "the first line of a hook ends in CR LF", "The system then looks for an interpreter whose name ends in a carriage return."),
	code("interpreter", finding.Error, "the interpreter of a hook is missing", "The program that the first line of the hook names is not there."),
	code("binary-missing", finding.Error, "the program of the hook is gone", "A guard stops every commit, and after a commit nothing is archived."),
	code("binary-other", finding.Error, "the hook runs another program than it was made for", "The path that was written into the hook is gone, and `assent` from PATH answers instead; or it answers as another version."),
	code("replaced", finding.Error, "a hook of ours was edited or replaced", "What stands there is not what was installed, byte for byte."),
	code("twice", finding.Warning, "an event runs this program twice", "It is called by more than one of: the hook file, a configured hook, a hook manager."),
	code("client-old", finding.Warning, "another Git on PATH is too old", "A client that uses it ignores configured hooks silently, or cannot be served at all."),
	code("ci-missing", finding.Warning, "no CI job runs assent lint", "Hooks can be left out by anybody; the gate is `assent lint` in CI."),
	code("config", finding.Error, "the configuration or baseline cannot be read", "Every commit is stopped until it is mended."),
	code("base", finding.Warning, "there is no decision base here", "The hooks run and have nothing to judge."),
}

func code(name string, s finding.Severity, title, doc string) finding.Check {
	return finding.Check{Code: "install/" + name, Severity: s, Title: title, Doc: doc}
}

// Program is something that Git will run at an event.
type Program struct {
	Event  string `json:"event"`
	Kind   string `json:"kind"` // ours, foreign, chained (by ours), or configured
	What   string `json:"what"` // file, command line, or the key of one that is ours
	Scope  string `json:"scope,omitzero"`
	Origin string `json:"origin,omitzero"` // file that configures it
	Binary string `json:"binary,omitzero"` // that a hook file of ours will start
	Starts bool   `json:"starts"`
	Calls  bool   `json:"calls_assent"` // for this event, as far as its text shows
}

// Diagnosis is what doctor saw.
type Diagnosis struct {
	Git      string    // version
	Dir      string    // hooks directory, "" if there is none
	Programs []Program // in the order of the table, and for each event in the order in which Git runs them
	Findings []finding.Finding
	Notes    []string
}

// Doctor looks at a clone. It reads, and starts no program but Git and this one.
type Doctor struct {
	Repo    *repo.Repo
	State   State // what was installed, zero if nothing was
	Version string
	Now     time.Time
}

type looking struct {
	Doctor
	ctx context.Context
	Diagnosis
	answers map[string]string // what a program said to --version, by environment and path
	byPath  bool              // some hook finds the program by PATH alone
}

// Diagnose says which programs Git will run here at which event, and whether ours will start.
func (d Doctor) Diagnose(ctx context.Context) (Diagnosis, error) {
	l := &looking{Doctor: d, ctx: ctx, answers: map[string]string{}}
	_, version, err := d.Repo.Has(ctx, repo.Oldest)
	if err != nil {
		return l.Diagnosis, err
	}
	l.Git = version.String()
	h, err := d.Repo.HooksPath(ctx)
	if err != nil {
		return l.Diagnosis, err
	}
	l.Dir = h.Dir
	if h.Off() {
		l.find("hooks-off", "", fmt.Sprintf("core.hooksPath is %q (%s, %s)", h.Value, h.Scope, h.Origin), "unset it there")
	}
	for _, e := range hooks.Table {
		if err := l.event(e, h); err != nil {
			return l.Diagnosis, err
		}
	}
	l.expected(h)
	for _, look := range []func() error{l.clients, l.elsewhere, l.gate} {
		if err := look(); err != nil {
			return l.Diagnosis, err
		}
	}
	l.ci()
	if l.byPath {
		l.Notes = append(l.Notes, "the hooks find assent by PATH alone, which a client with a bare environment does not have: assent install --bin PATH names the file")
	}
	l.Notes = append(l.Notes, "clients that commit through a library run no hooks; what they commit is judged by a push from here and by assent lint in CI")
	return l.Diagnosis, nil
}

func (l *looking) find(name, path, message, fix string) {
	for _, c := range Codes {
		if c.Code == "install/"+name {
			l.Findings = append(l.Findings, finding.Finding{Code: c.Code, Title: c.Title, Severity: c.Severity, Path: below(l.Repo.Root, path), Key: path, Message: message, Fix: fix})
		}
	}
}

// warning makes the finding that was made last a warning: it is not ours.
func (l *looking) warning() { l.Findings[len(l.Findings)-1].Severity = finding.Warning }

// event lists what Git runs at an event: configured hooks first, then the hook file.
func (l *looking) event(e hooks.Event, h repo.HooksPath) error {
	commands, err := l.Repo.AllConfig(l.ctx, commandKey(e))
	if err != nil {
		return err
	}
	at, err := l.Repo.AllConfig(l.ctx, eventKey(e))
	if err != nil {
		return err
	}
	fires := slices.ContainsFunc(at, func(s repo.Setting) bool { return s.Value == e.Name })
	runs := 0
	for _, c := range commands {
		switch {
		case !l.hasConfigured():
			l.find("client-old", c.Origin, fmt.Sprintf("the configured hook for %s is ignored by Git %s", e.Name, l.Git), "use Git 2.54 or newer, or assent install --method file")
			continue
		case !fires:
			l.find("missing", c.Origin, fmt.Sprintf("%s is set, but %s does not name the event: Git does not run it", commandKey(e), eventKey(e)), "assent install --method config")
			continue
		}
		p := Program{Event: e.Name, Kind: "configured", What: c.Value, Scope: c.Scope, Origin: c.Origin, Starts: true, Calls: strings.Contains(c.Value, " hook "+e.Name)}
		if bin, ours := configuredFor(e, c.Value); ours {
			p.What = commandKey(e)
			p.Binary, p.Starts = l.binary(c.Origin, bin)
		}
		l.Programs = append(l.Programs, p)
		runs++
	}
	if h.Off() {
		return nil
	}
	file := filepath.Join(h.Dir, e.Name)
	if p, ok := l.file(e, file); ok {
		p.Scope, p.Origin = h.Scope, h.Origin
		if p.Kind == "ours" {
			if chained, ok := l.file(e, file+".pre-assent"); ok {
				chained.Kind = "chained"
				l.Programs = append(l.Programs, chained)
			}
		}
		l.Programs = append(l.Programs, p)
		if p.Calls {
			runs++
		}
	}
	if runs > 1 {
		l.find("twice", file, e.Name+" runs this program as a configured hook and from the hook file", "assent uninstall, then assent install")
	}
	return nil
}

func (l *looking) hasConfigured() bool {
	ok, _, err := l.Repo.Has(l.ctx, repo.ConfigHooks)
	return ok && err == nil
}

// file looks at one hook file; ok is false if there is none.
func (l *looking) file(e hooks.Event, file string) (p Program, ok bool) {
	p = Program{Event: e.Name, Kind: "foreign", What: file, Starts: true}
	problem := func(name, message, fix string) {
		p.Starts = false
		l.find(name, file, message, fix)
	}
	if info, err := os.Lstat(filepath.Dir(file)); err != nil || !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return p, false // no hooks directory
	}
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false
	}
	link := info != nil && info.Mode()&fs.ModeSymlink != 0
	if link {
		info, err = os.Stat(file)
	}
	var data []byte
	if err == nil && info.Mode().IsRegular() {
		data, err = os.ReadFile(file)
	}
	switch {
	case err != nil && link:
		problem("not-executable", "it is a link to nothing", "mend the link, or remove it")
		l.warning()
		return p, true
	case err != nil:
		problem("not-executable", "it cannot be read: "+err.Error(), "mend its mode")
		l.warning()
		return p, true
	case !info.Mode().IsRegular():
		problem("replaced", "it is no file", "remove it, then assent install")
		return p, true
	}
	if isOurs(data) {
		p.Kind, p.Calls = "ours", true
		switch {
		case !isShim(e, data):
			l.find("replaced", file, "it was edited", "move the edits behind its last line, then assent install")
		case !bytes.Contains(data, []byte("\r\n")) && !isCurrent(e, data):
			l.find("replaced", file, "it is of an earlier version", "assent install")
		}
	} else if bytes.Contains(data, []byte("assent hook "+e.Name)) || l.managed(e, filepath.Dir(file)) {
		p.Calls = true
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		if p.Kind == "ours" {
			problem("not-executable", "Git does not run a hook that is not executable", "assent install")
		} else { // perhaps it is meant so: it never ran
			problem("not-executable", "Git does not run it: it is not executable", "chmod +x, if it is to run; else remove it")
			l.warning()
		}
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(first, []byte("\r")) {
		fix := "assent install"
		if p.Kind != "ours" {
			fix = "write it with LF alone"
		}
		problem("crlf", "its first line ends in CR LF", fix)
	} else if name := interpreter(string(first)); name != "" && runtime.GOOS != "windows" {
		if _, err := repo.LookPath(name); err != nil {
			problem("interpreter", name+" is not there", "install it, or mend the first line")
		}
	}
	if p.Kind == "ours" && p.Starts {
		p.Binary, p.Starts = l.binary(file, baked(data))
	}
	return p, true
}

// interpreter is the program that a first line names, through env or not.
func interpreter(line string) string {
	f := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(f) == 0 {
		return ""
	}
	if filepath.Base(f[0]) == "env" {
		for _, a := range f[1:] {
			if !strings.HasPrefix(a, "-") && !strings.Contains(a, "=") {
				return a
			}
		}
	}
	return f[0]
}

// managed reports whether a hook manager's own files call this program for an event.
func (l *looking) managed(e hooks.Event, dir string) bool {
	m := managerOf(l.Repo, dir)
	if m == nil {
		return false
	}
	for _, name := range append(slices.Clone(m.files), ".husky/"+e.Name) {
		data, err := os.ReadFile(filepath.Join(l.Repo.Root, filepath.FromSlash(name)))
		if err == nil && bytes.Contains(data, []byte("assent hook "+e.Name)) {
			return true
		}
	}
	return false
}

// binary proves that the program which the shim would find answers, here and in the bare
// environment in which graphical clients run hooks.
func (l *looking) binary(file, bin string) (found string, ok bool) {
	found = bin
	if bin != "" && !runnable(bin) {
		found = ""
	}
	if found == "" {
		inPath, err := repo.LookPath("assent")
		switch {
		case err != nil && bin != "":
			l.find("binary-missing", file, fmt.Sprintf("neither %s nor assent in PATH is there", bin), "install it, then assent install")
			return "", false
		case err != nil:
			l.find("binary-missing", file, "assent is not in PATH", "install it, then assent install")
			return "", false
		case bin != "":
			l.find("binary-other", file, fmt.Sprintf("%s is gone; %s answers instead", bin, inPath), "assent install")
		}
		found = inPath
	}
	said, err := l.answer(found, l.Repo.Caller())
	if err != nil {
		l.find("binary-missing", file, fmt.Sprintf("%s does not answer: %v", found, err), "install it anew, then assent install")
		return found, false
	}
	if said != "assent "+l.Version {
		l.find("binary-other", file, fmt.Sprintf("%s answers as %q; this program is %s", found, said, l.Version), "assent install")
	}
	bare := []string{"PATH=/usr/bin:/bin"}
	for _, kv := range l.Repo.Caller() {
		if strings.HasPrefix(kv, "HOME=") {
			bare = append(bare, kv)
		}
	}
	if runtime.GOOS == "windows" {
		return found, true
	}
	if bin == "" && !runnable("/usr/bin/assent") && !runnable("/bin/assent") {
		l.byPath = true
	} else if _, err := l.answer(found, bare); err != nil {
		l.find("binary-missing", file, fmt.Sprintf("%s does not answer in a bare environment: %v", found, err), "assent install --bin PATH")
		return found, false
	}
	return found, true
}

func runnable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// answer is what a program of ours says to --version.
func (l *looking) answer(bin string, env []string) (string, error) {
	key := bin + "\x00" + strings.Join(env, "\x00")
	if said, ok := l.answers[key]; ok {
		return said, nil
	}
	out, err := repo.Run(l.ctx, repo.Command{Name: bin, Args: []string{"--version"}, Dir: l.Repo.Root, Env: env})
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("exit code %d %s", out.Code, out.Stderr)
	}
	if err != nil {
		return "", err
	}
	l.answers[key] = strings.TrimSpace(string(out.Stdout))
	return l.answers[key], nil
}

// expected holds what Git runs against what a person asked for.
func (l *looking) expected(h repo.HooksPath) {
	o := Options{Answer: l.State.Answer, With: l.State.With, Without: l.State.Without, Server: l.Repo.Bare()}
	if l.State.Version == 0 || o.Answer == "" && !o.Server {
		if !slices.ContainsFunc(l.Programs, func(p Program) bool { return p.Calls }) {
			l.find("missing", "", "no hook here runs this program", "assent install")
		}
		return
	}
	if i := slices.IndexFunc(l.State.Files, func(f Installed) bool { return exists(f.Path) }); i >= 0 && !h.Off() && l.State.Method != Config &&
		!slices.ContainsFunc(l.State.Files, func(f Installed) bool { return filepath.Dir(f.Path) == filepath.Clean(h.Dir) }) {
		dir := filepath.Dir(l.State.Files[i].Path)
		l.find("wrong-path", dir, fmt.Sprintf("the hooks were installed there; Git looks in %s", h.Dir), "assent install")
	}
	events, err := o.Events()
	if err != nil {
		return
	}
	for _, e := range events {
		if slices.ContainsFunc(l.Programs, func(p Program) bool { return p.Event == e.Name && p.Calls }) {
			continue
		}
		file := filepath.Join(h.Dir, e.Name)
		installed := slices.ContainsFunc(l.State.Files, func(f Installed) bool { return f.Path == file })
		if _, err := os.Lstat(file); err == nil && installed {
			l.find("replaced", file, "another file stands in the place of our "+e.Name+" hook", "assent install, which chains it")
			continue
		}
		l.find("missing", file, "nothing runs assent hook "+e.Name, "assent install")
	}
}

// clients looks for other git programs on PATH that are too old.
func (l *looking) clients() error {
	needs := repo.Oldest
	if l.State.Method == Config {
		needs = repo.ConfigHooks
	}
	seen := map[string]bool{}
	for _, kv := range l.Repo.Caller() {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			file, err := filepath.EvalSymlinks(filepath.Join(dir, "git"))
			if err != nil || seen[file] || !runnable(file) || len(seen) > 10 {
				continue
			}
			seen[file] = true
			out, err := repo.Run(l.ctx, repo.Command{Name: file, Args: []string{"version"}, Env: l.Repo.Caller()})
			if err != nil {
				continue
			}
			if v, err := repo.ParseVersion(string(out.Stdout)); err == nil && v.Less(needs) {
				l.find("client-old", file, fmt.Sprintf("it is Git %s; %s is needed", v, needs), "upgrade it, or take it off PATH")
			}
		}
	}
	return nil
}

// elsewhere looks at linked worktrees and submodules.
func (l *looking) elsewhere() error {
	guarded := slices.ContainsFunc(l.Programs, func(p Program) bool { return p.Event == "pre-commit" && p.Calls && p.Kind != "configured" })
	if l.Repo.Bare() || !guarded { // what is not so here is not asked for elsewhere; configured hooks run everywhere
		return nil
	}
	tops, err := l.Repo.Worktrees(l.ctx)
	if err != nil {
		return err
	}
	subs, err := l.Repo.Submodules(l.ctx)
	if err != nil {
		return err
	}
	for _, s := range subs {
		if top := filepath.Join(l.Repo.Root, filepath.FromSlash(s)); exists(filepath.Join(top, ".git")) {
			tops = append(tops, top)
		}
	}
	for _, top := range tops {
		if repo.SameDir(top, l.Repo.Root) {
			continue
		}
		r, err := repo.Open(l.ctx, top, repo.Foreign(l.Repo.Caller()))
		if err != nil {
			l.Notes = append(l.Notes, fmt.Sprintf("%s was not looked at: %v", top, err))
			continue
		}
		h, err := r.HooksPath(l.ctx)
		r.Close()
		if err != nil {
			return err
		}
		if repo.SameDir(h.Dir, l.Dir) {
			continue
		}
		data, err := readRegular(filepath.Join(h.Dir, "pre-commit"))
		if err != nil || !bytes.Contains(data, []byte("assent hook ")) {
			what, severity := "linked worktree", finding.Error
			if r.CommonDir != l.Repo.CommonDir {
				what, severity = "submodule", finding.Warning
			}
			l.find("missing", top, fmt.Sprintf("the %s is not guarded: no hook in %s runs this program", what, h.Dir), "assent install -C "+quoteIfNeeded(top))
			l.Findings[len(l.Findings)-1].Severity = severity
		}
	}
	return nil
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// gate repeats what became known of the last commits.
func (l *looking) gate() error {
	commits, err := l.Repo.LastCommits(l.ctx, 50)
	if err != nil {
		return err
	}
	receipts := shortcut.Open(l.Repo, "", l.Now, "")
	for _, c := range commits {
		if f, ok := hooks.GateFinding(receipts.Outcome(c.Tree, shortcut.Parent(c)), c.ID); ok && f.Severity > finding.Info {
			l.Findings = append(l.Findings, f)
		}
	}
	return nil
}

// ciFiles are where CI services look for their jobs.
var ciFiles = []string{".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".gitlab/*.yml", ".circleci/config.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml",
	"Jenkinsfile", ".travis.yml", ".drone.yml", ".woodpecker.yml", ".woodpecker/*.yml", ".buildkite/pipeline.yml", ".forgejo/workflows/*.yml", ".gitea/workflows/*.yml", ".ci/*", "Makefile"}

func (l *looking) ci() {
	if l.Repo.Bare() {
		return
	}
	for _, pattern := range ciFiles {
		files, _ := filepath.Glob(filepath.Join(l.Repo.Root, filepath.FromSlash(pattern)))
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && (bytes.Contains(data, []byte("assent lint")) || bytes.Contains(data, []byte("assent\" lint"))) {
				return
			}
		}
	}
	l.find("ci-missing", "", "no CI file here runs assent lint", "assent install --print github, or gitlab")
}
