package stats

import (
	"math/bits"
	"math/rand/v2"
	"sync"
)

const (
	// resamples is the number of resamples of blocks; at 1,000 the 2.5 % point is the 25th, known to ±5.
	resamples = 1000

	// pseudoBlocks is the number of blocks that requests without times are dealt into; 32 make t_.975 only 4 %
	// wider than the normal and cost no more than blocks of time.
	pseudoBlocks = 32
)

// A plan is how a sample is resampled: whole blocks of time, or, where times are not known, of requests dealt out
// by lot.
type plan struct {
	timed bool
	width int64   // of a block in seconds
	block []int32 // of each request in sorted order
	n     int
	// starts is the first block of each run; mass is the weight of each block.
	starts []int
	mass   []float64
	cols   *columns

	// counts[role] holds the number of times that each block is drawn, resample by resample. The two sides of a
	// pair must not draw alike, so each role has a generator of its own.
	counts [2]func() []float64
}

func newPlan(s *Sample) *plan {
	p := &plan{timed: s.timed()}
	if p.timed {
		runs := s.stretches()
		cell := int64(1)
		for (s.span() / cell) > maxCells {
			cell *= 2
		}
		ws := widths(runs, cell)
		p.width = ws[len(ws)-1]
		p.block, p.starts, p.n = s.cutRuns(p.width, runs)
	} else {
		p.block, p.n = s.deal()
	}
	p.mass = make([]float64, p.n)
	for i, b := range p.block {
		p.mass[b] += s.w[i]
	}
	p.cols = newColumns(s.x, s.w, p.block, p.n)
	for role := range p.counts {
		p.counts[role] = sync.OnceValue(func() []float64 {
			return drawBlocks(p.n, newGenerator(uint64(len(s.x)), uint64(p.n), uint64(role), s.seed))
		})
	}
	return p
}

// deal puts requests into equally large blocks by lot.
func (s *Sample) deal() (block []int32, n int) {
	n = min(len(s.x), pseudoBlocks)
	if len(s.x) <= 2*pseudoBlocks {
		n = len(s.x) // so few that each can be its own
	}
	block = make([]int32, len(s.x))
	for i := range block {
		block[i] = int32(i % n)
	}
	g := newGenerator(uint64(len(s.x)), uint64(n), 2, s.seed)
	for i := len(block) - 1; i > 0; i-- {
		j := below(g, i+1)
		block[i], block[j] = block[j], block[i]
	}
	return block, n
}

// newGenerator is a generator whose numbers depend on the arguments alone.
func newGenerator(a, b, c, seed uint64) *rand.PCG {
	return rand.NewPCG(a*0x9e3779b97f4a7c15+b, c+0x2545f4914f6cdd1d+seed*0xd1342543de82ef95)
}

// below is a number in 0..n−1. It is spelled out so that results do not move with the library's own reduction.
func below(g *rand.PCG, n int) int {
	hi, _ := bits.Mul64(g.Uint64(), uint64(n))
	return int(hi)
}

// drawBlocks draws n blocks with replacement, resamples times.
func drawBlocks(n int, g *rand.PCG) []float64 {
	counts := make([]float64, resamples*n)
	for r := range resamples {
		row := counts[r*n:][:n]
		for range n {
			row[below(g, n)]++
		}
	}
	return counts
}

// quantiles are the point quantiles q of all resamples. A resample without any weight, possible where most blocks
// are empty, gives the sample's own.
func (s *Sample) quantiles(role int, q float64) []float64 {
	p := s.plan()
	counts := p.counts[role]()
	values := make([]float64, resamples)
	for r := range values {
		i := p.cols.place(q, counts[r*p.n:][:p.n])
		if i < 0 {
			i = s.place(q)
		}
		values[r] = s.x[i]
	}
	return values
}
