//go:build story

package commands

import (
	"os"
	"strconv"

	"assent/store"
)

// With the build tag `story` a process can be given a death. The shipped programs are
// built without it: no variable stops their writes.

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

// ruleStep ends the process without cleanup at step ASSENT_DIE_RULES of an apply.
var ruleStep = func() func(string) error {
	name := os.Getenv("ASSENT_DIE_RULES")
	if name == "" {
		return nil
	}
	return func(at string) error {
		if at == name {
			os.Exit(9)
		}
		return nil
	}
}()
