package boundary

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Home says where the records of a kind live.
type Home string

const (
	Tracked Home = "tracked" // JSON files of the repository, which the channel lock holds (Checks)
	Private Home = "private" // the store's own directory
	Written Home = "written" // tracked files in a form of the room's own, which people may write too
)

// Form is what is fixed about a kind of artifact, whatever room it is of.
type Form struct {
	Name    string
	Version int    // of payload and record, from 1
	Prefix  string // of record ids; "" for records that the room itself names
	Home    Home
	Dir     string // of tracked records, from the top of the repository; ".assent/<Name>" if empty
	Purpose string // what a model is told that the kind is for
	Command string // that takes a payload
	Example string // a minimal payload that is taken
	Items   string // of a batch, whose payload is a list: the member that holds it where the top must be an object
	Limits  Limits
	Matrix  []Matrix
	Codes   map[string]string // codes of the boundary that have another name in this room
	Short   int               // characters from which on a quote need not be a whole line; 12 if 0
	Floor   Trust             // least trust of a source; TrustStaged if empty
	Older   []Older           // of stored records: the form of version 1, of version 2, …

	payloadType, recordType reflect.Type
	shapes                  func() *shapes
}

// shapes are what a kind's types say. They are read when they are first asked for: most runs
// of the program ask for none.
type shapes struct {
	payload, record *Shape
	batch           *Shape   // the object that holds the list of a batch
	owned           []string // names that only the program fills in, sorted
}

// Older is the form that records of a kind had in an older version, and how one of them is read
// as the next version's.
type Older struct {
	Record any         // a zero value of its record type
	Lift   func(*Node) // changes the record, which has that form
}

// Spec is a form with what the kind's room knows of the world W that a payload is judged in:
// its records, its snapshot. Everything in it is a pure function of that world and the payload.
type Spec[P, W any] struct {
	Form
	Sets       map[string]func(W) Set    // by the names in ref tags
	Scope      func(w W, value P) string // the scope that the references of an item must have, "" for any
	ScopeReads []string                  // pointers below the item that the scope follows from
	Echo       map[string]func(W) string // what a field with an echo tag must repeat, by its pointer below the item
	Coverage   []Coverage[W]
	Source     func(w W, i *Item[P], pointer string) (Source, error) // what the quote at a pointer below the item is quoted from
	Rules      []Rule[P, W]                                          // run in their order, after all that is above
	Unit       func(W) Unit                                          // what is submitted for; nil: nothing in particular
}

// Rule is a rule of a domain, or of a policy. It is left out for an item in which something
// that it reads is wrong already.
type Rule[P, W any] struct {
	Reads []string // pointers below the item
	Judge func(i *Item[P], w W)
}

// Unit is what a payload is submitted for, such as a chunk or the decision of a goal.
type Unit struct {
	Name     string
	Revision string // the same payload for another revision is another request
	Taken    bool   // an answer was taken that no other may replace
	Empty    string // the code by which a batch without items is refused; "" takes it
}

// Kind is one kind of artifact that a model may propose: P is what may be submitted.
type Kind[P, W any] struct {
	*Form
	spec Spec[P, W]
}

// Define joins a payload type P to its record type R. What the record has and the payload does
// not is owned by the program, found by reflection at every level: no deny list is kept by
// hand. A pair that breaks the rules (ShapeOf) makes the first use of the kind panic, and
// Ready at once: a test asks every kind.
func Define[P, R, W any](spec Spec[P, W]) *Kind[P, W] {
	f := &spec.Form
	f.define(reflect.TypeFor[P](), reflect.TypeFor[R](), func(s *shapes) {
		quotes := false
		s.payload.walk("", func(pointer string, at *Shape) {
			if at.ref != "" && spec.Sets[at.ref] == nil {
				f.fail("nothing builds the set %s of %s", at.ref, pointer)
			}
			quotes = quotes || at.text == "quote"
			for _, field := range at.fields {
				if field.echo && spec.Echo[PointerTo(pointer, field.name)] == nil {
					f.fail("nothing says what %s must repeat", PointerTo(pointer, field.name))
				}
			}
		})
		if quotes && spec.Source == nil {
			f.fail("it has quotes and no source of them")
		}
		for _, c := range spec.Coverage {
			if spec.Sets[c.Of] == nil {
				f.fail("the coverage is of a set %s, which nothing builds", c.Of)
			}
		}
	})
	return &Kind[P, W]{Form: f, spec: spec}
}

// DefineRecord is Define for a kind that nobody submits: there is no channel for it.
func DefineRecord[R any](f Form) *Form {
	f.define(reflect.TypeFor[struct{}](), reflect.TypeFor[R](), func(*shapes) {})
	return &f
}

// Ready reads the types of a kind, and panics if they break the rules.
func (f *Form) Ready() { f.shapes() }

func (f *Form) fail(format string, args ...any) {
	panic("boundary: " + f.Name + ": " + fmt.Sprintf(format, args...))
}

func (f *Form) define(payload, record reflect.Type, more func(*shapes)) {
	f.payloadType, f.recordType = payload, record
	if f.Limits == (Limits{}) {
		f.Limits = DefaultLimits
	}
	f.Short = cmp.Or(f.Short, shortQuote)
	f.Floor = cmp.Or(f.Floor, TrustStaged)
	f.Dir = cmp.Or(f.Dir, ".assent/"+f.Name)
	f.shapes = sync.OnceValue(func() *shapes {
		s := f.read()
		more(s)
		return s
	})
}

// read reads the types and holds them to the rules.
func (f *Form) read() *shapes {
	if len(f.Name) < 2 || len(f.Name) > 41 || f.Name[0] < 'a' || f.Name[0] > 'z' || strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz.-") != "" {
		f.fail("bad kind name")
	}
	if f.Version < 1 || len(f.Older) != f.Version-1 {
		f.fail("version %d needs %d steps that lift older records", f.Version, max(f.Version-1, 0))
	}
	s := &shapes{payload: ShapeOf(f.payloadType), record: ShapeOf(f.recordType)}
	envelope := ShapeOf(reflect.TypeFor[Envelope]()).names()
	s.payload.walk("", func(pointer string, at *Shape) {
		for _, field := range at.fields {
			if slices.Contains(envelope, field.name) && !field.echo && field.shape.ref == "" {
				f.fail("the payload may not bring %s", field.name)
			}
		}
	})
	s.batch = &Shape{kind: Object, fields: []shapeField{{name: f.Items, description: "the items", shape: &Shape{kind: Array, maxLength: f.most(), elem: s.payload}}}}
	own := map[string]bool{}
	f.join("", s.payload, s.record, own)
	s.owned = slices.Sorted(maps.Keys(own))
	for _, m := range f.Matrix {
		m.define(f, s.payload)
	}
	for from := range f.Codes {
		if _, ok := table[from]; !ok {
			f.fail("%s is no code that could have another name", from)
		}
	}
	return s
}

// join compares a payload's shape with its record's, level by level, and collects the names
// that the record alone has.
func (f *Form) join(pointer string, payload, record *Shape, own map[string]bool) {
	if payload.kind == Array && record.kind == Array {
		if payload.minLength != record.minLength || payload.maxLength != record.maxLength || payload.unique != record.unique {
			f.fail("the record has other limits than the payload at %s", pointer)
		}
		f.join(pointer+"/*", payload.elem, record.elem, own)
		return
	}
	if payload.kind == Object && payload.elem != nil {
		f.fail("a payload holds no map, such as %s", pointer)
	}
	if payload.kind != Object || record.kind != Object || record.elem != nil {
		if payload.form() != record.form() || fmt.Sprint(payload.pattern) != fmt.Sprint(record.pattern) || payload.text != record.text {
			f.fail("the record has another form than the payload at %s", pointer)
		}
		return
	}
	for _, field := range payload.fields {
		i := slices.Index(record.names(), field.name)
		if i < 0 {
			f.fail("the record lacks the payload's field %s", pointer+"/"+field.name)
		}
		if field.optional && !record.fields[i].optional {
			f.fail("the record needs %s, which the payload may leave out", pointer+"/"+field.name)
		}
		f.join(pointer+"/"+field.name, field.shape, record.fields[i].shape, own)
	}
	for _, name := range record.names() {
		if !slices.Contains(payload.names(), name) {
			own[name] = true
		}
	}
}

// walk calls visit with every shape, and the pointer to its values, in which * stands for an
// index.
func (s *Shape) walk(pointer string, visit func(pointer string, s *Shape)) {
	visit(pointer, s)
	if s.elem != nil {
		s.elem.walk(pointer+"/*", visit)
	}
	for _, f := range s.fields {
		f.shape.walk(PointerTo(pointer, f.name), visit)
	}
}

// Owned lists the names that nobody may submit, sorted.
func (f *Form) Owned() []string { return f.shapes().owned }

// Types are the Go types of payload and record, for another reader of the same source.
func (f *Form) Types() (payload, record reflect.Type) { return f.payloadType, f.recordType }

// Submitted reports whether there is a channel for the kind.
func (f *Form) Submitted() bool { return f.payloadType.NumField() > 0 }

// Path is where the tracked record of an id stands, from the top of the repository.
func (f *Form) Path(id string) string { return f.Dir + "/" + id + ".json" }

// lift brings a record of an older version to the present one, in memory. It must have the form
// of each version that it passes.
func (f *Form) lift(n *Node) []Violation {
	v := n.Member("schema_version")
	if v == nil || v.Kind != Number || !isInteger(v.Text) {
		return nil // the shape will say what is wrong
	}
	version, _ := strconv.Atoi(v.Text)
	if version < 1 {
		return []Violation{NewViolation("boundary/range", "/schema_version", v.Pos, "versions begin with 1")}
	}
	for ; version < f.Version; version++ {
		if vs := ShapeOf(reflect.TypeOf(f.Older[version-1].Record)).Check(n, nil); len(vs) > 0 {
			return vs
		}
		f.Older[version-1].Lift(n)
		v.Text = strconv.Itoa(version + 1)
	}
	return nil
}

// Answer is what an accepted submission gives back.
type Answer struct {
	SchemaVersion int      `json:"schema_version"`
	Kind          string   `json:"kind"`
	Accepted      bool     `json:"accepted"`
	IDs           []string `json:"ids"`
	AuditID       string   `json:"audit_id"`
	Replayed      bool     `json:"replayed"`
}

// CheckNode judges a value that was read from another format, such as YAML, by the shape
// of T, and returns the refusal or nil.
func CheckNode[T any](n *Node, source string, more []Violation) error {
	vs := append(more, ShapeOf(reflect.TypeFor[T]()).Check(n, nil)...)
	if len(vs) == 0 {
		return nil
	}
	return refuse(source, vs)
}

// listed joins names for a message, at most n of them.
func listed(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
