package hooks

import (
	"assent/agentsmd"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assent/approval"
	"assent/boundary"
	"assent/config"
	"assent/finding"
	"assent/hooks/shortcut"
	"assent/lint"
	"assent/repo"
	"assent/skmb"
	"assent/store"
)

// Call is one run of a hook. Stderr is where Git shows text; a hook prints nothing else.
type Call struct {
	Event  string
	Dir    string // "" inside a hook: the working directory is the top of the worktree
	Args   []string
	Env    []string
	Stdin  io.Reader // what Git says: the refs of a push
	Stderr io.Writer
	Color  bool
	Now    func() time.Time
	Build  string         // names the program's build, for cached verdicts
	Tool   string         // name and version, for manifests
	Begun  *shortcut.Look // what was seen before, if the shortcut was tried already
}

// run is what the steps of one event share.
type run struct {
	Call
	ctx   context.Context
	event Event
	repo  *repo.Repo
	code  int // exit code, in events that may stop Git

	looked    *shortcut.Look
	verdict   string // on HEAD, if it was judged just now
	meanwhile func() // tests only: happens while the index is judged
}

// Run runs the steps of an event and returns the exit code for Git. In an event that may
// stop Git everything that goes wrong stops it; in the others nothing does.
func Run(ctx context.Context, c Call) int {
	event, ok := Find(c.Event)
	if !ok {
		fmt.Fprintf(c.Stderr, "assent: there is no hook %q; see assent hook --list\n", finding.Clean(c.Event))
		return finding.ExitInvalid
	}
	return c.run(ctx, event)
}

func (c Call) run(ctx context.Context, event Event) int {
	ctx, cancel := context.WithTimeout(ctx, event.Limit)
	defer cancel()
	r := &run{Call: c, ctx: ctx, event: event}
	done := make(chan error, 1)
	go func() { done <- r.steps() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = fmt.Errorf("it took longer than %s", event.Limit)
	}
	if !event.MayStop() {
		if err != nil {
			fmt.Fprintf(c.Stderr, "assent: %s: not done: %s\n", c.Event, finding.Clean(err.Error()))
		}
		return finding.ExitOK
	}
	if err != nil {
		r.print(finding.Report{Result: finding.Result{Unchecked: []finding.Unchecked{finding.UncheckedBy(err)}}, LastHint: "assent: " + c.Event + " could not do its check, so Git is stopped"})
		return finding.ExitUnchecked
	}
	return r.code
}

func (r *run) steps() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	if r.repo, err = r.open(); err != nil {
		return err
	}
	r.repo.Merging = r.Event == "pre-merge-commit"
	defer r.repo.Close()
	for _, s := range r.event.Steps {
		if err := s.run(r); err != nil {
			return err
		}
	}
	return nil
}

// open takes the stage as Git has set it for a hook. Called by a person, in a directory
// below the top or with -C, it asks Git where things are.
func (r *run) open() (*repo.Repo, error) {
	if r.Begun != nil {
		return r.Begun.Repo, nil
	}
	if r.Dir == "" && r.event.Group != Server {
		if found, err := repo.OpenHook(r.Env); err == nil {
			return found, nil
		}
	}
	return repo.Open(r.ctx, cmp.Or(r.Dir, "."), r.Env)
}

func (r *run) print(report finding.Report) {
	report.Color = r.Color
	_ = finding.WriteText(r.Stderr, report) // a reader that went away changes no verdict
}

// look is the first look at the repository, taken once.
func (r *run) look() *shortcut.Look {
	if r.looked == nil {
		if r.looked = r.Begun; r.looked == nil {
			r.looked = shortcut.Begin(r.repo, r.Event, r.Now(), r.Build)
		}
	}
	return r.looked
}

func (r *run) today() string { return r.Now().UTC().Format(time.DateOnly) }

// Private is assent's own directory in the Git directory that all worktrees share.
func Private(r *repo.Repo) string { return filepath.Join(r.CommonDir, "assent") }

// Checks are the checks of all domains for one target.
// history is asked only where it may take its time: not in a hook.
func Checks(t *lint.Target, r *repo.Repo, today string, history bool) []finding.Check {
	return slices.Concat(checks(t, r, today, history, nil), gateChecks(r))
}

func checks(t *lint.Target, r *repo.Repo, today string, history bool, depends func()) []finding.Check {
	t.Known = AllCodes
	o := skmb.Options{Roots: t.Config.Skmb.Roots, Today: today, Seen: seen(r), Sides: t.Sides, Ancestor: t.Ancestor, Env: r.Caller(), Related: t.Config.Skmb.Gate == config.Related, Depends: depends}
	o.Required = Required(t.Config)
	o.Touch = t.Config.Approval.Touch
	if trusted := t.Trusted(); trusted != nil {
		var err error
		if o.Signers, err = Signers(trusted, t.Config); err != nil {
			return []finding.Check{{Code: "skmb/approval-invalid", Run: func(*finding.Pass) error { return err }}}
		}
		o.SignersOf = func(tree finding.Tree) (approval.Signers, error) { return Signers(tree, t.Config) }
	}
	if history && !r.Shallow {
		o.Unknown = func(ctx context.Context, hashes []string) ([]string, error) {
			return r.NotAncestors(ctx, hashes, t.Tip)
		}
	}
	if !r.Bare() && (t.Mode == lint.ModeStaged || t.Mode == lint.ModeWorktree) {
		o.OnDisk = func(root string) (exists, ignored bool) {
			if _, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(skmb.IndexPath(root)))); err != nil {
				return false, false
			}
			if r.Linked(r.Root, skmb.IndexPath(root)) {
				return false, false
			}
			ignored, _ = r.Ignored(context.Background(), skmb.IndexPath(root))
			return true, ignored
		}
	}
	return slices.Concat(skmb.Checks(o), skmb.CommitChecks(o), learned(t, r, depends), boundary.Checks(channel(t, r)))
}

// Kinds are the kinds of artifacts that there are.
var Kinds = []*boundary.Form{skmb.DecisionKind.Form, agentsmd.RuleDecisions.Form, agentsmd.GlobalReview.Form, approval.Kind, boundary.Audit}

// trackedKinds are those whose records are tracked JSON files.
var trackedKinds = slices.DeleteFunc(slices.Clone(Kinds), func(f *boundary.Form) bool { return f.Home != boundary.Tracked })

// everyTree is how many commits of a range are walked whole: each takes 60 microseconds, which at
// 10,000 of them was twice as long as all the rest.
const everyTree = 1000

// channel is what the channel lock looks at in a target.
func channel(t *lint.Target, r *repo.Repo) boundary.ChannelOptions {
	o := boundary.ChannelOptions{Kinds: trackedKinds, All: t.Mode != lint.ModeStaged}
	if t.Mode == lint.ModeRange {
		var names []string
		if o.EveryTree = len(t.IDs) <= everyTree; o.EveryTree {
			names = store.StrayNames
		} else {
			t.Notes = append(t.Notes, fmt.Sprintf("the range has more than %d commits: private files were looked for at its end only", everyTree))
		}
		o.History = func(ctx context.Context, dirs []string) ([]boundary.Change, error) {
			changes, err := r.CommitChanges(ctx, t.IDs, dirs, names)
			out := make([]boundary.Change, len(changes))
			for i, c := range changes {
				out[i] = boundary.Change{Commit: c.Commit, Path: c.Path, Added: c.Status == 'A', Removed: c.Status == 'D', Read: func() ([]byte, error) { return r.Blob(c.ID) }}
			}
			return out, err
		}
	}
	if t.Mode == lint.ModeStaged {
		o.Came = func(context.Context) ([]boundary.Change, error) {
			out := make([]boundary.Change, len(t.Staged.Changes))
			for i, c := range t.Staged.Changes {
				out[i] = boundary.Change{Path: c.Path, Removed: c.NewMode == 0, Read: func() ([]byte, error) { return r.Blob(c.New) }}
			}
			return out, nil
		}
		o.Amends = func(ctx context.Context, path string) bool { return r.OnlyInHead(ctx, path) }
	}
	return o
}

// AllCodes is the list of every check of every domain, and of lint itself.
func AllCodes() []finding.Check {
	return slices.Concat(skmb.Checks(skmb.Options{}), skmb.BasisCodes, agentsmd.Checks(agentsmd.CheckOptions{}), boundary.Checks(boundary.ChannelOptions{}), IndexCodes, approval.Codes, Codes, lint.Codes)
}

// Required is the least level of a yes to a decision.
func Required(c config.Config) approval.Level {
	level := approval.LevelOf(string(c.Approval.RequiredFor(c.Approval.Domains.Skmb.Required)))
	if c.Approval.Touch && level == approval.LevelSignature {
		return approval.LevelTouch
	}
	return level
}

// Signers are the trust roots of a tree: who may sign, and which keys are revoked. A file
// that is not there lists nobody; one that cannot be read is an error.
func Signers(tree finding.Tree, c config.Config) (s approval.Signers, err error) {
	read := func(name string) []byte {
		data, e := tree.ReadFile(name)
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return data
	}
	s.Allowed, s.Revoked = read(c.Approval.AllowedSigners), read(lint.RevokedKeys)
	return s, err
}

// Action is the last line of a blocked commit: what to do, and nothing that goes around
// the gate.
func Action(fs []finding.Finding) string {
	var ids []string
	for _, f := range fs {
		if f.Code == "skmb/unresolved" && !f.Baselined {
			if id := skmb.FindingID(f); id != "" {
				ids = append(ids, id)
			}
		}
	}
	switch len(ids) {
	case 0:
		return "assent: mend the errors above, add the files, and commit again"
	case 1:
		return fmt.Sprintf("assent: undecided. Read it with `skmb show %[1]s`; keep it as a question with `skmb open %[1]s`; or let the designer decide and add the files: skmb approve %[1]s", ids[0])
	}
	return fmt.Sprintf("assent: %d decisions are undecided. Read them with `skmb list --status proposed`; keep one as a question with `skmb open ID`; or let the designer decide and add the files: skmb approve %s", len(ids), join(ids))
}

func join(ids []string) string {
	out := ""
	for i, id := range ids {
		if i == 5 {
			return out + " …"
		}
		if i > 0 {
			out += " "
		}
		out += id
	}
	return out
}
