package agentsmd

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"assent/finding"
)

// Fault is a refusal of this room, or what it could not do. Its exit code is that of the table.
type Fault struct {
	Code string // with the prefix agentsmd/
	Text string
	Next string // what to do about it
}

func (f *Fault) Error() string { return f.Code + ": " + f.Text }

// ExitCode is fixed for each code.
func (f *Fault) ExitCode() int { return exits()[f.Code].exit }

// Hint is the next step.
func (f *Fault) Hint() string {
	if f.Next != "" {
		return f.Next
	}
	return exits()[f.Code].next
}

func fault(code, next, format string, args ...any) *Fault {
	code = "agentsmd/" + code
	if _, ok := exits()[code]; !ok {
		panic("agentsmd: there is no code " + code)
	}
	return &Fault{code, fmt.Sprintf(format, args...), next}
}

// isFault reports a fault of a code, without its prefix.
func isFault(err error, code string) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == "agentsmd/"+code
}

// hintOf is the next step that an error names, "" if it names none.
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// refusal is what is fixed about a code.
type refusal struct {
	code  string
	exit  int
	title string
	next  string
}

// exits finds a code of the table.
var exits = sync.OnceValue(func() map[string]refusal {
	m := map[string]refusal{}
	for _, r := range refusals {
		r.code = "agentsmd/" + r.code
		m[r.code] = r
	}
	return m
})

// RefusalCodes are the codes of this room beside those of its checks, for `assent explain`.
func RefusalCodes() []finding.Check {
	var out []finding.Check
	for _, r := range refusals {
		if slices.ContainsFunc(ruleRows, func(c ruleCheck) bool { return c.code == "agentsmd/"+r.code }) {
			continue // told of as a check
		}
		out = append(out, finding.Check{Code: "agentsmd/" + r.code, Severity: finding.Error, Title: r.title, Doc: fmt.Sprintf("Exit code %d. What to do: %s.", r.exit, r.next)})
	}
	return out
}

// refusals are all codes, in the order in which a rule walks through the commands.
var refusals = []refusal{
	{"home-in-worktree", 2, "the private state would lie in a worktree", "set ASSENT_HOME to a directory outside of every repository"},
	{"schema-version", 3, "a document has a version that this program does not know", "use the release that wrote it"},
	{"home-mismatch", 2, "another home of the agent is given than the one that was collected from", "leave the option out, or collect again"},
	{"no-directory", 2, "a directory that is named is not there", "name one that is"},
	{"include", 2, "what is to be included is not there, or no transcript", "use --include processed, noninteractive, or a file of JSON Lines"},
	{"quota-blocked", 1, "too little of the quota is left", "try again after the quota is renewed, or leave --quota-min out"},
	{"quota-unknown", 3, "how much of the quota is left is not known", "leave --quota-min out, or run the agent once"},
	{"run-ambiguous", 2, "several runs are open", "name one with --run; `agentsmd status` lists them"},
	{"run-unknown", 2, "there is no such run", "`agentsmd status` lists the runs"},
	{"run-closed", 2, "the run is done", "begin another with `agentsmd collect`"},
	{"run-overtaken", 4, "another run has settled records of this one", "begin another with `agentsmd collect`"},
	{"batch-changed", 4, "the batch is not what was collected", "begin another run with `agentsmd collect`"},
	{"chunk-changed", 4, "a chunk is not what was written", "run `agentsmd chunk` again"},
	{"chunk-unknown", 2, "there is no such chunk", "`agentsmd chunk` lists them"},
	{"chunk-open", 2, "a chunk has no decisions yet", "review it, and send them with `agentsmd submit decisions --chunk N`"},
	{"global-none", 2, "no candidate for a global rule waits for an outcome", "send nothing: go on with `agentsmd reconcile`"},
	{"global-open", 2, "a candidate for a global rule has no outcome yet", "`agentsmd candidates`, review them, and send the outcomes with `agentsmd submit global`"},
	{"global-two-roots", 2, "one project alone does not make a rule global", "keep the candidate until another project shows the same, or until the user says that it holds everywhere"},
	{"decisions-empty", 2, "no decision was sent", "send at least one no-op that says why nothing lasts"},
	{"evidence-unresolved", 2, "a decision still waits for evidence", "fetch it with `agentsmd evidence`, then send the chunk again with a final action"},
	{"evidence-missing", 2, "a change has no evidence", "name the records that it rests on, and quote the user's words"},
	{"evidence-untrusted", 2, "a reference is none of the batch", "take references from the chunk: record_id, session/turn, or session#L<line>"},
	{"evidence-bare", 2, "a bare session or turn id means nothing by itself", "write session/turn"},
	{"evidence-range", 2, "the lines are not 1 to 500 of a transcript", "write --lines A-B"},
	{"evidence-gone", 3, "the transcript is not there any more", "decide on what the chunk shows, or no-op"},
	{"evidence-scope", 2, "evidence of one project cannot change another", "take evidence of that project, or name its root with `agentsmd collect --project-root`"},
	{"global-intent", 2, "records of no project make no global rule by themselves", "set explicit_global_intent if the user said so, or call it project-only"},
	{"global-twice", 2, "a candidate has two outcomes", "put each candidate into one group"},
	{"label", 2, "a label stands twice, or is a number", "give each decision a label of its own, or none"},
	{"root-not-allowed", 2, "the project is none of the run", "name its root with `agentsmd collect --project-root`"},
	{"root-missing", 4, "the project's directory is gone", "bring the directory back: it is never made; one that was moved is collected from anew where it is now"},
	{"rule-text", 2, "a text is no rule", "write one plain line"},
	{"rule-not-found", 4, "the rule does not stand in the block", "`agentsmd rules` lists what stands there"},
	{"rule-compound", 4, "a rule with more than one paragraph stays as it is", "change it by hand, then `agentsmd adopt`"},
	{"auto-not-authorised", 1, "nobody has allowed Auto for this file", "`agentsmd prefer auto=on --root DIR` on your own terminal"},
	{"auto-confidence", 2, "Auto takes high confidence alone", "send the change with high confidence, or as a no-op"},
	{"auto-risk", 2, "Auto takes a low risk of overconstraint alone", "send the change with low risk, or as a no-op"},
	{"auto-two-roots", 2, "Auto makes a rule global only when two projects show it", "plan it with --mode suggest"},
	{"auto-claim", 2, "Auto brings nothing back that was withdrawn or rejected", "plan it with --mode suggest"},
	{"auto-limit", 2, "Auto changes at most ten rules a run", "plan the rest with --mode suggest"},
	{"restore-unproved", 2, "nothing newer says that the rule shall live again", "quote the user's words that bring it back"},
	{"plan-contradiction", 2, "the plan removes and adds one rule", "decide which of the two holds"},
	{"coverage", 2, "records of the batch are reached by no decision", "name each in the evidence_refs of some decision, if only of a no-op"},
	{"target-symlink", 4, "the file is a symbolic link", "make it a file of its own: rules are never written through a link"},
	{"target-kind", 4, "the file is no regular file", "make it one"},
	{"target-hardlink", 4, "the file has other names", "make it a file of its own"},
	{"target-owner", 4, "the file belongs to another user", "have its owner apply the plan"},
	{"target-case", 4, "the file stands there in other letters", "rename it to AGENTS.md"},
	{"target-unreadable", 3, "the file cannot be read as Markdown", "make it UTF-8 without NUL and within the limits"},
	{"target-changed", 4, "the file changed while it was written", "apply again"},
	{"block-malformed", 4, "the markers of the managed block do not form one pair", "repair the marker lines that are named"},
	{"block-not-visible", 4, "the end of the file lies within an open block", "close it"},
	{"block-drifted", 4, "somebody edited the managed block", "`agentsmd adopt FILE` takes the edit over; then plan again"},
	{"block-legacy", 4, "the block has the markers of an earlier tool", "`agentsmd adopt FILE` takes it over"},
	{"line-endings", 4, "the file ends its lines with CR alone", "convert it to LF or CR LF"},
	{"compose-mismatch", 3, "the result does not read back as it was meant", "report it: this is a fault of the program, and nothing was written"},
	{"size-limit", 1, "the file would grow beyond 32 KiB", "merge, narrow, replace or remove rules instead"},
	{"plan-unknown", 2, "there is no such plan", "`agentsmd status` lists the plans"},
	{"plan-changed", 4, "the plan is not what was printed", "run `agentsmd reconcile` again"},
	{"plan-mode", 2, "the plan is of another mode", "apply a suggested plan by numbers or --all, an auto plan by --auto"},
	{"plan-structure", 2, "the plan is not sound", "run `agentsmd reconcile` again"},
	{"plan-stale", 4, "what is withdrawn, rejected or written changed since the plan", "run `agentsmd reconcile --mode auto` again"},
	{"selection-missing", 2, "no number is given", "name the numbers that the user took, or --all if all of them"},
	{"selection-conflict", 2, "numbers, --all and --auto exclude each other", "use one of them"},
	{"selection-unknown", 2, "the plan has no such number", "`agentsmd show PLAN` lists them"},
	{"approval-weak", 1, "the policy asks for a stronger yes", "leave --statement out and confirm on your own terminal, or sign with --sign"},
	{"authorisation-mismatch", 4, "the plan claims what its batch does not give", "run `agentsmd reconcile` again"},
	{"decision-closed", 4, "the item is closed", "`agentsmd status` shows what is pending"},
	{"decision-stale", 4, "the rule was withdrawn or rejected since the plan", "collect and plan again, or restore it"},
	{"scope-moved", 4, "rules of the same scope changed since the plan", "plan the item anew: `agentsmd amend PLAN N --text \"…\"` with its text as it is, or `agentsmd withdraw` for a removal"},
	{"amend-invalid", 4, "the edited item does not fit the one that it replaces", "amend it again"},
	{"git-state", 4, "the repository is in no state for this commit", "end what is under way, or add --no-commit"},
	{"git-identity", 3, "Git has no identity to commit with", "git config user.name and user.email, or --no-commit"},
	{"git-version", 3, "this Git cannot run the hooks of the repository", "use Git 2.36 or newer, or --no-commit"},
	{"git-filter", 3, "an attribute of the file changes its bytes", "take the filter away, or --no-commit"},
	{"hook-refused", 1, "a hook of the repository refused the commit", "mend what it objects to, then apply again"},
	{"hook-changed-index", 4, "a hook changed what was to be committed", "take that out of the hook, or --no-commit"},
	{"commit-failed", 3, "the commit could not be made", "mend what Git says, then apply again"},
	{"head-moved", 4, "HEAD or the index moved meanwhile", "apply again"},
	{"interrupted", 4, "the call was stopped after it had brought the file back", "apply again"},
	{"rollback-incomplete", 4, "the file was edited while it was to be brought back", "compare it with the original that is named"},
	{"not-closed", 3, "files were changed, and that could not be noted", "mend what the message says, then `agentsmd recover`"},
	{"state-corrupt", 3, "the state cannot be read", "`agentsmd recover --rebuild-state` makes it again from the log"},
	{"audit-broken", 3, "the log is not what was written", "restore log/audit-NNNN.jsonl of the private state from a backup; if there is none, `agentsmd recover --set-log-aside` on your own terminal"},
	{"log-sound", 2, "there is nothing to set aside", "leave --set-log-aside out"},
	{"id-collision", 3, "two contents have one id", "report it"},
	{"call-unknown", 2, "there is no report of such a call", "name a plan, or the call_id of a report as JSON; without either it is the last one"},
	{"reason", 2, "a reason has 1 to 2000 characters", "say why in a sentence"},
	{"rule-unknown", 2, "there is no such rule", "`agentsmd rules` lists them"},
}
