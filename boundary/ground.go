package boundary

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of grounding.
const (
	maxSource   = 4 << 20 // bytes of a text that is quoted from
	maxQuote    = 2 << 10 // bytes of a quote
	shortQuote  = 12      // characters that are no blanks, below which a quote must be a whole line
	wholeLine   = 4       // letters or digits that such a line must have
	maxPlaces   = 10      // lines that an ambiguous quote lists
	binaryProbe = 8 << 10 // bytes in which a NUL makes a text binary
)

// Span is a stretch of a text, in bytes; End is not part of it.
type Span struct{ Start, End int }

// Grounded is where a quote stands in a text, byte for byte as the text has it.
type Grounded struct {
	Span       Span
	Line       int // 1-based, of its first byte
	Occurrence int // 1-based, of Of
	Of         int
	SHA256     string // of the text's own bytes in the span
}

// GroundError says why a quote does not stand in a text, by a code of stage 7.
type GroundError struct {
	Code    string
	Message string
	Lines   []int // of an ambiguous quote
}

func (e *GroundError) Error() string { return e.Code + ": " + e.Message }

// Ground finds a quote in a text. Both are compared alike: line ends as LF, Unicode as NFC, a
// run of white space as one blank, ends trimmed; letter case, punctuation and quotation marks
// count. A match begins and ends on the borders of characters and of words: "allowed" does
// not stand in "disallowed". A quote that stands there several times needs the span that
// holds the one that is meant.
func Ground(source []byte, quote string, within *Span) (Grounded, error) {
	if err := plainSource(source); err != nil {
		return Grounded{}, err
	}
	return groundIn(source, normalise(string(source)), quote, within, shortQuote)
}

// plainSource says why nothing can be quoted from a text.
func plainSource(source []byte) error {
	switch {
	case len(source) > maxSource:
		return &GroundError{Code: "boundary/ground-kind", Message: fmt.Sprintf("the text has more than %d bytes", maxSource)}
	case bytes.IndexByte(source[:min(len(source), binaryProbe)], 0) >= 0, !utf8.Valid(source):
		return &GroundError{Code: "boundary/ground-kind", Message: "it is no UTF-8 text"}
	}
	return nil
}

// groundIn is Ground in a text whose form for comparing is known; a quote of fewer characters
// than least must be a whole line.
func groundIn(source []byte, text normal, quote string, within *Span, least int) (Grounded, error) {
	fail := func(code, format string, args ...any) (Grounded, error) {
		return Grounded{}, &GroundError{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(quote) > maxQuote:
		return fail("boundary/ground-short", "the quote has more than %d bytes", maxQuote)
	case !utf8.ValidString(quote):
		return fail("boundary/ground-not-found", "the quote is no UTF-8 text")
	}
	sought := normalise(quote)
	if sought.text == "" {
		return fail("boundary/ground-short", "the quote is empty")
	}
	matches, inside := text.find(sought.text)
	if len(matches) == 0 && inside {
		return fail("boundary/ground-mid-word", "the quote stands only inside of a word")
	}
	if len(matches) == 0 {
		return fail("boundary/ground-not-found", "the quote does not stand in the text")
	}
	if short(sought.text, least) {
		whole := false
		for _, m := range matches {
			whole = whole || isLine(source, m)
		}
		if !whole {
			return fail("boundary/ground-short", "a quote of fewer than %d characters must be a whole line", least)
		}
	}
	chosen := 0
	if within != nil {
		held := 0
		for i, m := range matches {
			if within.Start <= m.Start && m.End <= within.End {
				held++
				chosen = i
			}
		}
		if held != 1 {
			return fail("boundary/ground-span", "the span holds the quote %d times, not once", held)
		}
	} else if len(matches) > 1 {
		e := &GroundError{Code: "boundary/ground-ambiguous", Message: fmt.Sprintf("the quote stands there %d times", len(matches))}
		for _, m := range matches[:min(len(matches), maxPlaces)] {
			e.Lines = append(e.Lines, lineOf(source, m.Start))
		}
		return Grounded{}, e
	}
	m := matches[chosen]
	sum := sha256.Sum256(source[m.Start:m.End])
	return Grounded{Span: m, Line: lineOf(source, m.Start), Occurrence: chosen + 1, Of: len(matches), SHA256: hex.EncodeToString(sum[:])}, nil
}

// lineOf is the 1-based line of a byte; CR LF, LF and CR end one.
func lineOf(source []byte, at int) int {
	before := source[:at]
	return 1 + bytes.Count(before, []byte("\n")) + bytes.Count(before, []byte("\r")) - bytes.Count(source[:min(at+1, len(source))], []byte("\r\n"))
}

// short reports whether a quote is too short to be told from chance.
func short(quote string, least int) bool {
	n := 0
	for _, r := range quote {
		if r != ' ' {
			n++
		}
	}
	return n < least
}

// isLine reports whether a match is all that a line has, and enough of it.
func isLine(source []byte, m Span) bool {
	start := bytes.LastIndexAny(source[:m.Start], "\r\n") + 1
	end := len(source)
	if i := bytes.IndexAny(source[m.End:], "\r\n"); i >= 0 {
		end = m.End + i
	}
	if strings.TrimSpace(string(source[start:m.Start])) != "" || strings.TrimSpace(string(source[m.End:end])) != "" {
		return false
	}
	n := 0
	for _, r := range string(source[m.Start:m.End]) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= wholeLine
}

// normal is a text in the form in which texts are compared, with the place in the original
// that each of its bytes came from.
type normal struct {
	text  string
	spans []Span // of the original, for each byte
	start []bool // whether a segment begins at a byte
}

// normalise makes the form, segment by segment: what NFC joins has one origin.
func normalise(s string) normal {
	n := normal{spans: make([]Span, 0, len(s)), start: make([]bool, 0, len(s))}
	var b strings.Builder
	b.Grow(len(s))
	add := func(text string, at Span) {
		for i := range len(text) {
			n.spans = append(n.spans, at)
			n.start = append(n.start, i == 0)
		}
		b.WriteString(text)
	}
	blank := Span{-1, -1}
	var it norm.Iter
	it.InitString(norm.NFC, s)
	for !it.Done() {
		from := it.Pos()
		segment := string(it.Next())
		at := Span{from, it.Pos()}
		if strings.TrimSpace(segment) == "" {
			if blank.Start < 0 {
				blank.Start = at.Start
			}
			blank.End = at.End
			continue
		}
		if blank.Start >= 0 && b.Len() > 0 {
			add(" ", blank)
		}
		blank = Span{-1, -1}
		add(segment, at)
	}
	n.text = b.String()
	return n
}

// find returns the places at which a normalised quote stands on the borders of characters and
// words, as spans of the original; inside says whether it stands inside of a word as well.
func (n normal) find(quote string) (matches []Span, inside bool) {
	for from := 0; ; {
		i := strings.Index(n.text[from:], quote)
		if i < 0 {
			return matches, inside
		}
		start, end := from+i, from+i+len(quote)
		from = start + 1
		if !n.start[start] || end < len(n.text) && !n.start[end] {
			continue
		}
		if joins(n.text, start) || joins(n.text, end) {
			inside = true
			continue
		}
		matches = append(matches, Span{n.spans[start].Start, n.spans[end-1].End})
		from = end
	}
}

// joins reports whether a place lies between two characters of one word.
func joins(text string, at int) bool {
	if at == 0 || at == len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return inWord(before) && inWord(after)
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}
