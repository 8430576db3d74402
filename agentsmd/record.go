package agentsmd

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SchemaVersion is that of every document of this room.
const SchemaVersion = 1

// Record is what a person said in one turn of a conversation, and how the agent answered
// (seed 000 calls it ConversationRecord).
type Record struct {
	ID          string    `json:"record_id"`
	SourceName  string    `json:"source_name"` // codex, claude-code, or statement
	Session     string    `json:"session_id"`
	Turn        string    `json:"turn_id"`
	Cwd         *string   `json:"cwd"`
	ProjectRoot *string   `json:"project_root"` // top of the worktree of cwd, else cwd itself; null if it is gone
	ProjectKey  *string   `json:"project_key"`
	Outcome     string    `json:"outcome"`
	User        string    `json:"user_input"`             // redacted, at most 64 KiB
	Final       string    `json:"assistant_final_answer"` // the same
	Source      SourceRef `json:"source"`
	Refs        []string  `json:"refs"` // by which a decision may name it, and no others
	StartedAt   *string   `json:"started_at"`
	EndedAt     *string   `json:"ended_at"`
	CutBytes    int       `json:"cut_bytes"`
	Redactions  int       `json:"redactions"`
	Processed   bool      `json:"processed"`
	CopyKey     string    `json:"copy_key,omitzero"` // of a turn whose id is unique by itself
}

// SourceRef is where a record stands in its transcript: lines 1-based and inclusive, bytes half
// open, and the SHA-256 of that range.
type SourceRef struct {
	Path      string `json:"path"`
	LineStart int    `json:"line_start"`
	LineEnd   int    `json:"line_end"`
	ByteStart int64  `json:"byte_start"`
	ByteEnd   int64  `json:"byte_end"`
	SHA256    string `json:"sha256"`
	Copies    int    `json:"copies"` // of the turn in resumed, forked and archived transcripts
}

// Batch is what one run collected. It is the unit of reconcile, apply and checkpoint.
type Batch struct {
	SchemaVersion   int                  `json:"schema_version"`
	Run             string               `json:"run_id"`
	CreatedAt       string               `json:"created_at"`
	CodexHome       string               `json:"codex_home"`
	ClaudeHome      string               `json:"claude_home"`
	AllowedRoots    []string             `json:"allowed_project_roots"`
	ExplicitRoots   []string             `json:"explicit_project_roots"` // a part of the allowed ones
	CurrentSessions []string             `json:"current_sessions"`
	Projects        map[string]ProjectID `json:"projects"` // by key
	Records         []Record             `json:"records"`
	Context         []Record             `json:"context_records"`
	RecordIDs       []string             `json:"record_ids"` // of records that some decision must reach
	Episodes        []Episode            `json:"episodes"`
	Cursors         map[string]Cursor    `json:"cursors"`
	Quota           *Quota               `json:"quota"`
	Warnings        []string             `json:"warnings"`
	Counts          map[string]int       `json:"counts"`
	More            bool                 `json:"more"` // another run will find more
}

// ProjectID is what identifies a project: the roots that it was seen at, and its history's
// beginnings if all of it is there.
type ProjectID struct {
	Roots       []string `json:"roots"`
	RootCommits []string `json:"root_commits"`
}

// Episode ties a record to the turns before it.
type Episode struct {
	ID      string        `json:"episode_id"`
	Record  string        `json:"record_id"`
	Context []EpisodeTurn `json:"context"`
}

// EpisodeTurn is one of those.
type EpisodeTurn struct {
	Record   string `json:"record_id"`
	Relation string `json:"relation"` // same_session_prior or same_project_prior
}

// Cursor is how far a transcript was read, and the last turns before that.
type Cursor struct {
	Source   string  `json:"source_name"`
	Path     string  `json:"path"`
	Session  string  `json:"session_id"`
	Head     string  `json:"head_sha256"` // of the first HeadSize bytes
	HeadSize int64   `json:"head_size"`
	Offset   int64   `json:"byte_offset"`
	Line     int     `json:"line"`
	Cwd      string  `json:"cwd"`
	Root     string  `json:"project_root"` // of the last turn
	Ended    string  `json:"ended_at,omitzero"`
	Prior    []Prior `json:"prior"`
	Instead  int64   `json:"instead_of,omitzero"` // offset of the cursor that it takes the place of, of a file that shrank or was made anew
}

// Prior is where a turn stands that was processed earlier.
type Prior struct {
	Record string `json:"record_id"`
	Start  int64  `json:"byte_start"`
	End    int64  `json:"byte_end"`
	Line   int    `json:"line"` // lines before it
	Cwd    string `json:"cwd"`
}

// Quota is what was seen of an agent's limits.
type Quota struct {
	Status     string `json:"status"` // allowed, blocked or unknown
	Remaining  *int   `json:"remaining_percent"`
	ObservedAt string `json:"observed_at"`
}

// Manifest is how a batch was cut into chunks.
type Manifest struct {
	SchemaVersion int        `json:"schema_version"`
	Run           string     `json:"run_id"`
	Batch         string     `json:"batch_sha256"`
	MaxRecords    int        `json:"max_records"`
	MaxChars      int        `json:"max_chars"`
	AllowedRoots  []string   `json:"allowed_project_roots"`
	ExplicitRoots []string   `json:"explicit_project_roots"`
	Chunks        []ChunkRef `json:"chunks"`
}

// ChunkRef is one of them.
type ChunkRef struct {
	Number     int      `json:"number"`
	File       string   `json:"file"`
	SHA256     string   `json:"sha256"`
	Root       *string  `json:"project_root"`
	ProjectKey *string  `json:"project_key"`
	RecordIDs  []string `json:"record_ids"`
}

// Chunk is what a reviewer reads at once: records of one project with what came before them, the
// rules in effect there, and what is closed.
type Chunk struct {
	SchemaVersion  int             `json:"schema_version"`
	Run            string          `json:"run_id"`
	Number         int             `json:"number"`
	Of             int             `json:"of"`
	Root           *string         `json:"project_root"`
	ProjectKey     *string         `json:"project_key"`
	ExplicitRoots  []string        `json:"explicit_project_roots"`
	Records        []ChunkRecord   `json:"records"`
	Context        []ChunkRecord   `json:"context"`
	ContextOmitted int             `json:"context_omitted"`
	Effective      []EffectiveRule `json:"effective_rules"`
	Closed         []ClosedRule    `json:"closed"`

	EffectiveOmitted int `json:"effective_rules_omitted,omitzero"` // there was no room for them: read the files
	ClosedOmitted    int `json:"closed_omitted,omitzero"`
}

// ChunkRecord is a record as a reviewer sees it.
type ChunkRecord struct {
	ID          string   `json:"record_id"`
	Session     string   `json:"session_id"`
	ProjectRoot *string  `json:"project_root"`
	Outcome     string   `json:"outcome"`
	User        string   `json:"user_input"`
	Final       string   `json:"assistant_final_answer"`
	Refs        []string `json:"refs"`
	StartedAt   *string  `json:"started_at"`
	Lines       [2]int   `json:"lines"` // of its transcript, for `agentsmd evidence`
	Before      []string `json:"before"`
	Abridged    bool     `json:"abridged,omitzero"`
	Processed   bool     `json:"processed,omitzero"`
}

// EffectiveRule is a line that an agent reads as an instruction.
type EffectiveRule struct {
	Text    string `json:"text"`
	Where   string `json:"where"` // path:line
	Managed bool   `json:"managed"`
}

// ClosedRule is what was withdrawn or rejected.
type ClosedRule struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Text string `json:"text"`
	At   string `json:"at"`
}

// Document is the stored form of a document: two spaces of indentation, a final newline, members
// in the order of their type.
func Document(v any) ([]byte, error) {
	data, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true), json.FormatNilSliceAsNull(false))
	return append(data, '\n'), err
}

// readDocument reads a document strictly. name is what an error calls it.
func readDocument(name string, data []byte, into any) error {
	var v struct {
		SchemaVersion int `json:"schema_version"`
	}
	if err := json.Unmarshal(data, &v, jsontext.AllowDuplicateNames(true)); err == nil && v.SchemaVersion != SchemaVersion {
		return &Fault{"agentsmd/schema-version", fmt.Sprintf("%s has the version %d, and this program knows %d", name, v.SchemaVersion, SchemaVersion), ""}
	}
	if err := json.Unmarshal(data, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, err)
	}
	again, err := Document(into)
	if err != nil || !bytes.Equal(again, data) {
		return fmt.Errorf("%s is not in its one form", name)
	}
	return nil
}
