//go:build story

package shortcut

import (
	"os"
	"time"
)

// Now is the clock; ASSENT_NOW, an RFC 3339 time, stands in for it. The shipped programs are
// built without the tag: no variable moves their clock.
func Now() time.Time {
	if t, err := time.Parse(time.RFC3339, os.Getenv("ASSENT_NOW")); err == nil {
		return t
	}
	return time.Now()
}
