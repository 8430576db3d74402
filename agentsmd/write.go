package agentsmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assent/store"
)

// targets are the files of the selection, the global one first.
func (a *applying) targets() (out []string) {
	for _, global := range []bool{true, false} {
		for _, d := range a.selected {
			if (d.ScopeKey == GlobalScope) == global && !slices.Contains(out, d.TargetPath) {
				out = append(out, d.TargetPath)
			}
		}
	}
	return out
}

// write changes the files one by one, and then closes the call.
func (a *applying) write(ctx context.Context) (Report, error) {
	var err error
	if a.call, err = a.k.stamp(); err != nil {
		return Report{}, err
	}
	if a.plan.Edited && len(a.selected) == 0 {
		return a.closeEdited(ctx)
	}
	var outcomes []outcome
	for _, path := range a.targets() {
		var mine []*Decision
		for _, d := range a.selected {
			if d.TargetPath == path {
				mine = append(mine, d)
			}
		}
		o, err := a.target(ctx, path, mine)
		if errors.Is(err, errCrash) {
			return Report{}, err
		}
		if errors.Is(err, store.ErrRecovery) || errors.Is(err, store.ErrConflict) {
			return Report{}, err
		}
		o.err = err
		outcomes = append(outcomes, o)
	}
	if err := a.k.at("closing"); err != nil {
		return Report{}, err
	}
	rep, err := a.k.closing(ctx, a.id, a.plan, a.skipped, outcomes, a.call)
	return rep, notClosed(err, outcomes)
}

// notClosed says what was done of a call whose log or report could not be written.
func notClosed(err error, outcomes []outcome) error {
	var done []string
	for _, o := range outcomes {
		switch {
		case o.err != nil || !o.noted:
		case o.journal.Commit != "":
			done = append(done, fmt.Sprintf("%s was written and committed as %.10s", o.journal.Path, o.journal.Commit))
		default:
			done = append(done, o.journal.Path+" was written")
		}
	}
	if err == nil || len(done) == 0 || errors.Is(err, errCrash) {
		return err
	}
	cause := err
	var persist *store.PersistError
	if errors.As(err, &persist) { // nothing changed by the closing itself
		cause = persist.Err
	}
	return fault("not-closed", "", "%s; but what was done could not be noted: %v", strings.Join(done, ", "), cause)
}

// errCrash stops a test where a process could die: nothing is cleaned up.
var errCrash = errors.New("crash")

// Journal is what is noted of a file before it changes, so that another process can finish or
// take back what this one began.
type Journal struct {
	SchemaVersion int                 `json:"schema_version"`
	Call          string              `json:"call_id"`
	Plan          string              `json:"plan_id"`
	Event         string              `json:"event"`
	Path          string              `json:"path"`
	Scope         string              `json:"scope"`
	State         BlockState          `json:"block_state"`
	Existed       bool                `json:"existed"`
	Before        string              `json:"old_sha256"`
	After         string              `json:"new_sha256"`
	Old           []byte              `json:"old_bytes"`
	Applied       []string            `json:"applied"`
	Satisfied     []string            `json:"satisfied"`
	Rules         []string            `json:"rules"` // keys that come in
	Gone          []string            `json:"gone"`
	Wanted        bool                `json:"commit_wanted"`
	Head          string              `json:"head"`
	Branch        string              `json:"branch"`
	Stands        []string            `json:"stands"` // satisfied by what stands in the block
	Commit        string              `json:"commit"` // that was made, "" before
	Skip          string              `json:"skip"`
	Lifts         map[string][]string `json:"lifts"`
	Yes           Yes                 `json:"approval"`
	Notes         []string            `json:"notes"`
}

// effectID names a journal among the store's effects.
func (j *Journal) effectID() string { return j.Call + "." + digest([]byte(j.Path))[:12] }

// outcome is what became of one file.
type outcome struct {
	journal  Journal
	noted    bool // the journal is an effect of the store that must be settled
	after    []byte
	before   []byte
	err      error
	rollback string
}

// target changes one file. Another one that fails leaves this one changed.
func (a *applying) target(ctx context.Context, path string, mine []*Decision) (o outcome, err error) {
	o.journal = Journal{SchemaVersion: SchemaVersion, Call: a.call, Plan: a.id, Event: a.event, Path: path, Scope: mine[0].ScopeKey, Lifts: map[string][]string{}, Yes: a.yes}
	j := &o.journal
	for _, d := range mine {
		if l := a.lifts[d.ID]; len(l) > 0 {
			j.Lifts[d.ID] = l
		}
	}
	f, err := readTarget(path)
	if err != nil {
		j.Applied = ids(mine)
		return o, err
	}
	j.State, _ = a.k.standing(ctx, a.state, f, j.Scope)
	j.Existed, j.Before, j.Old, o.before = f.exists, string(f.digest()), f.src, f.src
	if a.o.Auto {
		if j.State == Drifted {
			err = fault("block-drifted", "agentsmd adopt "+path, "somebody edited the block of %s", path)
		} else if f.block.Legacy != "" {
			err = fault("block-legacy", "agentsmd adopt "+path, "the block of %s is that of %s", path, f.block.Legacy)
		}
	}
	unlock, lockErr := func() {}, error(nil)
	if err == nil {
		unlock, lockErr = lockRoot(filepath.Dir(path))
	}
	if err = cmp.Or(err, lockErr); err != nil {
		j.Applied = ids(mine)
		return o, err
	}
	defer unlock()
	edits, todo := a.remaining(ctx, f, mine, j)
	out, err := Compose(path, f.src, edits, false)
	if err == nil {
		err = grows(path, len(f.src), len(out.Bytes))
	}
	if err != nil {
		j.Applied, j.Satisfied = ids(mine), nil
		return o, err
	}
	j.Applied = ids(todo)
	if out.Adopts != "" {
		j.Notes = append(j.Notes, "adopted the block of "+out.Adopts)
	}
	if len(todo) == 0 || string(out.Bytes) == string(f.src) {
		o.after, j.After, j.Skip = f.src, j.Before, nothing
		return o, nil
	}
	o.after, j.After = out.Bytes, digest(out.Bytes)
	for _, d := range todo {
		if d.Instruction != "" {
			j.Rules = append(j.Rules, Norm(d.Instruction))
		}
		for _, old := range d.Olds() {
			j.Gone = append(j.Gone, Norm(old))
		}
	}
	wanted := !a.o.NoCommit && (a.o.Auto || a.state.Preferences.Commit == "yes")
	c, err := a.k.prepare(ctx, f, out.Bytes, j.Scope, edits, wanted, message(a.id, todo))
	if err != nil {
		return o, err
	}
	defer c.close()
	j.Skip, j.Wanted, j.Head, j.Branch = c.skip, c.skip == "", c.entry.Commit, c.branch
	return o, a.k.carry(ctx, &o, f, c)
}

func ids(ds []*Decision) (out []string) {
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}

// remaining are the edits that are still to be made: what is effective already is satisfied.
func (a *applying) remaining(ctx context.Context, f *file, mine []*Decision, j *Journal) (edits []Edit, todo []*Decision) {
	effective := f.block.Effective()
	elsewhere := a.k.effectiveFor(ctx, j.Scope)
	for _, d := range mine {
		key := Norm(d.Instruction)
		done := d.Action == Add && (effective[key] || elsewhere[key] && !d.Restore && !d.Override)
		if done {
			j.Satisfied = append(j.Satisfied, d.ID)
			if f.block.Has(key) {
				j.Stands = append(j.Stands, d.ID)
			}
			continue
		}
		for _, old := range d.Olds() {
			delete(effective, Norm(old))
		}
		if key != "" {
			effective[key] = true
		}
		edits, todo = append(edits, d.edit()), append(todo, d)
	}
	return edits, todo
}

// carry writes the file and makes its commit, or brings everything back.
func (k *Keeper) carry(ctx context.Context, o *outcome, f *file, c *committing) error {
	j := &o.journal
	note, err := Document(j)
	if err != nil {
		return err
	}
	changed := false
	k.third = func(n store.Name) bool { changed = true; return n == f.name() }
	defer func() { k.third = nil }()
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Note(store.Effect{ID: j.effectID(), Note: note}); err != nil {
			return err
		}
		return tx.Put(store.Record, f.name(), o.after, f.digest())
	})
	switch {
	case errors.Is(err, store.ErrStale):
		return fault("target-changed", "", "%s changed while it was written", f.path)
	case err != nil:
		return err
	}
	o.noted = true
	if changed { // somebody wrote it between the look and the write: that stays
		return fault("target-changed", "", "%s changed while it was written", f.path)
	}
	if err := k.at("written"); err != nil {
		return err
	}
	if !j.Wanted {
		return nil
	}
	if err := k.commit(ctx, o, c); err != nil {
		if errors.Is(err, errCrash) {
			return err
		}
		return k.rollback(ctx, o, err)
	}
	return nil
}

// commit makes and publishes the commit of a file that is written.
func (k *Keeper) commit(ctx context.Context, o *outcome, c *committing) error {
	j := &o.journal
	pending, err := c.repo.Prepare(ctx, c.commit)
	if err != nil {
		return gitFault(err)
	}
	j.Commit = pending.ID
	note, err := Document(j)
	if err == nil {
		err = k.at("prepared")
	}
	if err == nil {
		_, err = k.Store.Update(ctx, func(tx *store.Tx) error { return tx.Renote(store.Effect{ID: j.effectID(), Note: note}) })
	}
	if err == nil {
		err = k.at("noted")
	}
	if err != nil {
		if errors.Is(err, errCrash) {
			return err
		}
		return errors.Join(err, pending.Discard())
	}
	if id, err := pending.Publish(ctx); err != nil {
		if id == "" {
			j.Commit = ""
			return gitFault(err)
		}
		j.Notes = append(j.Notes, err.Error()) // HEAD has it: nothing is taken back
	}
	return k.at("committed")
}

// rollback brings a file back to what it was before, if it still holds what was written.
func (k *Keeper) rollback(ctx context.Context, o *outcome, cause error) error {
	j := &o.journal
	ctx = context.WithoutCancel(ctx)
	n := store.Name{Root: filepath.Dir(j.Path), Path: filepath.Base(j.Path)}
	o.rollback = "done"
	_, err := k.Store.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.Read(n)
		if err != nil {
			return err
		}
		if string(now.Digest) != j.After {
			return errEdited
		}
		if !j.Existed {
			return tx.Remove(store.State, n, now.Digest)
		}
		return tx.Put(store.Record, n, j.Old, now.Digest)
	})
	if err == nil {
		return cause
	}
	o.rollback = "incomplete"
	name := store.Name{Root: store.Private, Path: "rescue/" + j.effectID() + "-" + FileName}
	_, rescued := k.Store.Update(ctx, func(tx *store.Tx) error { return tx.Put(store.Record, name, j.Old, "") })
	return fault("rollback-incomplete", "", "%s; and %s was edited meanwhile: its bytes of before are in %s (%v)", strings.TrimSpace(cause.Error()), j.Path, filepath.Join(k.Dir, filepath.FromSlash(name.Path)), errors.Join(err, rescued))
}

var errEdited = errors.New("it does not hold what was written")
