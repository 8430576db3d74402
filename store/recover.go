package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Recovery says what Recover did.
type Recovery struct {
	Pending bool     // there was an interrupted change
	Files   []string // that it concerns
	Foreign []string // that hold neither the old nor the new content
}

// Recover completes an interrupted change. If a file of it was edited meanwhile nothing
// is touched and the error is ErrConflict; Resolve ends that.
func (s *Store) Recover(ctx context.Context) (Recovery, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Recovery{}, err
	}
	defer unlock()
	r, err := s.describe()
	if err != nil {
		return r, err
	}
	_, err = s.recover()
	return r, err
}

// Resolution says how a conflict ends.
type Resolution string

const (
	Keep  Resolution = "keep"  // what was found stays, the rest of the change is carried out
	Apply Resolution = "apply" // the change is carried out whole, what was found goes to rescue
)

// Resolve ends a conflict in one of the two ways. No byte that was found is lost.
func (s *Store) Resolve(ctx context.Context, how Resolution) (Recovery, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Recovery{}, err
	}
	defer unlock()
	r, err := s.describe()
	if err != nil {
		return r, err
	}
	j, err := s.readJournal()
	if err != nil {
		return r, err
	}
	if j == nil {
		s.sweep()
		return r, nil
	}
	keep := s.o.Third
	if how == Keep {
		keep = func(Name, File) bool { return true }
	}
	return r, s.roll(j.Ops, keep, how == Apply)
}

func (s *Store) describe() (Recovery, error) {
	var r Recovery
	j, err := s.readJournal()
	if err != nil || j == nil {
		return r, err
	}
	r.Pending = true
	for _, o := range j.Ops {
		if o.Name.Root != Private {
			r.Files = append(r.Files, o.Name.String())
		}
		if st, err := s.classify(o); err != nil {
			return r, fmt.Errorf("%w (%v)", ErrRecovery, err)
		} else if st == third {
			r.Foreign = append(r.Foreign, o.Name.String())
		}
	}
	return r, nil
}

func (s *Store) readJournal() (*journal, error) {
	private := s.roots[Private]
	_, err := plain(private, journalFile) // a link that leads nowhere is a journal, too
	if notExist(err) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = private.ReadFile(journalFile)
	}
	var j journal
	if err == nil {
		err = json.Unmarshal(data, &j, json.RejectUnknownMembers(true))
	}
	if err != nil || j.Version != 1 || len(j.Ops) == 0 || slices.ContainsFunc(j.Ops, foreign) {
		return nil, &JournalDamaged{filepath.Join(s.o.Private, filepath.FromSlash(journalFile)), err}
	}
	return &j, nil
}

// JournalDamaged is a journal that is not what the store wrote: what was interrupted cannot be told.
type JournalDamaged struct {
	Path string
	Err  error // nil: it can be read, and makes no sense
}

func (e *JournalDamaged) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s cannot be read: %v", e.Path, e.Err)
	}
	return e.Path + " is no journal"
}

// Unwrap says that it is a change which was interrupted.
func (e *JournalDamaged) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrRecovery}
	}
	return []error{ErrRecovery, e.Err}
}

// Code is that of a change that was interrupted.
func (e *JournalDamaged) Code() string { return ErrRecovery.code }

// Hint is the way out.
func (e *JournalDamaged) Hint() string {
	return "nothing can be completed any more: look at " + filepath.Dir(e.Path) + ", move the journal elsewhere, and run `recover` again; files stay as they are on disk"
}

// foreign reports an operation that the store never writes into a journal.
func foreign(o op) bool {
	switch {
	case o.IsLog:
		return o.Name.Root != Private || o.Size < 0
	case o.removes():
		return o.Before == "" || o.Class != View && o.Class != State || o.Name.Root == Private && strings.HasPrefix(o.Name.Path, "txn/")
	}
	return false
}

// recover rolls a left-over transaction forward, under the lock.
func (s *Store) recover() (bool, error) {
	j, err := s.readJournal()
	if err != nil {
		return false, err
	}
	if j == nil {
		s.sweep()
		return false, nil
	}
	if err := s.roll(j.Ops, s.o.Third, false); err != nil {
		return false, err
	}
	return true, nil
}

// LogReport is what VerifyLog found.
type LogReport struct {
	Lines   uint64
	Problem string // "" if the chain holds to its end
}

// Logs returns the names of the logs that have lines, sorted.
func (s *Store) Logs(ctx context.Context) (names []string, err error) {
	err = s.View(ctx, func(r *Reader) error {
		all := maps.Clone(r.heads.Logs)
		files, err := fs.Glob(s.roots[Private].FS(), "log/*-0001.jsonl")
		for _, f := range files { // also those that the head has lost
			name := strings.TrimSuffix(f, "-0001.jsonl")
			all[name] = r.heads.Logs[name]
		}
		names = slices.Sorted(maps.Keys(all))
		return err
	})
	return names, err
}

// ReadLog calls visit with every line of a log, oldest first, as it stands: VerifyLog says
// whether it stands as it was written.
func (s *Store) ReadLog(ctx context.Context, log string, visit func(line []byte) error) error {
	return s.View(ctx, func(r *Reader) error {
		for n := 1; n <= r.heads.Logs[log].Segment; n++ {
			f, err := s.roots[Private].Open(segment(log, n))
			if err != nil {
				return fmt.Errorf("segment %d of %s: %w", n, log, err)
			}
			lines := bufio.NewScanner(f)
			lines.Buffer(nil, maxLine+1)
			for lines.Scan() && err == nil {
				err = visit(lines.Bytes())
			}
			if err = errors.Join(err, lines.Err(), f.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tail returns the last whole lines of the newest segment of a log that fit into a number of
// bytes, oldest first, as they stand on disk: what a transaction appends is not among them.
// VerifyLog says whether they stand as they were written.
func (r *Reader) Tail(log string, bytes int64) (lines [][]byte, err error) {
	h := r.heads.Logs[log]
	if r.begun != nil {
		h = r.begun[log]
	}
	if h.Segment == 0 {
		return nil, nil
	}
	f, err := r.s.roots[Private].Open(segment(log, h.Segment))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(h.Size-bytes, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, from, h.Size-from))
	if err != nil {
		return nil, err
	}
	for i, line := range strings.SplitAfter(string(data), "\n") {
		if strings.HasSuffix(line, "\n") && (i > 0 || from == 0) {
			lines = append(lines, []byte(strings.TrimSuffix(line, "\n")))
		}
	}
	return lines, nil
}

// Names returns the names of the regular files of a directory below a root, sorted; none if
// there is no such directory.
func (r *Reader) Names(root, dir string) (names []string, err error) {
	at, err := r.s.root(Name{root, dir})
	if err != nil {
		return nil, err
	}
	if _, err := plain(at, dir+"/x"); err != nil && !notExist(err) {
		return nil, fmt.Errorf("%s: %w", Name{root, dir}, err)
	}
	f, err := at.Open(dir)
	if notExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// VerifyLog walks a log's chain: an edited, removed or reordered line breaks it, an edited
// last line or a missing tail differs from what head.json says.
func (s *Store) VerifyLog(ctx context.Context, log string) (rep LogReport, err error) {
	err = s.View(ctx, func(r *Reader) error {
		rep, err = s.verifyLog(ctx, log, r.heads.Logs[log])
		return err
	})
	return rep, err
}

func (s *Store) verifyLog(ctx context.Context, log string, end logHead) (LogReport, error) {
	var rep LogReport
	last := Digest(zero)
	for n := 1; n <= end.Segment; n++ {
		f, err := s.roots[Private].Open(segment(log, n))
		if err != nil {
			rep.Problem = fmt.Sprintf("segment %d is missing", n)
			return rep, nil
		}
		in := bufio.NewReaderSize(f, maxLine)
		for ctx.Err() == nil {
			line, err := in.ReadString('\n')
			if err == io.EOF && line == "" {
				break
			}
			var link struct {
				Seq  uint64 `json:"seq"`
				Prev Digest `json:"prev"`
			}
			if err != nil || !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &link) != nil {
				rep.Problem = fmt.Sprintf("line %d is cut off or unreadable", rep.Lines+1)
				break
			}
			if rep.Lines++; link.Seq != rep.Lines || link.Prev != last {
				rep.Problem = fmt.Sprintf("line %d does not follow the line before it", rep.Lines)
				break
			}
			last = DigestOf([]byte(line))
		}
		f.Close()
		if rep.Problem != "" {
			return rep, nil
		}
	}
	if _, err := s.roots[Private].Lstat(segment(log, end.Segment+1)); !notExist(err) {
		rep.Problem = fmt.Sprintf("there is a segment %d, which %s does not know", end.Segment+1, headFile)
	}
	if end.Seq != rep.Lines || end.Seq > 0 && end.Last != last {
		rep.Problem = fmt.Sprintf("the log has %d lines; it should end with line %d as it was written", rep.Lines, end.Seq)
	}
	return rep, ctx.Err()
}

// LogLines is how many lines a log has at this generation.
func (r *Reader) LogLines(log string) uint64 {
	if r.begun != nil {
		return r.begun[log].Seq
	}
	return r.heads.Logs[log].Seq
}

// SetAside moves a log that is not what was written to rescue, so that another one of its name
// begins with the next line. Where the heads of all logs cannot be read, or are gone, they and all
// logs go there. Nothing of it is lost, and nothing that refers to its lines is changed: what follows
// is for the caller. An interrupted change must be completed first.
func (s *Store) SetAside(ctx context.Context, log string) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.recover(); err != nil {
		return err
	}
	private := s.roots[Private]
	heads, before, err := s.readHeads()
	var damaged *HeadsDamaged
	all := errors.As(err, &damaged)
	if err != nil && !all {
		return err
	}
	pattern := log
	if all || before == "" {
		pattern = path.Join(path.Dir(log), "*")
	}
	files, err := fs.Glob(private.FS(), pattern+"-[0-9][0-9][0-9][0-9].jsonl")
	if err != nil {
		return err
	}
	if all {
		files = append(files, headFile)
	}
	if err := s.makeDir(Private, "rescue"); err != nil {
		return err
	}
	at := s.o.Now().UTC().Format("20060102T150405Z")
	for _, f := range files {
		if err := private.Rename(f, "rescue/"+at+"-"+strings.ReplaceAll(f, "/", "-")); err != nil {
			return err
		}
	}
	delete(heads.Logs, log)
	if heads.Generation++; all || before == "" { // another one than any that was seen
		before, heads = "", freshHeads(uint64(s.o.Now().UnixMilli()))
	}
	data, err := json.Marshal(heads, json.Deterministic(true))
	if err != nil {
		return err
	}
	data = append(data, '\n')
	return s.commit([]op{{Name: Name{Private, headFile}, Class: head, Before: before, After: DigestOf(data), data: data}})
}
