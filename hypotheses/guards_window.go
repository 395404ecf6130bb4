package hypotheses

import (
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// warmParts is into how many parts of equal length the window is cut.
	warmParts = 16
	// warmMax is how many of them, from the first, a warm-up may last: what is
	// longer is no beginning.
	warmMax = 5
	// warmRatio is how much more often than in the later parts the slow quarter of
	// requests must occur in the first.
	warmRatio = 2
	// warmPart is the least number of requests in the beginning.
	warmPart = 20
)

// A beginning is a run's first part that was slower than the rest.
type beginning struct {
	until   int64 // ns since the epoch
	of      float64
	share   float64 // of its requests beyond the rest's 90th percentile
	settled float64
	lasts   int64 // ns
}

// slowBeginning finds a beginning that is slow and then settles.
func slowBeginning(run []*summary.Request) (best beginning, ok bool) {
	if len(run) < 4*warmPart {
		return best, false
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, q := range run {
		first, last = min(first, int64(q.Start())), max(last, int64(q.Start()))
	}
	width := (last - first) / warmParts
	if width <= 0 {
		return best, false
	}
	parts := make([][]int64, warmParts)
	for _, q := range run {
		k := min(warmParts-1, int((int64(q.Start())-first)/width))
		parts[k] = append(parts[k], q.Duration())
	}
	// Slow: beyond the 90th percentile of the second half, where it has settled.
	var later []int64
	for _, p := range parts[warmParts/2:] {
		later = append(later, p...)
	}
	if len(later) < 2*warmPart {
		return best, false
	}
	slices.Sort(later)
	slow := later[len(later)*9/10]
	share := make([]float64, warmParts)
	count := make([]int, warmParts)
	for k, p := range parts {
		for _, ns := range p {
			if ns > slow {
				count[k]++
			}
		}
		share[k] = float64(count[k]) / float64(max(1, len(p)))
	}
	// Load comes in waves: the beginning has to stand out of every later part and
	// out of how much these differ among themselves.
	settledMax, n, sum, squares := 0.0, 0.0, 0.0, 0.0
	for k := warmMax + 1; k < warmParts; k++ {
		if len(parts[k]) == 0 {
			continue
		}
		settledMax = max(settledMax, share[k])
		n, sum, squares = n+1, sum+share[k], squares+share[k]*share[k]
	}
	if n < 2 {
		return best, false
	}
	mean := sum / n
	sd := math.Sqrt(max(0, squares/n-mean*mean))
	lengths, slows := 0, 0
	for k := 0; k < warmMax; k++ {
		lengths, slows = lengths+len(parts[k]), slows+count[k]
		if lengths < warmPart {
			continue
		}
		s := float64(slows) / float64(lengths)
		// The chance of so many in so few.
		z := (s - mean) / math.Sqrt(mean*(1-mean)/float64(lengths)+sd*sd)
		if s < warmRatio*mean+0.1 || s < warmRatio*settledMax || z < 5 {
			break
		}
		if share[k] < (s+mean)/2 && k > 0 { // it has settled by now
			break
		}
		best = beginning{until: first + int64(k+1)*width, lasts: int64(k+1) * width, of: float64(k+1) / warmParts, share: s, settled: mean}
		ok = true
	}
	return best, ok
}

// recurs reports whether a run has, after its own beginning, a stretch as long as
// another's beginning in which nearly as many of the requests are slow, by what is
// slow in that run: then such stretches come and go, and one of them was at the
// beginning by chance. The run is sorted by start.
func (b *beginning) recurs(run []*summary.Request) bool {
	if len(run) < 4*warmPart {
		return false
	}
	later := make([]int64, 0, len(run))
	for _, q := range run[len(run)/2:] {
		later = append(later, q.Duration())
	}
	slices.Sort(later)
	slow := later[len(later)*9/10]
	isSlow := func(q *summary.Request) float64 { return float64(boolRank(q.Duration() > slow)) }
	from, slows := 0, 0.0
	began := int64(run[0].Start())
	for to, q := range run {
		slows += isSlow(q)
		for int64(q.Start())-int64(run[from].Start()) > b.lasts {
			slows -= isSlow(run[from])
			from++
		}
		n := to - from + 1
		if int64(run[from].Start())-began > b.lasts && n >= warmPart && slows/float64(n) >= (b.share+b.settled)/2 {
			return true
		}
	}
	return false
}

// warmUpGuard: does a run begin slow and then settle?
func (c *Comparison) warmUpGuard() Guard {
	type key struct {
		side int
		run  int32
	}
	starts := map[key]int64{}
	var found beginning
	side := -1
	var runs [2]map[int32][]*summary.Request
	for i, s := range c.Sides {
		runs[i] = map[int32][]*summary.Request{}
		for _, q := range s.Counted {
			if q.Outcome == population.Completed || q.Outcome == population.TimedOut {
				runs[i][q.Run] = append(runs[i][q.Run], q)
			}
		}
		for r, run := range runs[i] {
			sorted := make([]*summary.Request, len(run))
			for k, x := range radix.Order(len(run), func(k int) int64 { return int64(run[k].Start()) }) {
				sorted[k] = run[x.Place]
			}
			runs[i][r] = sorted
		}
	}
	var begins [2]bool
	for i, s := range c.Sides {
		for r := int32(0); int(r) < s.Set.Runs; r++ {
			b, ok := slowBeginning(runs[i][r])
			for j := range runs {
				for k := int32(0); ok && int(k) < c.Sides[j].Set.Runs; k++ {
					ok = !b.recurs(runs[j][k])
				}
			}
			if ok && !c.otherKinds(i, r, b.until) {
				begins[i] = true
				starts[key{i, r}] = b.until
				if side < 0 || b.share > found.share {
					found, side = b, i
				}
			}
		}
	}
	if side < 0 {
		return guard(GuardWarmUp, GuardOK, "no run begins slower than it goes on")
	}
	g := guard(GuardWarmUp, GuardWarn, "the first %.0f %% of the %s run are slow and then it settles: %s of the requests are beyond what is the slowest tenth later", 100*found.of, sideName(side), prose.Percent(found.share))
	r, ok := c.without(func(i int, q *summary.Request) bool {
		until, warm := starts[key{i, q.Run}]
		return warm && int64(q.Start()) < until
	})
	if ok && (r.undone || r.shown) {
		g.Status, g.Incomparable, g.Explains = GuardFail, true, r.explains
		g.Detail += fmt.Sprintf("; without that part the change of p%g is smaller by %s, and the verdict is another", 100*c.Options.Quantile, prose.Ns(r.explains))
	} else if ok && r.most && begins[0] && begins[1] {
		g.Detail += fmt.Sprintf("; both sides begin so, and without that part the change of p%g is smaller by %s", 100*c.Options.Quantile, prose.Ns(r.explains))
	} else if ok && r.most {
		g.Status, g.Explains = GuardFail, r.explains
		g.Detail += fmt.Sprintf("; without that part the change of p%g is smaller by %s, which is most of it", 100*c.Options.Quantile, prose.Ns(r.explains))
	} else if ok {
		g.Detail += fmt.Sprintf("; without that part the change of p%g is smaller by %s, and the verdict is the same", 100*c.Options.Quantile, prose.Ns(r.explains))
		g.Explains = r.explains
	}
	g.check = Check{Question: "without the beginning of the run, is the verdict the same?", Rival: "a change that lasts", IfThis: "no: what came later is as it was", IfRival: "yes", Ran: ok,
		Outcome: map[bool]string{true: "it is not", false: "it is"}[r.undone || r.shown]}
	return g
}

const (
	// minOther is by how many points the kinds of requests of a beginning must
	// differ from the later ones', and otherChance how many times what chance gives.
	minOther, otherChance = 0.1, 4
)

// otherKinds reports whether the requests of a run that began before a time are of
// other kinds than the later ones, by some attribute: then it is these that are
// slow, and not the beginning.
func (c *Comparison) otherKinds(side int, run int32, until int64) bool {
	for _, a := range c.Attributes() {
		if key := c.Reading.Dict.String(a.Key); Consequence(key) || Deployed(key) {
			continue
		}
		early, later := make([]float64, len(a.Values)+1), make([]float64, len(a.Values)+1)
		var n, m float64
		for j, q := range c.Sides[side].Counted {
			v := a.of[side][j] + 1 // 0: without the key
			switch {
			case q.Run != run:
			case int64(q.Start()) < until:
				early[v], n = early[v]+1, n+1
			default:
				later[v], m = later[v]+1, m+1
			}
		}
		if n == 0 || m == 0 {
			continue
		}
		var distance, chance float64
		for v := range early {
			distance += math.Abs(early[v]/n-later[v]/m) / 2
			p := (early[v] + later[v]) / (n + m)
			chance += 0.4 * math.Sqrt(p*(1-p)*(1/n+1/m)) // half the mean of |normal|
		}
		if distance > minOther && distance > otherChance*chance {
			return true
		}
	}
	return false
}

// maxLonger is how much longer than the other one side's window may be before it
// is told: waves of load that one window holds whole the other sees in part.
const maxLonger = 4

// windowGuard passes on what the test says of the window, and adds what it
// cannot know.
func (c *Comparison) windowGuard() Guard {
	type identity struct {
		id              trace.TraceID
		start, duration int64
	}
	of := func(q *summary.Request) identity { return identity{q.TraceID, int64(q.Start()), q.Duration()} }
	seen := map[identity]bool{}
	for _, q := range c.Sides[0].Counted {
		seen[of(q)] = true
	}
	both := 0
	for _, q := range c.Sides[1].Counted {
		if seen[of(q)] {
			both++
		}
	}
	if both > 0 {
		return guard(GuardWindow, GuardWarn, "%d requests are in both sides: a set is compared with itself in part", both)
	}
	if c.Verdict.Outcome == stats.CannotTell {
		if s, ok := c.findLevels(); ok {
			return guard(GuardWindow, GuardWarn, "%s", s.said(c))
		}
	}
	for _, w := range c.Test.Warnings {
		if w.Guard == GuardWindow && w.Status != string(GuardOK) {
			return guard(GuardWindow, GuardStatus(w.Status), "%s", w.Detail)
		}
	}
	length := func(s *Side) float64 {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, q := range s.Counted {
			first, last = min(first, int64(q.Start())), max(last, int64(q.Start()))
		}
		return float64(last-first) / 1e9
	}
	a, b := length(c.Sides[0]), length(c.Sides[1])
	if max(a, b) > maxLonger*max(1, min(a, b)) {
		return guard(GuardWindow, GuardWarn, "the baseline lasts %.3g s and the current side %.3g s: slow waves of load are in one and not in the other", a, b)
	}
	return guard(GuardWindow, GuardOK, "%.3g s and %.3g s, %s", a, b, c.Test.Method)
}
