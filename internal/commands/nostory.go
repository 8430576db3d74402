//go:build !story

package commands

import (
	"time"

	"assent/store"
)

func now() time.Time { return time.Now() }

var fault func(store.Step) error
