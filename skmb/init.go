package skmb

import (
	"fmt"
	"path"
	"strings"
)

// InitFiles returns the files of an empty base at root: the index, a decisions directory
// that Git can hold, and an archive directory whose contents stay local (the ignore file
// hides itself too).
func InitFiles(root, archive string) map[string][]byte {
	var index strings.Builder
	index.WriteString("# State Machine Knowledge Base\n\nDecisions about this application's implicit state machine: one row here and one file in\n" +
		"`decisions/` each. `skmb --help` tells how they are made and changed.\n")
	for _, kind := range []table{decisions, states, transitions, invariants, failures, defaults, opens} {
		fmt.Fprintf(&index, "\n## %s\n\n%s", specs[kind].heading, newTable(kind, "\n"))
	}
	return map[string][]byte{
		path.Join(root, ".gitattributes"):         []byte("SKMB.md merge=assent-skmb\n"),
		IndexPath(root):                           []byte(index.String()),
		path.Join(DecisionsDir(root), ".gitkeep"): nil,
		path.Join(root, archive, ".gitignore"):    []byte("*\n"),
	}
}

// newTable is a table without rows.
func newTable(kind table, newline string) string {
	columns := specs[kind].columns
	return "| " + strings.Join(columns, " | ") + " |" + newline + strings.Repeat("| --- ", len(columns)) + "|" + newline
}
