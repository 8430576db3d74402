package repo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// Publish moves HEAD to the commit and gives the index its file, both or neither: the index is
// locked as Git locks it, HEAD moves by compare-and-swap, then the lock becomes the index. A
// crash between the two is mended by RecoverPublish. Afterwards the repository's post-commit
// runs; what it says changes nothing. ErrLocked and ErrMoved leave all as it was.
func (p *Pending) Publish(ctx context.Context) (id string, err error) {
	index := p.repo.IndexFile()
	lock := index + ".lock"
	published := false
	defer func() {
		if !published && !errors.Is(err, errCrash) {
			err = errors.Join(err, p.unlock(lock), p.Discard())
		}
	}()
	if err := p.note(index); err != nil {
		return "", err
	}
	f, err := p.lock(lock)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := p.at("locked"); err != nil {
		return "", err
	}
	if err := p.current(ctx); err != nil {
		return "", err
	}
	data, err := p.newIndex(ctx)
	if err != nil {
		return "", err
	}
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return "", err
	}
	if err := p.at("written"); err != nil {
		return "", err
	}
	c := p.user("update-ref", "-m", p.reason(), "HEAD", p.ID, cmp.Or(p.old, strings.Repeat("0", len(p.ID))))
	out, err := Run(ctx, c)
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("%w: %s", ErrMoved, out.Stderr)
	}
	ctx = context.WithoutCancel(ctx) // HEAD may have moved: from here on it is carried to its end
	if err != nil {
		head, herr := p.repo.Resolve(ctx, "HEAD")
		var unknown *UnknownRevision
		switch {
		case herr == nil && head == p.ID:
		case (herr == nil || errors.As(herr, &unknown)) && head == p.old && strings.Contains(out.Stderr, ".lock"): // a ref is held, or was left so
			return "", fmt.Errorf("%w: %s", ErrLocked, out.Stderr)
		case (herr == nil || errors.As(herr, &unknown)) && head == p.old && out.Code != 0: // a hook refused it, or the disk is full
			return "", fmt.Errorf("%w: HEAD cannot be moved: %s", ErrCommit, out.Stderr)
		default:
			return "", err
		}
	}
	published = true
	if err := p.at("moved"); err != nil {
		return "", err
	}
	if err := os.Rename(lock, index); err != nil {
		return p.ID, fmt.Errorf("the commit %.10s is made, but the index could not be replaced (%w): assent recover", p.ID, err)
	}
	if err := p.at("renamed"); err != nil {
		return "", err
	}
	post := p.user("hook", "run", "--ignore-missing", "post-commit")
	post.Env = p.repo.caller
	_, _ = Run(ctx, post)
	return p.ID, p.Discard()
}

// ours is this process's own name for the lock file. Both names are one file, so that after
// a crash it can be told whose lock it is.
func (p *Pending) ours() string { return filepath.Join(p.dir, "index.lock") }

// lock takes the lock on the index as Git does: by making a file that must not exist.
func (p *Pending) lock(name string) (*os.File, error) {
	f, err := os.OpenFile(p.ours(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, permissions(p.repo.IndexFile()))
	if err != nil {
		return nil, err
	}
	if err = os.Link(p.ours(), name); err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s exists", ErrLocked, name)
	}
	return nil, fmt.Errorf("lock the index: %w", err)
}

// unlock removes the lock if it is ours.
func (p *Pending) unlock(name string) error {
	if !sameFile(p.ours(), name) {
		return nil
	}
	return os.Remove(name)
}

func sameFile(a, b string) bool {
	x, err1 := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func (p *Pending) reason() string {
	if p.old == "" {
		return "commit (initial): " + p.subject
	}
	return "commit: " + p.subject
}

func permissions(name string) fs.FileMode {
	if info, err := os.Stat(name); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// errCrash stops a test where a process could die: nothing is cleaned up.
var errCrash = errors.New("crash")

func (p *Pending) at(step string) error {
	if p.step == nil {
		return nil
	}
	return p.step(step)
}

// current reports whether HEAD and the index entry are what the commit was made for.
func (p *Pending) current(ctx context.Context) error {
	head, err := p.repo.Resolve(ctx, "HEAD")
	var unknown *UnknownRevision
	if err != nil && !errors.As(err, &unknown) {
		return err
	}
	staged, err := p.repo.listIndex(ctx, []string{p.commit.Path})
	if err != nil {
		return err
	}
	staged = slices.DeleteFunc(staged, func(e Entry) bool { return e.Path != p.commit.Path })
	id := ""
	if len(staged) == 1 && staged[0].Stage == 0 {
		id = staged[0].ID
	}
	if head != p.old || id != p.commit.IndexID || len(staged) > 1 {
		return ErrMoved
	}
	return nil
}

// newIndex is the real index with the file's entry replaced, made by Git in a copy, so that
// its version and extensions live on.
func (p *Pending) newIndex(ctx context.Context) ([]byte, error) {
	file := filepath.Join(p.dir, "next")
	if err := copyFile(p.repo.IndexFile(), file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	mode := p.mode
	if staged, err := p.repo.listIndex(ctx, []string{p.commit.Path}); err == nil && len(staged) == 1 {
		mode = staged[0].Mode
	}
	c := p.repo.command("update-index", "--add", "--cacheinfo", fmt.Sprintf("%06o,%s,%s", uint32(mode), p.blob, p.commit.Path))
	c.Env, c.Timeout = append(slices.Clone(c.Env), "GIT_INDEX_FILE="+file), WriteTimeout
	if _, err := p.repo.run(ctx, c, []string{"update-index"}); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// publication is what RecoverPublish needs to know. It is written before the lock is taken.
type publication struct {
	Index string `json:"index"`
	New   string `json:"new"`
}

func (p *Pending) note(index string) error {
	b, err := json.Marshal(publication{index, p.ID})
	if err == nil {
		err = writeSynced(filepath.Join(p.dir, "publish.json"), b)
	}
	return err
}

func writeSynced(name string, data []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (r *Repo) tmp() string { return filepath.Join(r.GitDir, "assent", "tmp") }

// makeDir makes a directory of this process's own and sweeps those of processes that ended.
func (p *Pending) makeDir() error {
	if err := p.repo.MakePrivate(p.repo.tmp()); err != nil {
		return err
	}
	// A directory that is made and not held yet must not look abandoned.
	making := flock.New(filepath.Join(p.repo.tmp(), "lock"))
	if err := making.Lock(); err != nil {
		return err
	}
	defer making.Unlock()
	if err := p.repo.sweep(nil); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(p.repo.tmp(), fmt.Sprintf("%d-", os.Getpid()))
	if err != nil {
		return err
	}
	p.dir = dir
	return p.repo.hold(dir)
}

// hold keeps a directory from being swept while this process lives.
func (r *Repo) hold(dir string) error {
	l := flock.New(filepath.Join(dir, "lock"))
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = ErrLocked
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atClose = append(r.atClose, l.Unlock)
	return err
}

// sweep looks at the directories of processes that have ended. One that was publishing goes
// to mend; the others are removed. mend nil: such a one is an error.
func (r *Repo) sweep(mend func(dir string, x publication) error) error {
	entries, err := os.ReadDir(r.tmp())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(r.tmp(), e.Name())
		l := flock.New(filepath.Join(dir, "lock"))
		free, lerr := l.TryLock()
		if lerr != nil || !free {
			continue // its process lives
		}
		var x publication
		data, rerr := os.ReadFile(filepath.Join(dir, "publish.json"))
		switch {
		case errors.Is(rerr, fs.ErrNotExist) || json.Unmarshal(data, &x) != nil: // it had not begun to publish
			err = errors.Join(err, os.RemoveAll(dir))
		case mend == nil:
			err = errors.Join(err, ErrPublishing)
		default:
			err = errors.Join(err, mend(dir, x))
		}
		_ = l.Unlock()
	}
	return err
}

// ErrPublishing is a commit whose process died while it was publishing.
var ErrPublishing = errors.New("a commit was interrupted half-way: run assent recover")

// RecoverPublish ends what Publish had begun when its process died, and says what it did. If
// HEAD has the commit, the lock that was to be the index becomes the index; if it has not,
// the lock is removed. Another one's lock is left alone.
func (r *Repo) RecoverPublish(ctx context.Context) (done []string, err error) {
	making := flock.New(filepath.Join(r.tmp(), "lock"))
	if _, err := os.Stat(r.tmp()); err == nil {
		if err := making.Lock(); err != nil {
			return nil, err
		}
		defer making.Unlock()
	}
	err = r.sweep(func(dir string, x publication) error {
		lock, ours := x.Index+".lock", filepath.Join(dir, "index.lock")
		if !sameFile(ours, lock) {
			return os.RemoveAll(dir) // before the lock, or after all was done
		}
		landed, err := r.IsAncestor(ctx, x.New, "HEAD")
		if _, unborn := r.HeadCommit(); err != nil && !errors.Is(unborn, ErrNoBranch) {
			return err
		}
		if landed {
			err = os.Rename(lock, x.Index)
			done = append(done, fmt.Sprintf("the index got what the commit %.10s brings", x.New))
		} else {
			err = os.Remove(lock)
			done = append(done, fmt.Sprintf("the commit %.10s was not published; its lock on the index is removed", x.New))
		}
		return errors.Join(err, os.RemoveAll(dir))
	})
	return done, err
}
