package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Tx collects what a transaction will write. It holds the lock; nothing is written before
// the function that was given it returns.
type Tx struct {
	Reader
	ops   []op
	lines map[string]int // log -> lines appended, for LogRef
	key   string
	req   Digest
}

// LogRef names a line of a log.
type LogRef struct {
	Log string
	Seq uint64
}

// Result says what a transaction did.
type Result struct {
	Generation uint64
	Recovered  bool // a left-over transaction was completed first
}

// Update runs fn under the lock and then makes everything it asked for durable at once.
// A left-over transaction is completed first. If fn returns an error nothing is written.
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) (Result, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	var res Result
	if res.Recovered, err = s.recover(); err != nil {
		return res, err
	}
	h, before, err := s.readHeads()
	if err != nil {
		return res, err
	}
	res.Generation = h.Generation
	tx := &Tx{Reader: Reader{s: s, heads: h, begun: maps.Clone(h.Logs)}, lines: map[string]int{}}
	if err := fn(tx); err != nil {
		return res, err
	}
	if len(tx.ops) == 0 {
		return res, nil
	}
	if len(tx.ops) > maxOps {
		return res, fmt.Errorf("more than %d files in one change", maxOps)
	}
	tx.heads.Generation++
	data, err := json.Marshal(tx.heads, json.Deterministic(true))
	if err != nil {
		return res, err
	}
	if err := tx.put(head, Name{Private, headFile}, append(data, '\n'), before); err != nil {
		return res, err
	}
	for i := range tx.ops {
		if o := &tx.ops[i]; o.IsLog { // its lines are whole now
			o.Line, o.After, o.data = string(o.data), DigestOf(o.data), nil
		}
	}
	slices.SortStableFunc(tx.ops, func(a, b op) int { return int(a.Class) - int(b.Class) })
	if err := s.commit(tx.ops); err != nil {
		return res, err
	}
	res.Generation = tx.heads.Generation
	return res, nil
}

// Put writes a file. want is its digest before, "" if it must not exist; anything else
// found is ErrStale.
func (t *Tx) Put(c Class, n Name, data []byte, want Digest) error {
	if len(data) > maxFile {
		return fmt.Errorf("%s: %w", n, ErrTooLarge)
	}
	now, err := t.s.read(n)
	if err != nil {
		return err
	}
	if now.Digest != want {
		return fmt.Errorf("%s: %w", n, ErrStale)
	}
	if now.Digest == DigestOf(data) && !t.writes(n) {
		return nil
	}
	return t.put(c, n, bytes.Clone(data), want)
}

func (t *Tx) put(c Class, n Name, data []byte, before Digest) error {
	return t.add(op{Name: n, Class: c, Before: before, After: DigestOf(data), data: data})
}

func (t *Tx) add(o op) error {
	if t.writes(o.Name) {
		return fmt.Errorf("%s is written twice in one change", o.Name)
	}
	t.ops = append(t.ops, o)
	return nil
}

// Remove takes a file away. want is its digest before; anything else found is ErrStale. What was
// written as a record is the caller's to know, and is never removed; a log, the heads and the
// lock are not, whatever they are called.
func (t *Tx) Remove(c Class, n Name, want Digest) error {
	own := n.Root == Private && (n.Path == headFile || n.Path == "lock" || strings.HasSuffix(n.Path, ".jsonl"))
	if c != View && c != State || own {
		return fmt.Errorf("%s: only views and state are removed", n)
	}
	now, err := t.s.read(n)
	if err != nil {
		return err
	}
	if now.Digest != want || want == "" {
		return fmt.Errorf("%s: %w", n, ErrStale)
	}
	return t.add(op{Name: n, Class: c, Before: want})
}

func (t *Tx) writes(n Name) bool {
	return slices.ContainsFunc(t.ops, func(o op) bool { return o.Name == n })
}

// Append adds one line to a private log: a JSON object, to which seq and prev, the digest of
// the line before, are added. The line is in its RFC 8785 form.
func (t *Tx) Append(log string, object any) (LogRef, error) {
	h := t.heads.Logs[log]
	data, err := json.Marshal(object)
	line := map[string]jsontext.Value{}
	if err == nil {
		err = json.Unmarshal(data, &line)
	}
	if err != nil {
		return LogRef{}, fmt.Errorf("a line of %s: %w", log, err)
	}
	for name, value := range map[string]any{"seq": h.Seq + 1, "prev": cmpDigest(h.Last)} {
		if _, taken := line[name]; taken {
			return LogRef{}, fmt.Errorf("the log adds %q itself", name)
		}
		if line[name], err = json.Marshal(value); err != nil {
			return LogRef{}, err
		}
	}
	if data, err = json.Marshal(line); err == nil {
		err = (*jsontext.Value)(&data).Canonicalize()
	}
	if err != nil {
		return LogRef{}, err
	}
	if data = append(data, '\n'); len(data) > maxLine {
		return LogRef{}, fmt.Errorf("a log line of more than %d bytes", maxLine)
	}
	if h.Segment == 0 || h.Size+int64(len(data)) > maxSegment {
		h.Segment, h.Size = h.Segment+1, 0
	}
	name := Name{Private, segment(log, h.Segment)}
	if i := slices.IndexFunc(t.ops, func(o op) bool { return o.Name == name }); i >= 0 {
		// One operation for all lines of a segment: recovery looks at each operation
		// alone, and finds a log that ends with another one's line foreign.
		t.ops[i].data = append(t.ops[i].data, data...)
	} else {
		t.ops = append(t.ops, op{Name: name, Class: Log, IsLog: true, Size: h.Size, data: data})
	}
	h.Size += int64(len(data))
	h.Seq++
	h.Last = DigestOf(data)
	t.heads.Logs[log] = h
	return LogRef{log, h.Seq}, nil
}

func segment(log string, n int) string { return fmt.Sprintf("%s-%04d.jsonl", log, n) }

// zero is the digest before the first line of a log.
const zero = "0000000000000000000000000000000000000000000000000000000000000000"

func cmpDigest(d Digest) Digest {
	if d == "" {
		return zero
	}
	return d
}

// answer is what stands under a key.
type answer struct {
	Request Digest         `json:"request"`
	At      string         `json:"at"`
	Result  jsontext.Value `json:"result"`
}

func keyName(key string) Name {
	return Name{Private, "idem/" + string(DigestOf([]byte(key))) + ".json"}
}

// Known reports whether a key has an answer, to whatever request.
func (r *Reader) Known(key string) (bool, error) {
	f, err := r.s.read(keyName(key))
	return f.Digest != "", err
}

// Once looks up the answer that an equal request under the same key was given. Another
// request under the key is ErrKeyReused. Keys are forgotten after 90 days.
func (t *Tx) Once(key string, request Digest) (prior []byte, seen bool, err error) {
	t.key, t.req = key, request
	f, err := t.s.read(keyName(key))
	if err != nil || f.Digest == "" {
		return nil, false, err
	}
	var a answer
	if err := json.Unmarshal(f.Data, &a); err != nil {
		return nil, false, fmt.Errorf("%s is damaged: %w", keyName(key), err)
	}
	if a.Request != request {
		return nil, false, ErrKeyReused
	}
	return a.Result, true, nil
}

// Result keeps a JSON value under the key that Once was asked for.
func (t *Tx) Result(value []byte) error {
	if t.key == "" {
		return errors.New("a result needs the key that it is kept under: call Once first")
	}
	data, err := json.Marshal(answer{t.req, t.s.o.Now().UTC().Format(time.RFC3339), value}, json.Deterministic(true))
	if err != nil {
		return err
	}
	if len(data) >= maxFile {
		return fmt.Errorf("the result under a key: %w", ErrTooLarge)
	}
	now, err := t.s.read(keyName(t.key))
	if err != nil {
		return err
	}
	return t.put(result, keyName(t.key), append(data, '\n'), now.Digest)
}

// pruneLook is how many keys are looked at after a transaction.
const pruneLook = 1000

// prune drops the answers of keys that are older than their life. It runs after a
// transaction, under its lock, and failing to is no failure.
func (s *Store) prune() {
	dir, err := s.roots[Private].Open("idem")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	slices.Sort(names)
	// A thousand of them each time, from another place on: the names are digests, and what comes
	// first once comes first always.
	from := 0
	if len(names) > pruneLook {
		from = rand.IntN(len(names))
	}
	for i := range min(len(names), pruneLook) {
		name := "idem/" + names[(from+i)%len(names)]
		// The time of a file is the system's: another clock says nothing about its age.
		if info, err := s.roots[Private].Lstat(name); err == nil && time.Since(info.ModTime()) > keyLife {
			_ = s.roots[Private].Remove(name)
		}
	}
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
