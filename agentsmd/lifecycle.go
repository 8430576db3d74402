package agentsmd

// Status is where a decision stands.
type Status string

const (
	Proposed   Status = "proposed"
	Settles    Status = "no-op" // nothing to do: covered, closed, or judged so
	Pending    Status = "pending"
	Ready      Status = "ready" // of an auto plan
	Applied    Status = "applied"
	Satisfied  Status = "satisfied" // it says what the file says already
	Edited     Status = "edited"
	Rejected   Status = "rejected"
	Superseded Status = "superseded"
	Void       Status = "void" // of an auto plan whose ground moved
	Withdrawn  Status = "withdrawn"
	Replaced   Status = "replaced"
)

// Transition is one row of the lifecycle.
type Transition struct {
	From    Status
	Event   string
	To      Status
	Effects string
}

// Lifecycle is the whole state machine of a decision; what is not a row is decision-closed.
var Lifecycle = []Transition{
	{Proposed, "covered, duplicate, blocked, or judged so", Settles, "an explanation"},
	{Proposed, "published in Suggest", Pending, "a number, an entry in the state"},
	{Proposed, "registered in Auto", Ready, "nothing is pending"},
	{Pending, "selected, and written", Applied, "evidence, tombstone, restore or override, revisions; alternatives are superseded"},
	{Pending, "selected, and effective already", Satisfied, "closed as accepted; no file changes, no revision"},
	{Pending, "its edited successor is applied, satisfied or a no-op", Edited, "closed as edited-accepted"},
	{Pending, "rejected", Rejected, "a rejection, revisions; a rule that stands stays"},
	{Pending, "a later plan proposes the same rule", Superseded, "its evidence goes to the new one"},
	{Ready, "written", Applied, "as above"},
	{Ready, "effective already", Satisfied, "as above"},
	{Ready, "a gate or a target failed", Ready, "no checkpoint; the same plan may run again"},
	{Ready, "a guard moved", Void, "no checkpoint; plan anew"},
	{Applied, "its rule is removed", Withdrawn, "a tombstone"},
	{Applied, "its rule is replaced", Replaced, "a tombstone of the old text"},
}
