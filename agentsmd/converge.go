package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/repo"
	"assent/store"
)

// converge brings what a dead process left behind to its end: what it wrote is finished or taken
// back, and its log, report and state are written. The lock is held, so no living process is at
// it.
func (k *Keeper) converge(ctx context.Context) error {
	var left []store.Effect
	if err := k.Store.View(ctx, func(r *store.Reader) (err error) { left, err = r.Effects(); return err }); err != nil {
		return err
	}
	byCall := map[string][]Journal{}
	var calls []string
	for _, e := range left {
		var j Journal
		if err := readDocument("a journal", e.Note, &j); err != nil {
			return err
		}
		if byCall[j.Call] == nil {
			calls = append(calls, j.Call)
		}
		byCall[j.Call] = append(byCall[j.Call], j)
	}
	for _, call := range calls {
		if err := k.convergeCall(ctx, call, byCall[call]); err != nil {
			return err
		}
	}
	return nil
}

// recoverFiles completes a transaction that was cut off. A target that was edited meanwhile stays as
// it is.
func (k *Keeper) recoverFiles(ctx context.Context) error {
	k.third = func(n store.Name) bool { return n.Root != store.Private }
	defer func() { k.third = nil }()
	r, err := k.Store.Recover(ctx)
	if r.Pending && err == nil {
		k.Done = append(k.Done, "a change of the private state was completed")
	}
	return err
}

// KeepThird is the store's question about a file that holds neither its old nor its new bytes: a
// target that a person edited stays as it is.
func (k *Keeper) KeepThird(n store.Name, _ store.File) bool { return k.third != nil && k.third(n) }

func (k *Keeper) convergeCall(ctx context.Context, call string, journals []Journal) error {
	var plan *Plan
	var id string
	err := k.Store.View(ctx, func(r *store.Reader) error {
		s, _, err := loadState(r)
		if err != nil {
			return err
		}
		id, plan, err = readPlan(r, s, journals[0].Plan)
		return err
	})
	lost := err
	if lost != nil { // nobody can say what was to be done: what was not is taken back
		id, plan = journals[0].Plan, &Plan{Mode: Suggest}
	}
	var outcomes []outcome
	for _, j := range journals {
		o := outcome{journal: j, noted: true, before: j.Old}
		what := ""
		if lost != nil {
			if o.err = lost; k.landed(ctx, &j) {
				what = fmt.Sprintf("%s is committed as %.10s, and its plan is lost: %v", j.Path, j.Commit, lost)
			} else {
				o.err = k.rollback(ctx, &o, lost)
				what = fmt.Sprintf("%s was brought back: %v", j.Path, o.err)
			}
		} else {
			what = k.finish(ctx, &o, plan)
		}
		if errors.Is(o.err, errCrash) {
			return o.err
		}
		k.Done = append(k.Done, what)
		outcomes = append(outcomes, o)
	}
	_, err = k.closing(ctx, id, plan, []string{"completed after an interruption"}, outcomes, call)
	return err
}

// finish ends what was begun with one file.
func (k *Keeper) finish(ctx context.Context, o *outcome, plan *Plan) string {
	j := &o.journal
	now, err := os.ReadFile(j.Path)
	if errors.Is(err, os.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		o.err = err
		return fmt.Sprintf("%s cannot be read: %v", j.Path, err)
	}
	if digest(now) != j.After && j.Wanted && k.landed(ctx, j) { // it was done, and somebody went on from there
		o.after = now
		return fmt.Sprintf("%s was committed as %.10s, and edited since", j.Path, j.Commit)
	}
	if now == nil && !j.Existed || j.Existed && digest(now) == j.Before { // it was brought back already
		o.rollback = "done"
		o.err = fault("interrupted", "", "%s is as it was: the call was stopped before it could say why", j.Path)
		return j.Path + " was brought back"
	}
	if digest(now) != j.After {
		o.err = fault("target-changed", "", "%s was edited while a change of it was interrupted", j.Path)
		return j.Path + " was edited meanwhile and is left as it is"
	}
	o.after = now
	if !j.Wanted {
		return j.Path + " was written"
	}
	if err := k.finishCommit(ctx, o, plan); err != nil {
		if errors.Is(err, errCrash) {
			o.err = err
			return ""
		}
		o.err = k.rollback(ctx, o, err)
		return fmt.Sprintf("%s was brought back: %v", j.Path, err)
	}
	if j.Commit == "" {
		return j.Path + " was written, and another commit has it already"
	}
	return fmt.Sprintf("%s was written and committed as %.10s", j.Path, j.Commit)
}

// landed reports whether the commit of a file is in HEAD.
func (k *Keeper) landed(ctx context.Context, j *Journal) bool {
	if j.Commit == "" {
		return false
	}
	r, err := repo.Open(ctx, filepath.Dir(j.Path), repo.Foreign(k.Git))
	if err != nil {
		return false
	}
	defer r.Close()
	in, err := r.IsAncestor(ctx, j.Commit, "HEAD")
	return err == nil && in
}

// finishCommit finds the commit that was published, or makes it where HEAD is still what it was.
func (k *Keeper) finishCommit(ctx context.Context, o *outcome, plan *Plan) error {
	j := &o.journal
	r, err := repo.Open(ctx, filepath.Dir(j.Path), repo.Foreign(k.Git))
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.RecoverPublish(ctx); err != nil {
		return err
	}
	if j.Commit != "" {
		landed, err := r.IsAncestor(ctx, j.Commit, "HEAD")
		if err != nil {
			return err
		}
		if landed {
			return nil
		}
	}
	entry, err := r.PathEntry(ctx, FileName)
	if err != nil {
		return gitFault(err)
	}
	var todo []*Decision
	var edits []Edit
	for _, did := range j.Applied {
		if d := plan.find(did); d != nil {
			todo, edits = append(todo, d), append(edits, d.edit())
		}
	}
	if !slices.Equal(ids(todo), j.Applied) {
		return fault("plan-structure", "", "the plan has not the decisions that were written")
	}
	if branch, err := r.Branch(ctx); err != nil {
		return err
	} else if branch != j.Branch {
		return fault("head-moved", "", "HEAD of %s is %s by now, and was %s", r.Root, branch, j.Branch)
	}
	if entry.Commit != j.Head {
		if after, err := k.replay(r, entry.Head, j.Path+" in HEAD", edits); err == nil {
			if id, err := r.RawBlobOf(ctx, after); err == nil && id == entry.Head { // HEAD says so already, by whatever commit
				j.Commit, j.Skip = "", nothing
				return nil
			}
		}
		return fault("head-moved", "", "HEAD of %s moved before the commit was made", r.Root)
	}
	if _, err := k.suits(ctx, r); err != nil {
		return err
	}
	c := &committing{repo: r, entry: entry, commit: repo.PathCommit{Path: FileName, HeadID: entry.Head, IndexID: entry.Index, Message: message(j.Plan, todo)}}
	if c.commit.Head, err = k.replay(r, entry.Head, j.Path+" in HEAD", edits); err != nil {
		return err
	}
	if c.commit.Index, err = k.replay(r, entry.Index, j.Path+" in the index", edits); err != nil {
		return err
	}
	j.Commit = ""
	return k.commit(ctx, o, c)
}

// logHolds holds the log to its chain before anything is written: what cannot be noted must not
// happen.
func (k *Keeper) logHolds(ctx context.Context) error {
	rep, err := k.Store.VerifyLog(ctx, AuditLog)
	if err == nil && rep.Problem != "" {
		err = fault("audit-broken", "", "%s", rep.Problem)
	}
	return err
}

// mend is converge for a command that looks at the state before it takes the lock. Where nothing
// was interrupted it takes no lock.
func (k *Keeper) mend(ctx context.Context) error {
	err := k.Store.View(ctx, func(r *store.Reader) error {
		left, err := r.Effects()
		if err == nil && len(left) > 0 {
			err = store.ErrRecovery
		}
		return err
	})
	if !errors.Is(err, store.ErrRecovery) && !errors.Is(err, store.ErrBusy) { // for one that is busy begin waits as it was told
		return err
	}
	release, err := k.begin(ctx)
	if err == nil {
		release()
	}
	return err
}

// sweepAfter is how long batch and chunks of a run are kept after its last item was answered.
const sweepAfter = 14 * 24 * time.Hour

// sweep is overdue for a command that reads the state.
func (k *Keeper) sweep(ctx context.Context) error {
	_, err := k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return nil // the command itself will say so
		}
		effects, err := k.overdue(tx, s)
		if err != nil || len(effects) == 0 {
			return err
		}
		call, err := k.stamp()
		if err != nil {
			return err
		}
		return record(tx, s, f.Digest, AuditEntry{Call: call, At: k.now(), Event: "swept", Effects: effects})
	})
	return err
}

// overdue deletes what was said in conversations once it is not needed any more: batch, chunks and
// what was submitted about them. Plans, log and reports stay.
func (k *Keeper) overdue(tx *store.Tx, s *State) (effects []Effect, err error) {
	for _, run := range slices.Sorted(maps.Keys(s.Runs)) {
		r := s.Runs[run]
		closed, err := time.Parse(time.RFC3339, r.ClosedAt)
		if err != nil || r.Swept || !r.Published || k.Env.Now().Sub(closed) < sweepAfter || k.waits(s, run) || len(effects) >= 10 {
			continue
		}
		for _, dir := range runDirs(run) {
			if err := removeAll(tx, dir); err != nil {
				return nil, err
			}
		}
		effects = append(effects, Effect{Op: opSwept, ID: run})
	}
	return effects, nil
}

// waits reports whether an item of a run is pending still.
func (k *Keeper) waits(s *State, run string) bool {
	for _, p := range s.Pending {
		if s.Plans[p.Plan].Run == run {
			return true
		}
	}
	return false
}

// Recover is `agentsmd recover`: what every writing command does first, by itself. Done says what
// there was.
func (k *Keeper) Recover(ctx context.Context) error {
	release, err := k.Store.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := k.recoverFiles(ctx); err != nil {
		return err
	}
	return k.converge(ctx)
}

// Rebuild makes the state again from the log.
func (k *Keeper) Rebuild(ctx context.Context) error {
	release, err := k.Store.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := k.recoverFiles(ctx); err != nil {
		return err
	}
	rep, err := k.Store.VerifyLog(ctx, AuditLog)
	if err != nil {
		return err
	}
	if rep.Problem != "" {
		return fault("audit-broken", "", "%s", rep.Problem)
	}
	s, err := foldLog(ctx, k.Store)
	if err != nil {
		return err
	}
	data, err := Document(s)
	if err != nil {
		return err
	}
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		if _, _, err := loadState(&tx.Reader); isFault(err, "audit-broken") { // what is missing in the log is in the state alone
			return err
		}
		old, err := tx.Read(stateName)
		if err != nil {
			return err
		}
		if rep.Lines == 0 && old.Digest != "" {
			return fault("audit-broken", "", "the log is empty: nothing follows from it")
		}
		return tx.Put(store.State, stateName, data, old.Digest)
	})
	return err
}

// Verify says what of the private state is not what was written: the chain of the log, the state
// that must follow from it, and the digests of batches and plans.
func (k *Keeper) Verify(ctx context.Context) (problems []string, err error) {
	for _, log := range []string{AuditLog, boundary.CallsLog} {
		rep, err := k.Store.VerifyLog(ctx, log)
		if err != nil {
			return nil, err
		}
		if rep.Problem != "" {
			return []string{"agentsmd/audit-broken: " + log + ": " + rep.Problem}, nil
		}
	}
	fold, err := foldLog(ctx, k.Store)
	if err != nil {
		return nil, err
	}
	err = k.Store.View(ctx, func(r *store.Reader) error {
		problems = nil
		s, f, err := loadState(r)
		if err != nil {
			problems = append(problems, err.Error())
			return nil
		}
		want, err := Document(fold)
		if err != nil {
			return err
		}
		if f.Digest != "" && string(f.Data) != string(want) {
			problems = append(problems, "agentsmd/state-corrupt: state.json is not what follows from the log")
		}
		for run := range s.Runs {
			if s.Runs[run].Swept {
				continue
			}
			_, sum, err := readBatch(r, s, run)
			var m *Manifest
			if err == nil && s.Runs[run].Manifest != "" {
				m, err = readManifest(r, s, run, sum)
			}
			if err != nil {
				problems = append(problems, err.Error())
			}
			for i := 0; err == nil && m != nil && i < len(m.Chunks); i++ {
				if _, err := readChunk(r, m, m.Chunks[i].Number); err != nil {
					problems = append(problems, err.Error())
				}
			}
		}
		for id, p := range s.Plans {
			if _, _, err := readPlan(r, s, id); err != nil && !p.Lost {
				problems = append(problems, err.Error())
			}
		}
		slices.Sort(problems)
		return nil
	})
	return problems, err
}

// broken are the logs that are not what was written, with what is wrong. Where the heads of the logs
// cannot be read that is so for both.
func (k *Keeper) broken(ctx context.Context) (logs []string, problem string, err error) {
	var problems []string
	for _, log := range []string{AuditLog, boundary.CallsLog} {
		rep, err := k.Store.VerifyLog(ctx, log)
		var damaged *store.HeadsDamaged
		if errors.As(err, &damaged) {
			return []string{AuditLog, boundary.CallsLog}, damaged.Error(), nil
		}
		if err != nil {
			return nil, "", err
		}
		what := rep.Problem
		if log == AuditLog && what == "" {
			_, err := k.state(ctx)
			if isFault(err, "audit-broken") {
				what = err.Error()
			}
		}
		if what != "" {
			logs, problems = append(logs, log), append(problems, log+": "+what)
		}
	}
	return logs, strings.Join(problems, "\n"), nil
}

// SetLogAside moves a log that is not what was written to rescue, by a person's yes on a terminal. A
// new one begins with the state as it is, which nothing but the broken log could prove.
func (k *Keeper) SetLogAside(ctx context.Context, confirm func(approval.Statement) (approval.Given, error)) error {
	if err := k.recoverFiles(ctx); err != nil {
		return err
	}
	logs, problem, err := k.broken(ctx)
	if err != nil {
		return err
	}
	if len(logs) == 0 {
		return fault("log-sound", "", "the log is what was written")
	}
	given, err := confirm(k.Statement("set-aside", "log", "the log of what was learned is not what was written: "+problem+"\nit goes to rescue, and a new one begins with the state as it is"))
	if err != nil {
		return err
	}
	release, err := k.Store.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	call, err := k.stamp()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(k.Dir, stateName.Path))
	if errors.Is(err, os.ErrNotExist) {
		err = fault("state-corrupt", "", "the state is gone, too: move %s elsewhere, and begin anew", k.Dir)
	}
	state := &State{}
	if err == nil {
		err = readDocument("state.json", data, state)
	}
	if err != nil {
		return err
	}
	for _, log := range logs {
		if err := k.Store.SetAside(ctx, log); err != nil {
			return err
		}
	}
	if !slices.Contains(logs, AuditLog) {
		return nil
	}
	old := store.DigestOf(data)
	state.AuditHead = AuditHead{}
	if data, err = Document(state); err != nil {
		return err
	}
	yes := Yes{Method: given.Method, Text: given.Statement.Text(), Proof: given.Proof, At: k.now()}
	_, err = k.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Put(store.Record, snapshotName(call), data, ""); err != nil {
			return err
		}
		return record(tx, state, old, AuditEntry{Call: call, At: k.now(), Event: "set-aside", Approval: &yes, Effects: []Effect{{Op: opSnapshot, ID: call, Text: digest(data)}}})
	})
	return err
}
