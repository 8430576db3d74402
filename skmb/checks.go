package skmb

import (
	"context"
	"strings"
	"sync"

	"assent/approval"
	"assent/finding"
)

// Options are what the checks need besides the tree they judge.
type Options struct {
	Roots []string // bases, slash-separated from the top of the repository
	Today string   // UTC date, YYYY-MM-DD
	Seen  []string // roots at which this clone had a base before

	Related bool   // an undecided record blocks only changes that touch it or its paths
	Depends func() // called when a verdict depends on paths outside of the bases; may be nil

	Required approval.Level   // the least that counts as a yes
	Touch    bool             // a signature counts only by a key that was touched
	Signers  approval.Signers // trust roots, from a commit that the change cannot alter
	Env      []string         // for ssh-keygen, which verifies signatures
	// SignersOf reads the trust roots that the commit after will be judged by; nil: it is not asked.
	SignersOf func(finding.Tree) (approval.Signers, error)

	// Unknown returns those of the given commit hashes that are no ancestors of what is
	// judged. nil: history is not asked (hooks, shallow clones).
	Unknown func(ctx context.Context, hashes []string) ([]string, error)

	// Sides are the two trees that are, or will be, merged, and Ancestor the tree they both
	// come from; nil where there is no merge to judge.
	Sides    []finding.Tree
	Ancestor finding.Tree

	// OnDisk says whether a base that the tree does not have stands on disk, and whether
	// Git ignores it. nil: there is no disk to look at.
	OnDisk func(root string) (exists, ignored bool)
}

// view is one base as one rule sees it.
type view struct {
	*finding.Pass
	opts    Options
	root    string
	base    *Base // nil: there is no base at root
	parents func() ([]*Base, error)
	reused  func(nonce, path string) bool // whether a record elsewhere in the tree has the nonce too
}

// report reports a finding at a place of a file.
func (v *view) report(path string, pos finding.Pos, key, fix, message string) {
	v.Report(finding.Finding{Path: path, Start: pos, Key: key, Message: message, Fix: fix})
}

// rule is one row of the list of checks.
type rule struct {
	code     string
	severity finding.Severity
	scope    finding.Scope
	proves   string
	title    string
	doc      string
	run      func(*view) error
}

// Checks returns the checks over all bases of the options, in the order of the manual.
// Each base is read once for all of them.
func Checks(o Options) []finding.Check {
	cache := &loader{bases: map[loadKey]*loading{}}
	out := make([]finding.Check, 0, len(rules))
	for _, r := range rules {
		out = append(out, finding.Check{
			Code: r.code, Title: r.title, Doc: r.doc, Severity: r.severity, Scope: r.scope, Proves: r.proves,
			Run: func(p *finding.Pass) error {
				for _, root := range o.Roots {
					b, err := cache.load(p.New, root)
					if err != nil {
						return err
					}
					v := &view{Pass: p, opts: o, root: root, base: b, reused: cache.reused,
						parents: func() ([]*Base, error) { return cache.loadAll(p.Parents, root) }}
					if err := r.run(v); err != nil {
						return err
					}
				}
				return nil
			},
		})
	}
	return out
}

// loader keeps the bases that the checks of one run share.
type loader struct {
	mu     sync.Mutex
	bases  map[loadKey]*loading
	nonces map[string]string // of approvals -> the record that has it
}

// reused notes the nonce of a record's approval, and reports whether another record of the
// tree, in any base, has it.
func (l *loader) reused(nonce, path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nonces == nil {
		l.nonces = map[string]string{}
	}
	other := l.nonces[nonce]
	l.nonces[nonce] = path
	return other != "" && other != path
}

type loadKey struct {
	tree finding.Tree
	root string
}

type loading struct {
	once sync.Once
	base *Base
	err  error
}

func (l *loader) load(tree finding.Tree, root string) (*Base, error) {
	l.mu.Lock()
	entry := l.bases[loadKey{tree, root}]
	if entry == nil {
		entry = &loading{}
		l.bases[loadKey{tree, root}] = entry
	}
	l.mu.Unlock()
	entry.once.Do(func() { entry.base, entry.err = Load(tree, root) })
	return entry.base, entry.err
}

func (l *loader) loadAll(trees []finding.Tree, root string) ([]*Base, error) {
	var out []*Base
	for _, t := range trees {
		b, err := l.load(t, root)
		if err != nil {
			return nil, err
		}
		if b != nil {
			out = append(out, b)
		}
	}
	return out, nil
}

// of runs a rule only where there is a base.
func of(run func(*view)) func(*view) error {
	return func(v *view) error {
		if v.base != nil {
			run(v)
		}
		return nil
	}
}

// rules is the list of checks. Everything that is said about a check is said here.
var rules = []rule{
	{"skmb/pair-missing", finding.Error, finding.ScopeTree, "shape", "the base is half there",
		"A base is the pair SKMB.md and decisions/. One without the other means that decisions are hidden or lost. `skmb init` makes what is missing and leaves what is there.", of(pairMissing)},
	{"skmb/root-kind", finding.Error, finding.ScopeTree, "shape", "the base is no plain directory and files",
		"The base's directory, its index and decisions/ must be a plain directory, a regular file and a plain directory. Behind a symbolic link or in a submodule nothing is read, so nothing there can be judged.", of(problems("skmb/root-kind"))},
	{"skmb/unreadable", finding.Error, finding.ScopeTree, "shape", "a file of the base cannot be read",
		"The file is not UTF-8, is too large, has no title with an id, has a malformed field block, or is nested beyond what a reader could follow. A file that cannot be read never counts as absent or as resolved.", of(problems("skmb/unreadable"))},
	{"skmb/index-empty", finding.Error, finding.ScopeTree, "shape", "decision files exist, but the index lists none",
		"The section Decision Index, its table or its rows are missing although decisions/ has files. `skmb index` writes the rows from the files.", of(indexEmpty)},
	{"skmb/column-missing", finding.Error, finding.ScopeTree, "shape", "a table of the index lacks a column it needs",
		"The Decision Index needs the columns id, status and file; the other tables need the column that names their rows. Columns may stand in any order.", of(columnMissing)},
	{"skmb/row-shape", finding.Error, finding.ScopeTree, "shape", "a row has more or fewer cells than its header",
		"What belongs in which column is not known, so the row is not guessed at. Write a pipe inside a cell as \\|.", of(rowShape)},
	{"skmb/duplicate-id", finding.Error, finding.ScopeTree, "wiring", "one id stands for two things",
		"An id names one record and one row. Give one of the two a number of its own.", of(duplicateID)},
	{"skmb/row-without-file", finding.Error, finding.ScopeTree, "wiring", "a row names no decision file of the base",
		"The file cell is empty, leaves the base (an absolute path, `..`, a symbolic link) or names nothing. Nothing outside of the base is read.", of(rowWithoutFile)},
	{"skmb/file-without-row", finding.Error, finding.ScopeTree, "wiring", "a decision file is not in the index",
		"Every decisions/*.md has a row, whatever its status. `skmb index` adds it.", of(fileWithoutRow)},
	{"skmb/id-mismatch", finding.Error, finding.ScopeTree, "wiring", "row and file have different ids",
		"The row names a file whose title has another id.", of(idMismatch)},
	{"skmb/status-mismatch", finding.Error, finding.ScopeTree, "wiring", "row and file have different statuses",
		"The first word of the status must be the same in the index row and in the decision file. `skmb index` takes it from the file.", of(statusMismatch)},
	{"skmb/patterns-mismatch", finding.Error, finding.ScopeTree, "wiring", "row and file have different patterns",
		"The sets of pattern letters must be equal. `skmb index` takes them from the file.", of(patternsMismatch)},
	{"skmb/commit-mismatch", finding.Warning, finding.ScopeTree, "wiring", "row and file name different commits",
		"The sets of commit hashes differ; words beside them do not count.", of(commitMismatch)},
	{"skmb/unresolved", finding.Error, finding.ScopeTree, "policy", "a decision is not resolved",
		"The record is proposed: nobody with authority has decided. A designer approves it (`skmb approve`), rejects it (`skmb reject`), or permits going on without it until a date (`skmb permit-default`); or it becomes a visible question again (`skmb open`).", unresolved},
	{"skmb/open-blocks-path", finding.Error, finding.ScopeChange, "policy", "the change touches what waits for an answer",
		"An open question lists under `paths` the code that depends on it. Until it is answered, that code does not change. Answer it: `skmb submit --from OPEN-NNN`, then `skmb approve`.", openBlocksPath},
	{"skmb/unknown-status", finding.Error, finding.ScopeTree, "shape", "the status is none of the lifecycle",
		"The first word of the status must be open, proposed, accepted, statistical_default, rejected, withdrawn or superseded.", of(unknownStatus)},
	{"skmb/not-designer", finding.Error, finding.ScopeTree, "policy", "accepted, but not decided by the designer",
		"An accepted record has `decided_by: designer`, nothing more and nothing else: neither a delegate nor a model decides.", of(notDesigner)},
	{"skmb/approval-missing", finding.Error, finding.ScopeTree, "policy", "accepted without the source of the approval",
		"`approval_source` quotes what the designer said. Empty, a placeholder, or without a letter it proves nothing. `skmb approve` records it.", of(approvalMissing)},
	{"skmb/approval-invalid", finding.Error, finding.ScopeTree, "provenance", "the recorded approval is of another text",
		"The `approval` field holds the digest of the approved text. Where it differs from the text's digest, what stands there is not what was approved. Restore the text, or let it be approved again.", approvalInvalid},
	{"skmb/approval-level", finding.Error, finding.ScopeTree, "policy", "the approval is weaker than the policy asks for",
		"`approval.required` in .assent.yaml asks for a code typed on a terminal, or for a signature by a key that .assent/allowed_signers lists. Signers and policy are those of the commit before, so that a change cannot name its own.", of(approvalLevel)},
	{"skmb/approval-ending", finding.Warning, finding.ScopeChange, "provenance", "the change takes an approval its ground",
		"Who may sign, which keys are revoked, or the id of the repository changes, so that an approval which holds today holds no longer from the next commit on. For a key that was replaced keep its line with `valid-before=`. Otherwise approve the decision again in the next commit.", approvalEnding},
	{"skmb/accepted-changed", finding.Error, finding.ScopeChange, "provenance", "an accepted decision was changed",
		"Title, patterns, scope, paths, Decision, Applies To and Supersedes of an accepted record are what was approved. A change there needs a new approval; changes elsewhere do not.", acceptedChanged},
	{"skmb/status-moved", finding.Error, finding.ScopeChange, "provenance", "a record came back to life by hand",
		"A record that was superseded, rejected or withdrawn is accepted or permitted again. No transition of the lifecycle leads there: propose the decision anew, under a new number.", statusMoved},
	{"skmb/default-unpermitted", finding.Error, finding.ScopeTree, "policy", "a statistical default without permission",
		"Going on without a decision needs `permitted_by: designer`, the source of that permission, and a review date. `skmb permit-default` records them.", of(defaultUnpermitted)},
	{"skmb/default-expired", finding.Error, finding.ScopeTree, "policy", "a statistical default is past its review date",
		"Let the designer decide (`skmb approve`) or renew the permission (`skmb permit-default`).", of(defaultExpired)},
	{"skmb/superseded-without-successor", finding.Error, finding.ScopeTree, "wiring", "superseded, but nothing supersedes it",
		"A superseded record is named under Supersedes by an accepted record, or by one that was itself superseded later.", of(supersededWithoutSuccessor)},
	{"skmb/supersedes-missing", finding.Error, finding.ScopeTree, "wiring", "it supersedes a record that does not exist",
		"Every id under Supersedes, and in superseded_by, is a record of this base.", of(supersedesMissing)},
	{"skmb/supersede-cycle", finding.Error, finding.ScopeTree, "wiring", "records supersede each other in a circle",
		"Following Supersedes must come to an end.", of(supersedeCycle)},
	{"skmb/supersede-one-way", finding.Warning, finding.ScopeTree, "wiring", "only one side knows of the supersession",
		"The successor names the old record under Supersedes; the old one names the successor in superseded_by.", of(supersedeOneWay)},
	{"skmb/number-reused", finding.Error, finding.ScopeTree, "wiring", "one number was given to two records",
		"Both sides of a merge made a record with this id since they parted, and they are different records. Give one of the two a new number, in its title, file name and row, and wherever it is cited.", numberReused},
	{"skmb/unknown-pattern", finding.Error, finding.ScopeTree, "shape", "a pattern is none of A to G",
		"Patterns are the letters A to G or their full codes, such as F_fail_semantics.", of(unknownPattern)},
	{"skmb/source-unresolved", finding.Warning, finding.ScopeTree, "wiring", "a row's source names no record",
		"The source of a state, transition, invariant or failure row names the record that decided it.", of(sourceUnresolved)},
	{"skmb/source-not-accepted", finding.Warning, finding.ScopeTree, "wiring", "a row rests on a record that is not accepted",
		"What the row says has not been decided, or not any more.", of(sourceNotAccepted)},
	{"skmb/transition-conflict", finding.Error, finding.ScopeTree, "wiring", "two decided transitions contradict each other",
		"Two rows have the same from_state and event but lead to different states, and both rest on accepted records. One decision must give way.", of(transitionConflict)},
	{"skmb/state-unknown", finding.Warning, finding.ScopeTree, "wiring", "a transition names a state that has no name",
		"The state is not under Named States.", of(stateUnknown)},
	{"skmb/commit-unknown", finding.Warning, finding.ScopeTree, "provenance", "a recorded commit is not in this history",
		"The hash is unknown here, or no ancestor of what is judged: it may have been rewritten.", commitUnknown},
	{"skmb/ambiguous-reference", finding.Warning, finding.ScopeTree, "wiring", "a short reference means several records",
		"Write the id in full.", of(ambiguousReference)},
	{"skmb/root-case", finding.Warning, finding.ScopeTree, "shape", "a directory differs from the base's only in letter case",
		"On some file systems it is the base, on others it is not, so what stands there may escape the gate. Rename it.", rootCase},
	{"skmb/base-vanished", finding.Warning, finding.ScopeTree, "provenance", "this clone had a base, and here is none",
		"A base was judged in this clone before, and what is judged now has none. If that is meant, nothing is to do.", baseVanished},
	{"skmb/base-untracked", finding.Warning, finding.ScopeTree, "provenance", "the base on disk is in no commit",
		"SKMB.md and decisions/ stand on disk, but Git does not track them, so the gate does not see them. Add them.", baseUntracked},
	{"skmb/stray-file", finding.Warning, finding.ScopeTree, "shape", "a file in decisions is no decision",
		"decisions/ holds one Markdown file for each decision, and nothing else.", of(strayFile)},
}

// FindingID is the id of the record that a finding of a check is about, "" if it is about
// none.
func FindingID(f finding.Finding) string {
	id, _, _ := strings.Cut(f.Key, " ")
	if ValidID(id) {
		return id
	}
	return ""
}
