package page

import (
	"math"
	"strconv"
	"strings"
)

// What media that draw with characters share.

// Superscript is the mark of footnote n.
func Superscript(n int) string {
	if n < 10 {
		return string([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[n])
	}
	return Superscript(n/10) + Superscript(n%10)
}

// Cells is the bar in w cells: what both sizes share, what the second has more, what it has less. A size above zero
// takes a cell.
func (b Bar) Cells(w int) (both, grew, shrank int) {
	cells := func(x float64) int {
		n := int(x*float64(w) + 0.5)
		if n == 0 && x > 0.002 {
			n = 1
		}
		return n
	}
	now, before := cells(b.Now), cells(b.Before)
	if b.Single {
		return now, 0, 0
	}
	both = min(now, before)
	return both, now - both, before - both
}

// Sparkline draws values of 0..1 in at most w cells; where there are more, the highest of each group. Unknown is ".".
func Sparkline(v []float64, w int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	n := min(len(v), w)
	var b strings.Builder
	for i := range n {
		x := -1.0
		for _, y := range v[i*len(v)/n : (i+1)*len(v)/n] {
			x = max(x, y)
		}
		if x < 0 {
			b.WriteByte('.')
			continue
		}
		b.WriteRune(levels[min(len(levels)-1, int(x*float64(len(levels))))])
	}
	return b.String()
}

// Track draws a row of a waterfall of length end in w cells: the number of empty cells before it, and its marks. A
// cell shows the mark that fills most of it; a span always takes a cell.
func (f *Fall) Track(end int64, w int) (empty int, marks []Mark) {
	end = max(end, 1)
	at := func(ns int64) float64 { return float64(ns) / float64(end) * float64(w) }
	first := max(0, min(w-1, int(at(f.StartNS))))
	last := max(first, min(w-1, int(at(f.EndNS)-1e-9)))
	next := 0 // first piece that may reach the cell
	for x := first; x <= last; x++ {
		var filled [len(signs)]float64
		lo, hi := float64(x), float64(x+1)
		for next < len(f.Pieces) && at(f.Pieces[next].EndNS) <= lo {
			next++
		}
		for _, p := range f.Pieces[next:] {
			a, b := at(p.StartNS), at(p.EndNS)
			if a >= hi {
				break
			}
			filled[p.Mark] += max(0, min(b, hi)-max(a, lo))
		}
		best := OffPath
		for _, m := range Marks {
			if filled[m] > filled[best] {
				best = m
			}
		}
		if filled[best] == 0 {
			best = OffPath
		}
		marks = append(marks, best)
	}
	return first, marks
}

// WithoutEmpty drops the columns of which every cell is empty.
func (t Table) WithoutEmpty() Table {
	var keep []int
	for i := range t.Columns {
		for _, r := range t.Rows {
			if !r.Cells[i].Empty() {
				keep = append(keep, i)
				break
			}
		}
	}
	if len(keep) == len(t.Columns) {
		return t
	}
	out := Table{Indent: t.Indent, Tight: t.Tight}
	for k, i := range keep {
		c := t.Columns[i]
		c.Under = c.Under && k > 0 && keep[k-1] == i-1 // what it stood under is gone
		out.Columns = append(out.Columns, c)
	}
	for _, r := range t.Rows {
		n := r
		n.Cells = nil
		for _, i := range keep {
			n.Cells = append(n.Cells, r.Cells[i])
		}
		out.Rows = append(out.Rows, n)
	}
	return out
}

// Empty reports whether nothing would be drawn.
func (c *Cell) Empty() bool {
	if c.Bar != nil || len(c.Spark) > 0 {
		return false
	}
	for _, r := range c.Text {
		if r.Note > 0 || strings.TrimSpace(r.S) != "" {
			return false
		}
	}
	return true
}

// A Unit is how the times of a waterfall are told.
type Unit struct {
	Name     string
	ns       float64
	decimals int
}

// Format is a time in the unit, without its name.
func (u Unit) Format(ns int64) string {
	return strconv.FormatFloat(float64(ns)/u.ns, 'f', u.decimals, 64)
}

// Unit is the unit that suits the whole waterfall, with up to three decimals, so that the shortest span shows.
func (w *Waterfall) Unit() Unit {
	shortest := float64(w.EndNS)
	for _, r := range w.Rows {
		if d := float64(r.EndNS - r.StartNS); d > 0 {
			shortest = min(shortest, d)
		}
	}
	u := Unit{"ms", 1e6, 1}
	switch {
	case w.EndNS >= 60e9:
		u = Unit{"s", 1e9, 1}
	case w.EndNS < 1e6:
		u = Unit{"µs", 1e3, 1}
	}
	for u.decimals < 3 && shortest < math.Pow10(1-u.decimals)*u.ns {
		u.decimals++
	}
	return u
}
