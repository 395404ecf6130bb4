package stats

import (
	"fmt"
	"testing"
)

// BenchmarkComparison is all that the analysis asks of one endpoint: sort both sides, the test, the verdict, six
// intervals and two allocations over 40 components.
func BenchmarkComparison(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		l, m := lognormal(1, n, 0.7, 1), lognormal(2, n, 0.7, 1.1)
		base := Requests{Latency: l, Second: uniformSeconds(1, n, 900)}
		cur := Requests{Latency: m, Second: uniformSeconds(2, n, 900)}
		of := make([]float64, 39)
		for i := range of {
			of[i] = 0.02
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				p := NewPair(sample(b, base), sample(b, cur), Defaults())
				test := p.Test()
				p.Verdict(test, test.P <= 0.05)
				for _, q := range ladder {
					p.Delta(q, 0.95)
				}
				for _, q := range []float64{0.5, 0.99} {
					p.Allocate(q, 0.95, 40, shares(l, of...), shares(m, of...))
				}
			}
			b.ReportMetric(float64(2*n)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
