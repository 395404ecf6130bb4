package page

import (
	"fmt"

	"github.com/tailscope/tailscope/report"
)

// queueRows bounds the queues that are shown; each takes several lines.
const queueRows = 6

// queues says how long calls waited before they were served, in whose queue, and how that was found out.
func (b *builder) queues(r *report.Report, e *report.Endpoint) {
	if len(e.Queues) == 0 {
		return
	}
	b.heading(3, plain("Waits before service"))
	for i := range e.Queues[:min(len(e.Queues), queueRows)] {
		b.queue(r, &e.Queues[i])
	}
	if n := len(e.Queues) - queueRows; n > 0 {
		b.para(dim(fmt.Sprintf("… %s not shown.", plural(int64(n), "more queue"))))
	}
}

func (b *builder) queue(r *report.Report, q *report.Queue) {
	t := Text{strong(b.call(q.Service, q.Peer, q.Operation))}
	if q.Resource != "" {
		t = append(t, plainf(" · %s", b.name(q.Resource)))
	}
	owner := "nobody's by any test"
	if q.Owner != "" && q.Owner != "untraced" {
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
	table := Table{Indent: 1, Tight: true, Columns: []Column{{}, {Head: "calls", Right: true}, {Head: "mean wait, " + s.unit, Right: true}, {Head: "at least, at most", Right: true, Under: true},
		{Head: "p50", Right: true}, {Head: "p99", Right: true}, {Head: "served p99", Right: true}}}
	if occupied {
		table.Columns = append(table.Columns, Column{Head: "occupied p50/p99/max", Right: true})
	}
	if seconds {
		table.Columns = append(table.Columns, Column{Head: "over time", Bar: true})
	}
	for i, x := range sides {
		row := Row{Cells: []Cell{cell(names[i]), cell(count(x.N)), b.num(s.num(x.MeanMs)), b.dimNum(s.interval(report.Interval{Lo: x.LoMs, Hi: x.HiMs}, false)), b.num(s.num(x.P50Ms)), b.num(s.num(x.P99Ms)), b.num(s.num(x.ServiceP99Ms))}}
		if occupied {
			occ := "?"
			if x.Occupancy.Known() {
				occ = share(x.OccupancyP50) + " / " + share(x.Occupancy) + " / " + share(x.OccupancyMax)
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
