package commands

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assent/finding"
	"assent/repo"
	"assent/store"
)

func recoverCommand() *cli.Command {
	return &cli.Command{
		Name: "recover", Usage: "complete a change that was interrupted half-way",
		UsageText: "assent recover\nassent recover --resolve keep      a file was edited meanwhile: it stays, the rest is carried out\n" +
			"assent recover --resolve apply     the change is carried out whole; what was found goes to assent/rescue in the Git directory",
		Flags: []cli.Flag{&cli.StringFlag{Name: "resolve", Usage: "end a conflict: `keep` or apply; asks a person on a terminal"}, formatFlag, dirFlag},
		Action: action(0, func(c *call) error {
			asJSON, err := c.json()
			if err != nil {
				return err
			}
			return c.withStore(func(r *repo.Repo, s *store.Store) error {
				done, err := r.RecoverPublish(c.ctx)
				if err != nil {
					return err
				}
				return c.recover(s, done, asJSON)
			})
		}),
	}
}

// recover completes or resolves what was interrupted, and says so.
func (c *call) recover(s *store.Store, commits []string, asJSON bool) error {
	how := store.Resolution(c.String("resolve"))
	if how != "" && how != store.Keep && how != store.Apply {
		return invalid("use --resolve keep or --resolve apply", "there is no resolution %q", how)
	}
	rec, err := s.Recover(c.ctx)
	if errors.Is(err, store.ErrConflict) && how != "" {
		if err := c.consent("store", "resolve", string(how), resolving(how, rec), "End the interrupted change so?"); err != nil {
			return err
		}
		rec, err = s.Resolve(c.ctx, how)
	}
	if errors.Is(err, store.ErrConflict) {
		return &failure{finding.ExitStale, err, "edited meanwhile: " + strings.Join(rec.Foreign, ", ") + "\nassent recover --resolve keep, or --resolve apply"}
	}
	if err != nil {
		return err
	}
	c.recovered = rec.Pending || len(commits) > 0
	if asJSON {
		return c.printJSON(recovered{1, rec.Pending, rec.Files, append([]string{}, commits...)})
	}
	if rec.Pending {
		c.say("completed: %s", strings.Join(rec.Files, " "))
	}
	for _, done := range commits {
		c.say("%s", done)
	}
	if !rec.Pending && len(commits) == 0 {
		c.say("nothing was interrupted")
	}
	return nil
}

// resolving says what ending a conflict in one way will do.
func resolving(how store.Resolution, rec store.Recovery) []string {
	var out []string
	for _, f := range rec.Files {
		edited := slices.Contains(rec.Foreign, f)
		switch {
		case !edited:
			out = append(out, "complete "+f)
		case how == store.Keep:
			out = append(out, "keep     "+f+" as it stands: it was edited meanwhile")
		default:
			out = append(out, "replace  "+f+" by what the change wanted; what stands there goes to assent/rescue in the Git directory")
		}
	}
	return out
}

type recovered struct {
	SchemaVersion int      `json:"schema_version"`
	Pending       bool     `json:"pending"`
	Files         []string `json:"files"`
	Commits       []string `json:"commits"` // what was done about commits that were being published
}
