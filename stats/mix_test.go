package stats

import (
	"reflect"
	"slices"
	"testing"
)

// classed makes a sample of classes, each a number of requests of one latency in ms, and tells the class of each.
func classed(t *testing.T, classes ...[2]int64) (*Sample, func(int) int) {
	var r Requests
	var class []int
	for c, nl := range classes {
		for range nl[0] {
			r.Latency = append(r.Latency, nl[1]*1e6)
			class = append(class, c)
		}
	}
	return sample(t, r), func(j int) int { return class[j] }
}

func mixOf(t *testing.T, q float64, base, cur [][2]int64) Mix {
	b, bc := classed(t, base...)
	c, cc := classed(t, cur...)
	return NewPair(b, c, Defaults()).Mix(q, 0.95, bc, cc)
}

func TestMixAlone(t *testing.T) {
	// 10 ms and 100 ms, 950 and 50 against 800 and 200: p90 goes from 10 to 100, and neither class changed.
	m := mixOf(t, 0.9, [][2]int64{{950, 10}, {50, 100}}, [][2]int64{{800, 10}, {200, 100}})
	for _, s := range []Split{m.CurrentOrder, m.BaselineOrder} {
		if s.Mix != 90e6 || s.Behaviour != 0 || s.Support != 0 {
			t.Errorf("%+v, want all mix", s)
		}
		if s.MixInterval.Excludes(90e6) || s.BehaviourInterval.Excludes(0) {
			t.Errorf("intervals %v %v", s.MixInterval, s.BehaviourInterval)
		}
	}
	// Current requests with the baseline's mix have their p90 at 10, and 200 equal ones above it; baseline ones with
	// the current mix have it at 100 and nothing above.
	near(t, "tail of current", m.CurrentOrder.TailN, 200, 1e-9)
	near(t, "tail of baseline", m.BaselineOrder.TailN, 0, 0)
	if m.Lead != CurrentOrder || m.Strength != Strong {
		t.Errorf("lead %s, %s", m.Lead, m.Strength)
	}
	want := []Cell{{[]int{0}, 950, 800, 0.95, 0.8}, {[]int{1}, 50, 200, 0.05, 0.2}}
	if !reflect.DeepEqual(m.Cells, want) {
		t.Errorf("cells %+v, want %+v", m.Cells, want)
	}
}

// Runs differ in their mix: what each holds is one observation, however many requests it has.
func TestMixOfRunsIsAsUncertainAsTheRuns(t *testing.T) {
	side := func(shares ...int) (*Sample, func(int) int) {
		var r Requests
		var class []int
		for run, slow := range shares {
			for i := range 1000 {
				c := 0
				if i < slow {
					c = 1
				}
				r.Latency = append(r.Latency, int64(10e6+float64(c)*90e6+float64(i%100)*1e5*float64(1+9*c)))
				r.Run = append(r.Run, run)
				class = append(class, c)
			}
		}
		return sample(t, r), func(j int) int { return class[j] }
	}
	width := func(base, cur []int) float64 {
		b, bc := side(base...)
		c, cc := side(cur...)
		m := NewPair(b, c, Defaults()).Mix(0.95, 0.95, bc, cc)
		iv := m.CurrentOrder.MixInterval
		if iv.Excludes(m.CurrentOrder.Mix) {
			t.Errorf("%v does not hold %v", iv, m.CurrentOrder.Mix)
		}
		return iv.Hi - iv.Lo
	}
	alike := width([]int{60, 60, 60}, []int{100, 100, 100})
	apart := width([]int{52, 60, 75}, []int{70, 100, 150})
	if !(apart > 2*alike) {
		t.Errorf("runs of other mixes leave an interval %v wide, runs of one mix %v", apart, alike)
	}
}

func TestBehaviourAlone(t *testing.T) {
	m := mixOf(t, 0.9, [][2]int64{{800, 10}, {200, 100}}, [][2]int64{{800, 10}, {200, 150}})
	for _, s := range []Split{m.CurrentOrder, m.BaselineOrder} {
		if s.Mix != 0 || s.Behaviour != 50e6 {
			t.Errorf("%+v, want all behaviour", s)
		}
	}
}

func TestBothOrdersDiffer(t *testing.T) {
	// The slow class grew from 5 to 20 % and from 100 to 150 ms. With the baseline's mix, current p90 is 10: mix 140,
	// behaviour 0. With the current mix, baseline p90 is 100: mix 90, behaviour 50.
	m := mixOf(t, 0.9, [][2]int64{{950, 10}, {50, 100}}, [][2]int64{{800, 10}, {200, 150}})
	if s := m.CurrentOrder; s.Mix != 140e6 || s.Behaviour != 0 {
		t.Errorf("current order %+v", s)
	}
	if s := m.BaselineOrder; s.Mix != 90e6 || s.Behaviour != 50e6 {
		t.Errorf("baseline order %+v", s)
	}
}

func TestOneSidedMassIsNotReweighted(t *testing.T) {
	// A class that the baseline lacks holds a tenth of the current requests at 500 ms: p95 goes from 10 to 500, all of
	// it Support.
	m := mixOf(t, 0.95, [][2]int64{{1000, 10}}, [][2]int64{{900, 10}, {100, 500}})
	if m.OnlyCur != 0.1 || m.OnlyBase != 0 {
		t.Errorf("one-sided %v %v, want 0.1 of the current", m.OnlyBase, m.OnlyCur)
	}
	if s := m.CurrentOrder; s.Mix != 0 || s.Behaviour != 0 || s.Support != 490e6 {
		t.Errorf("%+v, want all support", s)
	}
	// Nothing in common.
	m = mixOf(t, 0.5, [][2]int64{{100, 10}}, [][2]int64{{0, 0}, {100, 20}})
	if m.Strength != Inseparable || m.CurrentOrder.Support != 10e6 || m.OnlyBase != 1 || m.OnlyCur != 1 {
		t.Errorf("nothing shared: %+v", m)
	}
}

func TestSmallClassesMergeWithTheNearestInLatency(t *testing.T) {
	// Class 1 has 5 requests in the baseline. Its median of 90 ms is nearer to 100 than to 10.
	m := mixOf(t, 0.9, [][2]int64{{500, 10}, {5, 90}, {50, 100}}, [][2]int64{{500, 10}, {50, 90}, {50, 100}})
	var classes [][]int
	for _, c := range m.Cells {
		classes = append(classes, c.Classes)
	}
	if want := [][]int{{0}, {1, 2}}; !reflect.DeepEqual(classes, want) {
		t.Errorf("cells %v, want %v", classes, want)
	}
	// Many classes are held to 32 cells.
	var many [][2]int64
	for i := range int64(100) {
		many = append(many, [2]int64{20, 10 + i})
	}
	if m := mixOf(t, 0.9, many, many); len(m.Cells) != 32 {
		t.Errorf("%d cells, want 32", len(m.Cells))
	}
}

func TestThinTailsCannotBeSeparated(t *testing.T) {
	for above, want := range map[int64]Strength{5: Inseparable, 15: Weak, 25: Strong} {
		classes := [][2]int64{{1000 - above, 10}, {0, 0}, {0, 0}}
		b, bc := classed(t, classes...)
		l := slices.Repeat([]int64{10e6}, int(1000-above))
		l = append(l, slices.Repeat([]int64{100e6}, int(above))...)
		c := sample(t, Requests{Latency: l})
		m := NewPair(b, c, Defaults()).Mix(0.9, 0.95, bc, func(int) int { return 0 })
		if m.Strength != want {
			t.Errorf("%d above: %s, want %s", above, m.Strength, want)
		}
	}
}

func TestTailCountWeighsTheReweighted(t *testing.T) {
	// ω is 0.9/0.8, 0.05/0.15 and 1. Above the counterfactual p90 of 10 ms lie 150 requests of ω ⅓ and 50 of ω 1:
	// (50 + 50)²/(150/9 + 50) = 150.
	m := mixOf(t, 0.9, [][2]int64{{900, 10}, {50, 100}, {50, 110}}, [][2]int64{{800, 10}, {150, 100}, {50, 110}})
	near(t, "tail", m.CurrentOrder.TailN, 150, 1e-9)
}
