package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// place names where the time of a row was spent.
func (b *builder) place(a *report.Allocation) string {
	if a.Service == "" && a.Operation == "" {
		return "elsewhere"
	}
	return b.call(a.Service, a.Peer, a.Operation)
}

// allocation is the table of where the time of the requests around a quantile goes: of the one at which the change is
// shown, and of the target. Its rows, with the line for rounding, sum to the quantile as it is shown.
func (b *builder) allocation(r *report.Report, e *report.Endpoint, target bool) {
	if f := e.Focus; f != nil && len(f.Allocation) > 0 {
		b.allocationChange(r, f.Allocation, &f.Latency, f.Quantile, f.AllocationScale)
	}
	if !target {
		return
	}
	rows := slices.Clone(e.Allocation)
	if len(rows) == 0 {
		return
	}
	q := rows[0].Quantile
	if !slices.ContainsFunc(rows, func(a report.Allocation) bool { return a.Quantile != q }) {
		// one quantile: as it should be
	} else {
		q = r.Run.Quantile
		rows = slices.DeleteFunc(rows, func(a report.Allocation) bool { return a.Quantile != q })
	}
	total := e.Of(q)
	if total == nil || len(rows) == 0 {
		return
	}
	if r.Comparison() {
		b.allocationChange(r, rows, total, q, e.AllocationScale)
	} else {
		b.allocationSingle(e, rows, total, q)
	}
}

// allocationChange compares the two sides.
func (b *builder) allocationChange(r *report.Report, rows []report.Allocation, total *report.Quantile, q report.Float, factors report.Pair) {
	var values []report.Num
	longest := 0.0
	for _, a := range rows {
		values = append(values, a.BaselineMs, a.CurrentMs)
		longest = max(longest, a.BaselineMs.Or(0), a.CurrentMs.Or(0))
	}
	s := scaleOf(0, append(values, total.BaselineMs, total.CurrentMs)...)
	name := quantileName(q)
	b.heading(3, plainf("Where the time of %s requests goes, %s", name, s.unit))
	t := Table{Columns: []Column{{Head: "where", Shrink: true}, {Head: "kind"}, {Head: "baseline", Right: true}, {Head: "current", Right: true}, {Head: "change", Right: true}, {Head: b.confidence(r), Right: true, Under: true}, {Bar: true}}}
	sum := ledger{s: s}
	shown := min(len(rows), tableRows)
	if len(rows) == tableRows+1 {
		shown++ // one more row says more than "1 other place"
	}
	for _, a := range rows[:shown] {
		sum.add(a.BaselineMs, a.CurrentMs, a.DeltaMs)
		d := b.num(plusOr(s, a.DeltaMs))
		if a.CIMs.Closed() && !a.CIMs.Excludes(0) {
			// The number stays, so that the column sums.
			d.Text = append(Text{dim(b.sign("~ "))}, d.Text...)
		}
		switch {
		case a.Largest:
			d.Text[0].Tone = Strong
			d.Text = append(d.Text, b.note("the largest change: its interval clears the second's"))
		case a.CIMs.IsZero() && a.DeltaMs.Known():
			d.Text = append(d.Text, b.note("no interval was computed"))
		}
		where := cell(b.place(&a))
		// What left the path stands beside what took its place; alone its sign would mislead.
		if x, ok := a.PathSwitch.Get(); ok && x > 0 && s.round(a.DeltaMs.Or(0))*total.DeltaMs.Or(0) < 0 {
			where.Text = append(where.Text, b.note(fmt.Sprintf("left or joined the critical path in %s of these requests", prose.Percent(x))))
		}
		where.Text = append(where.Text, b.marks(a.Warnings)...)
		bar := Bar{Before: part(a.BaselineMs, longest), Now: part(a.CurrentMs, longest)}
		t.Rows = append(t.Rows, Row{Cells: []Cell{where, cell(string(a.Kind)), b.num(s.num(a.BaselineMs)), b.num(s.num(a.CurrentMs)), d, b.dimNum(s.interval(a.CIMs, true)), {Bar: &bar}}})
	}
	if rest := rows[shown:]; len(rest) > 0 {
		var o ledger
		for _, a := range rest {
			o.exact(a.BaselineMs, a.CurrentMs, a.DeltaMs)
		}
		sum.add(o.nums())
		bar := Bar{Before: o.base / longest, Now: o.cur / longest}
		base, cur, delta := o.nums()
		t.Rows = append(t.Rows, Row{Rest: true, Cells: []Cell{cell(plural(int64(len(rest)), "other place")), {}, cell(s.num(base)), cell(s.num(cur)), cell(s.plus(delta.Or(0))), {}, {Bar: &bar}}})
	}
	base, cur, delta := total.BaselineMs, total.CurrentMs, total.DeltaMs
	if row, ok := sum.residue(len(rows), base, cur, delta); ok {
		t.Rows = append(t.Rows, Row{Rest: true, Cells: []Cell{cell(row.name), {}, cell(row.base), cell(row.cur), cell(row.delta), {}, {}}})
	}
	t.Rows = append(t.Rows, Row{Total: true, Cells: []Cell{cell(name), {}, b.num(s.num(base)), b.num(s.num(cur)), b.num(plusOr(s, delta)), b.dimNum(s.interval(total.CIMs, true)), {}}})
	b.add(t, BarLegend{"on both sides", "grew", "shrank"})
	b.scaleNote(factors)
}

func plusOr(s scale, v report.Num) string {
	if x, ok := v.Get(); ok {
		return s.plus(x)
	}
	return "?"
}

// allocationSingle sets the tail against the typical request.
func (b *builder) allocationSingle(e *report.Endpoint, rows []report.Allocation, total *report.Quantile, q report.Float) {
	type key struct {
		node            report.NodeID
		kind            report.Kind
		peer            string
		service, operat string
	}
	keyOf := func(a *report.Allocation) key { return key{a.Node, a.Kind, a.Peer, a.Service, a.Operation} }
	typical := map[key]report.Num{}
	for i := range e.Typical {
		typical[keyOf(&e.Typical[i])] = e.Typical[i].CurrentMs
	}
	longest := 0.0
	var values []report.Num
	for _, a := range rows {
		values = append(values, a.CurrentMs)
		longest = max(longest, a.CurrentMs.Or(0))
	}
	s := scaleOf(0, append(values, total.CurrentMs)...)
	name := quantileName(q)
	b.heading(3, plainf("Where the time of %s requests goes, %s", name, s.unit))
	compare := len(e.Typical) > 0
	t := Table{Columns: []Column{{Head: "where", Shrink: true}, {Head: "kind"}}}
	if compare {
		t.Columns = append(t.Columns, Column{Head: "typical", Right: true})
	}
	t.Columns = append(t.Columns, Column{Head: name, Right: true}, Column{Head: "share", Right: true}, Column{Bar: true})
	sum := ledger{s: s}
	whole := total.CurrentMs.Or(0)
	add := func(where Cell, kind string, typ, cur report.Num, flag func(*Row)) {
		row := Row{Cells: []Cell{where, cell(kind)}}
		bar := Bar{Now: part(cur, longest), Single: !compare}
		if compare {
			row.Cells = append(row.Cells, b.num(s.num(typ)))
			bar.Before = part(typ, longest)
		}
		pc := ""
		if x, ok := cur.Get(); ok && whole > 0 {
			pc = prose.Decimal(100*x/whole, 1) + " %"
		}
		row.Cells = append(row.Cells, b.num(s.num(cur)), cell(pc), Cell{Bar: &bar})
		if flag != nil {
			flag(&row)
		}
		t.Rows = append(t.Rows, row)
	}
	shown := min(len(rows), tableRows)
	if len(rows) == tableRows+1 {
		shown++
	}
	for _, a := range rows[:shown] {
		typ := report.Some(0)
		if v, ok := typical[keyOf(&a)]; ok {
			typ = v
		}
		sum.add(typ, a.CurrentMs, report.Num{})
		where := cell(b.place(&a))
		where.Text = append(where.Text, b.marks(a.Warnings)...)
		add(where, string(a.Kind), typ, a.CurrentMs, nil)
	}
	base, cur := e.P50.CurrentMs, total.CurrentMs
	if rest := rows[shown:]; len(rest) > 0 {
		var o ledger
		for _, a := range rest {
			o.exact(report.Num{}, a.CurrentMs, report.Num{})
		}
		typ := report.Num{}
		if compare { // whatever of the typical request is not shown above
			typ = report.Some(base.Or(0) - sum.trueBase)
		}
		_, c, _ := o.nums()
		sum.add(typ, c, report.Num{})
		add(cell(plural(int64(len(rest)), "other place")), "", typ, c, func(r *Row) { r.Rest = true })
	}
	if !compare {
		base = report.Num{}
	}
	if row, ok := sum.residue(len(rows), base, cur, report.Num{}); ok {
		cells := []Cell{cell(row.name), {}}
		if compare {
			cells = append(cells, cell(row.base))
		}
		t.Rows = append(t.Rows, Row{Rest: true, Cells: append(cells, cell(row.cur), Cell{}, Cell{})})
	}
	cells := []Cell{cell("in all"), {}}
	if compare {
		cells = append(cells, b.num(s.num(base)))
	}
	t.Rows = append(t.Rows, Row{Total: true, Cells: append(cells, b.num(s.num(cur)), cell("100 %"), Cell{})})
	b.add(t)
	if compare {
		b.add(BarLegend{"as in the typical (median) request", "more", "less"})
	}
	b.add(Para{Text: Text{dim("Parts of one data set have no intervals.")}, Tight: true})
	b.scaleNote(e.AllocationScale)
}

// scaleNote says by how much averages had to be stretched to sum to the quantile.
func (b *builder) scaleNote(factors report.Pair) {
	base, cur := factors.Baseline, factors.Current
	if !base.Known() && !cur.Known() {
		return
	}
	t := fmt.Sprintf("Averages around the quantile, scaled by %s to sum to it", quantities(base, cur, ""))
	if math.Abs(base.Or(1)-1) > 0.05 || math.Abs(cur.Or(1)-1) > 0.05 {
		t += ": rough"
	}
	b.add(Para{Text: Text{dim(t + ".")}, Tight: true})
}

func part(v report.Num, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return max(0, min(1, v.Or(0)/whole))
}

// A ledger sums what a table shows, as it shows it, so that a last line can make up for rounding.
type ledger struct {
	s                scale
	base, cur, delta float64
	trueBase         float64
}

// add adds what is shown: rounded.
func (l *ledger) add(base, cur, delta report.Num) {
	l.trueBase += base.Or(0)
	l.base += l.s.round(base.Or(0))
	l.cur += l.s.round(cur.Or(0))
	l.delta += l.s.round(delta.Or(0))
}

// exact adds without rounding.
func (l *ledger) exact(base, cur, delta report.Num) {
	l.base += base.Or(0)
	l.cur += cur.Or(0)
	l.delta += delta.Or(0)
}

func (l *ledger) nums() (base, cur, delta report.Num) {
	return report.Some(l.base), report.Some(l.cur), report.Some(l.delta)
}

type residue struct{ name, base, cur, delta string }

// residue is the line between the rows and their total, if there is one. What rounding cannot explain is called by
// another name.
func (l *ledger) residue(rows int, base, cur, delta report.Num) (residue, bool) {
	half := math.Pow10(-l.s.decimals) / 2
	r := residue{name: "rounding"}
	found := false
	show := func(total report.Num, sum float64, plus bool) string {
		x, ok := total.Get()
		if !ok {
			return ""
		}
		d := l.s.round(x) - sum
		if math.Abs(d) < half {
			return l.s.of(0)
		}
		found = true
		if math.Abs(d) > half*float64(rows+2) {
			r.name = "not allocated"
		}
		if plus {
			return l.s.plus(d * l.s.ms)
		}
		return l.s.of(d * l.s.ms)
	}
	r.base, r.cur, r.delta = show(base, l.base, false), show(cur, l.cur, false), show(delta, l.delta, true)
	return r, found
}
