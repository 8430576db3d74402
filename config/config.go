// Package config is .assent.yaml: one Go type, read strictly. Everything has a default,
// so that a repository without the file works.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"assent/boundary"
)

// Name is the file's name at the top of the repository.
const Name = ".assent.yaml"

// maxBytes caps the file.
const maxBytes = 256 << 10

// Config is the whole of .assent.yaml.
type Config struct {
	Version int  `json:"version" jsonschema:"minimum=1,maximum=1" jsonschema_description:"version of the format: 1"`
	Skmb    Skmb `json:"skmb,omitzero" jsonschema_description:"the decision bases"`

	Agentsmd Agentsmd `json:"agentsmd,omitzero" jsonschema_description:"learned rules"`

	Approval Approval            `json:"approval,omitzero" jsonschema_description:"what counts as a yes"`
	Severity map[string]Severity `json:"severity,omitzero" jsonschema:"maxItems=200" jsonschema_description:"finding codes whose severity is another here: error, warning, info or off"`
	Baseline string              `json:"baseline,omitzero" jsonschema:"minLength=1,maxLength=200" text:"line" jsonschema_description:"file of the findings that an old base was adopted with"`
}

// Severity is the name of a severity.
type Severity string

// EnumValues lists the severities, weakest first.
func (Severity) EnumValues() []string { return []string{"off", "info", "warning", "error"} }

// Skmb configures the decision bases.
type Skmb struct {
	Roots   []string `json:"roots,omitzero" jsonschema:"minItems=1,maxItems=32,uniqueItems=true,minLength=1,maxLength=200" text:"line" jsonschema_description:"directories of the bases, from the top of the repository"`
	Gate    Gate     `json:"gate,omitzero" jsonschema_description:"strict: an undecided record blocks every commit; related: only one that touches it or its paths"`
	Archive Archive  `json:"archive,omitzero" jsonschema_description:"what happens after a commit"`
}

// Agentsmd configures the files that learned rules stand in.
type Agentsmd struct {
	Files         []string  `json:"files,omitzero" jsonschema:"minItems=1,maxItems=64,uniqueItems=true,minLength=1,maxLength=200" text:"line" jsonschema_description:"files whose managed block is checked, from the top of the repository"`
	MaxChainBytes int       `json:"max_chain_bytes,omitzero" jsonschema:"minimum=1024,maximum=1048576" jsonschema_description:"bytes that the files of a directory and those above it may have together"`
	HandEdits     HandEdits `json:"hand_edits,omitzero" jsonschema_description:"block: a rule that somebody wrote into the managed block stops the commit; warn: it is told"`
}

// HandEdits says what an edit inside of the managed block does.
type HandEdits string

const (
	Block HandEdits = "block"
	Warn  HandEdits = "warn"
)

// EnumValues lists what an edit may do.
func (HandEdits) EnumValues() []string { return []string{string(Block), string(Warn)} }

// Gate says which commits an undecided record blocks.
type Gate string

const (
	Strict  Gate = "strict"
	Related Gate = "related"
)

// EnumValues lists the gates.
func (Gate) EnumValues() []string { return []string{string(Strict), string(Related)} }

// Archive configures what happens after a commit.
type Archive struct {
	Mode Mode   `json:"mode,omitzero" jsonschema_description:"changed: when the base differs from the newest archive; every: after each commit; off"`
	Dir  string `json:"dir,omitzero" jsonschema:"minLength=1,maxLength=60" text:"line" jsonschema_description:"name of the archive directory in each base"`
}

// Approval says what counts as a yes. It can only be raised: the floor is a statement.
type Approval struct {
	Required       Level   `json:"required,omitzero" jsonschema_description:"the least that counts: statement, terminal or signature"`
	AllowedSigners string  `json:"allowed_signers,omitzero" jsonschema:"minLength=1,maxLength=200" text:"line" jsonschema_description:"file that lists who may sign"`
	Touch          bool    `json:"touch,omitzero" jsonschema_description:"a signature counts only by a hardware key that was touched"`
	Domains        Domains `json:"domains,omitzero" jsonschema_description:"what single domains ask for beyond that"`
}

// Domains are levels for single domains.
type Domains struct {
	Skmb     Domain `json:"skmb,omitzero" jsonschema_description:"decisions"`
	Agentsmd Domain `json:"agentsmd,omitzero" jsonschema_description:"learned rules"`
}

// Domain is the level of one domain.
type Domain struct {
	Required Level `json:"required,omitzero" jsonschema_description:"the least that counts there"`
}

// Level is a method of approval by its name.
type Level string

// EnumValues lists the levels, weakest first.
func (Level) EnumValues() []string { return []string{"statement", "terminal", "signature"} }

// RequiredFor is the highest level that the configuration asks for in a domain.
func (a Approval) RequiredFor(domain Level) Level {
	order := Level("").EnumValues()
	return Level(order[max(slices.Index(order, string(a.Required)), slices.Index(order, string(domain)), 0)])
}

// Loosens says in which points a configuration asks for less than the one before, or looks
// at less. Severities are compared by who knows what they are without it.
func (c Config) Loosens(before Config) []string {
	var out []string
	rank := func(l Level) int { return slices.Index(Level("").EnumValues(), string(l)) }
	was, is := before.Approval, c.Approval
	lower := func(of func(Domains) Domain) bool {
		return rank(is.RequiredFor(of(is.Domains).Required)) < rank(was.RequiredFor(of(was.Domains).Required))
	}
	if lower(func(d Domains) Domain { return d.Skmb }) || lower(func(d Domains) Domain { return d.Agentsmd }) {
		out = append(out, "approval.required is lowered")
	}
	if was.Touch && !is.Touch {
		out = append(out, "approval.touch is switched off")
	}
	if was.AllowedSigners != is.AllowedSigners {
		out = append(out, "approval.allowed_signers names another file")
	}
	if before.Agentsmd.HandEdits == Block && c.Agentsmd.HandEdits == Warn {
		out = append(out, "agentsmd.hand_edits only warns")
	}
	for _, name := range before.Agentsmd.Files {
		if !slices.Contains(c.Agentsmd.Files, name) {
			out = append(out, "agentsmd.files leaves out "+name)
		}
	}
	if before.Skmb.Gate == Strict && c.Skmb.Gate == Related {
		out = append(out, "skmb.gate is no longer strict")
	}
	if was, is := before.Baseline, c.Baseline; was != is {
		out = append(out, "baseline names another file")
	}
	for _, root := range before.Skmb.Roots {
		if !slices.Contains(c.Skmb.Roots, root) {
			out = append(out, "skmb.roots leaves out "+root)
		}
	}
	return out
}

// Mode says when an archive is made.
type Mode string

const (
	Changed Mode = "changed"
	Every   Mode = "every"
	Off     Mode = "off"
)

// EnumValues lists the modes.
func (Mode) EnumValues() []string { return []string{string(Changed), string(Every), string(Off)} }

// Default is the configuration of a repository without the file.
func Default() Config { return (Config{}).withDefaults() }

func (c Config) withDefaults() Config {
	if c.Version = 1; len(c.Skmb.Roots) == 0 {
		c.Skmb.Roots = []string{"docs/isme"}
	}
	if len(c.Agentsmd.Files) == 0 {
		c.Agentsmd.Files = []string{"AGENTS.md"}
	}
	c.Agentsmd.MaxChainBytes = cmp.Or(c.Agentsmd.MaxChainBytes, 32768)
	c.Agentsmd.HandEdits = cmp.Or(c.Agentsmd.HandEdits, Block)
	c.Skmb.Gate = cmp.Or(c.Skmb.Gate, Strict)
	c.Skmb.Archive.Mode = cmp.Or(c.Skmb.Archive.Mode, Changed)
	c.Skmb.Archive.Dir = cmp.Or(c.Skmb.Archive.Dir, "archive")
	c.Baseline = cmp.Or(c.Baseline, ".assent/baseline.json")
	c.Approval.Required = cmp.Or(c.Approval.Required, "statement")
	c.Approval.AllowedSigners = cmp.Or(c.Approval.AllowedSigners, ".assent/allowed_signers")
	return c
}

// Load reads the configuration of a tree. A file that breaks a rule gives an error that
// lists every violation with line and column; it never reads as absent.
func Load(tree fs.ReadFileFS) (Config, error) {
	data, err := tree.ReadFile(Name)
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), nil
	}
	if err != nil {
		return Config{}, err
	}
	return Parse(data)
}

// Parse reads the bytes of .assent.yaml.
func Parse(data []byte) (Config, error) {
	if len(data) > maxBytes {
		return Config{}, &syntaxError{fmt.Errorf("%s has more than %d bytes", Name, maxBytes)}
	}
	n, vs, err := boundary.ReadYAML(data)
	if err != nil {
		return Config{}, &syntaxError{fmt.Errorf("%s:%w", Name, place{err})}
	}
	if err := boundary.CheckNode[Config](n, Name, append(vs, pathRules(n)...)); err != nil {
		return Config{}, err
	}
	var c Config
	if err := boundary.DecodeNode(n, &c); err != nil {
		return Config{}, err
	}
	return c.withDefaults(), nil
}

// place puts a blank before an error that does not begin with its place.
type place struct{ error }

func (p place) Unwrap() error { return p.error }
func (p place) Error() string {
	if text := p.error.Error(); text != "" && text[0] >= '0' && text[0] <= '9' {
		return text
	}
	return " " + p.error.Error()
}

type syntaxError struct{ error }

func (e *syntaxError) ExitCode() int { return 2 }
func (e *syntaxError) Unwrap() error { return e.error }

// pathRules holds roots and the archive directory to be plain relative paths.
func pathRules(n *boundary.Node) []boundary.Violation {
	var vs []boundary.Violation
	hold := func(pointer, what string, holds func(string) bool) {
		if v := n.At(pointer); v != nil && v.Kind == boundary.String && v.Text != "" && boundary.Unsafe(v.Text, "line") == "" && !holds(v.Text) {
			vs = append(vs, boundary.NewViolation("boundary/pattern", pointer, v.Pos, "%q is no %s", v.Text, what))
		}
	}
	if roots := n.At("/skmb/roots"); roots != nil {
		for i := range roots.Items {
			hold(fmt.Sprintf("/skmb/roots/%d", i), "plain path below the top of the repository", isRoot)
		}
	}
	if files := n.At("/agentsmd/files"); files != nil {
		for i := range files.Items {
			hold(fmt.Sprintf("/agentsmd/files/%d", i), "plain path below the top of the repository", isRoot)
		}
	}
	hold("/skmb/archive/dir", "name for the archive directory", isArchive)
	hold("/baseline", "plain path below the top of the repository", isRoot)
	hold("/approval/allowed_signers", "plain path below the top of the repository", isRoot)
	return vs
}

func isRoot(s string) bool { return boundary.PlainPath(s) == "" }

// isArchive refuses the directory of the records in every letter case: some file systems
// know but one.
func isArchive(s string) bool {
	return fs.ValidPath(s) && !strings.ContainsAny(s, `/\:`) && !strings.HasPrefix(s, ".") && !strings.EqualFold(s, "decisions")
}
