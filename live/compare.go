package live

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/markdown"
	"github.com/tailscope/tailscope/report/text"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A Published is a report that was made when a window closed.
type Published struct {
	Report *report.Report
	At     time.Time // when the window was closed
	Window time.Time // when it began; zero if there is one window only
	Cut    bool      // the window was cut off by the end of the engine

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
}

// report has a report made of a window that was just completed.
func (e *Engine) report(c *completed, now time.Time) {
	if e.o.NoReports {
		return
	}
	j := job{at: now, index: c.index, cut: c.open}
	if e.o.Window > 0 {
		j.window = e.begins(c.index)
	}
	switch e.o.Compare {
	case ByTime:
		for _, o := range e.completed {
			if o.index < c.index {
				j.sides[summary.Baseline] = append(j.sides[summary.Baseline], o.parts...)
			}
		}
		j.sides[summary.Current] = c.parts
	case ByVersion:
		base, cur, both := versions(e.completed)
		for _, o := range e.completed {
			for _, p := range o.parts {
				switch {
				case p.version == cur:
					j.sides[summary.Current] = append(j.sides[summary.Current], p)
				case both && p.version == base:
					j.sides[summary.Baseline] = append(j.sides[summary.Baseline], p)
				}
			}
		}
	case Pinned:
		j.sides[summary.Baseline] = []part{{snapshot: e.o.Baseline, name: "pinned baseline"}}
		j.pinned = true
		j.sides[summary.Current] = c.parts
	}
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

// publish makes a report.
func (e *Engine) publish(j job) {
	p, err := e.analyze(j)
	if err != nil {
		e.o.warn(fmt.Errorf("live: the report of the window from %s: %w", j.window.Format(time.RFC3339), err))
		return
	}
	e.reports.Add(1)
	regression := p.Regression()
	if regression {
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
				s.Bound(e.recordBudget / 2 / int64(len(joined)))
			}
		}
		l.Sides[side] = joined
	}
	rep, err := analysis.Analyze(l, &o)
	if err != nil {
		return nil, err
	}
	if j.cut {
		rep.Warnings = append(rep.Warnings, "The current window was cut off: the stream ended before the window did")
	}
	p := &Published{Report: rep, At: j.at, Window: j.window, Cut: j.cut, Rendered: map[string][]byte{}}
	for name, render := range renderers {
		var b bytes.Buffer
		if err := render(&b, rep); err != nil {
			return nil, err
		}
		p.Rendered[name] = b.Bytes()
	}
	return p, nil
}
