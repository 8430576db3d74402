package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/boundary"
	"assent/repo"
	"assent/skmb"
	"assent/store"
)

var repositoryName = store.Name{Root: boundary.TreeRoot, Path: approval.RepositoryFile}

// repositoryID is the id that binds approvals to this repository: as it stands on disk, else, as
// in a sparse checkout, in HEAD. If there is none it is a new one, and made is its file.
func (c *call) repositoryID(w *skmb.Writer, r *repo.Repo) (id string, made []byte, err error) {
	var f store.File
	if err := w.Store.View(c.ctx, func(rd *store.Reader) (err error) { f, err = rd.Read(repositoryName); return err }); err != nil {
		return "", nil, err
	}
	data := f.Data
	if f.Digest == "" {
		var unknown *repo.UnknownRevision
		head, err := r.Commit(c.ctx, "HEAD")
		if err == nil {
			data, err = head.ReadFile(approval.RepositoryFile)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.As(err, &unknown):
			id = approval.NewNonce()
			return id, []byte(fmt.Sprintf("{\n  \"id\": %q\n}\n", id)), nil
		case err != nil:
			return "", nil, err
		}
	}
	var identity struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &identity, json.RejectUnknownMembers(true)); err != nil || len(identity.ID) != 32 || strings.Trim(identity.ID, "0123456789abcdef") != "" {
		return "", nil, fmt.Errorf("%s is damaged: restore it", approval.RepositoryFile)
	}
	return identity.ID, nil, nil
}
