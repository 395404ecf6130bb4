package summary

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/queuewait"
)

// A Kind is what a nanosecond of latency was spent on.
type Kind uint8

const (
	Service  Kind = iota // work of the node, or of its peer where no server half was seen
	Wait                 // waiting to be served: executor, pool, admission
	Network              // on the way, up to the floor of the edge
	Backoff              // between attempts of one logical call
	Timeout              // waited out; nothing is known of the callee
	Untraced             // between client and server beyond the floor, with no evidence of what it was
	Kinds    = 6
)

var kindNames = [Kinds]string{"service", "wait", "network", "backoff", "timeout", "untraced"}

func (k Kind) String() string { return kindNames[k] }

// A Calibration is what the folds of all sets say, for reading the records of
// one set. It is read-only.
type Calibration struct {
	Dict     *graph.Dict
	Verdicts *graph.Verdicts   // of the set, with the clocks of all sets
	Floors   *queuewait.Floors // of all sets
	Owners   *queuewait.Owners // of all sets; nil: nobody's
	Side     int               // which set it is: Baseline or Current
}

// A Part is a stretch of a request charged to one slot and kind. Times are ns
// from the request's start on the entry's clock.
type Part struct {
	Start, End int64
	Slot       graph.SlotID // the node: of a wait in the caller's own gap, the call that follows
	Kind       Kind

	// The half that the time is charged to.
	Call   int32
	Client bool

	Next     int32 // the call that begins at the part's end; -1 if none
	Wait     int32 // the index of the record's Wait that is the evidence; -1 if none
	Inferred bool  // see graph.Segment
}

// A Ledger charges the latency of records. Its parts tile the request: their
// lengths sum to the latency, to the nanosecond. It keeps its scratch memory
// between records and is not safe for concurrent use.
type Ledger struct {
	Calibration *Calibration
	Walker      graph.Walker // of the last record; Late and After are there
	parts       []Part
}

// NewLedger returns a Ledger under a calibration.
func NewLedger(c *Calibration) *Ledger {
	return &Ledger{Calibration: c, Walker: graph.Walker{Dict: c.Dict, Verdicts: c.Verdicts}}
}

// Charge returns the parts of a record, in time order. They are valid until the
// next call.
func (l *Ledger) Charge(r *graph.Record) []Part {
	l.Walker.Walk(r)
	l.parts = l.parts[:0]
	for _, s := range l.Walker.Path {
		c := &r.Calls[s.Call]
		p := Part{Start: s.Start, End: s.End, Slot: c.Slot, Call: s.Call, Client: s.Client, Next: s.Next, Wait: s.Wait, Inferred: s.Inferred}
		switch s.Kind {
		case graph.Own:
			p.Kind = Service
			l.own(r, p)
		case graph.Waiting:
			p.Kind = Wait
			l.add(p)
		case graph.Backoff:
			p.Kind = Backoff
			if s.Next >= 0 {
				p.Slot = r.Calls[s.Next].Slot
			}
			l.add(p)
		case graph.TimedOutWaiting:
			p.Kind = Timeout
			l.add(p)
		case graph.GapBefore, graph.GapAfter:
			l.gap(c, s.Kind, p)
		}
	}
	return l.parts
}

// own charges a half's own time. What stands before a call and exceeds the
// usual is a wait of that call, if a queue owns it.
func (l *Ledger) own(r *graph.Record, p Part) {
	if wait := l.Inside(r, p.Call); p.Client && wait > 0 {
		if at := min(l.Walker.Began(p.Call, true)+wait, p.End); p.Start < at {
			l.split(p, at, Wait, Service)
			return
		}
	}
	if wait := l.Accepted(r, p.Call); !p.Client && wait > 0 {
		if at := min(l.Walker.Began(p.Call, false)+wait, p.End); p.Start < at {
			accepted := p
			accepted.End, accepted.Kind, accepted.Next = at, Wait, -1
			l.add(accepted)
			p.Start = at
		}
	}
	if p.Next >= 0 {
		next := &r.Calls[p.Next]
		if l.Calibration.Owners.Before(next) != nil {
			if ns, _ := l.Calibration.Owners.Lead(l.Calibration.Side, r, p.Next, p.End-p.Start); ns > 0 {
				at := p.End - ns
				wait := p
				p.End, p.Next = at, -1
				wait.Start, wait.Kind, wait.Slot = at, Wait, next.Slot
				l.add(p)
				l.add(wait)
				return
			}
		}
	}
	l.add(p)
}

// beyond is the kind of what exceeds an edge's floor.
func (l *Ledger) beyond(c *graph.Call) Kind {
	o := l.Calibration.Owners.Of(c, queuewait.Between)
	switch {
	case o.Claimed():
		return Wait
	case o != nil && o.Owner == queuewait.Network:
		return Network
	}
	return Untraced
}

// gap splits a stretch between client and server span into network, up to the
// edge's floor, and what is beyond it. The floor is for both ways together:
// the way back is network first, since nobody queues for a reply, and the way
// there takes what is left of it, nearest to the server.
func (l *Ledger) gap(c *graph.Call, kind graph.SegmentKind, p Part) {
	floor, _ := l.Calibration.Floors.Of(c.Slot)
	there := int64(c.Work.Start-c.Client.Start) + l.Walker.Shift(p.Call, false) - l.Walker.Shift(p.Call, true)
	back := int64(c.Client.End-c.Work.End) - l.Walker.Shift(p.Call, false) + l.Walker.Shift(p.Call, true)
	there, back = max(there, 0), max(back, 0)
	// Half the floor each way, and what one way is shorter the other is longer.
	usual := floor.Usual(there + back)
	networkBack := min(back, usual/2+max(0, usual-usual/2-there))
	network := networkBack
	if kind == graph.GapBefore {
		network = min(there, usual-networkBack)
	}
	network = min(network, p.End-p.Start)
	if kind == graph.GapBefore {
		l.split(p, p.End-network, l.beyond(c), Network)
	} else {
		l.split(p, p.Start+network, Network, l.beyond(c))
	}
}

func (l *Ledger) split(p Part, at int64, first, second Kind) {
	a, b := p, p
	a.End, a.Kind, a.Next = at, first, -1
	b.Start, b.Kind = at, second
	l.add(a)
	l.add(b)
}

func (l *Ledger) add(p Part) {
	if p.End > p.Start {
		l.parts = append(l.parts, p)
	}
}

// Inside is how long call i of a record is likely to have waited within its client span, if a pool's metrics say so.
func (l *Ledger) Inside(r *graph.Record, i int32) int64 {
	c := &r.Calls[i]
	wait, _, _ := l.Calibration.Owners.Of(c, queuewait.Inside).Inside(l.Calibration.Side, c)
	return wait
}

// Accepted is how long call i of a record is likely to have waited within its server span for a worker.
func (l *Ledger) Accepted(r *graph.Record, i int32) int64 {
	c := &r.Calls[i]
	wait, _, _ := l.Calibration.Owners.Of(c, queuewait.Accepted).Accepted(l.Calibration.Side, c)
	return wait
}

// Gap is the time of call i of a record between its client and its server span: the likely wait in it, which is what exceeds the edge's
// floor, and the whole, with the floor. Of a call that was left only the way
// there is known, and of it half the floor is the network's.
func (l *Ledger) Gap(r *graph.Record, i int32) (wait, whole int64, floor queuewait.Floor, ok bool) {
	c := &r.Calls[i]
	floor, _ = l.Calibration.Floors.Of(c.Slot)
	if gap, ok := queuewait.Gap(c); ok {
		return floor.Wait(gap), gap, floor, true
	}
	if !c.Paired() || !c.ClientEnd.Left() || c.Flags&(graph.Async|graph.Loser) != 0 {
		return 0, 0, floor, false
	}
	l.Walker.Place(r)
	there := max(0, int64(c.Work.Start-c.Client.Start)+l.Walker.Shift(i, false)-l.Walker.Shift(i, true))
	floor = floor.Half()
	return floor.Wait(there), there, floor, true
}
