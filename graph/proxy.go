package graph

import (
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// A sidecar is the proxy of one workload. It sees the calls that the workload
// serves and makes, in spans of its own around theirs:
//
//	caller   |---------------------------|   client
//	 outbound |-------------------------|    the caller's sidecar
//	  inbound   |---------------------|      the callee's sidecar
//	   callee       |---------------|        server
//
// Such spans are places from which a call was observed and no hops: they are
// folded into the call. From the inbound span's start to the callee's the call
// had reached the callee's host and waited to be served.

// inboundProxy is the evidence of a wait between a sidecar and its application.
const inboundProxy = "inbound proxy"

// sidecar reports whether a span was recorded by a sidecar, by what Envoy and
// Istio write into it. A gateway, whose node id begins otherwise, is a workload
// of its own.
func (b *Builder) sidecar(t *Tree, n Node) bool {
	for _, a := range b.store.Attrs(t.Spans[n]) {
		switch a.Key {
		case b.keys.component:
			if b.store.Text(a.Value) != "proxy" {
				return false
			}
		case b.keys.nodeID:
			if id := b.store.Text(a.Value); id != "" && !strings.HasPrefix(id, "sidecar~") {
				return false
			}
		default:
			continue
		}
		return true
	}
	return false
}

// fronts reports whether sidecar span p belongs to the workload that recorded
// span n.
func (b *Builder) fronts(t *Tree, p, n Node) bool {
	service := b.store.String(t.service(n))
	s := b.store
	if v := s.Attr(t.Spans[p], "istio.canonical_service"); v != 0 {
		return s.Text(v) == service
	}
	own := s.String(t.service(p))
	name, _, _ := strings.Cut(own, ".") // workload.namespace
	return own == service || name == service
}

// application is the server span of the workload around which sidecar span n
// stands: n itself where it is no sidecar's, or serves anything else besides.
func (b *Builder) application(t *Tree, n Node) Node {
	for t.kind(n) == trace.KindServer && b.sidecar(t, n) {
		kids := t.Children(n)
		if len(kids) != 1 || t.kind(kids[0]) != trace.KindServer || t.flags(kids[0])&trace.FollowsFrom != 0 {
			return n
		}
		if !b.sidecar(t, kids[0]) && !b.fronts(t, n, kids[0]) {
			return n
		}
		n = kids[0]
	}
	return n
}

// outbound is the innermost client span of the call that n begins: that of n's
// own sidecar where it has one.
func (b *Builder) outbound(t *Tree, n Node) Node {
	for {
		kids := t.Children(n)
		if len(kids) != 1 || t.kind(kids[0]) != trace.KindClient || !b.sidecar(t, kids[0]) || !b.sidecar(t, n) && !b.fronts(t, kids[0], n) {
			return n
		}
		n = kids[0]
	}
}

// observed notes that the call at hand waited from the start of its sidecar's
// span to that of the application's own.
func (b *Builder) observed(t *Tree, call int32, proxy, app Node) {
	v := trace.Interval{Start: t.Interval(proxy).Start, End: t.Interval(app).Start}
	if v.Duration() > 0 {
		b.proxied = append(b.proxied, Wait{Call: call, Interval: v, Evidence: b.Dict.InternString(inboundProxy)})
	}
}
