package live

import (
	"errors"
	"hash/maphash"
	"sync"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// ErrClosed is returned for what comes after Close.
var ErrClosed = errors.New("live: closed")

// An Intake takes the spans and points of one batch. It belongs to its caller
// until the function that it was given to returns.
type Intake struct {
	// Tables are those of the resources and scopes of spans, until the caller
	// returns. They are others in another batch; Epoch says when.
	Tables *trace.Tables

	// Epoch is another number when Tables, and what was remembered of them, are
	// no longer the same.
	Epoch uint64

	// Cache is the caller's own, for what belongs to Tables.
	Cache any

	engine *Engine
	spans  *trace.Store
	points *metric.Store

	gate     key  // traces with smaller keys are shed
	noPoints bool // points do not fit
	traceID  trace.TraceID
	key      key
	shedKeys []key
	bytes    int64 // as last told to the engine
	counts
}

// counts is what an intake did since it was last collected.
type counts struct{ received, shed, rejected, points, shedPoints, pointBytes int64 }

// Span takes a span. Its bytes need live only as long as the call.
func (in *Intake) Span(r *trace.RawSpan) {
	in.received++
	if _, bad := trace.Impossible(r.TraceID, r.ID, trace.Interval{Start: r.Start, End: r.End}); bad {
		in.rejected++
		return
	}
	if in.gate > 0 {
		if r.TraceID != in.traceID {
			in.traceID, in.key = r.TraceID, in.engine.keyOf(r.TraceID)
		}
		if in.key < in.gate {
			in.shed++
			if n := len(in.shedKeys); n == 0 || in.shedKeys[n-1] != in.key {
				in.shedKeys = append(in.shedKeys, in.key)
			}
			return
		}
	}
	in.spans.Add(r)
}

// Keeps reports whether attributes of a key are kept of every span, and not of
// entry spans alone.
func (in *Intake) Keeps(key string) bool { return in.spans.Keeps(key) }

// Reject counts a span that could not be read.
func (in *Intake) Reject() { in.received++; in.rejected++ }

// Point takes a metric point.
func (in *Intake) Point(p *metric.RawPoint) {
	if in.noPoints {
		in.counts.points++
		in.shedPoints++
	} else if in.points.Add(p) {
		in.counts.points++
		in.pointBytes += pointBytes + 8*int64(len(p.Bounds)+len(p.BucketCounts)+len(p.PosCounts)+len(p.NegCounts)+2*len(p.Quantiles))
	}
}

// pointBytes is about what a point takes besides its buckets.
const pointBytes = 96

// Store takes all spans and points of stores over the same tables, as decoders
// of files fill them, but for what clean does not let through. It may be nil.
func (in *Intake) Store(s *trace.Store, points *metric.Store, clean trace.Cleaner) {
	var raw trace.RawSpan
	m := trace.NewMoves(s.Tables, in.Tables)
	m.Clean = clean
	for i := range s.Len() {
		m.Raw(&raw, s, trace.SpanRef(i))
		in.Span(&raw)
	}
	if points != nil && points.Points() > 0 {
		n := int64(points.Points())
		in.counts.points += n
		if in.noPoints {
			in.shedPoints += n
			return
		}
		in.pointBytes += points.Bytes()
		in.points.AppendMoves(points, m)
	}
}

// chunk is how many spans a slot gathers before it puts them aside: columns that
// grow for ever would be copied again and again, and a batch would wait for that.
const chunk = 1 << 12

// spares is how many empty stores a slot keeps to be filled again.
const spares = 3

// A slot is an intake with its lock. There are as many as there are processors:
// batches that come at the same time are decoded side by side.
type slot struct {
	sync.Mutex
	Intake
	full  []*trace.Store // over Tables, in order
	aside int64          // bytes of full
	n     int            // spans of full
	spare []*trace.Store // over Tables, empty
	remap *trace.Remap   // of Tables into those of the generation
}

// begin gives a slot tables of its own.
func (s *slot) begin(epoch uint64) {
	s.Tables, s.Epoch, s.Cache = trace.NewTables(), epoch, nil
	s.spare = nil
	s.fresh()
	s.remap = new(trace.Remap)
}

// fresh gives a slot empty stores. What it had is no longer its own.
func (s *slot) fresh() {
	s.full, s.aside, s.n, s.bytes = nil, 0, 0, 0
	s.spans = s.empty()
	s.points = metric.NewStore(s.Tables)
	s.counts, s.shedKeys = counts{}, nil
}

func (s *slot) empty() *trace.Store {
	if n := len(s.spare); n > 0 {
		e := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return e
	}
	return s.engine.store(s.Tables)
}

// putAside begins another chunk when one is full.
func (s *slot) putAside() {
	if s.spans.Len() < chunk {
		return
	}
	s.full = append(s.full, s.spans)
	s.aside += s.spans.Bytes()
	s.n += s.spans.Len()
	next := s.empty()
	if next.Cap() == 0 {
		next.Grow(chunk+chunk/8, s.spans)
	}
	s.spans = next
}

// open is how many spans wait to be collected.
func (s *slot) open() int { return s.n + s.spans.Len() }

func (e *Engine) store(t *trace.Tables) *trace.Store {
	s := trace.NewStore(t)
	e.o.Analysis.Name(s)
	return s
}

// Add takes a batch. It may be called by several goroutines at once, and waits
// only for other batches.
func (e *Engine) Add(fill func(*Intake)) error {
	s := e.slot()
	defer s.Unlock()
	if e.closed.Load() {
		return ErrClosed
	}
	s.gate = key(e.gate.Load())
	s.noPoints = e.pointBytes.Load() > e.pointBudget
	s.traceID = trace.TraceID{}
	before := s.pointBytes
	fill(&s.Intake)
	e.pointBytes.Add(s.pointBytes - before)
	s.putAside()
	now := s.aside + s.spans.Bytes() + s.Tables.Bytes() + int64(len(s.shedKeys))*8
	e.pressure(now - s.bytes)
	s.bytes = now
	return nil
}

// slot locks a slot: a free one, if there is one.
func (e *Engine) slot() *slot {
	at := int(e.turn.Add(1))
	for i := range e.slots {
		if s := e.slots[(at+i)%len(e.slots)]; s.TryLock() {
			return s
		}
	}
	s := e.slots[at%len(e.slots)]
	s.Lock()
	return s
}

// pressure counts memory of spans that came in, and closes the gate by half
// where it is too much.
func (e *Engine) pressure(more int64) {
	held := e.coming.Add(more) + e.held.Load()
	if held <= e.raiseAt.Load() {
		return
	}
	e.raise.Lock()
	defer e.raise.Unlock()
	if held <= e.raiseAt.Load() {
		return
	}
	gate := e.gate.Load()
	if gate += (^uint64(0) - gate) / 2; held > e.spanBudget+e.spanBudget/2 || ^gate < 1<<52 {
		gate = ^uint64(0)
	}
	e.gate.Store(gate)
	// What the gate sheds of what is held is freed when it is collected. Until
	// then only what came since can call for more.
	e.raiseAt.Store(held + e.spanBudget/16)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func hashID(seed maphash.Seed, id trace.TraceID) uint64 { return maphash.Comparable(seed, id) }
