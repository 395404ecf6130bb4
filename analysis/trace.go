package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A TraceError says why a trace id names no trace, or several.
type TraceError struct {
	ID      string
	Matches int
	Of      int  // traces in the input
	Held    bool // the input is snapshots: the traces are those that they hold whole
}

func (e *TraceError) Error() string {
	if e.Matches > 1 {
		return fmt.Sprintf("%d of %d traces begin with %q: give more of the id", e.Matches, e.Of, e.ID)
	}
	if e.Held {
		return fmt.Sprintf("none of the %d traces that are kept whole in the snapshot has the id %q: it holds a few of each endpoint, which tailscope tui lists", e.Of, e.ID)
	}
	return fmt.Sprintf("none of %d traces has the id %q", e.Of, e.ID)
}

// Trace reads the inputs and returns one of their traces, judged by all of them.
// id is the trace's id in hexadecimal or as in the file, or a prefix that only
// one trace has.
func Trace(ctx context.Context, o *Options, id string) (*report.Trace, error) {
	if len(o.Current) != 1 || len(o.Baseline) != 0 {
		return nil, fmt.Errorf("analysis: a trace is looked up in one data set")
	}
	f := &finder{id: id}
	s, err := f.search(ctx, o, o.Current[0])
	if err != nil {
		return nil, err
	}
	if len(f.found) != 1 {
		return nil, &TraceError{id, len(f.found), f.traces, f.held != nil}
	}
	want := f.found[0]
	store := trace.NewStore(trace.NewTables())
	o.names(store)
	for _, spans := range f.spans {
		if err := store.AddPacked(spans); err != nil {
			return nil, err
		}
	}
	refs := make([]trace.SpanRef, store.Len())
	for i := range refs {
		refs[i] = trace.SpanRef(i)
	}
	reading := summary.Read(nil, []*summary.Summary{s}, o.reading())
	t := &tracer{
		store:   store,
		reading: reading,
		builder: graph.NewBuilder(reading.Dict, store, o.judge()),
		namer:   trace.NewNamer(store),
	}
	t.tree.Build(store, want, refs)
	out, err := t.trace()
	if err != nil {
		return nil, err
	}
	out.Place = place(reading, o, want, t.entry)
	return out, nil
}

// place is where the request stands among those of its endpoint.
func place(r *summary.Reading, o *Options, id trace.TraceID, entry trace.SpanID) *report.Place {
	a := &analyzer{o: o, opt: o.stats(), reading: r}
	for _, e := range r.Endpoints {
		if e.Inner {
			continue
		}
		at := slices.IndexFunc(e.Sides[summary.Current], func(q *summary.Request) bool { return q.TraceID == id && q.Entry == entry })
		if at < 0 {
			continue
		}
		own := e.Sides[summary.Current][at]
		if !a.counts(own) {
			return nil
		}
		var below, total, squares float64
		var ns []int64
		var ws []float64
		for _, q := range e.Sides[summary.Current] {
			if !a.counts(q) {
				continue
			}
			w := weight(q.Weight)
			ns, ws = append(ns, q.Duration()), append(ws, w)
			total, squares = total+w, squares+w*w
			if q.Duration() <= own.Duration() {
				below += w
			}
		}
		n := total * total / squares
		iv := stats.Wilson(below/total*n, n, 1-o.Alpha)
		return &report.Place{Percentile: report.Float(below / total), CI: report.Between(iv.Lo, iv.Hi), Of: int64(len(ns)), Estimated: report.Float(total),
			Median: report.Ms(stats.Quantile(ns, ws, 0.5))}
	}
	return nil
}

// A finder looks for the trace that an id names. It keeps its spans, which the
// store that they were found in may not.
type finder struct {
	id     string
	traces int
	found  []trace.TraceID
	exact  bool
	spans  [][]byte // of the one that was found, packed
	packer trace.Packer

	held map[trace.TraceID]bool // in snapshots, which may hold a trace in parts: all, and whether it is meant; else nil
}

// search looks in all paths, and returns the summary of them.
func (f *finder) search(ctx context.Context, o *Options, paths []string) (*summary.Summary, error) {
	if s, err := f.snapshots(paths); s != nil || err != nil {
		return s, err
	}
	src, err := read(ctx, o, paths)
	if err != nil {
		return nil, err
	}
	defer src.close()
	s := summary.New()
	return s, src.each(func(part *trace.Store) error {
		s.AddParallel(part, o.judge, nil)
		src.o.Bound(s)
		f.look(part)
		return nil
	})
}

// snapshots looks in snapshots, if that is what all paths are: in what they hold
// of traces, to be judged by all that they tell of.
func (f *finder) snapshots(paths []string) (*summary.Summary, error) {
	var all *summary.Summary
	for _, path := range paths {
		runs, ok, err := snapshot(path)
		if !ok || err != nil {
			return nil, err
		}
		for _, s := range runs {
			if all == nil {
				all = s
			} else {
				all.Merge(s)
			}
		}
	}
	if all == nil {
		return nil, nil
	}
	f.held = map[trace.TraceID]bool{}
	return all, all.EachWhole(f.look)
}

func (f *finder) look(store *trace.Store) {
	exact := store.TextTraceID([]byte(f.id))
	prefix := strings.ToLower(f.id)
	graph.Group(store, func(t trace.TraceID, refs []trace.SpanRef) {
		text := store.TraceIDText(t)
		again, part := f.held[t]
		if !part {
			f.traces++
		}
		note := func(meant bool) {
			if f.held != nil {
				f.held[t] = meant
			}
		}
		switch {
		case t == exact || text == f.id:
			if !f.exact {
				f.found, f.exact, again = nil, true, false
			}
		case !f.exact && f.id != "" && (strings.HasPrefix(strings.ToLower(text), prefix) || strings.HasPrefix(strings.TrimLeft(text, "0"), prefix)):
		default:
			note(false)
			return
		}
		note(true)
		if !again {
			f.found, f.spans = append(f.found, t), nil
		}
		f.spans = append(f.spans, f.packer.Append(nil, store, refs))
	})
}

type tracer struct {
	store   *trace.Store
	reading *summary.Reading
	builder *graph.Builder
	namer   *trace.Namer
	tree    graph.Tree
	shift   []int64 // of each node
	entry   trace.SpanID
}

func (t *tracer) trace() (*report.Trace, error) {
	entry := t.tree.Entry()
	if entry == graph.NoNode {
		return nil, fmt.Errorf("trace %s has no span that could begin it: all are each other's ancestors", t.store.TraceIDText(t.tree.ID))
	}
	record := t.builder.Record(&t.tree, entry)
	t.entry = record.Entry
	t.reading.Resolve(record)
	spans := slices.Clone(t.builder.Spans())
	ledger := summary.NewLedger(t.reading.Sets[summary.Current].Calibration)
	parts := ledger.Charge(record)

	start := t.tree.Interval(entry).Start
	out := &report.Trace{TraceID: t.store.TraceIDText(t.tree.ID), StartUnixNano: int64(start), DurationNS: record.Duration()}
	served := entry // of a sidecar's span, the application behind it
	if spans[0].Client == graph.NoNode {
		served = spans[0].Work
	}
	out.Root = report.TraceRoot{SpanID: t.spanID(entry), Service: t.service(served), Operation: t.operation(served)}
	node := func(call int32, client bool) graph.Node {
		if client {
			return spans[call].Client
		}
		return spans[call].Work
	}

	for _, p := range parts {
		n := node(p.Call, p.Client)
		seg := report.Segment{
			SpanID: t.spanID(n), Service: t.service(n), Operation: t.operation(n), Name: t.name(n), SpanKind: t.kind(n),
			Peer: t.peer(record, p), Kind: report.Kind(p.Kind.String()), Evidence: t.evidence(ledger.Calibration, record, p), StartNS: p.Start, EndNS: p.End,
		}
		out.Path = append(out.Path, seg)
	}

	t.shifts(entry, record, spans, &ledger.Walker)
	for _, b := range ledger.Walker.Late {
		n := node(b.Call, b.Client)
		out.Late = append(out.Late, report.LateSpan{SpanID: t.spanID(n), Service: t.service(n), Operation: t.operation(n), Name: t.name(n), DepartedNS: b.Departed, StartNS: b.Start, EndNS: b.End})
	}
	for _, b := range ledger.Walker.After {
		n := node(b.Call, b.Client)
		out.After = append(out.After, report.AfterSpan{SpanID: t.spanID(n), Service: t.service(n), Operation: t.operation(n), Name: t.name(n), StartNS: b.Start, EndNS: b.End})
	}
	slices.SortStableFunc(out.Late, func(a, b report.LateSpan) int { return cmp.Compare(a.StartNS, b.StartNS) })
	slices.SortStableFunc(out.After, func(a, b report.AfterSpan) int { return cmp.Compare(a.StartNS, b.StartNS) })

	for i := range t.tree.Spans {
		n := graph.Node(i)
		v := t.tree.Interval(n)
		parent := ""
		if id := t.store.ParentID(t.tree.Spans[i]); id != trace.NoSpanID {
			parent = t.store.SpanIDText(id)
		}
		out.Spans = append(out.Spans, report.Span{
			SpanID: t.spanID(n), ParentSpanID: parent, Service: t.service(n), Operation: t.operation(n), Name: t.name(n), SpanKind: t.kind(n),
			StartNS: int64(v.Start - start), EndNS: int64(v.End - start), ShiftNS: t.shift[i], SelfNS: t.self(n), Status: t.store.Status(t.tree.Spans[i]).String(),
		})
	}
	t.defects(out, record, spans, &ledger.Walker)
	return out, nil
}

func (t *tracer) spanID(n graph.Node) string {
	return t.store.SpanIDText(t.store.ID(t.tree.Spans[n]))
}
func (t *tracer) name(n graph.Node) string {
	return t.store.String(t.store.Name(t.tree.Spans[n]))
}
func (t *tracer) kind(n graph.Node) string { return t.store.Kind(t.tree.Spans[n]).String() }
func (t *tracer) service(n graph.Node) string {
	return t.store.String(t.namer.Service(t.tree.Spans[n]))
}
func (t *tracer) operation(n graph.Node) string {
	return t.store.String(t.namer.Operation(t.tree.Spans[n]))
}

// peer is the party on the other side of a part: the callee of a call, the call
// that follows a wait of the caller.
func (t *tracer) peer(r *graph.Record, p summary.Part) string {
	d := t.reading.Dict
	c := &r.Calls[p.Call]
	if !p.Client && p.Kind != summary.Service && p.Next >= 0 {
		s := d.SlotAt(r.Calls[p.Next].Slot)
		return d.String(s.Shown().Service) + " " + d.String(s.Shown().Operation)
	}
	if !p.Client {
		return ""
	}
	s := d.SlotAt(c.Slot)
	if s.Callee.Service != 0 {
		return d.String(s.Callee.Service)
	}
	return d.String(s.Peer)
}

// evidence is what the kind of a part rests on.
func (t *tracer) evidence(c *summary.Calibration, r *graph.Record, p summary.Part) string {
	call := &r.Calls[p.Call]
	var text string
	switch p.Kind {
	case summary.Wait:
		if p.Wait >= 0 {
			text = t.reading.Dict.String(r.Waits[p.Wait].Evidence)
			if res := r.Waits[p.Wait].Resource; res != 0 {
				text += " of " + t.reading.Dict.String(res)
			}
		} else if o := owner(c, r, p); o != nil {
			text = string(o.Owner)
			for _, test := range o.Tests {
				if test.Decided {
					text += " by " + test.Name + ": " + test.Statement
				}
			}
		}
	case summary.Network, summary.Untraced:
		if call.Paired() {
			f, ok := c.Floors.Of(call.Slot)
			switch {
			case !ok:
				text = "between client and server span; no call that succeeded gives the network's share"
			case p.Kind == summary.Network:
				text = prose.Sprintf("floor of the edge, %.3g ms by %d calls", float64(f.NS)/1e6, f.N)
			default:
				text = prose.Sprintf("beyond the edge's floor of %.3g ms (%d calls); nothing says what it was", float64(f.NS)/1e6, f.N)
			}
		}
	case summary.Timeout:
		text = "waited out; nothing is known of the callee"
	case summary.Backoff:
		text = "between two attempts"
	case summary.Service:
		if p.Client && !call.Work.Seen() && call.Client.Seen() && t.store.Kind(t.tree.Spans[0]) != trace.KindUnspecified {
			text = "includes network and any wait inside the client library"
		}
	}
	if p.Inferred {
		if text != "" {
			text += "; "
		}
		text += "on the path as inferred from timing: too few requests show whether it was waited for"
	}
	return text
}

// owner is the verdict on the wait of a part.
func owner(c *summary.Calibration, r *graph.Record, p summary.Part) *queuewait.Verdict {
	if p.Client && r.Calls[p.Call].Paired() {
		return c.Owners.Of(&r.Calls[p.Call], queuewait.Between)
	}
	if !p.Client && p.Next < 0 {
		return c.Owners.Of(&r.Calls[p.Call], queuewait.Accepted)
	}
	if p.Client && p.Next < 0 && !r.Calls[p.Call].Work.Seen() {
		return c.Owners.Of(&r.Calls[p.Call], queuewait.Inside)
	}
	if p.Next >= 0 {
		return c.Owners.Before(&r.Calls[p.Next])
	}
	return nil
}

// shifts finds what places each span on the entry's clock.
func (t *tracer) shifts(entry graph.Node, r *graph.Record, spans []graph.Refs, w *graph.Walker) {
	t.shift = make([]int64, len(t.tree.Spans))
	clocks := t.reading.Sets[summary.Current].Calibration.Verdicts.Clocks.At(r.Start())
	host := func(n graph.Node) trace.StringID {
		text := t.store.String(t.store.Resource(t.store.ResourceOf(t.tree.Spans[n])).Host)
		id, _ := t.reading.Dict.Lookup(text)
		return id
	}
	for i := range t.shift {
		t.shift[i], _ = clocks.Shift(host(entry), host(graph.Node(i)))
	}
	for i, ref := range spans {
		if ref.Client != graph.NoNode {
			t.shift[ref.Client] = w.Shift(int32(i), true)
		}
		if ref.Work != graph.NoNode {
			t.shift[ref.Work] = w.Shift(int32(i), false)
		}
	}
}

// self is a span's duration less the union of its children, on one clock.
func (t *tracer) self(n graph.Node) int64 {
	v := t.tree.Interval(n)
	v.Start += trace.Time(t.shift[n])
	v.End += trace.Time(t.shift[n])
	var covered []trace.Interval
	for _, k := range t.tree.Children(n) {
		c := t.tree.Interval(k)
		c.Start += trace.Time(t.shift[k])
		c.End += trace.Time(t.shift[k])
		if c = c.Clip(v); c.Duration() > 0 {
			covered = append(covered, c)
		}
	}
	return v.Duration() - latework.Union(covered)
}

func (t *tracer) defects(out *report.Trace, r *graph.Record, spans []graph.Refs, w *graph.Walker) {
	for _, d := range t.tree.Defects {
		id := ""
		if d.Node != graph.NoNode {
			id = t.spanID(d.Node)
		}
		out.Defects = append(out.Defects, report.SpanDefect{Kind: string(d.Kind), SpanID: id, Detail: d.Detail})
	}
	for i := range r.Calls {
		if r.Calls[i].Impossible() {
			out.Defects = append(out.Defects, report.SpanDefect{Kind: string(trace.ChildLongerThanParent), SpanID: t.spanID(spans[i].Work),
				Detail: "it is longer than the client span that waited for it: no clock offset fits, and it was not moved"})
		}
	}
	for _, i := range w.Moved {
		out.Defects = append(out.Defects, report.SpanDefect{Kind: string(trace.OutsideParent), SpanID: t.spanID(spans[i].Work),
			Detail: "it lies outside the client span that waited for it: it was placed in the middle of it"})
	}
	shifted := map[string]int64{}
	var hosts []string
	for i, s := range t.shift {
		if s != 0 {
			h := t.store.String(t.store.Resource(t.store.ResourceOf(t.tree.Spans[i])).Host)
			if _, ok := shifted[h]; !ok {
				hosts = append(hosts, h)
			}
			shifted[h] = s
		}
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the clock of %s differs: its spans are shown as recorded, and moved by %.3f ms on the path", h, float64(shifted[h])/1e6))
	}
	if t.tree.Duplicates > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d exact copies of spans were dropped", t.tree.Duplicates))
	}
}
