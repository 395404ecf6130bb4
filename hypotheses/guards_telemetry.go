package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// minMoved and bigMoved are how far a clock must have moved, in ns and as a
	// share of the median latency, to be told and to be called a fault of the
	// measurement. Under NTP a host is within some milliseconds of the time, and
	// two hosts that both wander a day apart have moved by the sum of that.
	minMoved, bigMoved           = 10_000_000, 25_000_000
	minMovedShare, bigMovedShare = 0.05, 0.1
	// maxContradictions is the share of a pair's calls whose bounds contradict the
	// others: a clock moved within the window. coarse is how far times must be wrong for it: what is read in whole
	// milliseconds is wrong by one at either end.
	maxContradictions = 0.01
	coarse            = 2_000_000
)

// clockGuard: do the hosts' clocks stand to each other as they did?
func (c *Comparison) clockGuard() Guard {
	d := c.Reading.Dict
	hosts := map[trace.StringID]bool{}
	for _, s := range c.Sides {
		for _, q := range s.Counted {
			for k := range q.Calls {
				for _, h := range []*graph.Half{&q.Calls[k].Client, &q.Calls[k].Work} {
					if h.Seen() {
						hosts[d.ProcAt(h.Proc).Host] = true
					}
				}
			}
		}
	}
	var at [2]map[graph.HostPair]graph.Offset
	var window [2]*graph.ClockWindow
	var off [2]float64 // the largest offset that is certain
	var contradictions, calls int64
	for i, s := range c.Sides {
		at[i] = map[graph.HostPair]graph.Offset{}
		clocks := s.Set.Calibration.Verdicts.Clocks
		first, last := clocks.At(s.Set.Counts.From), clocks.At(s.Set.Counts.To)
		window[i] = first
		if first == nil {
			continue
		}
		for _, w := range clocks.Windows {
			if w.Window < first.Window || w.Window > last.Window {
				continue
			}
			for _, p := range w.Pairs {
				o := w.Offset[p]
				if o.N < 2 || o.Open() && o.Lo <= 0 && o.Hi >= 0 || !hosts[p.A] || !hosts[p.B] {
					continue // one request alone tells of no clock, nor does who begins after whom
				}
				if old, ok := at[i][p]; !ok || o.N > old.N {
					at[i][p] = o
				}
				off[i] = max(off[i], float64(o.Lo), float64(-o.Hi))
				if i == summary.Current {
					calls += o.N
					if o.Beyond > coarse {
						contradictions += o.Contradictions
					}
				}
			}
		}
	}
	if len(at[0]) == 0 && len(at[1]) == 0 {
		return guard(GuardClock, GuardOK, "no calls between hosts tell of their clocks; requests are timed by one clock each")
	}
	if window[0] != nil && window[0] == window[1] {
		return guard(GuardClock, GuardOK, "both sides lie within the same quarter of an hour, in which clocks are taken to stand still; the largest offset is %s", prose.Ns(off[1]))
	}
	// Of hosts that both sides have: how far the offset certainly moved. Of others,
	// by how much the offsets are larger than they were.
	var moved float64
	var pair graph.HostPair
	shared := 0
	for _, p := range sortedPairs(at[1]) {
		o := at[1][p]
		b, ok := at[0][p]
		if !ok {
			continue
		}
		shared++
		if m := float64(max(o.Lo-b.Hi, b.Lo-o.Hi)); m > moved {
			moved, pair = m, p
		}
	}
	if shared == 0 {
		moved = math.Abs(off[1] - off[0])
	}
	median := c.Pair.Base.Quantile(0.5)
	where := ""
	if pair != (graph.HostPair{}) {
		where = fmt.Sprintf(" (%s and %s)", d.String(pair.A), d.String(pair.B))
	}
	detail := fmt.Sprintf("clocks moved against each other by at least %s%s; they are off by up to %s in the baseline and %s now. What each host times itself stands; times of different hosts are compared with the offsets taken off", prose.Ns(moved), where, prose.Ns(off[0]), prose.Ns(off[1]))
	switch {
	case calls > 0 && float64(contradictions) > maxContradictions*float64(calls) && contradictions > 5:
		return guard(GuardClock, GuardFail, "%d of %d calls contradict every offset of their hosts' clocks: a clock moved within the run, and spans that it timed are wrong", contradictions, calls)
	case moved > bigMoved && moved > bigMovedShare*median:
		g := guard(GuardClock, GuardFail, "%s", detail)
		g.Explains = 0 // a request is timed by its entry's clock alone, however that stands to others
		return g
	case moved > minMoved && moved > minMovedShare*median:
		return guard(GuardClock, GuardWarn, "%s", detail)
	}
	return guard(GuardClock, GuardOK, "clocks stand to each other as they did: off by up to %s in the baseline and %s now", prose.Ns(off[0]), prose.Ns(off[1]))
}

func sortedPairs(m map[graph.HostPair]graph.Offset) []graph.HostPair {
	var out []graph.HostPair
	for p := range m {
		out = append(out, p)
	}
	slices.SortFunc(out, func(x, y graph.HostPair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return out
}

const (
	// lossWarn and lossFail are by how much the share of traces with gaps, or of
	// calls without the callee's half, must have risen. A share of 1 % in either
	// side is told in any case.
	lossWarn, lossFail, lossSome = 0.02, 0.05, 0.01
	// newKind is the share of its parent's calls in which a call must be present on
	// one side, and absent on the other, to be newly recorded or recorded no more.
	newKind = 0.5
	// sameTimes is how much of the calls' time the parent's may have changed by.
	sameTimes = 0.3
)

// A site is where a call is made, by the names on the way there: whether its
// callee was recorded makes no difference.
type site struct {
	slot     graph.SlotID
	present  [2]int // requests
	client   [2]int // calls with a client half that succeeded
	paired   [2]int // of these, with the callee's half
	ns       [2]float64
	calls    [2]int
	internal bool

	over [2][lossParts]struct{ client, paired int } // client and paired, over the time of the side
}

// lossParts is into how many parts of equal length a side's time is cut. A batch of
// spans that is lost takes one or two of them; what is recorded no more takes most.
const lossParts = 8

// usual is the share of a side's calls that have the callee's half, in the median of
// its parts.
func (x *site) usual(side int) float64 {
	var shares []float64
	for _, p := range x.over[side] {
		if p.client > 0 {
			shares = append(shares, float64(p.paired)/float64(p.client))
		}
	}
	slices.Sort(shares)
	return (shares[(len(shares)-1)/2] + shares[len(shares)/2]) / 2
}

// sites counts calls by slot. Slots of both sides are the same by
// summary.Reading, where a callee fell silent or a name changed.
func (c *Comparison) sites() map[graph.SlotID]*site {
	m := map[graph.SlotID]*site{}
	for i, s := range c.Sides {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, q := range s.Counted {
			first, last = min(first, int64(q.Start())), max(last, int64(q.Start()))
		}
		for _, q := range s.Counted {
			part := min(lossParts-1, int(float64(int64(q.Start())-first)/float64(last-first+1)*lossParts))
			seen := map[graph.SlotID]bool{}
			for k := range q.Calls {
				call := &q.Calls[k]
				slot := c.Relative(q, call.Slot)
				x := m[slot]
				if x == nil {
					kind := c.slot(slot).Kind
					x = &site{slot: slot, internal: kind == trace.KindInternal}
					m[slot] = x
				}
				if !seen[slot] {
					seen[slot] = true
					x.present[i]++
				}
				x.calls[i]++
				x.ns[i] += float64(call.Outer().Duration())
				if call.Client.Seen() && call.ClientEnd == graph.Succeeded && call.Flags&(graph.Async|graph.Loser) == 0 {
					x.client[i]++
					x.over[i][part].client++
					if call.Work.Seen() {
						x.paired[i]++
						x.over[i][part].paired++
					}
				}
			}
		}
	}
	return m
}

func (c *Comparison) slot(s graph.SlotID) *graph.Slot { return c.Reading.Dict.SlotAt(s) }

func (c *Comparison) shown(s graph.SlotID) string {
	e := c.slot(s).Shown()
	return c.Reading.Dict.String(e.Service) + " " + c.Reading.Dict.String(e.Operation)
}

// instrumentationGuard: is the same recorded of the same work?
func (c *Comparison) instrumentationGuard() Guard {
	var fails, warns []string
	base, cur := &c.Sides[0].Set.Counts, &c.Sides[1].Set.Counts
	gaps := func(n, of int64) float64 { return float64(n) / float64(max(1, of)) }
	was, is := gaps(base.IncompleteTraces, base.Traces), gaps(cur.IncompleteTraces, cur.Traces)
	p := stats.FisherTwoSided(int(base.IncompleteTraces), int(base.Traces), int(cur.IncompleteTraces), int(cur.Traces))
	text := fmt.Sprintf("traces with a parent that was never received went from %s to %s", prose.Percent(was), prose.Percent(is))
	switch {
	case math.Abs(is-was) > lossFail && p < sure:
		fails = append(fails, text)
	case math.Abs(is-was) > lossWarn && p < sure, max(was, is) > lossSome && was != is:
		warns = append(warns, text)
	case max(was, is) > lossSome:
		warns = append(warns, fmt.Sprintf("%s of the traces of both sides have a parent that was never received", prose.Percent(is)))
	}

	sites := c.sites()
	var slots []graph.SlotID
	for s := range sites {
		slots = append(slots, s)
	}
	slices.SortFunc(slots, func(x, y graph.SlotID) int { return cmp.Compare(c.Reading.Dict.Path(x), c.Reading.Dict.Path(y)) })
	silent := map[graph.SlotID]bool{} // whose callee's half came or went with all below it
	for _, s := range slots {
		x := sites[s]
		if x.client[0] == 0 || x.client[1] == 0 {
			continue
		}
		was, is := float64(x.paired[0])/float64(x.client[0]), float64(x.paired[1])/float64(x.client[1])
		if math.Abs(is-was) <= lossWarn || stats.FisherTwoSided(x.paired[0], x.client[0], x.paired[1], x.client[1]) >= sure {
			continue
		}
		text := fmt.Sprintf("calls of %s that have the callee's span went from %s to %s", c.shown(s), prose.Percent(was), prose.Percent(is))
		switch usually := math.Abs(x.usual(1) - x.usual(0)); {
		case math.Abs(is-was) > lossFail && usually > lossFail:
			fails = append(fails, text)
		case math.Abs(is-was) > lossFail && usually <= lossWarn:
			warns = append(warns, text+", within a part of the time: a batch of spans was lost")
		default:
			warns = append(warns, text)
		}
		silent[s] = math.Abs(is-was) > 0.5
	}
	for _, a := range c.Attributes() {
		if key := c.Reading.Dict.String(a.Key); a.recordedAnew() && !Consequence(key) && !Deployed(key) {
			word := "is newly recorded"
			if a.Values[0].Cur == 0 {
				word = "is recorded no more"
			}
			warns = append(warns, fmt.Sprintf("the attribute %s %s", key, word))
		}
	}
	for _, r := range c.renamed(sites) {
		warns = append(warns, fmt.Sprintf("%s is now called %s: the same place, number and length; they are taken as one", r.was, r.is))
	}
	for _, s := range slots {
		x := sites[s]
		parent := sites[c.slot(s).Parent]
		if parent == nil || silent[c.slot(s).Parent] || parent.present[0] < minOrderN || parent.present[1] < minOrderN {
			continue
		}
		b, k := float64(x.present[0])/float64(parent.present[0]), float64(x.present[1])/float64(parent.present[1])
		if max(b, k) < newKind || min(b, k) > max(b, k)/20 {
			continue
		}
		side := 1
		if b > k {
			side = 0
		}
		// Of a call that is new, the parent takes longer; of one that is newly
		// recorded, it does not.
		own := x.ns[side] / float64(parent.calls[side])
		grew := parent.ns[1]/float64(parent.calls[1]) - parent.ns[0]/float64(parent.calls[0])
		if side == 0 {
			grew = -grew
		}
		if own > 0 && grew < sameTimes*own {
			word := "is newly recorded, or runs beside what its caller waits for"
			if side == 0 {
				word = "is recorded no more, or ran beside what its caller waited for"
			}
			warns = append(warns, fmt.Sprintf("%s %s: it takes %s a request, and its caller's time changed by %s", c.shown(s), word, prose.Ns(own), prose.Ns(grew)))
		}
	}
	join := func(list []string) string {
		const most = 3
		text := ""
		for i, s := range list {
			switch {
			case i == most:
				return text + fmt.Sprintf("; and %d more", len(list)-most)
			case i > 0:
				text += "; "
			}
			text += s
		}
		return text
	}
	switch {
	case len(fails) > 0:
		return guard(GuardInstrumentation, GuardFail, "%s", join(slices.Concat(fails, warns)))
	case len(warns) > 0:
		return guard(GuardInstrumentation, GuardWarn, "%s", join(warns))
	}
	return guard(GuardInstrumentation, GuardOK, "the same spans are recorded on both sides")
}

// minOrderN is how many requests of a side must have a parent for its calls to be
// compared.
const minOrderN = 10

// A rename is a call, or the endpoint, by its two names.
type rename struct{ was, is string }

func (c *Comparison) renamed(sites map[graph.SlotID]*site) (out []rename) {
	d := c.Reading.Dict
	for _, r := range c.Reading.Renames {
		if _, ok := sites[r.To]; !ok {
			continue
		}
		name := func(s graph.SlotID) string {
			e := d.SlotAt(s).Shown()
			return d.String(e.Service) + " " + d.String(e.Operation)
		}
		if a, b := name(r.From), name(r.To); a != b {
			out = append(out, rename{a, b})
		}
	}
	return out
}
