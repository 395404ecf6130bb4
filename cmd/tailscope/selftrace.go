package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// The command traces itself where the environment says so, as any program with
// an SDK does: OTEL_EXPORTER_OTLP_ENDPOINT or _TRACES_ENDPOINT, with _HEADERS,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER,
// OTEL_TRACES_EXPORTER=none and OTEL_SDK_DISABLED. Spans are sent by OTLP over
// HTTP with the encoder that convert has: the SDK's own exporter would bring a
// framework of several megabytes into every start.

// selfTrace begins the trace of a command, if it is wanted. end ends it and sends
// what is left.
func selfTrace(ctx context.Context, command string, stderr io.Writer) (traced context.Context, end func(error)) {
	none := func(error) {}
	target := tracesURL(os.Getenv)
	if target == "" {
		return ctx, none
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", "tailscope"), attribute.String("service.version", buildVersion())), resource.WithFromEnv())
	if err != nil {
		fmt.Fprintf(stderr, "tailscope: its own trace: %s\n", printable(err.Error()))
		return ctx, none
	}
	failed := func(err error) {
		fmt.Fprintf(stderr, "tailscope: its own trace was not sent: %s\n", printable(err.Error()))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failed)) // of what is sent in between
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(&sender{url: target, headers: headers(os.Getenv)}))
	ctx, span := provider.Tracer("github.com/tailscope/tailscope").Start(ctx, "tailscope "+command)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := provider.Shutdown(late); err != nil {
			failed(err)
		}
	}
}

// stage begins a step of a command, if it is traced.
func stage(ctx context.Context, name string) (context.Context, func()) {
	ctx, span := oteltrace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/tailscope/tailscope").Start(ctx, name)
	return ctx, func() { span.End() }
}

// tracesURL is where spans are sent by the environment; "" for nowhere.
func tracesURL(env func(string) string) string {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return ""
	}
	if u := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); u != "" {
		return u
	}
	if u := env("OTEL_EXPORTER_OTLP_ENDPOINT"); u != "" {
		return strings.TrimSuffix(u, "/") + "/v1/traces"
	}
	return ""
}

func headers(env func(string) string) http.Header {
	h := http.Header{}
	for _, list := range []string{env("OTEL_EXPORTER_OTLP_HEADERS"), env("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for pair := range strings.SplitSeq(list, ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				if text, err := url.PathUnescape(strings.TrimSpace(v)); err == nil {
					h.Set(strings.TrimSpace(k), text)
				}
			}
		}
	}
	return h
}

// A sender sends the spans of the SDK.
type sender struct {
	url     string
	headers http.Header
}

func (s *sender) Shutdown(context.Context) error { return nil }

func (s *sender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	tables := trace.NewTables()
	store := trace.NewStore(tables)
	store.KeepAll = true
	for _, o := range spans {
		r := trace.RawSpan{
			TraceID: trace.TraceID(o.SpanContext().TraceID()), ID: spanNumber(o.SpanContext().SpanID()), ParentID: spanNumber(o.Parent().SpanID()),
			Start: trace.Time(o.StartTime().UnixNano()), End: trace.Time(o.EndTime().UnixNano()), Kind: trace.Kind(o.SpanKind()), Name: []byte(o.Name()),
			Resource: tables.AddResource(rawAttrs(o.Resource().Attributes())), Attrs: rawAttrs(o.Attributes()),
			Scope: tables.AddScope(trace.Scope{Name: tables.InternString(o.InstrumentationScope().Name)}),
		}
		if o.Status().Code == codes.Error {
			r.Status = trace.StatusError
		}
		store.Add(&r)
	}
	var frames bytes.Buffer
	set := &ingest.Set{Tables: tables, Spans: store, Metrics: metric.NewStore(tables)}
	if err := ingest.Convert(&frames, set, ingest.ProtoFrames); err != nil {
		return err
	}
	for rest := frames.Bytes(); len(rest) >= 4; {
		n := binary.BigEndian.Uint32(rest)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(rest[4:4+n]))
		if err != nil {
			return err
		}
		req.Header = s.headers.Clone()
		req.Header.Set("Content-Type", "application/x-protobuf")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("%s answers %s", s.url, resp.Status)
		}
		rest = rest[4+n:]
	}
	return nil
}

func spanNumber(id oteltrace.SpanID) trace.SpanID {
	return trace.SpanID(binary.BigEndian.Uint64(id[:]))
}

func rawAttrs(attrs []attribute.KeyValue) (out []trace.RawAttr) {
	for _, a := range attrs {
		v := trace.RawValue{Type: trace.String, Bytes: []byte(a.Value.String())}
		switch a.Value.Type() {
		case attribute.INT64:
			v = trace.RawValue{Type: trace.Int, Int: a.Value.AsInt64()}
		case attribute.FLOAT64:
			v = trace.RawValue{Type: trace.Double, Double: a.Value.AsFloat64()}
		}
		out = append(out, trace.RawAttr{Key: []byte(a.Key), Value: v})
	}
	return out
}
