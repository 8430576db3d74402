package commands

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"assent/config"
	"assent/finding"
	"assent/hooks"
	"assent/install"
	"assent/lint"
	"assent/repo"
	"assent/skmb"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "which programs Git will run here, and whether ours will start",
		UsageText: "assent doctor\nassent doctor --format json",
		Flags:     []cli.Flag{formatFlag, dirFlag},
		Action:    action(0, doctor),
	}
}

func doctor(c *call) error {
	asJSON, err := c.json()
	if err != nil {
		return err
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	d := install.Doctor{Repo: r, Version: Version(), Now: c.Now()}
	if _, err := os.Stat(filepath.Join(hooks.Private(r), "state", "install.json")); err == nil {
		s, err := c.store(r)
		if err != nil {
			return err
		}
		defer s.Close()
		if d.State, _, err = install.Remembered(s, r); err != nil {
			return err
		}
	}
	diagnosis, err := d.Diagnose(c.ctx)
	if err != nil {
		return err
	}
	if !r.Bare() {
		diagnosis.Findings = append(diagnosis.Findings, baseFaults(r)...)
	}
	report := finding.Report{Result: finding.Result{Findings: diagnosis.Findings}, Color: c.color()}
	report.Add(finding.Result{})
	if asJSON {
		if err := c.printJSON(diagnosed(diagnosis, report)); err != nil {
			return err
		}
		return exitWith(report.Exit())
	}
	c.out("git %s, hooks in %s", diagnosis.Git, diagnosis.Dir)
	for _, p := range diagnosis.Programs {
		state := ""
		if !p.Starts {
			state = "  does not start"
		}
		where := ""
		switch {
		case p.Binary != "":
			where = " runs " + p.Binary
		case p.Calls:
			where = " calls assent"
		}
		if p.Scope != "" {
			where += "  (" + p.Scope + " configuration, " + p.Origin + ")"
		}
		c.out("%-17s %-10s %s%s%s", p.Event, p.Kind, p.What, where, state)
	}
	if err := finding.WriteText(c.Stderr, report); err != nil {
		return err
	}
	for _, n := range diagnosis.Notes {
		c.say("note: %s", n)
	}
	return exitWith(report.Exit())
}

// baseFaults are configuration and baseline that cannot be read, and bases that are not there.
func baseFaults(r *repo.Repo) []finding.Finding {
	disk := repo.Disk(r.Root)
	fault := func(name, path, message, fix string) finding.Finding {
		for _, k := range install.Codes {
			if k.Code == "install/"+name {
				return finding.Finding{Code: k.Code, Title: k.Title, Severity: k.Severity, Path: path, Key: path, Message: message, Fix: fix}
			}
		}
		panic("no code " + name)
	}
	conf, err := config.Load(disk)
	if err != nil {
		return []finding.Finding{fault("config", config.Name, err.Error(), "mend it")}
	}
	var out []finding.Finding
	if _, err := lint.ReadBaseline(disk, conf.Baseline); err != nil {
		out = append(out, fault("config", conf.Baseline, err.Error(), "mend it"))
	}
	for _, root := range conf.Skmb.Roots {
		if _, err := disk.Stat(skmb.IndexPath(root)); err != nil {
			out = append(out, fault("base", root, "there is no decision base: nothing is judged there", "assent init"))
		}
	}
	return out
}

type jsonDiagnosis struct {
	SchemaVersion int               `json:"schema_version"`
	Git           string            `json:"git"`
	Hooks         string            `json:"hooks"`
	Programs      []install.Program `json:"programs"`
	Findings      []jsonProblem     `json:"findings"`
	Notes         []string          `json:"notes"`
	Exit          int               `json:"exit"`
}

type jsonProblem struct {
	Code     string           `json:"code"`
	Severity finding.Severity `json:"severity"`
	Path     string           `json:"path,omitzero"`
	Message  string           `json:"message"`
	Fix      string           `json:"fix,omitzero"`
}

func diagnosed(d install.Diagnosis, r finding.Report) jsonDiagnosis {
	out := jsonDiagnosis{1, d.Git, d.Dir, append([]install.Program{}, d.Programs...), []jsonProblem{}, append([]string{}, d.Notes...), r.Exit()}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, jsonProblem{f.Code, f.Severity, f.Path, f.Message, f.Fix})
	}
	return out
}
