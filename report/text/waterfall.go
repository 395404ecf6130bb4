package text

import (
	"fmt"
	"math"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// waterfall draws spans over time, one line each: name, start, duration, time on the critical path, and a bar whose
// characters say what the time was.
func (c *canvas) waterfall(w page.Waterfall) {
	used := map[page.Mark]bool{}
	unit, div, dec := unitOf(w)
	num := func(ns int64) string { return fmt.Sprintf("%.*f", dec, float64(ns)/div) }

	// Numbers take what they need; the name and the bar share the rest.
	numbers := max(len(num(w.EndNS)), len("on path"), len("start"))
	columns := 3
	switch {
	case c.width < 60:
		columns = 1 // duration alone
	case c.width < 76:
		columns = 2
	}
	rest := c.width - columns*(numbers+between) - between
	name := min(rest/2, 56)
	barWidth := min(rest-name, 100)
	name = min(rest-barWidth, 72)

	put := func(label styled, cells []string, bar styled) {
		var b strings.Builder
		b.WriteString(c.paint(label) + strings.Repeat(" ", max(0, name-label.width())))
		for i, s := range cells {
			if columns == 1 && i != 1 || columns == 2 && i == 0 {
				continue
			}
			b.WriteString(strings.Repeat(" ", between) + escape.PadLeft(s, numbers))
		}
		b.WriteString(strings.Repeat(" ", between) + c.paint(bar))
		c.line(b.String())
	}
	end := num(w.EndNS) + " " + unit
	ruler := "0" + strings.Repeat(" ", max(1, barWidth-1-len(end))) + end
	put(styled{{"times in " + unit, page.Dim}}, []string{"start", "for", "on path"}, styled{{ruler, page.Dim}})
	for _, r := range w.Rows {
		lead := ""
		if r.Depth > 0 {
			lead = branch(min(r.Depth, maxTree+1))
			if len(lead) > name/2 {
				lead = fmt.Sprintf("⋯%d ", r.Depth)
			} else if r.Depth > maxTree {
				lead = fmt.Sprintf("%s⋯%d ", strings.Repeat(" ", maxTree), r.Depth)
			}
		}
		if r.Gap != "" {
			s := escape.Terminal(r.Gap)
			if r.PathNS > 0 {
				s += fmt.Sprintf("; %s %s on the path", num(r.PathNS), unit)
			}
			for _, l := range escape.Wrap(s, c.width-escape.Width(lead)) {
				c.line(lead + c.tone(page.Dim, l))
			}
			continue
		}
		label := styled{{lead, page.Dim}}
		s := escape.Terminal(r.Label)
		if r.Status == "error" {
			s = "! " + s
		}
		short, cut := escape.Elide(s, name-escape.Width(lead))
		c.elided = c.elided || cut
		tone := page.Plain
		if r.Status == "error" {
			tone = page.Bad
		}
		label = append(label, piece{short, tone})
		onPath := ""
		if r.PathNS > 0 {
			onPath = num(r.PathNS)
		}
		put(label, []string{num(r.StartNS), num(r.EndNS - r.StartNS), onPath}, track(r, w.EndNS, barWidth, used))
	}
	var legend page.Text
	for _, m := range page.Marks {
		if used[m] {
			if len(legend) > 0 {
				legend = append(legend, page.Run{S: " · "})
			}
			legend = append(legend, page.Run{S: string(m.Sign()), Tone: tones[m]}, page.Run{S: " " + m.String()})
		}
	}
	for _, r := range w.Rows {
		if r.Status == "error" {
			legend = append(legend, page.Run{S: " · "}, page.Run{S: "!", Tone: page.Bad}, page.Run{S: " error"})
			break
		}
	}
	if len(legend) > 0 {
		c.lines(c.wrap(legend, c.width), 0)
	}
}

var tones = map[page.Mark]page.Tone{page.Working: page.Strong, page.Waiting: page.Warn, page.TimedOut: page.Bad, page.Late: page.Bad, page.OffPath: page.Dim, page.After: page.Dim}

// unitOf is the unit in which the times of a waterfall are told, and its decimals: up to three, so that the shortest
// span shows.
func unitOf(w page.Waterfall) (unit string, div float64, decimals int) {
	shortest := float64(w.EndNS)
	for _, r := range w.Rows {
		if d := float64(r.EndNS - r.StartNS); d > 0 {
			shortest = min(shortest, d)
		}
	}
	unit, div = "ms", 1e6
	switch {
	case w.EndNS >= 60e9:
		unit, div = "s", 1e9
	case w.EndNS < 1e6:
		unit, div = "µs", 1e3
	}
	decimals = 1
	for decimals < 3 && shortest < math.Pow10(1-decimals)*div {
		decimals++
	}
	return unit, div, decimals
}

// track draws one span over [0, end) in w cells. A cell shows the mark that fills most of it; a span always shows.
func track(r page.Fall, end int64, w int, used map[page.Mark]bool) styled {
	if end <= 0 {
		end = 1
	}
	at := func(ns int64) float64 { return float64(ns) / float64(end) * float64(w) }
	first := max(0, min(w-1, int(at(r.StartNS))))
	last := max(first, min(w-1, int(at(r.EndNS)-1e-9)))
	l := styled{{strings.Repeat(" ", first), page.Plain}}
	next := 0 // first piece that may reach the cell
	for x := first; x <= last; x++ {
		var share [16]float64
		lo, hi := float64(x), float64(x+1)
		for next < len(r.Pieces) && at(r.Pieces[next].EndNS) <= lo {
			next++
		}
		for _, p := range r.Pieces[next:] {
			a, b := at(p.StartNS), at(p.EndNS)
			if a >= hi {
				break
			}
			if d := min(b, hi) - max(a, lo); d > 0 {
				share[p.Mark] += d
			}
		}
		best := page.OffPath
		for _, m := range page.Marks {
			if m != page.OffPath && share[m] > share[best] {
				best = m
			}
		}
		if share[best] == 0 {
			best = page.OffPath
		}
		used[best] = true
		if k := len(l) - 1; l[k].tone == tones[best] && k > 0 {
			l[k].s += string(best.Sign())
		} else {
			l = append(l, piece{string(best.Sign()), tones[best]})
		}
	}
	return l
}
