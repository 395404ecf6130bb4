package population

import (
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// A Stream is why a span has a lifetime instead of a latency.
type Stream uint8

const (
	NoStream Stream = iota
	Upgraded        // a connection that changed its protocol, such as a websocket
	EventStream
	LongPoll     // a request that is meant to be left waiting
	Subscription // of GraphQL
	StreamingRPC
)

func (s Stream) String() string {
	return [...]string{"", "upgraded", "event-stream", "long-poll", "subscription", "streaming-rpc"}[s]
}

// StreamOf reports whether the span says that it is a stream. A refused upgrade,
// which answers with an ordinary status, is a request like any other.
func StreamOf(s *trace.Store, r trace.SpanRef) Stream {
	code, answered := HTTPStatus(s, r)
	if code == 101 {
		return Upgraded
	}
	has := func(word string, keys ...string) bool {
		return strings.Contains(strings.ToLower(s.AttrText(r, keys...)), word)
	}
	if !answered && (has("websocket", "network.protocol.name", "http.request.header.upgrade", "http.response.header.upgrade") ||
		isAny(s.AttrText(r, "url.scheme", "http.scheme"), "ws", "wss")) {
		return Upgraded
	}
	if has("text/event-stream", "http.response.header.content-type", "http.response.header.content_type") {
		return EventStream
	}
	if s.AttrText(r, "graphql.operation.type") == "subscription" {
		return Subscription
	}
	if has("stream", "rpc.method.type", "grpc.method.type", "methodType") {
		return StreamingRPC
	}
	if m := s.AttrText(r, "rpc.method"); m == "Watch" || strings.HasSuffix(m, "/Watch") {
		return StreamingRPC // health checks and stores: it answers when something changes
	}
	for _, text := range []string{s.String(s.Name(r)), s.AttrText(r, "http.route", "url.path", "http.target")} {
		if longPoll(text) {
			return LongPoll
		}
	}
	if has("transport=polling", "url.query", "url.full", "http.url", "http.target") || has("watch=true", "url.query", "url.full", "http.url", "http.target") {
		return LongPoll // Socket.IO; Kubernetes
	}
	return NoStream
}

// longPoll reports whether a path says so in one of its segments.
func longPoll(path string) bool {
	for segment := range strings.FieldsFuncSeq(strings.ToLower(path), func(c rune) bool { return c == '/' || c == ' ' || c == '?' }) {
		if isAny(segment, "longpoll", "long-poll", "long_poll", "longpolling", "long-polling") {
			return true
		}
	}
	return false
}

func isAny(text string, words ...string) bool {
	for _, w := range words {
		if text == w {
			return true
		}
	}
	return false
}
