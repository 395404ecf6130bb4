package summary

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// pages is n requests of one endpoint, each with a call, that take as long as of
// says; those for which failed holds end in an error.
func pages(n int, service string, of func(i int) int64, failed func(i int) bool) *trace.Store {
	s := trace.NewStore(trace.NewTables())
	res := s.AddResource([]trace.RawAttr{{Key: []byte("service.name"), Value: trace.RawValue{Type: trace.String, Bytes: []byte(service)}}})
	for i := range n {
		id := trace.TraceID{0: 1, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		at := tracetest.T0 + trace.Time(i)*1_000_000_000
		status := trace.StatusUnset
		if failed(i) {
			status = trace.StatusError
		}
		s.Add(&trace.RawSpan{TraceID: id, ID: 1, Name: []byte("GET /"), Kind: trace.KindServer, Start: at, End: at + trace.Time(of(i)), Resource: res, Status: status})
		s.Add(&trace.RawSpan{TraceID: id, ID: 2, ParentID: 1, Name: []byte("look up"), Kind: trace.KindClient, Start: at + 1000, End: at + trace.Time(of(i)) - 1000, Resource: res})
	}
	return s
}

func outcomes(s *trace.Store, r trace.SpanRef, _ bool) graph.Judgement {
	j := graph.Judgement{Weight: graph.OneRequest}
	if s.Status(r) == trace.StatusError {
		j.Outcome = population.Failed
	}
	return j
}

// Of the requests of an endpoint there are the slowest, one within a quarter of
// any slow quantile, some that are like most, and those that failed.
func TestWhichRequestsAreKeptWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 20_000
	ns := make([]int64, n)
	for i := range ns {
		ns[i] = int64(20e6 * math.Exp(rng.NormFloat64()/2))
	}
	failed := func(i int) bool { return i%100 == 7 }
	s := New()
	s.KeepWhole()
	s.AddSpans(pages(n, "web", func(i int) int64 { return ns[i] }, failed), outcomes)

	var completed, broken []int64
	for i, d := range ns {
		if failed(i) {
			broken = append(broken, d)
		} else {
			completed = append(completed, d)
		}
	}
	slices.Sort(completed)
	slices.Sort(broken)
	var got, gotBroken []int64
	for _, q := range s.Requests() {
		if q.Service != "web" || q.Operation != "GET /" || ns[int(q.TraceID[14])<<8|int(q.TraceID[15])|int(q.TraceID[13])<<16] != q.NS {
			t.Errorf("%+v", q)
		}
		if failed(int(q.TraceID[14])<<8 | int(q.TraceID[15]) | int(q.TraceID[13])<<16) {
			gotBroken = append(gotBroken, q.NS)
		} else {
			got = append(got, q.NS)
		}
	}
	if len(got) > 16 || got[0] != completed[len(completed)-1] {
		t.Errorf("%d of those that completed, the slowest of %d ns; it took %d", len(got), got[0], completed[len(completed)-1])
	}
	slices.Reverse(gotBroken)
	if !slices.Equal(gotBroken, broken[len(broken)-4:]) {
		t.Errorf("failed: %d; the slowest are %d", gotBroken, broken[len(broken)-4:])
	}
	for _, q := range []float64{0.9, 0.95, 0.99, 0.999} {
		want := float64(completed[int(q*float64(len(completed)))])
		if !slices.ContainsFunc(got, func(d int64) bool { return math.Abs(float64(d)-want) <= want/4 }) {
			t.Errorf("none within a quarter of p%g, %.1f ms: %d", 100*q, want/1e6, got)
		}
	}
	below := 0
	for _, d := range got {
		if d < completed[len(completed)*3/4] {
			below++
		}
	}
	if below < 2 {
		t.Errorf("%d of those that are like most", below)
	}
}

// records is the records of s alone, as bytes.
func records(s *Summary) []byte {
	o := New()
	o.Dict, o.Records = s.Dict, s.Records
	return Encode([]*Summary{o})
}

// What is built of spans that were kept is what is built of the spans, though what
// they said in words is not kept.
func TestBuiltOfWhatWasKept(t *testing.T) {
	kept, all := 0, 0
	eachSeed(t, func(t *testing.T, _ *rand.Rand, spans []tracetest.RandomSpan) {
		s, again, want := summarize(spans), New(), New()
		if err := s.EachWhole(func(store *trace.Store) { again.AddSpans(store, judge) }); err != nil {
			t.Fatal(err)
		}
		held := map[trace.TraceID]bool{}
		for _, r := range again.Records {
			held[r.TraceID] = true
		}
		store := trace.NewStore(trace.NewTables())
		tracetest.Fill(store, spans)
		want.AddTraces(store, judge, func(refs []trace.SpanRef) bool { return held[store.TraceID(refs[0])] })
		kept, all = kept+len(again.Records), all+len(s.Records)
		want.Canonicalize()
		again.Canonicalize()
		if !bytes.Equal(records(want), records(again)) {
			t.Error("the records of what was kept are others")
		}
	})
	if kept < all/3 {
		t.Errorf("%d of %d requests were kept", kept, all)
	}
}

// Words of a status, and names of events, say how calls ended and where they
// waited. Nothing else of them is kept.
func TestFreeTextIsNotKept(t *testing.T) {
	sketch := func(message, event string) *trace.Store {
		s := trace.NewStore(trace.NewTables())
		id := trace.TraceID{15: 1}
		text := func(k, v string) trace.RawAttr {
			return trace.RawAttr{Key: []byte(k), Value: trace.RawValue{Type: trace.String, Bytes: []byte(v)}}
		}
		res := s.AddResource([]trace.RawAttr{text("service.name", "web")})
		at := tracetest.T0
		s.Add(&trace.RawSpan{TraceID: id, ID: 1, Name: []byte("GET /"), Kind: trace.KindServer, Start: at, End: at + 50e6, Resource: res, TraceState: []byte("vendor=bob")})
		s.Add(&trace.RawSpan{TraceID: id, ID: 2, ParentID: 1, Name: []byte("call"), Kind: trace.KindClient, Start: at + 1e6, End: at + 40e6, Resource: res,
			Status: trace.StatusError, StatusMessage: []byte(message), Events: []trace.RawEvent{
				{Time: at + 2e6, Name: []byte("GetConn")}, {Time: at + 3e6, Name: []byte(event)}, {Time: at + 20e6, Name: []byte("GotConn")},
				{Time: at + 21e6, Name: []byte("exception of " + event), Attrs: []trace.RawAttr{text("exception.type", "IOError"), text("exception.message", event)}},
			}})
		return s
	}
	for _, message := range []string{
		"deadline exceeded for bob", "bob went away: context canceled", "MOVED 3999 10.0.0.7 bob", "not leader, bob: timeout", "no bob here", "", "499",
		"Timeout of bob: cancelled", "ask 1 bob",
	} {
		s := New()
		s.KeepWhole()
		s.AddSpans(sketch(message, "bob logged in"), judge)
		again := New()
		n := 0
		if err := s.EachWhole(func(store *trace.Store) { again.AddSpans(store, judge); n++ }); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if len(s.Records[0].Waits) != 1 {
			t.Fatalf("%q: %d waits", message, len(s.Records[0].Waits))
		}
		s.Canonicalize()
		again.Canonicalize()
		if !bytes.Equal(records(s), records(again)) {
			t.Errorf("%q: another record", message)
		}
		if file := Encode([]*Summary{s}); bytes.Contains(file, []byte("bob")) || bytes.Contains(file, []byte("10.0.0.7")) {
			t.Errorf("%q: the snapshot tells who bob is", message)
		}
	}
}

// However many endpoints there are and however long their texts, what is kept stays
// within its bound; and the fewer there are the more is left of each.
func TestWhatIsKeptWholeIsBounded(t *testing.T) {
	for _, c := range []struct {
		endpoints, each, name int
		bound                 int64
		level                 wholeLevel
	}{
		{3, 100, 10, 1 << 20, 0},
		{3, 100, 10, 10 << 10, 1},
		{300, 3, 10, 64 << 10, firstHalved - 1},
		{60, 2, 50_000, 1 << 20, firstHalved + 1},
		{2, 20, 300_000, 4 << 20, 0}, // a trace of its own size limit is never kept
	} {
		s := New()
		s.KeepWhole()
		for e := range c.endpoints {
			store := pages(c.each, strings.Repeat("x", c.name)+fmt.Sprint(e), func(i int) int64 { return int64(i+1) * 10e6 }, func(int) bool { return false })
			s.AddSpans(store, judge)
		}
		all := len(s.Requests())
		s.Whole.bound(s.Dict, c.bound)
		held := int64(0)
		for _, packed := range s.Whole.traces() {
			held += int64(len(packed))
		}
		if held > c.bound || s.Whole.level < c.level {
			t.Errorf("%+v: %d bytes of %d requests, of %d, at level %d", c, held, len(s.Requests()), all, s.Whole.level)
		}
		if c.level == 0 && (s.Whole.level != 0 || (c.name < 1000) != (all > 0)) {
			t.Errorf("%+v: level %d, %d requests", c, s.Whole.level, all)
		}
		if c.name < 1000 && len(s.Requests()) == 0 {
			t.Errorf("%+v: nothing is left", c)
		}
	}
}

// A trace that comes in two parts, as to two replicas, is kept in two.
func TestTwoPartsOfATrace(t *testing.T) {
	whole := pages(1, "web", func(int) int64 { return 10e6 }, func(int) bool { return false })
	var parts []*Summary
	for r := range trace.SpanRef(2) {
		s := New()
		s.KeepWhole()
		part := trace.NewStore(trace.NewTables())
		part.AppendSpans(whole, []trace.SpanRef{r}, trace.NewMoves(whole.Tables, part.Tables))
		s.AddSpans(part, judge)
		parts = append(parts, s)
	}
	spans := 0
	parts[0].Merge(parts[1])
	if err := parts[0].EachWhole(func(s *trace.Store) { spans += s.Len() }); err != nil || spans == 0 {
		t.Errorf("%d spans: %v", spans, err)
	}
	if q := parts[0].Requests(); !slices.IsSortedFunc(q, func(a, b WholeRequest) int { return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(b.NS, a.NS)) }) {
		t.Errorf("%+v", q)
	}
}

// A snapshot of before any request was kept whole is read, and merges.
func TestSnapshotOfVersion3(t *testing.T) {
	file, err := os.ReadFile("testdata/version-3.snap")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	s := runs[0]
	if len(s.Records) != 2 || s.Whole != nil || len(s.Requests()) != 0 {
		t.Errorf("%d records, whole: %v", len(s.Records), s.Whole)
	}
	s.Merge(summarize(tracetest.Random(rand.New(rand.NewPCG(1, 1)), 3)))
	if len(s.Requests()) == 0 {
		t.Error("nothing is kept of what was merged into it")
	}
	for _, v := range []byte{2, 5} {
		other := bytes.Clone(file)
		other[len(Magic)] = v
		if _, err := Decode(other); err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("version %d: %v", v, err)
		}
	}
}
