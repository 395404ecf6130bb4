package metric

import "math"

// edge is the lower edge of bucket i at a scale: b^i with b = 2^(2^-scale). It
// is exact wherever the edge is a power of two.
func edge(scale int32, i int64) float64 {
	return math.Min(math.Exp2(math.Ldexp(float64(i), int(-scale))), math.MaxFloat64)
}

// at is r with buckets of the wider scale by steps scales: bucket i goes into
// bucket ⌊i / 2^steps⌋, whose edges are edges of i's scale too; so nothing is
// lost but resolution.
func (r Run) at(steps uint) Run {
	if steps == 0 || len(r.Counts) == 0 {
		return r
	}
	first := r.Offset >> steps
	last := (r.Offset + int64(len(r.Counts)) - 1) >> steps
	out := Run{Offset: first, Counts: make([]uint64, last-first+1)}
	for i, c := range r.Counts {
		out.Counts[(r.Offset+int64(i))>>steps-first] += c
	}
	return out
}

// plus is the sum of two runs of one scale.
func (r Run) plus(o Run) Run {
	if len(r.Counts) == 0 {
		return o
	}
	if len(o.Counts) == 0 {
		return r
	}
	first := min(r.Offset, o.Offset)
	end := max(r.Offset+int64(len(r.Counts)), o.Offset+int64(len(o.Counts)))
	if end-first > maxRun {
		return Run{Offset: first} // the caller widens first, so that this is not met
	}
	out := Run{Offset: first, Counts: make([]uint64, end-first)}
	for _, x := range []Run{r, o} {
		for i, c := range x.Counts {
			at := &out.Counts[x.Offset-first+int64(i)]
			*at = saturatingAdd(*at, c)
		}
	}
	return out
}

// maxScale bounds the scales that are read, either way. SDKs use −10 to 20.
const maxScale = 64

// maxRun bounds the buckets of a merged histogram. SDKs use at most 160 or 320;
// two hostile offsets far apart must not cost memory.
const maxRun = 1 << 16

// stepsToFit is the number of scales by which two runs must be widened until
// they span at most maxRun buckets together.
func stepsToFit(a, b Run) uint {
	if len(a.Counts) == 0 || len(b.Counts) == 0 {
		return 0
	}
	steps := uint(0)
	for {
		first := min(a.Offset>>steps, b.Offset>>steps)
		last := max((a.Offset+int64(len(a.Counts))-1)>>steps, (b.Offset+int64(len(b.Counts))-1)>>steps)
		if last-first < maxRun {
			return steps
		}
		steps++
	}
}

// mergeExponential is the sum of two exponential histograms, exact at the wider
// of their scales. The zero bucket takes what lies within the larger of the two
// thresholds; a bucket that the threshold cuts moves the threshold outward.
func mergeExponential(a, b *Dist) *Dist {
	scale := min(a.Scale, b.Scale)
	pos := [2]Run{a.Pos.at(shift(a.Scale, scale)), b.Pos.at(shift(b.Scale, scale))}
	neg := [2]Run{a.Neg.at(shift(a.Scale, scale)), b.Neg.at(shift(b.Scale, scale))}
	if more := max(stepsToFit(pos[0], pos[1]), stepsToFit(neg[0], neg[1])); more > 0 {
		scale -= int32(more)
		for i := range pos {
			pos[i], neg[i] = pos[i].at(more), neg[i].at(more)
		}
	}
	out := &Dist{
		Count: saturatingAdd(a.Count, b.Count), Scale: scale, Zero: saturatingAdd(a.Zero, b.Zero),
		Threshold: max(a.Threshold, b.Threshold),
		Pos:       pos[0].plus(pos[1]), Neg: neg[0].plus(neg[1]),
		HasSum: a.HasSum && b.HasSum, Sum: a.Sum + b.Sum,
	}
	out.HasMin, out.Min = extreme(a.HasMin && b.HasMin, a.Min, b.Min, math.Min)
	out.HasMax, out.Max = extreme(a.HasMax && b.HasMax, a.Max, b.Max, math.Max)
	out.intoZero()
	return out
}

// intoZero moves into the zero bucket what its threshold covers.
func (d *Dist) intoZero() {
	for moved := d.Threshold > 0; moved; {
		moved = false
		for _, r := range []*Run{&d.Pos, &d.Neg} {
			for len(r.Counts) > 0 && edge(d.Scale, r.Offset) < d.Threshold {
				if c := r.Counts[0]; c > 0 {
					d.Zero += c
					if upper := edge(d.Scale, r.Offset+1); upper > d.Threshold {
						d.Threshold, moved = upper, true
					}
				}
				r.Offset, r.Counts = r.Offset+1, r.Counts[1:]
			}
		}
	}
	d.Pos, d.Neg = d.Pos.trimmed(), d.Neg.trimmed()
}

// shift is how many scales to is wider than from.
func shift(from, to int32) uint { return uint(int64(from) - int64(to)) }

// minusExponential is a − b where b is an earlier state of a; ok is false if a
// bucket shrank, so that it is not.
func minusExponential(a, b *Dist) (*Dist, bool) {
	scale := min(a.Scale, b.Scale)
	threshold := max(a.Threshold, b.Threshold)
	at := func(d *Dist) *Dist {
		e := &Dist{
			Scale: scale, Zero: d.Zero, Threshold: threshold,
			Pos: d.Pos.at(shift(d.Scale, scale)), Neg: d.Neg.at(shift(d.Scale, scale)),
		}
		e.intoZero()
		return e
	}
	x, y := at(a), at(b)
	if x.Threshold != y.Threshold || x.Zero < y.Zero {
		return nil, false
	}
	pos, ok1 := x.Pos.minus(y.Pos)
	neg, ok2 := x.Neg.minus(y.Neg)
	out := *a
	out.Scale, out.Threshold, out.Zero, out.Pos, out.Neg = scale, x.Threshold, x.Zero-y.Zero, pos, neg
	return &out, ok1 && ok2
}

// minus is r − o; ok is false if that is negative somewhere.
func (r Run) minus(o Run) (diff Run, ok bool) {
	if len(o.Counts) == 0 {
		return r, true
	}
	if o.Offset < r.Offset || o.Offset+int64(len(o.Counts)) > r.Offset+int64(len(r.Counts)) {
		return Run{}, false // both are trimmed: o has a count where r has none
	}
	out := Run{Offset: r.Offset, Counts: make([]uint64, len(r.Counts))}
	copy(out.Counts, r.Counts)
	for i, c := range o.Counts {
		at := &out.Counts[o.Offset-r.Offset+int64(i)]
		if c > *at {
			return Run{}, false
		}
		*at -= c
	}
	return out.trimmed(), true
}

func saturatingAdd(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

func extreme(has bool, a, b float64, pick func(a, b float64) float64) (bool, float64) {
	if !has {
		return false, 0
	}
	return true, pick(a, b)
}
