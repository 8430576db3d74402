package approval

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sshString is an SSH string: its length, then its bytes.
func sshString(parts ...string) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
	}
	return out
}

// armored is a signature of a made-up key: enough to be parsed, not to be verified.
func armored(keyType, namespace string, tail []byte) string {
	key := string(sshString(keyType, "key bytes"))
	inner := string(append(sshString(keyType, "signature bytes"), tail...))
	blob := append([]byte("SSHSIG\x00\x00\x00\x01"), sshString(key, namespace, "", "sha512", inner)...)
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: blob}))
}

func TestTheTouchIsReadFromTheSignature(t *testing.T) {
	for _, c := range []struct {
		name, keyType, namespace string
		tail                     []byte
		touch                    bool
		why                      string
	}{
		{"a hardware key that was touched", "sk-ssh-ed25519@openssh.com", "assent", []byte{1, 0, 0, 0, 9}, true, ""},
		{"touched, with the user verified too", "sk-ecdsa-sha2-nistp256@openssh.com", "assent", []byte{5, 0, 0, 0, 9}, true, ""},
		{"a hardware key whose flag is clear", "sk-ssh-ed25519@openssh.com", "assent", []byte{4, 0, 0, 0, 9}, false, ""},
		{"a key on disk has no flag", "ssh-ed25519", "assent", nil, false, ""},
		{"a key on disk with bytes behind its signature", "ssh-ed25519", "assent", []byte{1, 0, 0, 0, 9}, false, ""},
		{"a hardware key without flags", "sk-ssh-ed25519@openssh.com", "assent", nil, false, "flags"},
		{"another namespace", "ssh-ed25519", "git", nil, false, `namespace "git"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSignature([]byte(armored(c.keyType, c.namespace, c.tail)))
			switch {
			case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
				t.Errorf("error %v, want %s", err, c.why)
			case c.why == "" && (err != nil || s.Touch != c.touch || s.KeyType != c.keyType || !strings.HasPrefix(s.Fingerprint, "SHA256:")):
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func FuzzParseSignature(f *testing.F) {
	f.Add(armored("ssh-ed25519", "assent", nil))
	f.Add(armored("sk-ssh-ed25519@openssh.com", "assent", []byte{1, 0, 0, 0, 9}))
	f.Add("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAf////8=\n-----END SSH SIGNATURE-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSignature([]byte(text)); err == nil && (s.KeyType == "" && s.Touch || s.Fingerprint == "") {
			t.Errorf("%+v", s)
		}
	})
}

func TestTheSignersFileIsReadStrictly(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"one signer", `a@example.com namespaces="assent" ssh-ed25519 AAAA`, true},
		{"with options and a comment", "# people\n\na@example.com valid-before=\"20270101\",namespaces=\"assent\" ssh-ed25519 AAAA laptop\n", true},
		{"a wildcard", `* namespaces="assent" ssh-ed25519 AAAA`, false},
		{"a pattern", `*@example.com namespaces="assent" ssh-ed25519 AAAA`, false},
		{"two principals", `a@example.com,b@example.com namespaces="assent" ssh-ed25519 AAAA`, false},
		{"no namespace", `a@example.com ssh-ed25519 AAAA`, false},
		{"another namespace", `a@example.com namespaces="git" ssh-ed25519 AAAA`, false},
		{"more namespaces", `a@example.com namespaces="git,assent" ssh-ed25519 AAAA`, false},
		{"a second line that is loose", "a@example.com namespaces=\"assent\" ssh-ed25519 AAAA\nb@example.com ssh-ed25519 BBBB", false},
		{"nobody", "# none\n", false},
	} {
		if err := (Signers{Allowed: []byte(c.text)}).Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// keygenKey makes a key pair and returns its file and its public line.
func keygenKey(t *testing.T, dir, name string) (file, public string) {
	t.Helper()
	file = filepath.Join(dir, name)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	data, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return file, strings.TrimSpace(string(data))
}

func TestSignatures(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Fatal("this test needs ssh-keygen:", err)
	}
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	key, public := keygenKey(t, dir, "designer")
	stranger, _ := keygenKey(t, dir, "stranger")
	listed := func(options string) Signers {
		return Signers{Allowed: []byte("designer@example.com namespaces=\"assent\"" + options + " " + public + "\n")}
	}
	s := Statement{Domain: "skmb", Action: "approve", Subject: "SKMB-2026-06-11-001", Digest: strings.Repeat("a", 64), Repository: strings.Repeat("b", 32),
		Issued: time.Date(2026, 6, 11, 12, 0, 0, 0, time.UTC), Nonce: strings.Repeat("c", 32), Card: "the text"}
	ctx := context.Background()
	good, err := Sign(ctx, env, key, s)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Sign(ctx, env, stranger, s)
	if err != nil {
		t.Fatal(err)
	}
	changed := s
	changed.Card = "another text"
	for _, c := range []struct {
		name      string
		signers   Signers
		statement Statement
		signature string
		ok        bool
	}{
		{"a listed key", listed(""), s, good, true},
		{"valid when the statement was issued", listed(`,valid-after="20260101Z",valid-before="20260701Z"`), s, good, true},
		{"expired when the statement was issued", listed(`,valid-before="20260101Z"`), s, good, false},
		{"not yet valid then", listed(`,valid-after="20260701Z"`), s, good, false},
		{"a revoked key", Signers{listed("").Allowed, []byte(public + "\n")}, s, good, false},
		{"a key that is not listed", listed(""), s, other, false},
		{"another text", listed(""), changed, good, false},
		{"no signature", listed(""), s, "", false},
		{"a signature with text behind it", listed(""), s, good + "more", false},
		{"nobody listed", Signers{}, s, good, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sig, err := c.signers.Verify(ctx, env, c.statement, c.signature)
			if (err == nil) != c.ok || c.ok && (sig.Principal != "designer@example.com" || sig.Touch) {
				t.Errorf("%+v, %v", sig, err)
			}
		})
	}
	if _, err := listed("").Verify(ctx, env, changed, good); !errors.Is(err, ErrBadSign) {
		t.Errorf("error %v", err)
	}
	if bytes.Contains([]byte(good), []byte("PRIVATE")) {
		t.Error("a private key is in the signature")
	}
}
