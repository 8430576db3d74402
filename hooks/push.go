package hooks

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"assent/finding"
	"assent/lint"
	"assent/repo"
)

// maxRefs bounds the refs of one push.
const maxRefs = 10_000

// update is one ref that a push changes, in the words of the sender: an id of zeros says
// that the ref is deleted (local) or new (remote).
type update struct{ local, localID, remote, remoteID string }

func isZero(id string) bool { return strings.Trim(id, "0") == "" }

// judgePush judges the commits that the other side does not have, for every ref of a push.
// All refs are judged and told of; one that is refused refuses the push.
func judgePush(r *run) error {
	updates, err := r.updates()
	if err != nil {
		return err
	}
	judged := map[span]finding.Report{}
	var refused []string
	for _, u := range updates {
		s, err := r.brings(u)
		report, told := judged[s]
		if err == nil && len(s.tip) > 0 && !told {
			report, err = r.judgeSpan(s)
		}
		if report, err = unchecked(report, err); err != nil {
			return fmt.Errorf("%s: %w", u.remote, err)
		}
		judged[s] = report
		r.code = worse(r.code, report.Exit())
		switch n := report.Count(finding.Error); {
		case report.Exit() == finding.ExitOK:
		case n > 0:
			refused = append(refused, fmt.Sprintf("%s: refused: %s", u.remote, finding.Count(n, "error")))
		default:
			refused = append(refused, u.remote+": refused: it could not be judged")
		}
		if !told && len(report.Findings)+len(report.Unchecked) > 0 {
			report.Summary = true
			r.print(report)
		}
	}
	for _, line := range refused {
		fmt.Fprintf(r.Stderr, "assent: %s\n", finding.Clean(line))
	}
	return nil
}

// worse is the exit code of two parts of one run: findings before what was not checked.
func worse(a, b int) int {
	switch {
	case a == finding.ExitFindings || b == finding.ExitFindings:
		return finding.ExitFindings
	case a != finding.ExitOK:
		return a
	}
	return b
}

// updates reads what Git writes to the hook. Under the pre-commit framework, which reads it
// itself, two variables stand in for one ref.
func (r *run) updates() ([]update, error) {
	var out []update
	lines := bufio.NewScanner(io.LimitReader(r.Stdin, 8<<20))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 0:
			continue
		case r.Event == "pre-receive" && len(f) == 3: // old, new, ref
			out = append(out, update{local: f[2], localID: f[1], remote: f[2], remoteID: f[0]})
		case r.Event == "pre-push" && len(f) == 4:
			out = append(out, update{f[0], f[1], f[2], f[3]})
		default:
			return nil, fmt.Errorf("the line %q is none that Git writes to %s", lines.Text(), r.Event)
		}
		if len(out) > maxRefs {
			return nil, fmt.Errorf("more than %d refs", maxRefs)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if from, to := r.variable("PRE_COMMIT_FROM_REF"), r.variable("PRE_COMMIT_TO_REF"); len(out) == 0 && r.Event == "pre-push" && to != "" {
		out = append(out, update{"", to, r.variable("PRE_COMMIT_REMOTE_BRANCH"), from})
	}
	return out, nil
}

func (r *run) variable(name string) string {
	for _, kv := range slices.Backward(r.Env) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// span is what one ref brings: the commits that the other side does not have.
type span struct {
	tip     string // "" for nothing
	on      string // newest commit of the other side that they stand on, "" for none
	trusted string // commit whose configuration and signers count
	ids     string // of the commits, oldest first, joined by blanks
}

// brings finds out what a ref brings. Nothing is brought by a deletion, by something that is
// no commit, and by commits that the other side has already.
func (r *run) brings(u update) (span, error) {
	if isZero(u.localID) {
		return span{}, nil
	}
	tip, err := r.repo.Peel(u.localID)
	if err != nil || tip == "" {
		return span{}, err
	}
	not, old, trusted, err := r.known(u, tip)
	if err != nil {
		return span{}, err
	}
	ids, on, err := r.repo.NewCommits(r.ctx, tip, not...)
	if err != nil || len(ids) == 0 {
		return span{}, err
	}
	on = cmp.Or(old, on)
	return span{tip, on, cmp.Or(trusted, on, ids[0]), strings.Join(ids, " ")}, nil
}

func (r *run) judgeSpan(s span) (finding.Report, error) {
	t, err := lint.New(r.repo, strings.Fields(s.ids), s.on, s.trusted)
	if err != nil {
		return finding.Report{}, err
	}
	return t.Run(r.ctx, slices.Concat(checks(t, r.repo, r.today(), false, nil), gateChecks(r.repo)))
}

// unchecked makes an error that says what is missing a part of the report, so that the other
// refs are judged too.
func unchecked(report finding.Report, err error) (finding.Report, error) {
	var coder finding.Coder
	if !errors.As(err, &coder) {
		return report, err
	}
	return finding.Report{Result: finding.Result{Unchecked: []finding.Unchecked{finding.UncheckedBy(err)}}}, nil
}

// known says what the other side has, in rev-list's words. old is the tip of a ref that
// moves forward: the range from there is judged. trusted is the commit whose configuration
// counts, where it is not the one that the new commits stand on.
func (r *run) known(u update, tip string) (not []string, old, trusted string, err error) {
	before := ""
	if !isZero(u.remoteID) {
		var missing *repo.ErrMissingObject
		if before, err = r.repo.Peel(u.remoteID); err != nil && !errors.As(err, &missing) {
			return nil, "", "", err // a missing one: the other side has more than this clone
		}
	}
	if before != "" {
		not = append(not, before)
		forward, err := r.repo.IsAncestor(r.ctx, before, tip)
		if err != nil {
			return nil, "", "", err
		}
		if forward {
			old = before
		}
	}
	if r.Event != "pre-receive" {
		if len(r.Args) > 0 && r.Args[0] != "" {
			not = append(not, "--remotes="+r.Args[0])
		}
		return not, old, "", nil
	}
	if before == "" {
		head, err := r.repo.HeadCommit() // of the server; a new ref is measured by it
		if err != nil && !errors.Is(err, repo.ErrNoBranch) {
			return nil, "", "", err
		}
		trusted = head.ID
	}
	return append(not, "--all"), old, trusted, nil
}
