package finding_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"

	"assent/finding"
)

// The log is valid against the schema of SARIF 2.1.0 and has no member that the standard
// does not know.
func TestWriteSARIF(t *testing.T) {
	r := finding.Report{Result: hostile(), Tool: "assent v1", Mode: "staged", Rules: []finding.Check{
		{Code: "skmb/unresolved", Title: "a decision is open", Doc: "what it means", Severity: finding.Error},
		{Code: "skmb/unresolved", Title: "a decision is open", Doc: "what it means", Severity: finding.Error},
		{Code: "skmb/never", Title: "never found", Severity: finding.Info},
	}}
	r.Findings[0].Baselined = true
	r.Findings = append(r.Findings, finding.Finding{Code: "skmb/unresolved", Path: "docs/d\xc3\xa9cision 1.md", Message: "a name", Severity: finding.Error, Start: finding.Pos{Line: 2}},
		finding.Finding{Code: "skmb/unresolved", Path: "docs/-\xe9#?%&+:.md", Message: "bytes", Severity: finding.Warning})
	var out, again bytes.Buffer
	if err := finding.WriteSARIF(&out, r); err != nil {
		t.Fatal(err)
	}
	if err := finding.WriteSARIF(&again, r); err != nil || out.String() != again.String() {
		t.Error("two runs give other bytes")
	}
	valid(t, out.Bytes())

	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID        string
				RuleIndex     int
				Level         string
				BaselineState string
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine int }
					}
				}
			}
			Invocations []struct {
				ExecutionSuccessful        bool
				ToolExecutionNotifications []struct{ Descriptor struct{ ID string } }
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	seen := map[string]bool{}
	for _, rule := range run.Tool.Driver.Rules {
		if seen[rule.ID] {
			t.Errorf("%s is a rule twice", rule.ID)
		}
		seen[rule.ID] = true
	}
	if !seen["skmb/never"] {
		t.Error("a check that ran and found nothing is no rule")
	}
	var uris []string
	for i, result := range run.Results {
		if run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID || result.Level != map[finding.Severity]string{finding.Error: "error", finding.Warning: "warning", finding.Info: "note"}[r.Findings[i].Severity] {
			t.Errorf("%+v is not finding %d", result, i)
		}
		if want := map[bool]string{true: "unchanged", false: "new"}[r.Findings[i].Baselined]; result.BaselineState != want {
			t.Errorf("result %d is %s", i, result.BaselineState)
		}
		at := result.Locations[0].PhysicalLocation
		uris = append(uris, at.ArtifactLocation.URI)
		if r.Findings[i].Path == "" && (at.ArtifactLocation.URI != ".assent.yaml" || at.Region.StartLine != 1) {
			t.Errorf("a finding without a place is at %+v", at)
		}
	}
	for _, want := range []string{"docs/d%C3%A9cision%201.md", "docs/-%E9%23%3F%25%26%2B%3A.md"} {
		if !strings.Contains(strings.Join(uris, " "), want) {
			t.Errorf("%s is not among %q", want, uris)
		}
	}
	if v := run.Invocations[0]; v.ExecutionSuccessful || len(v.ToolExecutionNotifications) != len(r.Unchecked) {
		t.Errorf("what was not checked is told as %+v", v)
	}

	t.Run("of nothing", func(t *testing.T) {
		var out bytes.Buffer
		if err := finding.WriteSARIF(&out, finding.Report{}); err != nil || !strings.Contains(out.String(), `"executionSuccessful": true`) {
			t.Error(err, out.String())
		}
		valid(t, out.Bytes())
	})
}

func valid(t *testing.T, log []byte) {
	t.Helper()
	var strict sarif.Report
	dec := json.NewDecoder(bytes.NewReader(log))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&strict); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(sarifSchema(t)), gojsonschema.NewBytesLoader(log))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Errorf("%s in\n%s", e, log)
	}
}

// sarifSchema is the JSON schema of SARIF 2.1.0, which go-sarif keeps to itself: it is read
// from its source.
var sarifSchema = func() func(*testing.T) string {
	var text string
	return func(t *testing.T) string {
		t.Helper()
		if text != "" {
			return text
		}
		dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif").Output()
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && len(lit.Value) > 1000 {
				text, _ = strconv.Unquote(lit.Value)
			}
			return true
		})
		if !strings.Contains(text, "partialFingerprints") {
			t.Fatal("the schema was not found")
		}
		return text
	}
}()

// Every line is one workflow command; no text of a finding begins another.
func TestWriteGitHub(t *testing.T) {
	r := finding.Report{Result: hostile(), Files: 3}
	r.Findings = append(r.Findings, finding.Finding{Code: "a/b", Path: "a,b:c%.md", Message: "100 %\n::error::forged", Fix: "x\r\n::stop-commands::y", Severity: finding.Warning, Start: finding.Pos{Line: 3, Col: 4}},
		finding.Finding{Code: "a/c", Message: "known", Severity: finding.Error, Baselined: true})
	var out bytes.Buffer
	if err := finding.WriteGitHub(&out, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if want := len(r.Findings) - 1 + len(r.Unchecked) + 1; len(lines) != want {
		t.Errorf("%d lines, want %d:\n%s", len(lines), want, out.String())
	}
	for _, l := range lines[:len(lines)-1] {
		if !strings.HasPrefix(l, "::error ") && !strings.HasPrefix(l, "::warning ") && !strings.HasPrefix(l, "::notice ") {
			t.Errorf("%q is no command", l)
		}
	}
	if want := "::warning file=a%2Cb%3Ac%25.md,line=3,col=4,title=a/b::100 %25%0A::error::forged%0Ahint: x%0A::stop-commands::y"; !strings.Contains(out.String(), want) {
		t.Errorf("no %s in\n%s", want, out.String())
	}
	if !strings.HasPrefix(lines[len(lines)-1], "examined 3 files: 4 errors, 2 warnings, 1 baselined, ") || strings.Contains(out.String(), "known") {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
}
