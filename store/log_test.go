package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/store"
)

const segment1 = "private/" + log + "-0001.jsonl"

// logged makes a world with a log of five lines.
func logged(t testing.TB) string {
	w := empty(t)
	s := open(t, w)
	for i := range 5 {
		if _, err := s.Update(t.Context(), func(tx *store.Tx) error {
			ref, err := tx.Append(log, map[string]any{"what": fmt.Sprintf("line %d", i+1)})
			if want := (store.LogRef{Log: log, Seq: uint64(i + 1)}); ref != want {
				t.Errorf("Append: %+v, want %+v", ref, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestLogTamper(t *testing.T) {
	w := logged(t)
	lines := func(f func([]string) []string) func(string) error {
		return func(w string) error {
			name := filepath.Join(w, filepath.FromSlash(segment1))
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			l := strings.SplitAfter(string(data), "\n")
			return os.WriteFile(name, []byte(strings.Join(f(l[:len(l)-1]), "")), 0o600)
		}
	}
	edited := func(i int, old, new string) func(string) error {
		return lines(func(l []string) []string {
			if !strings.Contains(l[i], old) {
				panic(fmt.Sprintf("line %q has no %q", l[i], old))
			}
			l[i] = strings.Replace(l[i], old, new, 1)
			return l
		})
	}
	tests := []struct {
		name    string
		tamper  func(w string) error
		problem string
	}{
		{"nothing", lines(func(l []string) []string { return l }), ""},
		{"the first line edited", edited(0, "line 1", "lime 1"), "line 2 does not follow"},
		{"a line edited", edited(2, "line 3", "lime 3"), "line 4 does not follow"},
		{"a blank put into a line", edited(2, `{`, `{ `), "line 4 does not follow"},
		{"a line made CRLF", edited(2, "\n", "\r\n"), "line 4 does not follow"},
		{"the last line edited", edited(4, "line 5", "lime 5"), "should end with line 5"},
		{"a line's number edited", edited(3, `"seq":4`, `"seq":7`), "line 4 does not follow"},
		{"a member given twice", edited(3, `{`, `{"seq":4,`), "line 4 is cut off or unreadable"},
		{"the first line removed", lines(func(l []string) []string { return l[1:] }), "line 1 does not follow"},
		{"a line removed", lines(func(l []string) []string { return slices.Delete(l, 2, 3) }), "line 3 does not follow"},
		{"the last line removed", lines(func(l []string) []string { return l[:4] }), "has 4 lines"},
		{"the last line twice", lines(func(l []string) []string { return append(l, l[4]) }), "line 6 does not follow"},
		{"lines reordered", lines(func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }), "line 2 does not follow"},
		{"the last lines reordered", lines(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }), "line 4 does not follow"},
		{"the last line cut off", lines(func(l []string) []string { l[4] = l[4][:len(l[4])/2]; return l }), "line 5 is cut off"},
		{"the last newline cut off", edited(4, "\n", ""), "line 5 is cut off"},
		{"a newline removed", edited(1, "\n", ""), "line 2 is cut off or unreadable"},
		{"an empty line put in", edited(1, "\n", "\n\n"), "line 3 is cut off or unreadable"},
		{"a line added that follows", lines(func(l []string) []string {
			return append(l, fmt.Sprintf("{\"prev\":%q,\"seq\":6}\n", store.DigestOf([]byte(l[4]))))
		}), "has 6 lines"},
		{"all lines removed", lines(func([]string) []string { return nil }), "has 0 lines"},
		{"the segment removed", func(w string) error { return os.Remove(filepath.Join(w, segment1)) }, "segment 1 is missing"},
		{"the segment made a directory", func(w string) error {
			name := filepath.Join(w, segment1)
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o700))
		}, "line 1 is cut off or unreadable"},
		{"the head removed", func(w string) error { return os.Remove(filepath.Join(w, "private", "head.json")) }, "segment 1, which head.json does not know"},
		{"a segment added", func(w string) error {
			return os.WriteFile(filepath.Join(w, "private", log+"-0002.jsonl"), nil, 0o600)
		}, "segment 2, which head.json does not know"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := clone(t, w)
			if err := test.tamper(w); err != nil {
				t.Fatal(err)
			}
			found := look(t, w)
			if names, err := open(t, w).Logs(t.Context()); err != nil || !slices.Contains(names, log) {
				t.Errorf("Logs: %q, %v", names, err)
			}
			rep, err := open(t, w).VerifyLog(t.Context(), log)
			if err != nil || (test.problem == "") != (rep.Problem == "") || !strings.Contains(rep.Problem, test.problem) {
				t.Errorf("VerifyLog: %+v, %v; want %q", rep, err, test.problem)
			}
			if d := diff(look(t, w), found); d != "" {
				t.Errorf("VerifyLog changed something:%s", d)
			}
		})
	}
}

// A log that does not end where its head says is not written on, and the attempt leaves
// nothing that would have to be recovered.
func TestAppendNeedsTheEndOfTheLog(t *testing.T) {
	w := logged(t)
	segment := func(f func(name string) error) func(string) error {
		return func(w string) error { return f(filepath.Join(w, filepath.FromSlash(segment1))) }
	}
	for name, tamper := range map[string]func(w string) error{
		"shorter":    segment(func(name string) error { return os.Truncate(name, 10) }),
		"longer":     segment(func(name string) error { return os.Truncate(name, 10_000) }),
		"removed":    segment(os.Remove),
		"no file":    segment(func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o700)) }),
		"headless":   func(w string) error { return os.Remove(filepath.Join(w, "private", "head.json")) },
		"untampered": nil,
	} {
		t.Run(name, func(t *testing.T) {
			at := clone(t, w)
			if tamper != nil {
				if err := tamper(at); err != nil {
					t.Fatal(err)
				}
			}
			found := look(t, at)
			_, err := open(t, at).Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Append(log, map[string]any{"what": "line 6"})
				return err
			})
			if tamper == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), log) || errors.Is(err, store.ErrStale) { // no next try would help
				t.Errorf("Append to a log that was made %s: %v", name, err)
			}
			if d := diff(look(t, at), found); d != "" {
				t.Errorf("something changed in spite of the error:%s", d)
			}
			if err := pending(at); err != nil {
				t.Error(err)
			}
			clean(t, at)
		})
	}
}

// One change may add several lines, to several logs, and dies as whole as any other.
func TestManyLinesInOneChange(t *testing.T) {
	old := begin(t)
	many := func(tx *store.Tx) error {
		for i, l := range []string{log, "other", log, log, "other"} {
			if _, err := tx.Append(l, map[string]any{"i": i}); err != nil {
				return err
			}
		}
		return nil
	}
	c := trace(t, old, func(s *store.Store) error {
		_, err := s.Update(t.Context(), many)
		return err
	})
	will := look(t, c.end)
	verify := func(t *testing.T, w string) {
		t.Helper()
		for l, n := range map[string]uint64{log: 4, "other": 2} {
			if rep, err := open(t, w).VerifyLog(t.Context(), l); rep.Lines != n || rep.Problem != "" || err != nil {
				t.Errorf("VerifyLog %s: %+v, %v; want %d lines", l, rep, err, n)
			}
		}
	}
	verify(t, c.end)
	stop := errors.New("stopped")
	for k := c.from; k < len(c.steps); k++ {
		w := clone(t, old)
		i := -1
		s := open(t, w, fault(func(store.Step) error {
			if i++; i == k {
				return stop
			}
			return nil
		}))
		if _, err := s.Update(t.Context(), many); err == nil {
			t.Fatalf("step %d did not stop the change", k)
		}
		if err := doRecover(open(t, w)); err != nil {
			t.Fatalf("step %d: %v", k, err)
		}
		if d := diff(look(t, w), will); d != "" {
			t.Errorf("step %d:%s", k, d)
		}
		verify(t, w)
	}
}

// A change that no one could complete is refused before it is committed.
func TestUnwritableLogs(t *testing.T) {
	w := begin(t)
	found := look(t, w)
	tests := []struct {
		name, log string
		members   map[string]any
	}{
		{"a log outside of the store", "../beside/log", nil},
		{"an absolute log", "/log", nil},
		{"a log below a file", "head.json/log", nil},
		{"a log in no clean path", "a//b", nil},
		{"the store's own member seq", log, map[string]any{"seq": 1}},
		{"the store's own member prev", log, map[string]any{"prev": ""}},
		{"a member that is no JSON", log, map[string]any{"f": func() {}}},
		{"a member that is no UTF-8", log, map[string]any{"s": "\xff"}},
		{"a line of more than 64 KiB", log, map[string]any{"s": strings.Repeat("a", 64<<10)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := open(t, w).Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Append(test.log, test.members)
				return err
			})
			if err == nil {
				t.Error("no error")
			}
			if d := diff(look(t, w), found); d != "" {
				t.Errorf("something changed in spite of the error:%s", d)
			}
			whole(t, w, found, 1)
		})
	}
}

// A log goes on in a new segment at 64 MiB, and its chain with it.
func TestSegments(t *testing.T) {
	const most = 64 << 20
	add := func(t *testing.T, w string, lines int) {
		t.Helper()
		update(t, w, func(tx *store.Tx) error {
			for range lines {
				if _, err := tx.Append("big", map[string]any{"what": "more"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	lines := func(t *testing.T, w string, segment int) int {
		t.Helper()
		return strings.Count(read(t, w, fmt.Sprintf("private/big-%04d.jsonl", segment)), "\n")
	}
	// grown makes a world with a log of one line, and a head that gives it another size.
	grown := func(t *testing.T, size int) string {
		t.Helper()
		w := empty(t)
		add(t, w, 1)
		h := read(t, w, "private/head.json")
		old := fmt.Sprintf(`"size":%d`, len(read(t, w, "private/big-0001.jsonl")))
		if !strings.Contains(h, old) {
			t.Fatalf("the head has no %s: %s", old, h)
		}
		write(t, w, "private/head.json", strings.Replace(h, old, fmt.Sprintf(`"size":%d`, size), 1))
		return w
	}

	t.Run("the chain runs on", func(t *testing.T) {
		w := grown(t, most)
		add(t, w, 2)
		add(t, w, 1)
		if a, b := lines(t, w, 1), lines(t, w, 2); a != 1 || b != 3 {
			t.Errorf("the segments have %d and %d lines, want 1 and 3", a, b)
		}
		verify := func(problem string) {
			t.Helper()
			rep, err := open(t, w).VerifyLog(t.Context(), "big")
			if err != nil || (problem == "") != (rep.Problem == "") || !strings.Contains(rep.Problem, problem) {
				t.Errorf("VerifyLog: %+v, %v; want %q", rep, err, problem)
			}
		}
		verify("")
		for n := 1; n <= 2; n++ {
			name := filepath.Join(w, "private", fmt.Sprintf("big-%04d.jsonl", n))
			if err := os.Rename(name, name+".away"); err != nil {
				t.Fatal(err)
			}
			verify(fmt.Sprintf("segment %d is missing", n))
			if err := os.Rename(name+".away", name); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(filepath.Join(w, "private", "big-0002.jsonl"), filepath.Join(w, "private", "big-0001.jsonl")); err != nil {
			t.Fatal(err)
		}
		verify("line 1 does not follow")
	})
	t.Run("a line that just fits, and one that does not", func(t *testing.T) {
		w := empty(t)
		add(t, w, 1)
		line := len(read(t, w, "private/big-0001.jsonl")) // that of a one-digit number, as the next ones
		w = grown(t, most-line)
		if err := os.Truncate(filepath.Join(w, "private", "big-0001.jsonl"), int64(most-line)); err != nil {
			t.Fatal(err)
		}
		add(t, w, 2)
		info, err := os.Stat(filepath.Join(w, "private", "big-0001.jsonl"))
		if err != nil || info.Size() != most {
			t.Errorf("the first segment has %d bytes, want %d (%v)", info.Size(), most, err)
		}
		if n := lines(t, w, 2); n != 1 {
			t.Errorf("the second segment has %d lines, want 1", n)
		}
	})
}
