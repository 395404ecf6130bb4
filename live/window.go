package live

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// maxOpen is how many windows are open at once; one more closes the oldest.
const maxOpen = 8

// A window is what ended in one stretch of time.
type window struct {
	index   int64
	parts   map[string]*summary.Summary // by version; "" where versions do not matter
	touched time.Time
	bytes   int64 // of its records and folds, about
	points  int64 // metric points that did not fit

	whole bool // snapshots of it keep some requests whole

	looked int   // how often it was looked at while open
	told   *told // what was found in it
}

func (e *Engine) newWindow(index int64) *window {
	return &window{index: index, parts: map[string]*summary.Summary{}, whole: e.o.Dir != "" || e.o.NoReports, told: &told{}}
}

// A completed window is encoded: it changes no more, and takes a tenth of the
// memory.
type completed struct {
	index int64
	parts []part
	open  bool // it was cut off by the end of the engine

	points int64 // metric points that did not fit
	told   *told // what was found in it
}

type part struct {
	version  string
	first    trace.Time // start of the first span
	requests int
	snapshot []byte
	name     string           // of its file, or a name for it
	sum      *summary.Summary // of an open window, instead of the snapshot
}

// index is the window of an instant.
func (e *Engine) index(at int64) int64 {
	if e.o.Window == 0 {
		return 0
	}
	w := int64(e.o.Window)
	i := at / w
	if at%w < 0 {
		i--
	}
	return i
}

func (e *Engine) begins(index int64) time.Time {
	return time.Unix(0, index*int64(e.o.Window)).UTC()
}

// window is the open window of an instant; nil if it is closed. What ends in the
// future counts as ending now: some clock is wrong.
func (e *Engine) window(at trace.Time, now time.Time) (w *window, future bool) {
	i := e.index(int64(at))
	if present := e.index(now.UnixNano()); i > present+1 && e.o.Window > 0 {
		i, future = present, true
	}
	if e.anyClosed && i <= e.last {
		return nil, future
	}
	w = e.windows[i]
	if w == nil {
		w = e.newWindow(i)
		e.windows[i] = w
	}
	w.touched = now
	return w, future
}

// part is the part of a version. Its snapshot keeps some requests whole, unless it
// is nobody's to read.
func (w *window) part(version string) *summary.Summary {
	s := w.parts[version]
	if s == nil {
		s = summary.New()
		if w.whole && version != metricsPart {
			s.KeepWhole()
		}
		w.parts[version] = s
	}
	return s
}

// A folder adds the traces of one store to the windows that they ended in.
type folder struct {
	e     *Engine
	store *trace.Store
	now   time.Time
	judge graph.Judge
	to    map[*summary.Summary]*summary.Adder
	added int64 // bytes since memory was last looked at
}

// folder adds traces that were kept with probability 1 − gate, and stand for as
// many more.
func (e *Engine) folder(store *trace.Store, gate key, now time.Time) *folder {
	judge := e.o.Analysis.Judge()
	if gate > 0 {
		inner, scale := judge, 1/(1-float64(gate)/(1<<64))
		judge = func(s *trace.Store, r trace.SpanRef, calls bool) graph.Judgement {
			j := inner(s, r, calls)
			j.Weight = int64(math.Round(float64(j.Weight) * scale))
			return j
		}
	}
	return &folder{e: e, store: store, now: now, judge: judge, to: map[*summary.Summary]*summary.Adder{}}
}

func (f *folder) add(id trace.TraceID, refs []trace.SpanRef) {
	e, s := f.e, f.store
	end, highest := trace.NoTime, trace.NoTime
	outOfOrder := int64(0)
	for _, r := range refs {
		v := s.Interval(r)
		end = max(end, v.End)
		if v.Start < highest {
			outOfOrder++
		}
		highest = max(highest, v.Start)
	}
	w, future := e.window(end, f.now)
	if w == nil {
		e.total.Late += int64(len(refs))
		return
	}
	e.total.Analysed += int64(len(refs))
	e.total.OutOfOrder += outOfOrder
	if future {
		e.total.Future += int64(len(refs))
	}
	version := ""
	if e.o.Compare == ByVersion {
		version = e.version(s, refs)
	}
	sum := w.part(version)
	a := f.to[sum]
	if a == nil {
		a = sum.Adder(s, f.judge)
		f.to[sum] = a
	}
	dup := sum.Counts.Duplicates
	rejected := sum.Counts.Rejected
	records := len(sum.Records)
	a.Add(id, refs)
	e.total.Duplicates += sum.Counts.Duplicates - dup
	e.total.Rejected += sum.Counts.Rejected - rejected
	for _, r := range sum.Records[records:] {
		f.added += 320 + int64(len(r.Calls))*200 // about: with what the folds keep of its calls
	}
	if f.added > e.recordBudget/4 {
		f.close()
	}
}

// close ends the adders, which more adders may follow.
func (f *folder) close() {
	for _, a := range f.to {
		a.Close()
	}
	clear(f.to)
	f.added = 0
	f.e.bound()
}

// bound measures the open windows. Beyond their share of the memory they are made
// coarser: each part gets as much as the others, and what folds do not take of it
// is for records.
func (e *Engine) bound() {
	parts := int64(0)
	for _, w := range e.windows {
		w.bytes = 0
		for _, s := range w.parts {
			w.bytes += s.Bytes()
			parts++
		}
	}
	if e.recordBytes() <= e.recordBudget {
		return
	}
	share := e.recordBudget / 2 / parts // half, so that it is not at once too much again
	for _, w := range e.windows {
		w.bytes = 0
		for _, s := range w.parts {
			s.BoundFolds(share / 2)
			s.Bound(max(share/2, share-s.FoldBytes()))
			w.bytes += s.Bytes()
		}
	}
}

// version is the version of a trace: that of the service that counts, else of
// the one where the trace begins.
func (e *Engine) version(s *trace.Store, refs []trace.SpanRef) string {
	first, version := trace.NoTime, ""
	rooted := false
	for _, r := range refs {
		res := s.Resource(s.ResourceOf(r))
		at := s.Interval(r).Start
		if e.o.VersionOf != "" && s.String(res.Service) != e.o.VersionOf {
			continue
		}
		root := s.ParentID(r) == trace.NoSpanID
		if first == trace.NoTime || root && !rooted || root == rooted && at < first {
			first, version, rooted = at, s.String(res.Version), root
		}
	}
	return version
}

// points adds metric points to the windows of their times. A version does not
// show in the metrics of other services, so every version gets all. What does not
// fit beside what open windows hold is shed.
func (e *Engine) points(p *metric.Store, now time.Time) {
	from, to, ok := p.Times()
	if !ok {
		return
	}
	defects := p.Defects
	total, placed, held := int64(p.Points()), int64(0), int64(0)
	for _, w := range e.windows {
		if s := w.parts[metricsPart]; s != nil {
			held += s.Metrics.Bytes()
		}
	}
	for i := e.index(int64(from)); ; {
		begin, end := trace.Time(math.MinInt64), trace.Time(math.MaxInt64)
		if e.o.Window > 0 {
			begin, end = trace.Time(i*int64(e.o.Window)), trace.Time((i+1)*int64(e.o.Window))
		}
		f := p.FoldBetween(begin, end)
		if _, received := f.Points(); received > 0 {
			if w, _ := e.window(max(begin, from), now); w != nil {
				placed += received
				if bytes := f.Bytes(); held+bytes > e.pointBudget {
					w.points += received
					e.total.ShedPoints += received
				} else {
					held += bytes
					w.bytes += bytes
					w.part(metricsPart).Metrics.Merge(f)
					w.part(metricsPart).Counts.Defects.Merge(defects)
					defects = trace.Tally{}
				}
			}
		}
		next, _, ok := p.FoldBetween(end, math.MaxInt64).Span()
		if !ok || next > to || e.o.Window == 0 {
			break
		}
		i = e.index(int64(next))
	}
	e.total.LatePoints += total - placed
}

// metricsPart is the part of a window that holds its metrics until it closes. No
// version is named so.
const metricsPart = "\x00metrics"

// closeWindows completes the windows that are over, the oldest first; all of them
// if the engine closes, which it does with late, until that holds.
func (e *Engine) closeWindows(now time.Time, late func() bool) {
	all := late != nil
	for _, i := range slices.Sorted(maps.Keys(e.windows)) {
		if all && late() {
			return
		}
		w := e.windows[i]
		over := false
		if e.o.Window > 0 {
			// A trace that ended just before the window did is folded after two
			// generations, and its last spans may have come late.
			over = now.Sub(e.begins(i+1)) >= 4*e.o.Quiet && now.Sub(w.touched) >= 2*e.o.Quiet
		}
		if !over && !all && len(e.windows) <= maxOpen {
			break
		}
		e.complete(w, now, !over && e.o.Window > 0 && all)
	}
}

// complete closes a window.
func (e *Engine) complete(w *window, now time.Time, cut bool) {
	delete(e.windows, w.index)
	e.last, e.anyClosed = w.index, true
	metrics := w.parts[metricsPart]
	delete(w.parts, metricsPart)
	if len(w.parts) == 0 {
		w.part("")
	}
	c := &completed{index: w.index, open: cut, points: w.points, told: w.told}
	for _, v := range slices.Sorted(maps.Keys(w.parts)) {
		s := w.parts[v]
		if metrics != nil {
			s.Metrics.Merge(metrics.Metrics)
			s.Counts.Defects.Merge(metrics.Counts.Defects)
		}
		p := part{version: v, first: s.Counts.From, requests: len(s.Records)}
		p.snapshot = summary.Encode([]*summary.Summary{s})
		p.name = e.fileName(c, v)
		c.parts = append(c.parts, p)
	}
	e.total.Windows++
	e.total.LastWindow = e.begins(w.index + 1)
	if e.o.Window == 0 {
		e.total.LastWindow = now
	}
	e.o.warn(e.save(c))
	e.keep(c)
	e.report(c, now)
}

// keep adds a completed window to the history, and forgets what is too old or too
// much: of Memory an eighth. As many as may have to be left out as regressions are
// kept besides.
func (e *Engine) keep(c *completed) {
	e.completed = append(e.completed, c)
	slices.SortFunc(e.completed, func(a, b *completed) int { return cmp.Compare(a.index, b.index) })
	for len(e.completed) > 1 && (len(e.completed) > 2*e.o.History+1 || e.keptBytes() > e.o.Memory/8) {
		e.completed = slices.Delete(e.completed, 0, 1)
	}
}

// Snapshot is the encoded snapshot of the last completed window, all versions
// joined; nil if there is none.
func (e *Engine) Snapshot() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.completed) == 0 {
		return nil, nil
	}
	parts := e.completed[len(e.completed)-1].parts
	if len(parts) == 1 {
		return parts[0].snapshot, nil
	}
	joined := summary.New()
	for _, p := range parts {
		runs, err := summary.Decode(p.snapshot)
		if err != nil {
			return nil, err
		}
		joined.Merge(runs[0])
	}
	return summary.Encode([]*summary.Summary{joined}), nil
}

func (e *Engine) keptBytes() (n int64) {
	for _, c := range e.completed {
		for _, p := range c.parts {
			n += int64(len(p.snapshot))
		}
	}
	return n
}

func (e *Engine) recordBytes() (n int64) {
	for _, w := range e.windows {
		n += w.bytes
	}
	return n
}

// versions are the two sides of a comparison by version: the newest, and of the
// others the one with the most requests. The newest is the one that was first
// seen last.
func versions(all []*completed) (base, cur string, ok bool) {
	type seen struct {
		version  string
		first    trace.Time
		requests int
	}
	by := map[string]*seen{}
	for _, c := range all {
		for _, p := range c.parts {
			if p.requests == 0 {
				continue
			}
			s := by[p.version]
			if s == nil {
				s = &seen{version: p.version, first: p.first}
				by[p.version] = s
			}
			s.first = min(s.first, p.first)
			s.requests += p.requests
		}
	}
	list := slices.Collect(maps.Values(by))
	if len(list) == 0 {
		return "", "", false
	}
	slices.SortFunc(list, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(b.first, a.first), strings.Compare(b.version, a.version))
	})
	newest := list[0]
	if len(list) == 1 {
		return "", newest.version, false
	}
	rest := list[1:]
	slices.SortFunc(rest, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(b.first, a.first))
	})
	return rest[0].version, newest.version, true
}
