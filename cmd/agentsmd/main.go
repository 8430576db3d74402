// Command agentsmd is the keeping of learned rules alone: `agentsmd apply` is
// `assent agentsmd apply`.
package main

import (
	"os"

	"assent/internal/commands"
)

func main() { os.Exit(commands.Main(commands.Agentsmd, nil)) }
