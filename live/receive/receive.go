// Package receive takes OTLP over HTTP and gRPC into a live.Engine.
//
// New returns one handler for both: POST /v1/traces and /v1/metrics with protobuf
// or JSON, and the Export methods of the gRPC services, which over HTTP/2 are
// POSTs too. A unary gRPC call is a message behind five bytes and a status behind
// the answer; the framework that clients need for more would make every start of
// the command slower. What is compressed may be so by gzip or zstd, and is bounded
// while it is unpacked.
package receive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/trace"
)

// maxRequest bounds a request, packed and unpacked.
const maxRequest = 64 << 20

// A Handler is the receiver.
type Handler struct {
	engine   *live.Engine
	decoders sync.Pool     // of decoder
	requests chan struct{} // as many may be under way

	logs, damaged, spans atomic.Int64
}

// A decoder is what a request is read with.
type decoder struct {
	ingest.Decoder
	clean trace.Cleaner
}

// New returns a receiver for the engine. The policy says which attribute values are
// kept; nil: all.
func New(e *live.Engine, p *redact.Policy) *Handler {
	return &Handler{engine: e, requests: make(chan struct{}, 64), decoders: sync.Pool{New: func() any {
		d := new(decoder)
		if p != nil {
			d.clean = redact.NewCleaner(p)
		}
		return d
	}}}
}

// Logs is how many log records came. They are taken, and not used.
func (h *Handler) Logs() int64 { return h.logs.Load() }

// Spans is how many spans were taken.
func (h *Handler) Spans() int64 { return h.spans.Load() }

// Damaged is how many requests could not be read.
func (h *Handler) Damaged() int64 { return h.damaged.Load() }

// Server returns a server of both protocols, without TLS.
func (h *Handler) Server() *http.Server {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// Loopback reports whether an address can be reached from this machine alone.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

var grpcPaths = map[string]string{
	"/opentelemetry.proto.collector.trace.v1.TraceService/Export":     "/v1/traces",
	"/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "/v1/metrics",
	"/opentelemetry.proto.collector.logs.v1.LogsService/Export":       "/v1/logs",
}

// ServeHTTP takes one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "application/grpc" || media == "application/grpc+proto" {
		h.grpc(w, r)
		return
	}
	h.http(w, r)
}

// A failure is an answer that is no success.
type failure struct {
	status  int // of HTTP
	message string
}

func (f *failure) Error() string { return f.message }

func fail(status int, format string, args ...any) error {
	return &failure{status, fmt.Sprintf(format, args...)}
}

// http takes a request of OTLP/HTTP.
func (h *Handler) http(w http.ResponseWriter, r *http.Request) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	asJSON := media == "application/json"
	answer := func(status int, body []byte) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		if asJSON {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	rejected, message, err := func() (int64, string, error) {
		switch {
		case r.URL.Path != "/v1/traces" && r.URL.Path != "/v1/metrics" && r.URL.Path != "/v1/logs":
			return 0, "", fail(http.StatusNotFound, "no OTLP path; there are /v1/traces, /v1/metrics and /v1/logs")
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			return 0, "", fail(http.StatusMethodNotAllowed, "OTLP is sent by POST")
		case !asJSON && media != "application/x-protobuf" && media != "application/protobuf":
			return 0, "", fail(http.StatusUnsupportedMediaType, "the content type must be application/x-protobuf or application/json")
		}
		body, err := unpack(r.Body, r.Header.Get("Content-Encoding"))
		if err != nil {
			return 0, "", err
		}
		return h.take(r, r.URL.Path, body, asJSON)
	}()
	if err != nil {
		status := http.StatusInternalServerError
		var f *failure
		if errors.As(err, &f) {
			status = f.status
		}
		if asJSON {
			body, _ := json.Marshal(map[string]any{"code": code(status), "message": err.Error()})
			answer(status, body)
			return
		}
		answer(status, appendText(appendVarint(nil, 1, uint64(code(status))), 2, err.Error()))
		return
	}
	if asJSON {
		body := []byte("{}")
		if rejected > 0 {
			field := "rejectedSpans"
			if r.URL.Path == "/v1/metrics" {
				field = "rejectedDataPoints"
			}
			body, _ = json.Marshal(map[string]any{"partialSuccess": map[string]any{field: strconv.FormatInt(rejected, 10), "errorMessage": message}})
		}
		answer(http.StatusOK, body)
		return
	}
	answer(http.StatusOK, partial(rejected, message))
}

// partial is a response of protobuf.
func partial(rejected int64, message string) []byte {
	if rejected == 0 {
		return nil
	}
	inner := appendText(appendVarint(nil, 1, uint64(rejected)), 2, message)
	return appendText(nil, 1, string(inner))
}

func appendVarint(to []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(append(to, byte(field<<3)), v)
}

func appendText(to []byte, field int, v string) []byte {
	return append(binary.AppendUvarint(append(to, byte(field<<3|2)), uint64(len(v))), v...)
}

// code is the gRPC code of a status of HTTP.
func code(status int) int {
	switch status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType:
		return 3 // invalid argument
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return 12 // unimplemented
	case http.StatusRequestEntityTooLarge:
		return 8 // resource exhausted
	case http.StatusServiceUnavailable:
		return 14 // unavailable
	}
	return 13 // internal
}

// grpc takes a unary call.
func (h *Handler) grpc(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Accept-Encoding", "gzip,zstd,identity")
	end := func(code int, message string) {
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(code))
		if message != "" {
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", percent(message))
		}
	}
	rejected, message, err := func() (int64, string, error) {
		path, ok := grpcPaths[r.URL.Path]
		if !ok {
			return 0, "", fail(http.StatusNotFound, "no such method: %s", strings.ToValidUTF8(r.URL.Path, "?"))
		}
		var head [5]byte
		if _, err := io.ReadFull(r.Body, head[:]); err != nil {
			return 0, "", fail(http.StatusBadRequest, "the message is cut off")
		}
		n := binary.BigEndian.Uint32(head[1:])
		if n > maxRequest {
			return 0, "", fail(http.StatusRequestEntityTooLarge, "the message has %d bytes; at most %d are taken", n, maxRequest)
		}
		encoding := ""
		if head[0] == 1 {
			encoding = r.Header.Get("Grpc-Encoding")
		}
		packed := io.LimitReader(r.Body, int64(n))
		body, err := unpack(packed, encoding)
		if err != nil {
			return 0, "", err
		}
		if rest, _ := io.Copy(io.Discard, packed); encoding == "" && len(body) < int(n) || rest > 0 {
			return 0, "", fail(http.StatusBadRequest, "the message is cut off")
		}
		return h.take(r, path, body, false)
	}()
	if err != nil {
		status := http.StatusInternalServerError
		var f *failure
		if errors.As(err, &f) {
			status = f.status
		}
		w.WriteHeader(http.StatusOK)
		c := code(status)
		if errors.Is(err, errEncoding) {
			c = 12
		}
		end(c, err.Error())
		return
	}
	body := partial(rejected, message)
	var head [5]byte
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)))
	_, _ = w.Write(append(head[:], body...))
	end(0, "")
}

// percent is a message as a trailer may hold it.
func percent(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

var errEncoding = &failure{http.StatusUnsupportedMediaType, "the encoding must be gzip, zstd or identity"}

// unpack reads a body.
func unpack(r io.Reader, encoding string) ([]byte, error) {
	r = io.LimitReader(r, maxRequest+1)
	switch strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "the body is not gzip: %v", err)
		}
		defer z.Close()
		r = z
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRequest), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fail(http.StatusBadRequest, "the body is not zstd: %v", err)
		}
		defer z.Close()
		r = z
	default:
		return nil, errEncoding
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r, maxRequest+1))
	if n > maxRequest {
		return nil, fail(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", maxRequest)
	}
	if err != nil {
		return nil, fail(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	return b.Bytes(), nil
}

// take decodes a request and gives it to the engine.
func (h *Handler) take(r *http.Request, path string, body []byte, asJSON bool) (rejected int64, message string, err error) {
	select {
	case h.requests <- struct{}{}:
		defer func() { <-h.requests }()
	case <-r.Context().Done():
		return 0, "", fail(http.StatusServiceUnavailable, "the client went away")
	}
	d := h.decoders.Get().(*decoder)
	defer h.decoders.Put(d)
	set, err := d.Decode(body, asJSON)
	if err != nil {
		h.damaged.Add(1)
		return 0, "", fail(http.StatusBadRequest, "%v", err)
	}
	h.logs.Add(set.LogRecords)
	if path == "/v1/logs" {
		return 0, "", nil
	}
	err = h.engine.Add(func(in *live.Intake) {
		in.Store(set.Spans, set.Metrics, d.clean)
		if path == "/v1/traces" {
			for range set.Rejected {
				in.Reject()
			}
		}
	})
	if err != nil {
		return 0, "", fail(http.StatusServiceUnavailable, "the receiver is shutting down")
	}
	h.spans.Add(int64(set.Spans.Len()))
	if errs := set.Files[0].Errors; len(errs) > 0 {
		message = errs[0].Message
	}
	return set.Rejected, message, nil
}
