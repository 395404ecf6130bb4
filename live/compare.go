package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/markdown"
	"github.com/tailscope/tailscope/report/text"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A Published is a report that was made when a window closed, or when a regression
// showed in an open one.
type Published struct {
	Report *report.Report
	At     time.Time // when the window was closed
	Window time.Time // when it began; zero if there is one window only
	Cut    bool      // the window was cut off by the end of the engine
	Open   bool      // the window goes on: a regression showed in what there is of it

	// Rendered is the report in the formats json, markdown and text.
	Rendered map[string][]byte
}

// Regression reports whether an endpoint got slower.
func (p *Published) Regression() bool {
	for i := range p.Report.Endpoints {
		if e := &p.Report.Endpoints[i]; e.Whole() && e.Verdict == report.Regression {
			return true
		}
	}
	return false
}

// Latest is the last report; nil if there is none yet.
func (e *Engine) Latest() *Published { return e.latest.Load() }

var renderers = map[string]func(io.Writer, *report.Report) error{
	"json":     report.Encode,
	"markdown": func(w io.Writer, r *report.Report) error { return markdown.Write(w, r, markdown.Options{}) },
	"text": func(w io.Writer, r *report.Report) error {
		return text.Write(w, r, text.Options{Width: 120})
	},
}

// A job is a report to be made: the snapshots of both sides.
type job struct {
	at, window time.Time
	index      int64
	cut        bool
	sides      [2][]part
	pinned     bool
	points     int64 // that did not fit into the window
	told       *told // of the window; nil: it was not looked at

	// Of a window that is still open: what it holds so far ended before upTo. It is
	// one of so many looks.
	open  bool
	upTo  time.Time
	looks int
	began time.Time // by the clock, of how long it takes; zero: that does not matter
}

// told is what reports found in a window: whether the report of the whole found a
// regression, and the endpoints of which it was told that they got slower while it
// was open.
type told struct {
	regression atomic.Bool
	endpoints  map[[2]string]bool // only who makes reports looks at them
}

// note adds the endpoints that a report says got slower, and reports whether one is
// new. Those do not count of which there is so little yet that the requests had to be
// taken for independent of each other: one burst would look like a regression.
func (t *told) note(p *Published) (fresh bool) {
	for i := range p.Report.Endpoints {
		if e := &p.Report.Endpoints[i]; e.Whole() && e.Verdict == report.Regression && !short(e) {
			k := [2]string{e.Service, e.Operation}
			if !t.endpoints[k] {
				if t.endpoints == nil {
					t.endpoints = map[[2]string]bool{}
				}
				t.endpoints[k], fresh = true, true
			}
		}
	}
	return fresh
}

// short reports whether the window is too short yet to tell how requests depend on each
// other.
func short(e *report.Endpoint) bool {
	return e.Basis != nil && e.Basis.Method == string(stats.Independent)
}

// report has a report made of a window that was just completed.
func (e *Engine) report(c *completed, now time.Time) {
	if e.o.NoReports {
		return
	}
	j := job{at: now, index: c.index, cut: c.open, sides: e.sides(e.completed, c), pinned: e.o.Compare == Pinned, points: c.points, told: c.told}
	if e.o.Window > 0 {
		j.window = e.begins(c.index)
	}
	e.due = append(e.due, j)
}

// sides are what is compared of a window, which is one of all.
func (e *Engine) sides(all []*completed, c *completed) (sides [2][]part) {
	switch e.o.Compare {
	case ByTime:
		for _, o := range e.before(all, c.index) {
			sides[summary.Baseline] = append(sides[summary.Baseline], o.parts...)
		}
		sides[summary.Current] = c.parts
	case ByVersion:
		base, cur, both := versions(all)
		for _, o := range all {
			for _, p := range o.parts {
				switch {
				case p.version == cur:
					sides[summary.Current] = append(sides[summary.Current], p)
				case both && p.version == base:
					sides[summary.Baseline] = append(sides[summary.Baseline], p)
				}
			}
		}
	case Pinned:
		sides[summary.Baseline] = []part{{snapshot: e.o.Baseline, name: "pinned baseline"}}
		sides[summary.Current] = c.parts
	}
	return sides
}

// before is the windows that the one of an index is compared with. Those in which a
// regression was found are none, or the next window of an incident would be held
// against the incident; until they are older than History: what lasts so long is how
// things are now. If there are no others, they have to do.
func (e *Engine) before(all []*completed, index int64) []*completed {
	var calm, any []*completed
	for _, o := range all {
		if o.index >= index {
			continue
		}
		any = append(any, o)
		if !o.told.regression.Load() || index-o.index > int64(e.o.History) {
			calm = append(calm, o)
		}
	}
	if len(calm) == 0 {
		calm = any
	}
	return calm[max(0, len(calm)-e.o.History):]
}

// look compares the open windows, as far as they are, some times while they last:
// an incident should not have to wait for the end of its window. To look often
// would be to find something by chance; so the looks at a window share one alpha,
// which comes on top of that of its end. While a report is being made nobody looks,
// and looks may take a tenth of the time at most.
func (e *Engine) look(now time.Time) {
	if e.o.Looks == 0 || e.o.Window == 0 || e.o.NoReports || e.making.Load() || len(e.jobs) > 0 || now.UnixNano() < e.nextLook.Load() {
		return
	}
	for _, i := range slices.Sorted(maps.Keys(e.windows)) {
		w := e.windows[i]
		upTo := now.Add(-2 * e.o.Quiet) // later traces may not be whole
		n := int(float64(upTo.Sub(e.begins(i))) / float64(e.o.Window) * float64(e.o.Looks+1))
		if n <= w.looked || n > e.o.Looks {
			continue
		}
		w.looked = n
		began := time.Time{}
		if e.jobs != nil {
			began = time.Now()
		}
		c := &completed{index: i, open: true, points: w.points}
		for _, v := range slices.Sorted(maps.Keys(w.parts)) {
			if s := w.parts[v]; v != metricsPart {
				c.parts = append(c.parts, part{version: v, first: s.Counts.From, requests: len(s.Records), sum: s, name: "the open window"})
			}
		}
		sides := e.sides(append(slices.Clone(e.completed), c), c)
		if len(sides[summary.Baseline]) == 0 || len(sides[summary.Current]) == 0 {
			continue
		}
		for s := range sides {
			metrics := false
			for k := range sides[s] {
				if p := &sides[s][k]; p.sum != nil {
					p.snapshot, p.sum, metrics = summary.Encode([]*summary.Summary{p.sum}), nil, true
				}
			}
			if m := w.parts[metricsPart]; metrics && m != nil {
				sides[s] = append(slices.Clone(sides[s]), part{snapshot: summary.Encode([]*summary.Summary{m}), name: "the open window"})
			}
		}
		e.make(job{at: now, window: e.begins(i), index: i, sides: sides, pinned: e.o.Compare == Pinned, points: w.points, told: w.told,
			open: true, upTo: upTo, looks: e.o.Looks, began: began})
		return
	}
}

// publish makes a report. That of an open window is kept only if it tells of a
// regression that was not told of before.
func (e *Engine) publish(j job) {
	p, err := e.analyze(j)
	if !j.began.IsZero() {
		e.nextLook.Store(j.at.Add(10 * time.Since(j.began)).UnixNano())
	}
	if err != nil {
		if e.work.Err() == nil {
			err = fmt.Errorf("live: the report of the window from %s: %w", j.window.Format(time.RFC3339), err)
		} else {
			err = errors.New("live: the deadline came before the last report was made")
		}
		e.o.warn(err)
		return
	}
	known := j.told != nil && len(j.told.endpoints) > 0
	regression := p.Regression()
	if j.open {
		e.looks.Add(1)
		if !j.told.note(p) {
			return
		}
		e.early.Add(1)
	} else if j.told != nil && !j.cut {
		j.told.regression.Store(regression)
	}
	e.reports.Add(1)
	if regression && !known {
		e.regressions.Add(1)
	}
	e.latest.Store(p)
	if regression || !e.o.OnlyRegressions {
		e.o.warn(e.saveReport(p, regression))
	}
	if e.o.Report != nil {
		e.o.Report(p)
	}
}

func (e *Engine) analyze(j job) (*Published, error) {
	o := e.o.Analysis
	l := &analysis.Loaded{Defects: trace.Tally{}, Unknown: map[string]int64{}}
	for side, parts := range j.sides {
		var joined []*summary.Summary
		for _, p := range parts {
			runs, err := summary.Decode(p.snapshot)
			if err != nil {
				return nil, err
			}
			f := report.File{Path: p.name, Set: [...]string{report.Baseline, report.Current}[side], Format: "tailscope-snapshot"}
			for i, r := range runs {
				f.Spans += r.Counts.Spans
				points, _ := r.Metrics.Points()
				f.MetricPoints += points
				// Windows follow each other: they are one run. The runs of a pinned
				// snapshot are those that it was saved with.
				if len(joined) > 0 && !(j.pinned && side == summary.Baseline && i > 0) {
					joined[0].Merge(r)
				} else {
					joined = append(joined, r)
				}
			}
			l.Files = append(l.Files, f)
			for _, s := range joined {
				share := e.recordBudget / 2 / int64(len(joined))
				s.BoundFolds(share / 2)
				s.Bound(max(share/2, share-s.FoldBytes()))
			}
		}
		l.Sides[side] = joined
	}
	if j.open {
		o.Alpha /= float64(j.looks)
	}
	rep, err := analysis.AnalyzeContext(e.work, l, &o)
	if err != nil {
		return nil, err
	}
	p := &Published{Report: rep, At: j.at, Window: j.window, Cut: j.cut, Open: j.open, Rendered: map[string][]byte{}}
	if j.open {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("The current window is still open: this is one of %d looks at it, so far as it ended before %s, at an alpha of %.2g each",
			j.looks, j.upTo.UTC().Format("15:04:05 MST"), o.Alpha))
	}
	if j.cut {
		rep.Warnings = append(rep.Warnings, "The current window was cut off: the stream ended before the window did")
	}
	if j.points > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("%d metric points of the current window did not fit into memory: the metrics tell of a part of it", j.points))
	}
	if !j.open && j.told != nil && len(j.told.endpoints) > 0 && !p.Regression() {
		rep.Warnings = append(rep.Warnings, "A regression that was reported while the current window was open does not show in the whole of it")
	}
	for name, render := range renderers {
		var b bytes.Buffer
		if err := render(&b, rep); err != nil {
			return nil, err
		}
		p.Rendered[name] = b.Bytes()
	}
	return p, nil
}
