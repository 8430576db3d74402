//go:build mutants

package testscripts

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// survivors are mutants that no test can notice, with the reason.
var survivors = map[string]string{
	"agentsmd/hand.go: if len(gone) == 0 {":                                                           "it spares a look at HEAD that changes nothing",
	"store/journal.go: if err != nil {":                                                               "staged bytes that are gone are not those of the digest either",
	"store/write.go: if old.Digest != o.Before {":                                                     "the swap looks once more",
	"store/write.go: if now.Digest != o.Before {":                                                     "what was moved away is looked at once more",
	"store/write.go: if out, err := s.read(Name{n.Root, at}); err != nil || out.Digest != o.Before {": "the look before it sees every edit that a test can place",
}

// room is a package whose checks are neutered, and the tests that should notice, the quick ones
// first.
type room struct {
	dir    string
	tests  []string // arguments of `go test`
	mutate func(ast.Stmt) (ast.Stmt, bool)
}

var (
	only  = flag.String("room", "", "neuter the checks of this room alone")
	files = flag.String("file", "*.go", "neuter the checks of the files of this pattern alone")
)

// A check that nothing would miss is no check. Each place at which the boundary notes a
// violation, and each at which the store or the learned rules refuse or turn back, is neutered in
// a copy of the sources, one at a time; then some test must fail, by its name. Run it with
//
//	go test -tags mutants -run TestMutants -timeout 5h ./testscripts [-room agentsmd]
func TestMutants(t *testing.T) {
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(t.TempDir(), "work")
	copyTree(t, top, work)
	total, killed := 0, 0
	for _, room := range []room{
		{"boundary", []string{"-short ./boundary", "-short ./skmb ./config ./approval ./cmd/schemagen"}, noting},
		{"store", []string{"-short ./store"}, refusing},
		{"agentsmd", []string{"-short ./agentsmd", "-run TestStories/agentsmd- ./testscripts"}, turning},
	} {
		if *only != "" && room.dir != *only {
			continue
		}
		sources, err := filepath.Glob(filepath.Join(top, room.dir, *files))
		if err != nil || len(sources) == 0 {
			t.Fatal(err)
		}
		for _, file := range sources {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_windows.go") || strings.HasSuffix(file, "_other.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; ; n++ {
				mutant, where, ok := mutant(t, src, room.mutate, n)
				if !ok {
					break
				}
				line, what, _ := strings.Cut(where, ": ")
				name := fmt.Sprintf("%s/%s:%s: %s", room.dir, filepath.Base(file), line, what)
				reason := survivors[fmt.Sprintf("%s/%s: %s", room.dir, filepath.Base(file), what)]
				total++
				target := filepath.Join(work, room.dir, filepath.Base(file))
				writeFile(t, target, mutant)
				by := ""
				for _, tests := range room.tests {
					if by = failing(t, work, tests); by != "" {
						break
					}
				}
				writeFile(t, target, src)
				switch {
				case by != "":
					killed++
					t.Logf("%s: %s", name, by)
				case reason != "":
					t.Logf("%s: survives: %s", name, reason)
				default:
					t.Errorf("%s: no test notices", name)
				}
			}
		}
	}
	t.Logf("%d mutants, %d noticed", total, killed)
	if total < 100 && *only == "" && *files == "*.go" {
		t.Errorf("only %d mutants were made", total)
	}
}

// mutant neuters the nth statement that can be.
func mutant(t *testing.T, src []byte, mutate func(ast.Stmt) (ast.Stmt, bool), n int) (out []byte, where string, ok bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var change func(list []ast.Stmt)
	change = func(list []ast.Stmt) {
		for i, s := range list {
			if ok {
				return
			}
			if m, can := mutate(s); can {
				if n == 0 {
					pos := fset.Position(s.Pos())
					where, ok = fmt.Sprintf("%d: %s", pos.Line, text(fset, s)), true
					list[i] = m
					return
				}
				n--
			}
		}
	}
	ast.Inspect(f, func(node ast.Node) bool {
		switch b := node.(type) {
		case *ast.BlockStmt:
			change(b.List)
		case *ast.CaseClause:
			change(b.Body)
		}
		return !ok
	})
	if !ok {
		return nil, "", false
	}
	f.Comments = nil // they would land in odd places
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), where, true
}

func text(fset *token.FileSet, s ast.Stmt) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, fset, s)
	line, _, _ := strings.Cut(b.String(), "\n")
	return line[:min(len(line), 100)]
}

// noting matches what notes a violation, and makes it note none.
func noting(s ast.Stmt) (ast.Stmt, bool) {
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), s)
	src := b.String()
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return nil, false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if ident, plain := call.Fun.(*ast.Ident); plain {
			ok, sel = true, &ast.SelectorExpr{Sel: ident}
		}
		if !ok || !slices.Contains([]string{"violate", "say", "sayLost", "sayMismatch", "ungrounded", "object", "refuse"}, sel.Sel.Name) {
			return nil, false
		}
	case *ast.AssignStmt:
		if !strings.Contains(src, "append(") || !strings.Contains(src, "NewViolation(") {
			return nil, false
		}
	default:
		return nil, false
	}
	return &ast.IfStmt{Cond: ast.NewIdent("false"), Body: &ast.BlockStmt{List: []ast.Stmt{s}}}, true
}

// refusing matches a condition under which an error of our own is returned, and makes it never
// hold.
func refusing(s ast.Stmt) (ast.Stmt, bool) {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Else != nil || len(i.Body.List) == 0 {
		return nil, false
	}
	r, ok := i.Body.List[len(i.Body.List)-1].(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 {
		return nil, false
	}
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), r.Results[len(r.Results)-1])
	if !regexp.MustCompile(`^(Err[A-Z]|err[A-Z]|fmt\.Errorf|errors\.New|&)`).MatchString(b.String()) {
		return nil, false
	}
	never := *i
	never.Cond = &ast.BinaryExpr{X: ast.NewIdent("false"), Op: token.LAND, Y: &ast.ParenExpr{X: i.Cond}}
	return &never, true
}

// turning matches a condition under which a function gives a fault or turns back, except for an
// error that came from elsewhere, and makes it never hold.
func turning(s ast.Stmt) (ast.Stmt, bool) {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Else != nil || len(i.Body.List) == 0 {
		return nil, false
	}
	var cond bytes.Buffer
	_ = printer.Fprint(&cond, token.NewFileSet(), i.Cond)
	switch last := i.Body.List[len(i.Body.List)-1].(type) {
	case *ast.ReturnStmt:
		if regexp.MustCompile(`^(err|out) != nil$`).MatchString(cond.String()) {
			return nil, false
		}
	case *ast.BranchStmt:
		if last.Tok != token.CONTINUE {
			return nil, false
		}
	default:
		return nil, false
	}
	never := *i
	never.Cond = &ast.BinaryExpr{X: ast.NewIdent("false"), Op: token.LAND, Y: &ast.ParenExpr{X: i.Cond}}
	return &never, true
}

// failing runs tests in a copy and names the first one that fails, "" if none does.
func failing(t *testing.T, dir, tests string) string {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-failfast"}, strings.Fields(tests)...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	if m := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`).FindAllStringSubmatch(string(out), -1); m != nil {
		return m[len(m)-1][1]
	}
	if m := regexp.MustCompile(`(?m)^panic: .*|^# .*|test timed out.*`).FindString(string(out)); m != "" {
		return m
	}
	return strings.TrimSpace(string(out[:min(len(out), 200)]))
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command("git", "-C", from, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			continue // it was taken out and that is not committed yet
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(to, name), data)
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
