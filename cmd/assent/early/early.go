// Package early answers a silent commit while the program still starts.
//
// Half of what the program takes to start is the initialization of packages that a silent
// commit has no use for: Markdown, YAML, the command line. Go initializes packages in the
// order of their import paths as far as imports allow (Go specification, "Program
// initialization"), so this one, which imports little, comes before them. Only a main
// package may import it: its init looks at the arguments of the process and may end it.
package early

import (
	"context"
	"os"
	"time"

	"assent/hooks/shortcut"
	"assent/repo"
)

// Look is what was seen, for the hook to go on from; nil if this is no such hook.
var Look *shortcut.Look

func init() {
	if len(os.Args) < 3 || os.Args[1] != "hook" {
		return
	}
	if look(os.Args[2]) {
		os.Exit(0)
	}
}

// look reports whether the hook is done. A panic here is for the full hook to run into and
// to report.
func look(event string) (done bool) {
	defer func() {
		if recover() != nil {
			Look, done = nil, false
		}
	}()
	if event != "pre-commit" && event != "post-commit" {
		return false
	}
	r, err := repo.OpenHook(os.Environ())
	if err != nil {
		return false
	}
	if event == "post-commit" && r.InSequence() {
		return true
	}
	l := shortcut.Begin(r, event, shortcut.Now(), shortcut.Build())
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if l.Silent(ctx) {
		_ = r.Close()
		return true
	}
	Look = l
	return false
}
