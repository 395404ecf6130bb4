package summary

import (
	"runtime"
	"slices"
	"sync"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/trace"
)

// Counts is what was read, in whole numbers that add up over merges.
type Counts struct {
	Spans            int64 // accepted: after duplicates and rejects
	Traces           int64
	Duplicates       int64
	Rejected         int64 // spans that cannot be: without an id or a time, or that end before they start
	Orphans          int64
	IncompleteTraces int64
	Links            int64 // links of spans to spans

	// From and To are the first start and the last end of a span; of streams and of
	// what a clock began the ends alone count: a websocket that was opened yesterday is
	// no sign of requests since. NoTime if there are no spans.
	From, To trace.Time

	Defects trace.Tally
}

// saw widens From and To.
func (c *Counts) saw(v trace.Interval) {
	if c.From == trace.NoTime || v.Start < c.From {
		c.From = v.Start
	}
	if c.To == trace.NoTime || v.End > c.To {
		c.To = v.End
	}
}

// A Summary is the kept records and the folds of one run.
type Summary struct {
	Dict    *graph.Dict
	Records []*graph.Record
	Graph   *graph.Fold
	Queues  *queuewait.Fold
	Metrics *metric.Fold
	Counts  Counts

	// Kept says which of the requests the Records are; nil: all.
	Kept *Kept

	// Whole is the requests that are kept span by span; nil: none are.
	Whole *Whole
}

// New returns an empty Summary.
func New() *Summary {
	return &Summary{
		Dict:    graph.NewDict(),
		Graph:   graph.NewFold(),
		Queues:  queuewait.NewFold(),
		Metrics: metric.NewFold(),
		Counts:  Counts{From: trace.NoTime, To: trace.NoTime, Defects: trace.Tally{}},
	}
}

// AddSpans adds the requests of a store to s. The spans of one trace must all
// be in the store.
func (s *Summary) AddSpans(store *trace.Store, judge graph.Judge) {
	s.AddTraces(store, judge, func([]trace.SpanRef) bool { return true })
}

// AddTraces is AddSpans for those traces of the store that keep holds for, given
// their spans.
func (s *Summary) AddTraces(store *trace.Store, judge graph.Judge, keep func([]trace.SpanRef) bool) {
	s.addRange(store, judge, keep, graph.GroupTraces(store), 0, -1)
}

// leastParallel is how many spans are worth a goroutine of their own.
const leastParallel = 2000

// AddParallel is AddTraces by as many goroutines as there are processors. Each
// asks for a judge of its own. A nil keep holds for all traces; else it must be
// safe to be called by several at once.
func (s *Summary) AddParallel(store *trace.Store, judge func() graph.Judge, keep func([]trace.SpanRef) bool) {
	if keep == nil {
		keep = func([]trace.SpanRef) bool { return true }
	}
	traces := graph.GroupTraces(store)
	n := max(1, min(runtime.GOMAXPROCS(0), store.Len()/leastParallel))
	cuts := traces.Cut(n)
	parts := make([]*Summary, n)
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		parts[i] = New()
		if s.Whole != nil {
			parts[i].KeepWhole()
			parts[i].Whole.level = s.Whole.level
		}
		fork, j := store.Fork(), judge()
		wg.Go(func() { parts[i].addRange(fork, j, keep, traces, cuts[i], cuts[i+1]) })
	}
	own := store
	if n > 1 {
		own = store.Fork()
	}
	s.addRange(own, judge(), keep, traces, cuts[0], cuts[1])
	wg.Wait()
	for _, p := range parts[1:] {
		s.Merge(p)
	}
}

// addRange adds the traces from one to before another; to the last if that is
// negative.
func (s *Summary) addRange(store *trace.Store, judge graph.Judge, keep func([]trace.SpanRef) bool, traces *graph.Traces, from, to int) {
	if to < 0 {
		to = traces.Len()
	}
	a := s.Adder(store, judge)
	for i := from; i < to; i++ {
		if id, refs := traces.Trace(i); keep(refs) {
			a.Add(id, refs)
		}
	}
	a.Close()
}

// An Adder adds traces of one store to a Summary, one by one.
type Adder struct {
	s       *Summary
	store   *trace.Store
	builder *graph.Builder
	folder  *graph.Folder
	tree    graph.Tree
	apart   []graph.Node
}

// Adder returns an Adder of traces of the store. Close ends its use.
func (s *Summary) Adder(store *trace.Store, judge graph.Judge) *Adder {
	return &Adder{s: s, store: store, builder: graph.NewBuilder(s.Dict, store, judge), folder: &graph.Folder{Fold: s.Graph, Dict: s.Dict, Bounded: true}}
}

// Add adds the requests of a trace, given all its spans.
func (a *Adder) Add(id trace.TraceID, refs []trace.SpanRef) {
	s, store, tree, c := a.s, a.store, &a.tree, &a.s.Counts
	tree.Build(store, id, refs)
	if len(tree.Spans) > 0 {
		c.Traces++
	}
	c.Spans += int64(len(tree.Spans))
	c.Duplicates += int64(tree.Duplicates)
	c.Rejected += int64(tree.Rejected)
	if tree.Incomplete() {
		c.IncompleteTraces++
	}
	for _, r := range tree.Spans {
		c.Links += int64(len(store.Links(r)))
	}
	if tree.Duplicates > 0 {
		c.Defects.AddN(trace.Duplicate, int64(tree.Duplicates), "trace "+store.TraceIDText(id))
	}
	for _, d := range tree.Defects {
		where := "trace " + store.TraceIDText(id)
		if d.Node != graph.NoNode {
			where += ", span " + store.SpanIDText(store.ID(tree.Spans[d.Node]))
		}
		if d.Kind == trace.Orphan {
			c.Orphans++
		}
		c.Defects.Add(d.Kind, where)
	}
	a.folder.Producers(tree)
	first := len(s.Records)
	apart := a.apart[:0] // the spans of what is no request
	a.builder.Records(tree, func(r *graph.Record, spans []graph.Refs) {
		if r.Standing == graph.Stream || r.Standing == graph.Scheduled {
			for _, n := range spans {
				apart = append(apart, n.Client, n.Work)
			}
		}
		s.Records = append(s.Records, r)
		if s.Kept != nil {
			s.Kept.count(s.Dict, r)
		}
		a.folder.Add(r)
		s.Queues.Add(r)
		for i := range r.Calls {
			if r.Calls[i].Impossible() {
				c.Defects.Add(trace.ChildLongerThanParent, "trace "+store.TraceIDText(id)+", span "+store.SpanIDText(store.ID(tree.Spans[spans[i].Work])))
			}
		}
	})
	if s.Whole != nil {
		s.Whole.offer(s.Dict, tree, s.Records[first:])
	}
	slices.Sort(apart)
	a.apart = apart
	for i, r := range tree.Spans {
		for len(apart) > 0 && apart[0] < graph.Node(i) {
			apart = apart[1:]
		}
		v := store.Interval(r)
		if len(apart) > 0 && apart[0] == graph.Node(i) {
			v.Start = v.End
		}
		c.saw(v)
	}
}

// Close counts what was found wrong while adding.
func (a *Adder) Close() { a.s.Counts.Defects.Merge(a.builder.Defects) }

// Merge adds o to s. The records of o move to s: o is not to be used again.
func (s *Summary) Merge(o *Summary) {
	if s.Kept != nil || o.Kept != nil {
		s.sample()
		o.sample()
	}
	m := s.Dict.Absorb(o.Dict)
	for _, r := range o.Records {
		r.Remap(m)
	}
	s.Records = append(s.Records, o.Records...)
	if s.Kept != nil {
		o.Kept.remap(m)
		s.Kept.merge(o.Kept)
		s.compact()
	}
	if o.Whole != nil {
		s.KeepWhole()
		o.Whole.remap(m)
		s.Whole.merge(s.Dict, o.Whole)
	}
	s.Graph.Merge(o.Graph, m)
	s.Queues.Merge(o.Queues, m)
	s.Metrics.Merge(o.Metrics)
	a, b := &s.Counts, &o.Counts
	a.Spans += b.Spans
	a.Traces += b.Traces
	a.Duplicates += b.Duplicates
	a.Rejected += b.Rejected
	a.Orphans += b.Orphans
	a.IncompleteTraces += b.IncompleteTraces
	a.Links += b.Links
	if a.From == trace.NoTime || b.From != trace.NoTime && b.From < a.From {
		a.From = b.From
	}
	if b.To > a.To {
		a.To = b.To
	}
	a.Defects.Merge(b.Defects)
}

// Canonicalize gives s the codes and the order that depend on its content
// alone. The result of any order of merges is the same, to the byte.
func (s *Summary) Canonicalize() {
	used := make([]bool, s.Dict.Strings())
	s.Graph.Use(used)
	s.Queues.Use(used)
	for _, r := range s.Records {
		used[r.Class], used[r.Reason], used[r.BeforeEvidence] = true, true, true
		for _, a := range r.Attrs {
			used[a.Key], used[a.Value.TextID()] = true, true
		}
		for _, w := range r.Waits {
			used[w.Evidence], used[w.Resource] = true, true
		}
	}
	if s.Kept != nil {
		s.Kept.use(used)
	}
	if s.Whole != nil {
		s.Whole.use(used)
	}
	dict, m := s.Dict.Canonical(used)
	if s.Whole != nil {
		s.Whole.remap(m)
	}
	if s.Kept != nil {
		s.Kept.remap(m)
	}
	for _, r := range s.Records {
		r.Remap(m)
	}
	slices.SortFunc(s.Records, (*graph.Record).Compare)
	g, q := graph.NewFold(), queuewait.NewFold()
	g.Merge(s.Graph, m)
	q.Merge(s.Queues, m)
	s.Dict, s.Graph, s.Queues = dict, g, q
}
