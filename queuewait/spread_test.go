package queuewait

import "testing"

// A station that gets nine calls of ten waits; the same calls in halves, as they were, do not.
func TestSpreadDealsCallsAsTheyWent(t *testing.T) {
	busy, idle := Station{}, Station{}
	for i := range int64(1000) {
		s := &busy
		if i%10 == 0 {
			s = &idle
		}
		s.Arrivals, s.Holds = append(s.Arrivals, 100*i), append(s.Holds, 120)
	}
	was := []Station{{Arrivals: make([]int64, 300)}, {Arrivals: make([]int64, 100)}}
	now := []Station{busy, idle}
	dealt := spread(now, was)
	if n, m := len(dealt[0].Arrivals), len(dealt[1].Arrivals); n+m != 1000 || n < 700 || n > 800 {
		t.Errorf("dealt %d and %d, want about 750 and 250", n, m)
	}
	if w := meanWait(now, 1, 0); w < 1000 {
		t.Fatalf("nine of ten at one wait %.0f", w)
	}
	even := []Station{{Arrivals: make([]int64, 1)}, {Arrivals: make([]int64, 1)}}
	if w := meanWait(spread(now, even), 1, 0); w > 100 {
		t.Errorf("dealt evenly they wait %.0f", w)
	}
}
