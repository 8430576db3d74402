package finding

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub prints each new finding as a workflow command, by which GitHub shows it beside
// its line: ::error file=…,line=…,col=…,title=CODE::message. The service shows ten of a kind;
// the last line gives the counts.
func WriteGitHub(w io.Writer, r Report) error {
	b := bufio.NewWriter(w)
	for _, f := range r.Findings {
		if f.Baselined {
			continue
		}
		var place []string
		if f.Path != "" {
			place = append(place, "file="+property(f.Path))
		}
		if f.Start.Line > 0 {
			place = append(place, fmt.Sprintf("line=%d,col=%d", f.Start.Line, f.Start.Col))
		}
		message := f.Message
		if f.Fix != "" {
			message += "\nhint: " + f.Fix
		}
		kind := map[Severity]string{Error: "error", Warning: "warning", Info: "notice"}[f.Severity]
		fmt.Fprintf(b, "::%s %s::%s\n", kind, strings.Join(append(place, "title="+property(f.Code)), ","), data(message))
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(b, "::error title=%s::%s\n", property(u.Code), data("not checked: "+u.Message+"\n"+u.Fix))
	}
	r.writeSummary(b)
	return b.Flush()
}

// data and property escape a text for a workflow command, the latter for one of its
// parameters. Line breaks stay, as the command's own escapes.
func data(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(Clean(l), "%", "%25")
	}
	return strings.Join(lines, "%0A")
}

func property(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(Clean(l))
	}
	return strings.Join(lines, "%0A")
}
