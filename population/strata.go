package population

import (
	"math"
	"slices"
)

// A Bucket says how many requests a metric counted that took longer than Lo and
// at most Hi, in ns.
type Bucket struct {
	Lo, Hi float64
	Broken bool // they did not end well
	N      uint64
}

// A Metered is a request as a metric would have counted it.
type Metered struct {
	NS     int64
	Broken bool
	Weight Weight // by its own word
}

// A Contradiction is why requests cannot be a sample of what a metric counted.
type Contradiction string

const (
	// MoreThanCounted: there are more of them than the metric counted, in all or of
	// some length.
	MoreThanCounted Contradiction = "the traces hold more requests than the metric counted"
	// OtherLengths: none is missing, and yet they are of other lengths.
	OtherLengths Contradiction = "no request is missing from the traces, and yet the metric counted other lengths"
	// OtherClock: requests that the metric names took another time than it says.
	OtherClock Contradiction = "the requests that the metric names as exemplars took another time in their traces"
)

// Strata is a sample held against the population that a metric counted, bucket
// by bucket, and weighted so that each bucket has the weight that it should:
// post-stratification. What nobody sampled corrects what somebody did, whatever
// the rule by which traces were kept, as long as it looked at the length and the
// outcome alone.
type Strata struct {
	Counted float64 // requests, by the metric
	Traced  Weight  // that the sample stood for by its own word

	// Biased reports whether the sample misses the metric's shares by more than
	// chance. Above, Share and Counts say where most: the requests above so many
	// ns are Share of the sample and Metric of the metric's. Above is NaN if it is
	// the share of requests that ended badly.
	Biased                bool
	Above, Share, InTruth float64

	// Contradiction, if any, forbids to weight.
	Contradiction Contradiction

	// Weights is what each request stands for, nil where the sample is left as it
	// is: it agrees, there is too little of it, or a contradiction forbids it.
	Weights []Weight

	// Of is the strata by outcome and length.
	Of []Stratum

	// Unseen is the share of the population, 0..1, in buckets of which no request
	// was kept; its weight went to the neighbours.
	Unseen float64
}

// A Stratum is requests of one outcome and about one length, in ns.
type Stratum struct {
	Lo, Hi  float64
	Broken  bool
	Counted float64 // by the metric
	Sampled int
	Factor  float64 // by which the sample's weights were multiplied

	// Step reports whether an end of it lies within a bucket of the metric: below
	// and above that bucket the sample was kept at two rates, and so it was within.
	Step bool
}

const (
	// minMetered and minSampled are the least number of requests in the metric and
	// in the sample for weights.
	minMetered, minSampled = 50, 20
	// minStratum is the least number of requests in a stratum: of fewer, the rate at
	// which they were kept is known to no better than a half.
	minStratum = 5
	// all and tooMany bound the requests that the sample stands for over those
	// counted: between them, none is missing. Metrics are exported every 10 s to
	// 60 s, so that the two windows differ at their ends.
	all, tooMany = 0.8, 1.25
	// otherShare is the factor between shares from which on a sample is biased.
	otherShare = 1.4
	// otherRate is the factor between the rates of a bucket's neighbours from which
	// on a step is looked for within it.
	otherRate = 1.5
)

// Stratify holds a sample against a metric's buckets; those of instances with other
// bounds may overlap. window is the share of the metric's time, 0..1, in which the
// sample was taken: a metric is exported every 10 s to 60 s, so that its time reaches
// beyond the sample's at both ends, whether or not requests came in that time.
func Stratify(sample []Metered, buckets []Bucket, window float64) *Strata {
	s := &Strata{Above: math.NaN()}
	scale := 1.0
	if window < all {
		scale = window // the metric goes on well beyond the sample
	}
	for _, b := range buckets {
		s.Counted += float64(b.N) * scale
	}
	for _, r := range sample {
		s.Traced += r.Weight
	}
	if s.Counted < minMetered || s.Traced == 0 {
		return s
	}
	s.Biased = s.compare(sample, buckets, scale)
	missing := s.Traced.Float() < all*s.Counted/scale*window
	switch {
	case s.Traced.Float() > tooMany*s.Counted:
		s.Contradiction = MoreThanCounted
		return s
	case !missing && s.Biased:
		s.Contradiction = OtherLengths
		return s
	case !missing || len(sample) < minSampled:
		return s
	}
	s.weight(sample, buckets, scale)
	return s
}

// compare looks for the bound at which the shares of sample and metric differ most,
// beyond chance.
func (s *Strata) compare(sample []Metered, buckets []Bucket, scale float64) bool {
	var squares, broken float64
	for _, r := range sample {
		squares += r.Weight.Float() * r.Weight.Float()
		if r.Broken {
			broken += r.Weight.Float()
		}
	}
	sum := s.Traced.Float()
	n := sum * sum / squares
	worst := 1.0
	try := func(above, share, truth float64) {
		// Five standard errors: tens of bounds of tens of endpoints are looked at.
		// Two requests are the least that it may err by at the windows' ends.
		se := math.Sqrt(max(truth*(1-truth), 2/n) / n)
		if truth < 0.002 && share < 0.002 || math.Abs(share-truth) < 5*se {
			return
		}
		ratio := max(share, 0.5/n) / max(truth, 0.5/s.Counted)
		if ratio = max(ratio, 1/ratio); ratio > worst {
			worst, s.Above, s.Share, s.InTruth = ratio, above, share, truth
		}
	}
	for _, c := range cuts(buckets) {
		if math.IsInf(c, 0) {
			continue
		}
		var truth, share float64
		for _, b := range buckets {
			if b.Lo >= c && b.Hi > c {
				truth += float64(b.N) * scale
			}
		}
		for _, r := range sample {
			if float64(r.NS) > c {
				share += r.Weight.Float()
			}
		}
		if truth > 0.9*s.Counted {
			continue // nearly all
		}
		try(c, share/sum, truth/s.Counted)
	}
	var failed float64
	for _, b := range buckets {
		if b.Broken {
			failed += float64(b.N) * scale
		}
	}
	if failed > 0 {
		try(math.NaN(), broken/sum, failed/s.Counted)
	}
	return worst > otherShare
}

// cuts are the bounds that no bucket straddles, ascending, with those at both ends.
func cuts(buckets []Bucket) []float64 {
	var bounds []float64
	for _, b := range buckets {
		if b.N > 0 {
			bounds = append(bounds, b.Lo, b.Hi)
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	return slices.DeleteFunc(bounds, func(x float64) bool {
		return slices.ContainsFunc(buckets, func(b Bucket) bool { return b.N > 0 && b.Lo < x && x < b.Hi })
	})
}

// weight makes the strata and gives the sample their weights. One stratum does for
// a sample whose shares are right: more would only weight its chances.
func (s *Strata) weight(sample []Metered, buckets []Bucket, scale float64) {
	if !s.Biased {
		all := Stratum{Lo: math.Inf(-1), Hi: math.Inf(1), Counted: s.Counted, Sampled: len(sample), Factor: s.Counted / s.Traced.Float()}
		s.Of = []Stratum{all}
		s.Weights = make([]Weight, len(sample))
		for i, r := range sample {
			s.Weights[i] = r.Weight.times(all.Factor)
		}
		return
	}
	// Outcomes apart where both tell them apart.
	var counted [2]float64
	var kept [2]int
	for _, b := range buckets {
		counted[boolIndex(b.Broken)] += float64(b.N)
	}
	for _, r := range sample {
		kept[boolIndex(r.Broken)]++
	}
	groups := [][]bool{{false, true}}
	if counted[0] > 0 && counted[1] > 0 && kept[0] > 0 && kept[1] > 0 && float64(kept[0]) <= most(counted[0]*scale) && float64(kept[1]) <= most(counted[1]*scale) {
		groups = [][]bool{{false}, {true}}
	}
	weights := make([]Weight, len(sample))
	for _, group := range groups {
		var own []Bucket
		for _, b := range buckets {
			if slices.Contains(group, b.Broken) {
				own = append(own, b)
			}
		}
		var places []int
		for i, r := range sample {
			if slices.Contains(group, r.Broken) {
				places = append(places, i)
			}
		}
		slices.SortFunc(places, func(i, j int) int {
			a, b := sample[i], sample[j]
			switch {
			case a.NS != b.NS:
				return cmpInt(a.NS, b.NS)
			default:
				return cmpInt(int64(a.Weight), int64(b.Weight))
			}
		})
		strata := s.strata(sample, places, own, scale)
		if s.Contradiction != "" {
			s.Of = nil
			return
		}
		at := 0
		for k := range strata {
			x := &strata[k].Stratum
			x.Broken = group[0] && len(group) == 1
			for _, i := range places[at : at+x.Sampled] {
				weights[i] = sample[i].Weight.times(x.Factor)
			}
			at += x.Sampled
			s.Of = append(s.Of, *x)
		}
	}
	s.Weights = weights
}

// times is w times a factor, rounded once; never nothing.
func (w Weight) times(factor float64) Weight {
	return max(1, Weight(math.Round(float64(w)*factor)))
}

// most is how many requests there may be where so many were counted: windows differ
// at their ends.
func most(counted float64) float64 { return tooMany*counted + 3*math.Sqrt(counted) + 3 }

// A stratum with what the sample has in it.
type stratum struct {
	Stratum
	weight float64 // of the sample, by its own word
}

func (x *stratum) rate() float64 { return (x.weight + 0.5) / (x.Counted + 0.5) }

// strata cuts one outcome's requests; places are those of the sample, by length.
func (s *Strata) strata(sample []Metered, places []int, buckets []Bucket, scale float64) []stratum {
	ends := cuts(buckets)
	if len(ends) < 2 {
		ends = []float64{math.Inf(-1), math.Inf(1)}
	}
	// Requests beyond the metric's least and largest belong to the outermost.
	ends[0], ends[len(ends)-1] = math.Inf(-1), math.Inf(1)
	var out []stratum
	at := 0
	for k := 1; k < len(ends); k++ {
		x := stratum{Stratum: Stratum{Lo: ends[k-1], Hi: ends[k]}}
		for _, b := range buckets {
			if b.Lo >= x.Lo && b.Hi <= x.Hi && b.Hi > x.Lo {
				x.Counted += float64(b.N) * scale
			}
		}
		for ; at < len(places) && float64(sample[places[at]].NS) <= x.Hi; at++ {
			x.Sampled++
			x.weight += sample[places[at]].Weight.Float()
		}
		if float64(x.Sampled) > most(x.Counted) {
			s.Contradiction = MoreThanCounted
		}
		if x.Sampled == 0 {
			s.Unseen += x.Counted / s.Counted
		}
		out = append(out, x)
	}
	if s.Contradiction != "" {
		return nil
	}
	// Join what is too small with the neighbour that was kept at the nearer rate.
	for len(out) > 1 {
		small := slices.IndexFunc(out, func(x stratum) bool { return x.Sampled < minStratum || x.Counted == 0 })
		if small < 0 {
			break
		}
		into := small + 1
		if into == len(out) || small > 0 && apart(&out[small-1], &out[small]) <= apart(&out[small], &out[into]) {
			into = small - 1
		}
		a, b := min(small, into), max(small, into)
		out[a].Hi = out[b].Hi
		out[a].Counted += out[b].Counted
		out[a].Sampled += out[b].Sampled
		out[a].weight += out[b].weight
		out = slices.Delete(out, b, b+1)
	}
	return steps(sample, places, out)
}

// stepSure is how many standard errors apart the rates of neighbours must be to
// differ: a line drawn by chance would move requests of one rate to two.
const stepSure = 4

func differs(a, b *stratum) bool {
	// Where all were kept, chance had no part in how many.
	chance := func(x *stratum) float64 { return max(0, 1-min(1, x.rate())) / float64(x.Sampled) }
	return apart(a, b) > stepSure*math.Sqrt(chance(a)+chance(b))
}

func apart(a, b *stratum) float64 { return math.Abs(math.Log(a.rate() / b.rate())) }

// steps gives each stratum its factor, and cuts in two those in which the rate
// changes. A rule that keeps what is longer than some length draws its line within a
// bucket: below it requests were kept as in the bucket below, beyond it as in the
// one above (all of them, of the uppermost), and the line is where the bucket's count
// comes out. The requests must bear it out: beyond the line they lie denser.
func steps(sample []Metered, places []int, in []stratum) (out []stratum) {
	at := 0
	for k := range in {
		x := in[k]
		own := places[at : at+x.Sampled]
		at += x.Sampled
		x.Factor = x.Counted / x.weight
		above := stratum{Stratum: Stratum{Counted: 1, Sampled: 1}, weight: 1} // all are kept
		if k+1 < len(in) {
			above = in[k+1]
		}
		if k > 0 {
			if l, u, ok := x.step(sample, own, &in[k-1], &above); ok {
				out = append(out, l, u)
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

// step cuts x where the rate changes from that of below to that of above, if it does.
func (x *stratum) step(sample []Metered, own []int, below, above *stratum) (l, u stratum, ok bool) {
	r, rb, ra := x.rate(), below.rate(), above.rate()
	lo, hi := min(rb, ra), max(rb, ra)
	if hi < otherRate*lo || r <= lo || r >= hi || !differs(x, below) || !differs(x, above) {
		return l, u, false
	}
	// a of its weight are beyond the line: a/ra + (weight−a)/rb = counted.
	left := (x.Counted - x.weight/rb) / (1/ra - 1/rb)
	cut := len(own)
	for ; cut > 0; cut-- {
		w := sample[own[cut-1]].Weight.Float()
		if left < w/2 {
			break
		}
		left -= w
	}
	if cut, ok = borne(sample, own, cut, rb/ra); !ok || cut == 0 || cut == len(own) {
		return l, u, false
	}
	l, u = *x, *x
	line := float64(sample[own[cut-1]].NS)
	l.Hi, u.Lo, l.Step, u.Step = line, line, true, true
	l.Sampled, u.Sampled = cut, len(own)-cut
	u.weight = 0
	for _, i := range own[cut:] {
		u.weight += sample[i].Weight.Float()
	}
	l.weight = x.weight - u.weight
	u.Factor = 1 / ra
	u.Counted = u.weight * u.Factor
	l.Counted = x.Counted - u.Counted
	l.Factor = l.Counted / l.weight
	return l, u, l.Counted > 0
}

// nearLine is how many requests on the denser side of a line tell whether it is one,
// and minNear how many it takes to say that it is not.
const nearLine, minNear = 20, 8

// borne moves a cut to where the density of the requests next to it steps most, within
// what chance moves a cut by: twice the root of how many are on the sparse side. ok is
// false if nowhere there the requests below are to those beyond, over equal ratios of
// length, nearer to the ratio of the rates than to one.
func borne(sample []Metered, own []int, cut int, ratio float64) (at int, ok bool) {
	ns := func(k int) float64 { return max(1, float64(sample[own[k]].NS)) }
	sparse, dense := cut, len(own)-cut
	if ratio > 1 {
		sparse, dense = dense, sparse
	}
	if dense < minNear {
		return cut, true
	}
	reach := int(math.Ceil(2 * math.Sqrt(float64(sparse))))
	best := math.Sqrt(min(ratio, 1/ratio))
	for c := max(1, cut-reach); c <= min(len(own)-1, cut+reach); c++ {
		line := ns(c - 1)
		if line == ns(c) {
			continue // equal lengths stay together
		}
		near, far, span := 0.5, 0.5, 1.0
		if ratio < 1 {
			span = ns(min(len(own), c+nearLine)-1) / line
		} else {
			span = line / ns(max(0, c-nearLine))
		}
		for k := c - 1; k >= 0 && ns(k)*span >= line; k-- {
			near++
		}
		for k := c; k < len(own) && ns(k) <= line*span; k++ {
			far++
		}
		if ratio > 1 {
			near, far = far, near
		}
		if max(near, far) > minNear && near/far < best {
			best, at, ok = near/far, c, true
		}
	}
	return at, ok
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
