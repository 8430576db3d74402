package agentsmd

import (
	"path/filepath"
	"slices"
	"strings"

	"assent/markdown"
)

// maxImports is how deep Claude Code follows imports from one file to the next.
const maxImports = 5

// claudeReads finds what Claude Code reads in a directory of a project: the CLAUDE.md of the user, and
// those from the root down, with all that they import. It tells whether a file is among that.
func (k *Keeper) claudeReads(root, dir string) func(path string) bool {
	dirs := []string{k.ClaudeHome, root, filepath.Join(root, ".claude")}
	at := root
	for _, step := range strings.Split(dir, "/") {
		if step != "." {
			at = filepath.Join(at, step)
			dirs = append(dirs, at)
		}
	}
	var read []string // real paths
	var follow func(path string, depth int)
	follow = func(path string, depth int) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || slices.Contains(read, real) || depth > maxImports {
			return
		}
		data, err := readPlain(real)
		if err != nil {
			return
		}
		read = append(read, real)
		for _, to := range imports(data) {
			if rest, ok := strings.CutPrefix(to, "~/"); ok {
				to = filepath.Join(k.userHome(), rest)
			} else if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(path), to)
			}
			follow(to, depth+1)
		}
	}
	for _, d := range dirs {
		follow(filepath.Join(d, "CLAUDE.md"), 0)
		follow(filepath.Join(d, "CLAUDE.local.md"), 0)
	}
	return func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err == nil && slices.Contains(read, real)
	}
}

func (k *Keeper) userHome() string {
	for _, kv := range slices.Backward(k.Git) {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			return home
		}
	}
	return ""
}

var codeSpan = lazily("(`+)[^`]+(`+)")

// imports are the paths behind an `@` in the running text of a file.
func imports(src []byte) (out []string) {
	d, err := markdown.Parse(src)
	if err != nil {
		return nil
	}
	for _, p := range d.Paragraphs() {
		for _, word := range strings.Fields(codeSpan().ReplaceAllString(strings.Join(p.Lines, " "), " ")) {
			if to, ok := strings.CutPrefix(word, "@"); ok {
				out = append(out, strings.TrimRight(to, ".,;:)"))
			}
		}
	}
	return out
}
