package skmb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
)

// The fixtures of the checks are changes to one plain base, to which no check objects.
const (
	root  = "docs/isme"
	today = "2026-06-20"

	indexFile = root + "/SKMB.md"
	notifier  = root + "/decisions/001-notifier.md" // the tables of the index rest on it
	race      = root + "/decisions/002-race.md"
	restart   = root + "/decisions/003-restart.md"
)

var plain = map[string]string{
	indexFile: `# State Machine Knowledge Base

Decisions about this application's implicit state machine.

## Decision Index

| id | status | scope | patterns | file | commit |
| --- | --- | --- | --- | --- | --- |
| SKMB-2026-06-11-001 | accepted | approval workflow | F | decisions/001-notifier.md | pending |
| SKMB-2026-06-11-002 | accepted | approval workflow | C, G | decisions/002-race.md | pending |
| SKMB-2026-06-11-003 | accepted | recovery | A, B | decisions/003-restart.md | pending |

## Named States

| state | meaning | owner | notes | source |
| --- | --- | --- | --- | --- |
| pending | nobody has answered | approval | - | SKMB-2026-06-11-001 |
| denied | an operator or the clock said no | approval | - | SKMB-2026-06-11-001 |

## Transition Decisions

| id | from_state | event | to_state | actions | source |
| --- | --- | --- | --- | --- | --- |
| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |

## Invariants

| id | invariant | source |
| --- | --- | --- |
| I-1 | an answer is final | SKMB-2026-06-11-001 |

## Fail Semantics

| id | context | behavior | source |
| --- | --- | --- | --- |
| F-1 | the notifier is down | fail closed | SKMB-2026-06-11-001 |

## Statistical Defaults Allowed Temporarily

| id | pattern | context | default | reason_allowed | review_by | file |
| --- | --- | --- | --- | --- | --- | --- |

## Open Decisions

| id | pattern | context | needed_before | file |
| --- | --- | --- | --- | --- |
| OPEN-001 | D | who pays for a retried call? | the billing adapter | - |
`,
	notifier: `# SKMB-2026-06-11-001: Approval Notifier Failure

- status: accepted
- decided_by: designer
- approval_source: user explicitly chose retry then fail closed in checkpoint response
- date: 2026-06-11
- commit: pending
- patterns:
  - F_fail_semantics
- scope: approval workflow

## Decision

Retry 3 times with exponential backoff. If all retries fail, transition to
fail_closed and write an audit event.

## Applies To

- approval state transition
- notifier adapter
- audit log tests

## Rationale

Silence must never look like consent.

## Supersedes

None.
`,
	race: `# SKMB-2026-06-11-002: Approval Resolution Race

- status: accepted
- decided_by: designer
- approval_source: the first committed answer wins
- date: 2026-06-11
- commit: pending
- patterns: C, G
- scope: approval workflow

## Decision

The first committed answer wins; the second gets a conflict.

## Supersedes

None.
`,
	restart: `# SKMB-2026-06-11-003: Restart While Pending

- status: accepted
- decided_by: designer
- approval_source: resume waiting, said in the review
- date: 2026-06-11
- commit: pending
- patterns: A, B
- scope: recovery

## Decision

A restart resumes waiting.

## Supersedes

None.
`,
}

// A change is made to the plain base, or to what is handed to the checks beside it.
type change func(*scene)

// scene is a tree and what the checks are told about it.
type scene struct {
	tree    *memory
	parents []finding.Tree
	options Options
}

func setting(changes ...change) *scene {
	s := &scene{tree: treeOf(plain), options: Options{Roots: []string{root}, Today: today}}
	for _, c := range changes {
		c(s)
	}
	return s
}

// swap replaces a text of a file, which must be there.
func swap(name, old, new string) change {
	return func(s *scene) {
		text := string(s.tree.files[name])
		if !strings.Contains(text, old) {
			panic(name + " does not hold " + old)
		}
		s.tree.files[name] = []byte(strings.ReplaceAll(text, old, new))
	}
}

func put(name, text string) change { return func(s *scene) { s.tree.files[name] = []byte(text) } }

// grow adds bytes to the end of a file.
func grow(name string, bytes int) change {
	return func(s *scene) { s.tree.files[name] = append(s.tree.files[name], strings.Repeat(" \n", bytes/2)...) }
}

func kind(name string, of func(*scene, string)) change { return func(s *scene) { of(s, name) } }

// link makes a name a symbolic link, sub a submodule, run an executable file.
func link(s *scene, name string) { instead(s, name); s.tree.modes[name] = symlink }
func sub(s *scene, name string)  { instead(s, name); s.tree.modes[name] = submodule }
func run(s *scene, name string)  { s.tree.modes[name] = 0o755 }

// instead puts something in place of a file, or of a directory and all that is below it.
func instead(s *scene, name string) {
	maps.DeleteFunc(s.tree.files, func(n string, _ []byte) bool { return strings.HasPrefix(n, name+"/") })
	s.tree.files[name] = []byte("target")
}

// gone removes a file, or everything below a directory.
func gone(name string) change {
	return func(s *scene) {
		maps.DeleteFunc(s.tree.files, func(n string, _ []byte) bool { return n == name || strings.HasPrefix(n, name+"/") })
	}
}

// noRow removes the rows of the index that begin with a text, noRows all but the question.
func noRow(begin string) change {
	return func(s *scene) {
		var out []string
		for l := range strings.Lines(string(s.tree.files[indexFile])) {
			if !strings.HasPrefix(l, "| "+begin) {
				out = append(out, l)
			}
		}
		s.tree.files[indexFile] = []byte(strings.Join(out, ""))
	}
}

func noRows(s *scene) {
	for _, begin := range []string{"SKMB-", "pending", "denied", "T-1", "I-1", "F-1"} {
		noRow(begin)(s)
	}
}

// addRow adds a row behind the row of another id.
func addRow(behind, text string) change {
	return func(s *scene) {
		var out []string
		for l := range strings.Lines(string(s.tree.files[indexFile])) {
			out = append(out, l)
			if strings.HasPrefix(l, "| "+behind+" ") {
				out = append(out, text+"\n")
			}
		}
		s.tree.files[indexFile] = []byte(strings.Join(out, ""))
	}
}

// defaultRow adds a row to the table of the defaults.
func defaultRow(s *scene) {
	const head = "| reason_allowed | review_by | file |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	swap(indexFile, head, head+"| SKMB-2026-06-11-003 | A | recovery | resume | said so | 2026-09-01 | decisions/003-restart.md |\n")(s)
}

// identity gives the repository an id, of which a part is named.
func identity(part string) change {
	return func(s *scene) {
		put(approval.RepositoryFile, fmt.Sprintf("{\n  \"id\": %q\n}\n", strings.Repeat(part, 16)))(s)
		s.options.SignersOf = func(finding.Tree) (approval.Signers, error) { return approval.Signers{}, nil }
	}
}

// typedIn is a yes to the race that was typed on a terminal, in the repository of an id.
func typedIn(part string) change {
	return func(s *scene) {
		identity(part)(s)
		r, problem := parseRecord(race, s.tree.files[race])
		if problem != nil {
			panic(problem.message)
		}
		at := time.Date(2026, 6, 11, 0, 0, 0, 0, time.UTC)
		said := approval.Statement{Domain: "skmb", Action: "approve", Subject: r.ID, Digest: r.Digest(), Repository: strings.Repeat(part, 16),
			Issued: at, Nonce: strings.Repeat("12", 16), Card: finding.CleanLines(r.Card())}
		shown := sha256.Sum256([]byte(said.Text()))
		id, data, err := approval.Seal(approval.Given{Method: approval.MethodTerminal, Statement: said,
			Proof: approval.Proof{Foreground: true, Tries: 1, ShownSHA256: hex.EncodeToString(shown[:])}}, approval.Person{Name: "designer", Email: "designer@example.com"},
			boundary.Basis{Commit: strings.Repeat("1", 40), Tree: strings.Repeat("2", 40)}, "assent test", at)
		if err != nil {
			panic(err)
		}
		put(approval.Path(id), string(data))(s)
		withField(race, "- approval: terminal sha256:"+r.Digest()+" "+id)(s)
	}
}

// statusOf changes the status in the file and in the row.
func statusOf(file, status string) change {
	scope := map[string]string{notifier: "approval workflow | F", race: "approval workflow | C", restart: "recovery"}[file]
	return func(s *scene) {
		swap(file, "- status: accepted", "- status: "+status)(s)
		swap(indexFile, "| accepted | "+scope, "| "+status+" | "+scope)(s)
	}
}

// withField adds a field to a decision file.
func withField(file, text string) change {
	return swap(file, "- date: 2026-06-11\n", "- date: 2026-06-11\n"+text+"\n")
}

// before says that the commit before had the plain base.
func before(s *scene) { s.parents = append(s.parents, treeOf(plain)) }

func on(day string) change { return func(s *scene) { s.options.Today = day } }

func seenHere(s *scene) { s.options.Seen = []string{root} }

func strangers(hashes ...string) change {
	return func(s *scene) {
		s.options.Unknown = func(context.Context, []string) ([]string, error) { return hashes, nil }
	}
}

func onDisk(exists, ignored bool) change {
	return func(s *scene) { s.options.OnDisk = func(string) (bool, bool) { return exists, ignored } }
}

// merged says that the other side of a merge made changes too since the plain base.
func merged(theirs ...change) change {
	return func(s *scene) {
		s.options.Sides = []finding.Tree{s.tree, setting(theirs...).tree}
		s.options.Ancestor = treeOf(plain)
	}
}

// asks makes the policy ask for a level.
func asks(l approval.Level) change { return func(s *scene) { s.options.Required = l } }

// was makes a parent in which things were otherwise.
func was(changes ...change) change {
	return func(s *scene) { s.parents = append(s.parents, setting(changes...).tree) }
}

// openPaths gives the open question of the base paths that wait for its answer.
func openPaths(patterns string) change {
	return func(s *scene) {
		swap(indexFile, "| id | pattern | context | needed_before | file |\n| --- | --- | --- | --- | --- |\n| OPEN-001", "| id | pattern | context | needed_before | file | paths |\n| --- | --- | --- | --- | --- | --- |\n| OPEN-001")(s)
		swap(indexFile, "| the billing adapter | - |", "| the billing adapter | - | "+strings.ReplaceAll(patterns, "*", `\*`)+" |")(s)
	}
}

// changes says which paths the change touches.
func changes(paths ...string) change { return func(s *scene) { s.tree.changed = paths } }

const other = root + "/decisions/004-other.md"

// record is a small accepted decision.
func record(id string) string {
	return "# " + id + ": Other\n\n- status: accepted\n- decided_by: designer\n- approval_source: yes, so be it\n- patterns: D\n- scope: billing\n\n## Decision\n\nCharge once.\n\n## Supersedes\n\nNone.\n"
}

// rowOf is its row.
func rowOf(id string) string {
	return "| " + id + " | accepted | billing | D | decisions/004-other.md | pending |"
}

// The digests of approved texts. They are fixed: a change of what is hashed, or how,
// would void every approval that was ever given.
const (
	notifierDigest = "2f2317568bee9d5b78c801a790e81c04b1888f5190606d4100e8b81ea5dd062d"
	raceDigest     = "02639d050aac4946537e0cdacd4dbb78871ed1a7a2bf4182e2de3d325d31afa7"
	lastWinsDigest = "223dd9239964667f5d069fe9385621258fb715ee9d8ccd6430b7fff436d6a028" // race with "last" for "first"
)

// fixture is one thing that a check objects to, or, as a near miss, does not.
type fixture struct {
	claim string
	is    []change
}

// fixtures has for every code what gives exactly that code, and near misses that give
// nothing.
var fixtures = map[string]struct{ fails, passes []fixture }{
	"skmb/pair-missing": {
		fails: []fixture{
			{"the index stands alone", []change{gone(root + "/decisions")}},
			{"the decisions have no index", []change{gone(indexFile)}},
		},
		passes: []fixture{
			{"decisions holds nothing but .gitkeep", []change{noRows, gone(root + "/decisions"), put(root+"/decisions/.gitkeep", "")}},
			{"there is no base at all", []change{gone(root)}},
		},
	},
	"skmb/root-kind": {
		fails: []fixture{
			{"the index is a symbolic link", []change{kind(indexFile, link)}},
			{"decisions is a symbolic link", []change{kind(root+"/decisions", link)}},
			{"decisions is a submodule", []change{kind(root+"/decisions", sub)}},
			{"decisions is a file", []change{gone(root + "/decisions"), put(root+"/decisions", "")}},
			{"the base is a symbolic link", []change{kind(root, link)}},
			{"the base is a submodule", []change{kind(root, sub)}},
			{"a directory above the base is a symbolic link", []change{kind("docs", link)}},
		},
		passes: []fixture{
			{"the index is executable", []change{kind(indexFile, run)}},
		},
	},
	"skmb/unreadable": {
		fails: []fixture{
			{"the title has no id", []change{swap(notifier, "# SKMB-2026-06-11-001: Approval", "# Approval")}},
			{"there is no title", []change{swap(notifier, "# SKMB-2026-06-11-001: Approval Notifier Failure", "SKMB-2026-06-11-001: Approval Notifier Failure")}},
			{"the title stands in a code fence", []change{swap(notifier, "# SKMB-2026-06-11-001: Approval Notifier Failure", "```\n# SKMB-2026-06-11-001: Approval Notifier Failure\n```")}},
			{"a byte is not UTF-8", []change{swap(notifier, "Silence", "Silence\xff")}},
			{"a byte is NUL", []change{swap(notifier, "Silence", "Silence\x00")}},
			{"a decision is larger than 1 MiB", []change{grow(notifier, 1<<20)}},
			{"the index is larger than 8 MiB", []change{grow(indexFile, 8<<20)}},
			{"a field stands twice", []change{withField(notifier, "- status: proposed")}},
			{"a field stands twice in other spellings", []change{withField(notifier, "- **Decided By:** nobody")}},
			{"a field stands in the front matter too", []change{swap(notifier, "# SKMB-2026-06-11-001", "---\nstatus: accepted\n---\n# SKMB-2026-06-11-001")}},
			{"a field has lost its colon", []change{swap(notifier, "- decided_by: designer", "- decided_by designer")}},
			{"the front matter is no YAML", []change{swap(notifier, "# SKMB-2026-06-11-001", "---\na: [\n---\n# SKMB-2026-06-11-001")}},
			{"what is approved stands in two sections", []change{swap(notifier, "## Rationale", "## decision")}},
			{"a table's line of dashes is short of a cell", []change{swap(indexFile, "| id | pattern | context | needed_before | file |\n| --- | --- | --- | --- | --- |", "| id | pattern | context | needed_before | file |\n| --- | --- | --- | --- |")}},
			{"a table has no line of dashes", []change{swap(indexFile, "| id | from_state | event | to_state | actions | source |\n| --- | --- | --- | --- | --- | --- |", "| id | from_state | event | to_state | actions | source |")}},
			{"a table has a blank line within", []change{swap(indexFile, "| OPEN-001 | D", "\n| OPEN-001 | D")}},
			{"a section has a second table of its kind", []change{swap(indexFile, "| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |", "| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |\n\n### Retry\n\n| id | from_state |\n| --- | --- |\n| T-2 | pending |")}},
			{"a section of the index stands twice", []change{swap(indexFile, "## Invariants", "## Fail semantics")}},
			{"lists are nested without end", []change{swap(notifier, "Silence", strings.Repeat("- ", 40)+"Silence")}},
		},
		passes: []fixture{
			{"the title is the id alone", []change{swap(notifier, ": Approval Notifier Failure", "")}},
			{"a table stands in a code block, and one of another kind in the section", []change{swap(indexFile, "| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |", "| T-1 | pending | timeout | denied | write an audit event | SKMB-2026-06-11-001 |\n\nRead as:\n\n```\n| id |\n| x |\n```\n\n| event | means |\n| --- | --- |\n| timeout | the clock said no |")}},
			{"a section that is not approved stands twice", []change{swap(notifier, "## Rationale", "## Evidence\n\nOne.\n\n## Evidence")}},
			{"an unknown field stands twice", []change{withField(notifier, "- note: one\n- note: two")}},
			{"a list item before the first section is no field", []change{withField(notifier, "- see https://example.org/")}},
		},
	},
	"skmb/index-empty": {
		fails: []fixture{
			{"the section is missing", []change{swap(indexFile, "## Decision Index", "## Decisions")}},
			{"the table is missing", []change{noRow("SKMB-"), swap(indexFile, "| id | status | scope | patterns | file | commit |\n| --- | --- | --- | --- | --- | --- |\n", "")}},
			{"the table has no rows", []change{noRow("SKMB-")}},
			{"the table stands in a comment", []change{swap(indexFile, "| id | status |", "<!--\n| id | status |"), swap(indexFile, "## Named States", "-->\n\n## Named States")}},
		},
		passes: []fixture{
			{"the table has no rows, and there are no files", []change{noRows, gone(root + "/decisions"), put(root+"/decisions/.gitkeep", "")}},
		},
	},
	"skmb/column-missing": {
		fails: []fixture{
			{"the Decision Index has no status", []change{swap(indexFile, "| id | status | scope", "| id | phase | scope")}},
			{"the Decision Index has no file", []change{swap(indexFile, "| file | commit |", "| path | commit |")}},
			{"the Decision Index has no id", []change{swap(indexFile, "| id | status | scope", "| key | status | scope")}},
			{"Named States has no state", []change{swap(indexFile, "| state | meaning |", "| name | meaning |"), noRow("T-1")}},
		},
		passes: []fixture{
			{"the columns have other letter case and marks", []change{swap(indexFile, "| id | status | scope | patterns | file | commit |", "| **ID** | `Status` | Scope | Patterns | _File_ | Commit |")}},
			{"a column that nothing needs is missing", []change{swap(indexFile, "| file | commit |", "| file | landed |")}},
		},
	},
	"skmb/row-shape": {
		fails: []fixture{
			{"a pipe inside a cell is not escaped", []change{swap(indexFile, "| accepted | recovery |", "| accepted | recovery | tokens |")}},
			{"a pipe inside a code span is not escaped", []change{swap(indexFile, "| accepted | recovery |", "| accepted | `recovery | tokens` |")}},
			{"a cell is missing", []change{swap(indexFile, "| accepted | recovery |", "| accepted |")}},
			{"prose stands right below the table", []change{swap(indexFile, "decisions/003-restart.md | pending |\n", "decisions/003-restart.md | pending |\nand so on\n")}},
			{"a conflict marker stands in the table", []change{swap(indexFile, "| SKMB-2026-06-11-003 |", "<<<<<<< HEAD\n| SKMB-2026-06-11-003 |")}},
		},
		passes: []fixture{
			{"a pipe inside a cell is escaped", []change{swap(indexFile, "| accepted | recovery |", `| accepted | recovery \| tokens |`)}},
			{"a cell is empty", []change{swap(indexFile, "| accepted | recovery |", "| accepted | |")}},
		},
	},
	"skmb/duplicate-id": {
		fails: []fixture{
			{"two files have one id", []change{put(other, record("SKMB-2026-06-11-003"))}},
			{"two rows have one id", []change{addRow("SKMB-2026-06-11-003", "| SKMB-2026-06-11-003 | accepted | recovery | A, B | decisions/003-restart.md | pending |")}},
			{"a row of the index and an open row have one id", []change{addRow("OPEN-001", "| SKMB-2026-06-11-003 | A | restart | - | - |")}},
			{"two rows of the defaults have one id", []change{defaultRow, defaultRow}},
		},
		passes: []fixture{
			{"the same number on another day", []change{put(other, record("SKMB-2026-06-12-003")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-12-003"))}},
			{"a default has its second row", []change{defaultRow}},
		},
	},
	"skmb/row-without-file": {
		fails: []fixture{
			{"the file cell is empty", []change{swap(indexFile, "decisions/003-restart.md", "")}},
			{"the file cell says pending", []change{swap(indexFile, "decisions/003-restart.md", "pending")}},
			{"the file cell leaves the base by ..", []change{swap(indexFile, "decisions/003-restart.md", "../../etc/passwd")}},
			{"the file cell comes back by ..", []change{swap(indexFile, "decisions/003-restart.md", "../isme/decisions/003-restart.md")}},
			{"the file cell is absolute", []change{swap(indexFile, "decisions/003-restart.md", "/etc/passwd")}},
			{"the file cell is absolute, as if the base were the root", []change{swap(indexFile, "decisions/003-restart.md", "/decisions/003-restart.md")}},
			{"the file cell is a drive", []change{swap(indexFile, "decisions/003-restart.md", `C:\\decisions\\003-restart.md`)}},
			{"the file cell is an address", []change{swap(indexFile, "decisions/003-restart.md", "[file](https://example.org/003.md)")}},
			{"the file cell names nothing", []change{swap(indexFile, "decisions/003-restart.md", "decisions/003-restarted.md")}},
			{"the file cell names the index", []change{swap(indexFile, "decisions/003-restart.md", "SKMB.md")}},
			{"the text of a link is right, its target is not", []change{swap(indexFile, "decisions/003-restart.md", "[decisions/003-restart.md](decisions/003.md)")}},
			{"an open row names a file that is not there", []change{swap(indexFile, "the billing adapter | - |", "the billing adapter | decisions/open-001.md |")}},
		},
		passes: []fixture{
			{"the file cell is a link", []change{swap(indexFile, "decisions/003-restart.md", "[restart](decisions/003-restart.md)")}},
			{"the file cell is a link with its blanks encoded, and a fragment", []change{gone(restart), put(root+"/decisions/003 restart.md", plain[restart]), swap(indexFile, "decisions/003-restart.md", "[restart](decisions/003%20restart.md#decision)")}},
			{"the file cell begins with ./", []change{swap(indexFile, "decisions/003-restart.md", "`./decisions/003-restart.md`")}},
			{"the name of the file has white space that no cell can hold", []change{gone(restart), put(root+"/decisions/003  restart\u00a0.md", plain[restart]), swap(indexFile, "decisions/003-restart.md", "decisions/003 restart .md")}},
			{"the name of the file has a colon and a backslash", []change{gone(restart), put(root+"/decisions/003: restart\\.md", plain[restart]), swap(indexFile, "decisions/003-restart.md", `decisions/003: restart\\.md`)}},
			{"an open row has the file pending", []change{swap(indexFile, "the billing adapter | - |", "the billing adapter | pending |")}},
		},
	},
	"skmb/file-without-row": {
		fails: []fixture{
			{"a file of a usual name", []change{put(other, record("SKMB-2026-06-11-004"))}},
			{"a file of any name", []change{put(root+"/decisions/Zürich notes.md", record("SKMB-2026-06-11-004"))}},
			{"its row stands in a fence", []change{put(other, record("SKMB-2026-06-11-004")), swap(indexFile, "## Invariants", "```\n"+rowOf("SKMB-2026-06-11-004")+"\n```\n\n## Invariants")}},
			{"its only row stands among the open questions", []change{put(other, record("SKMB-2026-06-11-004")), addRow("OPEN-001", "| SKMB-2026-06-11-004 | F | x | y | decisions/004-other.md |")}},
			{"a question has a file, and no row", []change{put(root+"/decisions/open-002.md", "# OPEN-002: Who pays?\n\n- patterns: D\n")}},
			{"a question has a file and no row, and the Decision Index is empty", []change{noRows, gone(root + "/decisions"),
				put(root+"/decisions/open-002.md", "# OPEN-002: Who pays?\n\n- patterns: D\n")}},
		},
		passes: []fixture{
			{"a file of any name has a row", []change{put(other, record("SKMB-2026-06-11-004")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004"))}},
			{"the file of a question is named by its row", []change{put(root+"/decisions/open-001.md", "# OPEN-001: Who pays?\n\n- patterns: D\n"), swap(indexFile, "the billing adapter | - |", "the billing adapter | decisions/open-001.md |")}},
		},
	},
	"skmb/id-mismatch": {
		fails: []fixture{
			{"the row says another number", []change{swap(indexFile, "| SKMB-2026-06-11-003 |", "| SKMB-2026-06-11-009 |")}},
			{"the row says no id", []change{swap(indexFile, "| SKMB-2026-06-11-003 |", "| - |")}},
		},
		passes: []fixture{
			{"the id is bold, a link and code", []change{swap(indexFile, "| SKMB-2026-06-11-003 |", "| **[`SKMB-2026-06-11-003`](decisions/003-restart.md)** |")}},
		},
	},
	"skmb/status-mismatch": {
		fails: []fixture{
			{"the row is behind", []change{swap(indexFile, "| accepted | recovery |", "| proposed | recovery |")}},
			{"the row says nothing", []change{swap(indexFile, "| accepted | recovery |", "| | recovery |")}},
		},
		passes: []fixture{
			{"the row has another tail", []change{swap(indexFile, "| accepted | recovery |", "| **Accepted** (implemented) | recovery |")}},
			{"an alias in the row", []change{
				statusOf(restart, "statistical_default"), withField(restart, "- review_by: 2026-09-01\n- permitted_by: designer"), swap(indexFile, "| statistical_default | recovery |", "| reviewable_default | recovery |")}},
		},
	},
	"skmb/patterns-mismatch": {
		fails: []fixture{
			{"a letter more in the row", []change{swap(indexFile, "| A, B |", "| A, B, F |")}},
			{"no letter in the row", []change{swap(indexFile, "| A, B |", "| - |")}},
		},
		passes: []fixture{
			{"other spellings of the same set", []change{swap(indexFile, "| A, B |", "| B_state_persistence / a |")}},
		},
	},
	"skmb/commit-mismatch": {
		fails: []fixture{
			{"the row names a commit, the file none", []change{swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | 1f2e3d4 |")}},
			{"one of several differs", []change{swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | 1f2e3d4, 5a6b7c8 |"), swap(restart, "- commit: pending", "- commit: 1f2e3d4, 5a6b7c9")}},
		},
		passes: []fixture{
			{"the same set among words", []change{swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | `1f2e3d4` and 5A6B7C8 |"), swap(restart, "- commit: pending", "- commits: 5a6b7c8 (merge), then 1f2e3d4")}},
			{"words that only look like hashes", []change{swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | defaced on 20260611 |")}},
		},
	},
	"skmb/unresolved": {
		fails: []fixture{
			{"the record is proposed", []change{statusOf(race, "proposed")}},
			{"the record says open", []change{statusOf(race, "open")}},
			{"the record has no status", []change{statusOf(race, ""), swap(indexFile, "|  | approval workflow | C", "| proposed | approval workflow | C")}},
			{"the status stands in a section only", []change{statusOf(race, "proposed"), swap(race, "- status: proposed\n", ""), swap(race, "## Decision\n", "## Decision\n\n- status: accepted\n")}},
			{"the status stands in a fence only", []change{statusOf(race, "proposed"), swap(race, "- status: proposed\n", "```\n- status: accepted\n```\n\n")}},
		},
		passes: []fixture{
			{"the record was rejected", []change{statusOf(race, "rejected")}},
			{"the record was withdrawn", []change{statusOf(race, "withdrawn")}},
			{"an open question blocks nothing", nil},
			{"a question with a proposed file blocks nothing", []change{put(root+"/decisions/open-001.md", "# OPEN-001: Who pays?\n\n- status: proposed\n- patterns: D\n"), swap(indexFile, "the billing adapter | - |", "the billing adapter | decisions/open-001.md |")}},
			{"a fence shows a proposed status", []change{swap(race, "## Decision\n", "```\n- status: proposed\n```\n\n## Decision\n")}},
		},
	},
	"skmb/unknown-status": {
		fails: []fixture{
			{"a word of nobody's", []change{statusOf(race, "done")}},
			{"a word that begins like one", []change{statusOf(race, "acceptedish")}},
		},
		passes: []fixture{
			{"a status with a tail", []change{statusOf(race, "accepted; implemented")}},
			{"a status in other letters", []change{statusOf(race, "ACCEPTED")}},
		},
	},
	"skmb/not-designer": {
		fails: []fixture{
			{"a delegate decided", []change{swap(race, "decided_by: designer", "decided_by: designer delegation")}},
			{"a model decided", []change{swap(race, "decided_by: designer", "decided_by: root implementer")}},
			{"nobody decided", []change{swap(race, "- decided_by: designer\n", "")}},
			{"it is pending who decided", []change{swap(race, "decided_by: designer", "decided_by: pending")}},
		},
		passes: []fixture{
			{"trailing blanks and another case", []change{swap(race, "decided_by: designer", "Decided By: **Designer**  ")}},
		},
	},
	"skmb/approval-missing": {
		fails: []fixture{
			{"there is none", []change{swap(race, "- approval_source: the first committed answer wins\n", "")}},
			{"it is empty", []change{swap(race, "the first committed answer wins\n", "\n")}},
			{"it is pending", []change{swap(race, "the first committed answer wins\n", "pending explicit designer approval\n")}},
			{"it is Pending.", []change{swap(race, "the first committed answer wins\n", "Pending.\n")}},
			{"it is (pending)", []change{swap(race, "the first committed answer wins\n", "(pending)\n")}},
			{"it is pending/tbd", []change{swap(race, "the first committed answer wins\n", "pending/tbd\n")}},
			{"it is TBD", []change{swap(race, "the first committed answer wins\n", "TBD\n")}},
			{"it is todo", []change{swap(race, "the first committed answer wins\n", "todo\n")}},
			{"it is n/a", []change{swap(race, "the first committed answer wins\n", "N/A\n")}},
			{"it is none", []change{swap(race, "the first committed answer wins\n", "None.\n")}},
			{"it is a folded scalar without text", []change{swap(race, "the first committed answer wins\n", ">-\n")}},
			{"it is three dots", []change{swap(race, "the first committed answer wins\n", "...\n")}},
			{"it is a number", []change{swap(race, "the first committed answer wins\n", "2026-06-11\n")}},
			{"it is a mark", []change{swap(race, "the first committed answer wins\n", "✓\n")}},
		},
		passes: []fixture{
			{"it is OK", []change{swap(race, "the first committed answer wins\n", "OK\n")}},
			{"it is Chinese", []change{swap(race, "the first committed answer wins\n", "同意\n")}},
			{"it merely contains the word pending", []change{swap(race, "the first committed answer wins\n", "fail closed when a pending approval expires\n")}},
			{"it is a folded scalar with text", []change{swap(race, "the first committed answer wins\n", ">-\n    the first committed\n    answer wins\n")}},
		},
	},
	"skmb/approval-invalid": {
		fails: []fixture{
			{"it is of another text", []change{withField(race, "- approval: statement sha256:"+notifierDigest)}},
			{"it has no method", []change{withField(race, "- approval: sha256:"+raceDigest)}},
			{"its digest is cut", []change{withField(race, "- approval: statement sha256:"+raceDigest[:40])}},
			{"a permission is of another text", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: designer\n- approval: statement sha256:"+notifierDigest)}},
			{"a record that stands for the yes is missing", []change{withField(race, "- approval: terminal sha256:"+raceDigest+" AP-20260611-0123456789abcdef0123")}},
			{"a record that stands for the yes lies elsewhere", []change{withField(race, "- approval: terminal sha256:"+raceDigest+" ../../AP")}},
			{"a method that nobody knows", []change{withField(race, "- approval: telepathy sha256:"+raceDigest)}},
		},
		passes: []fixture{
			{"it is of this text", []change{withField(race, "- approval: statement sha256:"+raceDigest)}},
			{"an editorial change voids nothing", []change{withField(notifier, "- approval: statement sha256:"+notifierDigest), swap(notifier, "Silence must never", "Silence must not")}},
			{"a withdrawn record needs none", []change{statusOf(race, "withdrawn"), withField(race, "- approval: statement sha256:"+notifierDigest)}},
		},
	},
	"skmb/open-blocks-path": {
		fails: []fixture{
			{"a file that the question lists", []change{openPaths("billing/**"), changes("billing/retry.go")}},
			{"a directory that it lists", []change{openPaths("billing"), changes("other.go", "billing/a/b.go")}},
		},
		passes: []fixture{
			{"a file beside it", []change{openPaths("billing/**"), changes("billing.go")}},
			{"no path is listed", []change{changes("billing/retry.go")}},
			{"the change is not known", []change{openPaths("billing/**")}},
		},
	},
	"skmb/status-moved": {
		fails: []fixture{
			{"a rejected record is accepted", []change{was(statusOf(race, "rejected"))}},
			{"a superseded record is permitted", []change{was(statusOf(race, "superseded")), statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: designer")}},
		},
		passes: []fixture{
			{"a proposed record is accepted", []change{was(statusOf(race, "proposed"))}},
			{"a rejected record stays rejected", []change{was(statusOf(race, "rejected")), statusOf(race, "rejected")}},
			{"it is new", []change{was(gone(race))}},
		},
	},
	"skmb/approval-level": {
		fails: []fixture{
			{"words where a terminal is asked for", []change{asks(approval.LevelTerminal)}},
			{"words where a signature is asked for", []change{asks(approval.LevelSignature), withField(race, "- approval: statement sha256:"+raceDigest)}},
		},
		passes: []fixture{
			{"words where words are enough", []change{asks(approval.LevelStatement)}},
			{"nobody approves what was withdrawn", []change{statusOf(race, "withdrawn"), asks(approval.LevelStatement)}},
		},
	},
	"skmb/approval-ending": {
		fails: []fixture{
			{"the repository takes another id", []change{typedIn("ab"), was(typedIn("ab")), identity("cd")}},
			{"the repository's id is removed", []change{typedIn("ab"), was(typedIn("ab")), gone(approval.RepositoryFile)}},
		},
		passes: []fixture{
			{"the repository keeps its id", []change{typedIn("ab"), was(typedIn("ab"))}},
			{"words rest on no id", []change{was(identity("ab")), identity("cd"), withField(race, "- approval: statement sha256:"+raceDigest)}},
		},
	},
	"skmb/accepted-changed": {
		fails: []fixture{
			{"one word of the decision", []change{before, swap(race, "first committed answer wins;", "last committed answer wins;")}},
			{"the title", []change{before, swap(race, "Approval Resolution Race", "Resolution Race")}},
			{"the scope", []change{before, swap(race, "- scope: approval workflow", "- scope: every workflow")}},
			{"the patterns", []change{before, swap(race, "- patterns: C, G", "- patterns: C"), swap(indexFile, "| C, G |", "| C |")}},
			{"the paths", []change{before, withField(race, "- paths: internal/**")}},
			{"what it applies to", []change{before, swap(notifier, "- notifier adapter\n", "")}},
			{"what it supersedes", []change{before, swap(race, "None.", "- SKMB-2026-06-11-003 (partial)")}},
			{"the approval is of the text before", []change{before, withField(race, "- approval: statement sha256:"+raceDigest), swap(race, "first committed answer wins;", "last committed answer wins;")}},
		},
		passes: []fixture{
			{"a typo in the rationale", []change{before, swap(notifier, "Silence must never", "Silence must not")}},
			{"another tail, date and commit", []change{before, statusOf(race, "accepted; implemented"), swap(race, "- commit: pending", "- commit: soon")}},
			{"line ends and trailing blanks", []change{before, swap(race, "wins;", "wins;"), swap(race, "\n", " \r\n"), swap(race, "- status: accepted \r\n", "- status: accepted\r\n")}},
			{"the new text is approved", []change{before, swap(race, "first committed answer wins;", "last committed answer wins;"), withField(race, "- approval: statement sha256:"+lastWinsDigest)}},
			{"it was not accepted before", []change{func(s *scene) { s.parents = append(s.parents, setting(statusOf(race, "proposed")).tree) }, swap(race, "first committed answer wins;", "last committed answer wins;")}},
			{"one parent of a merge has this text", []change{before, func(s *scene) {
				s.parents = append(s.parents, setting(swap(race, "first committed answer wins;", "last committed answer wins;")).tree)
			}, swap(race, "first committed answer wins;", "last committed answer wins;")}},
		},
	},
	"skmb/default-unpermitted": {
		fails: []fixture{
			{"nobody permitted it", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-09-01")}},
			{"a model permitted it", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: implementer")}},
			{"there is no review date", []change{statusOf(race, "statistical_default"), withField(race, "- permitted_by: designer")}},
			{"the review date is no date", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-02-30\n- permitted_by: designer")}},
			{"the permission has no source", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: designer"), swap(race, "the first committed answer wins\n", "tbd\n")}},
		},
		passes: []fixture{
			{"permitted until a date", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: Designer")}},
		},
	},
	"skmb/default-expired": {
		fails: []fixture{
			{"the day after", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-06-19\n- permitted_by: designer")}},
			{"an alias expires too", []change{statusOf(race, "reviewable_default"), withField(race, "- review_by: 2026-09-01\n- permitted_by: designer"), on("2026-09-02")}},
		},
		passes: []fixture{
			{"the day itself", []change{statusOf(race, "statistical_default"), withField(race, "- review_by: 2026-06-20\n- permitted_by: designer")}},
			{"an accepted record has no date to keep", []change{withField(race, "- review_by: 2026-06-19")}},
		},
	},
	"skmb/superseded-without-successor": {
		fails: []fixture{
			{"nobody names it", []change{statusOf(race, "superseded")}},
			{"a part of it is superseded", []change{statusOf(race, "superseded"), swap(restart, "None.", "SKMB-2026-06-11-002 (partial)")}},
			{"a rejected record names it", []change{statusOf(race, "superseded"), swap(restart, "None.", "SKMB-2026-06-11-002"), statusOf(restart, "rejected")}},
		},
		passes: []fixture{
			{"an accepted record names it", []change{statusOf(race, "superseded"), withField(race, "- superseded_by: SKMB-2026-06-11-003"), swap(restart, "None.", "- SKMB-2026-06-11-002")}},
			{"a field of an accepted record names it", []change{statusOf(race, "superseded"), withField(race, "- superseded_by: SKMB-2026-06-11-003"), withField(restart, "- supersedes:\n  - SKMB-2026-06-11-002\n  - SKMB-2026-06-11-001 (partial)")}},
		},
	},
	"skmb/supersedes-missing": {
		fails: []fixture{
			{"the section names nothing", []change{swap(race, "None.", "- SKMB-2026-06-11-099")}},
			{"a short reference names nothing", []change{swap(race, "None.", "- SKMB-099")}},
			{"the field and the section name nothing", []change{withField(race, "- supersedes: SKMB-2026-06-11-099"), swap(race, "None.", "- SKMB-2026-06-11-099")}},
			{"superseded_by names nothing", []change{withField(race, "- superseded_by: SKMB-2026-06-11-099")}},
		},
		passes: []fixture{
			{"a part of a record that is there", []change{swap(race, "None.", "- SKMB-003, in part only (partial)")}},
			{"an id in another section", []change{swap(race, "conflict.", "conflict. See SKMB-2026-06-11-099.")}},
		},
	},
	"skmb/supersede-cycle": {
		fails: []fixture{
			{"two name each other", []change{
				statusOf(race, "superseded"), withField(race, "- superseded_by: SKMB-2026-06-11-003"), swap(race, "None.", "- SKMB-2026-06-11-003"),
				statusOf(restart, "superseded"), withField(restart, "- superseded_by: SKMB-2026-06-11-002"), swap(restart, "None.", "- SKMB-2026-06-11-002")}},
			{"a record names itself", []change{statusOf(race, "superseded"), withField(race, "- superseded_by: SKMB-2026-06-11-002"), swap(race, "None.", "- SKMB-2026-06-11-002")}},
		},
		passes: []fixture{
			{"a chain", []change{
				statusOf(race, "superseded"), withField(race, "- superseded_by: SKMB-2026-06-11-003"), statusOf(restart, "superseded"), withField(restart, "- superseded_by: SKMB-2026-06-11-004"), swap(restart, "None.", "- SKMB-2026-06-11-002"),
				put(other, strings.Replace(record("SKMB-2026-06-11-004"), "None.", "- SKMB-2026-06-11-003", 1)), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004"))}},
		},
	},
	"skmb/supersede-one-way": {
		fails: []fixture{
			{"the old record does not know", []change{swap(race, "None.", "- SKMB-2026-06-11-003")}},
			{"the new record does not know", []change{withField(restart, "- superseded_by: SKMB-2026-06-11-002")}},
		},
		passes: []fixture{
			{"a part of it is superseded", []change{swap(race, "None.", "- SKMB-2026-06-11-003 (partial)")}},
			{"the old record says so in a section", []change{swap(race, "None.", "- SKMB-2026-06-11-003"), swap(restart, "## Supersedes", "## Superseded By\n\nSKMB-2026-06-11-002\n\n## Supersedes"), statusOf(restart, "superseded")}},
		},
	},
	"skmb/number-reused": {
		fails: []fixture{
			{"two records of other titles", []change{put(other, record("SKMB-2026-06-11-004")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004")),
				merged(put(other, strings.Replace(record("SKMB-2026-06-11-004"), ": Other", ": Another", 1)))}},
			{"two records in other files", []change{put(other, record("SKMB-2026-06-11-004")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004")),
				merged(put(root+"/decisions/004.md", record("SKMB-2026-06-11-004")))}},
		},
		passes: []fixture{
			{"the same record on both sides", []change{put(other, record("SKMB-2026-06-11-004")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-11-004")), merged(put(other, record("SKMB-2026-06-11-004")))}},
			{"a record that both come from was moved on one side", []change{merged(gone(race), put(root+"/decisions/2.md", strings.Replace(plain[race], ": Approval", ": Another", 1)))}},
			{"the other side has no base", []change{merged(gone(root))}},
		},
	},
	"skmb/unknown-pattern": {
		fails: []fixture{
			{"a letter beyond G", []change{swap(race, "- patterns: C, G", "- patterns: C, H"), swap(indexFile, "| C, G |", "| C, H |")}},
			{"a word", []change{swap(race, "- patterns: C, G", "- patterns: C and G")}},
			{"in the row only", []change{swap(indexFile, "| C, G |", "| C, G, X_files |")}},
		},
		passes: []fixture{
			{"small letters and slashes", []change{swap(race, "- patterns: C, G", "- patterns: c/g_irreversible_action")}},
			{"no pattern", []change{swap(race, "- patterns: C, G", "- patterns: none"), swap(indexFile, "| C, G |", "| - |")}},
		},
	},
	"skmb/source-unresolved": {
		fails: []fixture{
			{"an invariant rests on nothing", []change{swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-2026-06-11-099 |")}},
			{"one of a list is missing", []change{swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-2026-06-11-001/099 |")}},
		},
		passes: []fixture{
			{"a source in words", []change{swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | the designer, in the review |")}},
			{"a short reference", []change{swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-001/002 |")}},
		},
	},
	"skmb/source-not-accepted": {
		fails: []fixture{
			{"a rejected record", []change{statusOf(restart, "rejected"), swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-2026-06-11-003 |")}},
			{"an open question", []change{swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | OPEN-001 |")}},
		},
		passes: []fixture{
			{"an accepted record with a tail", []change{statusOf(restart, "accepted; implemented"), swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-2026-06-11-003 |")}},
		},
	},
	"skmb/transition-conflict": {
		fails: []fixture{
			{"denied or retried", []change{addRow("pending", "| retry | once more | approval | - | SKMB-2026-06-11-001 |"), addRow("T-1", "| T-2 | Pending | timeout | retry | - | SKMB-002 |")}},
		},
		passes: []fixture{
			{"another event", []change{addRow("T-1", "| T-2 | pending | crash | pending | - | SKMB-002 |")}},
			{"the same state twice", []change{addRow("T-1", "| T-2 | pending | timeout | Denied | - | SKMB-002 |")}},
			{"unchanged", []change{addRow("T-1", "| T-2 | pending | timeout | unchanged | - | SKMB-002 |")}},
			{"unchanged, in more words", []change{addRow("T-1", "| T-2 | pending | timeout | unchanged (stays) | - | SKMB-002 |")}},
			{"from any state", []change{addRow("T-1", "| T-2 | any | timeout | pending | - | SKMB-002 |")}},
			{"x or y", []change{addRow("T-1", "| T-2 | pending | timeout | pending or denied | - | SKMB-002 |")}},
			{"one rests on nothing that is decided", []change{addRow("T-1", "| T-2 | pending | timeout | pending | - | the review |")}},
		},
	},
	"skmb/state-unknown": {
		fails: []fixture{
			{"a transition leads to nowhere", []change{swap(indexFile, "| timeout | denied |", "| timeout | refused |")}},
			{"one of two states", []change{swap(indexFile, "| timeout | denied |", "| timeout | denied or refused |")}},
		},
		passes: []fixture{
			{"two states that have names", []change{swap(indexFile, "| timeout | denied |", "| timeout | Denied or pending |")}},
			{"no state has a name", []change{noRow("pending"), noRow("denied")}},
		},
	},
	"skmb/commit-unknown": {
		fails: []fixture{
			{"a hash that is not in the history", []change{strangers("1f2e3d4"), swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | 1f2e3d4 |"), swap(restart, "- commit: pending", "- commits: 1f2e3d4")}},
		},
		passes: []fixture{
			{"every hash is in the history", []change{strangers(), swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | 1f2e3d4 |"), swap(restart, "- commit: pending", "- commit: 1f2e3d4")}},
			{"history is not asked", []change{swap(indexFile, "decisions/003-restart.md | pending |", "decisions/003-restart.md | 1f2e3d4 |"), swap(restart, "- commit: pending", "- commit: 1f2e3d4")}},
		},
	},
	"skmb/ambiguous-reference": {
		fails: []fixture{
			{"two records have the number", []change{put(other, record("SKMB-2026-06-12-001")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-12-001")), swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-001 |")}},
			{"under Supersedes", []change{put(other, record("SKMB-2026-06-12-001")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-12-001")), swap(race, "None.", "SKMB-001")}},
		},
		passes: []fixture{
			{"one record has the number", []change{put(other, record("SKMB-2026-06-12-001")), addRow("SKMB-2026-06-11-003", rowOf("SKMB-2026-06-12-001")), swap(indexFile, "an answer is final | SKMB-2026-06-11-001 |", "an answer is final | SKMB-002 |")}},
		},
	},
	"skmb/root-case": {
		fails: []fixture{
			{"beside the base", []change{put("docs/ISME/SKMB.md", "")}},
			{"above the base", []change{put("Docs/isme/SKMB.md", "")}},
			{"instead of the base", []change{gone(root), put("Docs/Isme/decisions/001.md", "")}},
		},
		passes: []fixture{
			{"another name", []change{put("docs/isme2/SKMB.md", "")}},
			{"a file, not a directory", []change{put("docs/ISME", "")}},
			{"a base of its own", []change{put("docs/ISME/decisions/.gitkeep", ""), put("docs/ISME/SKMB.md", ""), func(s *scene) { s.options.Roots = []string{root, "docs/ISME"} }}},
		},
	},
	"skmb/base-vanished": {
		fails:  []fixture{{"there was one", []change{gone(root), seenHere}}},
		passes: []fixture{{"there never was one", []change{gone(root)}}, {"it is still there", []change{seenHere}}},
	},
	"skmb/base-untracked": {
		fails: []fixture{
			{"it stands on disk", []change{gone(root), onDisk(true, false)}},
			{"it stands on disk, ignored", []change{gone(root), onDisk(true, true)}},
		},
		passes: []fixture{
			{"nothing stands on disk", []change{gone(root), onDisk(false, false)}},
			{"it is judged", []change{onDisk(true, false)}},
		},
	},
	"skmb/stray-file": {
		fails: []fixture{
			{"a text file", []change{put(root+"/decisions/notes.txt", "")}},
			{"a directory", []change{put(root+"/decisions/old/005.md", record("SKMB-2026-06-11-005"))}},
			{"a link", []change{kind(root+"/decisions/005.md", link)}},
			{"a submodule", []change{kind(root+"/decisions/005.md", sub)}},
			{"another suffix", []change{put(root+"/decisions/005.MD", record("SKMB-2026-06-11-005"))}},
		},
		passes: []fixture{
			{".gitkeep", []change{put(root+"/decisions/.gitkeep", "")}},
			{"a file beside decisions", []change{put(root+"/README.txt", "")}},
		},
	},
}
