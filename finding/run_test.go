package finding_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"assent/finding"
)

// coded is an error that names its own code.
type coded struct{ code, text string }

func (e coded) Error() string { return e.text }
func (e coded) Code() string  { return e.code }

// reporting is a check that reports what it is given.
func reporting(code string, fs ...finding.Finding) finding.Check {
	return finding.Check{Code: code, Title: "title of " + code, Severity: finding.Error, Run: func(p *finding.Pass) error {
		for _, f := range fs {
			p.Report(f)
		}
		return nil
	}}
}

// A check that cannot do its work is listed as unchecked, what it reported before stays,
// and the others still run.
func TestRun(t *testing.T) {
	found := finding.Finding{Path: "a.md", Message: "found"}
	good := reporting("a/good", found)
	with := func(run func(*finding.Pass) error) finding.Check {
		return finding.Check{Code: "a/bad", Title: "bad", Severity: finding.Error, Run: run}
	}
	failed := func(text string) []finding.Unchecked {
		return []finding.Unchecked{{Code: "lint/check-failed", Message: text}}
	}
	cases := []struct {
		name  string
		check finding.Check
		want  []finding.Unchecked
		more  int // findings beside that of the good check
		exit  int
	}{
		{"an error", with(func(*finding.Pass) error { return errors.New("broken") }), failed("broken"), 0, finding.ExitFindings},
		{"an error behind a finding", with(func(p *finding.Pass) error { p.Report(found); return errors.New("broken") }), failed("broken"), 1, finding.ExitFindings},
		{"an error with a code", with(func(*finding.Pass) error { return coded{"lint/object-missing", "gone"} }), []finding.Unchecked{{Code: "lint/object-missing", Message: "gone"}}, 0, finding.ExitFindings},
		{"an error that wraps one with a code", with(func(*finding.Pass) error {
			return fmt.Errorf("reading: %w", coded{"lint/object-missing", "gone"})
		}), []finding.Unchecked{{Code: "lint/object-missing", Message: "reading: gone"}}, 0, finding.ExitFindings},
		{"a panic", with(func(*finding.Pass) error { panic("oops") }), failed("a/bad panicked: oops"), 0, finding.ExitFindings},
		{"a panic behind a finding", with(func(p *finding.Pass) error { p.Report(found); panic("oops") }), failed("a/bad panicked: oops"), 1, finding.ExitFindings},
		{"a panic with an error", with(func(*finding.Pass) error { panic(coded{"lint/x", "oops"}) }), failed("a/bad panicked: oops"), 0, finding.ExitFindings},
		{"a panic with nil", with(func(*finding.Pass) error { panic(any(nil)) }), failed("a/bad panicked: panic called with nil argument"), 0, finding.ExitFindings},
		{"an index out of range", with(func(*finding.Pass) error { return []error{}[len(found.Key)] }), failed("a/bad panicked: runtime error: index out of range [0] with length 0"), 0, finding.ExitFindings},
		{"no function", with(nil), failed("a/bad panicked: runtime error: invalid memory address or nil pointer dereference"), 0, finding.ExitFindings},
		{"nothing wrong", with(func(*finding.Pass) error { return nil }), nil, 0, finding.ExitFindings},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := finding.Run([]finding.Check{c.check, good, c.check}, finding.Pass{})
			if len(r.Findings) != 1+2*c.more || !slices.Equal(r.Unchecked, c.want) || r.Exit() != c.exit {
				t.Errorf("got %d findings, unchecked %+v, exit code %d\nwant unchecked %+v", len(r.Findings), r.Unchecked, r.Exit(), c.want)
			}
			alone := finding.Run([]finding.Check{c.check}, finding.Pass{})
			if want := map[bool]int{true: finding.ExitUnchecked, false: finding.ExitOK}[c.want != nil]; c.more == 0 && alone.Exit() != want {
				t.Errorf("alone: exit code %d, want %d", alone.Exit(), want)
			}
		})
	}
}

// A check sees the pass as it was given, and what it reports bears the check's code.
func TestPass(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "here")
	pass := finding.Pass{Ctx: ctx, Parents: []finding.Tree{nil, nil}, Report: func(finding.Finding) { t.Error("the caller's Report was called") }}
	check := finding.Check{Code: "a/code", Title: "a title", Severity: finding.Warning, Run: func(p *finding.Pass) error {
		if p.Ctx.Value(key{}) != "here" || len(p.Parents) != 2 || p.New != nil {
			return errors.New("another pass")
		}
		p.Report(finding.Finding{Code: "b/forged", Title: "forged", Message: "1"})
		p.Report(finding.Finding{Message: "2", Severity: finding.Error})
		p.Parents = nil
		return nil
	}}
	r := finding.Run([]finding.Check{check, check}, pass)
	one := finding.Finding{Code: "a/code", Title: "a title", Message: "1", Severity: finding.Warning}
	two := finding.Finding{Code: "a/code", Title: "a title", Message: "2", Severity: finding.Error}
	if want := (finding.Result{Findings: []finding.Finding{one, one, two, two}}); !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

// The order is of path, line, column, code and message, whoever reported first.
func TestOrder(t *testing.T) {
	at := func(code, path string, line, col int, message string) finding.Finding {
		return finding.Finding{Code: code, Title: "title of " + code, Path: path, Start: finding.Pos{Line: line, Col: col}, Message: message, Severity: finding.Error}
	}
	want := []finding.Finding{
		at("z/z", "", 9, 9, "z"),
		at("b/b", "A.md", 9, 9, "z"),
		at("b/b", "a.md", 0, 0, "z"),
		at("b/b", "a.md", 1, 2, "z"),
		at("b/b", "a.md", 1, 10, "z"),
		at("a/a", "a.md", 2, 1, "b"),
		at("b/b", "a.md", 2, 1, "a"),
		at("b/b", "a.md", 2, 1, "b"),
		at("b/b", "a.md", 10, 1, "a"),
		at("a/a", "a/b.md", 1, 1, "a"),
		at("a/a", "b.md", 1, 1, "a"),
	}
	for seed := range 20 {
		var checks []finding.Check
		for i := range want {
			f := want[(i*7+seed)%len(want)]
			checks = append(checks, reporting(f.Code, f))
		}
		if r := finding.Run(checks, finding.Pass{}); !reflect.DeepEqual(r.Findings, want) {
			t.Fatalf("seed %d: got\n%+v\nwant\n%+v", seed, r.Findings, want)
		}
	}
	var r finding.Result
	for i := range want {
		r.Add(finding.Result{Findings: []finding.Finding{want[len(want)-1-i]}, Unchecked: []finding.Unchecked{{Code: "b", Message: fmt.Sprint(i % 2)}, {Code: "a"}}})
	}
	if !reflect.DeepEqual(r.Findings, want) {
		t.Errorf("added one by one:\n%+v\nwant\n%+v", r.Findings, want)
	}
	if want := []finding.Unchecked{{Code: "a"}, {Code: "b", Message: "0"}, {Code: "b", Message: "1"}}; !slices.Equal(r.Unchecked, want) {
		t.Errorf("unchecked %+v, want %+v", r.Unchecked, want)
	}
}

// What a check reports about one place stays in its order, also when it reports from
// several goroutines the report is whole.
func TestReportFromManyGoroutines(t *testing.T) {
	many := finding.Check{Code: "a/many", Severity: finding.Error, Run: func(p *finding.Pass) error {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { p.Report(finding.Finding{Path: fmt.Sprint(i), Message: "x"}) })
		}
		wg.Wait()
		return nil
	}}
	inOrder := finding.Check{Code: "a/order", Severity: finding.Error, Run: func(p *finding.Pass) error {
		for i := range 50 {
			p.Report(finding.Finding{Path: "same", Message: "x", Key: fmt.Sprint(i)})
		}
		return nil
	}}
	r := finding.Run([]finding.Check{many, inOrder, many}, finding.Pass{})
	if len(r.Findings) != 150 {
		t.Fatalf("%d findings, want 150", len(r.Findings))
	}
	for i, f := range r.Findings[100:] {
		if f.Key != fmt.Sprint(i) {
			t.Fatalf("the finding %d has the key %s", i, f.Key)
		}
	}
}

// Only an error says no; what could not be checked is never a pass.
func TestExit(t *testing.T) {
	of := func(ss ...finding.Severity) (fs []finding.Finding) {
		for _, s := range ss {
			fs = append(fs, finding.Finding{Severity: s})
		}
		return fs
	}
	unchecked := []finding.Unchecked{{Code: "lint/check-failed"}}
	cases := []struct {
		name string
		r    finding.Result
		want int
	}{
		{"nothing", finding.Result{}, finding.ExitOK},
		{"notes and warnings", finding.Result{Findings: of(finding.Off, finding.Info, finding.Warning)}, finding.ExitOK},
		{"an error", finding.Result{Findings: of(finding.Info, finding.Error)}, finding.ExitFindings},
		{"unchecked", finding.Result{Unchecked: unchecked}, finding.ExitUnchecked},
		{"a warning and unchecked", finding.Result{Findings: of(finding.Warning), Unchecked: unchecked}, finding.ExitUnchecked},
		{"an error and unchecked", finding.Result{Findings: of(finding.Warning, finding.Error), Unchecked: unchecked}, finding.ExitFindings},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.r.Exit(); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	r := finding.Result{Findings: of(finding.Error, finding.Warning, finding.Error)}
	if got := fmt.Sprint(r.Count(finding.Error), r.Count(finding.Warning), r.Count(finding.Info)); got != "2 1 0" {
		t.Errorf("counts %s", got)
	}
}

// The name of a finding follows from code, path and key: it stays when lines move, and
// equal ones are numbered in order.
func TestFingerprints(t *testing.T) {
	base := finding.Finding{Code: "a/code", Path: "docs/a.md", Message: "row 3 is wrong", Key: "SKMB-1", Start: finding.Pos{Line: 3, Col: 1}, End: finding.Pos{Line: 3, Col: 9}, Severity: finding.Error, Title: "t", Fix: "f"}
	of := func(code, path, key string) string {
		sum := sha256.Sum256([]byte("assent/1\x00" + code + "\x00" + path + "\x00" + key))
		return hex.EncodeToString(sum[:])
	}
	set := func(change func(*finding.Finding)) finding.Finding {
		f := base
		change(&f)
		return f
	}
	name := of("a/code", "docs/a.md", "SKMB-1")
	cases := []struct {
		name string
		f    finding.Finding
		want string
	}{
		{"as it is", base, name},
		{"on another line", set(func(f *finding.Finding) { f.Start, f.End = finding.Pos{Line: 99, Col: 5}, finding.Pos{} }), name},
		{"with another message", set(func(f *finding.Finding) { f.Message = "row 99 is wrong" }), name},
		{"with another severity, title and fix", set(func(f *finding.Finding) { f.Severity, f.Title, f.Fix = finding.Info, "", "" }), name},
		{"with another key", set(func(f *finding.Finding) { f.Key = "SKMB-2" }), of("a/code", "docs/a.md", "SKMB-2")},
		{"with another path", set(func(f *finding.Finding) { f.Path = "docs/b.md" }), of("a/code", "docs/b.md", "SKMB-1")},
		{"with another code", set(func(f *finding.Finding) { f.Code = "a/other" }), of("a/other", "docs/a.md", "SKMB-1")},
		{"without key", set(func(f *finding.Finding) { f.Key = "" }), of("a/code", "docs/a.md", "row 3 is wrong")},
		{"without key, wrapped otherwise", set(func(f *finding.Finding) { f.Key, f.Message = "", " row 3\n\tis  wrong " }), of("a/code", "docs/a.md", "row 3 is wrong")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := finding.Fingerprints([]finding.Finding{c.f}); !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("twins", func(t *testing.T) {
		other := set(func(f *finding.Finding) { f.Key = "SKMB-2" })
		got := finding.Fingerprints([]finding.Finding{base, other, cases[1].f, base, other})
		second := of("a/code", "docs/a.md", "SKMB-2")
		if want := []string{name, second, name + "#2", name + "#3", second + "#2"}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	if got := finding.Fingerprints(nil); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

// The words of severities and scopes are those of the configuration and the manual.
func TestWords(t *testing.T) {
	var got []string
	for _, s := range []finding.Severity{finding.Off, finding.Info, finding.Warning, finding.Error} {
		text, err := s.MarshalText()
		if err != nil || string(text) != s.String() {
			t.Errorf("%v: %q, %v", s, text, err)
		}
		got = append(got, s.String())
	}
	got = append(got, finding.ScopeTree.String(), finding.ScopeChange.String())
	if want := "off info warning error tree change"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
