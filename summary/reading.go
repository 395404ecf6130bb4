package summary

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/trace"
)

// The sides of a comparison. A single data set stands on the current side.
const (
	Baseline = 0
	Current  = 1
)

// A Set is the data of one side, of one or several runs.
type Set struct {
	Runs        int
	Requests    int64   // whose records there were; more than Records if Kept
	Kept        int     // of each kind and latency at most; 0: all
	KeptWidth   float64 // within what factor latencies are one
	stands      map[*graph.Record]float64
	Records     []*graph.Record
	RunOf       []int32 // of each record
	Calibration *Calibration
	Graph       *graph.Fold
	Queues      *queuewait.Fold
	Metrics     *metric.Fold
	Pools       []metric.PoolView
	Signals     []metric.Signal
	Counts      Counts

	// Metered is what request-duration metrics say of the sampling of an entry
	// endpoint's requests, by run.
	Metered map[trace.Endpoint][]*Metering

	working sync.Once
	work    *Work
}

// A Reading is the sets of an analysis under one Dict, after the last merge.
type Reading struct {
	Dict *graph.Dict
	Sets [2]*Set // the baseline is nil of a single data set

	Endpoints []*Endpoint // entry endpoints, then inner ones, each by service and operation

	// Renames is the baseline's slots that the current side has under another
	// name; they are read as the current side's.
	Renames []Rename

	// Folded is how many names each of the slots stands for that were made of too
	// many.
	Folded map[graph.SlotID]int

	below      map[[2]graph.SlotID]graph.SlotID
	folding    *graph.Folding
	resolution *graph.Resolution
}

// Resolve gives a record that was built with the reading's Dict the slots that
// the reading's own records have, and what only all of them tell: until when
// others waited for its calls.
func (r *Reading) Resolve(rec *graph.Record) {
	if r.folding != nil {
		for i := range rec.Calls {
			if c := &rec.Calls[i]; int(c.Slot) < len(r.folding.To) {
				c.Slot = r.folding.To[c.Slot]
			}
		}
	}
	r.resolution.Record(rec)
	for _, set := range r.Sets {
		if set == nil {
			continue
		}
		for _, own := range set.Records {
			if own.TraceID == rec.TraceID && own.Entry == rec.Entry {
				rec.Held = own.Held
			}
		}
	}
}

// resolve finds the slots of calls whose server half was lost, of both sides
// together: what one side lost the other may know.
func resolve(dict *graph.Dict, sets [2]*Set, names *graph.Folding) *graph.Resolution {
	calls := make([]int64, dict.Slots())
	for _, set := range sets {
		if set == nil {
			continue
		}
		for _, rec := range set.Records {
			for i := range rec.Calls {
				calls[rec.Calls[i].Slot]++
			}
		}
	}
	return dict.Resolve(calls, names)
}

// An Endpoint is the requests for one operation of a service.
type Endpoint struct {
	Name  trace.Endpoint
	Inner bool // called by another service of the data
	Sides [2][]*Request
}

// A Request is one request of an endpoint.
type Request struct {
	*graph.Record
	Run int32
	Set *Set
}

// Options say how to read.
type Options struct {
	Inner bool          // also the endpoints that other services call
	Names *metric.Names // what metrics mean; nil: the known names

	// Shared reports whether the sides have the same metrics, which then tell
	// nothing of the sampling of one.
	Shared bool
}

// Stands is for how many requests of the input a record stands: more than one
// where not all records could be kept. Its weight says for how many requests
// those stand.
func (s *Set) Stands(r *graph.Record) float64 {
	if n, ok := s.stands[r]; ok {
		return n
	}
	return 1
}

// Comparison reports whether there are two sides.
func (r *Reading) Comparison() bool { return r.Sets[Baseline] != nil }

// Read joins the runs of both sides for reading. The summaries are used up. base
// is empty for a single data set.
func Read(base, cur []*Summary, o Options) *Reading {
	if o.Names == nil {
		o.Names = metric.NewNames(nil)
	}
	all := New()
	sides := [2][]*Summary{base, cur}
	r := &Reading{}
	runOf := map[*graph.Record]int32{} // where there are several
	var counted [2][][]metric.Durations
	var seconds [2][]float64
	var joins [2]*Summary
	var codes [2]*graph.Remap
	for side, runs := range sides {
		if side == Baseline && len(runs) == 0 {
			continue
		}
		set := &Set{Runs: len(runs), Graph: graph.NewFold(), Queues: queuewait.NewFold(), Metrics: metric.NewFold(), Counts: Counts{From: trace.NoTime, To: trace.NoTime, Defects: trace.Tally{}}}
		var joined *Summary
		for i, s := range runs {
			if s.Kept == nil {
				set.Requests += int64(len(s.Records))
			} else { // each run is a sample by itself
				n, stands := s.weigh()
				set.Requests += n
				if set.stands == nil {
					set.stands = stands
				} else {
					maps.Copy(set.stands, stands)
				}
				if m := s.Kept.level.m(); set.Kept == 0 || m < set.Kept {
					set.Kept = m
				}
				set.KeptWidth = max(set.KeptWidth, s.Kept.Width())
				s.Kept = nil
			}
			if i > 0 {
				for _, rec := range s.Records {
					runOf[rec] = int32(i)
				}
			}
			if !o.Shared {
				counted[side] = append(counted[side], s.durations(o.Names))
				seconds[side] = append(seconds[side], float64(s.Counts.To-s.Counts.From)/1e9)
			}
			if joined == nil {
				joined = s
			} else {
				joined.Merge(s)
			}
		}
		if joined == nil {
			joined = New()
		}
		joins[side], codes[side] = joined, all.Dict.Absorb(joined.Dict)
		set.Records = joined.Records
		set.Metrics, set.Counts = joined.Metrics, joined.Counts
		r.Sets[side] = set
	}

	// Codes by content, so that nothing below depends on the order of the input.
	used := make([]bool, all.Dict.Strings())
	for i := range used {
		used[i] = true
	}
	dict, m := all.Dict.Canonical(used)
	r.Dict = dict
	parallel.Do(len(r.Sets), func(side int) {
		set, joined := r.Sets[side], joins[side]
		if set == nil {
			return
		}
		set.Graph, set.Queues = joined.Graph, joined.Queues
		set.remap(codes[side].Then(m))
		joined.Graph, joined.Queues = graph.NewFold(), queuewait.NewFold() // their memory is free
		slices.SortFunc(set.Records, (*graph.Record).Compare)
		set.RunOf = make([]int32, len(set.Records))
		for i, rec := range set.Records {
			if len(runOf) > 0 {
				set.RunOf[i] = runOf[rec]
			}
		}
		if set.Kept == 0 { // of a sample memory is short
			set.settle()
		}
	})
	recount := r.fold()
	r.resolution = resolve(dict, r.Sets, r.folding)
	slots := dict.Remap(r.resolution.To)
	for _, slot := range slices.Collect(maps.Keys(recount)) {
		recount[r.resolution.To[slot]] = true
	}
	r.each(func(set *Set) {
		for _, rec := range set.Records {
			r.resolution.Record(rec)
		}
		set.Graph = r.resolution.Fold(set.Graph, slots)
		if slots.Moves() {
			queues := queuewait.NewFold()
			queues.Merge(set.Queues, slots)
			set.Queues = queues
		}
	})
	var metered []func()
	for side, set := range r.Sets {
		if set != nil {
			metered = append(metered, r.meter(set, counted[side], seconds[side]))
		}
	}
	r.rename(recount)
	for _, file := range metered {
		file()
	}
	clocks := graph.NewFold()
	var queues []*queuewait.Fold
	for _, set := range r.Sets {
		if set != nil {
			clocks.MergeClocks(set.Graph)
			queues = append(queues, set.Queues)
		}
	}
	solved := graph.SolveClocks(clocks)
	floors := queuewait.NewFloors(queues...)
	r.each(func(set *Set) {
		if len(recount) > 0 {
			set.Graph.Recount(dict, recount, set.Records)
		}
		set.Calibration = &Calibration{Dict: dict, Verdicts: graph.NewVerdicts(dict, set.Graph, solved), Floors: floors}
		set.Calibration.Verdicts.Hold(graph.KeptHedges(set.Records), set.Records)
		set.Calibration.Verdicts.Split(set.Records)
		set.dwell()
		graph.Hold(set.Records)
	})
	r.owners(floors, o.Names)
	r.endpoints(o.Inner)
	return r
}

// each calls f for each set, at once: f must change nothing but the set.
func (r *Reading) each(f func(*Set)) {
	parallel.Do(len(r.Sets), func(side int) {
		if set := r.Sets[side]; set != nil {
			f(set)
		}
	})
}

// settle puts the records into memory in their order, in which they are walked from now on.
func (s *Set) settle() {
	calls, attrs := 0, 0
	for _, r := range s.Records {
		calls, attrs = calls+len(r.Calls), attrs+len(r.Attrs)
	}
	to, of, said := make([]graph.Record, len(s.Records)), make([]graph.Call, 0, calls), make([]trace.Attr, 0, attrs)
	for i, r := range s.Records {
		to[i] = *r
		n, m := len(of), len(said)
		of, said = append(of, r.Calls...), append(said, r.Attrs...)
		to[i].Calls, to[i].Attrs = of[n:len(of):len(of)], said[m:len(said):len(said)]
		s.Records[i] = &to[i]
		if w, ok := s.stands[r]; ok {
			delete(s.stands, r)
			s.stands[&to[i]] = w
		}
	}
}

// fold makes few of too many names, and returns the slots whose calls have to be
// counted anew.
func (r *Reading) fold() map[graph.SlotID]bool {
	if r.folding = r.Dict.FoldNames(); r.folding == nil {
		return nil
	}
	r.Folded = r.folding.Names
	for slot, n := range r.Folded {
		e := r.Dict.SlotAt(slot).Shown()
		r.Sets[Current].Counts.Defects.AddN(trace.FoldedName, int64(n), r.Dict.String(e.Service)+" "+r.Dict.String(e.Operation))
	}
	for _, set := range r.Sets {
		if set != nil {
			set.remap(r.Dict.Remap(r.folding.To))
		}
	}
	return r.folding.Recount
}

// remap translates the codes of a set.
func (s *Set) remap(m *graph.Remap) {
	for _, rec := range s.Records {
		rec.Remap(m)
	}
	g, q := graph.NewFold(), queuewait.NewFold()
	g.Merge(s.Graph, m)
	q.Merge(s.Queues, m)
	s.Graph, s.Queues = g, q
}

// owners asks whose queue waits are in.
func (r *Reading) owners(floors *queuewait.Floors, names *metric.Names) {
	var data [2]*queuewait.Data
	for i, set := range r.Sets {
		if set != nil {
			window := metric.Window{From: set.Counts.From, To: set.Counts.To}
			set.Pools, set.Signals = set.Metrics.Pools(window, names), set.Metrics.Signals(window, names)
			data[i] = &queuewait.Data{Dict: r.Dict, Records: set.Records, Verdicts: set.Calibration.Verdicts, Queues: set.Queues, Pools: set.Pools, Sampled: set.Sampled()}
		}
	}
	owners := queuewait.NewOwners(data, floors)
	for side, set := range r.Sets {
		if set != nil {
			set.Calibration.Owners, set.Calibration.Side = owners, side
		}
	}
}

// Sampled reports whether the kept requests are less than half of those that
// there were: what needs all calls of an instance cannot be told then.
func (s *Set) Sampled() bool {
	var w int64
	for _, r := range s.Records {
		w += r.Weight
	}
	return w > 2*graph.OneRequest*int64(len(s.Records))
}

// dwell gives consumers that link to their producers the time since.
func (s *Set) dwell() {
	for _, r := range s.Records {
		if r.Before != graph.NoBefore || len(r.Links) == 0 {
			continue
		}
		for _, l := range r.Links {
			if end, ok := s.Graph.Producers[l]; ok {
				r.Dwells = append(r.Dwells, max(0, int64(r.Start()-end)))
			}
		}
	}
}

func (r *Reading) endpoints(inner bool) {
	type key struct {
		trace.Endpoint
		inner bool
	}
	byName := map[key]*Endpoint{}
	add := func(name trace.Endpoint, in bool, side int, req *Request) {
		k := key{name, in}
		e := byName[k]
		if e == nil {
			e = &Endpoint{Name: name, Inner: in}
			byName[k] = e
			r.Endpoints = append(r.Endpoints, e)
		}
		e.Sides[side] = append(e.Sides[side], req)
	}
	for side, set := range r.Sets {
		if set == nil {
			continue
		}
		for i, rec := range set.Records {
			add(r.EntryName(rec), false, side, &Request{rec, set.RunOf[i], set})
			if !inner {
				continue
			}
			for c := 1; c < len(rec.Calls); c++ {
				if r.request(rec, c) {
					add(r.Dict.SlotAt(rec.Calls[c].Slot).Callee, true, side, &Request{sub(rec, int32(c)), set.RunOf[i], set})
				}
			}
			// The entry of a trace whose root is a client's is a call of its own.
			if rec.Calls[0].Paired() {
				add(r.Dict.SlotAt(rec.Calls[0].Slot).Callee, true, side, &Request{sub(rec, 0), set.RunOf[i], set})
			}
		}
	}
	for _, e := range r.Endpoints {
		e.schedule()
	}
	d := r.Dict
	slices.SortFunc(r.Endpoints, func(a, b *Endpoint) int {
		if a.Inner != b.Inner {
			if a.Inner {
				return 1
			}
			return -1
		}
		return cmp.Or(strings.Compare(d.String(a.Name.Service), d.String(b.Name.Service)), strings.Compare(d.String(a.Name.Operation), d.String(b.Name.Operation)))
	})
}

// schedule counts the requests of a clock where there are no others: those of a job
// are what it is about.
func (e *Endpoint) schedule() {
	scheduled := []*Request{}
	for _, side := range e.Sides {
		for _, q := range side {
			switch q.Standing {
			case graph.Counted:
				return
			case graph.Scheduled:
				scheduled = append(scheduled, q)
			}
		}
	}
	for _, q := range scheduled {
		q.Standing = graph.Counted
	}
}

// EntryName is the endpoint of a record.
func (r *Reading) EntryName(rec *graph.Record) trace.Endpoint { return entryName(r.Dict, rec) }

// request reports whether call c is a request of an inner endpoint: a server's
// span, unless the same service serves the same request in a span around it, as
// a proxy does for its application.
func (r *Reading) request(rec *graph.Record, c int) bool {
	call := &rec.Calls[c]
	s := r.Dict.SlotAt(call.Slot)
	if !call.Work.Seen() || !call.Client.Seen() && s.Kind != trace.KindServer {
		return false
	}
	if call.Client.Seen() {
		return true
	}
	for p := call.Parent; p >= 0; p = rec.Calls[p].Parent {
		up := &rec.Calls[p]
		k := r.Dict.SlotAt(up.Slot)
		if k.Callee.Service != s.Callee.Service {
			return true
		}
		if k.Kind != trace.KindInternal && k.Kind != trace.KindUnspecified {
			return false
		}
	}
	return true
}

// sub is the part of a record that is the request of its call c, seen from its
// server half.
func sub(rec *graph.Record, c int32) *graph.Record {
	s := &graph.Record{
		TraceID: rec.TraceID, Entry: rec.Entry, Class: rec.Class, Weight: rec.Weight, Before: graph.NoBefore,
		Calls: slices.Clone(rec.Calls[c : c+rec.Calls[c].Len]),
	}
	for i := range s.Calls {
		s.Calls[i].Parent -= c
	}
	first := &s.Calls[0]
	if first.Flags&graph.Lasting != 0 {
		s.Standing = graph.Stream
	}
	first.Parent, first.Flags = -1, 0
	first.Client.Proc = graph.NoProc
	switch first.WorkEnd {
	case graph.Failed:
		s.Outcome = population.Failed
	case graph.TimedOut:
		s.Outcome = population.TimedOut
	case graph.Cancelled:
		s.Outcome = population.Cancelled
	}
	// What the client half called is not part of the server's request.
	kept := s.Calls[:1]
	for i := 1; i < len(s.Calls); {
		if s.Calls[i].Parent == 0 && s.Calls[i].Flags&graph.OnClient != 0 {
			i += int(s.Calls[i].Len)
			continue
		}
		kept = append(kept, s.Calls[i])
		i++
	}
	if len(kept) != len(s.Calls) {
		s.Calls = reparent(kept)
	}
	for _, w := range rec.Waits {
		if w.Call == c && !w.Client && w.End <= first.Work.Start { // seen in front of the server's span
			s.Before, s.BeforeEvidence = max(s.Before, 0)+w.Duration(), w.Evidence
			continue
		}
		if w.Call >= c && w.Call < c+rec.Calls[c].Len && !(w.Call == c && w.Client) && len(kept) == int(rec.Calls[c].Len) {
			w.Call -= c
			s.Waits = append(s.Waits, w)
		}
	}
	for _, l := range rec.Limits {
		if l.Call > c && l.Call < c+rec.Calls[c].Len && len(kept) == int(rec.Calls[c].Len) {
			l.Call -= c
			s.Limits = append(s.Limits, l)
		}
	}
	for _, l := range rec.Held {
		if l.Call > c && l.Call < c+rec.Calls[c].Len && len(kept) == int(rec.Calls[c].Len) {
			l.Call -= c
			s.Held = append(s.Held, l)
		}
	}
	return s
}

// reparent restores parents and lengths of calls in pre-order from which
// subtrees were taken, by the lengths that are left.
func reparent(calls []graph.Call) []graph.Call {
	total := int32(len(calls))
	calls[0].Len = total
	type open struct{ at, end int32 }
	var stack []open
	for i := range calls {
		for len(stack) > 0 && stack[len(stack)-1].end <= int32(i) {
			stack = stack[:len(stack)-1]
		}
		calls[i].Parent = -1
		if len(stack) > 0 {
			calls[i].Parent = stack[len(stack)-1].at
		}
		stack = append(stack, open{int32(i), int32(i) + calls[i].Len})
	}
	return calls
}

// Below is slot as a server called at root sees it: a slot of its own tree. It
// adds that slot to the Dict where it is new, so codes of such slots are in the
// order in which they were asked for.
func (r *Reading) Below(root, slot graph.SlotID) graph.SlotID {
	if slot == graph.NoSlot { // recursion so deep that its slots were joined
		slot = root
	}
	k := [2]graph.SlotID{root, slot}
	if id, ok := r.below[k]; ok {
		return id
	}
	s := *r.Dict.SlotAt(slot)
	if slot == root {
		s = graph.Slot{Parent: graph.NoSlot, Callee: s.Callee, Kind: trace.KindServer}
	} else {
		s.Parent = r.Below(root, s.Parent)
	}
	id := r.Dict.Slot(s)
	if r.below == nil {
		r.below = map[[2]graph.SlotID]graph.SlotID{}
	}
	r.below[k] = id
	return id
}
