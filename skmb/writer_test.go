package skmb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
	"assent/repo"
	"assent/store"
)

// desk is a base on disk with a real store beside it.
type desk struct {
	t   testing.TB
	dir string
	*Writer
	now time.Time
}

const day = "2026-06-20" // on the desk's clock

func newDesk(t testing.TB, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), now: time.Date(2026, 6, 20, 23, 59, 58, 0, time.FixedZone("", -5*3600)).Add(-5 * time.Hour)}
	must(t, os.MkdirAll(filepath.Join(d.dir, "tree"), 0o755))
	for name, text := range files {
		d.put(name, text)
	}
	s, err := store.Open(store.Options{
		Private: filepath.Join(d.dir, "private"), Roots: map[string]string{boundary.TreeRoot: filepath.Join(d.dir, "tree")},
		Now: func() time.Time { return d.now }, LockWait: time.Minute,
	})
	must(t, err)
	t.Cleanup(s.Close)
	d.Writer = &Writer{
		Store: s, Root: root, Tool: "assent test", Tree: func() finding.Tree { return d.tree() },
		Env: boundary.Env{
			Now: func() time.Time { return d.now },
			Who: func(context.Context) (string, string, error) { return "A. Person", "a@example.org", nil },
		},
	}
	return d
}

// fresh is an empty base, as init makes it.
func fresh(t testing.TB) *desk {
	files := map[string]string{}
	for name, data := range InitFiles(root, "archive") {
		files[name] = string(data)
	}
	return newDesk(t, files)
}

func (d *desk) tree() finding.Tree { return repo.Disk(filepath.Join(d.dir, "tree")) }

func (d *desk) path(name string) string {
	return filepath.Join(d.dir, "tree", filepath.FromSlash(name))
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	must(d.t, os.MkdirAll(filepath.Dir(d.path(name)), 0o755))
	must(d.t, os.WriteFile(d.path(name), []byte(text), 0o644))
}

func (d *desk) swap(name, old, new string) {
	d.t.Helper()
	text := d.read(name)
	if !strings.Contains(text, old) {
		d.t.Fatalf("%s does not hold %q:\n%s", name, old, text)
	}
	d.put(name, strings.ReplaceAll(text, old, new))
}

func (d *desk) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	must(d.t, err)
	return string(data)
}

// notes are the files of the store that tell what was refused, too.
var notes = []string{"lock", "head.json", "calls-0001.jsonl"}

// everything is each file on disk, also the store's own but for its notes.
func (d *desk) everything() map[string]string {
	d.t.Helper()
	out := map[string]string{}
	must(d.t, filepath.WalkDir(d.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || slices.Contains(notes, e.Name()) {
			return err
		}
		data, err := os.ReadFile(name)
		out[name] = string(data)
		return err
	}))
	return out
}

// unchanged fails if run changes any file.
func (d *desk) unchanged(run func()) {
	d.t.Helper()
	before := d.everything()
	run()
	if after := d.everything(); !maps.Equal(before, after) {
		for name, text := range after {
			if before[name] != text {
				d.t.Errorf("%s changed to\n%s", name, text)
			}
		}
		d.t.Errorf("there were %d files, now there are %d", len(before), len(after))
	}
}

// refused fails unless run refuses with an exit code and changes nothing.
func (d *desk) refused(code int, run func() error) error {
	d.t.Helper()
	var err error
	d.unchanged(func() { err = run() })
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) || coded.ExitCode() != code {
		d.t.Errorf("got %v, want a refusal with exit code %d", err, code)
	}
	return err
}

// codes are what blocks, "code subject".
func (d *desk) codes() string {
	d.t.Helper()
	var out []string
	for _, f := range judge(d.t, Options{Today: d.now.UTC().Format(time.DateOnly)}, d.tree()) {
		out = append(out, strings.TrimPrefix(f.Code, "skmb/")+" "+cmp.Or(FindingID(f), f.Key))
	}
	return strings.Join(out, ", ")
}

func (d *desk) record(id string) *Record {
	d.t.Helper()
	r, ok := load(d.t, d.tree()).Record(id)
	if !ok {
		d.t.Fatalf("there is no record %s", id)
	}
	return r
}

// fields fails unless a record has the values.
func (d *desk) fields(id string, want map[string]string) {
	d.t.Helper()
	r := d.record(id)
	for k, v := range want {
		if got := r.value(k); got != v {
			d.t.Errorf("%s of %s is %q, want %q", k, id, got, v)
		}
	}
}

func (d *desk) row(kind table, id string) (row, bool) {
	d.t.Helper()
	for _, r := range load(d.t, d.tree()).Index.rows(kind) {
		if r.id() == id {
			return r, true
		}
	}
	return row{}, false
}

var ctx = context.Background()

func payload(title string) DecisionPayload {
	return DecisionPayload{
		Title: title, Patterns: []PatternName{"F", "C_concurrent_operations"}, Scope: "approval workflow",
		Context: "Two operators can answer at once.", Decision: "The first committed answer wins.", AppliesTo: []string{"the write path", "conflict tests"},
		Options: []string{"the first wins", "deny wins"}, NeededBefore: "the write path",
	}
}

func (d *desk) Submit(ctx context.Context, in io.Reader, from string) (boundary.Answer, Done, error) {
	return d.Writer.Submit(ctx, in, from, boundary.Door{})
}

func (d *desk) submit(p DecisionPayload, from string) (boundary.Answer, Done, error) {
	d.t.Helper()
	data, err := json.Marshal(p)
	must(d.t, err)
	return d.Submit(ctx, bytes.NewReader(data), from)
}

func (d *desk) submitted(p DecisionPayload) string {
	d.t.Helper()
	a, _, err := d.submit(p, "")
	must(d.t, err)
	return a.IDs[0]
}

func (d *desk) approved(ids ...string) Done {
	d.t.Helper()
	done, err := d.Approve(ctx, ids, Yes{Statement: "designer chose option 1"})
	must(d.t, err)
	return done
}

const first = "SKMB-2026-06-20-001"

func TestSubmitMakesAProposedRecord(t *testing.T) {
	d := fresh(t)
	a, done, err := d.submit(payload("Approval resolution race"), "")
	must(t, err)
	if want := (boundary.Answer{SchemaVersion: 1, Kind: "skmb-decision", Accepted: true, IDs: []string{first}, AuditID: "log/calls:1"}); fmt.Sprint(a) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", a, want)
	}
	name := root + "/decisions/2026-06-20-001-approval-resolution-race.md"
	if want := []string{indexFile, name}; !slices.Equal(done.Files, want) || !slices.Equal(done.IDs, a.IDs) {
		t.Errorf("got %+v, want the files %q", done, want)
	}
	want := `# SKMB-2026-06-20-001: Approval resolution race

- status: proposed
- decided_by: pending
- approval_source: pending explicit designer approval
- date: 2026-06-20
- commit: pending
- patterns:
  - C_concurrent_operations
  - F_fail_semantics
- scope: approval workflow

## Context

Two operators can answer at once.

## Decision

The first committed answer wins.

## Applies To

- the write path
- conflict tests

## Options

1. the first wins
2. deny wins

## Needed Before

the write path

## Supersedes

None.
`
	if got := d.read(name); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := "| SKMB-2026-06-20-001 | proposed | approval workflow | C, F | decisions/2026-06-20-001-approval-resolution-race.md | pending |\n"; !strings.Contains(d.read(indexFile), want) {
		t.Errorf("got\n%s\nwant in it\n%s", d.read(indexFile), want)
	}
	if got := d.codes(); got != "unresolved "+first {
		t.Errorf("got %s", got)
	}
}

func TestAnEqualProposalIsTheSameRecordWhileItIsProposed(t *testing.T) {
	d := fresh(t)
	if id := d.submitted(payload("Race")); id != first {
		t.Fatalf("got %s", id)
	}
	d.unchanged(func() {
		a, done, err := d.Submit(ctx, strings.NewReader(` { "scope":"approval workflow", "patterns":["F","C_concurrent_operations"],"title":"Race","decision":"The first committed answer wins.",
			"applies_to":["the write path","conflict tests"],"context":"Two operators can answer at once.","needed_before":"the write path","options":["the first wins","deny wins"] } `), "")
		if err != nil || !a.Replayed || !slices.Equal(a.IDs, []string{first}) || a.AuditID != "log/calls:1" || len(done.Files) > 0 {
			t.Errorf("got %+v, %+v, %v", a, done, err)
		}
	})
	for i, verb := range []func(id string) error{
		func(id string) error { _, err := d.Approve(ctx, []string{id}, Yes{Statement: "yes"}); return err },
		func(id string) error { _, err := d.End(ctx, EventReject, id, "not needed"); return err },
		func(id string) error { return os.Remove(d.path(root + "/decisions/2026-06-20-003-race.md")) },
	} {
		id := fmt.Sprintf("SKMB-2026-06-20-%03d", i+1)
		must(t, verb(id))
		a, _, err := d.submit(payload("Race"), "")
		next := fmt.Sprintf("SKMB-2026-06-20-%03d", i+2)
		if err != nil || a.Replayed || !slices.Equal(a.IDs, []string{next}) {
			t.Errorf("%s is proposed no more: got %+v, %v, want %s", id, a, err, next)
		}
	}
}

func TestAProposalIsRefusedWhole(t *testing.T) {
	d := fresh(t)
	d.submitted(payload("Race"))
	with := func(change func(*DecisionPayload)) DecisionPayload { p := payload("Other"); change(&p); return p }
	for claim, p := range map[string]DecisionPayload{
		"it supersedes what does not exist":   with(func(p *DecisionPayload) { p.Supersedes = []SupersededRef{{"SKMB-2026-06-20-099"}} }),
		"its title has a newline":             payload("One\nTwo"),
		"its title has an escape":             payload("One \x1b[31mTwo"),
		"its title is turned around":          payload("One \u202eTwo"),
		"its title is too long":               payload(strings.Repeat("x", 121)),
		"its decision has a heading":          with(func(p *DecisionPayload) { p.Decision = "x\n\n## Supersedes\n\nSKMB-001" }),
		"its decision opens a fence":          with(func(p *DecisionPayload) { p.Decision = "```\nx" }),
		"its context opens a comment":         with(func(p *DecisionPayload) { p.Context = "<!-- x" }),
		"a pattern is none":                   with(func(p *DecisionPayload) { p.Patterns = []PatternName{"H"} }),
		"it says nothing of what it is about": with(func(p *DecisionPayload) { p.AppliesTo = nil }),
	} {
		t.Run(claim, func(t *testing.T) {
			d.t = t
			d.refused(finding.ExitInvalid, func() error { _, _, err := d.submit(p, ""); return err })
		})
	}
}

func TestAProposalReadsBackAsItWasMade(t *testing.T) {
	for _, title := range append(values, strings.Repeat("ä", 120), strings.Repeat("x|", 60)) {
		if len([]rune(title)) > 120 || boundary.Unsafe(title, "line") != "" {
			continue
		}
		p := payload(title)
		p.Scope, p.AppliesTo, p.Paths = title, []string{title, "b"}, []string{title, "a/**"}
		p.Options, p.NeededBefore, p.Recommendation = []string{title}, title, title
		p.Supersedes = []SupersededRef{{"SKMB-2026-06-11-001"}, {"SKMB-002"}}
		r, problem := parseRecord("x.md", p.Markdown(first, day))
		if problem != nil {
			t.Errorf("%q: %+v", title, problem)
			continue
		}
		if r.ID != first || r.Title != title || r.value("scope") != title || r.Status != Proposed || fmt.Sprint(r.Patterns) != "[C F]" || !slices.Equal(r.Paths, p.Paths) {
			t.Errorf("%q: got %q, scope %q, %s, %q, paths %q", title, r.Title, r.value("scope"), r.Status, r.Patterns, r.Paths)
		}
		if fmt.Sprint(r.supersedes()) != "[{SKMB-2026-06-11-001 false} {SKMB-002 false}]" || r.Section("Decision") != p.Decision {
			t.Errorf("%q: got %v, %q", title, r.supersedes(), r.Section("Decision"))
		}
	}
}

func TestAQuestionBecomesAProposal(t *testing.T) {
	d := newDesk(t, plain)
	d.refused(finding.ExitInvalid, func() error { _, _, err := d.submit(payload("Who pays"), "OPEN-002"); return err })
	a, _, err := d.submit(payload("Who pays"), "OPEN-001")
	must(t, err)
	if _, there := d.row(opens, "OPEN-001"); there {
		t.Error("the row of the question is still there")
	}
	if got := d.codes(); got != "unresolved "+a.IDs[0] {
		t.Errorf("got %s", got)
	}
	d.unchanged(func() {
		again, _, err := d.submit(payload("Who pays"), "OPEN-001")
		if err != nil || !again.Replayed || !slices.Equal(again.IDs, a.IDs) {
			t.Errorf("got %+v, %v", again, err)
		}
	})
}

func TestApproveRecordsTheYes(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	digest := d.record(id).Digest()
	done, err := d.Approve(ctx, []string{"SKMB-06-20-001"}, Yes{})
	if err == nil {
		t.Errorf("a reference of no form was approved: %+v", done)
	}
	done, err = d.Approve(ctx, []string{id}, Yes{Statement: `"designer" chose | option *2*`, From: "chat", Digest: digest})
	must(t, err)
	if !slices.Equal(done.IDs, []string{id}) || len(done.Files) != 2 {
		t.Errorf("got %+v", done)
	}
	d.fields(id, map[string]string{
		"status": "accepted", "decided_by": "designer", "approval_source": `chat: "designer" chose | option *2*`, "approval": "statement sha256:" + digest,
		"recorded_by": "A. Person <a@example.org>", "date": day,
	})
	if r, _ := d.row(decisions, id); r.text("status") != "accepted" {
		t.Errorf("the row says %q", r.text("status"))
	}
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
	if d.record(id).Digest() != digest {
		t.Error("the yes changed the text that it is for")
	}
}

func TestOnlyTheMeantBytesOfAnApprovedFileDiffer(t *testing.T) {
	files := maps.Clone(plain)
	for _, name := range []string{indexFile, race} {
		files[name] = "\ufeff" + strings.ReplaceAll(files[name], "\n", "\r\n")
	}
	files[race] = strings.NewReplacer("- status: accepted", "- status:  proposed", "decided_by: designer", "decided_by: pending").Replace(files[race])
	files[indexFile] = strings.Replace(files[indexFile], "| accepted | approval workflow | C", "|  proposed| approval workflow | C", 1)
	d := newDesk(t, files)
	d.approved("SKMB-2026-06-11-002")
	want := strings.NewReplacer("- status:  proposed", "- status:  accepted", "decided_by: pending", "decided_by: designer", "approval_source: the first committed answer wins\r\n",
		"approval_source: designer chose option 1\r\n- approval: statement sha256:"+raceDigest+"\r\n", "date: 2026-06-11", "date: 2026-06-20",
		"- scope: approval workflow\r\n", "- scope: approval workflow\r\n- recorded_by: A. Person \\<a@example.org>\r\n").Replace(files[race])
	if got := d.read(race); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if got, want := d.read(indexFile), strings.Replace(files[indexFile], "|  proposed|", "|  accepted|", 1); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestAYesMustSaySomething(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	for _, statement := range []string{"", " ", "pending", "pending explicit designer approval", "(pending)", "TBD", "todo", "n/a", "none", ">-", "...", "12", "one\ntwo", "a\x1b[31mb", "a\u202eb"} {
		t.Run(statement, func(t *testing.T) {
			d.t = t
			d.refused(finding.ExitInvalid, func() error { _, err := d.Approve(ctx, []string{id}, Yes{Statement: statement}); return err })
			d.refused(finding.ExitInvalid, func() error {
				_, err := d.PermitDefault(ctx, id, "2026-09-01", Yes{Statement: statement})
				return err
			})
		})
	}
}

func TestApproveRefuses(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	yes := Yes{Statement: "yes"}
	approve := func(yes Yes, ids ...string) func() error {
		return func() error { _, err := d.Approve(ctx, ids, yes); return err }
	}
	d.refused(finding.ExitStale, approve(Yes{Statement: "yes", Digest: raceDigest}, id))
	d.refused(finding.ExitInvalid, approve(yes, "SKMB-2026-06-20-099"))
	d.refused(finding.ExitInvalid, approve(yes, "OPEN-001"))
	d.refused(finding.ExitInvalid, approve(yes, "SKMB-001")) // of two days
	d.refused(finding.ExitInvalid, approve(yes, id, id))
	for _, status := range []string{"rejected", "withdrawn", "superseded", "done"} {
		d.swap(race, "- status: accepted", "- status: "+status)
		d.refused(finding.ExitInvalid, approve(yes, "SKMB-2026-06-11-002"))
		d.refused(finding.ExitInvalid, approve(yes, id, "SKMB-2026-06-11-002")) // all or none
		d.swap(race, "- status: "+status, "- status: accepted")
	}
	d.swap(root+"/decisions/2026-06-20-001-race.md", "- scope: ", "- scope ")
	d.refused(finding.ExitInvalid, approve(yes, id))
}

func TestSeveralAreApprovedAtOnce(t *testing.T) {
	d := fresh(t)
	one, two := d.submitted(payload("One")), d.submitted(payload("Two"))
	if done := d.approved(two, one); !slices.Equal(done.IDs, []string{two, one}) || len(done.Files) != 3 {
		t.Errorf("got %+v", done)
	}
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestAnApprovedTextThatChangedIsApprovedAgain(t *testing.T) {
	d := newDesk(t, plain)
	d.swap(race, "- status: accepted", "- status: Accepted; implemented")
	d.approved("SKMB-2026-06-11-002")
	d.swap(race, "The first committed", "The last committed")
	if got := d.codes(); got != "approval-invalid SKMB-2026-06-11-002" {
		t.Errorf("got %s", got)
	}
	d.approved("SKMB-2026-06-11-002")
	d.fields("SKMB-2026-06-11-002", map[string]string{"status": "Accepted; implemented", "approval": "statement sha256:" + lastWinsDigest})
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
}

// typed is a yes on a terminal, which lets something happen while it is waited for.
func typed(meanwhile func(approval.Statement) error) Yes {
	return Yes{
		Confirm: func(s approval.Statement) (approval.Given, error) {
			proof := approval.Proof{Foreground: true, Tries: 1, ShownSHA256: string(store.DigestOf([]byte(s.Text())))}
			return approval.Given{Method: approval.MethodTerminal, Statement: s, Proof: proof}, meanwhile(s)
		},
		Repository: func() (string, []byte, error) { return strings.Repeat("ab", 16), nil, nil },
		Basis:      boundary.Basis{Commit: strings.Repeat("1", 40), Tree: strings.Repeat("2", 40)},
	}
}

func TestAYesOnATerminalLeavesItsRecord(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	var shown approval.Statement
	done, err := d.Approve(ctx, []string{id}, typed(func(s approval.Statement) error { shown = s; return nil }))
	must(t, err)
	r := d.record(id)
	if shown.Domain != "skmb" || shown.Action != "approve" || shown.Subject != id || shown.Digest != r.Digest() || !strings.Contains(shown.Card, "The first committed answer wins.") {
		t.Errorf("shown was %+v", shown)
	}
	a, ok := parseApproval(r.value("approval"))
	if !ok || a.Method != "terminal" || a.RecordID == "" || !slices.Contains(done.Files, approval.Path(a.RecordID)) {
		t.Fatalf("the approval is %q, the files are %q", r.value("approval"), done.Files)
	}
	var kept approval.Record
	must(t, json.Unmarshal([]byte(d.read(approval.Path(a.RecordID))), &kept))
	if kept.ID != a.RecordID || kept.Method != "terminal" || kept.Statement != shown.Text() || kept.By != (approval.Person{Name: "A. Person", Email: "a@example.org"}) || kept.Basis.Commit != strings.Repeat("1", 40) {
		t.Errorf("the record is %+v", kept)
	}
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
	must(t, os.Remove(d.path(approval.Path(a.RecordID))))
	if got := d.codes(); got != "approval-invalid "+id {
		t.Errorf("without its record got %s", got)
	}
}

func TestAYesIsForTheTextThatWasShown(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	name := root + "/decisions/2026-06-20-001-race.md"
	var before map[string]string
	_, err := d.Approve(ctx, []string{id}, typed(func(approval.Statement) error {
		d.swap(name, "The first committed", "The last committed")
		before = d.everything()
		return nil
	}))
	var stale *StaleError
	if !errors.As(err, &stale) || stale.ExitCode() != finding.ExitStale || !maps.Equal(before, d.everything()) {
		t.Errorf("got %v, and the text is\n%s", err, d.read(name))
	}

	// An editorial change is none.
	_, err = d.Approve(ctx, []string{id}, typed(func(approval.Statement) error {
		d.swap(name, "Two operators can answer at once.", "Two operators may answer at once.")
		return nil
	}))
	must(t, err)
	if !strings.Contains(d.read(name), "Two operators may") {
		t.Error("what was written meanwhile is lost")
	}
	declined := errors.New("declined")
	d.swap(race, "- status: accepted", "- status: proposed")
	d.unchanged(func() {
		if _, err := d.Approve(ctx, []string{"SKMB-2026-06-11-002"}, typed(func(approval.Statement) error { return declined })); !errors.Is(err, declined) {
			t.Errorf("got %v", err)
		}
	})
}

func TestADefaultIsPermittedUntilADate(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	permit := func(by string) func() error {
		return func() error { _, err := d.PermitDefault(ctx, id, by, Yes{Statement: "go on for now"}); return err }
	}
	for _, by := range []string{"", "soon", "2026-02-30", "2026-6-30", "2026-06-19"} {
		d.refused(finding.ExitInvalid, permit(by))
	}
	must(t, permit(day)()) // today is not past
	must(t, permit("2026-09-01")())
	d.fields(id, map[string]string{"status": "statistical_default", "permitted_by": "designer", "decided_by": "pending", "review_by": "2026-09-01", "approval_source": "go on for now"})
	r, ok := d.row(defaults, id)
	if want := "| SKMB-2026-06-20-001 | C, F | approval workflow | The first committed answer wins. | go on for now | 2026-09-01 | decisions/2026-06-20-001-race.md |\n"; !ok || string(r.line.In(r.index.doc.Source())) != want {
		t.Errorf("among the defaults stands %q, want %q", r.line.In(r.index.doc.Source()), want)
	}
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
	if got, want := fmt.Sprint(load(t, d.tree()).Debts(day)), fmt.Sprint([]Debt{{id, "Race", "2026-09-01", false}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	d.now = d.now.AddDate(0, 3, 0)
	if got := d.codes(); got != "default-expired "+id {
		t.Errorf("past the date got %s", got)
	}
	must(t, permit("2026-12-01")())
	if r, _ := d.row(defaults, id); r.text("review_by") != "2026-12-01" || d.codes() != "" {
		t.Errorf("renewed, the row says %q, the checks %q", r.text("review_by"), d.codes())
	}
	d.approved(id)
	if _, ok := d.row(defaults, id); ok || d.record(id).Status != Accepted || d.codes() != "" {
		t.Errorf("approved, it is %s, still among the defaults: %v, the checks say %q", d.record(id).Status, ok, d.codes())
	}
	d.refused(finding.ExitInvalid, permit("2026-12-01"))
}

func TestAProposalEndsWithAReason(t *testing.T) {
	for event, want := range map[Event]Status{EventReject: Rejected, EventWithdraw: Withdrawn} {
		t.Run(string(event), func(t *testing.T) {
			d := newDesk(t, plain)
			id := d.submitted(payload("Race"))
			end := func(id, reason string) func() error {
				return func() error { _, err := d.End(ctx, event, id, reason); return err }
			}
			for _, reason := range []string{"", "...", "n/a", "one\ntwo"} {
				d.refused(finding.ExitInvalid, end(id, reason))
			}
			d.refused(finding.ExitInvalid, end("SKMB-2026-06-11-002", "we think otherwise now"))
			must(t, end(id, "cannot occur | any *more*")())
			d.fields(id, map[string]string{"status": string(want), "reason": "cannot occur | any *more*", "decided_by": "pending"})
			if r, _ := d.row(decisions, id); r.text("status") != string(want) || d.codes() != "" {
				t.Errorf("the row says %q, the checks %q", r.text("status"), d.codes())
			}
			d.refused(finding.ExitInvalid, end(id, "again"))
			if next := d.submitted(payload("Another")); next != "SKMB-2026-06-20-002" {
				t.Errorf("the number was used again: %s", next)
			}
		})
	}
}

func TestAQuestionIsKeptVisible(t *testing.T) {
	d := newDesk(t, plain)
	done, err := d.Open(ctx, Question{Patterns: "g, c_x", Context: "who | wins?", NeededBefore: "the *write* path"})
	must(t, err)
	if !slices.Equal(done.IDs, []string{"OPEN-002"}) || !slices.Equal(done.Files, []string{indexFile}) {
		t.Errorf("got %+v", done)
	}
	done, err = d.Open(ctx, Question{Context: "and then?", Paths: []string{"a/**", "b|c.go"}})
	must(t, err)
	want := []OpenRow{
		{"OPEN-001", []string{"D"}, "who pays for a retried call?", "the billing adapter", []string{}},
		{"OPEN-002", []string{"C", "G"}, "who | wins?", "the *write* path", []string{}},
		{done.IDs[0], []string{}, "and then?", "", []string{"a/**", "b|c.go"}},
	}
	if got := load(t, d.tree()).Questions(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
	for _, q := range []Question{{Context: strings.Repeat("*", 3000)}, {Context: "x", Paths: []string{"a,b"}}, {Context: "x", Paths: slices.Repeat([]string{"**"}, 1500)}, {}, {Context: " "}, {Context: "x", Patterns: "H"}, {Context: "a\nb"}, {Context: "x", Paths: []string{"a\x00"}}} {
		d.refused(finding.ExitInvalid, func() error { _, err := d.Open(ctx, q); return err })
	}
}

func TestAQuestionFindsOrMakesItsTable(t *testing.T) {
	const title = "# State Machine Knowledge Base\n"
	q := Question{Patterns: "C", Context: "who wins?", NeededBefore: "the write path", Paths: []string{"a/**", "b.go"}}
	want := []OpenRow{{"OPEN-001", []string{"C"}, "who wins?", "the write path", []string{"a/**", "b.go"}}}
	for claim, index := range map[string]string{
		"no section":           title,
		"a section":            title + "\n## Open Decisions\nNone so far.\n",
		"a table":              title + "\n## Open Decisions\n\nid | pattern | context | needed_before\n--|--|--|--\n",
		"a table of its paths": title + "\n## Open Decisions\n\n| paths | needed before | Context | ID | pattern |\n|--|--|--|--|--|\n",
	} {
		t.Run(claim, func(t *testing.T) {
			d := newDesk(t, map[string]string{indexFile: index, root + "/decisions/.gitkeep": ""})
			_, err := d.Open(ctx, q)
			must(t, err)
			if got := load(t, d.tree()).Questions(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("got\n%q\nwant\n%q, in\n%s", got, want, d.read(indexFile))
			}
			if got := d.codes(); got != "" {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("a table that has no place for it", func(t *testing.T) {
		d := newDesk(t, map[string]string{indexFile: title + "\n## Open Decisions\n\n| id | question |\n|--|--|\n", root + "/decisions/.gitkeep": ""})
		d.refused(finding.ExitInvalid, func() error { _, err := d.Open(ctx, q); return err })
	})
}

func TestAProposalBecomesAQuestionAgain(t *testing.T) {
	d := newDesk(t, plain)
	p := payload("Race")
	p.Paths = []string{"a/**"}
	id := d.submitted(p)
	done, err := d.Reopen(ctx, id)
	must(t, err)
	if !slices.Equal(done.IDs, []string{id, "OPEN-002"}) {
		t.Errorf("got %+v", done)
	}
	d.fields(id, map[string]string{"status": "withdrawn", "reason": "open again as OPEN-002"})
	q, ok := load(t, d.tree()).OpenQuestion("OPEN-002")
	if want := (OpenRow{"OPEN-002", []string{"C", "F"}, "Two operators can answer at once. (was " + id + ")", "the write path", []string{"a/**"}}); !ok || fmt.Sprint(q) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", q, want)
	}
	if got := d.codes(); got != "" {
		t.Errorf("got %s", got)
	}
	d.refused(finding.ExitInvalid, func() error { _, err := d.Reopen(ctx, id); return err })
	d.refused(finding.ExitInvalid, func() error { _, err := d.Reopen(ctx, "SKMB-2026-06-11-002"); return err })
	if next := d.submitted(p); next != "SKMB-2026-06-20-002" {
		t.Errorf("the number was used again: %s", next)
	}
}

func (d *desk) supersede(old, by string, partial bool) func() error {
	return func() error {
		_, err := d.Supersede(ctx, old, by, partial, Yes{Statement: "the new policy replaces it"})
		return err
	}
}

func TestARecordReplacesAnother(t *testing.T) {
	const one, two, three = "SKMB-2026-06-11-001", "SKMB-2026-06-11-002", "SKMB-2026-06-11-003"
	t.Run("whole: it is approved again, the old one names it", func(t *testing.T) {
		d := newDesk(t, plain)
		must(t, d.supersede(two, three, false)())
		d.fields(two, map[string]string{"status": "superseded", "superseded_by": three, "decided_by": "designer"})
		d.fields(three, map[string]string{"status": "accepted", "approval_source": "the new policy replaces it", "approval": "statement sha256:" + d.record(three).Digest()})
		if got := d.record(three).Section("Supersedes"); got != "- "+two {
			t.Errorf("got %q", got)
		}
		if got := d.codes(); got != "" {
			t.Errorf("got %s", got)
		}
		d.refused(finding.ExitInvalid, d.supersede(two, one, false)) // it was replaced already
		d.refused(finding.ExitInvalid, d.supersede(one, two, false)) // it is not accepted any more
	})
	t.Run("in part: the old one stays accepted", func(t *testing.T) {
		d := newDesk(t, plain)
		must(t, d.supersede(two, three, true)())
		if got := d.record(three).Section("Supersedes"); got != "- "+two+" (partial)" || d.record(two).Status != Accepted || d.codes() != "" {
			t.Errorf("got %q, %s is %s, the checks say %q", got, two, d.record(two).Status, d.codes())
		}
		must(t, d.supersede(two, three, false)()) // and then whole
		if d.record(two).Status != Superseded || d.codes() != "" {
			t.Errorf("%s is %s, the checks say %q", two, d.record(two).Status, d.codes())
		}
	})
	t.Run("by a proposal, which is accepted by it", func(t *testing.T) {
		d := newDesk(t, plain)
		id := d.submitted(payload("Race"))
		must(t, d.supersede(two, id, false)())
		if d.record(id).Status != Accepted || d.record(two).Status != Superseded || d.codes() != "" {
			t.Errorf("%s is %s, %s is %s, the checks say %q", id, d.record(id).Status, two, d.record(two).Status, d.codes())
		}
	})
	t.Run("at approval, if it named it from the start", func(t *testing.T) {
		d := newDesk(t, plain)
		p := payload("Race")
		p.Supersedes = []SupersededRef{{two}, {"SKMB-003"}}
		id := d.submitted(p)
		if d.record(two).Status != Accepted {
			t.Error("a proposal replaced a record")
		}
		done := d.approved(id)
		if !slices.Equal(slices.Sorted(slices.Values(done.IDs)), []string{two, three, id}) || len(done.Files) != 4 {
			t.Errorf("got %+v", done)
		}
		d.fields(two, map[string]string{"status": "superseded", "superseded_by": id})
		d.fields(three, map[string]string{"status": "superseded", "superseded_by": id})
		if got := d.codes(); got != "" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("at approval, one whole and one in part", func(t *testing.T) {
		d := newDesk(t, plain)
		d.swap(race, "- status: accepted", "- status: proposed")
		d.swap(race, "None.", "- SKMB-001 (partial)\n- SKMB-003\n- SKMB-002")
		d.approved(two)
		if d.record(one).Status != Accepted || d.record(two).Status != Accepted || d.record(three).Status != Superseded {
			t.Errorf("%s, %s, %s", d.record(one).Status, d.record(two).Status, d.record(three).Status)
		}
	})
	t.Run("what it names already needs no new yes", func(t *testing.T) {
		d := newDesk(t, plain)
		d.swap(restart, "None.", "- "+two)
		done, err := d.Supersede(ctx, two, three, false, Yes{})
		if err != nil || !slices.Equal(done.IDs, []string{three, two}) || d.codes() != "" {
			t.Errorf("got %+v, %v, the checks say %q", done, err, d.codes())
		}
	})
	t.Run("what it names since its approval needs a new yes", func(t *testing.T) {
		d := newDesk(t, plain)
		d.approved(three)
		d.swap(restart, "None.", "- "+two)
		d.refused(finding.ExitInvalid, func() error { _, err := d.Supersede(ctx, two, three, false, Yes{}); return err })
		must(t, d.supersede(two, three, false)())
		if d.record(two).Status != Superseded || d.codes() != "" {
			t.Errorf("%s is %s, the checks say %q", two, d.record(two).Status, d.codes())
		}
	})
	t.Run("a default is replaced too", func(t *testing.T) {
		d := newDesk(t, plain)
		id := d.submitted(payload("Race"))
		_, err := d.PermitDefault(ctx, id, "2026-09-01", Yes{Statement: "for now"})
		must(t, err)
		must(t, d.supersede(id, three, false)())
		if _, there := d.row(defaults, id); there || d.record(id).Status != Superseded || d.codes() != "" {
			t.Errorf("%s is %s, the checks say %q", id, d.record(id).Status, d.codes())
		}
	})
	t.Run("refused", func(t *testing.T) {
		d := newDesk(t, plain)
		id := d.submitted(payload("Race"))
		_, err := d.End(ctx, EventReject, id, "not needed")
		must(t, err)
		d.refused(finding.ExitInvalid, d.supersede(two, two, false))
		d.refused(finding.ExitInvalid, d.supersede(two, id, false))
		d.refused(finding.ExitInvalid, d.supersede(id, two, false))
		d.refused(finding.ExitInvalid, d.supersede("OPEN-001", two, false))
		d.refused(finding.ExitInvalid, d.supersede(two, "SKMB-099", true))
		d.swap(restart, "A restart resumes waiting.", "```\nA restart resumes waiting.")
		d.swap(restart, "## Supersedes\n\nNone.\n", "")
		d.refused(finding.ExitInvalid, d.supersede(two, three, false)) // the fence would swallow it
	})
}

func TestAResultWithANewErrorIsRefused(t *testing.T) {
	t.Run("a circle", func(t *testing.T) {
		d := newDesk(t, plain)
		d.swap(race, "None.", "- SKMB-003 (partial)")
		err := d.refused(finding.ExitInvalid, d.supersede("SKMB-002", "SKMB-003", false))
		if err == nil || !strings.Contains(err.Error(), "skmb/supersede-cycle") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a question whose file would lose its row", func(t *testing.T) {
		d := newDesk(t, plain)
		d.put(root+"/decisions/open-001.md", "# OPEN-001: Who pays?\n\n- patterns: D\n")
		d.swap(indexFile, "the billing adapter | - |", "the billing adapter | decisions/open-001.md |")
		err := d.refused(finding.ExitInvalid, func() error { _, _, err := d.submit(payload("Who pays"), "OPEN-001"); return err })
		if err == nil || !strings.Contains(err.Error(), "skmb/file-without-row") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an error that was there before stands in nobody's way", func(t *testing.T) {
		d := newDesk(t, plain)
		d.swap(restart, "- decided_by: designer", "- decided_by: a model")
		id := d.submitted(payload("Race"))
		d.approved(id)
		if got := d.codes(); got != "not-designer SKMB-2026-06-11-003" {
			t.Errorf("got %s", got)
		}
	})
}

func TestWithoutAReadableBaseNothingIsWritten(t *testing.T) {
	for claim, files := range map[string]map[string]string{
		"no base":                       {"README.md": "x"},
		"no index":                      {race: plain[race]},
		"an index that cannot be read":  {indexFile: "\xff", race: plain[race]},
		"a section that stands twice":   {indexFile: plain[indexFile] + "\n## Decision Index\n", race: plain[race], notifier: plain[notifier], restart: plain[restart]},
		"a table nested beyond reading": {indexFile: strings.Repeat("> ", 40) + plain[indexFile], race: plain[race]},
	} {
		t.Run(claim, func(t *testing.T) {
			d := newDesk(t, files)
			d.refused(finding.ExitInvalid, func() error { _, _, err := d.submit(payload("Race"), ""); return err })
			d.refused(finding.ExitInvalid, func() error { _, err := d.Index(ctx); return err })
			d.refused(finding.ExitInvalid, func() error { _, err := d.Open(ctx, Question{Context: "who?"}); return err })
		})
	}
}

// A file that changes between reading and writing is never overwritten.
func TestWhatSomebodyElseWroteMeanwhileStays(t *testing.T) {
	d := newDesk(t, plain)
	id := d.submitted(payload("Race"))
	stale := d.tree()
	load(t, stale) // a snapshot keeps what it has read
	d.swap(root+"/decisions/2026-06-20-001-race.md", "Two operators can", "Two operators may")
	d.Writer.Tree = func() finding.Tree { return stale }
	d.unchanged(func() {
		if _, err := d.Approve(ctx, []string{id}, Yes{Statement: "yes"}); !errors.Is(err, store.ErrStale) {
			t.Errorf("got %v", err)
		}
	})
}

func TestABaseMayBeTheTopOfTheRepository(t *testing.T) {
	d := newDesk(t, map[string]string{"SKMB.md": plain[indexFile], "decisions/001-notifier.md": plain[notifier], "decisions/002-race.md": plain[race], "decisions/003-restart.md": plain[restart]})
	d.Writer.Root = "."
	a, done, err := d.submit(payload("Race"), "")
	if err != nil || !slices.Equal(done.Files, []string{"SKMB.md", "decisions/2026-06-20-001-race.md"}) {
		t.Fatalf("got %+v, %v", done, err)
	}
	_, err = d.PermitDefault(ctx, a.IDs[0], "2026-09-01", Yes{Statement: "for now"})
	must(t, err)
	if got := judge(t, Options{Roots: []string{"."}}, d.tree()); len(got) > 0 {
		t.Errorf("got%s", list(got))
	}
	before := d.read("SKMB.md")
	if _, err := d.Index(ctx); err != nil || d.read("SKMB.md") != before {
		t.Errorf("%v, the index became\n%s", err, d.read("SKMB.md"))
	}
}

func TestTheIndexIsWrittenOnceAndThenLeftAlone(t *testing.T) {
	d := newDesk(t, plain)
	d.swap(race, "- status: accepted", "- status: rejected")
	done, err := d.Index(ctx)
	if err != nil || !slices.Equal(done.Files, []string{indexFile}) || d.codes() != "" {
		t.Errorf("got %+v, %v, the checks say %q", done, err, d.codes())
	}
	d.unchanged(func() {
		if done, err := d.Index(ctx); err != nil || len(done.Files) > 0 {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}

func TestParallelProposalsGetNumbersOfTheirOwn(t *testing.T) {
	d := fresh(t)
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			data, err := json.Marshal(payload(fmt.Sprintf("Proposal %d", i)))
			if err != nil {
				t.Error(err)
				return
			}
			a, _, err := d.Submit(ctx, bytes.NewReader(data), "")
			if err != nil || len(a.IDs) != 1 {
				t.Errorf("%+v, %v", a, err)
				return
			}
			ids[i] = a.IDs[0]
		})
	}
	wg.Wait()
	slices.Sort(ids)
	for i, id := range ids {
		if want := fmt.Sprintf("SKMB-2026-06-20-%03d", i+1); id != want {
			t.Errorf("got %s, want %s", id, want)
		}
	}
	b := load(t, d.tree())
	if len(b.Records) != len(ids) || len(b.Index.rows(decisions)) != len(ids) {
		t.Errorf("%d files, %d rows", len(b.Records), len(b.Index.rows(decisions)))
	}
}

func TestEveryVerbLeavesALine(t *testing.T) {
	d := fresh(t)
	id := d.submitted(payload("Race"))
	d.approved(id)
	data, err := os.ReadFile(filepath.Join(d.dir, "private", "log", "calls-0001.jsonl"))
	must(t, err)
	log := string(data)
	for _, want := range []string{`"command":"skmb submit"`, `"command":"skmb approve"`, `"id":"` + id + `"`, `"verdict":"accepted"`, `"outputs":[{`} {
		if strings.Count(log, "\n") != 2 || !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
}

func TestTheNextNumberIsFree(t *testing.T) {
	const empty = "# State Machine Knowledge Base\n"
	cases := []struct {
		claim string
		files map[string]string
		want  string
	}{
		{"the first of the day", nil, "001"},
		{"behind a file's", map[string]string{root + "/decisions/x.md": record("SKMB-2026-06-20-007")}, "008"},
		{"behind a row's", map[string]string{indexFile: "## Decision Index\n\n| id | status | file |\n|---|---|---|\n| SKMB-2026-06-20-041 | withdrawn | - |\n"}, "042"},
		{"behind an open row's", map[string]string{indexFile: "## Open Decisions\n\n| id |\n|---|\n| SKMB-2026-06-20-041 |\n"}, "042"},
		{"behind the name of a file that cannot be read", map[string]string{root + "/decisions/2026-06-20-012-x.md": "x"}, "013"},
		{"gaps are not filled", map[string]string{root + "/decisions/x.md": record("SKMB-2026-06-20-001"), root + "/decisions/y.md": record("SKMB-2026-06-20-003")}, "004"},
		{"behind 999", map[string]string{root + "/decisions/x.md": record("SKMB-2026-06-20-999")}, "1000"},
		{"behind 1000, by the name", map[string]string{root + "/decisions/2026-06-20-1000-x.md": "x"}, "1001"},
		{"another day does not count", map[string]string{root + "/decisions/2026-06-19-007-x.md": record("SKMB-2026-06-19-007")}, "001"},
		{"a slug does not count", map[string]string{root + "/decisions/x.md": record("SKMB-2026-06-20-notifier-9")}, "001"},
		{"a short name counts too", map[string]string{root + "/decisions/2026-06-20-.md": "x", root + "/decisions/2026-06-20-12.md": "x"}, "013"},
		{"a number that is too large for one", map[string]string{root + "/decisions/x.md": record("SKMB-2026-06-20-9223372036854775807")}, "001"},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			files := map[string]string{indexFile: empty, root + "/decisions/.gitkeep": ""}
			maps.Copy(files, c.files)
			got := draftOf(t, treeOf(files)).nextID("2026-06-20")
			if got != "SKMB-2026-06-20-"+c.want || !ValidID(got) {
				t.Errorf("got %s, want …-%s", got, c.want)
			}
		})
	}
}

func TestAFileIsNamedByDateNumberAndTitle(t *testing.T) {
	cases := []struct{ claim, title, want string }{
		{"words", "Approval Notifier Failure", "2026-06-20-001-approval-notifier-failure.md"},
		{"marks become one dash", "  A -- b: c/d\\e ..", "2026-06-20-001-a-b-c-d-e.md"},
		{"letters that are not ASCII", "Größe für Übung 3", "2026-06-20-001-gr-e-f-r-bung-3.md"},
		{"no ASCII at all", "同意", "2026-06-20-001.md"},
		{"nothing", "", "2026-06-20-001.md"},
		{"120 characters", strings.Repeat("abcdefghi ", 12), "2026-06-20-001-" + strings.Repeat("abcdefghi-", 5) + "abcdefghi.md"},
		{"120 characters in one word", strings.Repeat("x", 120), "2026-06-20-001-" + strings.Repeat("x", 60) + ".md"},
		{"120 characters of another script", strings.Repeat("字", 120), "2026-06-20-001.md"},
		{"cut at a dash", strings.Repeat("x", 59) + " y", "2026-06-20-001-" + strings.Repeat("x", 59) + ".md"},
		{"a path", "../../etc/passwd", "2026-06-20-001-etc-passwd.md"},
		{"a Kelvin sign", "300 \u212a", "2026-06-20-001-300-k.md"},
		{"a dotted I", "\u0130x", "2026-06-20-001-ix.md"},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			if got := fileName(first, c.title); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
