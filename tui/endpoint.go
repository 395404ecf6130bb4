package tui

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// untraced is the owner of a wait that no test gave to anybody.
const untraced = string(report.Untraced)

// newEndpoint is the screen of one endpoint: the verdict, its causes, where the time goes, and the ways on.
func newEndpoint(a *App, r *report.Report, e *report.Endpoint) screen {
	d := &document{name: rowName(e), file: slug(e.Service, e.Operation, e.Class, e.Shape)}
	word, _ := verdict(e.Verdict)
	d.title = []string{rowName(e) + " · " + word}
	d.cmd = func(src *Source) string { return analyzeCommand(src, e.Service, e.Operation, e.Inner) }
	d.keys = compareKey(a.keys, func(a *App) { a.push(compareSides(r, e)) }, "compare")

	s := sectionsOf(r, e, nil)
	d.notes = s.notes
	d.blocks(s.lead...)

	causes := s.take("Causes")
	if len(e.Hypotheses) == 0 {
		d.blocks(causes...)
	} else {
		d.heading("Causes")
		for i := range e.Hypotheses {
			h := &e.Hypotheses[i]
			d.link(causeLine(h), func(a *App) { a.push(newCause(a, r, e, h)) })
		}
	}
	d.blocks(s.take("Where the time")...)
	d.blocks(s.take("Latency")...)

	s.take("Waits before")
	if len(e.Queues) > 0 {
		d.heading("Waits before service")
		for i := range e.Queues {
			q := &e.Queues[i]
			d.link(queueLine(q), func(a *App) { a.push(newQueue(a, r, e, q)) })
		}
	}
	late := len(s.take("Late work", "Work after", "Attempts")) > 0
	if late {
		d.heading("Late work and attempts")
		d.link(lateLine(e), func(a *App) { a.push(newLate(a, r, e)) })
	}
	s.take("Requests worth")
	d.requests(a, e)
	var parts []*report.Endpoint
	if e.Whole() {
		for i := range r.Endpoints {
			if p := &r.Endpoints[i]; p.Service == e.Service && p.Operation == e.Operation && !p.Whole() {
				parts = append(parts, p)
			}
		}
	}
	if len(parts) > 0 {
		d.heading("Classes and shapes")
		for _, p := range parts {
			d.link(partLine(r, p), func(a *App) { a.push(newEndpoint(a, r, p)) })
		}
	}
	if len(e.Structure.Nodes) > 0 {
		d.heading("Calls")
		what := "the calls of a request"
		if r.Comparison() {
			what = "the calls of a request before and now, side by side"
		}
		d.link(what, func(a *App) { a.push(compareSides(r, e)) })
	}
	d.blocks(s.take("By class")...)
	d.blocks(s.rest()...)
	return d
}

// component names what a hypothesis is about.
func component(h *report.Hypothesis) string {
	switch {
	case h.Kind == report.Measurement:
		return name(h.Attribute)
	case h.Attribute != "":
		return name(h.Attribute) + "=" + name(h.Value)
	case h.Instance != "":
		return name(h.Service) + " on " + name(h.Instance)
	}
	return call(h.Service, h.Peer, h.Operation)
}

// call is "caller → callee operation".
func call(service, peer, operation string) string {
	if peer == "" || peer == service {
		return strings.TrimSpace(name(service) + " " + name(operation))
	}
	return strings.TrimSpace(name(service) + " → " + name(peer) + " " + name(operation))
}

func causeLine(h *report.Hypothesis) string {
	explains, within := h.Shown()
	line := fmt.Sprintf("%d. %s · %s · %s", h.Rank, name(string(h.Kind)), name(string(h.Strength)), plusMs(explains))
	if ci := interval(within); ci != "" {
		line += " " + ci
	}
	return line + " · " + component(h)
}

func queueLine(q *report.Queue) string {
	owner := "nobody's"
	if q.Owner != "" && q.Owner != untraced {
		owner = name(q.Owner)
	}
	mean := ms(q.Current.MeanMs)
	if q.Baseline != nil {
		mean = ms(q.Baseline.MeanMs) + " → " + mean
	}
	line := owner + " · mean " + mean + " · " + call(q.Service, q.Peer, q.Operation)
	if q.Resource != "" {
		line += " · " + name(q.Resource)
	}
	return line
}

func lateLine(e *report.Endpoint) string {
	n := count(e.LateWork.LateAttempts)
	if b := e.LateWork.Baseline; b != nil {
		n = count(b.LateAttempts) + " → " + n
	}
	line := n + " calls were left by their caller"
	if e.After.Requests > 0 {
		line += " · work after the response in " + plural(int(e.After.Requests), "request")
	}
	if len(e.Attempts) > 0 {
		line += " · attempts of " + plural(len(e.Attempts), "call")
	}
	return line
}

func partLine(r *report.Report, e *report.Endpoint) string {
	part := "class " + name(e.Class)
	if e.Shape != "" {
		part = "shape " + name(e.Shape) + " " + name(e.ShapeText)
	}
	word, _ := verdict(e.Verdict)
	q := e.Of(r.Run.Quantile)
	if q == nil {
		q = &report.Quantile{}
	}
	now := ms(q.CurrentMs)
	if r.Comparison() {
		now = ms(q.BaselineMs) + " → " + now
	}
	return fmt.Sprintf("%s · %s %s · %s · %s requests", word, quantileName(r.Run.Quantile), now, part, count(e.Requests.Current.Sampled))
}

// requests is the requests of an endpoint that are worth opening; where not all can be, those that can as well.
func (d *document) requests(a *App, e *report.Endpoint) {
	if len(e.Exemplars) == 0 {
		return
	}
	d.heading("Requests worth opening")
	named := map[TraceRef]bool{}
	for i := range e.Exemplars {
		x := &e.Exemplars[i]
		named[TraceRef{x.Set, x.TraceID}] = true
		d.exemplar(a, x)
	}
	if a.src.Held == nil {
		return
	}
	for _, set := range []string{report.Current, report.Baseline} {
		for _, x := range a.src.Held(set, e.Service, e.Operation) {
			if !named[TraceRef{set, x.TraceID}] {
				d.exemplar(a, &x)
			}
		}
	}
}

// exemplar is a line that opens a request.
func (d *document) exemplar(a *App, x *report.Exemplar) {
	ref := TraceRef{x.Set, x.TraceID}
	id, _ := escape.Elide(name(x.TraceID), 32)
	line := fmt.Sprintf("%s · %s · %s · %s", sideName(x.Set), ms(x.DurationMs), name(x.Why), id)
	p := part{line: line, ref: &ref, why: a.noTrace(ref)}
	if p.why == "" {
		p.open = func(a *App) { a.openTraces(ref) }
	}
	d.parts = append(d.parts, p)
}

// newCause is the screen of one hypothesis.
func newCause(a *App, r *report.Report, e *report.Endpoint, h *report.Hypothesis) screen {
	d := &document{name: fmt.Sprintf("%d %s", h.Rank, name(string(h.Kind))), file: slug(e.Service, e.Operation, string(h.Kind))}
	d.title = []string{fmt.Sprintf("%s · %s", name(string(h.Kind)), component(h))}
	d.cmd = func(src *Source) string { return analyzeCommand(src, e.Service, e.Operation, e.Inner) }
	d.keys = compareKey(a.keys, nil, "compare requests")
	s := sectionsOf(r, e, func(x *report.Endpoint) {
		x.Hypotheses = report.List[report.Hypothesis]{*h}
		x.Actions = nil
		for _, y := range e.Actions {
			if y.ForRank == h.Rank || y.ForRank == 0 {
				x.Actions = append(x.Actions, y)
			}
		}
		x.Unexplained, x.ReplayInexact = nil, report.Num{}
	})
	d.notes = s.notes
	causes := s.take("Causes")
	if len(causes) > 0 {
		causes = causes[1:] // the title says it
	}
	d.blocks(causes...)
	d.blocks(s.take("What could be done")...)
	if len(e.Actions) == 0 {
		d.blocks(page.Para{Text: page.Text{{S: "No action was weighed for this cause.", Tone: page.Dim}}})
	}
	var queues []*report.Queue
	for i := range e.Queues {
		q := &e.Queues[i]
		if waitsAt(h, q) {
			queues = append(queues, q)
		}
	}
	if len(queues) > 0 {
		d.heading("Its queue")
		for _, q := range queues {
			d.link(queueLine(q), func(a *App) { a.push(newQueue(a, r, e, q)) })
		}
	}
	if h.Kind == report.LateWorkCause || h.Kind == report.Retries || h.Kind == report.TimeoutPlateau || h.Kind == report.Hedging || h.Kind == report.OptionalBranch {
		d.heading("Late work and attempts")
		d.link(lateLine(e), func(a *App) { a.push(newLate(a, r, e)) })
	}
	d.requests(a, e)
	return d
}

// waitsAt reports whether a queue is where a hypothesis points.
func waitsAt(h *report.Hypothesis, q *report.Queue) bool {
	switch {
	case h.Peer != "":
		return q.Service == h.Service && q.Peer == h.Peer && (h.Operation == "" || h.Operation == q.Operation)
	case h.Operation != "":
		return (q.Peer == h.Service || q.Service == h.Service) && q.Operation == h.Operation
	}
	return h.Service != "" && (q.Peer == h.Service || q.Service == h.Service)
}

// newLate is the screen of work for callers that had left.
func newLate(a *App, r *report.Report, e *report.Endpoint) screen {
	d := &document{name: "late work", file: slug(e.Service, e.Operation, "late-work")}
	d.title = []string{"Late work and attempts · " + rowName(e)}
	d.cmd = func(src *Source) string { return analyzeCommand(src, e.Service, e.Operation, e.Inner) }
	d.keys = compareKey(a.keys, nil, "compare requests")
	s := sectionsOf(r, e, nil)
	d.notes = s.notes
	d.blocks(s.take("Late work", "Work after", "Attempts")...)
	d.blocks(page.Para{Text: page.Text{{S: "What other timeouts would do (a sweep) is not in this report.", Tone: page.Dim}}})
	d.requests(a, e)
	return d
}
