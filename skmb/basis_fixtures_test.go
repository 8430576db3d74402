package skmb

import (
	"strings"
	"testing"
)

// block is a decision basis that passes, with lines replaced.
func block(replace ...string) string {
	return strings.NewReplacer(replace...).Replace("<decision_basis>\npatterns: F\ncontext: c\ndecision: d\nresolved_by: designer\nskmb_ref: SKMB-2026-06-11-001\nconfidence: high\napplies_to: x\n</decision_basis>\n")
}

const (
	byDefault = "resolved_by: statistical_default"
	byPending = "resolved_by: pending"
	designer  = "resolved_by: designer"
)

// basisFixtures has for every code a text that gives exactly that code, and one that gives
// nothing, each with what it claims.
var basisFixtures = map[string]struct{ failing, fails, passing, passes string }{
	"skmb/basis-unreadable":          {"the block is not closed", "<decision_basis>\npatterns: F\n", "a value goes on over an indented line", block("context: c", "context: c\n  goes on")},
	"skmb/basis-unknown-key":         {"a key of one's own", block("context: c", "context: c\nmood: fine"), "keys in another spelling", block("skmb_ref:", "SKMB-Ref:")},
	"skmb/basis-missing-key":         {"no confidence", block("confidence: high\n", ""), "no permission, where none is needed", block()},
	"skmb/basis-value":               {"decided by somebody else", block(designer, "resolved_by: the team"), "in capitals", block(designer, "resolved_by: Designer")},
	"skmb/basis-ref-missing":         {"no such record", block("-06-11-001", "-06-11-099"), "a short reference to one record", block("SKMB-2026-06-11-001", "SKMB-001")},
	"skmb/basis-ref-not-accepted":    {"a record that is only proposed", block("-06-11-001", "-06-11-004"), "one that is accepted", block()},
	"skmb/basis-pattern-mismatch":    {"a pattern that the record does not have", block("patterns: F", "patterns: F, G"), "the patterns of two records", block("patterns: F", "patterns: F, G", "SKMB-2026-06-11-001", "SKMB-2026-06-11-001/002")},
	"skmb/basis-pending":             {"another block follows", block(designer, byPending) + block(), "it is where work stopped", block() + block(designer, byPending)},
	"skmb/basis-default-high-impact": {"on a pattern of concurrency", block(designer, byDefault, "patterns: F", "patterns: C"), "on a harmless one, with confidence", block(designer, byDefault)},
}

func TestEveryBasisCodeHasTeeth(t *testing.T) {
	s := setting(put(other, strings.Replace(record("SKMB-2026-06-11-004"), "status: accepted", "status: proposed", 1)), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004")))
	b := load(t, s.tree)
	for _, c := range BasisCodes {
		f, ok := basisFixtures[c.Code]
		if !ok {
			t.Errorf("%s has no fixture", c.Code)
			continue
		}
		found, _ := b.CheckBasis(BasisSource{Name: "x", Text: f.fails})
		if len(found) != 1 || found[0].Code != c.Code {
			t.Errorf("%s: %s: got %+v", c.Code, f.failing, found)
		}
		if found, seen := b.CheckBasis(BasisSource{Name: "x", Text: f.passes}); len(found) != 0 || seen == 0 {
			t.Errorf("%s: %s: got %+v of %d", c.Code, f.passing, found, seen)
		}
	}
}
