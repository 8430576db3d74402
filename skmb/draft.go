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
}

func newDraft(tree finding.Tree, root string) (*draft, error) {
	b, err := Load(tree, root)
	if err != nil {
		return nil, err
	}
	if b == nil || b.Index == nil || !b.hasDir {
		return nil, &InputError{fmt.Sprintf("there is no readable decision base at %s", root), "skmb init, or skmb check for what is wrong with it"}
	}
	return &draft{tree: tree, root: root, base: b, files: map[string][]byte{}}, nil
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
	ids := d.base.resolve(ref)
	switch {
	case len(ids) > 1:
		return nil, &InputError{fmt.Sprintf("%s may mean %s", ref, strings.Join(ids, " or ")), "write the id in full"}
	case len(ids) == 0 || d.base.byID[ids[0]] == nil:
		return nil, &InputError{fmt.Sprintf("there is no record %s", ref), "skmb list"}
	}
	name := d.base.byID[ids[0]].Path
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
	x, p := parseIndex(name, data)
	if p != nil {
		return nil, &InputError{fmt.Sprintf("%s:%d:%d: %s", p.path, p.pos.Line, p.pos.Col, p.message), "mend the index first"}
	}
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
	if f, ok := r.fields[key]; ok {
		if f.front {
			end := f.span.End
			for end > f.span.Start && strings.IndexByte(" \t\r\n", src[end-1]) >= 0 {
				end--
			}
			return d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: f.span.Start, End: end}, New: []byte(strconv.Quote(value))})
		}
		text := markdown.Escape(value)
		if f.span.Start > 0 && src[f.span.Start-1] == ':' {
			text = " " + text
		}
		return d.apply(r.Path, src, markdown.Edit{Span: f.span, New: []byte(text)})
	}
	at, front := -1, false
	before, place := -1, slices.Index(fields, key)
	for k, f := range r.fields {
		if f.front {
			front = true
			continue
		}
		if i := slices.Index(fields, k); i >= 0 && i < place && i > before {
			before, at = i, f.item.End
		}
	}
	for _, f := range r.fields {
		if before < 0 && !f.front {
			at = max(at, f.item.End)
		}
	}
	line := "- " + key + ": " + markdown.Escape(value) + nl
	switch {
	case at < 0 && front:
		span, _ := r.doc.FrontMatter()
		at, line = span.End, key+": "+strconv.Quote(value)+nl
	case at < 0:
		at, line = r.title.End, nl+line
	}
	if at > 0 && src[at-1] != '\n' {
		line = nl + strings.TrimSuffix(line, nl)
	}
	return d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: at, End: at}, New: []byte(line)})
}

// addToSection appends a list item to a section of a decision file, in place of "None.",
// and makes the section at the end if there is none.
func (d *draft) addToSection(ref, title, item string) error {
	r, err := d.record(ref)
	if err != nil {
		return err
	}
	src, nl := r.doc.Source(), r.doc.Newline()
	line := "- " + item + nl
	s, ok := r.sections[strings.ToLower(title)]
	if !ok {
		lead := nl
		if len(src) > 0 && src[len(src)-1] != '\n' {
			lead = nl + nl
		}
		return d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: len(src), End: len(src)}, New: []byte(lead + "## " + title + nl + nl + line)})
	}
	body := s.body
	end := body.End
	for end > body.Start && strings.IndexByte(" \t\r\n", src[end-1]) >= 0 {
		end--
	}
	if text := sectionText(body.In(src)); isNone(text) {
		start := end
		for start > body.Start && src[start-1] != '\n' {
			start--
		}
		if text == "" {
			return d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: body.Start, End: body.End}, New: []byte(nl + line + nl)})
		}
		return d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: start, End: end}, New: []byte(strings.TrimSuffix(line, nl))})
	}
	lead := nl
	if last := src[body.Start:end]; !bytes.HasPrefix(lastLine(last), []byte("- ")) {
		lead = nl + nl
	}
	return d.apply(r.Path, src, markdown.Edit{Span: markdown.Span{Start: end, End: end}, New: []byte(lead + strings.TrimSuffix(line, nl))})
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
	for _, r := range t.rows {
		if r.id() != id || !r.wellShaped() {
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

// cellEdit replaces the text of a cell. An empty cell has no blanks of its own to keep.
func cellEdit(src []byte, raw markdown.Span, value string) markdown.Edit {
	text := markdown.Cell(value)
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

// renderRow writes a row in the style of its header: with outer pipes or without.
func renderRow(columns []string, values cells, header string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = markdown.Cell(values[c])
	}
	text := strings.Join(out, " | ")
	if strings.HasPrefix(strings.TrimSpace(header), "|") || out[0] == "" {
		return "| " + text + " |"
	}
	return text
}

// addTable puts a table under its heading, or a new section at the end.
func (d *draft) addTable(x *Index, kind table, text string) error {
	src, nl := x.doc.Source(), x.doc.Newline()
	if t := x.tables[kind]; t != nil {
		at := t.section.Heading.End
		lead := nl
		if at > 0 && src[at-1] != '\n' {
			lead = nl + nl
		}
		return d.apply(x.Path, src, markdown.Edit{Span: markdown.Span{Start: at, End: at}, New: []byte(lead + text)})
	}
	lead := nl
	if len(src) > 0 && src[len(src)-1] != '\n' {
		lead = nl + nl
	}
	return d.apply(x.Path, src, markdown.Edit{Span: markdown.Span{Start: len(src), End: len(src)}, New: []byte(lead + "## " + specs[kind].heading + nl + nl + text)})
}

// addColumn adds an empty column to a table.
func (d *draft) addColumn(x *Index, t *indexTable, name string) error {
	src := x.doc.Source()
	var edits []markdown.Edit
	add := func(line markdown.Span, text string) {
		end := line.End
		for end > line.Start && strings.IndexByte(" \t\r\n", src[end-1]) >= 0 {
			end--
		}
		if src[end-1] == '|' {
			text = " " + text + " |"
		} else {
			text = " | " + text
		}
		edits = append(edits, markdown.Edit{Span: markdown.Span{Start: end, End: end}, New: []byte(text)})
	}
	add(t.table.Header.Line, name)
	add(t.table.Delimiter, "---")
	for _, r := range t.rows {
		if r.wellShaped() {
			add(r.line, "-")
		}
	}
	return d.apply(x.Path, src, edits...)
}

// removeRow takes a row out, if it is there.
func (d *draft) removeRow(kind table, id string) error {
	x, err := d.index()
	if err != nil {
		return err
	}
	for _, r := range x.rows(kind) {
		if r.id() == id {
			return d.apply(x.Path, x.doc.Source(), markdown.Edit{Span: r.line})
		}
	}
	return nil
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
		"id": r.ID, "status": string(r.Status), "scope": r.value("scope"), "patterns": strings.Join(r.Patterns, ", "),
		"file": strings.TrimPrefix(r.Path, root+"/"), "commit": r.value("commit"),
	}
	if isOpen(r.ID) {
		v["pattern"], v["context"], v["needed_before"] = v["patterns"], oneLine(r.Section("Context")), oneLine(r.Section("Needed Before"))
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
	if letters, unknown := parsePatterns(have.text("patterns")); len(unknown) > 0 || !slices.Equal(letters, r.Patterns) {
		v["patterns"] = strings.Join(r.Patterns, ", ")
	}
	if full := path.Join(path.Dir(have.index.Path), have.file()); full != r.Path {
		v["file"] = strings.TrimPrefix(r.Path, path.Dir(have.index.Path)+"/")
	}
	return v
}

func defaultValues(root string, r *Record) cells {
	return cells{
		"id": r.ID, "pattern": strings.Join(r.Patterns, ", "), "context": r.value("scope"), "default": oneLine(r.Section("Decision")),
		"reason_allowed": r.value("approval_source"), "review_by": r.value("review_by"), "file": strings.TrimPrefix(r.Path, root+"/"),
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
