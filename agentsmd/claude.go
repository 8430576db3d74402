package agentsmd

import (
	"context"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// claude reads the transcripts of Claude Code: JSON Lines below projects, one object for each
// message, with session, directory and time in every line.
type claude struct{}

func (claude) Name() string { return "claude-code" }

func (claude) Files(ctx context.Context, fsys fs.FS, warn func(string)) ([]File, error) {
	return filesBelow(ctx, fsys, warn, []string{"projects"}, func(name string) bool { return strings.Count(name, "/") == 2 || delegatedName(name) })
}

// delegatedName reports a transcript of an agent that another one started.
func delegatedName(name string) bool {
	return strings.HasPrefix(path.Base(name), "agent-") || strings.Contains("/"+name, "/subagents/")
}

func claudeMembers(name string) bool {
	switch name {
	case "type", "message", "sessionId", "cwd", "uuid", "timestamp", "isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "entrypoint", "userType", "operation", "content", "attachment":
		return true
	}
	return false
}

func (claude) Knows(raw []byte) bool {
	var l struct {
		Type    string `json:"type"`
		Session string `json:"sessionId"`
		UUID    string `json:"uuid"`
	}
	return decodeInto(raw, &l) && l.Session != "" && (l.UUID != "" || l.Type == "queue-operation")
}

func (claude) Turns(ctx context.Context, f File, from Place, warn func(string)) iter.Seq2[Turn, error] {
	s := &claudeSession{cwd: from.Cwd, delegated: delegatedName(f.Name)}
	return turns(ctx, f, from, claudeMembers, warn, s, func() error { return nil })
}

type claudeSession struct {
	turnMaker
	cwd       string
	delegated bool
	queued    []queued // typed while the agent worked, and not seen elsewhere yet
}

type queued struct {
	text string
	line int
}

type claudeMessage struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
	Stop    string         `json:"stop_reason"`
}

const interrupted = "[Request interrupted by user"

// line takes a line, and returns the turn before it if the line begins another.
func (s *claudeSession) line(l *line) (out Turn, ok bool) {
	session, at := l.text("sessionId"), l.text("timestamp")
	if cwd := l.text("cwd"); cwd != "" {
		s.cwd = cwd
	}
	kind := l.text("type")
	switch {
	case isTrue(l.members["isSidechain"]) && !s.delegated:
		if s.open {
			s.take(l, "")
		}
		return out, false
	case kind == "queue-operation":
		s.queue(l, session)
	case kind == "attachment":
		var a struct {
			Type   string         `json:"type"`
			Prompt jsontext.Value `json:"prompt"`
		}
		if decodeInto(l.members["attachment"], &a) && a.Type == "queued_command" {
			for _, p := range parts(a.Prompt, "text") {
				s.lone(l, session, claudeText(p))
				s.arrived(claudeText(p), l.number)
			}
		}
	}
	var m claudeMessage
	if kind != "user" && kind != "assistant" || !decodeInto(l.members["message"], &m) {
		if s.open {
			s.take(l, at)
		}
		return out, false
	}
	if kind == "assistant" {
		if !s.open {
			return out, false
		}
		s.take(l, at)
		s.assistant(l, m)
		return out, false
	}
	var human []string
	meta := isTrue(l.members["isMeta"]) || isTrue(l.members["isCompactSummary"]) || isTrue(l.members["isVisibleInTranscriptOnly"])
	aborted, dropped := false, false
	for _, p := range parts(m.Content, "text") {
		t := claudeText(p)
		switch {
		case strings.TrimSpace(p) == "":
		case strings.HasPrefix(strings.TrimSpace(p), interrupted):
			aborted = true
		case meta || t == "":
			dropped = true
		default:
			human = append(human, t)
		}
	}
	for _, h := range human {
		s.drop(h)
	}
	switch {
	case len(human) > 0 && (!s.open || s.turn.Closed || s.spoke || s.turn.Session != session):
		out, ok = s.end()
		s.begin(l, s.cwd)
		s.turn.Session, s.turn.ID = session, l.text("uuid")
		s.exclude(l)
	case !s.open && dropped:
		s.begin(l, s.cwd)
		s.turn.Session, s.turn.ID = session, l.text("uuid")
		s.exclude(l)
	case !s.open:
		return out, false
	case len(human) > 0 && len(s.user) == 0:
		s.turn.ID = firstOf(l.text("uuid"), s.turn.ID)
	}
	s.take(l, at)
	s.dropped = s.dropped || dropped
	if len(human) > 0 {
		s.turn.Cwd = s.cwd
		s.user, s.turn.UserLines = append(s.user, human...), append(s.turn.UserLines, l.number)
	}
	if aborted {
		s.turn.Outcome, s.turn.Closed = Aborted, true
	}
	return out, ok
}

func (s *claudeSession) exclude(l *line) {
	user := l.text("userType")
	switch {
	case s.delegated:
		s.turn.Left = Delegated
	case strings.HasPrefix(l.text("entrypoint"), "sdk"), user != "" && user != "external":
		s.turn.Left = Noninteractive
	}
}

// assistant keeps the texts behind the last use of a tool.
func (s *claudeSession) assistant(l *line, m claudeMessage) {
	s.spoke = true
	if m.Content.Kind() == '"' {
		s.final, s.turn.FinalLines = append(s.final, textOf(m.Content)), append(s.turn.FinalLines, l.number)
	}
	var list []contentPart
	if decodeInto(m.Content, &list) {
		for _, p := range list {
			switch p.Type {
			case "tool_use":
				s.final, s.turn.FinalLines = nil, nil
			case "text":
				if strings.TrimSpace(p.Text) != "" {
					s.final, s.turn.FinalLines = append(s.final, p.Text), append(s.turn.FinalLines, l.number)
				}
			}
		}
	}
	s.turn.Closed = s.turn.Outcome != Aborted && m.Stop == "end_turn" || s.turn.Outcome == Aborted
}

// lone begins a turn with words that came when none was open: what they were said into was settled
// before.
func (s *claudeSession) lone(l *line, session, text string) {
	if s.open || text == "" {
		return
	}
	s.begin(l, s.cwd)
	s.turn.Session = session
	s.exclude(l)
}

// queue follows the list of words that wait for the agent.
func (s *claudeSession) queue(l *line, session string) {
	text := claudeText(strings.Join(parts(l.members["content"], "text"), "\n\n"))
	switch l.text("operation") {
	case "enqueue":
		if text != "" {
			s.lone(l, session, text)
			s.queued = append(s.queued, queued{text, l.number})
		}
	case "remove", "popAll":
		if text == "" {
			s.queued = nil
		}
		s.drop(text)
	}
}

func (s *claudeSession) drop(text string) {
	for i, q := range s.queued {
		if q.text == text {
			s.queued = append(s.queued[:i:i], s.queued[i+1:]...)
			return
		}
	}
}

// arrived is a queued text that reached the turn.
func (s *claudeSession) arrived(text string, number int) {
	s.drop(text)
	if text != "" && s.open {
		s.user, s.turn.UserLines = append(s.user, text), append(s.turn.UserLines, number)
		s.turn.Closed = false
	}
}

// end is the turn that was being read, with the words that reached it and stand nowhere else.
func (s *claudeSession) end() (Turn, bool) {
	if !s.open {
		return Turn{}, false
	}
	for _, q := range s.queued {
		if q.line >= s.turn.LineStart {
			s.user, s.turn.UserLines = append(s.user, q.text), append(s.turn.UserLines, q.line)
		}
	}
	s.queued = nil
	t, ok := s.done()
	s.open = false
	return t, ok
}
