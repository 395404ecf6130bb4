package trace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

type event struct {
	Time  trace.Time
	Name  string
	Attrs []string
}

// all is what a store says of its spans, in text, by span id.
func all(s *trace.Store) map[string][]any {
	texts := func(attrs []trace.Attr) (out []string) {
		for _, a := range attrs {
			out = append(out, s.String(a.Key)+"="+s.Text(a.Value))
		}
		return out
	}
	out := map[string][]any{}
	for i := range s.Len() {
		r := trace.SpanRef(i)
		var events []event
		for _, e := range s.Events(r) {
			events = append(events, event{e.Time, s.String(e.Name), texts(e.Attrs)})
		}
		scope := s.Scope(s.ScopeOf(r))
		out[s.TraceIDText(s.TraceID(r))+s.SpanIDText(s.ID(r))] = []any{
			s.SpanIDText(s.ParentID(r)), s.Interval(r), s.String(s.Name(r)), s.Kind(r), s.Status(r), s.SpanFlags(r), s.String(s.StatusMessage(r)),
			s.String(s.TraceState(r)), texts(s.Attrs(r)), texts(s.Resource(s.ResourceOf(r)).Attrs), s.String(s.Resource(s.ResourceOf(r)).Host),
			s.String(scope.Name), s.Text(scope.Attrs), events, s.Links(r),
		}
	}
	return out
}

// Spans that move to other tables one by one, in any order, stay what they were.
func TestAppendSpans(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		from := trace.NewStore(trace.NewTables())
		tracetest.Fill(from, tracetest.Random(rng, 10))
		from.Add(&trace.RawSpan{
			TraceID: from.TextTraceID([]byte("no hex")), ID: from.TextSpanID([]byte("neither")), ParentID: 3, Start: 1, End: 2, Kind: trace.KindClient,
			Name: []byte("odd"), StatusMessage: []byte("broken"), TraceState: []byte("ot=th:8"), Status: trace.StatusError,
			Scope:  from.AddScope(trace.Scope{Name: from.InternString("lib"), Attrs: from.Value(trace.RawValue{Type: trace.JSON, Bytes: []byte("{}")})}),
			Attrs:  []trace.RawAttr{{Key: []byte("http.route"), Value: trace.RawValue{Type: trace.String, Bytes: []byte("/a")}}},
			Events: []trace.RawEvent{{Time: 1, Name: []byte("e"), Attrs: []trace.RawAttr{{Key: []byte("error.type"), Value: trace.RawValue{Type: trace.Int, Int: 4}}}}},
			Links:  []trace.RawLink{{ID: 9}},
		})
		to := trace.NewStore(trace.NewTables())
		to.InternString("taken")
		refs := rng.Perm(from.Len())
		for len(refs) > 0 {
			n := 1 + rng.IntN(len(refs))
			m := trace.NewMoves(from.Tables, to.Tables)
			var part []trace.SpanRef
			for _, r := range refs[:n] {
				part = append(part, trace.SpanRef(r))
			}
			to.AppendSpans(from, part, m)
			refs = refs[n:]
		}
		if diff := cmp.Diff(all(from), all(to)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if from.Bytes() != to.Bytes() {
			t.Fatalf("seed %d: %d and %d bytes for the same spans", seed, from.Bytes(), to.Bytes())
		}
	}
}

// Tables that take over some spans take over nothing else.
func TestMovesTakeWhatIsAskedFor(t *testing.T) {
	from := trace.NewStore(trace.NewTables())
	for _, name := range []string{"one", "two", "three"} {
		from.Add(&trace.RawSpan{ID: trace.SpanID(from.Len() + 1), Name: []byte(name)})
	}
	to := trace.NewStore(trace.NewTables())
	to.AppendSpans(from, []trace.SpanRef{1}, trace.NewMoves(from.Tables, to.Tables))
	if _, ok := to.Lookup("two"); !ok || to.Len() != 1 {
		t.Error("the span did not move")
	}
	if _, ok := to.Lookup("three"); ok {
		t.Error("the name of another span moved")
	}
}

// Forks of a store gain texts of their own, and neither sees the other's.
func TestForksGrowApart(t *testing.T) {
	s := trace.NewStore(trace.NewTables())
	tracetest.Fill(s, tracetest.Random(rand.New(rand.NewPCG(1, 2)), 5))
	want := all(s)
	n := s.Strings()
	a, b := s.Fork(), s.Fork()
	for i := range 3000 { // more than a block, and more than the slots are for
		x, y := a.InternString(fmt.Sprint("a", i)), b.InternString(fmt.Sprint("b", i))
		if int(x) != n+i || x != y || a.String(x) != fmt.Sprint("a", i) || b.String(y) != fmt.Sprint("b", i) {
			t.Fatalf("%d: %q and %q", i, a.String(x), b.String(y))
		}
	}
	if _, ok := b.Lookup("a7"); ok || s.Strings() != n {
		t.Error("a text of one fork is in another")
	}
	for _, f := range []*trace.Store{s, a, b} {
		if diff := cmp.Diff(want, all(f)); diff != "" {
			t.Error(diff)
		}
	}
}
