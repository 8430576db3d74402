package agentsmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// paths are the files that something changes: projects in order of appearance, then the global
// one.
func (r *reconciling) paths() (out []string) {
	global := false
	for _, d := range r.all {
		switch {
		case !d.live():
		case d.ScopeKey == GlobalScope:
			global = true
		case !slices.Contains(out, d.TargetPath):
			out = append(out, d.TargetPath)
		}
	}
	if global {
		out = append(out, r.k.GlobalPath())
	}
	return out
}

func (r *reconciling) file(path string) (*file, error) {
	if f, ok := r.files[path]; ok {
		return f, nil
	}
	f, err := readTarget(path)
	if err == nil {
		r.files[path] = f
	}
	return f, err
}

func (r *reconciling) warn(d *Decision, code, format string, args ...any) {
	id := ""
	if d != nil {
		id = d.ID
	}
	r.warnings = append(r.warnings, PlanIssue{Code: "agentsmd/" + code, Decision: id, Message: fmt.Sprintf(format, args...)})
}

// target plays the decisions on one file.
func (r *reconciling) target(path string) {
	var mine []*Decision
	for _, d := range r.all {
		if d.live() && d.TargetPath == path {
			mine = append(mine, d)
		}
	}
	f, err := r.file(path)
	if r.add(mine[0], err) {
		return
	}
	state, _ := r.k.standing(r.ctx, r.state, f, mine[0].ScopeKey)
	if r.o.Mode == Auto && state == Drifted {
		r.add(mine[0], fault("block-drifted", "agentsmd adopt "+path, "somebody edited the block of %s", path))
		return
	}
	if r.o.Mode == Auto && f.block.Legacy != "" {
		r.add(mine[0], fault("block-legacy", "agentsmd adopt "+path, "the block of %s is that of %s", path, f.block.Legacy))
		return
	}
	effective := f.block.Effective()
	elsewhere := r.k.effectiveFor(r.ctx, mine[0].ScopeKey)
	var edits []Edit
	var kept []*Decision
	for _, d := range mine {
		if d.Action == Add && !d.Restore && !d.Override {
			if key := Norm(d.Instruction); effective[key] || elsewhere[key] {
				d.settle("it is effective already")
				continue
			}
		}
		if d.Action == Add && (d.Restore || d.Override) && effective[Norm(d.Instruction)] {
			d.settle("it stands there already")
			d.stands = f.block.Has(Norm(d.Instruction))
			continue
		}
		if d.Action == Remove && r.yes != nil && r.k.tookOut(r.ctx, r.state, f, d.ScopeKey, d.Old) {
			d.settle("it does not stand there any more, and stays out")
			continue
		}
		alone, err := compose(f.block, path, f.src, []Edit{d.edit()}, false, false)
		var missing *Fault
		if errors.As(err, &missing) && missing.Code == "agentsmd/rule-not-found" { // another decision may have made it
			alone, err = Composed{}, nil
		}
		if r.add(d, err) {
			continue
		}
		d.Diff = unified(label(path), f.src, alone.Bytes)
		if alone.Bytes == nil {
			d.Diff = ""
		}
		edits = append(edits, d.edit())
		kept = append(kept, d)
		for _, old := range d.Olds() {
			delete(effective, Norm(old))
		}
		if d.Instruction != "" {
			effective[Norm(d.Instruction)] = true
		}
		r.near(d, f.block)
	}
	if len(kept) == 0 {
		return
	}
	out, err := Compose(path, f.src, edits, false)
	if err != nil {
		r.oneByOne(path, f.src, kept, err)
		return
	}
	if r.add(kept[0], grows(path, len(f.src), len(out.Bytes))) {
		return
	}
	t := PlanTarget{
		Path: path, Scope: kept[0].ScopeKey, Root: null(kept[0].Root), Existed: f.exists, State: state, Base: string(f.digest()), New: digest(out.Bytes),
		OldBytes: len(f.src), NewBytes: len(out.Bytes), Diff: unified(label(path), f.src, out.Bytes), Notes: []string{},
	}
	for _, d := range kept {
		t.Decisions = append(t.Decisions, d.ID)
	}
	if out.Adopts != "" {
		t.Notes = append(t.Notes, "adopts the block of "+out.Adopts)
	}
	if state == Drifted {
		t.Notes = append(t.Notes, "somebody edited the block; that stays as it is")
	}
	r.about(path, f, out.Bytes)
	r.plan.targets(t)
}

// oneByOne plays decisions on a file each by itself, so that every one that cannot be played is named.
func (r *reconciling) oneByOne(path string, src []byte, decisions []*Decision, all error) {
	named := false
	for _, d := range decisions {
		out, err := Compose(path, src, []Edit{d.edit()}, false)
		if err == nil {
			src = out.Bytes
		}
		named = r.add(d, err) || named
	}
	if !named {
		r.add(decisions[0], all)
	}
}

func (p *Plan) targets(t PlanTarget) { p.Targets = append(p.Targets, t) }

// published is what is known of a file's block; nothing, if another project stood there then.
func published(s *State, path, scope string) *Published {
	if b, ok := s.Blocks[path]; ok && b.Scope == scope {
		return &b
	}
	return nil
}

// about warns of what is no error in a file.
func (r *reconciling) about(path string, f *file, after []byte) {
	now, err := ParseBlock(path, after)
	if err != nil {
		return
	}
	if n := len(now.Rules); n > manyRules {
		r.warn(nil, "many-rules", "%s has %d rules; an agent heeds fewer better", path, n)
	}
	if f.block.Outside {
		r.warn(nil, "heading-outside", "%s has our heading outside of the block too", path)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), OverrideName)); err == nil {
		r.warn(nil, "inactive-override", "%s stands beside %s, and Codex reads it instead", OverrideName, path)
	}
	for _, c := range r.k.chainWarnings(r.ctx, path, len(after)) {
		r.warn(nil, "chain-budget", "%s", c)
	}
}

// OverrideName is the file that Codex reads in place of the one beside it.
const OverrideName = "AGENTS.override.md"

const (
	manyRules = 40
	nearness  = 0.8
)

// near notes a rule of the file that has nearly the same words.
func (r *reconciling) near(d *Decision, b *Block) {
	if d.Instruction == "" {
		return
	}
	olds := map[string]bool{}
	for _, old := range d.Olds() {
		olds[Norm(old)] = true
	}
	for _, rule := range b.Rules {
		if !olds[rule.Key()] && rule.Key() != Norm(d.Instruction) && similarity(rule.Text, d.Instruction) >= nearness {
			d.Near = rule.Text
			r.warn(d, "near-duplicate", "%q is nearly the rule %q", d.Instruction, rule.Text)
			return
		}
	}
}

// similarity is the share of words that two texts have in common.
func similarity(a, b string) float64 {
	words := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.FieldsFunc(Norm(s), func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7f || r == '_')
		}) {
			out[w] = true
		}
		return out
	}
	x, y := words(a), words(b)
	both := 0
	for w := range x {
		if y[w] {
			both++
		}
	}
	if all := len(x) + len(y) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 0
}
