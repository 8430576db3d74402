package markdown

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Edit replaces the bytes of a span.
type Edit struct {
	Span
	New []byte
}

// Apply makes non-overlapping edits, in any order, and changes no byte outside their
// spans. The result is parsed again: if a section whose heading no edit touched is no
// longer a section there, the edit would have swallowed it, and Apply fails.
func Apply(src []byte, edits ...Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(a.Start-b.Start, a.End-b.End) // an insertion goes before what it stands at
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("markdown: edit of bytes %d to %d overlaps another or leaves the text", e.Start, e.End)
		}
		out.Write(src[at:e.Start])
		out.Write(e.New)
		at = e.End
	}
	out.Write(src[at:])
	if err := sameSections(src, out.Bytes(), edits); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func sameSections(before, after []byte, edits []Edit) error {
	old, err := Parse(before)
	if err != nil {
		return err
	}
	now, err := Parse(after)
	if err != nil {
		return err
	}
	type heading struct {
		level, start int
		title        string
	}
	have := map[heading]bool{}
	for _, s := range now.Sections() {
		have[heading{s.Level, s.Heading.Start, s.Title}] = true
	}
	for _, s := range old.Sections() {
		shift, touched := 0, false
		for _, e := range edits {
			switch {
			case e.End <= s.Heading.Start:
				shift += len(e.New) - (e.End - e.Start)
			case e.Start < s.Heading.End:
				touched = true
			}
		}
		if !touched && !have[heading{s.Level, s.Heading.Start + shift, s.Title}] {
			return fmt.Errorf("markdown: the edit would hide the section %q", s.Title)
		}
	}
	return nil
}
