package graph

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/tailscope/tailscope/internal/cputime"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A form is how n spans hang together.
type form struct {
	name string
	add  func(s *trace.Store, n int)
}

// forms are the extremes: one request with all calls below one parent, one
// after another or at once, one chain of calls, and many small requests.
var forms = []form{
	{"serial", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			one(s, 1, i+2, 1, int64(i)*1000, int64(i)*1000+900, trace.KindClient, "call "+strconv.Itoa(i%40))
		}
	}},
	{"parallel", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			one(s, 1, i+2, 1, int64(i), int64(n)*1000-int64(i*7919%n), trace.KindClient, "call "+strconv.Itoa(i%40))
		}
	}},
	{"deep", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, i+1, i, int64(i), int64(2*n-i), trace.KindInternal, "step "+strconv.Itoa(i%40))
		}
	}},
	{"many", func(s *trace.Store, n int) {
		for i := range n / 10 {
			at := int64(i) * 1_000_000
			one(s, i+1, 1, 0, at, at+100_000, trace.KindServer, "root")
			for k := range 9 {
				one(s, i+1, k+2, 1, at+int64(k)*10_000, at+int64(k)*10_000+9000, trace.KindClient, "call "+strconv.Itoa(k))
			}
		}
	}},
}

func one(s *trace.Store, traceNo, id, parent int, start, end int64, kind trace.Kind, name string) {
	r := raw(traceNo, id, parent, start, end, kind, name)
	s.Add(&r)
}

func raw(traceNo, id, parent int, start, end int64, kind trace.Kind, name string) trace.RawSpan {
	r := trace.RawSpan{ID: trace.SpanID(id), ParentID: trace.SpanID(parent), Kind: kind, Name: []byte(name),
		Start: tracetest.T0 + trace.Time(start), End: tracetest.T0 + trace.Time(end)}
	for i := range 4 {
		r.TraceID[15-i] = byte(traceNo >> (8 * i))
	}
	return r
}

// walkAll builds every record of a store, folds it, and walks it.
func walkAll(s *trace.Store) (calls int) {
	d := NewDict()
	b := NewBuilder(d, s, judgeAll)
	fold := &Folder{Fold: NewFold(), Dict: d}
	var records []*Record
	var t Tree
	Group(s, func(id trace.TraceID, refs []trace.SpanRef) {
		t.Build(s, id, refs)
		b.Records(&t, func(r *Record, _ []Refs) {
			fold.Add(r)
			records = append(records, r)
		})
	})
	w := &Walker{Dict: d, Verdicts: NewVerdicts(d, fold.Fold, SolveClocks(fold.Fold))}
	for _, r := range records {
		w.Walk(r)
		w.Plan(r, nil)
		calls += len(r.Calls)
	}
	return calls
}

// The processor time of a span does not depend on how many there are, nor on how they hang
// together.
func BenchmarkWalk(b *testing.B) {
	for _, f := range forms {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", f.name, n), func(b *testing.B) {
				s := trace.NewStore(trace.NewTables())
				f.add(s, n)
				b.ResetTimer()
				used := cputime.Used()
				for range b.N {
					if got := walkAll(s); got != n {
						b.Fatalf("%d calls of %d spans", got, n)
					}
				}
				b.ReportMetric(float64((cputime.Used()-used).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/span")
			})
		}
	}
}
