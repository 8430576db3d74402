package store_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/store"
)

// Whatever stands in the place of the journal, it is not taken for nothing, and nothing
// outside of the roots is written on its word.
func FuzzJournal(f *testing.F) {
	w := begin(f)
	stop := errors.New("stopped")
	s := open(f, w, fault(func(at store.Step) error {
		if at == committed {
			return stop
		}
		return nil
	}))
	if _, err := s.Update(context.Background(), change); !errors.Is(err, store.ErrRecovery) {
		f.Fatal(err)
	}
	for at, to := range map[string]string{"tree/out": "../beside", "tree/leaf": "../beside/canary", "private/out": "../beside"} {
		if err := os.Symlink(to, filepath.Join(w, filepath.FromSlash(at))); err != nil {
			f.Skip(err)
		}
	}
	real := read(f, w, journalFile)
	with := func(old, new string) {
		if !strings.Contains(real, old) {
			f.Fatalf("the journal has no %s: %s", old, real)
		}
		f.Add([]byte(strings.Replace(real, old, new, 1)))
	}
	f.Add([]byte(real))
	for _, all := range []string{
		"", "\x00", "null", "0", "[]", "{}", `""`, "{", `{"version":1}`, `{"version":1,"ops":null}`, `{"version":1,"ops":[]}`,
		`{"version":1,"ops":[null]}`, `{"version":1,"ops":[{}]}`, real + real, real[:len(real)/2], real[:len(real)-1],
		`{"version":1,"ops":[{"name":{"root":"private","path":"lock"},"class":3,"before":"","after":"","is_log":true}]}`,
		`{"version":1,"ops":[{"name":{"root":"private","path":"txn/journal.json"},"class":3,"before":"","after":"","staged":"txn/new-0"}]}`,
		`{"version":1,"ops":[{"name":{"root":"private","path":"txn"},"class":3,"before":"","after":"","staged":"txn/new-0"}]}`,
	} {
		f.Add([]byte(all))
	}
	for _, at := range []string{"../beside/canary", "../../canary", "/canary", "out/canary", "out/new", "leaf", "leaf/x", ".", "", "..", "a\\u0000b", strings.Repeat("a/", 3000) + "a", strings.Repeat("a", 300)} {
		with(`"path":"README.md"`, `"path":"`+at+`"`)
		with(`"path":"docs/new/page.md"`, `"path":"`+at+`"`)
		with(`"path":"log/calls-0001.jsonl"`, `"path":"`+at+`"`)
		with(`"path":"state/session.json"`, `"path":"`+at+`"`)
		with(`"staged":"txn/new-`, `"staged":"`+at)
		with(`"staged":"txn/new-`, `"staged":"txn/new-/`+at)
	}
	with(`"version":1`, `"version":2`)
	with(`"version":1`, `"version":1,"version":1`)
	with(`"version":1`, `"version":1,"more":1`)
	with(`"root":"tree"`, `"root":"nowhere"`)
	with(`"root":"tree"`, `"root":"private"`)
	with(`"root":"private"`, `"root":"tree"`)
	with(`"class":0`, `"class":-9`)
	with(`"is_log":true`, `"is_log":false`)
	with(`"class":1`, `"is_log":true,"class":1`)
	with(`"size":`, `"size":-`)
	with(`"size":`, `"size":9223372036854775807,"was":`)
	with(`"size":`, `"size":1`)
	with(`"line":"`, `"line":"x`)
	with(`"line":"`, `"line":"","was":"`)

	f.Fuzz(func(t *testing.T, data []byte) {
		w := clone(t, w)
		write(t, w, journalFile, string(data))
		if err := pending(w); !errors.Is(err, store.ErrRecovery) {
			t.Errorf("Pending: %v, want ErrRecovery", err)
		}
		outside := func(w string) snapshot {
			s := lookWhole(t, w)
			maps.DeleteFunc(s, func(name, _ string) bool {
				return strings.HasPrefix(name, "private/") || strings.HasPrefix(name, "tree/")
			})
			return s
		}
		found := outside(w)
		yes := func(o *store.Options) { o.Third = func(store.Name, store.File) bool { return true } }
		for name, run := range map[string]func(w string) (bool, error){
			"Recover": func(w string) (bool, error) {
				r, err := open(t, w).Recover(t.Context())
				return r.Pending, err
			},
			"Recover with Third": func(w string) (bool, error) {
				r, err := open(t, w, yes).Recover(t.Context())
				return r.Pending, err
			},
			"Keep": func(w string) (bool, error) {
				r, err := open(t, w).Resolve(t.Context(), store.Keep)
				return r.Pending, err
			},
			"Apply": func(w string) (bool, error) {
				r, err := open(t, w).Resolve(t.Context(), store.Apply)
				return r.Pending, err
			},
			"Update": func(w string) (bool, error) {
				r, err := open(t, w).Update(t.Context(), func(*store.Tx) error { return nil })
				return r.Recovered, err
			},
		} {
			w := clone(t, w)
			met, err := run(w)
			switch {
			case err == nil && !met:
				t.Errorf("%s met no journal", name)
			case err != nil && !exists(w, journalFile):
				t.Errorf("%s failed (%v) and dropped the journal", name, err)
			case err == nil && exists(w, journalFile):
				t.Errorf("%s succeeded and left the journal", name)
			}
			if d := diff(outside(w), found); d != "" {
				t.Errorf("%s wrote outside of the roots:%s", name, d)
			}
		}
	})
}
