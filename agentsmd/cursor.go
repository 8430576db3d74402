package agentsmd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
)

// reading is one transcript as it is read.
type reading struct {
	source  Source
	file    File
	key     string // of its cursor
	cursor  Cursor // where it stood
	head    string
	size    int64  // of head
	upTo    Place  // behind the last turn that was settled
	wait    *Place // first turn that must wait for another run; nil if none
	prior   []Prior
	last    string // root of the last turn
	instead int64  // where the cursor of another file of its name stood; 0: there was none
	id      string // session of the last turn
	ended   string // when that ended
}

func (r *reading) waits(t Turn) {
	if r.wait == nil || t.Start < r.wait.Offset {
		r.wait = &Place{t.Start, t.LineStart - 1, t.CwdBefore}
	}
}

// randomFile is a file that can be read at any place.
type randomFile interface {
	fs.File
	io.ReaderAt
}

// openRegular opens a transcript that is still a regular file: what is none, such as a FIFO, is never
// opened.
func (f File) openRegular() (randomFile, bool) {
	if info, err := fs.Stat(f.FS, f.Name); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	file, err := f.FS.Open(f.Name)
	if err != nil {
		return nil, false
	}
	at, ok := file.(randomFile)
	if !ok {
		file.Close()
	}
	return at, ok
}

// headOf is the digest of a file's first bytes, by which it is known again.
func headOf(f File) (sum string, size int64, err error) {
	file, err := f.FS.Open(f.Name)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := sha256.New()
	size, err = io.Copy(h, io.LimitReader(file, headBytes))
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// sameHead reports whether a file begins as it did when a cursor was made, and has a line end before its
// place.
func sameHead(f File, cur Cursor) bool {
	file, ok := f.openRegular()
	if !ok {
		return false
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, cur.HeadSize))
	if err != nil || n != cur.HeadSize || hex.EncodeToString(h.Sum(nil)) != cur.Head {
		return false
	}
	if cur.Offset == 0 {
		return true
	}
	var last [1]byte
	_, err = file.ReadAt(last[:], cur.Offset-1)
	return err == nil && last[0] == '\n'
}

// cursor is where reading begins: where it ended, if the file is still the one that was read; else
// instead is where that one was read to. A file that was moved, as into the archive, is known by its
// beginning.
func (c *collecting) cursor(r *reading) (cur Cursor, instead int64) {
	fits := func(cur Cursor) bool { return cur.Offset <= r.file.Size && sameHead(r.file, cur) }
	if cur, ok := c.state.Cursors[r.key]; ok {
		if fits(cur) {
			return cur, 0
		}
		return Cursor{}, cur.Offset
	}
	for _, cur := range c.state.Cursors {
		if cur.HeadSize == r.size && cur.Head == r.head && cur.Path != r.file.Path && fits(cur) {
			if _, err := os.Lstat(cur.Path); errors.Is(err, fs.ErrNotExist) {
				return cur, 0
			}
		}
	}
	return Cursor{}, 0
}

func (r *reading) remember(rec Record, t Turn) {
	r.prior = append(r.prior, Prior{rec.ID, t.Start, t.End, t.LineStart - 1, t.CwdBefore})
}

// moved is the cursor of a transcript behind what is settled, if it got further.
func (r *reading) moved() (Cursor, bool) {
	at := r.upTo
	if r.wait != nil && r.wait.Offset < at.Offset {
		at = *r.wait
	}
	if at.Offset < r.cursor.Offset || at.Offset == r.cursor.Offset && (at.Offset == 0 || r.cursor.Path == r.file.Path) {
		return Cursor{}, false
	}
	cur := Cursor{Source: r.source.Name(), Path: r.file.Path, Session: cmp.Or(r.id, r.cursor.Session), Ended: cmp.Or(r.ended, r.cursor.Ended), Instead: r.instead, Head: r.head, HeadSize: r.size, Offset: at.Offset, Line: at.Line, Cwd: at.Cwd, Root: r.last}
	for _, p := range r.prior {
		if p.End <= at.Offset {
			cur.Prior = append(cur.Prior, p)
		}
	}
	cur.Prior = cur.Prior[max(0, len(cur.Prior)-maxPrior):]
	return cur, true
}
