package agentsmd

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Relations of a turn to the record that it comes before.
const (
	sameSession = "same_session_prior"
	sameProject = "same_project_prior"
)

// maxContext is how many turns of each relation go with a record.
const maxContext = 2

// batch makes the batch of what was found.
func (c *collecting) batch(ctx context.Context) (*Batch, error) {
	run, err := c.k.stamp()
	if err != nil {
		return nil, err
	}
	b := &Batch{
		SchemaVersion: SchemaVersion, Run: run, CreatedAt: c.k.now(), CodexHome: c.k.CodexHome, ClaudeHome: c.k.ClaudeHome,
		ExplicitRoots: c.explicit, CurrentSessions: c.sessions, Projects: map[string]ProjectID{}, Cursors: map[string]Cursor{}, Counts: c.counts, Warnings: c.warnings, More: c.more,
	}
	redactions := 0
	for _, f := range c.found {
		b.Records = append(b.Records, f.record)
		if !f.record.Processed {
			b.RecordIDs = append(b.RecordIDs, f.record.ID)
		}
		redactions += f.record.Redactions
	}
	c.counts["redactions"] = redactions
	c.counts["records"] = len(b.RecordIDs)
	if err := c.context(ctx, b); err != nil {
		return nil, err
	}
	roots := slices.Clone(c.explicit)
	for _, list := range [][]Record{b.Records, b.Context} {
		for _, r := range list {
			if r.ProjectRoot != nil {
				roots = append(roots, *r.ProjectRoot)
			}
		}
	}
	slices.Sort(roots)
	b.AllowedRoots = slices.Compact(roots)
	for _, root := range b.AllowedRoots {
		p, ok, err := c.k.project(ctx, root, c.state)
		if err != nil || !ok {
			continue // it went away meanwhile
		}
		p = p.renewed()
		known := b.Projects[p.Key]
		b.Projects[p.Key] = ProjectID{append(known.Roots, p.Root), p.RootCommits}
	}
	b.Warnings = c.warnings
	for _, r := range c.files {
		if cur, ok := r.moved(); ok {
			b.Cursors[r.key] = cur
		}
	}
	return b, nil
}

// context ties every record to the turns before it: of its session, and of its project in other
// sessions. Turns that were settled before are read again from their transcripts.
func (c *collecting) context(ctx context.Context, b *Batch) error {
	before := c.settled(ctx)
	at := map[string]int{} // record id -> where it stands in before; -1 for one of the batch
	for i, r := range before {
		at[r.ID] = i
	}
	for _, r := range b.Records {
		at[r.ID] = -1
	}
	bySession, byProject := map[string][]Record{}, map[string][]Record{}
	note := func(r Record) {
		s := append(bySession[r.SourceName+" "+r.Session], r)
		bySession[r.SourceName+" "+r.Session] = s[max(0, len(s)-maxContext):]
		if r.ProjectKey != nil { // whichever session asks, the latest of the others are among them
			p, own := append(byProject[*r.ProjectKey], r), 0
			for i := len(p) - 1; i >= 0; i-- {
				if p[i].Session == r.Session {
					if own++; own > maxContext {
						p = slices.Delete(p, i, i+1)
					}
				}
			}
			byProject[*r.ProjectKey] = p[max(0, len(p)-2*maxContext):]
		}
	}
	for _, r := range before {
		if at[r.ID] >= 0 {
			note(r)
		}
	}
	used := map[string]bool{}
	for _, r := range b.Records {
		e := Episode{Record: r.ID, Context: []EpisodeTurn{}}
		for _, p := range bySession[r.SourceName+" "+r.Session] {
			e.Context = append(e.Context, EpisodeTurn{p.ID, sameSession})
		}
		if r.ProjectKey != nil {
			n := 0
			for _, p := range slices.Backward(byProject[*r.ProjectKey]) {
				if p.Session != r.Session && n < maxContext {
					e.Context = append(e.Context, EpisodeTurn{p.ID, sameProject})
					n++
				}
			}
		}
		ids := []string{r.ID}
		for _, t := range e.Context {
			ids = append(ids, t.Record)
			if i := at[t.Record]; i >= 0 && !used[t.Record] {
				used[t.Record] = true
				b.Context = append(b.Context, before[i])
			}
		}
		e.ID = id("E", ids...)
		b.Episodes = append(b.Episodes, e)
		note(r)
	}
	return nil
}

// maxReread is how many transcripts of a project are opened again for context.
const maxReread = 4

// settled reads the last settled turns of the sessions and projects that have something new.
func (c *collecting) settled(ctx context.Context) (out []Record) {
	roots, mine := map[string]bool{}, map[string]bool{}
	for _, f := range c.found {
		if f.record.ProjectRoot != nil {
			roots[*f.record.ProjectRoot] = true
		}
	}
	var cursors []Cursor
	for _, r := range c.files {
		if len(r.cursor.Prior) > 0 && (r.upTo.Offset > r.cursor.Offset || r.wait != nil) {
			cursors = append(cursors, r.cursor)
			mine[r.cursor.Path] = true
		}
	}
	opened := map[string]int{}
	for _, cur := range slices.SortedFunc(maps.Values(c.state.Cursors), func(a, b Cursor) int {
		return cmp.Or(-strings.Compare(a.Ended, b.Ended), strings.Compare(a.Path, b.Path))
	}) {
		if roots[cur.Root] && !mine[cur.Path] && opened[cur.Root] < maxReread {
			opened[cur.Root]++
			cursors = append(cursors, cur)
		}
	}
	for _, cur := range cursors {
		out = append(out, c.reread(ctx, cur)...)
	}
	slices.SortStableFunc(out, func(a, b Record) int { return strings.Compare(orEmpty(a.StartedAt), orEmpty(b.StartedAt)) })
	return out
}

// reread reads the last settled turns of one transcript again. One that is gone is a warning.
func (c *collecting) reread(ctx context.Context, cur Cursor) (out []Record) {
	i := slices.IndexFunc(Sources, func(s Source) bool { return s.Name() == cur.Source })
	if i < 0 {
		return nil
	}
	f := File{Path: cur.Path, Name: filepath.Base(cur.Path), FS: os.DirFS(filepath.Dir(cur.Path))}
	if info, err := os.Stat(cur.Path); err != nil || !info.Mode().IsRegular() {
		c.warn("%s is gone, so nothing of it is shown as context", cur.Path)
		return nil
	}
	for _, p := range cur.Prior[max(0, len(cur.Prior)-maxContext):] {
		for t, err := range Sources[i].Turns(ctx, f, Place{p.Start, p.Line, p.Cwd}, func(string) {}) {
			if err != nil || t.Start != p.Start {
				c.warn("%s has changed, so a turn of it is not shown as context", cur.Path)
				break
			}
			rec := Record{
				ID: p.Record, SourceName: cur.Source, Session: t.Session, Turn: t.ID, Cwd: null(t.Cwd), Outcome: t.Outcome, Processed: true,
				Source: SourceRef{Path: cur.Path, LineStart: t.LineStart, LineEnd: t.LineEnd, ByteStart: t.Start, ByteEnd: t.End, SHA256: t.SHA256},
			}
			if project, ok, err := c.k.project(ctx, t.Cwd, c.state); err == nil && ok && t.Cwd != "" {
				project = project.renewed()
				rec.ProjectRoot, rec.ProjectKey = &project.Root, &project.Key
			}
			if t.record(Sources[i]) != p.Record {
				t.ID = t.renamed()
				rec.Turn = t.ID
			}
			if t.record(Sources[i]) == p.Record {
				out = append(out, c.fill(rec, t, 0).record)
			}
			break
		}
	}
	return out
}
