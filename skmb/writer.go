package skmb

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// Writer changes a base on disk. Each verb changes index and decision files in one
// transaction of the store and runs the checks on the result before it is published.
// Nothing is staged.
type Writer struct {
	Store *store.Store
	Tree  func() finding.Tree // the files on disk, as they are at the call
	Root  string              // base
	Env   boundary.Env
	Tool  string

	Policy Options // what the checks of a result are given: the level of a yes, and who may sign

	// Elsewhere returns the names of decision files on all branches, so that parallel branches
	// seldom give one number twice. nil: only this tree is looked at.
	Elsewhere func(ctx context.Context) ([]string, error)
}

// treeRoot is the store's name for the top of the worktree.
const treeRoot = "tree"

// Done is what a verb did.
type Done struct {
	IDs   []string
	Files []string // changed, to be added

	result func(store.LogRef) error // keeps the answer, once the audit entry has its place
}

func (w *Writer) today() string { return w.Env.Now().UTC().Format(time.DateOnly) }

// change makes a draft, lets edit work on it, checks the result and publishes it.
func (w *Writer) change(ctx context.Context, verb string, edit func(*store.Tx, *draft, *Done) error) (Done, error) {
	var done Done
	_, err := w.Store.Update(ctx, func(tx *store.Tx) error {
		done = Done{}
		d, err := newDraft(w.Tree(), w.Root)
		if err != nil {
			return err
		}
		if err := edit(tx, d, &done); err != nil || len(d.files) == 0 {
			return err
		}
		if err := w.verify(ctx, d, done.IDs); err != nil {
			return err
		}
		outputs := []map[string]any{}
		for name, data := range d.files {
			n := store.Name{Root: treeRoot, Path: name}
			before, err := d.before(name)
			if err != nil {
				return err
			}
			if err := tx.Put(store.Record, n, data, before); err != nil {
				return err
			}
			done.Files = append(done.Files, name)
			outputs = append(outputs, map[string]any{"path": name, "sha256": store.DigestOf(data)})
		}
		slices.Sort(done.Files)
		slices.SortFunc(outputs, func(a, b map[string]any) int { return strings.Compare(a["path"].(string), b["path"].(string)) })
		ref, err := tx.Append("log/calls", map[string]any{
			"at": w.Env.Now().UTC().Format(time.RFC3339), "tool": w.Tool, "command": "skmb " + verb, "ids": done.IDs, "outputs": outputs,
		})
		if err == nil && done.result != nil {
			err = done.result(ref)
		}
		return err
	})
	return done, err
}

// before is the digest of a file as the draft read it.
func (d *draft) before(name string) (store.Digest, error) {
	if info, err := stat(d.tree, name); err != nil || info == nil {
		return "", err
	}
	data, err := d.tree.ReadFile(name)
	return store.DigestOf(data), err
}

// verify refuses a result that has an error which was not there before. That the record
// just written is undecided is no error here.
func (w *Writer) verify(ctx context.Context, d *draft, ids []string) error {
	o := w.Policy
	o.Roots, o.Today = []string{w.Root}, w.today()
	errorsOf := func(t finding.Tree) (finding.Result, map[string]bool) {
		res := finding.Run(Checks(o), finding.Pass{Ctx: ctx, New: t})
		have := map[string]bool{}
		for i, print := range finding.Fingerprints(res.Findings) {
			if res.Findings[i].Severity == finding.Error {
				have[print] = true
			}
		}
		return res, have
	}
	_, before := errorsOf(d.tree)
	after, _ := errorsOf(&overlay{d.tree, d.files})
	if len(after.Unchecked) > 0 {
		return fmt.Errorf("the result could not be checked: %s", after.Unchecked[0].Message)
	}
	var lines []string
	for i, print := range finding.Fingerprints(after.Findings) {
		f := after.Findings[i]
		if f.Severity == finding.Error && !before[print] && !(f.Code == "skmb/unresolved" && slices.Contains(ids, f.Key)) && !slices.Contains(d.tolerated, f.Code) {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", f.Place(), f.Code, f.Message))
		}
	}
	if len(lines) > 0 {
		return &InputError{"the result would not pass its own checks; nothing was changed:\n" + strings.Join(lines, "\n"), "skmb check --worktree shows what is wrong on disk by now"}
	}
	return nil
}

// Submit takes a model's proposal: a proposed record and its row. An equal proposal whose
// record is still proposed gives the same answer and no second record. from names the
// OPEN question that it answers, "" for none.
func (w *Writer) Submit(ctx context.Context, in io.Reader, from string) (boundary.Answer, Done, error) {
	var done Done
	rules := func(p *boundary.Payload[DecisionPayload]) {
		if b, err := Load(w.Tree(), w.Root); err == nil && b != nil {
			payloadRules(b, p)
		}
	}
	answer, err := boundary.Submit(ctx, DecisionKind, in, rules, func(ctx context.Context, p *boundary.Payload[DecisionPayload]) (a boundary.Answer, err error) {
		done, err = w.change(ctx, "submit", func(tx *store.Tx, d *draft, done *Done) error {
			key := "skmb-decision\x00" + w.Root + "\x00" + from + "\x00" + p.Request
			prior, seen, err := tx.Once(key, store.Digest(p.Request))
			if err != nil {
				return err
			}
			if seen && json.Unmarshal(prior, &a) == nil && len(a.IDs) == 1 {
				if r, err := d.record(a.IDs[0]); err == nil && r.Status == Proposed {
					a.Replayed, done.IDs = true, a.IDs
					return nil
				}
			}
			a = boundary.Answer{}
			payloadRules(d.base, p) // under the lock, on the base as it is now
			if err := p.Err(); err != nil {
				return err
			}
			id, err := w.addProposal(ctx, d, p.Value, from)
			if err != nil {
				return err
			}
			done.IDs, a.IDs = []string{id}, []string{id}
			done.result = func(ref store.LogRef) error {
				a.AuditID = fmt.Sprintf("%s:%d", ref.Log, ref.Seq)
				value, err := json.Marshal(a)
				if err != nil {
					return err
				}
				return tx.Result(value)
			}
			return nil
		})
		return a, err
	})
	return answer, done, err
}

func (w *Writer) addProposal(ctx context.Context, d *draft, p DecisionPayload, from string) (string, error) {
	if from != "" {
		x, err := d.index()
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(x.rows(opens), func(r row) bool { return r.id() == from }) {
			return "", &InputError{fmt.Sprintf("there is no open question %s", from), "skmb list --status open"}
		}
		if err := d.removeRow(opens, from); err != nil {
			return "", err
		}
	}
	if w.Elsewhere != nil {
		names, err := w.Elsewhere(ctx)
		if err != nil {
			return "", err
		}
		d.elsewhere = names
	}
	id := d.nextID(w.today())
	name := path.Join(DecisionsDir(d.root), fileName(id, p.Title))
	data := p.Markdown(id, w.today())
	r, problem := parseRecord(name, data)
	if problem != nil || r.ID != id {
		return "", fmt.Errorf("the record that was made does not read back: %+v", problem)
	}
	d.files[name] = data
	d.base.byID[id] = r
	d.base.know(id)
	return id, d.syncRows(id)
}

// nextID is the day and the next free number over files and rows, also of records that
// were withdrawn or rejected.
func (d *draft) nextID(day string) string {
	prefix := "SKMB-" + day + "-"
	most := 0
	count := func(number string) {
		if n, err := strconv.ParseUint(number, 10, 30); err == nil { // a larger one is nobody's count
			most = max(most, int(n))
		}
	}
	for id := range d.base.known {
		if number, ok := strings.CutPrefix(id, prefix); ok {
			count(number)
		}
	}
	names := slices.Clone(d.elsewhere)
	for _, r := range d.base.Records { // a file whose title cannot be read keeps its number too
		names = append(names, path.Base(r.Path))
	}
	for _, name := range names {
		if number, ok := strings.CutPrefix(name, day+"-"); ok {
			count(number[:len(number)-len(strings.TrimLeft(number, "0123456789"))])
		}
	}
	return fmt.Sprintf("%s%03d", prefix, most+1)
}

// fileName is "<date>-<nnn>-<slug>.md": the title's ASCII letters and digits, 60 at most.
func fileName(id, title string) string {
	var slug strings.Builder
	for _, c := range strings.ToLower(title) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			slug.WriteRune(c)
		case slug.Len() > 0 && !strings.HasSuffix(slug.String(), "-"):
			slug.WriteByte('-')
		}
	}
	s := strings.Trim(slug.String()[:min(60, slug.Len())], "-")
	return strings.TrimSuffix(strings.TrimPrefix(id, "SKMB-")+"-"+s, "-") + ".md"
}

// Yes is how a designer said yes.
type Yes struct {
	Statement string // the words, for the statement method
	From      string // where they were said: chat, issue, mail or meeting; "" if not told

	// Confirm gets the yes to a statement, on a terminal or by a signature; nil for the
	// statement method.
	Confirm    func(approval.Statement) (approval.Given, error)
	Repository func(*store.Tx) (string, error) // the repository's id, made if there is none
	Basis      boundary.Basis
	Digest     string // the digest of the text that was shown before; "" if none was
}

// Approve records a designer's yes to records. When a record named others under
// Supersedes from the start, those are superseded in the same transaction.
func (w *Writer) Approve(ctx context.Context, refs []string, yes Yes) (Done, error) {
	return w.grant(ctx, act{verb: "approve", event: EventApprove}, refs, yes)
}

// PermitDefault records a designer's permission to go on without a decision until a date.
func (w *Writer) PermitDefault(ctx context.Context, ref, reviewBy string, yes Yes) (Done, error) {
	if !validDate(reviewBy) {
		return Done{}, &InputError{fmt.Sprintf("%q is no date", reviewBy), "write --review-by YYYY-MM-DD"}
	}
	if reviewBy < w.today() {
		return Done{}, &InputError{fmt.Sprintf("the review date %s is past", reviewBy), "name a day to come"}
	}
	return w.grant(ctx, act{verb: "permit-default", event: EventPermitDefault, after: func(d *draft, id string) error {
		if err := d.setField(id, "review_by", reviewBy); err != nil {
			return err
		}
		return d.setField(id, "permitted_by", "designer")
	}}, []string{ref}, yes)
}

// act is something that needs a yes. before changes the text that the yes is for; after
// adds what the yes brings.
type act struct {
	verb   string
	event  Event
	before func(*draft) error
	after  func(d *draft, id string) error
}

// given is a yes to one record.
type given struct {
	approval.Given
	digest string
}

func (w *Writer) grant(ctx context.Context, a act, refs []string, yes Yes) (Done, error) {
	said, err := w.ask(ctx, a, refs, yes)
	if err != nil {
		return Done{}, err
	}
	name, email, err := w.Env.Who(ctx)
	if err != nil {
		return Done{}, err
	}
	by := approval.Person{Name: name, Email: email}
	return w.change(ctx, a.verb, func(tx *store.Tx, d *draft, done *Done) error {
		if a.before != nil {
			if err := a.before(d); err != nil {
				return err
			}
		}
		for i, ref := range refs {
			r, err := d.record(ref)
			if err != nil {
				return err
			}
			if r.Digest() != said[i].digest {
				return &StaleError{fmt.Sprintf("%s changed since its text was shown; nothing was approved", r.ID)}
			}
			if err := w.record(d, r, a.event, said[i], by, yes); err != nil {
				return err
			}
			if a.event == EventApprove {
				if err := d.supersedeNamed(r, done); err != nil {
					return err
				}
			}
			if a.after != nil {
				if err := a.after(d, r.ID); err != nil {
					return err
				}
			}
			if err := d.syncRows(r.ID); err != nil {
				return err
			}
			done.IDs = append(done.IDs, r.ID)
		}
		return nil
	})
}

// record writes a yes into the decision file, and beside it where the method leaves proof.
func (w *Writer) record(d *draft, r *Record, event Event, said given, by approval.Person, yes Yes) error {
	to, err := next(r, event)
	if err != nil {
		return err
	}
	a := Approval{Method: approval.MethodStatement, Digest: said.digest}
	source := yes.Statement
	if yes.From != "" {
		source = yes.From + ": " + source
	}
	if yes.Confirm != nil {
		a.Method = said.Method
		source = "a code was typed on a terminal on " + w.today()
		if a.Method == approval.MethodSignature {
			source = "signed by " + said.Proof.Principal
		}
		id, data, err := approval.Seal(said.Given, by, yes.Basis, w.Tool, w.Env.Now())
		if err != nil {
			return err
		}
		a.RecordID = id
		d.files[approval.Path(id)] = data
	}
	status := string(to)
	if to == r.Status { // approved again: the word and its tail stay
		status = r.value("status")
	}
	values := []struct{ key, value string }{
		{"status", status}, {"approval_source", source}, {"approval", a.String()}, {"recorded_by", fmt.Sprintf("%s <%s>", by.Name, by.Email)}, {"date", w.today()},
	}
	if event == EventApprove {
		values = append(values, struct{ key, value string }{"decided_by", "designer"})
	}
	for _, v := range values {
		if err := d.setField(r.ID, v.key, v.value); err != nil {
			return err
		}
	}
	return nil
}

// ask gets the yes for each record before the lock is taken: a person may take a while.
func (w *Writer) ask(ctx context.Context, a act, refs []string, yes Yes) ([]given, error) {
	d, err := newDraft(w.Tree(), w.Root)
	if err != nil {
		return nil, err
	}
	if a.before != nil {
		if err := a.before(d); err != nil {
			return nil, err
		}
	}
	var repository string
	if yes.Confirm != nil {
		if _, err := w.Store.Update(ctx, func(tx *store.Tx) (err error) { repository, err = yes.Repository(tx); return err }); err != nil {
			return nil, err
		}
	}
	var out []given
	for i, ref := range refs {
		r, err := d.record(ref)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(refs[:i], func(other string) bool { o, err := d.record(other); return err == nil && o.ID == r.ID }) {
			return nil, &InputError{r.ID + " is named twice", "name each record once"}
		}
		if _, err := next(r, a.event); err != nil {
			return nil, err
		}
		if why := boundary.Unsafe(r.Card(), true); strings.HasPrefix(why, "holds the character") {
			return nil, &InputError{fmt.Sprintf("the text of %s %s: what is shown would not be what is approved", r.ID, why), "take the character out of " + r.Path}
		}
		g := given{digest: r.Digest()}
		if yes.Digest != "" && yes.Digest != g.digest {
			return nil, &StaleError{fmt.Sprintf("the text of %s has the digest %s, not the one that was shown; nothing was approved", r.ID, g.digest)}
		}
		if yes.Confirm != nil {
			statement := approval.Statement{Domain: "skmb", Action: a.verb, Subject: r.ID, Digest: g.digest, Repository: repository,
				Issued: w.Env.Now().UTC().Truncate(time.Second), Nonce: approval.NewNonce(), Card: finding.CleanLines(r.Card())}
			if g.Given, err = yes.Confirm(statement); err != nil {
				return nil, err
			}
		} else if isPlaceholder(yes.Statement) {
			return nil, &InputError{fmt.Sprintf("%q says nothing that a designer could have said", yes.Statement), `quote what was said: --statement "…"`}
		} else if yes.Statement != strings.Join(strings.Fields(yes.Statement), " ") {
			return nil, &InputError{"the statement has blanks at its ends or several in a row, which Markdown would not keep", "write single blanks"}
		} else if why := boundary.Unsafe(yes.Statement, false); why != "" {
			return nil, &InputError{"the statement " + why, "write it as one line of plain text"}
		}
		if g.Method == "" {
			g.Method = approval.MethodStatement
		}
		level := approval.LevelOf(g.Method)
		if g.Proof.Touch {
			level = approval.LevelTouch
		}
		if level < w.Policy.Required {
			return nil, &PolicyError{fmt.Sprintf("approval/level: the policy asks for a %s, this is a %s; nothing was approved", w.Policy.Required, level), "skmb approve " + r.ID + " without --statement, or with --sign"}
		}
		out = append(out, g)
	}
	return out, nil
}

// PolicyError is a yes that the policy does not take. Nothing was changed.
type PolicyError struct{ Text, Next string }

func (e *PolicyError) Error() string { return e.Text }

// ExitCode is the house's code for a gate that says no.
func (e *PolicyError) ExitCode() int { return finding.ExitFindings }

// StaleError is a world that changed since it was looked at.
type StaleError struct{ Text string }

func (e *StaleError) Error() string { return e.Text }

// ExitCode is the house's code for a stale plan.
func (e *StaleError) ExitCode() int { return finding.ExitStale }

// next is the status that an event leads to, or why it cannot happen.
func next(r *Record, event Event) (Status, error) {
	if !r.Known {
		return "", &InputError{fmt.Sprintf("%s has the unknown status %q", r.ID, r.value("status")), "correct the status first"}
	}
	to, ok := Next(r.Status, event)
	if !ok {
		return "", &InputError{fmt.Sprintf("%s is %s: %s is not possible", r.ID, r.Status, event), "skmb show " + r.ID}
	}
	return to, nil
}

// supersedeNamed marks what a record that has just been accepted names under Supersedes.
// A partial reference leaves the old record as it is.
func (d *draft) supersedeNamed(r *Record, done *Done) error {
	for _, ref := range r.supersedes() {
		ids := d.base.resolve(ref.Text)
		if ref.Partial || len(ids) != 1 || ids[0] == r.ID {
			continue
		}
		old, err := d.record(ids[0])
		if err != nil {
			return err
		}
		if old.Status == Superseded {
			continue
		}
		if err := d.markSuperseded(old, r.ID); err != nil {
			return err
		}
		done.IDs = append(done.IDs, old.ID)
	}
	return nil
}

func (d *draft) markSuperseded(old *Record, by string) error {
	to, err := next(old, EventSupersede)
	if err != nil {
		return err
	}
	if err := d.setField(old.ID, "status", string(to)); err != nil {
		return err
	}
	if err := d.setField(old.ID, "superseded_by", by); err != nil {
		return err
	}
	return d.syncRows(old.ID)
}

// End takes a proposed record back (withdraw) or says no to it (reject), with a reason.
// File and row stay; the number is never used again.
func (w *Writer) End(ctx context.Context, event Event, ref, reason string) (Done, error) {
	if isPlaceholder(reason) {
		return Done{}, &InputError{"a reason is needed", `write --reason "…"`}
	}
	if why := boundary.Unsafe(reason, false); why != "" {
		return Done{}, &InputError{"the reason " + why, "write it as one line of plain text"}
	}
	return w.change(ctx, string(event), func(tx *store.Tx, d *draft, done *Done) error {
		r, err := d.record(ref)
		if err != nil {
			return err
		}
		to, err := next(r, event)
		if err != nil {
			return err
		}
		done.IDs = []string{r.ID}
		if err := d.setField(r.ID, "status", string(to)); err != nil {
			return err
		}
		if err := d.setField(r.ID, "reason", reason); err != nil {
			return err
		}
		return d.syncRows(r.ID)
	})
}

// Question is an open question without a concrete decision.
type Question struct {
	Patterns, Context, NeededBefore string
	Paths                           []string
}

// Open adds a question as an OPEN row. It needs no file and blocks nothing by itself.
func (w *Writer) Open(ctx context.Context, q Question) (Done, error) {
	letters, unknown := parsePatterns(q.Patterns)
	switch {
	case strings.TrimSpace(q.Context) == "":
		return Done{}, &InputError{"a question needs its context", `write --context "…"`}
	case len(unknown) > 0:
		return Done{}, &InputError{fmt.Sprintf("%q is no pattern", strings.Join(unknown, " ")), "use the letters A to G"}
	}
	for _, text := range append([]string{q.Context, q.NeededBefore}, q.Paths...) {
		if why := boundary.Unsafe(text, false); why != "" {
			return Done{}, &InputError{fmt.Sprintf("%q %s", finding.Clean(text), why), "write it as one line of plain text"}
		}
	}
	q.Patterns = strings.Join(letters, ", ")
	return w.change(ctx, "open", func(tx *store.Tx, d *draft, done *Done) error {
		id, err := d.addQuestion(q)
		done.IDs = []string{id}
		return err
	})
}

func (d *draft) addQuestion(q Question) (string, error) {
	x, err := d.index()
	if err != nil {
		return "", err
	}
	most := 0
	for id := range d.base.known {
		if number, ok := strings.CutPrefix(id, "OPEN-"); ok {
			if n, err := strconv.ParseUint(number, 10, 30); err == nil {
				most = max(most, int(n))
			}
		}
	}
	id := fmt.Sprintf("OPEN-%03d", most+1)
	values := cells{"id": id, "pattern": q.Patterns, "context": q.Context, "needed_before": q.NeededBefore, "file": "-", "paths": strings.Join(q.Paths, ", ")}
	if t := x.tables[opens]; t == nil || !t.present {
		if err := d.addTable(x, opens, newTable(opens, x.doc.Newline())); err != nil {
			return "", err
		}
		if x, err = d.index(); err != nil {
			return "", err
		}
	}
	if t := x.tables[opens]; len(q.Paths) > 0 && !slices.Contains(t.columns, "paths") {
		if err := d.addColumn(x, t, "paths"); err != nil {
			return "", err
		}
	}
	if err := d.setRow(opens, id, values); err != nil {
		return "", err
	}
	return id, d.verifyQuestion(id, q)
}

// verifyQuestion refuses a question that its row does not give back: it has no file that
// could say what a cell cannot hold.
func (d *draft) verifyQuestion(id string, q Question) error {
	x, err := d.index()
	if err != nil {
		return err
	}
	collapse := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	b := &Base{Index: x}
	got, _ := b.OpenQuestion(id)
	lost := ""
	switch {
	case got.Context != collapse(q.Context):
		lost = "context"
	case got.NeededBefore != collapse(q.NeededBefore):
		lost = "needed_before"
	case strings.Join(got.Patterns, ", ") != q.Patterns:
		lost = "pattern"
	case !slices.Equal(got.Paths, orEmpty(q.Paths)):
		lost = "paths"
	default:
		return nil
	}
	return &InputError{fmt.Sprintf("the %s of the question cannot be kept in the table %q", lost, specs[opens].heading), "add the column " + lost + ", or shorten the text; a path holds no comma and no blanks in a row"}
}

// Reopen turns a proposed record back into a question: the record is withdrawn, its number
// stays used, and an OPEN row carries its context on.
func (w *Writer) Reopen(ctx context.Context, ref string) (Done, error) {
	return w.change(ctx, "open", func(tx *store.Tx, d *draft, done *Done) error {
		r, err := d.record(ref)
		if err != nil {
			return err
		}
		to, err := next(r, EventOpen)
		if err != nil {
			return err
		}
		context := oneLine(r.Section("Context"))
		if context == "" {
			context = r.Title
		}
		id, err := d.addQuestion(Question{strings.Join(r.Patterns, ", "), fmt.Sprintf("%s (was %s)", context, r.ID), oneLine(r.Section("Needed Before")), r.Paths})
		if err != nil {
			return err
		}
		done.IDs = []string{r.ID, id}
		if err := d.setField(r.ID, "status", string(to)); err != nil {
			return err
		}
		if err := d.setField(r.ID, "reason", "open again as "+id); err != nil {
			return err
		}
		return d.syncRows(r.ID)
	})
}

// Supersede makes NEW replace OLD: NEW names OLD under Supersedes, which is approved text,
// so NEW must be approved again (the yes is for that); OLD names NEW. A partial
// supersession is only noted in NEW.
func (w *Writer) Supersede(ctx context.Context, oldRef, newRef string, partial bool, yes Yes) (Done, error) {
	d, err := newDraft(w.Tree(), w.Root)
	if err != nil {
		return Done{}, err
	}
	old, err := d.record(oldRef)
	if err != nil {
		return Done{}, err
	}
	by, err := d.record(newRef)
	if err != nil {
		return Done{}, err
	}
	switch {
	case old.ID == by.ID:
		return Done{}, &InputError{"a record cannot supersede itself", "name two records"}
	case by.Status != Accepted && by.Status != Proposed:
		return Done{}, &InputError{fmt.Sprintf("%s is %s: only an accepted record supersedes another", by.ID, by.Status), "skmb show " + by.ID}
	}
	if !partial {
		if _, err := next(old, EventSupersede); err != nil {
			return Done{}, err
		}
	}
	named := slices.ContainsFunc(by.supersedes(), func(r Reference) bool {
		return slices.Contains(d.base.resolve(r.Text), old.ID) && r.Partial == partial
	})
	approved, recorded := parseApproval(by.value("approval"))
	if named && by.Status == Accepted && (!recorded || approved.Digest == by.Digest()) {
		return w.change(ctx, "supersede", func(tx *store.Tx, d *draft, done *Done) error {
			r, err := d.record(by.ID)
			if err != nil {
				return err
			}
			done.IDs = []string{r.ID}
			return d.supersedeNamed(r, done)
		})
	}
	item := old.ID
	if partial {
		item += " (partial)"
	}
	a := act{verb: "supersede", event: EventApprove}
	if !named {
		a.before = func(d *draft) error { return d.addToSection(by.ID, "Supersedes", item) }
	}
	return w.grant(ctx, a, []string{by.ID}, yes)
}
