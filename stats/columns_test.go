package stats

import (
	"math/rand/v2"
	"testing"
)

func TestColumnsAgreeWithAPassOverAllRequests(t *testing.T) {
	g := rand.New(rand.NewPCG(4, 1))
	for _, n := range []int{1, 2, 63, 64, 65, 128, 1000} {
		k := 1 + g.IntN(9)
		x, w, col := make([]float64, n), make([]float64, n), make([]int32, n)
		for i := range x {
			x[i], w[i], col[i] = float64(i), float64(1+g.IntN(3)), int32(g.IntN(k))
		}
		c := newColumns(x, w, col, k)
		for range 200 {
			m := make([]float64, k)
			for i := range m {
				m[i] = float64(g.IntN(3))
			}
			total, want := 0.0, -1
			for i := range x {
				total += w[i] * m[col[i]]
			}
			q, sum := g.Float64(), 0.0
			for i := range x {
				if sum += w[i] * m[col[i]]; sum > 0 && sum >= q*total {
					want = i
					break
				}
			}
			if got := c.place(q, m); got != want {
				t.Fatalf("n %d, multipliers %v, q %v: place %d, want %d", n, m, q, got, want)
			}
		}
	}
}
