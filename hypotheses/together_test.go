package hypotheses

import (
	"math/rand/v2"
	"testing"
)

// Of two causes that each make many requests as slow as the other, either put back alone leaves the slowest
// hundredth as it is. Both are named, with half of the rise each, and nothing of what stayed as it was is.
func TestCausesThatStandInForEachOther(t *testing.T) {
	at := func(peer string, share float64, ms int64) func(string, string, *rand.Rand) int64 {
		return func(_, to string, rng *rand.Rand) int64 {
			if to == peer && rng.Float64() < share {
				return ms*msNS + rng.Int64N(ms*msNS/20)
			}
			return 0
		}
	}
	store := func(share float64, ms int64) func(*rand.Rand) int64 {
		of := at("store", share, ms)
		return func(rng *rand.Rand) int64 { return of("", "store", rng) }
	}
	for _, c := range []struct {
		name string
		haul haul
		want map[string]float64 // the share of the rise of each peer
	}{
		{"two", haul{connect: at("prices", 0.06, 1000), store: store(0.2, 1000)}, map[string]float64{"prices": 0.5, "store": 0.5}},
		{"one alone", haul{store: store(0.06, 1000)}, map[string]float64{"store": 1}},
		{"one beside one that is too rare to matter", haul{connect: at("prices", 0.002, 400), store: store(0.06, 1000)}, map[string]float64{"store": 1}},
		{"one beside one that is too short to matter", haul{connect: at("prices", 0.06, 20), store: store(0.06, 1000)}, map[string]float64{"store": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := against(t, [2]string{stocktaking(1, haul{}), stocktaking(2, c.haul)}, [2][]word{})
			got := map[string]float64{}
			rise := r.Left.NS
			sum := 0.0
			for _, f := range r.Findings {
				got[f.Peer] += f.Explains
				sum += f.Explains
			}
			rise += sum
			for _, f := range r.Findings {
				if !near(f.Explains/rise, c.want[f.Peer], 0.25) {
					t.Errorf("%s %s of %s to %s explains %.3g of %.3g ms", f.Strength, f.Kind, f.Service, f.Peer, f.Explains/1e6, rise/1e6)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%d peers are named: %v", len(got), got)
			}
			if rise < 900*msNS {
				t.Errorf("the rise is %.3g ms", rise/1e6)
			}
		})
	}
}
