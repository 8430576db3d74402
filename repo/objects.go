package repo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// MaxBlob caps what is read of one blob; a larger one is drained unread.
const MaxBlob = 8 << 20

// ErrMissingObject is an object that the repository does not have: a partial or broken
// clone. It never reads as absent content.
type ErrMissingObject struct{ ID string }

func (e *ErrMissingObject) Error() string {
	return fmt.Sprintf("the object %s is not in this clone, which is partial or damaged", e.ID)
}

// Hint says what to run.
func (e *ErrMissingObject) Hint() string { return "assent lint --fetch, which lets Git fetch it" }

// Code makes a check that meets the error report it under this code.
func (e *ErrMissingObject) Code() string { return "lint/object-missing" }

// ErrTooLarge is a blob over MaxBlob.
var ErrTooLarge = fmt.Errorf("larger than %d bytes", MaxBlob)

// objects is one `git cat-file --batch` process, which answers questions in order.
type objects struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
	cancel context.CancelFunc
}

type object struct {
	id, kind string
	data     []byte
	err      error
}

func (r *Repo) startObjects() (*objects, error) {
	c := r.command("cat-file", "--batch")
	ctx, cancel := context.WithCancel(context.Background()) // it lives as long as there are questions
	cmd, stderr, err := prepare(ctx, c)
	if err != nil {
		cancel()
		return nil, err
	}
	o := &objects{cmd: cmd, stderr: stderr, cancel: cancel}
	if o.in, err = cmd.StdinPipe(); err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	o.out = bufio.NewReaderSize(out, 256<<10)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return o, nil
}

func (o *objects) close() error {
	o.in.Close()
	timer := time.AfterFunc(ReadTimeout, o.cancel)
	defer timer.Stop()
	defer o.cancel()
	return o.cmd.Wait()
}

// read asks for objects by name and returns the answers in the same order. Questions
// are written while answers are read, so that neither side waits for the other.
func (r *Repo) read(names ...string) ([]object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects == nil {
		o, err := r.startObjects()
		if err != nil {
			return nil, err
		}
		r.objects = o
	}
	o := r.objects
	limit := time.AfterFunc(WriteTimeout, o.cancel) // for the answers to these questions
	defer limit.Stop()
	written := make(chan error, 1)
	ask := func() error {
		_, err := io.WriteString(o.in, strings.Join(names, "\n")+"\n")
		return err
	}
	if len(names) == 1 {
		written <- ask()
	} else {
		go func() { written <- ask() }()
	}
	out := make([]object, len(names))
	for i := range names {
		var err error
		if out[i], err = o.next(); err != nil {
			o.cancel()
			_ = o.close()
			r.objects = nil
			if text := o.stderr.String(); strings.Contains(text, "promisor") || strings.Contains(text, "lazy fetch") {
				return nil, &ErrMissingObject{names[i]} // a partial clone: Git was not allowed to fetch it
			}
			return nil, fmt.Errorf("git cat-file --batch: %w %s", err, o.stderr)
		}
	}
	return out, <-written
}

func (o *objects) next() (object, error) {
	header, err := o.out.ReadString('\n')
	if err != nil {
		return object{}, err
	}
	header = strings.TrimSuffix(header, "\n")
	if name, ok := strings.CutSuffix(header, " missing"); ok {
		return object{err: &ErrMissingObject{name}}, nil
	}
	parts := strings.Split(header, " ")
	if len(parts) != 3 {
		return object{err: fmt.Errorf("git cat-file answered %q", header)}, nil
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || size < 0 {
		return object{}, fmt.Errorf("git cat-file answered %q", header)
	}
	ob := object{id: parts[0], kind: parts[1]}
	if size > MaxBlob {
		ob.err = ErrTooLarge
		_, err = io.CopyN(io.Discard, o.out, size+1)
		return ob, err
	}
	ob.data = make([]byte, size+1)
	if _, err = io.ReadFull(o.out, ob.data); err != nil {
		return object{}, err
	}
	if ob.data[size] != '\n' {
		return object{}, errors.New("an answer without its end")
	}
	ob.data = ob.data[:size:size]
	return ob, nil
}

// treeEntry is one line of a tree object (git-cat-file(1): mode SP name NUL id).
type treeEntry struct {
	mode     Mode
	name, id string
}

func parseTree(data []byte, idBytes int) ([]treeEntry, error) {
	var out []treeEntry
	for len(data) > 0 {
		sp, nul := bytes.IndexByte(data, ' '), bytes.IndexByte(data, 0)
		if sp < 0 || nul < sp || len(data) < nul+1+idBytes {
			return nil, errors.New("a tree object is malformed")
		}
		mode, err := strconv.ParseUint(string(data[:sp]), 8, 32)
		if err != nil {
			return nil, errors.New("a tree object has a malformed mode")
		}
		id := data[nul+1 : nul+1+idBytes]
		out = append(out, treeEntry{Mode(mode), string(data[sp+1 : nul]), fmt.Sprintf("%x", id)})
		data = data[nul+1+idBytes:]
	}
	return out, nil
}
