package store

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// An effect is something that no transaction can hold, such as a commit. One transaction notes
// it with all that is needed to finish it or to take it back; then it happens; another
// transaction settles it. After a crash in between the domain finds out what happened.
//
// Effects are noted below state/effects in the private directory.
type Effect struct {
	ID   string
	Note []byte // JSON, as it was noted
}

// ErrEffectUnknown is an effect of which nobody can say whether it happened. What it concerns
// waits for a person.
var ErrEffectUnknown = &stateError{"store/effect-unknown", "it is not known whether an effect of an interrupted change happened"}

const effects = "state/effects"

func effectName(id string) (Name, error) {
	if id == "" || len(id) > 128 || id[0] == '.' || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}) {
		return Name{}, fmt.Errorf("%q is no name of an effect", id)
	}
	return Name{Private, path.Join(effects, id+".json")}, nil
}

// Note notes that an effect is about to happen. One of the same id that is not settled yet is
// ErrStale.
func (t *Tx) Note(e Effect) error {
	n, err := effectName(e.ID)
	if err != nil {
		return err
	}
	return t.Put(State, n, e.Note, "")
}

// Renote notes more of an effect that is noted already, such as what was made for it.
func (t *Tx) Renote(e Effect) error {
	n, err := effectName(e.ID)
	if err != nil {
		return err
	}
	f, err := t.Read(n)
	if err != nil {
		return err
	}
	if f.Digest == "" {
		return fmt.Errorf("%s: %w", n, ErrStale)
	}
	return t.Put(State, n, e.Note, f.Digest)
}

// Settle ends an effect that was noted, in the transaction of what it led to.
func (t *Tx) Settle(id string) error {
	n, err := effectName(id)
	if err != nil {
		return err
	}
	f, err := t.Read(n)
	if err != nil {
		return err
	}
	return t.Remove(State, n, f.Digest)
}

// Effects returns the effects that are not settled, sorted by id.
func (r *Reader) Effects() (out []Effect, err error) {
	names, err := r.Names(Private, effects)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		n, err := effectName(id)
		if !ok || err != nil {
			continue
		}
		f, err := r.Read(n)
		if err != nil {
			return nil, err
		}
		out = append(out, Effect{id, f.Data})
	}
	return out, nil
}

// Outcome is what became of an effect.
type Outcome int

const (
	Unknown Outcome = iota
	Happened
	NotHappened
)

// SettleEffects asks of every effect that a dead process left what became of it, and lets end
// finish or take back what belongs to it, in the transaction that settles it. Of an effect
// whose outcome is unknown nothing is touched; the error is then ErrEffectUnknown, after the
// others were settled.
//
// The caller makes sure that no living process is at an effect: probe is called without the
// lock, and an effect that another process settled meanwhile is passed over.
func (s *Store) SettleEffects(ctx context.Context, probe func(context.Context, Effect) (Outcome, error), end func(*Tx, Effect, Outcome) error) (settled []Effect, err error) {
	var left []Effect
	if err := s.View(ctx, func(r *Reader) (err error) { left, err = r.Effects(); return err }); err != nil {
		return nil, err
	}
	var unknown error
	for _, e := range left {
		outcome, err := probe(ctx, e)
		if err != nil || outcome != Happened && outcome != NotHappened {
			unknown = errors.Join(unknown, fmt.Errorf("%s: %w", e.ID, errors.Join(ErrEffectUnknown, err)))
			continue
		}
		gone := false
		_, err = s.Update(ctx, func(tx *Tx) error {
			now, err := tx.Effects()
			if err != nil {
				return err
			}
			gone = true
			for _, other := range now {
				gone = gone && (other.ID != e.ID || string(other.Note) != string(e.Note))
			}
			if gone {
				return nil
			}
			if err := end(tx, e, outcome); err != nil {
				return err
			}
			return tx.Settle(e.ID)
		})
		if err != nil {
			return settled, errors.Join(unknown, err)
		}
		if !gone {
			settled = append(settled, e)
		}
	}
	return settled, unknown
}
