package testscripts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"assent/repo"
)

// index is the decision index of two accepted records.
const index = `# State Machine Knowledge Base

## Decision Index

| id | status | scope | patterns | file | commit |
| --- | --- | --- | --- | --- | --- |
| SKMB-2026-06-11-001 | accepted | approval workflow | F | decisions/2026-06-11-001-notifier-failure.md | pending |
| SKMB-2026-06-11-002 | accepted | approval workflow | A | decisions/2026-06-11-002-approval-timeout.md | pending |
`

func record(id, status, title, code, more string) string {
	return fmt.Sprintf("# %s: %s\n\n- status: %s\n%s- date: 2026-06-11\n- commit: pending\n- patterns:\n  - %s\n- scope: approval workflow\n\n"+
		"## Decision\n\nRetry 3 times, then fail closed and write an audit event.\n\n## Applies To\n\n- approval state transition\n\n## Rationale\n\nNobody is granted anything by accident.\n", id, title, status, more, code)
}

const decided = "- decided_by: designer\n- approval_source: designer chose option 2 in the checkpoint\n"

// repository [DIR] [FLAGS]: `git init FLAGS` with an accepted base of two records, hooks
// installed by `assent install --hooks both`, all committed. The script goes on inside.
func cmdRepository(ts *testscript.TestScript, neg bool, args []string) {
	dir := "r"
	if len(args) > 0 {
		dir, args = args[0], args[1:]
	}
	ts.Check(ts.Exec("git", append(append([]string{"init", "-q"}, args...), dir)...))
	ts.Check(ts.Chdir(dir))
	write(ts, "docs/isme/SKMB.md", index)
	write(ts, "docs/isme/decisions/2026-06-11-001-notifier-failure.md", record("SKMB-2026-06-11-001", "accepted", "Notifier failure", "F_fail_semantics", decided))
	write(ts, "docs/isme/decisions/2026-06-11-002-approval-timeout.md", record("SKMB-2026-06-11-002", "accepted", "Approval timeout", "A_async_wait", decided))
	write(ts, "docs/isme/archive/.gitignore", "*\n")
	write(ts, "other.txt", "one\n")
	ts.Check(ts.Exec("assent", "install", "--hooks", "both", "--bin", filepath.Join(programs, "assent")))
	ts.Check(ts.Exec("git", "add", "-A"))
	ts.Check(ts.Exec("git", "commit", "-qm", "base"))
}

// unresolved [NUMBER] [FILE]: a proposed record and its row, written and staged.
func cmdUnresolved(ts *testscript.TestScript, neg bool, args []string) {
	number, file := "003", "decisions/2026-06-11-003-race-policy.md"
	if len(args) > 0 {
		number, file = args[0], "decisions/2026-06-11-"+args[0]+"-race-policy.md"
	}
	if len(args) > 1 {
		file = "decisions/" + args[1]
	}
	id := "SKMB-2026-06-11-" + number
	write(ts, "docs/isme/"+file, record(id, "proposed", "Race policy", "C_concurrent_operations", "- decided_by: pending\n- approval_source: pending explicit designer approval\n"))
	old, err := os.ReadFile(ts.MkAbs("docs/isme/SKMB.md"))
	ts.Check(err)
	write(ts, "docs/isme/SKMB.md", fmt.Sprintf("%s| %s | proposed | approval workflow | C | %s | pending |\n", old, id, file))
	ts.Check(ts.Exec("git", "add", "docs/isme"))
}

func write(ts *testscript.TestScript, name, text string) {
	name = ts.MkAbs(name)
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	ts.Check(os.WriteFile(name, []byte(text), 0o644))
}

// digest NAME FILE...: keeps the SHA-256 of files (a directory: names, modes and bytes
// below it) in the variable NAME; with a NAME that is set already it must be the same,
// with ! another one.
func cmdDigest(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: digest NAME FILE...")
	}
	h := sha256.New()
	for _, a := range args[1:] {
		root := ts.MkAbs(a)
		ts.Check(filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, p)
			fmt.Fprintf(h, "%s %s\x00", rel, info.Mode())
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				target, _ := os.Readlink(p)
				fmt.Fprintf(h, "%s\x00", target)
			case info.Mode().IsRegular():
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				h.Write(data)
			}
			return nil
		}))
	}
	sum := hex.EncodeToString(h.Sum(nil))
	switch old := ts.Getenv(args[0]); {
	case old == "":
		ts.Setenv(args[0], sum)
	case (old == sum) == neg:
		ts.Fatalf("%v: digest %s, before %s", args[1:], sum, old)
	}
}

// tree DIR COUNT: DIR has COUNT entries that do not begin with a dot.
func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if !os.IsNotExist(err) {
		ts.Check(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if (len(names) == want) == neg {
		ts.Fatalf("%s has %d entries: %q", args[0], len(names), names)
	}
}

// replace FILE OLD NEW: replaces each OLD, which must occur. \n, \r, \t, \e and \uHHHH
// in both stand for their characters.
func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	from, to := unquote(args[1]), unquote(args[2])
	if !bytes.Contains(data, []byte(from)) {
		ts.Fatalf("%s does not contain %q", args[0], from)
	}
	info, err := os.Stat(name)
	ts.Check(err)
	ts.Check(os.WriteFile(name, bytes.ReplaceAll(data, []byte(from), []byte(to)), info.Mode()))
}

func unquote(s string) string {
	s = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\e`, "\x1b").Replace(s)
	return regexp.MustCompile(`\\u[0-9a-f]{4}`).ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.ParseUint(m[2:], 16, 32)
		return string(rune(n))
	})
}

// person SCRIPT PROGRAM ARGS...: runs a program on a terminal of its own, as a person sees
// it. SCRIPT is a file of lines `see REGEXP`, `type TEXT`, `type-code` (the code that the
// program showed last) and `end CODE`. What stood on the screen becomes stdout.
func cmdPerson(ts *testscript.TestScript, neg bool, args []string) {
	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	screen, err := attend(cmd, strings.TrimSpace(ts.ReadFile(args[0])))
	fmt.Fprint(ts.Stdout(), screen)
	ts.Check(err)
}

// attend is a person at a terminal who follows a script.
func attend(cmd *exec.Cmd, script string) (string, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 200, Cols: 200})
	if err != nil {
		return "", err
	}
	defer tty.Close()
	var mu sync.Mutex
	var screen bytes.Buffer
	closed := make(chan struct{})
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			screen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				close(closed)
				return
			}
		}
	}()
	seen := func() string { mu.Lock(); defer mu.Unlock(); return screen.String() }
	from, want := 0, 0
	for s := range strings.SplitSeq(script, "\n") {
		verb, rest, _ := strings.Cut(s, " ")
		switch verb {
		case "see":
			re := regexp.MustCompile(rest)
			deadline := time.Now().Add(time.Minute)
			for {
				text := seen()
				if loc := re.FindStringIndex(text[from:]); loc != nil {
					from += loc[1]
					break
				}
				if time.Now().After(deadline) {
					cmd.Process.Kill()
					return text, fmt.Errorf("never saw %q; the screen:\n%s", rest, text)
				}
				time.Sleep(5 * time.Millisecond)
			}
		case "type":
			_, err = tty.WriteString(rest + "\r")
		case "type-code":
			codes := regexp.MustCompile(`[2-9A-HJ-NP-Z]{6}`).FindAllString(seen(), -1)
			if len(codes) == 0 {
				return seen(), fmt.Errorf("no code on the screen:\n%s", seen())
			}
			_, err = tty.WriteString(codes[len(codes)-1] + "\r")
		case "end":
			want, err = strconv.Atoi(rest)
		default:
			err = fmt.Errorf("a person cannot %q", s)
		}
		if err != nil {
			return seen(), err
		}
	}
	err = cmd.Wait()
	<-closed
	if code := cmd.ProcessState.ExitCode(); code != want {
		return seen(), fmt.Errorf("%v ended with %d, not %d (%v); the screen:\n%s", cmd.Args, code, want, err, seen())
	}
	return seen(), nil
}

// commitpath FILE LINE: adds a line to FILE in HEAD, in the index and on disk, and commits
// that alone, as a program does that keeps a file of its own.
func cmdCommitPath(ts *testscript.TestScript, neg bool, args []string) {
	err := commitPath(ts.MkAbs("."), args[0], args[1], environ(ts))
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	if (err == nil) == neg {
		ts.Fatalf("commitpath %s: %v", args[0], err)
	}
}

func commitPath(dir, name, line string, env []string) error {
	ctx := context.Background()
	r, err := repo.Open(ctx, dir, env)
	if err != nil {
		return err
	}
	defer r.Close()
	c := repo.PathCommit{Path: name, Message: "docs: learn\n"}
	for _, place := range []struct {
		rev  string
		id   *string
		data *[]byte
	}{{"HEAD", &c.HeadID, &c.Head}, {"", &c.IndexID, &c.Index}} {
		git := func(args ...string) ([]byte, error) {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = r.Root, env
			return cmd.Output()
		}
		if id, err := git("rev-parse", "--verify", "-q", place.rev+":"+name); err == nil {
			*place.id = strings.TrimSpace(string(id))
			if *place.data, err = git("cat-file", "blob", *place.id); err != nil {
				return err
			}
		}
		*place.data = append(*place.data, line+"\n"...)
	}
	p, err := r.Prepare(ctx, c)
	if err != nil {
		return err
	}
	file := filepath.Join(r.Root, name)
	disk, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(disk, line+"\n"...), 0o644)
	}
	if err == nil {
		_, err = p.Publish(ctx)
	}
	return err
}

func lookPath(ts *testscript.TestScript, name string) string {
	if p := filepath.Join(programs, name); fileExists(p) {
		return p
	}
	p, err := exec.LookPath(name)
	ts.Check(err)
	return p
}

func fileExists(p string) bool { _, err := os.Stat(p); return err == nil }

// environ is the script's environment, as far as our programs and Git read it.
func environ(ts *testscript.TestScript) []string {
	var out []string
	for _, k := range []string{"HOME", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT", "TZ", "LC_ALL", "EDITOR", "TERM",
		"ASSENT_NOW", "ASSENT_DIE", "GOCOVERDIR", "CLAUDE_CODE_SESSION_ID", "TMPDIR"} {
		if v := ts.Getenv(k); v != "" {
			out = append(out, k+"="+v)
		}
	}
	return out
}

// parallel N FILE PROGRAM ARGS...: runs N processes at once; # in an argument and in the
// text of FILE, which is their standard input (- for none), is the number of the process.
// All must succeed. Their outputs become stdout.
func cmdParallel(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var input string
	if args[1] != "-" {
		input = ts.ReadFile(args[1])
	}
	outs := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			number := strconv.Itoa(i)
			var argv []string
			for _, a := range args[3:] {
				argv = append(argv, strings.ReplaceAll(a, "#", number))
			}
			cmd := exec.Command(lookPath(ts, args[2]), argv...)
			cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(input, "#", number))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			outs[i] = string(out)
			if err != nil {
				outs[i] = fmt.Sprintf("FAILED %v: %s%s", err, out, stderr.String())
			}
		})
	}
	wg.Wait()
	for _, o := range outs {
		if strings.HasPrefix(o, "FAILED") {
			ts.Fatalf("%s", o)
		}
		fmt.Fprint(ts.Stdout(), o)
	}
}

// processes FILE MAX: the trace FILE (GIT_TRACE2_EVENT) shows at most MAX git processes
// started by our programs, and at least one.
func cmdProcesses(ts *testscript.TestScript, neg bool, args []string) {
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	var ours []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var e struct {
			Event string   `json:"event"`
			Argv  []string `json:"argv"`
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		if e.Event == "start" && len(e.Argv) > 2 && e.Argv[1] == "-c" && e.Argv[2] == "core.fsmonitor=false" {
			ours = append(ours, strings.Join(e.Argv, " "))
		}
	}
	if len(ours) == 0 || len(ours) > most {
		ts.Fatalf("%d git processes, expected 1 to %d:\n%s", len(ours), most, strings.Join(ours, "\n"))
	}
}
