package boundary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"
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
	SchemaVersion int      `json:"schema_version" jsonschema:"minimum=1,maximum=999" jsonschema_description:"version of the record's form"`
	Kind          string   `json:"kind" jsonschema:"minLength=2,maxLength=41" text:"line" jsonschema_description:"what it is"`
	ID            string   `json:"id" jsonschema:"minLength=1,maxLength=128" text:"line" jsonschema_description:"prefix, day, and the head of the SHA-256 over the rest"`
	CreatedAt     string   `json:"created_at" jsonschema:"minLength=20,maxLength=20" text:"line" jsonschema_description:"when it was made: RFC 3339, UTC, whole seconds"`
	Basis         Basis    `json:"basis" jsonschema_description:"what it was made from"`
	RequestSHA256 string   `json:"request_sha256" jsonschema:"maxLength=64" text:"line" jsonschema_description:"SHA-256 of what was submitted or asked, so that an equal request is known again"`
	Parents       []string `json:"parents" jsonschema:"maxItems=64,minLength=1,maxLength=128" text:"line" jsonschema_description:"records that it was made from"`
	ToolVersion   string   `json:"tool_version" jsonschema:"minLength=1,maxLength=100" text:"line" jsonschema_description:"the program that made it"`
}

// Basis is what a record was made from.
type Basis struct {
	Revision int64  `json:"revision" jsonschema:"minimum=0,maximum=9007199254740991" jsonschema_description:"generation of the store, or revision of the artifact"`
	Commit   string `json:"commit" jsonschema:"maxLength=64" text:"line" jsonschema_description:"object id of HEAD; empty before the first commit"`
	Tree     string `json:"tree" jsonschema:"maxLength=64" text:"line" jsonschema_description:"object id of the tree that was looked at; empty if none was"`
}

// InvalidRecord is a record that the program made and that breaks the rules of its own kind:
// a fault of the program, never of its input.
type InvalidRecord struct {
	Kind string
	Err  error // what Unseal says of it
}

func (e *InvalidRecord) Error() string {
	return fmt.Sprintf("the record of kind %s breaks its own rules (%v): this is a fault of the program", e.Kind, e.Err)
}

// Seal gives a record its id and its one stored form, which it must have to be written: the id
// is the kind's prefix, the day of created_at and the head of the SHA-256 over the RFC 8785
// form without the id; the stored form has canonical member order, two-space indent and one
// final newline. record is a pointer to the record type of the kind, setID sets its id. A
// record that breaks the shape of its kind is an *InvalidRecord.
func (f *Form) Seal(record any, setID func(string), now time.Time) (id string, data []byte, err error) {
	if t := reflect.TypeOf(record); t.Kind() != reflect.Pointer || t.Elem() != f.recordType {
		return "", nil, fmt.Errorf("boundary: %s is no record of kind %s", t, f.Name)
	}
	setID("")
	bare, err := json.Marshal(record)
	if err != nil {
		return "", nil, err
	}
	if id, err = deriveID(f.Prefix, bare, now.UTC().Format("20060102")); err != nil {
		return "", nil, err
	}
	setID(id)
	if data, err = json.Marshal(record); err == nil {
		data, err = stored(data)
	}
	if err != nil {
		return "", nil, err
	}
	if err := f.Unseal(data, nil); err != nil {
		return "", nil, &InvalidRecord{f.Name, err}
	}
	return id, data, nil
}

// stored is the one form in which a JSON value is kept.
func stored(data []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(data))
	err := v.Canonicalize()
	if err == nil {
		err = v.Indent(jsontext.WithIndent("  "))
	}
	return append(v, '\n'), err
}

// recordLimits bound a stored record.
var recordLimits = Limits{Bytes: 8 << 20, Depth: 32, Values: 500_000}

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

// RecordError is a stored record that does not hold. Code is the finding code of the channel
// lock that says in which way.
type RecordError struct {
	Code string
	Line int // 1-based, 0 if it is about the whole
	Text string
}

func (e *RecordError) Error() string { return e.Text }

// Unseal reads a stored record strictly into a pointer to the record type of the kind: what is
// no JSON, breaks the shape of the kind's version, has another byte form than the one that Seal
// writes, or an id that does not follow from its content, is a *RecordError.
func (f *Form) Unseal(data []byte, into any) error {
	n, vs := ReadJSON(bytes.NewReader(data), recordLimits)
	if n == nil || len(vs) > 0 {
		return &RecordError{"boundary/record-unparsable", vs[0].Line, vs[0].Message}
	}
	if v := n.Member("schema_version"); v != nil && v.Kind == Number && isInteger(v.Text) {
		if version, _ := strconv.Atoi(v.Text); version > f.Version {
			return &RecordError{"boundary/schema-version", v.Pos.Line, fmt.Sprintf("it has the schema version %d, this program knows up to %d: use the release that wrote it", version, f.Version)}
		}
	}
	if vs = f.lift(n); len(vs) == 0 {
		vs = f.shapes().record.Check(n, nil)
	}
	if len(vs) > 0 {
		return &RecordError{"boundary/record-shape", vs[0].Line, fmt.Sprintf("%s: %s", vs[0].Pointer, vs[0].Message)}
	}
	if kind := n.Member("kind"); kind.Text != f.Name {
		return &RecordError{"boundary/record-shape", kind.Pos.Line, fmt.Sprintf("/kind: it is of the kind %q, not %s", sample(kind.Text), f.Name)}
	}
	if want, err := stored(data); err != nil || !bytes.Equal(want, data) {
		return &RecordError{"boundary/record-bytes", 0, "its bytes are not in the stored form"}
	}
	id, created := n.Member("id").Text, n.Member("created_at")
	at, err := time.Parse(time.RFC3339, created.Text)
	if err != nil || at.UTC().Format(time.RFC3339) != created.Text {
		return &RecordError{"boundary/record-shape", created.Pos.Line, fmt.Sprintf("/created_at: %q is no time", sample(created.Text))}
	}
	want, err := deriveID(f.Prefix, data, at.UTC().Format("20060102"))
	if err != nil || want != id {
		return &RecordError{"boundary/record-id", 0, fmt.Sprintf("its id is %q, its content gives %s", sample(id), want)}
	}
	if into == nil {
		return nil
	}
	if err := DecodeNode(n, into); err != nil {
		return errors.Join(&RecordError{"boundary/record-shape", 0, err.Error()}, err)
	}
	return nil
}
