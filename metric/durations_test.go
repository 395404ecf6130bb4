package metric

import (
	"testing"
)

func TestDurations(t *testing.T) {
	ds := fold(t, `
		http.server.request.duration hist s=1 t=60 n=90 sum=9 b=0.1,1 c=80,10,0 unit=s http.request.method=GET http.route=/home http.response.status_code=200 inst=1 ex=0.9:a:1f@50
		http.server.request.duration hist s=1 t=60 n=10 sum=5 b=0.1,1 c=0,10,0 unit=s http.request.method=GET http.route=/home http.response.status_code=503 error.type=503 inst=2
		http.server.duration hist s=1 t=60 n=100 sum=14000 b=100,1000 c=80,20,0 unit=ms http.method=GET http.route=/home
		rpc.server.duration hist s=1 t=60 n=4 sum=20 b=10 c=4,0 unit=ms rpc.service=shop.Cart rpc.method=Get rpc.grpc.status_code=0
		http.server.request.duration hist s=1 t=60 n=1 sum=1 b=1 c=1,0 unit=s http.request.method=GET`).Durations(Window{}, nil)
	if len(ds) != 3 {
		t.Fatalf("%d operations: %+v", len(ds), ds)
	}
	bare, home, cart := ds[0], ds[1], ds[2]
	if bare.Operation != "GET" || home.Operation != "GET /home" || cart.Operation != "shop.Cart/Get" {
		t.Errorf("operations %q, %q, %q", bare.Operation, home.Operation, cart.Operation)
	}
	// Two instances, 90 + 10 requests; the old name repeats them and is left out.
	if home.Name != "http.server.request.duration" || home.Total.Count != 100 || home.Total.Mean() != 140 {
		t.Errorf("%s: %d of %v ms", home.Name, home.Total.Count, home.Total.Mean())
	}
	if lo, hi := home.Total.Quantile(0.99); lo != 100 || hi != 1000 {
		t.Errorf("p99 in [%v, %v] ms", lo, hi)
	}
	if len(home.ByStatus) != 2 || home.ByStatus[0].Status != "200" || home.ByStatus[0].Count != 90 || home.ByStatus[0].Failed ||
		home.ByStatus[1].Status != "503" || home.ByStatus[1].Count != 10 || !home.ByStatus[1].Failed {
		t.Errorf("by status: %+v", home.ByStatus)
	}
	if len(home.Exemplars) != 1 || home.Exemplars[0].Value != 900 || home.Exemplars[0].SpanID != 0x1f || home.Exemplars[0].Time != 50*second {
		t.Errorf("exemplars %+v", home.Exemplars)
	}
}

// Span metrics count the spans of other services, those of clients too.
func TestSpanMetrics(t *testing.T) {
	ds := fold(t, `
		traces.span.metrics.duration hist s=1 t=60 n=5 sum=50 b=100 c=5,0 unit=ms service.name=cart span.name=GET_/cart span.kind=SPAN_KIND_SERVER status.code=STATUS_CODE_ERROR svc=collector
		traces.span.metrics.duration hist s=1 t=60 n=7 sum=70 b=100 c=7,0 unit=ms service.name=cart span.name=SELECT span.kind=SPAN_KIND_CLIENT svc=collector`).Durations(Window{}, nil)
	if len(ds) != 1 || ds[0].Service != "cart" || ds[0].Operation != "GET_/cart" || ds[0].Total.Count != 5 || !ds[0].ByStatus[0].Failed {
		t.Errorf("%+v", ds)
	}
}

func TestSignals(t *testing.T) {
	signals := fold(t, `
		process.cpu.utilization gauge t=10 v=0.25 cpu.mode=user
		process.cpu.utilization gauge t=10 v=0.5 cpu.mode=system
		process.cpu.time sum+ s=10 t=20 v=5.0 unit=s cpu.mode=user
		process.cpu.time sum+ s=10 t=30 v=20.0 unit=s cpu.mode=user
		nodejs.eventloop.delay.p99 gauge t=10 v=0.03 unit=s
		jvm.gc.duration dhist s=10 t=20 n=2 sum=0.5 unit=s jvm.gc.name=a
		jvm.gc.duration dhist s=10 t=20 n=2 sum=0.7 unit=s jvm.gc.name=b
		jvm.memory.used gauge t=10 v=7`).Signals(Window{}, nil)
	if len(signals) != 4 {
		t.Fatalf("%d signals: %+v", len(signals), signals)
	}
	gc, lag, cpu, share := signals[0], signals[1], signals[2], signals[3]
	// 4 pauses, 1.2 s in all.
	if gc.Role != GCPause || gc.Times.Count != 4 || !equal(gc.Times.MeanMS, 300) {
		t.Errorf("pauses %+v", gc)
	}
	// 20 CPU seconds between 10 s and 30 s.
	if cpu.Role != CPUTime || cpu.PerSecond != 1 {
		t.Errorf("CPU time %+v", cpu)
	}
	if share.Role != CPUShare || share.Levels.Max != 0.75 {
		t.Errorf("CPU share %+v", share)
	}
	if lag.Role != EventLoopLag || lag.Levels.Max != 30 {
		t.Errorf("lag %+v", lag)
	}
}
