package agentsmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assent/boundary"
	"assent/store"
)

// EvidenceOptions are those of `agentsmd evidence`.
type EvidenceOptions struct {
	Run       string
	Record    string
	Start     int
	End       int
	Kinds     []string
	MaxEvents int
	MaxChars  int
}

// EvidenceEvents is what is shown of a transcript. It is printed, and kept nowhere.
type EvidenceEvents struct {
	SchemaVersion int             `json:"schema_version"`
	Record        string          `json:"record_id"`
	Events        []EvidenceEvent `json:"events"`
	Truncated     bool            `json:"truncated"`
}

// EvidenceEvent is one line.
type EvidenceEvent struct {
	Line int    `json:"line"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Limits of evidence.
const (
	DefaultEvents     = 50
	DefaultEventChars = 2000
)

// Evidence shows lines of a record's transcript, redacted.
func (k *Keeper) Evidence(ctx context.Context, o EvidenceOptions) (out EvidenceEvents, err error) {
	var rec *Record
	err = k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		run, err := openRun(s, o.Run)
		if err != nil {
			return err
		}
		b, _, err := readBatch(r, s, run)
		if err != nil {
			return err
		}
		for _, list := range [][]Record{b.Records, b.Context} {
			for i := range list {
				if list[i].ID == o.Record {
					rec = &list[i]
				}
			}
		}
		if rec == nil {
			return fault("evidence-untrusted", "", "the run %s has no record %s", run, o.Record)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if o.Start == 0 {
		o.Start, o.End = rec.Source.LineStart, min(rec.Source.LineEnd, rec.Source.LineStart+maxQueryLines-1)
	}
	if o.End < o.Start || o.End-o.Start >= maxQueryLines || o.Start < 1 {
		return out, fault("evidence-range", "", "lines %d to %d", o.Start, o.End)
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = DefaultEvents
	}
	if o.MaxChars <= 0 {
		o.MaxChars = DefaultEventChars
	}
	return readEvents(ctx, rec, o)
}

func readEvents(ctx context.Context, rec *Record, o EvidenceOptions) (out EvidenceEvents, err error) {
	out = EvidenceEvents{SchemaVersion: SchemaVersion, Record: rec.ID, Events: []EvidenceEvent{}}
	f := File{Path: rec.Source.Path, Name: filepath.Base(rec.Source.Path), FS: os.DirFS(filepath.Dir(rec.Source.Path))}
	if !stillThere(f, rec.Source) {
		return out, fault("evidence-gone", "", "%s is not there any more, or holds something else where the record stood", rec.Source.Path)
	}
	from := Place{}
	if o.Start >= rec.Source.LineStart { // the record's first line is known by its byte
		from = Place{Offset: rec.Source.ByteStart, Line: rec.Source.LineStart - 1}
	}
	r, err := openLines(f, from, func(string) bool { return true }, func(string) {})
	if err != nil {
		return out, fault("evidence-gone", "", "%s cannot be read: %v", rec.Source.Path, err)
	}
	defer r.close()
	for ctx.Err() == nil {
		l, err := r.next()
		if errors.Is(err, io.EOF) || err == nil && l.number > o.End {
			break
		}
		if err != nil {
			return out, err
		}
		if l.number < o.Start {
			continue
		}
		kind, text := event(rec.SourceName, l)
		if text == "" || len(o.Kinds) > 0 && !slices.Contains(o.Kinds, kind) {
			continue
		}
		if len(out.Events) == o.MaxEvents {
			out.Truncated = true
			break
		}
		text, _ = boundary.Redact(text)
		if runes := []rune(text); len(runes) > o.MaxChars {
			text, out.Truncated = shorten(text, o.MaxChars), true
		}
		out.Events = append(out.Events, EvidenceEvent{l.number, kind, text})
	}
	return out, ctx.Err()
}

// stillThere reports whether a transcript holds the bytes that a record was read from.
func stillThere(f File, s SourceRef) bool {
	file, ok := f.openRegular()
	if !ok {
		return false
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(file, s.ByteStart, s.ByteEnd-s.ByteStart))
	return err == nil && n == s.ByteEnd-s.ByteStart && hex.EncodeToString(h.Sum(nil)) == s.SHA256
}

// event is a line of a transcript as a reviewer sees it: its kind, and its text.
func event(source string, l *line) (kind, text string) {
	if source == "claude-code" {
		return claudeEvent(l)
	}
	return codexEvent(l)
}

func codexEvent(l *line) (kind, text string) {
	var p codexPayload
	payload := l.members["payload"]
	if l.text("type") == "message" {
		p = codexPayload{Type: "message", Role: l.text("role"), Content: l.members["content"]}
	} else if !decodeInto(payload, &p) {
		return "", ""
	}
	switch {
	case p.Type == "message" && p.Role == "user":
		return "user", strings.Join(parts(p.Content, "input_text", "text"), "\n\n")
	case p.Type == "message":
		return "assistant", strings.Join(parts(p.Content, "output_text", "text"), "\n\n")
	case p.Type == "user_message":
		return "user", p.Message
	case p.Type == "agent_message":
		return "assistant", p.Message
	case strings.Contains(p.Type, "call"):
		return "tool", string(payload)
	}
	return "lifecycle", firstOf(p.Type, l.text("type"))
}

func claudeEvent(l *line) (kind, text string) {
	var m claudeMessage
	if !decodeInto(l.members["message"], &m) {
		return "lifecycle", l.text("type")
	}
	var list []struct {
		Type    string         `json:"type"`
		Text    string         `json:"text"`
		Name    string         `json:"name"`
		Input   jsontext.Value `json:"input"`
		Content jsontext.Value `json:"content"`
	}
	kind = l.text("type")
	if m.Content.Kind() == '"' {
		return kind, textOf(m.Content)
	}
	if !decodeInto(m.Content, &list) {
		return "lifecycle", kind
	}
	var texts []string
	for _, p := range list {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "tool_use":
			kind = "tool"
			texts = append(texts, fmt.Sprintf("%s %s", p.Name, p.Input))
		case "tool_result":
			kind = "tool"
			texts = append(texts, strings.Join(parts(p.Content, "text"), "\n"))
		}
	}
	return kind, strings.Join(texts, "\n\n")
}
