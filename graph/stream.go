package graph

import (
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// A stream that a request opens lives on when the request is answered: a
// subscription, a watch, a websocket to another service.
//
//	request  |--------|
//	 stream     |---------------------------- … ---|
//
// Nobody waited for it, and how long it lives is no latency. It is a record of its
// own, as a consumer's is. A stream that ended within the request that read it is
// one of its calls: an answer that was read piece by piece was waited for.
//
// What a stream carries may be requests in turn: a server's span below a stream's
// server half, in which a message was handled, is a request too.

// apart reports whether a span begins a record of its own though its parent was
// received: a consumer's, a stream that its parent opened and left open, a message
// of a stream.
func (b *Builder) apart(t *Tree, n Node) bool {
	if t.kind(n) == trace.KindConsumer {
		return true
	}
	p := t.Parent[n]
	if p == NoNode {
		return false
	}
	if outlives(t, n, p) {
		return !b.lasts(t, n, p) && b.stream(t, n) != population.NoStream
	}
	return t.kind(n) == trace.KindServer && t.kind(p) == trace.KindServer && 2*t.Interval(n).Duration() < t.Interval(p).Duration() &&
		b.streams.Of(t.Spans[p]) != population.NoStream
}

// lasts reports whether a span is the server's half of a stream whose client's
// half, parent, begins a record itself.
func (b *Builder) lasts(t *Tree, n, parent Node) bool {
	if t.kind(n) != trace.KindServer || !b.calls(t, parent) || b.streams.Of(t.Spans[parent]) == population.NoStream {
		return false
	}
	up := t.Parent[parent]
	return up == NoNode || outlives(t, parent, up)
}

// outlives reports whether a span surely ran on when its parent had ended: on one
// clock it ended later, by more than an overhang that means nothing; on two it
// lasted longer.
func outlives(t *Tree, n, parent Node) bool {
	v, up := t.Interval(n), t.Interval(parent)
	if v.End <= up.End && v.Duration() <= up.Duration() {
		return false
	}
	over := v.Duration() - up.Duration()
	if t.Store.Resource(t.resource(n)).Host == t.Store.Resource(t.resource(parent)).Host {
		over = int64(v.End - up.End)
	}
	return over >= smallStep || over > 0 && over*overhangPart >= v.Duration()
}

// stream is why the call that begins with a span is a stream, by the word of its
// client or of its server.
func (b *Builder) stream(t *Tree, n Node) population.Stream {
	if s := b.streams.Of(t.Spans[n]); s != population.NoStream || !b.calls(t, n) {
		return s
	}
	for _, k := range t.Children(n) {
		if t.kind(k) == trace.KindServer && !outlives(t, k, n) {
			if s := b.streams.Of(t.Spans[k]); s != population.NoStream {
				return s
			}
		}
	}
	return population.NoStream
}
