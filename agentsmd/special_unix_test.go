//go:build unix

package agentsmd

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What would wait for ever is never opened.
func TestNoFIFOIsOpened(t *testing.T) {
	l := learn(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{filepath.Join(l.dir, FileName), filepath.Join(l.dir, "CLAUDE.md")} {
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Error(err)
			}
		}
		c := l.says(l.dir, "Answer in one sentence.")
		if len(c.Warnings) != 1 {
			t.Errorf("warnings: %v", c.Warnings)
		}
		session := filepath.Join(l.home, ".codex", "sessions", "fifo.jsonl")
		if err := syscall.Mkfifo(session, 0o600); err != nil {
			t.Error(err)
		}
		if _, err := l.Collect(context.Background(), CollectOptions{QuotaMin: -1, Files: nil}); err != nil {
			t.Error(err)
		}
		if _, err := l.Rules(context.Background(), l.dir, HostClaude); err != nil {
			t.Error(err)
		}
		if _, err := l.Why(context.Background(), filepath.Join(l.dir, FileName)+":1", "."); err == nil {
			t.Error("a rule of a FIFO is known")
		}
		if _, _, err := elsewhere(session); err == nil {
			t.Error("a FIFO is a transcript")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("something waits")
	}
}

// Another user's file is not written to.
func TestForeignOwner(t *testing.T) {
	l := learn(t)
	p := l.one()
	l.writes(l.dir, "Text.\n")
	real := user
	t.Cleanup(func() { user = real })
	user = func() int { return real() + 4321 }
	if err := l.applies(p.Plan, 1); !isCode(err, "target-owner") || l.file(l.dir) != "Text.\n" {
		t.Errorf("%v, the file holds %q", err, l.file(l.dir))
	}
}
