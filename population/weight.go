package population

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// A Weight is how many requests a sampled one stands for, in units of 2^-20.
// Weights add up exactly, in any order.
type Weight int64

// One is the weight of a request that stands for itself.
const One Weight = 1 << fraction

const fraction = 20

// Float is w as a number of requests.
func (w Weight) Float() float64 { return float64(w) / float64(One) }

// maxWeight is the largest weight that is believed: one request in 2^32. It
// leaves room for sums.
const maxWeight = One << 32

// A Sampling is what a span says of how it was sampled.
type Sampling uint8

const (
	// Unstated: nothing. It counts once, which is right if all were kept.
	Unstated Sampling = iota
	// Stated: a probability, from which the weight follows exactly.
	Stated
	// Unreadable: something that is malformed or cannot be. It counts once.
	Unreadable
	// Unmeasured: that it was sampled, without a probability. It counts once.
	Unmeasured
)

func (s Sampling) String() string {
	return [...]string{"unstated", "stated", "unreadable", "unmeasured"}[s]
}

// WeightOf is the weight of a span: by the tracestate, else by the tags that
// Jaeger's clients put on a root.
func WeightOf(s *trace.Store, r trace.SpanRef) (Weight, Sampling) {
	if id := s.TraceState(r); id != 0 {
		if w, sampling := ParseTraceState(s.String(id)); sampling != Unstated {
			return w, sampling
		}
	}
	switch s.AttrText(r, "sampler.type") {
	case "probabilistic":
		return ofProbability(s.AttrText(r, "sampler.param"))
	case "ratelimiting", "lowerbound":
		return One, Unmeasured
	}
	return One, Unstated
}

// ParseTraceState reads the member ot of a W3C tracestate:
//
//	ot=th:T   the rejection threshold in up to 14 hexadecimal digits, filled up
//	          with zeros on the right; the probability is (2^56 − T) / 2^56
//	ot=p:N    before 2023: the probability is 2^-N; 63 is "counts for nothing"
//
// th goes before p. Without either, nothing is stated.
func ParseTraceState(text string) (Weight, Sampling) {
	for member := range strings.SplitSeq(text, ",") {
		value, ok := strings.CutPrefix(strings.TrimSpace(member), "ot=")
		if !ok {
			continue
		}
		var p string
		var hasP bool
		for field := range strings.SplitSeq(value, ";") {
			if t, ok := strings.CutPrefix(field, "th:"); ok {
				return ofThreshold(t)
			}
			if n, ok := strings.CutPrefix(field, "p:"); ok && !hasP {
				p, hasP = n, true
			}
		}
		if hasP {
			return ofPower(p)
		}
		return One, Unstated
	}
	return One, Unstated
}

// ofThreshold is the weight 2^56 / (2^56 − T), rounded to the nearest unit.
func ofThreshold(digits string) (Weight, Sampling) {
	if len(digits) == 0 || len(digits) > 14 {
		return One, Unreadable
	}
	t, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return One, Unreadable
	}
	t <<= 4 * (14 - len(digits))
	kept := uint64(1)<<56 - t // at least 1
	if kept < 1<<(56-32) {
		return One, Unreadable // beyond maxWeight
	}
	// 2^(56+20) + kept/2 in 128 bits, whose upper half is below kept.
	q, _ := bits.Div64(1<<(56+fraction-64), kept/2, kept)
	return Weight(q), Stated
}

func ofPower(text string) (Weight, Sampling) {
	n, err := strconv.ParseUint(text, 10, 8)
	switch {
	case err != nil || n > 63 || n > 32 && n < 63:
		return One, Unreadable
	case n == 63:
		return 0, Stated
	}
	return One << n, Stated
}

func ofProbability(text string) (Weight, Sampling) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p > 0 && p <= 1) || 1/p > float64(maxWeight/One) {
		return One, Unreadable
	}
	return Weight(math.Round(float64(One) / p)), Stated
}
