package trace

import "strings"

// A ValueType is the type of an attribute value.
type ValueType uint8

const (
	Empty ValueType = iota // no value
	String
	Int
	Double
	Bool
	Bytes // text is the bytes themselves
	JSON  // an array or a key-value list; text is its OTLP JSON
)

// A Value is an interned attribute value: its type and its text. Zero is no
// value.
type Value uint32

const (
	valueBits       = 29
	valueMask Value = 1<<valueBits - 1
)

// MakeValue is the value of a type with a text; zero for Empty.
func MakeValue(t ValueType, text StringID) Value {
	if t == Empty {
		return 0
	}
	return Value(t)<<valueBits | Value(text)
}

// Type is the type of v.
func (v Value) Type() ValueType { return ValueType(v >> valueBits) }

func (v Value) text() StringID { return StringID(v & valueMask) }

// TextID is the id of v's text.
func (v Value) TextID() StringID { return v.text() }

// WithText is a value of v's type with another text.
func (v Value) WithText(id StringID) Value {
	if v == 0 {
		return 0
	}
	return v&^valueMask | Value(id)
}

// An Attr is an interned attribute.
type Attr struct {
	Key   StringID
	Value Value
}

// A RawValue is an attribute value as a decoder has it.
type RawValue struct {
	Type   ValueType
	Bytes  []byte  // of String, Bytes and JSON; valid only during the call it is passed to
	Int    int64   // of Int; 0 or 1 of Bool
	Double float64 // of Double
}

// A RawAttr is an attribute as a decoder has it.
type RawAttr struct {
	Key   []byte
	Value RawValue
}

// analysed is the one list of attributes that are kept of every span. Spans
// that can be the entry of a request, and resources, keep all of theirs.
var analysed = set(
	// Who was called.
	"peer.service", "service.peer.name", "server.address", "server.port", "net.peer.name", "net.peer.port", "net.sock.peer.name",
	"network.peer.address", "network.peer.port", "http.host", "http.url", "url.full", "url.path", "url.template", "http.target", "address",
	"peer.hostname", "peer.address",
	// HTTP.
	"http.request.method", "http.method", "http.route", "http.response.status_code", "http.status_code",
	"http.request.resend_count", "http.resend_count", "previous-rpc-attempts", "http.response.header.content-type", "http.response.header.content_type", "http.request.header.x-request-start",
	"http.request.header.x-queue-start", "http.request.header.upgrade", "http.response.header.upgrade", "component",
	// RPC.
	"rpc.system", "rpc.system.name", "rpc.service", "rpc.method", "rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code", "grpc.timeout",
	"rpc.method.type", "grpc.method.type", "message.type", "rpc.message.type",
	// Databases.
	"db.system", "db.system.name", "db.name", "db.namespace", "db.operation", "db.operation.name", "db.collection.name", "db.sql.table",
	"db.query.summary", "db.instance", "db.type", "db.pool.wait_time_ms", "db.client.connection.pool.name", "pool.name", "db.response.status_code",
	// Messaging.
	"messaging.system", "messaging.destination.name", "messaging.destination", "messaging.operation", "messaging.operation.name",
	"messaging.operation.type", "messaging.batch.message_count", "messaging.message.id", "message_bus.destination",
	// Outcome.
	"error", "error.type", "exception.type", "otel.status_code", "cancelled", "timeout",
	// Identity of work.
	"cache.hit", "cache.key", "enduser.id", "graphql.operation.name", "graphql.operation.type",
	// Waiting and threads.
	"thread.name", "thread.id", "code.function", "code.function.name", "executor.name", "queue.name", "queue.time_ms", "http.server.request.time_in_queue",
	// Sidecars of a service mesh.
	"istio.canonical_service", "node_id",
	// Serverless.
	"faas.trigger", "faas.coldstart", "faas.name", "faas.invoked_name",
	// Kind where the format has no field of its own.
	"span.kind",
)

func set(keys ...string) map[string]bool {
	m := make(map[string]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}

// A DeclaredWait is what a user says of an attribute whose value is a time spent
// waiting.
type DeclaredWait struct {
	UnitNS            float64 // of its value
	Resource          string  // what was waited for, if always the same
	ResourceAttribute string  // names it otherwise
	Before            bool    // the wait lies before the span's start, not at its beginning
}

// Analysed reports whether the attribute is kept of every span: it is on the
// list, or its name says that it tells of waiting.
func Analysed(key string) bool {
	return analysed[key] || WaitAttribute(key)
}

// WaitAttribute reports whether an attribute's name says that its value is a
// time spent waiting; it recognises teams' own names.
func WaitAttribute(key string) bool {
	return strings.HasSuffix(key, "wait_ms") || strings.HasSuffix(key, "wait_time") || strings.HasSuffix(key, "wait_time_ms") ||
		strings.HasSuffix(key, "queue_time") || strings.HasSuffix(key, "queue_time_ms") || strings.HasSuffix(key, "time_in_queue")
}

// WaitName reports whether the name of a span or event says that it is a wait:
// for a connection of a pool, for a place in an executor, in a queue.
func WaitName(name string) bool {
	n := strings.ToLower(name)
	for _, w := range waitNames {
		if n == w || strings.HasSuffix(n, "."+w) || strings.HasSuffix(n, " "+w) || strings.HasPrefix(n, w+" ") {
			return true
		}
	}
	return false
}

var waitNames = []string{
	"pool.acquire", "pool acquire", "acquire", "acquire connection", "connection.acquire", "acquire_connection", "acquireconnection",
	"getconnection", "get connection", "get_connection", "getconn", "http.getconn", "pool.get", "pool.connect", "pg-pool.connect", "pool.checkout", "pool.borrow", "pool.lease",
	"connection.borrow", "borrow connection", "lease connection", "wait_for_connection", "pool.waiting", "pool wait", "pool.wait",
	"checkout connection", "connection checkout", "http_server.queue", "queue wait", "queue.wait", "queued", "wait for connection",
	"waiting for connection", "connection wait", "semaphore.acquire", "semaphore wait", "admission wait", "admission.wait",
	"cold start", "coldstart", "cold_start", "faas.init", "executor wait", "executor.wait", "executor.queue", "executor queue", "threadpool.wait", "lock wait",
}
