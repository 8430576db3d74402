package skmb

import (
	"fmt"
	"slices"
	"testing"
)

// The lifecycle as the specification has it. What is not a row here is refused.
var allowed = map[string]Status{
	" submit":                            Proposed,
	" open":                              Open,
	"open submit":                        Proposed,
	"proposed open":                      Withdrawn, // the question goes on as a row of its own
	"proposed approve":                   Accepted,
	"proposed permit-default":            StatisticalDefault,
	"proposed reject":                    Rejected,
	"proposed withdraw":                  Withdrawn,
	"accepted approve":                   Accepted,
	"accepted supersede":                 Superseded,
	"statistical_default approve":        Accepted,
	"statistical_default permit-default": StatisticalDefault,
	"statistical_default supersede":      Superseded,
}

func TestTheLifecycleIsTotal(t *testing.T) {
	statuses := []Status{"", Open, Proposed, Accepted, StatisticalDefault, Rejected, Withdrawn, Superseded}
	events := []Event{EventSubmit, EventOpen, EventApprove, EventPermitDefault, EventReject, EventWithdraw, EventSupersede}
	for _, from := range append(statuses, "done", "reviewable_default") {
		for _, e := range append(events, "", "delete") {
			got, ok := Next(from, e)
			want, may := allowed[fmt.Sprintf("%s %s", from, e)]
			if ok != may || got != want {
				t.Errorf("%q, %s: got %q, %v, want %q, %v", from, e, got, ok, want, may)
			}
		}
	}
	if len(Lifecycle) != len(allowed) {
		t.Errorf("the lifecycle has %d rows, want %d: a row stands twice, or for what nobody asks", len(Lifecycle), len(allowed))
	}
	for _, row := range Lifecycle {
		if !slices.Contains(statuses, row.From) || !slices.Contains(statuses[1:], row.To) || !slices.Contains(events, row.Event) || row.Who == "" {
			t.Errorf("%+v is no whole row", row)
		}
	}
	for _, s := range statuses[1:] {
		if !slices.ContainsFunc(Lifecycle, func(row Transition) bool { return row.To == s }) {
			t.Errorf("nothing leads to %s", s)
		}
		if got, _, known := parseStatus("OPEN-001", string(s)); got != s || !known {
			t.Errorf("%s is written, but reads as %s", s, got)
		}
	}
}
