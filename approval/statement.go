// Package approval records who said yes, how, and to which exact bytes. It knows no
// domain. A yes is given on one text, shown and stored byte for byte; how strong it is,
// and what it does not prove, stands beside it.
package approval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"assent/boundary"
	"assent/finding"
)

// Methods, weakest first. A statement is a claim that anybody can write; terminal shows
// that a code which stood only on a terminal was typed there.
const (
	MethodStatement = "statement"
	MethodTerminal  = "terminal"
	MethodSignature = "signature"
)

// Level orders the methods by what they show. Policy asks for a level.
type Level int

const (
	LevelNone Level = iota
	LevelStatement
	LevelTerminal
	LevelSignature
	LevelTouch // a signature by a hardware key that somebody touched
)

func (l Level) String() string {
	return [...]string{"none", "statement", "terminal", "signature", "signature of a touched key"}[l]
}

// LevelOf is the level of a method by its name; a touch is known only from the signature.
func LevelOf(method string) Level {
	switch method {
	case MethodStatement:
		return LevelStatement
	case MethodTerminal:
		return LevelTerminal
	case MethodSignature:
		return LevelSignature
	}
	return LevelNone
}

// Given is a yes: how it was given, on which statement, and what that left behind.
type Given struct {
	Method    string
	Statement Statement
	Proof     Proof
}

// Statement is the text that is approved: header lines in a fixed order, an empty line,
// the card, a final newline.
type Statement struct {
	Domain     string // skmb, install
	Action     string
	Subject    string
	Digest     string // hex SHA-256 of what is approved
	Repository string // 32 hex
	Issued     time.Time
	Nonce      string // 32 hex; two records with one nonce are a forgery
	Card       string // what a person reads
}

// Life is how long a yes may be given after the statement was issued.
const Life = 24 * time.Hour

const stampForm = "2006-01-02T15:04:05Z"

// NewNonce returns 32 random hex digits.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Text is the statement byte for byte.
func (s Statement) Text() string {
	return fmt.Sprintf("assent-statement: 1\ndomain: %s\naction: %s\nsubject: %s\ndigest: sha256:%s\nrepository: %s\nissued: %s\nexpires: %s\nnonce: %s\n\n%s\n",
		s.Domain, s.Action, s.Subject, s.Digest, s.Repository, s.Issued.UTC().Format(stampForm), s.Issued.Add(Life).UTC().Format(stampForm), s.Nonce, strings.TrimRight(s.Card, "\n"))
}

// headerForms are the values that have a form of their own.
var headerForms = map[string]*regexp.Regexp{
	"digest":     regexp.MustCompile(`^sha256:[0-9a-f]{64}$`),
	"repository": regexp.MustCompile(`^[0-9a-f]{32}$`),
	"nonce":      regexp.MustCompile(`^[0-9a-f]{32}$`),
}

// ParseStatement reads a statement's header. What it returns gives back the same text. A
// text that a terminal would not show as it is cannot have been approved as it is.
func ParseStatement(text string) (Statement, error) {
	head, card, ok := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	keys := []string{"assent-statement", "domain", "action", "subject", "digest", "repository", "issued", "expires", "nonce"}
	if !ok || len(lines) != len(keys) {
		return Statement{}, errors.New("the statement has not the header lines it must have")
	}
	values := make([]string, len(keys))
	for i, k := range keys {
		if values[i], ok = strings.CutPrefix(lines[i], k+": "); !ok {
			return Statement{}, fmt.Errorf("line %d of the statement is not %s", i+1, k)
		}
		if form := headerForms[k]; form != nil && !form.MatchString(values[i]) {
			return Statement{}, fmt.Errorf("line %d of the statement: %q is no %s", i+1, values[i], k)
		}
	}
	s := Statement{Domain: values[1], Action: values[2], Subject: values[3], Digest: strings.TrimPrefix(values[4], "sha256:"), Repository: values[5], Nonce: values[8], Card: strings.TrimSuffix(card, "\n")}
	var err error
	if s.Issued, err = time.Parse(stampForm, values[6]); err != nil {
		return Statement{}, err
	}
	if s.Text() != text || finding.CleanLines(text) != text {
		return Statement{}, errors.New("the statement is not in its one form")
	}
	return s, nil
}

// Record is a yes. It has no submit channel.
type Record struct {
	boundary.Envelope
	Statement string `json:"statement" jsonschema:"minLength=1,maxLength=65536" text:"lines" jsonschema_description:"the text that was approved, byte for byte"`
	Method    string `json:"method" jsonschema:"minLength=1,maxLength=40" text:"line" jsonschema_description:"how the yes was given"`
	GivenAt   string `json:"given_at" jsonschema:"minLength=20,maxLength=20" text:"line" jsonschema_description:"when: RFC 3339, UTC, whole seconds"`
	By        Person `json:"by" jsonschema_description:"the Git identity that recorded it: a claim"`
	Proof     Proof  `json:"proof" jsonschema_description:"what the method leaves behind"`
}

// Kind is the form of the record. Nobody submits one.
var Kind = boundary.DefineRecord[Record](boundary.Form{Name: "approval", Version: 1, Prefix: "AP", Home: boundary.Tracked})

// Person is a Git identity: a claim.
type Person struct {
	Name  string `json:"name" jsonschema:"maxLength=1000" text:"lines" jsonschema_description:"user.name"`
	Email string `json:"email" jsonschema:"maxLength=1000" text:"lines" jsonschema_description:"user.email"`
}

// Proof is what the method leaves behind.
type Proof struct {
	Foreground  bool   `json:"foreground,omitzero" jsonschema_description:"the program was in the foreground of its terminal"`
	Tries       int    `json:"tries,omitzero" jsonschema:"minimum=0,maximum=100" jsonschema_description:"how often the code was typed"`
	ShownSHA256 string `json:"shown_sha256,omitzero" jsonschema:"maxLength=64" text:"line" jsonschema_description:"SHA-256 of the statement that was shown"`
	Principal   string `json:"principal,omitzero" jsonschema:"maxLength=1000" text:"lines" jsonschema_description:"who the signers file says the key belongs to"`
	KeyType     string `json:"key_type,omitzero" jsonschema:"maxLength=100" text:"line" jsonschema_description:"type of the key"`
	Fingerprint string `json:"fingerprint,omitzero" jsonschema:"maxLength=100" text:"line" jsonschema_description:"SHA-256 fingerprint of the key"`
	Signature   string `json:"signature,omitzero" jsonschema:"maxLength=16384" text:"lines" jsonschema_description:"armored SSHSIG"`
	Touch       bool   `json:"touch,omitzero" jsonschema_description:"somebody touched the key for this text"`
}

// Path is where the record of an id stands, from the top of the repository.
func Path(id string) string { return Kind.Path(id) }

// Seal makes the record of a yes, in its stored form. A statement that would not read back
// is refused.
func Seal(g Given, by Person, basis boundary.Basis, tool string, at time.Time) (id string, data []byte, err error) {
	s := g.Statement
	if _, err := ParseStatement(s.Text()); err != nil {
		return "", nil, err
	}
	r := Record{
		Envelope:  boundary.Envelope{SchemaVersion: 1, Kind: "approval", CreatedAt: at.UTC().Format(time.RFC3339), Basis: basis, RequestSHA256: s.Digest, Parents: []string{}, ToolVersion: tool},
		Statement: s.Text(), Method: g.Method, GivenAt: at.UTC().Format(time.RFC3339), By: by, Proof: g.Proof,
	}
	return Kind.Seal(&r, func(id string) { r.ID = id }, at)
}

// RepositoryFile holds the id of the repository, which approvals are bound to.
const RepositoryFile = ".assent/repository.json"

// Want is what a record must approve. Empty Actions, Repository and Card are not compared.
type Want struct {
	ID, Domain, Subject, Digest string
	Actions                     []string // any of these
	Repository, Card            string
}

// Verify reads a stored record and holds it against what it must approve; a signature is
// verified against the trust roots. It is the one reader of approvals for the checks of all
// domains. The error says what does not hold.
func Verify(ctx context.Context, env []string, data []byte, want Want, trust Signers) (Statement, Level, error) {
	r, s, err := verifyForm(data, want)
	if err != nil || r.Method != MethodSignature {
		return s, LevelOf(r.Method), err
	}
	sig, err := trust.Verify(ctx, env, s, r.Proof.Signature)
	switch {
	case err != nil:
		return s, LevelNone, err
	case sig.Principal != r.Proof.Principal || sig.Fingerprint != r.Proof.Fingerprint || sig.Touch != r.Proof.Touch:
		return s, LevelNone, errors.New("its proof says something else than its signature")
	case sig.Touch:
		return s, LevelTouch, nil
	}
	return s, LevelSignature, nil
}

func verifyForm(data []byte, want Want) (r Record, s Statement, err error) {
	if err := Kind.Unseal(data, &r); err != nil {
		return r, s, err
	}
	if s, err = ParseStatement(r.Statement); err != nil {
		return r, s, err
	}
	given, err := time.Parse(time.RFC3339, r.GivenAt)
	shown := sha256.Sum256([]byte(r.Statement))
	switch {
	case err != nil:
		return r, s, err
	case LevelOf(r.Method) == LevelNone:
		return r, s, fmt.Errorf("%q is no method of saying yes", r.Method)
	case r.Method == MethodTerminal && r.Proof.ShownSHA256 != hex.EncodeToString(shown[:]):
		return r, s, errors.New("another text was shown than the one that it holds")
	case r.ID != want.ID:
		return r, s, fmt.Errorf("it is the record %s", r.ID)
	case s.Domain != want.Domain || s.Subject != want.Subject:
		return r, s, fmt.Errorf("it approves %s %s", s.Domain, s.Subject)
	case s.Digest != want.Digest:
		return r, s, errors.New("it approves another text")
	case len(want.Actions) > 0 && !slices.Contains(want.Actions, s.Action):
		return r, s, fmt.Errorf("it is a yes to another act: %s", s.Action)
	case want.Repository != "" && s.Repository != want.Repository:
		return r, s, errors.New("it was given in another repository")
	case want.Card != "" && strings.TrimRight(s.Card, "\n") != strings.TrimRight(want.Card, "\n"):
		return r, s, errors.New("another text was shown than the one that stands there")
	case given.Before(s.Issued) || given.After(s.Issued.Add(Life)):
		return r, s, errors.New("it was given outside of the time in which the statement could be approved")
	}
	return r, s, nil
}

// Codes are the refusals of this room, for the manual and `assent explain`.
var Codes = []finding.Check{
	{Code: "approval/no-terminal", Severity: finding.Error, Title: "there is no terminal to ask on", Doc: "A yes on a terminal is typed by a person: run the command on a terminal of your own, in the foreground, outside of an agent's session; or record what was said with --statement, or sign."},
	{Code: "approval/declined", Severity: finding.Error, Title: "the code was not typed", Doc: "Three tries or ten minutes passed. Nothing was approved; run the command again."},
	{Code: "approval/level", Severity: finding.Error, Title: "the policy asks for a stronger yes", Doc: "approval.required in .assent.yaml asks for a code typed on a terminal, or for a signature. Leave --statement out, or use --sign."},
	{Code: "approval/signature", Severity: finding.Error, Title: "the signature does not hold", Doc: "It is by a key that .assent/allowed_signers of the last commit does not list, over another text, in another namespace, or by a key that is expired or revoked."},
	{Code: "approval/no-signers", Severity: finding.Error, Title: "nobody is listed who may sign", Doc: "A signature counts against .assent/allowed_signers of the commit before. Commit that file first: lines of the form `principal namespaces=\"assent\" key`."},
}
