package agentsmd

import (
	"strings"

	"assent/boundary"
)

// Limits of a record's text, in bytes: a longer one loses its middle.
const (
	textHead = 48 << 10
	textTail = 16 << 10
	textSeam = 4 << 10 // looked at beyond the cut, for a credential that lies across it
)

// cleanText is a text as it is stored: redacted, and cut to head and tail. cut says how many
// bytes were lost.
func cleanText(text string) (out string, redactions, cut int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= textHead+textTail {
		out, redactions = boundary.Redact(text)
		if len(out) <= textHead+textTail {
			return out, redactions, 0
		}
	}
	head, n1 := boundary.Redact(text[:border(text, min(len(text), textHead+textSeam))])
	tail, n2 := boundary.Redact(text[border(text, max(0, len(text)-textTail-textSeam)):])
	head, tail = head[:border(head, min(len(head), textHead))], tail[border(tail, max(0, len(tail)-textTail)):]
	return head + "\n[…]\n" + tail, n1 + n2, len(text) - len(head) - len(tail)
}

// border moves a place back to where a character begins.
func border(s string, at int) int {
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	return at
}
