// Command assent puts a gate in front of every commit: nothing that an agent decides
// enters the repository without assent. The installed hooks call it.
package main

import (
	"os"

	"assent/cmd/assent/early"
	"assent/internal/commands"
)

func main() { os.Exit(commands.Main(commands.Assent, early.Look)) }
