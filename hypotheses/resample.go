package hypotheses

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/stats"
)

// resamples is how often a replay's effect is resampled for its interval.
const resamples = 200

// effect is how much of the target quantile a replay takes away, with its
// interval: blocks of time are resampled, the requests and their replays
// together. w and replayedW are the requests' weights before and after.
func (a *Asking) effect(replayed []int64, w, replayedW []float64) (ns, lo, hi float64) {
	return a.effectAt(a.Options.Quantile, replayed, w, replayedW)
}

// effectAt is the effect on another quantile.
func (a *Asking) effectAt(quantile float64, replayed []int64, w, replayedW []float64) (ns, lo, hi float64) {
	ns = float64(a.recordedAt(quantile, w) - stats.Quantile(replayed, replayedW, quantile))
	if a.ranked == nil {
		a.ranked = ranked(a.latency)
	}
	was, is := a.resampled(quantile, a.latency, a.ranked, w), a.resampled(quantile, replayed, ranked(replayed), replayedW)
	count := make([]float64, a.nblocks)
	rng := uint64(len(a.plans))*0x9e3779b97f4a7c15 + 1 + a.Options.Seed*0xd1342543de82ef95
	if rng == 0 {
		rng = 1 // where xorshift would stay
	}
	effects := make([]float64, resamples)
	for b := range effects {
		clear(count)
		for range a.nblocks {
			rng ^= rng << 13
			rng ^= rng >> 7
			rng ^= rng << 17
			count[rng%uint64(a.nblocks)]++
		}
		effects[b] = was.at(count) - is.at(count)
	}
	slices.Sort(effects)
	return ns, effects[resamples*25/1000], effects[resamples*975/1000-1]
}

// recordedAt is a quantile of the recorded latencies under weights: the same is asked of finding after finding.
func (a *Asking) recordedAt(quantile float64, w []float64) int64 {
	k := &a.recorded
	if k.w == nil || k.quantile != quantile || len(w) == 0 || k.w != &w[0] {
		*k = recorded{quantile: quantile, ns: stats.Quantile(a.latency, w, quantile)}
		if len(w) > 0 {
			k.w = &w[0]
		}
	}
	return k.ns
}

// A recorded is a quantile that was asked for, under the weights that begin at w.
type recorded struct {
	quantile float64
	w        *float64
	ns       int64
}

// An effects does one thing after the other while its caller goes on: finds what one
// replay takes away while the next is made.
type effects struct {
	next chan func()
	done chan struct{}
}

func (a *Asking) effects() *effects {
	if a.ranked == nil {
		a.ranked = ranked(a.latency) // which all read
	}
	e := &effects{make(chan func(), 1), make(chan struct{})}
	go func() {
		for f := range e.next {
			f()
		}
		close(e.done)
	}()
	return e
}

// do has f done. It may read what the caller reads, and change what only f knows.
func (e *effects) do(f func()) { e.next <- f }

// wait returns when all is done.
func (e *effects) wait() {
	close(e.next)
	<-e.done
}

// ranked is the places of values, the least value first.
func ranked(v []int64) []int32 {
	idx := make([]int32, len(v))
	for i, k := range radix.Order(len(v), func(i int) int64 { return v[i] }) {
		idx[i] = k.Place
	}
	return idx
}

// A resampled is latencies with their weights, of which whole blocks are drawn.
type resampled struct {
	q       float64
	ns      []int64
	ranked  []int32
	w       []float64
	blockOf []int32

	blocks []float64 // the weight of each block
	exact  bool      // no sum of weights depends on the order of its terms
}

func (a *Asking) resampled(q float64, ns []int64, ranked []int32, w []float64) *resampled {
	r := &resampled{q, ns, ranked, w, a.blocks, make([]float64, a.nblocks), true}
	total := 0.0
	for j, x := range w {
		units := x * graph.OneRequest
		r.exact = r.exact && units == math.Trunc(units)
		total += x
		r.blocks[r.blockOf[j]] += x
	}
	// Sums of whole units are exact up to 2^53, however often blocks are drawn.
	r.exact = r.exact && total*float64(a.nblocks) < 1<<53/graph.OneRequest
	return r
}

// at is the quantile where each block was drawn so often.
func (r *resampled) at(count []float64) float64 {
	if len(r.ns) == 0 {
		return 0
	}
	// From the far end: above a high quantile there are few.
	total := 0.0
	for b, n := range count {
		total += r.blocks[b] * n
	}
	// What n terms sum up to in another order is off by n roundings at most, of the sum
	// and of what it is compared with.
	off := 0.0
	if !r.exact {
		off = 8 * float64(len(r.ns)+len(count)) * 0x1p-53 * total
	}
	k, sum, before := len(r.ranked)-1, total, total
	for ; k > 0; k-- {
		j := r.ranked[k]
		if before = sum - r.w[j]*count[r.blockOf[j]]; before < r.q*total {
			break
		}
		sum = before
	}
	if off > 0 && (k == 0 || sum < r.q*total+off || before >= r.q*total-off) {
		return r.inOrder(count)
	}
	return float64(r.ns[r.ranked[k]])
}

// inOrder is at, term by term.
func (r *resampled) inOrder(count []float64) float64 {
	var total, sum float64
	for j := range r.ns {
		total += r.w[j] * count[r.blockOf[j]]
	}
	for _, j := range r.ranked {
		if sum += r.w[j] * count[r.blockOf[j]]; sum >= r.q*total {
			return float64(r.ns[j])
		}
	}
	return 0
}
