package commands

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"assent/approval"
	"assent/boundary"
	"assent/config"
	"assent/finding"
	"assent/hooks"
	"assent/repo"
	"assent/skmb"
	"assent/store"
)

// yes is how the designer says yes in this call: by quoted words, by a signature, or, if
// nothing else is said, by typing a code on the terminal.
func (c *call) yes(w *skmb.Writer, r *repo.Repo) (skmb.Yes, error) {
	y := skmb.Yes{Statement: c.String("statement"), From: c.String("quoted-from"), Digest: strings.TrimPrefix(c.String("digest"), "sha256:")}
	ways := 0
	for _, name := range []string{"statement", "sign", "print", "signature"} {
		if c.IsSet(name) {
			ways++
		}
	}
	switch {
	case ways > 1:
		return y, invalid("choose one", "--statement, --sign, --print and --signature exclude each other")
	case y.From != "" && !slices.Contains([]string{"chat", "issue", "mail", "meeting"}, y.From):
		return y, invalid("use chat, issue, mail or meeting", "nothing is quoted from %q", y.From)
	case y.From != "" && !c.IsSet("statement"):
		return y, invalid(`add --statement "…"`, "--quoted-from needs the words")
	case c.IsSet("statement"):
		return y, nil
	}
	var made []byte
	y.Repository = func() (id string, _ []byte, err error) {
		id, made, err = c.repositoryID(w, r)
		return id, made, err
	}
	if head, err := r.HeadCommit(); err == nil {
		y.Basis = boundary.Basis{Commit: head.ID, Tree: head.Tree}
	}
	switch {
	case (c.Bool("print") || c.IsSet("signature")) && c.NArg() != 1:
		return y, invalid("name one", "a text is printed or signed elsewhere for one record at a time")
	case c.Bool("print"):
		y.Confirm = func(s approval.Statement) (approval.Given, error) {
			return approval.Given{}, c.printStatement(w, r, s, made)
		}
	case c.IsSet("signature"):
		y.Confirm = func(s approval.Statement) (approval.Given, error) { return c.signedElsewhere(w, r, s) }
	case c.Bool("sign"):
		y.Confirm = func(s approval.Statement) (approval.Given, error) { return c.sign(r, s) }
	default:
		y.Confirm = func(s approval.Statement) (approval.Given, error) {
			g, err := approval.Ask(c.ctx, c.Env, s, fmt.Sprintf("Do you, as the designer, %s %s as it stands above?", strings.ReplaceAll(s.Action, "-", " "), s.Subject))
			if errors.Is(err, approval.ErrNoTerminal) {
				return g, &failure{finding.ExitFindings, err, fmt.Sprintf("run it on your own terminal, or record what the designer said: skmb %s %s --statement \"…\"", s.Action, s.Subject)}
			}
			return g, err
		}
	}
	return y, nil
}

// pendingName is where a statement waits that was printed to be signed elsewhere.
func pendingName(s approval.Statement) store.Name {
	return store.Name{Root: store.Private, Path: "state/approval/" + s.Action + "-" + s.Subject + ".json"}
}

type pendingStatement struct {
	Statement string `json:"statement"`
}

// printStatement prints the text that is to be signed and keeps it, since the signature
// will be over exactly these bytes. Nothing is approved yet. made is the file of the id that the
// text names, if it is not there yet.
func (c *call) printStatement(w *skmb.Writer, r *repo.Repo, s approval.Statement, made []byte) error {
	data, err := json.Marshal(pendingStatement{s.Text()})
	if err != nil {
		return err
	}
	_, err = w.Store.Update(c.ctx, func(tx *store.Tx) error {
		old, err := tx.Read(pendingName(s))
		if err != nil {
			return err
		}
		if made != nil {
			if err := tx.Put(store.Record, repositoryName, made, ""); err != nil {
				return err
			}
		}
		return tx.Put(store.State, pendingName(s), append(data, '\n'), old.Digest)
	})
	if err != nil {
		return err
	}
	if made != nil {
		c.say("changed, to be added: git add %s", finding.Shell(c.fromHere(r, approval.RepositoryFile)))
	}
	if _, err := fmt.Fprint(c.Stdout, s.Text()); err != nil {
		return err
	}
	c.say("sign exactly this text (ssh-keygen -Y sign -n assent -f KEY FILE), then: skmb %s %s --signature FILE.sig", s.Action, s.Subject)
	return exit(finding.ExitOK)
}

// signedElsewhere takes the signature of a statement that was printed before.
func (c *call) signedElsewhere(w *skmb.Writer, r *repo.Repo, now approval.Statement) (g approval.Given, err error) {
	armored, err := os.ReadFile(c.String("signature"))
	if err != nil {
		return g, invalid("name the file that ssh-keygen wrote", "%v", err)
	}
	var f store.File
	if err := w.Store.View(c.ctx, func(rd *store.Reader) (err error) { f, err = rd.Read(pendingName(now)); return err }); err != nil {
		return g, err
	}
	var p pendingStatement
	if f.Digest == "" {
		return g, invalid(fmt.Sprintf("skmb %s %s --print", now.Action, now.Subject), "no text was printed to be signed for %s", now.Subject)
	}
	if err := json.Unmarshal(f.Data, &p); err != nil {
		return g, err
	}
	s, err := approval.ParseStatement(p.Statement)
	switch {
	case err != nil:
		return g, err
	case s.Digest != now.Digest || s.Card != strings.TrimRight(now.Card, "\n") || s.Repository != now.Repository:
		return g, &skmb.StaleError{Text: fmt.Sprintf("%s changed since its text was printed; print and sign it again", s.Subject)}
	case c.Now().After(s.Issued.Add(approval.Life)):
		return g, &skmb.StaleError{Text: "the text was printed more than a day ago; print and sign it again"}
	}
	if used, err := nonceUsed(r, s.Nonce); err != nil || used {
		return g, cmp.Or(err, error(&skmb.StaleError{Text: "this text was approved already; print and sign it again"}))
	}
	return c.verified(r, s, string(armored))
}

// nonceUsed reports whether an approval record on disk is of the statement with a nonce.
func nonceUsed(r *repo.Repo, nonce string) (bool, error) {
	dir := filepath.Join(r.Root, ".assent", "approval")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return false, err
		}
		if strings.Contains(string(data), "nonce: "+nonce) {
			return true, nil
		}
	}
	return false, err
}

// sign signs a statement with a key of the caller.
func (c *call) sign(r *repo.Repo, s approval.Statement) (approval.Given, error) {
	key := c.String("key")
	if key == "" {
		var err error
		if key, err = r.SigningKey(c.ctx); err != nil {
			return approval.Given{}, err
		}
		if key == "" {
			return approval.Given{}, invalid("--sign --key ~/.ssh/id_ed25519", "no key is named, and Git's user.signingKey is no SSH key")
		}
	}
	fmt.Fprint(c.Stderr, finding.CleanLines(s.Text()))
	armored, err := approval.Sign(c.ctx, c.Env, key, s)
	if err != nil {
		return approval.Given{}, err
	}
	return c.verified(r, s, armored)
}

// verified is a signature that holds against the signers of HEAD: a change cannot name its
// own.
func (c *call) verified(r *repo.Repo, s approval.Statement, armored string) (g approval.Given, err error) {
	head, err := r.Commit(c.ctx, "HEAD")
	if err != nil {
		return g, fmt.Errorf("the signers are those of HEAD: %w", err)
	}
	conf, err := config.Load(head)
	if err != nil {
		return g, err
	}
	signers, err := hooks.Signers(head, conf)
	if err != nil {
		return g, err
	}
	sig, err := signers.Verify(c.ctx, c.Env, s, armored)
	if err == nil && conf.Approval.Touch && !sig.Touch {
		err = errors.New("the policy asks for a hardware key that was touched")
	}
	if err != nil {
		code := finding.ExitFindings
		if errors.Is(err, approval.ErrNoKeygen) {
			code = finding.ExitUnchecked
		}
		return g, &failure{code, fmt.Errorf("approval/signature: %w; nothing was approved", err), "who may sign stands in " + conf.Approval.AllowedSigners + " of the last commit"}
	}
	return approval.Given{Method: approval.MethodSignature, Statement: s, Proof: approval.Proof{
		Principal: sig.Principal, KeyType: sig.KeyType, Fingerprint: sig.Fingerprint, Signature: armored, Touch: sig.Touch,
	}}, nil
}

// consent asks a person on a terminal whether exactly what the lines say shall be done. It is
// for what nothing brings back: no flag, variable or pipe stands in for it.
func (c *call) consent(domain, act, subject string, lines []string, question string) error {
	card := strings.Join(lines, "\n")
	sum := sha256.Sum256([]byte(card))
	_, err := approval.Ask(c.ctx, c.Env, approval.Statement{
		Domain: domain, Action: act, Subject: subject, Digest: hex.EncodeToString(sum[:]), Repository: "-",
		Issued: c.Now().UTC().Truncate(time.Second), Nonce: approval.NewNonce(), Card: card,
	}, question)
	if errors.Is(err, approval.ErrNoTerminal) {
		return &failure{finding.ExitFindings, err, "run it on your own terminal"}
	}
	return err
}
