package commands

import "github.com/urfave/cli/v2"

func skmbCommands() []*cli.Command { return []*cli.Command{initCommand("skmb")} }
