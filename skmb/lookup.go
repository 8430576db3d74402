package skmb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Query asks which records cover a practical behaviour, not merely a broad pattern (seed
// 003, "SKMB Lookup"). Empty fields are not asked for.
type Query struct {
	Patterns string // letters or codes
	State    string
	Event    string
	Path     string
	Text     string // words that must all occur
}

// Hit is one record that a query matched, wholly or in part. A partial hit covers only
// what matched; the rest is still undecided.
type Hit struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Status  Status   `json:"status"`
	Exact   bool     `json:"exact"` // everything that was asked for matched, and the record is accepted
	Matched []string `json:"matched"`
	Missing []string `json:"missing"`
	File    string   `json:"file"`
}

// criterion is one thing that a query asks for.
type criterion struct {
	name  string
	holds func(*Record) bool
}

// Lookup returns the records of which anything matched: exact hits first, then by how much
// matched.
func (b *Base) Lookup(q Query) ([]Hit, error) {
	criteria, err := b.criteria(q)
	if err != nil {
		return nil, err
	}
	hits := []Hit{}
	b.readable(func(r *Record) {
		h := Hit{ID: r.ID, Title: r.Title, Status: r.Status, Matched: []string{}, Missing: []string{}, File: r.Path}
		for _, c := range criteria {
			if c.holds(r) {
				h.Matched = append(h.Matched, c.name)
			} else {
				h.Missing = append(h.Missing, c.name)
			}
		}
		if len(h.Matched) == 0 {
			return
		}
		if r.Status != Accepted {
			h.Missing = append(h.Missing, fmt.Sprintf("acceptance: it is %s", r.Status))
		}
		h.Exact = len(h.Missing) == 0
		hits = append(hits, h)
	})
	slices.SortStableFunc(hits, func(x, y Hit) int {
		return cmp.Or(boolOrder(x.Exact, y.Exact), boolOrder(x.Status == Accepted, y.Status == Accepted), len(y.Matched)-len(x.Matched), strings.Compare(x.ID, y.ID))
	})
	return hits, nil
}

// boolOrder puts true before false.
func boolOrder(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

func (b *Base) criteria(q Query) ([]criterion, error) {
	var out []criterion
	letters, unknown := parsePatterns(q.Patterns)
	if len(unknown) > 0 {
		return nil, &InputError{fmt.Sprintf("%q is no pattern", strings.Join(unknown, " ")), "use the letters A to G"}
	}
	for _, l := range letters {
		out = append(out, criterion{"pattern " + l, func(r *Record) bool { return slices.Contains(r.Patterns, l) }})
	}
	if q.State != "" {
		out = append(out, criterion{"state " + q.State, func(r *Record) bool { return b.namesWord(r, q.State, "from_state", "to_state") }})
	}
	if q.Event != "" {
		out = append(out, criterion{"event " + q.Event, func(r *Record) bool { return b.namesWord(r, q.Event, "event") }})
	}
	if q.State != "" && q.Event != "" {
		out = append(out, criterion{fmt.Sprintf("%s in state %s", q.Event, q.State), func(r *Record) bool { return b.namesStep(r, q.State, q.Event) }})
	}
	if q.Path != "" {
		out = append(out, criterion{"path " + q.Path, func(r *Record) bool { return r.coversPath(q.Path) }})
	}
	for _, word := range strings.Fields(q.Text) {
		out = append(out, criterion{"text " + word, func(r *Record) bool {
			return strings.Contains(r.searchText(), strings.ToLower(word))
		}})
	}
	if len(out) == 0 {
		return nil, &InputError{"nothing was asked for", "skmb lookup --pattern F --path notifier/x.go"}
	}
	return out, nil
}

// namesStep reports whether a state and an event stand in one transition that rests on the record; where
// none of its transitions has either, its own text decides.
func (b *Base) namesStep(r *Record, state, event string) bool {
	is := func(row row, column, word string) bool {
		return strings.EqualFold(strings.TrimSpace(row.text(column)), word)
	}
	some := false
	for _, row := range b.Index.rows(transitions) {
		if !slices.ContainsFunc(References(row.text("source")), func(ref Reference) bool { return slices.Contains(b.resolve(ref.Text), r.ID) }) {
			continue
		}
		in, on := is(row, "from_state", state) || is(row, "to_state", state), is(row, "event", event)
		if in && on {
			return true
		}
		some = some || in || on
	}
	return !some
}

// namesWord reports whether a transition that rests on the record has the word in one of
// the columns, or the record's own text says it.
func (b *Base) namesWord(r *Record, word string, columns ...string) bool {
	for _, row := range b.Index.rows(transitions) {
		rests := slices.ContainsFunc(References(row.text("source")), func(ref Reference) bool { return slices.Contains(b.resolve(ref.Text), r.ID) })
		for _, c := range columns {
			if rests && strings.EqualFold(strings.TrimSpace(row.text(c)), word) {
				return true
			}
		}
	}
	return containsWord(r.searchText(), strings.ToLower(word))
}

// containsWord looks for a word that no letter or digit continues.
func containsWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 || word == "" {
			return false
		}
		from, to := at+i, at+i+len(word)
		if (from == 0 || !isWordByte(text[from-1])) && (to == len(text) || !isWordByte(text[to])) {
			return true
		}
		at = from + 1
	}
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// coversPath reports whether a pattern of the record's paths, or a path named under Applies
// To, covers the path.
func (r *Record) coversPath(path string) bool {
	if slices.ContainsFunc(r.Paths, func(p string) bool { return matchPath(p, path) }) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(r.Section("Applies To"), func(c rune) bool { return strings.ContainsRune(" \t\n,;()`", c) }), func(word string) bool {
		return strings.ContainsAny(word, "/.") && len(strings.Trim(word, "*./")) > 0 && matchPath(word, path)
	})
}

// searchText is what text is looked for in, in lower case.
func (r *Record) searchText() string {
	return strings.ToLower(strings.Join([]string{r.Title, r.value("scope"), r.Section("Context"), r.Section("Decision"), r.Section("Applies To")}, "\n"))
}
