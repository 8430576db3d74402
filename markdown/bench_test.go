package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"assent/markdown"
)

// sectioned is a document of 25 sections with prose, lists, code and a quote in each.
func sectioned() string {
	var out strings.Builder
	out.WriteString("# Document\n\nWhat this is *about*.\n\n")
	for i := range 25 {
		fmt.Fprintf(&out, "## Section %d\n\n", i)
		out.WriteString("The first line of a paragraph with `code` and [a link](https://example.org/),\nthe second line of it, and **more** of the same\nuntil it ends.\n\n")
		out.WriteString("- an item\n- another that goes on\n  over two lines\n  - and has one below it\n\n")
		out.WriteString("```go\nfunc main() {\n\tprintln(\"# no heading\")\n}\n```\n\n> A quote\n> of two lines.\n\n")
	}
	return out.String()
}

// index is a table of 1000 decisions.
func index() string {
	var out strings.Builder
	out.WriteString("# Index\n\n## Decision Index\n\n| id | status | scope | patterns | file | commit |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range 1000 {
		fmt.Fprintf(&out, "| SKMB-2026-01-02-%03d | accepted | which retry *limit* applies to job %d | A, C | [decision](decisions/2026-01-02-%03d-retry-limit.md) | `%07x` |\n", i, i, i, i*7919)
	}
	return out.String()
}

const decision = `# SKMB-2026-01-02-001: Retry limit of the importer

- status: accepted
- decided_by: A. Person
- approval_source: >-
    "Yes, three times is enough", in the review of 2 January,
    about the importer alone
- date: 2026-01-02
- commit: pending
- patterns: A, C
- scope:
  - the importer
  - its scheduler

## Context

The importer retries *without* a limit, which hid an outage for two days.

## Decision

Three times, then the job is marked as failed.

## Applies To

- ` + "`import/retry.go`" + `
- ` + "`import/job.go`" + `

## Rationale

More than three retries never succeeded in the last year.

## Alternatives

| alternative | why not |
| --- | --- |
| no limit | hides outages |
| five | no case was ever helped by it |

## Evidence

See [the report](../reports/outage.md).
`

// BenchmarkParse compares with goldmark's own block parsers on the same bytes: Parse
// should take at most 1.5 times as long. "read" adds what the domains ask for.
func BenchmarkParse(b *testing.B) {
	goldmark := parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
	for _, bb := range []struct{ name, src string }{
		{"25-sections", sectioned()},
		{"1000-row-index", index()},
		{"decision", decision},
	} {
		src := []byte(bb.src)
		run := func(name string, f func()) {
			b.Run(bb.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(strings.Count(bb.src, "\n")), "lines")
			})
		}
		run("goldmark", func() { goldmark.Parse(text.NewReader(src)) })
		parse := func() *markdown.Document {
			d, err := markdown.Parse(src)
			if err != nil {
				b.Fatal(err)
			}
			return d
		}
		run("parse", func() { parse() })
		run("read", func() { read(parse(), whole(bb.src)) })
	}
}
