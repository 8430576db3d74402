package hooks

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assent/config"
	"assent/finding"
	"assent/hooks/shortcut"
	"assent/lint"
	"assent/repo"
)

// Codes are the findings about commits that came to be without a check.
var Codes = []finding.Check{
	{Code: "gate/bypassed", Severity: finding.Warning, Scope: finding.ScopeCommit, Proves: "policy", Title: "a commit was made past the guard",
		Doc: "The commit was made in this clone although no pre-commit check had let its content pass. What it carries was judged afterwards; a push and CI judge it again. It is known for commits of this clone only, and only where the guard hooks are in use."},
	{Code: "gate/changed-after-check", Severity: finding.Warning, Scope: finding.ScopeCommit, Proves: "policy", Title: "a commit is not what was checked",
		Doc: "The guard let one content pass, and another was committed: a later hook changed the index. It is said only if the commit has findings."},
	{Code: "gate/not-run", Severity: finding.Info, Scope: finding.ScopeCommit, Proves: "policy", Title: "Git ran no check for a commit",
		Doc: "Git runs no pre-commit for fast-forwards, rebase picks, cherry-picks, reverts and am. What HEAD then carries was judged afterwards."},
}

// IndexCodes are findings about the index as a whole.
var IndexCodes = []finding.Check{{Code: "boundary/index-moved", Severity: finding.Error, Fixed: true, Proves: "wiring", Title: "the index changed while it was judged",
	Doc: "Another process staged something while pre-commit looked at the index, so what was judged is not what would be committed. Commit again."}}

// GateFinding is the finding about a commit of which a receipt tells; ok is false if it tells
// nothing.
func GateFinding(v shortcut.Verdict, id string) (f finding.Finding, ok bool) {
	for _, c := range Codes {
		if c.Code == "gate/"+string(v) {
			f = finding.Finding{Code: c.Code, Title: c.Title, Severity: c.Severity, Key: id, Commit: id, Message: map[shortcut.Verdict]string{
				shortcut.Bypassed: "commit %.10s was made past the guard",
				shortcut.Changed:  "commit %.10s is not what the guard had let pass: a later hook changed the index",
				shortcut.NotRun:   "Git ran no check for %.10s",
			}[v]}
			f.Message = fmt.Sprintf(f.Message, id)
			return f, true
		}
	}
	return f, false
}

// gateChecks repeat what became known of commits of this clone when they were made, so that a
// push and a lint of the range say it again.
func gateChecks(r *repo.Repo) []finding.Check {
	receipts := sync.OnceValue(func() *shortcut.Receipts { return shortcut.Open(r, "", time.Time{}, "") })
	out := slices.Clone(Codes)
	for i, c := range out {
		out[i].Run = func(p *finding.Pass) error {
			parent := ""
			if len(p.Commit.Parents) > 0 {
				parent = p.Commit.Parents[0]
			}
			v := receipts().Outcome(p.Commit.Tree, parent)
			if f, ok := GateFinding(v, p.Commit.ID); ok && f.Code == c.Code {
				p.Report(f)
			}
			return nil
		}
	}
	return out
}

// judgeHead judges HEAD unless a receipt shows that a guard event let it pass, and says why
// none did. Nothing is stopped any more.
func judgeHead(r *run) error {
	if r.repo.Bare() || r.skipped() {
		return nil
	}
	look := r.look()
	head, err := look.Head()
	if err != nil || head.ID == "" {
		return err
	}
	c, parent := look.Receipts, shortcut.Parent(head)
	if c.Checked(head.Tree, parent) {
		return nil
	}
	log, err := r.repo.HeadLog(r.ctx, 20)
	if err != nil {
		return err
	}
	subject := ""
	if len(log) > 0 && log[0].ID == head.ID {
		subject = log[0].Subject
	}
	// An amended commit was checked on the commit that it replaces.
	amended := strings.HasPrefix(subject, "commit (amend)") && len(log) > 1 && c.Checked(head.Tree, log[1].ID)
	if amended {
		t, err := lint.OfCommit(r.repo, head)
		if err != nil {
			return err
		}
		if samePolicy(t) {
			c.Add(shortcut.Receipt{Head: parent, Tree: head.Tree, Verdict: shortcut.Passed})
			return nil
		}
	}
	cause := r.cause(c, parent, subject, log)
	if amended { // it brings the policy itself by which the guard judged it
		cause = ""
	}
	vouched, known := look.Known()
	var report finding.Report
	if !known {
		if report, vouched, known, err = r.judgeCommit(c, head); err != nil {
			return err
		}
	}
	if cause == shortcut.Changed && len(report.Findings) == 0 {
		cause = "" // a formatter that changed nothing of ours
	}
	if gate, ok := GateFinding(cause, head.ID); ok {
		report.Findings = append([]finding.Finding{gate}, report.Findings...)
	}
	outcome := shortcut.Receipt{Head: parent, Tree: head.Tree, Watched: vouched.Watched, Key: c.Key(), Verdict: cause}
	vouched.Head = parent
	switch {
	case cause != "" && known:
		c.Add(outcome, vouched)
	case cause != "":
		c.Add(outcome)
	case known:
		c.Add(vouched)
	}
	r.verdict = verdictText(report)
	if report.Exit() != finding.ExitOK {
		report.LastHint = "assent: the commit stands, but a push and CI will refuse it; " + strings.TrimPrefix(Action(report.Findings), "assent: ")
	}
	r.print(report)
	return nil
}

// cause says why no receipt vouches for HEAD. Where the guard is not in use it is nobody's
// fault, and none is named; a switch of branches makes no commit. A later hook changed the
// commit if the guard's last word let another tree pass on this parent, and that tree is in no
// commit yet.
func (r *run) cause(c *shortcut.Receipts, parent, subject string, log []repo.Reflog) shortcut.Verdict {
	switch {
	case r.Event == "post-checkout" || !c.Guarded():
		return ""
	case !strings.HasPrefix(subject, "commit"):
		return shortcut.NotRun
	}
	last, ok := c.Last()
	committed := slices.ContainsFunc(log, func(e repo.Reflog) bool { return e.Tree == last.Tree && e.Parent == last.Head })
	if ok && last.Verdict != shortcut.Blocked && last.Head == parent && !committed {
		return shortcut.Changed
	}
	return shortcut.Bypassed
}

// judgeCommit runs all checks on a commit. With nothing to object to it also gives the
// receipt by which the next commit takes the shortcut.
func (r *run) judgeCommit(c *shortcut.Receipts, head repo.CommitInfo) (report finding.Report, x shortcut.Receipt, ok bool, err error) {
	t, err := lint.OfCommit(r.repo, head)
	if err != nil {
		return report, x, false, err
	}
	var depends atomic.Bool
	report, err = t.Run(r.ctx, checks(t, r.repo, r.today(), false, func() { depends.Store(true) }))
	if err != nil {
		return report, x, false, err
	}
	c.LooksAt(lint.Watch(t.Config))
	if report.Exit() != finding.ExitOK || depends.Load() || !samePolicy(t) {
		return report, x, false, nil
	}
	entries, err := t.New.Below(c.Watch)
	if err != nil {
		return report, x, false, err
	}
	if len(c.OnlyOnDisk(shortcut.Has(entries))) > 0 {
		return report, x, false, nil
	}
	return report, shortcut.Receipt{Tree: head.Tree, Watched: c.Watched(entries), Key: c.Key(), Verdict: shortcut.Clean}, true, nil
}

// samePolicy reports whether a commit leaves configuration, signers and baseline as they
// were in the commit that they were taken from.
func samePolicy(t *lint.Target) bool {
	now, err := config.Load(t.New)
	if err != nil || t.Trusted() == nil {
		return err == nil && t.Trusted() == nil
	}
	for _, p := range append(policy(t.Config), policy(now)...) {
		a, _ := t.New.ObjectID(p)
		b, _ := t.Trusted().ObjectID(p)
		if a != b {
			return false
		}
	}
	return true
}

func verdictText(report finding.Report) string {
	n, unchecked := report.Count(finding.Error), len(report.Unchecked)
	switch {
	case report.Exit() == finding.ExitOK:
		return "passed"
	case unchecked > 0:
		return fmt.Sprintf("failed (%d errors, %d not checked)", n, unchecked)
	}
	return fmt.Sprintf("failed (%d errors)", n)
}
