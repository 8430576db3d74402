// Package schema holds the generated schemas and texts, as they are printed by assent schema.
package schema

import "embed"

// Files are the files of this directory; cmd/schemagen writes them.
//
//go:embed *.json *.jsonl *.md
var Files embed.FS
