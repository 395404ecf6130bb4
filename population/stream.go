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
	if !answered && (has("websocket", "http.request.header.upgrade", "http.response.header.upgrade")) {
		return Upgraded
	}
	// What speaks a protocol of its own was not refused if it succeeded: over HTTP/2 an
	// upgrade is a 200, and some libraries record one where messages were sent.
	if (!answered || code/100 == 2) && (has("websocket", "network.protocol.name") || isAny(s.AttrText(r, "url.scheme", "http.scheme"), "ws", "wss") ||
		websocketURL(s.AttrText(r, "url.full", "http.url"))) {
		return Upgraded
	}
	if has("text/event-stream", "http.response.header.content-type", "http.response.header.content_type") {
		return EventStream
	}
	if s.AttrText(r, "graphql.operation.type") == "subscription" {
		return Subscription
	}
	if has("stream", "rpc.method.type", "grpc.method.type", "methodType") || streamingMethod(s.AttrText(r, "rpc.method")) || severalMessages(s, r) {
		return StreamingRPC
	}
	for _, text := range []string{s.String(s.Name(r)), s.AttrText(r, "http.route", "url.path", "http.target")} {
		if longPoll(text) {
			return LongPoll
		}
	}
	if query := strings.ToLower(s.AttrText(r, "url.query", "url.full", "http.url", "http.target")); waitsForChange(query) {
		return LongPoll
	}
	return NoStream
}

// A StreamFinder is StreamOf for every span of a store: it asks only of spans with
// a word that may tell, and remembers the words.
type StreamFinder struct {
	s     *trace.Store
	tells []uint8 // by string
}

// NewStreamFinder returns a StreamFinder over s.
func NewStreamFinder(s *trace.Store) *StreamFinder { return &StreamFinder{s: s} }

// Of is StreamOf.
func (f *StreamFinder) Of(r trace.SpanRef) Stream {
	may := f.word(f.s.Name(r)) || len(f.s.Events(r)) > 2
	for _, a := range f.s.Attrs(r) {
		may = may || f.word(a.Value.TextID())
	}
	if !may {
		return NoStream
	}
	return StreamOf(f.s, r)
}

// word reports whether a text may be what makes a span a stream.
func (f *StreamFinder) word(id trace.StringID) bool {
	const no, yes = 1, 2
	if n := int(id) + 1 - len(f.tells); n > 0 {
		f.tells = append(f.tells, make([]uint8, max(n, len(f.tells)))...)
	}
	if f.tells[id] == 0 {
		f.tells[id] = no
		text := strings.ToLower(f.s.String(id))
		for _, w := range streamWords {
			if strings.Contains(text, w) {
				f.tells[id] = yes
				break
			}
		}
	}
	return f.tells[id] == yes
}

// streamWords are in all texts that StreamOf looks for.
var streamWords = []string{
	"101", "websocket", "ws", "stream", "subscription", "watch", "pull", "reflection", "keepalive", "resources", "poll", "wait=",
}

// EmptyPoll reports whether the span is a consumer's poll that brought no
// message: it lasts as long as nothing comes.
func EmptyPoll(s *trace.Store, r trace.SpanRef) bool {
	kind := s.Kind(r)
	return (kind == trace.KindConsumer || kind == trace.KindClient) && len(s.Links(r)) == 0 &&
		isAny(s.AttrText(r, "messaging.operation.type", "messaging.operation"), "receive", "poll") &&
		isAny(s.AttrText(r, "messaging.batch.message_count"), "", "0") && s.AttrText(r, "messaging.message.id") == ""
}

// Scheduled reports whether a clock began the request, by the span's own word or by
// that of the job that its process was started for.
func Scheduled(s *trace.Store, r trace.SpanRef) bool {
	return s.AttrText(r, "faas.trigger") == "timer" || s.AttrText(r, "faas.cron") != "" || s.Text(attr(s, r, "k8s.cronjob.name")) != ""
}

// streamingMethods are methods of protocols in wide use that answer when something
// changes, or for as long as both sides live.
var streamingMethods = []string{
	"Watch", // health checks, stores
	"EventStream", "StreamingPull", "ServerReflectionInfo", "LeaseKeepAlive", "StreamAggregatedResources", "DeltaAggregatedResources",
}

// streamingMethod reports whether a method, with or without its service, is
// known to be a stream.
func streamingMethod(method string) bool {
	if i := strings.LastIndexByte(method, '/'); i >= 0 {
		method = method[i+1:]
	}
	return method != "" && isAny(method, streamingMethods...)
}

// severalMessages reports whether the span's events tell of more than one message
// in one direction: a call that is no stream has one each way.
func severalMessages(s *trace.Store, r trace.SpanRef) bool {
	sent, received := 0, 0
	for _, e := range s.Events(r) {
		if s.String(e.Name) != "message" && s.String(e.Name) != "rpc.message" {
			continue
		}
		for _, a := range e.Attrs {
			if key := s.String(a.Key); key != "message.type" && key != "rpc.message.type" {
				continue
			}
			switch text := s.Text(a.Value); {
			case strings.EqualFold(text, "sent"):
				sent++
			case strings.EqualFold(text, "received"):
				received++
			}
			break
		}
	}
	return max(sent, received) > 1
}

func websocketURL(url string) bool {
	scheme, _, ok := strings.Cut(url, "://")
	return ok && (strings.EqualFold(scheme, "ws") || strings.EqualFold(scheme, "wss"))
}

// waitsForChange reports whether a query asks that the answer be kept until there
// is one: of Socket.IO, of Kubernetes, of Consul.
func waitsForChange(query string) bool {
	return strings.Contains(query, "transport=polling") || strings.Contains(query, "watch=true") ||
		strings.Contains(query, "wait=") && strings.Contains(query, "index=")
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
