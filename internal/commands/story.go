//go:build story

package commands

import (
	"os"
	"strconv"
	"time"

	"assent/store"
)

// With the build tag `story` a process can be given a day and a death. The shipped
// programs are built without it: no variable moves their clock or stops their writes.

// now is the clock; ASSENT_NOW, an RFC 3339 time, stands in for it.
func now() time.Time {
	if t, err := time.Parse(time.RFC3339, os.Getenv("ASSENT_NOW")); err == nil {
		return t
	}
	return time.Now()
}

// fault ends the process without cleanup at step ASSENT_DIE of its transaction.
var fault = func() func(store.Step) error {
	at, err := strconv.Atoi(os.Getenv("ASSENT_DIE"))
	if err != nil {
		return nil
	}
	n := 0
	return func(store.Step) error {
		if n++; n == at {
			os.Exit(137)
		}
		return nil
	}
}()
