package page

import (
	"github.com/tailscope/tailscope/report"
)

// calls says how calls are made, where that costs time: given longer than their callers have, hedged, repeated, asked
// for by several at once.
func (b *builder) calls(e *report.Endpoint) {
	b.deadlines(e)
	b.hedging(e)
	b.coalescing(e)
	b.notices(e)
}

// deadlines holds the time that calls are given against the time that is left.
func (b *builder) deadlines(e *report.Endpoint) {
	if len(e.Deadlines) == 0 {
		return
	}
	b.heading(3, plain("Timeouts and deadlines"))
	var values []report.Num
	for _, d := range e.Deadlines {
		values = append(values, d.TimeoutMs, d.RemainingMs)
	}
	s := scaleOf(0, values...)
	s.decimals = 0
	t := Table{Columns: []Column{{Head: "call", Shrink: true}, {Head: "timeout, " + s.unit, Right: true}, {Head: "caller has, " + s.unit, Right: true}, {Head: "given more", Right: true, Under: true}, {Head: "retries too late", Right: true}, {Head: "answered in", Right: true, Under: true}, {Head: "left", Right: true}, {Head: "of", Right: true, Under: true}, {Head: "heard of it", Right: true}, {Head: "began later", Right: true}}}
	for i := range e.Deadlines[:min(len(e.Deadlines), tableRows)] {
		d := &e.Deadlines[i]
		name := cell(b.call(d.Service, d.Peer, d.Operation))
		name.Text = append(name.Text, b.marks(d.Warnings)...)
		late := ""
		if d.Retries > 0 {
			late = count(d.TooLate) + " of " + count(d.Retries)
		}
		heard := ""
		switch d.Propagated {
		case report.IsPropagated, report.NotPropagated:
			heard = count(d.Heard)
		default:
			if d.Left > 0 {
				heard = count(d.Heard) + ", cannot tell"
			}
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, b.num(s.num(d.TimeoutMs)), b.num(s.num(d.RemainingMs)), cell(count(d.Beyond)), cell(late), b.num(durOr(d.UsefulMs)), cell(count(d.Left)), cell("of " + count(d.Calls)), cell(heard), cell(count(d.StartedAfter))}})
	}
	if n := len(e.Deadlines) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "call", len(t.Columns)))
	}
	b.add(t)
	b.add(Para{Tight: true, Text: Text{dim("caller has: what the objective, or the timeout of a caller above, leaves when the call begins, at the median, and how many calls are given more; too late: begun when an answer took longer at the median than was left; heard of it: of the calls that were left while their callee worked, those that stopped")}})
}

// durOr is a time, or nothing where there is none.
func durOr(v report.Num) string {
	if !v.Known() {
		return ""
	}
	return dur(v)
}

// hedging says whether second attempts pay.
func (b *builder) hedging(e *report.Endpoint) {
	if len(e.Hedging) == 0 {
		return
	}
	b.heading(3, plain("Hedging"))
	for i := range e.Hedging[:min(len(e.Hedging), tableRows)] {
		h := &e.Hedging[i]
		b.add(Para{Text: Text{strong(b.call(h.Service, h.Peer, h.Operation)), plainf(b.sign(": a second attempt after %s in %s of %s calls (%s at a delay at the p95); it answers first in %s of them. P(second slow | first slow) is %s, P(slow) %s: %s."),
			dur(h.DelayMs), share(report.Some(float64(h.Rate))), count(h.Calls), share(report.Some(float64(h.NominalRate))), share(report.Some(float64(h.Wins/max(h.Hedged, 1)))), share(report.Some(float64(h.PSlowAgain))), share(report.Some(float64(h.PSlow))), b.prose(h.Verdict))}})
		gain := plainf("p99 until the first answer %s, of first attempts alone %s", dur(h.P99Ms), dur(h.FirstP99Ms))
		t := Text{gain}
		if h.LoserWorkShare.Known() {
			t = append(t, plainf("; %s of the callee's work is for attempts that lost", share(h.LoserWorkShare)))
		}
		if h.LoserStopP50Ms.Known() {
			t = append(t, plainf(", which go on for %s at the median and %s at p99 once they are cancelled", dur(h.LoserStopP50Ms), dur(h.LoserStopP99Ms)))
		}
		b.add(Para{Tight: true, Text: append(t, plain("."))})
	}
}

// coalescing says how many calls could share one, and how many do.
func (b *builder) coalescing(e *report.Endpoint) {
	if len(e.Coalescing) == 0 {
		return
	}
	b.heading(3, plain("Calls for the same thing at once"))
	t := Table{Columns: []Column{{Head: "call", Shrink: true}, {Head: "same at once", Right: true}, {Head: "calls", Right: true, Under: true}, {Head: "in groups of", Right: true}, {Head: "these, /s", Right: true}, {Head: "one each, /s", Right: true}, {Head: "fewer, /s", Right: true, Under: true}, {Head: "share already", Right: true}}}
	for i := range e.Coalescing[:min(len(e.Coalescing), tableRows)] {
		c := &e.Coalescing[i]
		name := cell(b.call(c.Service, c.Peer, c.Operation))
		name.Text = append(name.Text, b.marks(c.Warnings)...)
		shared := ""
		if c.Followers > 0 {
			shared = count(c.Followers) + " with " + count(c.Followed)
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, b.num(share(report.Some(float64(c.EligibleShare)))), cell(count(c.Eligible) + " of " + count(c.Calls)), b.num(quantity(c.MeanGroup, "")), b.num(quantity(c.EligiblePerS, "")), b.num(quantity(c.LeadersPerS, "")), b.num(quantity(c.AvoidedPerS, "")), cell(shared)}})
	}
	if n := len(e.Coalescing) - tableRows; n > 0 {
		t.Rows = append(t.Rows, more(n, "call", len(t.Columns)))
	}
	b.add(t)
}

// calls is a mean number of calls.
func calls(n report.Float) string {
	if n == 1 {
		return "1 call"
	}
	return trimmed(float64(n)) + " calls"
}

// notices lists ways of calling that cost time by themselves.
func (b *builder) notices(e *report.Endpoint) {
	if len(e.Notices) == 0 {
		return
	}
	b.heading(3, plain("Ways of calling that cost time"))
	for i := range e.Notices[:min(len(e.Notices), tableRows)] {
		x := &e.Notices[i]
		b.add(Para{Tight: i > 0, Text: Text{strong(string(x.Kind)), plainf(" · %s: %s and %s on the path in each of %s (%s)%s. It is %s.", b.call(x.Service, x.Peer, x.Operation),
			calls(x.Calls), dur(report.Some(float64(x.PathMs))), plural(int64(x.Requests), "request"), share(report.Some(float64(x.Share))), opt(x.SameAgain > 0, ", "+count(x.SameAgain)+" of them for what the request had asked for"), b.prose(x.Statement))}})
	}
	if n := len(e.Notices) - tableRows; n > 0 {
		b.para(plainf("%d more.", n))
	}
}
