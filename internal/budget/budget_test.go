//go:build !race

package budget

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// judge stands for a test, and keeps what is said to it.
type judge struct {
	testing.TB
	said string
}

func (j *judge) Helper()                           {}
func (j *judge) Errorf(format string, args ...any) { j.said += fmt.Sprintf(format, args...) }

func work(d time.Duration) {
	for begin := used(); used()-begin < d; {
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     func(call int)
		calls int
		fails bool
	}{
		{"quick", func(int) {}, 1, false},
		{"too long each time", func(int) { work(30 * time.Millisecond) }, 3, true},
		{"too long at first", func(call int) {
			if call == 1 {
				work(30 * time.Millisecond)
			}
		}, 2, false},
	} {
		var j judge
		calls := 0
		Within(&j, 20*time.Millisecond, func() { calls++; c.f(calls) })
		if calls != c.calls || (j.said != "") != c.fails {
			t.Errorf("%s: %d calls, %q", c.name, calls, j.said)
		}
	}
	if runtime.GOOS == "linux" {
		var j judge
		if Within(&j, 20*time.Millisecond, func() { time.Sleep(100 * time.Millisecond) }); j.said != "" {
			t.Errorf("waiting is counted: %s", j.said)
		}
	}
}
