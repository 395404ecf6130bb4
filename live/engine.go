package live

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// lateFor is for how many generations it is known which traces ended, so that
// their late spans are counted as late: five minutes of the usual ten seconds.
// It may be fewer where memory is short; then a late span is a trace of its own,
// without a root.
const lateFor = 30

// An Engine analyses a stream. Spans come by Add, from any goroutine; all else is
// done in Tick.
//
// What comes is gathered for Quiet at a time: a generation. When one ends, a trace
// of the generation before that none of its spans belong to has been quiet for at
// least so long and is whole. A trace that has some moves on with them.
type Engine struct {
	o    Options
	seed maphash.Seed

	slots []*slot
	turn  atomic.Uint64
	epoch uint64

	// Memory. Spans that are held may take spanBudget, records of open windows
	// recordBudget, folds included.
	gate                     atomic.Uint64 // traces with smaller keys are shed
	coming, held             atomic.Int64  // bytes of spans in the slots, and behind them
	raiseAt                  atomic.Int64
	raise                    sync.Mutex
	wake                     chan struct{}
	spanBudget, recordBudget int64
	pointBytes               atomic.Int64 // of metric points that no window holds yet
	pointBudget              int64        // for those, and for those that open windows hold

	closed atomic.Bool
	halt   atomic.Bool // what is folded stays as it is: Run ends
	latest atomic.Pointer[Published]

	// Reports are made by Run in a goroutine of its own, or else in Tick.
	jobs      chan job        // nil: in Tick
	published chan struct{}   // closed when that goroutine has ended
	work      context.Context // of the analysis
	abort     context.CancelFunc
	making    atomic.Bool
	nextLook  atomic.Int64 // the time before which no open window is looked at

	reports, regressions, looks, early atomic.Int64

	stats atomic.Pointer[Stats]

	mu        sync.Mutex // of all below
	gen, prev *generation
	turned    time.Time // when gen began; zero: not yet
	recent    memory
	purged    key // what is held has no traces below it
	peak      int64
	windows   map[int64]*window
	last      int64 // the index of the last closed window
	anyClosed bool
	completed []*completed
	due       []job // reports of windows that were just completed
	total     Stats
}

// A generation is the spans that came in a stretch of Quiet, and those of earlier
// ones whose traces go on.
type generation struct {
	n      int64
	spans  *trace.Store
	points *metric.Store
	gate   key                     // the highest while it was gathered
	bytes  int64                   // of points
	first  map[trace.TraceID]int64 // the generation in which a trace began that did not in this one
}

// Open returns an engine with what an earlier one left in the directory.
func Open(o Options) (*Engine, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	e := &Engine{
		o: o, seed: maphash.MakeSeed(), wake: make(chan struct{}, 1), windows: map[int64]*window{},
		// What is held is garbage for a while before it is freed, and reports need
		// room too.
		spanBudget: o.Memory / 4, recordBudget: o.Memory / 4, pointBudget: o.Memory / 16,
		recent: memory{keep: lateFor, budget: o.Memory / 16},
	}
	e.work, e.abort = context.WithCancel(context.Background())
	e.raiseAt.Store(e.spanBudget)
	e.recent.next()
	for range max(1, runtime.GOMAXPROCS(0)) {
		s := &slot{}
		s.engine = e
		e.slots = append(e.slots, s)
	}
	e.epoch++
	for _, s := range e.slots {
		s.begin(e.epoch)
	}
	e.gen, e.prev = e.generation(1), e.generation(0)
	if err := e.resume(); err != nil {
		return nil, err
	}
	e.account()
	return e, nil
}

func (e *Engine) generation(n int64) *generation {
	t := trace.NewTables()
	return &generation{n: n, spans: e.store(t), points: metric.NewStore(t), gate: key(e.gate.Load()), first: map[trace.TraceID]int64{}}
}

// Run ticks until ctx ends. It makes reports in a goroutine of its own, for which
// Close waits. It does not close the engine.
func (e *Engine) Run(ctx context.Context) {
	jobs, published := make(chan job, 1), make(chan struct{})
	e.mu.Lock()
	e.jobs, e.published = jobs, published
	e.mu.Unlock()
	go func() {
		defer close(published)
		for j := range jobs {
			e.making.Store(true)
			e.publish(j)
			e.making.Store(false)
		}
	}()
	e.halt.Store(false)
	stop := context.AfterFunc(ctx, func() { e.halt.Store(true) })
	defer stop()
	every := min(max(e.o.Quiet/10, 10*time.Millisecond), time.Second)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			e.Tick(time.Now())
		case <-e.wake:
			e.mu.Lock()
			e.collect(false)
			e.account()
			e.mu.Unlock()
		}
	}
	e.mu.Lock()
	e.noMore()
	e.mu.Unlock()
}

// noMore ends the goroutine that makes reports when it is through.
func (e *Engine) noMore() {
	if e.jobs != nil {
		close(e.jobs)
		e.jobs = nil
	}
}

// Tick does what is due at now.
func (e *Engine) Tick(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return
	}
	if e.turned.IsZero() {
		e.turned = now
	}
	e.collect(false)
	if now.Sub(e.turned) >= e.o.Quiet || now.Before(e.turned) {
		e.rotate(now)
		e.turned = now
	}
	e.closeWindows(now, nil)
	for _, j := range e.due {
		e.make(j)
	}
	e.due = nil
	e.look(now)
	e.account()
}

// make has a report made.
func (e *Engine) make(j job) {
	if e.jobs == nil {
		e.publish(j)
		return
	}
	select {
	case e.jobs <- j:
	default:
		e.total.Skipped++
	}
}

// Close ends the stream, as long as ctx lasts: what is open is analysed as it is,
// for half of that time at most; the open windows are kept for an engine that
// goes on; and then the last report is made. What is still open at the end is
// lost, and its count is in Stats.
func (e *Engine) Close(ctx context.Context, now time.Time) error {
	if e.closed.Swap(true) {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.abort()
	late := errors.New("live: the deadline came before all was analysed")
	over := func() bool { return ctx.Err() != nil }
	enough := over
	if d, ok := ctx.Deadline(); ok {
		half := time.Now().Add(time.Until(d) / 2)
		enough = func() bool { return over() || time.Now().After(half) }
	}
	e.collect(true)
	e.fold(e.prev, e.gen, now, enough)
	e.prev = e.generation(0)
	e.fold(e.gen, e.prev, now, enough)
	e.gen = e.generation(0)
	e.hold()
	e.closeWindows(now, over)
	e.account()
	if over() {
		return errors.Join(late, ctx.Err())
	}
	e.noMore()
	if e.published != nil { // what is being made comes before what is made here
		select {
		case <-e.published:
		case <-ctx.Done():
			return errors.Join(late, ctx.Err())
		}
	}
	stop := context.AfterFunc(ctx, e.abort)
	defer stop()
	for _, j := range e.due {
		e.publish(j)
	}
	e.due = nil
	e.account()
	if over() {
		return errors.Join(late, ctx.Err())
	}
	if n := e.Stats().Open; n > 0 {
		return late
	}
	return nil
}

// collect moves what came in to the generation. The last time before a
// generation ends the slots get new tables.
func (e *Engine) collect(turn bool) {
	if turn {
		e.epoch++
	}
	var freed int64
	for _, s := range e.slots {
		s.Lock()
		stores, points := append(s.full, s.spans), s.points
		view := s.Tables.View()
		c, keys, remap := s.counts, s.shedKeys, s.remap
		freed += s.bytes
		if turn {
			s.begin(e.epoch)
		} else {
			s.fresh()
		}
		s.Unlock()

		e.total.Received += c.received
		e.total.Shed += c.shed
		e.total.Analysed += c.rejected
		e.total.Rejected += c.rejected
		e.total.Points += c.points
		e.total.ShedPoints += c.shedPoints
		e.gen.bytes += c.pointBytes
		for _, k := range keys {
			e.recent.last().shed.add(k)
		}
		e.gen.spans.AbsorbMore(view, remap)
		e.gen.points.Append(points, remap)
		for _, spans := range stores {
			e.gen.spans.Append(spans, remap)
			if turn {
				spans = spans.Renew(s.Tables) // nobody but collect changes what Tables are
			} else {
				spans.Reset()
			}
			s.Lock()
			if len(s.spare) < spares && spans.Cap() <= 2*chunk {
				s.spare = append(s.spare, spans)
			}
			s.Unlock()
		}
	}
	e.coming.Add(-freed)
	if gate := key(e.gate.Load()); gate > e.purged {
		e.gen.gate = max(e.gen.gate, gate)
		e.purge(e.gen, gate)
		e.purge(e.prev, gate)
		e.purged = gate
	}
	e.hold()
}

// hold counts the memory of what is held.
func (e *Engine) hold() {
	n := e.gen.spans.Bytes() + e.gen.spans.Tables.Bytes() + e.prev.spans.Bytes() + e.prev.spans.Tables.Bytes()
	e.held.Store(n)
	e.peak = max(e.peak, n+e.coming.Load())
	if n < e.spanBudget {
		e.raiseAt.Store(e.spanBudget)
	}
}

// purge drops the spans of traces below the gate.
func (e *Engine) purge(g *generation, gate key) {
	var kept []trace.SpanRef
	n := g.spans.Len()
	for r := range trace.SpanRef(n) {
		id := g.spans.TraceID(r)
		if k := e.keyOf(id); k < gate {
			e.recent.last().shed.add(k)
			delete(g.first, id)
			continue
		}
		kept = append(kept, r)
	}
	e.total.Shed += int64(n - len(kept))
	t := trace.NewTables()
	spans, points := e.store(t), metric.NewStore(t)
	spans.AppendSpans(g.spans, kept, trace.NewMoves(g.spans.Tables, t))
	if g.points.Points() > 0 {
		points.Append(g.points, t.Absorb(g.spans.Tables))
	}
	g.spans, g.points = spans, points
	if g == e.gen { // its tables are new
		for _, s := range e.slots {
			s.remap = new(trace.Remap)
		}
	}
}

// rotate ends a generation.
func (e *Engine) rotate(now time.Time) {
	e.collect(true)
	// Where memory would have done for twice as much, the gate opens by half.
	if gate := e.gate.Load(); gate > 0 && e.peak < e.spanBudget/2 {
		kept := float64(^uint64(0)-gate) / (1 << 64)
		if kept = max(1.5*kept, 1.0/64); kept >= 1 {
			e.gate.Store(0)
		} else {
			e.gate.Store(^uint64(0) - uint64(kept*(1<<64)))
		}
		e.purged = key(e.gate.Load())
	}
	e.peak = 0
	old, sealed := e.prev, e.gen
	e.gen, e.prev = e.generation(sealed.n+1), sealed
	e.fold(old, sealed, now, e.halt.Load)
	e.hold()
}

// fold analyses the traces of g that no span of next belongs to, and moves the
// others there. So it does with those that are left when it is enough.
func (e *Engine) fold(g, next *generation, now time.Time, enough func() bool) {
	var goesOn set
	var last trace.TraceID
	for r := range trace.SpanRef(next.spans.Len()) {
		if id := next.spans.TraceID(r); id != last || r == 0 {
			goesOn.add(e.keyOf(id))
			last = id
		}
	}
	e.recent.next()
	gone := e.recent.last()
	oldest := next.n - int64(e.o.MaxAge/e.o.Quiet)
	moves := trace.NewMoves(g.spans.Tables, next.spans.Tables)
	gate := max(g.gate, next.gate)
	f := e.folder(g.spans, gate, now)
	graph.Group(g.spans, func(id trace.TraceID, refs []trace.SpanRef) {
		k, n := e.keyOf(id), int64(len(refs))
		first, older := g.first[id]
		if !older {
			first = g.n
		}
		switch {
		case e.recent.shed(k) || k < gate:
			gone.shed.add(k)
			e.total.Shed += n
		case e.recent.done(k):
			e.total.Late += n
		case goesOn.has(k) && first > oldest || enough():
			next.spans.AppendSpans(g.spans, refs, moves)
			next.first[id] = first
		default:
			if goesOn.has(k) {
				e.total.Cut++
			}
			gone.done.add(k)
			f.add(id, refs)
		}
	})
	f.close()
	e.points(g.points, now)
	e.pointBytes.Add(-g.bytes)
	g.bytes = 0
	g.spans, g.points = e.store(trace.NewTables()), metric.NewStore(trace.NewTables())
}
