package stats

import "math"

// An Outcome is a verdict in one word, as the report prints it.
type Outcome string

const (
	Regression   Outcome = "regression"
	Improvement  Outcome = "improvement"
	NoRegression Outcome = "no-regression"
	CannotTell   Outcome = "cannot-tell"
)

// A Verdict is what a comparison comes to.
type Verdict struct {
	Outcome Outcome

	// Moved is how far the quantile of the test's basis moved, in nanoseconds; 0 without a basis.
	Moved float64

	// Excluded is what the data rule out: with 95 % confidence the quantile ExcludedAt did not rise by more. It is
	// infinite, and ExcludedAt 0, where nothing is ruled out.
	Excluded, ExcludedAt float64
}

// oneSided is the level of a two-sided interval whose upper end is a one-sided 95 % bound.
const oneSided = 0.90

// Verdict weighs a test together with what the data exclude. rejected says whether the endpoint's p-value was
// rejected among all endpoints of the run, see [BenjaminiHochberg].
func (p *Pair) Verdict(t Test, rejected bool) Verdict {
	v := Verdict{Outcome: CannotTell, Excluded: math.Inf(1)}
	q, ok := p.HighestClosed()
	if ok {
		v.Excluded, v.ExcludedAt = p.Delta(q, oneSided).Interval.Hi, q
	}
	from := 0.0
	switch {
	case t.Basis >= 0:
		from, v.Moved = t.Members[t.Basis].From, t.Members[t.Basis].Moved
	case t.Method == Runs:
		from = p.Base.Quantile(p.opt.Quantile)
		v.Moved = p.Cur.Quantile(p.opt.Quantile) - from
	}
	switch {
	case rejected && p.moved(from, v.Moved) && v.Moved > 0:
		v.Outcome = Regression
	case rejected && p.moved(from, v.Moved) && v.Moved < 0:
		v.Outcome = Improvement
	case ok && q == p.opt.Quantile && v.Excluded < p.opt.MaxRise*p.Base.Quantile(q):
		v.Outcome = NoRegression
	}
	return v
}
