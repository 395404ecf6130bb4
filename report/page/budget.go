package page

import (
	"fmt"
	"strings"

	"github.com/tailscope/tailscope/report"
)

// budgetWords are what a breach asks for.
var budgetWords = map[report.Consequence]string{report.Block: "blocks", report.Hold: "holds the release", report.Decide: "asks for a decision"}

// Budget lays out the bounds of all endpoints that have any: what a build is held
// to.
func Budget(r *report.Report) *Page {
	b := newBuilder("tailscope check")
	breached, unknown, bounds := 0, 0, 0
	for i := range r.Endpoints {
		for _, x := range r.Endpoints[i].Budget {
			bounds++
			switch x.Status {
			case report.Breached:
				breached++
			case report.BudgetUnknown:
				unknown++
			}
		}
	}
	switch {
	case breached > 0:
		b.para(strong(fmt.Sprintf("BREACHED: %d of %s.", breached, plural(int64(bounds), "bound"))))
	default:
		b.para(strong(fmt.Sprintf("Inside the budget: %s.", plural(int64(bounds-unknown), "bound"))))
	}
	if unknown > 0 {
		b.para(plain(fmt.Sprintf("%s could not be told from these data.", plural(int64(unknown), "bound"))))
	}
	for i := range r.Endpoints {
		if e := &r.Endpoints[i]; len(e.Budget) > 0 {
			b.heading(2, plain(b.rowName(e)))
			b.budget(e)
		}
	}
	return b.page()
}

// budget is one row per bound, the breached ones first marked.
func (b *builder) budget(e *report.Endpoint) {
	if len(e.Budget) == 0 {
		return
	}
	b.heading(3, plain("Budget"))
	head := "now"
	if !e.Budget[0].Baseline.IsZero() {
		head = "before → now"
	}
	t := Table{Columns: []Column{{Head: "bound"}, {Head: "allowed", Right: true}, {Head: head, Right: true}, {Head: "95 %", Right: true}, {Head: ""}}}
	for i := range e.Budget {
		x := &e.Budget[i]
		tone, word := Good, "inside"
		switch x.Status {
		case report.Breached:
			tone, word = Bad, "breached, "+string(x.Consequence)
		case report.BudgetUnknown:
			tone, word = Dim, "cannot tell"
		}
		ci := "none"
		if x.CI.Closed() {
			ci = bound(x.CI.Lo, x.Unit) + " … " + bound(x.CI.Hi, x.Unit)
		}
		now := bound(x.Current, x.Unit)
		if !x.Baseline.IsZero() {
			now = bound(x.Baseline, x.Unit) + " → " + now
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{cell(x.Bound), b.num(bound(x.Limit, x.Unit)), b.num(now), b.num(ci), {Text: Text{{S: word, Tone: tone}}}}})
	}
	b.add(t)
	for i := range e.Budget {
		x := &e.Budget[i]
		switch {
		case x.Status == report.Breached:
			b.add(Para{Text: Text{{S: x.Bound, Tone: Bad}, plain(" " + budgetWords[x.Consequence] + ": " + sentence(b.prose(x.Detail)))}, Tight: true})
		case x.Status == report.BudgetUnknown || strings.Contains(x.Detail, "the interval holds"):
			b.add(Para{Text: Text{dim(x.Bound + ": " + sentence(b.prose(x.Detail)))}, Tight: true})
		}
	}
}

func bound(v report.Num, unit string) string {
	switch {
	case !v.Known():
		return "?"
	case unit == "share":
		return share(v)
	case unit == "ms":
		return dur(v)
	}
	return quantity(v, unit)
}
