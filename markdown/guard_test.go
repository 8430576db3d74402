package markdown_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assent/internal/budget"
	"assent/markdown"
)

const (
	large       = 1 << 20 / budget.Slower // the size of a hostile text: 1 MiB, the cap of most files
	refusalTime = 100 * time.Millisecond  // until a guard has refused a text
	readingTime = 2 * time.Second         // until any text has been read
)

// fill repeats s up to n bytes.
func fill(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

// stairs nests 15 lists more on each line.
func stairs(prefix string, lines int) string {
	var out strings.Builder
	for i := range lines {
		out.WriteString(prefix + strings.Repeat(" ", 30*i) + strings.Repeat("- ", 15) + "a\n")
	}
	return out.String()
}

// nested is one list in another, depth times.
func nested(depth int) string {
	var out strings.Builder
	for i := range depth {
		out.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return out.String()
}

func header(cells int, outer string) string {
	return outer + strings.Repeat("a|", cells-1) + "a" + outer + "\n" + outer + strings.Repeat("-|", cells-1) + "-" + outer + "\n"
}

func TestGuardsNameTheLineTheyRefuse(t *testing.T) {
	tests := []struct {
		name, src string
		line      int
		says      string
	}{
		{"500 bullets on one line, then blank lines", "a\n\n" + strings.Repeat("- ", 500) + strings.Repeat("\n", 10_000), 3, "16 containers open on one line"},
		{"500 bullets before text", strings.Repeat("- ", 500) + "a\n" + strings.Repeat("\n", 10_000), 1, "16 containers open on one line"},
		{"17 numbers", strings.Repeat("1. ", 17) + "a\n", 1, "16 containers"},
		{"17 markers of all kinds", "\n" + strings.Repeat("> - 1) + * ", 4) + "a\n", 2, "16 containers"},
		{"100,000 quotes on one line", "a\r\n\r\n" + strings.Repeat(">", 100_000), 3, "16 containers"},
		{"17 quotes with blanks", strings.Repeat("> ", 17) + "a\n", 1, "16 containers"},
		{"behind front matter", "---\na: b\n---\n" + strings.Repeat(">", 17), 4, "16 containers"},
		{"lists nested 40 deep", nested(40), 33, "lists nested deeper than 32"},
		{"lists nested 40 deep in CRLF", strings.ReplaceAll(nested(40), "\n", "\r\n"), 33, "lists nested deeper than 32"},
		{"lists nested 33 deep in a quote", "> " + strings.ReplaceAll(nested(33), "\n", "\n> "), 33, "lists nested deeper than 32"},
		{"lists that grow by 15 a line, then blank lines", stairs("", 50) + strings.Repeat("\n", 19_000), 5, "64 containers open"},
		{"lists that grow by 15 a line inside a quote", stairs("> ", 50) + strings.Repeat(">\n", 19_000), 5, "64 containers open"},
		{"lists that grow by 15 a line by tabs", strings.ReplaceAll(stairs("", 50), "  ", "\t"), 5, "64 containers open"},
		{"20,001 lines of nine quotes", strings.Repeat(strings.Repeat(">", 9)+"\n", 30_000), 20_001, "20000 lines inside more than 8 containers"},
		{"20,000 blank lines in nine lists", strings.Repeat("- ", 9) + "a" + strings.Repeat("\n", 30_000), 20_001, "20000 lines inside more than 8 containers"},
		{"1 MiB of blank lines in eight lists", strings.Repeat("- ", 8) + "a" + strings.Repeat("\n", 1<<20), 1<<18 + 1, "2097152 lines"},
		{"a table header of 3000 columns", "a\n\n" + header(3000, "|") + fill("|a|\n", large), 3, "512 cells"},
		{"a table header of 513 columns", header(513, "|"), 1, "512 cells"},
		{"a table header of 513 columns without outer pipes", header(513, ""), 1, "512 cells"},
		{"a table header of 513 columns in CRLF", strings.ReplaceAll(header(513, "|"), "\n", "\r\n"), 1, "512 cells"},
		{"a header of 1 MiB of pipes", fill("|", large) + "\n|-|\n", 1, "512 cells"},
		{"more than 8 MiB", strings.Repeat("a", 8<<20+1), 1, "8388608 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := []byte(tt.src)
			budget.Within(t, refusalTime, func() {
				d, err := markdown.Parse(src)
				var limit *markdown.LimitError
				if !errors.As(err, &limit) {
					t.Fatalf("got %v, want a LimitError", err)
				}
				if limit.Line != tt.line || !strings.Contains(limit.Limit, tt.says) {
					t.Errorf("got %v, want line %d and %q", err, tt.line, tt.says)
				}
				if want := fmt.Sprintf("line %d: ", tt.line); !strings.HasPrefix(err.Error(), want) {
					t.Errorf("the error %q does not begin with %q", err, want)
				}
				if d != nil {
					t.Error("a document came with the error")
				}
			})
		})
	}
}

func TestGuardsLeaveOrdinaryTextAlone(t *testing.T) {
	tests := []struct{ name, src string }{
		{"16 containers on one line", strings.Repeat("> - ", 8) + "a\n"},
		{"lists nested 32 deep", nested(32)},
		{"a table header of 512 columns", header(512, "|")},
		{"a table header of 512 columns without outer pipes", header(512, "")},
		{"one cell with 3000 escaped pipes", "|" + strings.Repeat(`\|`, 3000) + "|\n|-|\n"},
		{"3000 pipes that are no table", strings.Repeat("|", 3000) + "\na\n"},
		{"dashes that are no list", strings.Repeat("-", 500) + "\n\n" + strings.Repeat("--- ", 500) + "\n"},
		{"numbers that are no list", strings.Repeat("1.1 ", 500) + "\n\n" + strings.Repeat("1234567890. ", 500) + "\n"},
		{"deep indentation in code", strings.Repeat(strings.Repeat(" ", 200)+"a\n", 30_000)},
		{"a long list", strings.Repeat("- a\n  - b\n", 30_000)},
		{"many lines in eight quotes", strings.Repeat(strings.Repeat(">", 8)+" a\n", 30_000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { parse(t, tt.src) })
	}
}

// read asks a document for all it can tell.
func read(d *markdown.Document, span markdown.Span) {
	d.Sections()
	d.Tables(span)
	d.Fields(span)
	d.Position(span.End)
	d.Newline()
}

func TestNoTextTakesLongToRead(t *testing.T) {
	const (
		row  = "| a |\n|---|\n"
		part = large / 4 // enough to tell a quadratic reader from a linear one
	)
	cell := func(s string, n int) string { // part tables whose cells hold n bytes of s
		return row + strings.Repeat("| "+fill(s, n)+" |\n", part/(n+5))
	}
	ticks := ""
	for i := 1; len(ticks) < 4000; i++ { // no two runs of one length
		ticks += strings.Repeat("`", i) + "a"
	}
	tests := []struct{ name, src string }{
		{"100,000 brackets", strings.Repeat("[", 100_000)},
		{"100,000 brackets in a heading", "# " + strings.Repeat("[", 100_000)},
		{"100,000 brackets in a cell", row + "|" + strings.Repeat("[", 100_000) + "|\n"},
		{"100,000 brackets in a field", "- a: " + strings.Repeat("[", 100_000)},
		{"link definitions", fill("[a]: b\n", large)},
		{"a link definition that never ends", "[a]: <" + fill("b\n", part)},
		{"comments never closed", fill("<!--", large)},
		{"comments never closed, line by line", fill("<!--\n", part)},
		{"tags never closed", fill("<a b\n", part)},
		{"rows", fill("| a |\n", large)},
		{"rows of a table", row + fill("| a |\n", part)},
		{"one row of pipes", row + fill("|", large)},
		{"one delimiter of pipes", "|a|\n" + fill("|-", part)},
		{"delimiters", fill("|-|-|\n", part)},
		{"stars in a cell", row + "|" + fill("*", large) + "|\n"},
		{"backticks in a cell", row + "|" + fill("`", large) + "|\n"},
		{"stars in a heading", "# " + fill("*", large)},
		{"backticks in a heading", "# " + fill("`", large)},
		{"hashes in a heading", "# " + fill("#", part)},
		{"a setext heading of many lines", fill("*a\n", part) + "\n===\n"},
		{"setext headings", fill("a\n-\n", part)},
		{"headings", fill("# a\n", part)},
		{"headings of all levels", fill("# a\n## a\n### a\n#### a\n##### a\n###### a\n", part)},
		{"one paragraph", fill("a\n", part)},
		{"one lazy quote", "> a\n" + fill("a\n", part)},
		{"items", fill("- a\n", part)},
		{"fields", fill("- a: b\n", part)},
		{"a field of many lines", "- a: >-\n" + fill("  b\n", part)},
		{"a field of many items", "- a:\n" + fill("  - b\n", part)},
		{"fences", fill("```\n", part)},
		{"HTML blocks", fill("<div>\n\n", part)},
		{"blank lines", fill("\n", part)},
		{"blanks", fill(" ", part) + "a"},
		{"tabs behind a bullet", "-" + fill("\t", part) + "a"},
		{"carriage returns", fill("\r", part)},
		{"digits", fill("1", part)},
		{"NUL", fill("\x00", part)},
		{"not UTF-8", fill("\xff", part)},
		{"front matter", "---\n" + fill("a: b\n", part)},
		{"cells of brackets", cell("[", 4000)},
		{"cells of closed brackets", row + strings.Repeat("|"+fill("[", 2000)+fill("]", 2000)+"|\n", part/4000)},
		{"cells of broken links", cell("[a](", 4000)},
		{"cells of broken destinations", cell("[a](<", 4000)},
		{"cells of broken emphasis", cell("a**b", 4000)},
		{"cells of mixed emphasis", cell("*a_ ", 4000)},
		{"cells of tags", cell("<a ", 4000)},
		{"cells of references", cell("&amp;", 4000)},
		{"cells of backslashes", cell("\\", 4000)},
		{"cells of backtick runs", row + strings.Repeat("|"+ticks+"|\n", part/4000)},
		{"cells of as many brackets as are read", cell("[", 256)},
		{"cells of as many broken links as are read", cell("[a](", 512)},
		{"long cells of as many broken links as are read", cell("[a]("+strings.Repeat("b", 28), 4000)},
		{"cells of as much broken emphasis as is read", cell("a**b", 500)},
		{"cells of links", cell("[a](b) ", 800)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := []byte(tt.src)
			limit := readingTime * time.Duration(max(part, len(src))) / large
			budget.Within(t, limit, func() {
				d, err := markdown.Parse(src)
				if err != nil {
					t.Fatal(err)
				}
				read(d, markdown.Span{Start: 0, End: len(src)})
			})
		})
	}
}

func TestNoTextTakesLongToEscape(t *testing.T) {
	for _, s := range []string{"#", "\\", "|", "&", "_", ".", "1", "*", " ", "\xff", "\x00", "a"} {
		run := fill(s, large/4)
		for _, text := range []string{run, run + "a", "a" + run} {
			budget.Within(t, readingTime/4, func() {
				markdown.Escape(text)
				markdown.Cell(text)
				markdown.PlainText([]byte(text))
			})
		}
	}
}

// Refusing a row takes no memory that grows with its cells.
func TestGuardKeepsNoCells(t *testing.T) {
	src := []byte(fill("|", large) + "\n|-|\n")
	refused := testing.AllocsPerRun(3, func() { _, _ = markdown.Parse(src) })
	if refused > 20 {
		t.Errorf("it took %v allocations", refused)
	}
}
