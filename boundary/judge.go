package boundary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// judging is one run of the stages that look at more than the form.
type judging struct {
	root *Node
	vs   []Violation

	any    bool              // something is wrong
	above  map[string]bool   // pointers of violations, and all pointers that lead to them
	broken map[string]bool   // what is missing, twice there, or of another type: nothing in it can be judged
	long   map[string]bool   // lists and texts whose length was refused
	normal map[string]normal // texts that were quoted from, in the form for comparing
}

func newJudging(root *Node, form []Violation) *judging {
	j := &judging{root: root, above: map[string]bool{}, broken: map[string]bool{}, long: map[string]bool{}, normal: map[string]normal{}}
	for _, v := range form {
		j.mark(v)
	}
	return j
}

func (j *judging) mark(v Violation) {
	j.any = true
	switch v.Code {
	case "boundary/type", "boundary/missing-field", "boundary/field-required-here", "boundary/json-duplicate-name":
		j.broken[v.Pointer] = true
	case "boundary/length":
		j.long[v.Pointer] = true
	}
	for p := v.Pointer; p != "" && !j.above[p]; p = parent(p) {
		j.above[p] = true
	}
}

// wrong reports whether something is wrong with what a pointer names, in it, or with something
// that it stands in so that nothing can be said of it. What depends on it is not judged: one
// fault gives one violation.
func (j *judging) wrong(pointer string) bool {
	if j.above[pointer] || pointer == "" && j.any {
		return true
	}
	for p := pointer; p != ""; {
		if p = parent(p); j.broken[p] {
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

// judge runs stages 5 to 9 over a payload in a world, and compares what it repeats of the basis:
// everything that can be judged beside what is wrong already. It changes nothing but the items'
// quotes, and may run again in another world.
func (k *Kind[P, W]) judge(ctx context.Context, p *Payload[P], w W) ([]Violation, error) {
	if p.root == nil {
		return nil, nil
	}
	j := newJudging(p.root, p.form)
	sets := map[string]*indexed{}
	for name, build := range k.spec.Sets {
		sets[name] = index(build(w))
	}
	refs := map[string][]named{}
	beside := map[string][]string{} // the references in an object, by its pointer
	var quotes []func() error
	for _, i := range p.Items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i.j, i.Quotes = j, map[string]Grounded{}
		scope := ""
		if k.spec.Scope != nil && !slices.ContainsFunc(k.spec.ScopeReads, func(pointer string) bool { return j.wrong(i.At + pointer) }) {
			scope = k.spec.Scope(w, i.Value)
		}
		j.each(k.shapes().payload, i.node, i.At, "", func(pointer string, s *Shape, n *Node) {
			at := i.At + pointer
			for _, m := range k.Matrix {
				if s.kind == Object && matches(m.At, pointer) {
					m.judge(j, n, at)
				}
			}
			for _, field := range s.fields {
				if m, at := n.Member(field.name), PointerTo(at, field.name); field.echo && m != nil && !j.wrong(at) {
					if now := k.echo(PointerTo(pointer, field.name))(w); m.Text != now {
						j.violate("boundary/revision-stale", at, m.Pos, "", "it is for %q, which is not what is there now", sample(m.Text))
					}
				}
			}
			switch {
			case s.ref != "":
				beside[parent(at)] = append(beside[parent(at)], at)
				refs[s.ref] = append(refs[s.ref], named{n.Text, at, n.Pos})
				if !j.wrong(at) {
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
	_, list, _, _ := k.items(p.root)
	for _, c := range k.spec.Coverage {
		need := sets[c.Of].in("")
		if c.Need != nil {
			need = c.Need(w)
		}
		if at := list + c.At; !j.wrong(at) {
			judgeCoverage(j, sets[c.Of], need, c.Once, at, refs[c.Of])
		}
	}
	for _, q := range quotes { // after all references: a quote is not looked for in a source that is none
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := q(); err != nil {
			return nil, err
		}
	}
	for _, i := range p.Items {
		for _, r := range k.spec.Rules {
			if !j.broken[i.At] && !slices.ContainsFunc(r.Reads, func(pointer string) bool { return j.wrong(i.At + pointer) }) {
				r.Judge(i, w)
			}
		}
	}
	return j.vs, nil
}

// echo is what says what the field at a pointer must repeat.
func (k *Kind[P, W]) echo(pointer string) func(W) string {
	for pattern, now := range k.spec.Echo {
		if matches(pattern, pointer) {
			return now
		}
	}
	panic("boundary: " + k.Name + ": nothing says what " + pointer + " must repeat") // Ready found one
}

// each calls visit with every value of a node that has the shape that it should have, from the
// top. What is longer than it may be is not gone through: that it is too long was said.
func (j *judging) each(s *Shape, n *Node, at, pointer string, visit func(pointer string, s *Shape, n *Node)) {
	if n.Kind != s.kind || j.long[at+pointer] {
		return
	}
	visit(pointer, s, n)
	for i, item := range n.Items {
		j.each(s.elem, item, at, fmt.Sprintf("%s/%d", pointer, i), visit)
	}
	for _, f := range s.fields {
		if m := n.Member(f.name); m != nil {
			j.each(f.shape, m, at, PointerTo(pointer, f.name), visit)
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

// Judge runs all stages up to policy over a payload in a world, and writes nothing: for what was
// taken once and must still hold. The error is a *Refusal, or one of the room's own.
func (k *Kind[P, W]) Judge(ctx context.Context, p *Payload[P], w W) error {
	vs, err := k.judge(ctx, p, w)
	if err != nil {
		return err
	}
	if vs = append(slices.Clone(p.form), vs...); len(vs) > 0 {
		return k.refuse(p.source, vs)
	}
	return nil
}
