package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assent/boundary"
	"assent/docs/schema"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
	"assent/store"
)

// submits are the commands that take a payload, by kind.
func submits() map[string]cli.ActionFunc {
	return map[string]cli.ActionFunc{"skmb-decision": action(1, submit)}
}

// configSchema is the one schema of a file that people write.
const configSchema = "assent.yaml"

// findKind is the kind of a name; others are names that would be taken too.
func findKind(name string, others ...string) (*boundary.Form, error) {
	var names []string
	for _, k := range hooks.Kinds {
		if k.Name == name {
			return k, nil
		}
		if k.Submitted() || len(others) > 0 {
			names = append(names, k.Name)
		}
	}
	names = append(names, others...)
	if name == "" {
		return nil, invalid("one of "+strings.Join(names, ", "), "which kind?")
	}
	return nil, invalid("one of "+strings.Join(names, ", "), "there is no kind %q", name)
}

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "the JSON schema of what can be submitted, and the text that tells a model how", ArgsUsage: "KIND",
		UsageText: "assent schema skmb-decision                    the schema of the payload\n" +
			"assent schema skmb-decision --profile tool     as a tool for a model's host\n" +
			"assent schema skmb-decision --prompt           the text that tells a model how to submit\n" +
			"assent schema skmb-decision --example          a minimal payload that is taken\n" +
			"assent schema skmb-decision --probe            payloads by which a host finds out what its route enforces\n" +
			"assent schema approval --part record           the schema of a stored record\n" +
			"assent schema assent.yaml                      for editors, which complete and check by it",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "part", Usage: "of a `PART`: submit or record"},
			&cli.StringFlag{Name: "profile", Usage: "the form of a `PROFILE`: tool"},
			&cli.BoolFlag{Name: "prompt", Usage: "the text for a model"},
			&cli.BoolFlag{Name: "probe", Usage: "payloads for assent probe, a line each"},
			&cli.BoolFlag{Name: "example", Usage: "a minimal payload"},
		},
		Action: action(1, printSchema),
	}
}

func printSchema(c *call) error {
	name := c.Args().First()
	if strings.TrimPrefix(name, ".") == configSchema {
		if c.NumFlags() > 0 {
			return invalid("assent schema "+configSchema, "%s has no such form", configSchema)
		}
		return c.printFile(configSchema + ".v1.json")
	}
	k, err := findKind(name, configSchema)
	if err != nil {
		return err
	}
	part := "submit.json"
	if !k.Submitted() {
		part = "record.json"
	}
	switch profile := c.String("profile"); {
	case profile != "" && profile != "tool":
		return invalid("use --profile tool", "there is no profile %q", profile)
	case c.IsSet("part") && !slices.Contains([]string{"submit", "record"}, c.String("part")):
		return invalid("use --part submit or --part record", "there is no part %q", c.String("part"))
	case c.Bool("example") && k.Submitted():
		_, err := fmt.Fprintln(c.Stdout, k.Example)
		return err
	case c.Bool("example"):
		part = "example"
	case c.Bool("prompt"):
		part = "prompt.md"
	case c.Bool("probe"):
		part = "probe.jsonl"
	case profile == "tool":
		part = "tool.json"
	case c.IsSet("part"):
		part = c.String("part") + ".json"
	}
	return c.printFile(schemaFile(k, part))
}

func schemaFile(k *boundary.Form, part string) string {
	return fmt.Sprintf("%s.v%d.%s", k.Name, k.Version, part)
}

// printFile prints a file of docs/schema as it was released.
func (c *call) printFile(name string) error {
	data, err := fs.ReadFile(schema.Files, name)
	if err != nil {
		kind, _, _ := strings.Cut(name, ".v")
		return invalid("assent schema "+kind, "%s has no such form", kind)
	}
	_, err = c.Stdout.Write(data)
	return err
}

// fileSum is the SHA-256 of a file of docs/schema, "" if there is none.
func fileSum(name string) string {
	data, err := fs.ReadFile(schema.Files, name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// submitFlags are what every submission takes.
func submitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "key", Usage: "the same `KEY` with the same payload gives the same answer; without it the payload is its own key"},
		&cli.StringFlag{Name: "schema-sha256", Usage: "refuse if the schema is another than the one of this `SHA256`, as assent schema printed it"},
		&cli.StringFlag{Name: "claim-provider", Usage: "note in the log that the model is of this `PROVIDER`"},
		&cli.StringFlag{Name: "claim-model", Usage: "note in the log that this `MODEL` wrote it"},
		&cli.StringFlag{Name: "claim-model-version", Usage: "and its `VERSION`"},
		&cli.StringFlag{Name: "prompt-packet", Usage: "note the SHA-256 of the prompt in `FILE`; nothing of its text"},
		&cli.BoolFlag{Name: "keep-rejected", Usage: "keep the input of a refusal below assent/diagnostics in the Git directory, for people to look at"},
	}
}

// door is the way in for a submission of a kind, as the flags say.
func (c *call) door(k *boundary.Form) (boundary.Door, error) {
	for _, name := range []string{"key", "schema-sha256", "prompt-packet"} {
		if c.IsSet(name) && c.String(name) == "" {
			return boundary.Door{}, invalid("leave it out, or give it a value", "--%s is empty", name)
		}
	}
	d := boundary.Door{
		Key: c.String("key"), Schema: strings.ToLower(c.String("schema-sha256")), Keep: c.Bool("keep-rejected"),
		Schemas: []string{fileSum(schemaFile(k, "submit.json")), fileSum(schemaFile(k, "tool.json"))},
		Claims:  boundary.Claims{Provider: c.String("claim-provider"), Model: c.String("claim-model"), ModelVersion: c.String("claim-model-version")},
	}
	for _, claim := range []string{d.Claims.Provider, d.Claims.Model, d.Claims.ModelVersion} {
		if boundary.Unsafe(claim, "line") != "" || len(claim) > 200 || boundary.Secret(claim) != "" || filepath.IsAbs(claim) || strings.Contains(claim, `\`) || strings.Contains(claim, "://") || claim != strings.Join(strings.Fields(claim), " ") {
			return d, invalid("give a plain name of at most 200 bytes", "a claim is no name: it is a path or an address, holds a credential, or what is not shown as it is")
		}
	}
	if file := c.String("prompt-packet"); file != "" {
		var err error
		if d.Claims.Prompt, err = sumOf(file); err != nil {
			return d, invalid("name the file that the model was given", "%v", err)
		}
	}
	return d, nil
}

// maxPrompt is the most bytes of a prompt whose digest is noted.
const maxPrompt = 64 << 20

// sumOf is the SHA-256 of a regular file.
func sumOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPrompt {
		return "", fmt.Errorf("%s is no file, or has more than %d bytes", name, maxPrompt)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, maxPrompt))
	return hex.EncodeToString(h.Sum(nil)), err
}

// submitCommand is `assent submit KIND`: the same way in as the verb of the kind's own room.
func submitCommand() *cli.Command {
	return &cli.Command{
		Name: "submit", Usage: "take a payload of a kind as JSON from standard input", ArgsUsage: "KIND",
		UsageText: "assent submit skmb-decision < payload.json\nassent schema skmb-decision --prompt     how to",
		Flags: append([]cli.Flag{&cli.StringFlag{Name: "from", Usage: "of a decision: the open question that it answers: `OPEN-NNN`"}, rootFlag(), formatFlag, dirFlag},
			submitFlags()...),
		Action: func(c *cli.Context) error {
			k, err := findKind(c.Args().First())
			if err == nil && submits()[k.Name] == nil {
				err = invalid("assent schema "+k.Name, "%s is not submitted", k.Name)
				if k.Submitted() {
					err = invalid(k.Command, "%s is submitted for a run", k.Name)
				}
			}
			if err != nil {
				c.App.Metadata["process"].(*Process).started = true
				return err
			}
			return submits()[k.Name](c)
		},
	}
}

// probeCommand judges what a host's route made of the probes.
func probeCommand() *cli.Command {
	return &cli.Command{
		Name: "probe", Usage: "say what a route to a model enforces, from its replies to the probes", ArgsUsage: "KIND",
		UsageText: "assent schema skmb-decision --probe     the payloads: a host asks its model for each, through the route\n" +
			"assent probe skmb-decision < replies    a line for each: {\"probe\":\"…\",\"reply\":\"payload\",\"payload\":{…}}\n" +
			"                                        reply is payload, refusal, incomplete or empty",
		Flags:  []cli.Flag{formatFlag, dirFlag},
		Action: action(1, probe),
	}
}

type probed struct {
	SchemaVersion int           `json:"schema_version"`
	Kind          string        `json:"kind"`
	Probes        []probeResult `json:"probes"`
	NotAsked      []string      `json:"not_asked"`
	Exit          int           `json:"exit"`
}

type probeResult struct {
	Probe   string `json:"probe"`
	Verdict string `json:"verdict"`
}

func probe(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	k, err := findKind(c.Args().First())
	if err == nil && !k.Submitted() {
		err = invalid("assent schema "+k.Name, "%s is not submitted", k.Name)
	}
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(c.input(), int64(boundary.DefaultLimits.Bytes)+1))
	if err == nil && len(data) > boundary.DefaultLimits.Bytes {
		err = fmt.Errorf("more than %d bytes", boundary.DefaultLimits.Bytes)
	}
	replies, readErr := boundary.ReadReplies(data)
	if err != nil || readErr != nil {
		return invalid("assent probe --help", "the replies cannot be read: %v", firstError(err, readErr))
	}
	out := probed{SchemaVersion: 1, Kind: k.Name, Probes: []probeResult{}, NotAsked: []string{}}
	counts, probes := map[string]int{}, k.Probes()
	for i, r := range replies {
		verdict, err := k.JudgeReply(probes, r)
		if err != nil {
			return invalid("assent schema "+k.Name+" --probe", "reply %d: %v", i+1, err)
		}
		counts[verdict]++
		out.Probes = append(out.Probes, probeResult{r.Probe, verdict})
	}
	for _, p := range probes {
		if !slices.ContainsFunc(replies, func(r boundary.Reply) bool { return r.Probe == p.Probe }) {
			out.NotAsked = append(out.NotAsked, p.Probe)
		}
	}
	if counts[boundary.NotEnforced] > 0 {
		out.Exit = finding.ExitFindings
	} else if counts[boundary.NotKnown] > 0 || len(out.NotAsked) > 0 {
		out.Exit = finding.ExitUnchecked
	}
	c.observe(k, counts)
	if asJSON {
		if err := c.printJSON(out); err != nil {
			return err
		}
		return exitWith(out.Exit)
	}
	for _, p := range out.Probes {
		c.out("%-12s  %s", p.Verdict, p.Probe)
	}
	for _, p := range out.NotAsked {
		c.out("%-12s  %s", "not asked", p)
	}
	return exitWith(out.Exit)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// observe notes in the log what was seen of a route. Outside of a repository there is none.
func (c *call) observe(k *boundary.Form, counts map[string]int) {
	_ = c.inStore(c.open, func(r *repo.Repo, s *store.Store) error {
		e := c.entry(r)
		e.Kind, e.Verdict, e.Observed = k.Name, "accepted", boundary.Observed{RouteProbe: counts}
		_, err := s.Update(c.ctx, func(tx *store.Tx) error { _, err := e.Append(tx, c.Now()); return err })
		return err
	})
}
