package summary

import (
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// Two requests overlap in shop, which works by itself, in a span of its own and around a call of pay: the time in which it waits
// for pay is no work, and its inner span no other call.
func TestWork(t *testing.T) {
	store, err := tracetest.Parse(`shop GET_/ 0..100ms server host=s
  shop step 20..50ms host=s
  shop POST_/pay 60..90ms client host=s
    pay POST_/pay 65..85ms server host=p

shop GET_/ 25..125ms server host=s
  shop step 45..75ms host=s
  shop POST_/pay 85..115ms client host=s
    pay POST_/pay 90..110ms server host=p
`)
	if err != nil {
		t.Fatal(err)
	}
	s := New()
	s.AddSpans(store, func(*trace.Store, trace.SpanRef, bool) graph.Judgement {
		return graph.Judgement{Weight: 2 * graph.OneRequest}
	})
	r := Read(nil, []*Summary{s}, Options{})
	w := r.Sets[Current].Work()
	got := map[string]Done{}
	for e, d := range w.Done {
		got[r.Dict.String(e.Service)+" "+r.Dict.String(e.Operation)] = *d
	}
	for name, want := range map[string]Done{"shop GET_/": {2, 4, 4 * 70e6}, "pay POST_/pay": {2, 4, 4 * 20e6}} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
	if len(got) != 2 {
		t.Errorf("%v", got)
	}
	for proc, c := range w.Crowds {
		if r.Dict.String(r.Dict.ProcAt(proc).Service) != "shop" {
			continue
		}
		began := min(r.Sets[Current].Records[0].Calls[0].Work.Start, r.Sets[Current].Records[1].Calls[0].Work.Start)
		for at, want := range map[trace.Time]int{0: 1, 24: 1, 25: 2, 59: 2, 60: 1, 84: 1, 85: 0, 90: 1, 99: 1, 100: 0, 115: 1, 125: 0} {
			if n := c.At(began + at*1e6); n != want {
				t.Errorf("at %d ms %d are at work, want %d", at, n, want)
			}
		}
	}
}
