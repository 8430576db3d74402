package boundary

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"slices"
	"strings"

	"assent/finding"
	"assent/repo"
)

// Provenance is what is known of a source, on four axes that are never merged into one: a
// quote can stand word for word in a source that is stale, foreign or forged (seed 004,
// "Grounding And Provenance").
type Provenance struct {
	Trust     Trust
	Scope     Scope
	Freshness Freshness
	Integrity Integrity
}

// Trust is where a source comes from.
type Trust string

const (
	TrustTracked    Trust = "tracked"
	TrustStaged     Trust = "staged"
	TrustWorktree   Trust = "worktree"
	TrustTranscript Trust = "transcript"
	TrustToolOutput Trust = "tool_output"
	TrustRecall     Trust = "recall" // never supports a claim alone
)

// trusts are best first.
var trusts = []Trust{TrustTracked, TrustStaged, TrustWorktree, TrustTranscript, TrustToolOutput, TrustRecall}

// Scope is whether a source may be used for what it is used for.
type Scope string

const (
	InScope     Scope = "in_scope"
	OutsideRoot Scope = "outside_root"
	DeniedScope Scope = "denied_path"
	OtherOwner  Scope = "other_owner"
)

// Freshness is whether a source is still what it was.
type Freshness string

const (
	Fresh            Freshness = "fresh"
	OutsideChanged   Freshness = "outside_changed" // fresh where it is quoted
	Moved            Freshness = "moved"
	StaleSource      Freshness = "stale"
	Gone             Freshness = "gone"
	FreshnessUnknown Freshness = "unverifiable"
)

// Integrity is whether a source is what it seems.
type Integrity string

const (
	Intact           Integrity = "intact"
	HiddenText       Integrity = "hidden_text" // the quoted bytes show something else than they hold
	Mismatch         Integrity = "mismatch"    // its bytes are not those of its object id
	IntegrityUnknown Integrity = "unverifiable"
)

// Objection is what blocks a source, by a code of stage 8.
type Objection struct{ Code, Message string }

// Objections are what blocks a source for a use that needs a floor of trust: each axis speaks
// for itself, and a value that is not known blocks.
func (p Provenance) Objections(floor Trust) (out []Objection) {
	object := func(code, format string, args ...any) {
		out = append(out, Objection{code, fmt.Sprintf(format, args...)})
	}
	if at := slices.Index(trusts, p.Trust); at < 0 || at > slices.Index(trusts, floor) || p.Trust == TrustRecall {
		object("boundary/prov-trust", "a source that is %s does not support this; it needs %s or better", none(p.Trust), floor)
	}
	if p.Scope != InScope {
		object("boundary/prov-scope", "the source is %s", none(p.Scope))
	}
	switch p.Freshness {
	case Fresh, OutsideChanged, Moved:
	case StaleSource, Gone:
		object("boundary/prov-stale", "the source is %s", p.Freshness)
	default:
		object("boundary/prov-unverifiable", "whether the source is still what it was cannot be told here")
	}
	switch p.Integrity {
	case Intact:
	case HiddenText:
		object("boundary/prov-integrity", "the quoted text holds characters that cannot be seen or that change how it is seen")
	case Mismatch:
		object("boundary/prov-integrity", "the bytes of the source are not those of its object id")
	default:
		object("boundary/prov-unverifiable", "whether the source is intact cannot be told here")
	}
	return out
}

func none[T ~string](v T) string {
	if v == "" {
		return "of unknown provenance"
	}
	return string(v)
}

// Source is a text that is quoted from, with what is known of it.
type Source struct {
	Data   []byte
	Within *Span // the stretch in which the quote is meant; nil: anywhere
	Provenance
}

// ReadSource reads a path of a snapshot as a source. A path that leads to no regular file of
// the snapshot, or is no plain path, is a *GroundError with boundary/ground-path or
// boundary/ground-kind. An object that this clone lacks is no error: its freshness and
// integrity are unverifiable, and it has no text.
func ReadSource(tree finding.Tree, path string, trust Trust) (Source, error) {
	s := Source{Provenance: Provenance{trust, InScope, Fresh, Intact}}
	if why := PlainPath(path); why != "" {
		return s, &GroundError{Code: "boundary/ground-path", Message: "the path " + why}
	}
	if DeniedPath(path) {
		s.Scope = DeniedScope
		return s, nil
	}
	info, err := tree.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, &GroundError{Code: "boundary/ground-path", Message: "there is no such file in the snapshot"}
	case err != nil:
		return unverifiable(s, err)
	case info.IsDir():
		return s, &GroundError{Code: "boundary/ground-path", Message: "the path leads to a directory"}
	case !info.Mode().IsRegular():
		return s, &GroundError{Code: "boundary/ground-kind", Message: "the path leads to a link or a submodule"}
	case info.Size() > maxSource:
		return s, &GroundError{Code: "boundary/ground-kind", Message: fmt.Sprintf("the file has more than %d bytes", maxSource)}
	}
	if s.Data, err = tree.ReadFile(path); errors.Is(err, repo.ErrTooLarge) || len(s.Data) > maxSource {
		return s, &GroundError{Code: "boundary/ground-kind", Message: fmt.Sprintf("the file has more than %d bytes", maxSource)}
	}
	if err != nil {
		return unverifiable(s, err)
	}
	if strings.HasPrefix(string(s.Data[:min(len(s.Data), len(lfsPointer))]), lfsPointer) {
		return s, &GroundError{Code: "boundary/ground-kind", Message: "the file is a pointer of Git LFS: its text is not in the repository"}
	}
	if id, ok := tree.ObjectID(path); ok && blobID(id, s.Data) != id {
		s.Integrity = Mismatch
	}
	return s, nil
}

// lfsPointer begins a file that stands for one that Git LFS keeps elsewhere.
const lfsPointer = "version https://git-lfs.github.com/spec/"

// unverifiable is a source whose object is not here; any other error is one.
func unverifiable(s Source, err error) (Source, error) {
	var missing *repo.ErrMissingObject
	if !errors.As(err, &missing) {
		return s, err
	}
	s.Data, s.Freshness, s.Integrity = nil, FreshnessUnknown, IntegrityUnknown
	return s, nil
}

// blobID is the object id that Git gives to content, in the format that another id has.
func blobID(like string, data []byte) string {
	var h hash.Hash
	switch len(like) {
	case 2 * sha1.Size:
		h = sha1.New()
	case 2 * sha256.Size:
		h = sha256.New()
	default:
		return ""
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// ground finds a quote in a source, and gives its provenance a second verdict beside that.
func (s Source) ground(j *judging, f *Form, quote, pointer string, at Pos) (Grounded, bool) {
	p := s.Provenance
	var g Grounded
	found := false
	if s.Data != nil {
		var err error
		var no *GroundError
		if g, err = j.ground(s.Data, quote, s.Within, f.Short); errors.As(err, &no) {
			j.ungrounded(no, pointer, at)
		} else {
			found = true
			if hides(s.Data[g.Span.Start:g.Span.End]) && p.Integrity == Intact {
				p.Integrity = HiddenText
			}
		}
	}
	objections := p.Objections(f.Floor)
	for _, o := range objections {
		j.violate(o.Code, pointer, at, "", "%s", o.Message)
	}
	if s.Data == nil && len(objections) == 0 {
		j.violate("boundary/ground-not-found", pointer, at, "", "the source has no text")
	}
	return g, found
}

// ground is ground for quotes of the same source, whose form for comparing is made once.
func (j *judging) ground(source []byte, quote string, within *Span, least int) (Grounded, error) {
	if err := plainSource(source); err != nil {
		return Grounded{}, err
	}
	text, ok := j.normal[string(source)]
	if !ok {
		text = normalise(string(source))
		j.normal[string(source)] = text
	}
	return groundIn(source, text, quote, within, least)
}

// hides reports whether bytes hold what cannot be seen.
func hides(data []byte) bool {
	for _, r := range string(data) {
		if r != '\n' && r != '\t' && r != '\r' && finding.Unsafe(r) {
			return true
		}
	}
	return false
}
