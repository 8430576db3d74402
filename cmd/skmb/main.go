// Command skmb is the decision base alone: `skmb check` is `assent skmb check`.
package main

import (
	"os"

	"assent/internal/commands"
)

func main() { os.Exit(commands.Main(commands.Skmb, nil)) }
