package skmb

import (
	"slices"
	"strings"
	"unicode"
)

// Status is where a record stands.
type Status string

const (
	Open               Status = "open"
	Proposed           Status = "proposed"
	Accepted           Status = "accepted"
	StatisticalDefault Status = "statistical_default"
	Rejected           Status = "rejected"
	Withdrawn          Status = "withdrawn"
	Superseded         Status = "superseded"
)

// Statuses are all of them, in the order of a record's life.
var Statuses = []Status{Open, Proposed, Accepted, StatisticalDefault, Rejected, Withdrawn, Superseded}

// Event is what somebody does with a record.
type Event string

const (
	EventSubmit        Event = "submit"
	EventOpen          Event = "open"
	EventApprove       Event = "approve"
	EventPermitDefault Event = "permit-default"
	EventReject        Event = "reject"
	EventWithdraw      Event = "withdraw"
	EventSupersede     Event = "supersede"
)

// Transition is one row of the lifecycle. From is "" for a record that is made.
type Transition struct {
	From  Status
	Event Event
	To    Status
	Who   string
}

// Lifecycle is the whole state machine of a record; what is not a row is refused.
var Lifecycle = []Transition{
	{"", EventSubmit, Proposed, "anyone, also a model"},
	{"", EventOpen, Open, "anyone: a visible question"},
	{Open, EventSubmit, Proposed, "anyone, with --from: the question becomes a concrete decision"},
	{Proposed, EventOpen, Withdrawn, "anyone: the record is a question again, its number stays used"},
	{Proposed, EventApprove, Accepted, "a designer"},
	{Proposed, EventPermitDefault, StatisticalDefault, "a designer permits going on unresolved until a review date"},
	{Proposed, EventReject, Rejected, "anyone, with a reason: grants nothing"},
	{Proposed, EventWithdraw, Withdrawn, "anyone, with a reason: grants nothing"},
	{Accepted, EventApprove, Accepted, "a designer, after the approved text changed"},
	{Accepted, EventSupersede, Superseded, "an accepted successor that names it"},
	{StatisticalDefault, EventApprove, Accepted, "a designer"},
	{StatisticalDefault, EventPermitDefault, StatisticalDefault, "a designer renews the review date"},
	{StatisticalDefault, EventSupersede, Superseded, "an accepted successor that names it"},
}

// Next returns the status that an event leads to from a status.
func Next(from Status, e Event) (Status, bool) {
	i := slices.IndexFunc(Lifecycle, func(t Transition) bool { return t.From == from && t.Event == e })
	if i < 0 {
		return "", false
	}
	return Lifecycle[i].To, true
}

// parseStatus reads the first word of a status line; the rest is kept as its tail.
// known is false for a word that is no status. An SKMB record without a status, or with
// the status open, is proposed.
func parseStatus(id, text string) (s Status, tail string, known bool) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	word := text
	if end >= 0 {
		word, tail = text[:end], text[end:]
	}
	switch s = Status(strings.ToLower(word)); s {
	case "reviewable_default":
		s = StatisticalDefault
	case "", Open:
		if s = Proposed; isOpen(id) {
			s = Open
		}
	case Proposed, Accepted, StatisticalDefault, Rejected, Withdrawn, Superseded:
	default:
		return s, tail, false
	}
	return s, tail, true
}
