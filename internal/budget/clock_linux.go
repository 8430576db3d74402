package budget

import (
	"time"

	"golang.org/x/sys/unix"
)

// used is the time of the processor that this thread has used (clock_gettime(2)).
func used() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
