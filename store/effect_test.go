package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assent/store"
)

// The effect of these tests is a file beside the store, which no transaction can hold. What it
// led to is a record, which must be there if and only if the file is.
var (
	happening = store.Effect{ID: "E-1", Note: []byte(`{"makes":"beside/effect"}`)}
	outcome   = store.Name{Root: "tree", Path: "outcome.json"}
)

func effectFile(w string) string { return filepath.Join(w, "beside", "effect") }

// act notes the effect, lets it happen, and settles it.
func act(ctx context.Context, s *store.Store, w string) error {
	if _, err := s.Update(ctx, func(tx *store.Tx) error { return tx.Note(happening) }); err != nil {
		return err
	}
	if err := os.WriteFile(effectFile(w), []byte("happened"), 0o644); err != nil {
		return err
	}
	_, err := s.Update(ctx, func(tx *store.Tx) error { return errors.Join(settleOutcome(tx), tx.Settle(happening.ID)) })
	return err
}

func settleOutcome(tx *store.Tx) error { return tx.Put(store.Record, outcome, []byte("{}\n"), "") }

// look at what became of the effect, and end it.
func endEffects(t testing.TB, w string) ([]store.Effect, error) {
	t.Helper()
	s := open(t, w)
	if _, err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.SettleEffects(t.Context(), func(_ context.Context, e store.Effect) (store.Outcome, error) {
		if string(e.Note) != string(happening.Note) {
			t.Errorf("the note is %s", e.Note)
		}
		if exists(w, "beside/effect") {
			return store.Happened, nil
		}
		return store.NotHappened, nil
	}, func(tx *store.Tx, _ store.Effect, o store.Outcome) error {
		if o == store.Happened {
			return settleOutcome(tx)
		}
		return nil
	})
}

// A process may die at any step around an effect: afterwards it is settled or taken back, and
// nothing of it is left.
func TestEffectCrash(t *testing.T) {
	var steps []store.Step
	w := begin(t)
	s := open(t, w, fault(func(at store.Step) error { steps = append(steps, at); return nil }))
	if err := act(t.Context(), s, w); err != nil {
		t.Fatal(err)
	}
	left, happened := 0, 0
	for k := range steps {
		w := begin(t)
		kill(t, "effect", w, k)
		settled, err := endEffects(t, w)
		if err != nil {
			t.Fatalf("step %d %v: %v", k, steps[k], err)
		}
		left += len(settled)
		if exists(w, "beside/effect") != exists(w, "tree/outcome.json") {
			t.Errorf("died at step %d %v: the effect is there: %v, its outcome: %v", k, steps[k], exists(w, "beside/effect"), exists(w, "tree/outcome.json"))
		}
		if exists(w, "beside/effect") {
			happened++
		}
		if again, err := endEffects(t, w); err != nil || len(again) > 0 {
			t.Errorf("a second look settles %v: %v", again, err)
		}
		clean(t, w)
	}
	if left == 0 || happened == 0 || happened == len(steps) {
		t.Errorf("%d deaths, %d effects left to settle, %d happened", len(steps), left, happened)
	}
}

// What nobody can say anything about stays, and the rest is settled.
func TestEffectUnknown(t *testing.T) {
	w := begin(t)
	update(t, w, func(tx *store.Tx) error {
		return errors.Join(tx.Note(store.Effect{ID: "E-1", Note: []byte("{}")}), tx.Note(store.Effect{ID: "E-2", Note: []byte("{}")}))
	})
	s := open(t, w)
	settled, err := s.SettleEffects(t.Context(), func(_ context.Context, e store.Effect) (store.Outcome, error) {
		if e.ID == "E-1" {
			return store.Unknown, nil
		}
		return store.Happened, nil
	}, func(*store.Tx, store.Effect, store.Outcome) error { return nil })
	var coder interface{ Code() string }
	if !errors.Is(err, store.ErrEffectUnknown) || !errors.As(err, &coder) || coder.Code() != "store/effect-unknown" || len(settled) != 1 || settled[0].ID != "E-2" {
		t.Errorf("settled %v, %v", settled, err)
	}
	_ = s.View(t.Context(), func(r *store.Reader) error {
		if left, err := r.Effects(); err != nil || len(left) != 1 || left[0].ID != "E-1" {
			t.Errorf("left: %v, %v", left, err)
		}
		return nil
	})
	// A probe that fails, and one that says nonsense, know nothing either; the others are settled.
	update(t, w, func(tx *store.Tx) error {
		return errors.Join(tx.Note(store.Effect{ID: "E-0", Note: []byte("{}")}), tx.Note(store.Effect{ID: "E-3", Note: []byte("{}")}))
	})
	broken := errors.New("Git is gone")
	settled, err = s.SettleEffects(t.Context(), func(_ context.Context, e store.Effect) (store.Outcome, error) {
		switch e.ID {
		case "E-0":
			return store.Happened, broken
		case "E-1":
			return store.Outcome(9), nil
		}
		return store.NotHappened, nil
	}, func(*store.Tx, store.Effect, store.Outcome) error { return nil })
	if !errors.Is(err, store.ErrEffectUnknown) || !errors.Is(err, broken) || len(settled) != 1 || settled[0].ID != "E-3" {
		t.Errorf("settled %v, %v", settled, err)
	}
	// The same effect cannot be noted twice, and one that is not there is not settled.
	if _, err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Note(store.Effect{ID: "E-1", Note: []byte("[]")}) }); !errors.Is(err, store.ErrStale) {
		t.Errorf("noted twice: %v", err)
	}
	if _, err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Settle("E-2") }); !errors.Is(err, store.ErrStale) {
		t.Errorf("settled twice: %v", err)
	}
	for _, id := range []string{"", "../x", "a/b", ".hidden"} {
		if _, err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Note(store.Effect{ID: id, Note: []byte("{}")}) }); err == nil {
			t.Errorf("%q was noted", id)
		}
	}
}
