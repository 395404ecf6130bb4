package stats

import "math"

// betweenRuns is the comparison of the logarithms of the runs' quantiles, the runs being the independent units.
type betweenRuns struct {
	log float64 // mean log of the current runs less that of the baseline's
	se  float64
	d   float64 // degrees of freedom
	p   float64
}

// runs compares the runs' quantiles by Student's t with k0+k1−2 degrees. The variance is never below what the
// requests within runs alone would give.
func (p *Pair) runs(q float64) betweenRuns {
	l0, l1 := p.Base.logQuantiles(q), p.Cur.logQuantiles(q)
	m0, s0 := meanSquares(l0)
	m1, s1 := meanSquares(l1)
	k0, k1 := float64(len(l0)), float64(len(l1))
	r := betweenRuns{log: m1 - m0, d: k0 + k1 - 2}
	v := (s0 + s1) / r.d * (1/k0 + 1/k1)
	r.se = math.Sqrt(max(v, p.withinRuns(q)))
	switch {
	case r.log == 0:
		r.p = 1
	case r.se > 0:
		r.p = studentTail(r.log/r.se, r.d)
	}
	return r
}

// interval is that of the change of a quantile whose baseline is base.
func (r betweenRuns) interval(base, level float64) Interval {
	half := studentT((1+level)/2, r.d) * r.se
	return Interval{base * math.Expm1(r.log-half), base * math.Expm1(r.log+half)}
}

// withinRuns is the variance of the difference of the log quantiles that resampling within the runs gives.
func (p *Pair) withinRuns(q float64) float64 {
	f := 1.0
	if p.timed {
		s := p.spread(q, 0.95)
		f = s.factor * s.factor
	}
	v := 0.0
	for role, s := range []*Sample{p.Base, p.Cur} {
		logs := s.quantiles(role, q)
		for i, x := range logs {
			logs[i] = logOf(x)
		}
		_, squares := meanSquares(logs)
		v += squares / float64(len(logs)-1)
	}
	return f * v
}

// logQuantiles are the logarithms of the quantile q of each run.
func (s *Sample) logQuantiles(q float64) []float64 {
	weight := make([]float64, s.runs)
	for i, w := range s.w {
		weight[s.runOf(i)] += w
	}
	logs := make([]float64, s.runs)
	sum := make([]float64, s.runs)
	for i, w := range s.w {
		r := s.runOf(i)
		target := q * weight[r] * (1 - slack)
		if sum[r] < target && sum[r]+w >= target {
			logs[r] = logOf(s.x[i])
		}
		sum[r] += w
	}
	return logs
}

// logOf is the logarithm of a latency; half a nanosecond stands for zero, which the clock cannot tell from it.
func logOf(x float64) float64 { return math.Log(max(x, 0.5)) }

// meanSquares is the mean of values and the sum of the squares around it.
func meanSquares(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}
