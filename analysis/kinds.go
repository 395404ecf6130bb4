package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/hypotheses"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
)

// maxKinds is how many classes, and how many shapes, of an endpoint get a row of
// their own; the rest are the row "other".
const maxKinds = 20

// other is the class or shape of what has no row of its own.
const other = "other"

// A kind is the requests of one class or one shape of an endpoint.
type kind struct {
	class, shape, text string
	of                 func(*summary.Request) bool
	cost               float64 // ns of all its requests
}

// kinds are the rows below a whole endpoint: one for each class, one for each
// shape, never for both at once.
func (a *analyzer) kinds(v *view) []kind {
	var out []kind
	out = append(out, a.group(v, func(q *summary.Request) string { return a.str(q.Class) }, func(name string, k *kind) { k.class = name })...)
	shapes := a.shapes(v)
	out = append(out, a.group(v, func(q *summary.Request) string { return shapes.of[q] }, func(name string, k *kind) {
		k.shape, k.text = name, shapeText(shapes.names, name)
	})...)
	return out
}

// group splits an endpoint's requests by a name. One name alone is the whole
// endpoint, and gets no row.
func (a *analyzer) group(v *view, name func(*summary.Request) string, fill func(string, *kind)) []kind {
	cost := map[string]float64{}
	for _, s := range v.Sides {
		if s == nil {
			continue
		}
		for _, q := range s.Counted {
			cost[name(q)] += float64(q.Duration()) * weight(q.Weight)
		}
	}
	if len(cost) < 2 {
		return nil
	}
	names := make([]string, 0, len(cost))
	for n := range cost {
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(cost[y], cost[x]), strings.Compare(x, y)) })
	var out []kind
	for i, n := range names {
		if n == "" {
			continue // those without the attribute are in the whole row
		}
		if i == maxKinds {
			rest := map[string]bool{}
			sum := 0.0
			for _, m := range names[i:] {
				rest[m] = true
				sum += cost[m]
			}
			k := kind{of: func(q *summary.Request) bool { return rest[name(q)] }, cost: sum}
			fill(other, &k)
			k.text = fmt.Sprintf("%d more", len(rest))
			out = append(out, k)
			break
		}
		k := kind{of: func(q *summary.Request) bool { return name(q) == n }, cost: cost[n]}
		fill(n, &k)
		out = append(out, k)
	}
	return out
}

// shapeText says how a shape differs from the others: the calls that not all of
// them make.
func shapeText(shapes map[string]map[string]bool, id string) string {
	count := map[string]int{}
	for _, names := range shapes {
		for n := range names {
			count[n]++
		}
	}
	var with, without []string
	for n, c := range count {
		switch {
		case c == len(shapes):
		case shapes[id][n]:
			with = append(with, n)
		default:
			without = append(without, n)
		}
	}
	list := func(word string, names []string) string {
		if len(names) == 0 {
			return ""
		}
		slices.Sort(names)
		more := ""
		if len(names) > 4 {
			more = fmt.Sprintf(" and %d more", len(names)-4)
			names = names[:4]
		}
		return word + " " + strings.Join(names, ", ") + more
	}
	text := strings.Trim(list("with", with)+"; "+list("without", without), "; ")
	if text == "" {
		return "the same calls in other places"
	}
	return text
}

// kindRows are the rows of an endpoint's classes and shapes. They are tested
// only where the whole endpoint changed: their family is theirs alone.
func (a *analyzer) kindRows(v *view) ([]report.Endpoint, error) {
	var views []*view
	ks := a.kinds(v)
	for _, k := range ks {
		c, err := v.Part(k.of)
		if err != nil {
			return nil, err
		}
		for _, s := range c.Sides {
			if s != nil {
				s.All = slices.DeleteFunc(slices.Clone(s.All), func(q *summary.Request) bool { return !k.of(q) })
			}
		}
		views = append(views, &view{Comparison: c})
	}
	a.ownOrders(v, views, ks)
	if a.reading.Comparison() {
		changed := v.P <= a.opt.Alpha
		judge(views, a.opt)
		if !changed {
			for _, w := range views {
				if w.Pair != nil {
					w.P = 1
					w.Verdict = w.Pair.Verdict(w.Test, false)
				}
			}
		}
	}
	rows := make([]report.Endpoint, len(views))
	for i, w := range views {
		if v.Verdict.Outcome == hypotheses.NotComparable && w.Pair != nil {
			w.Verdict.Outcome = hypotheses.NotComparable // what hides requests hides those of a kind
		}
		e := report.Endpoint{Service: a.str(v.Endpoint.Name.Service), Operation: a.str(v.Endpoint.Name.Operation), Inner: v.Endpoint.Inner,
			Class: ks[i].class, Shape: ks[i].shape, ShapeText: ks[i].text}
		a.population(&e, w)
		a.quantiles(&e, w)
		a.verdict(&e, w)
		testGuards(&e, w)
		a.allocate(&e, w, a.structure(&e, w))
		a.exemplars(&e, w)
		e.LateWork.MeanInFlight, e.ReplayInexact = report.Null, report.Null
		if a.reading.Comparison() {
			e.LateWork.Baseline = &report.LateTotals{MeanInFlight: report.Null}
		}
		if e.Class != "" && a.o.Config != nil && slices.Contains(a.o.Config.ClassesOf(e.Service, e.Operation), e.Class) {
			rules := a.rules(w, e.Class)
			a.late(&e, w, a.counted(w))
			a.before(&e, w)
			a.budget(&e, w, &rules)
		}
		rows[i] = e
	}
	slices.SortStableFunc(rows, func(x, y report.Endpoint) int {
		return cmp.Compare(boolInt(y.Verdict == report.Regression), boolInt(x.Verdict == report.Regression))
	})
	return rows, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
