package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestJointNullOfOneThresholdIsTheTestsSize(t *testing.T) {
	// 10 against 10 with 10 above: P(k) = C(10,k)²/C(20,10), and p <= 0.03 first holds at k = 2, 8 with
	// p = 2(1+100+2025)/184756 = 0.02301.
	j := newJointNull(10, 10, []int{10})
	near(t, "size", j.atMost(0.03), 2*(1+100+2025)/184756.0, 1e-12)
	near(t, "certain", j.atMost(1), 1, 0)
}

// jointByCounting goes over every way to deal n1 of n requests to the current side.
func jointByCounting(n, n1 int, above []int, p float64) float64 {
	hit, all := 0, 0
	for mask := range 1 << n {
		current := 0
		for i := range n {
			current += mask >> i & 1
		}
		if current != n1 {
			continue
		}
		all++
		for _, k := range above {
			b := 0
			for i := range k { // the first k are the slowest
				b += mask >> i & 1
			}
			if FisherTwoSided(k-b, n-n1, b, n1) <= p*(1+1e-9) {
				hit++
				break
			}
		}
	}
	return float64(hit) / float64(all)
}

func TestJointNullAgreesWithCountingAllDeals(t *testing.T) {
	for _, c := range []struct {
		n, n1 int
		above []int
	}{{14, 7, []int{7, 3}}, {15, 5, []int{8, 4, 2}}, {16, 10, []int{12, 6, 3, 1}}} {
		for _, p := range []float64{0.001, 0.02, 0.05, 0.2, 0.5} {
			got := newJointNull(c.n-c.n1, c.n1, c.above).atMost(p)
			near(t, "G", got, jointByCounting(c.n, c.n1, c.above, p), 1e-10)
		}
	}
}

func TestJointNullAgreesWithDrawing(t *testing.T) {
	// 20,000 deals of 1,000 against 500. The standard error at 0.1 is 0.0021.
	n0, n1, above, p := 1000, 500, []int{750, 375, 187, 93, 46, 15}, 0.03
	g := rand.New(rand.NewPCG(3, 1))
	null := make([]hypergeometric, len(above))
	for i, k := range above {
		null[i] = newHypergeometric(n0+n1, k, n1)
	}
	sides := make([]int, n0+n1)
	for i := range n1 {
		sides[i] = 1
	}
	hit := 0
	for range 20000 {
		g.Shuffle(len(sides), func(i, j int) { sides[i], sides[j] = sides[j], sides[i] })
		b, next := 0, 0
		for u := len(above) - 1; u >= 0; u-- {
			for ; next < above[u]; next++ {
				b += sides[next]
			}
			if lo, hi := null[u].accepted(p); b < lo || b > hi {
				hit++
				break
			}
		}
	}
	got, want := newJointNull(n0, n1, above).atMost(p), float64(hit)/20000
	near(t, "G", got, want, 3*math.Sqrt(want/20000))
	if got > float64(len(above))*p {
		t.Errorf("G = %v is above Bonferroni's %v", got, float64(len(above))*p)
	}
}

func TestShrunkJointNull(t *testing.T) {
	// Above maxJoint counts are shrunk. A family of 300,000 a side must get the p of one of 100,000.
	above := func(n int) []int { return []int{n, n / 2, n / 4, n / 8, n / 16, n / 32, n / 50, n / 64, n / 128} }
	near(t, "G", newJointNull(3e5, 3e5, above(3e5)).atMost(0.02), newJointNull(1e5, 1e5, above(1e5)).atMost(0.02), 0.002)
}
