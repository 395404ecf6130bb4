package analysis

import (
	"slices"
	"strings"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/trace"
)

// told says of each edge by what its waits can be told, and what would tell more.
func (in *inspector) told() {
	for i := range in.out.Edges {
		e := &in.out.Edges[i]
		if e.Kind == trace.KindProducer.String() {
			continue // nobody waits for a message to be taken
		}
		add := func(by string) { e.ToldBy = append(e.ToldBy, by) }
		for _, w := range in.out.Waits {
			if w.Service != e.Caller && w.Service != e.Callee {
				continue
			}
			if by := w.Evidence + " of " + w.Service; !slices.Contains(e.ToldBy, by) {
				add(by)
			}
		}
		switch {
		case e.Pairs > 0:
			add("client duration less server duration")
		case e.ClientOnly > 0:
			add("the gap in the caller before its client span")
		default:
			add("the gap before the server span, as far as clocks agree")
		}
		pool := in.poolOf(e.Caller, string(metric.ConnectionPool), e.Callee)
		executor := in.poolOf(e.Callee, string(metric.Executor), "")
		for _, p := range []*report.InspectedPool{pool, executor} {
			if p != nil {
				add(watched(p))
			}
		}
		if !in.set.Sampled() {
			add("calls in flight")
		}

		var emit []string
		if e.ServerOnly > 0 && e.Pairs+e.ClientOnly == 0 {
			emit = append(emit, "client spans in "+name(e.Caller))
		}
		if !e.Recorded {
			emit = append(emit, "server spans of "+name(e.Callee))
		}
		switch {
		case pool == nil && (!e.Recorded || executor == nil):
			emit = append(emit, "in use, limit, pending and wait time of the pool in "+name(e.Caller))
		case pool != nil && !pool.Wait:
			emit = append(emit, "the wait time of that pool")
		}
		if e.Recorded && executor == nil {
			emit = append(emit, "active, max and queued of the executor of "+name(e.Callee))
		}
		if in.set.Sampled() {
			emit = append(emit, "all requests of some stretch: of a sample nothing tells how many were in flight")
		}
		e.Emit = strings.Join(emit, "; ")
	}
}

// poolOf is the pool of a kind of a service that is named like a target, else its only one; nil if there is none.
func (in *inspector) poolOf(service, kind, target string) *report.InspectedPool {
	var only *report.InspectedPool
	n := 0
	for i := range in.out.Pools {
		p := &in.out.Pools[i]
		if p.Service != service || p.Kind != kind {
			continue
		}
		if target != "" && p.Name != "" && strings.Contains(strings.ToLower(p.Name), strings.ToLower(target)) {
			return p
		}
		only = p
		n++
	}
	if n == 1 {
		return only
	}
	return nil
}

// watched is what metrics record of a pool.
func watched(p *report.InspectedPool) string {
	var of []string
	if p.UsedMax.Known() {
		of = append(of, "in use")
	}
	if p.Limit.Known() {
		of = append(of, "limit")
	}
	if p.Wait {
		of = append(of, "wait time")
	}
	what := p.Kind
	if p.Name != "" {
		what += " " + p.Name
	}
	return what + " of " + p.Service + ": " + strings.Join(of, ", ")
}
