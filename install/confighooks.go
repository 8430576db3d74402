package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assent/hooks"
	"assent/repo"
)

// Configured hooks (git-hook(1), Git 2.54 and newer): hook.<name>.event and
// hook.<name>.command. Git runs the command by sh with the hook's arguments behind it, before
// any hook file. Each event has a name of its own, which must not be the event's.
func eventKey(e hooks.Event) string   { return "hook.assent-" + e.Name + ".event" }
func commandKey(e hooks.Event) string { return "hook.assent-" + e.Name + ".command" }

// commandLine runs an event as the shim does, without a chained file: Git itself runs the
// hook files that are there.
func commandLine(e hooks.Event, bin string) string {
	script := fmt.Sprintf("if command -v assent >/dev/null 2>&1; then exec assent hook %s \"$@\"; fi; echo \"assent: the program of this hook is gone. Install it and run: assent install\" >&2", e.Name)
	if e.MayStop() {
		script += "; exit 1"
	}
	if bin != "" {
		script = fmt.Sprintf("if test -x \"$0\"; then exec \"$0\" hook %s \"$@\"; fi; %s", e.Name, script)
	}
	if bin == "" {
		bin = "assent"
	}
	return "sh -c " + quote(script) + " " + quote(bin)
}

// configuredFor is the program that a command line of ours runs, "" for one in PATH; ours is
// false for a line that this program did not write.
func configuredFor(e hooks.Event, line string) (bin string, ours bool) {
	i := strings.LastIndex(line, "' '")
	if i < 0 {
		return "", false
	}
	bin = strings.ReplaceAll(strings.TrimSuffix(line[i+3:], "'"), `'\''`, "'")
	if bin == "assent" && line == commandLine(e, "") {
		return "", true
	}
	return bin, line == commandLine(e, bin)
}

func configuredHook(ctx context.Context, r *repo.Repo, e hooks.Event) (string, error) {
	return r.Config(ctx, commandKey(e))
}

// configured plans configured hooks. They run beside every manager, but not where the hooks
// are switched off as a whole.
func (p *Plan) configured(ctx context.Context, r *repo.Repo, h repo.HooksPath, events []hooks.Event) error {
	if ok, version, err := r.Has(ctx, repo.ConfigHooks); err != nil {
		return err
	} else if !ok {
		return &Refused{fmt.Sprintf("configured hooks need Git 2.54; this is %s, which would ignore them silently", version), "assent install, which writes hook files"}
	}
	if h.Off() {
		return offAt(h)
	}
	for _, e := range events {
		want := commandLine(e, p.Bin)
		for _, key := range []string{eventKey(e), commandKey(e)} {
			if values, err := r.LocalConfig(ctx, key); err != nil {
				return err
			} else if len(values) > 1 {
				return &Refused{fmt.Sprintf("%s has %d values, and Git would run them all", key, len(values)), "git config --local --unset-all " + key}
			}
		}
		have, err := configuredHook(ctx, r, e)
		if err != nil {
			return err
		}
		at, err := r.Config(ctx, eventKey(e))
		if err != nil {
			return err
		}
		if have != want || at != e.Name {
			p.Keys = append(p.Keys, Key{eventKey(e), e.Name, ""}, Key{commandKey(e), want, ""})
		}
		path := filepath.Join(p.Dir, e.Name)
		if data, err := readRegular(path); err == nil && isOurs(data) { // never both methods for one event
			if !isShim(e, data) || len(behind(data)) > 0 {
				return &Refused{path + " is our hook with somebody's text in it", "assent uninstall, then install again"}
			}
			item := Item{Event: e.Name, Action: Remove, Path: path}
			if _, err := os.Lstat(path + ".pre-assent"); err == nil {
				item.chain = path + ".pre-assent"
			}
			p.Items = append(p.Items, item)
		}
	}
	return nil
}
