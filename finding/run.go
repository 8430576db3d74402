package finding

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Run runs the checks over one pass, at once, and collects everything. A check that
// returns an error or panics is listed as unchecked; the others still run. A check of
// ScopeCommit runs once for each of pass.Commits. pass.Report is not used.
func Run(checks []Check, pass Pass) Result {
	var (
		mu  sync.Mutex
		out Result
		wg  sync.WaitGroup
	)
	for _, c := range checks {
		wg.Go(func() {
			own := pass
			own.Report = func(f Finding) {
				f.Code, f.Title, f.Fixed = c.Code, c.Title, f.Fixed || c.Fixed
				if f.Severity == Off {
					f.Severity = c.Severity
				}
				if f.Advisory = c.Proves == "advisory"; f.Advisory {
					f.Severity = Info
				}
				if own.Commit != nil {
					f.Commit = own.Commit.ID
				}
				mu.Lock()
				defer mu.Unlock()
				out.Findings = append(out.Findings, f)
			}
			if err := guarded(c, &own); err != nil {
				u := UncheckedBy(err) // one cause of many checks is said once
				mu.Lock()
				defer mu.Unlock()
				out.Unchecked = append(out.Unchecked, u)
			}
		})
	}
	wg.Wait()
	out.sort()
	return out
}

func guarded(c Check, p *Pass) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", c.Code, r)
		}
	}()
	if c.Scope != ScopeCommit {
		return c.Run(p)
	}
	if p.Commits == nil {
		return nil
	}
	commits, err := p.Commits()
	for i := range commits {
		p.Commit = &commits[i]
		err = errors.Join(err, c.Run(p))
	}
	return err
}

// Add joins another result to r, keeping the order.
func (r *Result) Add(other Result) {
	r.Findings = append(r.Findings, other.Findings...)
	r.Unchecked = append(r.Unchecked, other.Unchecked...)
	r.sort()
}

func (r *Result) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(a.Path, b.Path),
			a.Start.Line-b.Start.Line,
			a.Start.Col-b.Start.Col,
			strings.Compare(a.Code, b.Code),
			strings.Compare(a.Message, b.Message),
		)
	})
	slices.SortFunc(r.Unchecked, func(a, b Unchecked) int {
		return cmp.Or(strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message), strings.Compare(a.Fix, b.Fix))
	})
	r.Unchecked = slices.Compact(r.Unchecked)
}

// Fingerprints names each finding independently of its line: hex SHA-256 of the
// format's name, code, path and key, joined by NUL. Equal ones get "#2", "#3" in order.
func Fingerprints(fs []Finding) []string {
	seen := map[string]int{}
	out := make([]string, len(fs))
	for i, f := range fs {
		key := cmp.Or(f.Key, strings.Join(strings.Fields(f.Message), " "))
		sum := sha256.Sum256([]byte(strings.Join([]string{"assent/1", f.Code, f.Path, key}, "\x00")))
		name := hex.EncodeToString(sum[:])
		if seen[name]++; seen[name] > 1 {
			out[i] = fmt.Sprintf("%s#%d", name, seen[name])
			continue
		}
		out[i] = name
	}
	return out
}
