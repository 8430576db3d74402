// Package repo is the one room that asks Git. It starts the git program, which alone
// understands every repository format and environment, reads what will be committed
// from the index that Git names, and hands content on as snapshots.
package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Limits of one process.
const (
	ReadTimeout  = 10 * time.Second
	WriteTimeout = 60 * time.Second
	maxOutput    = 8 << 20  // collected whole
	maxStderr    = 64 << 10 // kept of stderr, the last
)

// Command is one process: an argument vector, never a shell line.
type Command struct {
	Name    string // program, looked up in PATH
	Args    []string
	Dir     string
	Env     []string // whole environment
	Stdin   io.Reader
	Stdout  func(io.Reader) error // reads the output as it comes; nil: it is collected
	Timeout time.Duration         // 0: ReadTimeout
}

// Output is what a process that ended left behind.
type Output struct {
	Code   int
	Stdout []byte
	Stderr string // the last 64 KiB
}

// ErrTimeout and ErrTooMuch stop a process that is slow or talkative.
var (
	ErrTimeout = errors.New("the process was stopped: it took too long")
	ErrTooMuch = fmt.Errorf("the process was stopped: it printed more than %d bytes", maxOutput)
)

// Run starts a process in its own process group and waits for it. A non-zero exit code
// is no error of Run; not starting, a timeout and too much output are. On a timeout
// the whole group is killed.
func Run(ctx context.Context, c Command) (Output, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = ReadTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd, stderr, err := prepare(ctx, c)
	if err != nil {
		return Output{}, err
	}
	cmd.Stdin = c.Stdin
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return Output{}, err
	}
	if err := cmd.Start(); err != nil {
		return Output{}, fmt.Errorf("start %s: %w", c.Name, err)
	}
	var out Output
	read := c.Stdout
	if read == nil {
		read = func(r io.Reader) error {
			b, err := io.ReadAll(io.LimitReader(r, maxOutput+1))
			if out.Stdout = b; len(b) > maxOutput {
				return ErrTooMuch
			}
			return err
		}
	}
	readErr := read(pipe)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	out.Stderr = stderr.String()
	var exit *exec.ExitError
	switch {
	case readErr != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return out, readErr
	case ctx.Err() != nil:
		return out, fmt.Errorf("%s: %w", commandLine(c), ErrTimeout)
	case errors.As(waitErr, &exit):
		out.Code = exit.ExitCode()
	case errors.Is(waitErr, exec.ErrWaitDelay): // it ended, and left a process behind that holds its stderr
		out.Code = cmd.ProcessState.ExitCode()
	case waitErr != nil:
		return out, fmt.Errorf("%s: %w", commandLine(c), waitErr)
	}
	return out, nil
}

func prepare(ctx context.Context, c Command) (*exec.Cmd, *tail, error) {
	path, err := exec.LookPath(c.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not in PATH: %w", c.Name, err)
	}
	cmd := exec.CommandContext(ctx, path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	stderr := &tail{}
	cmd.Stderr = stderr
	cmd.WaitDelay = 2 * time.Second
	ownGroup(cmd)
	return cmd, stderr, nil
}

// LookPath finds a program in PATH.
func LookPath(name string) (string, error) { return exec.LookPath(name) }

func commandLine(c Command) string { return strings.Join(append([]string{c.Name}, c.Args...), " ") }

// tail keeps the last bytes of stderr: what a program says last is why it ended.
type tail struct {
	mu  sync.Mutex // a process that was left behind may write still
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-maxStderr):]...)
	if len(t.buf) > 2*maxStderr {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-maxStderr:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf[max(0, len(t.buf)-maxStderr):]))
}

// GitError is a git command that ended with a non-zero code.
type GitError struct {
	Args   []string
	Code   int
	Stderr string
}

func (e *GitError) Error() string {
	text := e.Stderr
	if text == "" {
		text = fmt.Sprintf("exit code %d", e.Code)
	}
	return fmt.Sprintf("git %s: %s", e.Args[0], text)
}

// fixed is what every git command of ours begins with: none of the user's programs is
// started for a question of ours, and the output does not depend on taste.
var fixed = []string{
	"-c", "core.fsmonitor=false", "-c", "submodule.recurse=false", "-c", "color.ui=false",
	"-c", "core.quotePath=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
}

func (r *Repo) command(args ...string) Command {
	return Command{Name: "git", Args: append(fixed[:len(fixed):len(fixed)], args...), Dir: r.dir(), Env: r.env}
}

// git runs a reading git command and returns its output; a non-zero code is a *GitError.
func (r *Repo) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, r.command(args...), args)
}

func (r *Repo) run(ctx context.Context, c Command, args []string) ([]byte, error) {
	out, err := Run(ctx, c)
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		return out.Stdout, &GitError{Args: args, Code: out.Code, Stderr: out.Stderr}
	}
	return out.Stdout, nil
}

// Edit opens a file in the user's editor and waits for it. The editor is a shell line, as
// `git var GIT_EDITOR` gives it and as Git itself runs it; the file's name is an argument.
func Edit(ctx context.Context, c Command, editor, file string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", editor, err)
	}
	return nil
}

// Editor is the user's editor as Git finds it.
func (r *Repo) Editor(ctx context.Context) (string, error) {
	c := r.command("var", "GIT_EDITOR")
	c.Env = r.caller // ours names an editor that does nothing
	out, err := r.run(ctx, c, []string{"var"})
	return strings.TrimSpace(string(out)), err
}
