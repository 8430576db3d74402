package agentsmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// codex reads the sessions of Codex: JSON Lines of {timestamp, type, payload} below sessions and
// archived_sessions, or bare items without that envelope.
type codex struct{}

func (codex) Name() string { return "codex" }

func (codex) Files(ctx context.Context, fsys fs.FS, warn func(string)) ([]File, error) {
	return filesBelow(ctx, fsys, warn, []string{"sessions", "archived_sessions"}, func(string) bool { return true })
}

// filesBelow lists the transcripts below directories: regular files, and links to them once.
func filesBelow(ctx context.Context, fsys fs.FS, warn func(string), dirs []string, keep func(name string) bool) (out []File, err error) {
	for _, dir := range dirs {
		err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					warn(name + " cannot be read")
				}
				return nil
			}
			if d.IsDir() {
				return nil
			}
			if info, err := fs.Stat(fsys, name); d.Type()&fs.ModeSymlink != 0 && (err != nil || info.IsDir()) {
				warn(name + " is a link to a directory or to nothing, and is not followed")
				return nil
			}
			if !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".jsonl.zst") || !keep(name) {
				return nil
			}
			info, err := fs.Stat(fsys, name) // through a link, once
			if err != nil || !info.Mode().IsRegular() {
				warn(name + " is no regular file, and is not read")
				return nil
			}
			out = append(out, File{Path: name, Name: name, FS: fsys, Size: info.Size(), ModTime: info.ModTime()})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func codexMembers(name string) bool {
	switch name {
	case "timestamp", "type", "payload", "role", "content", "phase", "id":
		return true
	}
	return false
}

// Knows takes an envelope of ours, a bare item, and the first line of an old session.
func (codex) Knows(raw []byte) bool {
	var l struct {
		Type    string         `json:"type"`
		Payload jsontext.Value `json:"payload"`
		Role    string         `json:"role"`
		UUID    string         `json:"uuid"`
	}
	if !decodeInto(raw, &l) || l.UUID != "" {
		return false
	}
	switch l.Type {
	case "session_meta", "turn_context", "response_item", "event_msg", "compacted":
		return len(l.Payload) > 0
	case "message":
		return l.Role != ""
	}
	return false
}

// codexPayload is what is read of a payload of any type.
type codexPayload struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Task    string `json:"task_id"`
	Cwd     string `json:"cwd"`
	Role    string `json:"role"`
	Phase   string `json:"phase"`
	Message string `json:"message"`
	Last    string `json:"last_agent_message"`

	Source     jsontext.Value `json:"source"`
	Originator string         `json:"originator"`
	Parent     string         `json:"parent_thread_id"`
	Thread     string         `json:"thread_source"`
	Content    jsontext.Value `json:"content"`
}

type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// parts are the texts of a content member: one string, or parts of the given types.
func parts(v jsontext.Value, types ...string) []string {
	if v.Kind() == '"' {
		return []string{textOf(v)}
	}
	var list []jsontext.Value
	if !decodeInto(v, &list) {
		return nil
	}
	var out []string
	for _, item := range list {
		var p contentPart
		if item.Kind() == '"' {
			out = append(out, textOf(item))
		} else if decodeInto(item, &p) && contains(types, p.Type) {
			out = append(out, p.Text)
		}
	}
	return out
}

// turnMaker collects the lines of a turn.
type turnMaker struct {
	turn    Turn
	open    bool
	hash    hash.Hash
	user    []string
	second  []string // user text that counts if there is none of the first kind
	secondL []int
	final   []string
	spoke   bool   // the agent did anything
	last    string // what it said last, if it did nothing since
	lastL   int
	answer  bool // there is a final answer
	dropped bool // text that nobody typed
}

func (m *turnMaker) begin(l *line, cwd string) {
	*m = turnMaker{open: true, hash: sha256.New()}
	l.before = nil
	m.turn = Turn{LineStart: l.number, Start: l.start, Outcome: Complete, Cwd: cwd, CwdBefore: cwd}
}

// take counts a line to the turn.
func (m *turnMaker) take(l *line, at string) {
	m.hash.Write(l.before)
	m.hash.Write(l.raw)
	m.turn.LineEnd, m.turn.End = l.number, l.end
	if t := isoTime(at); !t.IsZero() {
		if m.turn.Started.IsZero() {
			m.turn.Started = t
		}
		m.turn.Ended = t
	}
}

// done is the turn as it stands, ok if a person said anything in it or nobody did but something
// looked like it.
func (m *turnMaker) done() (Turn, bool) {
	t := m.turn
	if len(m.user) == 0 {
		m.user, t.UserLines = m.second, m.secondL
	}
	if len(m.final) == 0 && m.last != "" {
		m.final, t.FinalLines = []string{m.last}, []int{m.lastL}
	}
	t.User, t.Final = strings.Join(m.user, "\n\n"), strings.Join(m.final, "\n\n")
	t.SHA256 = hex.EncodeToString(m.hash.Sum(nil))
	if t.ID == "" {
		t.ID = fmt.Sprintf("off-%d", t.Start)
	}
	if t.User == "" && m.dropped {
		t.Left = Injected
	}
	return t, t.User != "" || t.Left != ""
}

func (codex) Turns(ctx context.Context, f File, from Place, warn func(string)) iter.Seq2[Turn, error] {
	s := &codexSession{name: strings.TrimSuffix(path.Base(f.Name), ".jsonl")}
	return turns(ctx, f, from, codexMembers, warn, s, func() error {
		if from.Offset == 0 {
			return nil
		}
		return s.head(f, from)
	})
}

// codexSession is what is known while a transcript is read.
type codexSession struct {
	turnMaker
	id, cwd string
	name    string // of the file, for one that does not say its session
	left    Left
	named   bool // the first session_meta was read
}

// head reads the session's own first lines again, for a place further on.
func (s *codexSession) head(f File, from Place) error {
	r, err := openLines(f, Place{}, codexMembers, func(string) {})
	if err != nil {
		return err
	}
	defer r.close()
	for range headLines {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if l.text("type") == "session_meta" {
			s.meta(l)
			break
		}
	}
	if from.Cwd != "" {
		s.cwd = from.Cwd
	}
	return nil
}

// headLines is how many lines may come before the first that says what a file is.
const headLines = 64

// meta reads the first session_meta; later ones replay a parent.
func (s *codexSession) meta(l *line) {
	var p codexPayload
	if s.named || !decodeInto(l.members["payload"], &p) {
		return
	}
	s.named = true
	s.id, s.cwd = firstOf(p.ID, p.Session), p.Cwd
	var source struct {
		Subagent jsontext.Value `json:"subagent"`
	}
	switch {
	case p.Source.Kind() == '{' && decodeInto(p.Source, &source) && len(source.Subagent) > 0, p.Parent != "", p.Thread == "subagent", textOf(p.Source) == "subagent":
		s.left = Delegated
	case textOf(p.Source) == "exec", p.Originator == "codex_exec":
		s.left = Noninteractive
	}
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// line takes a line, and returns the turn before it if the line begins another.
func (s *codexSession) line(l *line) (out Turn, ok bool) {
	kind := l.text("type")
	var p codexPayload
	s.named = s.named || l.number > headLines
	switch kind {
	case "session_meta":
		s.meta(l)
		if s.open {
			s.take(l, "")
		}
		return out, false
	case "message": // a bare item
		p = codexPayload{Type: "message", Role: l.text("role"), Phase: l.text("phase"), Content: l.members["content"]}
		kind = "response_item"
	case "turn_context", "event_msg", "response_item":
		if !decodeInto(l.members["payload"], &p) {
			if s.open {
				s.take(l, "")
			}
			return out, false
		}
	default:
		if s.open {
			s.take(l, l.text("timestamp"))
		}
		return out, false
	}
	turnID := firstOf(p.Turn, p.Task)
	var human []string
	injected := false
	if kind == "response_item" && p.Type == "message" && p.Role == "user" {
		for _, part := range parts(p.Content, "input_text", "text") {
			if t := codexText(part); t != "" {
				human = append(human, t)
			} else if strings.TrimSpace(part) != "" {
				injected = true
			}
		}
	}
	second := ""
	if kind == "event_msg" && p.Type == "user_message" {
		second = codexText(p.Message)
	}
	starts := kind == "turn_context" || kind == "event_msg" && p.Type == "task_started"
	if starts {
		turnID = firstOf(turnID, p.ID)
	}
	fresh := !s.open || s.turn.Closed
	switch {
	case fresh:
		fresh = starts || len(human) > 0 || second != "" || injected
	case starts && turnID != "" && s.turn.ID != "":
		fresh = turnID != s.turn.ID
	case starts:
		fresh = s.spoke && (turnID != "" || kind == "event_msg") // without ids a turn_context comes with every request
	case len(human) > 0, second != "" && len(s.user) == 0:
		fresh = s.answer || s.turn.ID == "" && s.last != ""
	}
	if fresh {
		out, ok = s.end()
		s.begin(l, s.cwd)
	}
	if !s.open {
		return out, ok
	}
	s.dropped = s.dropped || injected
	if s.turn.Closed { // what follows its end still belongs to it
		s.take(l, "")
		return out, ok
	}
	s.take(l, l.text("timestamp"))
	switch {
	case starts:
		s.turn.ID = firstOf(s.turn.ID, turnID)
		if p.Cwd != "" {
			if s.cwd = p.Cwd; len(s.user) == 0 {
				s.turn.Cwd = p.Cwd
			}
		}
	case len(human) > 0:
		s.user, s.turn.UserLines = append(s.user, human...), append(s.turn.UserLines, l.number)
	case second != "":
		s.second, s.secondL = append(s.second, second), append(s.secondL, l.number)
	case p.Type == "message" && p.Role == "assistant":
		s.spoke = true
		s.last, s.lastL = strings.Join(parts(p.Content, "output_text", "text"), "\n\n"), l.number
		if p.Phase == "final_answer" {
			s.answered(strings.Join(parts(p.Content, "output_text", "text"), "\n\n"), l.number, true)
		}
	case kind == "response_item" && p.Role != "user":
		s.spoke, s.last = true, ""
	case p.Type == "agent_message":
		s.spoke = true
		s.last, s.lastL = p.Message, l.number
		if p.Phase == "final_answer" {
			s.answered(p.Message, l.number, false)
		}
	case p.Type == "task_complete" || p.Type == "turn_complete":
		s.turn.ID = firstOf(s.turn.ID, turnID)
		if p.Last != "" {
			s.answered(p.Last, l.number, false)
		}
		s.turn.Closed = true
	case p.Type == "turn_aborted":
		s.turn.ID = firstOf(s.turn.ID, turnID)
		s.turn.Outcome, s.turn.Closed = Aborted, true
	}
	return out, ok
}

// answered notes the final answer. One by a message counts before one by an event.
func (s *codexSession) answered(text string, number int, message bool) {
	if strings.TrimSpace(text) == "" || !message && s.answer {
		return
	}
	s.answer = true
	s.final, s.turn.FinalLines = []string{text}, []int{number}
}

// end is the turn that was being read.
func (s *codexSession) end() (Turn, bool) {
	if !s.open {
		return Turn{}, false
	}
	t, ok := s.done()
	s.open = false
	if t.Session = s.id; t.Session == "" {
		t.Session = s.name
	}
	if s.left != "" {
		t.Left = s.left
	}
	return t, ok
}
