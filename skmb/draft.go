package skmb

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"assent/finding"
	"assent/markdown"
)

// draft is a change to a base that is being made: the files as they would be. Each edit
// parses the file as it is by then and touches only the bytes it must.
type draft struct {
	tree  finding.Tree
	root  string
	base  *Base             // as it was
	files map[string][]byte // changed or new, by path

	elsewhere []string // names of decision files on other branches
	tolerated []string // codes of errors that the result may have: a person has to mend them

	parsed *Index // the index as it was last read
}

func newDraft(tree finding.Tree, root string) (*draft, error) {
	b, err := Load(tree, root)
	if err != nil {
		return nil, err
	}
	if b == nil || b.Index == nil || !b.hasDir {
		return nil, &InputError{fmt.Sprintf("there is no readable decision base at %s", root), "skmb init, or skmb check for what is wrong with it"}
	}
	d := &draft{tree: tree, root: root, base: b, files: map[string][]byte{}}
	if !slices.ContainsFunc(b.problems, func(p problem) bool { return p.path == b.Index.Path }) {
		d.parsed = b.Index
	}
	return d, nil
}

// InputError is a request that cannot be carried out as it is. Nothing was changed.
type InputError struct{ Text, Next string }

func (e *InputError) Error() string { return e.Text }

// ExitCode is the house's code for invalid input.
func (e *InputError) ExitCode() int { return finding.ExitInvalid }

// Hint is the next step.
func (e *InputError) Hint() string { return e.Next }

func (d *draft) read(name string) ([]byte, error) {
	if data, ok := d.files[name]; ok {
		return data, nil
	}
	return d.tree.ReadFile(name)
}

// record returns a record as the draft has it by now.
func (d *draft) record(ref string) (*Record, error) {
	known, err := d.base.Find(ref)
	if err != nil {
		return nil, err
	}
	name := known.Path
	data, err := d.read(name)
	if err != nil {
		return nil, err
	}
	r, p := parseRecord(name, data)
	if p != nil {
		return nil, &InputError{fmt.Sprintf("%s:%d:%d: %s", p.path, p.pos.Line, p.pos.Col, p.message), "mend the file first"}
	}
	return r, nil
}

func (d *draft) index() (*Index, error) {
	name := IndexPath(d.root)
	data, err := d.read(name)
	if err != nil {
		return nil, err
	}
	if d.parsed != nil && bytes.Equal(d.parsed.doc.Source(), data) {
		return d.parsed, nil
	}
	x, p := parseIndex(name, data)
	if p != nil {
		return nil, &InputError{fmt.Sprintf("%s:%d:%d: %s", p.path, p.pos.Line, p.pos.Col, p.message), "mend the index first"}
	}
	d.parsed = x
	return x, nil
}

func (d *draft) apply(name string, src []byte, edits ...markdown.Edit) error {
	out, err := markdown.Apply(src, edits...)
	if err == nil {
		d.files[name] = out
	}
	return err
}

// setField gives a field of a decision file a value on one line. A new field goes behind
// the one that precedes it in canonical order, else behind the last.
func (d *draft) setField(ref, key, value string) error {
	r, err := d.record(ref)
	if err != nil {
		return err
	}
	src, nl := r.doc.Source(), r.doc.Newline()
	text := markdown.Escape(value)
	if f, ok := r.fields[key]; ok {
		if f.front {
			text = strconv.Quote(value)
		}
		if f.span.Start > 0 && strings.IndexByte(" \t\n", src[f.span.Start-1]) < 0 {
			text = " " + text
		}
		return d.applyField(r, key, value, markdown.Edit{Span: f.span, New: []byte(text)})
	}
	var after *field
	best, place, front := -1, slices.Index(fields, key), false
	for k, f := range r.fields {
		if f.front {
			front = true
			continue
		}
		rank := slices.Index(fields, k)
		if rank >= place {
			rank = -1
		}
		if after == nil || rank > best || rank == best && f.item.End > after.item.End {
			best, after = rank, &f
		}
	}
	var at int
	var line string
	switch {
	case after != nil: // with its indent, bullet and blanks: another one would begin another list
		item := after.item.In(src)
		bullet := bytes.IndexAny(item, "-*+") + 1
		blanks := max(1, len(item[bullet:])-len(bytes.TrimLeft(item[bullet:], " ")))
		at, line = after.item.End, string(item[:bullet])+strings.Repeat(" ", min(blanks, 4))+key+": "+text+nl
	case front:
		span, _ := r.doc.FrontMatter()
		at, line = span.End, key+": "+strconv.Quote(value)+nl
	default:
		at = r.title.End
		line = nl + "- " + key + ": " + text + nl + gap(src, at, nl)
	}
	if at > 0 && src[at-1] != '\n' {
		line = nl + strings.TrimSuffix(line, nl)
	}
	return d.applyField(r, key, value, markdown.Edit{Span: markdown.Span{Start: at, End: at}, New: []byte(line)})
}

// gap is the blank line that keeps what stands at an offset from going on with what is
// put before it.
func gap(src []byte, at int, nl string) string {
	line, _, _ := bytes.Cut(src[at:], []byte("\n"))
	if len(bytes.TrimSpace(line)) == 0 {
		return ""
	}
	return nl
}

// applyField applies an edit that sets a field, and refuses one that does anything else:
// neither Markdown nor YAML tells beforehand what a line makes of its neighbours.
func (d *draft) applyField(r *Record, key, value string, e markdown.Edit) error {
	out, err := markdown.Apply(r.doc.Source(), e)
	if err != nil {
		return err
	}
	now, p := parseRecord(r.Path, out)
	if p != nil || now.value(key) != strings.Join(strings.Fields(value), " ") || !now.sameBut(r, key) {
		return &InputError{fmt.Sprintf("%s: the field %s cannot be set to %q where it stands without changing more", r.Path, key, short(value)), "write it as `- " + key + ": value` below the title"}
	}
	d.files[r.Path] = out
	return nil
}

// sameBut reports whether two readings of a record differ in one field at most.
func (r *Record) sameBut(old *Record, key string) bool {
	for _, pair := range [2][2]*Record{{r, old}, {old, r}} {
		for k := range pair[0].fields {
			if _, ok := pair[1].fields[k]; k != key && (!ok || r.value(k) != old.value(k)) {
				return false
			}
		}
		for title := range pair[0].sections {
			if _, ok := pair[1].sections[title]; !ok || r.Section(title) != old.Section(title) {
				return false
			}
		}
	}
	return r.ID == old.ID && r.Title == old.Title
}

// addToSection appends a list item to a section of a decision file, in place of "None.",
// and makes the section at the end if there is none.
func (d *draft) addToSection(ref, title, item string) error {
	r, err := d.record(ref)
	if err != nil {
		return err
	}
	src, nl := r.doc.Source(), r.doc.Newline()
	line := "- " + item
	edit := func(start, end int, text string) error {
		if err := d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: start, End: end}, New: []byte(text)}); err != nil {
			return err
		}
		now, err := d.record(ref)
		if err == nil && !slices.Contains(strings.Split(now.Section(title), "\n"), line) {
			delete(d.files, r.Path)
			err = &InputError{fmt.Sprintf("%s ends in a code fence or comment that is not closed, where no section can be added", r.Path), "close it first"}
		}
		return err
	}
	s, ok := r.sections[strings.ToLower(title)]
	if !ok {
		return edit(len(src), len(src), atEnd(src, nl, "## "+title+nl+nl+line+nl))
	}
	body := s.body
	end := body.End
	for end > body.Start && strings.IndexByte(" \t\r\n", src[end-1]) >= 0 {
		end--
	}
	text := sectionText(body.In(src))
	switch {
	case text == "" && body.End == len(src):
		return edit(body.Start, body.End, atEnd(src[:body.Start], nl, line+nl))
	case text == "":
		return edit(body.Start, body.End, nl+line+nl+nl)
	case isNone(text):
		return edit(bytes.LastIndexByte(src[:end], '\n')+1, end, line)
	case bytes.HasPrefix(lastLine(src[body.Start:end]), []byte("- ")):
		return edit(end, end, nl+line)
	}
	return edit(end, end, nl+nl+line)
}

// atEnd is a text that is put at the end of src, behind a blank line. A final newline that
// src lacks stays missing.
func atEnd(src []byte, nl, text string) string {
	if len(src) > 0 && src[len(src)-1] != '\n' {
		return nl + nl + strings.TrimSuffix(text, nl)
	}
	return nl + text
}

func lastLine(b []byte) []byte { return b[bytes.LastIndexByte(b, '\n')+1:] }

// cells are the values of a row by column name.
type cells map[string]string

// setRow gives a row the values, or adds the row: where the table is sorted by id at its
// place, else at its end. Cells of columns that are not named keep their bytes.
func (d *draft) setRow(kind table, id string, values cells) error {
	x, err := d.index()
	if err != nil {
		return err
	}
	src, nl := x.doc.Source(), x.doc.Newline()
	t := x.tables[kind]
	if t == nil || !t.present {
		return d.addTable(x, kind, newTable(kind, nl)+renderRow(specs[kind].columns, values, "| ")+nl)
	}
	if err := t.misshapen(kind, id); err != nil {
		return err
	}
	for _, r := range t.rows {
		if r.id() != id {
			continue
		}
		var edits []markdown.Edit
		for column, value := range values {
			if c, ok := r.cell(column); ok && c.Text != value {
				edits = append(edits, cellEdit(src, c.Raw, value))
			}
		}
		if len(edits) == 0 {
			return nil
		}
		return d.apply(x.Path, src, edits...)
	}
	at := t.table.End()
	if slices.IsSortedFunc(t.rows, func(a, b row) int { return strings.Compare(a.id(), b.id()) }) {
		if i := slices.IndexFunc(t.rows, func(r row) bool { return r.id() > id }); i >= 0 {
			at = t.rows[i].line.Start
		}
	}
	line := renderRow(t.columns, values, string(t.table.Header.Line.In(src))) + nl
	if at > 0 && src[at-1] != '\n' {
		line = nl + strings.TrimSuffix(line, nl)
	}
	return d.apply(x.Path, src, markdown.Edit{Span: markdown.Span{Start: at, End: at}, New: []byte(line)})
}

// misshapen refuses to touch the row of an id that has not one cell for each column: what
// belongs where is not known, and a second row would be one too many once it is.
func (t *indexTable) misshapen(kind table, id string) error {
	if err := t.keyed(kind); err != nil {
		return err
	}
	for _, r := range t.rows {
		if !r.wellShaped() && r.names(id) {
			return misshapenRow(r, "the row of "+id)
		}
	}
	return nil
}

// keyed refuses to write rows where no column would name them.
func (t *indexTable) keyed(kind table) error {
	if slices.Contains(t.columns, specs[kind].key) {
		return nil
	}
	return &InputError{fmt.Sprintf("the table under %q has no column %s", t.section.Title, specs[kind].key), "add the column first"}
}

func misshapenRow(r row, what string) error {
	return &InputError{fmt.Sprintf("%s:%d: %s has %d cells, its header has %d", r.index.Path, r.at("").Line, what, len(r.cells), len(r.columns)), "mend the row first"}
}

// names reports whether any cell of the row is an id.
func (r row) names(id string) bool {
	return slices.ContainsFunc(r.cells, func(c markdown.TableCell) bool { return c.Text == id })
}

// cellEdit replaces the text of a cell. An empty cell has no blanks of its own to keep,
// and can only stand between two pipes.
func cellEdit(src []byte, raw markdown.Span, value string) markdown.Edit {
	text := markdown.Cell(value)
	if text == "" && !(bytes.HasSuffix(bytes.TrimRight(src[:raw.Start], " \t"), []byte("|")) && bytes.HasPrefix(bytes.TrimLeft(src[raw.End:], " \t"), []byte("|"))) {
		text = markdown.Cell("-")
	}
	if raw.Start == raw.End {
		if raw.Start > 0 && src[raw.Start-1] == '|' {
			text = " " + text
		}
		if raw.End < len(src) && src[raw.End] == '|' {
			text += " "
		}
	}
	return markdown.Edit{Span: raw, New: []byte(text)}
}

// renderRow writes a row in the style of its header: with outer pipes or without. An
// empty cell at the edge needs them.
func renderRow(columns []string, values cells, header string) string {
	piped := strings.HasPrefix(strings.TrimSpace(header), "|") || values[columns[0]] == "" || values[columns[len(columns)-1]] == ""
	out := make([]string, len(columns))
	for i, c := range columns {
		if out[i] = markdown.Cell(values[c]); piped && values[c] == "-" {
			out[i] = "-" // behind a pipe it begins no list
		}
	}
	text := strings.Join(out, " | ")
	if piped {
		return "| " + text + " |"
	}
	return text
}

// addTable puts a table under its heading, or a new section at the end.
func (d *draft) addTable(x *Index, kind table, text string) error {
	src, nl := x.doc.Source(), x.doc.Newline()
	at := len(src)
	if t := x.tables[kind]; t == nil {
		text = atEnd(src, nl, "## "+specs[kind].heading+nl+nl+text)
	} else {
		at = t.section.Heading.End
		text = atEnd(src[:at], nl, text) + gap(src, at, nl)
	}
	if err := d.apply(x.Path, src, markdown.Edit{Span: markdown.Span{Start: at, End: at}, New: []byte(text)}); err != nil {
		return err
	}
	now, err := d.index()
	if err == nil && (now.tables[kind] == nil || !now.tables[kind].present) {
		delete(d.files, x.Path)
		err = &InputError{fmt.Sprintf("%s ends in a code fence or comment that is not closed, where no table can be added", x.Path), "close it first"}
	}
	return err
}

// addColumn adds an empty column to a table.
func (d *draft) addColumn(x *Index, t *indexTable, name string) error {
	src := x.doc.Source()
	var edits []markdown.Edit
	add := func(line markdown.Span, piped bool, text string) {
		end := line.End
		for end > line.Start && strings.IndexByte(" \t\r\n", src[end-1]) >= 0 {
			end--
		}
		if text = " | " + text; piped {
			text = strings.TrimPrefix(text, " |") + " |"
		}
		edits = append(edits, markdown.Edit{Span: markdown.Span{Start: end, End: end}, New: []byte(text)})
	}
	// A pipe behind the last cell is an outer one; the last cell may end in an escaped one.
	piped := func(r markdown.Row) bool {
		return bytes.HasPrefix(bytes.TrimLeft(src[r.Cells[len(r.Cells)-1].Raw.End:], " \t"), []byte("|"))
	}
	add(t.table.Header.Line, piped(t.table.Header), name)
	add(t.table.Delimiter, bytes.HasSuffix(bytes.TrimSpace(t.table.Delimiter.In(src)), []byte("|")), "---")
	for i, r := range t.rows {
		if !r.wellShaped() { // it could be well-shaped then, and mean something else
			return misshapenRow(r, "a row")
		}
		add(r.line, piped(t.table.Rows[i]), "-")
	}
	return d.apply(x.Path, src, edits...)
}

// removeRow takes a row out, if it is there.
func (d *draft) removeRow(kind table, id string) error {
	x, err := d.index()
	if err != nil {
		return err
	}
	t := x.tables[kind]
	if t == nil || !t.present {
		return nil
	}
	if err := t.misshapen(kind, id); err != nil {
		return err
	}
	for _, r := range t.rows {
		if r.id() == id {
			return d.apply(x.Path, x.doc.Source(), markdown.Edit{Span: lineOf(x.doc.Source(), r.line)})
		}
	}
	return nil
}

// lineOf is a line that is taken out whole: with the newline before it, if it has none of
// its own.
func lineOf(src []byte, line markdown.Span) markdown.Span {
	if line.End == len(src) && line.End > 0 && src[line.End-1] != '\n' {
		line.Start = len(bytes.TrimSuffix(bytes.TrimSuffix(src[:line.Start], []byte("\n")), []byte("\r")))
	}
	return line
}

// syncRows makes the rows of a record say what its file says by now: its row in the
// Decision Index, and the second one of a default.
func (d *draft) syncRows(ref string) error {
	r, err := d.record(ref)
	if err != nil {
		return err
	}
	x, err := d.index()
	if err != nil {
		return err
	}
	kind := decisions
	if isOpen(r.ID) {
		kind = opens
	}
	values := rowValues(d.root, r)
	for _, have := range x.rows(kind) {
		if have.id() == r.ID {
			values = rowChanges(have, r)
		}
	}
	if err := d.setRow(kind, r.ID, values); err != nil || kind == opens {
		return err
	}
	if r.Status != StatisticalDefault {
		return d.removeRow(defaults, r.ID)
	}
	extra := defaultValues(d.root, r)
	for _, have := range x.rows(defaults) {
		if have.id() == r.ID {
			extra = cells{"review_by": r.value("review_by")}
		}
	}
	return d.setRow(defaults, r.ID, extra)
}

// rowValues are the cells of a new row.
func rowValues(root string, r *Record) cells {
	v := cells{
		"id": r.ID, "status": string(r.Status), "scope": r.value("scope"), "patterns": strings.Join(r.Patterns, ", "), "pattern": strings.Join(r.Patterns, ", "),
		"file": strings.TrimPrefix(r.Path, root+"/"), "commit": r.value("commit"),
	}
	if isOpen(r.ID) {
		v["context"], v["needed_before"] = oneLine(r.Section("Context")), oneLine(r.Section("Needed Before"))
	}
	return v
}

// rowChanges are the cells of an existing row that the file decides. Hand-written scope
// and commit cells stay.
func rowChanges(have row, r *Record) cells {
	v := cells{}
	if s, _, _ := parseStatus(r.ID, have.text("status")); s != r.Status && have.kind == decisions {
		v["status"] = string(r.Status)
	}
	for _, column := range []string{"patterns", "pattern"} {
		if letters, unknown := parsePatterns(have.text(column)); slices.Contains(have.columns, column) && (len(unknown) > 0 || !slices.Equal(letters, r.Patterns)) {
			v[column] = strings.Join(r.Patterns, ", ")
		}
	}
	if full := path.Join(path.Dir(have.index.Path), have.file()); full != r.Path {
		v["file"] = strings.TrimPrefix(r.Path, path.Dir(have.index.Path)+"/")
	}
	return v
}

func defaultValues(root string, r *Record) cells {
	return cells{
		"id": r.ID, "pattern": strings.Join(r.Patterns, ", "), "patterns": strings.Join(r.Patterns, ", "), "context": r.value("scope"), "default": oneLine(r.Section("Decision")),
		"reason_allowed": oneLine(r.value("approval_source")), "review_by": r.value("review_by"), "file": strings.TrimPrefix(r.Path, root+"/"),
	}
}

// oneLine is a text cut for a cell.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return s
}

// overlay is a tree with the draft's files in it.
type overlay struct {
	finding.Tree
	files map[string][]byte
}

func (o *overlay) ReadFile(name string) ([]byte, error) {
	if data, ok := o.files[name]; ok {
		return data, nil
	}
	return o.Tree.ReadFile(name)
}

func (o *overlay) Stat(name string) (fs.FileInfo, error) {
	if _, ok := o.files[name]; ok {
		return newFile(path.Base(name)), nil
	}
	return o.Tree.Stat(name)
}

func (o *overlay) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := o.Tree.ReadDir(dir)
	for name := range o.files {
		if path.Dir(name) == dir && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) }) {
			entries, err = append(entries, fs.FileInfoToDirEntry(newFile(path.Base(name)))), nil
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
