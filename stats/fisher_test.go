package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestFisherByPencil(t *testing.T) {
	// Fisher's tea: 3 of 4 against 1 of 4. Given 4 in all, P(k) = C(4,k)C(4,4−k)/70 is 1, 16, 36, 16, 1 over 70;
	// those not larger than 16/70 sum to 34/70.
	near(t, "tea", FisherTwoSided(1, 4, 3, 4), 34.0/70, 1e-12)
	// All of 20 against none of 20: both extremes of C(40,20) splits.
	near(t, "all shifted", FisherTwoSided(0, 20, 20, 20)/(2/137846528820.0), 1, 1e-9)
	// 3 against 3 above their common median: 2 of C(6,3) = 20.
	near(t, "three", FisherTwoSided(0, 3, 3, 3), 0.1, 1e-12)
	if p := FisherTwoSided(0, 0, 3, 3); p != 1 {
		t.Errorf("an empty side gives p = %v, want 1", p)
	}
	if p := FisherTwoSided(0, 5, 0, 5); p != 1 {
		t.Errorf("nothing above gives p = %v, want 1", p)
	}
}

// fisherExact sums binomial coefficients as whole numbers.
func fisherExact(a, n0, b, n1 int) float64 {
	weight := func(k int) *big.Int {
		x := new(big.Int).Binomial(int64(n1), int64(k))
		return x.Mul(x, new(big.Int).Binomial(int64(n0), int64(a+b-k)))
	}
	sum, limit := new(big.Int), weight(b)
	for k := max(0, a+b-n0); k <= min(n1, a+b); k++ {
		if w := weight(k); w.Cmp(limit) <= 0 {
			sum.Add(sum, w)
		}
	}
	p, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(int64(n0+n1), int64(a+b))).Float64()
	return p
}

func TestFisherAgreesWithWholeNumbers(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		n0, n1 := 1+g.IntN(60), 1+g.IntN(60)
		a, b := g.IntN(n0+1), g.IntN(n1+1)
		got, want := FisherTwoSided(a, n0, b, n1), fisherExact(a, n0, b, n1)
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d of %d against %d of %d: p = %v, want %v", a, n0, b, n1, got, want)
		}
	}
}

func TestAcceptedIsWhereTheTestDoesNotReject(t *testing.T) {
	g := rand.New(rand.NewPCG(2, 1))
	for range 200 {
		n, k := 5+g.IntN(80), 0
		k = 1 + g.IntN(n-1)
		h := newHypergeometric(n, k, 1+g.IntN(n-1))
		p := h.twoSided(h.lo + g.IntN(len(h.p))) // exactly attainable, the hard case
		lo, hi := h.accepted(p)
		for x := h.lo; x < h.lo+len(h.p); x++ {
			if in := x >= lo && x <= hi; in != (h.twoSided(x) > p*(1+sameSum)) {
				t.Fatalf("n %d k %d: accepted(%v) = %d..%d, but p(%d) = %v", n, k, p, lo, hi, x, h.twoSided(x))
			}
		}
	}
}

func TestFisherOfManyRequests(t *testing.T) {
	// At a million requests a side the test must be the normal one: 500 more of 10,000 expected a side.
	// z = 500/√(2·10^6·0.01·0.99·(1/2)·… ): difference 500/10^6, pooled 0.01025, se √(0.01025·0.98975·2/10^6).
	z := 500e-6 / math.Sqrt(0.01025*0.98975*2e-6)
	want := math.Erfc(z / math.Sqrt2)
	got := FisherTwoSided(10000, 1e6, 10500, 1e6)
	near(t, "p of normal", got/want, 1, 0.03)
}
