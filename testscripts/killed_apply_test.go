package testscripts

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// killedEvery is the stride of TestKilledApply: 1 dies at every step.
var killedEvery = flag.Int("killed-every", 23, "TestKilledApply dies at each so many steps of the store")

// TestKilledApply kills an apply of two targets, a removal and an addition with a commit each, at
// a step of the store's writing. Afterwards recover and the same apply lead to the world that an
// undisturbed run leads to.
func TestKilledApply(t *testing.T) {
	skipShort(t)
	work := t.TempDir()
	env := append(withoutGit(os.Environ()), "HOME="+work+"/home", "XDG_STATE_HOME="+work+"/home/.state", "GIT_CONFIG_NOSYSTEM=1", "WORK="+work, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	sh := func(script string, more ...string) (string, error) {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir, cmd.Env = work, append(env, more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(script string) string {
		t.Helper()
		out, err := sh(script)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	line := func(session, dir, text string) string {
		return jsonLine(object{"timestamp": "2026-11-30T10:00:00Z", "type": "session_meta", "payload": object{"id": session, "cwd": filepath.Join(work, dir)}}) +
			jsonLine(object{"timestamp": "2026-11-30T10:00:01Z", "type": "response_item", "payload": object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}}}}) +
			jsonLine(object{"timestamp": "2026-11-30T10:00:02Z", "type": "event_msg", "payload": object{"type": "task_complete"}})
	}
	must(`mkdir -p home/.codex/sessions; git config --global user.name Designer; git config --global user.email designer@example.com; git config --global init.defaultBranch main
for d in a b; do git init -q $d; printf '<!-- agentsmd:start -->\n- Old rule.\n<!-- agentsmd:end -->\n' > $d/AGENTS.md; git -C $d add -A; git -C $d commit -qm $d; done`)
	for _, s := range [][3]string{{"s1", "a", "Drop the old rule."}, {"s2", "b", "Run gofmt now."}} {
		if err := os.WriteFile(filepath.Join(work, "home", ".codex", "sessions", s[0]+".jsonl"), []byte(line(s[0], s[1], s[2])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(`agentsmd prefer commit=yes --statement ok; agentsmd collect; agentsmd chunk
for n in 1 2; do R=$(grep -o 'R-[0-9a-f]*' home/.state/assent/agentsmd/runs/*/review/chunk-000$n.json | head -1)
  if [ $n = 1 ]; then what='"action":"remove","existing_instruction":"Old rule."' q='Drop the old rule.'; else what='"action":"add","instruction":"Run gofmt."' q='Run gofmt now.'; fi
  printf '[{%s,"target":"project","evidence_refs":["%s"],"evidence_quotes":[{"ref":"%s","quote":"%s"}],"confidence":"high","risk_of_overconstraint":"low","global_disposition":{"status":"project-only","reason":"Here."}}]' "$what" $R $R "$q" | agentsmd submit decisions --chunk $n
done
agentsmd reconcile; tar cf start.tar a b home`)
	plan := planID.FindString(must(`ls home/.state/assent/agentsmd/plans`))
	const world = `cat a/AGENTS.md b/AGENTS.md; for d in a b; do git -C $d status --porcelain; git -C $d log --format=%s; git -C $d show --stat --format= HEAD; ls -A $d; done; agentsmd status; ls home/.state/assent/agentsmd/txn home/.state/assent/agentsmd/state/effects 2>/dev/null | grep -v :$ || true`
	must("agentsmd apply " + plan + " --all --statement ok")
	want := must(world)
	if !strings.Contains(want, "Run gofmt") || strings.Contains(want, "pending") {
		t.Fatal(want)
	}
	died := 0
	for step := 1; ; step += *killedEvery {
		must(`rm -rf a b home; tar xf start.tar`)
		out, err := sh("agentsmd apply "+plan+" --all --statement ok", fmt.Sprintf("ASSENT_DIE=%d", step))
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "137") {
			t.Fatalf("step %d: %v\n%s", step, err, out)
		}
		died++
		must("agentsmd recover; agentsmd apply " + plan + " --all --statement ok || agentsmd status | grep -qv pending; agentsmd check --state")
		if got := must(world); got != want {
			t.Fatalf("step %d: got\n%s\nwant\n%s", step, got, want)
		}
	}
	if died < 5 {
		t.Errorf("it died at %d steps only", died)
	}
	t.Logf("%d deaths", died)
}
