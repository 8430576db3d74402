package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSortArgs(t *testing.T) {
	app := Assent(nil)
	for _, c := range []struct {
		name, in, want, dir string
	}{
		{"flags behind the argument", "skmb approve ID --statement words", "skmb approve --statement words -- ID", ""},
		{"a value with an equals sign", "skmb approve ID --statement=words", "skmb approve --statement=words -- ID", ""},
		{"json is a format", "lint --json", "lint --format json", ""},
		{"-C anywhere", "skmb -C a list -C b", "skmb list", "a/b"},
		{"an absolute -C starts anew", "-C a lint -C /b", "lint", "/b"},
		{"what begins with a dash behind --", "skmb show -- -x", "skmb show -- -x", ""},
		{"a boolean takes no value", "skmb supersede OLD --partial --by NEW", "skmb supersede --partial --by NEW -- OLD", ""},
		{"an unknown command is an argument", "lnt", "-- lnt", ""},
		{"completion stays last", "skmb show 1 " + completionFlag, "skmb show -- 1 " + completionFlag, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, dir, err := sortArgs(app, strings.Fields(c.in))
			if err != nil || !slices.Equal(got, strings.Fields(c.want)) || dir != c.dir {
				t.Errorf("%q in %q, %v; want %q in %q", got, dir, err, c.want, c.dir)
			}
		})
	}
	for _, bad := range []string{"lint -C", "lint --range", "lint --range --all", "skmb approve ID --statement --sign"} {
		if _, _, err := sortArgs(app, strings.Fields(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// A command that waits for input can be interrupted.
func TestInterruptWhileReading(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	stopped := 0
	r := &interruptible{ctx: ctx, in: in, stop: func() { stopped++; in.Close() }}
	go func() {
		io.WriteString(out, "text")
		interrupt()
		time.AfterFunc(10*time.Second, func() { out.CloseWithError(errors.New("the interrupt was not acted on")) })
	}()
	data, err := io.ReadAll(r)
	if string(data) != "text" || err == nil || stopped == 0 {
		t.Errorf("read %q, %v, stopped %d times", data, err, stopped)
	}
}

// run runs a program without a repository, as a test of usage.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &Process{Argv: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now}
	code = p.Run(Assent(p))
	return code, stdout.String(), stderr.String()
}

func TestUsage(t *testing.T) {
	if code, _, errs := run(t, "lint", "-C", filepath.Join(t.TempDir(), "none")); code != 2 || !strings.Contains(errs, "is no directory") {
		t.Errorf("a directory that is not there: %d, %s", code, errs)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an unknown command", []string{"lnt"}, 2, "did you mean `assent lint`?"},
		{"an unknown command of a group", []string{"skmb", "aprove"}, 2, "did you mean `assent skmb approve`?"},
		{"an unknown flag", []string{"lint", "--nonsense"}, 2, "see `assent lint --help`"},
		{"a missing flag", []string{"skmb", "reject", "ID"}, 2, "reason"},
		{"too many arguments", []string{"explain", "a", "b"}, 2, "unexpected argument"},
		{"an unknown code", []string{"explain", "skmb/unresolvd"}, 2, "there is no finding code"},
		{"an unknown format", []string{"explain", "--format", "yaml"}, 2, "there is no format"},
		{"an unknown shell", []string{"completion", "cmd"}, 2, "no completion"},
		{"an unknown hook", []string{"hook", "pre-tea"}, 2, "there is no hook"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := run(t, c.args...)
			if code != c.code || !strings.Contains(errs, c.says) || out != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d and %q", code, out, errs, c.code, c.says)
			}
		})
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	seen := 0
	for _, c := range Assent(nil).Commands {
		all := append(c.Subcommands, c)
		for _, k := range all {
			seen++
			if k.Usage == "" || len(k.Subcommands) == 0 && !strings.Contains(k.UsageText, k.Name) {
				t.Errorf("%s: usage %q, examples %q", k.FullName(), k.Usage, k.UsageText)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d commands were looked at", seen)
	}
}
