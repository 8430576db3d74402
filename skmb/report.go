package skmb

import (
	"bytes"
	"html/template"
)

// ReportBase is what the report shows of one base.
type ReportBase struct {
	Root     string
	Groups   []ReportGroup
	Inbox    []InboxItem
	Debt     []Debt
	Graph    Drawing
	States   Drawing
	Unread   []string
	Archives []ReportArchive
}

// ReportGroup is the records of one status.
type ReportGroup struct {
	Status  Status
	Records []Summary
}

// ReportArchive is one archive with the outcome of its verification.
type ReportArchive struct {
	Name, Check string
	Problems    []string
}

// Report collects what the report shows of a base. today is a UTC date.
func (b *Base) Report(today string) ReportBase {
	r := ReportBase{Root: b.Root, Inbox: b.Inbox(today), Debt: b.Debts(today), Graph: b.Graph().Drawing(), States: b.States().Drawing()}
	all := b.Summaries()
	for _, s := range []Status{Proposed, Open, StatisticalDefault, Accepted, Superseded, Rejected, Withdrawn} {
		g := ReportGroup{Status: s}
		for _, x := range all {
			if x.Status == s {
				g.Records = append(g.Records, x)
			}
		}
		if len(g.Records) > 0 {
			r.Groups = append(r.Groups, g)
		}
	}
	for _, f := range b.Unread() {
		r.Unread = append(r.Unread, f.Place()+": "+f.Message)
	}
	return r
}

// HTML renders the report as one page that asks for nothing from elsewhere and runs no
// script. Everything from files is text.
func HTML(title, made string, bases []ReportBase) ([]byte, error) {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		Title, Made string
		Bases       []ReportBase
	}{title, made, bases})
	return out.Bytes(), err
}

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; --bg: #fbfbf9; --card: #fff; --ink: #22252a; --dim: #667; --line: #dcdcd6;
  --accepted: #1b7f4b; --proposed: #b06a00; --statistical_default: #2f5fa8; --open: #b06a00; --rejected: #a33a3a; --withdrawn: #777; --superseded: #777; }
@media (prefers-color-scheme: dark) { :root { --bg: #16181c; --card: #1f2227; --ink: #e6e6e2; --dim: #9aa; --line: #353a42;
  --accepted: #5fd39a; --proposed: #f0b45a; --statistical_default: #8ab4f8; --open: #f0b45a; --rejected: #f08a8a; --withdrawn: #9a9a9a; --superseded: #9a9a9a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 32px 24px 64px; background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 26px; margin: 0; } h2 { font-size: 19px; margin: 36px 0 10px; } h3 { font-size: 15px; margin: 20px 0 6px; color: var(--dim); font-weight: 600; }
p.made { color: var(--dim); margin: 4px 0 0; }
.counts { display: flex; flex-wrap: wrap; gap: 10px; margin: 18px 0 0; padding: 0; list-style: none; }
.counts li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px 14px; }
.counts b { font-size: 20px; margin-right: 6px; }
table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { border-top: 0; color: var(--dim); font-weight: 600; font-size: 13px; }
td.id { white-space: nowrap; font-family: ui-monospace, monospace; font-size: 13px; }
.none { color: var(--dim); }
.drawing { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
svg { display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; text-anchor: middle; }
svg .t { font-weight: 600; } svg .l { fill: var(--dim); paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
svg rect { fill: var(--bg); stroke: var(--line); stroke-width: 1.5; } svg path.e { fill: none; stroke: var(--dim); stroke-width: 1.4; } svg path.dashed { stroke-dasharray: 5 4; }
.s-accepted { color: var(--accepted); } .s-proposed { color: var(--proposed); } .s-statistical_default { color: var(--statistical_default); } .s-open { color: var(--open); }
.s-rejected { color: var(--rejected); } .s-withdrawn { color: var(--withdrawn); } .s-superseded { color: var(--superseded); }
svg rect.s-accepted { stroke: var(--accepted); } svg rect.s-proposed { stroke: var(--proposed); } svg rect.s-statistical_default { stroke: var(--statistical_default); }
svg rect.s-superseded { stroke: var(--superseded); stroke-dasharray: 3 3; } svg rect.s-rejected { stroke: var(--rejected); }
.bad { color: var(--rejected); }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p class="made">{{.Made}}</p>
{{range .Bases}}
<h2>{{.Root}}</h2>
<ul class="counts">{{range .Groups}}<li><b class="s-{{.Status}}">{{len .Records}}</b>{{.Status}}</li>{{else}}<li>no records yet</li>{{end}}</ul>
{{if .Unread}}<h2>Cannot be read</h2><ul>{{range .Unread}}<li class="bad">{{.}}</li>{{end}}</ul>{{end}}
<h2>Inbox</h2>
{{if .Inbox}}<table><thead><tr><th>what waits</th><th>id</th><th>age</th><th></th></tr></thead><tbody>
{{range .Inbox}}<tr><td>{{.Title}}</td><td class="id">{{.ID}}</td><td>{{.Age}}</td><td>{{.Group}}</td></tr>
{{end}}</tbody></table>{{else}}<p class="none">Nothing waits for a person.</p>{{end}}
<h2>Debt</h2>
{{if .Debt}}<table><thead><tr><th>review by</th><th>id</th><th>title</th></tr></thead><tbody>
{{range .Debt}}<tr><td>{{.ReviewBy}}{{if .Overdue}} <span class="bad">overdue</span>{{end}}</td><td class="id">{{.ID}}</td><td>{{.Title}}</td></tr>
{{end}}</tbody></table>{{else}}<p class="none">Nothing goes on undecided by permission.</p>{{end}}
<h2>States</h2>
{{if .States.Boxes}}<div class="drawing">{{template "drawing" .States}}</div>{{else}}<p class="none">The index names no states.</p>{{end}}
<h2>What supersedes what</h2>
{{if .Graph.Boxes}}<div class="drawing">{{template "drawing" .Graph}}</div>{{else}}<p class="none">No record supersedes another.</p>{{end}}
<h2>Decisions</h2>
{{range .Groups}}<h3><span class="s-{{.Status}}">{{.Status}}</span></h3>
<table><thead><tr><th>id</th><th>title</th><th>patterns</th><th>scope</th></tr></thead><tbody>
{{range .Records}}<tr><td class="id">{{.ID}}</td><td>{{.Title}}</td><td>{{range $i, $p := .Patterns}}{{if $i}}, {{end}}{{$p}}{{end}}</td><td>{{.Scope}}</td></tr>
{{end}}</tbody></table>
{{end}}
<h2>Archives</h2>
{{if .Archives}}<table><thead><tr><th>archive</th><th>check</th><th>hashes</th></tr></thead><tbody>
{{range .Archives}}<tr><td class="id">{{.Name}}</td><td>{{.Check}}</td><td>{{if .Problems}}<span class="bad">{{range .Problems}}{{.}} {{end}}</span>{{else}}verified{{end}}</td></tr>
{{end}}</tbody></table>{{else}}<p class="none">There is no archive in this clone.</p>{{end}}
{{end}}
</body>
</html>
{{define "drawing"}}<svg width="{{.W}}" height="{{.H}}" viewBox="0 0 {{.W}} {{.H}}" role="img">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#8a8f98"/></marker></defs>
{{range .Arrows}}<path class="e{{if .Dashed}} dashed{{end}}" d="{{.Path}}" marker-end="url(#tip)"/>
{{end}}{{range .Boxes}}<rect class="s-{{.Status}}" x="{{.X}}" y="{{.Y}}" width="{{.W}}" height="{{.H}}" rx="{{if .Round}}20{{else}}6{{end}}"/>
<text class="t" x="{{.TextX}}" y="{{if .Text}}{{.LineY}}{{else}}{{.Line2}}{{end}}"{{if not .Text}} dy="-10"{{end}}>{{.Title}}</text>{{if .Text}}<text x="{{.TextX}}" y="{{.Line2}}">{{.Text}}</text>{{end}}
{{end}}{{range .Arrows}}{{if .Label}}<text class="l" x="{{.LabelX}}" y="{{.LabelY}}">{{.Label}}</text>
{{end}}{{end}}</svg>{{end}}`
