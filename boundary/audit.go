package boundary

import (
	"time"

	"assent/store"
)

// AuditRecord is the tracked entry of an accepted submission whose records are tracked too: it
// names their files and digests, so that a record without one, or one that was altered, is
// seen in every clone. It stands by itself, since a chain would break with every merge, and has
// nothing of the machine that it was made on.
type AuditRecord struct {
	Envelope
	Command  string       `json:"command" jsonschema:"minLength=1,maxLength=100" text:"line" jsonschema_description:"the command that took it"`
	Artifact string       `json:"artifact" jsonschema:"minLength=2,maxLength=41" text:"line" jsonschema_description:"the kind of what was submitted"`
	Unit     string       `json:"unit,omitzero" jsonschema:"maxLength=200" text:"line" jsonschema_description:"what it was submitted for"`
	Input    Input        `json:"input" jsonschema_description:"what came in"`
	Schema   SchemaRef    `json:"schema" jsonschema_description:"the schema that it was judged by"`
	Claimed  Claims       `json:"claimed,omitzero" jsonschema_description:"what the host said of itself"`
	Stages   []AuditStage `json:"stages" jsonschema:"maxItems=13" jsonschema_description:"what became of each stage, and what that proves"`
	Attempt  int          `json:"attempt" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"which attempt it was, as the log of the clone shows"`
	Outputs  []Output     `json:"outputs" jsonschema:"minItems=1,maxItems=1000" jsonschema_description:"the records that it led to"`
	Approval string       `json:"approval_id,omitzero" jsonschema:"maxLength=128" text:"line" jsonschema_description:"the yes that it rests on"`
}

// AuditStage is StageLog in a tracked entry: what was accepted met no codes.
type AuditStage struct {
	Stage   int    `json:"stage" jsonschema:"minimum=1,maximum=13" jsonschema_description:"its number"`
	Verdict string `json:"verdict" jsonschema:"maxLength=20" text:"line" jsonschema_description:"what became of it"`
	Proves  string `json:"proves" jsonschema:"maxLength=20" text:"line" jsonschema_description:"what it shows"`
}

// Audit is the form of the tracked entries. Nobody submits one.
var Audit = DefineRecord[AuditRecord](Form{Name: "audit", Version: 1, Prefix: "AU", Home: Tracked})

// TreeRoot is the store's name for the top of the worktree.
const TreeRoot = "tree"

// audit writes the tracked entry of a call whose records are tracked.
func audit(tx *store.Tx, f *Form, c Call, request string, now time.Time) (Output, error) {
	r := AuditRecord{
		Envelope: Envelope{
			SchemaVersion: Audit.Version, Kind: Audit.Name, CreatedAt: now.UTC().Format(time.RFC3339), RequestSHA256: request, Parents: []string{}, ToolVersion: c.Tool.Version,
			Basis: Basis{Revision: int64(tx.Generation()), Commit: c.Snapshot.Commit, Tree: c.Snapshot.Tree},
		},
		Command: c.Command, Artifact: f.Name, Unit: c.Unit, Input: c.Input, Schema: SchemaRef{f.Version, c.Schema.SHA256}, Claimed: c.Claimed, Attempt: c.Retry.Attempt, Outputs: c.Outputs, Approval: c.ApprovalID,
	}
	for _, s := range c.Stages {
		r.Stages = append(r.Stages, AuditStage{s.Stage, s.Verdict, s.Proves})
	}
	id, data, err := Audit.Seal(&r, func(id string) { r.ID = id }, now)
	if err != nil {
		return Output{}, err
	}
	n := store.Name{Root: TreeRoot, Path: Audit.Path(id)}
	return Output{Path: n.Path, SHA256: string(store.DigestOf(data)), ID: id}, tx.Put(store.Record, n, data, "")
}
