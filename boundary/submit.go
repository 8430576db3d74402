package boundary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"assent/store"
)

// Door is what a submission comes through: where it goes, and what its host says of itself.
type Door struct {
	Env     Env
	Store   *store.Store
	Call    Call     // the entry that the log will have: command, class, snapshot
	Claims  Claims   // what the host says of itself
	Key     string   // idempotency key of the host; "" takes one from the request
	Schemas []string // SHA-256 of the files that stand for the present schema, the payload's own first
	Schema  string   // that the host made the payload for; "" if it does not say
	Keep    bool     // keep the input of a refusal, for people to look at
}

// Task is what the room of a kind does for one submission.
type Task[P, W any] struct {
	// World is asked twice: before the lock is taken, and under it. What is accepted was judged
	// in the second one.
	World func(context.Context) (W, error)
	// Write puts what was accepted into the transaction.
	Write func(tx *store.Tx, p *Payload[P], w W) (Taken, error)
	// Holds reports whether an earlier answer to an equal request still holds, where the host
	// gave no key; nil: always.
	Holds func(a Answer, w W) bool
	// Gone reports whether what an earlier answer to the host's key names is not there any more,
	// or is something else now: then that answer is not given again. nil: never.
	Gone func(a Answer, p *Payload[P], w W) bool
}

// Taken is what an accepted submission led to.
type Taken struct {
	IDs        []string
	Outputs    []Output
	Parents    []string
	ApprovalID string
}

// Submit is the one way from text that came in to a canonical artifact. All of the stages up to
// policy are run and a refusal lists every violation; only what passes them all is written, in
// one transaction with its entry in the log. An equal submission gives the same answer and
// writes nothing but such an entry. A refusal is a *Refusal and is in the log, too; any other
// error is one of the room's own.
func (k *Kind[P, W]) Submit(ctx context.Context, p *Payload[P], d Door, t Task[P, W]) (Answer, error) {
	if d.Call.begun.IsZero() {
		d.Call.begun = d.Env.Now()
	}
	d.Call.Kind, d.Call.Claimed = k.Name, d.Claims
	d.Call.Schema.Version = k.Version
	if len(d.Schemas) > 0 {
		d.Call.Schema.SHA256 = d.Schemas[0]
	}
	if p.raw != nil {
		d.Call.Input = Input{hexSum(p.raw), len(p.raw)}
	}
	w, err := t.World(ctx)
	if err != nil {
		return Answer{}, err
	}
	vs, unit, err := k.stand(ctx, p, d, w)
	if err != nil {
		return Answer{}, err
	}
	d.Call.stands(unit)
	known, err := k.known(ctx, p, d, unit)
	if err != nil {
		return Answer{}, k.failed(ctx, p, d, err)
	}
	if len(vs) > 0 && !known {
		return Answer{}, k.turnDown(ctx, p, d, vs)
	}
	var answer Answer
	_, err = d.Store.Update(ctx, func(tx *store.Tx) error {
		answer = Answer{}
		w, err := t.World(ctx)
		if err != nil {
			return err
		}
		vs, unit, err := k.stand(ctx, p, d, w)
		if err != nil {
			return err
		}
		d.Call.stands(unit)
		key, request := k.key(p, d, unit)
		d.Call.Key = hexSum([]byte(key))
		if p.err == nil {
			prior, seen, err := tx.Once(key, request)
			if err != nil {
				return err
			}
			if seen && json.Unmarshal(prior, &answer) == nil && (d.Key != "" || t.Holds == nil || t.Holds(answer, w)) {
				if d.Key != "" && t.Gone != nil && t.Gone(answer, p, w) {
					return p.Object("boundary/idempotency-conflict", "give it a new key", "this key was answered with %s, which is not there any more", strings.Join(answer.IDs, ", "))
				}
				answer.Replayed = true
				d.Call.Verdict = "replayed"
				_, err := d.Call.Append(tx, d.Env.Now())
				return err
			}
		}
		if unit.Taken {
			vs = append(vs, NewViolation("boundary/unit-taken", "", p.start(), "an answer for %s was taken already", cmp.Or(unit.Name, k.Name)))
		}
		if len(vs) > 0 { // the world moved since it was first looked at
			return &objections{vs}
		}
		taken, err := t.Write(tx, p, w)
		if err != nil {
			return err
		}
		before, err := earlier(tx, d.Call)
		if err != nil {
			return err
		}
		answer = Answer{SchemaVersion: 1, Kind: k.Name, Accepted: true, IDs: taken.IDs}
		c := d.Call
		c.Verdict, c.Outputs, c.Parents, c.ApprovalID = "accepted", taken.Outputs, taken.Parents, taken.ApprovalID
		c.Stages, c.Retry = stages(nil, 12), retry(before)
		if k.Home == Tracked && len(taken.Outputs) > 0 {
			entry, err := audit(tx, k.Form, c, p.Request, d.Env.Now())
			if err != nil {
				return err
			}
			answer.AuditID = entry.ID
			c.Outputs = append(c.Outputs, entry)
		}
		ref, err := c.Append(tx, d.Env.Now())
		if err != nil {
			return err
		}
		answer.AuditID = cmp.Or(answer.AuditID, fmt.Sprintf("%s:%d", ref.Log, ref.Seq))
		value, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		return tx.Result(value)
	})
	if err != nil {
		return Answer{}, k.failed(ctx, p, d, err)
	}
	return answer, nil
}

// objections are what is wrong with a payload in the world under the lock.
type objections struct{ vs []Violation }

func (o *objections) Error() string { return "the payload is not taken" }

// Object is the error with which a room's Write refuses what only writing showed to be wrong.
func (p *Payload[P]) Object(code, hint, format string, args ...any) error {
	v := NewViolation(code, "", p.start(), format, args...)
	v.Hint = cmp.Or(hint, ruleOf(code).fix)
	return &objections{[]Violation{v}}
}

// failed makes a refusal of what went wrong under the lock, if it is one.
func (k *Kind[P, W]) failed(ctx context.Context, p *Payload[P], d Door, err error) error {
	var o *objections
	if errors.As(err, &o) {
		return k.turnDown(ctx, p, d, o.vs)
	}
	code := persisting(err)
	if code == "" {
		return err
	}
	v := NewViolation(code, "", p.start(), "%v", err)
	v.Hint = ruleOf(code).fix
	if v.Stage == 10 && code != "boundary/busy" {
		return k.turnDown(ctx, p, d, []Violation{v})
	}
	return k.refuse(p.source, []Violation{v})
}

// known reports whether the request has an answer already: then that is given, whatever became
// of the world since.
func (k *Kind[P, W]) known(ctx context.Context, p *Payload[P], d Door, unit Unit) (known bool, err error) {
	if p.err != nil {
		return false, nil
	}
	key, _ := k.key(p, d, unit)
	err = d.Store.View(ctx, func(r *store.Reader) (err error) {
		known, err = r.Known(key)
		return err
	})
	return known, err
}

// stand judges a payload in a world: everything that is wrong with it.
func (k *Kind[P, W]) stand(ctx context.Context, p *Payload[P], d Door, w W) ([]Violation, Unit, error) {
	vs, err := k.judge(ctx, p, w)
	if err != nil {
		return nil, Unit{}, err
	}
	vs = append(slices.Clone(p.form), vs...)
	if d.Schema != "" && !slices.Contains(d.Schemas, d.Schema) {
		vs = append(vs, NewViolation("boundary/schema-stale", "", p.start(), "it was made for a schema with the SHA-256 %s, which is not the present one", sample(d.Schema)))
	}
	var unit Unit
	if k.spec.Unit != nil {
		unit = k.spec.Unit(w)
	}
	if unit.Empty != "" && p.root != nil && len(p.Items) == 0 && len(p.form) == 0 {
		vs = append(vs, NewViolation(unit.Empty, "", p.start(), "there is no item: say that there is nothing to do, and why"))
	}
	return vs, unit, nil
}

func (p *Payload[P]) start() Pos {
	if p.root != nil {
		return p.root.Pos
	}
	return Pos{0, 1, 1}
}

// key is the idempotency key of a request, what the host gave or the request itself, and the
// digest of all that the key stands for.
func (k *Kind[P, W]) key(p *Payload[P], d Door, unit Unit) (key string, request store.Digest) {
	whole := strings.Join([]string{k.Name, unit.Name, unit.Revision, p.Request}, "\x00")
	if d.Key != "" { // the same payload for a later revision is still the host's one request
		return k.Name + "\x00key\x00" + d.Key, store.DigestOf([]byte(strings.Join([]string{k.Name, unit.Name, p.Request}, "\x00")))
	}
	return whole, store.DigestOf([]byte(whole))
}

// turnDown makes a refusal and notes it in the log. After too many of one unit it also says so.
// A log that cannot be written takes nothing from the refusal.
func (k *Kind[P, W]) turnDown(ctx context.Context, p *Payload[P], d Door, vs []Violation) error {
	var refusal *Refusal
	_, err := d.Store.Update(ctx, func(tx *store.Tx) error {
		before, err := earlier(tx, d.Call)
		if err != nil {
			return err
		}
		all := vs
		if len(before) >= maxAttempts {
			v := NewViolation("boundary/attempts-exhausted", "", p.start(), "this is refusal %d in a row", len(before)+1)
			v.Hint = ruleOf(v.Code).fix
			all = append(slices.Clone(vs), v)
		}
		refusal = k.refuse(p.source, all)
		c := d.Call
		last := 10
		if p.root == nil {
			last = 2
		}
		c.Verdict, c.Stages, c.Retry = "refused", stages(k.named(all), last), retry(before)
		if _, err := c.Append(tx, d.Env.Now()); err != nil || !d.Keep || p.raw == nil {
			return err
		}
		return keep(tx, p.raw, d.Env.Now())
	})
	if refusal == nil {
		refusal = k.refuse(p.source, vs)
	}
	if err != nil {
		refusal.Note = fmt.Sprintf("this refusal is not in the log: %v", err)
	}
	return refusal
}

// Kept inputs are for people: no code reads them.
const (
	diagnostics = "diagnostics"
	maxKept     = 20
)

// keep keeps the input of a refusal, and drops the oldest beyond twenty.
func keep(tx *store.Tx, input []byte, now time.Time) error {
	names, err := tx.Names(store.Private, diagnostics)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.json", now.UTC().Format("20060102T150405Z"), hexSum(input)[:12])
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	for i := range max(len(names)-maxKept+1, 0) {
		n := store.Name{Root: store.Private, Path: path.Join(diagnostics, names[i])}
		f, err := tx.Read(n)
		if err == nil {
			err = tx.Remove(store.State, n, f.Digest)
		}
		if err != nil {
			return err
		}
	}
	n := store.Name{Root: store.Private, Path: path.Join(diagnostics, name)}
	f, err := tx.Read(n)
	if err != nil {
		return err
	}
	return tx.Put(store.State, n, input, f.Digest)
}

// persisting is the code of a failure of the store, "" for any other error.
func persisting(err error) string {
	var persist *store.PersistError
	var record *InvalidRecord
	switch {
	case errors.As(err, &record):
		return "boundary/record-invalid"
	case errors.Is(err, store.ErrBusy):
		return "boundary/busy"
	case errors.Is(err, store.ErrKeyReused):
		return "boundary/idempotency-conflict"
	case errors.Is(err, store.ErrStale):
		return "boundary/revision-stale"
	case errors.Is(err, store.ErrConflict):
		return "store/conflict"
	case errors.Is(err, store.ErrRecovery):
		return "store/recovery-needed"
	case errors.As(err, &persist):
		return "store/persist-failed"
	}
	return ""
}
