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

// patience is how long the shortcut may take; the hook itself has a limit of its own.
const patience = 2 * time.Second

func init() {
	if len(os.Args) < 3 || os.Args[1] != "hook" || os.Args[2] != "pre-commit" && os.Args[2] != "post-commit" {
		return
	}
	seen := make(chan *shortcut.Look, 1)
	go func() { seen <- look(os.Args[2]) }()
	select {
	case Look = <-seen:
	case <-time.After(patience):
	}
}

// look ends the process if the hook is done. A panic here is for the full hook to run into
// and to report.
func look(event string) (l *shortcut.Look) {
	defer func() {
		if recover() != nil {
			l = nil
		}
	}()
	r, err := repo.OpenHook(os.Environ())
	if err != nil {
		return nil
	}
	if event == "post-commit" && r.InSequence() {
		os.Exit(0)
	}
	l = shortcut.Begin(r, event, shortcut.Now(), shortcut.Build())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if l.Silent(ctx) {
		_ = r.Close()
		os.Exit(0)
	}
	return l
}
