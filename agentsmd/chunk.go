package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"assent/boundary"
	"assent/markdown"
	"assent/store"
)

// ChunkOptions are those of `agentsmd chunk`.
type ChunkOptions struct {
	Run        string
	MaxRecords int
	MaxChars   int
	Again      bool // also where something was decided about the chunks that are there, which is dropped
}

// Limits of a chunk: records, and code points of its file.
const (
	DefaultChunkRecords = 100
	DefaultChunkChars   = 200_000
	MinChunkChars       = 4_000
)

// Chunked is the result of chunk.
type Chunked struct {
	SchemaVersion int           `json:"schema_version"`
	Run           string        `json:"run_id"`
	Chunks        []ChunkResult `json:"chunks"`
	Warnings      []string      `json:"warnings"`
}

// ChunkResult is one file to review.
type ChunkResult struct {
	Number  int     `json:"number"`
	Path    string  `json:"path"`
	Root    *string `json:"project_root"`
	Records int     `json:"records"`
}

// Chunk cuts a batch into files that a reviewer reads one by one: by project, and by limits.
// Only a limit splits a project, and nothing is left out: of a text that is too long head and
// tail are shown, and `agentsmd evidence` gives the rest. Chunks about which something was decided
// stay as they are.
func (k *Keeper) Chunk(ctx context.Context, o ChunkOptions) (Chunked, error) {
	var out Chunked
	if err := k.mend(ctx); err != nil {
		return out, err
	}
	_, err := k.Store.Update(ctx, func(tx *store.Tx) error {
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		run, err := openRun(s, o.Run)
		if err != nil {
			return err
		}
		b, sum, err := readBatch(&tx.Reader, s, run)
		if err != nil {
			return err
		}
		if err := k.homeOf(b); err != nil {
			return err
		}
		m, chunks, warnings := k.chunks(b, sum, s, o)
		old, err := tx.Read(manifestName(run))
		if err != nil {
			return err
		}
		put := func(n store.Name, v any) (string, error) {
			data, err := Document(v)
			if err != nil {
				return "", err
			}
			before, err := tx.Read(n)
			if err != nil {
				return "", err
			}
			return digest(data), tx.Put(store.State, n, data, before.Digest)
		}
		out = Chunked{SchemaVersion: SchemaVersion, Run: run, Chunks: []ChunkResult{}, Warnings: append([]string{}, warnings...)}
		result := func(c ChunkRef) {
			out.Chunks = append(out.Chunks, ChunkResult{c.Number, filepath.Join(k.Dir, "runs", run, "review", c.File), c.Root, len(c.RecordIDs)})
		}
		decided, err := tx.Names(store.Private, "runs/"+run+"/submitted")
		if err != nil {
			return err
		}
		if len(decided) > 0 && !o.Again {
			if kept, err := readChunks(&tx.Reader, s, run, sum); err == nil { // damaged ones are cut anew
				for _, c := range kept.Chunks {
					result(c)
				}
				out.Warnings = append(out.Warnings, fmt.Sprintf("the chunks stay as they are: something was submitted about %d of them; to drop that and cut anew: agentsmd chunk --again", len(decided)))
				return nil
			}
		}
		for i := range chunks {
			c := &chunks[i]
			if m.Chunks[i].SHA256, err = put(chunkName(run, c.Number), c); err != nil {
				return err
			}
			result(m.Chunks[i])
		}
		data, err := Document(m)
		if err != nil {
			return err
		}
		if string(old.Digest) != digest(data) { // what was decided about other chunks is of another world
			if err := removeAll(tx, "runs/"+run+"/submitted"); err != nil {
				return err
			}
			if err := removeAll(tx, "runs/"+run+"/global"); err != nil {
				return err
			}
		}
		if err := tx.Put(store.State, manifestName(run), data, old.Digest); err != nil || s.Runs[run].Manifest == digest(data) {
			return err
		}
		call, err := k.stamp()
		if err != nil {
			return err
		}
		return record(tx, s, f.Digest, AuditEntry{Call: call, Run: run, At: k.now(), Event: "chunked", Effects: []Effect{{Op: opManifest, ID: run, Text: digest(data)}}})
	})
	return out, err
}

func removeAll(tx *store.Tx, dir string) error {
	names, err := tx.Names(store.Private, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		n := store.Name{Root: store.Private, Path: dir + "/" + name}
		f, err := tx.Read(n)
		if err != nil {
			return err
		}
		if err := tx.Remove(store.State, n, f.Digest); err != nil {
			return err
		}
	}
	return nil
}

// chunks fills them, project by project in the order of their first records.
func (k *Keeper) chunks(b *Batch, sum string, s *State, o ChunkOptions) (_ *Manifest, _ []Chunk, warnings []string) {
	if o.MaxRecords <= 0 {
		o.MaxRecords = DefaultChunkRecords
	}
	if o.MaxChars <= 0 {
		o.MaxChars = DefaultChunkChars
	}
	o.MaxChars = max(o.MaxChars, MinChunkChars)
	var groups []string
	byGroup := map[string][]*Record{}
	for i := range b.Records {
		r := &b.Records[i]
		g := orEmpty(r.ProjectRoot)
		if byGroup[g] == nil {
			groups = append(groups, g)
		}
		byGroup[g] = append(byGroup[g], r)
	}
	all := map[string]*Record{}
	for _, list := range [][]Record{b.Records, b.Context} {
		for i := range list {
			all[list[i].ID] = &list[i]
		}
	}
	before := map[string][]string{}
	for _, e := range b.Episodes {
		for _, t := range e.Context {
			before[e.Record] = append(before[e.Record], t.Record)
		}
	}
	m := &Manifest{SchemaVersion: SchemaVersion, Run: b.Run, Batch: sum, MaxRecords: o.MaxRecords, MaxChars: o.MaxChars, AllowedRoots: b.AllowedRoots, ExplicitRoots: b.ExplicitRoots}
	var out []Chunk
	for _, g := range groups {
		head := Chunk{SchemaVersion: SchemaVersion, Run: b.Run, Root: null(g), ExplicitRoots: b.ExplicitRoots, Context: []ChunkRecord{}}
		if g != "" {
			head.ProjectKey = byGroup[g][0].ProjectKey
		}
		warnings = append(warnings, k.surroundings(&head, s)...)
		for size(head) > o.MaxChars/2 && len(head.Effective)+len(head.Closed) > 0 { // the newest stay
			head.EffectiveOmitted += (len(head.Effective) + 1) / 2
			head.ClosedOmitted += (len(head.Closed) + 1) / 2
			head.Effective, head.Closed = head.Effective[:len(head.Effective)/2], head.Closed[(len(head.Closed)+1)/2:]
		}
		room := o.MaxChars - size(head) - 200
		for list := byGroup[g]; len(list) > 0; {
			c := head
			n := fill(&c, list, all, before, o.MaxRecords, room)
			c.Number = len(out) + 1
			ref := ChunkRef{Number: c.Number, File: fmt.Sprintf("chunk-%04d.json", c.Number), Root: c.Root, ProjectKey: c.ProjectKey}
			for _, r := range c.Records {
				ref.RecordIDs = append(ref.RecordIDs, r.ID)
			}
			m.Chunks, out = append(m.Chunks, ref), append(out, c)
			list = list[n:]
		}
	}
	for i := range out {
		out[i].Of = len(out)
	}
	slices.Sort(warnings)
	return m, out, slices.Compact(warnings)
}

// size is the code points of a value's document.
func size(v any) int {
	data, err := Document(v)
	if err != nil {
		return 0
	}
	return utf8.RuneCount(data)
}

// fill puts the first records of a list into a chunk, as many as there is room for, and what
// came before them, up to a quarter of the room. It returns how many records went in: one at
// least, if only abridged.
func fill(c *Chunk, list []*Record, all map[string]*Record, before map[string][]string, most, room int) int {
	used := 0
	for _, r := range list {
		if len(c.Records) == most {
			break
		}
		view := chunkRecord(r, before[r.ID])
		n := size(view) + 8*16 // its lines are indented further in the chunk
		switch {
		case used+n <= room*3/4 || used == 0 && n <= room:
		case used == 0:
			view = abridge(view, room)
			n = size(view) + 8*16
		default:
			n = -1
		}
		if n < 0 {
			break
		}
		c.Records = append(c.Records, view)
		used += n
	}
	inside := map[string]bool{}
	for _, r := range c.Records {
		inside[r.ID] = true
	}
	var context []*Record
	for _, view := range c.Records {
		for _, id := range view.Before {
			if r := all[id]; r != nil && !inside[id] {
				inside[id] = true
				context = append(context, r)
			}
		}
	}
	slices.SortStableFunc(context, func(a, b *Record) int { return strings.Compare(orEmpty(a.StartedAt), orEmpty(b.StartedAt)) })
	quarter := min(room-used, room/4)
	for _, r := range slices.Backward(context) { // the oldest are dropped first
		view := chunkRecord(r, nil)
		if n := size(view) + 8*16; n <= quarter {
			quarter -= n
			c.Context = append(c.Context, view)
		}
	}
	c.ContextOmitted = len(context) - len(c.Context)
	slices.Reverse(c.Context)
	return len(c.Records)
}

func chunkRecord(r *Record, before []string) ChunkRecord {
	return ChunkRecord{
		ID: r.ID, Session: r.Session, ProjectRoot: r.ProjectRoot, Outcome: r.Outcome, User: r.User, Final: r.Final, Refs: r.Refs, StartedAt: r.StartedAt,
		Lines: [2]int{r.Source.LineStart, r.Source.LineEnd}, Before: before, Processed: r.Processed,
	}
}

// abridge shows head and tail of a record's texts, so that it fits.
func abridge(r ChunkRecord, room int) ChunkRecord {
	r.Abridged = true
	user, final := r.User, r.Final
	for share := room; share > 64; share = share * 3 / 4 {
		r.User, r.Final = shorten(user, share/2), shorten(final, share/4)
		if size(r)+8*16 <= room {
			return r
		}
	}
	r.User, r.Final = shorten(user, 64), shorten(final, 16)
	if len(r.Refs) > 4 {
		r.Refs = r.Refs[:4]
	}
	return r
}

// shorten keeps two thirds of a length from the head, and the rest from the tail.
func shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	head := most * 2 / 3
	return string(runes[:head]) + fmt.Sprintf("\n[… %d characters …]\n", len(runes)-most) + string(runes[len(runes)-(most-head):])
}

// surroundings adds the rules in effect where the chunk's records come from, and what is closed
// there. A file that cannot be read is seen when something is planned for it.
func (k *Keeper) surroundings(c *Chunk, s *State) (warnings []string) {
	paths, scopes := []string{k.GlobalPath()}, []string{GlobalScope}
	if c.Root != nil {
		paths = append(paths, filepath.Join(*c.Root, FileName))
		scopes = append(scopes, ProjectScope(orEmpty(c.ProjectKey)))
	}
	c.Effective, c.Closed = []EffectiveRule{}, []ClosedRule{}
	for _, path := range paths {
		src, err := readPlain(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !utf8.Valid(src) {
			err = fmt.Errorf("%s is not UTF-8", path)
		}
		if err != nil {
			warnings = append(warnings, err.Error()+": its rules are not shown")
			continue
		}
		c.Effective = append(c.Effective, effectiveRules(path, src)...)
	}
	for _, entries := range []map[string]Entry{s.Tombstones, s.Rejected} {
		for id, e := range entries {
			if slices.Contains(scopes, e.Scope) {
				c.Closed = append(c.Closed, ClosedRule{id, e.Kind, e.Text, e.At})
			}
		}
	}
	slices.SortFunc(c.Closed, func(a, b ClosedRule) int { return strings.Compare(a.At+a.ID, b.At+b.ID) })
	return warnings
}

// effectiveRules lists the paragraphs of a file, with those of the managed block marked.
func effectiveRules(path string, src []byte) (out []EffectiveRule) {
	d, err := markdown.Parse(src)
	if err != nil {
		return nil
	}
	b, err := ParseBlock(path, src)
	for _, p := range d.Paragraphs() {
		line, _ := d.Position(p.At)
		managed := err == nil && b.Present && p.At >= b.Start.End && p.At < b.End.Start
		text, _ := boundary.Redact(strings.Join(p.Lines, " "))
		out = append(out, EffectiveRule{text, fmt.Sprintf("%s:%d", path, line), managed})
	}
	return out
}
