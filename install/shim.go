package install

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"assent/hooks"
)

// The first line that names a hook file as ours, and its last line. Text behind the last
// line belongs to another tool and is kept.
const (
	shimMark = "# assent hook v1 "
	shimEnd  = "# assent hook end\n"
)

// shim is the hook file of an event. It runs the hook that stood there before, then the
// program: the baked path if it can be executed, else `assent` from PATH. It does not
// exec, because another tool may have appended its text. bin is "" where no path is baked.
func shim(e hooks.Event, bin string) []byte { return shimText(e, bin, e.Stdin(), `"$me"`) }

// pastShims are the texts that earlier versions wrote for an event: they are ours, and are
// replaced. The first one did not share standard input with a chained hook; both took a hook
// of the same relative name in another repository for themselves.
func pastShims(e hooks.Event, bin string) [][]byte {
	past := [][]byte{shimText(e, bin, false, "")}
	if e.Stdin() {
		past = append(past, shimText(e, bin, true, ""))
	}
	return past
}

func shimText(e hooks.Event, bin string, lines bool, me string) []byte {
	var b strings.Builder
	chain := e.Name + ".pre-assent"
	fmt.Fprintf(&b, "#!/bin/sh\n%s%s\n", shimMark, e.Name)
	fmt.Fprintf(&b, "chained=${0%%/*}/%s\n", chain)
	feed := ""
	if lines { // read once, for both; the dot keeps the last newline
		b.WriteString("lines=$(cat; echo .)\n")
		feed = "printf %s \"${lines%.}\" 2>/dev/null | "
	}
	self := "\"" + e.Name + "@$0\""
	if me != "" { // the absolute name: relative ones are the same in every repository
		fmt.Fprintf(&b, "case $0 in /*) me=%[1]s@$0 ;; *) me=%[1]s@$PWD/$0 ;; esac\n", e.Name)
		self = me
	}
	fmt.Fprintf(&b, "if test -x \"$chained\" && test \"${ASSENT_CHAIN-}\" != %s; then\n", self)
	fmt.Fprintf(&b, "\t%sASSENT_CHAIN=%s \"$chained\" \"$@\"", feed, self)
	if e.MayStop() {
		b.WriteString(" || { code=$?; echo \"$chained: exit code $code\" >&2; exit $code; }")
	}
	b.WriteString("\nfi\n")
	looked := "assent in PATH"
	if bin != "" {
		fmt.Fprintf(&b, "if test -x %s; then\n\t%s%s hook %s \"$@\" || exit $?\nel", quote(bin), feed, quote(bin), e.Name)
		looked = strings.ReplaceAll(bin, "'", "") + " and " + looked
	}
	fmt.Fprintf(&b, "if command -v assent >/dev/null 2>&1; then\n\t%sassent hook %s \"$@\" || exit $?\nelse\n", feed, e.Name)
	fmt.Fprintf(&b, "\techo 'assent: the program of this hook is gone: looked for %s. Install it and run: assent install' >&2\n", looked)
	if e.MayStop() {
		b.WriteString("\texit 1\n")
	}
	b.WriteString("fi\n" + shimEnd)
	return []byte(b.String())
}

// quote is a word for sh that stands for exactly s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// isOurs reports whether a hook file was written by this program, in any version.
func isOurs(data []byte) bool {
	_, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && bytes.HasPrefix(bytes.ReplaceAll(rest, []byte("\r"), nil), []byte("# assent hook v"))
}

// isShim reports whether a hook file of ours is as it was written, whatever program it
// runs. Line ends do not count: a file that a checkout or an editor turned to CRLF is
// repaired by installing again.
func isShim(e hooks.Event, data []byte) bool {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	text = strings.TrimSuffix(text, string(behind([]byte(text))))
	bin := baked([]byte(text))
	return text == string(shim(e, bin)) || slices.ContainsFunc(pastShims(e, bin), func(past []byte) bool { return text == string(past) })
}

// isCurrent reports whether a hook file of ours is what would be written today.
func isCurrent(e hooks.Event, data []byte) bool {
	text, _, _ := bytes.Cut(data, []byte(shimEnd))
	return string(text)+shimEnd == string(shim(e, baked(data)))
}

// baked is the path of the program that a hook file of ours was made for, "" if it looks in
// PATH alone.
func baked(data []byte) string {
	return bakedIn(strings.ReplaceAll(string(data), "\r\n", "\n"), "\nif test -x '", "'; then\n")
}

// bakedIn is the quoted word between two texts.
func bakedIn(text, before, after string) string {
	if _, rest, ok := strings.Cut(text, before); ok {
		if quoted, _, ok := strings.Cut(rest, after); ok {
			return strings.ReplaceAll(quoted, `'\''`, "'")
		}
	}
	return ""
}

// readRegular reads a file that is one, or a link to one: a pipe would never end.
func readRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}
	return os.ReadFile(name)
}

// behind returns what another tool appended after our last line.
func behind(data []byte) []byte {
	if _, after, ok := bytes.Cut(data, []byte(shimEnd)); ok {
		return after
	}
	return nil
}
