package stats

const (
	// minBlocks is the least number of blocks that says anything about the variance between them; 8 leave a t
	// with 7 degrees of freedom, 1.2 times as wide as the normal.
	minBlocks = 8

	// minShort is the least number of blocks of a second that are used where there are not minBlocks: requests of one
	// second share what happened in it, and 4 and 4 seconds leave a t with 6 degrees of freedom, which knows that it
	// knows little. To take requests for independent instead calls every run of 50 unchanged endpoints a regression.
	minShort = 4

	// minTimed is the least number of requests of a side for which blocks are used.
	minTimed = 100

	// maxCells bounds the memory of a timeline: above it the narrowest block is wider than a second.
	maxCells = 1 << 17
)

// floorDiv is a/b rounded down, b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// A stretch is the time of one run, [first, end) in seconds.
type stretch struct{ first, end int64 }

// cut is how a run falls into whole blocks of a width, aligned to the epoch: n blocks from block number lo. A
// partial first or last block joins its neighbour; a run shorter than a block is one block.
func (r stretch) cut(width int64) (lo int64, n int) {
	lo = floorDiv(r.first+width-1, width)
	n = int(floorDiv(r.end, width) - lo)
	return lo, max(1, n)
}

// blockOf is the number of the block of a second, in 0..n−1.
func blockOf(second, width, lo int64, n int) int {
	b := floorDiv(second, width) - lo
	return int(min(max(b, 0), int64(n-1)))
}

// stretches are the times of the runs of a sample whose times are known.
func (s *Sample) stretches() []stretch {
	runs := make([]stretch, s.runs)
	seen := make([]bool, s.runs)
	for i, sec := range s.sec {
		r := s.runOf(i)
		if !seen[r] {
			runs[r], seen[r] = stretch{sec, sec + 1}, true
			continue
		}
		runs[r].first = min(runs[r].first, sec)
		runs[r].end = max(runs[r].end, sec+1)
	}
	return runs
}

// timed reports whether times are known and enough for blocks: minShort seconds and minTimed requests.
func (s *Sample) timed() bool { return s.span() >= minShort && len(s.x) >= minTimed }

// span is the seconds that the runs cover; 0 if times are not known.
func (s *Sample) span() int64 {
	if s.sec == nil {
		return 0
	}
	sum := int64(0)
	for _, r := range s.stretches() {
		sum += r.end - r.first
	}
	return sum
}

// A timeline is the weight of a sample by second and by the highest of some thresholds that a request is above.
type timeline struct {
	runs   []stretch
	cell   int64 // width of a cell in seconds, a power of two; 1 but for very long windows
	levels int   // thresholds + 1

	// weight[r] holds, for each cell of run r, the weight by level; level k is above k thresholds.
	weight [][]float64
	origin []int64 // the first cell of each run
}

// newTimeline lays a timed sample out over time. Thresholds ascend.
func newTimeline(s *Sample, thresholds []float64) *timeline {
	t := &timeline{runs: s.stretches(), cell: 1, levels: len(thresholds) + 1}
	span := int64(0)
	for _, r := range t.runs {
		span += r.end - r.first
	}
	for span/t.cell > maxCells {
		t.cell *= 2
	}
	for _, r := range t.runs {
		first := floorDiv(r.first, t.cell)
		cells := floorDiv(r.end-1, t.cell) - first + 1
		t.origin = append(t.origin, first)
		t.weight = append(t.weight, make([]float64, int(cells)*t.levels))
	}
	level := 0
	for i, x := range s.x {
		for level < len(thresholds) && x > thresholds[level] {
			level++
		}
		r := s.runOf(i)
		cell := floorDiv(s.sec[i], t.cell) - t.origin[r]
		t.weight[r][int(cell)*t.levels+level] += s.w[i]
	}
	return t
}

// blocks are the sums of a timeline over the blocks of one width.
type blocks struct {
	n      int
	starts []int // the first block of each run
	total  float64
	mass   []float64   // m_b, the weight in each block
	above  [][]float64 // e_b, the weight above each threshold
}

// blocks sums the cells into blocks of a width, which is a multiple of the cell.
func (t *timeline) blocks(width int64) *blocks {
	b := &blocks{above: make([][]float64, t.levels-1)}
	counts := make([]int, len(t.runs))
	for r, run := range t.runs {
		_, counts[r] = run.cut(width)
		b.starts = append(b.starts, b.n)
		b.n += counts[r]
	}
	b.mass = make([]float64, b.n)
	for k := range b.above {
		b.above[k] = make([]float64, b.n)
	}
	for r, run := range t.runs {
		lo, n := run.cut(width)
		for c := range len(t.weight[r]) / t.levels {
			i := b.starts[r] + blockOf((t.origin[r]+int64(c))*t.cell, width, lo, n)
			sum := 0.0
			for level := t.levels - 1; level >= 0; level-- {
				sum += t.weight[r][c*t.levels+level]
				if level > 0 {
					b.above[level-1][i] += sum
				}
			}
			b.mass[i] += sum
		}
	}
	for _, m := range b.mass {
		b.total += m
	}
	return b
}

// variance is the variance of the share above threshold k, by the residuals r_b = e_b − p·m_b of the blocks, and
// their lag-1 correlation within runs.
func (b *blocks) variance(k int) (v, rho float64) {
	e := b.above[k]
	sum := 0.0
	for _, x := range e {
		sum += x
	}
	p := sum / b.total
	var squares, products, before float64
	next := 0 // run that begins next
	for i, m := range b.mass {
		r := e[i] - p*m
		squares += r * r
		if next < len(b.starts) && i == b.starts[next] {
			next++
		} else {
			products += r * before
		}
		before = r
	}
	n := float64(b.n)
	if n < 2 {
		return 0, 0
	}
	v = n / (n - 1) * squares / (b.total * b.total)
	if squares > 0 {
		rho = products / squares
	}
	return v, rho
}

// inflation is the factor (1+ρ)/(1−ρ) of the variance of a mean of blocks with lag-1 correlation ρ. The estimate
// is corrected for its bias, (1+3ρ)/B, and held in 0..0.8. inverse is the mean of 1/B over the sides.
func inflation(rho, inverse float64) float64 {
	rho += (1 + 3*rho) * inverse
	rho = min(max(rho, 0), 0.8)
	return (1 + rho) / (1 - rho)
}

// inflationOf is the inflation of the mean of n blocks alone, where that of many is f: one block has no neighbour, and
// the blocks at the ends have one.
func inflationOf(f float64, n int) float64 {
	rho := (f - 1) / (f + 1)
	sum, power := 1.0, 1.0
	for k := 1; k < n && power > 1e-9; k++ {
		power *= rho
		sum += 2 * (1 - float64(k)/float64(n)) * power
	}
	return sum
}

// widths are the dyadic widths from cell on that leave minBlocks blocks and are not longer than every run; the
// narrowest if none does.
func widths(runs []stretch, cell int64) []int64 {
	longest := int64(0)
	for _, r := range runs {
		longest = max(longest, r.end-r.first)
	}
	var ws []int64
	for w := cell; w <= longest; w *= 2 {
		sum := 0
		for _, r := range runs {
			_, n := r.cut(w)
			sum += n
		}
		// Edges move with the width, so a wider one may leave enough blocks where a narrower did not: stop at the first.
		if sum < minBlocks && w > cell {
			break
		}
		ws = append(ws, w)
	}
	return ws
}

// bothWidths are the widths of two sides: those that leave minBlocks blocks on both, of which alone is the widest, and,
// where one side is less than half as long as the other, those that leave so many of the longer and one of the shorter.
func bothWidths(a, b []stretch, cell int64) (ws []int64, alone int64) {
	wa, wb := widths(a, cell), widths(b, cell)
	if len(wa) == 0 || len(wb) == 0 {
		return nil, 0
	}
	both, long := wa, wb
	if len(wb) < len(wa) {
		both, long = wb, wa
	}
	ws, alone = both, both[len(both)-1]
	short, longer := length(a), length(b)
	if short > longer {
		short, longer = longer, short
	}
	if 2*short >= longer {
		return ws, alone
	}
	for _, w := range long[len(both):] {
		if w <= short {
			ws = append(ws[:len(ws):len(ws)], w)
		}
	}
	return ws, alone
}

// length is the seconds that runs cover.
func length(runs []stretch) (sum int64) {
	for _, r := range runs {
		sum += r.end - r.first
	}
	return sum
}

// cutRuns gives each request in sorted order its block of a width, the first block of each run and the number of
// blocks.
func (s *Sample) cutRuns(width int64, runs []stretch) (block []int32, starts []int, n int) {
	starts = make([]int, len(runs))
	los := make([]int64, len(runs))
	counts := make([]int, len(runs))
	for r, run := range runs {
		starts[r] = n
		los[r], counts[r] = run.cut(width)
		n += counts[r]
	}
	block = make([]int32, len(s.sec))
	for i, sec := range s.sec {
		r := s.runOf(i)
		block[i] = int32(starts[r] + blockOf(sec, width, los[r], counts[r]))
	}
	return block, starts, n
}
