package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// minPlacement is how many points of a service's calls must have moved
	// between its instances to be told.
	minPlacement = 0.15
	// minPlaced is the least number of a service's calls on each side for that.
	minPlaced = 50
)

// placementGuard: are the calls of each service spread over its instances as they
// were? A concentration is a true cause; the guard says only that the instances
// of both sides do not do the same.
func (c *Comparison) placementGuard() Guard {
	d := c.Reading.Dict
	type counts map[trace.StringID]float64
	by := map[trace.StringID]*[2]counts{}
	for i, s := range c.Sides {
		for _, q := range s.Counted {
			for k := range q.Calls {
				call := &q.Calls[k]
				if !call.Work.Seen() || !call.Client.Seen() && k > 0 {
					continue
				}
				p := d.ProcAt(call.Work.Proc)
				if p.Instance == 0 {
					continue
				}
				x := by[p.Service]
				if x == nil {
					x = &[2]counts{{}, {}}
					by[p.Service] = x
				}
				x[i][p.Instance]++
			}
		}
	}
	var worst trace.StringID
	var most float64
	var was, is []float64
	for _, service := range sortedNames(d, by) {
		x := by[service]
		a, b := spread(x[0], x[1])
		n := [2]float64{total(x[0]), total(x[1])}
		if min(n[0], n[1]) < minPlaced || max(len(x[0]), len(x[1])) < 2 {
			continue
		}
		var tv, chance float64
		for k := range a {
			tv += math.Abs(a[k]-b[k]) / 2
			p := (a[k]*n[0] + b[k]*n[1]) / (n[0] + n[1])
			chance += math.Sqrt(p*(1-p)*(1/n[0]+1/n[1])) * 0.4 // half the mean of |normal|
		}
		if tv > minPlacement && tv > 4*chance && tv > most {
			worst, most, was, is = service, tv, a, b
		}
	}
	if most == 0 {
		return guard(GuardPlacement, GuardOK, "calls are spread over the instances of each service as they were, within %s", prose.Percent(minPlacement))
	}
	x := by[worst]
	return guard(GuardPlacement, GuardWarn, "%s of the calls of %s are served by other instances: the busiest of %d served %s, of %d now %s", prose.Percent(most), d.String(worst),
		len(x[0]), prose.Percent(slices.Max(was)), len(x[1]), prose.Percent(slices.Max(is)))
}

func total(m map[trace.StringID]float64) (sum float64) {
	for _, n := range m {
		sum += n
	}
	return sum
}

func sortedNames[V any](d *graph.Dict, m map[trace.StringID]V) []trace.StringID {
	var out []trace.StringID
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(x, y trace.StringID) int { return cmp.Compare(d.String(x), d.String(y)) })
	return out
}

// spread is the shares of both sides: instance by instance where the sides have
// instances in common, else by rank, since a rollout renames them all.
func spread(x, y map[trace.StringID]float64) (a, b []float64) {
	nx, ny := total(x), total(y)
	common := false
	for k := range x {
		_, ok := y[k]
		common = common || ok
	}
	if common {
		all := map[trace.StringID]bool{}
		for k := range x {
			all[k] = true
		}
		for k := range y {
			all[k] = true
		}
		for k := range all {
			a, b = append(a, x[k]/nx), append(b, y[k]/ny)
		}
		return a, b
	}
	for _, n := range x {
		a = append(a, n/nx)
	}
	for _, n := range y {
		b = append(b, n/ny)
	}
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for len(b) < len(a) {
		b = append(b, 0)
	}
	desc := func(p, q float64) int { return cmp.Compare(q, p) }
	slices.SortFunc(a, desc)
	slices.SortFunc(b, desc)
	return a, b
}

// An interval of one request's stay.
type stay struct{ from, to int64 }

// stays are the requests that were offered, by their start.
func stays(s *Side) []stay {
	var out []stay
	for _, q := range s.All {
		if q.Standing != graph.Counted {
			continue
		}
		v := q.Calls[0].Outer()
		out = append(out, stay{int64(v.Start), int64(v.End)})
	}
	slices.SortFunc(out, func(a, b stay) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return out
}

// A pressure is how fast requests arrive while few, and while many, are there.
type pressure struct {
	few, many   float64 // arrivals per second
	fewN, manyN int
	at          int     // many: at least so many in flight
	most        int     // in flight
	atMost      float64 // share of the time
	perSecond   float64
	mean        float64 // latency, ns
}

// pressureOf counts arrivals by the number that are there already. Where the load
// does not care (it is open), that makes no difference, or more arrive when many
// are there, since many arriving is why they are. Clients that wait for their
// answers arrive the less the more of them wait.
func pressureOf(list []stay) (p pressure) {
	if len(list) < 2 {
		return p
	}
	type event struct {
		at    int64
		start bool
	}
	events := make([]event, 0, 2*len(list))
	var busy float64
	for _, s := range list {
		events = append(events, event{s.from, true}, event{max(s.to, s.from), false})
		p.mean += float64(s.to - s.from)
	}
	p.mean /= float64(len(list))
	slices.SortFunc(events, func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return cmp.Compare(boolRank(a.start), boolRank(b.start)) // who leaves makes room for who comes
	})
	var time []float64
	var starts []int
	n, last := 0, events[0].at
	for _, e := range events {
		for len(time) <= n {
			time, starts = append(time, 0), append(starts, 0)
		}
		time[n] += float64(e.at-last) / 1e9
		last = e.at
		if e.start {
			starts[n]++
			n++
		} else {
			n = max(0, n-1)
		}
	}
	var span float64
	for k, t := range time {
		span += t
		busy += t * float64(k)
	}
	if span == 0 {
		return p
	}
	p.perSecond = float64(len(list)) / span
	p.most = len(time) - 1
	if len(starts) > 0 && p.most > 0 && time[p.most] == 0 {
		p.most--
	}
	p.atMost = time[p.most] / span
	// Many: the upper half of the time.
	var below float64
	for p.at = 0; p.at < len(time) && below+time[p.at] <= span/2; p.at++ {
		below += time[p.at]
	}
	p.at = max(1, p.at)
	var few, many float64
	for k := range time {
		if k < p.at {
			few, p.fewN = few+time[k], p.fewN+starts[k]
		} else {
			many, p.manyN = many+time[k], p.manyN+starts[k]
		}
	}
	if few > 0 && many > 0 {
		p.few, p.many = float64(p.fewN)/few, float64(p.manyN)/many
	}
	return p
}

const (
	// closedRatio is how much fewer must arrive while many are there for the load
	// to be called one that waits for its answers. Of w clients that wait, and
	// think for as long as they wait, half as many come while half of them wait.
	closedRatio = 0.75
	// minClosed is the number of arrivals on each side of that comparison.
	minClosed = 30
)

// closed reports whether arrivals thin out while requests are there, beyond chance.
// Those that come at a steady pace do, too: who just came is there, and the next is
// not due yet; see waitedFor.
func (p *pressure) closed() bool {
	if p.fewN < minClosed || p.manyN < 5 || p.few == 0 || p.many >= closedRatio*p.few {
		return false
	}
	// Poisson counts: many·T expected under the rate of few.
	expected := p.few * float64(p.manyN) / max(p.many, 1e-9)
	z := (expected - float64(p.manyN)) / math.Sqrt(expected*(1+expected/float64(p.fewN)))
	return z > 4
}

const (
	// nearby is how many requests before and after one its stay is held against.
	nearby = 8
	// stayBlock is how many stays in a row are one observation: neighbours count
	// many of the same arrivals.
	stayBlock = 20
	// waitedSure is by how many standard errors fewer must come during long stays
	// for a load to wait, and waitedLikely for it to be like one that does.
	waitedSure, waitedLikely = 3, 1
)

// waitedFor is by how many standard errors fewer requests begin during a long
// request than within as long a time from the beginning of those around it. To a
// load that comes by itself, at any pace, the length of a request makes no
// difference; a client that waits for it does not ask again meanwhile. The list is
// sorted by start.
func waitedFor(list []stay) float64 {
	starts := make([]int64, len(list))
	lengths := make([]int64, len(list))
	for i, s := range list {
		starts[i], lengths[i] = s.from, s.to-s.from
	}
	slices.Sort(lengths)
	median := lengths[len(lengths)/2]
	// after is how many begin within a time after one began.
	after := func(i int, time int64) float64 {
		from, _ := slices.BinarySearch(starts, starts[i]+1)
		to, _ := slices.BinarySearch(starts, starts[i]+time+1)
		return float64(to - from)
	}
	var fewer []float64 // by stayBlock long stays
	sum, n := 0.0, 0
	for i, s := range list {
		length := s.to - s.from
		if length < median || i < nearby || i+nearby >= len(list) || starts[i+nearby]+length > starts[len(list)-1] {
			continue
		}
		others := 0.0
		for k := 1; k <= nearby; k++ {
			others += after(i-k, length) + after(i+k, length)
		}
		sum += others/(2*nearby) - after(i, length)
		if n++; n == stayBlock {
			fewer = append(fewer, sum)
			sum, n = 0, 0
		}
	}
	if len(fewer) < 2 {
		return 0
	}
	mean, squares := 0.0, 0.0
	for _, x := range fewer {
		mean += x / float64(len(fewer))
	}
	for _, x := range fewer {
		squares += (x - mean) * (x - mean)
	}
	k := float64(len(fewer))
	if squares == 0 {
		return 0
	}
	return mean / math.Sqrt(squares/(k-1)/k)
}

// omissionGuard: does the load slow down with the system? Then the slow moments
// are asked about less often, and every percentile is too good.
func (c *Comparison) omissionGuard() Guard {
	if c.Endpoint.Inner {
		return guard(GuardOmission, GuardOK, "not asked of inner endpoints: their callers wait for them by design")
	}
	var p [2]pressure
	var waited [2]float64
	for i, s := range c.Sides {
		list := stays(s)
		p[i] = pressureOf(list)
		if p[i].closed() {
			waited[i] = waitedFor(list)
		}
	}
	base, cur := &p[summary.Baseline], &p[summary.Current]
	// That one side waits and the other does not needs both to be sure.
	b, k := waited[summary.Baseline] > waitedSure, waited[summary.Current] > waitedSure
	if b != k && min(waited[0], waited[1]) > waitedLikely {
		b, k = true, true
	}
	say := func(x *pressure) string {
		return prose.Sprintf("%.3g arrive per second while fewer than %d are there and %.3g while more are", x.few, x.at, x.many)
	}
	switch {
	case b && k:
		return guard(GuardOmission, GuardWarn, "the load of both sides waits for its answers: in the current one %s; the slow moments are asked about too seldom on both", say(cur))
	case !b && !k:
		if cur.few == 0 {
			return guard(GuardOmission, GuardOK, "too few requests overlap to tell whether arrivals wait for answers")
		}
		if cur.closed() {
			return guard(GuardOmission, GuardOK, "requests come at a pace that their length makes no difference to, %.3g per second", cur.perSecond)
		}
		return guard(GuardOmission, GuardOK, "arrivals do not thin out while requests are there: %.3g and %.3g per second", cur.few, cur.many)
	}
	side, x := "current", cur
	if b {
		side, x = "baseline", base
	}
	g := guard(GuardOmission, GuardFail, "the %s load waits for its answers: %s; %.3g requests per second against %.3g of the baseline, at a mean of %s against %s",
		side, say(x), cur.perSecond, base.perSecond, prose.Ns(cur.mean), prose.Ns(base.mean))
	g.Incomparable = true
	g.check = Check{Question: "does the arrival rate fall while many requests are there?", Rival: "a change of the latency under the same load",
		IfThis: "yes: clients wait for their answers before they ask again", IfRival: "no: users come whether others wait or not", Ran: true, Outcome: say(x)}
	return g
}

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
		for _, run := range runs[i] {
			slices.SortStableFunc(run, func(x, y *summary.Request) int { return cmp.Compare(x.Start(), y.Start()) })
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

func sideName(side int) string {
	if side == summary.Baseline {
		return "baseline"
	}
	return "current"
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
