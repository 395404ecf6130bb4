package html

import (
	"math"

	"github.com/tailscope/tailscope/report/page"
)

// A rect is a box in an SVG of width 1000.
type rect struct {
	X, W  float64
	Y, H  float64
	Class string
}

const wide = 1000

func box(from, to float64, class string) rect {
	r := func(x float64) float64 { return math.Round(x*wide*10) / 10 }
	return rect{X: r(from), W: max(r(to)-r(from), 1.5), Class: class}
}

// bar is what both sides share, and what grew or shrank.
func bar(b page.Bar) []rect {
	if b.Single {
		return []rect{box(0, b.Now, "both")}
	}
	var out []rect
	if both := min(b.Before, b.Now); both > 0 {
		out = append(out, box(0, both, "both"))
	}
	switch {
	case b.Now > b.Before:
		out = append(out, box(b.Before, b.Now, "grew"))
	case b.Before > b.Now:
		out = append(out, box(b.Now, b.Before, "shrank"))
	}
	return out
}

// spark is one column per value; unknown ones are left out.
func spark(v []float64) []rect {
	var out []rect
	n := float64(len(v))
	for i, x := range v {
		if x < 0 {
			continue
		}
		x = math.Round(100*max(0.02, min(1, x))) / 100
		r := box(float64(i)/n, (float64(i)+0.8)/n, "both")
		r.Y, r.H = math.Round(2000*(1-x))/100, 20*x
		out = append(out, r)
	}
	return out
}

// A fallen is a row of a waterfall, ready to be drawn.
type fallen struct {
	page.Fall
	Start, For, OnPath string
	Rects              []rect
}

type drawn struct {
	Unit, End string
	Rows      []fallen
	Legend    []swatch
}

type swatch struct{ Class, Label string }

// markClasses name the fills of the style sheet.
var markClasses = map[page.Mark]string{page.OffPath: "off", page.Working: "working", page.Waiting: "waiting", page.OnNetwork: "network", page.BackedOff: "backoff",
	page.TimedOut: "timeout", page.Unknown: "untraced", page.Late: "late", page.After: "after"}

func fall(w page.Waterfall) drawn {
	u := w.Unit()
	d := drawn{Unit: u.Name, End: u.Format(w.EndNS)}
	end := float64(max(w.EndNS, 1))
	used := map[page.Mark]bool{}
	for _, r := range w.Rows {
		f := fallen{Fall: r, Start: u.Format(r.StartNS), For: u.Format(r.EndNS - r.StartNS)}
		f.Depth = min(r.Depth, 14)
		if r.PathNS > 0 {
			f.OnPath = u.Format(r.PathNS)
		}
		if r.Gap == "" {
			f.Rects = append(f.Rects, box(min(float64(r.StartNS)/end, 1), min(float64(r.EndNS)/end, 1), "off"))
			used[page.OffPath] = true
			for _, p := range r.Pieces {
				used[p.Mark] = true
				f.Rects = append(f.Rects, box(float64(p.StartNS)/end, float64(p.EndNS)/end, markClasses[p.Mark]))
			}
		}
		d.Rows = append(d.Rows, f)
	}
	for _, m := range page.Marks {
		if used[m] {
			d.Legend = append(d.Legend, swatch{markClasses[m], m.String()})
		}
	}
	return d
}
