package boundary

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"assent/store"
)

// CallsLog is the private log of what was done in a clone, and of what was refused.
const CallsLog = "log/calls"

// Call is one entry of the log: one command that can change something, or one submission that
// was judged. It never holds text of a payload, a prompt, a quote or a file, a credential, the
// value of a variable, or an absolute path (seed 004, "Observability").
type Call struct {
	ID         string     `json:"id"` // "CL", the day, and the head of the SHA-256 over the rest
	At         string     `json:"at"` // RFC 3339, UTC
	Tool       Tool       `json:"tool"`
	Command    string     `json:"command"`
	Class      string     `json:"class"` // what the command can do to the world
	Args       []string   `json:"args_redacted,omitzero"`
	Kind       string     `json:"kind,omitzero"`
	Unit       string     `json:"unit,omitzero"`
	Input      Input      `json:"input,omitzero"`
	Schema     SchemaRef  `json:"schema,omitzero"`
	Claimed    Claims     `json:"claimed,omitzero"`
	Observed   Observed   `json:"observed,omitzero"`
	Snapshot   Snapshot   `json:"snapshot,omitzero"`
	Basis      string     `json:"basis,omitzero"`
	Stages     []StageLog `json:"stages,omitzero"`
	Verdict    string     `json:"verdict"` // accepted, refused, replayed or recovered
	Retry      Retry      `json:"retry,omitzero"`
	Key        string     `json:"key,omitzero"` // SHA-256 of the idempotency key
	Outputs    []Output   `json:"outputs,omitzero"`
	Parents    []string   `json:"parents,omitzero"`
	ApprovalID string     `json:"approval_id,omitzero"`
	Effect     string     `json:"effect,omitzero"` // such as a commit that was made
	DurationMS int64      `json:"duration_ms"`

	begun  time.Time
	logged *Logged
}

// Logged tells whether a call has its entry already.
type Logged struct{ done bool }

// Done reports whether it has.
func (l *Logged) Done() bool { return l.done }

// Tool is the program that did it.
type Tool struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Input is what came in on standard input.
type Input struct {
	SHA256 string `json:"sha256" jsonschema:"maxLength=64" text:"line" jsonschema_description:"SHA-256 of the bytes; empty for what did not come from standard input"`
	Bytes  int    `json:"bytes" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"how many"`
}

// SchemaRef is the schema that a submission was judged by: SHA256 is that of the file that
// `assent schema` prints.
type SchemaRef struct {
	Version int    `json:"version" jsonschema:"minimum=1,maximum=999" jsonschema_description:"version of the kind"`
	SHA256  string `json:"sha256" jsonschema:"maxLength=64" text:"line" jsonschema_description:"SHA-256 of the schema file"`
}

// Claims are what a host says of itself. The program calls no model and verifies none of it.
type Claims struct {
	Provider     string `json:"provider,omitzero" jsonschema:"maxLength=200" text:"line" jsonschema_description:"who serves the model"`
	Model        string `json:"model,omitzero" jsonschema:"maxLength=200" text:"line" jsonschema_description:"the model"`
	ModelVersion string `json:"model_version,omitzero" jsonschema:"maxLength=200" text:"line" jsonschema_description:"its version"`
	Prompt       string `json:"prompt_packet_sha256,omitzero" jsonschema:"maxLength=64" text:"line" jsonschema_description:"SHA-256 of the prompt"`
}

// Observed is what the program saw of a host by itself.
type Observed struct {
	RouteProbe map[string]int `json:"route_probe,omitzero"` // how many probes were enforced, not enforced, unknown
}

// Snapshot is the state of the repository that was looked at.
type Snapshot struct {
	Commit       string `json:"commit"`
	Tree         string `json:"tree"`
	ObjectFormat string `json:"object_format"`
}

// StageLog is what became of one stage of the pipeline.
type StageLog struct {
	Stage   int            `json:"stage"`
	Verdict string         `json:"verdict"` // passed, refused, or skipped
	Codes   map[string]int `json:"codes,omitzero"`
	Proves  string         `json:"proves,omitzero"`
}

// Retry says which attempt it was, as the log shows it.
type Retry struct {
	Attempt int      `json:"attempt"`
	Of      string   `json:"retry_of,omitzero"`
	Reasons []string `json:"reasons,omitzero"`
}

// Output is a file that was written. Path is relative to the top of the repository.
type Output struct {
	Path   string `json:"path" jsonschema:"minLength=1,maxLength=1024" text:"lines" jsonschema_description:"from the top of the repository"`
	Region string `json:"region,omitzero" jsonschema:"maxLength=200" text:"line" jsonschema_description:"of a file of which only a part is written"`
	SHA256 string `json:"sha256,omitzero" jsonschema:"maxLength=64" text:"line" jsonschema_description:"SHA-256 of the file; nothing for one that was removed"`
	ID     string `json:"id,omitzero" jsonschema:"maxLength=128" text:"line" jsonschema_description:"id of the record"`
}

// proves is what a stage that passes shows.
var proves = map[int]string{1: "shape", 2: "shape", 3: "shape", 4: "shape", 5: "wiring", 6: "wiring", 7: "grounding", 8: "provenance", 9: "policy", 10: "wiring", 11: "shape", 12: "wiring"}

// Begin notes when a call began, and where to tell that it has its entry; nil: nowhere.
func (c Call) Begin(now time.Time, logged *Logged) Call {
	c.begun, c.logged = now, logged
	return c
}

// Append adds the entry to the log, in the transaction of what it tells of.
func (c Call) Append(tx *store.Tx, now time.Time) (store.LogRef, error) {
	c.At = now.UTC().Format(time.RFC3339)
	if c.Tool.Go == "" {
		c.Tool.Go = runtime.Version()
	}
	if !c.begun.IsZero() {
		c.DurationMS = max(now.Sub(c.begun).Milliseconds(), 0)
	}
	c.ID = ""
	data, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return store.LogRef{}, err
	}
	if c.ID, err = deriveID("CL", data, now.UTC().Format("20060102")); err != nil {
		return store.LogRef{}, err
	}
	ref, err := tx.Append(CallsLog, c)
	if err == nil && c.logged != nil {
		c.logged.done = true
	}
	return ref, err
}

// stages tells of every stage that ran, from the violations.
func stages(vs []Violation, last int) []StageLog {
	var out []StageLog
	for stage := 1; stage <= last; stage++ {
		s := StageLog{Stage: stage, Verdict: "passed", Proves: proves[stage]}
		for _, v := range vs {
			if v.Stage == stage {
				if s.Codes == nil {
					s.Codes = map[string]int{}
				}
				s.Verdict = "refused"
				s.Codes[v.Code]++
			}
		}
		out = append(out, s)
	}
	return out
}

// stands notes what a submission is for, and what it rests on. A name that is no plain one is
// noted by its digest: the log holds no text that came in.
func (c *Call) stands(unit Unit) {
	plain := func(s string) string {
		if len(s) > 200 || Unsafe(s, "line") != "" || Secret(s) != "" || strings.HasPrefix(s, "/") {
			return "sha256:" + hexSum([]byte(s))
		}
		return s
	}
	c.Unit, c.Basis = plain(unit.Name), plain(cmp.Or(unit.Revision, c.Snapshot.Commit))
}

// earlier finds the refusals of a unit on its basis that nothing accepted came after, newest
// first, as the end of the log has them.
func earlier(tx *store.Tx, call Call) (refused []Call, err error) {
	lines, err := tx.Tail(CallsLog, logTail)
	if err != nil {
		return nil, err
	}
	for _, line := range slices.Backward(lines) {
		var c Call
		if json.Unmarshal(line, &c) != nil || c.Kind != call.Kind || c.Unit != call.Unit || c.Basis != call.Basis {
			continue
		}
		if c.Verdict != "refused" {
			break
		}
		refused = append(refused, c)
	}
	return refused, nil
}

// logTail is how much of the log is looked at for earlier attempts, in bytes.
const logTail = 256 << 10

// maxAttempts is how often a unit may be refused before a refusal says that it is enough.
const maxAttempts = 5

// retry says which attempt a call is.
func retry(refused []Call) Retry {
	r := Retry{Attempt: len(refused) + 1}
	if len(refused) > 0 {
		codes := map[string]bool{}
		for _, s := range refused[0].Stages {
			for code := range s.Codes {
				codes[code] = true
			}
		}
		r.Of, r.Reasons = refused[0].ID, slices.Sorted(maps.Keys(codes))
	}
	return r
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// canonical is the RFC 8785 form of a value.
func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err == nil {
		err = (*jsontext.Value)(&data).Canonicalize()
	}
	return data, err
}
