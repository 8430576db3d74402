package skmb

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/finding"
	"assent/internal/budget"
	"assent/markdown"
)

// soon is far more than anything here takes.
const soon = 10 * time.Second

// placed fails unless a place is in a text.
func placed(t *testing.T, src []byte, p finding.Pos) {
	t.Helper()
	if p.Line < 1 || p.Col < 1 || p.Line > bytes.Count(src, []byte("\n"))+1 {
		t.Fatalf("%d:%d is no place of %q", p.Line, p.Col, src)
	}
}

func spanned(t *testing.T, src []byte, s markdown.Span) {
	t.Helper()
	if s.Start < 0 || s.End < s.Start || s.End > len(src) {
		t.Fatalf("%v is no span of %q", s, src)
	}
}

// variants are what the fixtures make of one file.
func variants(name string) []string {
	out := []string{plain[name]}
	for _, f := range fixtures {
		for _, x := range append(slices.Clone(f.fails), f.passes...) {
			if text := string(setting(x.is...).tree.files[name]); len(text) < 1<<16 && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func FuzzIndex(f *testing.F) {
	for _, s := range variants(indexFile) {
		f.Add([]byte(s))
	}
	for _, x := range indexes {
		for _, way := range ways {
			f.Add([]byte(way.change(x.change(plain[indexFile]))))
		}
	}
	for _, s := range []string{"", "\ufeff", "#", "## Decision Index", "## Decision Index\n|id|\n|-|\n|\\", "## Decision Index\n---|---\n", "```\n## Decision Index", "<!--", "## Open Decisions\n\na|id\n-|-\n\\||OPEN-001\\|",
		"## Decision Index\n\n| id | status | file |\n|---|---|---|\n<<<<<<< HEAD\n| SKMB-2026-06-11-002 | a | b |\n=======\n", "## Decision Index\n\nid | id\n--|--\n | ", "- ## Decision Index\n", "## Decision Index\n\n| id | pattern |\n|---|---|\n| SKMB-2026-06-11-001 |\n", "## Decision Index\r\r\n|id|\r\n|-|\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		budget.Within(t, soon, func() {
			s := setting(put(indexFile, string(src)))
			for _, f := range judge(t, s.options, s.tree) {
				if f.Path == indexFile && f.Start != (finding.Pos{}) {
					placed(t, src, f.Start)
				}
			}
			x, p := parseIndex(indexFile, src)
			if p != nil {
				placed(t, src, p.pos)
			}
			for kind := range tables {
				for _, r := range x.rows(kind) {
					spanned(t, src, r.line)
					placed(t, src, r.at("id"))
					for _, c := range r.cells {
						spanned(t, src, c.Raw)
					}
				}
			}
			_, after, err := IndexRewrite(s.tree, root)
			if err != nil {
				return
			}
			s.tree.files[indexFile] = after
			if _, twice, err := IndexRewrite(s.tree, root); err != nil || !bytes.Equal(twice, after) {
				t.Fatalf("%q becomes %q, and that %q, %v", src, after, twice, err)
			}
			b := load(t, s.tree)
			for _, r := range b.Records {
				n := 0
				for _, row := range b.Index.rows(decisions) {
					if row.names(r.ID) {
						n++
					}
				}
				if n == 0 {
					t.Fatalf("%q becomes %q, in which %s has no row", src, after, r.ID)
				}
			}
			rows := len(b.Index.rows(decisions))

			// A row that is set reads back, and no other is changed.
			d := draftOf(t, s.tree)
			before := told(b)
			want := cells{"id": "SKMB-2026-06-11-002", "status": "a | b", "scope": "", "patterns": "*c*", "commit": "-"}
			if err := d.setRow(decisions, "SKMB-2026-06-11-002", want); err != nil {
				return
			}
			now, p := parseIndex(indexFile, []byte(d.text(t, indexFile)))
			if p != nil || len(now.rows(decisions)) != rows {
				t.Fatalf("%q becomes %q: %v", after, d.text(t, indexFile), p)
			}
			found := false
			for i, r := range now.rows(decisions) {
				if r.id() != "SKMB-2026-06-11-002" {
					if old := b.Index.rows(decisions)[i]; string(r.line.In(now.doc.Source())) != string(old.line.In(after)) {
						t.Fatalf("%q becomes %q, in which the row of %s changed", after, d.text(t, indexFile), r.id())
					}
					continue
				}
				if found || !r.wellShaped() {
					continue // only the first of two is set
				}
				found = true
				for column, value := range want {
					if slices.Contains(r.columns, column) && r.text(column) != value && (value != "" || !isNone(r.text(column))) {
						t.Fatalf("%q becomes %q, in which %s is %q, want %q", after, d.text(t, indexFile), column, r.text(column), value)
					}
				}
			}
			if !found {
				t.Fatalf("%q becomes %q, in which the row is not found\n%s", after, d.text(t, indexFile), before)
			}
		})
	})
}

func FuzzDecision(f *testing.F) {
	add := func(s string) {
		f.Add([]byte(s), uint8(0), "accepted")
		f.Add([]byte(s), uint8(len(s)), values[len(s)%len(values)])
	}
	for _, name := range []string{notifier, race} {
		for _, s := range variants(name) {
			add(s)
		}
	}
	for _, way := range ways {
		add(way.change(plain[race]))
	}
	const title = "# SKMB-2026-06-11-002: Race\n"
	for _, s := range []string{"", "#", "\ufeff", title, title[:len(title)-1], title + "text", title + "\n    code", title + "- status", title + "- status:", title + "-\tstatus:\tx\n", title + "- **status:**\n- date: x",
		title + "\n  - status: x\n    * date: y\n", title + "* - status: x", title + "- status: >-\n\n  x\n- date: |", title + "- status: x\ny\n- `date`: z", title + "1. status: x\n", title + "- a: b\n\n\n- c: d\n",
		"---\n---\n" + title, "---\nstatus: x\n---\n" + title, "---\nstatus: >\n  x\n\n# c\n---\n" + title, "---\n{status: x, ä: b}\n---\n" + title, "---\nstatus: 'it''s' # c\ndate:\n---\n" + title, "---\n? status\n: x\n---\n" + title,
		"---\nstatus: !!str\ndate: &a b\nscope: *a\n---\n" + title, "---\r\nstatus: x\r\n---\r\n" + title, "---\nstatus: [a,\n  b]\n...\n" + title, "---\n\"sta:tus\": x\nstatus:\n- a\n---\n" + title, "---\nstatus: \"a\u2028b\"\ndate: x\n---\n" + title,
		"SKMB-2026-06-11-002: Race\n===\n- status: x", title + "<!-- \n- status: x\n", title + "```\n- status: x", title + "> - status: x\n- date: y", title + "- status: x\n\n## Decision\n## decision", title + "+ status: x\n- date: y\n* scope: z\n",
		title + "- status: [a](b\n", title + "- status: x  \n  \n  - y\n\n    z\n", "OPEN-001\n---\n# OPEN-001\n- status: x\n"} {
		add(s)
	}
	f.Fuzz(func(t *testing.T, src []byte, which uint8, value string) {
		budget.Within(t, soon, func() {
			before := string(src)
			r, p := parseRecord(race, src)
			if string(src) != before {
				t.Fatalf("%q became %q", before, src)
			}
			if p != nil {
				placed(t, src, p.pos)
				if r == nil || r.Path != race || r.fields != nil || p.message == "" {
					t.Fatalf("%q is unreadable, but gives %+v, %+v", src, r, p)
				}
				return
			}
			if !ValidID(r.ID) || r.Status == "" && r.Known {
				t.Fatalf("%q gives the id %q, the status %q", src, r.ID, r.Status)
			}
			for k, f := range r.fields {
				spanned(t, src, f.span)
				spanned(t, src, f.item)
				placed(t, src, r.at(k))
			}
			for title, s := range r.sections {
				spanned(t, src, s.body)
				if text := r.Section(title); text != strings.Trim(text, "\n") || strings.Contains(text, "\r\n") {
					t.Fatalf("%q: the section %q is %q", src, title, text)
				}
			}
			if again, _ := parseRecord(race, bytes.Clone(src)); again.Digest() != r.Digest() {
				t.Fatalf("%q has two digests", src)
			}

			// What is set reads back, every other field is as it was, and so are the bytes
			// outside of it.
			key := append(fields, "reason", "note")[int(which)%(len(fields)+2)]
			d := draftOn(src, r.ID)
			if err := d.setField(r.ID, key, value); err != nil {
				var input *InputError
				if len(d.files) > 0 {
					t.Fatalf("refused, but changed: %v", err)
				}
				if simple := !errors.As(err, &input); simple && !strings.HasPrefix(err.Error(), "markdown: ") && !strings.Contains(err.Error(), "line ") {
					t.Fatalf("%q, %s = %q: %v", src, key, value, err)
				}
				return
			}
			out := []byte(d.text(t, race))
			now, p := parseRecord(race, out)
			if p != nil || now.value(key) != strings.Join(strings.Fields(value), " ") {
				t.Fatalf("%q, %s = %q becomes %q, which reads as %q, %v", src, key, value, out, now.value(key), p)
			}
			if _, had := r.fields[key]; len(now.fields) != len(r.fields) && (had || len(now.fields) != len(r.fields)+1) {
				t.Fatalf("%q, %s = %q becomes %q with %d fields", src, key, value, out, len(now.fields))
			}
			for k := range r.fields {
				if k != key && now.value(k) != r.value(k) {
					t.Fatalf("%q, %s = %q becomes %q, in which %s is %q, want %q", src, key, value, out, k, now.value(k), r.value(k))
				}
			}
			if now.ID != r.ID || now.Title != r.Title || now.Section("Decision") != r.Section("Decision") || now.Section("Applies To") != r.Section("Applies To") {
				t.Fatalf("%q, %s = %q becomes %q, which is about something else", src, key, value, out)
			}
			meant := r.fields[key].span
			if _, had := r.fields[key]; !had {
				meant.Start = len(common(src, out))
				meant.End = meant.Start
			}
			if !bytes.HasPrefix(out, src[:meant.Start]) || !bytes.HasSuffix(out, src[meant.End:]) {
				t.Fatalf("%q, %s = %q becomes %q, which differs outside of %v", src, key, value, out, meant)
			}
		})
	})
}

// common is what two texts begin with.
func common(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func FuzzReferences(f *testing.F) {
	for _, s := range []string{"", "None.", "SKMB-2026-06-11-001", "SKMB-019", "SKMB-2026-06-11-005/007", "SKMB-005/007/", "OPEN-001/002", "- SKMB-2026-06-11-retry-limit (partial)\n- OPEN-001", "取代SKMB-2026-06-11-001的部分", "SKMB-2026-06-11-", "SKMB-2026-06-11--x",
		"SKMB-0190", "xSKMB-019", "SKMB-019x", "SKMB-SKMB-019", "[SKMB-001](SKMB-002.md)", "SKMB-2026-06-11-a/001", "PARTIAL SKMB-001\r\nSKMB-002", "SKMB-2026", "\xffSKMB-001\x00"} {
		f.Add(s)
	}
	one := regexp.MustCompile(`^(?:SKMB-\d{4}-\d{2}-\d{2}-[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*|SKMB-\d{3,}|OPEN-\d{3,})$`)
	f.Fuzz(func(t *testing.T, text string) {
		budget.Within(t, soon, func() {
			refs := References(text)
			for _, r := range refs {
				if !one.MatchString(r.Text) {
					t.Fatalf("%q: %q is no reference", text, r.Text)
				}
				if again := References(r.Text); len(again) != 1 || again[0].Text != r.Text {
					t.Fatalf("%q: %q reads as %v", text, r.Text, again)
				}
				if strings.HasPrefix(r.Text, "SKMB-20") && strings.Count(r.Text, "-") >= 4 && !ValidID(r.Text) {
					t.Fatalf("%q: %q is no id", text, r.Text)
				}
				if r.Partial && !strings.Contains(strings.ToLower(text), "partial") && !strings.Contains(text, "部分") {
					t.Fatalf("%q: %q is said to be partial", text, r.Text)
				}
			}
			// Each line on its own.
			n := 0
			for line := range strings.Lines(text) {
				n += len(References(line))
			}
			if n != len(refs) {
				t.Fatalf("%q: %d references, line by line %d", text, len(refs), n)
			}
		})
	})
}
