package skmb

import (
	"fmt"
	"slices"
)

// Box is one node of a drawing, in pixels; Label lines are cut to fit.
type Box struct {
	X, Y, W, H   int
	Title, Text  string
	Status       string
	Round        bool
	TextX, LineY int // where the text stands
	Line2        int
}

// Arrow is one edge of a drawing: an SVG path and a label at a place.
type Arrow struct {
	Path           string
	Label          string
	LabelX, LabelY int
	Dashed         bool
}

// Drawing is a picture of boxes and arrows.
type Drawing struct {
	W, H   int
	Boxes  []Box
	Arrows []Arrow
}

// layered places nodes in columns: a node stands one column behind the last that points to
// it, as far as there is no circle. It returns column and row of each.
func layered(n int, edges [][2]int) (column, row []int) {
	column, row = make([]int, n), make([]int, n)
	into := make([]int, n)
	out := make([][]int, n)
	for _, e := range edges {
		if e[0] != e[1] {
			out[e[0]] = append(out[e[0]], e[1])
			into[e[1]]++
		}
	}
	placed := make([]bool, n)
	var queue []int
	for i := range n {
		if into[i] == 0 {
			queue = append(queue, i)
			placed[i] = true
		}
	}
	for next := 0; ; {
		for ; next < len(queue); next++ { // breadth first: each node in the column it is first reached at
			for _, to := range out[queue[next]] {
				if !placed[to] {
					placed[to] = true
					column[to] = column[queue[next]] + 1
					queue = append(queue, to)
				}
			}
		}
		i := slices.Index(placed, false) // a circle that nothing leads into: begin at its first node
		if i < 0 {
			break
		}
		placed[i] = true
		queue = append(queue, i)
	}
	used := map[int]int{}
	for _, i := range queue {
		row[i] = used[column[i]]
		used[column[i]]++
	}
	return column, row
}

// draw places boxes of one size and routes the arrows between them.
func draw(boxes []Box, edges [][2]int, label func(i int) (text string, dashed bool), w, h, gapX, gapY int) Drawing {
	const margin = 16
	column, row := layered(len(boxes), edges)
	d := Drawing{Boxes: boxes}
	top := margin
	if slices.ContainsFunc(edges, func(e [2]int) bool { return e[0] == e[1] }) {
		top += 32 // loops stand above the boxes
	}
	for i := range boxes {
		b := &d.Boxes[i]
		b.W, b.H = w, h
		b.X, b.Y = margin+column[i]*(w+gapX), top+row[i]*(h+gapY)
		b.TextX, b.LineY, b.Line2 = b.X+w/2, b.Y+h/2-4, b.Y+h/2+14
		d.W, d.H = max(d.W, b.X+w+margin), max(d.H, b.Y+h+margin)
	}
	seen := map[[2]int]int{}
	low := d.H // back edges run below all boxes, each on a line of its own
	for i, e := range edges {
		from, to := d.Boxes[e[0]], d.Boxes[e[1]]
		again := seen[e]
		seen[e]++
		a := Arrow{}
		a.Label, a.Dashed = label(i)
		shift := again * 18
		switch {
		case e[0] == e[1]: // a loop above the box
			x, y := from.X+from.W/2, from.Y
			a.Path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x-14, y, x-34, y-26-shift, x+34, y-26-shift, x+14, y)
			a.LabelX, a.LabelY = x, y-22-shift
		case column[e[0]] < column[e[1]]:
			x1, y1, x2, y2 := from.X+from.W, from.Y+from.H/2, to.X, to.Y+to.H/2
			bend := (x2 - x1) / 2
			a.Path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1+bend, y1+shift, x2-bend, y2+shift, x2, y2)
			a.LabelX, a.LabelY = (x1+x2)/2, (y1+y2)/2-6+shift
		case column[e[0]] == column[e[1]]: // beside the column
			x, y1, y2 := from.X+from.W, from.Y+from.H/2, to.Y+to.H/2
			a.Path = fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x, y1, x+48+shift, y1, x+48+shift, y2, x, y2)
			a.LabelX, a.LabelY = x+40+shift, (y1+y2)/2
		default: // back
			x1, y1, x2, y2 := from.X+from.W/2, from.Y+from.H, to.X+to.W/2, to.Y+to.H
			low += 22
			a.Path = fmt.Sprintf("M%d %d V%d Q%d %d %d %d H%d Q%d %d %d %d V%d", x1, y1, low-10, x1, low, x1-10, low, x2+10, x2, low, x2, low-10, y2)
			a.LabelX, a.LabelY = (x1+x2)/2, low-5
			d.H = low + margin
		}
		d.Arrows = append(d.Arrows, a)
	}
	return d
}

// cut is a text cut to a number of characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Drawing draws what supersedes what. Records that nothing connects are left out: the list
// has them.
func (g Graph) Drawing() Drawing {
	index := map[string]int{}
	var boxes []Box
	var edges [][2]int
	var kept []Edge
	at := func(id string) (int, bool) {
		if i, ok := index[id]; ok {
			return i, true
		}
		k := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ID == id })
		if k < 0 {
			return 0, false
		}
		index[id] = len(boxes)
		boxes = append(boxes, Box{Title: g.Nodes[k].ID, Text: cut(g.Nodes[k].Title, 30), Status: string(g.Nodes[k].Status)})
		return index[id], true
	}
	for _, e := range g.Edges {
		from, ok1 := at(e.From)
		to, ok2 := at(e.To)
		if ok1 && ok2 {
			edges, kept = append(edges, [2]int{from, to}), append(kept, e)
		}
	}
	return draw(boxes, edges, func(i int) (string, bool) {
		if kept[i].Partial {
			return "in part", true
		}
		return "", false
	}, 230, 48, 90, 24)
}

// Drawing draws the states and transitions; what is dashed was not decided.
func (d StateDiagram) Drawing() Drawing {
	var boxes []Box
	for _, s := range d.States {
		boxes = append(boxes, Box{Title: cut(s, 20), Round: true})
	}
	var edges [][2]int
	var kept []Step
	for _, t := range d.Steps {
		from, to := slices.Index(d.States, t.From), slices.Index(d.States, t.To)
		if from >= 0 && to >= 0 {
			edges, kept = append(edges, [2]int{from, to}), append(kept, t)
		}
	}
	return draw(boxes, edges, func(i int) (string, bool) { return cut(kept[i].Event, 24), !kept[i].Decided }, 150, 40, 150, 40)
}
