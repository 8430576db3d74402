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
	other, err := r.other(updates)
	if err != nil {
		return err
	}
	judged := map[span]finding.Report{}
	var refused []string
	for _, u := range updates {
		s, err := r.brings(u, other)
		if err == nil && s.tip == "" {
			continue
		}
		report, told := judged[s]
		if err == nil && !told {
			report, err = r.judgeSpan(s)
		}
		if report, err = unchecked(report, err); err != nil {
			return fmt.Errorf("%s: %w", u.remote, err)
		}
		if s.tip != "" {
			judged[s] = report
		}
		r.code = worse(r.code, report.Exit())
		switch n := report.Count(finding.Error); {
		case report.Exit() == finding.ExitOK:
		case n > 0:
			refused = append(refused, fmt.Sprintf("%s: refused: %s", u.remote, finding.Count(n, "error")))
		default:
			refused = append(refused, u.remote+": refused: it could not be judged")
		}
		if !told && report.Count(finding.Error)+report.Count(finding.Warning)+len(report.Unchecked) > 0 {
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
// itself, variables stand in for one ref.
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
		case r.Event == "pre-push" && len(f) >= 4: // the source is as it was typed, perhaps with blanks
			n := len(f)
			out = append(out, update{strings.Join(f[:n-3], " "), f[n-3], f[n-2], f[n-1]})
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
	if len(out) == 0 && r.Event == "pre-push" && (r.variable("PRE_COMMIT") != "" || r.variable("PRE_COMMIT_TO_REF") != "") {
		// Of a new branch the framework names the branch alone, if that.
		out = append(out, update{"", cmp.Or(r.variable("PRE_COMMIT_TO_REF"), r.variable("PRE_COMMIT_LOCAL_BRANCH"), "HEAD"),
			cmp.Or(r.variable("PRE_COMMIT_REMOTE_BRANCH"), "the branch that is pushed"), r.variable("PRE_COMMIT_FROM_REF")})
	}
	return out, nil
}

func (r *run) variable(name string) string { return repo.Variable(r.Env, name) }

// span is what one ref brings: the commits that the other side does not have.
type span struct {
	tip     string // "" for nothing
	on      string // newest commit of the other side that they stand on, "" for none
	trusted string // commit whose configuration and signers count
	ids     string // of the commits, oldest first, joined by blanks
}

// brings finds out what a ref brings. Nothing is brought by a deletion, by something that is
// no commit, and by commits that the other side has already.
func (r *run) brings(u update, o otherSide) (span, error) {
	if isZero(u.localID) {
		return span{}, nil
	}
	tip, err := r.repo.Peel(u.localID)
	if err != nil || tip == "" || !o.lacks[tip] {
		return span{}, err
	}
	if s, ok := o.fresh[tip]; ok && o.old[u.remoteID] == "" {
		return s, nil // another new ref brings the same
	}
	ids, on, err := r.repo.NewCommits(r.ctx, tip, o.has...)
	if err != nil || len(ids) == 0 {
		return span{}, err
	}
	trusted := ""
	switch old := o.old[u.remoteID]; {
	case old != "":
		forward, err := r.repo.IsAncestor(r.ctx, old, tip)
		if err != nil {
			return span{}, err
		}
		if trusted = old; forward { // the range from there is judged
			on = old
		}
	case r.Event == "pre-receive": // a new ref is measured by the server's HEAD
		head, err := r.repo.HeadCommit()
		if err != nil && !errors.Is(err, repo.ErrNoBranch) {
			return span{}, err
		}
		trusted = head.ID
	}
	s := span{tip, on, cmp.Or(trusted, on, ids[0]), strings.Join(ids, " ")}
	if o.old[u.remoteID] == "" {
		o.fresh[tip] = s
	}
	return s, nil
}

// otherSide is what is known of the repository at the other end: what it has, in rev-list's
// words, the commits at the tips of its refs, and which pushed commits it lacks.
type otherSide struct {
	has   []string
	old   map[string]string // by the id that the push names
	lacks map[string]bool
	fresh map[string]span // what a new ref with this tip brings
}

func (r *run) other(updates []update) (o otherSide, err error) {
	o.old, o.fresh = map[string]string{}, map[string]span{}
	var tips []string
	for _, u := range updates {
		if !isZero(u.remoteID) {
			var missing *repo.ErrMissingObject
			old, err := r.repo.Peel(u.remoteID)
			if err != nil && !errors.As(err, &missing) { // a missing one: the other side has more than this clone
				return o, err
			}
			if old != "" {
				o.old[u.remoteID] = old
				o.has = append(o.has, old)
			}
		}
		if tip, err := r.repo.Peel(u.localID); err == nil && tip != "" && !isZero(u.localID) {
			tips = append(tips, tip)
		}
	}
	switch {
	case r.Event == "pre-receive":
		o.has = append(o.has, "--all")
	case len(r.Args) > 0 && r.Args[0] != "":
		o.has = append(o.has, "--remotes="+r.Args[0])
	case r.variable("PRE_COMMIT_REMOTE_NAME") != "":
		o.has = append(o.has, "--remotes="+r.variable("PRE_COMMIT_REMOTE_NAME"))
	}
	o.lacks, err = r.repo.Lacking(r.ctx, tips, o.has)
	return o, err
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
