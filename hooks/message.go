package hooks

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"assent/finding"
	"assent/lint"
	"assent/skmb"
)

// scissors is the line below which Git drops everything of a message, behind the character
// that begins comments (git-commit(1), "--cleanup").
const scissors = " ------------------------ >8 ------------------------"

// judgeMessage holds the trailers of the message that Git is about to take against the
// bases that will be committed. A message without any starts no process.
func judgeMessage(r *run) error {
	if len(r.Args) == 0 {
		return fmt.Errorf("no file is named to commit-msg")
	}
	name := r.Args[0]
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.repo.Root, name)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Contains(bytes.ToLower(raw), []byte("skmb")) {
		return nil
	}
	at := 0
	for line := range bytes.Lines(raw) {
		text := string(bytes.TrimRight(line, "\r\n"))
		if comment, ok := strings.CutSuffix(text, scissors); ok && utf8.RuneCountInString(comment) == 1 {
			raw = raw[:at]
			break
		}
		at += len(line)
	}
	message, err := r.repo.StripComments(r.ctx, raw)
	if err != nil || len(skmb.Trailers(message)) == 0 {
		return err
	}
	t, err := lint.Staged(r.ctx, r.repo)
	if err != nil {
		return err
	}
	pass := finding.Pass{Ctx: r.ctx, New: t.Tree(), Commits: func() ([]finding.Commit, error) {
		return []finding.Commit{{Message: message}}, nil
	}}
	report := finding.Report{Result: finding.Run(skmb.CommitChecks(skmb.Options{Roots: t.Config.Skmb.Roots}), pass)}
	if r.code = report.Exit(); r.code != finding.ExitOK {
		report.LastHint = "assent: mend the trailers and commit again; the message is in " + strings.TrimPrefix(name, r.repo.Root+string(filepath.Separator))
	}
	r.print(report)
	return nil
}
