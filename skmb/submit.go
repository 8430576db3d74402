package skmb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// Submit takes a model's proposal: a proposed record and its row. An equal proposal whose
// record is still proposed gives the same answer and no second record. from names the
// OPEN question that it answers, "" for none.
func (w *Writer) Submit(ctx context.Context, in io.Reader, from string, door boundary.Door) (boundary.Answer, Done, error) {
	return w.Take(ctx, DecisionKind.Parse(in, "<stdin>"), from, door)
}

// Take is Submit for a payload that was read already, such as a person's form.
func (w *Writer) Take(ctx context.Context, p *boundary.Payload[DecisionPayload], from string, door boundary.Door) (boundary.Answer, Done, error) {
	door.Env, door.Store, door.Call = w.Env, w.Store, w.Call
	door.Call.Command = cmp.Or(door.Call.Command, "skmb submit")
	var done Done
	answer, err := DecisionKind.Submit(ctx, p, door, boundary.Task[DecisionPayload, proposing]{
		World: func(context.Context) (proposing, error) {
			d, err := newDraft(w.Tree(), w.Root)
			return proposing{d, from}, err
		},
		Write: func(tx *store.Tx, p *boundary.Payload[DecisionPayload], in proposing) (boundary.Taken, error) {
			done = Done{}
			id, err := w.addProposal(ctx, in.draft, p.Value, from)
			if err != nil {
				return boundary.Taken{}, err
			}
			done.IDs = []string{id}
			outputs, err := w.publish(ctx, tx, in.draft, &done)
			var broken *InputError
			if errors.As(err, &broken) {
				return boundary.Taken{}, p.Object("skmb/breaks-base", broken.Next, "%s", broken.Text)
			}
			return boundary.Taken{IDs: done.IDs, Outputs: outputs}, err
		},
		Holds: func(a boundary.Answer, in proposing) bool {
			if len(a.IDs) != 1 {
				return false
			}
			r, err := in.draft.record(a.IDs[0])
			return err == nil && r.Status == Proposed
		},
		Gone: func(a boundary.Answer, p *boundary.Payload[DecisionPayload], in proposing) bool {
			return slices.ContainsFunc(a.IDs, func(id string) bool {
				r, err := in.draft.record(id)
				return err != nil || r.Title != p.Value.Title && path.Base(r.Path) != fileName(id, p.Value.Title)
			})
		},
	})
	if answer.Replayed {
		done = Done{IDs: answer.IDs}
	}
	return answer, done, err
}

// RefusalCodes are the codes by which a proposal is refused beside those of the boundary.
var RefusalCodes = []finding.Check{
	{Code: "skmb/not-open", Severity: finding.Error, Title: "the question that is answered is not open", Doc: "--from names a row of Open Questions. `skmb list --status open` lists them."},
	{Code: "skmb/breaks-base", Severity: finding.Error, Title: "the base would not pass its own checks", Doc: "What the submission would lead to has an error that is not there now. `skmb check --worktree` shows what is wrong on disk; mend that first."},
}

// isOpen reports whether an open question has an id.
func (d *draft) isOpen(id string) bool {
	x, err := d.index()
	return err == nil && slices.ContainsFunc(x.rows(opens), func(r row) bool { return r.id() == id })
}

func (w *Writer) addProposal(ctx context.Context, d *draft, p DecisionPayload, from string) (string, error) {
	if from != "" {
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
	if from != "" {
		if err := d.setField(id, "answers", from); err != nil {
			return "", err
		}
	}
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
