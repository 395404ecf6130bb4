package stats_test

import (
	"fmt"

	"github.com/tailscope/tailscope/stats"
)

// Twenty requests a side are enough to see that all became slower, and too few for an interval of p99.
func Example() {
	side := func(fastest int64) *stats.Sample {
		var r stats.Requests
		for i := range int64(20) {
			r.Latency = append(r.Latency, (fastest+i)*1e6)
		}
		s, err := stats.NewSample(r)
		if err != nil {
			panic(err)
		}
		return s
	}
	p := stats.NewPair(side(100), side(150), stats.Defaults())
	test := p.Test()
	basis := test.Members[test.Basis]
	fmt.Printf("above %.0f ms: %d of %d, now %d of %d, p = %.1g\n",
		basis.Threshold/1e6, basis.Base.Above, basis.Base.Of, basis.Cur.Above, basis.Cur.Of, basis.P)

	rejected := stats.BenjaminiHochberg([]float64{test.P})[0] <= 0.05
	verdict := p.Verdict(test, rejected)
	fmt.Printf("%s; p%.0f did not rise by more than %.0f ms\n", verdict.Outcome, 100*verdict.ExcludedAt, verdict.Excluded/1e6)

	p99 := p.Delta(0.99, 0.95)
	fmt.Printf("p99 %.0f → %.0f ms, interval closed: %v; it needs %d\n", p99.Base/1e6, p99.Cur/1e6, p99.Interval.Closed(), stats.NeededAbove(0.99))

	// Output:
	// above 119 ms: 0 of 20, now 20 of 20, p = 3e-11
	// regression; p75 did not rise by more than 54 ms
	// p99 119 → 169 ms, interval closed: false; it needs 368
}
