package agentsmd

// Report is what one call did, file by file.
type Report struct {
	SchemaVersion int      `json:"schema_version"`
	Call          string   `json:"call_id"`
	Run           string   `json:"run_id"`
	At            string   `json:"at"`
	Mode          string   `json:"mode"`
	Plan          string   `json:"plan_id"`
	Checkpoint    bool     `json:"checkpoint"` // the records of the run are settled
	Approval      *Yes     `json:"approval"`
	Results       []Result `json:"results"`
	Notes         []string `json:"notes"` // about what was left out
	Exit          int      `json:"-"`
}

// Result is what became of one file.
type Result struct {
	Path      string       `json:"path"`
	Scope     string       `json:"scope"`
	Status    string       `json:"status"` // suggested, applied, no-op, failed or skipped
	Numbers   []int        `json:"selection_numbers"`
	Decisions []string     `json:"decision_ids"`
	State     BlockState   `json:"block_state"`
	Diff      string       `json:"diff"`
	Old       string       `json:"old_sha256"`
	New       string       `json:"new_sha256"`
	Commit    ReportCommit `json:"commit"`
	Notes     []string     `json:"notes"`
	Error     *ReportError `json:"error"`
}

// ReportCommit is what became of the commit of a file.
type ReportCommit struct {
	Status string `json:"status"` // committed, none or skipped
	OID    string `json:"oid"`
	Reason string `json:"reason"`
}

// ReportError is why a file could not be changed.
type ReportError struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
	Rollback string `json:"rollback"` // done, incomplete, or "" if nothing was written
	exit     int
}

func (r *Report) exit() int {
	have := map[int]bool{}
	for _, res := range r.Results {
		if res.Error != nil {
			have[res.Error.exit] = true
		}
	}
	for _, e := range []int{3, 2, 4, 1, 5} {
		if have[e] {
			return e
		}
	}
	return 0
}
