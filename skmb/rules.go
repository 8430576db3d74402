package skmb

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/finding"
)

func pairMissing(v *view) {
	b := v.base
	switch {
	case b.hasIndex && !b.hasDir:
		v.report(IndexPath(b.Root), finding.Pos{}, "decisions", "skmb init, then add "+DecisionsDir(b.Root),
			fmt.Sprintf("%s is missing: the index stands alone", DecisionsDir(b.Root)))
	case b.hasDir && !b.hasIndex:
		v.report(DecisionsDir(b.Root), finding.Pos{}, "index", "skmb init, then skmb index and add "+IndexPath(b.Root),
			fmt.Sprintf("%s is missing: the decisions have no index", IndexPath(b.Root)))
	}
}

func problems(code string) func(*view) {
	return func(v *view) {
		for _, p := range v.base.problems {
			if p.code == code {
				v.report(p.path, p.pos, p.key, p.fix, p.message)
			}
		}
	}
}

func indexEmpty(v *view) {
	b := v.base
	if b.Index == nil || len(b.Records) == 0 {
		return
	}
	t := b.Index.tables[decisions]
	pos, what := finding.Pos{Line: 1, Col: 1}, "there is no section Decision Index"
	switch {
	case t != nil && !t.present:
		pos, what = docPos(b.Index.doc, t.section.Heading.Start), "the section Decision Index has no table"
	case t != nil && len(t.rows) == 0:
		pos, what = docPos(b.Index.doc, t.table.Header.Line.Start), "the Decision Index has no rows"
	case t != nil:
		return
	}
	if slices.ContainsFunc(b.Records, func(r *Record) bool { return !isOpen(r.ID) }) {
		v.report(b.Index.Path, pos, "index", "skmb index", fmt.Sprintf("%s, but %s has %s", what, DecisionsDir(b.Root), finding.Count(len(b.Records), "file")))
	}
}

func columnMissing(v *view) {
	if v.base.Index == nil {
		return
	}
	for kind, t := range v.base.Index.tables {
		if t == nil || !t.present {
			continue
		}
		for _, column := range specs[kind].required {
			if !slices.Contains(t.columns, column) {
				v.report(v.base.Index.Path, docPos(v.base.Index.doc, t.table.Header.Line.Start), specs[kind].heading+" "+column,
					"add the column "+column, fmt.Sprintf("the table under %q has no column %s", t.section.Title, column))
			}
		}
	}
}

func rowShape(v *view) {
	for kind := range tables {
		for _, r := range v.base.Index.rows(kind) {
			if !r.wellShaped() {
				v.report(v.base.Index.Path, r.at(""), strings.TrimSpace(string(r.line.In(v.base.Index.doc.Source()))),
					`write a pipe inside a cell as \|`, fmt.Sprintf("the row has %d cells, its header has %d", len(r.cells), len(r.columns)))
			}
		}
	}
}

func duplicateID(v *view) {
	b := v.base
	first := map[string]*Record{}
	for _, r := range b.Records {
		if r.ID == "" {
			continue
		}
		if other := first[r.ID]; other != nil {
			v.report(r.Path, r.at("title"), r.ID, "give one of the two a new number", fmt.Sprintf("%s is the id of %s too", r.ID, other.Path))
			continue
		}
		first[r.ID] = r
	}
	seen := map[string]row{}
	for _, kind := range []table{decisions, opens} { // an id is in one of the two; a default has a second row in its own table
		for _, r := range b.Index.rows(kind) {
			if !r.wellShaped() || r.id() == "" {
				continue
			}
			if other, twice := seen[r.id()]; twice {
				v.report(b.Index.Path, r.at("id"), r.id(), "remove one row, or give it its own number",
					fmt.Sprintf("%s has a row in line %d already", r.id(), other.at("id").Line))
				continue
			}
			seen[r.id()] = r
		}
	}
	inDefaults := map[string]bool{}
	for _, r := range b.Index.rows(defaults) {
		if id := r.id(); r.wellShaped() && id != "" {
			if inDefaults[id] {
				v.report(b.Index.Path, r.at("id"), id+" default", "remove one row", fmt.Sprintf("%s has two rows under %q", id, specs[defaults].heading))
			}
			inDefaults[id] = true
		}
	}
}

// rowFile finds the decision file that a row names. why says what is wrong with the name.
func (b *Base) rowFile(r row) (rec *Record, why string) {
	name := r.file()
	if rec := b.named(name); rec != nil {
		return rec, ""
	}
	switch {
	case name == "":
		return nil, "the file cell is empty"
	case path.IsAbs(name), strings.ContainsAny(name, "\\:"), slices.Contains(strings.Split(name, "/"), ".."):
		return nil, fmt.Sprintf("the file cell %q leaves the base", short(name))
	}
	full := path.Join(b.Root, name)
	if b.links[full] {
		return nil, fmt.Sprintf("%s is a symbolic link", full)
	}
	return nil, fmt.Sprintf("%s is no decision file of the base", short(full))
}

// named finds the decision file whose name a cell holds. A cell cannot hold white space as
// it is, so names are compared with theirs collapsed.
func (b *Base) named(name string) *Record {
	if rec := b.byPath[path.Join(b.Root, name)]; rec != nil && !path.IsAbs(name) && !slices.Contains(strings.Split(name, "/"), "..") {
		return rec
	}
	if rec := b.byFolded[b.Root+"/"+name]; rec != nil {
		return rec
	}
	return nil
}

// fileRows calls fn for each row that should name a decision file.
func (b *Base) fileRows(fn func(row)) {
	for _, kind := range []table{decisions, defaults, opens} {
		for _, r := range b.Index.rows(kind) {
			if r.wellShaped() && slices.Contains(r.columns, "file") && (kind != opens || r.file() != "") {
				fn(r)
			}
		}
	}
}

func rowWithoutFile(v *view) {
	if !v.base.hasDir {
		return // skmb/pair-missing says it once
	}
	v.base.fileRows(func(r row) {
		if _, why := v.base.rowFile(r); why != "" {
			v.report(v.base.Index.Path, r.at("file"), r.id(), "name the decision file relative to "+v.base.Root+", or restore it",
				fmt.Sprintf("%s: %s", idOr(r.id(), "a row without id"), why))
		}
	})
}

func idOr(id, other string) string {
	if id == "" {
		return other
	}
	return short(id)
}

func fileWithoutRow(v *view) {
	b := v.base
	if b.Index == nil {
		return
	}
	t := b.Index.tables[decisions]
	// skmb/index-empty or skmb/column-missing says it once for all decisions.
	saidOnce := t == nil || len(t.rows) == 0 || !slices.Contains(t.columns, "id")
	named := map[string]bool{}
	b.fileRows(func(r row) {
		if rec, _ := b.rowFile(r); rec != nil && r.kind != defaults {
			named[rec.Path] = true
		}
	})
	for _, kind := range []table{decisions, opens} {
		for _, r := range b.Index.rows(kind) {
			for _, c := range r.cells { // of a misshapen row any cell may be the id
				if !r.wellShaped() || c.Text == r.id() {
					named[c.Text] = true
				}
			}
		}
	}
	for _, r := range b.Records {
		if saidOnce && !isOpen(r.ID) {
			continue
		}
		if !named[r.Path] && (r.ID == "" || !named[r.ID]) {
			v.report(r.Path, r.at("title"), r.Path, "skmb index", fmt.Sprintf("%s has no row in %s", idOr(r.ID, "the file"), b.Index.Path))
		}
	}
}

// pairs calls fn for each row together with the readable record it names.
func (b *Base) pairs(fn func(row, *Record)) {
	b.fileRows(func(r row) {
		if rec, _ := b.rowFile(r); rec != nil && rec.ID != "" && rec.fields != nil {
			fn(r, rec)
		}
	})
}

func idMismatch(v *view) {
	v.base.pairs(func(r row, rec *Record) {
		if r.id() != rec.ID && slices.Contains(r.columns, specs[r.kind].key) {
			v.report(v.base.Index.Path, r.at("id"), r.id(), "correct the row or the title", fmt.Sprintf("the row says %s, %s says %s", idOr(r.id(), "no id"), rec.Path, rec.ID))
		}
	})
}

func statusMismatch(v *view) {
	v.base.pairs(func(r row, rec *Record) {
		if r.kind != decisions || !slices.Contains(r.columns, "status") {
			return
		}
		if s, _, _ := parseStatus(rec.ID, r.text("status")); s != rec.Status {
			v.report(v.base.Index.Path, r.at("status"), rec.ID, "skmb index", fmt.Sprintf("%s: the row says %s, %s says %s", rec.ID, idOr(string(s), "nothing"), rec.Path, rec.Status))
		}
	})
}

func patternsMismatch(v *view) {
	v.base.pairs(func(r row, rec *Record) {
		if r.kind != decisions || !slices.Contains(r.columns, "patterns") {
			return
		}
		letters, unknown := parsePatterns(r.text("patterns"))
		if len(unknown) == 0 && len(rec.UnknownWord) == 0 && !slices.Equal(letters, rec.Patterns) {
			v.report(v.base.Index.Path, r.at("patterns"), rec.ID, "skmb index",
				fmt.Sprintf("%s: the row says %s, %s says %s", rec.ID, letterList(letters), rec.Path, letterList(rec.Patterns)))
		}
	})
}

func letterList(letters []string) string {
	if len(letters) == 0 {
		return "no pattern"
	}
	return strings.Join(letters, ", ")
}

func commitMismatch(v *view) {
	v.base.pairs(func(r row, rec *Record) {
		if r.kind != decisions || !slices.Contains(r.columns, "commit") {
			return
		}
		inRow, inFile := hashes(r.text("commit")), rec.commits()
		if !slices.Equal(inRow, inFile) {
			v.report(v.base.Index.Path, r.at("commit"), rec.ID, "name the same commits in both",
				fmt.Sprintf("%s: the row has %d commit hashes, %s has %d, and they differ", rec.ID, len(inRow), rec.Path, len(inFile)))
		}
	})
}

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

func approvalInvalid(v *view) {
	parents, err := v.parents()
	if err != nil {
		return // skmb/accepted-changed reports it
	}
	v.base.readable(func(r *Record) {
		text := r.value("approval")
		if (r.Status != Accepted && r.Status != StatisticalDefault) || text == "" {
			return
		}
		a, ok := parseApproval(text)
		switch {
		case !ok:
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s: the approval %q is not of the form `<method> sha256:<digest> [<id>]`", r.ID, short(text)))
		case a.Digest != r.Digest() && !(r.Status == Accepted && changedSince(parents, r)):
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s: the approval is of another text than the one that stands there", r.ID))
		case a.Digest == r.Digest() && a.Method != approval.MethodStatement:
			if _, _, why := v.recorded(r, a); why != "" {
				v.report(r.Path, r.at("approval"), subject(r), "add "+approval.Path(a.RecordID)+", or skmb approve "+r.ID, fmt.Sprintf("%s: the approval record %s %s", r.ID, short(a.RecordID), why))
			}
		}
	})
}

// recorded reads the record that stands for a stronger yes than a statement, and says what
// is wrong with it.
func (v *view) recorded(r *Record, a Approval) (s approval.Statement, level approval.Level, why string) {
	name := approval.Path(a.RecordID)
	if approval.LevelOf(a.Method) < approval.LevelTerminal {
		return s, 0, fmt.Sprintf("is of the method %q, which this program does not know", short(a.Method))
	}
	if !fs.ValidPath(name) || path.Base(name) != a.RecordID+".json" {
		return s, 0, "has no valid id"
	}
	info, err := stat(v.New, name)
	if err != nil || info == nil || !info.Mode().IsRegular() {
		return s, 0, "is not in the repository"
	}
	data, err := v.New.ReadFile(name)
	if err == nil {
		s, level, err = approval.Verify(v.Ctx, v.opts.Env, data, approval.Want{
			ID: a.RecordID, Domain: "skmb", Subject: r.ID, Digest: r.Digest(), Actions: actionsFor(r.Status), Repository: v.repository(), Card: finding.CleanLines(r.Card()),
		}, v.opts.Signers)
	}
	if err == nil && level < approval.LevelOf(a.Method) {
		err = fmt.Errorf("it is a %s", level)
	}
	if err != nil {
		return s, 0, "does not hold: " + err.Error()
	}
	return s, level, ""
}

// actionsFor are the acts whose yes makes a record what it is.
func actionsFor(s Status) []string {
	if s == StatisticalDefault {
		return []string{string(EventPermitDefault)}
	}
	return []string{string(EventApprove), string(EventSupersede)}
}

// repository is the id that approvals are bound to: as a parent has it, else as this tree
// does. "" if there is none.
func (v *view) repository() string {
	for _, tree := range append(slices.Clone(v.Parents), v.New) {
		var identity struct {
			ID string `json:"id"`
		}
		if data, err := tree.ReadFile(".assent/repository.json"); err == nil && json.Unmarshal(data, &identity) == nil && identity.ID != "" {
			return identity.ID
		}
	}
	return ""
}

// approvalLevel holds every yes to the level that the policy asks for. One statement serves
// once: two records with its nonce are a copy.
func approvalLevel(v *view) {
	v.base.readable(func(r *Record) {
		if r.Status != Accepted && r.Status != StatisticalDefault {
			return
		}
		a, ok := parseApproval(r.value("approval"))
		level := approval.LevelNone
		if r.value("approval_source") != "" {
			level = approval.LevelStatement
		}
		if ok && a.Method != approval.MethodStatement {
			s, l, why := v.recorded(r, a)
			if why != "" {
				return // skmb/approval-invalid reports it
			}
			level = l
			if v.reused(s.Nonce, r.Path) {
				v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s: its approval is a copy of another one", r.ID))
			}
		}
		if v.opts.Touch && level == approval.LevelSignature {
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s was signed by a key that nobody touched; the policy asks for a touch", r.ID))
		} else if level < v.opts.Required {
			v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s was approved by a %s; the policy asks for a %s", r.ID, level, v.opts.Required))
		}
	})
}

// changedSince reports whether a record that is accepted in some parent has, in every
// parent where it is accepted, another approved text.
func changedSince(parents []*Base, r *Record) bool {
	changed := false
	for _, p := range parents {
		if old := p.byID[r.ID]; old != nil && old.fields != nil && old.Status == Accepted {
			if old.Digest() == r.Digest() {
				return false
			}
			changed = true
		}
	}
	return changed
}

func acceptedChanged(v *view) error {
	parents, err := v.parents()
	if err != nil || v.base == nil {
		return err
	}
	v.base.readable(func(r *Record) {
		if r.Status != Accepted || !changedSince(parents, r) {
			return
		}
		if a, ok := parseApproval(r.value("approval")); ok && a.Digest == r.Digest() {
			if v.older(r, a) {
				v.report(r.Path, r.at("approval"), subject(r), "skmb approve "+r.ID, fmt.Sprintf("%s went back to a text whose approval is older than the one it had", r.ID))
			}
			return
		}
		v.report(r.Path, r.at("title"), r.ID, "skmb approve "+r.ID, fmt.Sprintf("the approved text of %s was changed after it was accepted", r.ID))
	})
	return nil
}

// older reports whether a parent has a later approval of the record than this one, where
// both left a record that says when.
func (v *view) older(r *Record, a Approval) bool {
	now, ok := issued(v.New, a)
	if !ok {
		return false
	}
	for _, tree := range v.Parents {
		b, err := Load(tree, v.root)
		if err != nil || b == nil || b.byID[r.ID] == nil || b.byID[r.ID].fields == nil {
			continue
		}
		before, ok := parseApproval(b.byID[r.ID].value("approval"))
		if at, known := issued(tree, before); ok && known && at.After(now) {
			return true
		}
	}
	return false
}

// issued is when the statement of an approval was issued, as its record says.
func issued(tree finding.Tree, a Approval) (at time.Time, ok bool) {
	name := approval.Path(a.RecordID)
	if a.RecordID == "" || !fs.ValidPath(name) {
		return at, false
	}
	data, err := tree.ReadFile(name)
	var record approval.Record
	if err != nil || json.Unmarshal(data, &record) != nil {
		return at, false
	}
	s, err := approval.ParseStatement(record.Statement)
	return s.Issued, err == nil
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

func commitUnknown(v *view) error {
	if v.base == nil || v.opts.Unknown == nil {
		return nil
	}
	var all []string
	v.base.readable(func(r *Record) { all = append(all, r.commits()...) })
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	unknown, err := v.opts.Unknown(v.Ctx, slices.Compact(all))
	if err != nil {
		return err
	}
	strange := map[string]bool{}
	for _, h := range unknown {
		strange[h] = true
	}
	v.base.readable(func(r *Record) {
		for _, h := range r.commits() {
			if strange[h] {
				key := "commit"
				if _, ok := r.fields["commit"]; !ok {
					key = "commits"
				}
				v.report(r.Path, r.at(key), r.ID+" "+h, "correct the commit field", fmt.Sprintf("%s records the commit %s, which is not in this history", r.ID, h))
			}
		}
	})
	return nil
}

// rootCase looks along the path of the root for names that differ only in letter case.
func rootCase(v *view) error {
	var walk func(prefix, rest string) error
	walk = func(prefix, rest string) error {
		part, more, _ := strings.Cut(rest, "/")
		entries, err := v.New.ReadDir(prefix)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			full := path.Join(prefix, e.Name())
			if !e.IsDir() || !strings.EqualFold(e.Name(), part) {
				continue
			}
			if more != "" {
				if err := walk(full, more); err != nil {
					return err
				}
			} else if full != v.root && !slices.Contains(v.opts.Roots, full) {
				v.report(full, finding.Pos{}, full, "git mv "+full+" "+v.root, fmt.Sprintf("%s differs from the base's directory %s only in letter case", full, v.root))
			}
		}
		return nil
	}
	return walk(".", v.root)
}

func baseVanished(v *view) error {
	if v.base == nil && slices.Contains(v.opts.Seen, v.root) {
		v.report(v.root, finding.Pos{}, v.root, "restore "+v.root+" if its decisions still hold", fmt.Sprintf("there was a base at %s in this clone, and now there is none", v.root))
	}
	return nil
}

func baseUntracked(v *view) error {
	if v.base != nil || v.opts.OnDisk == nil {
		return nil
	}
	switch exists, ignored := v.opts.OnDisk(v.root); {
	case exists && ignored:
		v.report(v.root, finding.Pos{}, v.root, "", fmt.Sprintf("the base at %s is ignored by Git: it is in no commit, and the gate does not see it", v.root))
	case exists:
		v.report(v.root, finding.Pos{}, v.root, "git add "+v.root, fmt.Sprintf("the base at %s is not tracked: it is in no commit, and the gate does not see it", v.root))
	}
	return nil
}

func strayFile(v *view) {
	for _, name := range v.base.stray {
		v.report(name, finding.Pos{}, name, "move it elsewhere", path.Base(name)+" is no Markdown file of one decision")
	}
	for name := range v.base.links {
		v.report(name, finding.Pos{}, name, "replace the link by the file", path.Base(name)+" is a symbolic link: its target is not read")
	}
}
