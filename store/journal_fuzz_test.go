package store_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assent/store"
)

// interrupted makes a world in which the change is committed and not yet applied.
func interrupted(t testing.TB) string {
	w := begin(t)
	stop := errors.New("stopped")
	s := open(t, w, fault(func(at store.Step) error {
		if at == committed {
			return stop
		}
		return nil
	}))
	if _, err := s.Update(t.Context(), change); !errors.Is(err, store.ErrRecovery) {
		t.Fatal(err)
	}
	return w
}

// A journal that the store cannot have written is left for a person to look at.
func TestMangledJournal(t *testing.T) {
	w := interrupted(t)
	real := read(t, w, journalFile)
	tests := []struct{ name, old, new string }{
		{"cut off", real, real[:len(real)/2]},
		{"empty", real, ""},
		{"of another version", `"version":1`, `"version":2`},
		{"with a member that is not known", `"version":1`, `"version":1,"more":1`},
		{"without operations", real, `{"version":1,"ops":[]}`},
		{"a log outside of the private root", `"root":"private","path":"log/`, `"root":"tree","path":"log/`},
		{"a log of negative size", `"size":`, `"size":-`},
		{"bytes from elsewhere", `"staged":"txn/new-2"`, `"staged":"head.json"`},
		{"a root that is not known", `"root":"tree"`, `"root":"nowhere"`},
		{"a path out of its root", `"path":"README.md"`, `"path":"../README.md"`},
		{"other bytes than staged", `"staged":"txn/new-2"`, `"staged":"txn/new-3"`},
		{"bytes that are not staged", `"staged":"txn/new-2"`, `"staged":"txn/new-9"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := clone(t, w)
			if !strings.Contains(real, test.old) {
				t.Fatalf("the journal has no %s: %s", test.old, real)
			}
			write(t, w, journalFile, strings.Replace(real, test.old, test.new, 1))
			found := read(t, w, journalFile)
			s := open(t, w)
			_, rerr := s.Recover(t.Context())
			_, uerr := s.Update(t.Context(), func(*store.Tx) error { return nil })
			_, aerr := s.Resolve(t.Context(), store.Apply)
			_, kerr := s.Resolve(t.Context(), store.Keep)
			for what, err := range map[string]error{"Recover": rerr, "Update": uerr, "Apply": aerr, "Keep": kerr, "Pending": pending(w)} {
				if !errors.Is(err, store.ErrRecovery) {
					t.Errorf("%s: %v, want ErrRecovery", what, err)
				}
			}
			if got := read(t, w, journalFile); got != found {
				t.Errorf("the journal became %q", got)
			}
			if got := read(t, w, path(readme)); got != oldBytes[readme] {
				t.Errorf("%s became %q", readme, got)
			}
		})
	}
}

// Whatever stands in the place of the journal, it is not taken for nothing, and nothing
// outside of the roots is written on its word.
func FuzzJournal(f *testing.F) {
	w := interrupted(f)
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
	for _, at := range []string{"../beside/canary", "/canary", "out/canary", "out/new", "leaf", ".", "", "a\\u0000b", strings.Repeat("a/", 30) + "a", strings.Repeat("a", 300)} {
		with(`"path":"README.md"`, `"path":"`+at+`"`)
		with(`"path":"docs/new/page.md"`, `"path":"`+at+`"`)
		with(`"path":"log/calls-0001.jsonl"`, `"path":"`+at+`"`)
	}
	for _, at := range []string{"", "../beside/canary", "out/canary", "head.json", "txn/new-/../../../beside/canary", "txn/new-"} {
		with(`"staged":"txn/new-2"`, `"staged":"`+at+`"`)
	}
	with(`"path":"state/effect.json"`, `"path":"out/canary"`)
	with(`"path":"state/effect.json"`, `"path":"head.json"`)
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
		t.Parallel()
		w := clone(t, w)
		write(t, w, journalFile, string(data))
		outside := func() snapshot {
			s := look(t, w)
			maps.DeleteFunc(s, func(name, _ string) bool {
				return strings.HasPrefix(name, "private/") || strings.HasPrefix(name, "tree/")
			})
			return s
		}
		found := outside()
		resolve := func(how store.Resolution) func(*store.Store) (bool, error) {
			return func(s *store.Store) (bool, error) {
				r, err := s.Resolve(t.Context(), how)
				return r.Pending, err
			}
		}
		// From the mildest to the last resort, until one of them ends it.
		for _, try := range []struct {
			name string
			run  func(*store.Store) (met bool, err error)
		}{
			{"Pending", func(*store.Store) (bool, error) { return false, pending(w) }},
			{"View", func(s *store.Store) (bool, error) {
				return false, s.View(t.Context(), func(*store.Reader) error { return nil })
			}},
			{"Recover", func(s *store.Store) (bool, error) {
				r, err := s.Recover(t.Context())
				return r.Pending, err
			}},
			{"Update", func(s *store.Store) (bool, error) {
				r, err := s.Update(t.Context(), func(*store.Tx) error { return nil })
				return r.Recovered, err
			}},
			{"Apply", resolve(store.Apply)},
			{"Keep", resolve(store.Keep)},
		} {
			met, err := try.run(open(t, w))
			switch left := exists(w, journalFile); {
			case err == nil && !met:
				t.Errorf("%s met no journal", try.name)
			case err != nil && !left:
				t.Errorf("%s failed (%v) and dropped the journal", try.name, err)
			case err == nil && left:
				t.Errorf("%s succeeded and left the journal", try.name)
			}
			if d := diff(outside(), found); d != "" {
				t.Errorf("%s wrote outside of the roots:%s", try.name, d)
			}
			if err == nil {
				break
			}
		}
	})
}
