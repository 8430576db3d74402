package agentsmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxTranscriptLine bounds a line of a transcript; a longer one is passed over and named.
const maxTranscriptLine = 64 << 20

// line is one line of a transcript: a JSON object of which the members that were asked for
// are kept as they stand. All of it is checked to be JSON.
type line struct {
	number     int // 1-based
	start, end int64
	raw        []byte // valid until the next line is read
	before     []byte // lines before it that are none, such as blank ones
	members    map[string]jsontext.Value
}

func (l *line) text(name string) string { return textOf(l.members[name]) }

func textOf(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil && len(b) == 0 {
		return ""
	}
	return string(b)
}

func isTrue(v jsontext.Value) bool { return v.Kind() == 't' }

// lenient are the options for text that other programs wrote.
var lenient = jsontext.AllowInvalidUTF8(true)

func decodeInto(v jsontext.Value, into any) bool {
	return len(v) > 0 && json.Unmarshal(v, into, lenient, jsontext.AllowDuplicateNames(true)) == nil
}

// lineReader reads the lines of a transcript.
type lineReader struct {
	in     *bufio.Reader
	closer io.Closer
	wanted func(name string) bool
	dec    *jsontext.Decoder
	warn   func(string)

	offset  int64
	number  int
	long    []byte
	skipped []byte // since the last line
	buf     bytes.Buffer
	l       line
}

// openLines opens a transcript at a place. A first line is read past its byte order mark.
func openLines(f File, from Place, wanted func(string) bool, warn func(string)) (*lineReader, error) {
	if info, err := fs.Stat(f.FS, f.Name); err != nil || !info.Mode().IsRegular() { // a FIFO would wait for ever
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", f.Path))
	}
	file, err := f.FS.Open(f.Name)
	if err != nil {
		return nil, err
	}
	if err == nil && from.Offset > 0 {
		s, ok := file.(io.Seeker)
		if !ok {
			err = fs.ErrInvalid
		} else {
			_, err = s.Seek(from.Offset, io.SeekStart)
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &lineReader{
		in: bufio.NewReaderSize(file, 1<<20), closer: file, wanted: wanted, warn: warn,
		dec:    jsontext.NewDecoder(nil2{}, lenient, jsontext.AllowDuplicateNames(true)),
		offset: from.Offset, number: from.Line, l: line{members: map[string]jsontext.Value{}},
	}, nil
}

type nil2 struct{}

func (nil2) Read([]byte) (int, error) { return 0, io.EOF }

// next reads the next line that is a JSON object. An unfinished last line is not read: it waits
// for the rest, and io.EOF ends before it.
func (r *lineReader) next() (*line, error) {
	for {
		raw, err := r.readLine()
		if err != nil {
			return nil, err
		}
		start := r.offset
		r.number++
		r.offset += int64(len(raw))
		if raw == nil { // too long: readLine has counted its bytes
			continue
		}
		text := bytes.TrimSpace(raw)
		if start == 0 {
			text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
		}
		if len(text) == 0 {
			r.skipped = append(r.skipped, raw...)
			continue
		}
		r.l.number, r.l.start, r.l.end, r.l.raw = r.number, start, r.offset, raw
		if !r.read(text) {
			r.warn(fmt.Sprintf("line %d is no JSON object", r.number))
			if len(r.skipped) < 1<<20 {
				r.skipped = append(r.skipped, raw...)
			}
			continue
		}
		r.l.before, r.skipped = append(r.l.before[:0:0], r.skipped...), r.skipped[:0]
		return &r.l, nil
	}
}

// readLine returns a whole line with its end, nil for one that is too long.
func (r *lineReader) readLine() ([]byte, error) {
	raw, err := r.in.ReadSlice('\n')
	if err == nil {
		return raw, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err // io.EOF: what stands there is not finished
	}
	r.long = append(r.long[:0], raw...)
	size := int64(len(raw))
	for errors.Is(err, bufio.ErrBufferFull) {
		raw, err = r.in.ReadSlice('\n')
		size += int64(len(raw))
		if len(r.long) <= maxTranscriptLine {
			r.long = append(r.long, raw...)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case size > maxTranscriptLine:
		r.warn(fmt.Sprintf("line %d has more than %d bytes", r.number+1, maxTranscriptLine))
		r.offset += size
		r.long = nil
		return nil, nil
	}
	return r.long, nil
}

// read checks a line and keeps the members that are wanted.
func (r *lineReader) read(text []byte) bool {
	clear(r.l.members)
	r.buf = *bytes.NewBuffer(text)
	r.dec.Reset(&r.buf, lenient, jsontext.AllowDuplicateNames(true))
	if r.dec.PeekKind() != '{' {
		return false
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return false
	}
	for r.dec.PeekKind() == '"' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return false
		}
		if key := name.String(); r.wanted(key) {
			v, err := r.dec.ReadValue()
			if err != nil {
				return false
			}
			if _, twice := r.l.members[key]; !twice {
				r.l.members[key] = v
			}
		} else if err := r.dec.SkipValue(); err != nil {
			return false
		}
	}
	if end, err := r.dec.ReadToken(); err != nil || end.Kind() != '}' {
		return false
	}
	_, err := r.dec.ReadToken()
	return errors.Is(err, io.EOF)
}

func (r *lineReader) close() { r.closer.Close() }
