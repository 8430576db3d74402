package commands

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"assent/boundary"
	"assent/finding"
	"assent/hooks"
	"assent/store"
)

const callsLog = boundary.CallsLog

func auditCommand() *cli.Command {
	return group(&cli.Command{
		Name: "audit", Usage: "what was written in this clone, and whether the log of it is whole",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "the entries of the log, or one of them", ArgsUsage: "[ID]",
				UsageText: "assent audit show                  the last 20, a line each\nassent audit show log/calls:9      one, as it stands in the log",
				Flags:     []cli.Flag{&cli.IntFlag{Name: "last", Value: 20, Usage: "how `MANY`"}, formatFlag, dirFlag},
				Action:    action(1, showAudit),
			},
			{
				Name: "verify", Usage: "whether every line follows the one before it, to the last that was written",
				UsageText: "assent audit verify",
				Flags:     []cli.Flag{formatFlag, dirFlag},
				Action:    action(0, verifyAudit),
			},
		},
	})
}

// auditEntry is what show reads of a line.
type auditEntry struct {
	Seq     uint64 `json:"seq"`
	At      string `json:"at"`
	ID      string `json:"id"`
	Command string `json:"command"`
	Verdict string `json:"verdict"`
	Outputs []struct {
		ID string `json:"id"`
	} `json:"outputs"`
	line jsontext.Value
}

// ids are those of the records that came of it.
func (e auditEntry) ids() []string {
	var out []string
	for _, o := range e.Outputs {
		if o.ID != "" {
			out = append(out, o.ID)
		}
	}
	return out
}

// inAudit opens the store of a clone that has written something; ok is false for any other.
func (c *call) inAudit(run func(s *store.Store) error) (ok bool, err error) {
	r, err := c.open()
	if err != nil {
		return false, err
	}
	defer r.Close()
	if _, err := os.Stat(hooks.Private(r)); err != nil {
		return false, nil
	}
	s, err := c.store(r)
	if err != nil {
		return false, err
	}
	defer s.Close()
	return true, run(s)
}

func showAudit(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	wanted, err := auditID(c.Args().First())
	if err != nil {
		return err
	}
	if c.Int("last") < 1 {
		return invalid("write --last 20", "%d entries are none", c.Int("last"))
	}
	var found []auditEntry
	written := false
	_, err = c.inAudit(func(s *store.Store) error {
		logs, err := s.Logs(c.ctx)
		if err != nil {
			return err
		}
		written = slices.Contains(logs, callsLog)
		return s.ReadLog(c.ctx, callsLog, func(line []byte) error {
			e := auditEntry{line: slices.Clone(line)}
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("a line of %s cannot be read: %w; see assent audit verify", callsLog, err)
			}
			switch {
			case wanted != "" && e.ID != wanted && strconv.FormatUint(e.Seq, 10) != wanted:
				return nil
			case len(found) == c.Int("last"):
				found = found[1:]
			}
			found = append(found, e)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if wanted != "" && len(found) == 0 {
		return invalid("assent audit show", "there is no entry %s", c.Args().First())
	}
	if asJSON || wanted != "" {
		doc := auditDocument{1, callsLog, []jsontext.Value{}}
		for _, e := range found {
			doc.Entries = append(doc.Entries, e.line)
		}
		return c.printJSON(doc)
	}
	for _, e := range found {
		c.out("%s", strings.TrimRight(fmt.Sprintf("%s:%-5d %s  %-9s %-18s %s", callsLog, e.Seq, e.At, e.Verdict, e.Command, strings.Join(e.ids(), " ")), " "))
	}
	switch {
	case len(found) > 0:
	case written:
		c.say("the log is not as it was written: see assent audit verify")
	default:
		c.say("nothing was written in this clone yet")
	}
	return nil
}

type auditDocument struct {
	SchemaVersion int              `json:"schema_version"`
	Log           string           `json:"log"`
	Entries       []jsontext.Value `json:"entries"`
}

// auditID reads an audit id: log/calls:9, 9, or the id of an entry; "" is none.
func auditID(s string) (string, error) {
	n := strings.TrimPrefix(s, callsLog+":")
	if s == "" || strings.HasPrefix(s, "CL-") {
		return s, nil
	}
	if v, err := strconv.ParseUint(n, 10, 62); err != nil || v == 0 {
		return "", invalid("write assent audit show "+callsLog+":9", "%q is no audit id", s)
	}
	return n, nil
}

type verifiedLog struct {
	Log     string `json:"log"`
	Lines   uint64 `json:"lines"`
	Problem string `json:"problem,omitzero"`
}

type verifiedLogs struct {
	SchemaVersion int           `json:"schema_version"`
	Logs          []verifiedLog `json:"logs"`
	Exit          int           `json:"exit"`
}

func verifyAudit(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	out := verifiedLogs{SchemaVersion: 1, Logs: []verifiedLog{}}
	_, err = c.inAudit(func(s *store.Store) error {
		names, err := s.Logs(c.ctx)
		for _, name := range names {
			rep, err := s.VerifyLog(c.ctx, name)
			if err != nil {
				return err
			}
			if out.Logs = append(out.Logs, verifiedLog{name, rep.Lines, rep.Problem}); rep.Problem != "" {
				out.Exit = finding.ExitFindings
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		if err := c.printJSON(out); err != nil {
			return err
		}
		return exitWith(out.Exit)
	}
	for _, l := range out.Logs {
		if l.Problem != "" {
			c.out("%s: not as it was written: %s", l.Log, l.Problem)
			continue
		}
		c.out("%s: %s, whole", l.Log, finding.Count(int(l.Lines), "line"))
	}
	if len(out.Logs) == 0 {
		c.say("nothing was written in this clone yet")
	}
	return exitWith(out.Exit)
}
