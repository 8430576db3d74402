package skmb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"assent/finding"
)

// Summary is one record or question in a list.
type Summary struct {
	ID       string   `json:"id"`
	Status   Status   `json:"status"`
	Patterns []string `json:"patterns"`
	Title    string   `json:"title"`
	Scope    string   `json:"scope"`
	File     string   `json:"file"`
}

// Summaries lists every readable record and every open question, sorted by id.
func (b *Base) Summaries() []Summary {
	out := []Summary{}
	b.readable(func(r *Record) {
		out = append(out, Summary{r.ID, r.Status, orEmpty(r.Patterns), r.Title, r.value("scope"), r.Path})
	})
	for _, q := range b.Questions() {
		if b.byID[q.ID] == nil {
			out = append(out, Summary{q.ID, Open, q.Patterns, q.Context, "", ""})
		}
	}
	slices.SortStableFunc(out, func(x, y Summary) int { return strings.Compare(x.ID, y.ID) })
	return out
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// OpenRow is one row of Open Decisions.
type OpenRow struct {
	ID           string   `json:"id"`
	Patterns     []string `json:"patterns"`
	Context      string   `json:"context"`
	NeededBefore string   `json:"needed_before"`
	Paths        []string `json:"paths"`
}

// Questions lists the rows of Open Decisions.
func (b *Base) Questions() []OpenRow {
	var out []OpenRow
	for _, r := range b.Index.rows(opens) {
		if !r.wellShaped() || r.id() == "" {
			continue
		}
		letters, _ := parsePatterns(r.text("pattern"), r.text("patterns"))
		out = append(out, OpenRow{r.id(), orEmpty(letters), r.text("context"), r.text("needed_before"), orEmpty(listValue(field{value: r.text("paths")}))})
	}
	return out
}

// OpenQuestion returns the row of Open Decisions with an id.
func (b *Base) OpenQuestion(id string) (OpenRow, bool) {
	for _, q := range b.Questions() {
		if q.ID == id {
			return q, true
		}
	}
	return OpenRow{}, false
}

// Debt is a statistical default that is due for review.
type Debt struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	ReviewBy string `json:"review_by"`
	Overdue  bool   `json:"overdue"`
}

// Debts lists the statistical defaults by review date. today is a UTC date.
func (b *Base) Debts(today string) []Debt {
	out := []Debt{}
	b.readable(func(r *Record) {
		if r.Status == StatisticalDefault {
			by := r.value("review_by")
			out = append(out, Debt{r.ID, r.Title, by, by < today})
		}
	})
	slices.SortStableFunc(out, func(x, y Debt) int {
		return cmp.Or(strings.Compare(x.ReviewBy, y.ReviewBy), strings.Compare(x.ID, y.ID))
	})
	return out
}

// Detail is everything of one record, for a person or a program to read.
type Detail struct {
	SchemaVersion int       `json:"schema_version"`
	ID            string    `json:"id"`
	Title         string    `json:"title"`
	Status        Status    `json:"status"`
	File          string    `json:"file"`
	Digest        string    `json:"digest"`
	Fields        []Keyed   `json:"fields"`
	Sections      []Chapter `json:"sections"`
}

// Keyed is one field of a decision file.
type Keyed struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Chapter is one level-2 section of a decision file.
type Chapter struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Detail describes the record, fields and sections in the order of the file.
func (r *Record) Detail() Detail {
	d := Detail{SchemaVersion: 1, ID: r.ID, Title: r.Title, Status: r.Status, File: r.Path, Digest: r.Digest(), Fields: []Keyed{}, Sections: []Chapter{}}
	keys := make([]string, 0, len(r.fields))
	for k := range r.fields {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(r.fields[a].span.Start-r.fields[b].span.Start, strings.Compare(a, b))
	})
	for _, k := range keys {
		d.Fields = append(d.Fields, Keyed{k, r.value(k)})
	}
	titles := make([]string, 0, len(r.sections))
	for t := range r.sections {
		titles = append(titles, t)
	}
	slices.SortFunc(titles, func(a, b string) int { return r.sections[a].body.Start - r.sections[b].body.Start })
	for _, t := range titles {
		d.Sections = append(d.Sections, Chapter{r.sections[t].title, r.Section(t)})
	}
	return d
}

// Unread lists what of the base could not be read.
func (b *Base) Unread() []finding.Finding {
	var out []finding.Finding
	for _, p := range b.problems {
		out = append(out, finding.Finding{Code: p.code, Path: p.path, Start: p.pos, Message: p.message})
	}
	return out
}

// InboxItem is something that waits for a person.
type InboxItem struct {
	Group string `json:"group"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Since string `json:"since"` // date, "" if unknown
	Age   string `json:"age"`   // in days, such as "3 d"
	Next  string `json:"next"`  // the command that answers it
}

// Inbox lists what waits: undecided records, defaults whose review date is past, and open
// questions; oldest first in each group. today is a UTC date.
func (b *Base) Inbox(today string) []InboxItem {
	var undecided, overdue, questions []InboxItem
	b.readable(func(r *Record) {
		switch {
		case r.Status == Proposed && r.Known:
			undecided = append(undecided, InboxItem{"undecided: these block commits", r.ID, r.Title, r.value("date"), age(r.value("date"), today), "skmb approve " + r.ID})
		case r.Status == StatisticalDefault && r.value("review_by") < today:
			by := r.value("review_by")
			overdue = append(overdue, InboxItem{"overdue for review: these block commits", r.ID, r.Title, by, age(by, today), "skmb permit-default " + r.ID + " --review-by DATE"})
		}
	})
	for _, q := range b.Questions() {
		questions = append(questions, InboxItem{"open questions", q.ID, q.Context, "", "", ""})
	}
	for _, list := range [][]InboxItem{undecided, overdue} {
		slices.SortStableFunc(list, func(x, y InboxItem) int {
			return cmp.Or(strings.Compare(x.Since, y.Since), strings.Compare(x.ID, y.ID))
		})
	}
	return slices.Concat(undecided, overdue, questions)
}

// age is the number of days between two dates, "" if one is none.
func age(from, to string) string {
	a, err1 := time.Parse(time.DateOnly, from)
	b, err2 := time.Parse(time.DateOnly, to)
	if err1 != nil || err2 != nil {
		return ""
	}
	return fmt.Sprintf("%d d", int(b.Sub(a).Hours()/24))
}
