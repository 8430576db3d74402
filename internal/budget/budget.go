// Package budget holds code to the time it may take, in tests.
//
// A limit is there to tell an algorithm that grows too fast from one that does not, not a
// machine that is busy from one that is idle. So what is measured is the time of the processor
// that the thread of the test used, where the system tells it, and of three runs the best one
// counts.
package budget

import (
	"runtime"
	"testing"
	"time"
)

// Slower is how many times less a test should ask for, so that it ends as soon as it does
// without the race detector: 1, or 16 under it.
const Slower = slower

// Within fails t if f takes longer than limit. It calls f once, and up to twice more while f took
// too long; what f starts in other goroutines is not counted. Under the race detector f is called
// once and held to no limit: what a function costs there says nothing of what it costs (a regular
// expression, for one, loses the memory that it would use again).
func Within(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	if slower > 1 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took time.Duration
	for range 3 {
		begin := used()
		f()
		if took = used() - begin; took <= limit {
			return
		}
	}
	t.Errorf("it took %s, and may take %s", took, limit)
}
