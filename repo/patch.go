package repo

import (
	"context"
	"fmt"
	"io"
)

// maxPatch caps the text of one patch.
const maxPatch = 32 << 20

// Patch returns the patch text of what is staged, without context lines.
func (r *Repo) Patch(ctx context.Context) (string, error) {
	parent := "HEAD"
	if _, err := r.Resolve(ctx, "HEAD"); err != nil {
		format, err := r.Format(ctx)
		if err != nil {
			return "", err
		}
		parent = emptyTree[format]
	}
	return r.patch(ctx, "diff-index", "--cached", parent)
}

// PatchBetween returns the patch text between two commits, without context lines.
func (r *Repo) PatchBetween(ctx context.Context, a, b string) (string, error) {
	from, err := r.Resolve(ctx, a)
	if err != nil {
		return "", err
	}
	to, err := r.Resolve(ctx, b)
	if err != nil {
		return "", err
	}
	return r.patch(ctx, "diff-tree", "-r", from, to)
}

func (r *Repo) patch(ctx context.Context, args ...string) (string, error) {
	args = append(args, "-p", "--unified=0", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--")
	c := r.command(args...)
	var text []byte
	c.Stdout = func(in io.Reader) (err error) {
		if text, err = io.ReadAll(io.LimitReader(in, maxPatch+1)); len(text) > maxPatch {
			return fmt.Errorf("the change is larger than %d bytes of patch text", maxPatch)
		}
		return err
	}
	_, err := r.run(ctx, c, args)
	return string(text), err
}
