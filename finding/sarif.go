package finding

import (
	"fmt"
	"io"
	"strings"
)

// The part of SARIF 2.1.0 that a run needs (OASIS Standard, sections 3.14 to 3.58).
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifText    `json:"shortDescription"`
	Full    sarifText    `json:"fullDescription"`
	Default sarifDefault `json:"defaultConfiguration"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitzero"`
}

type sarifNotification struct {
	Level      string          `json:"level"`
	Message    sarifText       `json:"message"`
	Descriptor sarifDescriptor `json:"descriptor"`
}

type sarifDescriptor struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID        string            `json:"ruleId"`
	RuleIndex     int               `json:"ruleIndex"`
	Level         string            `json:"level"`
	Message       sarifText         `json:"message"`
	Locations     []sarifLocation   `json:"locations"`
	Fingerprints  map[string]string `json:"partialFingerprints"`
	BaselineState string            `json:"baselineState"`
	Properties    map[string]string `json:"properties,omitzero"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitzero"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitzero"`
	EndLine     int `json:"endLine,omitzero"`
	EndColumn   int `json:"endColumn,omitzero"`
}

// WriteSARIF prints the report as one SARIF 2.1.0 log with one run. The rules are the checks
// that ran. A finding without a place points at the first line of .assent.yaml, because code
// scanning drops results without one. The same result gives the same bytes.
func WriteSARIF(w io.Writer, r Report) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "assent", Version: strings.TrimPrefix(r.Tool, "assent "), Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{}, Invocations: []sarifInvocation{{Successful: len(r.Unchecked) == 0}}}
	index := map[string]int{}
	rule := func(c Check) int {
		i, known := index[c.Code]
		if !known {
			i = len(run.Tool.Driver.Rules)
			index[c.Code] = i
			full := c.Doc
			if full == "" {
				full = c.Title
			}
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{c.Code, sarifText{c.Title}, sarifText{full}, sarifDefault{sarifLevel(c.Severity)}})
		}
		return i
	}
	for _, c := range r.Rules {
		rule(c)
	}
	prints := Fingerprints(r.Findings)
	for i, f := range r.Findings {
		result := sarifResult{RuleID: f.Code, RuleIndex: rule(Check{Code: f.Code, Title: f.Title, Severity: f.Severity}), Level: sarifLevel(f.Severity),
			Message: sarifText{f.Message}, Locations: []sarifLocation{{f.physical()}}, Fingerprints: map[string]string{"assent/v1": prints[i]}, BaselineState: "new"}
		if f.Baselined {
			result.BaselineState = "unchanged"
		}
		if f.Fix != "" {
			result.Properties = map[string]string{"hint": f.Fix}
		}
		run.Results = append(run.Results, result)
	}
	for _, u := range r.Unchecked {
		n := &run.Invocations[0]
		n.Notifications = append(n.Notifications, sarifNotification{"error", sarifText{strings.TrimSpace(u.Message + "\n" + u.Fix)}, sarifDescriptor{u.Code}})
	}
	b, err := Document(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func sarifLevel(s Severity) string { return [...]string{"none", "note", "warning", "error"}[s] }

func (f Finding) physical() sarifPhysical {
	if f.Path == "" {
		return sarifPhysical{sarifArtifact{".assent.yaml", "%SRCROOT%"}, &sarifRegion{StartLine: 1}}
	}
	p := sarifPhysical{Artifact: sarifArtifact{percent(f.Path), "%SRCROOT%"}}
	if f.Start.Line > 0 {
		p.Region = &sarifRegion{StartLine: f.Start.Line, StartColumn: f.Start.Col, EndLine: f.End.Line, EndColumn: f.End.Col}
	}
	return p
}

// percent writes the raw bytes of a path as a relative URI reference: all but the unreserved
// characters of RFC 3986 and the slash are percent-encoded.
func percent(path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
