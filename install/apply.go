package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"assent/hooks"
	"assent/hooks/shortcut"
	"assent/repo"
	"assent/store"
)

// State is what an installation remembers in the clone, in state/install.json.
type State struct {
	Version int         `json:"version"`
	Answer  Answer      `json:"answer"`             // "" after uninstalling: the question is open again
	Common  string      `json:"common"`             // Git directory of the clone: a copied or moved clone is another one
	Made    []string    `json:"made_dirs,omitzero"` // directories that were made for hook files
	With    []string    `json:"with,omitzero"`
	Without []string    `json:"without,omitzero"`
	Method  Method      `json:"method,omitzero"`
	Files   []Installed `json:"files"`
}

// Installed is one hook file of ours.
type Installed struct {
	Event   string       `json:"event"`
	Path    string       `json:"path"`
	SHA256  store.Digest `json:"sha256"`
	Chained string       `json:"chained,omitzero"` // where the foreign hook went
	Kept    bool         `json:"kept,omitzero"`    // it stood there before, beside the same one in the hook's place
}

var stateName = store.Name{Root: store.Private, Path: "state/install.json"}

// Remembered returns what was installed, or answered, before; ok is false if nothing was.
// The memory of a clone that was copied or moved speaks of the places where it is now.
func Remembered(s *store.Store, r *repo.Repo) (State, bool, error) {
	var st State
	var f store.File
	err := s.View(context.Background(), func(r *store.Reader) (err error) {
		f, err = r.Read(stateName)
		return err
	})
	if err != nil || f.Digest == "" {
		return st, false, err
	}
	if err := json.Unmarshal(f.Data, &st); err != nil {
		return st, false, fmt.Errorf("%s is damaged: %w", stateName, err)
	}
	return st.at(r.CommonDir), true, nil
}

// at moves the places of a state from the clone that it was written for to another one. What
// lay outside of that clone is not this one's.
func (st State) at(common string) State {
	if st.Common == "" || st.Common == common {
		return st
	}
	move := func(path string) string {
		for _, dir := range [][2]string{{st.Common, common}, {filepath.Dir(st.Common), filepath.Dir(common)}} {
			if rel, err := filepath.Rel(dir[0], path); err == nil && filepath.IsLocal(rel) {
				return filepath.Join(dir[1], rel)
			}
		}
		return ""
	}
	moved := st
	moved.Common, moved.Made, moved.Files = common, nil, []Installed{}
	for _, dir := range st.Made {
		if dir = move(dir); dir != "" {
			moved.Made = append(moved.Made, dir)
		}
	}
	for _, f := range st.Files {
		if f.Path = move(f.Path); f.Path == "" {
			continue
		}
		if f.Chained != "" {
			f.Chained = move(f.Chained)
		}
		moved.Files = append(moved.Files, f)
	}
	return moved
}

func remember(ctx context.Context, s *store.Store, st State) error {
	data, err := json.Marshal(st, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = s.Update(ctx, func(tx *store.Tx) error {
		old, err := tx.Read(stateName)
		if err != nil {
			return err
		}
		return tx.Put(store.State, stateName, append(data, '\n'), old.Digest)
	})
	return err
}

// Apply carries out a plan. What will stand there is recorded first, each file is
// replaced by a rename, and all is read back.
func Apply(ctx context.Context, s *store.Store, r *repo.Repo, p *Plan) error {
	before, _, err := Remembered(s, r)
	if err != nil {
		return err
	}
	st := State{Version: 1, Answer: p.Answer, Common: r.CommonDir, Made: before.Made, With: p.With, Without: p.Without, Method: p.Method, Files: []Installed{}}
	if p.MakeDir && !slices.Contains(st.Made, p.Dir) {
		st.Made = append(st.Made, p.Dir)
	}
	gone := map[string]bool{} // files that this plan takes out
	for _, i := range p.Items {
		if i.Action == Remove {
			gone[i.Path] = true
			continue
		}
		f := Installed{Event: i.Event, Path: i.Path, SHA256: store.DigestOf(i.data), Kept: i.kept}
		for _, old := range before.Files {
			f.Kept = f.Kept || old.Path == i.Path && old.Kept
		}
		if _, err := os.Lstat(i.chain); i.Action == Chain || err == nil {
			f.Chained = i.chain
		}
		st.Files = append(st.Files, f)
	}
	for _, old := range before.Files { // what an earlier answer installed stays until it is uninstalled
		if !gone[old.Path] && !slices.ContainsFunc(st.Files, func(f Installed) bool { return f.Path == old.Path }) {
			st.Files = append(st.Files, old)
		}
	}
	if err := remember(ctx, s, st); err != nil {
		return err
	}
	if p.MakeDir {
		if err := os.MkdirAll(p.Dir, 0o777); err != nil {
			return err
		}
	}
	for _, i := range p.Items {
		if err := put(i); err != nil {
			return err
		}
	}
	for _, k := range p.Keys {
		if err := r.SetConfig(ctx, k.Name, k.Value); err != nil {
			return err
		}
		if got, err := r.Config(ctx, k.Name); err != nil || got != k.Value {
			return fmt.Errorf("the key %s does not read back as it was written (%v)", k.Name, err)
		}
	}
	return nil
}

func put(i Item) error {
	switch {
	case i.Action == Same:
		return nil
	case i.Action == Remove && i.chain != "":
		return os.Rename(i.chain, i.Path)
	case i.Action == Remove:
		return os.Remove(i.Path)
	}
	if i.Action == Chain {
		if _, err := os.Lstat(i.chain); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(i.Path, i.chain); err != nil {
				return err
			}
		}
	}
	if err := replace(i.Path, i.data); err != nil {
		return err
	}
	got, err := os.ReadFile(i.Path)
	if err != nil || !bytes.Equal(got, i.data) {
		return fmt.Errorf("%s does not read back as it was written (%v)", i.Path, err)
	}
	return nil
}

// copyBack puts a chained hook in its old place and leaves it where it stood beside it, too.
func copyBack(from, to string) error {
	data, err := readRegular(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return replaceAs(to, data, info.Mode().Perm())
}

// replace writes an executable file by a rename in its directory: a link that stands
// there is replaced, never written through.
func replace(name string, data []byte) error {
	return replaceAs(name, data, executable(filepath.Dir(name)))
}

func replaceAs(name string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".assent-tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// executable is 0755 within the modes that the hooks directory itself grants.
func executable(dir string) fs.FileMode {
	info, err := os.Stat(dir)
	if err != nil {
		return 0o755
	}
	return 0o700 | info.Mode().Perm()&0o077&^0o022
}

// Uninstallation is what taking the hooks out will do.
type Uninstallation struct {
	State State
	Items []Item
	Left  []string // files that are not ours any more, with the reason

	keys  []string // of the clone's configuration, with our values
	purge []string // directories of ours in the Git directory
}

// PlanRemoval looks at what an installation left and says what uninstalling would do.
func PlanRemoval(ctx context.Context, s *store.Store, r *repo.Repo) (*Uninstallation, error) {
	st, _, err := Remembered(s, r)
	if err != nil {
		return nil, err
	}
	u := &Uninstallation{State: st}
	if u.keys, err = ourKeys(ctx, r); err != nil {
		return nil, err
	}
	files := st.Files
	if len(files) == 0 { // the memory may be lost; what is plainly ours can still be found
		if h, err := r.HooksPath(ctx); err == nil {
			for _, e := range hooks.Table {
				files = append(files, Installed{Event: e.Name, Path: filepath.Join(h.Dir, e.Name), Chained: filepath.Join(h.Dir, e.Name+".pre-assent")})
			}
		}
	}
	for _, f := range files {
		data, err := readRegular(f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !isOurs(data) {
			if _, err := os.Lstat(f.Chained); f.Chained != "" && err == nil {
				u.Left = append(u.Left, fmt.Sprintf("%s is not ours any more, and the hook it replaced waits at %s: keep one of the two", f.Path, f.Chained))
			}
			continue
		}
		rest := behind(data)
		ours := strings.TrimSuffix(string(data), string(rest))
		event, _ := hooks.Find(f.Event)
		if f.SHA256 != "" && store.DigestOf([]byte(ours)) != f.SHA256 && store.DigestOf(data) != f.SHA256 && !isShim(event, data) {
			u.Left = append(u.Left, f.Path+" was edited: take our lines out by hand")
			continue
		}
		item := Item{Event: f.Event, Action: Remove, Path: f.Path}
		if len(rest) > 0 {
			item.Action, item.data = Replace, append([]byte("#!/bin/sh\n"), rest...)
		}
		if _, err := os.Lstat(f.Chained); f.Chained != "" && err == nil {
			if item.Action == Replace {
				u.Left = append(u.Left, fmt.Sprintf("%s has another tool's text, and the hook it replaced waits at %s: join the two by hand", f.Path, f.Chained))
				continue
			}
			item.chain, item.kept = f.Chained, f.Kept
		}
		u.Items = append(u.Items, item)
	}
	return u, nil
}

// ourKeys are the keys of the clone's configuration whose values this program wrote, whatever
// program they run.
func ourKeys(ctx context.Context, r *repo.Repo) ([]string, error) {
	var out []string
	driver, err := r.Config(ctx, driverKey)
	if err != nil {
		return nil, err
	}
	if driver != "" && driver == driverFor(bakedIn(driver, "if test -x '", "'; then ")) {
		out = append(out, driverKey, driverName)
	}
	for _, e := range hooks.Table {
		command, err := configuredHook(ctx, r, e)
		if err != nil {
			return nil, err
		}
		if _, ours := configuredFor(e, command); ours {
			out = append(out, eventKey(e), commandKey(e))
		}
	}
	return out, nil
}

// Purge makes uninstalling take the program's own directories in the Git directory, too:
// receipts, log, what is remembered. Archives are files of the worktree and stay.
func (u *Uninstallation) Purge(r *repo.Repo) {
	dirs := []string{hooks.Private(r)}
	others, _ := filepath.Glob(filepath.Join(r.CommonDir, "worktrees", "*", "assent"))
	for _, dir := range append(dirs, others...) {
		if _, err := os.Lstat(dir); err == nil {
			u.purge = append(u.purge, dir)
		}
	}
}

// Lines says what uninstalling will do.
func (u *Uninstallation) Lines() []string {
	var out []string
	for _, i := range u.Items {
		switch {
		case i.chain != "":
			out = append(out, fmt.Sprintf("restore %s from %s", i.Path, filepath.Base(i.chain)))
		case i.Action == Replace:
			out = append(out, "cut     "+i.Path+" (another tool's text stays)")
		default:
			out = append(out, "remove  "+i.Path)
		}
	}
	for _, k := range u.keys {
		out = append(out, "unset   "+k)
	}
	for _, dir := range u.purge {
		out = append(out, "purge   "+dir)
	}
	return out
}

// Apply takes the hooks out.
func (u *Uninstallation) Apply(ctx context.Context, s *store.Store, r *repo.Repo, now time.Time) error {
	for _, k := range u.keys {
		if err := r.SetConfig(ctx, k, ""); err != nil {
			return err
		}
	}
	for _, i := range u.Items {
		var err error
		switch {
		case i.kept:
			err = copyBack(i.chain, i.Path)
		case i.chain != "":
			err = os.Rename(i.chain, i.Path)
		case i.Action == Replace:
			err = replace(i.Path, i.data)
		default:
			err = os.Remove(i.Path)
		}
		if err != nil {
			return err
		}
	}
	shortcut.Open(r, "uninstall", now, "").Add(shortcut.Receipt{}) // the guard is not in use any more
	for _, dir := range u.State.Made {
		_ = os.Remove(dir) // only if it is empty
	}
	if len(u.Left) == 0 && len(u.purge) > 0 {
		var err error
		for _, dir := range u.purge {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return err
	}
	if len(u.Left) > 0 || u.State.Version == 0 {
		return nil
	}
	return remember(ctx, s, State{Version: 1, Files: []Installed{}})
}
