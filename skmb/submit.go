package skmb

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"assent/boundary"
	"assent/store"
)

// Submit takes a model's proposal: a proposed record and its row. An equal proposal whose
// record is still proposed gives the same answer and no second record. from names the
// OPEN question that it answers, "" for none.
func (w *Writer) Submit(ctx context.Context, in io.Reader, from string) (boundary.Answer, Done, error) {
	p, err := DecisionKind.Read(in, "<stdin>")
	if err != nil {
		return boundary.Answer{}, Done{}, err
	}
	return w.Take(ctx, p, from)
}

// Take is Submit for a payload that was read already, such as a person's form.
func (w *Writer) Take(ctx context.Context, payload *boundary.Payload[DecisionPayload], from string) (boundary.Answer, Done, error) {
	var done Done
	rules := func(p *boundary.Payload[DecisionPayload]) {
		if b, err := Load(w.Tree(), w.Root); err == nil && b != nil {
			payloadRules(b, p)
		}
	}
	answer, err := boundary.Submit(ctx, DecisionKind, payload, rules, func(ctx context.Context, p *boundary.Payload[DecisionPayload]) (a boundary.Answer, err error) {
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
