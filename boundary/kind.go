package boundary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Env is what a domain may not take from the world by itself.
type Env struct {
	Now func() time.Time
	Who func(context.Context) (name, email string, err error) // the Git identity: a claim
}

// Envelope is what every record has and no payload may bring.
type Envelope struct {
	SchemaVersion int      `json:"schema_version"`
	Kind          string   `json:"kind"`
	ID            string   `json:"id"`
	CreatedAt     string   `json:"created_at"`
	Basis         Basis    `json:"basis"`
	RequestSHA256 string   `json:"request_sha256"`
	Parents       []string `json:"parents"`
	ToolVersion   string   `json:"tool_version"`
}

// Basis is what a record was made from.
type Basis struct {
	Revision int    `json:"revision"`
	Commit   string `json:"commit"`
	Tree     string `json:"tree"`
}

// Seal gives a record its id and its one stored form. The id is the prefix, the day and
// the head of the SHA-256 over the RFC 8785 form without the id; the stored form has
// canonical member order, two-space indent and one final newline. now is what the record
// has as created_at.
func Seal(prefix string, record any, setID func(string), now time.Time) (id string, data []byte, err error) {
	setID("")
	bare, err := json.Marshal(record)
	if err != nil {
		return "", nil, err
	}
	if id, err = deriveID(prefix, bare, now.UTC().Format("20060102")); err != nil {
		return "", nil, err
	}
	setID(id)
	if data, err = json.Marshal(record); err == nil {
		err = (*jsontext.Value)(&data).Canonicalize()
	}
	if err == nil {
		err = (*jsontext.Value)(&data).Indent(jsontext.WithIndent("  "))
	}
	return id, append(data, '\n'), err
}

func deriveID(prefix string, record []byte, day string) (string, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(record, &members); err != nil {
		return "", err
	}
	delete(members, "id")
	bare, err := json.Marshal(members)
	if err == nil {
		err = (*jsontext.Value)(&bare).Canonicalize()
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(bare)
	return prefix + "-" + day + "-" + hex.EncodeToString(sum[:])[:20], nil
}

// Unseal reads a stored record strictly: unknown members, another byte form than the one
// that Seal writes, and an id that does not re-derive, with the day of created_at, are
// refused.
func Unseal(prefix string, data []byte, into any) error {
	if err := json.Unmarshal(data, into, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	v := jsontext.Value(bytes.Clone(data))
	err := v.Canonicalize()
	if err == nil {
		err = v.Indent(jsontext.WithIndent("  "))
	}
	if err != nil || string(v)+"\n" != string(data) {
		return errors.New("its bytes are not in the stored form")
	}
	var e struct {
		ID        string `json:"id"`
		CreatedAt string `json:"created_at"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	created, err := time.Parse(time.RFC3339, e.CreatedAt)
	if err != nil {
		return fmt.Errorf("its created_at: %w", err)
	}
	id, err := deriveID(prefix, data, created.UTC().Format("20060102"))
	if err == nil && id != e.ID {
		err = fmt.Errorf("its id is %q, its content gives %s", e.ID, id)
	}
	return err
}

// Kind is one kind of artifact that a model may propose: P is what may be submitted.
type Kind[P any] struct {
	Name    string
	Example string // a minimal payload that is taken
	limits  Limits
	shape   *Shape
	owned   []string
}

var kindName = regexp.MustCompile(`^[a-z][a-z.-]{1,40}$`)

// Define joins a payload type to its record type R. What the record has and the payload
// does not is owned by the program, found by reflection: no deny list is kept by hand. It
// panics on a pair that breaks the rules.
func Define[P, R any](name, example string) *Kind[P] {
	payload, record := reflect.TypeFor[P](), reflect.TypeFor[R]()
	if !kindName.MatchString(name) {
		panic("boundary: bad kind name " + name)
	}
	k := &Kind[P]{Name: name, Example: example, limits: DefaultLimits, shape: ShapeOf(payload)}
	have := jsonNames(record)
	for _, n := range k.shape.names() {
		if !slices.Contains(have, n) {
			panic(fmt.Sprintf("boundary: %s: the record lacks the payload's field %s", name, n))
		}
		if slices.Contains(jsonNames(reflect.TypeFor[Envelope]()), n) {
			panic(fmt.Sprintf("boundary: %s: the payload may not bring %s", name, n))
		}
	}
	for _, n := range have {
		if !slices.Contains(k.shape.names(), n) {
			k.owned = append(k.owned, n)
		}
	}
	return k
}

// jsonNames lists the member names of a struct, embedded structs included.
func jsonNames(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = append(out, jsonNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

// Owned lists the names that nobody may submit.
func (k *Kind[P]) Owned() []string { return k.owned }

// Payload is a submission that has the right form. The domain's own rules may still
// object to it.
type Payload[P any] struct {
	Value   P
	Request string // hex SHA-256 of the canonical payload, for equal submissions
	source  string
	node    *Node
	vs      []Violation
}

// Read judges the form of a submission: bounds, syntax, names, shape and text, all of
// them before it refuses.
func (k *Kind[P]) Read(in io.Reader, source string) (*Payload[P], error) {
	n, vs := ReadJSON(in, k.limits)
	return k.ReadNode(n, vs, source)
}

// ReadNode is Read for a value that was read from another format, with what was wrong with
// its form. A nil node is one that could not be read at all.
func (k *Kind[P]) ReadNode(n *Node, vs []Violation, source string) (*Payload[P], error) {
	if n != nil {
		vs = append(append(vs, k.shape.Check(n, k.owned)...), secrets(n, "")...)
	}
	if len(vs) > 0 {
		return nil, refuse(source, vs)
	}
	p := &Payload[P]{source: source, node: n}
	if err := DecodeNode(n, &p.Value); err != nil {
		return nil, fmt.Errorf("boundary: %s: a payload of the right shape did not decode: %w", k.Name, err)
	}
	canonical, err := json.Marshal(p.Value)
	if err == nil {
		err = (*jsontext.Value)(&canonical).Canonicalize()
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	p.Request = hex.EncodeToString(sum[:])
	return p, nil
}

// Violate notes an objection of the domain to what a pointer names.
func (p *Payload[P]) Violate(code, pointer, hint, format string, args ...any) {
	at := p.node.Pos
	if n := p.node.At(pointer); n != nil {
		at = n.Pos
	}
	v := newViolation(code, pointer, at, format, args...)
	v.Hint = hint
	p.vs = append(p.vs, v)
}

// Err is the refusal of everything that was noted, nil if nothing was.
func (p *Payload[P]) Err() error {
	if len(p.vs) == 0 {
		return nil
	}
	return refuse(p.source, p.vs)
}

// Answer is what an accepted submission gives back.
type Answer struct {
	SchemaVersion int      `json:"schema_version"`
	Kind          string   `json:"kind"`
	Accepted      bool     `json:"accepted"`
	IDs           []string `json:"ids"`
	AuditID       string   `json:"audit_id"`
	Replayed      bool     `json:"replayed"`
}

// Submit is the one way from text that came in to a canonical artifact: the form was judged
// by Read or ReadNode, here the domain's rules are, and only what passes both is persisted.
// persist gives the ids, the audit entry, and whether an equal submission had been taken
// before.
func Submit[P any](ctx context.Context, k *Kind[P], p *Payload[P], rules func(*Payload[P]), persist func(context.Context, *Payload[P]) (Answer, error)) (Answer, error) {
	rules(p)
	if err := p.Err(); err != nil {
		return Answer{}, err
	}
	a, err := persist(ctx, p)
	if err != nil {
		return Answer{}, err
	}
	a.SchemaVersion, a.Kind, a.Accepted = 1, k.Name, true
	return a, nil
}

// Refused is a refusal as a document, with a payload that would be taken.
type Refused struct {
	SchemaVersion int            `json:"schema_version"`
	Kind          string         `json:"kind"`
	Accepted      bool           `json:"accepted"`
	Violations    []Violation    `json:"violations"`
	Count         int            `json:"count"`
	Truncated     bool           `json:"truncated"`
	Example       jsontext.Value `json:"example"`
	Exit          int            `json:"exit"`
}

// Document is the refusal as a document for programs.
func (r *Refusal) Document(kind, example string) Refused {
	return Refused{1, kind, false, r.Violations, r.Count, r.Count > len(r.Violations), jsontext.Value(example), r.ExitCode()}
}

// CheckNode judges a value that was read from another format, such as YAML, by the shape
// of T, and returns the refusal or nil.
func CheckNode[T any](n *Node, source string, more []Violation) error {
	vs := append(more, ShapeOf(reflect.TypeFor[T]()).Check(n, nil)...)
	if len(vs) == 0 {
		return nil
	}
	return refuse(source, vs)
}

// NewViolation is for readers of other formats and for rules beyond the shape.
func NewViolation(code, pointer string, at Pos, format string, args ...any) Violation {
	return newViolation(code, pointer, at, format, args...)
}
