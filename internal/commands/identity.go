package commands

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/boundary"
	"assent/store"
)

// repositoryID is the id in .assent/repository.json, which the first command that writes a
// tracked record makes. It binds approvals to this repository.
func repositoryID(tx *store.Tx) (string, error) {
	type identity struct {
		ID string `json:"id"`
	}
	name := store.Name{Root: boundary.TreeRoot, Path: ".assent/repository.json"}
	f, err := tx.Read(name)
	if err != nil {
		return "", err
	}
	var r identity
	if f.Digest != "" {
		if err := json.Unmarshal(f.Data, &r, json.RejectUnknownMembers(true)); err != nil || len(r.ID) != 32 || strings.Trim(r.ID, "0123456789abcdef") != "" {
			return "", fmt.Errorf("%s is damaged: restore it (%v)", name, err)
		}
		return r.ID, nil
	}
	r.ID = approval.NewNonce()
	return r.ID, tx.Put(store.Record, name, []byte(fmt.Sprintf("{\n  \"id\": %q\n}\n", r.ID)), "")
}
