package lint

import "assent/finding"

// Codes are the codes that lint itself reports, for the manual and `assent explain`.
var Codes = []finding.Check{
	{Code: "lint/path-not-utf8", Severity: finding.Error, Title: "a watched name is not UTF-8",
		Doc: "A file below a watched path has a name that is not UTF-8, so no check can name it. Rename it."},
	{Code: "lint/path-case", Severity: finding.Warning, Title: "two watched names differ only in letter case",
		Doc: "Where the file system does not tell cases apart, one of the two files hides the other. Rename one."},
	{Code: "lint/config-changed", Severity: finding.Warning, Title: "the change touches .assent.yaml",
		Doc: "A range is judged with the configuration of its base, so that a branch cannot loosen the gate that judges it. The change takes effect after it has landed."},
	{Code: "lint/config-unreadable", Severity: finding.Error, Fixed: true, Title: "the configuration cannot be read",
		Doc: "What is judged has an .assent.yaml that breaks a rule: it would stop every commit after it. Of the commit before it is a warning, and the defaults are taken."},
	{Code: "lint/baseline-grew", Severity: finding.Error, Fixed: true, Title: "a change exempts a finding that it brings",
		Doc: "A baseline entry counts only if the trusted baseline has it, or the parent already had the finding. Mend what the change brings instead."},
	{Code: "lint/baseline-stale", Severity: finding.Warning, Title: "a baseline entry has no finding any more",
		Doc: "What it stood for is mended. `assent lint --write-baseline` takes the entry out."},
	{Code: "lint/merge-conflict", Severity: finding.Error, Title: "the merge has a conflict",
		Doc: "Merging the two commits conflicts in a watched path, so what the merge would give is not known. Merge, resolve, and lint the result. `skmb resolve` mends the rows of an index."},
	{Code: "lint/config-loosened", Severity: finding.Error, Fixed: true, Title: "the change loosens the gate",
		Doc: "The configuration asks for less, or looks at less, than the one before. Such a change is for people to land; while it is only staged this is a warning."},
	{Code: "lint/nothing-examined", Severity: finding.Warning, Title: "there was nothing to look at",
		Doc: "No watched path exists in what was judged. In CI that may mean a wrong directory or a wrong revision."},
	{Code: "lint/check-failed", Severity: finding.Error, Title: "a check could not do its work",
		Doc: "The check stopped with an error. The run is incomplete: exit code 3, never a pass."},
	{Code: "lint/history-cut", Severity: finding.Error, Title: "the range needs history that a shallow clone lacks",
		Doc: "Fetch it: `git fetch --unshallow`, or `fetch-depth: 0` in CI. Exit code 3."},
	{Code: "lint/object-missing", Severity: finding.Error, Title: "an object is not in this clone",
		Doc: "A partial or broken clone lacks content that is to be judged. Exit code 3."},
	{Code: "lint/unmerged", Severity: finding.Error, Title: "a watched path is unmerged",
		Doc: "Resolve the conflict and add the file. Exit code 3."},
	{Code: "store/recovery-needed", Severity: finding.Error, Title: "a change was interrupted half-way",
		Doc: "`assent recover` completes it. Until then nothing is judged: exit code 3."},
	{Code: "store/busy", Severity: finding.Error, Title: "another assent process is writing",
		Doc: "Try again when it is done. Exit code 5, or 3 where a commit is being checked."},
}
