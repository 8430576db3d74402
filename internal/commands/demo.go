package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/finding"
	"assent/repo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "show the gate at work, on a throw-away repository",
		UsageText: "assent demo",
		Action:    action(0, demo),
	}
}

// proposal is what an agent proposes in the demonstration.
const proposal = `{
  "title": "Approval race policy",
  "patterns": ["C", "G"],
  "scope": "approval workflow",
  "context": "Two operators can answer the same approval at once.",
  "decision": "The first committed answer wins; the second gets a conflict.",
  "applies_to": ["approval write path", "conflict tests"],
  "options": ["first committed wins, second gets a conflict", "deny wins", "a supervisor decides"],
  "needed_before": "implementing the write path"
}
`

// said is a session of an agent in the demonstration, as Codex writes it, and decided what a
// reviewer made of it.
const (
	said = `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"demo","cwd":%q}}
{"timestamp":"2026-01-01T00:00:01Z","type":"turn_context","payload":{"cwd":%[1]q,"turn_id":"1"}}
{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Please, for doc changes run only the doc tests. The whole suite takes an hour."}]}}
{"timestamp":"2026-01-01T00:00:03Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"1","last_agent_message":"I will."}}
`
	decided = `[{"action":"add","target":"project","instruction":"When only documentation changed, run only the documentation tests.",
  "evidence_refs":["demo/1"],"evidence_quotes":[{"ref":"demo/1","quote":"for doc changes run only the doc tests"}],
  "confidence":"high","risk_of_overconstraint":"low","global_disposition":{"status":"project-only","reason":"It is about this suite."}}]
`
)

// demo runs the whole story with real Git and the real hooks in a directory of its own,
// printing each step as a person would type it, and leaves nothing behind.
func demo(c *call) (err error) {
	dir, err := os.MkdirTemp("", "assent-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	d := &demonstration{call: c, dir: filepath.Join(dir, "project")}
	if err := d.prepare(dir); err != nil {
		return err
	}
	c.out("A repository whose commits pass the gate. Everything below is real, in %s.", d.dir)
	d.step("An empty project gets a decision base and the hooks.")
	d.run(0, "git init --quiet")
	d.run(0, "assent init --hooks both --bin "+d.bin)
	d.run(0, "git add --all")
	d.run(0, "git commit --quiet -m base")
	d.step("An agent meets a question nobody decided. It may propose an answer, no more.")
	id, _, _ := strings.Cut(d.run(0, "assent skmb submit < proposal.json"), "\n")
	d.step("It cannot commit its own answer.")
	d.run(0, "git add --all")
	d.run(1, "git commit --quiet -m race")
	d.step("A designer decides. (On a terminal, leave --statement out: the text is shown and a code asked for.)")
	d.run(0, "assent skmb approve "+id+" --statement 'the designer chose option 1'")
	d.run(0, "git add --all")
	d.run(0, "git commit --quiet -m race")
	d.run(0, "git log --oneline")
	d.step("What was decided is archived after the commit, with hashes.")
	d.run(0, "assent skmb archive verify")
	d.run(0, "assent lint --commit HEAD")
	d.step("You told your agent something that shall last. It becomes a rule by your yes, in a commit of that one file.")
	d.run(0, "git rm --quiet --cached proposal.json")
	d.run(0, "assent agentsmd collect")
	d.run(0, "assent agentsmd chunk")
	d.run(0, "assent agentsmd submit decisions --chunk 1 < decisions.json")
	plan, _, _ := strings.Cut(d.run(0, "assent agentsmd reconcile"), " ")
	d.run(0, "assent agentsmd prefer commit=yes --statement 'yes, commit them'")
	d.run(0, "assent agentsmd apply "+plan+" 1 --statement 'yes'")
	d.run(0, "git show --stat --format=%s HEAD")
	d.run(0, "git diff --cached --stat")
	if d.err == nil {
		fmt.Fprintln(c.Stdout)
		c.out("Nothing of this is left on your disk. Next, in a repository of yours: assent init")
	}
	return d.err
}

type demonstration struct {
	*call
	dir, bin string
	env      []string
	err      error
}

func (d *demonstration) prepare(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	for _, sub := range []string{d.dir, bin, filepath.Join(dir, "home")} {
		if err := os.Mkdir(sub, 0o755); err != nil {
			return err
		}
	}
	name := "assent"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	d.bin = filepath.ToSlash(filepath.Join(bin, name))
	if err := os.Link(self, d.bin); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			return err
		}
		if err := os.WriteFile(d.bin, data, 0o755); err != nil {
			return err
		}
	}
	real, err := filepath.EvalSymlinks(d.dir)
	if err != nil {
		return err
	}
	sessions := filepath.Join(dir, "home", ".codex", "sessions")
	err = errors.Join(os.MkdirAll(sessions, 0o755),
		os.WriteFile(filepath.Join(dir, "home", ".gitconfig"), []byte("[user]\n\tname = Designer\n\temail = designer@example.com\n[init]\n\tdefaultBranch = main\n"), 0o644),
		os.WriteFile(filepath.Join(sessions, "demo.jsonl"), fmt.Appendf(nil, said, real), 0o600),
		os.WriteFile(filepath.Join(d.dir, "proposal.json"), []byte(proposal), 0o644),
		os.WriteFile(filepath.Join(d.dir, "decisions.json"), []byte(decided), 0o644))
	if err != nil {
		return err
	}
	for _, kv := range d.Env {
		if k, v, _ := strings.Cut(kv, "="); k == "PATH" {
			d.env = append(d.env, "PATH="+bin+string(os.PathListSeparator)+v)
		} else if !slices.ContainsFunc([]string{"GIT_", "ASSENT_", "CODEX_", "CLAUDE_", "XDG_"}, func(p string) bool { return strings.HasPrefix(k, p) }) && k != "HOME" {
			d.env = append(d.env, kv)
		}
	}
	d.env = append(d.env, "HOME="+filepath.Join(dir, "home"), "GIT_CONFIG_NOSYSTEM=1")
	return nil
}

func (d *demonstration) step(text string) {
	if d.err == nil {
		fmt.Fprintf(d.Stdout, "\n%s\n\n", text)
	}
}

// run shows a command line and its output, and holds it to the exit code that the story
// tells. A line is split at blanks; '…' is one word, and < names the standard input.
func (d *demonstration) run(want int, line string) string {
	if d.err != nil {
		return ""
	}
	words := splitWords(line)
	c := repo.Command{Name: words[0], Dir: d.dir, Env: d.env, Timeout: time.Minute}
	if words[0] == "assent" {
		c.Name = d.bin
	}
	for i := 1; i < len(words); i++ {
		if words[i] == "<" {
			f, err := os.Open(filepath.Join(d.dir, words[i+1]))
			if err != nil {
				d.err = err
				return ""
			}
			defer f.Close()
			c.Stdin = f
			break
		}
		c.Args = append(c.Args, words[i])
	}
	fmt.Fprintf(d.Stdout, "  $ %s\n", strings.ReplaceAll(line, " --bin "+d.bin, ""))
	out, err := repo.Run(d.ctx, c)
	if err != nil {
		d.err = err
		return ""
	}
	for text := range strings.Lines(string(out.Stdout) + out.Stderr) {
		fmt.Fprintf(d.Stdout, "    %s\n", finding.Clean(strings.TrimRight(text, "\n")))
	}
	if out.Code != 0 {
		fmt.Fprintf(d.Stdout, "    (exit code %d)\n", out.Code)
	}
	if out.Code != want {
		d.err = fmt.Errorf("%s ended with %d, not %d", line, out.Code, want)
	}
	return string(out.Stdout)
}

func splitWords(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
