package graph

import (
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// pair is a request that calls slot 1 twice: from 0 to end, and from delay on for
// length.
func pair(end, delay, length trace.Time) *Record {
	half := func(from, to trace.Time) Half { return Half{Interval: trace.Interval{Start: from, End: to}} }
	return &Record{Weight: OneRequest, Calls: []Call{
		{Slot: 0, Parent: -1, Len: 3, Client: noHalf, Work: half(0, 100e6)},
		{Slot: 1, Parent: 0, Len: 1, Client: half(0, end), Work: noHalf},
		{Slot: 1, Parent: 0, Len: 1, Client: half(delay, delay+length), Work: noHalf},
	}}
}

// Second calls at one delay are hedges, and the one of two that ends last lost.
func TestKeptHedges(t *testing.T) {
	var list []*Record
	for i := range 30 {
		list = append(list, pair(40e6+trace.Time(i)*1e6, 6e6, 10e6))
	}
	if got := KeptHedges(list); len(got) != 1 || got[0] != 1 {
		t.Fatalf("slots %v, want 1", got)
	}
	for _, r := range list {
		if r.Calls[2].Flags != Hedge || r.Calls[1].Flags != Loser || len(r.Limits) != 1 || r.Limits[0] != (Limit{1, 6e6}) {
			t.Fatalf("%+v %+v", r.Calls, r.Limits)
		}
	}
}

// Calls of a loop that overlap begin at any time: they are no hedges. Nor are
// calls that begin together.
func TestKeptHedgesMimics(t *testing.T) {
	var loop, together []*Record
	for i := range 30 {
		loop = append(loop, pair(90e6, 2e6+trace.Time(i)*1e6, 10e6))
		together = append(together, pair(90e6, 10e3, 100e6))
	}
	for _, list := range [][]*Record{loop, together} {
		if got := KeptHedges(list); len(got) != 0 || list[0].Calls[2].Flags != 0 {
			t.Errorf("%v are taken for hedges", got)
		}
	}
}
