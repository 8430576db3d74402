package repo

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
)

// objectID is the id that Git gives an object: the hash of "<kind> <size>" NUL content
// (git-hash-object(1)), SHA-1 or SHA-256 by the format of the repository. What is computed
// here is only ever compared with ids of Git's own, so plain SHA-1 will do: a collision
// that Git would refuse cannot get in this way.
func objectID(format, kind string, data []byte) string {
	var h hash.Hash = sha1.New()
	if format == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// encodeTree writes a tree object. Git sorts a directory as if its name ended in a slash.
func encodeTree(entries []treeEntry) ([]byte, error) {
	key := func(e treeEntry) string {
		if e.mode == ModeTree {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(entries, func(a, b treeEntry) int { return cmp.Compare(key(a), key(b)) })
	var out bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.id)
		if err != nil {
			return nil, err
		}
		out.WriteString(strconv.FormatUint(uint64(e.mode), 8) + " " + e.name + "\x00")
		out.Write(id)
	}
	return out.Bytes(), nil
}

// TreeWith returns the id of the tree that changing base would give; base is the id of a
// tree, "" for none. It writes nothing.
func (r *Repo) TreeWith(base string, changes []Change) (string, error) {
	format := "sha1"
	for _, c := range changes {
		if len(cmp.Or(c.New, c.Old)) == 64 {
			format = "sha256"
		}
	}
	if len(base) == 64 {
		format = "sha256"
	}
	if len(changes) == 0 {
		return cmp.Or(base, emptyTree[format]), nil
	}
	id, err := r.treeWith(format, base, changes)
	return cmp.Or(id, emptyTree[format]), err
}

// treeWith does so for one directory; "" is one that nothing is left in.
func (r *Repo) treeWith(format, base string, changes []Change) (string, error) {
	var entries []treeEntry
	if base != "" {
		got, err := r.read(base)
		if err == nil {
			err = got[0].err
		}
		if err == nil {
			entries, err = parseTree(got[0].data, len(base)/2)
		}
		if err != nil {
			return "", err
		}
	}
	below := map[string][]Change{}
	var dirs []string
	set := func(name string, mode Mode, id string) {
		entries = slices.DeleteFunc(entries, func(e treeEntry) bool { return e.name == name })
		if id != "" {
			entries = append(entries, treeEntry{mode, name, id})
		}
	}
	for _, c := range changes {
		dir, rest, nested := strings.Cut(c.Path, "/")
		switch {
		case nested:
			if below[dir] == nil {
				dirs = append(dirs, dir)
			}
			c.Path = rest
			below[dir] = append(below[dir], c)
		case c.New == "" || strings.Trim(c.New, "0") != "":
			set(c.Path, c.NewMode, c.New)
		default:
			return "", errors.New(c.Path + " is unmerged: there is no tree yet")
		}
	}
	for _, dir := range dirs {
		old := ""
		if i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == dir && e.mode == ModeTree }); i >= 0 {
			old = entries[i].id
		}
		id, err := r.treeWith(format, old, below[dir])
		if err != nil {
			return "", err
		}
		if id != "" || old != "" {
			set(dir, ModeTree, id)
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	data, err := encodeTree(entries)
	return objectID(format, "tree", data), err
}
