// Package skmb is the decision base: one index and one Markdown file for each decision
// about an application's implicit state machine. It reads bases as people keep them,
// checks them, and moves records through their lifecycle. It asks no clock, no
// environment and no Git by itself; what it needs is handed to it.
//
// Rules come from seed 003 ("SKMB", "SKMB Update Format", "Optional Git Hook
// Automation") where a comment names no other source.
package skmb

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"assent/finding"
)

// Base is a decision base as read from one tree: <Root>/SKMB.md and <Root>/decisions.
type Base struct {
	Root    string
	Index   *Index    // nil if there is none or it cannot be read
	Records []*Record // decision files, sorted by path; unreadable ones included

	hasIndex, hasDir bool
	problems         []problem
	stray            []string // names in decisions that are no decision file
	links            map[string]bool
	known            map[string]bool     // ids of records and rows
	numbers          map[string][]string // number -> ids that end in it, for short references
	byID             map[string]*Record
	byPath           map[string]*Record
	byFolded         map[string]*Record // by path with white space collapsed, where only one file has it
}

// IndexPath and DecisionsDir name the pair that makes a base.
func IndexPath(root string) string    { return path.Join(root, "SKMB.md") }
func DecisionsDir(root string) string { return path.Join(root, "decisions") }

// Load reads the base at root. Without index and decisions directory there is no base,
// and Load returns nil. What cannot be read becomes a finding of the base; an error means
// that the tree itself gave no answer.
func Load(tree finding.Tree, root string) (*Base, error) {
	b := &Base{Root: root, links: map[string]bool{}, known: map[string]bool{}, numbers: map[string][]string{},
		byID: map[string]*Record{}, byPath: map[string]*Record{}, byFolded: map[string]*Record{}}
	if ok, err := b.rootKind(tree); !ok || err != nil {
		if len(b.problems) > 0 {
			return b, err
		}
		return nil, err
	}
	if err := b.readIndex(tree); err != nil {
		return nil, err
	}
	if err := b.readDecisions(tree); err != nil {
		return nil, err
	}
	if !b.hasIndex && !b.hasDir && len(b.problems) == 0 {
		return nil, nil
	}
	for _, r := range b.Records {
		b.byPath[r.Path] = r
		if folded := strings.Join(strings.Fields(r.Path), " "); folded != r.Path || strings.ContainsAny(folded, `\:`) {
			if _, twice := b.byFolded[folded]; twice {
				b.byFolded[folded] = nil // two files that no cell can tell apart: neither is named
			} else {
				b.byFolded[folded] = r
			}
		}
		if r.ID != "" {
			b.know(r.ID)
			if b.byID[r.ID] == nil {
				b.byID[r.ID] = r
			}
		}
	}
	for _, kind := range []table{decisions, defaults, opens} {
		for _, r := range b.Index.rows(kind) {
			if ValidID(r.id()) {
				b.know(r.id())
			}
		}
	}
	for _, ids := range b.numbers {
		slices.Sort(ids)
	}
	return b, nil
}

// stat describes a name; nil without an error if there is nothing.
func stat(tree finding.Tree, name string) (fs.FileInfo, error) {
	info, err := tree.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// rootKind holds the base's directory, index and decisions to be what they seem: behind
// a link or in a submodule nothing is read.
func (b *Base) rootKind(tree finding.Tree) (ok bool, err error) {
	var prefix string
	for part := range strings.SplitSeq(b.Root, "/") {
		prefix = path.Join(prefix, part)
		info, err := stat(tree, prefix)
		if info == nil || err != nil {
			return false, err
		}
		if info.Mode().Type() != fs.ModeDir {
			b.object(prefix, "is %s: a base must be a plain directory", kindOf(info.Mode()))
			return false, nil
		}
	}
	info, err := stat(tree, IndexPath(b.Root))
	if err != nil {
		return false, err
	}
	if info != nil && !info.Mode().IsRegular() {
		b.object(IndexPath(b.Root), "is %s: the index must be a regular file", kindOf(info.Mode()))
		return false, nil
	}
	hasIndex := info != nil
	info, err = stat(tree, DecisionsDir(b.Root))
	if err != nil {
		return false, err
	}
	if info != nil && info.Mode().Type() != fs.ModeDir {
		b.object(DecisionsDir(b.Root), "is %s: it must be a plain directory", kindOf(info.Mode()))
		return false, nil
	}
	b.hasIndex, b.hasDir = hasIndex, info != nil
	return true, nil
}

func (b *Base) object(name, format, kind string) {
	b.problems = append(b.problems, problem{code: "skmb/root-kind", path: name, message: strings.Replace(format, "%s", kind, 1), pos: finding.Pos{}})
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeIrregular != 0 && m.IsDir():
		return "a submodule"
	case m.IsDir():
		return "a directory"
	case m.IsRegular():
		return "a file"
	}
	return "no regular file"
}

func (b *Base) readIndex(tree finding.Tree) error {
	if !b.hasIndex {
		return nil
	}
	name := IndexPath(b.Root)
	data, err := tree.ReadFile(name)
	if tooLarge(err) {
		b.problems = append(b.problems, problem{code: "skmb/unreadable", path: name, message: "the index is larger than 8 MiB", pos: finding.Pos{Line: 1, Col: 1}})
		return nil
	}
	if err != nil {
		return err
	}
	index, p := parseIndex(name, data)
	b.Index = index
	if p != nil {
		b.problems = append(b.problems, *p)
	}
	return nil
}

// tooLarge reports whether a tree refused to read a file because of its size.
func tooLarge(err error) bool {
	return err != nil && strings.Contains(err.Error(), "larger than")
}

func (b *Base) readDecisions(tree finding.Tree) error {
	if !b.hasDir {
		return nil
	}
	dir := DecisionsDir(b.Root)
	entries, err := tree.ReadDir(dir)
	if err != nil {
		return err
	}
	type file struct {
		name string
		data []byte
	}
	var files []file
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.Name() == ".gitkeep":
		case e.Type()&fs.ModeSymlink != 0 && strings.HasSuffix(e.Name(), ".md"):
			b.links[name] = true
		case !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".md"):
			b.stray = append(b.stray, name)
		default:
			data, err := tree.ReadFile(name)
			if tooLarge(err) {
				b.problems = append(b.problems, problem{code: "skmb/unreadable", path: name, message: "the file is larger than 1 MiB", pos: finding.Pos{Line: 1, Col: 1}})
				b.Records = append(b.Records, &Record{Path: name})
				continue
			}
			if err != nil {
				return err
			}
			files = append(files, file{name, data})
		}
	}
	records := make([]*Record, len(files))
	problems := make([]*problem, len(files))
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(files))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(files); i += workers {
				records[i], problems[i] = parseGuarded(files[i].name, files[i].data)
				if p := problems[i]; p != nil { // a baseline knows this content, not whatever comes after it
					sum := sha256.Sum256(bytes.Join(bytes.Fields(files[i].data), []byte(" ")))
					p.key = hex.EncodeToString(sum[:8])
				}
			}
		})
	}
	wg.Wait()
	b.Records = append(b.Records, records...)
	slices.SortFunc(b.Records, func(x, y *Record) int { return strings.Compare(x.Path, y.Path) })
	for _, p := range problems {
		if p != nil {
			b.problems = append(b.problems, *p)
		}
	}
	return nil
}

// parseGuarded turns a panic of the reader, which is our defect, into a finding that
// blocks: a file that could not be read never passes.
func parseGuarded(name string, data []byte) (r *Record, p *problem) {
	defer func() {
		if e := recover(); e != nil {
			r = &Record{Path: name}
			p = &problem{code: "skmb/unreadable", path: name, message: fmt.Sprintf("the reader failed: %v", e), pos: finding.Pos{Line: 1, Col: 1}}
		}
	}()
	return parseRecord(name, data)
}

func (b *Base) know(id string) {
	if b.known[id] {
		return
	}
	b.known[id] = true
	if number := id[strings.LastIndexByte(id, '-')+1:]; strings.HasPrefix(id, "SKMB-") {
		b.numbers[number] = append(b.numbers[number], id)
	}
}

// resolve finds the ids that a reference may mean: one, none, or several if it is short
// and ambiguous.
func (b *Base) resolve(ref string) []string {
	if b.known[ref] {
		return []string{ref}
	}
	if number, short := strings.CutPrefix(ref, "SKMB-"); short {
		return b.numbers[number]
	}
	return nil
}

// Find is Record for what a person typed, who may leave out all but the number; the error
// says why there is none.
func (b *Base) Find(ref string) (*Record, error) {
	if len(ref) >= 3 && strings.Trim(ref, "0123456789") == "" {
		ref = "SKMB-" + ref
	}
	switch ids := b.resolve(ref); {
	case len(ids) > 1:
		return nil, &InputError{fmt.Sprintf("%s may mean %s", ref, anyOf(ids)), "write the id in full"}
	case len(ids) == 0 || b.byID[ids[0]] == nil:
		return nil, &InputError{fmt.Sprintf("there is no record %s", ref), "skmb list"}
	default:
		return b.byID[ids[0]], nil
	}
}

// Record returns the record of an id, or of a short reference that only one record
// matches.
func (b *Base) Record(ref string) (*Record, bool) {
	ids := b.resolve(ref)
	if len(ids) != 1 {
		return nil, false
	}
	r, ok := b.byID[ids[0]]
	return r, ok
}
