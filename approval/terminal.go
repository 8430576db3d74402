package approval

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"assent/finding"
)

// The rules of asking on a terminal: the controlling terminal itself is opened, never
// standard input; text and code go only there; what was typed ahead is dropped; a long
// text is paged to its end first; then a random code must be typed, in three tries and ten
// minutes. No flag, variable, file or pipe replaces the typing. It shows presence; software
// can own a terminal too.

const (
	codeLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ" // 32 that are hard to mistake
	codeLength  = 6
	tries       = 3
	patience    = 10 * time.Minute
)

// Errors of asking. Both are policy: a person must act, another call does not help.
var (
	ErrNoTerminal = &denied{"approval/no-terminal", "there is no terminal to ask on"}
	ErrDeclined   = &denied{"approval/declined", "the code was not typed: nothing was approved"}
)

// denied is a yes that was not given: exit code 1.
type denied struct{ code, text string }

func (e *denied) Error() string { return e.code + ": " + e.text }
func (e *denied) Code() string  { return e.code }
func (e *denied) ExitCode() int { return finding.ExitFindings }

// hosts are variables that agent hosts set for the commands they run.
var hosts = []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"}

// Ask shows a statement on the controlling terminal and waits for the code. question says
// what the yes means.
func Ask(ctx context.Context, env []string, s Statement, question string) (Given, error) {
	for _, kv := range env {
		for _, h := range hosts {
			if k, v, _ := strings.Cut(kv, "="); k == h && v != "" {
				return Given{}, fmt.Errorf("%w (an agent's session: %s is set). Use a terminal of your own", ErrNoTerminal, h)
			}
		}
	}
	in, out, err := openTerminal()
	if err != nil {
		return Given{}, fmt.Errorf("%w (%v)", ErrNoTerminal, err)
	}
	defer in.Close()
	defer out.Close()
	if !foreground(in) {
		return Given{}, fmt.Errorf("%w: the command is in the background", ErrNoTerminal)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lines := readLines(in)
	if err := page(ctx, in, out, lines, s.Text()); err != nil {
		return Given{}, err
	}
	sum := sha256.Sum256([]byte(s.Text()))
	proof := Proof{Foreground: true, ShownSHA256: hex.EncodeToString(sum[:])}
	for proof.Tries = 1; proof.Tries <= tries; proof.Tries++ {
		code := newCode()
		flush(in)
		fmt.Fprintf(out, "\n%s\nTo say yes, type %s (anything else is no answer): ", question, code)
		line, err := lines.next(ctx)
		if err != nil {
			fmt.Fprintln(out)
			return Given{}, fmt.Errorf("%w (%v)", ErrDeclined, err)
		}
		if strings.ToUpper(strings.TrimSpace(line)) == code {
			return Given{MethodTerminal, s, proof}, nil
		}
	}
	return Given{}, ErrDeclined
}

func newCode() string {
	var b [codeLength]byte
	_, _ = rand.Read(b[:])
	for i := range b {
		b[i] = codeLetters[int(b[i])%len(codeLetters)]
	}
	return string(b[:])
}

// page shows a text screen by screen, to its end.
func page(ctx context.Context, in, out *os.File, lines *lineReader, text string) error {
	rows := 24
	if _, h, err := term.GetSize(int(out.Fd())); err == nil && h > 6 {
		rows = h
	}
	all := strings.Split(finding.CleanLines(strings.TrimSuffix(text, "\n")), "\n")
	for len(all) > 0 {
		n := min(len(all), rows-4)
		fmt.Fprintln(out, strings.Join(all[:n], "\n"))
		if all = all[n:]; len(all) == 0 {
			return nil
		}
		flush(in)
		fmt.Fprintf(out, "-- %d more lines: Enter to read on --", len(all))
		if _, err := lines.next(ctx); err != nil {
			return fmt.Errorf("%w (%v)", ErrDeclined, err)
		}
	}
	return nil
}

// lineReader reads a line in the background when one is asked for, so that waiting can
// time out and nothing that is typed ahead is taken.
type lineReader struct {
	ask   chan struct{}
	lines chan string
	err   error
}

func readLines(r io.Reader) *lineReader {
	l := &lineReader{ask: make(chan struct{}, 1), lines: make(chan string)}
	go func() {
		defer close(l.lines)
		in := bufio.NewReader(r)
		for range l.ask {
			line, err := in.ReadString('\n')
			if err != nil {
				l.err = err
				return
			}
			l.lines <- line
		}
	}()
	return l
}

func (l *lineReader) next(ctx context.Context) (string, error) {
	l.ask <- struct{}{}
	select {
	case line, ok := <-l.lines:
		if !ok {
			return "", l.err
		}
		return line, nil
	case <-ctx.Done():
		return "", errors.New("no answer came in time")
	}
}
