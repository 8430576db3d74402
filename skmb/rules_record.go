package skmb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assent/finding"
)

// commits is the sorted set of hashes that the file records.
func (r *Record) commits() []string { return hashes(r.value("commit") + " " + r.value("commits")) }

// readable calls fn for each record whose fields are known.
func (b *Base) readable(fn func(*Record)) {
	for _, r := range b.Records {
		if r.ID != "" && r.fields != nil {
			fn(r)
		}
	}
}

// subject is the key of a finding about a record's text: known findings of a baseline stay
// known only as long as the text stays.
func subject(r *Record) string { return r.ID + " " + r.Digest()[:16] }

// unresolved is the gate. Under the related gate a record that the change does not touch
// is only counted.
func unresolved(v *view) error {
	if v.base == nil {
		return nil
	}
	var err error
	untouched := 0
	v.base.readable(func(r *Record) {
		if r.Status != Proposed || !r.Known || isOpen(r.ID) {
			return
		}
		if v.opts.Related {
			touched, e := v.touches(r.Path, r.Paths)
			if err = errors.Join(err, e); !touched {
				untouched++
				return
			}
		}
		said := fmt.Sprintf("%s is %s: no designer has decided %q", r.ID, idOr(r.value("status"), "without a status"), short(r.Title))
		v.report(r.Path, r.at("status"), subject(r), "skmb approve "+r.ID, said)
	})
	if untouched > 0 {
		v.Report(finding.Finding{Path: v.root, Key: "related", Severity: finding.Warning, Fix: "assent inbox",
			Message: fmt.Sprintf("%s undecided; this change touches none of them", finding.Count(untouched, "record"))})
	}
	return err
}

// touches reports whether the change has a path, or one that a pattern covers. Where the
// change is not known everything is touched.
func (v *view) touches(path string, patterns []string) (bool, error) {
	if v.opts.Depends != nil {
		v.opts.Depends()
	}
	if v.Changed == nil {
		return true, nil
	}
	changed, err := v.Changed()
	if err != nil {
		return true, err
	}
	return slices.ContainsFunc(changed, func(c string) bool {
		return c == path || slices.ContainsFunc(patterns, func(p string) bool { return matchPath(p, c) })
	}), nil
}

// openBlocksPath holds changes to code that an open question lists.
func openBlocksPath(v *view) error {
	if v.base == nil {
		return nil
	}
	for _, q := range v.base.Index.rows(opens) {
		paths := listValue(field{value: q.text("paths")})
		if r := v.base.byID[q.id()]; r != nil {
			paths = append(paths, r.Paths...)
		}
		if !q.wellShaped() || len(paths) == 0 || v.Changed == nil {
			continue
		}
		touched, err := v.touches("", paths)
		if err != nil {
			return err
		}
		if touched {
			v.report(v.base.Index.Path, q.at("id"), q.id(), "skmb submit --from "+q.id(),
				fmt.Sprintf("%s is open, and the change touches %s: %s", idOr(q.id(), "a question"), short(strings.Join(paths, ", ")), short(q.text("context"))))
		}
	}
	return nil
}

func unknownStatus(v *view) {
	v.base.readable(func(r *Record) {
		if !r.Known {
			v.report(r.Path, r.at("status"), r.ID, "write one of: open, proposed, accepted, statistical_default, rejected, withdrawn, superseded",
				fmt.Sprintf("%s has the status %q", r.ID, short(r.value("status"))))
		}
	})
}

func notDesigner(v *view) {
	v.base.readable(func(r *Record) {
		if r.Status == Accepted && !isDesigner(r.value("decided_by")) {
			v.report(r.Path, r.at("decided_by"), r.ID, "skmb approve "+r.ID, fmt.Sprintf("%s is accepted, but decided by %q", r.ID, short(r.value("decided_by"))))
		}
	})
}

func isDesigner(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "designer") }

func approvalMissing(v *view) {
	v.base.readable(func(r *Record) {
		if r.Status == Accepted && isPlaceholder(r.value("approval_source")) {
			v.report(r.Path, r.at("approval_source"), r.ID, "skmb approve "+r.ID, fmt.Sprintf("%s is accepted, but approval_source is %q", r.ID, short(r.value("approval_source"))))
		}
	})
}

// isPlaceholder reports whether an approval source says nothing: it is empty, its first
// word is "pending", it is a known filler, or it has no letter of any script. A sentence
// that merely contains the word pending is fine.
func isPlaceholder(s string) bool {
	s = strings.ToLower(strings.Trim(strings.TrimSpace(s), "\"'“”‘’.!…- "))
	switch s {
	case "", ">", "|", "tbd", "todo", "n/a", "na", "none", "null", "nil", "pending", "unknown", "?":
		return true
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return len(words) == 0 || words[0] == "pending"
}

// statusMoved holds a record that ended to stay ended: in no parent may it be alive for it
// to be alive here.
func statusMoved(v *view) error {
	parents, err := v.parents()
	if err != nil || v.base == nil {
		return err
	}
	ended := func(s Status) bool { return s == Superseded || s == Rejected || s == Withdrawn }
	v.base.readable(func(r *Record) {
		if r.Status != Accepted && r.Status != StatisticalDefault {
			return
		}
		was := Status("")
		for _, p := range parents {
			old := p.byID[r.ID]
			if old == nil || old.fields == nil {
				continue
			}
			if !ended(old.Status) {
				return
			}
			was = old.Status
		}
		if was != "" {
			v.report(r.Path, r.at("status"), r.ID, "skmb submit, under a new number", fmt.Sprintf("%s was %s and is %s again", r.ID, was, r.Status))
		}
	})
	return nil
}

func defaultUnpermitted(v *view) {
	v.base.readable(func(r *Record) {
		if r.Status != StatisticalDefault {
			return
		}
		var lacks []string
		if !isDesigner(r.value("permitted_by")) {
			lacks = append(lacks, "permitted_by: designer")
		}
		if isPlaceholder(r.value("approval_source")) {
			lacks = append(lacks, "approval_source")
		}
		if !validDate(r.value("review_by")) {
			lacks = append(lacks, "review_by with a date")
		}
		if len(lacks) > 0 {
			v.report(r.Path, r.at("status"), r.ID, "skmb permit-default "+r.ID+" --review-by YYYY-MM-DD", fmt.Sprintf("%s lacks %s", r.ID, strings.Join(lacks, ", ")))
		}
	})
}

func defaultExpired(v *view) {
	v.base.readable(func(r *Record) {
		if by := r.value("review_by"); r.Status == StatisticalDefault && validDate(by) && by < v.opts.Today {
			v.report(r.Path, r.at("review_by"), r.ID, "skmb approve "+r.ID+", or skmb permit-default "+r.ID+" --review-by YYYY-MM-DD",
				fmt.Sprintf("%s was to be reviewed by %s", r.ID, by))
		}
	})
}

func unknownPattern(v *view) {
	v.base.readable(func(r *Record) {
		if len(r.UnknownWord) > 0 {
			v.report(r.Path, r.at("patterns"), r.ID, "use the letters A to G", fmt.Sprintf("%s names the pattern %q", r.ID, short(strings.Join(r.UnknownWord, " "))))
		}
	})
	for _, row := range v.base.Index.rows(decisions) {
		if _, unknown := parsePatterns(row.text("patterns")); row.wellShaped() && len(unknown) > 0 {
			v.report(v.base.Index.Path, row.at("patterns"), row.id(), "use the letters A to G", fmt.Sprintf("the row of %s names the pattern %q", idOr(row.id(), "no id"), short(strings.Join(unknown, " "))))
		}
	}
}
