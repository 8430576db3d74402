package skmb

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// Yes is how a designer said yes.
type Yes struct {
	Statement string // the words, for the statement method
	From      string // where they were said: chat, issue, mail or meeting; "" if not told

	// Confirm gets the yes to a statement, on a terminal or by a signature; nil for the
	// statement method.
	Confirm func(approval.Statement) (approval.Given, error)
	// Repository is the id that approvals are bound to. If the repository has none yet it is a
	// new one, and made is the file that must come in with the first approval.
	Repository func() (id string, made []byte, err error)
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
	made   []byte // of Yes.Repository
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
		if said.made != nil {
			there, err := d.read(approval.RepositoryFile)
			if err == nil && !bytes.Equal(there, said.made) {
				return &StaleError{"the repository was given an id meanwhile; nothing was approved"}
			}
			d.files[approval.RepositoryFile] = said.made
		}
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
	var made []byte
	if yes.Confirm != nil {
		if repository, made, err = yes.Repository(); err != nil {
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
		if why := boundary.Unsafe(r.Card(), "lines"); why != "" {
			return nil, &InputError{fmt.Sprintf("the text of %s %s: what is shown would not be what is approved", r.ID, why), "take the character out of " + r.Path}
		}
		g := given{digest: r.Digest(), made: made}
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
		} else if why := boundary.Unsafe(yes.Statement, "line"); why != "" {
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
		switch old.Status {
		case Superseded, Rejected, Withdrawn: // nothing of it holds
			continue
		case Proposed:
			return &InputError{fmt.Sprintf("%s names %s under Supersedes, which is only proposed", r.ID, old.ID), "skmb withdraw " + old.ID + " --reason …, or decide it first"}
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
