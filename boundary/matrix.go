package boundary

import (
	"slices"
	"strings"
)

// Matrix says which fields the value of another field makes necessary or impossible. It is
// judged on what stands in the text: an empty list is there.
type Matrix struct {
	At     string            // pointer to the object, below the item; * stands for every index
	By     string            // the field that decides, of a closed vocabulary
	Fields string            // the fields that it decides about, in the order of the rows' marks
	Rows   map[string]string // for each value of By a mark for each field: r required, o optional, - not here
}

func (m Matrix) fields() []string { return strings.Fields(m.Fields) }

// define panics on a matrix that does not fit the payload.
func (m Matrix) define(f *Form, payload *Shape) {
	var object *Shape
	payload.walk("", func(pointer string, s *Shape) {
		if pointer == m.At && s.kind == Object {
			object = s
		}
	})
	if object == nil {
		f.fail("the matrix is of %q, which is no object", m.At)
	}
	names := object.names()
	by := slices.Index(names, m.By)
	if by < 0 || object.fields[by].shape.enum == nil {
		f.fail("the matrix goes by %s, which is no vocabulary", m.By)
	}
	for _, name := range m.fields() {
		if i := slices.Index(names, name); i < 0 || !object.fields[i].optional {
			f.fail("the matrix decides about %s, which is no optional field", name)
		}
	}
	for _, value := range object.fields[by].shape.enum {
		marks := strings.Fields(m.Rows[value])
		if len(marks) != len(m.fields()) || strings.Trim(strings.Join(marks, ""), "ro-") != "" {
			f.fail("the row %q of the matrix has not a mark for each field", value)
		}
	}
	if len(m.Rows) != len(object.fields[by].shape.enum) {
		f.fail("the matrix has a row for a value that does not exist")
	}
}

// judge holds an object to its row.
func (m Matrix) judge(j *judging, n *Node, pointer string) {
	by := n.Member(m.By)
	if by == nil || j.wrong(PointerTo(pointer, m.By)) {
		return
	}
	marks := strings.Fields(m.Rows[by.Text])
	for i, name := range m.fields() {
		field, at := n.Member(name), PointerTo(pointer, name)
		switch {
		case marks[i] == "r" && field == nil:
			j.violate("boundary/field-required-here", at, n.Pos, "", "%s is missing: %s %s needs it", name, m.By, by.Text)
		case marks[i] == "-" && field != nil:
			j.violate("boundary/field-not-here", at, field.NamePos, "", "%s has no place where %s is %s", name, m.By, by.Text)
		}
	}
}
