package hypotheses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// A host draws n requests to one process of api, so many a second. Work takes 10 to 30 ms times factor where others leave
// it alone; each other in the process when it begins makes it longer by the part shared. Of the requests the part kept is
// received. The first, so many, are as if factor were one and nothing were shared.
type host struct {
	n, rate int
	factor  float64
	shared  float64
	kept    float64
	calm    int
}

func (h host) draw(seed uint64) string { return h.beside(seed, 0, false) }

// beside draws the same with other work in one of so many requests, which others lengthen as well, or spare.
func (h host) beside(seed uint64, other int, spared bool) string {
	rng := rand.New(rand.NewPCG(seed, 3))
	var b strings.Builder
	var ends []int64
	at := int64(0)
	for i := range h.n {
		factor, shared := h.factor, h.shared
		if i < h.calm {
			factor, shared = 1, 0
		}
		at += int64(rng.ExpFloat64() * 1e9 / float64(h.rate))
		ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= at })
		name := "x"
		if other > 0 && i%other == 0 {
			name = "y"
			if spared {
				shared = 0
			}
		}
		ns := int64((10 + 20*rng.Float64()) * 1e6 * factor * (1 + shared*float64(len(ends))))
		ends = append(ends, at+ns)
		if rng.Float64() < h.kept {
			fmt.Fprintf(&b, "front GET %d..%dns server\n  front GET_/%s %d..%dns client\n    api GET_/%s %d..%dns server\n\n", at-3e6, at+ns+3e6, name, at-1e6, at+ns+1e6, name, at, at+ns)
		}
	}
	return b.String()
}

func kinds(r *Ranking) (out []string) {
	for i := range r.Findings {
		f := &r.Findings[i]
		out = append(out, fmt.Sprint(f.Kind, " ", f.Service, " ", f.Strength))
	}
	return out
}

// With less than one core work is slow alone as well; that others make it slower by a greater part than they did is told
// from four in ten requests.
func TestContentionOfFewKnownPeers(t *testing.T) {
	for seed := range uint64(4) {
		was, is := host{2000, 12, 1, 0, 0.4, 0}, host{2000, 12, 1.5, 0.6, 0.4, 0}
		_, r := against(t, [2]string{was.draw(2 * seed), is.draw(2*seed + 1)}, [2][]word{})
		f := first(t, r)
		if f.Kind != "contention" || f.Service != "api" || f.Strength == Weak || !strings.HasPrefix(f.Check.Rival, "service-time: GET_/x of api: ") {
			t.Errorf("seed %d: %q", seed, kinds(r))
		}
		for _, o := range r.Findings[1:] {
			if o.Kind == "service-time" && o.Service == "api" && (o.Strength != Weak || len(o.Against) == 0) {
				t.Errorf("seed %d: service-time is %v, against it %v", seed, o.Strength, o.Against)
			}
		}
	}
}

// Work that takes longer has more beside it, and among more it always took longer: by the same part.
func TestLongerServiceTimeIsNoContention(t *testing.T) {
	for seed := range uint64(4) {
		for _, shared := range []float64{0, 0.3} {
			was, is := host{2000, 12, 1, shared, 0.4, 0}, host{2000, 12, 1.8, shared, 0.4, 0}
			_, r := against(t, [2]string{was.draw(2 * seed), is.draw(2*seed + 1)}, [2][]word{})
			if f := first(t, r); f.Kind != "service-time" || f.Service != "api" {
				t.Errorf("seed %d, shared %g: %q", seed, shared, kinds(r))
			}
		}
	}
}

// Things change while they are observed, as when a window is still open. Until then work was short and had little beside
// it, from then on it is long and crowded, whatever the reason is: only the crowd at one time tells.
func TestChangeInTheMidstOfAWindow(t *testing.T) {
	for seed := range uint64(4) {
		for _, x := range []struct {
			kind string
			is   host
		}{
			{"service-time", host{2000, 35, 3, 0, 1, 150}}, {"service-time", host{2000, 35, 3, 0, 1, 1000}},
			{"contention", host{2000, 20, 1, 0.6, 1, 150}}, {"contention", host{2000, 20, 1, 0.6, 1, 1000}},
		} {
			_, r := against(t, [2]string{host{2000, x.is.rate, 1, 0, 1, 0}.draw(2 * seed), x.is.draw(2*seed + 1)}, [2][]word{})
			if f := first(t, r); f.Kind != x.kind || f.Service != "api" || x.is.calm < 1000 && f.Strength != Strong {
				t.Errorf("seed %d, after %d: %q, want %s", seed, x.is.calm, kinds(r), x.kind)
			}
		}
	}
}

// More requests bring more peers, and each makes work longer by the part that it did.
func TestMoreRequestsAreNoSteeperSlope(t *testing.T) {
	for seed := range uint64(4) {
		was, is := host{2000, 8, 1, 0.3, 0.4, 0}, host{2000, 20, 1, 0.3, 0.4, 0}
		_, r := against(t, [2]string{was.draw(2 * seed), is.draw(2*seed + 1)}, [2][]word{})
		for slot := range r.asking.slots[1] {
			if before, now, ok := r.asking.slopes(slot); ok && now.above(before) >= doubtZ {
				t.Errorf("seed %d: a peer adds %.2f ± %.2f where it added %.2f ± %.2f", seed, now.at, now.se, before.at, before.se)
			}
		}
	}
}

// What is shared: a quota or busy CPUs by their metrics; by other work of the process, which a CPU stretches as well and a
// lock does not; else what would tell.
func TestWhatIsShared(t *testing.T) {
	throttled := func(s float64) []word {
		return []word{{"api", "container_cpu_cfs_throttled_seconds_total", "s", true, s}}
	}
	busy := func(share float64) []word { return []word{{"api", "process.cpu.utilization", "1", false, share}} }
	for _, x := range []struct {
		name   string
		other  int // of so many requests one does other work
		spared bool
		words  [2][]word
		want   string
	}{
		{"nothing told", 0, false, [2][]word{}, "emit container_cpu_cfs_throttled_seconds_total, process.cpu.utilization and lock wait times of api"},
		{"a quota", 0, false, [2][]word{throttled(0.1), throttled(30)}, "its own work, a quota keeps it from a CPU"},
		{"a quota that was there", 0, false, [2][]word{throttled(29), throttled(30)}, "a quota does not keep it from a CPU"},
		{"no quota", 0, false, [2][]word{throttled(0.1), throttled(0.1)}, "a quota does not keep it from a CPU"},
		{"busy", 0, false, [2][]word{busy(0.4), busy(0.98)}, "its CPUs are all in use"},
		{"neither", 0, false, [2][]word{slices.Concat(throttled(0), busy(0.3)), slices.Concat(throttled(0), busy(0.3))}, "a lock, or neighbours on the node"},
		{"a CPU", 2, false, [2][]word{}, "they share a CPU, and not a lock"},
		{"a lock", 2, true, [2][]word{}, "what is shared is this work's, such as a lock"},
	} {
		was, is := host{3000, 12, 1, 0, 1, 0}, host{3000, 12, 1, 0.6, 1, 0}
		_, r := against(t, [2]string{was.beside(1, x.other, x.spared), is.beside(2, x.other, x.spared)}, x.words)
		f := first(t, r)
		all := f.Claim
		for _, e := range f.Evidence {
			all += "\n" + e.Statement
		}
		all = strings.Replace(all, "the more others run beside it,", "its own work,", 1)
		if f.Kind != "contention" || !strings.Contains(all, x.want) {
			t.Errorf("%s: %s, %s", x.name, f.Kind, all)
		}
	}
}

// Longer work is a strong cause where others beside it are refuted, and a weak one where too few of them are known to tell.
func TestLongerWorkIsAsStrongAsItsRivalIsRefuted(t *testing.T) {
	for _, x := range []struct {
		name     string
		is       host
		weight   int64
		strength Strength
	}{
		{"alone and among others", host{2000, 12, 1.8, 0.3, 1, 0}, 1, Strong},
		{"hardly ever two at once", host{150, 1, 1.8, 0, 1, 0}, 1, Strong},
		{"few known", host{4000, 6, 1.8, 0, 0.04, 0}, 25, Weak},
		{"few known, and others make it slow", host{4000, 6, 1.8, 0.6, 0.04, 0}, 25, Weak},
	} {
		was := x.is
		was.factor = 1
		if x.strength == Weak {
			was.shared = 0
		}
		for seed := range uint64(3) {
			_, r := comparedOf(t, x.weight*graph.OneRequest, was.draw(2*seed), x.is.draw(2*seed+1))
			if f := first(t, r); f.Kind != "service-time" || f.Service != "api" || f.Strength != x.strength || f.Strength == Weak && len(f.Warnings) == 0 {
				t.Errorf("%s, seed %d: %q", x.name, seed, kinds(r))
			}
			for i := range r.Findings {
				if x.strength == Strong && r.Findings[i].Kind == "contention" {
					t.Errorf("%s, seed %d: contention, of work that takes as many times longer among others as alone", x.name, seed)
				}
			}
		}
	}
}

// Nobody's work is made shorter by others beside it: a slope that rises from below nothing to nothing did not rise.
func TestSlopeBelowNothing(t *testing.T) {
	is := slope{at: 0.01, se: 0.02, n: 800}
	if z := is.above(slope{at: -0.12, se: 0.05, n: 800}); z != 0 {
		t.Errorf("%.2g standard errors above a slope of less than nothing", z)
	}
	is.at = 0.15
	if z, want := is.above(slope{at: -0.12, se: 0.05, n: 800}), 0.15/math.Hypot(0.02, 0.05); math.Abs(z-want) > 1e-9 {
		t.Errorf("%.3g standard errors above nothing, want %.3g", z, want)
	}
}
