// Package hooks is what runs at each Git hook: one table from event to steps, read by the
// runner, the installer and the manual.
//
// No step of any event creates, amends or moves a commit or ref, writes the index,
// changes a tracked file, fetches, asks a question, or leaves a process behind
// (seed 003, "Optional Git Hook Automation").
package hooks

import "time"

// Group is what an answer to the installer's question switches on.
type Group string

const (
	Guard   Group = "guard"   // may stop Git; a step that fails stops it
	Archive Group = "archive" // runs after the fact; whatever fails, Git goes on
)

// Event is one row of the table.
type Event struct {
	Name  string
	Group Group
	Input string // what is judged
	Steps []Step
	Limit time.Duration
}

// MayStop reports whether Git heeds the exit code, and so whether failing closes.
func (e Event) MayStop() bool { return e.Group == Guard }

// Step is one thing that an event does, under the event's time limit.
type Step struct {
	Name string
	run  func(*run) error
}

// Table is every event that the program answers.
var Table = []Event{
	{"pre-commit", Guard, "the index that Git names", []Step{{"judge what is staged", judgeStaged}}, 20 * time.Second},
	{"pre-merge-commit", Guard, "the index, which is the merge result", []Step{{"judge what is staged", judgeStaged}}, 20 * time.Second},
	{"post-commit", Archive, "HEAD; nothing during a rebase, am, or a sequence", []Step{{"judge HEAD unless it was checked", judgeHead}, {"archive the base", archiveHead}}, 10 * time.Second},
	{"post-merge", Archive, "HEAD; nothing for a squash", []Step{{"judge HEAD unless it was checked", judgeHead}, {"archive the base", archiveHead}}, 10 * time.Second},
	{"post-rewrite", Archive, "HEAD at the end of a rebase; nothing for an amend", []Step{{"judge HEAD unless it was checked", judgeHead}, {"archive the base", archiveHead}}, 10 * time.Second},
}

// Find returns the event of a name.
func Find(name string) (Event, bool) {
	for _, e := range Table {
		if e.Name == name {
			return e, true
		}
	}
	return Event{}, false
}
