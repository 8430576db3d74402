package skmb

import (
	"context"
	"slices"
	"strings"

	"assent/store"
)

// Past is one version of a decision file in the history of HEAD, oldest first in a list.
type Past struct {
	Commit  string // full hash
	Subject string
	Author  string
	When    string // RFC 3339, UTC
	Data    []byte // nil: the commit removed the file
}

// History gives a base its past. Both functions look at what HEAD can reach.
type History struct {
	File    func(ctx context.Context, path string) ([]Past, error)
	Unknown func(ctx context.Context, hashes []string) ([]string, error) // those that are no ancestors of HEAD
	Only    func(path string) bool                                       // records to look at; nil: all
}

// acceptedIn is the commit in which the record became what it is by now: accepted, or a
// permitted default. "" if no commit has it so.
func acceptedIn(versions []Past, path string, now Status) string {
	found, before := "", Status("")
	for _, v := range versions {
		status := Status("")
		if r, p := parseRecord(path, v.Data); p == nil {
			status = r.Status
		}
		switch {
		case status != now:
			found = ""
		case before != now:
			found = v.Commit
		}
		before = status
	}
	return found
}

// abbreviate cuts a hash to 12 digits, or to as many more as it takes to be known for one: a
// number of digits only is no hash in a commit field.
func abbreviate(hash string) string {
	for n := 12; n < len(hash); n++ {
		if len(hashes(hash[:n])) == 1 {
			return hash[:n]
		}
	}
	return hash
}

var pendingWord = lazily(`(?i)\bpending\b`)

// Backfill writes the hash of the commit in which a record became accepted where its commit
// field says pending, or names a commit that was rewritten since; in file and row. Words
// beside it stay.
func (w *Writer) Backfill(ctx context.Context, h History) (Done, error) {
	return w.change(ctx, "backfill", func(tx *store.Tx, d *draft, done *Done) error {
		done.IDs = []string{}
		var all []string
		d.base.readable(func(r *Record) { all = append(all, r.commits()...) })
		slices.Sort(all)
		unknown, err := h.Unknown(ctx, slices.Compact(all))
		if err != nil {
			return err
		}
		for _, r := range d.base.Records {
			if r.ID == "" || r.fields == nil || r.Status != Accepted && r.Status != StatisticalDefault || h.Only != nil && !h.Only(r.Path) {
				continue
			}
			value := r.value("commit")
			if value == "" && len(hashes(r.value("commits"))) > 0 {
				continue // it says so in its own way
			}
			gone := slices.DeleteFunc(hashes(value), func(x string) bool { return !slices.Contains(unknown, x) })
			if len(gone) == 0 && !pendingWord().MatchString(value) && value != "" {
				continue
			}
			versions, err := h.File(ctx, r.Path)
			if err != nil {
				return err
			}
			hash := acceptedIn(versions, r.Path, r.Status)
			if hash == "" {
				continue // not committed yet
			}
			if err := d.fill(r, abbreviate(hash), gone); err != nil {
				return err
			}
			done.IDs = append(done.IDs, r.ID)
		}
		return nil
	})
}

// fill puts a hash into the commit field and the commit cell of a record.
func (d *draft) fill(r *Record, hash string, gone []string) error {
	put := func(text string) string {
		for _, g := range gone {
			text = strings.ReplaceAll(text, g, hash)
		}
		if loc := pendingWord().FindStringIndex(text); loc != nil {
			text = text[:loc[0]] + hash + text[loc[1]:]
		}
		if isNone(text) {
			return hash
		}
		return text
	}
	if err := d.setField(r.ID, "commit", put(r.value("commit"))); err != nil {
		return err
	}
	x, err := d.index()
	if err != nil {
		return err
	}
	for _, have := range x.rows(decisions) {
		if have.id() == r.ID && have.wellShaped() && slices.Contains(have.columns, "commit") {
			return d.setRow(decisions, r.ID, cells{"commit": put(have.text("commit"))})
		}
	}
	return nil
}

// LogLine is one line of what history says about a record.
type LogLine struct {
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
	What    string `json:"what"`
}

// Log says what became of a record, version by version.
func (r *Record) Log(versions []Past) []LogLine {
	var out []LogLine
	var last *Record
	for _, v := range versions {
		what := "removed"
		now, p := parseRecord(r.Path, v.Data)
		switch {
		case v.Data == nil:
			now = nil
		case p != nil:
			what, now = "unreadable: "+p.message, nil
		case last == nil:
			what = "made, " + string(now.Status)
		case last.Status != now.Status:
			what = string(last.Status) + " → " + string(now.Status)
		case last.Digest() != now.Digest():
			what = "approved text changed"
		default:
			what = "edited"
		}
		last = now
		out = append(out, LogLine{v.Commit, v.When, v.Author, v.Subject, what})
	}
	return out
}
