package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"assent/boundary"
	"assent/config"
	"assent/finding"
	"assent/repo"
)

// configure takes the configuration from a tree that is also what is judged.
func (t *Target) configure(own finding.Tree) (err error) {
	t.Config, err = config.Load(own)
	return err
}

// configureFrom takes the configuration from a commit before the one that is judged. If that
// cannot be read the defaults stand in for it, or nothing could ever mend it; that what is
// judged has one that cannot be read is an error.
func (t *Target) configureFrom(trusted finding.Tree) error {
	var err error
	var missing *repo.ErrMissingObject
	if t.Config, err = config.Load(trusted); errors.As(err, &missing) {
		return err
	}
	if err != nil {
		t.Config = config.Default()
		t.say(finding.Finding{Code: "lint/config-unreadable", Severity: finding.Warning, Key: "base", Path: config.Name,
			Message: "the configuration before this change cannot be read, so the defaults were taken: " + err.Error()})
	}
	if _, err := config.Load(t.New); errors.As(err, &missing) {
		return err
	} else if err != nil {
		t.say(finding.Finding{Code: "lint/config-unreadable", Path: config.Name, Message: err.Error(), Fix: "mend the file"})
	}
	return nil
}

// compareConfig says when what is judged changes the configuration, or who may sign, and
// where it asks for less than the trusted configuration. That is an error, in the index a
// warning: what is staged is judged by its own configuration, CI by that of the base.
func (t *Target) compareConfig() {
	if t.before == nil {
		return
	}
	told := func(name, message string) {
		before, had := t.before.ObjectID(name)
		after, has := t.New.ObjectID(name)
		if before != after || had != has {
			t.say(finding.Finding{Code: "lint/config-changed", Path: name, Key: name, Message: message})
		}
	}
	if t.Mode != ModeStaged {
		told(config.Name, "the configuration changes; this was judged with the one before")
		for _, name := range []string{t.Config.Approval.AllowedSigners, RevokedKeys} {
			told(name, "who may sign changes; this was judged by who could sign before")
		}
	}
	if t.trusted == nil {
		return
	}
	old, err1 := config.Load(t.trusted)
	now, err2 := config.Load(t.New)
	if err1 != nil || err2 != nil {
		return // what cannot be read is told already
	}
	for _, what := range append(now.Loosens(old), t.softens(old, now)...) {
		f := finding.Finding{Code: "lint/config-loosened", Path: config.Name, Message: what}
		if t.Mode == ModeStaged {
			f.Severity = finding.Warning
		}
		t.say(f)
	}
}

// RevokedKeys is the file of the keys that no longer sign.
const RevokedKeys = ".assent/revoked_keys"

// softens says which findings are less severe by one configuration than by another. Where
// none names a code it has the severity of its check.
func (t *Target) softens(old, now config.Config) (out []string) {
	if t.Known == nil {
		return nil
	}
	for _, c := range t.Known() {
		level := func(conf config.Config) finding.Severity {
			if name, ok := conf.Severity[c.Code]; ok && !c.Fixed {
				s, _ := finding.ParseSeverity(string(name))
				return s
			}
			return c.Severity
		}
		switch before, after := level(old), level(now); {
		case after >= before:
		case after == finding.Off:
			out = append(out, fmt.Sprintf("severity makes %s no finding at all", c.Code))
		default:
			out = append(out, fmt.Sprintf("severity makes %s of severity %s", c.Code, after))
		}
	}
	return slices.Compact(out)
}

// knownCodes refuses a severity for a code that does not exist: it would silently do nothing.
// As with all of the configuration, that stops what brings it and not what mends it.
func (t *Target) knownCodes() error {
	if t.Known == nil {
		return nil
	}
	now, err := config.Load(t.New)
	if err != nil {
		now = config.Config{}
	}
	if len(t.Config.Severity)+len(now.Severity) == 0 {
		return nil
	}
	var codes []string
	for _, c := range t.Known() {
		codes = append(codes, c.Code)
	}
	unknown := func(c config.Config) error {
		for _, code := range slices.Sorted(maps.Keys(c.Severity)) {
			if !slices.Contains(codes, code) {
				return &UnknownCode{code, boundary.Nearest(code, codes)}
			}
		}
		return nil
	}
	if t.Mode == ModeStaged || t.Mode == ModeWorktree {
		return unknown(t.Config)
	}
	if err := unknown(now); err != nil {
		t.say(finding.Finding{Code: "lint/config-unreadable", Path: config.Name, Message: err.Error(), Fix: "mend the file"})
	}
	if err := unknown(t.Config); err != nil {
		t.say(finding.Finding{Code: "lint/config-unreadable", Severity: finding.Warning, Key: "base", Path: config.Name, Message: "before this change: " + err.Error()})
	}
	return nil
}

// UnknownCode is a finding code that does not exist; Near is what was probably meant.
type UnknownCode struct{ Name, Near string }

func (e *UnknownCode) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("severity in %s: there is no finding code %q; assent explain lists them", config.Name, e.Name)
	}
	return fmt.Sprintf("severity in %s: there is no finding code %q; did you mean %s?", config.Name, e.Name, e.Near)
}

// ExitCode is the house's code for invalid configuration.
func (e *UnknownCode) ExitCode() int { return finding.ExitInvalid }

// weigh gives findings the severity that the configuration wants, and then what the caller
// raises. What is fixed is not softened; what is off is left out.
func (t *Target) weigh(all []finding.Finding) []finding.Finding {
	if len(t.Config.Severity)+len(t.Raise) == 0 {
		return all
	}
	var out []finding.Finding
	for _, f := range all {
		if name, ok := t.Config.Severity[f.Code]; ok {
			if s, _ := finding.ParseSeverity(string(name)); !f.Fixed || s > f.Severity {
				f.Severity = s
			}
		}
		f.Severity = max(f.Severity, t.Raise[f.Code])
		if f.Advisory { // advice moves no exit code, whoever asks for it
			f.Severity = min(f.Severity, finding.Info)
		}
		if f.Severity != finding.Off {
			out = append(out, f)
		}
	}
	return out
}
