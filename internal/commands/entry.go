package commands

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assent/boundary"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
	"assent/store"
)

// path is the words that lead to the command, as the table of effects has them.
func (c *call) path() string {
	var words []string
	for _, ctx := range c.Lineage() {
		if ctx.Command != nil && ctx.Command.Name != "" && ctx.Command.Name != c.App.Name {
			words = append(words, ctx.Command.Name)
		}
	}
	slices.Reverse(words)
	if c.App.Name != "assent" {
		words = append([]string{c.App.Name}, words...)
	}
	return strings.Join(slices.Compact(words), " ")
}

// effect is what the command can do in the form in which it was called.
func (c *call) effect() effect {
	name := c.path()
	var base effect
	for _, e := range effects {
		form, flag, ok := strings.Cut(e.form, " --")
		switch {
		case form != name:
		case !ok:
			base = e
		case c.IsSet(flag):
			return e
		}
	}
	return base
}

// entry begins the entry that the log will have of this call.
func (c *call) entry(r *repo.Repo) boundary.Call {
	if c.logged == nil {
		c.logged = new(boundary.Logged)
	}
	e := boundary.Call{Command: c.path(), Class: string(c.effect().class), Args: c.redacted(), Tool: boundary.Tool{Version: "assent " + Version()}}
	if head, err := r.HeadCommit(); err == nil {
		e.Snapshot = boundary.Snapshot{Commit: head.ID, Tree: head.Tree}
		e.Snapshot.ObjectFormat, _ = r.Format(c.ctx)
	}
	return e.Begin(c.begun, c.logged)
}

// plainFlags are flags whose values are words of our own.
var plainFlags = []string{"format", "status", "part", "profile", "method", "gate", "hooks", "resolve", "fail-on", "color", "quoted-from", "last"}

// isPlain reports whether an argument names something of ours: an id, or a word.
func isPlain(s string) bool {
	prefix, rest, id := strings.Cut(s, "-")
	if id && prefix != "" && len(prefix) <= 6 && strings.Trim(prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return rest != "" && len(rest) <= 80 && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") == ""
	}
	return len(s) > 1 && len(s) <= 41 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz.-") == "" && s[0] >= 'a'
}

// redacted is the command line as far as it may be kept: the names of flags, values that are
// words of our own, and ids. Everything else is a dot: texts, paths and credentials alike.
func (c *call) redacted() []string {
	out := []string{}
	for _, name := range c.LocalFlagNames() {
		i := slices.IndexFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if i >= 0 && c.Command.Flags[i].Names()[0] != name {
			continue // another name of the same flag
		}
		value := "=."
		if i >= 0 {
			if _, ok := c.Command.Flags[i].(*cli.BoolFlag); ok {
				value = ""
			}
		}
		if slices.Contains(plainFlags, name) && isPlain(c.String(name)) {
			value = "=" + c.String(name)
		}
		out = append(out, "--"+name+value)
	}
	slices.Sort(out)
	for _, a := range c.Args().Slice() {
		if !isPlain(a) || boundary.Secret(a) != "" {
			a = "."
		}
		out = append(out, a)
	}
	return out
}

// logAfter notes a call that can change something and has not been noted yet: what it did is
// not a file of the store, or a policy refused it. A call that was no good request or came too
// late, a clone in which nothing was ever written, and a log that is busy, are left alone.
func (c *call) logAfter(err error) {
	if err != nil && slices.Contains([]int{finding.ExitInvalid, finding.ExitStale, finding.ExitBusy}, exitCode(err)) {
		return
	}
	noted := c.logged != nil && c.logged.Done() && (err == nil || exitCode(err) == finding.ExitOK || c.refused)
	if c.effect().class == readOnly || c.effect().class == "" || noted || strings.HasPrefix(c.path(), "agentsmd ") { // those have a log of their own
		return
	}
	r, openErr := c.open()
	if openErr != nil {
		return
	}
	defer r.Close()
	if _, err := os.Stat(hooks.Private(r)); err != nil {
		return
	}
	s, openErr := store.Open(store.Options{Private: hooks.Private(r), Share: r.Share(), Now: c.Now, LockWait: time.Second})
	if openErr != nil {
		return
	}
	defer s.Close()
	e := c.entry(r)
	switch code := exitCode(err); {
	case c.recovered:
		e.Verdict = "recovered"
	case err == nil, code == finding.ExitOK:
		e.Verdict = "accepted"
	default:
		e.Verdict = "refused"
	}
	_, _ = s.Update(c.ctx, func(tx *store.Tx) error { _, err := e.Append(tx, c.Now()); return err })
}
