package markdown

import (
	"bytes"
	"fmt"
	"time"

	"github.com/yuin/goldmark/ast"
)

// Limits of one text. They bound the work of the parser, whose cost is quadratic
// in nesting; the domains set lower caps on file sizes of their own.
const (
	maxBytes      = 8 << 20 // the largest file any domain reads
	maxOpeners    = 16      // containers opened by the prefix of one line
	maxOpen       = 64      // containers open at once, over-estimated
	maxWork       = 2 << 20 // lines, each counted once for every container open on it
	maxListDepth  = 32
	deepLine      = 8 // containers open at once, from which on lines are counted
	maxDeepLines  = 20_000
	maxCells      = 512 // of a table header
	parseTimeout  = 2 * time.Second
	timeoutFrom   = 16 << 10 // smaller texts cannot run into the timeout
	maxInlineText = 4 << 10  // bytes of one cell or value that inline syntax is read in
	maxMarks      = 256      // unescaped brackets, stars, underscores and '<' in it
)

// LimitError says which guard refused a text, and at which 1-based line.
type LimitError struct {
	Line  int
	Limit string
}

func (e *LimitError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Limit) }

// guard looks at each line before the parser does. The number of open containers is
// estimated from above: a list item needs two more columns of blanks to stay open, a
// quote needs its marker, and only a lazy line keeps all of them open without.
func guard(src []byte, body int) error {
	if len(src) > maxBytes {
		return &LimitError{1, fmt.Sprintf("the text has more than %d bytes", maxBytes)}
	}
	open, deep, work, blank := 0, 0, 0, true
	line := bytes.Count(src[:body], []byte("\n"))
	for at := body; at < len(src); {
		raw, next := cutLine(src, at)
		line++
		width, openers, rest := prefix(raw)
		if openers > maxOpeners {
			return &LimitError{line, fmt.Sprintf("more than %d containers open on one line", maxOpeners)}
		}
		if len(rest) == 0 && openers == 0 {
			blank = true
		} else {
			now := min(open, width/2) + openers
			if !blank {
				now = max(now, open)
			}
			open, blank = now, false
		}
		if open > maxOpen {
			return &LimitError{line, fmt.Sprintf("more than %d containers open", maxOpen)}
		}
		if work += open; work > maxWork {
			return &LimitError{line, fmt.Sprintf("more than %d lines, each counted for every container open on it", maxWork)}
		}
		if open > deepLine {
			if deep++; deep > maxDeepLines {
				return &LimitError{line, fmt.Sprintf("more than %d lines inside more than %d containers", maxDeepLines, deepLine)}
			}
		}
		if len(raw) > maxCells && bytes.Count(raw, []byte("|")) >= maxCells && next < len(src) {
			if after, _ := cutLine(src, next); isDelimiter(after) && countCells(raw) > maxCells {
				return &LimitError{line, fmt.Sprintf("a table header of more than %d cells", maxCells)}
			}
		}
		at = next
	}
	return nil
}

// prefix returns the columns of blanks before, between and behind the container
// markers at the start of the line, the number of markers, and what follows them.
func prefix(line []byte) (width, openers int, rest []byte) {
	line = bytes.TrimRight(line, "\r\n")
	i := 0
	blanks := func() {
		for ; i < len(line); i++ {
			switch line[i] {
			case ' ':
				width++
			case '\t':
				width += 4
			default:
				return
			}
		}
	}
	blanks()
	for i < len(line) {
		j := i
		switch c := line[i]; {
		case c == '>':
			j++
		case c == '-' || c == '*' || c == '+':
			j++
			if j < len(line) && line[j] != ' ' && line[j] != '\t' {
				return width, openers, line[i:]
			}
		case c >= '0' && c <= '9':
			for j < len(line) && j-i < 9 && line[j] >= '0' && line[j] <= '9' {
				j++
			}
			if j == len(line) || (line[j] != '.' && line[j] != ')') {
				return width, openers, line[i:]
			}
			j++
			if j < len(line) && line[j] != ' ' && line[j] != '\t' {
				return width, openers, line[i:]
			}
		default:
			return width, openers, line[i:]
		}
		openers++
		i = j
		blanks()
	}
	return width, openers, nil
}

// bounded runs the parser under a wall-clock backstop. Go cannot stop the parser, so
// on a timeout its goroutine is left behind; the programs that use this room are
// about to report the error and end.
func bounded(parse func() ast.Node, size int) (ast.Node, error) {
	if size < timeoutFrom {
		return parse(), nil
	}
	done := make(chan ast.Node, 1)
	go func() { done <- parse() }()
	timer := time.NewTimer(parseTimeout)
	defer timer.Stop()
	select {
	case root := <-done:
		return root, nil
	case <-timer.C:
		return nil, &LimitError{1, fmt.Sprintf("the text could not be read within %s", parseTimeout)}
	}
}

// checkDepth refuses lists nested deeper than a reader could follow. The walk holds
// its own stack, so that nesting costs no stack of ours.
func (d *Document) checkDepth() error {
	depth := 0
	for n := d.root.FirstChild(); n != nil; {
		if n.Kind() == ast.KindList {
			if depth++; depth > maxListDepth {
				line, _ := d.Position(d.body + n.Pos())
				return &LimitError{line, fmt.Sprintf("lists nested deeper than %d", maxListDepth)}
			}
		}
		if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			n = n.FirstChild()
			continue
		}
		for n != nil {
			if n.Kind() == ast.KindList {
				depth--
			}
			if n.NextSibling() != nil {
				n = n.NextSibling()
				break
			}
			if n = n.Parent(); n == d.root {
				n = nil
			}
		}
	}
	return nil
}
