package hypotheses

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
)

// A station is one process, pay, that shares its CPUs, or a part of one, among all that is at work: 120 s of calls of endpoint
// a, and of endpoint z, so many a second. Each needs 10 to 30 ms of a CPU.
type station struct {
	cpus  float64
	a, z  float64
	batch string // what z asks for
}

func (s station) draw(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 29))
	type job struct {
		at, end, left float64 // s
		batch         bool
	}
	var jobs []*job
	for _, batch := range []bool{false, true} {
		rate := s.a
		if batch {
			rate = s.z
		}
		for at := rng.ExpFloat64() / rate; at < 120; at += rng.ExpFloat64() / rate {
			jobs = append(jobs, &job{at: at, left: 0.01 + 0.02*rng.Float64(), batch: batch})
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.at, b.at) })
	var inside []*job
	now := 0.0
	until := func(t float64) { // what is inside goes on until then
		for len(inside) > 0 {
			speed := min(1, s.cpus/float64(len(inside)))
			next := slices.MinFunc(inside, func(a, b *job) int { return cmp.Compare(a.left, b.left) })
			d := min(next.left/speed, t-now)
			for _, j := range inside {
				j.left -= d * speed
			}
			if now += d; now >= t {
				return
			}
			next.end, next.left = now, 0
			inside = slices.DeleteFunc(inside, func(j *job) bool { return j == next })
		}
		now = t
	}
	for _, j := range jobs {
		until(j.at)
		inside = append(inside, j)
	}
	until(math.Inf(1))
	var b strings.Builder
	for _, j := range jobs {
		from, to := int64(j.at*1e9), int64(j.end*1e9)
		entry, call := "a GET_/", "POST_/pay"
		if j.batch {
			entry, call = "z POST_/batch", s.batch
		}
		fmt.Fprintf(&b, "%s %d..%dns server host=e\n  %s %s %d..%dns client host=e\n    pay %s %d..%dns server host=p\n\n",
			entry, from-3*msNS, to+3*msNS, strings.Fields(entry)[0], call, from-msNS, to+msNS, call, from, to)
	}
	return b.String()
}

// A process that shares its CPUs is slow because more comes, of whatever endpoint, or because it has less of a CPU. Where a
// little more comes as well, that is not what makes it slow.
func TestMoreWorkThanCPUs(t *testing.T) {
	for seed := range uint64(2) {
		base := station{2, 10, 2, "POST_/settle"}.draw(10*seed + 1)
		for _, c := range []struct {
			name string
			station
			want string
		}{
			{"another endpoint's calls", station{2, 10, 80, "POST_/settle"}, "load"},
			{"the same operation's calls", station{2, 88, 2, "POST_/settle"}, "load"},
			{"a new operation's calls", station{2, 10, 80, "POST_/import"}, "load"},
			{"less of a CPU", station{0.3, 10, 2, "POST_/settle"}, "contention"},
			{"less of a CPU, and a little more", station{0.36, 12, 3, "POST_/settle"}, "contention"},
		} {
			_, r := comparedOf(t, graph.OneRequest, base, c.draw(10*seed+2))
			f := first(t, r)
			if string(f.Kind) != c.want || f.Service != "pay" || f.Strength != Strong {
				t.Errorf("seed %d, %s: %q, %v", seed, c.name, kinds(r), f.Warnings)
			}
			if f.Kind != "load" {
				continue
			}
			if i := slices.IndexFunc(f.Evidence, func(e Evidence) bool { return strings.Contains(e.Statement, "most of the rise") }); i < 0 ||
				!strings.HasSuffix(f.Evidence[i].Statement, map[bool]string{true: "POST_/pay", false: c.batch}[c.a > 10]) {
				t.Errorf("seed %d, %s: it does not say whose calls: %v", seed, c.name, f.Evidence)
			}
		}
	}
}

// The others that crowd a process are those of all endpoints: of a few calls a second none meets another of its own.
func TestCrowdOfOtherEndpoints(t *testing.T) {
	for seed := range uint64(2) {
		quiet := station{2, 3, 9, "POST_/settle"}
		short := quiet
		short.cpus = 0.3
		_, r := comparedOf(t, graph.OneRequest, quiet.draw(10*seed+5), short.draw(10*seed+6))
		if f := first(t, r); f.Kind != "contention" || f.Service != "pay" || f.Strength != Strong {
			t.Errorf("seed %d: %q", seed, kinds(r))
		}
	}
}
