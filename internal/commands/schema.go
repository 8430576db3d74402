package commands

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/urfave/cli/v2"

	"assent/docs/schema"
	"assent/skmb"
)

// kind is an artifact that can be submitted, or a file that people write.
type kind struct {
	name    string
	version int
	example string // "" if nothing is submitted
	submit  cli.ActionFunc
}

func kinds() []kind {
	return []kind{
		{"skmb-decision", 1, skmb.DecisionKind.Example, action(1, submit)},
		{"assent.yaml", 1, "", nil},
	}
}

func findKind(name string) (kind, error) {
	var names []string
	for _, k := range kinds() {
		if k.name == name || "."+k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	if name == "" {
		return kind{}, invalid("one of "+strings.Join(names, ", "), "which kind?")
	}
	return kind{}, invalid("one of "+strings.Join(names, ", "), "there is no kind %q", name)
}

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "the JSON schema of what can be submitted, and the text that tells a model how", ArgsUsage: "KIND",
		UsageText: "assent schema skmb-decision                    the schema of the payload\n" +
			"assent schema skmb-decision --profile tool     as a tool for a model's host\n" +
			"assent schema skmb-decision --prompt           the text that tells a model how to submit\n" +
			"assent schema skmb-decision --example          a minimal payload that is taken\n" +
			"assent schema assent.yaml                      for editors, which complete and check by it",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "profile", Usage: "the form of a `PROFILE`: tool"},
			&cli.BoolFlag{Name: "prompt", Usage: "the text for a model"},
			&cli.BoolFlag{Name: "example", Usage: "a minimal payload"},
		},
		Action: action(1, printSchema),
	}
}

func printSchema(c *call) error {
	k, err := findKind(c.Args().First())
	if err != nil {
		return err
	}
	part := "submit.json"
	switch profile := c.String("profile"); {
	case profile != "" && profile != "tool":
		return invalid("use --profile tool", "there is no profile %q", profile)
	case c.Bool("example"):
		if k.example == "" {
			return invalid("assent schema "+k.name, "%s is not submitted", k.name)
		}
		_, err := fmt.Fprintln(c.Stdout, k.example)
		return err
	case c.Bool("prompt"):
		part = "prompt.md"
	case profile == "tool":
		part = "tool.json"
	case k.example == "":
		part = "json"
	}
	data, err := fs.ReadFile(schema.Files, fmt.Sprintf("%s.v%d.%s", k.name, k.version, part))
	if err != nil {
		return invalid("assent schema "+k.name, "%s has no such form", k.name)
	}
	_, err = c.Stdout.Write(data)
	return err
}

// submitCommand is `assent submit KIND`: the same way in as the verb of the kind's own room.
func submitCommand() *cli.Command {
	return &cli.Command{
		Name: "submit", Usage: "take a payload of a kind as JSON from standard input", ArgsUsage: "KIND",
		UsageText: "assent submit skmb-decision < payload.json\nassent schema skmb-decision --prompt     how to",
		Flags:     []cli.Flag{&cli.StringFlag{Name: "from", Usage: "of a decision: the open question that it answers: `OPEN-NNN`"}, rootFlag(), formatFlag, dirFlag},
		Action: func(c *cli.Context) error {
			k, err := findKind(c.Args().First())
			if err == nil && k.submit == nil {
				err = invalid("edit the file", "%s is not submitted", k.name)
			}
			if err != nil {
				c.App.Metadata["process"].(*Process).started = true
				return err
			}
			return k.submit(c)
		},
	}
}
