package skmb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
		if f.Severity == finding.Error && !before[print] && !(f.Code == "skmb/unresolved" && slices.Contains(ids, FindingID(f))) && !slices.Contains(d.tolerated, f.Code) {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", f.Place(), f.Code, f.Message))
		}
	}
	if len(lines) > 0 {
		return &InputError{"the result would not pass its own checks; nothing was changed:\n" + strings.Join(lines, "\n"), "skmb check --worktree shows what is wrong on disk by now"}
	}
	return nil
}
