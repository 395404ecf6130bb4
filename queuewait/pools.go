package queuewait

import (
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
)

// The kinds of pools that are asked for.
const (
	ConnectionKind = metric.ConnectionPool
	ExecutorKind   = metric.Executor
)

// pool is the view of the caller's connection pool, or of the target's
// executor, that belongs to the edge: the one named like the target, else the
// only one, else the one whose waits are most like the edge's.
func (a *asker) pool(side int, kind metric.Kind) *metric.PoolView {
	service, other := a.name(a.key.Caller), a.name(a.key.Target)
	if kind == ExecutorKind {
		service, other = other, ""
	}
	byName := map[string]*metric.PoolView{}
	var names []string
	for i := range a.sets[side].Pools {
		p := &a.sets[side].Pools[i]
		if p.Service != service || p.Kind != kind {
			continue
		}
		if byName[p.Name] == nil {
			names = append(names, p.Name)
			byName[p.Name] = p
		} else {
			byName[p.Name] = fuller(byName[p.Name], p)
		}
	}
	slices.Sort(names)
	if other != "" {
		for _, n := range names {
			if n != "" && (strings.Contains(strings.ToLower(n), strings.ToLower(other)) || strings.Contains(strings.ToLower(other), strings.ToLower(n))) {
				return byName[n]
			}
		}
	}
	if len(names) == 1 {
		return byName[names[0]]
	}
	return nil
}

// fuller is the one of two instances' pools that was fuller.
func fuller(a, b *metric.PoolView) *metric.PoolView {
	x, y := a.Occupancy.P99, b.Occupancy.P99
	if math.IsNaN(x) || y > x {
		return b
	}
	return a
}

// poolWait is the mean wait of a pool over all instances, in ns, and how many.
func (a *asker) poolWait(side int, name string, kind metric.Kind, service string) (mean float64, n uint64) {
	var sum float64
	for i := range a.sets[side].Pools {
		p := &a.sets[side].Pools[i]
		if p.Service == service && p.Kind == kind && p.Name == name && p.Wait.Count > 0 && !math.IsNaN(p.Wait.MeanMS) {
			sum += p.Wait.MeanMS * 1e6 * float64(p.Wait.Count)
			n += p.Wait.Count
		}
	}
	if n == 0 {
		return 0, 0
	}
	return sum / float64(n), n
}

const (
	// leastPooled is the mean wait in ns from which on a pool's metrics are held to the gaps: an interval of a metric averages
	// over more than those who waited.
	leastPooled = 1_000_000
	// alike is the ratio within which a pool's mean wait and the gaps' are the same, which are taken over other calls;
	// elsewhere is the part of the gaps' below which the pool is not what they wait for.
	alike     = 2
	elsewhere = 0.25
)

// metrics asks what pools and executors say of themselves.
func (a *asker) metrics(side int) {
	s := a.v.Sides[side]
	if p := s.Pool; p != nil {
		wait, n := a.poolWait(side, p.Name, ConnectionKind, a.name(a.key.Caller))
		name := p.Name
		if name == "" {
			name = "of " + p.Service
		}
		full := p.Exhausted()
		switch {
		case n > 0 && s.Wait > leastPooled && wait >= s.Wait/alike && wait <= alike*s.Wait+leastPooled:
			a.v.Resource = p.Name
			a.say("metrics", ClientWait, "pool %s: %d waits of %s on average, the gaps here %s; used %.0f of %.0f at most%s", name, int(n), prose.Ns(wait), prose.Ns(s.Wait), p.Used.Max, p.Limit.P50, upTo("pending", p.Pending.Max))
			return
		case n > 0 && wait < elsewhere*s.Wait:
			a.say("metrics", "", "pool %s: %d waits of %s on average, the gaps here %s: the pool is not where they come from; used %.0f of %.0f at most", name, int(n), prose.Ns(wait), prose.Ns(s.Wait), p.Used.Max, p.Limit.P50)
			for _, side := range a.v.Sides { // its limit is another's
				if side != nil {
					side.Pool = nil
				}
			}
			return
		case n == 0 && full && s.Wait > leastPooled:
			a.v.Resource = p.Name
			a.say("metrics", ClientWait, "pool %s was exhausted: used %.0f of %.0f at most%s", name, p.Used.Max, p.Limit.P50, upTo("pending", p.Pending.Max))
			return
		}
	}
	if a.key.Site != Between && a.key.Site != Ahead {
		return
	}
	if p := a.pool(side, ExecutorKind); p != nil && p.Exhausted() && s.Wait > leastPooled {
		wait, n := a.poolWait(side, p.Name, ExecutorKind, a.name(a.key.Target))
		if n == 0 || wait >= s.Wait/alike {
			a.v.Resource = p.Name
			a.say("metrics", ServerQueue, "executor %s of %s: active %.0f of %.0f at most%s", p.Name, p.Service, p.Used.Max, p.Limit.P50, upTo("queued", p.Pending.Max))
		}
	}
}

// upTo says the most of what may not have been measured.
func upTo(what string, most float64) string {
	if math.IsNaN(most) {
		return ""
	}
	return prose.Sprintf(", %s up to %.0f", what, most)
}

// A poolSays is what the metrics of an edge's pool say of one side.
type poolSays struct {
	view          *metric.PoolView
	places        int
	wait, hold    float64 // means, ns; NaN if nothing does
	waits         uint64
	used, pending float64 // means over all instances, NaN likewise
}

func (a *asker) poolSays(side int, s *Side) poolSays {
	x := poolSays{wait: math.NaN(), hold: math.NaN(), used: math.NaN(), pending: math.NaN()}
	if x.view = a.pool(side, ConnectionKind); x.view == nil {
		return x
	}
	if l := x.view.Limit; l.Seconds > 0 && l.P50 >= 1 {
		x.places = int(l.P50)
	}
	var held, holds float64
	add := func(to *float64, l metric.Levels) {
		if l.Seconds > 0 {
			if math.IsNaN(*to) {
				*to = 0
			}
			*to += l.Mean
		}
	}
	for i := range a.sets[side].Pools {
		p := &a.sets[side].Pools[i]
		if p.Service != x.view.Service || p.Kind != x.view.Kind || p.Name != x.view.Name {
			continue
		}
		add(&x.used, p.Used)
		add(&x.pending, p.Pending)
		if p.Use.Count > 0 && !math.IsNaN(p.Use.MeanMS) {
			held, holds = held+p.Use.MeanMS*1e6*float64(p.Use.Count), holds+float64(p.Use.Count)
		}
	}
	rate := s.PerSecond / a.sets[side].kept()
	if wait, n := a.poolWait(side, x.view.Name, ConnectionKind, x.view.Service); n > 0 {
		x.wait, x.waits = wait, n
	} else if rate > 0 {
		x.wait = x.pending / rate * 1e9 // by Little's law
	}
	switch {
	case holds > 0:
		x.hold = held / holds
	case rate > 0:
		x.hold = x.used / rate * 1e9
	}
	return x
}

// about says what a pool's metrics say.
func (a *asker) about(x *poolSays) string {
	name := x.view.Name
	if name == "" {
		name = "of " + x.view.Service
	}
	text := "pool " + name
	if x.waits > 0 {
		text += prose.Sprintf(", %d waits of %s on average", int(x.waits), prose.Ns(x.wait))
	} else if !math.IsNaN(x.pending) {
		text += prose.Sprintf(", %.2g waiting on average, %.0f at most", x.pending, x.view.Pending.Max)
	}
	if u := x.view.Used; u.Seconds > 0 {
		text += prose.Sprintf(", used %.0f", u.Max)
		if x.places > 0 {
			text += prose.Sprintf(" of %d", x.places)
		}
		text += " at most"
	}
	return text
}
