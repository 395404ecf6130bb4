package text

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

// waterfall draws spans over time, one line each: name, start, duration, time on the critical path, and a bar whose
// characters say what the time was.
func (c *canvas) waterfall(w page.Waterfall) {
	used := map[page.Mark]bool{}
	u := w.Unit()
	unit, num := u.Name, u.Format

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
	longest := 0
	for _, r := range w.Rows {
		longest = max(longest, escape.Width(escape.Terminal(r.Label))+2*min(r.Depth, maxTree)+2)
	}
	name := max(16, min(rest/2, longest))
	barWidth := min(rest-name, 120)

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

// track draws one row of the waterfall in w cells and notes which marks it uses.
func track(r page.Fall, end int64, w int, used map[page.Mark]bool) styled {
	empty, marks := r.Track(end, w)
	l := styled{{strings.Repeat(" ", empty), page.Plain}}
	for _, m := range marks {
		used[m] = true
		if k := len(l) - 1; k > 0 && l[k].tone == tones[m] {
			l[k].s += string(m.Sign())
		} else {
			l = append(l, piece{string(m.Sign()), tones[m]})
		}
	}
	return l
}
