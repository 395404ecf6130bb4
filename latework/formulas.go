package latework

import "math"

// InFlight is the mean number of late calls at any moment: calls per second, the
// share of them that is late, and for how many seconds on average. It is
// neither a number of cores nor a throughput.
func InFlight(perSecond, share, meanSeconds float64) float64 { return perSecond * share * meanSeconds }

// AnySlow is the probability that at least one of independent branches is slow,
// 1 - Π(1 - p). Branches are correlated as a rule: show it beside what was
// observed. It is not the share of requests that miss an objective.
func AnySlow(p []float64) float64 {
	none := 0.0 // logarithm, since of many small p the product loses digits
	for _, x := range p {
		none += math.Log1p(-x)
	}
	return -math.Expm1(none)
}

// Repeated is n branches of one probability, for AnySlow; a fraction of a branch
// counts as such.
func Repeated(p, n float64) []float64 {
	return []float64{-math.Expm1(n * math.Log1p(-p))}
}

// EffectiveWidth is how many independent branches would give the observed
// probability that any is slow, for a mean probability p of one:
// ln(1 - any) / ln(1 - p). Far below the number of branches, a common cause
// makes them slow together, and asking again will not help.
func EffectiveWidth(any, p float64) float64 {
	if p <= 0 || p >= 1 || any >= 1 {
		return math.NaN()
	}
	return math.Log1p(-any) / math.Log1p(-p)
}

// MeanAttempts is the attempts per logical call when each fails with probability
// f independently and at most k are made: (1 - f^k) / (1 - f).
func MeanAttempts(f float64, k int) float64 {
	if f >= 1 {
		return float64(k)
	}
	return (1 - math.Pow(f, float64(k))) / (1 - f)
}

// Amplification is the calls at the last of several layers for one at the first,
// each layer making that many attempts of what it calls.
func Amplification(attemptsPerLayer ...float64) float64 {
	n := 1.0
	for _, a := range attemptsPerLayer {
		n *= a
	}
	return n
}

// Occupancy is used ÷ size of a pool or executor.
func Occupancy(used, size float64) float64 {
	if size <= 0 {
		return math.NaN()
	}
	return used / size
}

// StillSlow is the share of calls that are slow although they were hedged: the
// first is slow with probability p, and the second with probability again where
// the first is. Independent attempts have again = p: at the p95, 1/400. Where
// slowness is the request's own, again is 1 and hedging buys nothing.
func StillSlow(p, again float64) float64 { return p * again }

// Coalesced is what concurrent identical calls save per second: eligible calls,
// those that lead, and those avoided, for a share of the calls and a mean size
// of the groups that share one call.
func Coalesced(perSecond, share, meanGroup float64) (eligible, leaders, avoided float64) {
	if meanGroup < 1 {
		return perSecond * share, perSecond * share, 0
	}
	eligible = perSecond * share
	leaders = eligible / meanGroup
	return eligible, leaders, eligible - leaders
}

// InTime is the rules by which a request with a deadline spends what is left of
// it. All times are in ns.
type InTime struct {
	Reserve  int64 // what its own answer needs: with less left it stops
	Optional int64 // the least with which a branch is begun that it can do without
}

// Stops reports whether too little is left to go on at all.
func (t InTime) Stops(left int64) bool { return left < t.Reserve }

// Mandatory reports whether a branch that the request needs may begin: its useful
// work fits before the reserve.
func (t InTime) Mandatory(left, useful int64) bool { return useful <= left-t.Reserve }

// Begins reports whether a branch that the request can do without may begin.
func (t InTime) Begins(left int64) bool { return left >= t.Optional }

// Retry reports whether a further attempt may be made: see Fits.
func (t InTime) Retry(left, backoff, useful int64) bool {
	return Fits(left, backoff, useful, t.Reserve)
}

// PerClass is the calls per second of classes with the given shares.
func PerClass(perSecond float64, shares ...float64) []float64 {
	out := make([]float64, len(shares))
	for i, s := range shares {
		out[i] = perSecond * s
	}
	return out
}

// ratio is a ÷ b, zero of nothing.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
