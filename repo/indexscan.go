package repo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrUseGit is an index that the scan does not vouch for; Git must be asked. It says
// nothing about the index being damaged.
var ErrUseGit = errors.New("the index has a form that only Git reads")

// Limits of a scan.
const (
	maxIndex = 1 << 30  // bytes of the file
	maxName  = 32 << 10 // bytes of one path
	scanRead = 256 << 10
)

// IndexScan is what a look into the index file gives: which entries stand at the watched
// paths, and the tree that the index is. It is good for one question, whether both are
// what Git was asked about before; no content and no finding ever comes from it.
type IndexScan struct {
	Entries []Entry // at and below the watched paths, as the index has them; none of intent-to-add
	Folded  bool    // some path equals a watched one but for its letter case
	Odd     bool    // some path is one that the caller looks for, wherever it is
	Tree    string  // root id of the TREE extension; "" if there is none or it is not valid
	Count   int     // entries of the index
}

// IndexFile is the index that Git names: GIT_INDEX_FILE, else that of the worktree.
func (r *Repo) IndexFile() string {
	if name := Variable(r.env, "GIT_INDEX_FILE"); name != "" {
		return name
	}
	return filepath.Join(r.GitDir, "index")
}

// IndexMark names the bytes of the index: its size, time, and trailer. Two marks that are equal
// are of one index; that they differ need not mean that its content does.
func (r *Repo) IndexMark() string {
	f, err := os.Open(r.IndexFile())
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	var trailer [32]byte
	n, _ := f.ReadAt(trailer[:min(info.Size(), 32)], max(info.Size()-32, 0))
	return fmt.Sprintf("%d %d %x", info.Size(), info.ModTime().UnixNano(), trailer[:n])
}

// ScanIndex reads the index file by itself, without a process: at 100,000 entries every
// command that reads the index takes longer than a whole hook may. It reads versions 2, 3
// and 4 with ids of 20 or 32 bytes (gitformat-index(5)) and answers ErrUseGit to all
// else: a split or sparse index, a conflict, names out of order, extensions that do not
// end exactly at the trailer, a truncated file. No index is ErrUseGit too. The trailer's
// hash is not verified, for Git may leave it out (index.skipHash). odd is asked of paths until it
// says yes to one; nil: of none.
func (r *Repo) ScanIndex(watch []string, odd func(path []byte) bool) (IndexScan, error) {
	f, err := os.Open(r.IndexFile())
	if err != nil {
		return IndexScan{}, ErrUseGit
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
		return IndexScan{}, ErrUseGit
	}
	return scanIndex(f, info.Size(), watch, odd)
}

// scanIndex tries both lengths of an id: the structure proves which one it is.
func scanIndex(f io.ReadSeeker, size int64, watch []string, odd func([]byte) bool) (IndexScan, error) {
	block := make([]byte, 0, scanRead+maxName)
	for _, idBytes := range []int{20, 32} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return IndexScan{}, ErrUseGit
		}
		s := scanner{in: f, left: max(size-int64(idBytes), 0), id: idBytes, watch: watch, odd: odd, buf: block}
		if s.index() == nil {
			return s.out, nil
		}
	}
	return IndexScan{}, ErrUseGit
}

// scanner reads the file in blocks into one buffer. It does not map the file: a writer that
// truncates it would end the process.
type scanner struct {
	in    io.Reader
	left  int64 // bytes before the trailer that are not in the buffer yet
	buf   []byte
	start int // of what is not consumed
	id    int // bytes of an object id
	watch []string
	odd   func(path []byte) bool
	first [256]bool // bytes that a watched path begins with, in either letter case
	out   IndexScan
}

// have makes at least n bytes stand in the buffer, or as many as there are.
func (s *scanner) have(n int) []byte {
	if rest := s.buf[s.start:]; len(rest) >= n || s.left == 0 {
		return rest
	}
	s.buf, s.start = s.buf[:copy(s.buf, s.buf[s.start:])], 0
	for len(s.buf) < n && s.left > 0 {
		room := s.buf[len(s.buf):cap(s.buf)]
		got, err := s.in.Read(room[:min(int64(len(room)), s.left)])
		s.buf, s.left = s.buf[:len(s.buf)+got], s.left-int64(got)
		if err != nil && s.left > 0 {
			return nil // shorter than it was
		}
	}
	return s.buf
}

func (s *scanner) index() error {
	head := s.have(12)
	if len(head) < 12 || string(head[:4]) != "DIRC" {
		return ErrUseGit
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if version < 2 || version > 4 {
		return ErrUseGit
	}
	s.start += 12
	for _, w := range s.watch {
		if w != "" {
			s.first[w[0]], s.first[w[0]|0x20], s.first[w[0]&^0x20] = true, true, true
		}
	}
	var before []byte
	for range count {
		var err error
		if before, err = s.entry(version, before); err != nil {
			return err
		}
	}
	s.out.Count = int(count)
	return s.extensions()
}

// Bits of an entry's flags, and of the second word that versions 3 and 4 may have.
const (
	flagExtended    = 0x4000
	flagStage       = 0x3000
	flagName        = 0x0fff
	flagIntentToAdd = 0x2000
)

// entry reads one entry and returns its name, which lives in before's array.
func (s *scanner) entry(version uint32, before []byte) ([]byte, error) {
	fixed := 40 + s.id + 2
	b := s.have(fixed + 2 + maxName)
	if len(b) < fixed {
		return nil, ErrUseGit
	}
	mode := Mode(binary.BigEndian.Uint32(b[24:]))
	flags := binary.BigEndian.Uint16(b[40+s.id:])
	at, extended := fixed, uint16(0)
	if flags&flagExtended != 0 {
		if version < 3 || len(b) < at+2 {
			return nil, ErrUseGit
		}
		extended = binary.BigEndian.Uint16(b[at:])
		at += 2
	}
	if flags&flagStage != 0 {
		return nil, ErrUseGit
	}
	switch mode {
	case ModeFile, ModeExec, ModeSymlink, ModeGitlink:
	default:
		return nil, ErrUseGit
	}
	kept := 0
	if version == 4 { // how much of the name before is cut off; the rest is kept
		cut, n := offsetVarint(b[at:])
		if n == 0 || cut > len(before) {
			return nil, ErrUseGit
		}
		kept, at = len(before)-cut, at+n
	}
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 || kept+end == 0 || kept+end > maxName {
		return nil, ErrUseGit
	}
	if n := int(flags & flagName); n != min(kept+end, flagName) {
		return nil, ErrUseGit
	}
	suffix := b[at : at+end]
	if before != nil && bytes.Compare(suffix, before[kept:]) <= 0 {
		return nil, ErrUseGit
	}
	name := append(before[:kept], suffix...)
	consumed := at + end + 1
	if version < 4 { // one to eight NULs, up to a multiple of eight
		padded := (at + end + 8) &^ 7
		if len(b) < padded {
			return nil, ErrUseGit
		}
		for _, c := range b[consumed:padded] {
			if c != 0 {
				return nil, ErrUseGit
			}
		}
		consumed = padded
	}
	s.start += consumed
	if s.first[name[0]] {
		s.look(name, mode, b[40:40+s.id], extended)
	}
	if s.odd != nil && !s.out.Odd {
		s.out.Odd = s.odd(name)
	}
	return name, nil
}

// look keeps an entry that is watched.
func (s *scanner) look(name []byte, mode Mode, id []byte, extended uint16) {
	for _, w := range s.watch {
		n := len(w)
		if len(name) < n || len(name) > n && name[n] != '/' {
			continue
		}
		switch {
		case string(name[:n]) == w:
			if extended&flagIntentToAdd == 0 {
				s.out.Entries = append(s.out.Entries, Entry{Path: string(name), Mode: mode, ID: hex.EncodeToString(id)})
			}
			return
		case strings.EqualFold(string(name[:n]), w):
			s.out.Folded = true
		}
	}
}

// offsetVarint reads a number as the index and packs write it (gitformat-pack(5), "offset
// encoding") and returns how many bytes it took, 0 if it is none.
func offsetVarint(b []byte) (value, n int) {
	for n < len(b) && n < 5 {
		c := int(b[n])
		n++
		if n > 1 {
			value++
		}
		if value = value<<7 | c&0x7f; c&0x80 == 0 {
			return value, n
		}
	}
	return 0, 0
}

// extensions must end exactly where the trailer begins. One whose name begins with a lower
// case letter changes what the entries mean.
func (s *scanner) extensions() error {
	for {
		b := s.have(8)
		if len(b) == 0 && s.left == 0 {
			return nil
		}
		if len(b) < 8 || b[0] < 'A' || b[0] > 'Z' {
			return ErrUseGit
		}
		name, size := string(b[:4]), int64(binary.BigEndian.Uint32(b[4:]))
		s.start += 8
		if size > int64(len(s.buf)-s.start)+s.left {
			return ErrUseGit
		}
		if name == "TREE" {
			root := s.have(int(min(size, 64+int64(s.id))))
			if s.out.Tree = rootTree(root[:min(int64(len(root)), size)], s.id); s.out.Tree == "?" {
				return ErrUseGit
			}
		}
		if err := s.skip(size); err != nil {
			return err
		}
	}
}

func (s *scanner) skip(n int64) error {
	for n > 0 {
		b := s.have(1)
		if len(b) == 0 {
			return ErrUseGit
		}
		step := min(n, int64(len(b)))
		s.start += int(step)
		n -= step
	}
	return nil
}

// rootTree reads the first entry of the TREE extension: an empty name, NUL, the number of
// entries, a blank, the number of subtrees, a newline, the id. A negative number of entries
// says that it is not valid, and then no id follows. "?" is a malformed one.
func rootTree(b []byte, idBytes int) string {
	if len(b) == 0 || b[0] != 0 {
		return "?"
	}
	line, id, ok := bytes.Cut(b[1:], []byte("\n"))
	entries, subtrees, two := strings.Cut(string(line), " ")
	n, err1 := strconv.Atoi(entries)
	_, err2 := strconv.Atoi(subtrees)
	switch {
	case !ok || !two || err1 != nil || err2 != nil:
		return "?"
	case n < 0:
		return ""
	case len(id) < idBytes:
		return "?"
	}
	return fmt.Sprintf("%x", id[:idBytes])
}
