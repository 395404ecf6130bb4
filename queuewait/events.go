package queuewait

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// An Event is one call that held something: a connection of its caller, a place
// at its callee. Whose trace it was does not matter, only when.
type Event struct {
	Slot   graph.SlotID
	Caller graph.ProcID
	Callee graph.ProcID   // NoProc without a server half
	Client trace.Interval // by the caller's clock
	Served trace.Interval // by the callee's; zero without a server half
	Left   bool           // the caller left, or took another's answer
}

func (e *Event) compare(o *Event) int {
	return cmp.Or(cmp.Compare(e.Client.Start, o.Client.Start), cmp.Compare(e.Client.End, o.Client.End), cmp.Compare(e.Slot, o.Slot),
		cmp.Compare(e.Caller, o.Caller), cmp.Compare(e.Callee, o.Callee), cmp.Compare(e.Served.Start, o.Served.Start), cmp.Compare(e.Served.End, o.Served.End), cmp.Compare(e.left(), o.left()))
}

func (e *Event) left() byte {
	if e.Left {
		return 1
	}
	return 0
}

// An events is a multiset of calls. Beyond the budget it keeps whole seconds, so
// that what it keeps has all its neighbours: those whose hash ends in level
// zeros, which is 1 in 2^level. It does not matter in which parts the calls
// came: parts keep no less than the whole.
type events struct {
	level uint8
	list  []Event
}

// kept reports whether the second of a call is kept.
func (e *events) kept(t trace.Time) bool {
	if e.level == 0 {
		return true
	}
	s := int64(t) / second
	if int64(t)%second < 0 {
		s--
	}
	return bits.TrailingZeros64(mix(uint64(s))) >= int(e.level)
}

// mix is the finaliser of splitmix64: every bit of the input moves every bit of
// the output.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (e *events) add(x Event) {
	if e.kept(x.Client.Start) {
		e.list = append(e.list, x)
		e.fit()
	}
}

func (e *events) fit() {
	for len(e.list) > budget.events && e.level < 63 {
		e.thin(e.level + 1)
	}
}

func (e *events) thin(level uint8) {
	if level <= e.level {
		return
	}
	e.level = level
	e.list = slices.DeleteFunc(e.list, func(x Event) bool { return !e.kept(x.Client.Start) })
}

func (e *events) merge(o *events, m *graph.Remap) {
	e.thin(o.level)
	e.list = slices.Grow(e.list, len(o.list))
	for _, x := range o.list {
		if !e.kept(x.Client.Start) {
			continue
		}
		x.Slot, x.Caller = m.Slots[x.Slot], m.Procs[x.Caller]
		if x.Callee != graph.NoProc {
			x.Callee = m.Procs[x.Callee]
		}
		e.list = append(e.list, x)
	}
	e.fit()
}

// releases is when the calls of slots ended at the processes that made them,
// whoever still waited for an answer.
func (f *Fold) releases(of func(graph.SlotID) bool) releases {
	mine := map[graph.SlotID]bool{}
	rel := releases{}
	for i := range f.events.list {
		x := &f.events.list[i]
		is, ok := mine[x.Slot]
		if !ok {
			is = of(x.Slot)
			mine[x.Slot] = is
		}
		if is {
			rel[x.Caller] = append(rel[x.Caller], x.Client.End)
		}
	}
	rel.sort()
	return rel
}

func (e *events) appendBinary(to []byte) []byte {
	slices.SortFunc(e.list, func(a, b Event) int { return a.compare(&b) })
	to = append(to, e.level)
	to = binary.AppendUvarint(to, uint64(len(e.list)))
	last := int64(0)
	for i := range e.list {
		x := &e.list[i]
		to = binary.AppendVarint(to, int64(x.Client.Start)-last)
		last = int64(x.Client.Start)
		to = binary.AppendUvarint(to, uint64(x.Client.Duration()))
		to = binary.AppendUvarint(to, uint64(x.Slot))
		to = binary.AppendUvarint(to, uint64(x.Caller))
		to = binary.AppendUvarint(to, uint64(x.Callee+1))
		to = append(to, x.left())
		if x.Callee != graph.NoProc {
			to = binary.AppendVarint(to, int64(x.Served.Start-x.Client.Start))
			to = binary.AppendUvarint(to, uint64(x.Served.Duration()))
		}
	}
	return to
}

func decodeEvents(d *graph.Decoder, dict *graph.Dict) events {
	e := events{level: d.Take(1)[0]}
	n := d.Length(6)
	if e.level > 63 || n > budget.events && e.level < 63 {
		d.Fail()
		return e
	}
	last := int64(0)
	for range n {
		last += d.Int()
		x := Event{Client: trace.Interval{Start: trace.Time(last), End: trace.Time(last + int64(d.Uint()))}}
		x.Slot, x.Caller, x.Callee = graph.SlotID(d.Code(dict.Slots())), graph.ProcID(d.Code(dict.Procs())), graph.ProcID(d.Code(dict.Procs()+1))-1
		x.Left = d.Code(2) == 1
		if x.Callee != graph.NoProc {
			x.Served.Start = x.Client.Start + trace.Time(d.Int())
			x.Served.End = x.Served.Start + trace.Time(d.Uint())
		}
		if x.Client.End < x.Client.Start || x.Served.End < x.Served.Start || d.Err == nil && !e.kept(x.Client.Start) {
			d.Fail()
		}
		if d.Err != nil {
			return e
		}
		e.list = append(e.list, x)
	}
	return e
}
