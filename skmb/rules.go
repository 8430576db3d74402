package skmb

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

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
	if c, _ := r.cell("file"); c.Link != "" { // as editors write it
		to, _, _ := strings.Cut(name, "#")
		if to, err := url.PathUnescape(to); err == nil {
			if rec := b.named(to); rec != nil {
				return rec, ""
			}
		}
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
		if rec, _ := b.rowFile(r); rec != nil && (r.kind == decisions || r.kind == opens && isOpen(rec.ID)) {
			named[rec.Path] = true
		}
	})
	for _, kind := range []table{decisions, opens} {
		for _, r := range b.Index.rows(kind) {
			for _, c := range r.cells { // of a misshapen row any cell may be the id
				if kind == opens && !isOpen(c.Text) {
					continue // a decision has its row among the decisions
				}
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
