package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// extremes are traces as nobody's program makes them, and broken or malicious
// ones do. What takes its number squared in any of them takes minutes here.
var extremes = []form{
	{"alone", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, i+1, 0, 0, 1000, trace.KindServer, "root")
		}
	}},
	{"orphans", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, i+1, n+i+1, int64(i), int64(i)+1000, trace.KindServer, "orphan")
		}
	}},
	{"one id", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, 1, 1, int64(i), int64(i)+1000, trace.KindClient, "call "+strconv.Itoa(i%7))
		}
	}},
	{"one id below another", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			one(s, 1, 2, 1, int64(i), int64(i)+1000, trace.KindInternal, "step "+strconv.Itoa(i))
		}
	}},
	{"cycle", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, i+1, (i+1)%n+1, int64(i), int64(n), trace.KindInternal, "step")
		}
	}},
	{"cycle with a tail", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, i+1, max(i, 1), int64(i), int64(n), trace.KindInternal, "step")
		}
	}},
	{"one instant", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, 0, trace.KindServer, "root")
		for i := range n - 1 {
			one(s, 1, i+2, i/2+1, 0, 0, trace.KindClient, "call "+strconv.Itoa(i%40))
		}
	}},
	{"one interval", func(s *trace.Store, n int) {
		for i := range n {
			one(s, 1, i+1, min(i, 1), 0, 1_000_000, trace.KindClient, "call "+strconv.Itoa(i%40))
		}
	}},
	{"names of their own", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			one(s, 1, i+2, 1, int64(i)*1000, int64(i)*1000+900, trace.KindClient, "call-"+letters(i))
		}
	}},
	{"cancelled", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			r := raw(1, i+2, 1, int64(i)*1000, int64(i)*1000+100_000, trace.KindClient, "call")
			if i%3 != 0 {
				r.Status, r.StatusMessage = trace.StatusError, []byte("context canceled")
			}
			s.Add(&r)
		}
	}},
	{"failing", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			r := raw(1, i+2, 1, int64(i)*1000, int64(i)*1000+900, trace.KindClient, "call")
			r.Status = trace.StatusError
			s.Add(&r)
		}
	}},
	{"waits", func(s *trace.Store, n int) {
		root := raw(1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n {
			for k, name := range [2]string{"enqueue", "dequeue"} {
				root.Events = append(root.Events, trace.RawEvent{Time: tracetest.T0 + trace.Time(i*1000+950+20*k), Name: []byte(name)})
			}
		}
		s.Add(&root)
		for i := range n - 1 {
			one(s, 1, i+2, 1, int64(i)*1000, int64(i)*1000+900, trace.KindClient, "call")
		}
	}},
	{"waits that never end", func(s *trace.Store, n int) {
		for i := range n {
			r := raw(1, i+1, min(i, 1), int64(i), int64(n)*1000, trace.KindInternal, "step")
			if i == 0 {
				for range n {
					r.Events = append(r.Events, trace.RawEvent{Time: r.Start, Name: []byte("enqueue")})
				}
			}
			s.Add(&r)
		}
	}},
	{"hosts of their own, clocks hours apart", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n / 2 {
			one(s, 1, 2*i+2, 1, int64(i), int64(n)*1000-1, trace.KindClient, "call")
			r := raw(1, 2*i+3, 2*i+2, int64(i%5-2)*3_600_000_000_000, int64(i%5-2)*3_600_000_000_000+100, trace.KindServer, "call")
			text := func(key, v string) trace.RawAttr {
				return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte(v)}}
			}
			r.Resource = s.AddResource([]trace.RawAttr{text("service.name", "callee"), text("host.name", "host "+strconv.Itoa(i))})
			s.Add(&r)
		}
	}},
	{"lost halves", func(s *trace.Store, n int) {
		one(s, 1, 1, 0, 0, int64(n)*1000, trace.KindServer, "root")
		for i := range n - 1 {
			parent := 1
			kind, name := trace.KindClient, "call"
			if i%10 < 3 && i > 0 && i%10 > 0 {
				parent, kind, name = i+1, trace.KindServer, "served as "+strconv.Itoa(i%10)
			}
			one(s, 1, i+2, parent, int64(i)*1000, int64(i)*1000+900, kind, name)
		}
	}},
}

// letters spells a number without digits, which no template takes for an id.
func letters(n int) string {
	b := []byte{}
	for ; n > 0 || len(b) == 0; n /= 16 {
		b = append(b, byte('g'+n%16))
	}
	return string(b)
}

// Of every request of an extreme trace all time is charged, and replaying nothing
// gives its latency.
func TestExtremeTraces(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 2000
	}
	for _, f := range append(slices.Clone(forms), extremes...) {
		t.Run(f.name, func(t *testing.T) {
			s := trace.NewStore(trace.NewTables())
			f.add(s, n)
			d := draw(s)
			calls := make([]int64, d.dict.Slots())
			for _, r := range d.records {
				for i := range r.Calls {
					calls[r.Calls[i].Slot]++
				}
			}
			res := d.dict.Resolve(calls, nil)
			for _, r := range d.records {
				res.Record(r)
			}
			KeptHedges(d.records)
			w := &Walker{Dict: d.dict, Verdicts: d.verdicts}
			var e Evaluator
			for _, r := range d.records {
				w.Walk(r)
				at := int64(0)
				for _, p := range w.Path {
					if p.Start != at || p.End <= p.Start {
						t.Fatalf("a stretch from %d to %d follows the instant %d", p.Start, p.End, at)
					}
					at = p.End
				}
				if at != r.Duration() {
					t.Fatalf("the path ends at %d of %d", at, r.Duration())
				}
				p := w.Plan(r, nil)
				if got := e.Latency(p, p.Values(nil), nil); got != r.Duration() {
					t.Fatalf("replaying nothing gives %d of %d", got, r.Duration())
				}
			}
		})
	}
}

// What next counts is what its definition says, asked of each pair of calls.
func TestFollowedIsAsDefined(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 300 {
		s := trace.NewStore(trace.NewTables())
		const duration = 1_000_000
		one(s, 1, 1, 0, 0, duration, trace.KindServer, "root")
		for i := range 2 + rng.IntN(8) {
			from := rng.Int64N(20) * 50_000
			one(s, 1, i+2, 1, from, from+rng.Int64N(8)*50_000, trace.KindClient, "call")
		}
		d := draw(s)
		r := d.records[0]
		var want Waited
		for i := 1; i < len(r.Calls); i++ {
			o := r.Calls[i].Outer()
			ph := r.Calls[0].Inner()
			if o.Start >= ph.End || o.End > ph.End {
				continue
			}
			want.Inside++
			soon := atOnce(ph.Duration())
			hit, alone, next := ph.End-o.End <= soon, true, ph.End
			// What can be next: the parent's end, and starts, those together being one.
			events, begun, first, with := int64(1), trace.Time(-1<<60), 0, 0
			for k := 1; k < len(r.Calls); k++ {
				if x := r.Calls[k].Outer(); x.Start > begun+soon {
					events++
					begun, first = x.Start, k
				}
				if k >= i && first <= i {
					with = k - first
				}
			}
			if with == 0 { // it began alone, and does not follow itself
				events--
			}
			for k := 1; k < len(r.Calls); k++ {
				x := r.Calls[k].Outer()
				if k == i {
					continue
				}
				if x.Start >= o.End {
					hit = hit || x.Start-o.End <= soon
					next = min(next, x.Start)
				} else if x.End > o.End {
					alone = false
				}
			}
			if hit {
				want.Followed++
			}
			want.Chance += min(OneRequest, events*int64(soon)*OneRequest/duration)
			if alone {
				want.Rate += events << 40 / duration
				if want.Tail == nil {
					want.Tail = &Sketch{}
				}
				want.Tail.Add(int64(next - o.End))
			}
		}
		var got Waited
		for _, w := range d.fold.Waited {
			got = *w
		}
		text := func(w *Waited) string {
			tail := "none"
			if w.Tail != nil && w.Tail.N() > 0 {
				tail = fmt.Sprint(w.Tail.AppendBinary(nil))
			}
			return fmt.Sprint(w.Inside, w.Followed, w.Chance, w.Rate, tail)
		}
		if text(&got) != text(&want) {
			t.Fatalf("counted %s, want %s", text(&got), text(&want))
		}
	}
}
