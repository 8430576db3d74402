package commands

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"assent/boundary"
	"assent/finding"
	"assent/repo"
	"assent/skmb"
)

func newCommand() *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "propose a decision as a person: asks on a terminal, else opens the editor",
		UsageText: "skmb new\nskmb new --edit            a form in the editor, on a terminal too\nskmb new --form FILE       a form that was filled in before",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "edit", Usage: "fill in a form in the editor"},
			&cli.StringFlag{Name: "form", Usage: "take the form in `FILE`"},
			&cli.StringFlag{Name: "from", Usage: "the open question that it answers: `OPEN-NNN`"},
			rootFlag(), formatFlag, dirFlag,
		},
		Action: action(0, propose),
	}
}

// form is what a person fills in. It is read as strictly as a payload.
const form = `# A proposal. Lines that begin with # do not count. What is left empty is missing.
title: ""
# One or more of A async wait, B state persistence, C concurrent operations, D external
# dependency, E security boundary, F fail semantics, G irreversible action.
patterns: []
# The module or workflow.
scope: ""
# The exact behaviour that will be implemented after approval.
decision: |

# Behaviours, files or tests.
applies_to:
  - ""
# What is known; the choices; the safer one; what cannot go on without an answer. Take
# the # away where you need them.
# context: |
#   …
# options:
#   - ""
# recommendation: ""
# needed_before: ""
# supersedes:
#   - id: SKMB-…
# paths: []
`

// propose gets a person's proposal and submits it.
func propose(c *call) error {
	return c.writer(func(w *skmb.Writer, r *repo.Repo) error {
		p, err := c.proposal(r)
		if err != nil {
			return c.proposed(w, r, boundary.Answer{}, skmb.Done{}, err)
		}
		answer, done, err := w.Take(c.ctx, p, c.String("from"), boundary.Door{})
		return c.proposed(w, r, answer, done, err)
	})
}

func (c *call) proposal(r *repo.Repo) (*boundary.Payload[skmb.DecisionPayload], error) {
	in, isFile := c.Stdin.(*os.File)
	switch {
	case c.IsSet("form"):
		data, err := os.ReadFile(c.String("form"))
		if err != nil {
			return nil, invalid("name a form that was filled in", "%v", err)
		}
		return readForm(data, c.String("form"))
	case isFile && term.IsTerminal(int(in.Fd())) && !c.Bool("edit"):
		return c.questions()
	}
	return c.edited(r)
}

func readForm(data []byte, source string) (*boundary.Payload[skmb.DecisionPayload], error) {
	n, vs, err := boundary.ReadYAML(data)
	if err != nil {
		return nil, invalid("correct it: skmb new --form "+source, "%s: %v", source, err)
	}
	p := skmb.DecisionKind.ParseNode(n, vs, source)
	return p, p.Err()
}

// edited opens the form in the editor. What was typed is never lost: a form that is refused
// stays, and its place is named.
func (c *call) edited(r *repo.Repo) (*boundary.Payload[skmb.DecisionPayload], error) {
	editor, err := r.Editor(c.ctx)
	if err != nil {
		return nil, invalid("set GIT_EDITOR, or use skmb new --form FILE", "there is no terminal to ask on, and no editor: %v", err)
	}
	f, err := os.CreateTemp("", "skmb-new-*.yaml")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(form)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := repo.Edit(c.ctx, repo.Command{Dir: r.Root, Env: c.Env, Stdin: c.Stdin}, editor, f.Name(), c.Stderr); err != nil {
		os.Remove(f.Name())
		return nil, invalid("use skmb new --form FILE", "%v", err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	if string(data) == form {
		os.Remove(f.Name())
		return nil, invalid("fill it in", "the form was left as it is; nothing was proposed")
	}
	p, err := readForm(data, f.Name())
	if err == nil {
		os.Remove(f.Name())
	} else {
		c.say("your text is kept; correct it and run: skmb new --form %s", f.Name())
	}
	return p, err
}

// questions asks for each field on the terminal.
func (c *call) questions() (*boundary.Payload[skmb.DecisionPayload], error) {
	in := bufio.NewReader(c.answers())
	line := func(prompt string) string {
		fmt.Fprintf(c.Stderr, "%s: ", prompt)
		text, _ := in.ReadString('\n')
		return strings.TrimSpace(text)
	}
	lines := func(prompt string) (out []string) {
		fmt.Fprintf(c.Stderr, "%s, one a line; an empty line ends\n", prompt)
		for {
			if text := line("  "); text == "" {
				return out
			} else {
				out = append(out, text)
			}
		}
	}
	prose := func(prompt string) string {
		fmt.Fprintf(c.Stderr, "%s; a line with a single dot ends\n", prompt)
		var out []string
		for {
			text, err := in.ReadString('\n')
			if text = strings.TrimRight(text, "\r\n"); text == "." || err != nil {
				return strings.Trim(strings.Join(out, "\n"), "\n")
			}
			out = append(out, text)
		}
	}
	for _, p := range skmb.Patterns {
		fmt.Fprintf(c.Stderr, "  %s  %s\n", p.Letter, p.Title)
	}
	payload := skmb.DecisionPayload{Title: line("title")}
	for _, word := range strings.FieldsFunc(line("patterns, letters A to G"), func(r rune) bool { return r == ' ' || r == ',' }) {
		payload.Patterns = append(payload.Patterns, skmb.PatternName(strings.ToUpper(word)))
	}
	payload.Scope = line("scope: the module or workflow")
	payload.Decision = prose("decision: the exact behaviour")
	payload.AppliesTo = lines("applies to: behaviours, files, tests")
	payload.Context = prose("context, may be empty")
	payload.Options = lines("options, may be none")
	payload.Recommendation = line("recommendation, may be empty")
	payload.NeededBefore = line("needed before, may be empty")
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	n, vs := boundary.ReadJSON(bytes.NewReader(data), boundary.DefaultLimits)
	p := skmb.DecisionKind.ParseNode(n, vs, "answers")
	return p, p.Err()
}

// proposed prints what became of a proposal.
func (c *call) proposed(w *skmb.Writer, r *repo.Repo, answer boundary.Answer, done skmb.Done, err error) error {
	asJSON, formatErr := c.json()
	if formatErr != nil {
		return formatErr
	}
	var refusal *boundary.Refusal
	if errors.As(err, &refusal) {
		fmt.Fprintln(c.Stderr, finding.CleanLines(refusal.Error()))
		if asJSON {
			if err := c.printJSON(refusal.Document()); err != nil {
				return err
			}
		}
		c.refused = true
		return exit(refusal.ExitCode())
	}
	if err != nil {
		return withHint(err)
	}
	if asJSON {
		return c.printJSON(answer)
	}
	if answer.Replayed {
		c.say("this was submitted before: the answer is the same, and nothing was written")
	}
	c.out("%s", answer.IDs[0])
	b, err := skmb.Load(repo.Disk(r.Root), w.Root)
	if err != nil || b == nil {
		return err
	}
	if rec, ok := b.Record(answer.IDs[0]); ok {
		fmt.Fprintf(c.Stdout, "\n%s", finding.CleanLines(rec.Checkpoint(b)))
	}
	c.sayFiles(r, done)
	return nil
}
