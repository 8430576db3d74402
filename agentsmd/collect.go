package agentsmd

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assent/store"
)

// CollectOptions are those of `agentsmd collect`.
type CollectOptions struct {
	Sources        []string      // names; all if empty
	Since          time.Time     // earlier turns wait
	Sessions       []string      // that are the current conversation, open turn and all; "latest" is the newest one
	ExplicitRoots  []string      // directories that the user named in this request
	OnlyRoots      []string      // other projects wait
	Processed      bool          // reviewed records come again, as evidence
	Noninteractive bool          // what a program started counts, too
	Files          []string      // transcripts from elsewhere
	Settle         time.Duration // how long a file must rest before its last turn counts
	MaxRecords     int
	QuotaMin       int // percent that must be left; -1: not asked
}

// Limits of a batch.
const (
	MaxRecords    = 2000
	maxBatchBytes = 7 << 20 // of the texts of its records
	maxBatchFile  = 7 << 20 // of the file; one of the store holds 8 MiB
	maxPrior      = 2
	headBytes     = 4 << 10
	DefaultSettle = 15 * time.Minute
)

// Collected is the result of collect.
type Collected struct {
	SchemaVersion int            `json:"schema_version"`
	Run           string         `json:"run_id"` // "" if there is nothing new
	Counts        map[string]int `json:"counts"`
	Warnings      []string       `json:"warnings"`
	More          bool           `json:"more"`
}

// found is a turn that may become a record.
type found struct {
	record  Record
	turn    Turn
	file    int
	started time.Time
	size    int
}

// collecting is one run of collect.
type collecting struct {
	k        *Keeper
	o        CollectOptions
	state    *State
	done     map[string]bool // processed ids
	files    []*reading
	found    []found
	copies   map[string]int    // copy key -> index in found
	texts    map[string]string // record id -> copy key
	open     []openTurn
	newest   string // session of the newest of all last turns, those that go on included
	newestAt time.Time
	sessions []string // that are the current conversation
	counts   map[string]int
	size     int // of what is found
	warnings []string
	more     bool
	explicit []string
	only     []string
}

// openTurn is the last turn of a transcript, which may go on.
type openTurn struct {
	file int
	turn Turn
}

// Collect reads what is new in the transcripts and keeps it as a batch. Nothing new makes no
// run. Nothing that is read is settled by it: that is what publishing the run does.
func (k *Keeper) Collect(ctx context.Context, o CollectOptions) (Collected, error) {
	if err := k.mend(ctx); err != nil {
		return Collected{}, err
	}
	s, err := k.state(ctx)
	if err != nil {
		return Collected{}, err
	}
	c := &collecting{k: k, o: o, state: s, done: map[string]bool{}, copies: map[string]int{}, texts: map[string]string{}, counts: map[string]int{}}
	for _, id := range s.Processed {
		c.done[id] = true
	}
	if c.explicit, err = k.roots(ctx, o.ExplicitRoots, s); err != nil {
		return Collected{}, err
	}
	if c.only, err = k.roots(ctx, o.OnlyRoots, s); err != nil {
		return Collected{}, err
	}
	var quota *Quota
	if o.QuotaMin >= 0 {
		q, err := k.quota(ctx, o.QuotaMin, o.Sources)
		if err != nil {
			return Collected{}, err
		}
		quota = &q
	}
	if err := c.read(ctx); err != nil {
		return Collected{}, err
	}
	c.cut(c.o.MaxRecords)
	for {
		out := Collected{SchemaVersion: SchemaVersion, Counts: c.counts, Warnings: c.warnings, More: c.more}
		if len(c.found) == 0 {
			return out, nil
		}
		b, err := c.batch(ctx)
		if err != nil {
			return out, err
		}
		b.Quota = quota
		data, err := Document(b)
		if err != nil {
			return out, err
		}
		if len(data) > maxBatchFile && len(c.found) > 1 { // what JSON makes of a text is longer than the text
			c.cut(len(c.found) * 3 / 4)
			continue
		}
		out.Counts, out.Warnings, out.More = b.Counts, b.Warnings, b.More
		out.Run, err = c.register(ctx, b)
		return out, err
	}
}

// register keeps a batch, with its digest in the log, and names its run. That is the one that is open
// for the same records already, if there is one. An open run whose records are all in the batch ends,
// unless something was decided about it.
func (c *collecting) register(ctx context.Context, b *Batch) (run string, err error) {
	_, err = c.k.Store.Update(ctx, func(tx *store.Tx) error {
		run = b.Run
		s, f, err := loadState(&tx.Reader)
		if err != nil {
			return err
		}
		var ended []Effect
		for _, open := range slices.Sorted(maps.Keys(s.Runs)) {
			if s.Runs[open].Published {
				continue
			}
			old, _, err := readBatch(&tx.Reader, s, open)
			if err != nil || !old.within(b) {
				continue // what is wrong with it is said when it is used
			}
			if b.within(old) && (b.Quota == nil) == (old.Quota == nil) {
				run = open
				return nil
			}
			begun, err := tx.Names(store.Private, "runs/"+open+"/submitted")
			if err != nil {
				return err
			}
			if len(begun) > 0 {
				continue
			}
			for _, dir := range runDirs(open) {
				if err := removeAll(tx, dir); err != nil {
					return err
				}
			}
			ended = append(ended, Effect{Op: opPublished, ID: open}, Effect{Op: opSwept, ID: open})
		}
		e, _, err := putBatch(tx, s, b)
		if err != nil {
			return err
		}
		swept, err := c.k.overdue(tx, s)
		if err != nil {
			return err
		}
		e.Effects = slices.Concat(e.Effects, ended, swept)
		return record(tx, s, f.Digest, e)
	})
	c.k.forget()
	return run, err
}

// within reports whether another batch of the same kind holds all records of this one.
func (b *Batch) within(other *Batch) bool {
	has := map[string]bool{}
	for _, r := range other.Records {
		has[r.ID] = true
	}
	return b.CodexHome == other.CodexHome && b.ClaudeHome == other.ClaudeHome && slices.Equal(b.ExplicitRoots, other.ExplicitRoots) && slices.Equal(b.CurrentSessions, other.CurrentSessions) &&
		!slices.ContainsFunc(b.Records, func(r Record) bool { return !has[r.ID] })
}

// runDirs are the directories of a run's files.
func runDirs(run string) []string {
	return []string{"runs/" + run, "runs/" + run + "/review", "runs/" + run + "/submitted", "runs/" + run + "/global"}
}

// putBatch writes a batch, and gives the entry that registers it and its digest.
func putBatch(tx *store.Tx, s *State, b *Batch) (e AuditEntry, sum string, err error) {
	data, err := Document(b)
	if err != nil {
		return e, "", err
	}
	effects := []Effect{{Op: opRun, ID: b.Run, Run: &RunState{Batch: digest(data), At: b.CreatedAt}}}
	effects = append(effects, projectEffects(s, b.Projects)...)
	e = AuditEntry{Call: b.Run, Run: b.Run, At: b.CreatedAt, Event: "collected", Counts: b.Counts, Effects: effects}
	return e, digest(data), tx.Put(store.Record, batchName(b.Run), data, "")
}

// projectEffects remember the projects of a batch, and give one a new key whose history has
// become complete.
func projectEffects(s *State, projects map[string]ProjectID) (out []Effect) {
	for key, p := range projects {
		for old, known := range s.Projects {
			if old != key && len(known.RootCommits) == 0 && len(p.RootCommits) > 0 && slices.ContainsFunc(p.Roots, func(r string) bool { return slices.Contains(known.Roots, r) }) {
				out = append(out, Effect{Op: opRekey, ID: old, Text: key})
			}
		}
		out = append(out, Effect{Op: opProject, ID: key, Project: &p})
	}
	slices.SortStableFunc(out, func(a, b Effect) int { return strings.Compare(a.Op+a.ID, b.Op+b.ID) })
	slices.Reverse(out) // rekey before project
	return out
}

// read reads all transcripts that have something new.
func (c *collecting) read(ctx context.Context) error {
	homes := map[string]string{"codex": c.k.CodexHome, "claude-code": c.k.ClaudeHome}
	for _, source := range Sources {
		if len(c.o.Sources) > 0 && !slices.Contains(c.o.Sources, source.Name()) {
			continue
		}
		home := homes[source.Name()]
		fsys := homeFS(home)
		if fsys == nil {
			continue
		}
		files, err := source.Files(ctx, fsys, func(w string) { c.warn("%s", filepath.Join(home, filepath.FromSlash(w))) })
		if err != nil {
			return err
		}
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
		for _, f := range files {
			f.Path = filepath.Join(home, filepath.FromSlash(f.Name))
			if err := c.file(ctx, source, f); err != nil {
				return err
			}
		}
	}
	for _, name := range c.o.Files {
		source, f, err := elsewhere(name)
		if err != nil {
			return err
		}
		if err := c.file(ctx, source, f); err != nil {
			return err
		}
	}
	return c.current(ctx)
}

// current finds the current conversation, and takes what is being said in it: the request to learn from
// it is part of a turn that is open. Other open turns wait.
func (c *collecting) current(ctx context.Context) error {
	for _, s := range c.o.Sessions {
		if s == "latest" {
			s = c.newest
		}
		if s != "" && !slices.Contains(c.sessions, s) {
			c.sessions = append(c.sessions, s)
		}
	}
	for _, o := range c.open {
		if !slices.Contains(c.sessions, o.turn.Session) {
			c.counts["open"]++
			c.files[o.file].waits(o.turn)
		} else if err := c.turn(ctx, o.file, o.turn); err != nil {
			return err
		}
	}
	return nil
}

// meant reports a turn that is not left out.
func (c *collecting) meant(t Turn) bool {
	return t.Left == "" || t.Left == Noninteractive && c.o.Noninteractive
}

// elsewhere is a transcript that a person names; its first lines tell which agent's it is.
func elsewhere(name string) (Source, File, error) {
	path, err := cleanPath(name)
	if err != nil {
		return nil, File{}, err
	}
	f := File{Path: path, Name: filepath.Base(path), FS: os.DirFS(filepath.Dir(path))}
	info, err := fs.Stat(f.FS, f.Name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, f, fault("include", "", "%s is no transcript: %v", name, orNil(err, "it is no regular file"))
	}
	f.Size, f.ModTime = info.Size(), info.ModTime()
	for _, source := range Sources {
		r, err := openLines(f, Place{}, func(string) bool { return false }, func(string) {})
		if err != nil {
			return nil, f, err
		}
		for range headLines {
			l, err := r.next()
			if err != nil {
				break
			}
			if source.Knows(trimBOM(l.raw)) {
				r.close()
				return source, f, nil
			}
		}
		r.close()
	}
	return nil, f, fault("include", "", "the first lines of %s are those of no agent", name)
}

func trimBOM(b []byte) []byte { return []byte(strings.TrimPrefix(string(b), "\xef\xbb\xbf")) }

func orNil(err error, text string) any {
	if err != nil {
		return err
	}
	return text
}

// file reads one transcript from its cursor on.
func (c *collecting) file(ctx context.Context, source Source, f File) error {
	c.counts["files"]++
	if strings.HasSuffix(f.Name, ".zst") {
		c.warn("%s is compressed, and is not read", f.Path)
		return nil
	}
	head, size, err := headOf(f)
	if err != nil {
		c.warn("%s cannot be read: %v", f.Path, err)
		return nil
	}
	r := &reading{source: source, file: f, head: head, size: size, key: id("F", source.Name(), f.Path)}
	r.cursor, r.instead = c.cursor(r)
	if r.instead > 0 {
		c.warn("%s is not the file that was read before, and is read anew", r.file.Path)
	}
	if c.o.Processed || c.o.Noninteractive {
		r.cursor.Offset, r.cursor.Line, r.cursor.Cwd = 0, 0, ""
	}
	if r.cursor.Offset == f.Size && f.Size > 0 {
		if r.cursor.Path != f.Path { // it was moved, and keeps its place
			r.upTo, r.prior, r.last = Place{r.cursor.Offset, r.cursor.Line, r.cursor.Cwd}, r.cursor.Prior, r.cursor.Root
			c.files = append(c.files, r)
		}
		return nil
	}
	r.upTo = Place{r.cursor.Offset, r.cursor.Line, r.cursor.Cwd}
	r.prior, r.last = slices.Clone(r.cursor.Prior), r.cursor.Root
	c.files = append(c.files, r)
	at := len(c.files) - 1
	var before *Turn
	for t, err := range source.Turns(ctx, f, r.upTo, func(w string) { c.warn("%s: %s", f.Path, w) }) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.warn("%s cannot be read: %v", f.Path, err)
			return nil
		}
		if before != nil {
			if err := c.turn(ctx, at, *before); err != nil {
				return err
			}
		}
		before = &t
	}
	if before == nil {
		return nil
	}
	if t := cmp.Or(before.Ended, before.Started); c.meant(*before) && t.After(c.newestAt) {
		c.newest, c.newestAt = before.Session, t
	}
	if !before.Closed && c.k.Env.Now().Sub(f.ModTime) < c.o.Settle { // it may go on
		c.open = append(c.open, openTurn{at, *before})
		return nil
	}
	return c.turn(ctx, at, *before)
}

func (c *collecting) warn(format string, args ...any) {
	const most = 200
	switch w := fmt.Sprintf(format, args...); {
	case len(c.warnings) < most:
		c.warnings = append(c.warnings, w)
	case len(c.warnings) == most:
		c.warnings = append(c.warnings, "and more of the kind")
	}
}

// turn sorts a turn in.
func (c *collecting) turn(ctx context.Context, at int, t Turn) error {
	r := c.files[at]
	c.counts["turns"]++
	r.id, r.ended = t.Session, orEmpty(timeText(cmp.Or(t.Ended, t.Started)))
	settle := func() { r.upTo = Place{t.End, t.LineEnd, t.Cwd} }
	if !c.meant(t) {
		c.counts[string(t.Left)]++
		settle()
		return nil
	}
	p, ok, err := Project{}, false, error(nil)
	if filepath.IsAbs(t.Cwd) {
		if p, ok, err = c.k.project(ctx, t.Cwd, c.state); err != nil { // what cannot be told is not "none"
			c.warn("%s: line %d waits: %v", r.file.Path, t.LineStart, err)
			r.waits(t)
			return nil
		}
	}
	rec := Record{
		ID: t.record(r.source), SourceName: r.source.Name(), Session: t.Session, Turn: t.ID, Cwd: null(t.Cwd), Outcome: t.Outcome,
		Source: SourceRef{Path: r.file.Path, LineStart: t.LineStart, LineEnd: t.LineEnd, ByteStart: t.Start, ByteEnd: t.End, SHA256: t.SHA256},
	}
	if ok {
		root, key := p.Root, p.renewed().Key
		rec.ProjectRoot, rec.ProjectKey = &root, &key
		r.last = root
	}
	rec.CopyKey = id("T", r.source.Name(), t.Session, t.ID, digest([]byte(t.User)))
	if isUUID(t.ID) {
		rec.CopyKey = id("T", r.source.Name(), t.ID, digest([]byte(t.User)))
	}
	if text, ok := c.texts[rec.ID]; !c.done[rec.CopyKey] && (c.done[rec.ID] || ok && text != rec.CopyKey) { // another turn has its id
		t.ID = t.renamed()
		rec.ID, rec.Turn = t.record(r.source), t.ID
	}
	c.texts[rec.ID] = rec.CopyKey
	if c.done[rec.CopyKey] {
		c.counts["processed"]++
		if !c.o.Processed {
			settle()
			r.remember(rec, t)
			return nil
		}
		rec.Processed = true
	}
	if len(c.only) > 0 && (!ok || !slices.Contains(c.only, p.Root)) || !c.o.Since.IsZero() && t.Started.Before(c.o.Since) {
		c.counts["filtered"]++
		r.waits(t)
		return nil
	}
	if i, ok := c.copies[rec.CopyKey]; ok {
		c.counts["copies"]++
		c.found[i].record.Source.Copies++
		if !t.Started.IsZero() && (t.Started.Before(c.found[i].started) || t.Started.Equal(c.found[i].started) && t.Session < c.found[i].record.Session) {
			copies := c.found[i].record.Source.Copies
			c.found[i] = c.fill(rec, t, at)
			c.found[i].record.Source.Copies = copies
		}
		settle()
		return nil
	}
	settle()
	r.remember(rec, t)
	c.copies[rec.CopyKey] = len(c.found)
	c.found = append(c.found, c.fill(rec, t, at))
	if c.size += c.found[len(c.found)-1].size; c.size > 4*maxBatchBytes { // memory is bounded, whatever there is
		c.cut(0)
	}
	if t.Outcome == Aborted {
		c.counts["aborted"]++
	}
	return nil
}

// fill gives a record its texts and references.
func (c *collecting) fill(rec Record, t Turn, at int) found {
	var n1, n2, cut1, cut2 int
	rec.User, n1, cut1 = cleanText(t.User)
	rec.Final, n2, cut2 = cleanText(t.Final)
	rec.Redactions, rec.CutBytes = n1+n2, cut1+cut2
	rec.Refs = []string{rec.ID, t.Session + "/" + t.ID}
	for _, l := range slices.Concat(t.UserLines, t.FinalLines) {
		if ref := fmt.Sprintf("%s#L%d", t.Session, l); !slices.Contains(rec.Refs, ref) && len(rec.Refs) < 64 {
			rec.Refs = append(rec.Refs, ref)
		}
	}
	rec.StartedAt, rec.EndedAt = timeText(t.Started), timeText(t.Ended)
	t.User, t.Final = "", ""
	return found{record: rec, turn: t, file: at, started: t.Started, size: len(rec.User) + len(rec.Final) + 1500 + 60*len(rec.Refs)}
}

func timeText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339Nano)
	return &s
}

// record is the id of a turn's record.
func (t Turn) record(s Source) string { return id("R", s.Name(), t.Session, t.ID) }

// renamed is the id of a turn that has the id of another one.
func (t Turn) renamed() string { return t.ID + "+" + digest([]byte(t.User))[:8] }

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (r == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// cut orders what was found and leaves what is too much for the next run: the oldest come first.
func (c *collecting) cut(most int) {
	slices.SortStableFunc(c.found, func(a, b found) int {
		if d := a.started.Compare(b.started); d != 0 {
			return d
		}
		if d := strings.Compare(a.record.Session, b.record.Session); d != 0 {
			return d
		}
		return int(a.turn.Start - b.turn.Start)
	})
	if most <= 0 || most > MaxRecords {
		most = MaxRecords
	}
	size, keep := 0, 0
	for keep < len(c.found) && keep < most && (keep == 0 || size+c.found[keep].size <= maxBatchBytes) {
		size += c.found[keep].size
		keep++
	}
	for _, f := range c.found[keep:] {
		c.more = true
		c.files[f.file].waits(f.turn)
	}
	clear(c.found[keep:])
	c.found, c.size = c.found[:keep], size
	clear(c.copies)
	for i, f := range c.found {
		c.copies[f.record.CopyKey] = i
	}
}
