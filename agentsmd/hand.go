package agentsmd

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"assent/repo"
)

// BlockState is how the block stands to what was last written.
type BlockState string

const (
	Absent  BlockState = "absent"
	Current BlockState = "current"
	Stale   BlockState = "stale"   // ours, but older or laid out anew
	Drifted BlockState = "drifted" // somebody else's hand is in it
)

// Published is what was last written to a file's block.
type Published struct {
	Scope   string   `json:"scope_key"`
	Body    string   `json:"body_sha256"`    // "" while another hand is in it
	Rules   []string `json:"rules"`          // keys, in order
	Earlier []string `json:"earlier_sha256"` // bodies before, newest last
	At      string   `json:"at"`
}

// maxEarlier is how many older bodies of a block are known again, such as on an old branch.
const maxEarlier = 100

// witness tells what somebody's hand did to a block from what Git and a yes did.
type witness struct {
	assented map[string]bool // keys of the rules of the scope that a yes stands behind
	// head gives the keys that HEAD has of the file; ok is false if HEAD has no such file.
	head func() (keys []string, ok bool)
}

// State compares the block with what was published, nil if nothing is known of it. gone are the
// keys of rules that a hand took away, as far as that can be told: a rule that HEAD does not have
// either was left behind by Git, as on another branch.
func (b *Block) State(known *Published, w witness) (state BlockState, gone []string) {
	switch {
	case !b.Present:
		return Absent, nil
	case known == nil && len(b.Foreign) > 0:
		return Drifted, nil
	case known == nil && b.Legacy != "":
		return Stale, nil
	case known == nil:
		return Current, nil
	}
	keys := b.Keys()
	added := slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(known.Rules, k) && !w.assented[k] })
	body := digest(b.Body())
	earlier := slices.Contains(known.Earlier, body)
	if body != known.Body {
		gone = w.gone(known.Rules, keys, earlier)
	}
	switch {
	case known.Body != "" && body == known.Body && b.Legacy == "": // also with foreign lines that were adopted
		return Current, nil
	case len(b.Foreign) > 0:
		return Drifted, gone
	case !earlier && added || len(gone) > 0:
		return Drifted, gone
	}
	return Stale, nil
}

// gone are the rules of a block that was published which a hand took out of it. A block as it was
// earlier may be that of another branch.
func (w witness) gone(rules, keys []string, earlier bool) (gone []string) {
	for _, k := range rules {
		if !slices.Contains(keys, k) && w.assented[k] {
			gone = append(gone, k)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	head, tracked := w.head()
	switch {
	case !tracked:
	case slices.Equal(slices.Sorted(slices.Values(head)), slices.Sorted(slices.Values(keys))):
		return nil
	case earlier:
		gone = slices.DeleteFunc(gone, func(k string) bool { return !slices.Contains(head, k) })
	}
	return gone
}

// witness is the one of a file.
func (k *Keeper) witness(ctx context.Context, s *State, path, scope string) witness {
	w := witness{assented: map[string]bool{}, head: func() ([]string, bool) {
		b := k.headBlock(ctx, path)
		if b == nil {
			return nil, false
		}
		return b.Keys(), true
	}}
	for _, e := range s.RuleEvidence {
		if e.Scope == scope {
			w.assented[Norm(e.Text)] = true
		}
	}
	return w
}

// headBlock is the block of a file as HEAD has it; nil where HEAD has none that can be read.
func (k *Keeper) headBlock(ctx context.Context, path string) *Block {
	r, err := repo.Open(ctx, filepath.Dir(path), repo.Foreign(k.Git))
	if err != nil {
		return nil
	}
	defer r.Close()
	if filepath.Clean(r.Root) != filepath.Dir(path) {
		return nil
	}
	src, err := r.Blob("HEAD:" + FileName)
	if err != nil {
		return nil
	}
	b, err := ParseBlock(path, src)
	if err != nil {
		return nil
	}
	return b
}

// standing is how the block of a file stands to what was published for a scope.
func (k *Keeper) standing(ctx context.Context, s *State, f *file, scope string) (BlockState, []string) {
	return f.block.State(published(s, f.path, scope), k.witness(ctx, s, f.path, scope))
}

// goneFrom finds the rules that a hand took out of a file, once for each.
func (k *Keeper) goneFrom(ctx context.Context, s *State, read func(path string) (*file, error)) func(path, scope string) []string {
	found := map[string][]string{}
	return func(path, scope string) []string {
		gone, ok := found[path]
		if !ok {
			if f, err := read(path); err == nil { // one that cannot be read is judged as a target
				_, gone = k.standing(ctx, s, f, scope)
			}
			found[path] = gone
		}
		return gone
	}
}

// takenOut are the texts of the rules that a hand took out of a file: of those that were written
// there, and of those that HEAD has, whoever wrote them.
func (k *Keeper) takenOut(ctx context.Context, s *State, f *file, scope string) (texts []string) {
	_, gone := k.standing(ctx, s, f, scope)
	have := map[string]bool{}
	for _, c := range slices.Sorted(maps.Keys(s.RuleEvidence)) {
		if e := s.RuleEvidence[c]; e.Scope == scope && slices.Contains(gone, Norm(e.Text)) {
			texts, have[Norm(e.Text)] = append(texts, e.Text), true
		}
	}
	if head := k.headBlock(ctx, f.path); head != nil && head.Present {
		for _, r := range head.Rules {
			if !f.block.Has(r.Key()) && !have[r.Key()] {
				texts = append(texts, r.Text)
			}
		}
	}
	return texts
}

// tookOut reports a rule that does not stand in a file, and did: the user may withdraw it all the
// same.
func (k *Keeper) tookOut(ctx context.Context, s *State, f *file, scope, text string) bool {
	if f.block.Has(Norm(text)) {
		return false
	}
	if _, ok := s.RuleEvidence[RuleID(KindRule, scope, text)]; ok {
		return true
	}
	head := k.headBlock(ctx, f.path)
	return head != nil && head.Has(Norm(text))
}

// merged refuses a file with a conflict: what stands in it is not what anybody wants.
func (k *Keeper) merged(ctx context.Context, path string) error {
	r, err := repo.Open(ctx, filepath.Dir(path), repo.Foreign(k.Git))
	if err != nil {
		return nil // outside of a repository nothing is merged
	}
	defer r.Close()
	if filepath.Clean(r.Root) != filepath.Dir(path) {
		return nil
	}
	var unsuitable *repo.Unsuitable
	if _, err := r.PathEntry(ctx, FileName); errors.As(err, &unsuitable) && unsuitable.Why == repo.Unmerged {
		return gitFault(err)
	}
	return nil
}
