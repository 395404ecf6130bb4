package population

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/trace"
)

// span is a store with one server span: its attributes as key=value, numbers as
// integers; "error" sets the status, message= the status message, state= the
// tracestate, name= the name, and resource.KEY=value is of the resource.
func span(t testing.TB, text string) (*trace.Store, trace.SpanRef) {
	t.Helper()
	s := trace.NewStore(trace.NewTables())
	return s, add(s, text)
}

func add(s *trace.Store, text string) trace.SpanRef {
	raw := trace.RawSpan{TraceID: trace.TraceID{1}, ID: 1, Start: 1, End: 2, Kind: trace.KindServer}
	var resource []trace.RawAttr
	for _, f := range strings.Fields(text) {
		key, v, _ := strings.Cut(f, "=")
		value := trace.RawValue{Type: trace.String, Bytes: []byte(v)}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			value = trace.RawValue{Type: trace.Int, Int: n}
		}
		if f == "error" {
			raw.Status = trace.StatusError
			continue
		}
		switch key {
		case "event":
			name, kind, _ := strings.Cut(v, "/")
			e := trace.RawEvent{Time: 1, Name: []byte(name)}
			if kind != "" {
				e.Attrs = []trace.RawAttr{{Key: []byte("message.type"), Value: trace.RawValue{Type: trace.String, Bytes: []byte(kind)}}}
			}
			raw.Events = append(raw.Events, e)
		case "message":
			raw.StatusMessage = []byte(strings.ReplaceAll(v, "_", " "))
		case "state":
			raw.TraceState = []byte(v)
		case "name":
			raw.Name = []byte(strings.ReplaceAll(v, "_", " "))
		default:
			if k, ok := strings.CutPrefix(key, "resource."); ok {
				resource = append(resource, trace.RawAttr{Key: []byte(k), Value: value})
			} else {
				raw.Attrs = append(raw.Attrs, trace.RawAttr{Key: []byte(key), Value: value})
			}
		}
	}
	raw.Resource = s.AddResource(resource)
	return s.Add(&raw)
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		span  string
		calls bool
		want  Outcome
	}{
		{"", false, Completed},
		{"http.response.status_code=200", false, Completed},
		{"http.response.status_code=404", false, Completed}, // an answer
		{"http.response.status_code=499", false, Cancelled},
		{"http.status_code=499 error", false, Cancelled},
		{"http.status_code=408", false, TimedOut},
		{"http.response.status_code=504 error", true, TimedOut},
		{"http.response.status_code=429", true, Rejected},
		{"http.response.status_code=503 error", false, Rejected},
		{"http.response.status_code=503 error", true, Failed}, // it had begun to work
		{"http.response.status_code=500 error error.type=TimeoutException", true, Failed},
		{"http.response.status_code=200 error", false, Failed},
		{"http.response.status_code=200 error=true", false, Failed},
		{"http.response.status_code=200 otel.status_code=ERROR", false, Failed},
		{"rpc.grpc.status_code=0", false, Completed},
		{"rpc.grpc.status_code=5", false, Completed}, // not found
		{"rpc.grpc.status_code=1", false, Cancelled},
		{"rpc.grpc.status_code=4", false, TimedOut},
		{"rpc.response.status_code=DEADLINE_EXCEEDED error", false, TimedOut},
		{"rpc.response.status_code=DeadlineExceeded error", false, TimedOut},
		{"rpc.grpc.status_code=8 error", false, Rejected},
		{"rpc.grpc.status_code=8 error", true, Failed},
		{"rpc.grpc.status_code=13 error", false, Failed},
		{"rpc.grpc.status_code=4 http.response.status_code=200", false, TimedOut}, // HTTP only carried it
		{"error error.type=context.DeadlineExceeded", false, TimedOut},
		{"error exception.type=java.util.concurrent.CancellationException", false, Cancelled},
		{"error message=context_canceled", false, Cancelled},
		{"error message=canceled:_deadline_exceeded", false, TimedOut},
		{"error error.type=NullPointerException", false, Failed},
		{"error cancelled=true", false, Cancelled},
		// Words without an error are only words.
		{"error.type=timeout", false, Completed},
		{"name=GET_/timeout", false, Completed},
		// No status at all.
		{"http.response.status_code=0 error", false, Failed},
		{"http.response.status_code=abc", false, Completed},
	} {
		s, r := span(t, c.span)
		if got := OutcomeOf(s, r, c.calls); got != c.want {
			t.Errorf("%q, calls %v: %s, want %s", c.span, c.calls, got, c.want)
		}
	}
}

func TestPopulation(t *testing.T) {
	for _, c := range []struct {
		p    Population
		want string // those it holds
	}{
		{Answered, "completed timed_out failed"},
		{Success, "completed"},
	} {
		var in []string
		for _, o := range Outcomes {
			if c.p.Holds(o) {
				in = append(in, o.String())
			}
		}
		if got := strings.Join(in, " "); got != c.want {
			t.Errorf("%s holds %s, want %s", c.p, got, c.want)
		}
		if p, err := ParsePopulation(c.p.String()); err != nil || p != c.p {
			t.Errorf("%s is read as %s, %v", c.p, p, err)
		}
	}
	if _, err := ParsePopulation("all"); err == nil {
		t.Error("a name that is none is accepted")
	}
}

func TestStreams(t *testing.T) {
	for _, c := range []struct {
		span string
		want Stream
	}{
		// 98 of these, one of each of the next two stood behind one name.
		{"name=GET_/live http.response.status_code=200", NoStream},
		{"name=GET_/live http.response.status_code=101 network.protocol.name=websocket", Upgraded},
		{`name=GET_/live http.response.status_code=200 http.response.header.content-type={"values":[{"stringValue":"text/event-stream"}]}`, EventStream},
		{"http.status_code=101", Upgraded},
		{"url.scheme=wss", Upgraded},
		{"http.response.status_code=200 http.response.header.content-type=text/event-stream;charset=utf-8", EventStream},
		{"graphql.operation.type=subscription", Subscription},
		{"rpc.service=grpc.health.v1.Health rpc.method=Watch", StreamingRPC},
		{"methodType=SERVER_STREAMING", StreamingRPC},
		{"http.route=/events/longpoll", LongPoll},
		{"url.query=EIO=4&transport=polling", LongPoll},
		{"http.scheme=ws http.status_code=200", Upgraded}, // ASGI
		{"http.url=wss://feed/prices", Upgraded},
		{"rpc.method=flagd.evaluation.v1.Service/EventStream", StreamingRPC},
		{"rpc.system=grpc event=message/SENT event=message/RECEIVED event=message/RECEIVED", StreamingRPC},
		{"url.query=index=42&wait=5m", LongPoll}, // Consul
		// Look-alikes.
		{"rpc.system=grpc event=message/SENT event=message/RECEIVED", NoStream},
		{"event=message event=message event=message", NoStream}, // a log's lines
		{"http.scheme=ws http.status_code=403", NoStream},
		{"http.request.header.upgrade=h2c", NoStream},
		{"http.response.header.transfer-encoding=chunked", NoStream},
		{"rpc.method=shop.Catalogue/ListStreams", NoStream},
		{"url.query=index=42", NoStream},
		{"http.url=https://shop/ws", NoStream},
		{"http.response.status_code=400 http.request.header.upgrade=websocket", NoStream},
		{"http.response.status_code=200 http.response.header.content-type=text/html", NoStream},
		{"graphql.operation.type=query", NoStream},
		{"http.route=/poll/results", NoStream},
		{"rpc.method=WatchList", NoStream},
		{"name=GET_/upstream", NoStream},
	} {
		s, r := span(t, c.span)
		if got := StreamOf(s, r); got != c.want {
			t.Errorf("%q: %q, want %q", c.span, got, c.want)
		}
		if got := NewStreamFinder(s).Of(r); got != c.want {
			t.Errorf("%q: found %q, want %q", c.span, got, c.want)
		}
	}
}

func TestTraceState(t *testing.T) {
	for _, c := range []struct {
		text   string
		weight float64
		want   Sampling
	}{
		{"ot=th:0", 1, Stated},
		{"ot=th:ff", 256, Stated},                 // kept 1/256
		{"ot=th:8", 2, Stated},                    // rejected 8/16
		{"ot=th:c", 4, Stated},                    //
		{"ot=th:fd70a3d70a3d7", 100, Stated},      // 1 %, as SDKs round it
		{"ot=th:ffffff", 1 << 24, Stated},         //
		{"ot=rv:9b8233f7e3a151;th:8", 2, Stated},  // a random value beside it
		{"vendor=x, ot=th:8 ,other=y", 2, Stated}, // other members
		{"ot=p:8", 256, Stated},
		{"ot=p:0;r:5", 1, Stated},
		{"ot=p:63", 0, Stated},
		{"ot=p:3;th:8", 2, Stated}, // the newer word
		{"", 1, Unstated},
		{"vendor=th:8", 1, Unstated},
		{"xot=th:8", 1, Unstated},
		{"ot=rv:9b8233f7e3a151", 1, Unstated},
		{"ot=th:", 1, Unreadable},
		{"ot=th:xyz", 1, Unreadable},
		{"ot=th:-1", 1, Unreadable},
		{"ot=th:0x1", 1, Unreadable},
		{"ot=th:000000000000000", 1, Unreadable}, // 15 digits
		{"ot=th:ffffffffffffff", 1, Unreadable},  // one in 2^56
		{"ot=p:64", 1, Unreadable},
		{"ot=p:40", 1, Unreadable},
		{"ot=p:x", 1, Unreadable},
	} {
		w, got := ParseTraceState(c.text)
		if got != c.want || math.Abs(w.Float()/c.weight-1) > 1e-6 && w.Float() != c.weight {
			t.Errorf("%q: %v, %s; want %v, %s", c.text, w.Float(), got, c.weight, c.want)
		}
	}
	if w, _ := ParseTraceState("ot=th:ff"); w != 256*One {
		t.Errorf("a power of two is not exact: %d", w)
	}
}

// The weight is 2^56 / (2^56 − T), to half a unit.
func TestWeightIsRounded(t *testing.T) {
	for _, digits := range []string{"1", "2", "5555", "aaaa", "fd70a3d70a3d7", "fffffe", "00000000000001"} {
		w, _ := ofThreshold(digits)
		n, _ := strconv.ParseUint(digits+strings.Repeat("0", 14-len(digits)), 16, 64)
		want := math.Ldexp(1, 56) / (math.Ldexp(1, 56) - float64(n)) * float64(One)
		if math.Abs(float64(w)-want) > 0.5+want*1e-15 {
			t.Errorf("th:%s weighs %d units, want %.3f", digits, w, want)
		}
	}
}

// Ten errors were all kept, and one in 256 of the rest: 30 spans stand for
// 10 + 20·256 = 5,130 requests.
func TestTailSampledSet(t *testing.T) {
	s := trace.NewStore(trace.NewTables())
	var total, failed Weight
	for i := range 30 {
		text := "http.response.status_code=200 state=ot=th:ff"
		if i < 10 {
			text = "http.response.status_code=500 error state=ot=th:0"
		}
		r := add(s, text)
		w, sampling := WeightOf(s, r)
		if sampling != Stated {
			t.Fatal(sampling)
		}
		total += w
		if OutcomeOf(s, r, false) == Failed {
			failed += w
		}
	}
	if total.Float() != 5130 || failed.Float() != 10 {
		t.Errorf("%v requests, %v failed", total.Float(), failed.Float())
	}
}

func TestJaegerSampler(t *testing.T) {
	for _, c := range []struct {
		span   string
		weight float64
		want   Sampling
	}{
		{"sampler.type=probabilistic sampler.param=0.01", 100, Stated},
		{"sampler.type=probabilistic sampler.param=0", 1, Unreadable},
		{"sampler.type=const sampler.param=true", 1, Unstated},
		{"sampler.type=ratelimiting sampler.param=2", 1, Unmeasured},
		{"sampler.type=probabilistic sampler.param=0.01 state=ot=th:8", 2, Stated},
	} {
		s, r := span(t, c.span)
		if w, got := WeightOf(s, r); w.Float() != c.weight || got != c.want {
			t.Errorf("%q: %v, %s", c.span, w.Float(), got)
		}
	}
}

func FuzzParseTraceState(f *testing.F) {
	for _, text := range []string{"ot=th:ff", "ot=p:8;r:3,a=b", "ot=", ",,ot=th:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, s := ParseTraceState(text)
		if w < 0 || w > maxWeight || w != One && s != Stated || w == 0 && !strings.Contains(text, "p:") {
			t.Errorf("%d, %s", w, s)
		}
	})
}

func TestRules(t *testing.T) {
	c, err := config.Parse([]byte(`
class: {attribute: tier, values: [gold, silver], default: silver}
exclude:
- {name: probe, attribute: ua, values: ["*probe*"]}
- {name: load, attribute: test.run}
- {name: health, operation: "GET /health*"}
- {name: shop-test, service: shop, attribute: k, values: [a]}
`))
	if err != nil {
		t.Fatal(err)
	}
	rules := New(c)
	for _, x := range []struct{ span, operation, class, excluded string }{
		{"tier=gold", "GET /", "gold", ""},
		{"resource.tier=gold", "GET /", "gold", ""},
		{"tier=gold resource.tier=silver", "GET /", "gold", ""},
		{"tier=lead", "GET /", "other", ""},
		{"", "GET /", "silver", ""},
		{"ua=kube-probe/1", "GET /", "silver", "probe"},
		{"ua=curl", "GET /", "silver", ""},
		{"test.run=7", "GET /", "silver", "load"},
		{"", "GET /healthz", "silver", "health"},
		{"k=a", "GET /", "silver", ""}, // of another service
		{"user_agent.synthetic.type=test", "GET /", "silver", "synthetic"},
		{"user_agent.synthetic.type=bot", "GET /", "silver", ""}, // a crawler is a visitor
	} {
		s, r := span(t, x.span)
		name, ok := rules.Excluded(s, r, "cart", x.operation)
		if class := rules.Class(s, r); class != x.class || name != x.excluded || ok != (x.excluded != "") {
			t.Errorf("%q %s: class %q, excluded as %q; want %q, %q", x.span, x.operation, class, name, x.class, x.excluded)
		}
	}
	s, r := span(t, "k=a")
	if name, _ := rules.Excluded(s, r, "shop", "GET /"); name != "shop-test" {
		t.Errorf("excluded as %q", name)
	}
	if class := New(nil).Class(s, r); class != "" {
		t.Errorf("class %q without a configuration", class)
	}
}

func Example() {
	s := trace.NewStore(trace.NewTables())
	r := add(s, "http.response.status_code=504 error state=ot=th:c")
	weight, _ := WeightOf(s, r)
	fmt.Println(OutcomeOf(s, r, true), weight.Float(), Answered.Holds(TimedOut), Success.Holds(TimedOut))
	// Output: timed_out 4 true false
}
