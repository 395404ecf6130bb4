package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A Reorder is calls of one parent that ran side by side in one set and in turn
// in the other.
type Reorder struct {
	Parent graph.SlotID // relative
	Slots  []graph.SlotID
	Serial bool // in turn now; else side by side now
	// Was and Is are the share of requests in which the first pair of them ran in
	// turn.
	Was, Is float64
}

// Reorders finds the parents whose calls changed between side by side and in
// turn.
func (c *Comparison) Reorders() []Reorder {
	if c.Sides[summary.Baseline] == nil {
		return nil
	}
	was, is := c.Sides[summary.Baseline].Verdicts(), c.Sides[summary.Current].Verdicts()
	rel := map[graph.SlotID]graph.SlotID{}
	kids := map[graph.SlotID][]graph.SlotID{} // absolute
	for _, q := range c.Sides[summary.Current].Counted {
		for i := range q.Calls {
			s := q.Calls[i].Slot
			if _, ok := rel[s]; ok {
				continue
			}
			rel[s] = c.Relative(q, s)
			if i > 0 {
				p := q.Calls[q.Calls[i].Parent].Slot
				kids[p] = append(kids[p], s)
			}
		}
	}
	parents := make([]graph.SlotID, 0, len(kids))
	for p := range kids {
		parents = append(parents, p)
	}
	slices.Sort(parents)
	var out []Reorder
	for _, p := range parents {
		list := kids[p]
		slices.Sort(list)
		if len(list) > maxReorder {
			continue
		}
		for i, x := range list {
			for _, y := range list[i:] {
				sw, pw, shareWas := inTurn(was, x, y)
				si, pi, shareIs := inTurn(is, x, y)
				if !(pw && si) && !(sw && pi) || math.Abs(shareIs-shareWas) < minReordered {
					continue
				}
				serial := si
				if serial && x != y && !c.tookTurns(is, x, y) {
					continue
				}
				at := slices.IndexFunc(out, func(r Reorder) bool { return r.Parent == rel[p] && r.Serial == serial })
				if at < 0 {
					at = len(out)
					out = append(out, Reorder{Parent: rel[p], Serial: serial, Was: shareWas, Is: shareIs})
				}
				for _, s := range []graph.SlotID{rel[x], rel[y]} {
					if !slices.Contains(out[at].Slots, s) {
						out[at].Slots = append(out[at].Slots, s)
					}
				}
			}
		}
	}
	return out
}

const (
	// maxReorder is how many calls of one parent are compared with each other.
	maxReorder = 256
	// minReordered is the least part of the requests in which calls must run otherwise: the verdict on an order that one
	// request in a hundred refutes turns by chance, or with a clock.
	minReordered = 0.1
)

const (
	// minFollowed is how many pairs of calls tell whether one begins at the other's end.
	minFollowed = 20
	// byItself is the slope of the gap between two calls over the length of the earlier that parts two cases: a call that
	// begins at another's end keeps its distance however long that takes, slope 0; one that begins by itself is the nearer
	// to it the longer that takes, slope −1.
	byItself = -0.5
)

// tookTurns reports whether of two slots whose calls run in turn now the later may begin at the earlier's end, as it
// may not have done before. It does not where the later surely begins whenever the earlier ends, and only became later or
// the earlier shorter; and where it surely followed before as well, and clocks or a lead let them overlap.
func (c *Comparison) tookTurns(now *graph.Verdicts, x, y graph.SlotID) bool {
	if now.Order(x, y).Verdict != graph.OrderHeld {
		x, y = y, x
	}
	const z = 2
	lengths, gaps := c.gaps(summary.Baseline, x, y)
	if followed, _ := FollowsEnd(lengths, gaps, z); followed {
		return false
	}
	lengths, gaps = c.gaps(summary.Current, x, y)
	_, alone := FollowsEnd(lengths, gaps, z)
	return !alone
}

// FollowsEnd reports whether what begins so many ns after calls of these lengths surely follows from their ends, or surely
// begins by itself; neither of fewer than minFollowed.
func FollowsEnd(lengths, gaps []int64, z float64) (follows, alone bool) {
	if len(gaps) < minFollowed {
		return false, false
	}
	slope, se, ok := stats.LeastSquares(lengths, gaps)
	return ok && slope-z*se > byItself, ok && slope+z*se < byItself
}

// gaps is how long calls of x took and how long after their ends those of y began, in ns, in the requests of a side in which x
// ended last of all that came before.
func (c *Comparison) gaps(side int, x, y graph.SlotID) (lengths, gaps []int64) {
	for _, q := range c.Sides[side].Counted {
		for p := range q.Calls {
			var last, next *graph.Half // the latest end of x, and the first start of y
			from, to := int32(p)+1, int32(p)+q.Calls[p].Len
			for k := from; k < to; k += q.Calls[k].Len {
				if o := q.Calls[k].Outer(); q.Calls[k].Slot == y && (next == nil || o.Start < next.Start) {
					next = o
				}
			}
			if next == nil {
				continue
			}
			var end trace.Time
			for k := from; k < to; k += q.Calls[k].Len {
				o := q.Calls[k].Outer()
				if o == next || o.Start >= next.Start || o.End > next.Start && q.Calls[k].Slot != x || o.End < end {
					continue
				}
				if end, last = o.End, nil; q.Calls[k].Slot == x {
					last = o
				}
			}
			if last != nil {
				lengths, gaps = append(lengths, last.Duration()), append(gaps, int64(next.Start-last.End))
			}
		}
	}
	return lengths, gaps
}

// inTurn reports whether two slots run one after the other, or side by side, and
// the share of requests in which they run in turn.
func inTurn(v *graph.Verdicts, x, y graph.SlotID) (serial, parallel bool, share float64) {
	o, r := v.Order(x, y), v.Order(y, x)
	n, m := float64(o.Held+o.Refuted), float64(r.Held+r.Refuted)
	if n == 0 {
		return false, false, 0
	}
	if x == y {
		return o.Verdict == graph.OrderHeld, o.Verdict == graph.OrderRefuted, float64(o.Held) / n
	}
	share = float64(o.Held) / n
	if m > 0 {
		share = max(share, float64(r.Held)/m)
	}
	return o.Verdict == graph.OrderHeld || r.Verdict == graph.OrderHeld, o.Verdict == graph.OrderRefuted && r.Verdict == graph.OrderRefuted, share
}

var serialization = Cause{
	Doc: Doc{
		Kind:     "serialization",
		Title:    "calls that ran side by side run in turn",
		Claim:    "Calls of one parent that were parallel wait for each other now; none of them is slower.",
		Supports: "Their order is refuted in the baseline and held now; each takes as long as before; starting them together again takes the rise away.",
		Refutes:  "They overlap now as they did, or a pool lets only one of them through at a time (then their starts follow ends of other requests' calls too).",
		Mimics:   "client-wait with a pool of one also puts calls in turn; service-time makes the calls themselves longer; new-hop adds one.",
		Emit:     "nothing more is needed than client spans.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, r := range a.Reorders() {
			if r.Serial {
				out = append(out, a.serialFinding(r))
			}
		}
		return out
	},
}

func (a *Asking) serialFinding(r Reorder) Finding {
	d := a.Reading.Dict
	s := a.slot(r.Parent)
	names := make([]string, len(r.Slots))
	for i, k := range r.Slots {
		names[i] = d.String(a.slot(k).Shown().Operation)
	}
	slices.SortFunc(names, cmp.Compare[string])
	f := Finding{Kind: "serialization", Service: d.String(s.Shown().Service), Operation: d.String(s.Shown().Operation)}
	f.Claim = fmt.Sprintf("%s were called side by side and are called in turn now", strings.Join(names, ", "))
	f.Evidence = append(f.Evidence, numbers("spans", len(a.plans), "share", r.Was, r.Is, "requests in which they run in turn"))
	for _, k := range r.Slots {
		was, is := a.durations(summary.Baseline, k), a.durations(summary.Current, k)
		f.Evidence = append(f.Evidence, numbers("spans", len(is.ns), "ms", was.at(0.5)/1e6, is.at(0.5)/1e6, "median of "+d.String(a.slot(k).Shown().Operation)))
	}
	f.Check = Check{
		Question: "do the calls begin one after the other while each takes as long as before?",
		Rival:    "service-time: the calls themselves are slower",
		IfThis:   "their starts moved apart by the others' durations, which stand",
		IfRival:  "their starts stand and their durations grew",
		Ran:      true,
		Outcome:  fmt.Sprintf("in turn in %.0f %% of the requests where it was %.0f %%; the durations are beside it", 100*r.Is, 100*r.Was),
	}
	// The plan with the baseline's orders: what they refute does not come before.
	w := graph.Walker{Dict: d, Verdicts: a.cur().Set.Calibration.Verdicts}
	was := a.base().Set.Calibration.Verdicts
	plans := make([]*graph.Plan, len(a.plans))
	f.Plans = func(j int) *graph.Plan {
		if plans[j] == nil {
			plans[j] = w.Plan(a.request(j).Record, was)
		}
		return plans[j]
	}
	f.Factor = func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for k := range p.Steps {
			st := &p.Steps[k]
			if st.Leave || k >= len(a.plans[j].Steps) {
				continue
			}
			now := &a.plans[j].Steps[k]
			if st.NS == now.NS || st.Half != now.Half || !slices.Contains(r.Slots, a.Relative(q, q.Calls[st.Call()].Slot)) {
				continue
			}
			// What it waited for has gone: it begins when it used to.
			if b := a.parts[summary.Baseline][a.key(q, st)]; b != nil {
				values[k] = int64(b.at(a.tie(j, k)))
			}
		}
	}
	return f
}

// durations is how long the calls of a slot took on one side.
func (a *Asking) durations(side int, slot graph.SlotID) *part {
	p := &part{}
	for _, q := range a.Sides[side].Counted {
		for i := range q.Calls {
			if a.Relative(q, q.Calls[i].Slot) == slot {
				p.ns = append(p.ns, q.Calls[i].Outer().Duration())
				p.w = append(p.w, float64(q.Weight)/graph.OneRequest)
			}
		}
	}
	return p
}
