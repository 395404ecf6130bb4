package latework

// A HedgeTable counts logical calls by whether their first attempt was slow, and
// the second, where there was one. Slow is longer than the delay after which the
// second attempt is made.
type HedgeTable struct {
	Calls, FirstSlow float64
	Second, BothSlow float64 // second attempts, and those that were slow too
}

// Rate is second attempts per call.
func (h *HedgeTable) Rate() float64 { return ratio(h.Second, h.Calls) }

// Slow is P(slow) of a first attempt.
func (h *HedgeTable) Slow() float64 { return ratio(h.FirstSlow, h.Calls) }

// Again is P(second slow | first slow). Near Slow, slowness is the attempt's own
// and a second attempt escapes it; near 1 it is the request's or the callee's.
func (h *HedgeTable) Again() float64 { return ratio(h.BothSlow, h.Second) }

// A HedgeVerdict says whether hedging pays.
type HedgeVerdict string

// Verdicts on hedging.
const (
	HedgePays    HedgeVerdict = "it pays: the second attempt is rarely slow where the first is"
	HedgeDoesNot HedgeVerdict = "it does not pay: the second attempt is slow where the first is"
	HedgeOverrun HedgeVerdict = "slowness is bound to load or to the request: far more calls are hedged than the delay should let through"
	HedgeTooFew  HedgeVerdict = "too few calls were hedged to tell"
)

const (
	// minHedges is how many hedged calls are needed for a verdict.
	minHedges = 20
	// againSlow is P(second slow | first slow) from which on hedging buys nothing
	// for its double cost.
	againSlow = 0.5
	// nominalRate is the hedge rate of a delay at the p95, and rateOverrun how far
	// above it a rate must be to say anything: near it proves nothing.
	nominalRate = 0.05
	rateOverrun = 2
)

// Verdict judges by P(second slow | first slow).
func (h *HedgeTable) Verdict() HedgeVerdict {
	switch {
	case h.Second < minHedges:
		return HedgeTooFew
	case h.Again() >= againSlow:
		return HedgeDoesNot
	case h.Rate() > rateOverrun*nominalRate:
		return HedgeOverrun
	}
	return HedgePays
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
