package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// instrumented is a program with the OpenTelemetry SDK, for scripts:
//
//	instrumented PROTOCOL REQUESTS MILLISECONDS EXIT
//
// It takes where to send from the environment, sends requests that took so long,
// and ends with the exit code.
func instrumented() {
	ctx := context.Background()
	var exporter sdktrace.SpanExporter
	var err error
	if os.Args[1] == "grpc" {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		panic(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))
	tracer := provider.Tracer("test")
	n, _ := strconv.Atoi(os.Args[2])
	ms, _ := strconv.Atoi(os.Args[3])
	begin := time.Now().Add(-time.Minute)
	for i := range n {
		at := begin.Add(time.Duration(i*37%60_000) * time.Millisecond)
		took := time.Duration(ms)*time.Millisecond + time.Duration(i%7)*time.Millisecond
		ctx, root := tracer.Start(ctx, "GET /cart", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at))
		_, child := tracer.Start(ctx, "SELECT", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at.Add(time.Millisecond)),
			trace.WithAttributes(attribute.String("db.system.name", "postgresql")))
		child.End(trace.WithTimestamp(at.Add(took - time.Millisecond)))
		root.End(trace.WithTimestamp(at.Add(took)))
	}
	if err := provider.Shutdown(ctx); err != nil {
		panic(err)
	}
	fmt.Println("sent", n, "requests")
	code, _ := strconv.Atoi(os.Args[4])
	os.Exit(code)
}
