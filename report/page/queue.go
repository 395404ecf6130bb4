package page

import (
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// queueRows bounds the queues that are shown in full; each takes several lines.
const queueRows = 6

// longWait is the part of the target quantile from which on a wait is shown in full, whoever owns it.
const longWait = 0.05

// queues says how long calls waited before they were served, in whose queue, and how that was found out. Short waits
// that are nobody's take a line each.
func (b *builder) queues(r *report.Report, e *report.Endpoint) {
	if len(e.Queues) == 0 {
		return
	}
	b.heading(3, plain("Waits before service"))
	var short []*report.Queue
	full := 0
	for i := range e.Queues {
		q := &e.Queues[i]
		if full < queueRows && b.long(r, e, q) {
			b.queue(r, q)
			full++
		} else {
			short = append(short, q)
		}
	}
	if len(short) > 0 {
		b.shortQueues(short)
	}
}

// long reports whether a queue is worth its lines.
func (b *builder) long(r *report.Report, e *report.Endpoint, q *report.Queue) bool {
	if q.Owner != "" && q.Owner != untraced {
		return true
	}
	v := e.Of(r.Run.Quantile)
	if v == nil {
		return true
	}
	least := longWait * max(v.CurrentMs.Or(0), v.BaselineMs.Or(0))
	wait := q.Current.P99Ms.Or(0)
	if q.Baseline != nil {
		wait = max(wait, q.Baseline.P99Ms.Or(0))
	}
	return wait >= least
}

// untraced is the owner of a wait of which no test spoke.
const untraced = string(report.Untraced)

// shortQueues is one line per queue.
func (b *builder) shortQueues(queues []*report.Queue) {
	var values []report.Num
	for _, q := range queues {
		values = append(values, q.Current.P99Ms)
		if q.Baseline != nil {
			values = append(values, q.Baseline.P99Ms)
		}
	}
	s := scaleOf(0, values...)
	t := Table{Columns: []Column{{Head: "short waits", Shrink: true}, {Head: "owner"}, {Head: "calls", Right: true}, {Head: "mean, " + s.unit, Right: true}, {Head: "bounds", Right: true, Under: true}, {Head: "p99", Right: true}, {Head: "served p99", Right: true}}}
	for _, q := range queues[:min(len(queues), tableRows)] {
		before := func(of func(*report.QueueSide) report.Num) Cell {
			now := s.num(of(&q.Current))
			if q.Baseline == nil {
				return b.num(now)
			}
			return b.num(s.num(of(q.Baseline)) + " → " + now)
		}
		owner := "nobody's"
		if q.Owner != "" && q.Owner != untraced {
			owner = b.name(q.Owner)
		}
		name := b.call(q.Service, q.Peer, q.Operation)
		if q.Resource != "" {
			name += " · " + b.name(q.Resource)
		}
		first := cell(name)
		first.Text = append(first.Text, b.marks(q.Warnings)...)
		t.Rows = append(t.Rows, Row{Cells: []Cell{first, cell(owner), cell(count(q.Current.N)), before(func(x *report.QueueSide) report.Num { return x.MeanMs }),
			b.dimNum(s.interval(report.Interval{Lo: q.Current.LoMs, Hi: q.Current.HiMs}, false)), before(func(x *report.QueueSide) report.Num { return x.P99Ms }), before(func(x *report.QueueSide) report.Num { return x.ServiceP99Ms })}})
	}
	if n := len(queues) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "queue", len(t.Columns)))
	}
	b.add(t)
}

func (b *builder) queue(r *report.Report, q *report.Queue) {
	t := Text{strong(b.call(q.Service, q.Peer, q.Operation))}
	if q.Resource != "" {
		t = append(t, plainf(" · %s", b.name(q.Resource)))
	}
	owner := "nobody's by any test"
	if q.Owner != "" && q.Owner != untraced {
		owner = q.Owner
	}
	t = append(t, plain(" · "), strong(b.name(owner)))
	if x, ok := q.InferredLimit.Get(); ok {
		t = append(t, plainf(" · looks like a limit of %s", trimmed(x)))
		if r.Comparison() {
			if y, ok := q.InferredLimitBaseline.Get(); ok {
				t = append(t, plainf(" (before: %s)", trimmed(y)))
			} else {
				t = append(t, plain(" (before: none seen)"))
			}
		}
	}
	b.add(Para{Text: append(t, b.marks(q.Warnings)...)})

	sides := []*report.QueueSide{&q.Current}
	names := []string{"current"}
	if q.Baseline != nil {
		sides, names = []*report.QueueSide{q.Baseline, &q.Current}, []string{"baseline", "current"}
	}
	var values []report.Num
	occupied, seconds := false, false
	for _, s := range sides {
		values = append(values, s.MeanMs, s.P99Ms, s.HiMs, s.ServiceP99Ms)
		occupied = occupied || s.Occupancy.Known()
		seconds = seconds || len(s.Occupancy1s) > 0
	}
	s := scaleOf(0, values...)
	table := Table{Indent: 1, Tight: true, Columns: []Column{{}, {Head: "calls", Right: true}, {Head: "mean wait, " + s.unit, Right: true}, {Head: "bounds", Right: true, Under: true},
		{Head: "p50", Right: true}, {Head: "p99", Right: true}, {Head: "served p99", Right: true}}}
	if occupied {
		table.Columns = append(table.Columns, Column{Head: "occupied, %: p50/p99/max", Right: true})
	}
	if seconds {
		table.Columns = append(table.Columns, Column{Head: "over time", Bar: true})
	}
	for i, x := range sides {
		row := Row{Cells: []Cell{cell(names[i]), cell(count(x.N)), b.num(s.num(x.MeanMs)), b.dimNum(s.interval(report.Interval{Lo: x.LoMs, Hi: x.HiMs}, false)), b.num(s.num(x.P50Ms)), b.num(s.num(x.P99Ms)), b.num(s.num(x.ServiceP99Ms))}}
		if occupied {
			occ := "?"
			if x.Occupancy.Known() {
				occ = whole(x.OccupancyP50) + "/" + whole(x.Occupancy) + "/" + whole(x.OccupancyMax)
			}
			row.Cells = append(row.Cells, b.num(occ))
		}
		if seconds {
			var spark []float64
			for _, v := range x.Occupancy1s {
				spark = append(spark, v.Or(-1))
			}
			row.Cells = append(row.Cells, Cell{Spark: spark})
		}
		table.Rows = append(table.Rows, row)
	}
	b.add(table)
	if t := b.arriving(q); len(t) > 0 {
		b.add(Para{Text: t, Indent: 1, Tight: true})
	}
	if q.Evidence != "" {
		b.add(Para{Text: Text{dim("from: " + b.prose(q.Evidence))}, Indent: 1, Tight: true})
	}
	if len(q.Tests) > 0 {
		tests := Table{Indent: 1, Tight: true, Columns: []Column{{Head: "whose queue?"}, {Head: "says"}, {Head: "because", Wrap: true}}}
		for _, x := range q.Tests {
			says := "silent"
			if x.Says != "" {
				says = b.name(x.Says)
			}
			if x.Decided {
				says += ", decides"
			}
			tests.Rows = append(tests.Rows, Row{Cells: []Cell{cell(b.name(x.Test)), cell(says), cell(b.prose(x.Statement))}})
		}
		b.add(tests)
	}
}

// arriving says how the calls of a queue came, and how many of them wait.
func (b *builder) arriving(q *report.Queue) Text {
	change := func(of func(*report.QueueSide) report.Num) string {
		now := short(of(&q.Current))
		if q.Baseline == nil {
			return now
		}
		return short(of(q.Baseline)) + " → " + now
	}
	known := func(of func(*report.QueueSide) report.Num) bool {
		return of(&q.Current).Known() || q.Baseline != nil && of(q.Baseline).Known()
	}
	var parts []string
	if gap := func(s *report.QueueSide) report.Num { return s.GapMs }; known(gap) {
		s := scaleOf(0, q.Current.GapMs)
		now := s.num(q.Current.GapMs)
		if q.Baseline != nil {
			s = scaleOf(0, q.Current.GapMs, q.Baseline.GapMs)
			now = s.num(q.Baseline.GapMs) + " → " + s.num(q.Current.GapMs)
		}
		parts = append(parts, "whole gap "+now+" "+s.unit)
	}
	if known(func(s *report.QueueSide) report.Num { return s.PerS }) {
		parts = append(parts, "calls a second "+change(func(s *report.QueueSide) report.Num { return s.PerS })+
			", at most "+change(func(s *report.QueueSide) report.Num { return s.Peak1sPerS })+
			", variance over mean "+change(func(s *report.QueueSide) report.Num { return s.Bursts }))
	}
	if known(func(s *report.QueueSide) report.Num { return s.Waiting }) {
		waiting := "waiting by rate × wait " + change(func(s *report.QueueSide) report.Num { return s.Waiting })
		if known(func(s *report.QueueSide) report.Num { return s.Pending }) {
			waiting += ", by the pool's metrics " + change(func(s *report.QueueSide) report.Num { return s.Pending })
		}
		parts = append(parts, waiting)
	}
	if len(parts) == 0 {
		return nil
	}
	return Text{dim(strings.Join(parts, "; "))}
}

// short is a number with two digits that count.
func short(v report.Num) string {
	x, ok := v.Get()
	switch {
	case !ok:
		return "?"
	case x >= 10:
		return prose.Decimal(x, 0)
	case x >= 1:
		return prose.Decimal(x, 1)
	}
	return prose.Decimal(x, 2)
}

// whole is a part of one in whole per cent, without the sign.
func whole(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	return prose.Decimal(100*x, 0)
}
