package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/store"
)

// unchanged runs an update that must fail and fails the test if it left a trace.
func unchanged(t *testing.T, w string, fn func(*store.Tx) error) error {
	t.Helper()
	found := look(t, w)
	res, err := open(t, w).Update(t.Context(), fn)
	if err == nil {
		t.Error("no error")
	}
	if res.Generation != 1 {
		t.Errorf("generation %d, want 1", res.Generation)
	}
	whole(t, w, found, 1)
	return err
}

// The answer under a key is given once and repeated for ninety days, to the same request
// and to no other.
func TestOnce(t *testing.T) {
	w := begin(t)
	update(t, w, change)
	replays(t, w)
	found := look(t, w)

	// The whole request again is a replay, not a second decision.
	if r := update(t, w, change); r.Generation != 2 {
		t.Errorf("the same request led to generation %d, want 2", r.Generation)
	}
	_, err := open(t, w).Update(t.Context(), func(tx *store.Tx) error {
		prior, seen, err := tx.Once(key, "another")
		if prior != nil || seen {
			t.Errorf("another request was given %q, %v", prior, seen)
		}
		return err
	})
	if !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("another request under the key: %v, want ErrKeyReused", err)
	}
	whole(t, w, found, 2)

	age := func(days int) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(w, "private", "idem", "*.json"))
		if err != nil || len(names) != 1 {
			t.Fatalf("there should be one key: %q, %v", names, err)
		}
		at := time.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(names[0], at, at); err != nil {
			t.Fatal(err)
		}
	}
	touch := func(data string) {
		t.Helper()
		update(t, w, func(tx *store.Tx) error {
			n := store.Name{Root: store.Private, Path: "state/" + data}
			return tx.Put(store.State, n, []byte(data), "")
		})
	}
	age(89)
	touch("a")
	if r := update(t, w, change); r.Generation != 3 {
		t.Error("a key of 89 days is forgotten")
	}
	age(91)
	touch("b")
	update(t, w, func(tx *store.Tx) error {
		if prior, seen, err := tx.Once(key, request); seen || err != nil {
			t.Errorf("a key of 91 days is not forgotten: %q, %v", prior, err)
		}
		return nil
	})
}

func TestResultNeedsAKeyAndJSON(t *testing.T) {
	tests := []struct {
		name string
		fn   func(*store.Tx) error
		is   error
	}{
		{"without a key", func(tx *store.Tx) error { return tx.Result([]byte("1")) }, nil},
		{"twice", func(tx *store.Tx) error {
			_, _, err := tx.Once(key, request)
			return errors.Join(err, tx.Result([]byte("1")), tx.Result([]byte("2")))
		}, nil},
		{"no JSON", func(tx *store.Tx) error {
			_, _, err := tx.Once(key, request)
			return errors.Join(err, tx.Result([]byte("{")))
		}, nil},
		{"too large", func(tx *store.Tx) error {
			_, _, err := tx.Once(key, request)
			return errors.Join(err, tx.Result([]byte(`"`+strings.Repeat("a", 8<<20)+`"`)))
		}, store.ErrTooLarge},
	}
	w := begin(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := unchanged(t, w, test.fn); test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v, want %v", err, test.is)
			}
		})
	}
}

// Who decides on what he has read must find it as he read it.
func TestStale(t *testing.T) {
	w := begin(t)
	none := store.Name{Root: "tree", Path: "none.md"}
	put := func(n store.Name, want store.Digest) func(*store.Tx) error {
		return func(tx *store.Tx) error { return tx.Put(store.View, n, []byte("new"), want) }
	}
	other := store.DigestOf([]byte("other"))
	tests := []struct {
		name string
		fn   func(*store.Tx) error
	}{
		{"another digest", put(readme, other)},
		{"no file expected", put(readme, "")},
		{"a file expected", put(none, other)},
		{"another digest, though the bytes are there already", func(tx *store.Tx) error {
			return tx.Put(store.View, readme, []byte(oldBytes[readme]), other)
		}},
		{"edited after Put", func(tx *store.Tx) error {
			err := put(readme, want(readme))(tx)
			edit(t, w, readme, byHand)
			return err
		}},
		{"stale by another file of the change", func(tx *store.Tx) error {
			return errors.Join(put(none, "")(tx), put(state, other)(tx))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := open(t, w).Update(t.Context(), test.fn)
			if !errors.Is(err, store.ErrStale) {
				t.Errorf("%v, want ErrStale", err)
			}
			if got := read(t, w, path(readme)); got != oldBytes[readme] && got != byHand {
				t.Errorf("the file is %q", got)
			}
			edit(t, w, readme, oldBytes[readme])
			whole(t, w, look(t, w), 1)
			if exists(w, path(none)) {
				t.Errorf("%s was written", none)
			}
		})
	}
}

func TestAFailingChangeWritesNothing(t *testing.T) {
	w := begin(t)
	no := errors.New("no")
	err := unchanged(t, w, func(tx *store.Tx) error { return errors.Join(change(tx), no) })
	if !errors.Is(err, no) {
		t.Errorf("%v, want the error of the change", err)
	}
	unchanged(t, w, func(tx *store.Tx) error {
		return errors.Join(tx.Put(store.View, page, []byte("a"), ""), tx.Put(store.View, page, []byte("b"), ""))
	})
	for _, bad := range []store.Name{{"tree", "../beside/canary"}, {"tree", "/etc/passwd"}, {"tree", "."}, {"tree", ""}, {"tree", "a/../b"}, {"nowhere", "a"}, {"", "a"}} {
		unchanged(t, w, func(tx *store.Tx) error { return tx.Put(store.View, bad, []byte("a"), "") })
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = open(t, w).Update(t.Context(), func(*store.Tx) error { panic("the lock is freed all the same") })
	}()
	update(t, w, change)
}

func TestNothingToWriteIsNoGeneration(t *testing.T) {
	w := begin(t)
	found := look(t, w)
	for _, fn := range []func(*store.Tx) error{
		func(*store.Tx) error { return nil },
		func(tx *store.Tx) error { return tx.Put(store.View, readme, []byte(oldBytes[readme]), want(readme)) },
	} {
		if r := update(t, w, fn); r.Generation != 1 {
			t.Errorf("generation %d, want 1", r.Generation)
		}
	}
	whole(t, w, found, 1)
}

// The bytes of a change are those that Put was given, whatever their owner does next.
func TestPutTakesACopy(t *testing.T) {
	w := begin(t)
	data := []byte("as it was put")
	update(t, w, func(tx *store.Tx) error {
		err := tx.Put(store.View, page, data, "")
		copy(data, "as it was not")
		return err
	})
	if got := read(t, w, path(page)); got != "as it was put" {
		t.Errorf("written: %q", got)
	}
}

func TestTooLarge(t *testing.T) {
	w := begin(t)
	most := bytes.Repeat([]byte("a"), 8<<20)
	err := unchanged(t, w, func(tx *store.Tx) error { return tx.Put(store.View, page, append(most, 'a'), "") })
	if !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("Put: %v, want ErrTooLarge", err)
	}
	update(t, w, func(tx *store.Tx) error { return tx.Put(store.View, page, most, "") })
	if got := read(t, w, path(page)); got != string(most) {
		t.Errorf("8 MiB came back as %d bytes", len(got))
	}
	write(t, w, path(page), string(append(most, 'a')))
	err = open(t, w).View(t.Context(), func(r *store.Reader) error {
		_, err := r.Read(page)
		return err
	})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("Read: %v, want ErrTooLarge", err)
	}
	var ops int
	_, err = open(t, w).Update(t.Context(), func(tx *store.Tx) error {
		for ; ops < 257; ops++ {
			n := store.Name{Root: "tree", Path: "many/" + strings.Repeat("x", 1+ops%200) + string(rune('a'+ops/200))}
			if err := tx.Put(store.View, n, []byte("x"), ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || ops != 257 || exists(w, "tree/many") {
		t.Errorf("%d files in one change: %v", ops, err)
	}
}

// A reader does not wait for a lock and sees one generation, or none.
func TestView(t *testing.T) {
	t.Run("reads again what a writer changed meanwhile", func(t *testing.T) {
		w := begin(t)
		stop, goOn := make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		op := trace(t, w, doChange).op(t, store.Name{Root: store.Private, Path: "head.json"})
		after := false
		writer := open(t, w, fault(func(at store.Step) error {
			if after = after || at == committed; after && at == (store.Step{Op: op, At: "synced"}) {
				close(stop) // everything is written but the generation
				<-goOn
			}
			return nil
		}))
		runs := 0
		var a, b string
		look := func(r *store.Reader) error {
			f, err := r.Read(readme)
			if runs++; runs == 1 {
				go func() {
					_, err := writer.Update(context.Background(), change)
					done <- err
				}()
				<-stop
				time.AfterFunc(100*time.Millisecond, func() { close(goOn) })
			}
			g, err2 := r.Read(state)
			a, b = string(f.Data), string(g.Data)
			if runs == 1 {
				return errors.New("half of a change makes no sense")
			}
			return errors.Join(err, err2)
		}
		s := open(t, w)
		err := s.View(t.Context(), look)
		werr := <-done
		if errors.Is(err, store.ErrBusy) { // the writer took its time
			err = s.View(t.Context(), look)
		}
		if err := errors.Join(err, werr); err != nil {
			t.Fatal(err)
		}
		if runs != 2 || a != newBytes[readme] || b != newBytes[state] {
			t.Errorf("after %d runs a reader has %q and %q", runs, a, b)
		}
	})
	t.Run("returns the error of what it ran", func(t *testing.T) {
		no := errors.New("no")
		if err := open(t, begin(t)).View(t.Context(), func(*store.Reader) error { return no }); err != no {
			t.Errorf("%v, want %v", err, no)
		}
	})
	t.Run("has absent files", func(t *testing.T) {
		err := open(t, empty(t)).View(t.Context(), func(r *store.Reader) error {
			f, err := r.Read(page)
			if f.Data != nil || f.Digest != "" || f.Mode != 0 || r.Generation() != 0 {
				t.Errorf("an absent file is %+v at generation %d", f, r.Generation())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// One writer at a time; the next one waits as long as it was told.
func TestBusy(t *testing.T) {
	w := begin(t)
	_, err := open(t, w).Update(t.Context(), func(tx *store.Tx) error {
		hurry := func(o *store.Options) { o.LockWait = time.Millisecond }
		s := open(t, w, hurry)
		if _, err := s.Update(t.Context(), change); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Update: %v, want ErrBusy", err)
		}
		if _, err := s.Recover(t.Context()); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Recover: %v, want ErrBusy", err)
		}
		if _, err := s.Resolve(t.Context(), store.Keep); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Resolve: %v, want ErrBusy", err)
		}
		if err := pending(w); err != nil {
			t.Errorf("a writer that only thinks: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, w).Update(ctx, change); !errors.Is(err, context.Canceled) {
		t.Errorf("Update that is called off: %v", err)
	}
}

// The roots are the caller's: only the private one is ever made, and it is private.
func TestOpen(t *testing.T) {
	w := empty(t)
	missing := options(w)
	missing.Roots["other"] = filepath.Join(w, "other")
	if _, err := store.Open(missing); !errors.Is(err, os.ErrNotExist) || exists(w, "other") {
		t.Errorf("Open with a missing root: %v", err)
	}
	update(t, w, changeFresh)
	for name, value := range look(t, w) {
		if private := strings.HasPrefix(name, "private"); private && !strings.HasPrefix(value, "drwx------") && !strings.HasPrefix(value, "-rw-------") {
			t.Errorf("%s is %s", name, value)
		}
	}
	if got, want := look(t, w)["tree/README.md"], "-rw-r----- "+newBytes[readme]; got != want {
		t.Errorf("the replaced file is %q, want %q", got, want)
	}
}

// changeFresh is the change for a world without a state file.
func changeFresh(tx *store.Tx) error {
	return errors.Join(
		tx.Put(store.View, readme, []byte(newBytes[readme]), want(readme)),
		tx.Put(store.State, state, []byte(newBytes[state]), ""))
}

// A file is taken away only as what it was, and only if it is not what somebody said.
func TestRemove(t *testing.T) {
	w := begin(t)
	s := open(t, w)
	before := look(t, w)
	for _, c := range []struct {
		name  string
		class store.Class
		file  store.Name
		want  store.Digest
		stale bool
	}{
		{"a record", store.Record, readme, want(readme), false},
		{"a log", store.Log, store.Name{Root: store.Private, Path: log + "-0001.jsonl"}, "", false},
		{"other content", store.View, readme, store.DigestOf([]byte("x")), true},
		{"nothing", store.View, page, "", true},
		{"nothing that had content", store.View, page, want(readme), true},
		{"a log that is called state", store.State, store.Name{Root: store.Private, Path: log + "-0001.jsonl"}, store.DigestOf([]byte(read(t, w, "private/"+log+"-0001.jsonl"))), false},
		{"the heads", store.State, store.Name{Root: store.Private, Path: "head.json"}, store.DigestOf([]byte(read(t, w, "private/head.json"))), false},
	} {
		if _, err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Remove(c.class, c.file, c.want) }); err == nil || errors.Is(err, store.ErrStale) != c.stale {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := s.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.Remove(store.View, readme, want(readme)), tx.Put(store.View, readme, []byte("x"), want(readme)))
	}); err == nil {
		t.Error("taken away and written in one change")
	}
	if d := diff(look(t, w), before); d != "" {
		t.Errorf("something changed:%s", d)
	}
	update(t, w, func(tx *store.Tx) error { return tx.Remove(store.View, readme, want(readme)) })
	if exists(w, "tree/README.md") {
		t.Error("it is there still")
	}
	clean(t, w)
}

// A file that was moved away to be removed, and is somebody's edit, is not lost.
func TestEditWithinRemoval(t *testing.T) {
	w := begin(t)
	stop := errors.New("stopped")
	if _, err := open(t, w, fault(func(at store.Step) error {
		if at.At == "moved away" {
			return stop
		}
		return nil
	})).Update(t.Context(), change); !errors.Is(err, store.ErrRecovery) {
		t.Fatal(err)
	}
	var tmp string
	for name := range look(t, w) {
		if strings.HasPrefix(name, "tree/old/.assent-tmp-") {
			tmp = name
		}
	}
	if tmp == "" {
		t.Fatal("there is nothing that was moved away")
	}
	write(t, w, tmp, "an edit of the last moment")
	if _, err := open(t, w).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rescued(t, w); len(got) != 1 || got[0] != "an edit of the last moment" {
		t.Errorf("rescued: %q", got)
	}
}

// The end of a log is read in whole lines, within what it may cost.
func TestTail(t *testing.T) {
	w := empty(t)
	for i := range 20 {
		update(t, w, func(tx *store.Tx) error { _, err := tx.Append(log, map[string]any{"n": i}); return err })
	}
	line := len(strings.SplitAfter(read(t, w, "private/"+log+"-0001.jsonl"), "\n")[15])
	for bytes, want := range map[int64]int{0: 0, 1: 0, int64(line) - 1: 0, int64(line): 0, int64(line) + 1: 1, int64(3*line) + 1: 3, 1 << 20: 20} {
		err := open(t, w).View(t.Context(), func(r *store.Reader) error {
			lines, err := r.Tail(log, bytes)
			if err != nil || len(lines) != want {
				t.Errorf("in %d bytes are %d lines, want %d: %v", bytes, len(lines), want, err)
			}
			for i, l := range lines {
				if n := fmt.Sprintf(`"n":%d,`, 20-len(lines)+i); !strings.Contains(string(l), n) || !strings.HasSuffix(string(l), "}") {
					t.Errorf("line %d of %d is %s", i, len(lines), l)
				}
			}
			if none, err := r.Tail("log/none", 100); err != nil || none != nil {
				t.Errorf("of no log: %q, %v", none, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// The names of a directory are its regular files', and a link leads nowhere.
func TestNames(t *testing.T) {
	w := begin(t)
	if err := os.MkdirAll(filepath.Join(w, "private/dir/sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, w, "private/dir/b", "")
	write(t, w, "private/dir/a", "")
	_ = os.Symlink("dir", filepath.Join(w, "private/link"))
	_ = open(t, w).View(t.Context(), func(r *store.Reader) error {
		if names, err := r.Names(store.Private, "dir"); err != nil || !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("got %q, %v", names, err)
		}
		if names, err := r.Names(store.Private, "nowhere/at/all"); err != nil || names != nil {
			t.Errorf("of no directory: %q, %v", names, err)
		}
		if names, err := r.Names(store.Private, "link"); !errors.Is(err, store.ErrNotRegular) {
			t.Errorf("through a link: %q, %v", names, err)
		}
		return nil
	})
}

// What cannot be read is neither absent nor empty: the heads, an answer, a log.
func TestDamagedState(t *testing.T) {
	head := "private/head.json"
	for name, text := range map[string]string{"cut off": `{"generation":1`, "empty": "", "of another form": `[]`, "with a member that is not known": `{"generation":1,"logs":{},"more":1}`} {
		t.Run("heads "+name, func(t *testing.T) {
			w := begin(t)
			write(t, w, head, text)
			s := open(t, w)
			_, uerr := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Put(store.View, page, []byte("x"), "") })
			verr := s.View(t.Context(), func(*store.Reader) error { return nil })
			_, lerr := s.VerifyLog(t.Context(), log)
			for what, err := range map[string]error{"Update": uerr, "View": verr, "VerifyLog": lerr} {
				if err == nil || !strings.Contains(err.Error(), "head.json is damaged") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if exists(w, "tree/docs") || read(t, w, head) != text {
				t.Error("something was written all the same")
			}
		})
	}
	w := begin(t)
	update(t, w, change)
	for name := range look(t, w) {
		if strings.HasPrefix(name, "private/idem/") {
			write(t, w, name, "{")
		}
	}
	if _, err := open(t, w).Update(t.Context(), func(tx *store.Tx) error { _, _, err := tx.Once(key, request); return err }); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a damaged answer: %v", err)
	}
	if err := os.Remove(filepath.Join(w, "private", log+"-0001.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, w).ReadLog(t.Context(), log, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "segment 1") {
		t.Errorf("a log that is gone: %v", err)
	}
}

// In a transaction the end of a log is what stands on disk, and the append goes on from it.
func TestTailWithinAChange(t *testing.T) {
	w := empty(t)
	for n := 1; n <= 3; n++ {
		update(t, w, func(tx *store.Tx) error {
			_, err := tx.Append(log, map[string]any{"n": n})
			lines, terr := tx.Tail(log, 1<<10)
			if len(lines) != n-1 || terr != nil {
				t.Errorf("change %d sees %d lines: %v", n, len(lines), terr)
			}
			return err
		})
	}
}

// However many keys there are, the outdated ones go in time.
func TestOldKeysGo(t *testing.T) {
	w := begin(t)
	if err := os.MkdirAll(filepath.Join(w, "private/idem"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-100 * 24 * time.Hour)
	for i := range 2500 {
		name := filepath.Join(w, "private/idem", string(store.DigestOf([]byte(fmt.Sprint(i))))+".json")
		if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if i < 50 {
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func() (n int) {
		for i := range 50 {
			if exists(w, "private/idem/"+string(store.DigestOf([]byte(fmt.Sprint(i))))+".json") {
				n++
			}
		}
		return n
	}
	for i := 0; left() > 0; i++ {
		if i > 60 { // each looks at two of five
			t.Fatalf("%d outdated keys are left", left())
		}
		update(t, w, func(tx *store.Tx) error { _, err := tx.Append(log, map[string]any{"n": i}); return err })
	}
	if entries, err := os.ReadDir(filepath.Join(w, "private/idem")); err != nil || len(entries) != 2450 {
		t.Errorf("%d keys are left, %v", len(entries), err)
	}
}

// A file that does not read back as it was written has not been written.
func TestReadBack(t *testing.T) {
	for _, op := range []int{1, -1} { // a file of the change, and the journal
		w := begin(t)
		was := look(t, w)
		_, err := open(t, w, fault(func(at store.Step) error {
			if at != (store.Step{Op: op, At: "synced"}) || exists(w, journalFile) {
				return nil
			}
			for _, name := range []string{"private/txn/new-1", "private/txn/.assent-tmp-journal"} {
				if exists(w, name) {
					write(t, w, name, "what the medium made of it")
				}
			}
			return nil
		})).Update(t.Context(), change)
		var persist *store.PersistError
		if !errors.As(err, &persist) || !strings.Contains(err.Error(), "read back") {
			t.Errorf("operation %d: %v", op, err)
		}
		if d := diff(look(t, w), was); d != "" {
			t.Errorf("something changed:%s", d)
		}
	}
}

// An edit made in the last moment before a file is taken away is a conflict, and stays.
func TestEditBeforeRemoval(t *testing.T) {
	w := begin(t)
	c := trace(t, w, doChange)
	op := c.op(t, view)
	edited := false
	_, err := open(t, w, fault(func(at store.Step) error {
		if at.Op == op-1 && at.At == "dirsynced" {
			edited = true
			write(t, w, path(view), "an edit of the last moment")
		}
		return nil
	})).Update(t.Context(), change)
	if !edited || !errors.Is(err, store.ErrConflict) || read(t, w, path(view)) != "an edit of the last moment" {
		t.Errorf("edited: %v, %v", edited, err)
	}
}
