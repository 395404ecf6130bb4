package graph

import (
	"fmt"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// calls adds n requests that take 10 ms, one a second, each with a call to
// another host: 0.1 ms there and 0.1 ms back.
func between(s *trace.Store, first, n int, from trace.Time, ahead func(i int) int64) {
	resource := func(service, host string) trace.ResourceID {
		text := func(key, v string) trace.RawAttr {
			return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte(v)}}
		}
		return s.AddResource([]trace.RawAttr{text("service.name", service), text("host.name", host)})
	}
	a, b := resource("caller", "a"), resource("callee", "b")
	for i := range n {
		at := int64(from-tracetest.T0) + int64(i)*1_000_000_000
		for _, r := range []trace.RawSpan{
			raw(first+i, 1, 0, at, at+10_000_000, trace.KindServer, "entry"),
			raw(first+i, 2, 1, at+1_000_000, at+9_000_000, trace.KindClient, "call"),
			raw(first+i, 3, 2, at+1_100_000+ahead(i), at+8_900_000+ahead(i), trace.KindServer, "call"),
		} {
			r.Resource = a
			if r.ID == 3 {
				r.Resource = b
			}
			s.Add(&r)
		}
	}
}

// A clock that runs fast is told from calls that lie: the bounds widen to what it
// showed from first to last. One call that lies is set aside.
func TestDriftIsNoLie(t *testing.T) {
	for _, c := range []struct {
		name   string
		ahead  func(i int) int64
		lo, hi int64
	}{
		{"a steady clock", func(int) int64 { return 5_000_000 }, 4_900_000, 5_100_000},
		{"one lie", func(i int) int64 {
			if i == 50 {
				return 9_000_000
			}
			return 5_000_000
		}, 4_900_000, 5_100_000},
		{"10 parts per million", func(i int) int64 { return int64(i) * 10_000 }, -100_000, 99*10_000 + 100_000},
		{"just beyond the bounds", func(i int) int64 { return int64(i) * 3_000 }, -100_000, 99*3_000 + 100_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := trace.NewStore(trace.NewTables())
			between(s, 1, 100, tracetest.T0, c.ahead)
			clocks := draw(s).verdicts.Clocks
			var got string
			for _, w := range clocks.Windows {
				for _, p := range w.Pairs {
					got += fmt.Sprintf("%d to %d", w.Offset[p].Lo, w.Offset[p].Hi)
				}
			}
			if want := fmt.Sprintf("%d to %d", c.lo, c.hi); got != want {
				t.Errorf("the clock is %s ns ahead, want %s", got, want)
			}
		})
	}
}

// Runs a week apart have clocks of their own. What a set's calls say of who is
// waited for is read with the offsets of its own time.
func TestClocksOfTheirTime(t *testing.T) {
	week := trace.Time(7 * 24 * 3600 * 1_000_000_000)
	s := trace.NewStore(trace.NewTables())
	between(s, 1, 100, tracetest.T0, func(int) int64 { return -5_000_000 })
	between(s, 1001, 100, tracetest.T0+week, func(int) int64 { return 5_000_000 })
	d := draw(s)
	r := d.records[len(d.records)-1]
	// The same without client spans: the callee seems to outlive its caller by 4 ms.
	fold := &Folder{Fold: NewFold(), Dict: d.dict}
	for _, r := range d.records {
		bare := *r
		bare.Calls = append([]Call(nil), r.Calls...)
		bare.Calls[1].Client = noHalf
		fold.Add(&bare)
	}
	slot := r.Calls[1].Slot
	if w := NewVerdicts(d.dict, fold.Fold, d.verdicts.Clocks).WaitedFor(slot); w.Refuted != 0 {
		t.Errorf("%d of %d calls outlived their callers", w.Refuted, w.N)
	}
	if w := NewVerdicts(d.dict, fold.Fold, nil).WaitedFor(slot); w.Refuted == 0 {
		t.Error("without the clocks' offsets it should seem so")
	}
}

// alone is a service with a host of its own name to itself.
func alone(s *trace.Store, name string) trace.ResourceID {
	text := func(key string) trace.RawAttr {
		return trace.RawAttr{Key: []byte(key), Value: trace.RawValue{Type: trace.String, Bytes: []byte(name)}}
	}
	return s.AddResource([]trace.RawAttr{text("service.name"), text("host.name")})
}

// A start that was cut off to its millisecond says that the callee began before its caller, by up to as much: the offset
// is bounded by the ends then, and no clock is taken to have moved.
func TestStartsOfWholeMillisecondsAreNoLies(t *testing.T) {
	for _, ahead := range []int64{0, 400_000, -3_200_000} {
		s := trace.NewStore(trace.NewTables())
		a, b := alone(s, "a"), alone(s, "b")
		for i := range 100 {
			at := int64(i)*1_003_210_987 + 123
			begun := int64(tracetest.T0) + at + 1_100_000 + ahead
			begun -= begun%1_000_000 + int64(tracetest.T0)
			for _, r := range []trace.RawSpan{
				raw(1+i, 1, 0, at, at+10_000_000, trace.KindServer, "entry"),
				raw(1+i, 2, 1, at+1_000_000, at+9_000_000, trace.KindClient, "call"),
				raw(1+i, 3, 2, begun, at+8_900_000+ahead, trace.KindServer, "call"),
			} {
				r.Resource = a
				if r.ID == 3 {
					r.Resource = b
				}
				s.Add(&r)
			}
		}
		for _, w := range draw(s).verdicts.Clocks.Windows {
			for _, p := range w.Pairs {
				if o := w.Offset[p]; o.Contradictions > 0 || ahead < o.Lo || ahead > o.Hi {
					t.Errorf("%d ns ahead: %+v", ahead, o)
				}
			}
		}
	}
}

// Where servers alone have spans, a callee begins after its caller: that bounds how far its clock may be ahead, and
// so what an end after the caller's can mean.
func TestServersAloneBoundAClockFromOneSide(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name          string
		ahead, lasted int64
		lies          int // requests whose callee begins a second before its caller
		above, shift  int64
		async         bool
	}{
		{"a clock ahead looks like work that goes on", 2 * ms, 6 * ms, 0, 5 * ms, 0, false},
		{"work that goes on", 0, 50 * ms, 0, 3 * ms, 0, true},
		{"work that goes on, and a clock ahead", 2 * ms, 50 * ms, 0, 5 * ms, 0, true},
		{"a clock behind", -20 * ms, 5 * ms, 0, -17 * ms, 17 * ms, false},
		{"a few that lie move no clock", 0, 5 * ms, 4, 3 * ms, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := trace.NewStore(trace.NewTables())
			a, b := alone(s, "a"), alone(s, "b")
			for i := range 100 {
				at := int64(i) * 1000 * ms
				begun := at + 3*ms + c.ahead
				if i < c.lies {
					begun -= 1000 * ms
				}
				caller := raw(1+i, 1, 0, at, at+10*ms, trace.KindServer, "entry")
				callee := raw(1+i, 2, 1, begun, begun+c.lasted, trace.KindServer, "call")
				caller.Resource, callee.Resource = a, b
				s.Add(&caller)
				s.Add(&callee)
			}
			d := draw(s)
			w := d.verdicts.Clocks.Windows[0]
			host := func(name string) trace.StringID {
				for p := range w.Offset {
					for _, h := range []trace.StringID{p.A, p.B} {
						if d.dict.String(h) == name {
							return h
						}
					}
				}
				return 0
			}
			o, _ := w.Between(host("a"), host("b"))
			if o.Below() || o.Hi != c.above {
				t.Errorf("b's clock is ahead by %d to %d, want only at most %d", o.Lo, o.Hi, c.above)
			}
			if shift, _ := w.Shift(host("a"), host("b")); shift != c.shift {
				t.Errorf("b's times are moved by %d, want %d", shift, c.shift)
			}
			r := d.records[0]
			if got := d.verdicts.WaitedFor(r.Calls[1].Slot); (got.Verdict == Asynchronous) != c.async {
				t.Errorf("waited for: %+v", got)
			}
		})
	}
}
