package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// What the causes leave is a change with an interval like any other: with all of them put back it holds nothing, with
// one left out its part and not nothing, and with none it is the change itself.
func TestWhatIsLeftHasAnInterval(t *testing.T) {
	draw := func(seed uint64, price, stock float64) string {
		return over(seed, 800, 200, even, func(rng *rand.Rand, _, at float64) string {
			p, s := latency(rng, price), latency(rng, stock)
			return fmt.Sprintf("api GET_/x %.3f..%.3fms server\n  prices GET_/price %.3f..%.3fms\n  stock GET_/stock %.3f..%.3fms\n", at, at+5+p+s, at, at+p, at+p+1, at+p+1+s)
		})
	}
	c, r := compared(t, draw(1, 40, 40), draw(2, 60, 60))
	d := c.Pair.Delta(0.99, 0.95)
	if len(r.Findings) != 2 {
		t.Fatalf("%d causes", len(r.Findings))
	}
	if u := r.Unexplained; u.Lo > 0 || u.Hi < 0 || u.NS > d.Change/4 || u.Hi-u.Lo <= 0 {
		t.Errorf("of a change of %.0f ns all is explained, left %.0f ns", d.Change, u)
	}
	a := NewAsking(c)
	if u := a.left(r.Findings[:1], 1, 0.99); u.Lo <= 0 || u.NS < d.Change/4 || u.NS > d.Change*3/4 {
		t.Errorf("one of two causes put back leaves %.0f ns of %.0f ns", u, d.Change)
	}
	if u := a.left(nil, 1, 0.99); u != (Effect{d.Change, d.Interval.Lo, d.Interval.Hi}) {
		t.Errorf("nothing put back leaves %.0f ns of %.0f ns", u, d.Change)
	}
	if u := a.left(nil, -1, 0.99); u != (Effect{-d.Change, -d.Interval.Hi, -d.Interval.Lo}) {
		t.Errorf("the other way round %.0f ns of %.0f ns", u, d.Change)
	}
}
