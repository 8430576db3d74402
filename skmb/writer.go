package skmb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

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
	Tool  string        // that approvals name
	Call  boundary.Call // what the log tells of the command

	Policy Options // what the checks of a result are given: the level of a yes, and who may sign

	// Elsewhere returns the names of decision files on all branches, so that parallel branches
	// seldom give one number twice. nil: only this tree is looked at.
	Elsewhere func(ctx context.Context) ([]string, error)
}

// Done is what a verb did.
type Done struct {
	IDs   []string
	Files []string // changed, to be added
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
		outputs, err := w.publish(ctx, tx, d, &done)
		if err != nil {
			return err
		}
		c := w.Call
		c.Command, c.Verdict, c.Outputs = cmp.Or(c.Command, "skmb "+verb), "accepted", outputs
		for _, o := range outputs {
			if o.Path == approval.Path(o.ID) {
				c.ApprovalID = o.ID
			}
		}
		_, err = c.Append(tx, w.Env.Now())
		return err
	})
	return done, err
}

// publish checks the result of a draft and puts it into the transaction.
func (w *Writer) publish(ctx context.Context, tx *store.Tx, d *draft, done *Done) ([]boundary.Output, error) {
	if err := w.verify(ctx, d, done.IDs); err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, id := range done.IDs {
		if r, err := d.record(id); err == nil {
			ids[r.Path] = id
		}
	}
	var outputs []boundary.Output
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		before, err := d.before(name)
		if err != nil {
			return nil, err
		}
		if err := tx.Put(store.Record, store.Name{Root: boundary.TreeRoot, Path: name}, d.files[name], before); err != nil {
			return nil, err
		}
		if id := strings.TrimSuffix(path.Base(name), ".json"); approval.Path(id) == name {
			ids[name] = id
		}
		done.Files = append(done.Files, name)
		outputs = append(outputs, boundary.Output{Path: name, SHA256: string(store.DigestOf(d.files[name])), ID: ids[name]})
	}
	return outputs, nil
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
		if f.Severity == finding.Error && !before[print] && !(f.Code == "skmb/unresolved" && slices.Contains(ids, FindingID(f))) && !slices.Contains(d.tolerated, f.Code) {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", f.Place(), f.Code, f.Message))
		}
	}
	if len(lines) > 0 {
		return &InputError{"the result would not pass its own checks; nothing was changed:\n" + strings.Join(lines, "\n"), "skmb check --worktree shows what is wrong on disk by now"}
	}
	return nil
}
