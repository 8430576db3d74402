package markdown_test

import (
	"reflect"
	"strings"
	"testing"

	"assent/markdown"
)

func TestTablesAreReadFromTheirLines(t *testing.T) {
	tests := []struct {
		name, src string
		want      [][][]string // tables, rows with the header first, plain text of the cells
	}{
		{"empty text", "", nil},
		{"ordinary", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", [][][]string{{{"a", "b"}, {"1", "2"}, {"3", "4"}}}},
		{"header only", "| a |\n|---|\n", [][][]string{{{"a"}}}},
		{"no final newline", "| a |\n|---|\n| 1 |", [][][]string{{{"a"}, {"1"}}}},
		{"delimiter without final newline", "| a |\n|---|", [][][]string{{{"a"}}}},
		{"CRLF", "| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n", [][][]string{{{"a", "b"}, {"1", "2"}}}},
		{"byte order mark", "\ufeff| a |\n|---|\n| 1 |\n", [][][]string{{{"a"}, {"1"}}}},
		{"without outer pipes", "a | b\n--- | ---\n1 | 2\n", [][][]string{{{"a", "b"}, {"1", "2"}}}},
		{"outer pipes on some lines", "| a | b\n---|---|\n1 | 2 |\n", [][][]string{{{"a", "b"}, {"1", "2"}}}},
		{"alignment", "|a|b|c|d|\n|:-|-:|:-:|--|\n|1|2|3|4|\n", [][][]string{{{"a", "b", "c", "d"}, {"1", "2", "3", "4"}}}},
		{"no blanks, many blanks", "|a|\n| - |\n|  \t1\t  |\n", [][][]string{{{"a"}, {"1"}}}},
		{"indented lines", "  | a |\n   |---|\n | 1 |\n", [][][]string{{{"a"}, {"1"}}}},
		{"a row with surplus cells keeps them", "|a|b|\n|-|-|\n|1|2|3|4|\n", [][][]string{{{"a", "b"}, {"1", "2", "3", "4"}}}},
		{"a row with missing cells stays short", "|a|b|\n|-|-|\n|1|\n", [][][]string{{{"a", "b"}, {"1"}}}},
		{"a row without pipes", "|a|b|\n|-|-|\ntext\n", [][][]string{{{"a", "b"}, {"text"}}}},
		{"empty cells", "|a|b|c|\n|-|-|-|\n||  ||\n", [][][]string{{{"a", "b", "c"}, {"", "", ""}}}},
		{"a row of one pipe", "|a|\n|-|\n|\n", [][][]string{{{"a"}, {""}}}},
		{"an empty header", "| |\n|-|\n|1|\n", [][][]string{{{""}, {"1"}}}},
		{"an escaped pipe", "|a|\n|-|\n|1 \\| 2|\n", [][][]string{{{"a"}, {"1 | 2"}}}},
		{"an escaped pipe at the end of the row", "|a|\n|-|\n|1 \\|\n", [][][]string{{{"a"}, {"1 |"}}}},
		{"an escaped pipe in code", "|a|\n|-|\n|`1 \\| 2`|\n", [][][]string{{{"a"}, {"1 | 2"}}}},
		{"a pipe in code splits", "|a|b|\n|-|-|\n|`1|2`|\n", [][][]string{{{"a", "b"}, {"`1", "2`"}}}},
		{"an escaped backslash before a pipe splits", "|a|b|\n|-|-|\n|1\\\\|2|\n", [][][]string{{{"a", "b"}, {"1\\", "2"}}}},
		{"an escaped backslash and an escaped pipe", "|a|\n|-|\n|1\\\\\\|2|\n", [][][]string{{{"a"}, {"1\\|2"}}}},
		{"a backslash at the end", "|a|\n|-|\n|1\\", [][][]string{{{"a"}, {"1\\"}}}},
		{"bold, code, link, entity", "|a|\n|-|\n|**b** `c` [d](e) &lt;|\n", [][][]string{{{"a"}, {"b c d <"}}}},
		{"text before the table", "intro\n| a |\n|---|\n| 1 |\n", [][][]string{{{"a"}, {"1"}}}},
		{"a delimiter with another number of cells is none", "|a|b|\n|-|\n|1|2|\n", nil},
		{"a delimiter without a header", "|---|\n|1|\n", nil},
		{"a delimiter with an empty cell is none", "|a|b|\n|-||\n|1|2|\n", nil},
		{"a delimiter with text is none", "|a|\n|-x|\n|1|\n", nil},
		{"a delimiter with a colon alone is none", "|a|\n|:|\n|1|\n", nil},
		{"a delimiter with a colon inside is none", "|a|\n|-:-|\n|1|\n", nil},
		{"an underline without a pipe is a heading", "a\n---\n1\n", nil},
		{"an empty line ends the table", "|a|\n|-|\n|1|\n\n|2|\n", [][][]string{{{"a"}, {"1"}}}},
		{"a heading ends the table", "|a|\n|-|\n|1|\n# b\n", [][][]string{{{"a"}, {"1"}}}},
		{"a fence ends the table", "|a|\n|-|\n```\n|1|\n```\n", [][][]string{{{"a"}}}},
		{"two tables", "|a|\n|-|\n|1|\n\n|b|\n|-|\n|2|\n", [][][]string{{{"a"}, {"1"}}, {{"b"}, {"2"}}}},
		{"a second delimiter is a row", "|a|\n|-|\n|-|\n", [][][]string{{{"a"}, {"-"}}}},
		{"hidden in a fence", "```\n|a|\n|-|\n```\n", nil},
		{"hidden in indented code", "    |a|\n    |-|\n", nil},
		{"hidden in a quote", "> |a|\n> |-|\n", nil},
		{"hidden in a list item", "- |a|\n  |-|\n", nil},
		{"hidden in a comment", "<!--\n|a|\n|-|\n-->\n", nil},
		{"hidden in front matter", "---\n|a|\n|-|\n---\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got [][][]string
			for _, table := range parse(t, tt.src).Tables(whole(tt.src)) {
				var rows [][]string
				for _, r := range append([]markdown.Row{table.Header}, table.Rows...) {
					var cells []string
					for _, c := range r.Cells {
						cells = append(cells, c.Text)
					}
					rows = append(rows, cells)
				}
				got = append(got, rows)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%q\n got %q\nwant %q", tt.src, got, tt.want)
			}
		})
	}
}

func TestTableSpansPointAtTheSource(t *testing.T) {
	for _, nl := range []string{"\n", "\r\n"} {
		src := strings.ReplaceAll("\ufeff---\nid: 1\n---\nintro\n  | a ||\n  |---|--|\n|  **1** \\| x |  |y\nend |\n\ntext\n", "\n", nl)
		tables := parse(t, src).Tables(whole(src))
		if len(tables) != 1 || len(tables[0].Rows) != 2 {
			t.Fatalf("%q: got %+v, want one table of two rows", src, tables)
		}
		table := tables[0]
		raw := func(r markdown.Row) (out []string) {
			for _, c := range r.Cells {
				out = append(out, in(src, c.Raw))
			}
			return out
		}
		for _, c := range []struct {
			what      string
			got, want any
		}{
			{"header line", in(src, table.Header.Line), "  | a ||" + nl},
			{"header cells", raw(table.Header), []string{"a", ""}},
			{"delimiter", in(src, table.Delimiter), "  |---|--|" + nl},
			{"first row", in(src, table.Rows[0].Line), "|  **1** \\| x |  |y" + nl},
			{"first row's cells", raw(table.Rows[0]), []string{"**1** \\| x", "", "y"}},
			{"second row", in(src, table.Rows[1].Line), "end |" + nl},
			{"second row's cells", raw(table.Rows[1]), []string{"end"}},
			{"what follows the table", src[table.End():], nl + "text" + nl},
		} {
			if !reflect.DeepEqual(c.got, c.want) {
				t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
			}
		}
	}
}

func TestEndOfATableWithoutRowsIsItsDelimiter(t *testing.T) {
	src := "|a|\n|-|\n\nb\n"
	if got := src[parse(t, src).Tables(whole(src))[0].End():]; got != "\nb\n" {
		t.Errorf("behind the table stands %q", got)
	}
}

func TestACellGivesTheDestinationOfItsFirstLink(t *testing.T) {
	tests := []struct{ name, cell, text, link string }{
		{"no link", "a", "a", ""},
		{"a link", "[a](b.md)", "a", "b.md"},
		{"the first of two", "x [a](b) [c](d)", "x a c", "b"},
		{"a link with a title", `[a](b "c")`, "a", "b"},
		{"in angle brackets", "[a](<b c>)", "a", "b c"},
		{"code in a link", "[`SKMB-1`](b)", "SKMB-1", "b"},
		{"bold around a link", "**[a](b)**", "a", "b"},
		{"an escaped pipe in the destination", `[a](b\|c)`, "a", "b|c"},
		{"escapes and references in the destination", `[a](b\_c&amp;d&#101;)`, "a", "b_c&de"},
		{"an escaped reference in the destination", `[a](b\&amp;c)`, "a", "b&amp;c"},
		{"an autolink", "<https://e.org/>", "https://e.org/", "https://e.org/"},
		{"a bare address is text", "https://e.org/", "https://e.org/", ""},
		{"an image is no link", "![a](b)", "a", ""},
		{"an escaped bracket is no link", `\[a](b)`, "[a](b)", ""},
		{"a link in code is none", "`[a](b)`", "[a](b)", ""},
		{"a reference without definition is text", "[a][b]", "[a][b]", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := "| h |\n|---|\n| " + tt.cell + " |\n"
			cells := parse(t, src).Tables(whole(src))[0].Rows[0].Cells
			if len(cells) != 1 || cells[0].Text != tt.text || cells[0].Link != tt.link {
				t.Errorf("got %+v, want text %q and link %q", cells, tt.text, tt.link)
			}
		})
	}
}

func TestTablesOfASectionBeginInsideIt(t *testing.T) {
	src := "|a|\n|-|\n\n# A\n|b|\n|-|\n# B\n|c|\n|-|\n"
	d := parse(t, src)
	for i, want := range []string{"b", "c"} {
		tables := d.Tables(d.Sections()[i].Body)
		if len(tables) != 1 || tables[0].Header.Cells[0].Text != want {
			t.Errorf("section %d: got %+v, want the table %s alone", i, tables, want)
		}
	}
}
