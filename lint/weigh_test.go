package lint

import (
	"context"
	"testing"

	"assent/config"
	"assent/finding"
)

// Advice moves no exit code, whoever asks for it: neither the check itself, nor the
// configuration, nor the command line.
func TestAdvisory(t *testing.T) {
	say := func(f finding.Finding) func(*finding.Pass) error {
		return func(p *finding.Pass) error { p.Report(f); return nil }
	}
	checks := []finding.Check{
		{Code: "x/advice", Severity: finding.Error, Proves: "advisory", Run: say(finding.Finding{Message: "the style could be better"})},
		{Code: "x/loud-advice", Severity: finding.Warning, Fixed: true, Proves: "advisory", Run: say(finding.Finding{Message: "so could this", Severity: finding.Error})},
	}
	target := &Target{
		Config: config.Config{Severity: map[string]config.Severity{"x/advice": "error", "x/loud-advice": "error"}},
		Raise:  map[string]finding.Severity{"x/advice": finding.Error, "x/loud-advice": finding.Warning},
	}
	r := finding.Run(checks, finding.Pass{Ctx: context.Background()})
	r.Findings = target.weigh(r.Findings)
	if len(r.Findings) != 2 || r.Exit() != finding.ExitOK {
		t.Errorf("got %+v, exit %d", r.Findings, r.Exit())
	}
	report := finding.Report{Result: r, FailOn: finding.Warning}
	if report.Exit() != finding.ExitOK {
		t.Errorf("with --fail-on warning: exit %d", report.Exit())
	}
	// The same findings of checks that prove something do move it.
	for i := range checks {
		checks[i].Proves = "shape"
	}
	r = finding.Run(checks, finding.Pass{Ctx: context.Background()})
	if r.Findings = target.weigh(r.Findings); r.Exit() != finding.ExitFindings {
		t.Errorf("exit %d", r.Exit())
	}
}
