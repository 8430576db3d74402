package skmb

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"assent/finding"
	"assent/markdown"
)

// Manifest is MANIFEST.md of an archive: where the files come from, what the gate said
// of them, and their hashes. It does not list itself.
type Manifest struct {
	Commit    string // full id
	Branch    string // or "detached"
	CreatedAt string // RFC 3339, UTC
	Source    string // root of the base, from the top of the repository
	Archive   string // directory of the archive, from the top
	Check     string // "passed", or "failed (N errors)"
	Tool      string
	Objects   string // SHA-256 over the Git ids of the files
	Content   string // SHA-256 over the file rows
	Files     []ArchivedFile
}

// ArchivedFile is one row of a manifest.
type ArchivedFile struct {
	Name   string // SKMB.md or decisions/<name>.md
	Size   int64
	SHA256 string
}

// Archiver writes archives of a base into its archive directory.
type Archiver struct {
	Top  string // worktree, on disk
	Root string // of the base
	Dir  string // name of the archive directory below the root
	Now  time.Time
}

func (a Archiver) dir() string { return filepath.Join(a.Top, filepath.FromSlash(a.Root), a.Dir) }

// ArchiveNames lists what an archive of a base holds: the index and the decision files.
func ArchiveNames(tree finding.Tree, root string) ([]string, error) {
	var out []string
	if info, err := stat(tree, IndexPath(root)); err != nil {
		return nil, err
	} else if info != nil && info.Mode().IsRegular() {
		out = append(out, "SKMB.md")
	}
	entries, err := tree.ReadDir(DecisionsDir(root))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".md") {
			out = append(out, "decisions/"+e.Name())
		}
	}
	return out, nil
}

// ObjectsDigest names the content of a base by its Git ids, without reading a file.
func ObjectsDigest(tree finding.Tree, root string, names []string) string {
	h := sha256.New()
	for _, n := range names {
		id, _ := tree.ObjectID(path.Join(root, n))
		fmt.Fprintf(h, "%s %s\n", id, n)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Newest returns the manifest of the newest archive, nil if there is none. An archive
// whose manifest cannot be read is passed over: the next one is made beside it.
func (a Archiver) Newest() (*Manifest, error) {
	if exists, err := a.exists(); err != nil || !exists {
		return nil, err
	}
	entries, err := os.ReadDir(a.dir())
	if err != nil {
		return nil, err
	}
	var newest *Manifest
	var last string // its stamp
	var at time.Time
	for _, e := range slices.Backward(entries) {
		stamp, _, _ := strings.Cut(e.Name(), "-")
		if !e.IsDir() || !isStamp(stamp) {
			continue
		}
		if newest != nil && stamp != last {
			break // names sort by their stamps; within one second the later directory counts
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		data, err := readPlain(os.DirFS(filepath.Join(a.dir(), e.Name())), "MANIFEST.md")
		if err != nil {
			continue
		}
		if m, err := ParseManifest(data); err == nil && (newest == nil || info.ModTime().After(at)) {
			newest, last, at = m, stamp, info.ModTime()
		}
	}
	return newest, nil
}

const stampForm = "20060102T150405Z"

func isStamp(s string) bool {
	_, err := time.Parse(stampForm, s)
	return err == nil
}

// Write makes an archive of the named files: built in a temporary directory beside it and
// renamed, so that it is there whole or not at all. Content that equals the newest
// archive's makes none, if changed is set. m has everything but the times, names and
// hashes; the name of the archive is returned, "" if none was made.
func (a Archiver) Write(tree finding.Tree, names []string, m Manifest, newest *Manifest, changed bool) (string, error) {
	files := map[string][]byte{}
	m.Files = nil
	for _, n := range names {
		data, err := tree.ReadFile(path.Join(a.Root, n))
		if err != nil {
			return "", err
		}
		files[n] = data
		sum := sha256.Sum256(data)
		m.Files = append(m.Files, ArchivedFile{n, int64(len(data)), hex.EncodeToString(sum[:])})
	}
	m.Content = contentDigest(m.Files)
	if changed && newest != nil && newest.Content == m.Content {
		return "", nil
	}
	if err := a.prepare(); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(a.dir(), ".tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	m.Source, m.CreatedAt = a.Root, a.Now.UTC().Format(time.RFC3339)
	stem := a.Now.UTC().Format(stampForm) + "-" + m.Commit[:min(12, len(m.Commit))]
	for try := 1; try < 100; try++ {
		name := stem
		if try > 1 {
			name = fmt.Sprintf("%s-%d", stem, try)
		}
		target := filepath.Join(a.dir(), name)
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		m.Archive = path.Join(a.Root, a.Dir, name)
		files["MANIFEST.md"] = m.Markdown()
		if err := writeAll(tmp, files); err != nil {
			return "", err
		}
		err := os.Rename(tmp, target)
		if err == nil {
			return m.Archive, nil
		}
		if _, taken := os.Lstat(target); taken != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("there is no free name for an archive %s", stem)
}

// prepare makes the archive directory with its ignore file, and clears what a killed
// process left. A directory that exists without an ignore file is somebody's decision.
func (a Archiver) prepare() error {
	dir := a.dir()
	exists, err := a.exists()
	if err != nil {
		return err
	}
	if !exists {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, l := range left {
		if info, err := l.Info(); err == nil && strings.HasPrefix(l.Name(), ".tmp-") && a.Now.Sub(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, l.Name()))
		}
	}
	return nil
}

// readPlain reads a regular file of an archive, not larger than any file of a base. No link
// on the way to it is followed.
func readPlain(archive fs.FS, name string) ([]byte, error) {
	var at string
	parts := strings.Split(name, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		info, err := fs.Lstat(archive, at)
		switch {
		case err != nil:
			return nil, err
		case i < len(parts)-1 && !info.IsDir(), i == len(parts)-1 && !info.Mode().IsRegular():
			return nil, errors.New("is no regular file")
		case info.Mode().IsRegular() && info.Size() > maxIndex:
			return nil, errors.New("is larger than any file of a base")
		}
	}
	return fs.ReadFile(archive, name)
}

// exists reports whether the archive directory is there. What is there instead, or above
// it, a link or a file, is an error: nothing is written outside of the worktree.
func (a Archiver) exists() (bool, error) {
	name := ""
	for part := range strings.SplitSeq(path.Join(a.Root, a.Dir), "/") {
		name = path.Join(name, part)
		info, err := os.Lstat(filepath.Join(a.Top, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", name)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func writeAll(dir string, files map[string][]byte) error {
	for name, data := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func contentDigest(files []ArchivedFile) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d %s\n", f.SHA256, f.Size, f.Name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Markdown is the text of MANIFEST.md.
func (m Manifest) Markdown() []byte {
	var b strings.Builder
	b.WriteString("# SKMB archive\n\n")
	for _, f := range m.fields() {
		fmt.Fprintf(&b, "- %s: %s\n", f.key, markdown.Escape(*f.value))
	}
	b.WriteString("\n| file | size | sha256 |\n| --- | --- | --- |\n")
	for _, f := range m.Files {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", markdown.Cell(escapeName(f.Name)), f.Size, f.SHA256)
	}
	return []byte(b.String())
}

// escapeName is a file name for a cell, which holds no blanks as they are: these, other
// white space, control characters and "%" are percent-encoded.
func escapeName(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r != '%' && !unicode.IsSpace(r) && !unicode.IsControl(r) {
			out.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

type manifestField struct {
	key   string
	value *string
}

func (m *Manifest) fields() []manifestField {
	return []manifestField{
		{"commit", &m.Commit}, {"branch", &m.Branch}, {"created_at", &m.CreatedAt}, {"source", &m.Source}, {"archive", &m.Archive},
		{"check", &m.Check}, {"tool", &m.Tool}, {"objects", &m.Objects}, {"content", &m.Content},
	}
}

// ParseManifest reads MANIFEST.md.
func ParseManifest(data []byte) (*Manifest, error) {
	doc, err := markdown.Parse(data)
	if err != nil {
		return nil, err
	}
	whole := markdown.Span{Start: 0, End: len(data)}
	m := &Manifest{}
	for _, f := range doc.Fields(whole) {
		for _, known := range m.fields() {
			if f.Key == known.key {
				*known.value = f.Value
			}
		}
	}
	tables := doc.Tables(whole)
	if len(tables) != 1 || m.Content == "" {
		return nil, errors.New("it is no manifest: no content digest, or not one table")
	}
	for _, r := range tables[0].Rows {
		if len(r.Cells) != 3 {
			return nil, errors.New("a row has not three cells")
		}
		size, err := strconv.ParseInt(r.Cells[1].Text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the size of %s: %w", r.Cells[0].Text, err)
		}
		name, err := url.PathUnescape(r.Cells[0].Text)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, ArchivedFile{name, size, r.Cells[2].Text})
	}
	return m, nil
}

// VerifyArchive recomputes every hash of one archive and returns what does not hold.
func VerifyArchive(archive fs.FS) []string {
	data, err := readPlain(archive, "MANIFEST.md")
	if err != nil {
		return []string{"MANIFEST.md: " + err.Error()}
	}
	m, err := ParseManifest(data)
	if err != nil {
		return []string{"MANIFEST.md: " + err.Error()}
	}
	var bad []string
	listed := map[string]bool{"MANIFEST.md": true}
	for _, f := range m.Files {
		listed[f.Name] = true
		data, err := readPlain(archive, f.Name)
		sum := sha256.Sum256(data)
		switch {
		case err != nil:
			bad = append(bad, f.Name+": "+err.Error())
		case int64(len(data)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256:
			bad = append(bad, f.Name+": the bytes are not those that were archived")
		}
	}
	if contentDigest(m.Files) != m.Content {
		bad = append(bad, "MANIFEST.md: the content digest does not match its rows")
	}
	err = fs.WalkDir(archive, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !listed[name] {
			bad = append(bad, name+": is not in the manifest")
		}
		return err
	})
	if err != nil {
		bad = append(bad, err.Error())
	}
	return bad
}
