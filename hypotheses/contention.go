package hypotheses

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
)

var contention = Cause{
	Doc: Doc{
		Kind:     "contention",
		Title:    "work that slows its neighbours",
		Claim:    "An operation takes longer the more others run beside it in the same process: they share a CPU, a lock or another thing of which there is one.",
		Supports: "Its own time rises with the number of peers inside, and most of that is missing when it is alone, or each peer lengthens it by a greater part than it did; or calls of one process follow each other one at a time.",
		Refutes:  "It is as much slower alone as among others (service-time).",
		Mimics:   "service-time is longer at every load; server-queue and client-wait show before the span; load brings more peers without the own time rising at the same number.",
		Emit:     "CPU throttling of the container, lock wait times, run-queue latency.",
	},
	find: func(a *Asking) []Finding {
		var out []Finding
		for _, slot := range slices.Sorted(maps.Keys(a.crowds())) {
			out = append(out, a.crowds()[slot].finding)
		}
		for _, b := range a.queues() {
			if a.isLock(b) {
				out = append(out, a.lockFinding(b))
			}
		}
		return append(append(out, a.turns("contention")...), a.saidWaits("contention")...)
	},
}

const (
	// crowdShare is the part of the rise among peers that must be missing alone, and bothShare the part from which
	// peers have to do with it at all: among more of them everything is a little slower;
	// crowdRose by how much the time among peers must exceed that alone, and what
	// it was.
	crowdShare = 0.5
	bothShare  = 0.25
	crowdRose  = 1.15
	minCrowd   = 40
)

// A crowding is a node whose work takes longer the more others run beside it.
type crowding struct {
	finding Finding
	steeper bool    // surely so at the numbers of peers that both sides have seen
	times   float64 // as long as it took, on average
	demand  demand
	load    float64 // the part of that, of its logarithm, that more work may bring
}

// crowds are the nodes that are crowded.
func (a *Asking) crowds() map[graph.SlotID]*crowding {
	if a.crowdedNodes == nil {
		a.crowdedNodes = map[graph.SlotID]*crowding{}
		for _, slot := range a.nodes() {
			if c, ok := a.crowded(slot); ok {
				a.crowdedNodes[slot] = c
			}
		}
	}
	return a.crowdedNodes
}

// A crowd is the own time of a node's calls by how many peers they had.
type crowd struct {
	alone, among *part
	few, many    float64 // peers: at most few is alone, at least many is among others
}

// split splits both sides at the same numbers of peers: the quartiles of the
// current side.
func (a *Asking) split(slot graph.SlotID) (was, is crowd, ok bool) {
	var peers []float64
	for _, c := range a.ownCalls(summary.Current) {
		if c.slot == slot {
			peers = append(peers, c.peers)
		}
	}
	if len(peers) < 4*minCrowd {
		return was, is, false
	}
	slices.Sort(peers)
	few, many := peers[len(peers)/4], peers[len(peers)*3/4]
	if many <= few {
		return was, is, false
	}
	part := func(side int) crowd {
		c := crowd{&part{}, &part{}, few, many}
		for _, o := range a.ownCalls(side) {
			if o.slot != slot {
				continue
			}
			switch {
			case o.peers <= few:
				c.alone.ns, c.alone.w = append(c.alone.ns, max(o.ns, 0)), append(c.alone.w, 1)
			case o.peers >= many:
				c.among.ns, c.among.w = append(c.among.ns, max(o.ns, 0)), append(c.among.w, 1)
			}
		}
		return c
	}
	was, is = part(summary.Baseline), part(summary.Current)
	return was, is, len(was.alone.ns) >= minCrowd && len(is.alone.ns) >= minCrowd && len(is.among.ns) >= minCrowd
}

// crowded finds nodes whose own time rose among peers and not alone, or is lengthened more by each of them.
func (a *Asking) crowded(slot graph.SlotID) (*crowding, bool) {
	was, is, ok := a.split(slot)
	part := 0.0
	if ok {
		part = is.byPeers(&was)
	}
	slope0, slope1, sloped := a.slopes(slot)
	z := 0.0
	if sloped {
		z = slope1.above(slope0)
	}
	if sloped && slope1.most(slope0) < steeper {
		part = 0 // as many times longer among others as alone, or the crowded process is the slow one
	}
	if part < bothShare && z < doubtZ {
		return nil, false
	}
	f := a.serviceFinding(slot, a.work(slot))
	f.Kind = "contention"
	_, _, op := a.names(slot)
	f.Claim = fmt.Sprintf("%s of %s takes longer the more others run beside it", op, f.Service)
	f.Evidence, f.Against = nil, nil
	f.Check = Check{
		Question: fmt.Sprintf("how much of the rise of %s among many others is missing among few?", op),
		Rival:    "service-time: it is slower at every load",
		IfThis:   "most of it: it is slower the more others are inside",
		IfRival:  "little: it is as much slower among few",
		Ran:      true,
	}
	if part >= bothShare {
		among0 := was.before()
		f.Evidence = append(f.Evidence,
			numbers("spans", len(is.among.ns), "ms", among0.mean()/1e6, is.among.mean()/1e6, prose.Sprintf("mean own time with %.2g or more others at work in the process", is.many)),
			numbers("spans", len(is.alone.ns), "ms", was.alone.mean()/1e6, is.alone.mean()/1e6, prose.Sprintf("the same with at most %.2g", is.few)),
		)
		f.Check.Outcome = prose.Sprintf("%.0f %%: with at most %.2g others %s → %s, with %.2g or more %s → %s", 100*min(part, 1), is.few, prose.Ns(was.alone.mean()), prose.Ns(is.alone.mean()), is.many, prose.Ns(among0.mean()), prose.Ns(is.among.mean()))
	}
	if z >= doubtZ {
		f.Evidence = append(f.Evidence, numbers("spans", slope1.n, "%", 100*slope0.at, 100*slope1.at, "what one more at work in the same process adds to its own time"))
	}
	if part < crowdShare && z >= doubtZ {
		f.Check.Question = fmt.Sprintf("does each other at work in the process lengthen %s by a greater part than before?", op)
		f.Check.Rival = "service-time: it is as many times slower among others as alone"
		f.Check.IfThis, f.Check.IfRival = "yes", "no, by the same part"
		f.Check.Outcome = steeperThan(slope0, slope1)
	}
	a.whatIsShared(slot, &f)
	work := func(o *Finding) bool { return o.Kind == "service-time" && o.node == slot }
	switch {
	case f.unseen:
		f.Below = work // those that wait for something wait for longer, the more there are
	case part >= crowdShare || z >= steeperZ:
	case z >= doubtZ:
		// Likelier than that the work is as long alone, of the one node that is longer; of dozens it would be chance.
		f.Doubtful = true
		f.Warnings = append(f.Warnings, "that others lengthen it more than they did is not certain: it may as well take longer at every load")
	default:
		// Most of it is slower alone as well: both are true, and the crowd is the lesser.
		f.Below = work
		f.Check.Against = true
	}
	c := &crowding{steeper: z >= doubtZ}
	if own := [2]float64{a.own(summary.Baseline, a.work(slot)).mean(), a.own(summary.Current, a.work(slot)).mean()}; own[0] > 0 {
		c.times = own[1] / own[0]
	}
	if d, ok := a.demandOn(slot); ok {
		c.demand, c.load = d, d.byLoad(c.times)
	}
	if c.load >= crowdShare {
		f.Below = func(o *Finding) bool { return o.Kind == "load" && o.node == slot }
		f.Open = true
		if !c.weaker() {
			f.Doubtful = true
		}
		f.Warnings = append(f.Warnings, "more comes than came: that the process can do less than it could is not shown")
	}
	c.finding = f
	return c, true
}

// before is how long the calls among as many peers took before; if there were never so many, those alone.
func (c *crowd) before() *part {
	if len(c.among.ns) < minCrowd {
		return c.alone
	}
	return c.among
}

// byPeers is the part of the rise among peers that is missing alone; zero where they do not matter.
func (c *crowd) byPeers(was *crowd) float64 {
	among0 := was.before()
	among := c.among.mean() - among0.mean()
	if c.among.mean() < crowdRose*c.alone.mean() || among < minExplains/2 || among < (crowdRose-1)*among0.mean() {
		return 0
	}
	return ((c.among.mean() - c.alone.mean()) - (among0.mean() - was.alone.mean())) / among
}

// isLock reports whether a queue before calls looks like a lock: one at a time
// in each process, and nothing that says it is a pool.
func (a *Asking) isLock(b *queue) bool {
	s := b.v.Sides[summary.Current]
	return b.v.Owner == queuewait.ClientWait && (b.v.Key.Site == queuewait.Lead || b.v.Key.Site == queuewait.Ahead) && s.Limit == 1 && !s.FromPool && b.v.Resource == ""
}

func (a *Asking) lockFinding(b *queue) Finding {
	f := a.waitFinding(b, "contention")
	parent := a.slot(b.slot()).Parent
	if parent != graph.NoSlot {
		caller, _, op := a.names(parent)
		s := a.slot(parent)
		f.Service, f.Operation = a.Reading.Dict.String(s.Shown().Service), op
		if s.Callee.Service == 0 {
			f.Service = caller
		}
	}
	f.Peer = ""
	f.Claim = fmt.Sprintf("calls of %s in one process of %s run one at a time: a lock, or a pool of one", a.operation(b), f.Service)
	f.Check.Question = "does one process ever have two of these calls in flight, and is there a pool that says it is full?"
	f.Check.Rival = "client-wait: a connection pool of one"
	f.Check.IfThis, f.Check.IfRival = "never two, and every pool has idle places", "the pool's max is 1"
	f.Open = b.v.Sides[summary.Current].Pool == nil // a pool that says nothing of itself may be one of one
	f.Factor = a.waitBack(b, 1-b.mix)
	return f
}
