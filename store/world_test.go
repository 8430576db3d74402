package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assent/store"
)

// A world is a directory with everything that a store touches, and something beside it
// that it must not: private and tree are the store's roots, beside is a neighbour.

// The change that most tests make. It adds a line to a log, makes a record, a new file
// in a new directory, replaces a file that has a mode of its own, replaces a state file,
// takes a view and a state file away, and keeps its answer under a key.
var (
	readme = store.Name{Root: "tree", Path: "README.md"}
	page   = store.Name{Root: "tree", Path: "docs/new/page.md"}
	record = store.Name{Root: "tree", Path: ".assent/decision/D-1.json"}
	state  = store.Name{Root: store.Private, Path: "state/effect.json"}
	spent  = store.Name{Root: store.Private, Path: "state/spent.json"} // taken away
	view   = store.Name{Root: "tree", Path: "old/view.md"}             // taken away

	oldBytes = map[store.Name]string{readme: "# Old\n", state: "{\"n\":0}\n", spent: "{}\n", view: "an old view\n"}
	newBytes = map[store.Name]string{readme: "# Old\n\nand new\n", page: "a page\n", record: "{\"id\":\"D-1\"}\n", state: "{\"n\":1}\n"}
)

const (
	log     = "log/calls"
	key     = "submit D-1"
	request = store.Digest("5f")
	answer  = `{"ok":true}`
)

func want(n store.Name) store.Digest {
	if old, ok := oldBytes[n]; ok {
		return store.DigestOf([]byte(old))
	}
	return ""
}

func change(tx *store.Tx) error {
	if _, seen, err := tx.Once(key, request); err != nil || seen {
		return err
	}
	if err := tx.Result([]byte(answer)); err != nil {
		return err
	}
	classes := map[store.Name]store.Class{readme: store.View, page: store.View, record: store.Record, state: store.State}
	for _, n := range []store.Name{state, readme, page, record} { // not in the order in which they apply
		if err := tx.Put(classes[n], n, []byte(newBytes[n]), want(n)); err != nil {
			return err
		}
	}
	if err := tx.Remove(store.State, spent, want(spent)); err != nil {
		return err
	}
	if err := tx.Remove(store.View, view, want(view)); err != nil {
		return err
	}
	_, err := tx.Append(log, map[string]any{"what": "decided"})
	return err
}

// empty makes a world in which nothing has been written yet.
func empty(t testing.TB) string {
	w := t.TempDir()
	for _, dir := range []string{"tree", "beside"} {
		if err := os.Mkdir(filepath.Join(w, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w, "beside/canary", "sings")
	write(t, w, "tree/README.md", oldBytes[readme])
	if err := os.Mkdir(filepath.Join(w, "tree/old"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, w, "tree/old/view.md", oldBytes[view])
	if err := os.Chmod(filepath.Join(w, "tree/README.md"), 0o640); err != nil {
		t.Fatal(err)
	}
	return w
}

// begin makes a world at generation 1, from which change leads to generation 2.
func begin(t testing.TB) string {
	w := empty(t)
	update(t, w, func(tx *store.Tx) error {
		if _, err := tx.Append(log, map[string]any{"what": "begun"}); err != nil {
			return err
		}
		if err := tx.Put(store.State, spent, []byte(oldBytes[spent]), ""); err != nil {
			return err
		}
		return tx.Put(store.State, state, []byte(oldBytes[state]), "")
	})
	return w
}

func options(w string, set ...func(*store.Options)) store.Options {
	o := store.Options{
		Private:  filepath.Join(w, "private"),
		Roots:    map[string]string{"tree": filepath.Join(w, "tree")},
		Now:      func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) },
		LockWait: 5 * time.Minute,
	}
	for _, f := range set {
		f(&o)
	}
	return o
}

func fault(f func(store.Step) error) func(*store.Options) {
	return func(o *store.Options) { o.Fault = f }
}

func open(t testing.TB, w string, set ...func(*store.Options)) *store.Store {
	t.Helper()
	s, err := store.Open(options(w, set...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func update(t testing.TB, w string, fn func(*store.Tx) error) store.Result {
	t.Helper()
	r, err := open(t, w).Update(t.Context(), fn)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t testing.TB, w, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w, filepath.FromSlash(name)), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, w, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func path(n store.Name) string { return n.Root + "/" + n.Path }

const journalFile = "private/txn/journal.json"

func exists(w, name string) bool {
	_, err := os.Lstat(filepath.Join(w, filepath.FromSlash(name)))
	return err == nil
}

// snapshot is a world as a map from slash-separated names to kind, mode and content.
type snapshot map[string]string

// look takes a snapshot of a world, without the entries of the transaction directory.
func look(t testing.TB, w string) snapshot {
	t.Helper()
	s := lookWhole(t, w)
	maps.DeleteFunc(s, func(name, _ string) bool { return strings.HasPrefix(name, "private/txn/") })
	return s
}

func lookWhole(t testing.TB, w string) snapshot {
	t.Helper()
	s := snapshot{}
	err := filepath.WalkDir(w, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == w {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w, name)
		if err != nil {
			return err
		}
		value := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			value += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			value += " -> " + to
		}
		s[filepath.ToSlash(rel)] = value
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// diff says in what two snapshots differ, "" if in nothing.
func diff(got, want snapshot) string {
	var b strings.Builder
	names := maps.Clone(got)
	maps.Copy(names, want)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if g, w := got[name], want[name]; g != w {
			fmt.Fprintf(&b, "\n%s\n   is %.200q\n want %.200q", name, g, w)
		}
	}
	return b.String()
}

// fingerprint is equal for two worlds in which a store finds the same: the random part of
// a temporary's name is left out.
func (s snapshot) fingerprint() string {
	var lines []string
	for name, value := range s {
		if dir, _, ok := strings.Cut(name, ".assent-tmp-"); ok {
			name = dir + ".assent-tmp-"
		}
		lines = append(lines, fmt.Sprintf("%s %q", name, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func clone(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == from {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if e.IsDir() {
			err = os.Mkdir(at, 0o700)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, at)
		} else {
			var data []byte
			if data, err = os.ReadFile(name); err == nil {
				err = os.WriteFile(at, data, 0o600)
			}
		}
		if err == nil {
			err = os.Chmod(at, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// clean fails the test if a world holds a trace of a transaction that is over.
func clean(t testing.TB, w string) {
	t.Helper()
	for name := range lookWhole(t, w) {
		if strings.HasPrefix(name, "private/txn/") || strings.Contains(name, ".assent-tmp-") || strings.HasPrefix(name, "private/rescue") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// rescued returns the content of every file in rescue.
func rescued(t testing.TB, w string) []string {
	t.Helper()
	var all []string
	for name, value := range look(t, w) {
		if strings.HasPrefix(name, "private/rescue/") {
			_, data, _ := strings.Cut(value, " ")
			all = append(all, data)
		}
	}
	return all
}

func pending(w string) error { return store.Pending(filepath.Join(w, "private")) }

// What a child process does is named by a variable; without it this is the test itself.
const (
	childRole  = "ASSENT_STORE_TEST_CHILD"
	childWorld = "ASSENT_STORE_TEST_WORLD"
	childDies  = "ASSENT_STORE_TEST_DIES"
	died       = 37
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role, os.Getenv(childWorld)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs in a process of its own.
func child(role, w string) error {
	if role == "full" {
		return full(w)
	}
	die, n := -1, 0
	if v := os.Getenv(childDies); v != "" {
		var err error
		if die, err = strconv.Atoi(v); err != nil {
			return err
		}
	}
	s, err := store.Open(options(w, fault(func(store.Step) error {
		if n == die {
			os.Exit(died) // no deferred call runs
		}
		n++
		return nil
	})))
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch role {
	case "effect":
		err = act(ctx, s, w)
	case "change":
		_, err = s.Update(ctx, change)
	case "recover":
		_, err = s.Recover(ctx)
	case "count":
		for range each {
			if _, err = s.Update(ctx, count); err != nil {
				break
			}
		}
	default:
		err = errors.New("no such role")
	}
	return err
}

func start(t testing.TB, role, w string, die string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childWorld+"="+w, childDies+"="+die)
	cmd.Stderr = &strings.Builder{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// kill lets a child process die at a step of what it does in a world, counted from 0.
func kill(t testing.TB, role, w string, step int) {
	t.Helper()
	cmd := start(t, role, w, strconv.Itoa(step))
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != died {
		t.Fatalf("a child that should have died at step %d ended with %d: %s", step, got, cmd.Stderr)
	}
}
