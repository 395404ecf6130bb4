package page

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/report"
)

// late says what was worked on for callers that had left, and what callers believed against what became of it.
func (b *builder) late(e *report.Endpoint) {
	l := &e.LateWork
	if l.LateAttempts == 0 && l.TotalMs == 0 && (l.Baseline == nil || l.Baseline.LateAttempts == 0) {
		if e.After.Requests > 0 {
			b.heading(3, plain("Work after the response"))
			b.after(e)
		}
		return
	}
	b.heading(3, plain("Late work: after the caller left"))
	var calls, attempts *report.Float
	var total, flight report.Num
	if l.Baseline != nil {
		calls, attempts = &l.Baseline.LateAttempts, &l.Baseline.Attempts
		total, flight = report.Some(float64(l.Baseline.TotalMs)), l.Baseline.MeanInFlight
	}
	t := Text{plainf(b.sign("Calls that their caller left: %s of %s; worked on for %s in all, %s in flight on average (neither cores nor a throughput)."),
		counts(calls, l.LateAttempts), counts(attempts, l.Attempts), durs(total, report.Some(float64(l.TotalMs))), quantities(flight, l.MeanInFlight, ""))}
	b.add(Para{Text: append(t, b.marks(l.Warnings)...)})
	if len(l.Edges) > 0 {
		var values []report.Num
		for _, x := range l.Edges {
			values = append(values, report.Some(float64(x.TotalMs)))
		}
		s := scaleOf(0, values...)
		table := Table{Columns: []Column{{Head: "call", Shrink: true}, {Head: "late", Right: true}, {Head: "of", Right: true}, {Head: "began late", Right: true}, {Head: "in all, " + s.unit, Right: true}, {Head: "waiting", Right: true}, {Head: "working", Right: true}, {Head: "in flight", Right: true}}}
		belief := Table{Columns: []Column{{Head: "call", Shrink: true}, {Head: "its caller believes"}, {Head: "it was done", Right: true}, {Head: "it was not", Right: true}, {Head: "unknown", Right: true}}}
		for i := range l.Edges[:min(len(l.Edges), tableRows)] {
			x := &l.Edges[i]
			name := cell(b.call(x.Service, x.Peer, x.Operation))
			if x.SideEffecting {
				name.Text = append(name.Text, b.note("has side effects: it may lawfully finish after its caller left"))
			}
			name.Text = append(name.Text, b.marks(x.Warnings)...)
			table.Rows = append(table.Rows, Row{Cells: []Cell{name, cell(count(x.LateAttempts)), cell(count(x.Attempts)), cell(count(x.StartedAfter)), b.num(s.of(float64(x.TotalMs))), b.num(s.num(x.WaitingMs)), b.num(s.num(x.WorkingMs)), b.num(quantity(x.MeanInFlight, ""))}})
			belief.Rows = append(belief.Rows,
				Row{Cells: []Cell{cell(b.call(x.Service, x.Peer, x.Operation)), cell("it failed"), cell(count(x.ClientFailedServerSucceeded)), cell(count(x.ClientFailedServerFailed)), cell(count(x.ClientFailedUnknown))}},
				Row{Cells: []Cell{cell(""), cell("it succeeded"), cell(count(x.ClientSucceededServerSucceeded)), cell(count(x.ClientSucceededServerFailed)), cell(count(x.ClientSucceededUnknown))}})
		}
		if n := len(l.Edges) - tableRows; n > 0 {
			table.Rows = append(table.Rows, more(n, "call", len(table.Columns)))
		}
		b.add(table, belief)
	}
	b.after(e)
}

// after is work that goes on though nobody gave up.
func (b *builder) after(e *report.Endpoint) {
	if e.After.Requests > 0 {
		b.para(plainf("After the response, with nobody gone: %s in %s; neither late nor part of the latency.", dur(report.Some(float64(e.After.TotalMs))), plural(int64(e.After.Requests), "request")))
	}
}

// attempts counts retries and hedges.
func (b *builder) attempts(e *report.Endpoint) {
	if len(e.Attempts) == 0 {
		return
	}
	b.heading(3, plain("Attempts"))
	var values []report.Num
	for _, a := range e.Attempts {
		values = append(values, report.Some(float64(a.FailedMs)), report.Some(float64(a.BackoffMs)))
	}
	s := scaleOf(0, values...)
	hedged := slices.ContainsFunc(e.Attempts, func(a report.Attempts) bool {
		return a.Hedges > 0 || a.Baseline != nil && a.Baseline.Hedges > 0
	})
	t := Table{Columns: []Column{{Head: "call", Shrink: true}, {}, {Head: "calls", Right: true}, {Head: "attempts", Right: true}, {Head: "per call", Right: true, Under: true}, {Head: "retries", Right: true}}}
	if hedged {
		t.Columns = append(t.Columns, Column{Head: "hedges", Right: true})
	}
	t.Columns = append(t.Columns, Column{Head: "done twice", Right: true}, Column{Head: "failed", Right: true}, Column{Head: "in " + s.unit, Right: true, Under: true}, Column{Head: "backoff, " + s.unit, Right: true})
	for i := range e.Attempts[:min(len(e.Attempts), tableRows)] {
		a := &e.Attempts[i]
		row := func(name, side string, x *report.AttemptTotals) {
			cells := []Cell{cell(name), cell(side), cell(count(x.Logical)), cell(count(x.Attempts)), b.num(amplified(x)), cell(count(x.Retries))}
			if hedged {
				cells = append(cells, cell(count(x.Hedges)))
			}
			t.Rows = append(t.Rows, Row{Cells: append(cells, cell(count(x.Duplicates)), cell(count(x.Failed)), cell(s.of(float64(x.FailedMs))), cell(s.of(float64(x.BackoffMs))))})
		}
		name := b.call(a.Service, a.Peer, a.Operation)
		if a.Baseline != nil {
			row(name, "before", a.Baseline)
			row("", "now", &a.AttemptTotals)
		} else {
			row(name, "", &a.AttemptTotals)
		}
	}
	if n := len(e.Attempts) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "call", len(t.Columns)))
	}
	b.add(t)
}

// amplified is the attempts per call, and with the layers above where those try again too.
func amplified(x *report.AttemptTotals) string {
	own, all := trimmed(x.Amplification.Or(1)), trimmed(x.OverLayers.Or(1))
	if own == all {
		return "× " + own
	}
	return "× " + own + ", × " + all + " with the layers above"
}

// fanOut says how often a set of parallel branches has a slow one, and who ends last.
func (b *builder) fanOut(e *report.Endpoint) {
	if len(e.FanOut) == 0 {
		return
	}
	b.heading(3, plain("Fan-out"))
	for i := range e.FanOut[:min(len(e.FanOut), tableRows)] {
		f := &e.FanOut[i]
		t := Text{strong(b.node(e, f.Node)), plainf(b.sign(": %s; any of them slow in %s of the requests"), branches(f.Branches, f.Begun), share(f.Observed))}
		if f.Independent.Known() {
			t = append(t, plainf(" (%s if they were independent; as %s independent ones)", share(f.Independent), quantity(f.NEff, "")))
		}
		if len(f.PSlow) > 0 {
			var slow []string
			for _, p := range f.PSlow[:min(len(f.PSlow), tableRows)] {
				slow = append(slow, share(p))
			}
			t = append(t, plainf("; by branch %s%s", list(slow...), opt(len(f.PSlow) > tableRows, ", …")))
		}
		t = append(t, plain("."))
		if len(f.Owners) > 0 {
			var owners []string
			for _, o := range f.Owners[:min(len(f.Owners), 5)] {
				owners = append(owners, fmt.Sprintf("%s %s", b.node(e, o.Node), share(o.Share)))
			}
			rest := ""
			if n := len(f.Owners) - 5; n > 0 {
				rest = fmt.Sprintf(", and %d more", n)
			}
			t = append(t, plainf(" Last to end: %s%s.", list(owners...), rest))
		}
		b.add(Para{Text: t})
	}
}

func branches(n, begun int) string {
	of := ""
	if begun > n {
		of = " of " + count(begun) + " that it begins"
	}
	if n == 1 {
		return "1 branch" + of
	}
	return count(n) + " parallel branches" + of
}
