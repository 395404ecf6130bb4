package tui

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// newQueue is the screen of one wait: whose queue it is, waiting against being served, and how full it was over time.
func newQueue(a *App, r *report.Report, e *report.Endpoint, q *report.Queue) screen {
	d := &document{name: "queue", file: slug(e.Service, e.Operation, "queue", q.Peer, q.Operation)}
	title := call(q.Service, q.Peer, q.Operation)
	if q.Resource != "" {
		title += " · " + name(q.Resource)
	}
	d.title = []string{title}
	d.cmd = func(src *Source) string { return analyzeCommand(src, e.Service, e.Operation, e.Inner) }
	d.keys = compareKey(a.keys, nil, "compare requests")
	s := sectionsOf(r, e, func(x *report.Endpoint) {
		x.Queues = report.List[report.Queue]{*q}
		x.P50, x.P75, x.P90, x.P95, x.P99, x.P999, x.Max = report.Quantile{}, report.Quantile{}, report.Quantile{}, report.Quantile{}, report.Quantile{}, report.Quantile{}, report.Quantile{}
		if x.Target != nil {
			x.Target = &report.Quantile{} // beside no latency every wait is long, and shown in full
		}
	})
	d.notes = s.notes
	blocks := s.take("Waits before")
	if len(blocks) > 0 {
		blocks = blocks[1:]
	}
	d.blocks(blocks...)
	d.parts = append(d.parts, part{draw: func(p *pen, w int) []string { return waitAndService(p, q, w) }})
	for _, side := range sides(q) {
		if len(side.q.Occupancy1s) > 0 {
			d.parts = append(d.parts, part{draw: func(p *pen, w int) []string { return occupancy(p, side, w) }})
		}
	}
	d.requests(a, e)
	return d
}

type queueSide struct {
	name  string
	q     *report.QueueSide
	limit report.Num
}

func sides(q *report.Queue) []queueSide {
	var out []queueSide
	if q.Baseline != nil {
		out = append(out, queueSide{report.Baseline, q.Baseline, q.InferredLimitBaseline})
	}
	return append(out, queueSide{report.Current, &q.Current, q.InferredLimit})
}

// waitAndService sets the p99 of the wait beside the p99 of the call once it is served. They are two percentiles, not
// the parts of one.
func waitAndService(p *pen, q *report.Queue, width int) []string {
	longest := 0.0
	for _, s := range sides(q) {
		longest = max(longest, s.q.P99Ms.Or(0), s.q.ServiceP99Ms.Or(0))
	}
	if longest <= 0 {
		return nil
	}
	w := min(60, width-30)
	out := []string{"", p.tone(page.Strong, "── Waiting against being served, p99")}
	for _, s := range sides(q) {
		for _, x := range []struct {
			what string
			sign string
			v    report.Num
			tone page.Tone
		}{{"wait", "▒", s.q.P99Ms, page.Warn}, {"served", "█", s.q.ServiceP99Ms, page.Plain}} {
			line := escape.Pad(s.name, 9) + escape.Pad(x.what, 7) + right(ms(x.v), 9) + "  "
			if w >= 8 {
				now, _, _ := page.Bar{Now: x.v.Or(0) / longest, Single: true}.Cells(w)
				line += p.tone(x.tone, strings.Repeat(x.sign, now))
			}
			out = append(out, line)
		}
	}
	return out
}

// chartRows is the height of a chart over time.
const chartRows = 5

// occupancy draws the used share of the resource over time; with an inferred limit the axis counts calls in flight.
func occupancy(p *pen, s queueSide, width int) []string {
	v := s.q.Occupancy1s
	w := min(len(v), width-10)
	if w < 4 {
		return nil
	}
	top, unit := "100 %", "occupied, one-second views in order of time"
	if k, ok := s.limit.Get(); ok {
		top = digits(k)
		if k == float64(int(k)) {
			top = count(int(k))
		}
		unit = "in flight, of a limit of " + top
	}
	out := []string{"", p.tone(page.Strong, "── "+s.name+": "+unit)}
	// The highest of each group, as a sparkline draws it.
	cols := make([]float64, w)
	for i := range cols {
		cols[i] = -1
		for _, x := range v[i*len(v)/w : max(i*len(v)/w+1, (i+1)*len(v)/w)] {
			cols[i] = max(cols[i], x.Or(-1))
		}
	}
	levels := []rune(" ▁▂▃▄▅▆▇█")
	for y := chartRows - 1; y >= 0; y-- {
		var b strings.Builder
		for _, x := range cols {
			switch n := int(x*chartRows*8+0.5) - 8*y; {
			case x < 0 && y == 0:
				b.WriteByte('.')
			case n <= 0:
				b.WriteByte(' ')
			default:
				b.WriteRune(levels[min(n, 8)])
			}
		}
		label := ""
		switch y {
		case chartRows - 1:
			label = top
		case 0:
			label = "0"
		}
		out = append(out, right(label, 7)+" │"+b.String())
	}
	seen := fmt.Sprintf("%d views", len(v))
	return append(out, strings.Repeat(" ", 8)+"└"+strings.Repeat("─", w), strings.Repeat(" ", 9)+seen)
}
