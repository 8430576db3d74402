package boundary

import (
	"slices"
	"strings"
)

// Set is what a reference may name. The domain builds it from its own world, never from the
// payload, a plan, a flag or the environment, and again when a plan is applied: a forged list
// changes nothing.
type Set struct {
	Members []Member
	Resolve func(text string) []string // ids of members that a text may mean; nil: the ids alone, byte for byte
	Hint    func(text string) string   // what a wrong reference is told; nil: the nearest members of its scope
	Private bool                       // no hint names a member
}

// Member is one thing that can be named. Scope is what it belongs to; "" goes with any.
type Member struct{ ID, Scope string }

// indexed is a set with its members found by id.
type indexed struct {
	Set
	scopes map[string][]string
}

func index(s Set) *indexed {
	x := &indexed{s, make(map[string][]string, len(s.Members))}
	for _, m := range s.Members {
		x.scopes[m.ID] = append(x.scopes[m.ID], m.Scope)
	}
	return x
}

func (s *indexed) resolve(text string) []string {
	if s.Resolve != nil {
		return s.Resolve(text)
	}
	if s.scopes[text] != nil {
		return []string{text}
	}
	return nil
}

// in returns the ids of the members that go with a scope.
func (s *indexed) in(scope string) (ids []string) {
	for _, m := range s.Members {
		if scope == "" || m.Scope == "" || m.Scope == scope {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// hint names what may have been meant. Where more is wrong than a refusal lists it is not asked.
func (s *indexed) hint(j *judging, text, scope string) string {
	switch {
	case s.Private || len(j.vs) >= maxViolations:
		return ""
	case s.Hint != nil:
		return s.Hint(text)
	}
	var near []string
	for known := s.in(scope); len(near) < 3; {
		n := Nearest(text, known)
		if n == "" {
			break
		}
		near = append(near, n)
		known = slices.DeleteFunc(known, func(k string) bool { return k == n })
	}
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// judge says what is wrong with a reference of an item that must be of a scope.
func (s *indexed) judge(j *judging, name, text, scope, pointer string, at Pos) {
	switch ids := s.resolve(text); {
	case len(s.Members) == 0:
		j.violate("boundary/ref-set-empty", pointer, at, "", "there are no %s that could be named", name)
	case len(ids) == 0:
		j.violate("boundary/ref-unknown", pointer, at, s.hint(j, text, scope), "%q is none of the %s", sample(text), name)
	case len(ids) > 1 && s.Private:
		j.violate("boundary/ref-ambiguous", pointer, at, "", "%q may mean %d of the %s", sample(text), len(ids), name)
	case len(ids) > 1:
		j.violate("boundary/ref-ambiguous", pointer, at, "", "%q may mean %s", sample(text), listed(ids, 3))
	case scope != "" && !slices.ContainsFunc(s.scopes[ids[0]], func(of string) bool { return of == "" || of == scope }):
		j.violate("boundary/ref-scope", pointer, at, s.hint(j, text, scope), "%q belongs to something else", sample(text))
	}
}

// Coverage is what the references of a payload must account for, over all its items.
type Coverage[W any] struct {
	Of   string           // the set whose references count
	At   string           // pointer to what is to blame, from the payload, or from the list of a batch
	Need func(W) []string // the ids that must be named; nil: every member of the set
	Once bool             // each exactly once; otherwise at least once
}

// judgeCoverage compares what was named with what must be.
func judgeCoverage(j *judging, set *indexed, need []string, once bool, at string, named []named) {
	count := map[string]int{}
	for _, n := range named {
		for _, id := range set.resolve(n.text) {
			if count[id]++; once && count[id] > 1 {
				j.violate("boundary/coverage-duplicate", n.pointer, n.at, "", "%s is accounted for twice", sample(id))
			}
		}
	}
	var missing []string
	for _, id := range need {
		if count[id] == 0 {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		pos := j.root.Pos
		if n := j.root.At(at); n != nil {
			pos = n.Pos
		}
		j.violate("boundary/coverage-missing", at, pos, "", "not accounted for: %s", listed(missing, 20))
	}
}

// named is a reference of a payload.
type named struct {
	text, pointer string
	at            Pos
}
