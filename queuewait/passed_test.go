package queuewait

import (
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// oneByOne is 1,400 calls in 28 s from one process to another that works 3 to 5 ms, times slow, on each; delay says what holds
// a call up on the way there and on the way back.
func oneByOne(t *testing.T, slow float64, delay func(rng *rand.Rand, at int64) (there, back int64)) *Data {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	s := trace.NewStore(trace.NewTables())
	at := int64(0)
	for i := range 1400 {
		at += int64(rng.ExpFloat64() * 20 * msNS)
		there, back := delay(rng, at)
		begun := at + 150_000 + rng.Int64N(100_000) + there
		ended := begun + int64(slow*float64(3*msNS+rng.Int64N(2*msNS)))
		done := ended + 150_000 + rng.Int64N(100_000) + back
		add(t, s, i+1, at, 0, begun, ended, done)
	}
	return data(s)
}

func TestSingleCallsThatOthersPass(t *testing.T) {
	never := func(*rand.Rand, int64) (there, back int64) { return 0, 0 }
	var free int64 // when a process that nobody tells from its twin has done what it has to do
	for _, x := range []struct {
		name  string
		slow  float64
		delay func(rng *rand.Rand, at int64) (there, back int64)
		want  Owner
		back  bool
	}{
		{"one in fifty is lost, now on the way there, now on the way back, and sent again after 200 ms", 1, func(rng *rand.Rand, _ int64) (there, back int64) {
			switch rng.IntN(100) {
			case 0:
				return 200 * msNS, 0
			case 1:
				return 0, 200 * msNS
			}
			return 0, 0
		}, Network, true},
		{"one in twenty asks for a name first, which takes 40 to 90 ms", 1, func(rng *rand.Rand, _ int64) (there, back int64) {
			if rng.IntN(20) == 0 {
				return 40*msNS + rng.Int64N(50*msNS), 0
			}
			return 0, 0
		}, Network, false},
		{"one thread in twenty waits for a CPU as long, and all work takes half as long again", 1.5, func(rng *rand.Rand, _ int64) (there, back int64) {
			if rng.IntN(20) == 0 {
				return 40*msNS + rng.Int64N(50*msNS), 0
			}
			return 0, 0
		}, NoOwner, false},
		{"the caller reads one answer in fifty 10 ms late", 1, func(rng *rand.Rand, _ int64) (there, back int64) {
			if rng.IntN(50) == 0 {
				return 0, 10 * msNS
			}
			return 0, 0
		}, NoOwner, false},
		{"half of the calls go to a twin that works on one at a time", 1, func(rng *rand.Rand, at int64) (there, back int64) {
			if rng.IntN(2) == 0 {
				return 0, 0
			}
			at += 200_000
			begun := max(at, free)
			free = begun + 25*msNS
			return begun - at, 0
		}, NoOwner, false},
	} {
		was, is := oneByOne(t, 1, never), oneByOne(t, x.slow, x.delay)
		var v *Verdict
		for _, y := range NewOwners([2]*Data{was, is}, NewFloors(was.Queues, is.Queues)).All() {
			if y.Key.Site == Between {
				v = y
			}
		}
		if v.Owner != x.want {
			t.Errorf("%s: owner %s, want %s: %+v", x.name, v.Owner, x.want, v.Tests)
		}
		if x.want == Network && (v.Passing == nil || v.Passing.There < 10 || v.Passing.Back > 0 != x.back) {
			t.Errorf("%s: %+v", x.name, v.Passing)
		}
	}
}
