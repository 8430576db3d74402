package boundary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// specified is what the specification says of each code: stage, what the host may do
// after it, exit code.
var specified = []struct {
	stage int
	class Class
	exit  int
	codes string
}{
	{1, "invalid-payload", 2, "boundary/input-too-large boundary/too-deep boundary/too-many-values"},
	{2, "invalid-payload", 2, "boundary/channel-empty boundary/channel-rejected boundary/json-syntax boundary/json-truncated boundary/json-trailing boundary/json-duplicate-name boundary/json-utf8 boundary/json-number"},
	{3, "invalid-payload", 2, "boundary/owned-field boundary/unknown-field"},
	{4, "invalid-payload", 2, "boundary/missing-field boundary/type boundary/enum boundary/length boundary/range boundary/pattern boundary/item-duplicate boundary/text-unsafe boundary/text-blank"},
	{5, "invalid-payload", 2, "skmb/anything boundary/not-in-the-table boundary/field-required-here boundary/field-not-here"},
	{6, "unsupported-ref", 2, "boundary/ref-unknown boundary/ref-ambiguous boundary/ref-scope boundary/ref-set-empty boundary/coverage-missing boundary/coverage-duplicate"},
	{7, "grounding", 2, "boundary/ground-path boundary/ground-kind boundary/ground-short boundary/ground-not-found boundary/ground-mid-word boundary/ground-ambiguous boundary/ground-span"},
	{8, "policy", 1, "boundary/prov-trust boundary/prov-scope boundary/prov-integrity"},
	{8, "stale", 4, "boundary/prov-stale"},
	{8, "transient", 3, "boundary/prov-unverifiable"},
	{9, "policy", 1, "boundary/policy-denied boundary/approval-required boundary/secret-found boundary/attempts-exhausted"},
	{10, "transient", 5, "boundary/busy"},
	{10, "stale", 4, "boundary/revision-stale boundary/schema-stale boundary/unit-taken boundary/idempotency-conflict"},
	{10, "policy", 3, "boundary/schema-version"},
	{11, "policy", 3, "boundary/record-invalid"},
	{12, "transient", 3, "store/persist-failed"},
	{12, "partial-persistence", 3, "store/recovery-needed"},
	{12, "partial-persistence", 4, "store/conflict"},
	{12, "effect-unknown", 4, "store/effect-unknown"},
}

// Every code that is written anywhere in the room, or in the configuration's, has its
// stage, class and exit code in the one table, and they are the specified ones.
func TestRetryTable(t *testing.T) {
	used := map[string]string{}
	for _, dir := range []string{".", "../config"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, _ := strconv.Unquote(lit.Value); strings.HasPrefix(s, "boundary/") && s != "boundary/" {
						used[s] = name
					}
				}
				return true
			})
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d codes were found in the sources", len(used))
	}
	lock := map[string]bool{} // of the checks, not of submissions
	for _, c := range Checks(ChannelOptions{}) {
		lock[c.Code] = true
		if _, both := table[c.Code]; both && c.Code != "boundary/schema-version" {
			t.Errorf("%s is a check and a refusal", c.Code)
		}
	}
	for code, where := range used {
		if _, ok := table[code]; !ok && !lock[code] {
			t.Errorf("%s: %s is not in the table", where, code)
		}
	}
	listed := map[string]bool{}
	for _, row := range specified {
		for _, code := range strings.Fields(row.codes) {
			listed[code] = true
			if got := ruleOf(code); got.stage != row.stage || got.class != row.class || got.exit != row.exit {
				t.Errorf("%s: got %+v, want %+v", code, got, row)
			} else if _, known := table[code]; known && (got.title == "" || got.fix == "") {
				t.Errorf("%s does not say what is wrong, and what to do", code)
			}
			v := NewViolation(code, "", Pos{}, "x")
			if v.Stage != row.stage || v.Class != row.class {
				t.Errorf("%s: the violation has stage %d and class %s", code, v.Stage, v.Class)
			}
		}
	}
	for code := range table {
		if !listed[code] {
			t.Errorf("%s is in the table and not in the specification", code)
		}
	}
}
