package approval

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"assent/repo"
)

// A signature is made and verified by ssh-keygen(1) in the namespace "assent", so that a
// key that signs commits does not approve by accident. It shows that the holder of a
// listed key signed exactly the statement; not that the holder read it.

// Namespace is the SSH signature namespace of approvals.
const Namespace = "assent"

// Signers are the trust roots: who may sign, and which keys are revoked. They are read
// from a commit that the judged change cannot alter.
type Signers struct {
	Allowed []byte // lines `principal namespaces="assent" keytype key`
	Revoked []byte // OpenSSH public keys or a key revocation list; may be empty
}

var signerLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\s"]+)\s+((?:[a-z-]+(?:="[^"]*")?,)*namespaces="assent"(?:,[a-z-]+(?:="[^"]*")?)*)\s+(\S+)\s+(\S+)(\s.*)?$`)
})

// Check holds every line of the signers file to name one principal and the namespace.
// ssh-keygen takes wildcards and lines without a namespace; both would let a key approve
// that was never listed for it.
func (s Signers) Check() error {
	lines := bufio.NewScanner(bytes.NewReader(s.Allowed))
	keys := 0
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := signerLine().FindStringSubmatch(line)
		switch {
		case m == nil:
			return fmt.Errorf(`line %d of the signers file is not of the form: principal namespaces="assent" key`, n)
		case strings.ContainsAny(m[1], "*?!,"):
			return fmt.Errorf("line %d of the signers file: %q is no single principal", n, m[1])
		}
		keys++
	}
	if keys == 0 {
		return ErrNoSigners
	}
	return lines.Err()
}

// Errors of signatures.
var (
	ErrNoSigners = errors.New("approval/no-signers: nobody is listed who may sign")
	ErrBadSign   = errors.New("the signature does not hold")
	ErrNoKeygen  = errors.New("ssh-keygen of OpenSSH 8.8 or newer is needed for signatures")
)

// Signature is what a verified signature says of itself.
type Signature struct {
	Principal   string
	KeyType     string
	Fingerprint string // SHA256:…
	Touch       bool   // a hardware key whose touch flag is set, and signed
}

// Verify checks an armored SSH signature over a statement. The keys must have been valid
// when the statement was issued.
func (s Signers) Verify(ctx context.Context, env []string, statement Statement, armored string) (Signature, error) {
	if err := s.Check(); err != nil {
		return Signature{}, err
	}
	key := sha256.Sum256([]byte(fmt.Sprintf("%q%q%q%q", s.Allowed, s.Revoked, statement.Text(), armored)))
	if sig, ok := verified.Load(key); ok {
		return sig.(Signature), nil
	}
	sig, err := s.verify(ctx, env, statement, armored)
	if err == nil {
		verified.Store(key, sig)
	}
	return sig, err
}

// verified are the signatures that hold, by the digest of all that decides it: several checks
// ask for the same ones, and each costs two processes.
var verified sync.Map

func (s Signers) verify(ctx context.Context, env []string, statement Statement, armored string) (Signature, error) {
	sig, err := parseSignature([]byte(armored))
	if err != nil {
		return Signature{}, fmt.Errorf("%w: %w", ErrBadSign, err)
	}
	dir, err := os.MkdirTemp("", "assent-signers-")
	if err != nil {
		return Signature{}, err
	}
	defer os.RemoveAll(dir)
	allowed, revoked, file := filepath.Join(dir, "allowed"), filepath.Join(dir, "revoked"), filepath.Join(dir, "signature")
	if err := errors.Join(os.WriteFile(allowed, s.Allowed, 0o600), os.WriteFile(revoked, s.Revoked, 0o600), os.WriteFile(file, []byte(armored), 0o600)); err != nil {
		return Signature{}, err
	}
	at := "verify-time=" + statement.Issued.UTC().Format("20060102150405")
	out, err := keygen(ctx, env, dir, "", "-Y", "find-principals", "-f", allowed, "-s", file, "-O", at)
	if err != nil {
		return Signature{}, err
	}
	sig.Principal, _, _ = strings.Cut(strings.TrimSpace(string(out.Stdout)), "\n")
	if out.Code != 0 || sig.Principal == "" {
		return Signature{}, fmt.Errorf("%w: the key is not listed", ErrBadSign)
	}
	args := []string{"-Y", "verify", "-n", Namespace, "-I", sig.Principal, "-f", allowed, "-s", file, "-O", at}
	if len(bytes.TrimSpace(s.Revoked)) > 0 {
		args = append(args, "-r", revoked)
	}
	if out, err = keygen(ctx, env, dir, statement.Text(), args...); err != nil {
		return Signature{}, err
	}
	if out.Code != 0 {
		return Signature{}, fmt.Errorf("%w: it is over another text, in another namespace, or by a key that is expired or revoked", ErrBadSign)
	}
	return sig, nil
}

// Sign asks ssh-keygen to sign a statement with a key file, a public key whose private
// half an agent holds, or a hardware key. ssh-keygen may ask for a passphrase or a touch.
func Sign(ctx context.Context, env []string, key string, statement Statement) (armored string, err error) {
	dir, err := os.MkdirTemp("", "assent-sign-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if strings.HasPrefix(key, "ssh-") || strings.HasPrefix(key, "key::") { // a public key, as Git's user.signingKey may be
		public := strings.TrimPrefix(key, "key::")
		key = filepath.Join(dir, "key.pub")
		if err := os.WriteFile(key, []byte(public+"\n"), 0o600); err != nil {
			return "", err
		}
	} else if key, err = filepath.Abs(key); err != nil { // ssh-keygen runs elsewhere
		return "", err
	}
	file := filepath.Join(dir, "statement")
	if err := os.WriteFile(file, []byte(statement.Text()), 0o600); err != nil {
		return "", err
	}
	out, err := keygen(ctx, env, dir, "", "-q", "-Y", "sign", "-n", Namespace, "-f", key, file)
	if err != nil {
		return "", err
	}
	if out.Code != 0 {
		return "", fmt.Errorf("ssh-keygen could not sign with %s: %s", key, out.Stderr)
	}
	data, err := os.ReadFile(file + ".sig")
	return string(data), err
}

func keygen(ctx context.Context, env []string, dir, stdin string, args ...string) (repo.Output, error) {
	if _, err := repo.LookPath("ssh-keygen"); err != nil {
		return repo.Output{}, ErrNoKeygen
	}
	env = append(env[:len(env):len(env)], "TZ=UTC", "LC_ALL=C")
	return repo.Run(ctx, repo.Command{Name: "ssh-keygen", Args: args, Dir: dir, Env: env, Stdin: strings.NewReader(stdin), Timeout: 2 * time.Minute})
}

// parseSignature reads the public key and the touch flag out of an armored SSH signature
// (OpenSSH PROTOCOL.sshsig). For hardware keys the signature ends in a flag byte and a
// counter, both covered by it; bit 0 of the flags is the touch.
func parseSignature(armored []byte) (Signature, error) {
	block, rest := pem.Decode(armored)
	if block == nil || block.Type != "SSH SIGNATURE" || len(bytes.TrimSpace(rest)) > 0 {
		return Signature{}, errors.New("it is no SSH signature")
	}
	blob, ok := bytes.CutPrefix(block.Bytes, []byte("SSHSIG"))
	if !ok || len(blob) < 4 || binary.BigEndian.Uint32(blob) != 1 {
		return Signature{}, errors.New("it is no SSH signature of version 1")
	}
	blob = blob[4:]
	var parts [5][]byte // public key, namespace, reserved, hash algorithm, signature
	for i := range parts {
		if parts[i], blob, ok = cutString(blob); !ok {
			return Signature{}, errors.New("the SSH signature is cut off")
		}
	}
	if string(parts[1]) != Namespace {
		return Signature{}, fmt.Errorf("it is in the namespace %q", parts[1])
	}
	kind, _, ok := cutString(parts[0])
	if !ok {
		return Signature{}, errors.New("its key cannot be read")
	}
	sum := sha256.Sum256(parts[0])
	s := Signature{KeyType: string(kind), Fingerprint: "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])}
	if strings.HasPrefix(s.KeyType, "sk-") {
		_, inner, ok := cutString(parts[4]) // the algorithm
		if ok {
			_, inner, ok = cutString(inner)
		}
		if !ok || len(inner) < 5 {
			return Signature{}, errors.New("the flags of the hardware key are missing")
		}
		s.Touch = inner[0]&1 == 1
	}
	return s, nil
}

// cutString reads an SSH string: a length of four bytes and so many bytes.
func cutString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}
