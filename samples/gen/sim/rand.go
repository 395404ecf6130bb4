package sim

import (
	"encoding/binary"
	"math"
	"time"
)

// A Key names one random number. Keys form a tree: run, request, step, attempt, purpose. There is no
// generator state, so a draw does not depend on what was drawn before it: switching a cause off, or
// adding a call, leaves all other numbers as they were.
type Key uint64

func mix(x uint64) uint64 { // the finalizer of SplitMix64
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Sub is the n-th child of k.
func (k Key) Sub(n uint64) Key { return Key(mix(uint64(k) + mix(n+0x9e3779b97f4a7c15))) }

// Name is the child of k called s.
func (k Key) Name(s string) Key { return k.Sub(hashName(s)) }

func hashName(s string) uint64 { // FNV-1a
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Float is uniform in the open interval (0, 1).
func (k Key) Float() float64 {
	return (float64(mix(uint64(k)^0x5851f42d4c957f2d)>>11) + 0.5) / (1 << 53)
}

// trace is a random trace id.
func (k Key) trace() (id [16]byte) {
	k = k.Name("trace")
	binary.BigEndian.PutUint64(id[:8], uint64(k))
	binary.BigEndian.PutUint64(id[8:], uint64(k.Sub(1)))
	return id
}

func (k Key) exp() float64    { return -math.Log(k.Float()) }
func (k Key) normal() float64 { return math.Sqrt2 * math.Erfinv(2*k.Float()-1) }

// A Dist is a distribution of durations. Samples are whole nanoseconds, which keeps a run the same on
// machines whose math libraries differ in the last bit.
type Dist interface {
	Sample(Key) Time
	Mean() Time
}

// Const is always the same duration.
type Const Time

// Exp is the exponential distribution with the given mean.
type Exp Time

// Uniform is uniform between Lo and Hi.
type Uniform struct{ Lo, Hi Time }

// LogNormal has the given median; Sigma is the standard deviation of the logarithm.
type LogNormal struct {
	Median Time
	Sigma  float64
}

// Erlang is the sum of K exponentials, with the given mean of the sum.
type Erlang struct {
	K int
	M Time
}

// Mix draws from Rare with probability P, else from Common.
type Mix struct {
	P            float64
	Rare, Common Dist
}

// Scale is D times F.
type Scale struct {
	F float64
	D Dist
}

// Plus is the sum of independent draws.
type Plus []Dist

func scaled(d Time, f float64) Time { return Time(math.Round(float64(d) * f)) }

func (d Const) Sample(Key) Time { return Time(d) }
func (d Const) Mean() Time      { return Time(d) }

func (d Exp) Sample(k Key) Time { return scaled(Time(d), k.exp()) }
func (d Exp) Mean() Time        { return Time(d) }

func (d Uniform) Sample(k Key) Time { return d.Lo + scaled(d.Hi-d.Lo, k.Float()) }
func (d Uniform) Mean() Time        { return (d.Lo + d.Hi) / 2 }

func (d LogNormal) Sample(k Key) Time { return scaled(d.Median, math.Exp(d.Sigma*k.normal())) }
func (d LogNormal) Mean() Time        { return scaled(d.Median, math.Exp(d.Sigma*d.Sigma/2)) }

func (d Erlang) Sample(k Key) Time {
	var s float64
	for i := range d.K {
		s += k.Sub(uint64(i)).exp()
	}
	return scaled(d.M, s/float64(d.K))
}
func (d Erlang) Mean() Time { return d.M }

func (d Mix) Sample(k Key) Time {
	if k.Sub(0).Float() < d.P {
		return d.Rare.Sample(k.Sub(1))
	}
	return d.Common.Sample(k.Sub(2))
}
func (d Mix) Mean() Time { return scaled(d.Rare.Mean(), d.P) + scaled(d.Common.Mean(), 1-d.P) }

func (d Scale) Sample(k Key) Time { return scaled(d.D.Sample(k), d.F) }
func (d Scale) Mean() Time        { return scaled(d.D.Mean(), d.F) }

func (d Plus) Sample(k Key) Time {
	var s Time
	for i, p := range d {
		s += p.Sample(k.Sub(uint64(i)))
	}
	return s
}
func (d Plus) Mean() Time {
	var s Time
	for _, p := range d {
		s += p.Mean()
	}
	return s
}

// Ms is a duration in milliseconds, for tables of parameters.
func Ms(f float64) Time { return scaled(time.Millisecond, f) }
