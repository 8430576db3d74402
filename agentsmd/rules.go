package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"assent/markdown"
	"assent/store"
)

// Hosts that read AGENTS.md, or something like it.
const (
	HostCodex  = "codex"
	HostClaude = "claude"
)

// RulesDocument is what an agent reads in a directory.
type RulesDocument struct {
	SchemaVersion int           `json:"schema_version"`
	Dir           string        `json:"dir"`
	Host          string        `json:"host"`
	Chain         []ChainLink   `json:"chain"`
	Rules         []RuleInForce `json:"rules"`
	Warnings      []string      `json:"warnings"`
}

// RuleInForce is one of the rules.
type RuleInForce struct {
	ID         string   `json:"rule_id"`
	Text       string   `json:"text"`
	Path       string   `json:"path"`
	Line       int      `json:"line"`
	Provenance string   `json:"provenance"` // managed, hand, or unknown
	Plan       string   `json:"plan_id"`
	At         string   `json:"at"`
	Quotes     []string `json:"quotes"`

	last int // line that it ends on
}

// Rules lists the files that a host reads in a directory, in their order, and the rules in them
// with where each came from.
func (k *Keeper) Rules(ctx context.Context, dir, host string) (out RulesDocument, err error) {
	if dir, err = cleanPath(dir); err != nil {
		return out, err
	}
	out = RulesDocument{SchemaVersion: SchemaVersion, Dir: dir, Host: host, Chain: []ChainLink{}, Rules: []RuleInForce{}, Warnings: []string{}}
	err = k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		p, ok, err := k.project(ctx, dir, s)
		if err != nil {
			return err
		}
		if !ok {
			return fault("no-directory", "", "%s is no directory", dir)
		}
		rel, err := filepath.Rel(p.Root, dir)
		if err != nil || !filepath.IsLocal(rel) {
			rel = "."
		}
		out.Chain = out.Chain[:0]
		reads := func(string) bool { return true }
		if host == HostClaude {
			reads = k.claudeReads(p.Root, filepath.ToSlash(rel))
		}
		if info, err := os.Stat(k.GlobalPath()); err == nil && reads(k.GlobalPath()) {
			out.Chain = append(out.Chain, ChainLink{k.GlobalPath(), int(info.Size()), int(info.Size())})
		}
		links := spend(chain(p.Root, filepath.ToSlash(rel), host), chainBytes(p.Root))
		out.Chain = append(out.Chain, links...)
		for _, l := range links {
			if l.Used < l.Bytes {
				out.Warnings = append(out.Warnings, fmt.Sprintf("%s is cut at byte %d of %d", l.Path, l.Used, l.Bytes))
			}
		}
		for _, l := range links {
			if !reads(l.Path) {
				out.Warnings = append(out.Warnings, fmt.Sprintf("no CLAUDE.md on the way links to or imports %s: Claude Code does not read these rules", l.Path))
			}
		}
		return k.inForce(r, s, &out, p)
	})
	return out, err
}

// inForce reads the rules of the chain.
func (k *Keeper) inForce(r *store.Reader, s *State, out *RulesDocument, p Project) error {
	out.Rules = out.Rules[:0]
	seen := map[string]string{}
	for _, l := range out.Chain {
		src, err := readPlain(l.Path)
		if err != nil {
			out.Warnings = append(out.Warnings, l.Path+" cannot be read")
			continue
		}
		scope := ProjectScope(p.Key)
		if l.Path == k.GlobalPath() {
			scope = GlobalScope
		}
		rules, err := rulesIn(l.Path, src)
		if err != nil {
			out.Warnings = append(out.Warnings, err.Error())
		}
		for _, rule := range rules {
			rule.ID = RuleID(KindRule, scope, rule.Text)
			if rule.Provenance == "unknown" && (l.Path == targetPath(p.Root) || l.Path == k.GlobalPath()) { // in whichever worktree
				k.provenance(r, s, &rule)
			}
			key := Norm(rule.Text)
			if at := seen[key]; at != "" {
				out.Warnings = append(out.Warnings, fmt.Sprintf("%s:%d repeats %s: %s", rule.Path, rule.Line, at, rule.Text))
			} else {
				seen[key] = fmt.Sprintf("%s:%d", rule.Path, rule.Line)
			}
			out.Rules = append(out.Rules, rule)
		}
	}
	return nil
}

// rulesIn are the bullets of a file: those of the managed block, and those that stand elsewhere.
func rulesIn(path string, src []byte) (out []RuleInForce, err error) {
	b, err := ParseBlock(path, src)
	if err != nil {
		return nil, err
	}
	for _, i := range b.doc.Items(markdown.Span{Start: 0, End: len(src)}) {
		if i.Text == "" {
			continue
		}
		line, _ := b.Position(i.Lines.Start)
		last, _ := b.Position(i.Lines.End - 1)
		rule := RuleInForce{Text: i.Text, Path: path, Line: line, last: last, Provenance: "hand", Quotes: []string{}}
		if b.Present && i.Lines.Start >= b.Start.End && i.Lines.Start < b.End.Start {
			rule.Provenance = "unknown"
		}
		out = append(out, rule)
	}
	return out, nil
}

// provenance finds where a rule of a block came from.
func (k *Keeper) provenance(r *store.Reader, s *State, rule *RuleInForce) {
	e, ok := s.RuleEvidence[rule.ID]
	if !ok {
		return
	}
	rule.At = e.UpdatedAt
	if e.Hand {
		rule.Provenance = "hand"
		return
	}
	rule.Provenance, rule.Plan = "managed", e.Plan
	if _, p, err := readPlan(r, s, e.Plan); err == nil {
		if d := p.find(e.Decision); d != nil {
			for _, q := range d.Quotes {
				rule.Quotes = append(rule.Quotes, q.Quote)
			}
		}
	}
}

// WhyDocument is the history of one rule.
type WhyDocument struct {
	SchemaVersion int        `json:"schema_version"`
	Rule          string     `json:"rule"`
	ID            string     `json:"rule_id"`
	History       []WhyEvent `json:"history"`
}

// WhyEvent is what happened to it, oldest first.
type WhyEvent struct {
	At       string   `json:"at"`
	Event    string   `json:"event"`
	Action   Action   `json:"action"`
	Plan     string   `json:"plan_id"`
	Path     string   `json:"path"`
	Text     string   `json:"text"`
	Old      []string `json:"old"`
	Quotes   []string `json:"quotes"`
	Approval string   `json:"approval"` // method, and the words if it was a statement
	Commit   string   `json:"commit"`
	Reason   string   `json:"reason"`
}

// Why tells who said what when about a rule: a text, FILE:LINE, or an id C-….
func (k *Keeper) Why(ctx context.Context, rule, dir string) (out WhyDocument, err error) {
	out = WhyDocument{SchemaVersion: SchemaVersion, Rule: rule, History: []WhyEvent{}}
	text, wanted := rule, ""
	if strings.HasPrefix(rule, "C-") {
		text, wanted = "", rule
	} else if name, line, ok := cutLine(rule); ok {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if text, err = ruleAt(name, line); err != nil {
			return out, err
		}
	}
	key := Norm(text)
	err = k.Store.ReadLog(ctx, AuditLog, func(raw []byte) error {
		var e AuditEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		d := e.Decision
		if d == nil {
			for _, x := range e.Effects { // adopted by hand
				w := WhyEvent{At: e.At, Event: e.Event, Approval: e.Approval.describe(), Old: []string{}, Quotes: []string{}}
				switch {
				case x.Op == opRule && x.Rule != nil:
					w.Action, w.Path, w.Text = Add, x.Rule.Path, x.Rule.Text
				case x.Op == opTombstone && x.Entry != nil && e.Target != nil:
					w.Action, w.Path, w.Text, w.Reason = Remove, e.Target.Path, x.Entry.Text, x.Entry.Reason
				default:
					continue
				}
				if x.ID == wanted || wanted == "" && Norm(w.Text) == key {
					out.ID, out.Rule = x.ID, w.Text
					out.History = append(out.History, w)
				}
			}
			return nil
		}
		hit := false
		for _, t := range append([]string{d.Instruction}, d.Olds()...) {
			if t == "" {
				continue
			}
			c := RuleID(KindRule, d.ScopeKey, t)
			if c == wanted || wanted == "" && Norm(t) == key {
				hit, out.ID, out.Rule = true, c, t
			}
		}
		if !hit {
			return nil
		}
		w := WhyEvent{At: e.At, Event: e.Event, Action: d.Action, Plan: e.Plan, Path: d.TargetPath, Text: d.Instruction, Old: append([]string{}, d.Olds()...), Quotes: []string{}, Approval: e.Approval.describe(), Commit: e.Commit, Reason: firstOf(d.Note, d.Reason, d.Explanation)}
		for _, q := range d.Quotes {
			w.Quotes = append(w.Quotes, q.Quote)
		}
		out.History = append(out.History, w)
		return nil
	})
	if err == nil && len(out.History) == 0 {
		err = k.whyByState(ctx, &out, key, wanted)
	}
	if err == nil && len(out.History) == 0 {
		err = fault("rule-unknown", "", "nothing is known of %q", rule)
	}
	return out, err
}

// whyByState tells what is known of a rule from before the log that there is, which was set aside.
func (k *Keeper) whyByState(ctx context.Context, out *WhyDocument, key, wanted string) error {
	return k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(s.RuleEvidence)) {
			e := s.RuleEvidence[id]
			if id != wanted && (wanted != "" || Norm(e.Text) != key) {
				continue
			}
			rule := RuleInForce{ID: id, Text: e.Text, Path: e.Path, Quotes: []string{}}
			k.provenance(r, s, &rule)
			out.ID, out.Rule = id, e.Text
			out.History = append(out.History, WhyEvent{At: e.UpdatedAt, Event: "written", Action: Add, Plan: e.Plan, Path: e.Path, Text: e.Text, Old: []string{}, Quotes: rule.Quotes, Reason: "the log of then was set aside"})
		}
		return nil
	})
}

func (y *Yes) describe() string {
	switch {
	case y == nil:
		return ""
	case y.Words != "":
		return fmt.Sprintf("%s, as claimed from %s: %s", y.Method, y.From, y.Words)
	}
	return y.Method
}

// cutLine splits FILE:LINE.
func cutLine(s string) (name string, line int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil && n > 0
}

// ruleAt is the rule that stands on a line of a file.
func ruleAt(name string, line int) (string, error) {
	src, err := readPlain(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault("rule-unknown", "", "there is no file %s", name)
	}
	if err != nil {
		return "", err
	}
	rules, err := rulesIn(name, src)
	if err != nil {
		return "", err
	}
	for _, r := range rules {
		if r.Line <= line && line <= r.last {
			return r.Text, nil
		}
	}
	return "", fault("rule-unknown", "", "no rule stands on line %d of %s", line, name)
}
