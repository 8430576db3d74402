package skmb

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/finding"
)

func approvalInvalid(v *view) error {
	parents, err := v.parents()
	if err != nil || v.base == nil {
		return nil // skmb/accepted-changed reports it
	}
	var unverified error
	v.base.readable(func(r *Record) {
		text := r.value("approval")
		if (r.Status != Accepted && r.Status != StatisticalDefault) || text == "" {
			return
		}
		a, ok := parseApproval(text)
		switch {
		case !ok:
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s: the approval %q is not of the form `<method> sha256:<digest> [<id>]`", r.ID, short(text)))
		case a.Digest != r.Digest() && !(r.Status == Accepted && changedSince(parents, r)):
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s: the approval is of another text than the one that stands there", r.ID))
		case a.Digest == r.Digest() && a.Method != approval.MethodStatement:
			_, _, why, err := v.recorded(r, a)
			switch {
			case err != nil:
				unverified = err
			case why != "":
				v.report(r.Path, r.at("approval"), subject(r), "add "+approval.Path(a.RecordID)+", or skmb approve "+r.ID, fmt.Sprintf("%s: the approval record %s %s", r.ID, short(a.RecordID), why))
			}
		}
	})
	return unverified
}

// recorded reads the record that stands for a stronger yes than a statement, and says what
// is wrong with it. An error is what kept it from finding out.
func (v *view) recorded(r *Record, a Approval) (s approval.Statement, level approval.Level, why string, unverified error) {
	name := approval.Path(a.RecordID)
	if approval.LevelOf(a.Method) < approval.LevelTerminal {
		return s, 0, fmt.Sprintf("is of the method %q, which this program does not know", short(a.Method)), nil
	}
	if !fs.ValidPath(name) || path.Base(name) != a.RecordID+".json" {
		return s, 0, "has no valid id", nil
	}
	info, err := stat(v.New, name)
	if err != nil || info == nil || !info.Mode().IsRegular() {
		return s, 0, "is not in the repository", nil
	}
	data, err := v.New.ReadFile(name)
	if err == nil {
		s, level, err = approval.Verify(v.Ctx, v.opts.Env, data, v.want(r, a), v.opts.Signers)
	}
	if errors.Is(err, approval.ErrNoKeygen) || err != nil && v.Ctx.Err() != nil {
		return s, 0, "", err
	}
	if err == nil && level < approval.LevelOf(a.Method) {
		err = fmt.Errorf("it is a %s", level)
	}
	if err != nil {
		return s, 0, "does not hold: " + err.Error(), nil
	}
	return s, level, "", nil
}

func (v *view) want(r *Record, a Approval) approval.Want {
	return approval.Want{ID: a.RecordID, Domain: "skmb", Subject: r.ID, Digest: r.Digest(), Actions: actionsFor(r.Status), Repository: v.repository(), Card: finding.CleanLines(r.Card())}
}

// approvalEnding tells of approvals that hold today and will not from the next commit on.
func approvalEnding(v *view) error {
	if v.base == nil || v.opts.SignersOf == nil {
		return nil
	}
	after, err := v.opts.SignersOf(v.New)
	if err != nil {
		return nil // the next commit cannot be judged at all, and says so
	}
	now := v.opts.Signers
	signers := string(after.Allowed) != string(now.Allowed) || string(after.Revoked) != string(now.Revoked)
	moved := repositoryOf(v.New) != v.repository()
	if !signers && !moved {
		return nil
	}
	v.base.readable(func(r *Record) {
		a, ok := parseApproval(r.value("approval"))
		if !ok || a.Method == approval.MethodStatement || r.Status != Accepted && r.Status != StatisticalDefault || a.Digest != r.Digest() {
			return
		}
		if _, _, why, err := v.recorded(r, a); why != "" || err != nil {
			return // it does not hold now
		}
		why := "the id of the repository is another"
		if !moved {
			data, err := v.New.ReadFile(approval.Path(a.RecordID))
			if err == nil {
				_, _, err = approval.Verify(v.Ctx, v.opts.Env, data, v.want(r, a), after)
			}
			if err == nil {
				return
			}
			why = err.Error()
		}
		v.report(r.Path, r.at("approval"), subject(r), "keep what it rests on (a key that was replaced with valid-before=), or skmb approve "+r.ID+" in the next commit",
			fmt.Sprintf("%s: after this change its approval holds no longer: %s", r.ID, why))
	})
	return nil
}

// actionsFor are the acts whose yes makes a record what it is.
func actionsFor(s Status) []string {
	if s == StatisticalDefault {
		return []string{string(EventPermitDefault)}
	}
	return []string{string(EventApprove), string(EventSupersede)}
}

// repository is the id that approvals are bound to: as a parent has it, else as this tree
// does. "" if there is none.
func (v *view) repository() string {
	for _, tree := range append(slices.Clone(v.Parents), v.New) {
		if id := repositoryOf(tree); id != "" {
			return id
		}
	}
	return ""
}

func repositoryOf(tree finding.Tree) string {
	var identity struct {
		ID string `json:"id"`
	}
	data, err := tree.ReadFile(approval.RepositoryFile)
	if err != nil || json.Unmarshal(data, &identity) != nil {
		return ""
	}
	return identity.ID
}

// approvalLevel holds every yes to the level that the policy asks for. One statement serves
// once: two records with its nonce are a copy.
func approvalLevel(v *view) {
	v.base.readable(func(r *Record) {
		if r.Status != Accepted && r.Status != StatisticalDefault {
			return
		}
		a, ok := parseApproval(r.value("approval"))
		level := approval.LevelNone
		if r.value("approval_source") != "" {
			level = approval.LevelStatement
		}
		if ok && a.Method != approval.MethodStatement {
			s, l, why, err := v.recorded(r, a)
			if why != "" || err != nil {
				return // skmb/approval-invalid reports it
			}
			level = l
			if v.reused(s.Nonce, r.Path) {
				v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s: its approval is a copy of another one", r.ID))
			}
		}
		if v.opts.Touch && level == approval.LevelSignature {
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s was signed by a key that nobody touched; the policy asks for a touch", r.ID))
		} else if level < v.opts.Required {
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s was approved by a %s; the policy asks for a %s", r.ID, level, v.opts.Required))
		}
	})
}

// changedSince reports whether a record that is accepted in some parent has, in every
// parent where it is accepted, another approved text.
func changedSince(parents []*Base, r *Record) bool {
	changed := false
	for _, p := range parents {
		if old := p.byID[r.ID]; old != nil && old.fields != nil && old.Status == Accepted {
			if old.Digest() == r.Digest() {
				return false
			}
			changed = true
		}
	}
	return changed
}

func acceptedChanged(v *view) error {
	parents, err := v.parents()
	if err != nil || v.base == nil {
		return err
	}
	v.base.readable(func(r *Record) {
		if r.Status != Accepted || !changedSince(parents, r) {
			return
		}
		if a, ok := parseApproval(r.value("approval")); ok && a.Digest == r.Digest() {
			if v.older(r, a) {
				v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s went back to a text whose approval is older than the one it had", r.ID))
			}
			return
		}
		v.report(r.Path, r.at("title"), r.ID, "skmb approve "+r.ID, fmt.Sprintf("the approved text of %s was changed after it was accepted", r.ID))
	})
	return nil
}

// older reports whether a parent has a later approval of the record than this one, where
// both left a record that says when.
func (v *view) older(r *Record, a Approval) bool {
	now, ok := issued(v.New, a)
	if !ok {
		return false
	}
	for _, tree := range v.Parents {
		b, err := Load(tree, v.root)
		if err != nil || b == nil || b.byID[r.ID] == nil || b.byID[r.ID].fields == nil {
			continue
		}
		before, ok := parseApproval(b.byID[r.ID].value("approval"))
		if at, known := issued(tree, before); ok && known && at.After(now) {
			return true
		}
	}
	return false
}

// issued is when the statement of an approval was issued, as its record says.
func issued(tree finding.Tree, a Approval) (at time.Time, ok bool) {
	name := approval.Path(a.RecordID)
	if a.RecordID == "" || !fs.ValidPath(name) {
		return at, false
	}
	data, err := tree.ReadFile(name)
	var record approval.Record
	if err != nil || json.Unmarshal(data, &record) != nil {
		return at, false
	}
	s, err := approval.ParseStatement(record.Statement)
	return s.Issued, err == nil
}
