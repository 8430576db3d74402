package testscripts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Words of the scripts about learned rules. Transcripts are written here by hand, from the
// shapes of events that the manual names.

// uuid makes an id of the form that agents use, the same for the same text.
func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x-%x-4%x-8%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[9:11], sum[11:17])[:36]
}

func jsonLine(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

type object = map[string]any

// clock is the time that a script gives with ASSENT_NOW, else the real one.
func clock(ts *testscript.TestScript) time.Time {
	if t, err := time.Parse(time.RFC3339, ts.Getenv("ASSENT_NOW")); err == nil {
		return t
	}
	return time.Now().UTC()
}

// talk AGENT NAME DIR TEXT...: somebody said these words to an agent in a directory, one turn for
// each, in the session of that name. DIR - is no directory.
func cmdTalk(ts *testscript.TestScript, neg bool, args []string) {
	agent, name, dir := args[0], args[1], ts.MkAbs(args[2])
	if args[2] == "-" {
		dir = ""
	}
	home := ts.Getenv("HOME")
	file := filepath.Join(home, ".codex", "sessions", "2026", "11", "30", "rollout-"+name+".jsonl")
	if agent == "claude" {
		file = filepath.Join(home, ".claude", "projects", "p", name+".jsonl")
	}
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	before, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		ts.Check(err)
	}
	// Each talk of a script begins ten seconds after the one before, and all of them in the past.
	talks, _ := strconv.Atoi(ts.Getenv("TALKS"))
	ts.Setenv("TALKS", strconv.Itoa(talks+1))
	out, session, at := bytes.NewBuffer(before), uuid(name), clock(ts).Add(time.Duration(talks*10-600)*time.Second)
	stamp := func() string { at = at.Add(time.Second); return at.Format(time.RFC3339) }
	event := func(kind string, payload object) {
		out.WriteString(jsonLine(object{"timestamp": stamp(), "type": kind, "payload": payload}))
	}
	said := func(role, kind, text string) object {
		return object{"type": "message", "role": role, "content": []object{{"type": kind, "text": text}}}
	}
	if agent == "codex" && len(before) == 0 {
		event("session_meta", object{"id": session, "cwd": dir, "originator": "codex_cli_rs", "source": "cli"})
	}
	for _, text := range args[3:] {
		turn := uuid(fmt.Sprint(name, out.Len(), text))
		text = unquote(text)
		if agent == "codex" {
			event("turn_context", object{"cwd": dir, "turn_id": turn})
			event("response_item", said("user", "input_text", text))
			answer := said("assistant", "output_text", "Done.")
			answer["phase"] = "final_answer"
			event("response_item", answer)
			event("event_msg", object{"type": "task_complete", "turn_id": turn, "last_agent_message": "Done."})
			continue
		}
		line := func(kind string, message object) {
			l := object{"type": kind, "sessionId": session, "uuid": uuid(turn + kind), "timestamp": stamp(), "userType": "external", "isSidechain": false, "message": message}
			if dir != "" {
				l["cwd"] = dir
			}
			out.WriteString(jsonLine(l))
		}
		line("user", object{"role": "user", "content": text})
		line("assistant", object{"role": "assistant", "content": []object{{"type": "text", "text": "Done."}}, "stop_reason": "end_turn"})
	}
	ts.Check(os.WriteFile(file, out.Bytes(), 0o600))
}

// transcript AGENT NAME FILE: puts a hand-written transcript where the agent would; @WORK@ in it
// is the work directory.
func cmdTranscript(ts *testscript.TestScript, neg bool, args []string) {
	dir := filepath.Join(ts.Getenv("HOME"), ".codex", "sessions")
	if args[0] == "claude" {
		dir = filepath.Join(ts.Getenv("HOME"), ".claude", "projects", "p")
	}
	name := filepath.Join(dir, filepath.FromSlash(args[1])+".jsonl")
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	text := strings.ReplaceAll(ts.ReadFile(args[2]), "@WORK@", ts.Getenv("WORK"))
	ts.Check(os.WriteFile(name, []byte(text), 0o600))
}

// batchRecord is what the scripts look at in a batch.
type batchRecord struct {
	ID      string  `json:"record_id"`
	Session string  `json:"session_id"`
	Turn    string  `json:"turn_id"`
	User    string  `json:"user_input"`
	Final   string  `json:"assistant_final_answer"`
	Root    *string `json:"project_root"`
	Outcome string  `json:"outcome"`
	Refs    []string
}

// records are those of the newest run.
func records(ts *testscript.TestScript) []batchRecord {
	files, err := filepath.Glob(filepath.Join(state(ts), "runs", "*", "batch.json"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no run")
	}
	slices.SortFunc(files, func(a, b string) int {
		x, err1 := os.Stat(a)
		y, err2 := os.Stat(b)
		ts.Check(errors.Join(err1, err2))
		return x.ModTime().Compare(y.ModTime())
	})
	var b struct {
		Records []batchRecord `json:"records"`
	}
	data, err := os.ReadFile(files[len(files)-1])
	ts.Check(err)
	ts.Check(json.Unmarshal(data, &b))
	return b.Records
}

func state(ts *testscript.TestScript) string {
	return filepath.Join(ts.Getenv("HOME"), ".state", "assent", "agentsmd")
}

// decide FILE ACTION KEY=VALUE...: adds a decision to a payload. on=1,2 names records of the
// newest run by their place; quote is of the first of them; old, text, why, global, explicit,
// confidence, risk, target, root, label, restore, override and ref stand for fields.
func cmdDecide(ts *testscript.TestScript, neg bool, args []string) {
	name := ts.MkAbs(args[0])
	var all []object
	if data, err := os.ReadFile(name); err == nil {
		ts.Check(json.Unmarshal(data, &all))
	}
	d := object{"action": args[1], "target": "project", "global_disposition": object{"status": "project-only", "reason": "It is about this project."}}
	mutates := args[1] != "no-op" && args[1] != "needs_evidence"
	if mutates {
		d["confidence"], d["risk_of_overconstraint"] = "high", "low"
	}
	var refs []string
	first := ""
	for _, kv := range args[2:] {
		k, v, _ := strings.Cut(kv, "=")
		v = unquote(v)
		switch k {
		case "on":
			list := records(ts)
			for n := range strings.SplitSeq(v, ",") {
				i, err := strconv.Atoi(n)
				ts.Check(err)
				if i > len(list) {
					ts.Fatalf("there are %d records", len(list))
				}
				refs = append(refs, list[i-1].ID)
			}
			first = refs[0]
		case "ref":
			refs = append(refs, v)
			first = v
		case "quote":
			list, _ := d["evidence_quotes"].([]object)
			d["evidence_quotes"] = append(list, object{"ref": first, "quote": v})
		case "text":
			d["instruction"] = v
		case "old":
			if before, ok := d["existing_instruction"].(string); ok {
				d["existing_instructions"] = []string{before, v}
				delete(d, "existing_instruction")
			} else if list, ok := d["existing_instructions"].([]string); ok {
				d["existing_instructions"] = append(list, v)
			} else {
				d["existing_instruction"] = v
			}
		case "why":
			d["explanation"] = v
		case "global":
			d["global_disposition"] = object{"status": "candidate", "reason": "It may hold everywhere.", "instruction": v, "semantic_scope": "all work", "explicit_global_intent": false}
		case "explicit":
			d["global_disposition"].(object)["explicit_global_intent"] = true
		case "confidence", "target":
			d[k] = v
		case "risk":
			d["risk_of_overconstraint"] = v
		case "root":
			d["project_root"] = ts.MkAbs(v)
		case "label":
			d["decision_id"] = v
		case "restore":
			d["restore_tombstone"] = true
		case "override":
			d["override_prior_rejection"] = true
		case "query":
			d["evidence_query"] = object{"record_id": first, "line_start": 1, "line_end": 20, "kinds": []string{"user"}}
		default:
			ts.Fatalf("what is %s?", k)
		}
	}
	d["evidence_refs"] = refs
	data, err := json.MarshalIndent(append(all, d), "", " ")
	ts.Check(err)
	ts.Check(os.WriteFile(name, data, 0o644))
}

// exits CODE PROGRAM ARGS... [< FILE]: runs a program that must end with the code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = args[1:]
	var in string
	if n := len(args); n > 2 && args[n-2] == "<" {
		in = ts.ReadFile(args[n-1])
		args = args[:n-2]
	}
	cmd := exec.Command(lookPath(ts, args[0]), args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = ts.MkAbs("."), environ(ts), strings.NewReader(in)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	err = cmd.Run()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("%s ended with %d, not %d", strings.Join(args, " "), code, want)
	}
}

var planID = regexp.MustCompile(`P-[0-9a-f]{16}`)

// plan NAME: keeps the plan that stands in stdout as a variable.
func cmdPlan(ts *testscript.TestScript, neg bool, args []string) {
	id := planID.FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("stdout names no plan")
	}
	ts.Setenv(args[0], id)
}

// record N FIELD REGEXP: a record of the newest run has a field that matches; with 0 there are as
// many records as the number that stands for the field.
func cmdRecord(ts *testscript.TestScript, neg bool, args []string) {
	list := records(ts)
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	if n == 0 {
		if fmt.Sprint(len(list)) != args[1] {
			ts.Fatalf("there are %d records, not %s", len(list), args[1])
		}
		return
	}
	if n > len(list) {
		ts.Fatalf("there are %d records", len(list))
	}
	r := list[n-1]
	value := map[string]string{"user": r.User, "final": r.Final, "outcome": r.Outcome, "session": r.Session}[args[1]]
	if r.Root != nil && args[1] == "root" {
		value = *r.Root
	}
	if regexp.MustCompile(args[2]).MatchString(value) == neg {
		ts.Fatalf("%s is %q", args[1], value)
	}
}
