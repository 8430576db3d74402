package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assent/store"
)

var every = flag.Bool("every", false, "kill recovery at all of its steps, not only at those that leave a world of their own")

// course is how a run went without a disturbance. Its steps are the list of all places to
// die at; none is kept by hand.
type course struct {
	steps []store.Step
	saw   []string     // fingerprints of the world at each step
	ops   []store.Name // of the journal
	from  int          // the first step at which the journal is in place
	to    int          // the first one at which it is gone again
	end   string       // the world that it led to
}

var (
	committed = store.Step{Op: -1, At: "committed"}
	removed   = store.Step{Op: -1, At: "journal removed"}
)

// trace lets fn run in a copy of a world.
func trace(t testing.TB, old string, fn func(*store.Store) error) course {
	t.Helper()
	c := course{end: clone(t, old)}
	s := open(t, c.end, fault(func(at store.Step) error {
		c.steps = append(c.steps, at)
		c.saw = append(c.saw, lookWhole(t, c.end).fingerprint())
		if c.ops == nil && exists(c.end, journalFile) {
			c.ops = opsOf(t, c.end)
		}
		return nil
	}))
	if err := fn(s); err != nil {
		t.Fatal(err)
	}
	clean(t, c.end)
	c.from, c.to = max(0, slices.Index(c.steps, committed)), slices.Index(c.steps, removed)
	if c.to <= c.from {
		t.Fatalf("the trace does not lead to the removal of a journal: %v", c.steps)
	}
	return c
}

// op returns the position of a name among the operations.
func (c course) op(t testing.TB, n store.Name) int {
	t.Helper()
	i := slices.Index(c.ops, n)
	if i < 0 {
		t.Fatalf("there is no operation on %s: %v", n, c.ops)
	}
	return i
}

// at returns the position of a step after the commit point.
func (c course) at(t testing.TB, at store.Step) int {
	t.Helper()
	i := slices.Index(c.steps[c.from:], at)
	if i < 0 {
		t.Fatalf("there is no step %v: %v", at, c.steps)
	}
	return c.from + i
}

func doChange(s *store.Store) error {
	_, err := s.Update(context.Background(), change)
	return err
}

func doRecover(s *store.Store) error {
	_, err := s.Recover(context.Background())
	return err
}

// opsOf reads the names of the operations of a world's journal, in their order.
func opsOf(t testing.TB, w string) []store.Name {
	t.Helper()
	var j struct {
		Ops []struct{ Name store.Name }
	}
	if err := json.Unmarshal([]byte(read(t, w, journalFile)), &j); err != nil {
		t.Fatal(err)
	}
	var names []store.Name
	for _, o := range j.Ops {
		names = append(names, o.Name)
	}
	return names
}

// whole fails the test unless a world is exactly the expected one, with a log that
// verifies, at the expected generation, and with nothing pending or left over.
func whole(t testing.TB, w string, want snapshot, generation uint64) {
	t.Helper()
	if d := diff(look(t, w), want); d != "" {
		t.Errorf("the world differs from the expected one:%s", d)
	}
	clean(t, w)
	if err := pending(w); err != nil {
		t.Errorf("Pending: %v", err)
	}
	s := open(t, w)
	err := s.View(t.Context(), func(r *store.Reader) error {
		if r.Generation() != generation {
			t.Errorf("generation %d, want %d", r.Generation(), generation)
		}
		return nil
	})
	if err != nil {
		t.Errorf("View: %v", err)
	}
	rep, err := s.VerifyLog(t.Context(), log)
	if rep.Lines != generation || rep.Problem != "" || err != nil { // one line for each generation
		t.Errorf("VerifyLog: %+v, %v; want %d lines", rep, err, generation)
	}
}

// replays fails the test unless the same key gives the answer that is kept, and nothing
// else happens.
func replays(t testing.TB, w string) {
	t.Helper()
	before := look(t, w)
	var prior []byte
	var seen bool
	r := update(t, w, func(tx *store.Tx) (err error) {
		prior, seen, err = tx.Once(key, request)
		return err
	})
	if !seen || string(prior) != answer || r.Generation != 2 || r.Recovered {
		t.Errorf("the key gives %q, %v at %+v; want %q at generation 2", prior, seen, r, answer)
	}
	if d := diff(look(t, w), before); d != "" {
		t.Errorf("a replay changed something:%s", d)
	}
}

// A process may die at any step of a change: what it leaves is the old world, or leads to
// the new one, whoever comes next.
func TestKill(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	was, will := look(t, old), look(t, c.end)
	whole(t, old, was, 1)
	whole(t, c.end, will, 2)
	replays(t, c.end)

	killed := make([]string, len(c.steps))
	for k := range killed {
		killed[k] = clone(t, old)
	}
	t.Run("once", func(t *testing.T) {
		for k, at := range c.steps {
			t.Run(fmt.Sprintf("%02d %d %s", k, at.Op, at.At), func(t *testing.T) {
				t.Parallel()
				w := killed[k]
				kill(t, "change", w, k)

				left := k >= c.from && k < c.to
				if got := exists(w, journalFile); got != left {
					t.Fatalf("there is a journal: %v, want %v", got, left)
				}
				if err := pending(w); errors.Is(err, store.ErrRecovery) != left || !left && err != nil {
					t.Errorf("Pending: %v with a journal: %v", err, left)
				}
				switch err := open(t, w).View(t.Context(), func(*store.Reader) error { return nil }); {
				case left && !errors.Is(err, store.ErrRecovery), !left && err != nil:
					t.Errorf("View: %v with a journal: %v", err, left)
				}
				if lookWhole(t, w).fingerprint() != c.saw[k] {
					t.Errorf("the dead process left another world than it saw at its last step")
				}
				found := look(t, w)
				torn(t, found, was, will)
				want, generation := will, uint64(2)
				if k < c.from {
					want, generation = was, 1
					if d := diff(found, was); d != "" {
						t.Errorf("something changed before the commit point:%s", d)
					}
				}

				if k > 0 && c.saw[k] == c.saw[k-1] {
					return // the same world as at the step before, and the same end
				}

				// Recover, then the same request again.
				r := clone(t, w)
				got, err := open(t, r).Recover(t.Context())
				if err != nil || got.Pending != left || len(got.Foreign) > 0 {
					t.Fatalf("Recover: %+v, %v; want pending: %v", got, err, left)
				}
				whole(t, r, want, generation)
				if again, err := open(t, r).Recover(t.Context()); err != nil || again.Pending {
					t.Errorf("a second Recover: %+v, %v", again, err)
				}
				if k >= c.from {
					replays(t, r)
				}
				// Or no word of recovery: the same request comes again.
				u := clone(t, w)
				res := update(t, u, change)
				if res.Recovered != left || res.Generation != 2 {
					t.Errorf("Update: %+v; want generation 2, recovered: %v", res, left)
				}
				whole(t, u, will, 2)
				replays(t, u)
			})
		}
	})
	if t.Failed() || testing.Short() {
		t.Logf("%d steps, %d child processes", len(c.steps), len(c.steps))
		return
	}

	// A dead process leaves the world that it saw at its last step: that much was shown
	// above. So of several steps that see the same world one is enough to die at, in the
	// change as in its recovery.
	var children, pairs int
	met := map[string]bool{}
	t.Run("twice", func(t *testing.T) {
		for k := c.from; k < c.to; k++ {
			if k > c.from && c.saw[k] == c.saw[k-1] && !*every {
				continue
			}
			again := trace(t, killed[k], doRecover)
			for j, at := range again.steps {
				pairs++
				if met[again.saw[j]] && !*every {
					continue
				}
				met[again.saw[j]] = true
				children++
				t.Run(fmt.Sprintf("%02d %02d %d %s", k, j, at.Op, at.At), func(t *testing.T) {
					t.Parallel()
					w := clone(t, killed[k])
					kill(t, "recover", w, j)
					state := lookWhole(t, w)
					torn(t, state, was, will)
					if state.fingerprint() != again.saw[j] {
						t.Errorf("the dead process left another world than it saw at its last step")
					}
					if left := exists(w, journalFile); left != (j < again.to) {
						t.Fatalf("there is a journal: %v, want %v", left, !left)
					}
					if _, err := open(t, w).Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					whole(t, w, will, 2)
					replays(t, w)
				})
			}
		}
	})
	t.Logf("%d steps, %d steps of their recoveries, %d child processes", len(c.steps), pairs, len(c.steps)+children)
}

// torn fails the test if a file is neither as before nor as after. The log may be, while
// a line is appended to it.
func torn(t testing.TB, got, was, will snapshot) {
	t.Helper()
	for name, value := range got {
		if strings.Contains(name, ".assent-tmp-") || strings.HasPrefix(name, "private/txn/") || strings.HasPrefix(name, "private/log/") {
			continue
		}
		if value != was[name] && value != will[name] {
			t.Errorf("%s is %.200q: neither %.200q nor %.200q", name, value, was[name], will[name])
		}
	}
	for name := range was {
		_, there := got[name]
		if _, stays := will[name]; !there && stays {
			t.Errorf("%s is gone", name)
		}
	}
}

// Any step may fail instead. Before the commit point nothing has happened, after it the
// change only waits to be completed.
func TestFail(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	was, will := look(t, old), look(t, c.end)
	broken := errors.New("the disk is on fire")
	for k, at := range c.steps {
		t.Run(fmt.Sprintf("%02d %d %s", k, at.Op, at.At), func(t *testing.T) {
			t.Parallel()
			w := clone(t, old)
			n := -1
			s := open(t, w, fault(func(store.Step) error {
				if n++; n == k {
					return broken
				}
				return nil
			}))
			res, err := s.Update(t.Context(), change)
			if err == nil || !strings.Contains(err.Error(), broken.Error()) {
				t.Fatalf("the failure became %v", err)
			}
			if res.Generation != 1 {
				t.Errorf("generation %d after a failure, want 1", res.Generation)
			}
			if k < c.from {
				var failed *store.PersistError
				if !errors.As(err, &failed) || !errors.Is(err, broken) || errors.Is(err, store.ErrRecovery) {
					t.Errorf("before the commit point: %v", err)
				}
				whole(t, w, was, 1)
				if k != c.from-1 {
					return
				}
				// The next try of the same process succeeds.
				if _, err := s.Update(t.Context(), change); err != nil {
					t.Fatal(err)
				}
				whole(t, w, will, 2)
				return
			}
			if !errors.Is(err, store.ErrRecovery) {
				t.Errorf("after the commit point: %v", err)
			}
			left := k < c.to
			if err := pending(w); errors.Is(err, store.ErrRecovery) != left || !left && err != nil {
				t.Errorf("Pending: %v with a journal: %v", err, left)
			}
			rec, err := open(t, w).Recover(t.Context())
			if err != nil || rec.Pending != left {
				t.Errorf("Recover: %+v, %v; want pending: %v", rec, err, left)
			}
			whole(t, w, will, 2)
			replays(t, w)
		})
	}
}

// Kills cannot show that a sync is missing, since the system lives on. The order of the
// steps can: nothing is named before its bytes are durable, and the journal goes only
// when everything it stands for is.
func TestOrder(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	ordered(t, old, c)
	var got []string
	for _, o := range c.ops {
		p, _, _ := strings.Cut(o.Path, "-0001")
		if strings.HasPrefix(p, "idem/") {
			p = "idem"
		}
		got = append(got, p)
	}
	want := []string{log, record.Path, readme.Path, page.Path, view.Path, state.Path, spent.Path, "idem", "head.json"}
	if !slices.Equal(got, want) {
		t.Errorf("the operations are %q, want %q", got, want)
	}
	// Who completes a change makes durable what he finds done, since the one who did it
	// may have died between a rename and the sync after it.
	for k := c.from; k < c.to; k++ {
		if at := c.steps[k]; at.At != "renamed" && at.At != "removed" && at != (store.Step{Op: 0, At: "written"}) {
			continue
		}
		w, i := clone(t, old), -1
		stop := errors.New("stopped")
		if err := doChange(open(t, w, fault(func(store.Step) error {
			if i++; i == k {
				return stop
			}
			return nil
		}))); !errors.Is(err, store.ErrRecovery) {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("recovery after step %d", k), func(t *testing.T) { ordered(t, old, trace(t, w, doRecover)) })
	}
	// In a new store there are not even the directories.
	fresh := empty(t)
	ordered(t, fresh, trace(t, fresh, func(s *store.Store) error {
		_, err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Append(log, map[string]any{"what": "begun"})
			return errors.Join(err, tx.Put(store.State, state, []byte("{}"), ""))
		})
		return err
	}))
}

// ordered checks the steps of a change, or of its recovery, that began in a world.
func ordered(t *testing.T, old string, c course) {
	steps, ops, commit, gone := c.steps, c.ops, c.from, c.to
	recovery := !slices.Contains(steps, committed)
	isLog := func(op int) bool { return op >= 0 && strings.HasPrefix(ops[op].Path, log) }
	t.Run("the operations are applied one after the other", func(t *testing.T) {
		op := 0
		for _, at := range steps[commit:gone] {
			switch {
			case at.Op == -1:
			case at.Op < op:
				t.Errorf("a step of operation %d after one of operation %d", at.Op, op)
			default:
				op = at.Op
			}
		}
	})
	t.Run("bytes are durable before they get their name", func(t *testing.T) {
		state := map[int]string{} // of the file that each operation is writing
		for i, at := range steps {
			switch at.At {
			case "created", "half", "written":
				state[at.Op] = at.At
			case "synced":
				if s := state[at.Op]; s != "written" && !(recovery && isLog(at.Op) && s == "") {
					t.Errorf("step %d: operation %d synced a file in state %q", i, at.Op, s)
				}
				state[at.Op] = at.At
			case "exchanged", "renamed", "committed":
				if s := state[at.Op]; s != "synced" && !(at.At == "renamed" && s == "exchanged") {
					t.Errorf("step %d: operation %d renamed a file in state %q", i, at.Op, s)
				}
				state[at.Op] = at.At
			}
		}
	})
	t.Run("staging is durable before the journal, the journal before the first change", func(t *testing.T) {
		if recovery {
			return // the journal was there before
		}
		var staged int // files synced and not yet their directory
		for i, at := range steps[:commit] {
			switch {
			case at == store.Step{Op: -1, At: "dirsynced"}:
				staged = 0
			case at.Op >= 0 && at.At == "synced":
				staged++
			case at == store.Step{Op: -1, At: "created"} && staged > 0:
				t.Errorf("step %d: the journal is begun with %d files whose names are not durable", i, staged)
			}
		}
		if next := steps[commit+1]; next != (store.Step{Op: -1, At: "dirsynced"}) {
			t.Errorf("the journal's place is followed by %v", next)
		}
	})
	t.Run("the journal is removed when every name is durable", func(t *testing.T) {
		for i, n := range ops {
			var last string // what gave the operation its name, or the log its bytes
			var dirs int
			for _, at := range steps[commit:gone] {
				switch {
				case at.Op != i:
				case at.At == "renamed", at.At == "synced", at.At == "removed":
					last, dirs = at.At, 0
				case at.At == "dirsynced":
					dirs++
				}
			}
			want := 1
			if !exists(old, path(n)) {
				want = strings.Count(n.Path, "/") + 1 // its directories may be new, too
			}
			if dirs < want || isLog(i) && last != "synced" || !recovery && last == "" {
				t.Errorf("%s: %d directories synced after %q, want %d", n, dirs, last, want)
			}
		}
		if last := steps[len(steps)-1]; last != (store.Step{Op: -1, At: "dirsynced"}) {
			t.Errorf("the removal of the journal is followed by %v", last)
		}
	})
}
