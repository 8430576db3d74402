package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assent/store"
)

// full makes the change in a process whose files cannot grow beyond some bytes, and says how
// it ended.
func full(w string) error {
	limit, err := strconv.ParseUint(os.Getenv(childDies), 10, 64)
	if err != nil {
		return err
	}
	s, err := store.Open(options(w))
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	_, err = s.Update(context.Background(), change)
	var persist *store.PersistError
	switch {
	case err == nil:
		os.Exit(50)
	case errors.As(err, &persist):
		os.Exit(51)
	case errors.Is(err, store.ErrRecovery):
		os.Exit(52)
	}
	return err
}

// The system itself may stop any write half-way, as a full disk does: before the commit point
// everything is as it was, after it the change waits for room.
func TestDiskFull(t *testing.T) {
	seen := map[int]int{}
	var largest int
	for _, data := range begin2(t) {
		largest = max(largest, len(data))
	}
	step := 23
	if testing.Short() {
		step = 211
	}
	for limit := 0; limit < largest+step; limit += step {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			w := begin(t)
			was := look(t, w)
			cmd := start(t, "full", w, strconv.Itoa(limit))
			_ = cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			seen[code]++
			switch code {
			case 50:
				whole(t, w, lookAfter(t), 2)
			case 51:
				if d := diff(look(t, w), was); d != "" {
					t.Errorf("something changed before the commit point:%s", d)
				}
				clean(t, w)
			case 52:
				if _, err := open(t, w).Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				whole(t, w, lookAfter(t), 2)
			default:
				t.Errorf("ended with %d: %s", code, cmd.Stderr)
			}
		})
	}
	if seen[50] == 0 || seen[51] == 0 {
		t.Errorf("the ends were %v", seen)
	}
	t.Logf("changed %d times, refused %d times, waiting %d times", seen[50], seen[51], seen[52])
}

// lookAfter is the world after the change.
func lookAfter(t testing.TB) snapshot {
	w := begin(t)
	update(t, w, change)
	return look(t, w)
}

// begin2 are the bytes of every file that the change has to write, the journal's included.
func begin2(t testing.TB) (all []string) {
	w := begin(t)
	s := open(t, w, fault(func(at store.Step) error {
		if at == committed {
			for name, value := range lookWhole(t, w) {
				if strings.HasPrefix(name, "private/") {
					all = append(all, value)
				}
			}
		}
		return nil
	}))
	if _, err := s.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	return all
}
