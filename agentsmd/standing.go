package agentsmd

import (
	"context"
	"strings"
	"time"
)

func quotaAllows(q *Quota) error {
	switch {
	case q == nil || q.Status == quotaAllowed:
		return nil
	case q.Status == quotaBlocked:
		return fault("quota-blocked", "", "the batch was collected with too little quota left")
	}
	return fault("quota-unknown", "", "it was not known how much of the quota was left")
}

// autoAllowed holds a file to what its user has allowed.
func autoAllowed(s *State, path string, now time.Time) error {
	for _, a := range s.Preferences.Auto {
		if a.Path == path && now.UTC().Format(time.DateOnly) <= a.Until {
			return nil
		}
	}
	return fault("auto-not-authorised", "", "Auto is not allowed for %s", path)
}

// notProject refuses to write the file that holds everywhere for the sake of one directory.
func notProject(root string) error {
	return fault("root-not-allowed", "make it a global rule", "%s has the file that holds everywhere", root)
}

// stillRoot holds a root to being there, and to being the top of its project still.
func (k *Keeper) stillRoot(ctx context.Context, root string, s *State) (Project, error) {
	p, ok, err := k.project(ctx, root, s)
	switch {
	case err != nil:
		return p, err
	case !ok:
		return p, fault("root-missing", "", "the directory %s is gone", root)
	case p.Root != root:
		return p, fault("root-missing", "collect again", "%s is a part of %s by now", root, p.Root)
	}
	return p, nil
}

// realProjects is how many distinct projects a global decision rests on, as they stand on disk
// now: of candidates the roots of their sources, else those of its evidence.
func (k *Keeper) realProjects(ctx context.Context, s *State, d *Decision) int {
	keys := map[string]bool{}
	counted := k.counted(ctx, s)
	for _, root := range d.SourceRoots {
		if key := counted(CandidateSource{Root: &root}); key != "" {
			keys[key] = true
		}
	}
	return len(keys)
}

func coverage(ids []string, decisions []*Decision, refs *references) error {
	reached := map[string]bool{}
	for _, d := range decisions {
		for _, ref := range d.Refs {
			if rec := refs.record(ref); rec != nil {
				reached[rec.ID] = true
			}
		}
	}
	var missing []string
	for _, id := range ids {
		if !reached[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return fault("coverage", "", "no decision reaches %s", strings.Join(missing, ", "))
	}
	return nil
}
