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

func (s Set) resolve(text string) []string {
	if s.Resolve != nil {
		return s.Resolve(text)
	}
	if s.has(text) {
		return []string{text}
	}
	return nil
}

func (s Set) has(id string) bool { return s.scope(id) != nil }

// scope returns the scopes of an id; nil if it is no member.
func (s Set) scope(id string) (scopes []string) {
	for _, m := range s.Members {
		if m.ID == id {
			scopes = append(scopes, m.Scope)
		}
	}
	return scopes
}

// in returns the ids of the members that go with a scope.
func (s Set) in(scope string) (ids []string) {
	for _, m := range s.Members {
		if scope == "" || m.Scope == "" || m.Scope == scope {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// hint names what may have been meant.
func (s Set) hint(text, scope string) string {
	switch {
	case s.Private:
		return ""
	case s.Hint != nil:
		return s.Hint(text)
	}
	near := s.nearest(text, scope)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// nearest are at most three members of a scope that a text may have been meant to be.
func (s Set) nearest(text, scope string) (near []string) {
	known := s.in(scope)
	for len(near) < 3 {
		n := Nearest(text, known)
		if n == "" {
			break
		}
		near = append(near, n)
		known = slices.DeleteFunc(known, func(k string) bool { return k == n })
	}
	return near
}

// judge says what is wrong with a reference of an item that must be of a scope.
func (s Set) judge(j *judging, name, text, scope, pointer string, at Pos) {
	switch ids := s.resolve(text); {
	case len(s.Members) == 0:
		j.violate("boundary/ref-set-empty", pointer, at, "", "there are no %s that could be named", name)
	case len(ids) == 0:
		j.violate("boundary/ref-unknown", pointer, at, s.hint(text, scope), "%q is none of the %s", sample(text), name)
	case len(ids) > 1:
		j.violate("boundary/ref-ambiguous", pointer, at, "", "%q may mean %s", sample(text), listed(ids, 3))
	case scope != "" && !slices.ContainsFunc(s.scope(ids[0]), func(of string) bool { return of == "" || of == scope }):
		j.violate("boundary/ref-scope", pointer, at, s.hint(text, scope), "%q belongs to something else", sample(text))
	}
}

// Coverage is what the references of a payload must account for, over all its items.
type Coverage[W any] struct {
	Of   string           // the set whose references count
	At   string           // pointer of the list that is to blame, from the top
	Need func(W) []string // the ids that must be named; nil: every member of the set
	Once bool             // each exactly once; otherwise at least once
}

// judgeCoverage compares what was named with what must be.
func judgeCoverage(j *judging, set Set, need []string, once bool, at string, named []named) {
	count := map[string]int{}
	for _, n := range named {
		if j.wrong(n.pointer) {
			return // what it was meant to name is not known
		}
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
	if len(missing) > 0 && !j.wrong(at) {
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
