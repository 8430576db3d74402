package testscripts

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// place is a worktree of a row of the matrix, with an accepted base and our hooks.
type place struct {
	t    *testing.T
	dir  string   // worktree, or a directory in it
	top  string   // of the worktree
	env  []string // of everything that runs here
	add  []string // flags that git add needs here
	work string   // everything of the row is below
}

func (p *place) run(name string, args ...string) (out string, code int) {
	p.t.Helper()
	if file := filepath.Join(programs, name); fileExists(file) {
		name = file
	}
	cmd := exec.Command(name, args...)
	if cmd.Dir, cmd.Env = p.dir, p.env; !fileExists(p.dir) {
		cmd.Dir = p.work
	}
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	err := cmd.Run()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	var said strings.Builder
	for line := range strings.Lines(buf.String()) { // Git's own remark on line ends is none of ours
		if !strings.HasPrefix(line, "warning: in the working copy of ") {
			said.WriteString(line)
		}
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

// git runs a git command that must succeed and returns its output without the last newline.
func (p *place) git(args ...string) string {
	p.t.Helper()
	out, code := p.run("git", args...)
	if code != 0 {
		p.t.Fatalf("git %q ended with %d:\n%s", args, code, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// wants holds a command to its exit code and to words in its output; "" wants none at all.
func (p *place) wants(code int, says string, name string, args ...string) {
	p.t.Helper()
	out, got := p.run(name, args...)
	if got != code || says != "" && !strings.Contains(out, says) || says == "" && out != "" {
		p.t.Errorf("%s %q ended with %d, want %d and %q:\n%s", name, args, got, code, says, out)
	}
}

func (p *place) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.top, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) setenv(kv ...string) { p.env = append(p.env[:len(p.env):len(p.env)], kv...) }

const newRecord = "docs/isme/decisions/2026-06-11-003-race-policy.md"

// base writes an accepted base and commits it without hooks.
func (p *place) base() {
	p.t.Helper()
	p.write("docs/isme/SKMB.md", index)
	p.write("docs/isme/decisions/2026-06-11-001-notifier-failure.md", record("SKMB-2026-06-11-001", "accepted", "Notifier failure", "F_fail_semantics", decided))
	p.write("docs/isme/decisions/2026-06-11-002-approval-timeout.md", record("SKMB-2026-06-11-002", "accepted", "Approval timeout", "A_async_wait", decided))
	p.write("docs/isme/archive/.gitignore", "*\n")
	p.write("src/other.txt", "one\n")
	p.write("AGENTS.md", "agents\n")
	p.git(append([]string{"-C", p.top, "add", "-A"}, p.add...)...)
	p.git("commit", "-qm", "base")
}

func (p *place) install() {
	p.t.Helper()
	p.wants(0, "create", "assent", "install", "--hooks", "both", "--bin", filepath.Join(programs, "assent"))
}

// undecided puts a proposed record and its row on disk.
func (p *place) undecided() {
	p.write(newRecord, record("SKMB-2026-06-11-003", "proposed", "Race policy", "C_concurrent_operations", "- decided_by: pending\n- approval_source: pending explicit designer approval\n"))
	p.write("docs/isme/SKMB.md", index+"| SKMB-2026-06-11-003 | proposed | approval workflow | C | decisions/2026-06-11-003-race-policy.md | pending |\n")
}

func (p *place) stage(names ...string) {
	p.t.Helper()
	p.git(append(append([]string{"-C", p.top, "add"}, p.add...), names...)...)
}

func (p *place) clean() {
	p.t.Helper()
	os.Remove(filepath.Join(p.top, filepath.FromSlash(newRecord)))
	p.git("-C", p.top, "reset", "-q", "--hard")
}

type row struct {
	name string
	make func(*place)
}

// rows are the repositories in which the same must hold. make fills an empty directory and
// returns where to work; then comes the base and, if the row does not do it itself, the hooks.
var rows = []row{
	{"plain", func(p *place) { p.git("init", "-q"); p.base() }},
	{"worktree of a bare repository", func(p *place) {
		p.seed()
		p.git("clone", "-q", "--bare", "seed", "bare.git")
		p.git("-C", "bare.git", "worktree", "add", "-q", filepath.Join(p.work, "tree"), "-b", "topic")
		p.dir = filepath.Join(p.work, "tree")
		p.top = p.dir
	}},
	{"submodule", func(p *place) {
		p.seed()
		p.git("init", "-q", "super")
		p.git("-C", "super", "submodule", "--quiet", "add", "../seed", "lib")
		p.dir = filepath.Join(p.work, "super", "lib")
		p.top = p.dir
	}},
	{"separate Git directory", func(p *place) {
		p.git("init", "-q", "--separate-git-dir", filepath.Join(p.work, "else where.git"))
		p.base()
	}},
	{"sha256", func(p *place) { p.git("init", "-q", "--object-format=sha256"); p.base() }},
	{"split index", func(p *place) {
		p.git("init", "-q")
		p.git("config", "core.splitIndex", "true")
		p.base()
		p.git("update-index", "--split-index")
	}},
	{"index version 4", func(p *place) { p.git("init", "-q"); p.git("config", "index.version", "4"); p.base() }},
	{"index without its hash", func(p *place) { p.git("init", "-q"); p.git("config", "index.skipHash", "true"); p.base() }},
	{"untracked cache", func(p *place) {
		p.git("init", "-q")
		p.git("config", "core.untrackedCache", "true")
		p.base()
		p.git("update-index", "--untracked-cache")
	}},
	{"sparse cone", func(p *place) {
		p.git("init", "-q")
		p.base()
		p.git("sparse-checkout", "set", "--cone", "src")
		p.add = []string{"--sparse"}
	}},
	{"sparse index", func(p *place) {
		p.git("init", "-q")
		p.base()
		p.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
		p.add = []string{"--sparse"}
	}},
	{"worktree configuration", func(p *place) { p.git("init", "-q"); p.git("config", "extensions.worktreeConfig", "true"); p.base() }},
	{"shallow", func(p *place) {
		p.seed()
		p.git("-C", "seed", "commit", "-q", "--allow-empty", "-m", "more")
		p.git("clone", "-q", "--depth", "1", "file://"+filepath.Join(p.work, "seed"), "clone")
		p.dir = filepath.Join(p.work, "clone")
		p.top = p.dir
	}},
	{"alternates", func(p *place) {
		p.seed()
		p.git("clone", "-q", "--shared", "seed", "clone")
		p.dir = filepath.Join(p.work, "clone")
		p.top = p.dir
	}},
	{"line ends of another system", func(p *place) { p.git("init", "-q"); p.git("config", "core.autocrlf", "true"); p.base(); p.reread() }},
	{"eol attributes, no file modes", func(p *place) {
		p.git("init", "-q")
		p.git("config", "core.fileMode", "false")
		p.write(".gitattributes", "*.md text eol=crlf\n")
		p.base()
		p.reread()
	}},
	{"hooks path spelled out", func(p *place) {
		p.git("init", "-q")
		p.git("config", "core.hooksPath", ".git/hooks")
		p.base()
		p.absoluteHooks()
	}},
	{"detached", func(p *place) { p.git("init", "-q"); p.base(); p.git("checkout", "-q", "--detach") }},
	{"during a bisect", func(p *place) { p.git("init", "-q"); p.base(); p.git("bisect", "start"); p.git("bisect", "bad") }},
	{"orphan branch", func(p *place) {
		p.git("init", "-q")
		p.base()
		p.git("checkout", "-q", "--orphan", "other")
		p.git("commit", "-qm", "other root")
	}},
	{"from a directory below", func(p *place) { p.git("init", "-q"); p.base(); p.dir = filepath.Join(p.top, "src") }},
	{"signed", func(p *place) {
		p.git("init", "-q")
		key := filepath.Join(p.work, "key")
		if _, err := exec.LookPath("ssh-keygen"); err != nil {
			p.t.Skip("no ssh-keygen")
		}
		p.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
		p.git("config", "gpg.format", "ssh")
		p.git("config", "user.signingkey", key)
		p.git("config", "commit.gpgsign", "true")
		p.base()
	}},
	{"pathspec variables", func(p *place) { p.git("init", "-q"); p.base(); p.setenv("GIT_LITERAL_PATHSPECS=1") }},
	{"pathspecs in any case", func(p *place) { p.git("init", "-q"); p.base(); p.setenv("GIT_ICASE_PATHSPECS=1") }},
	{"configuration from the environment", func(p *place) {
		p.git("init", "-q")
		p.base()
		p.setenv("GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.quotePath", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=diff.noprefix", "GIT_CONFIG_VALUE_1=true")
	}},
	{"Git directory and worktree named", func(p *place) {
		p.git("init", "-q")
		p.base()
		p.setenv("GIT_DIR="+filepath.Join(p.top, ".git"), "GIT_WORK_TREE="+p.top)
	}},
}

// seed makes a repository with the base to be cloned from, and leaves it.
func (p *place) seed() {
	p.dir, p.top = filepath.Join(p.work, "seed"), filepath.Join(p.work, "seed")
	p.git("init", "-q", p.dir)
	p.base()
	p.dir = p.work
}

// reread checks everything out again, so that the line ends on disk are those of the
// configuration.
func (p *place) reread() {
	p.git("-C", p.top, "rm", "-q", "-r", "--cached", ".")
	p.git("-C", p.top, "reset", "-q", "--hard")
}

func (p *place) absoluteHooks() {
	p.git("config", "core.hooksPath", filepath.Join(p.top, ".git", "hooks"))
}

// TestMatrix runs one list of scenarios over every row, from the main and from a linked
// worktree.
func TestMatrix(t *testing.T) {
	skipShort(t)
	readSources(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.place(t).scenarios()
		})
		switch row.name {
		case "Git directory and worktree named", "worktree of a bare repository": // one worktree is named, or it is a linked one
			continue
		}
		t.Run(row.name+", linked", func(t *testing.T) {
			t.Parallel()
			p := row.place(t)
			linked := filepath.Join(p.work, "linked")
			p.git("worktree", "add", "-q", "--detach", linked)
			p.top, p.dir = linked, linked
			if row.name == "from a directory below" {
				p.dir = filepath.Join(linked, "src")
			}
			p.git("checkout", "-q", "-b", "linked")
			p.scenarios()
		})
	}
}

func placeFor(t *testing.T) *place {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(work, "home")
	p := &place{t: t, work: work, dir: filepath.Join(work, "main"), top: filepath.Join(work, "main")}
	for _, dir := range []string{home, p.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := "[user]\n\tname = Designer\n\temail = designer@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	p.env = append(withoutGit(os.Environ()), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C.UTF-8", "TERM=xterm",
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	return p
}

func (r row) place(t *testing.T) *place {
	p := placeFor(t)
	r.make(p)
	return p
}

// scenarios are S1 to S11: what must hold in every row.
func (p *place) scenarios() {
	t := p.t
	hooksDir := p.git("rev-parse", "--path-format=absolute", "--git-path", "hooks")
	before := tree(t, hooksDir)
	p.install()
	bypass := func() string { // the range that brings an undecided record past the guard
		from := p.git("rev-parse", "HEAD")
		p.undecided()
		p.stage("docs/isme")
		out, code := p.run("git", "commit", "-qm", "past", "--no-verify")
		if code != 0 || !strings.Contains(out, "gate/bypassed") || !strings.Contains(out, "skmb/unresolved") {
			t.Errorf("S6: past the guard: %d\n%s", code, out)
		}
		return from
	}
	receipt := func(what string) {
		t.Helper()
		file := filepath.Join(p.git("rev-parse", "--path-format=absolute", "--git-common-dir"), "assent/cache/receipts")
		data, _ := os.ReadFile(file)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		if want := `"tree":"` + p.git("rev-parse", "HEAD^{tree}") + `"`; !strings.Contains(lines[len(lines)-1], want) {
			t.Errorf("S11: after %s the last receipt is not of HEAD's tree: %s", what, lines[len(lines)-1])
		}
	}

	// S1: the first commit and the ones after it are silent.
	for _, text := range []string{"two\n", "three\n", "four\n"} {
		p.write("src/other.txt", text)
		p.stage("src/other.txt")
		p.wants(0, "", "git", "commit", "-qm", text)
		receipt("a silent commit")
	}
	if got := p.git("diff", "--cached", "--name-status"); got != "" {
		t.Errorf("S1: staged is %q", got)
	}

	// S3: on disk alone. S2: staged. S4: staged and gone from disk.
	p.undecided()
	p.write("src/other.txt", "five\n")
	p.stage("src/other.txt")
	p.wants(0, "", "git", "commit", "-qm", "S3")
	receipt("a commit beside a record on disk")
	p.stage("docs/isme")
	p.wants(1, "SKMB-2026-06-11-003 is proposed", "git", "commit", "-qm", "S2")
	p.wants(1, newRecord+":3:11", "git", "commit", "-qm", "S2")
	if err := os.Remove(filepath.Join(p.top, filepath.FromSlash(newRecord))); err != nil {
		t.Fatal(err)
	}
	p.wants(1, "skmb/unresolved", "git", "commit", "-qm", "S4")

	// S5: a commit of other paths leaves the record out, one of everything does not.
	p.write("src/other.txt", "six\n")
	p.wants(0, "", "git", "-C", p.top, "commit", "-qm", "S5", "--", "src/other.txt")
	receipt("a commit of a path")
	if got := p.git("-C", p.top, "diff", "--cached", "--name-only", "--", "docs"); !strings.Contains(got, "003-race-policy") {
		t.Errorf("S5: staged is %q", got)
	}
	p.clean()
	p.undecided()
	p.stage("docs/isme")
	p.write("src/other.txt", "seven\n")
	p.wants(1, "skmb/unresolved", "git", "commit", "-qam", "S5")
	p.clean()

	// S6, S8: past the guard it is told after the commit, and lint says the same.
	from := bypass()
	p.wants(1, "skmb/unresolved", "assent", "lint", "--range", from+"..HEAD")
	p.wants(1, "skmb/unresolved", "assent", "lint", "--commit", "HEAD")
	p.wants(1, "skmb/unresolved", "assent", "lint", "--all")
	p.wants(1, "skmb/unresolved", "git", "commit", "--allow-empty", "-qm", "S8")

	// S7: what was archived verifies.
	if fileExists(filepath.Join(p.top, "docs/isme/SKMB.md")) {
		p.wants(0, " ok\n", "skmb", "archive", "verify")
	}
	p.git("reset", "-q", "--hard", from)

	// S9: one path is committed, and nothing else that is staged.
	p.write("src/other.txt", "eight\n")
	p.stage("src/other.txt")
	if err := commitPath(p.top, "AGENTS.md", "learned", p.env); err != nil {
		t.Errorf("S9: %v", err)
	} else {
		if got := p.git("show", "--format=", "--name-only", "HEAD"); got != "AGENTS.md" {
			t.Errorf("S9: the commit has %q", got)
		}
		if got := p.git("diff", "--cached", "--name-only", "--ignore-submodules"); got != "src/other.txt" {
			t.Errorf("S9: staged is %q", got)
		}
		if got := p.git("-C", p.top, "status", "--porcelain", "--", "AGENTS.md"); got != "" {
			t.Errorf("S9: %q", got)
		}
	}

	// S10: taken out again, the hooks directory is what it was.
	cmd := exec.Command(filepath.Join(programs, "assent"), "uninstall")
	cmd.Dir, cmd.Env = p.dir, p.env
	if screen, err := attend(cmd, "see type [2-9A-HJ-NP-Z]{6}\ntype-code\nend 0"); err != nil {
		t.Errorf("S10: %v\n%s", err, screen)
	}
	if after := tree(t, hooksDir); after != before {
		t.Errorf("S10: the hooks directory is\n%s\nit was\n%s", after, before)
	}
}

// tree is every name, mode and byte below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", name, info.Mode())
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(name)
			fmt.Fprintf(&b, " %x", data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b.String()
}
