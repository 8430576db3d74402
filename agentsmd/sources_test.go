package agentsmd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assent/boundary"
)

// reads are transcripts, and what is read of them: for each turn what was said, how it ended, and
// the answer.
var reads = []struct {
	name   string
	source Source
	lines  []string
	want   []string
}{
	{"codex: two turns with ids", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"turn_context","payload":{"cwd":"/p","turn_id":"1"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}`,
		`{"type":"event_msg","payload":{"type":"user_message","message":"one"}}`,
		`{"type":"turn_context","payload":{"cwd":"/p","turn_id":"1"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"looking"}]}}`,
		`{"type":"response_item","payload":{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"done one"}]}}`,
		`{"type":"event_msg","payload":{"type":"task_complete","turn_id":"1","last_agent_message":"done one"}}`,
		`{"type":"turn_context","payload":{"cwd":"/q","turn_id":"2"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]}}`,
		`{"type":"event_msg","payload":{"type":"agent_message","message":"done two","phase":"final_answer"}}`,
	}, []string{"s/1 /p complete closed: one -> done one", "s/2 /q complete open: two -> done two"}},
	{"codex: bare items, no phases", codex{}, []string{
		`{"id":"s","timestamp":"2025-01-01T00:00:00Z","instructions":null}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"first wish"}]}`,
		`{"type":"reasoning","summary":[]}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"first answer"}]}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"second wish"}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"second answer"}]}`,
	}, []string{"f/off  complete open: first wish -> first answer", "f/off  complete open: second wish -> second answer"}},
	{"codex: a turn_context with every request, no ids", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"turn_context","payload":{"cwd":"/p"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"first wish"}]}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}"}}`,
		`{"type":"turn_context","payload":{"cwd":"/p"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","output":"x"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"first answer"}]}}`,
		`{"type":"turn_context","payload":{"cwd":"/q"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"second wish"}]}}`,
		`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"second answer"}]}}`,
	}, []string{"s/off /p complete open: first wish -> first answer", "s/off /q complete open: second wish -> second answer"}},
	{"codex: turns without ids, and then with", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"turn_context","payload":{"cwd":"/p"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"first wish"}]}}`,
		`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"first answer"}]}}`,
		`{"type":"turn_context","payload":{"cwd":"/p","turn_id":"2"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"second wish"}]}}`,
		`{"type":"event_msg","payload":{"type":"task_complete","turn_id":"2","last_agent_message":"second answer"}}`,
	}, []string{"s/off /p complete open: first wish -> first answer", "s/2 /p complete closed: second wish -> second answer"}},
	{"codex: the id comes after the words", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"wish"}]}}`,
		`{"type":"turn_context","payload":{"cwd":"/p","turn_id":"1"}}`,
		`{"type":"event_msg","payload":{"type":"task_complete","turn_id":"1","last_agent_message":"answer"}}`,
	}, []string{"s/1 /p complete closed: wish -> answer"}},
	{"codex: words while it worked belong to the turn", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"turn_context","payload":{"turn_id":"1"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}`,
		`{"type":"response_item","payload":{"type":"function_call"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"but not the lock file"}]}}`,
		`{"type":"event_msg","payload":{"type":"turn_aborted"}}`,
	}, []string{"s/1 /p aborted closed: go|but not the lock file -> "}},
	{"codex: what nobody typed", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"turn_context","payload":{"turn_id":"1"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<skill>\n<name>x</name>\n</skill>"},{"type":"input_text","text":"<user_action>\nreview\n</user_action>"},{"type":"input_text","text":"# Context from my IDE setup:\n\n## Open tabs\n\n## My request for Codex:\r\nReal words.\n"},{"type":"input_text","text":"# Context from my IDE setup:\n\nno request"},{"type":"input_text","text":"<repo_context>x</repo_context>"},{"type":"input_text","text":"<some-thing>\nx\n</some-thing>"}]}}`,
		`{"type":"event_msg","payload":{"type":"task_complete"}}`,
	}, []string{"s/1 /p complete closed: Real words. -> "}},
	{"codex: forked, the parent's meta is replayed", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"child","cwd":"/p"}}`,
		`{"type":"session_meta","payload":{"id":"parent","cwd":"/q"}}`,
		`{"type":"turn_context","payload":{"turn_id":"1"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}`,
	}, []string{"child/1 /p complete open: x -> "}},
	{"codex: lines that are none, and an unfinished one", codex{}, []string{
		"\xef\xbb\xbf" + `{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`, "", "not json", `[1]`, `{"type":"turn_context","payload":{"turn_id":"1"}}` + "\r",
		`{"type":"response_item","payload":null}`, `{"type":7,"payload":[]}`, `{"type":"response_item","payload":{"type":"message","role":"user","content":"plain"}}`, `{"type":"event_msg","payload":{"type":"task_compl` + "\x00",
	}, []string{"s/1 /p complete open: plain -> "}},
	{"codex: compacted", codex{}, []string{
		`{"type":"session_meta","payload":{"id":"s","cwd":"/p"}}`,
		`{"type":"turn_context","payload":{"turn_id":"1"}}`,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}`,
		`{"type":"compacted","payload":{"message":"all that was said","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"old words"}]}]}}`,
		`{"type":"turn_context","payload":{"turn_id":"1"}}`,
		`{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"ok"}}`,
	}, []string{"s/1 /p complete closed: x -> ok"}},
	{"claude: queued words that stand nowhere else", claude{}, []string{
		`{"type":"user","sessionId":"s","uuid":"u1","cwd":"/p","message":{"role":"user","content":"go"}}`,
		`{"type":"assistant","sessionId":"s","uuid":"u2","message":{"role":"assistant","content":[{"type":"tool_use","name":"x","input":{}}]}}`,
		`{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"not the lock file"}`,
		`{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"next task"}`,
		`{"type":"attachment","sessionId":"s","uuid":"u3","attachment":{"type":"queued_command","prompt":"not the lock file"}}`,
		`{"type":"assistant","sessionId":"s","uuid":"u4","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}}`,
		`{"type":"user","sessionId":"s","uuid":"u5","cwd":"/p","message":{"role":"user","content":"next task"}}`,
	}, []string{"s/u1 /p complete closed: go|not the lock file -> done", "s/u5 /p complete open: next task -> "}},
	{"claude: words into a turn that was settled before", claude{}, []string{
		`{"type":"queue-operation","operation":"enqueue","sessionId":"s","cwd":"/p","content":"never touch the lock file"}`,
		`{"type":"attachment","sessionId":"s","uuid":"u3","attachment":{"type":"queued_command","prompt":"never touch the lock file"}}`,
		`{"type":"assistant","sessionId":"s","uuid":"u4","message":{"role":"assistant","content":[{"type":"text","text":"sure"}],"stop_reason":"end_turn"}}`,
	}, []string{"s/off /p complete closed: never touch the lock file -> sure"}},
	{"claude: interrupted, injected, compacted, commands", claude{}, []string{
		`{"type":"user","sessionId":"s","uuid":"u1","cwd":"/p","message":{"role":"user","content":"go"}}`,
		`{"type":"user","sessionId":"s","uuid":"u2","cwd":"/p","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`,
		`{"type":"user","isCompactSummary":true,"sessionId":"s","uuid":"u3","cwd":"/p","message":{"role":"user","content":"This session is being continued from a previous conversation that ran out."}}`,
		`{"type":"user","sessionId":"s","uuid":"u4","cwd":"/p","message":{"role":"user","content":"<command-name>/review</command-name><command-message>review</command-message><command-args>the store, briefly</command-args>"}}`,
		`{"type":"user","sessionId":"s","uuid":"u5","cwd":"/p","message":{"role":"user","content":"<bash-stdout>never</bash-stdout>"}}`,
		`{"type":"user","sessionId":"s","uuid":"u6","cwd":"/p","message":{"role":"user","content":[{"type":"text","text":"<ide_opened_file>x.go</ide_opened_file>"},{"type":"text","text":"Before. <system-reminder>mind\nthis</system-reminder> After."}]}}`,
	}, []string{"s/u1 /p aborted closed: go -> ", "s/u4 /p complete open: the store, briefly|Before.  After. -> "}},
	{"claude: a program started it", claude{}, []string{
		`{"type":"user","sessionId":"s","uuid":"u1","cwd":"/p","entrypoint":"sdk-py","message":{"role":"user","content":"go"}}`,
		`{"type":"user","sessionId":"t","uuid":"u2","cwd":"/p","userType":"internal","message":{"role":"user","content":"go"}}`,
	}, []string{"s/u1 /p complete open noninteractive: go -> ", "t/u2 /p complete open noninteractive: go -> "}},
}

func turnsOf(t *testing.T, source Source, text string, from Place) (out []Turn) {
	t.Helper()
	f := File{Path: "/f.jsonl", Name: "f.jsonl", FS: fstest.MapFS{"f.jsonl": {Data: []byte(text)}}, Size: int64(len(text)), ModTime: time.Now()}
	for turn, err := range source.Turns(context.Background(), f, from, func(string) {}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, turn)
	}
	return out
}

func (t Turn) brief() string {
	closed := map[bool]string{true: "closed", false: "open"}[t.Closed]
	if t.Left != "" {
		closed += " " + string(t.Left)
	}
	id := t.ID
	if strings.HasPrefix(id, "off-") { // its first byte
		id = "off"
	}
	return fmt.Sprintf("%s/%s %s %s %s: %s -> %s", t.Session, id, t.Cwd, t.Outcome, closed, strings.ReplaceAll(t.User, "\n\n", "|"), t.Final)
}

func TestTurns(t *testing.T) {
	for _, c := range reads {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Join(c.lines, "\n")
			if !strings.HasSuffix(text, "\x00") { // an unfinished last line has no end
				text += "\n"
			}
			var got []string
			all := turnsOf(t, c.source, text, Place{})
			for i, turn := range all {
				got = append(got, turn.brief())
				if want := digest([]byte(text[turn.Start:turn.End])); turn.SHA256 != want {
					t.Errorf("the digest of turn %d is not that of its range", i)
				}
				if i > 0 && all[i-1].End > turn.Start {
					t.Errorf("turns %d and %d overlap", i-1, i)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			for i, turn := range all { // reading on from any of them gives the rest
				rest := turnsOf(t, c.source, text, Place{turn.Start, turn.LineStart - 1, turn.CwdBefore})
				var again []string
				for _, r := range rest {
					again = append(again, r.brief())
				}
				if fmt.Sprint(again) != fmt.Sprint(got[i:]) {
					t.Errorf("from turn %d on:\n  %s\nwant\n  %s", i, strings.Join(again, "\n  "), strings.Join(got[i:], "\n  "))
				}
			}
		})
	}
}

// FuzzTurns reads anything as a transcript: it ends, in order, with ranges that do not overlap.
func FuzzTurns(f *testing.F) {
	for _, c := range reads {
		f.Add(strings.Join(c.lines, "\n")+"\n", c.source.Name() == "codex")
	}
	f.Fuzz(func(t *testing.T, text string, isCodex bool) {
		source := Source(claude{})
		if isCodex {
			source = codex{}
		}
		at := int64(0)
		for _, turn := range turnsOf(t, source, text, Place{}) {
			if turn.Start < at || turn.End < turn.Start || turn.End > int64(len(text)) {
				t.Fatalf("turn %d to %d behind %d of %d bytes", turn.Start, turn.End, at, len(text))
			}
			at = turn.End
		}
	})
}

func TestRedact(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		n              int
	}{
		{"nothing", "the password policy and the token budget", "the password policy and the token budget", 0},
		{"a forge token", "use ghp_abcdefghijklmnopqrstuvwxyz0123456789 now", "use [redacted:service-key] now", 1},
		{"an assignment", `export DB_PASSWORD="correct horse battery"; ls`, `export DB_PASSWORD="[redacted:secret]"; ls`, 1},
		{"YAML", "api_key: abcd1234efgh", "api_key: [redacted:secret]", 1},
		{"a URL", "https://user:hunter2hunter2@example.com/x", "https://user:[redacted:url-password]@example.com/x", 1},
		{"a header", "Authorization: Bearer abcdefghijklmnop.qrstuv", "Authorization: [redacted:authorization]", 1},
		{"a JWT", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdefghij x", "[redacted:jwt] x", 1},
		{"a key without its end", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc", "[redacted:private-key]", 1},
		{"a key without its beginning", "MIIEabc\n-----END PRIVATE KEY-----\nrest", "[redacted:private-key]\nrest", 1},
		{"redacted already", "token=[redacted:secret]", "token=[redacted:secret]", 0},
		{"payment and package", "sk_live_abcdefghijklmnop npm_abcdefghijklmnopqrstuvwxyz012345", "[redacted:service-key] [redacted:service-key]", 2},
	} {
		got, n := boundary.Redact(c.in)
		if got != c.want || n != c.n {
			t.Errorf("%s: %d, %q, want %d, %q", c.name, n, got, c.n, c.want)
		}
		if again, n := boundary.Redact(got); again != got || n != 0 {
			t.Errorf("%s: once more it is %q", c.name, again)
		}
	}
	// A credential that lies across the cut of a long text goes, too.
	secret := "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, at := range []int{textHead - 20, textHead - 1, 200_000 - textTail - 20} {
		text := strings.Repeat("x ", 100_000)
		text = text[:at] + " " + secret + " " + text[at:]
		if got, _, _ := cleanText(text); strings.Contains(got, "ghp_") || strings.Contains(got, "0123456789") || len(got) > textHead+textTail+20 {
			t.Errorf("at %d of a long text: %d bytes, %v", at, len(got), strings.Contains(got, "ghp_"))
		}
	}
}
