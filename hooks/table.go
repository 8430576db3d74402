// Package hooks is what runs at each Git hook: one table from event to steps, read by the
// runner, the installer, doctor and the manual.
//
// No step of any event creates, amends or moves a commit or ref, writes the index,
// changes a tracked file, fetches, asks a question, or leaves a process behind
// (seed 003, "Optional Git Hook Automation").
package hooks

import "time"

// Group is what an answer to the installer's question switches on.
type Group string

const (
	Guard   Group = "guard"    // may stop Git; a step that fails stops it
	Archive Group = "archive"  // runs after the fact; whatever fails, Git goes on
	Message Group = "message"  // about the message of a commit; installed by --with message
	OptIn   Group = "optional" // installed by --with alone
	Server  Group = "server"   // of a bare repository that others push to; by --server
)

// Event is one row of the table.
type Event struct {
	Name  string
	Group Group
	Input string // what is judged
	Steps []Step
	Stops bool // Git heeds the exit code, and what goes wrong closes
	Limit time.Duration
}

// MayStop reports whether Git heeds the exit code, and so whether failing closes.
func (e Event) MayStop() bool { return e.Stops }

// Stdin reports whether Git writes lines to the hook.
func (e Event) Stdin() bool {
	return e.Name == "pre-push" || e.Name == "post-rewrite" || e.Name == "pre-receive"
}

// Step is one thing that an event does, under the event's time limit.
type Step struct {
	Name string
	run  func(*run) error
}

// The steps of more than one event.
var (
	stagedStep  = Step{"judge what is staged", judgeStaged}
	headStep    = Step{"judge HEAD unless it was checked", judgeHead}
	archiveStep = Step{"archive the base if it changed", archiveHead}
)

// Table is every event that the program answers.
var Table = []Event{
	{"pre-commit", Guard, "the index that Git names", []Step{stagedStep}, true, 20 * time.Second},
	{"pre-merge-commit", Guard, "the index, which is the merge result", []Step{stagedStep}, true, 20 * time.Second},
	{"pre-push", Guard, "for every ref: the commits that the remote does not have", []Step{{"judge what is pushed", judgePush}}, true, 60 * time.Second},
	{"commit-msg", Message, "the trailers of the message", []Step{{"hold the trailers against the base", judgeMessage}}, true, 5 * time.Second},
	{"post-commit", Archive, "HEAD; nothing during a rebase, am, or a sequence", []Step{headStep, archiveStep}, false, 10 * time.Second},
	{"post-merge", Archive, "HEAD; nothing for a squash", []Step{headStep, archiveStep}, false, 10 * time.Second},
	{"post-rewrite", Archive, "HEAD at the end of a rebase; nothing for an amend", []Step{headStep, archiveStep}, false, 10 * time.Second},
	{"post-checkout", OptIn, "HEAD after a switch of branches; nothing in a sequence", []Step{headStep}, false, 5 * time.Second},
	{"pre-receive", Server, "for every ref: the commits that no ref has", []Step{{"judge what is pushed", judgePush}}, true, 60 * time.Second},
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
