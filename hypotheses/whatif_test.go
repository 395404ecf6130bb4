package hypotheses

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// single is the first endpoint of one drawn set.
func single(t *testing.T, text string) *Comparison {
	t.Helper()
	store, err := tracetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s := summary.New()
	s.AddSpans(store, func(*trace.Store, trace.SpanRef, bool) graph.Judgement {
		return graph.Judgement{Weight: graph.OneRequest}
	})
	r := summary.Read(nil, []*summary.Summary{s}, summary.Options{})
	c, err := NewComparison(r, r.Endpoints[0], stats.Defaults(), func(q *summary.Request) bool { return Counts(q.Record, population.Answered) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// page is a request for a page: 10 ms of its own, a call of stock that takes 30,
// then one of ads that takes as given, then 10 ms of its own. In all 50 + ads.
func page(at, ads int) string {
	return fmt.Sprintf(`web GET_/ %d..%dms server
  web List %d..%dms client
    stock List %d..%dms server
  web Pick %d..%dms client
    ads Pick %d..%dms server
`, at, at+50+ads, at+10, at+40, at+10, at+40, at+40, at+40+ads, at+40, at+40+ads)
}

func median(t *testing.T, r *Replayed) float64 {
	t.Helper()
	for _, q := range r.Quantiles {
		if q.Quantile == 0.5 {
			return q.Replayed / 1e6
		}
	}
	t.Fatal("no median")
	return 0
}

func TestReplayOfOneChange(t *testing.T) {
	slow := repeat(20, func(_, at int) string { return page(at, 200) }) // 250 ms each
	ads := Edge{Caller: "web", Peer: "ads"}
	for _, c := range []struct {
		name   string
		w      WhatIf
		median float64
	}{
		{"nothing that matters", WhatIf{Rate: 1}, 250},
		{"without ads", WhatIf{Drop: []string{"ads"}}, 50},
		{"without one operation of ads", WhatIf{Drop: []string{"ads Pick"}}, 50},
		{"without stock", WhatIf{Drop: []string{"sto*"}}, 220},
		{"ads beside stock", WhatIf{Parallel: [][]string{{"ads", "stock"}}}, 220}, // max(30, 200) + 20
		{"ads left after 80 ms", WhatIf{Timeouts: []EdgeTime{{ads, 80e6}}}, 130},
		{"ads left later than it ever took", WhatIf{Timeouts: []EdgeTime{{ads, 300e6}}}, 250},
		{"ads asked again, and always slow", WhatIf{Hedges: []EdgeTime{{ads, 50e6}}}, 250},
		{"ads beside stock, and left", WhatIf{Parallel: [][]string{{"ads", "stock"}}, Timeouts: []EdgeTime{{ads, 80e6}}}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := single(t, slow).Replay(c.w)
			if err != nil {
				t.Fatal(err)
			}
			if got := median(t, r); got != c.median {
				t.Errorf("the median is %v ms, want %v", got, c.median)
			}
		})
	}
}

func TestHedgesEscapeWhatIsSlowByItself(t *testing.T) {
	// One call of ads in ten takes 200 ms, the others 20: sent again after 50, nine
	// of ten slow ones are answered after 70.
	text := repeat(200, func(i, at int) string {
		if i%10 == 0 {
			return page(at, 200)
		}
		return page(at, 20)
	})
	r, err := single(t, text).Replay(WhatIf{Hedges: []EdgeTime{{Edge{"web", "ads", ""}, 50e6}}})
	if err != nil {
		t.Fatal(err)
	}
	if !near(r.ExtraCalls, 0.1, 1e-9) || !r.Independent {
		t.Errorf("%.3g further calls a call, independent %v; want 0.1, and nothing was hedged before", r.ExtraCalls, r.Independent)
	}
	for _, q := range r.Quantiles {
		if q.Quantile == 0.95 && (q.Recorded != 250e6 || q.Replayed != 120e6) {
			t.Errorf("p95 goes from %.0f to %.0f ns, want 250 to 120 ms: 50 + 50 + 20", q.Recorded, q.Replayed)
		}
	}
}

func TestTimeoutFailsWhatIsNeeded(t *testing.T) {
	text := repeat(20, func(i, at int) string { return page(at, 20+180*(i%2)) }) // half of them slow
	w := WhatIf{Timeouts: []EdgeTime{{Edge{"web", "ads", ""}, 100e6}}}
	r, err := single(t, text).Replay(w)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed != 0.5 || r.Omitted != 0 {
		t.Errorf("%.2f fail and %.2f omit, want half to fail", r.Failed, r.Omitted)
	}
	w.Optional = []string{"ads"}
	if r, err = single(t, text).Replay(w); err != nil {
		t.Fatal(err)
	}
	if r.Failed != 0 || r.Omitted != 0.5 {
		t.Errorf("of an optional branch %.2f fail and %.2f omit, want half to omit", r.Failed, r.Omitted)
	}
}

func TestDeadline(t *testing.T) {
	// Ads begins 40 ms after the request; with 200 ms the request takes 250, with 20
	// it takes 70. Three in four are slow, so 200 ms is what ads usually takes.
	text := repeat(40, func(i, at int) string {
		if i%4 == 0 {
			return page(at, 20)
		}
		return page(at, 200)
	})
	for _, c := range []struct {
		name             string
		w                WhatIf
		stopped, omitted float64
		median           float64 // NaN: none is answered
	}{
		{"all in time", WhatIf{Deadline: 300e6, Reserve: 20e6}, 0, 0, 250},
		// 40 + 200 > 240 − 20: a mandatory branch that would not fit as a rule is not
		// begun, not even the one that would have been fast.
		{"a mandatory branch does not fit", WhatIf{Deadline: 240e6, Reserve: 20e6}, 1, 0, math.NaN()},
		// Waited for until 220 ms, then 10 ms of its own.
		{"an optional branch is left at the reserve", WhatIf{Deadline: 240e6, Reserve: 20e6, Optional: []string{"ads"}}, 0, 0.75, 230},
		// 240 − 40 < 210: it is not begun, and 50 ms remain.
		{"an optional branch is not begun", WhatIf{Deadline: 240e6, OptionalMin: 210e6, Optional: []string{"ads"}}, 0, 1, 50},
		{"by the rules", WhatIf{Deadline: 240e6, OptionalMin: 210e6, Rules: config.Rules{Optional: []string{"ads"}}}, 0, 1, 50},
		{"mandatory for this class", WhatIf{Deadline: 240e6, Reserve: 20e6, Rules: config.Rules{Mandatory: []string{"ads"}}}, 1, 0, math.NaN()},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := single(t, text).Replay(c.w)
			if err != nil {
				t.Fatal(err)
			}
			if r.Stopped != c.stopped || r.Omitted != c.omitted {
				t.Errorf("stopped %.3f, omitted %.3f; want %.3f and %.3f", r.Stopped, r.Omitted, c.stopped, c.omitted)
			}
			if math.IsNaN(c.median) {
				if len(r.Quantiles) != 0 {
					t.Errorf("no request is answered, and there are quantiles: %v", r.Quantiles)
				}
				return
			}
			if got := median(t, r); got != c.median {
				t.Errorf("the median is %v ms, want %v", got, c.median)
			}
			if r.Work[1] > r.Work[0] {
				t.Errorf("more is worked than was: %v", r.Work)
			}
		})
	}
}

// TestDeadlineSavesLateWork has 250 ms requests and a deadline of 200: of the 200
// ms that ads works, from 40 to 240, the last 40 are after it, and of the 250 of
// web the last 50.
func TestDeadlineSavesLateWork(t *testing.T) {
	r, err := single(t, repeat(20, func(_, at int) string { return page(at, 200) })).Replay(WhatIf{Deadline: 200e6, Objective: 100e6})
	if err != nil {
		t.Fatal(err)
	}
	if r.LateAvoided != 90e6 {
		t.Errorf("%.0f ns of late work are avoided, want 90 ms", r.LateAvoided)
	}
	if r.Goodput != [2]float64{0, 0} {
		t.Errorf("goodput %v, want none within 100 ms", r.Goodput)
	}
}

// pooled is requests of two processes, each two at a time every 100 ms, that wait
// for their process's one connection to db: the first call holds it for 30 ms, the
// second waits for it.
func pooled(n int) string {
	var b strings.Builder
	for i := range n {
		for web := range 2 {
			at := 100*i + 47*web
			fmt.Fprintf(&b, "web GET_/ %d..%dms server resource.service.instance.id=web-%d\n  web Query %d..%dms client resource.service.instance.id=web-%d\n    db Query %d..%dms server resource.service.instance.id=db-1\n\n", at, at+30, web, at, at+30, web, at, at+30)
			fmt.Fprintf(&b, "web GET_/ %d..%dms server resource.service.instance.id=web-%d\n  web Query %d..%dms client resource.service.instance.id=web-%d\n    db Query %d..%dms server resource.service.instance.id=db-1\n\n", at+5, at+60, web, at+5, at+60, web, at+30, at+60)
		}
	}
	return b.String()
}

func TestPool(t *testing.T) {
	text := pooled(100)
	edge := Edge{Caller: "web", Peer: "db"}
	max := func(w WhatIf) (float64, *Replayed) {
		r, err := single(t, text).Replay(w)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range r.Quantiles {
			if q.Quantile == 0.99 {
				return q.Replayed / 1e6, r
			}
		}
		t.Fatal("no p99")
		return 0, nil
	}
	if ms, r := max(WhatIf{Pools: []PoolSize{{Edge: edge, N: 1}}}); ms != 55 || len(r.Unknown) > 0 {
		t.Errorf("with the one connection there is p99 is %v ms, want the 55 that were recorded; unknown: %v", ms, r.Unknown)
	}
	if ms, r := max(WhatIf{Pools: []PoolSize{{Edge: edge, N: 2}}}); ms != 30 {
		t.Errorf("with two connections p99 is %v ms, want 30: nobody waits; unknown: %v", ms, r.Unknown)
	}
	var unfit *UnfitError
	if _, err := single(t, text).Replay(WhatIf{Pools: []PoolSize{{Name: "orders", N: 2}}}); !errors.As(err, &unfit) || unfit.What != "orders" || !strings.Contains(err.Error(), "web→db Query") {
		t.Errorf("a pool that is not there: %v, want an error that lists the calls", err)
	}
	if _, err := single(t, text).Replay(WhatIf{Pools: []PoolSize{{Edge: Edge{Caller: "db", Peer: "web"}, N: 2}}}); !errors.As(err, &unfit) {
		t.Errorf("the edge the other way round: %v, want an error", err)
	}
}

func TestUnfit(t *testing.T) {
	text := repeat(20, func(_, at int) string { return page(at, 20) })
	for _, w := range []WhatIf{
		{Drop: []string{"payments"}},
		{Parallel: [][]string{{"ads", "payments"}}},
		{Timeouts: []EdgeTime{{Edge{"web", "payments", ""}, 1}}},
		{Hedges: []EdgeTime{{Edge{"ads", "stock", ""}, 1}}},
		{Deadline: 1e9, Optional: []string{"stock Get"}},
	} {
		if _, err := single(t, text).Replay(w); err == nil || !strings.Contains(err.Error(), "web→ads Pick") {
			t.Errorf("%+v: %v, want an error that lists what there is", w, err)
		}
	}
}

// Without a queue nothing tells how more requests would wait, and the replay says
// so instead of showing that nothing would change.
func TestRateWithoutAQueue(t *testing.T) {
	r, err := single(t, repeat(20, func(_, at int) string { return page(at, 20) })).Replay(WhatIf{Rate: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unknown) != 1 || !strings.Contains(r.Unknown[0], "how more requests would wait") {
		t.Errorf("unknown: %v", r.Unknown)
	}
}

// TestFasterArrivals doubles the rate of a queue with one server whose calls come
// every 40 ms and hold it for 30: at every 20 ms each waits 10 longer than the
// one before it.
func TestFasterArrivals(t *testing.T) {
	list := make([]queuedCall, 5)
	for i := range list {
		list[i] = queuedCall{at: int64(40 * i), hold: 30}
	}
	if got := fifo(list, 1, 2, 0); fmt.Sprint(got) != "[0 10 20 30 40]" {
		t.Errorf("waits at twice the rate: %v", got)
	}
	if got := fifo(list, 1, 1, 0); fmt.Sprint(got) != "[0 0 0 0 0]" {
		t.Errorf("waits at the rate there was: %v", got)
	}
	if got := fifo(list, 2, 2, 0); fmt.Sprint(got) != "[0 0 0 0 0]" {
		t.Errorf("waits at twice the rate with two places: %v", got)
	}
}
