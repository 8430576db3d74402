package store_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assent/store"
)

var (
	counter = store.Name{Root: "tree", Path: "counter"}
	twin    = store.Name{Root: "tree", Path: "twin"} // holds the same number
)

// processes write at once, each so often.
const processes, each = 50, 4

// count adds one to a number that is kept in two files, and a line to a log.
func count(tx *store.Tx) error {
	f, err := tx.Read(counter)
	if err != nil {
		return err
	}
	g, err := tx.Read(twin)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(f.Data))
	if err != nil {
		return err
	}
	next := []byte(strconv.Itoa(n + 1))
	if err := tx.Put(store.Record, counter, next, f.Digest); err != nil {
		return err
	}
	if err := tx.Put(store.View, twin, next, g.Digest); err != nil {
		return err
	}
	_, err = tx.Append("count", map[string]any{"n": n + 1})
	return err
}

// Many processes may write at once: no number is lost, none is given twice, and who only
// reads sees both files of a change or neither.
func TestContention(t *testing.T) {
	w := empty(t)
	write(t, w, "tree/counter", "0")
	write(t, w, "tree/twin", "0")
	s := open(t, w)

	var children []*exec.Cmd
	for range processes {
		children = append(children, start(t, "count", w, ""))
	}
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		var last, views int
		for running := true; running || views == 0; {
			select {
			case <-done:
				running = false
			default:
			}
			var a, b string
			var generation uint64
			err := s.View(t.Context(), func(r *store.Reader) error {
				f, err := r.Read(counter)
				g, err2 := r.Read(twin)
				a, b, generation = string(f.Data), string(g.Data), r.Generation()
				return errors.Join(err, err2)
			})
			if errors.Is(err, store.ErrBusy) {
				continue
			}
			n, _ := strconv.Atoi(a)
			if err != nil || a != b || uint64(n) != generation || n < last {
				t.Errorf("a reader sees %q and %q at generation %d after %d: %v", a, b, generation, last, err)
				return
			}
			last = n
			views++
		}
		t.Logf("%d consistent views", views)
	})
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %s", err, c.Stderr)
		}
	}
	close(done)
	reader.Wait()

	const total = processes * each
	if got := read(t, w, "tree/counter"); got != strconv.Itoa(total) {
		t.Errorf("the counter is %s, want %d", got, total)
	}
	lines := strings.SplitAfter(read(t, w, "private/count-0001.jsonl"), "\n")
	for i, line := range lines[:len(lines)-1] {
		if n := strconv.Itoa(i + 1); !strings.Contains(line, `"n":`+n+`,`) || !strings.Contains(line, `"seq":`+n+`}`) {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	if rep, err := s.VerifyLog(t.Context(), "count"); rep.Lines != total || rep.Problem != "" || err != nil {
		t.Errorf("VerifyLog: %+v, %v; want %d lines", rep, err, total)
	}
	if err := s.View(t.Context(), func(r *store.Reader) error {
		if r.Generation() != total {
			t.Errorf("generation %d, want %d", r.Generation(), total)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	clean(t, w)
}
