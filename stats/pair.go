package stats

import "fmt"

// Options are what a user may set about a comparison.
type Options struct {
	// Quantile is the target, 0.99 by default.
	Quantile float64

	// Alpha is the false discovery rate over endpoints and the level of the test of one.
	Alpha float64

	// MinShare and MinNS are the smallest effect that counts: a move of a quantile by this share of the
	// baseline's and by this many nanoseconds.
	MinShare, MinNS float64

	// Seed is that of resampling, for samples made with it.
	Seed uint64

	// MaxRise is the share of the baseline's quantile that the upper bound of its rise must stay below for
	// the verdict that nothing got worse.
	MaxRise float64
}

// Defaults are the options where a user sets nothing.
func Defaults() Options {
	return Options{Quantile: 0.99, Alpha: 0.05, MinShare: 0.05, MinNS: 1e6, MaxRise: 0.5}
}

// A Pair is two samples of one endpoint to compare.
type Pair struct {
	Base, Cur *Sample
	opt       Options
	timed     bool // blocks of time can be used on both sides
}

// NewPair prepares a comparison.
func NewPair(base, cur *Sample, opt Options) *Pair {
	return &Pair{Base: base, Cur: cur, opt: opt, timed: base.timed() && cur.timed()}
}

// minRuns is the least number of runs a side from which the variance between runs can be had: 3 and 3 leave a t
// with 4 degrees of freedom.
const minRuns = 3

// byRuns reports whether the runs decide.
func (p *Pair) byRuns() bool { return p.Base.runs >= minRuns && p.Cur.runs >= minRuns }

// A Method is what an interval or a test takes the independent units to be.
type Method string

const (
	Runs        Method = "runs"        // runs; requests of one run may depend on each other
	Blocks      Method = "blocks"      // blocks of time, corrected for the correlation left between them
	Independent Method = "independent" // requests; independence is assumed
)

// A Warning is a doubt that travels with a result. Guard and Status are those of the report's guards.
type Warning struct {
	Guard  string // "window" or "runs"
	Status string // "ok": worth saying; "warn"
	Detail string
}

// warnings are the doubts about the independence of the requests. stretches is 0 where blocks were not used.
func (p *Pair) warnings(method Method, stretches float64) []Warning {
	var ws []Warning
	if !p.byRuns() {
		switch k := max(p.Base.runs, p.Cur.runs); {
		case k == 1:
			ws = append(ws, Warning{"runs", "ok", "one run a side: window-to-window variation unknown"})
		default:
			ws = append(ws, Warning{"runs", "warn", fmt.Sprintf("%d and %d runs: the variation between runs needs %d a side, so intervals show that within runs only", p.Base.runs, p.Cur.runs, minRuns)})
		}
	}
	switch {
	case method == Independent:
		ws = append(ws, Warning{"window", "warn", "independence assumed: " + p.untimed()})
	case method == Blocks && stretches < minBlocks:
		ws = append(ws, Warning{"window", "warn", fmt.Sprintf("the window holds about %.0f independent stretches; intervals may be too narrow", stretches)})
	}
	return ws
}

// untimed says why blocks of time are not used.
func (p *Pair) untimed() string {
	for _, s := range []*Sample{p.Base, p.Cur} {
		switch {
		case s.sec == nil:
			return "start times are not known"
		case len(s.x) < minTimed:
			return fmt.Sprintf("%d requests on one side, and blocks of time need %d", len(s.x), minTimed)
		case s.span() < minShort:
			return fmt.Sprintf("one side lasts %d s, and blocks of time need %d s", s.span(), minShort)
		}
	}
	return ""
}
