package finding

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type jsonReport struct {
	SchemaVersion int           `json:"schema_version"`
	Tool          string        `json:"tool"`
	Mode          string        `json:"mode"`
	Base          string        `json:"base"`
	Head          string        `json:"head"`
	Examined      jsonExamined  `json:"examined"`
	Findings      []jsonFinding `json:"findings"`
	Unchecked     []Unchecked   `json:"unchecked"`
	Proofs        []Proof       `json:"proofs,omitzero"`
	Summary       jsonSummary   `json:"summary"`
	Exit          int           `json:"exit"`
}

type jsonExamined struct {
	Files   int `json:"files"`
	Commits int `json:"commits"`
}

type jsonSummary struct {
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Infos     int `json:"infos"`
	Baselined int `json:"baselined"`
	Unchecked int `json:"unchecked"`
}

type jsonFinding struct {
	Code        string   `json:"code"`
	Severity    Severity `json:"severity"`
	Title       string   `json:"title"`
	Message     string   `json:"message"`
	Fix         string   `json:"fix,omitzero"`
	Path        string   `json:"path"`
	PathBase64  []byte   `json:"path_base64,omitzero"` // the raw name, when it is not UTF-8
	Line        int      `json:"line,omitzero"`
	Column      int      `json:"column,omitzero"`
	EndLine     int      `json:"end_line,omitzero"`
	EndColumn   int      `json:"end_column,omitzero"`
	Commit      string   `json:"commit,omitzero"`
	Fingerprint string   `json:"fingerprint"`
	State       string   `json:"state"` // new or baselined
}

// WriteJSON prints the report as one document. The same result gives the same bytes.
func WriteJSON(w io.Writer, r Report) error {
	out := jsonReport{
		SchemaVersion: 1, Tool: r.Tool, Mode: r.Mode, Base: r.Base, Head: r.Head,
		Examined: jsonExamined{r.Files, r.Commits}, Findings: []jsonFinding{}, Unchecked: r.Unchecked,
		Summary: jsonSummary{r.Count(Error), r.Count(Warning), r.Count(Info), r.Baselined(), len(r.Unchecked)},
		Exit:    r.Exit(),
	}
	if r.Proofs {
		out.Proofs = r.Proved()
	}
	if out.Unchecked == nil {
		out.Unchecked = []Unchecked{}
	}
	prints := Fingerprints(r.Findings)
	for i, f := range r.Findings {
		j := jsonFinding{Code: f.Code, Severity: f.Severity, Title: f.Title, Message: f.Message, Fix: f.Fix, Path: f.Path,
			Line: f.Start.Line, Column: f.Start.Col, EndLine: f.End.Line, EndColumn: f.End.Col, Commit: f.Commit, Fingerprint: prints[i], State: "new"}
		if f.Baselined {
			j.State = "baselined"
		}
		if !utf8.ValidString(f.Path) {
			j.PathBase64 = []byte(f.Path)
		}
		out.Findings = append(out.Findings, j)
	}
	b, err := Document(out)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Document encodes v as one JSON document with a final newline, in which control,
// bidirectional and invisible characters are escaped and bytes that are not UTF-8 are
// U+FFFD.
func Document(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r >= 0x7f && Unsafe(r) && r < 0x10000: // those below stand in no string; the encoder escapes them
			fmt.Fprintf(&out, `\u%04x`, r)
		case r >= 0x10000 && Unsafe(r):
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out.Write(b[i : i+n])
		}
		i += n
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
