package skmb

import (
	"fmt"
	"slices"
	"strings"
)

// Graph is the records of a base and what supersedes what.
type Graph struct {
	SchemaVersion int    `json:"schema_version"`
	Nodes         []Node `json:"nodes"`
	Edges         []Edge `json:"edges"`
}

// Node is one record.
type Node struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status Status `json:"status"`
}

// Edge says that a record supersedes another, perhaps only in part.
type Edge struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Partial bool   `json:"partial"`
}

// Graph returns the records, sorted by id, and the supersessions between them.
func (b *Base) Graph() Graph {
	g := Graph{SchemaVersion: 1, Nodes: []Node{}, Edges: []Edge{}}
	b.readable(func(r *Record) { g.Nodes = append(g.Nodes, Node{r.ID, r.Title, r.Status}) })
	slices.SortStableFunc(g.Nodes, func(x, y Node) int { return strings.Compare(x.ID, y.ID) })
	for _, e := range b.edges(nil, nil) {
		if next := (Edge{e.from.ID, e.to, e.partial}); !slices.Contains(g.Edges, next) {
			g.Edges = append(g.Edges, next)
		}
	}
	slices.SortStableFunc(g.Edges, func(x, y Edge) int { return strings.Compare(x.From+" "+x.To, y.From+" "+y.To) })
	return g
}

// look is how a status is drawn: a shape for each, so that colour is not all that tells.
type look struct {
	open, close string // mermaid
	shape       string // dot
	fill, line  string
}

var looks = map[Status]look{
	Accepted:           {"[", "]", "box", "#d9f2e0", "#1b7f4b"},
	Proposed:           {"{{", "}}", "hexagon", "#fff1cc", "#a86a00"},
	StatisticalDefault: {"[/", "/]", "parallelogram", "#e3ecfb", "#2f5fa8"},
	Open:               {"([", "])", "ellipse", "#fff1cc", "#a86a00"},
	Rejected:           {"[[", "]]", "box3d", "#f6dcdc", "#a33a3a"},
	Withdrawn:          {"[[", "]]", "box3d", "#ececec", "#666666"},
	Superseded:         {"(", ")", "note", "#ececec", "#666666"},
}

func lookOf(s Status) look {
	if l, ok := looks[s]; ok {
		return l
	}
	return look{"[", "]", "box", "#ffffff", "#a33a3a"}
}

// label is a text for a drawing: quotes and brackets that would end it are taken out.
func label(s string) string {
	s = strings.NewReplacer(`"`, "'", "\\", "/", "<", "(", ">", ")", "#", "no. ", "`", "'", "\n", " ").Replace(s)
	if r := []rune(s); len(r) > 48 {
		return string(r[:47]) + "…"
	}
	return s
}

// Mermaid draws the graph as a mermaid flowchart.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	name := map[string]string{}
	for i, n := range g.Nodes {
		name[n.ID] = fmt.Sprintf("n%d", i)
		l := lookOf(n.Status)
		fmt.Fprintf(&b, "  n%d%s\"%s<br/>%s<br/>%s\"%s:::%s\n", i, l.open, n.ID, label(n.Title), n.Status, l.close, n.Status)
	}
	for _, e := range g.Edges {
		if name[e.To] == "" {
			continue
		}
		arrow := "-->|supersedes|"
		if e.Partial {
			arrow = "-.->|in part|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", name[e.From], arrow, name[e.To])
	}
	for _, s := range []Status{Accepted, Proposed, StatisticalDefault, Open, Rejected, Withdrawn, Superseded} {
		fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s,color:#222\n", s, looks[s].fill, looks[s].line)
	}
	return b.String()
}

// Dot draws the graph for Graphviz.
func (g Graph) Dot() string {
	var b strings.Builder
	b.WriteString("digraph decisions {\n  rankdir=LR;\n  node [style=filled, fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		l := lookOf(n.Status)
		fmt.Fprintf(&b, "  %q [label=\"%s\\n%s\\n%s\", shape=%s, fillcolor=\"%s\", color=\"%s\"];\n", n.ID, n.ID, label(n.Title), n.Status, l.shape, l.fill, l.line)
	}
	for _, e := range g.Edges {
		style := ""
		if e.Partial {
			style = " [style=dashed, label=\"in part\"]"
		}
		fmt.Fprintf(&b, "  %q -> %q%s;\n", e.From, e.To, style)
	}
	b.WriteString("}\n")
	return b.String()
}

// StateDiagram is the states and transitions that the index tells of.
type StateDiagram struct {
	SchemaVersion int      `json:"schema_version"`
	States        []string `json:"states"`
	Steps         []Step   `json:"transitions"`
}

// Step is one row of Transition Decisions. Decided says that it rests on an accepted
// record.
type Step struct {
	ID      string `json:"id"`
	From    string `json:"from_state"`
	Event   string `json:"event"`
	To      string `json:"to_state"`
	Decided bool   `json:"decided"`
}

// States returns the diagram, in the order of the tables.
func (b *Base) States() StateDiagram {
	d := StateDiagram{SchemaVersion: 1, States: []string{}, Steps: []Step{}}
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(d.States, s) {
			d.States = append(d.States, s)
		}
	}
	for _, r := range b.Index.rows(states) {
		if r.wellShaped() {
			add(r.id())
		}
	}
	for _, r := range b.Index.rows(transitions) {
		if !r.wellShaped() {
			continue
		}
		add(r.text("from_state"))
		add(r.text("to_state"))
		d.Steps = append(d.Steps, Step{r.id(), strings.TrimSpace(r.text("from_state")), r.text("event"), strings.TrimSpace(r.text("to_state")), b.decided(r)})
	}
	return d
}

// decided reports whether a row rests on an accepted record.
func (b *Base) decided(r row) bool {
	return slices.ContainsFunc(References(r.text("source")), func(ref Reference) bool {
		rec, ok := b.Record(ref.Text)
		return ok && rec.Status == Accepted
	})
}

// Mermaid draws the diagram as a flowchart, which can dash an edge: what is dashed was not
// decided.
func (d StateDiagram) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, s := range d.States {
		fmt.Fprintf(&b, "  s%d([\"%s\"])\n", i, label(s))
	}
	for _, t := range d.Steps {
		from, to := slices.Index(d.States, t.From), slices.Index(d.States, t.To)
		if from < 0 || to < 0 {
			continue
		}
		arrow := "-->"
		if !t.Decided {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  s%d %s|\"%s\"| s%d\n", from, arrow, label(t.Event), to)
	}
	return b.String()
}

// Dot draws the diagram for Graphviz.
func (d StateDiagram) Dot() string {
	var b strings.Builder
	b.WriteString("digraph states {\n  rankdir=LR;\n  node [shape=ellipse, fontname=\"sans-serif\"];\n")
	for _, s := range d.States {
		fmt.Fprintf(&b, "  \"%s\";\n", label(s))
	}
	for _, t := range d.Steps {
		style := ""
		if !t.Decided {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  \"%s\" -> \"%s\" [label=\"%s\"%s];\n", label(t.From), label(t.To), label(t.Event), style)
	}
	b.WriteString("}\n")
	return b.String()
}
