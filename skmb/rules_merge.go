package skmb

import (
	"fmt"

	"assent/finding"
)

// numberReused compares what the two sides of a merge made of one id. A record that their
// ancestor has is one record, whatever became of it; so is one of the same name and text. A
// side without this base has nothing to say.
func numberReused(v *view) error {
	if len(v.opts.Sides) != 2 {
		return nil
	}
	var bases [3]*Base
	for i, tree := range []finding.Tree{v.opts.Sides[0], v.opts.Sides[1], v.opts.Ancestor} {
		if tree == nil {
			continue
		}
		b, err := Load(tree, v.root)
		if err != nil {
			return err
		}
		bases[i] = b
	}
	ours, theirs, before := bases[0], bases[1], bases[2]
	if ours == nil || theirs == nil {
		return nil
	}
	ours.readable(func(r *Record) {
		other := theirs.byID[r.ID]
		if other == nil || other.Path == r.Path && other.Digest() == r.Digest() || before != nil && before.byID[r.ID] != nil {
			return
		}
		v.report(r.Path, r.at("title"), r.ID, "give one of the two a new number", fmt.Sprintf("%s is %q here and %q in %s on the other side", r.ID, short(r.Title), short(other.Title), other.Path))
	})
	return nil
}
