package text

import (
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report/page"
)

const (
	between = 2  // cells between columns
	barMin  = 10 // below this a bar says nothing
	barMost = 28
	maxTree = 12 // levels of a tree that are indented
)

// table draws a table in the first way that fits:
//
//  1. every column beside the other, names shortened to no less than 28 cells;
//  2. intervals folded below their numbers and bars below the first column, names to no less than 24;
//  3. as 1, then as 2, with names to no less than 16, then 12;
//  4. every row as a block of lines "head: value".
func (c *canvas) table(t page.Table) {
	t = t.WithoutEmpty()
	left := indent * t.Indent
	room := c.width - left
	g := newGrid(t)
	for _, try := range []struct {
		fold bool
		name int
	}{{false, 28}, {true, 24}, {false, 16}, {true, 16}, {true, 12}} {
		if try.fold && !g.folds() {
			continue
		}
		if g.fit(room, try.fold, try.name) {
			g.draw(c, left, room)
			return
		}
	}
	c.stacked(t, left, room)
}

// A grid is a table on its way to having widths.
type grid struct {
	t     page.Table
	cells [][]styled // by row and column; bars are nil
	span  []bool     // rows whose first cell stands alone

	fold  bool
	width []int // of each column; 0 where it is folded or dropped
}

func newGrid(t page.Table) *grid {
	g := &grid{t: t, span: make([]bool, len(t.Rows))}
	for i, r := range t.Rows {
		row := make([]styled, len(r.Cells))
		alone := len(r.Cells) > 1
		for j, x := range r.Cells {
			row[j] = flat(x.Text)
			if j == 0 && r.Depth > 0 {
				row[j] = append(styled{{branch(r.Depth), page.Dim}}, row[j]...)
			}
			if j > 0 && (len(row[j]) > 0 || x.Bar != nil || len(x.Spark) > 0) {
				alone = false
			}
		}
		g.cells = append(g.cells, row)
		g.span[i] = alone
	}
	return g
}

// branch indents a row of a tree. Deep levels are counted instead.
func branch(depth int) string {
	if depth <= maxTree {
		return strings.Repeat("  ", depth-1) + "└ "
	}
	return strings.Repeat("  ", maxTree-1) + "⋯" + "└ "
}

// folds reports whether folding would narrow the table.
func (g *grid) folds() bool {
	for _, c := range g.t.Columns {
		if c.Under || c.Bar {
			return true
		}
	}
	return false
}

// fit finds the widths of the columns, or reports that they need more than room.
func (g *grid) fit(room int, fold bool, name int) bool {
	n := len(g.t.Columns)
	least, want := make([]int, n), make([]int, n)
	for j, col := range g.t.Columns {
		if col.Bar && !fold {
			least[j], want[j] = barMin, barMost
			for _, r := range g.t.Rows {
				if k := len(r.Cells[j].Spark); k > 0 {
					least[j], want[j] = min(k, barMin), min(k, barMost)
				}
			}
			continue
		}
		cells := 0
		for i := range g.cells {
			if !(g.span[i] && j == 0) {
				cells = max(cells, g.cells[i][j].width())
			}
		}
		head := escape.Width(col.Head)
		word := twoLines(col.Head)
		least[j], want[j] = max(cells, word), max(cells, head)
		switch {
		case col.Shrink:
			least[j] = max(min(cells, name), word)
		case col.Wrap:
			least[j] = max(min(cells, name), word)
		}
	}
	if fold {
		for j, col := range g.t.Columns {
			if col.Under {
				head := escape.Width(col.Head) // takes one line
				least[j-1], want[j-1] = max(least[j-1], least[j], head), max(want[j-1], want[j])
				least[j], want[j] = 0, 0
			}
			if col.Bar {
				least[j], want[j] = 0, 0
			}
		}
	}
	sum := func() int {
		total := 0
		for _, w := range least {
			if w > 0 {
				total += w + between
			}
		}
		return total - between
	}
	used := sum()
	if used > room {
		return false
	}
	// What is left goes to who wants more, cell by cell: names, then prose and heads, then bars.
	class := func(c page.Column) int {
		switch {
		case c.Shrink:
			return 0
		case c.Bar:
			return 2
		}
		return 1
	}
	for k := range 3 {
		for grew := true; grew && used < room; {
			grew = false
			for j := range least {
				if class(g.t.Columns[j]) == k && least[j] > 0 && least[j] < want[j] && used < room {
					least[j]++
					used++
					grew = true
				}
			}
		}
	}
	g.width, g.fold = least, fold
	return true
}

// draw draws the grid with the widths that fit found.
func (g *grid) draw(c *canvas, left, room int) {
	margin := strings.Repeat(" ", left)
	for _, l := range g.head() {
		c.line(margin + c.tone(page.Dim, strings.TrimRight(l, " ")))
	}
	for i, r := range g.t.Rows {
		if r.Total {
			total := -between
			for _, w := range g.width {
				if w > 0 {
					total += w + between
				}
			}
			c.line(margin + c.tone(page.Dim, strings.Repeat("─", total)))
		}
		if g.span[i] {
			for _, l := range c.wrap(g.t.Rows[i].Cells[0].Text, room) {
				c.line(margin + c.paint(l))
			}
			continue
		}
		for _, l := range g.row(c, i) {
			c.line(margin + l)
		}
	}
}

// twoLines is the least width at which a head takes at most two lines.
func twoLines(head string) int {
	w := 0
	for _, f := range strings.Fields(head) {
		w = max(w, escape.Width(f))
	}
	for w > 0 && len(escape.Wrap(head, w)) > 2 {
		w++
	}
	return w
}

// head is the lines of column heads, words broken over lines where a column is narrow; heads of folded columns come
// below.
func (g *grid) head() []string {
	above, below := 0, 0
	heads, under := make([][]string, len(g.t.Columns)), make([]string, len(g.t.Columns))
	for j, col := range g.t.Columns {
		switch {
		case col.Head == "":
		case g.width[j] > 0:
			heads[j] = escape.Wrap(col.Head, g.width[j])
			above = max(above, len(heads[j]))
		case col.Under:
			under[j-1] = col.Head
			below = 1
		}
	}
	var out []string
	for k := range above + below {
		var b strings.Builder
		for j, col := range g.t.Columns {
			if g.width[j] == 0 {
				continue
			}
			s := ""
			if k >= above {
				s = under[j]
			} else if at := k - (above - len(heads[j])); at >= 0 { // heads stand on the row below
				s = heads[j][at]
			}
			if b.Len() > 0 {
				b.WriteString(strings.Repeat(" ", between))
			}
			if col.Right {
				b.WriteString(escape.PadLeft(s, g.width[j]))
			} else {
				b.WriteString(escape.Pad(s, g.width[j]))
			}
		}
		out = append(out, b.String())
	}
	return out
}

// row is the lines of one row: wrapped cells take several, and what is folded comes below.
func (g *grid) row(c *canvas, i int) []string {
	r := g.t.Rows[i]
	var cols [][]styled // by visible column: its lines
	var right []bool
	var widths []int
	for j, col := range g.t.Columns {
		w := g.width[j]
		x := r.Cells[j]
		if w == 0 {
			if g.fold && col.Under && len(cols) > 0 && len(g.cells[i][j]) > 0 {
				k := len(cols) - 1
				for len(cols[k]) < 1 {
					cols[k] = append(cols[k], nil)
				}
				below := g.cells[i][j]
				if below.width() > widths[k] {
					below = c.elide(below, widths[k])
				}
				cols[k] = append(cols[k], below)
			}
			continue
		}
		var ls []styled
		switch {
		case x.Bar != nil:
			ls = []styled{bar(*x.Bar, w)}
		case len(x.Spark) > 0:
			ls = []styled{spark(x.Spark, w)}
		case col.Wrap:
			ls = c.wrap(x.Text, w)
		case g.cells[i][j].width() > w:
			ls = []styled{c.elide(g.cells[i][j], w)}
		default:
			ls = []styled{g.cells[i][j]}
		}
		cols, right, widths = append(cols, ls), append(right, col.Right), append(widths, w)
	}
	if g.fold {
		for j, col := range g.t.Columns {
			if x := r.Cells[j]; col.Bar && (x.Bar != nil || len(x.Spark) > 0) {
				w := min(widths[0], barMost)
				l := styled{{" ", page.Plain}}
				if x.Bar != nil {
					cols[0] = append(cols[0], append(l, bar(*x.Bar, w-1)...))
				} else {
					cols[0] = append(cols[0], append(l, spark(x.Spark, w-1)...))
				}
			}
		}
	}
	n := 1
	for _, ls := range cols {
		n = max(n, len(ls))
	}
	var out []string
	for k := range n {
		var b strings.Builder
		for m, ls := range cols {
			var l styled
			if k < len(ls) {
				l = ls[k]
			}
			if m > 0 {
				b.WriteString(strings.Repeat(" ", between))
			}
			pad := strings.Repeat(" ", max(0, widths[m]-l.width()))
			if right[m] {
				b.WriteString(pad + c.paint(l))
			} else {
				b.WriteString(c.paint(l) + pad)
			}
		}
		out = append(out, b.String())
	}
	return out
}

// elide shortens a styled name in its middle; marks at its end stay.
func (c *canvas) elide(l styled, w int) styled {
	c.elided = true
	tail := 0
	for tail < len(l) && isMark(l[len(l)-1-tail].s) {
		tail++
	}
	marks := l[len(l)-tail:]
	body := l[:len(l)-tail]
	var lead styled
	if len(body) > 1 && strings.HasSuffix(body[0].s, "└ ") {
		lead, body = body[:1], body[1:]
		if lead.width() > w/2 { // deep in a tree: the name matters more
			lead = styled{{"⋯ ", page.Dim}}
		}
	}
	s, tone := "", page.Plain
	for _, p := range body {
		s, tone = s+p.s, p.tone
	}
	s, _ = escape.Elide(s, max(1, w-marks.width()-lead.width()))
	return append(append(append(styled{}, lead...), piece{s, tone}), marks...)
}

func isMark(s string) bool {
	return strings.Trim(s, " ⁰¹²³⁴⁵⁶⁷⁸⁹") == ""
}

// bar draws two sizes over each other: █ what both have, ▓ what grew, ░ what went.
func bar(b page.Bar, w int) styled {
	both, grew, shrank := b.Cells(w)
	var l styled
	for _, p := range []struct {
		n    int
		s    string
		tone page.Tone
	}{{both, "█", page.Plain}, {grew, "▓", page.Bad}, {shrank, "░", page.Good}} {
		if p.n > 0 {
			l = append(l, piece{strings.Repeat(p.s, p.n), p.tone})
		}
	}
	return l
}

func spark(v []float64, w int) styled { return styled{{page.Sparkline(v, w), page.Plain}} }

// stacked draws each row as a block.
func (c *canvas) stacked(t page.Table, left, room int) {
	margin := strings.Repeat(" ", left)
	for _, r := range t.Rows {
		if r.Total {
			c.line(margin + c.tone(page.Dim, strings.Repeat("─", room)))
		}
		first := r.Cells[0].Text
		if r.Depth > 0 {
			first = append(page.Text{{S: strings.Repeat("·", min(r.Depth, maxTree)) + " ", Tone: page.Dim}}, first...)
		}
		ls := c.wrap(first, room)
		if len(ls) > 3 { // a monster of a name
			ls = []styled{c.elide(flat(first), room)}
		}
		if ls[0].width() > 0 {
			c.lines(ls, left)
		}
		for j := 1; j < len(r.Cells); j++ {
			col, x := t.Columns[j], r.Cells[j]
			var v page.Text
			if !col.Under || j == 1 {
				if col.Head != "" && !col.Bar {
					v = append(v, page.Run{S: col.Head + ":", Tone: page.Dim}, page.Run{S: " "})
				}
			} else {
				continue // stands with the column before
			}
			switch {
			case x.Bar != nil:
				c.line(margin + "  " + c.paint(bar(*x.Bar, min(room-2, barMost))))
				continue
			case len(x.Spark) > 0:
				c.line(margin + "  " + c.paint(spark(x.Spark, min(room-2, barMost))))
				continue
			case x.Empty():
				continue
			}
			v = append(v, x.Text...)
			if j+1 < len(t.Columns) && t.Columns[j+1].Under && len(r.Cells[j+1].Text) > 0 {
				v = append(append(v, page.Run{S: " "}), r.Cells[j+1].Text...)
			}
			c.lines(c.wrap(v, room-2), left+2)
		}
	}
}
