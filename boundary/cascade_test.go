package boundary_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assent/boundary"
	"assent/internal/budget"
	"assent/store"
)

type partOf struct {
	Name string `json:"name" jsonschema:"minLength=1,maxLength=9" text:"line" jsonschema_description:"x"`
}

type wholeOf struct {
	Obj   partOf   `json:"obj" jsonschema_description:"x"`
	Refs  []string `json:"refs,omitzero" jsonschema:"maxItems=3,maxLength=9" text:"line" ref:"things" jsonschema_description:"x"`
	Group string   `json:"group,omitzero" jsonschema:"maxLength=9" text:"line" jsonschema_description:"x"`
}

// One fault gives one violation: a rule, a scope or a coverage that would have to guess is left
// out, and everything else is still said.
func TestOneFault(t *testing.T) {
	spec := boundary.Spec[wholeOf, struct{}]{
		Form: boundary.Form{Name: "whole", Version: 1, Items: "items", Example: "[]", Codes: map[string]string{"boundary/type": "room/type"}},
		Sets: map[string]func(struct{}) boundary.Set{"things": func(struct{}) boundary.Set {
			return boundary.Set{Members: []boundary.Member{{ID: "a", Scope: "g"}, {ID: "b", Scope: "h"}}, Private: true, Resolve: func(s string) []string {
				return map[string][]string{"a": {"a"}, "b": {"b"}, "x": {"a", "b"}}[s]
			}}
		}},
		Scope: func(_ struct{}, p wholeOf) string { return p.Group }, ScopeReads: []string{"/group"},
		Coverage: []boundary.Coverage[struct{}]{{Of: "things", Need: func(struct{}) []string { return []string{"a"} }}},
		Rules: []boundary.Rule[wholeOf, struct{}]{
			{Reads: []string{"/obj/name"}, Judge: func(i *boundary.Item[wholeOf], _ struct{}) {
				if i.Value.Obj.Name == "" {
					i.Violate("room/zero", "/obj", "", "a rule ran on nothing")
				}
			}},
			{Reads: []string{""}, Judge: func(i *boundary.Item[wholeOf], _ struct{}) {
				if i.Value.Group == "bad" {
					i.Violate("room/bad", "/group", "", "bad")
				}
			}},
		},
	}
	k := boundary.Define[wholeOf, wholeOf](spec)
	for doc, want := range map[string]string{
		`[{"obj":{"name":"n"},"refs":["a"],"group":"g"}]`: "",
		`[{"refs":["a"]}]`:                            "boundary/missing-field /0/obj",
		`[{"obj":{},"refs":["a"]}]`:                   "boundary/missing-field /0/obj/name",
		`[{"obj":5,"refs":["a"]}]`:                    "room/type /0/obj",
		`[{"obj":5,"obj":{"name":"n"},"refs":["a"]}]`: "boundary/json-duplicate-name /0/obj, room/type /0/obj, room/type /0/obj",
		`[5]`: "room/type /0",
		`[{"obj":{"name":"n"},"refs":["a"]},{"obj":{"name":"n"},"refs":[5]}]`: "room/type /1/refs/0",
		`[{"obj":{"name":"n"}}]`:                                                                "boundary/coverage-missing ",
		`{"items":[{"obj":{"name":"n"}}]}`:                                                      "boundary/coverage-missing /items",
		`{"items":[{"obj":{"name":"n"}},5]}`:                                                    "room/type /items/1",
		`[{"obj":{"name":"n"},"refs":["a"],"group":"h"}]`:                                       "boundary/ref-scope /0/refs/0",
		`[{"obj":{"name":"n"},"refs":["a"],"group":"h "}]`:                                      "boundary/text-unsafe /0/group",
		`[{"obj":{"name":"n"},"refs":["x","a"]}]`:                                               "boundary/ref-ambiguous /0/refs/0",
		`[{"obj":{"name":"n"},"refs":["a"],"group":"bad"}]`:                                     "boundary/ref-scope /0/refs/0",
		`[{"obj":{"name":"n"},"refs":["a"]},{"obj":{"name":"n"},"group":"bad"}]`:                "room/bad /1/group",
		`[{"obj":{"name":"n"},"refs":["a","a","a","zz"]}]`:                                      "boundary/length /0/refs",
		`[{"obj":{"name":"n"},"refs":["a"],"more":1},{"obj":{"name":"n"},"refs":["a","none"]}]`: "boundary/ref-unknown /1/refs/1, boundary/unknown-field /0/more",
	} {
		r, err := boundary.Judge(k, k.Parse(strings.NewReader(doc), "x"), struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if r != nil {
			got = strings.Join(found(t, r), ", ")
			if strings.Contains(r.Error(), "may mean a") {
				t.Errorf("%s: members of a private set are named: %v", doc, r)
			}
		}
		if strings.HasSuffix(want, "/0/obj, room/type /0/obj, room/type /0/obj") { // the two faults of the first one count once each
			want = "boundary/json-duplicate-name /0/obj, room/type /0/obj"
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", doc, got, want)
		}
	}
}

// The key of a host stands for one request for one thing.
func TestKeyIsForOneUnit(t *testing.T) {
	d := door(t)
	d.Key = "host-1"
	w := theWorld()
	w.unit.Name = "chunk 1"
	if _, err := submit(t, d, "["+add+"]", w); err != nil {
		t.Fatal(err)
	}
	other := theWorld()
	other.unit.Name = "chunk 2"
	if _, err := submit(t, d, "["+add+"]", other); err == nil || refusal(t, err).Violations[0].Code != "boundary/idempotency-conflict" {
		t.Errorf("for another unit: %v", err)
	}
	// Whatever became of the world: the answer that was given is given again.
	gone := theWorld()
	gone.unit = boundary.Unit{Name: "chunk 1", Revision: "r9", Taken: true}
	delete(gone.messages, "m1")
	if a, err := submit(t, d, "["+add+"]", gone); err != nil || !a.Replayed {
		t.Errorf("after the world moved: %+v, %v", a, err)
	}
	if _, err := submit(t, d, `[{"action":"add"}]`, w); err == nil || refusal(t, err).ExitCode() != 2 {
		t.Errorf("a payload of bad form under a known key: %v", err)
	}
}

// The log names what was judged under the lock, and nothing that came in with it.
func TestLoggedUnit(t *testing.T) {
	d := door(t)
	before, after := theWorld(), theWorld()
	before.unit, after.unit = boundary.Unit{Name: "u", Revision: "r1"}, boundary.Unit{Name: "u", Revision: "r2"}
	if _, err := submit(t, d, "["+add+"]", before, after); err != nil {
		t.Fatal(err)
	}
	if c := calls(t, d)[0]; c.Basis != "r2" {
		t.Errorf("the basis is %q", c.Basis)
	}
	for _, odd := range []string{"/home/someone/plans", "token=abcd1234efgh5678", "a\nb", strings.Repeat("x", 70_000)} {
		w := theWorld()
		w.unit = boundary.Unit{Name: odd, Revision: odd}
		_, err := submit(t, d, "[5]", w)
		if r := refusal(t, err); r.Note != "" {
			t.Errorf("%.40q: %s", odd, r.Note)
		}
		log := calls(t, d)
		if c := log[len(log)-1]; c.Verdict != "refused" || !strings.HasPrefix(c.Unit, "sha256:") || !strings.HasPrefix(c.Basis, "sha256:") {
			t.Errorf("%.40q is in the log as %.60q, %.60q", odd, c.Unit, c.Basis)
		}
	}
}

// What only writing showed to be wrong is a refusal like every other.
func TestObject(t *testing.T) {
	d := door(t)
	_, err := learnedKind.Submit(t.Context(), learnedKind.Parse(strings.NewReader("["+add+"]"), "<stdin>"), d, boundary.Task[learnedPayload, *learned]{
		World: func(context.Context) (*learned, error) { return theWorld(), nil },
		Write: func(_ *store.Tx, p *boundary.Payload[learnedPayload], _ *learned) (boundary.Taken, error) {
			return boundary.Taken{}, p.Object("learned/no-room", "make room", "there is no room for it")
		},
	})
	if got := found(t, err); !slices.Equal(got, []string{"learned/no-room "}) || refusal(t, err).Violations[0].Hint != "make room" {
		t.Errorf("got %q: %v", got, err)
	}
	if log := calls(t, d); len(log) != 1 || log[0].Verdict != "refused" {
		t.Errorf("the log is %+v", log)
	}
}

// However many references and quotes a payload has, judging them takes no more than reading it
// does, and ends when the caller is gone.
func TestManyReferences(t *testing.T) {
	w := theWorld()
	for i := range 5000 {
		w.rules = append(w.rules, boundary.Member{ID: fmt.Sprintf("rule number %d", i), Scope: "app"})
		w.messages[fmt.Sprintf("message-%d", i)] = said("app", strings.Repeat("some words that stand there ", 2000))
	}
	item := `{"action":"remove","project":"app","old":"no such","refs":["x1","x2","x3","x4","x5","x6","x7","x8","x9"],"quotes":[{"ref":"message-1","quote":"some words that never stood there"},{"ref":"message-1","quote":"words that never stood there"}]}`
	long := `{"action":"add","project":"app","text":"x","refs":["` + strings.Repeat(`x","`, 40_000) + `x"]}`
	for name, doc := range map[string]string{"many items": "[" + strings.Repeat(item+",", 199) + item + "]", "a long list": "[" + long + "]", "too many items": "[" + strings.Repeat(item+",", 3000) + item + "]"} {
		budget.Within(t, soon, func() {
			r, err := boundary.Judge(learnedKind, learnedKind.Parse(strings.NewReader(doc), ""), w)
			if err != nil || r == nil {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := learnedKind.Submit(ctx, learnedKind.Parse(strings.NewReader("["+add+"]"), ""), door(t), boundary.Task[learnedPayload, *learned]{World: func(context.Context) (*learned, error) { return w, nil }}); err == nil {
		t.Error("a caller that is gone gets an answer")
	}
}

// No part of a credential is shown, wherever in a payload it stands.
func TestNothingOfACredential(t *testing.T) {
	const key = "AKIAIOSFODNN7EXAMPLE"
	for _, doc := range []string{
		`[{"action":"` + key + strings.Repeat("x", 70_000) + `"}]`, `[{"action":"AKIAIOSF\u0007ODNN7EXAMPLE"}]`, `[{"` + key + `":1}]`, `[{"` + key + `":{"` + key + `":1}}]`,
		`[{"action":"add","refs":["` + key + `"]}]`, `{"` + key + `":[]}`, `[{"action":"add","project":"` + key + `"}]`,
	} {
		_, err := submit(t, door(t), doc, theWorld())
		if text := refusal(t, err).Error(); strings.Contains(text, "AKIAIOSF") || strings.Contains(text, "ODNN7") {
			t.Errorf("%.60s: %.300s", doc, text)
		}
	}
}

// A kind of which the payload is a batch is probed in both of its forms.
func TestProbes(t *testing.T) {
	k := learnedKind
	probes := k.Probes()
	if len(probes) < 5 {
		t.Fatalf("only %d probes", len(probes))
	}
	for _, p := range probes {
		for form, payload := range map[string]string{"array": string(p.Payload), "tool": `{"decisions":` + string(p.Payload) + `}`} {
			if v, err := k.JudgeReply(probes, boundary.Reply{Probe: p.Probe, Reply: "payload", Payload: []byte(payload)}); v != boundary.NotEnforced || err != nil {
				t.Errorf("%s, as %s: %s, %v", p.Probe, form, v, err)
			}
		}
		if v, _ := k.JudgeReply(probes, boundary.Reply{Probe: p.Probe, Reply: "payload", Payload: []byte(`{"more":1}`)}); v == boundary.Enforced {
			t.Errorf("%s: %s by what breaks the schema elsewhere", p.Probe, v)
		}
		if v, _ := k.JudgeReply(probes, boundary.Reply{Probe: p.Probe, Reply: "payload", Payload: []byte(k.Example)}); v != boundary.Enforced {
			t.Errorf("%s: the example is %s", p.Probe, v)
		}
		for _, reply := range []boundary.Reply{{Reply: "refusal"}, {Reply: "incomplete"}, {Reply: "empty"}, {Reply: "payload", Payload: []byte(`"x"`)}, {Reply: "payload", Payload: []byte(`[]`)}, {Reply: "payload"}} {
			reply.Probe = p.Probe
			if v, err := k.JudgeReply(probes, reply); v != boundary.NotKnown || err != nil {
				t.Errorf("%+v: %s, %v", reply, v, err)
			}
		}
	}
	for _, bad := range []boundary.Reply{{Probe: "x", Reply: "refusal"}, {Probe: probes[0].Probe, Reply: "yes"}} {
		if _, err := k.JudgeReply(probes, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if replies, err := boundary.ReadReplies([]byte("\n{\"probe\":\"a\",\"reply\":\"refusal\"}\n\n")); err != nil || len(replies) != 1 {
		t.Errorf("%v, %v", replies, err)
	}
	if _, err := boundary.ReadReplies([]byte("{}\n{\"more\":1}")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

// A source without text supports nothing, and says so once.
func TestNoText(t *testing.T) {
	type quoted struct {
		Quote string `json:"quote" jsonschema:"minLength=1,maxLength=99" text:"quote" jsonschema_description:"x"`
	}
	var source boundary.Source
	k := boundary.Define[quoted, quoted](boundary.Spec[quoted, struct{}]{Form: boundary.Form{Name: "quoted", Version: 1, Floor: boundary.TrustTranscript}, Source: func(struct{}, *boundary.Item[quoted], string) (boundary.Source, error) {
		return source, nil
	}})
	for _, c := range []struct {
		source boundary.Source
		want   string
	}{
		{boundary.Source{Provenance: good}, "boundary/ground-not-found /quote"},
		{boundary.Source{Data: []byte{}, Provenance: good}, "boundary/ground-not-found /quote"},
		{boundary.Source{Data: []byte("a long enough line\rand another one\r"), Provenance: good}, ""},
		{boundary.Source{Provenance: boundary.Provenance{Trust: boundary.TrustTracked, Scope: boundary.DeniedScope, Freshness: boundary.Fresh, Integrity: boundary.Intact}}, "boundary/prov-scope /quote"},
	} {
		source = c.source
		r, err := boundary.Judge(k, k.Parse(strings.NewReader(`{"quote":"and another one"}`), ""), struct{}{})
		got := ""
		if r != nil {
			got = strings.Join(found(t, r), ", ")
		}
		if err != nil || got != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.source, got, err, c.want)
		}
	}
	if g, err := boundary.Ground([]byte("one\rtwo\r\nthree\nfour"), "four", nil); err != nil || g.Line != 4 {
		t.Errorf("a whole line behind other line ends: %+v, %v", g, err)
	}
}
