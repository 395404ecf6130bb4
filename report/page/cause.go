package page

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// explains says how much of the change a hypothesis explains.
func (b *builder) explains(e *report.Endpoint, h *report.Hypothesis, v *report.Quantile) string {
	explains, ci := h.Shown()
	if !explains.Known() {
		return "how much it explains is not computable"
	}
	if !ci.Lo.Known() && !ci.Hi.Known() {
		ci = report.Interval{} // nothing was resampled for it
	}
	at := ""
	if e.Focus != nil && h.FocusMs.Known() {
		v, at = &e.Focus.Latency, " at "+quantileName(e.Focus.Quantile)
	}
	t := "explains " + estimate(explains, ci, true)
	if d, ok := v.DeltaMs.Get(); ok {
		t += " of " + proseScale(v.DeltaMs).plus(d) + " " + proseScale(v.DeltaMs).unit
	}
	t += at
	return b.sign(t)
}

// causes lays out the ranked hypotheses: what each explains, what speaks for and against it, and what would tell it
// from its nearest rival.
func (b *builder) causes(r *report.Report, e *report.Endpoint) {
	v := e.Of(r.Run.Quantile)
	if v == nil {
		v = &report.Quantile{}
	}
	switch {
	case len(e.Hypotheses) > 0:
	case e.Verdict != report.NoRegression && e.Unexplained == nil: // nothing was ranked
		b.heading(3, plain("Causes"))
		b.para(plain("Not tested."))
		return
	case e.Verdict == report.NoRegression:
		b.heading(3, plain("Causes"))
		b.para(plain("None are ranked under no-regression."))
		return
	default:
		b.heading(3, plain("Causes"))
		b.para(plain("None was found that the data support."))
		return
	}
	b.heading(3, plain("Causes of the change"))
	if e.Verdict == report.Single {
		b.Blocks[len(b.Blocks)-1] = Heading{3, Text{plain("Causes of the tail")}}
	}
	if e.Verdict == report.CannotTell {
		b.para(plain("The change itself is not shown; take these as where to look."))
	}
	shown := min(len(e.Hypotheses), causeRows)
	for i := range e.Hypotheses[:shown] {
		h := &e.Hypotheses[i]
		t := Text{strong(fmt.Sprintf("%d. %s", h.Rank, h.Kind)), plainf(" · %s · %s", h.Strength, b.component(h))}
		b.add(Para{Text: append(t, b.marks(h.Warnings)...)})
		line := b.explains(e, h, v)
		if h.Claim != "" {
			line = b.prose(h.Claim) + "; " + line
		}
		b.add(Para{Text: Text{plainf("%s", sentence(line))}, Indent: 1, Tight: true})
		b.evidence(r, h)
		b.check(&h.Check)
	}
	if n := len(e.Hypotheses) - shown; n > 0 {
		b.para(dim(fmt.Sprintf("… %d more causes not shown.", n)))
	}
	for _, x := range e.Experiments {
		t := x.Change
		if x.At != "" {
			t = x.At + ": " + t
		}
		if x.Observed != "" {
			t += "; " + x.Observed
		}
		b.para(strong("Tried before"), plainf(" (%s). %s Here it %s.", b.name(x.Outcome), sentence(b.prose(t)), b.prose(x.Effect)))
	}
	if x, ok := e.ReplayInexact.Get(); ok {
		how := "returns every request to the nanosecond"
		if x > 0 {
			how = fmt.Sprintf("misses %s of the requests by a nanosecond or more", prose.Percent(x))
		}
		b.para(dim(fmt.Sprintf("What a cause explains is found by replay; a replay of nothing %s.", how)))
	}
	if u := e.Unexplained; u != nil {
		left := b.sign(change(u.Ms, u.CIMs))
		if f := e.Focus; f != nil {
			left = b.sign(change(f.UnexplainedMs, f.UnexplainedCIMs)) + " at " + quantileName(f.Quantile)
		}
		b.para(strong("Unexplained"), plainf(": %s.", left), plain(" Causes name overlapping time: what they explain does not sum."))
	}
}

// evidence is one row per observation, + for and − against.
func (b *builder) evidence(r *report.Report, h *report.Hypothesis) {
	if len(h.Evidence)+len(h.Against) == 0 {
		return
	}
	t := Table{Indent: 1, Tight: true, Columns: []Column{{}, {Head: "evidence", Wrap: true}, {Head: "before → now", Right: true}, {Head: "from"}}}
	if !r.Comparison() {
		t.Columns[2].Head = "now"
	}
	row := func(sign string, v *report.Evidence) {
		from := string(v.Source)
		if v.N > 0 {
			from += fmt.Sprintf(", n %s", count(v.N))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(sign), cell(b.prose(v.Statement)), b.num(quantities(v.Baseline, v.Current, b.name(v.Unit))), cell(from)}})
	}
	for i := range h.Evidence {
		row("+", &h.Evidence[i])
	}
	for i := range h.Against {
		row("−", &h.Against[i])
	}
	b.add(t)
}

// check tells a hypothesis from its rival.
func (b *builder) check(c *report.Check) {
	if c.Question == "" && c.Rival == "" {
		return
	}
	t := Table{Indent: 1, Tight: true, Columns: []Column{{}, {Wrap: true}}}
	line := func(label, s string) {
		if s != "" {
			t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: Text{dim(label)}}, cell(b.prose(s))}})
		}
	}
	status := "check"
	switch c.Status {
	case report.Ran:
		status = "check, ran"
	case report.ToRun:
		status = "check, to run"
	}
	line(status, c.Question)
	line("if this", c.IfThis)
	rival := "if the rival"
	if c.Rival != "" {
		rival = "if " + b.name(c.Rival)
	}
	line(rival, c.IfRival)
	line("seen", c.Outcome)
	if len(t.Rows) > 0 {
		b.add(t)
	}
	if c.Query != "" {
		b.add(Code{S: b.prose(c.Query), Indent: 1})
	}
	for _, q := range c.Queries {
		if c.Status == report.ToRun && q.Text != c.Query {
			b.add(Para{Text: Text{dim(b.name(q.Language))}, Indent: 1, Tight: true})
			for l := range strings.SplitSeq(q.Text, "\n") {
				b.add(Code{S: b.prose(l), Indent: 1})
			}
		}
	}
}

// actions says what could be done, and what the evidence says of it. Brief leaves
// out what the evidence does not speak for.
func (b *builder) actions(e *report.Endpoint, brief bool) {
	if len(e.Actions) == 0 {
		return
	}
	b.heading(3, plain("What could be done"))
	tones := map[report.ActionVerdict]Tone{report.Supported: Good, report.Unsupported: Dim, report.MovesTheQueue: Warn, report.ViolatesContract: Bad}
	left := 0
	for i := range e.Actions {
		a := &e.Actions[i]
		if brief && (a.Verdict == report.Unsupported || a.Verdict == report.NotEnoughEvidence) {
			left++
			continue
		}
		head := Text{{S: string(a.Verdict), Tone: tones[a.Verdict]}, plain(": "), strong(b.prose(a.Action))}
		if a.Target != "" {
			head = append(head, plain(" · "+b.name(a.Target)))
		}
		if a.ForRank > 0 {
			head = append(head, dim(fmt.Sprintf(" · for cause %d", a.ForRank)))
		}
		b.add(Para{Text: head})
		line := sentence(b.prose(a.Reason))
		if a.Verdict != report.Unsupported && a.Costs != "" {
			line += " It costs " + b.prose(a.Costs)
			if a.PaidBy != "" {
				line += "; paid by " + b.prose(a.PaidBy)
			}
			line += "."
		}
		b.add(Para{Text: Text{plainf("%s", line)}, Indent: 1, Tight: true})
	}
	if left > 0 {
		b.para(dim(fmt.Sprintf("… %d more were weighed that the evidence does not speak for.", left)))
	}
}
