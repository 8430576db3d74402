package store_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/store"
)

const byHand = "written by hand\n"

// edit writes a target as a person would, who knows nothing of the store.
func edit(t testing.TB, w string, n store.Name, data string) {
	t.Helper()
	name := filepath.Join(w, filepath.FromSlash(path(n)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := os.Lstat(name)
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	if err != nil && n.Root != store.Private {
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// editByRename replaces a target as most editors do.
func editByRename(t testing.TB, w string, n store.Name, data string) {
	t.Helper()
	write(t, w, "beside/edited", data)
	name := filepath.Join(w, filepath.FromSlash(path(n)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w, "beside/edited"), name); err != nil {
		t.Fatal(err)
	}
}

// A process dies, somebody edits a file that the change was about to write or had
// written. The edit stands until a person decides, and nothing else happens meanwhile.
func TestThirdValue(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	will := look(t, c.end)
	for _, n := range []store.Name{readme, page, record, state} {
		op := c.op(t, n)
		deaths := []store.Step{committed, {Op: op, At: "renamed"}}
		if n == readme {
			deaths = append(deaths, store.Step{Op: op, At: "half"}, store.Step{Op: -1, At: "applied"})
		}
		for _, at := range deaths {
			k := c.at(t, at)
			t.Run(fmt.Sprintf("%s edited after death at %d %s", n, at.Op, at.At), func(t *testing.T) {
				t.Parallel()
				w := clone(t, old)
				kill(t, "change", w, k)
				edit(t, w, n, byHand)
				found := lookWhole(t, w)

				rec, err := open(t, w).Recover(t.Context())
				if !errors.Is(err, store.ErrConflict) || !rec.Pending || !slices.Equal(rec.Foreign, []string{n.String()}) {
					t.Errorf("Recover: %+v, %v; want ErrConflict about %s", rec, err, n)
				}
				_, err = open(t, w).Update(t.Context(), func(*store.Tx) error {
					t.Error("a change was begun in spite of the conflict")
					return nil
				})
				if !errors.Is(err, store.ErrConflict) {
					t.Errorf("Update: %v, want ErrConflict", err)
				}
				no := func(o *store.Options) { o.Third = func(store.Name, store.File) bool { return false } }
				if _, err = open(t, w, no).Recover(t.Context()); !errors.Is(err, store.ErrConflict) {
					t.Errorf("Recover with a Third that says no: %v, want ErrConflict", err)
				}
				if d := diff(lookWhole(t, w), found); d != "" {
					t.Errorf("something changed in spite of the conflict:%s", d)
				}
				if err := pending(w); !errors.Is(err, store.ErrRecovery) {
					t.Errorf("Pending: %v, want ErrRecovery", err)
				}

				kept := maps.Clone(will)
				kept[path(n)] = found[path(n)]
				t.Run("keep", func(t *testing.T) {
					w := clone(t, w)
					if _, err := open(t, w).Resolve(t.Context(), store.Keep); err != nil {
						t.Fatal(err)
					}
					whole(t, w, kept, 2)
				})
				t.Run("apply", func(t *testing.T) {
					w := clone(t, w)
					if _, err := open(t, w).Resolve(t.Context(), store.Apply); err != nil {
						t.Fatal(err)
					}
					if got := rescued(t, w); !slices.Equal(got, []string{byHand}) {
						t.Errorf("rescue holds %q, want the edit", got)
					}
					if err := os.RemoveAll(filepath.Join(w, "private", "rescue")); err != nil {
						t.Fatal(err)
					}
					whole(t, w, will, 2)
				})
				t.Run("third says yes", func(t *testing.T) {
					w := clone(t, w)
					var asked []string
					yes := func(o *store.Options) {
						o.Third = func(n store.Name, f store.File) bool {
							asked = append(asked, n.String()+" "+string(f.Data))
							return true
						}
					}
					if _, err := open(t, w, yes).Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					if want := []string{n.String() + " " + byHand}; !slices.Equal(asked, want) {
						t.Errorf("Third was asked about %q, want %q", asked, want)
					}
					whole(t, w, kept, 2)
				})
				t.Run("taken back", func(t *testing.T) {
					w := clone(t, w)
					edit(t, w, n, newBytes[n])
					if _, err := open(t, w).Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					whole(t, w, will, 2)
				})
			})
		}
	}
}

// An edit can be more than other bytes.
func TestAnyEditIsAThirdValue(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	dead := clone(t, old)
	kill(t, "change", dead, c.from)
	tests := []struct {
		name    string
		edit    func(name string) error
		applies bool // Resolve can put the change in its place
	}{
		{"removed", os.Remove, true},
		{"emptied", func(name string) error { return os.Truncate(name, 0) }, true},
		{"too large", func(name string) error { return os.Truncate(name, 8<<20+1) }, false},
		{"a directory", func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o755)) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := clone(t, dead)
			if err := test.edit(filepath.Join(w, "tree", "README.md")); err != nil {
				t.Fatal(err)
			}
			found := lookWhole(t, w)
			if _, err := open(t, w).Recover(t.Context()); !errors.Is(err, store.ErrConflict) {
				t.Errorf("Recover: %v, want ErrConflict", err)
			}
			if d := diff(lookWhole(t, w), found); d != "" {
				t.Errorf("something changed in spite of the conflict:%s", d)
			}
			a := clone(t, w)
			_, err := open(t, a).Resolve(t.Context(), store.Apply)
			if test.applies {
				if err != nil {
					t.Fatal(err)
				}
				if got, want := read(t, a, path(readme)), newBytes[readme]; got != want {
					t.Errorf("applied: %q, want %q", got, want)
				}
			} else {
				if !errors.Is(err, store.ErrRecovery) {
					t.Errorf("Apply: %v, want ErrRecovery", err)
				}
				if d := diff(lookWhole(t, a), found); d != "" {
					t.Errorf("something changed in spite of the failure:%s", d)
				}
			}
			if test.name != "emptied" && len(rescued(t, a)) > 0 {
				t.Errorf("rescue holds %q, though there were no bytes", rescued(t, a))
			}
			if _, err := open(t, w).Resolve(t.Context(), store.Keep); err != nil {
				t.Fatal(err)
			}
			kept := look(t, c.end)
			delete(kept, path(readme))
			if v, ok := found[path(readme)]; ok {
				kept[path(readme)] = v
			}
			whole(t, w, kept, 2)
		})
	}
}

// Whoever writes a target while the change is being applied, without a look at the lock,
// loses nothing: the bytes stay in their place or are in rescue, whatever comes next.
func TestEditInTheLastMoment(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	for _, n := range []store.Name{readme, page} {
		op := c.op(t, n)
		renamed := c.at(t, store.Step{Op: op, At: "renamed"})
		for k := c.from; k < len(c.steps); k++ {
			at := c.steps[k]
			if at.Op != op && at.At != "committed" && at.At != "applied" && at.At != "journal removed" {
				continue
			}
			t.Run(fmt.Sprintf("%s at %d %d %s", n, k, at.Op, at.At), func(t *testing.T) {
				t.Parallel()
				w := clone(t, old)
				i := -1
				s := open(t, w, fault(func(store.Step) error {
					if i++; i == k {
						edit(t, w, n, byHand)
					}
					return nil
				}))
				safe := func(when string) {
					t.Helper()
					if read(t, w, path(n)) != byHand && !slices.Contains(rescued(t, w), byHand) {
						t.Errorf("%s the edit is lost: %q, rescue %q", when, read(t, w, path(n)), rescued(t, w))
					}
				}
				_, err := s.Update(t.Context(), change)
				safe("after the change")
				if got := read(t, w, path(n)); got != byHand {
					t.Errorf("after the change the file is %q, want the edit", got)
				}
				switch {
				case k < renamed && at.At != "exchanged" && !errors.Is(err, store.ErrConflict):
					t.Errorf("Update: %v, want ErrConflict", err)
				case k < renamed && read(t, w, path(state)) != oldBytes[state]:
					t.Errorf("later operations were applied in spite of the conflict")
				}
				_, _ = open(t, w).Recover(t.Context())
				safe("after Recover")
				if _, err := open(t, w).Resolve(t.Context(), store.Apply); err != nil {
					t.Error(err)
				}
				safe("after Resolve")
				if err := pending(w); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The system can swap two files at once, so that even an edit between the last look and
// the swap comes to light: as what was swapped out.
func TestEditWithinTheSwap(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	op := c.op(t, readme)
	synced, swapped := store.Step{Op: op, At: "synced"}, store.Step{Op: op, At: "exchanged"}
	if !slices.Contains(c.steps, swapped) {
		t.Skip("there is no exchange here")
	}
	stop := errors.New("stopped")
	const second = "and once more\n"
	all := func(t *testing.T, w string) []string {
		return append(rescued(t, w), read(t, w, path(readme)))
	}
	run := func(t *testing.T, at map[store.Step]func(w string) error) (string, error) {
		w := clone(t, old)
		i := -1
		s := open(t, w, fault(func(s store.Step) error {
			if i++; i > c.from && at[s] != nil {
				return at[s](w)
			}
			return nil
		}))
		_, err := s.Update(t.Context(), change)
		return w, err
	}
	first := func(w string) error {
		edit(t, w, readme, byHand)
		return nil
	}

	for kind, by := range map[string]func(testing.TB, string, store.Name, string){"in place": edit, "by rename": editByRename} {
		t.Run(kind+" goes back", func(t *testing.T) {
			w, err := run(t, map[store.Step]func(string) error{synced: func(w string) error {
				by(t, w, readme, byHand)
				return nil
			}})
			if got := read(t, w, path(readme)); !errors.Is(err, store.ErrConflict) || got != byHand {
				t.Errorf("%v, the file is %q", err, got)
			}
			for name := range look(t, w) {
				if strings.Contains(name, ".assent-tmp-") {
					t.Errorf("%s was left behind", name)
				}
			}
		})
	}
	t.Run("is rescued if the process ends before it goes back", func(t *testing.T) {
		w, err := run(t, map[store.Step]func(string) error{synced: first, swapped: func(string) error { return stop }})
		if !errors.Is(err, store.ErrRecovery) {
			t.Fatal(err)
		}
		if _, err := open(t, w).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := all(t, w), []string{byHand, newBytes[readme]}; !slices.Equal(got, want) {
			t.Errorf("rescue and file are %q, want %q", got, want)
		}
	})
	t.Run("and a second edit before it goes back are both kept", func(t *testing.T) {
		w, err := run(t, map[store.Step]func(string) error{synced: first, swapped: func(w string) error {
			editByRename(t, w, readme, second)
			return nil
		}})
		if !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
		if _, err := open(t, w).Resolve(t.Context(), store.Apply); err != nil {
			t.Fatal(err)
		}
		got := all(t, w)
		slices.Sort(got)
		want := []string{newBytes[readme], byHand, second}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("rescue and file are %q, want %q", got, want)
		}
	})
	t.Run("that makes it a directory goes back", func(t *testing.T) {
		w, err := run(t, map[store.Step]func(string) error{synced: func(w string) error {
			name := filepath.Join(w, "tree", "README.md")
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o755))
		}})
		info, serr := os.Lstat(filepath.Join(w, "tree", "README.md"))
		if !errors.Is(err, store.ErrConflict) || serr != nil || !info.IsDir() {
			t.Errorf("%v; the target is %v, %v, want the directory", err, info, serr)
		}
	})
	t.Run("that removes it is a conflict", func(t *testing.T) {
		w, err := run(t, map[store.Step]func(string) error{synced: func(w string) error {
			return os.Remove(filepath.Join(w, "tree", "README.md"))
		}})
		if !errors.Is(err, store.ErrConflict) || exists(w, "tree/README.md") {
			t.Errorf("%v; the file is there: %v", err, exists(w, "tree/README.md"))
		}
	})
}

// What Resolve was told holds for one conflict, not for the next one of the same store.
func TestResolveDecidesOnce(t *testing.T) {
	w := begin(t)
	stop := errors.New("stopped")
	armed := true
	s := open(t, w, fault(func(at store.Step) error {
		if armed && at == committed {
			return stop
		}
		return nil
	}))
	interrupt := func(fn func(*store.Tx) error, data string) {
		t.Helper()
		armed = true
		if _, err := s.Update(t.Context(), fn); !errors.Is(err, store.ErrRecovery) {
			t.Fatal(err)
		}
		armed = false
		edit(t, w, readme, data)
	}
	interrupt(change, byHand)
	if _, err := s.Resolve(t.Context(), store.Keep); err != nil {
		t.Fatal(err)
	}
	interrupt(func(tx *store.Tx) error {
		return tx.Put(store.View, readme, []byte("third"), store.DigestOf([]byte(byHand)))
	}, "another edit")
	if _, err := s.Recover(t.Context()); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the next conflict: %v, want ErrConflict", err)
	}
}

// Resolve may be interrupted as a change may: the bytes that it puts aside are never on
// their way alone, and it can be told again.
func TestResolveInterrupted(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	dead := clone(t, old)
	kill(t, "change", dead, c.from)
	edit(t, dead, readme, byHand)
	apply := func(s *store.Store) error {
		_, err := s.Resolve(t.Context(), store.Apply)
		return err
	}
	broken := errors.New("the disk is on fire")
	for k := 0; ; k++ {
		w := clone(t, dead)
		i := -1
		err := apply(open(t, w, fault(func(store.Step) error {
			if i++; i == k {
				return broken
			}
			return nil
		})))
		if err == nil {
			if k < 20 {
				t.Errorf("Resolve took %d steps", k)
			}
			return
		}
		if !errors.Is(err, store.ErrRecovery) || !strings.Contains(err.Error(), broken.Error()) {
			t.Errorf("step %d: %v", k, err)
		}
		for _, when := range []string{"after the failure", "after Resolve"} {
			if read(t, w, path(readme)) != byHand && !slices.Contains(rescued(t, w), byHand) {
				t.Errorf("step %d: %s the edit is lost", k, when)
			}
			if err := apply(open(t, w)); err != nil {
				t.Errorf("step %d: %v", k, err)
			}
		}
		if got, want := read(t, w, path(readme)), newBytes[readme]; got != want {
			t.Errorf("step %d: the file is %q, want %q", k, got, want)
		}
		if err := os.RemoveAll(filepath.Join(w, "private", "rescue")); err != nil {
			t.Fatal(err)
		}
		whole(t, w, look(t, c.end), 2)
	}
}

// Several targets may share a directory: what was left there of one of them is no edit.
func TestOurOwnBytesAreNotRescued(t *testing.T) {
	w := begin(t)
	a, b := store.Name{Root: "tree", Path: "a"}, store.Name{Root: "tree", Path: "b"}
	stop := errors.New("stopped")
	s := open(t, w)
	put := func(x, y string) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			f, err := tx.Read(a)
			if err != nil {
				return err
			}
			g, err := tx.Read(b)
			if err != nil {
				return err
			}
			return errors.Join(tx.Put(store.View, a, []byte(x), f.Digest), tx.Put(store.View, b, []byte(y), g.Digest))
		}
	}
	if _, err := s.Update(t.Context(), put("first a", "first b")); err != nil {
		t.Fatal(err)
	}
	after := false
	s = open(t, w, fault(func(at store.Step) error {
		if after = after || at == committed; after && at.Op == 1 && at.At == "exchanged" {
			return stop
		}
		return nil
	}))
	if _, err := s.Update(t.Context(), put("second a", "second b")); err == nil {
		t.Skip("there is no exchange here")
	}
	if _, err := open(t, w).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	clean(t, w)
}

// A log is never overwritten, not even by decision. What was added to it by hand shows.
func TestForeignLogTail(t *testing.T) {
	old := begin(t)
	c := trace(t, old, doChange)
	for _, at := range []store.Step{committed, {Op: 0, At: "half"}, {Op: 0, At: "synced"}} {
		t.Run("after death at "+at.At, func(t *testing.T) {
			w := clone(t, old)
			kill(t, "change", w, c.at(t, at))
			write(t, w, segment1, read(t, w, segment1)+"{}\n")
			found := lookWhole(t, w)
			if _, err := open(t, w).Recover(t.Context()); !errors.Is(err, store.ErrConflict) {
				t.Errorf("Recover: %v, want ErrConflict", err)
			}
			if _, err := open(t, w).Resolve(t.Context(), store.Apply); !errors.Is(err, store.ErrConflict) {
				t.Errorf("Apply: %v, want ErrConflict", err)
			}
			if d := diff(lookWhole(t, w), found); d != "" {
				t.Errorf("something changed in spite of the conflict:%s", d)
			}
			rec, err := open(t, w).Resolve(t.Context(), store.Keep)
			if err != nil || !slices.Equal(rec.Foreign, []string{"assent/" + log + "-0001.jsonl"}) {
				t.Fatalf("Keep: %+v, %v", rec, err)
			}
			if got, want := look(t, w)[segment1], found[segment1]; got != want {
				t.Errorf("the log became %q, want %q", got, want)
			}
			if rep, err := open(t, w).VerifyLog(t.Context(), log); err != nil || rep.Problem == "" {
				t.Errorf("VerifyLog: %+v, %v; want a problem", rep, err)
			}
		})
	}
}
