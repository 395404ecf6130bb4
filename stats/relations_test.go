package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A recording is requests with their entries and classes, to be shuffled or scaled as one.
type recording struct {
	Requests
	entry [][]Entry
	class []int
}

// record makes a load in which everything varies: ties, weights, times, runs, classes.
func record(seed uint64, n int, scale float64) recording {
	g := rand.New(rand.NewPCG(seed, 7))
	r := recording{Requests: Requests{Latency: lognormal(seed, n, 0.6, scale), Second: uniformSeconds(seed, n, 90)}}
	for i := range r.Latency {
		r.Latency[i] = r.Latency[i]/4e6*4e6 + 4e6
		a := r.Latency[i] / int64(2+g.IntN(5))
		r.entry = append(r.entry, []Entry{{g.IntN(3), a}, {3, r.Latency[i] - a}})
		r.class = append(r.class, g.IntN(4))
		r.Weight = append(r.Weight, []float64{1, 20}[g.IntN(2)])
		r.Key = append(r.Key, g.Uint64())
	}
	return r
}

func (r recording) shuffled(seed uint64) recording {
	var s recording
	for _, i := range rand.New(rand.NewPCG(seed, 8)).Perm(len(r.Latency)) {
		if r.Second != nil {
			s.Second = append(s.Second, r.Second[i])
		}
		s.Latency, s.Weight, s.Key = append(s.Latency, r.Latency[i]), append(s.Weight, r.Weight[i]), append(s.Key, r.Key[i])
		s.entry, s.class = append(s.entry, r.entry[i]), append(s.class, r.class[i])
	}
	return s
}

func (r recording) times(k int64) recording {
	s := r
	s.Latency, s.entry = nil, nil
	for i, l := range r.Latency {
		s.Latency = append(s.Latency, k*l)
		var row []Entry
		for _, e := range r.entry[i] {
			row = append(row, Entry{e.Component, k * e.NS})
		}
		s.entry = append(s.entry, row)
	}
	return s
}

// everythingAbout prints all that the package says of two recordings, with every bit of its numbers.
func everythingAbout(t *testing.T, base, cur recording) string {
	p := NewPair(sample(t, base.Requests), sample(t, cur.Requests), Defaults())
	test := p.Test()
	out := fmt.Sprintf("%x\n%x\n", test, p.Verdict(test, test.P < 0.05))
	entries := func(r recording) Entries { return func(j int) []Entry { return r.entry[j] } }
	for _, q := range []float64{0.5, 0.99} {
		out += fmt.Sprintf("%x\n", p.Delta(q, 0.95))
		out += fmt.Sprintf("%x\n", p.Allocate(q, 0.95, 4, entries(base), entries(cur)))
		out += fmt.Sprintf("%x\n", p.Mix(q, 0.95, func(j int) int { return base.class[j] }, func(j int) int { return cur.class[j] }))
	}
	return out
}

func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	for _, timed := range []bool{true, false} {
		base, cur := record(1, 2000, 1), record(2, 1500, 1.3)
		if !timed {
			base.Second, cur.Second = nil, nil
		}
		want := everythingAbout(t, base, cur)
		for seed := range uint64(3) {
			if got := everythingAbout(t, base.shuffled(seed), cur.shuffled(seed+9)); got != want {
				t.Errorf("timed %v, shuffle %d:\n%s\nwant\n%s", timed, seed, got, want)
			}
		}
	}
}

func TestTimesKGivesTimesK(t *testing.T) {
	base, cur := record(1, 2000, 1), record(2, 1500, 1.3)
	entries := func(r recording) Entries { return func(j int) []Entry { return r.entry[j] } }
	p := NewPair(sample(t, base.Requests), sample(t, cur.Requests), Defaults())
	const k = 8 // a power of two, so that floating point scales without rounding
	bk, ck := base.times(k), cur.times(k)
	pk := NewPair(sample(t, bk.Requests), sample(t, ck.Requests), Defaults())
	if a, b := p.Test(), pk.Test(); a.P != b.P || a.Basis != b.Basis || len(a.Members) != len(b.Members) {
		t.Errorf("p %v and %v", a.P, b.P)
	}
	for _, q := range []float64{0.5, 0.99} {
		a, b := p.Delta(q, 0.95), pk.Delta(q, 0.95)
		if b.Change != k*a.Change || b.Interval != (Interval{k * a.Interval.Lo, k * a.Interval.Hi}) {
			t.Errorf("change %v in %v and %v in %v", a.Change, a.Interval, b.Change, b.Interval)
		}
		x, y := p.Allocate(q, 0.95, 4, entries(base), entries(cur)), pk.Allocate(q, 0.95, 4, entries(bk), entries(ck))
		for i := range x.NS {
			if y.NS[i] != k*x.NS[i] || math.Abs(y.Interval[i].Lo-k*x.Interval[i].Lo) > 1e-6 {
				t.Errorf("component %d: %v and %v", i, x.NS[i], y.NS[i])
			}
		}
		if y.Switched != x.Switched || y.Lead.First != x.Lead.First {
			t.Errorf("switched %v and %v", x.Switched, y.Switched)
		}
	}
}

func TestLaterTimesGiveTheSameAnswer(t *testing.T) {
	// Moving all times by a multiple of every block in use changes nothing.
	base, cur := record(1, 2000, 1), record(2, 1500, 1.3)
	want := everythingAbout(t, base, cur)
	for i := range base.Second {
		base.Second[i] += 1 << 20
	}
	for i := range cur.Second {
		cur.Second[i] += 1 << 20
	}
	if got := everythingAbout(t, base, cur); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
