//go:build !story

package shortcut

import "time"

// Now is the clock.
func Now() time.Time { return time.Now() }
