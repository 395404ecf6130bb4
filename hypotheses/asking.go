package hypotheses

import (
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

// A PartKey is one of a node's own stretches of time, the same in all requests:
// the lead to a call (of its slot), or the rest of a half.
type PartKey struct {
	Slot   graph.SlotID
	Client bool
	Leave  bool
}

// An Asking is a comparison of two sides prepared for replays: the plans of the
// current requests, and how long each stretch took on both sides.
type Asking struct {
	*Comparison
	plans        []*graph.Plan // of the current side's counted requests
	wasPlans     []*graph.Plan // of the baseline's
	latency      []int64
	ranked       []int32   // those requests by latency, once asked for
	keys         []uint64  // of each of those requests
	weights      []float64 // of those requests; a change of mix that was accepted is taken out of them
	parts        [2]map[PartKey]*part
	maps         [][4]*stats.RankMap // by slot and kind, once asked for
	blocks       []int32             // of each request, for resampling
	nblocks      int
	slots        [2]map[graph.SlotID][]graph.SlotID // relative → absolute
	attributes   []*Attribute
	mixSplit     *MixSplit // by the attribute of a change of mix
	mixWithin    *within   // and among the requests with its value
	untold       []string  // changes of mix of which too few requests tell
	owned        [2][]ownCall
	crowdedNodes map[graph.SlotID]*crowding // once asked for
	declared     []*declared
	sayings      [2][]saying
	inWait       [2]map[[2]int32]int64       // by request and step: the time in it that spans call a wait
	totals       [2]map[graph.SlotID]callsOf // once asked for
	found        []*queue
	still        []*standstill
	turned       []*turning
	called       []*target
	internal     []*target
	changed      []count   // of those, the ones that are called more or less often
	calls        [2]bySlot // calls by relative slot, once asked for
	steps        [2]bySlot // steps by the relative slot whose work they are, once asked for
	recorded     recorded
	plain        []int64 // latencies of a replay of nothing, once asked for
	clipped      float64 // share of requests that a replay of nothing does not give back to the nanosecond
}

// A part is the lengths of one stretch on one side.
type part struct {
	ns    []int64
	w     []float64
	known []quantileOf // asked for, while the part had so many lengths
}

type quantileOf struct {
	q  float64
	n  int
	ns float64
}

// NewAsking prepares the replays of a comparison of two sides.
func NewAsking(c *Comparison) *Asking {
	a := &Asking{Comparison: c}
	for i := range c.Sides { // the baseline is nil of a single data set, replayed
		a.parts[i] = map[PartKey]*part{}
		a.slots[i] = map[graph.SlotID][]graph.SlotID{}
	}
	c.sides(func(i int, s *Side) {
		w := graph.Walker{Dict: c.Reading.Dict, Verdicts: s.Set.Calibration.Verdicts}
		clipped := 0
		var e graph.Evaluator
		var values []int64
		seen := make([]bool, c.Reading.Dict.Slots()) // slots of which relative ones are known: of an entry endpoint, themselves
		for _, q := range s.Counted {
			p := w.Plan(q.Record, nil)
			if p.Clipped { // what was cut off often lies beside the path
				if values = p.Values(values); e.Latency(p, values, nil) != q.Duration() {
					clipped++
				}
			}
			weight := float64(q.Weight) / graph.OneRequest
			for k := range q.Calls {
				abs := q.Calls[k].Slot
				if !c.Endpoint.Inner {
					if seen[abs] {
						continue
					}
					seen[abs] = true
				}
				rel := c.Relative(q, abs)
				if !slices.Contains(a.slots[i][rel], abs) {
					a.slots[i][rel] = append(a.slots[i][rel], abs)
				}
			}
			if i == summary.Baseline {
				a.wasPlans = append(a.wasPlans, p)
			} else {
				a.plans = append(a.plans, p)
				a.latency = append(a.latency, q.Duration())
				a.keys = append(a.keys, Key(q.Record))
				a.weights = append(a.weights, weight)
			}
		}
		if i == summary.Current {
			a.clipped = float64(clipped) / float64(len(s.Counted))
		}
	})
	a.waitsIn()
	c.sides(func(i int, s *Side) {
		var table [][4]*part // parts by slot and kind of step
		for j, q := range s.Counted {
			p := a.planOf(i, j)
			weight := float64(q.Weight) / graph.OneRequest
			for k := range p.Steps {
				st := &p.Steps[k]
				key := a.key(q, st)
				if int(key.Slot) >= len(table) {
					table = append(table, make([][4]*part, int(key.Slot)+1-len(table))...)
				}
				at := &table[key.Slot][key.kind()]
				if *at == nil {
					*at = &part{}
					a.parts[i][key] = *at
				}
				(*at).ns, (*at).w = append((*at).ns, a.working(i, j, k, st.NS)), append((*at).w, weight)
			}
		}
	})
	a.block()
	return a
}

// planOf is the plan of a side's j-th counted request.
func (a *Asking) planOf(side, j int) *graph.Plan {
	if side == summary.Baseline {
		return a.wasPlans[j]
	}
	return a.plans[j]
}

// kind numbers the parts of one slot.
func (k PartKey) kind() int {
	n := 0
	if k.Client {
		n = 1
	}
	if k.Leave {
		n += 2
	}
	return n
}

// key is the part that a step is.
func (a *Asking) key(q *summary.Request, s *graph.Step) PartKey {
	return PartKey{a.Relative(q, q.Calls[s.Call()].Slot), s.Client(), s.Leave}
}

func (a *Asking) cur() *Side  { return a.Sides[summary.Current] }
func (a *Asking) base() *Side { return a.Sides[summary.Baseline] }

// request is the j-th current request.
func (a *Asking) request(j int) *summary.Request { return a.cur().Counted[j] }

// block assigns requests to blocks of time for resampling: whole seconds,
// coarsened to at most 64.
func (a *Asking) block() {
	var first, last int64 = math.MaxInt64, math.MinInt64
	for j := range a.plans {
		s := floorSecond(int64(a.request(j).Start()))
		first, last = min(first, s), max(last, s)
	}
	if len(a.plans) == 0 {
		return
	}
	width := int64(1)
	for (last-first)/width >= 64 {
		width *= 2
	}
	if last-first < 8 { // too short for blocks: requests by themselves
		a.nblocks = len(a.plans)
		for j := range a.plans {
			a.blocks = append(a.blocks, int32(j))
		}
		return
	}
	for j := range a.plans {
		a.blocks = append(a.blocks, int32((floorSecond(int64(a.request(j).Start()))-first)/width))
	}
	a.nblocks = int((last-first)/width) + 1
}

// back is x as it was: the baseline's value of the same rank. tie spreads equal
// values over their ranks.
func (a *Asking) back(k PartKey, x int64, tie float64) int64 {
	if int(k.Slot) >= len(a.maps) {
		a.maps = append(a.maps, make([][4]*stats.RankMap, int(k.Slot)+1-len(a.maps))...)
	}
	m := &a.maps[k.Slot][k.kind()]
	if *m == nil {
		x := rankMap(a.parts[summary.Current][k], a.parts[summary.Baseline][k])
		*m = &x
	}
	return (*m).At(x, tie)
}

// rankMap maps values of from to those of the same rank in to; it changes
// nothing where one of them has none.
func rankMap(from, to *part) stats.RankMap {
	sample := func(p *part) *stats.Sample {
		if p == nil {
			p = &part{}
		}
		ns := make([]int64, len(p.ns))
		for i, x := range p.ns {
			ns[i] = max(x, 0)
		}
		s, err := stats.NewSample(stats.Requests{Latency: ns, Weight: p.w})
		if err != nil {
			panic(err) // lengths are not negative and weights are above zero
		}
		return s
	}
	return stats.NewRankMap(sample(from), sample(to))
}

// tie is a number in [0, 1) that a step of a request always has.
func (a *Asking) tie(j, step int) float64 {
	h := a.keys[j] + uint64(step)*0x9e3779b97f4a7c15
	h ^= h >> 31
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 29
	return float64(h>>11) / (1 << 53)
}

// replay is the latencies of the current requests with factors put back.
func (a *Asking) replay(factors ...Factor) []int64 {
	out := make([]int64, len(a.plans))
	var e graph.Evaluator
	var values []int64
	for j, p := range a.plans {
		values = p.Values(values)
		for _, f := range factors {
			f(j, p, values)
		}
		out[j] = a.replayed(&e, j, values)
	}
	return out
}

// reweigh counts the current requests with other weights.
func (a *Asking) reweigh(w []float64) { a.weights, a.called, a.changed = w, nil, nil }

// quantile is the target quantile of latencies under weights.
func (a *Asking) quantile(ns []int64, w []float64) float64 {
	return float64(stats.Quantile(ns, w, a.Options.Quantile))
}

// owner is the verdict on the wait before call i of a request, at a site.
func (a *Asking) owner(q *summary.Request, call int32, site queuewait.Site) *queuewait.Verdict {
	return a.cur().Set.Calibration.Owners.Of(&q.Calls[call], site)
}

// str is a text of the reading.
func (a *Asking) slot(s graph.SlotID) *graph.Slot { return a.Reading.Dict.SlotAt(s) }

// names are a slot as a component: who calls, who is called, what.
func (a *Asking) names(slot graph.SlotID) (caller, peer, operation string) {
	d, s := a.Reading.Dict, a.slot(slot)
	shown := s.Shown()
	caller, operation = d.String(s.Caller.Service), d.String(shown.Operation)
	switch {
	case s.Caller.Service == 0:
		caller = d.String(s.Callee.Service)
	case s.Callee.Service != 0:
		peer = d.String(s.Callee.Service)
	default:
		peer = d.String(s.Peer)
	}
	return caller, peer, operation
}

// mean and quantile of a part, in ns.
func (p *part) mean() float64 {
	if p == nil || len(p.ns) == 0 {
		return 0
	}
	var sum, w float64
	for i, x := range p.ns {
		sum += float64(x) * p.w[i]
		w += p.w[i]
	}
	return sum / w
}

func (p *part) at(q float64) float64 {
	if p == nil || len(p.ns) == 0 {
		return 0
	}
	for _, x := range p.known {
		if x.q == q && x.n == len(p.ns) {
			return x.ns
		}
	}
	x := quantileOf{q, len(p.ns), float64(stats.Quantile(p.ns, p.w, q))}
	p.known = append(p.known, x)
	return x.ns
}
