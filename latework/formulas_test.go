package latework

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestInFlight(t *testing.T) {
	near(t, "before", InFlight(18400, 0.20, 0.085), 312.8, 1e-9)
	near(t, "after", InFlight(18400, 0.015, 0.015), 4.14, 1e-9)
}

func TestAnySlow(t *testing.T) {
	// 1 - 0.985·0.98·0.988·0.982·0.96·0.975·0.99
	near(t, "seven branches", AnySlow([]float64{0.015, 0.020, 0.012, 0.018, 0.040, 0.025, 0.010}), 0.132156, 5e-7)
	near(t, "40 partitions at 1 %", AnySlow(Repeated(0.01, 40)), 0.33103, 5e-6)
	near(t, "none", AnySlow(nil), 0, 0)
}

func TestEffectiveWidth(t *testing.T) {
	near(t, "independent branches", EffectiveWidth(AnySlow(Repeated(0.01, 40)), 0.01), 40, 1e-9)
	near(t, "one cause for all", EffectiveWidth(0.01, 0.01), 1, 1e-9)
}

func TestOccupancy(t *testing.T) {
	near(t, "executor", Occupancy(602, 640), 0.940625, 1e-12)
	near(t, "profile's pool", Occupancy(403, 420), 0.959524, 5e-7)
}

func TestStillSlow(t *testing.T) {
	near(t, "attempt-local, at the p95", StillSlow(0.05, 0.05), 1./400, 1e-15)
	near(t, "request-local", StillSlow(0.05, 1), 0.05, 0)
}

func TestCoalesced(t *testing.T) {
	e, l, a := Coalesced(18400, 0.26, 2.6)
	near(t, "eligible", e, 4784, 1e-9)
	near(t, "leaders", l, 1840, 1e-9)
	near(t, "avoided", a, 2944, 1e-9)
}

func TestMeanAttempts(t *testing.T) {
	near(t, "half fail, three at most", MeanAttempts(0.5, 3), 1.75, 1e-12) // 1 + 1/2 + 1/4
	near(t, "all fail", MeanAttempts(1, 3), 3, 0)
	near(t, "three layers", Amplification(3, 3, 3), 27, 0)
}

// A server finishes at f, a client waits until w, both 1 to 5: in 10 of the 25
// cells the client cannot know.
func TestTimeoutMatrix(t *testing.T) {
	for _, row := range []struct {
		policy Policy
		want   Ambiguity
	}{
		{BlindRetry, Ambiguity{10, 10, 0, 10}},
		{Stop, Ambiguity{10, 0, 10, 0}},
		{Reconcile, Ambiguity{10, 0, 0, 10}},
	} {
		var sum Ambiguity
		for f := int64(1); f <= 5; f++ {
			for w := int64(1); w <= 5; w++ {
				a := TimedOut(row.policy, f, w)
				sum.Ambiguous += a.Ambiguous
				sum.Duplicates += a.Duplicates
				sum.FalseFailures += a.FalseFailures
				sum.ExtraCalls += a.ExtraCalls
			}
		}
		if sum != row.want {
			t.Errorf("policy %d: %v, want %v", row.policy, sum, row.want)
		}
	}
}

// The same by a sweep over what was seen: a shorter timeout enlarges the
// ambiguous region.
func TestSweep(t *testing.T) {
	var seen []Finish
	for f := int64(1); f <= 5; f++ {
		seen = append(seen, Finish{f, true, 1})
	}
	s := NewSweep(seen)
	near(t, "w = 1", s.At(BlindRetry, 1).Duplicates, 4./5, 1e-12)
	near(t, "w = 4", s.At(Stop, 4).FalseFailures, 1./5, 1e-12)
	near(t, "w = 6", s.At(Stop, 6).FalseFailures, 0, 0)
}

// Of five calls the two longest were stopped at 3: how long they would have
// taken nobody knows.
func TestSweepCensored(t *testing.T) {
	s := NewSweep([]Finish{{1, true, 1}, {2, true, 1}, {3, true, 1}, {3, false, 1}, {3, false, 1}})
	near(t, "w = 2", s.At(Reconcile, 2).ExtraCalls, 3./5, 1e-12)
	if a := s.At(Reconcile, 4); !math.IsNaN(a.ExtraCalls) {
		t.Errorf("beyond what was seen: %v", a)
	}
}

func TestPlateau(t *testing.T) {
	if ns, ok := Plateau([]int64{400, 401, 400, 402, 1}); !ok || ns != 400 {
		t.Errorf("%d %v", ns, ok)
	}
	if _, ok := Plateau([]int64{100, 200, 300, 400}); ok {
		t.Error("spread durations are no timeout")
	}
}

// A shorter timeout leaves more in doubt: of five finish times, a client that
// waits until 1 misses four and one that waits until 4 misses one.
func TestShorterTimeoutsLeaveMoreInDoubt(t *testing.T) {
	for w, want := range map[int64]float64{1: 4, 2: 3, 3: 2, 4: 1, 5: 0} {
		var sum float64
		var list []Finish
		for f := int64(1); f <= 5; f++ {
			sum += TimedOut(Stop, f, w).Ambiguous
			list = append(list, Finish{f, true, 1})
		}
		near(t, "of 5", sum, want, 0)
		near(t, "swept", 5*NewSweep(list).At(Stop, w).Ambiguous, want, 1e-12)
	}
}

// Stop with less than 20 ms, run what is needed if it fits before that, begin
// what is not with 70 ms at least.
func TestInTime(t *testing.T) {
	const ms = 1_000_000
	r := InTime{Reserve: 20 * ms, Optional: 70 * ms}
	for _, row := range []struct {
		what      string
		got, want bool
	}{
		{"stops at 19", r.Stops(19 * ms), true}, {"goes on at 20", r.Stops(20 * ms), false},
		{"31 ms of work fit in 51", r.Mandatory(51*ms, 31*ms), true}, {"and not in 50", r.Mandatory(50*ms, 31*ms), false},
		{"optional at 70", r.Begins(70 * ms), true}, {"not at 69", r.Begins(69 * ms), false},
		{"a retry in 100", r.Retry(100*ms, 20*ms, 60*ms), true}, {"not in 99", r.Retry(99*ms, 20*ms, 60*ms), false},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v", row.what, row.got)
		}
	}
}

func TestPerClass(t *testing.T) {
	for i, want := range []float64{13248, 4232, 920} {
		near(t, "class", PerClass(18400, 0.72, 0.23, 0.05)[i], want, 1e-9)
	}
}

// 4.6 % of the calls are hedged at a delay at the p95: attempt-local.
func TestNominalHedgeRate(t *testing.T) {
	h := HedgeTable{Calls: 1000, FirstSlow: 46, Second: 46, BothSlow: 2}
	near(t, "rate", h.Rate(), 0.046, 1e-12)
	near(t, "still slow", StillSlow(NominalHedgeRate, NominalHedgeRate), 1./400, 1e-15)
	if h.Verdict() != HedgePays {
		t.Errorf("%s", h.Verdict())
	}
}

func TestHedgeVerdict(t *testing.T) {
	for _, row := range []struct {
		h    HedgeTable
		want HedgeVerdict
	}{
		{HedgeTable{Calls: 1000, FirstSlow: 46, Second: 46, BothSlow: 2}, HedgePays},
		{HedgeTable{Calls: 1000, FirstSlow: 46, Second: 46, BothSlow: 46}, HedgeDoesNot},
		{HedgeTable{Calls: 1000, FirstSlow: 300, Second: 300, BothSlow: 90}, HedgeOverrun},
		{HedgeTable{Calls: 100, FirstSlow: 5, Second: 5}, HedgeTooFew},
	} {
		if got := row.h.Verdict(); got != row.want {
			t.Errorf("%+v: %s, want %s", row.h, got, row.want)
		}
	}
}

func TestSideEffecting(t *testing.T) {
	for op, want := range map[string]bool{
		"experiment.v1.Exposures/Record": true, "POST /orders": true, "UPDATE stock": true,
		"GET /v2/home": false, "SELECT profiles": false, "ratings.v1.Ratings/Get": false, "search.v2.Shard/Query": false, "rank.v1.Address/Resolve": false,
	} {
		if got := SideEffecting(op); got != want {
			t.Errorf("%s: %v", op, got)
		}
	}
}

func TestFits(t *testing.T) {
	if !Fits(100, 20, 60, 20) || Fits(99, 20, 60, 20) {
		t.Error("a retry fits if what is left covers backoff, attempt and reserve, and not else")
	}
}

// Two branches of which one decides, and four gathers; slow is above 10.
func TestJudge(t *testing.T) {
	g := func(a, b int64) Gather { return Gather{Branches: []Branch{{1, a}, {2, b}}, Begun: 3, Weight: 1} }
	f := Judge([]Gather{g(5, 20), g(5, 8), g(20, 5), g(5, 9)}, 10)
	near(t, "branches", f.Branches, 2, 0)
	near(t, "begun", f.Begun, 3, 0)
	near(t, "observed", f.Observed, 0.5, 0)
	near(t, "independent", f.Independent, 1-0.75*0.75, 1e-12)
	if f.Slots[0].Slot != 2 || f.Slots[0].Last != 0.75 {
		t.Errorf("owners: %+v", f.Slots)
	}
}
