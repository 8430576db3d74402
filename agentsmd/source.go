package agentsmd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"time"
)

// Source reads the transcripts of one agent.
type Source interface {
	Name() string // "codex" or "claude-code"
	// Files lists the transcripts below the agent's home. It opens none. What cannot be looked at
	// goes to warn.
	Files(ctx context.Context, fsys fs.FS, warn func(string)) ([]File, error)
	// Turns reads a transcript from a place on, turn by turn. What is wrong with single lines goes
	// to warn, and reading goes on; an error ends it.
	Turns(ctx context.Context, f File, from Place, warn func(string)) iter.Seq2[Turn, error]
	// Knows reports whether a line has the shape of this agent's transcripts.
	Knows(line []byte) bool
}

// Sources are those that there are.
var Sources = []Source{codex{}, claude{}}

// File is one transcript.
type File struct {
	Path    string // as the person would name it
	Name    string // in FS
	FS      fs.FS
	Size    int64
	ModTime time.Time
}

// Place is where reading begins: the first byte of a turn, its line, and what was known there.
type Place struct {
	Offset int64
	Line   int // lines before it
	Cwd    string
}

// Outcomes of a turn.
const (
	Complete = "complete"
	Aborted  = "aborted"
)

// Turn is what a person said, and how the agent answered in the end.
type Turn struct {
	Session, ID string
	Cwd         string
	Outcome     string
	Left        Left // why it is left out; "" if it is not
	User, Final string
	UserLines   []int // 1-based lines of the texts
	FinalLines  []int
	LineStart   int // 1-based, both inclusive
	LineEnd     int
	Start, End  int64 // bytes, half open
	SHA256      string
	Started     time.Time // zero if no line says so
	Ended       time.Time
	Closed      bool   // an event ended it: nothing more will come
	CwdBefore   string // that reading from its first byte would begin with
}

// Left says why a turn is left out.
type Left string

const (
	Delegated      Left = "delegated"      // an agent spoke to another
	Noninteractive Left = "noninteractive" // a program started it
	Injected       Left = "injected"       // nobody typed any of it
)

// session is one transcript while it is read: line takes a line and returns the turn before it, if
// the line begins another; end returns the last one.
type session interface {
	line(*line) (Turn, bool)
	end() (Turn, bool)
}

// turns reads a transcript line by line. begin runs before the first one.
func turns(ctx context.Context, f File, from Place, wanted func(string) bool, warn func(string), s session, begin func() error) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		err := begin()
		var r *lineReader
		if err == nil {
			r, err = openLines(f, from, wanted, warn)
		}
		if err != nil {
			yield(Turn{}, err)
			return
		}
		defer r.close()
		for ctx.Err() == nil {
			l, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(Turn{}, err)
				return
			}
			if t, ok := s.line(l); ok && !yield(t, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Turn{}, err)
			return
		}
		if t, ok := s.end(); ok {
			yield(t, nil)
		}
	}
}

// isoTime reads a time of a transcript; the zero time if it is none.
func isoTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
