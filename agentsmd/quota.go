package agentsmd

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"
)

// Statuses of a quota.
const (
	quotaAllowed = "allowed"
	quotaBlocked = "blocked"
	quotaUnknown = "unknown"
)

const (
	quotaFiles = 5
	quotaTail  = 256 << 10
)

// quota looks for the newest event about limits at the ends of Codex's newest transcripts. Too
// little that is left is quota-blocked, and nothing that says so is quota-unknown. Claude Code
// writes no such events.
func (k *Keeper) quota(ctx context.Context, least int, sources []string) (Quota, error) {
	unknown := fault("quota-unknown", "", "no transcript of Codex says how much is left")
	fsys := homeFS(k.CodexHome)
	if fsys == nil || len(sources) > 0 && !slices.Contains(sources, codex{}.Name()) {
		return Quota{Status: quotaUnknown}, unknown
	}
	files, err := codex{}.Files(ctx, fsys, func(string) {})
	if err != nil {
		return Quota{Status: quotaUnknown}, err
	}
	slices.SortFunc(files, func(a, b File) int { return b.ModTime.Compare(a.ModTime) })
	var newest time.Time
	used := -1.0
	for _, f := range files[:min(len(files), quotaFiles)] {
		at, percent, ok := lastLimits(f)
		if ok && at.After(newest) {
			newest, used = at, percent
		}
	}
	if used < 0 {
		return Quota{Status: quotaUnknown}, unknown
	}
	left := max(0, int(math.Floor(100-used)))
	q := Quota{Status: quotaAllowed, Remaining: &left, ObservedAt: newest.Format(time.RFC3339)}
	if left < least {
		q.Status = quotaBlocked
		return q, fault("quota-blocked", "", "%d %% are left, %d are asked for", left, least)
	}
	return q, nil
}

// rateLimits are what a token_count event tells of the limits: how much of each window is used.
type rateLimits struct {
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Payload   struct {
		Type   string `json:"type"`
		Limits *struct {
			Primary   *limitWindow `json:"primary"`
			Secondary *limitWindow `json:"secondary"`
		} `json:"rate_limits"`
	} `json:"payload"`
}

type limitWindow struct {
	Used *float64 `json:"used_percent"`
}

// lastLimits is the last such event near the end of a file.
func lastLimits(f File) (at time.Time, used float64, ok bool) {
	file, err := f.FS.Open(f.Name)
	if err != nil {
		return at, 0, false
	}
	defer file.Close()
	if s, seeks := file.(io.Seeker); seeks && f.Size > quotaTail {
		if _, err := s.Seek(-quotaTail, io.SeekEnd); err != nil {
			return at, 0, false
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, quotaTail))
	if err != nil && err != fs.ErrClosed {
		return at, 0, false
	}
	for _, line := range slices.Backward(bytes.Split(data, []byte("\n"))) {
		if !bytes.Contains(line, []byte(`"rate_limits"`)) {
			continue
		}
		var e rateLimits
		if !decodeInto(bytes.TrimSpace(line), &e) || e.Payload.Limits == nil {
			continue
		}
		for _, w := range []*limitWindow{e.Payload.Limits.Primary, e.Payload.Limits.Secondary} {
			if w != nil && w.Used != nil {
				used, ok = max(used, *w.Used), true
			}
		}
		if at = isoTime(e.Timestamp); ok && !at.IsZero() {
			return at, used, true
		}
	}
	return at, 0, false
}
