package agentsmd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NormVersion is the version of Norm. Texts are kept beside the ids that are made from them, so
// that a later version can make them again.
const NormVersion = 1

// Norm is the form in which texts are compared: NFC, each run of white space one blank, ends
// trimmed, letter case folded. Nothing else is taken out.
func Norm(text string) string {
	text = strings.Join(strings.FieldsFunc(norm.NFC.String(text), isSpace), " ")
	return norm.NFC.String(cases.Fold().String(text))
}

// isSpace takes the white space of Unicode, and the separators U+001C to U+001F.
func isSpace(r rune) bool {
	switch {
	case r >= 0x1c && r <= 0x1f, r >= '\t' && r <= '\r', r == ' ', r == 0x85, r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

// id is a prefix and the first 16 hex digits of the SHA-256 over the parts, each written as its
// length in bytes, a colon, and the bytes.
func id(prefix string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		part(h, p)
	}
	return prefix + "-" + hex.EncodeToString(h.Sum(nil))[:16]
}

func part(h hash.Hash, p string) { fmt.Fprintf(h, "%d:%s", len(p), p) }

// digest is the hex SHA-256 of bytes.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Targets of a rule.
const (
	TargetProject = "project"
	TargetGlobal  = "global"
)

// Kinds of what stays dead.
const (
	KindRule    = "rule"
	KindRemoval = "removal"
)

// GlobalScope is the scope key of the global file; a project's is "project:" and its key.
const GlobalScope = "global"

// ProjectScope is the scope key of a project. It is the same in all worktrees and clones.
func ProjectScope(key string) string { return "project:" + key }

// RuleID names a rule, or its removal, by its meaning: equal texts of one scope have one id.
func RuleID(kind, scope, text string) string {
	target := TargetProject
	if scope == GlobalScope {
		target = TargetGlobal
	}
	return id("C", kind, target, scope, Norm(text))
}
