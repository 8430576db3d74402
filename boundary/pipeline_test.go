package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/boundary"
	"assent/finding"
	"assent/store"
)

// A kind with everything that a kind can have: a batch, an action that decides which fields
// there are, references with scopes, quotes, coverage, rules and a policy.

type action string

func (action) EnumValues() []string { return []string{"add", "remove", "no-op"} }

type learnedPayload struct {
	Action  action         `json:"action" jsonschema_description:"what to do"`
	Project string         `json:"project" jsonschema:"minLength=1,maxLength=40" text:"line" jsonschema_description:"where"`
	Text    string         `json:"text,omitzero" jsonschema:"minLength=1,maxLength=200" text:"rule" jsonschema_description:"the rule"`
	Old     string         `json:"old,omitzero" jsonschema:"minLength=1,maxLength=40" text:"line" ref:"rules" jsonschema_description:"the rule that goes"`
	Reason  string         `json:"reason,omitzero" jsonschema:"minLength=1,maxLength=200" text:"line" jsonschema_description:"why nothing is done"`
	Refs    []string       `json:"refs" jsonschema:"minItems=1,maxItems=9,minLength=1,maxLength=40" text:"line" ref:"messages" jsonschema_description:"messages that it comes from"`
	Quotes  []quotePayload `json:"quotes,omitzero" jsonschema:"maxItems=9" jsonschema_description:"what was said"`
}

type quotePayload struct {
	Ref   string `json:"ref" jsonschema:"minLength=1,maxLength=40" text:"line" ref:"messages" jsonschema_description:"the message"`
	Quote string `json:"quote" jsonschema:"minLength=1,maxLength=200" text:"quote" jsonschema_description:"the words"`
}

type learnedRecord struct {
	boundary.Envelope
	learnedPayload
	Quotes []quoteRecord `json:"quotes,omitzero" jsonschema:"maxItems=9" jsonschema_description:"what was said, with where"`
	Target string        `json:"target" jsonschema:"maxLength=100" text:"line" jsonschema_description:"the file"`
}

type quoteRecord struct {
	quotePayload
	Start int `json:"start" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"where it begins"`
}

// learned is the world: what was said, by message, in which project; and the rules.
type learned struct {
	messages map[string]message
	rules    []boundary.Member
	need     []string
	unit     boundary.Unit
	denied   string
	private  bool
}

type message struct {
	project, text string
	boundary.Provenance
}

var good = boundary.Provenance{Trust: boundary.TrustTranscript, Scope: boundary.InScope, Freshness: boundary.Fresh, Integrity: boundary.Intact}

func said(project, text string) message { return message{project, text, good} }

func theWorld() *learned {
	return &learned{
		messages: map[string]message{
			"m1": said("app", "please run only the documentation tests when only documentation changed"),
			"m2": said("app", "and never touch the lock file"),
			"m3": said("lib", "use tabs in this library everywhere"),
		},
		rules: []boundary.Member{{ID: "Run all tests.", Scope: "app"}, {ID: "Use spaces.", Scope: "lib"}},
	}
}

var learnedKind = boundary.Define[learnedPayload, learnedRecord](boundary.Spec[learnedPayload, *learned]{
	Form: boundary.Form{
		Name: "learned", Version: 1, Prefix: "LE", Home: boundary.Tracked, Items: "decisions", Short: 8, Floor: boundary.TrustTranscript,
		Example: `[{"action":"no-op","project":"app","reason":"it is said already","refs":["m1"]}]`,
		Codes:   map[string]string{"boundary/ref-unknown": "learned/untrusted"},
		Matrix: []boundary.Matrix{{By: "action", Fields: "text old reason quotes", Rows: map[string]string{
			"add":    "r    -   o      r",
			"remove": "-    r   o      r",
			"no-op":  "-    -   r      -",
		}}},
	},
	Sets: map[string]func(*learned) boundary.Set{
		"messages": func(w *learned) boundary.Set {
			s := boundary.Set{Private: w.private}
			for id, m := range w.messages {
				s.Members = append(s.Members, boundary.Member{ID: id, Scope: m.project})
			}
			slices.SortFunc(s.Members, func(a, b boundary.Member) int { return strings.Compare(a.ID, b.ID) })
			return s
		},
		"rules": func(w *learned) boundary.Set {
			return boundary.Set{Members: w.rules, Resolve: func(text string) (ids []string) {
				for _, m := range w.rules {
					if strings.HasPrefix(m.ID, text) {
						ids = append(ids, m.ID)
					}
				}
				return ids
			}}
		},
	},
	Scope:      func(_ *learned, p learnedPayload) string { return p.Project },
	ScopeReads: []string{"/project"},
	Coverage:   []boundary.Coverage[*learned]{{Of: "messages", Need: func(w *learned) []string { return w.need }}},
	Source: func(w *learned, i *boundary.Item[learnedPayload], pointer string) (boundary.Source, error) {
		m := w.messages[i.Text(strings.TrimSuffix(pointer, "quote")+"ref")]
		if m.text == "" {
			return boundary.Source{}, &boundary.GroundError{Code: "boundary/ground-path", Message: "the transcript is gone"}
		}
		return boundary.Source{Data: []byte(m.text), Provenance: m.Provenance}, nil
	},
	Rules: []boundary.Rule[learnedPayload, *learned]{
		{Reads: []string{"/text", "/quotes"}, Judge: func(i *boundary.Item[learnedPayload], _ *learned) {
			if strings.Contains(i.Value.Text, "always") && len(i.Quotes) < 2 {
				i.Violate("learned/always", "/text", "quote it twice", "%q asks for two quotes", "always")
			}
		}},
		{Judge: func(i *boundary.Item[learnedPayload], w *learned) {
			if w.denied != "" && i.Value.Project == w.denied {
				i.Violate("boundary/approval-required", "/project", "", "%s needs a person", w.denied)
			}
		}},
	},
	Unit: func(w *learned) boundary.Unit { return w.unit },
})

var clock = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// door is a way in with a store of its own.
func door(t testing.TB) boundary.Door {
	t.Helper()
	d, _ := doorIn(t)
	return d
}

// doorIn is a door, and the top of the tree that it writes in.
func doorIn(t testing.TB) (d boundary.Door, tree string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(store.Options{Private: filepath.Join(dir, "private"), Roots: map[string]string{"tree": filepath.Join(dir, "tree")}, Now: func() time.Time { return clock }, LockWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return boundary.Door{
		Store: s, Env: boundary.Env{Now: func() time.Time { return clock }},
		Call: boundary.Call{Command: "submit learned", Class: "reversible_write", Tool: boundary.Tool{Version: "test", Go: "go"}, Snapshot: boundary.Snapshot{Commit: "c0ffee", Tree: "7ea", ObjectFormat: "sha1"}},
	}, filepath.Join(dir, "tree")
}

// submit brings a payload to a door, in a world that answers the first and the second question.
func submit(t testing.TB, d boundary.Door, doc string, worlds ...*learned) (boundary.Answer, error) {
	t.Helper()
	asked := 0
	return learnedKind.Submit(t.Context(), learnedKind.Parse(strings.NewReader(doc), "<stdin>"), d, boundary.Task[learnedPayload, *learned]{
		World: func(context.Context) (*learned, error) {
			w := worlds[min(asked, len(worlds)-1)]
			asked++
			return w, nil
		},
		Write: func(tx *store.Tx, p *boundary.Payload[learnedPayload], w *learned) (boundary.Taken, error) {
			var out boundary.Taken
			for n, i := range p.Items {
				r := learnedRecord{
					Envelope:       boundary.Envelope{SchemaVersion: 1, Kind: "learned", CreatedAt: "2026-03-02T10:00:00Z", RequestSHA256: p.Request, Parents: []string{}, ToolVersion: "test"},
					learnedPayload: i.Value, Target: i.Value.Project + "/AGENTS.md",
				}
				r.learnedPayload.Quotes = nil
				for q, quote := range i.Value.Quotes {
					g, ok := i.Quotes[fmt.Sprintf("/quotes/%d/quote", q)]
					if !ok || len(g.SHA256) != 64 {
						t.Errorf("quote %d of item %d was taken and not found: %+v", q, n, i.Quotes)
					}
					r.Quotes = append(r.Quotes, quoteRecord{quote, g.Span.Start})
				}
				id, data, err := learnedKind.Seal(&r, func(id string) { r.ID = id }, clock)
				if err != nil {
					return out, err
				}
				name := store.Name{Root: "tree", Path: learnedKind.Path(id)}
				if err := tx.Put(store.Record, name, data, ""); err != nil {
					return out, err
				}
				out.IDs = append(out.IDs, id)
				out.Outputs = append(out.Outputs, boundary.Output{Path: name.Path, SHA256: string(store.DigestOf(data)), ID: id})
			}
			return out, nil
		},
	})
}

// calls are the entries of the log.
func calls(t testing.TB, d boundary.Door) (out []boundary.Call) {
	t.Helper()
	if err := d.Store.ReadLog(context.Background(), boundary.CallsLog, func(line []byte) error {
		var c boundary.Call
		out = append(out, c)
		return json.Unmarshal(line, &out[len(out)-1])
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	add    = `{"action":"add","project":"app","text":"When only documentation changed, run only the documentation tests.","refs":["m1"],"quotes":[{"ref":"m1","quote":"run only the documentation  tests"}]}`
	remove = `{"action":"remove","project":"app","old":"Run all","refs":["m1","m2"],"quotes":[{"ref":"m2","quote":"never touch the lock file"}]}`
	noop   = `{"action":"no-op","project":"lib","reason":"it is the habit there","refs":["m3"]}`
)

// A batch is taken whole, in both of its forms, and each item becomes a record whose id follows
// from it.
func TestBatch(t *testing.T) {
	for name, doc := range map[string]string{
		"an array":  "[" + add + "," + remove + "," + noop + "]",
		"an object": `{"decisions":[` + add + "," + remove + "," + noop + "]}",
	} {
		t.Run(name, func(t *testing.T) {
			d := door(t)
			a, err := submit(t, d, doc, theWorld())
			if err != nil {
				t.Fatal(err)
			}
			if !a.Accepted || a.Replayed || len(a.IDs) != 3 || a.Kind != "learned" || !strings.HasPrefix(a.AuditID, "AU-20260302-") {
				t.Errorf("got %+v", a)
			}
			log := calls(t, d)
			if len(log) != 1 || log[0].Verdict != "accepted" || len(log[0].Outputs) != 4 || log[0].Outputs[1].ID != a.IDs[1] || log[0].Outputs[3].ID != a.AuditID || log[0].Kind != "learned" || log[0].Retry.Attempt != 1 {
				t.Errorf("the log is %+v", log)
			}
			if got := submitAgain(t, d, doc); fmt.Sprint(got.IDs) != fmt.Sprint(a.IDs) || !got.Replayed || got.AuditID != a.AuditID {
				t.Errorf("the same again gives %+v", got)
			}
		})
	}
	for doc, want := range map[string]string{
		`{"decisions":{}}`:                     "1:14 boundary/type /decisions",
		`{"decision":[]}`:                      "1:1 boundary/missing-field /decisions, 1:2 boundary/unknown-field /decision",
		`{"decisions":[],"target":1}`:          "1:17 boundary/owned-field /target",
		`[` + noop + `,1]`:                     fmt.Sprintf("1:%d boundary/type /1", len(noop)+3),
		`{"decisions":[{"action":"no-op"}]}`:   "1:15 boundary/missing-field /decisions/0/project, 1:15 boundary/missing-field /decisions/0/refs, 1:15 boundary/field-required-here /decisions/0/reason",
		"[" + strings.Repeat("1,", 200) + "1]": "",
		`"x"`:                                  "1:1 boundary/channel-rejected ",
		"":                                     "1:1 boundary/channel-empty ",
	} {
		_, err := submit(t, door(t), doc, theWorld())
		got := told(refusal(t, err).Violations)
		slices.Sort(got)
		wanted := strings.Split(want, ", ")
		slices.Sort(wanted)
		if want != "" && !slices.Equal(got, wanted) {
			t.Errorf("%.60s: got %q, want %q", doc, got, want)
		}
		if want == "" && !slices.Contains(got, "1:1 boundary/length ") {
			t.Errorf("%.60s: got %q", doc, got[:3])
		}
	}
}

func submitAgain(t *testing.T, d boundary.Door, doc string) boundary.Answer {
	t.Helper()
	a, err := submit(t, d, doc, theWorld())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Of every action and every field that it decides about: what must be there, and what must not.
func TestActionMatrix(t *testing.T) {
	values := map[string]string{"text": `"Ask first."`, "old": `"Use spaces."`, "reason": `"r"`, "quotes": `[]`}
	m := learnedKind.Matrix[0]
	count := 0
	for act, row := range m.Rows {
		for mask := range 1 << len(values) {
			doc := fmt.Sprintf(`{"action":%q,"project":"lib","refs":["m3"]`, act)
			var want []string
			for i, field := range strings.Fields(m.Fields) {
				mark := strings.Fields(row)[i]
				switch there := mask&(1<<i) != 0; {
				case there && mark == "-":
					want = append(want, "boundary/field-not-here /0/"+field)
				case !there && mark == "r":
					want = append(want, "boundary/field-required-here /0/"+field)
				}
				if mask&(1<<i) != 0 {
					doc += fmt.Sprintf(`,%q:%s`, field, values[field])
				}
			}
			count++
			_, err := submit(t, door(t), "["+doc+"}]", theWorld())
			if len(want) == 0 && err == nil {
				continue
			}
			slices.Sort(want)
			if got := found(t, err); !slices.Equal(got, want) {
				t.Errorf("%s}: got %q, want %q", doc, got, want)
			}
		}
	}
	if count != 48 {
		t.Errorf("%d combinations", count)
	}
}

// References go to what the domain knows, within their scope; a list in the payload changes
// nothing.
func TestSets(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		change    func(*learned)
		want      string // code pointer
		hint      string
	}{
		{"unknown", strings.Replace(noop, `"m3"`, `"m4"`, 1), nil, "learned/untrusted /0/refs/0", "did you mean m3?"},
		{"unknown, of a private set", strings.Replace(noop, `"m3"`, `"m4"`, 1), func(w *learned) { w.private = true }, "learned/untrusted /0/refs/0", "name something that is there"},
		{"in another case", strings.Replace(noop, `"m3"`, `"M3"`, 1), nil, "learned/untrusted /0/refs/0", "did you mean m3?"},
		{"of another project", strings.Replace(noop, `"m3"`, `"m3","m1"`, 1), nil, "boundary/ref-scope /0/refs/1", "did you mean m3?"},
		{"of no project in particular", strings.Replace(noop, `"m3"`, `"m1"`, 1), func(w *learned) { w.messages["m1"] = said("", "x") }, "", ""},
		{"ambiguous", strings.Replace(remove, "Run all", "Run", 1), func(w *learned) { w.rules = append(w.rules, boundary.Member{ID: "Run fast."}) }, "boundary/ref-ambiguous /0/old", "write it in full"},
		{"nothing to name", remove, func(w *learned) { w.rules = nil }, "boundary/ref-set-empty /0/old", ""},
		{"not covered", add, func(w *learned) { w.need = []string{"m1", "m2"} }, "boundary/coverage-missing ", ""},
		{"covered", remove, func(w *learned) { w.need = []string{"m1", "m2"} }, "", ""},
		{"nothing to cover", add, nil, "", ""},
		{"an unknown reference does not also count as missing", strings.Replace(add, `["m1"]`, `["m9"]`, 1), func(w *learned) { w.need = []string{"m2"} }, "learned/untrusted /0/refs/0", ""},
		{"a quote of an unknown message is not looked for", strings.Replace(add, `"ref":"m1"`, `"ref":"m9"`, 1), nil, "learned/untrusted /0/quotes/0/ref", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := theWorld()
			if c.change != nil {
				c.change(w)
			}
			_, err := submit(t, door(t), "["+c.doc+"]", w)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if got := found(t, err); !slices.Equal(got, []string{c.want}) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			r := refusal(t, err)
			if v := r.Violations[0]; c.hint != "" && v.Hint != c.hint || r.ExitCode() != 2 || v.Class != boundary.UnsupportedRef || v.Stage != 6 {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// Each candidate in exactly one group, and none left out.
func TestCoverageOnce(t *testing.T) {
	type group struct {
		IDs []string `json:"ids" jsonschema:"maxItems=9,minLength=1,maxLength=9" text:"line" ref:"candidates" jsonschema_description:"x"`
	}
	type groups struct {
		Groups []group `json:"groups" jsonschema:"maxItems=9" jsonschema_description:"x"`
	}
	k := boundary.Define[groups, groups](boundary.Spec[groups, []string]{
		Form: boundary.Form{Name: "groups", Version: 1, Example: "{}"},
		Sets: map[string]func([]string) boundary.Set{"candidates": func(w []string) (s boundary.Set) {
			for _, id := range w {
				s.Members = append(s.Members, boundary.Member{ID: id})
			}
			return s
		}},
		Coverage: []boundary.Coverage[[]string]{{Of: "candidates", At: "/groups", Once: true}},
	})
	for doc, want := range map[string]string{
		`{"groups":[{"ids":["a","b"]},{"ids":["c"]}]}`:     "",
		`{"groups":[{"ids":["a"]},{"ids":["a","b","c"]}]}`: "1:34 boundary/coverage-duplicate /groups/1/ids/0",
		`{"groups":[{"ids":["a"]}]}`:                       "1:11 boundary/coverage-missing /groups",
		`{"groups":[]}`:                                    "1:11 boundary/coverage-missing /groups",
		`{"groups":7}`:                                     "1:11 boundary/type /groups",
	} {
		_, err := k.Submit(t.Context(), k.Parse(strings.NewReader(doc), "x"), door(t), boundary.Task[groups, []string]{
			World: func(context.Context) ([]string, error) { return []string{"a", "b", "c"}, nil },
			Write: func(*store.Tx, *boundary.Payload[groups], []string) (boundary.Taken, error) {
				return boundary.Taken{}, nil
			},
		})
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", doc, err)
			}
			continue
		}
		if got := told(refusal(t, err).Violations); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
		if strings.Contains(want, "missing") && !strings.Contains(err.Error(), "not accounted for: ") {
			t.Errorf("the missing ones are not named: %v", err)
		}
	}
}

// Grounding and each axis of provenance speak for themselves: no value of one hides another.
func TestVerdictGrid(t *testing.T) {
	trusts := map[boundary.Trust]bool{boundary.TrustTracked: true, boundary.TrustStaged: true, boundary.TrustWorktree: true, boundary.TrustTranscript: true, boundary.TrustToolOutput: false, boundary.TrustRecall: false, "": false}
	scopes := map[boundary.Scope]bool{boundary.InScope: true, boundary.OutsideRoot: false, boundary.DeniedScope: false, boundary.OtherOwner: false, "": false}
	fresh := map[boundary.Freshness]string{boundary.Fresh: "", boundary.OutsideChanged: "", boundary.Moved: "", boundary.StaleSource: "boundary/prov-stale", boundary.Gone: "boundary/prov-stale", boundary.FreshnessUnknown: "boundary/prov-unverifiable", "": "boundary/prov-unverifiable"}
	intact := map[boundary.Integrity]string{boundary.Intact: "", boundary.HiddenText: "boundary/prov-integrity", boundary.Mismatch: "boundary/prov-integrity", boundary.IntegrityUnknown: "boundary/prov-unverifiable", "": "boundary/prov-unverifiable"}
	quotes := map[string]string{"run only the documentation tests": "", "run all of the documentation tests": "boundary/ground-not-found", "un only the documentation tests": "boundary/ground-mid-word"}
	count := 0
	for trust, trusted := range trusts {
		for scope, in := range scopes {
			for f, staleness := range fresh {
				for i, integrity := range intact {
					for quote, grounding := range quotes {
						w := theWorld()
						w.messages["m1"] = message{"app", w.messages["m1"].text, boundary.Provenance{Trust: trust, Scope: scope, Freshness: f, Integrity: i}}
						var want []string
						for _, code := range []string{map[bool]string{false: "boundary/prov-trust"}[trusted], map[bool]string{false: "boundary/prov-scope"}[in], staleness, integrity, grounding} {
							if code != "" {
								want = append(want, code+" /0/quotes/0/quote")
							}
						}
						slices.Sort(want)
						count++
						r, err := boundary.Judge(learnedKind, learnedKind.Parse(strings.NewReader("["+strings.Replace(add, "run only the documentation  tests", quote, 1)+"]"), ""), w)
						if err != nil {
							t.Fatal(err)
						}
						if len(want) == 0 {
							if r != nil {
								t.Errorf("%v %v %v %v %q: %v", trust, scope, f, i, quote, r)
							}
							continue
						}
						if r == nil {
							t.Errorf("%v %v %v %v %q is taken", trust, scope, f, i, quote)
							continue
						}
						if got := found(t, r); !slices.Equal(got, want) {
							t.Errorf("%v %v %v %v %q: got %q, want %q", trust, scope, f, i, quote, got, want)
						}
					}
				}
			}
		}
	}
	if want := len(trusts) * len(scopes) * len(fresh) * len(intact) * len(quotes); count != want || count < 2000 {
		t.Errorf("%d of %d combinations", count, want)
	}
}

// A source that is not there is told at the quote; any other failure of the room is one.
func TestSourceIsGone(t *testing.T) {
	w := theWorld()
	w.messages["m1"] = said("app", "")
	_, err := submit(t, door(t), "["+add+"]", w)
	if got := found(t, err); !slices.Equal(got, []string{"boundary/ground-path /0/quotes/0/quote"}) || !strings.Contains(err.Error(), "the transcript is gone") {
		t.Errorf("got %q: %v", got, err)
	}
}

// A text that cannot be seen as it is does not support anything, though its words are found.
func TestHiddenText(t *testing.T) {
	w := theWorld()
	w.messages["m1"] = said("app", "please run only\u200b the documentation tests")
	_, err := submit(t, door(t), "["+strings.Replace(add, "run only the documentation  tests", `run only\u200b the documentation tests`, 1)+"]", w)
	if err == nil {
		t.Fatal("taken")
	}
	if got := found(t, err); !slices.Contains(got, "boundary/prov-integrity /0/quotes/0/quote") && !slices.Contains(got, "boundary/text-unsafe /0/quotes/0/quote") {
		t.Errorf("got %q", got)
	}
}

// A rule is asked about everything that it can be asked about, and about nothing else.
func TestRules(t *testing.T) {
	always := strings.Replace(add, "When only", "always when only", 1)
	for _, c := range []struct {
		name, doc string
		want      []string
	}{
		{"objects", always, []string{"learned/always /0/text"}},
		{"beside another fault", strings.Replace(always, `"app"`, `"app","more":1`, 1), []string{"boundary/unknown-field /0/more", "learned/always /0/text"}},
		{"not to a text that is none", strings.Replace(add, `"When only documentation changed, run only the documentation tests."`, `["always"]`, 1), []string{"boundary/type /0/text"}},
		{"not where a quote is wrong", strings.Replace(always, "run only the documentation  tests", "run every single test", 1), []string{"boundary/ground-not-found /0/quotes/0/quote"}},
		{"not to an item that is none", `"always"`, []string{"boundary/type /0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := submit(t, door(t), "["+c.doc+"]", theWorld())
			if got := found(t, err); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	w := theWorld()
	w.denied = "app"
	_, err := submit(t, door(t), "["+always+"]", w)
	if got := found(t, err); !slices.Equal(got, []string{"boundary/approval-required /0/project", "learned/always /0/text"}) || refusal(t, err).ExitCode() != finding.ExitInvalid {
		t.Errorf("got %q", got)
	}
	if _, err = submit(t, door(t), "["+add+"]", w); refusal(t, err).ExitCode() != finding.ExitFindings {
		t.Errorf("a policy that says no gives %v", err)
	}
}

// What is accepted was judged in the world as it is under the lock.
func TestWorldMoves(t *testing.T) {
	d := door(t)
	gone := theWorld()
	delete(gone.messages, "m1")
	_, err := submit(t, d, "["+add+"]", theWorld(), gone)
	if got := found(t, err); !slices.Contains(got, "learned/untrusted /0/refs/0") {
		t.Errorf("got %q", got)
	}
	if log := calls(t, d); len(log) != 1 || log[0].Verdict != "refused" {
		t.Errorf("the log is %+v", log)
	}
	if _, err := submit(t, door(t), "["+add+"]", gone, theWorld()); err == nil {
		t.Error("what was refused at first is taken")
	}
}

// A unit takes one answer where the room says so, and an empty batch says nothing.
func TestUnit(t *testing.T) {
	w := theWorld()
	w.unit = boundary.Unit{Name: "chunk 1", Revision: "r1", Taken: true}
	_, err := submit(t, door(t), "["+add+"]", w)
	if r := refusal(t, err); r.Violations[0].Code != "boundary/unit-taken" || r.ExitCode() != finding.ExitStale || r.Violations[0].Class != boundary.Stale {
		t.Errorf("got %v", err)
	}
	w.unit = boundary.Unit{Name: "chunk 1", Empty: "learned/empty"}
	if _, err := submit(t, door(t), "[]", w); found(t, err)[0] != "learned/empty " || refusal(t, err).ExitCode() != finding.ExitInvalid {
		t.Errorf("got %v", err)
	}
	w.unit = boundary.Unit{}
	if a, err := submit(t, door(t), "[]", w); err != nil || len(a.IDs) != 0 {
		t.Errorf("got %+v, %v", a, err)
	}
	// The answer to an equal request is given also where the unit takes no other.
	d := door(t)
	w.unit = boundary.Unit{Name: "chunk 1", Revision: "r1"}
	first, err := submit(t, d, "["+add+"]", w)
	if err != nil {
		t.Fatal(err)
	}
	w.unit.Taken = true
	if again, err := submit(t, d, "["+add+"]", w); err != nil || !again.Replayed || !slices.Equal(again.IDs, first.IDs) {
		t.Errorf("got %+v, %v", again, err)
	}
	if _, err := submit(t, d, "["+remove+"]", w); err == nil {
		t.Error("another answer is taken")
	}
	// For another revision of the unit it is another request (no A-B-A).
	w.unit = boundary.Unit{Name: "chunk 1", Revision: "r2"}
	if again, err := submit(t, d, "["+add+"]", w); err == nil && again.Replayed {
		t.Errorf("an answer to an older revision is given: %+v", again)
	}
}

// Keys of the host: the same key and request give the same answer, another request is refused.
func TestReplay(t *testing.T) {
	d := door(t)
	d.Key = "host-1"
	first, err := submit(t, d, "["+add+"]", theWorld())
	if err != nil {
		t.Fatal(err)
	}
	again, err := submit(t, d, "[ "+add+" ]", theWorld())
	if err != nil || !again.Replayed || !slices.Equal(again.IDs, first.IDs) || again.AuditID != first.AuditID {
		t.Errorf("got %+v, %v", again, err)
	}
	_, err = submit(t, d, "["+noop+"]", theWorld())
	if r := refusal(t, err); r.Violations[0].Code != "boundary/idempotency-conflict" || r.ExitCode() != finding.ExitStale {
		t.Errorf("got %v", err)
	}
	log := calls(t, d)
	var verdicts []string
	for _, c := range log {
		verdicts = append(verdicts, c.Verdict)
		if c.Verdict != "refused" && len(c.Key) != 64 || strings.Contains(c.Key, "host") {
			t.Errorf("the key in the log is %q", c.Key)
		}
	}
	if got := strings.Join(verdicts, " "); got != "accepted replayed refused" {
		t.Errorf("the log tells of %s", got)
	}
}

// Twenty equal submissions at once lead to one record.
func TestReplayAtOnce(t *testing.T) {
	d := door(t)
	answers, errs := make([]boundary.Answer, 20), make([]error, 20)
	done := make(chan bool)
	for i := range answers {
		go func() {
			answers[i], errs[i] = submit(t, d, "["+add+"]", theWorld())
			done <- true
		}()
	}
	for range answers {
		<-done
	}
	fresh := 0
	for i, a := range answers {
		if errs[i] != nil || !slices.Equal(a.IDs, answers[0].IDs) {
			t.Errorf("got %+v, %v", a, errs[i])
		}
		if !a.Replayed {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d of them were taken", fresh)
	}
	if rep, err := d.Store.VerifyLog(t.Context(), boundary.CallsLog); err != nil || rep.Lines != 20 || rep.Problem != "" {
		t.Errorf("the log: %+v, %v", rep, err)
	}
}

// After five refusals in a row of one unit a refusal also says that it is enough; a payload
// that is right is taken all the same, and ends the row.
func TestAttempts(t *testing.T) {
	d := door(t)
	bad := strings.Replace(add, "m1", "m9", 1)
	for n := 1; n <= 7; n++ {
		_, err := submit(t, d, "["+bad+"]", theWorld())
		if got := slices.Contains(found(t, err), "boundary/attempts-exhausted "); got != (n > 5) {
			t.Errorf("refusal %d: attempts-exhausted is %v", n, got)
		}
		last := calls(t, d)[n-1]
		if last.Retry.Attempt != n || (n > 1) != (last.Retry.Of != "") || n > 1 && !slices.Contains(last.Retry.Reasons, "learned/untrusted") {
			t.Errorf("refusal %d: the log says %+v", n, last.Retry)
		}
	}
	other := theWorld()
	other.unit.Name = "another"
	if _, err := submit(t, d, "["+bad+"]", other); slices.Contains(found(t, err), "boundary/attempts-exhausted ") {
		t.Error("the refusals of one unit count for another")
	}
	if _, err := submit(t, d, "["+add+"]", theWorld()); err != nil {
		t.Fatal(err)
	}
	if last := calls(t, d)[8]; last.Retry.Attempt != 8 || last.Verdict != "accepted" {
		t.Errorf("the log says %+v", last)
	}
	if _, err := submit(t, d, "["+bad+"]", theWorld()); slices.Contains(found(t, err), "boundary/attempts-exhausted ") {
		t.Error("the row goes on after a success")
	}
}

// The failures of the store are refusals with a class that says what to do.
func TestPersisting(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		code  string
		class boundary.Class
		exit  int
	}{
		{"busy", store.ErrBusy, "boundary/busy", boundary.Transient, 5},
		{"stale", fmt.Errorf("x: %w", store.ErrStale), "boundary/revision-stale", boundary.Stale, 4},
		{"interrupted", store.ErrRecovery, "store/recovery-needed", boundary.PartialPersistence, 3},
		{"conflict", store.ErrConflict, "store/conflict", boundary.PartialPersistence, 4},
		{"full", &store.PersistError{Err: errors.New("no space left on device")}, "store/persist-failed", boundary.Transient, 3},
		{"a record of the program that breaks its rules", &boundary.InvalidRecord{Kind: "x", Err: errors.New("x")}, "boundary/record-invalid", boundary.Policy, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := door(t)
			_, err := learnedKind.Submit(t.Context(), learnedKind.Parse(strings.NewReader("["+add+"]"), "<stdin>"), d, boundary.Task[learnedPayload, *learned]{
				World: func(context.Context) (*learned, error) { return theWorld(), nil },
				Write: func(*store.Tx, *boundary.Payload[learnedPayload], *learned) (boundary.Taken, error) {
					return boundary.Taken{}, c.err
				},
			})
			r := refusal(t, err)
			if v := r.Violations[0]; v.Code != c.code || v.Class != c.class || r.ExitCode() != c.exit || v.Line != 1 {
				t.Errorf("got %+v, exit %d", v, r.ExitCode())
			}
		})
	}
	odd := errors.New("an error of the room")
	_, err := learnedKind.Submit(t.Context(), learnedKind.Parse(strings.NewReader("["+add+"]"), "<stdin>"), door(t), boundary.Task[learnedPayload, *learned]{
		World: func(context.Context) (*learned, error) { return nil, odd },
	})
	if !errors.Is(err, odd) {
		t.Errorf("got %v", err)
	}
}

// A payload that was made for another schema is stale; for one of those that stand for the
// present one it is not.
func TestSchemaStale(t *testing.T) {
	d := door(t)
	d.Schemas, d.Schema = []string{"aa", "bb"}, "cc"
	_, err := submit(t, d, "["+add+"]", theWorld())
	if r := refusal(t, err); r.Violations[0].Code != "boundary/schema-stale" || r.ExitCode() != finding.ExitStale {
		t.Errorf("got %v", err)
	}
	d.Schema = "bb"
	if _, err := submit(t, d, "["+add+"]", theWorld()); err != nil {
		t.Error(err)
	}
}

// Refused input is kept only on request, and not for ever.
func TestKeepRejected(t *testing.T) {
	d := door(t)
	kept := func() (names []string) {
		_ = d.Store.View(t.Context(), func(r *store.Reader) (err error) { names, err = r.Names(store.Private, "diagnostics"); return err })
		return names
	}
	if _, err := submit(t, d, "[1]", theWorld()); err == nil || len(kept()) != 0 {
		t.Errorf("kept without a request: %q", kept())
	}
	d.Keep = true
	now := clock
	d.Env.Now = func() time.Time { return now }
	for i := range 25 {
		now = clock.Add(time.Duration(i) * time.Minute)
		if _, err := submit(t, d, fmt.Sprintf("[%d]", i), theWorld()); err == nil {
			t.Fatal("taken")
		}
	}
	names := kept()
	if len(names) != 20 || !strings.HasPrefix(names[0], "20260302T100500Z-") {
		t.Errorf("%d are kept: %q", len(names), names)
	}
	if _, err := submit(t, d, "["+add+"]", theWorld()); err != nil || len(kept()) != 20 {
		t.Errorf("what was accepted is kept: %v", err)
	}
}
