package boundary

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// judging is one run of the stages that look at more than the form.
type judging struct {
	root *Node
	vs   []Violation

	at    map[string]bool // pointers of violations
	above map[string]bool // and all pointers that lead to them
	types map[string]bool // whose value is of another type, so that nothing stands below
}

func newJudging(root *Node, form []Violation) *judging {
	j := &judging{root: root, at: map[string]bool{}, above: map[string]bool{}, types: map[string]bool{}}
	for _, v := range form {
		j.mark(v)
	}
	return j
}

func (j *judging) mark(v Violation) {
	if j.at[v.Pointer] {
		return
	}
	j.at[v.Pointer] = true
	j.types[v.Pointer] = v.Code == "boundary/type"
	for p := v.Pointer; p != "" && !j.above[p]; p = parent(p) {
		j.above[p] = true
	}
}

// wrong reports whether something is wrong with what a pointer names, in it, or with the type
// of what it stands in. What depends on it is not judged: one fault gives one violation.
func (j *judging) wrong(pointer string) bool {
	if j.above[pointer] || pointer == "" && j.types[""] {
		return true
	}
	for p := pointer; p != ""; {
		p = parent(p)
		if j.types[p] {
			return true
		}
	}
	return false
}

// parent is the pointer to what the value at a pointer stands in.
func parent(pointer string) string { return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] }

func (j *judging) violate(code, pointer string, at Pos, better, format string, args ...any) {
	v := NewViolation(code, pointer, at, format, args...)
	v.Hint = cmp.Or(better, ruleOf(code).fix)
	j.vs = append(j.vs, v)
	j.mark(v)
}

func (j *judging) ungrounded(g *GroundError, pointer string, at Pos) {
	lines := ""
	for i, l := range g.Lines {
		lines += fmt.Sprintf("%s %d", map[bool]string{true: ": lines", false: ","}[i == 0], l)
	}
	j.violate(g.Code, pointer, at, "", "%s%s", g.Message, lines)
}

// judge runs stages 5 to 9 over a payload in a world: everything that can be judged beside what
// is wrong already. It changes nothing but the items' quotes, and may run again in another
// world.
func (k *Kind[P, W]) judge(p *Payload[P], w W) ([]Violation, error) {
	if p.root == nil {
		return nil, nil
	}
	j := newJudging(p.root, p.form)
	sets := map[string]Set{}
	for name, build := range k.spec.Sets {
		sets[name] = build(w)
	}
	refs := map[string][]named{}
	beside := map[string][]string{} // the references in an object, by its pointer
	var quotes []func() error
	for _, i := range p.Items {
		i.j, i.Quotes = j, map[string]Grounded{}
		each(k.shapes().payload, i.node, "", func(pointer string, s *Shape, n *Node) {
			at := i.At + pointer
			for _, m := range k.Matrix {
				if s.kind == Object && matches(m.At, pointer) && !j.types[at] {
					m.judge(j, n, at)
				}
			}
			for _, field := range s.fields {
				echo, m := k.spec.Echo[PointerTo(pointer, field.name)], n.Member(field.name)
				if at := PointerTo(at, field.name); field.echo && m != nil && !j.wrong(at) && m.Text != echo(w) {
					j.violate("boundary/revision-stale", at, m.Pos, "", "it is for %q, which is not what is there now", sample(m.Text))
				}
			}
			switch {
			case s.ref != "":
				beside[parent(at)] = append(beside[parent(at)], at)
				refs[s.ref] = append(refs[s.ref], named{n.Text, at, n.Pos})
				if !j.wrong(at) {
					scope := ""
					if k.spec.Scope != nil {
						scope = k.spec.Scope(w, i.Value)
					}
					sets[s.ref].judge(j, s.ref, n.Text, scope, at, n.Pos)
				}
			case s.text == "quote":
				quotes = append(quotes, func() error {
					if j.wrong(at) || slices.ContainsFunc(beside[parent(at)], j.wrong) {
						return nil // it is not known what it is a quote of
					}
					source, err := k.spec.Source(w, i, pointer)
					var g *GroundError
					if errors.As(err, &g) {
						j.ungrounded(g, at, n.Pos)
						return nil
					}
					if err != nil {
						return err
					}
					if g, ok := source.ground(j, k.Form, n.Text, at, n.Pos); ok {
						i.Quotes[pointer] = g
					}
					return nil
				})
			}
		})
	}
	for _, c := range k.spec.Coverage {
		need := sets[c.Of].in("")
		if c.Need != nil {
			need = c.Need(w)
		}
		judgeCoverage(j, sets[c.Of], need, c.Once, c.At, refs[c.Of])
	}
	for _, q := range quotes { // after all references: a quote is not looked for in a source that is none
		if err := q(); err != nil {
			return nil, err
		}
	}
	for _, i := range p.Items {
		for _, r := range k.spec.Rules {
			if !slices.ContainsFunc(r.Reads, func(pointer string) bool { return j.wrong(i.At + pointer) }) && !j.wrongType(i.At) {
				r.Judge(i, w)
			}
		}
	}
	return j.vs, nil
}

func (j *judging) wrongType(pointer string) bool { return j.types[pointer] }

// each calls visit with every value of a node that has the shape that it should have, from the
// top.
func each(s *Shape, n *Node, pointer string, visit func(pointer string, s *Shape, n *Node)) {
	if n.Kind != s.kind {
		return
	}
	visit(pointer, s, n)
	for i, item := range n.Items {
		each(s.elem, item, fmt.Sprintf("%s/%d", pointer, i), visit)
	}
	for _, f := range s.fields {
		if m := n.Member(f.name); m != nil {
			each(f.shape, m, PointerTo(pointer, f.name), visit)
		}
	}
}

// matches reports whether a pointer is one of those that a pattern means, in which * stands for
// every index.
func matches(pattern, pointer string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(pointer, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && a[i] != "*" {
			return false
		}
	}
	return true
}
