package report

import (
	"io"
	"reflect"
)

// WhatIfV1 is the value of WhatIf.Schema.
const WhatIfV1 = "tailscope.whatif/v1"

// WhatIf says what would have become of the recorded requests had something been otherwise. Shares are of the
// requests, 0..1.
type WhatIf struct {
	Schema  string       `json:"schema"`  // WhatIfV1; EncodeWhatIf fills it in
	Version string       `json:"version"` // of tailscope
	Changes List[string] `json:"changes"` // what was changed, in words

	Endpoints List[WhatIfEndpoint] `json:"endpoints"` // those that the changes touch
}

// A WhatIfEndpoint is the replay of the requests of one endpoint.
type WhatIfEndpoint struct {
	Service   string `json:"service"`   // of the entry
	Operation string `json:"operation"` // of the entry
	Requests  int64  `json:"requests"`  // that were replayed

	// Quantiles are those of the requests that are still answered. Of stopped requests none is in them: see Stopped.
	Quantiles List[WhatIfQuantile] `json:"quantiles"`

	Stopped   Num            `json:"stopped"`   // answered with a failure because of the deadline; null without one
	Failed    Num            `json:"failed"`    // with a call cut short that the answer needs; null where no timeout was changed
	Omitted   Num            `json:"omitted"`   // without an optional branch; null where none can be left out
	Omissions List[Omission] `json:"omissions"` // the branches, the most often left out first
	Goodput   RecordedPair   `json:"goodput"`   // completed within the objective; null without one
	WorkMs    RecordedPair   `json:"work_ms"`   // mean time per request that servers work; null without a deadline
	LateMs    Num            `json:"late_ms"`   // mean time per request worked after the deadline, which would not be; null without a deadline
	Extra     Num            `json:"extra"`     // further calls per call of the hedged edges; null without hedging
	Assumed   List[string]   `json:"assumed"`   // what the replay takes for granted
	Unknown   List[string]   `json:"unknown"`   // what of the change could not be replayed, and why
}

// A RecordedPair is a number as recorded and replayed.
type RecordedPair struct {
	Recorded Num `json:"recorded"` // as it was
	Replayed Num `json:"replayed"` // as it would have been
}

// A WhatIfQuantile is a quantile of the latency, as recorded and replayed.
type WhatIfQuantile struct {
	Quantile   Float    `json:"quantile"`    // 0..1
	RecordedMs Num      `json:"recorded_ms"` // as it was
	ReplayedMs Num      `json:"replayed_ms"` // as it would have been
	DeltaMs    Num      `json:"delta_ms"`    // the difference
	CIMs       Interval `json:"ci_ms"`       // of DeltaMs
}

// An Omission is how often a branch is left out.
type Omission struct {
	Service   string `json:"service"`   // the callee
	Operation string `json:"operation"` // its operation
	Share     Float  `json:"share"`     // of the requests
}

// EncodeWhatIf is [Encode] for a replay.
func EncodeWhatIf(w io.Writer, t *WhatIf) error {
	c := *t
	c.Schema = WhatIfV1
	return stream(w, reflect.ValueOf(&c).Elem(), true)
}
