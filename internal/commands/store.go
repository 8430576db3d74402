package commands

import (
	"maps"
	"slices"
	"time"

	"assent/boundary"
	"assent/config"
	"assent/hooks"
	"assent/repo"
	"assent/store"
)

// store opens the clone's store with the worktree as a root.
func (c *call) store(r *repo.Repo) (*store.Store, error) {
	roots := map[string]string{}
	if !r.Bare() {
		roots[boundary.TreeRoot] = r.Root
	}
	return store.Open(store.Options{
		Private: hooks.Private(r), Share: r.Share(), Roots: roots, Now: c.Now, LockWait: lockWait, Fault: fault,
	})
}

// withStore opens the clone and its store for a command that writes to the worktree.
func (c *call) withStore(run func(r *repo.Repo, s *store.Store) error) error {
	return c.inStore(c.worktree, run)
}

// inStore does so for a command that may also work in a bare repository.
func (c *call) inStore(open func() (*repo.Repo, error), run func(r *repo.Repo, s *store.Store) error) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := c.store(r)
	if err != nil {
		return err
	}
	defer s.Close()
	return run(r, s)
}

// lockWait is how long a command waits for its turn to write.
const lockWait = 30 * time.Second

// config reads the configuration from disk, as a person who writes sees it.
func (c *call) config(r *repo.Repo) (config.Config, error) { return config.Load(repo.Disk(r.Root)) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
