package hypotheses

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

const (
	// beat is the period of the kernel's CPU quota, unless somebody changed it: processes that used theirs up all go on at
	// its end. onBeat is how well the ends of stops must keep to it, as the length of their mean direction, and beatP the
	// probability of that by chance.
	beat   = 100_000_000
	onBeat = 0.7
	beatP  = 1e-3
	// timers is the share of stops at one distance, longer than the period, from which they are a timer's.
	timers = 0.5

	// accounts is the part of the time stood still that a runtime's word must come to, to be what it was.
	accounts = 0.5
)

// whyStill says what stopped a process, as far as its runtime's metrics, the beat of the stops, or the work that went on
// meanwhile tell.
func (a *Asking) whyStill(s *standstill, f *Finding) {
	n, still := s.sum(summary.Current)
	known := false
	if s.holder != graph.NoSlot {
		_, _, op := a.names(s.holder)
		f.Claim += fmt.Sprintf(", while %s went on alone", op)
		f.Evidence = append(f.Evidence, s.heldBy(n, "work of "+op, a.known(summary.Current)))
		known = true
	}
	if e, ok := s.onQuota(); ok {
		f.Evidence = append(f.Evidence, e)
		f.Claim += ", on the beat of a CPU quota"
		known = true
	}
	d := a.Reading.Dict
	told := map[metric.Role]bool{}
	for _, role := range []metric.Role{metric.GCPause, metric.CPUThrottled, metric.EventLoopLag, metric.SchedulerDelay} {
		was, is := a.signal(summary.Baseline, s, role), a.signal(summary.Current, s, role)
		if is == nil {
			continue
		}
		told[role] = true
		was0 := math.NaN()
		if was != nil {
			was0 = was.ms
		}
		name := is.name
		switch role {
		case metric.GCPause, metric.CPUThrottled:
			what := map[metric.Role]string{metric.GCPause: "garbage collection", metric.CPUThrottled: "a CPU quota"}[role]
			more := is.ms
			if was != nil {
				more -= was.ms
			}
			e := numbers("metrics", n, "ms", was0, is.ms, name+": time of "+what+" in all, of "+prose.Ns(still)+" stood still")
			if more >= accounts*still/1e6 {
				f.Evidence = append(f.Evidence, e)
				if !known {
					f.Claim += ": " + what
				}
				known = true
			} else {
				e.Statement = name + ": " + what + " was not it, the time it took in all"
				f.Evidence = append(f.Evidence, e)
			}
		default:
			e := numbers("metrics", n, "ms", was0, is.ms, name+", at its highest")
			f.Evidence = append(f.Evidence, e)
			if is.ms >= accounts*still/1e6/float64(n) && (was == nil || is.ms >= pausesRose*was.ms) {
				known = known || role == metric.EventLoopLag && !told[metric.GCPause]
			}
		}
	}
	if known {
		return
	}
	var emit []string
	for _, x := range []struct {
		role metric.Role
		name string
	}{{metric.GCPause, "jvm.gc.duration (or the runtime's own)"}, {metric.EventLoopLag, "nodejs.eventloop.delay.max"}, {metric.CPUThrottled, "container_cpu_cfs_throttled_seconds_total"}} {
		if !told[x.role] {
			emit = append(emit, x.name)
		}
	}
	text := "what stopped it cannot be told: garbage collection, a held event loop, a CPU quota and a frozen machine look alike in spans"
	if len(emit) > 0 {
		text += "; emit " + strings.Join(emit, ", ") + " of " + d.String(s.service)
	} else {
		text = "neither garbage collection nor a CPU quota accounts for it: look at the machine (a frozen or migrated VM, swap, a stopped process)"
	}
	f.Evidence = append(f.Evidence, says("metrics", 0, "%s", text))
	if a.cur().Set.Sampled() && !told[metric.EventLoopLag] {
		f.Doubtful = true
		f.Warnings = append(f.Warnings, "not all requests have traces: work of one that has none may have kept the only thread, and would be the cause")
	}
}

// onQuota reports whether stops end in step with the period of a CPU quota, after one or several of them: what a timer starts has
// one distance. Each process has a period of its own: that of the most stops is asked.
func (s *standstill) onQuota() (e Evidence, ok bool) {
	var list []queuewait.Stop
	for _, p := range slices.Sorted(maps.Keys(s.stops[summary.Current])) {
		if l := s.stops[summary.Current][p]; len(l) > len(list) {
			list = l
		}
	}
	if len(list) < minPauses {
		return e, false
	}
	var x, y float64
	n := float64(len(list))
	after, usual := map[int64]int{}, int64(0) // periods between one stop and the next
	for i := range list {
		angle := 2 * math.Pi * float64(list[i].End%beat) / beat
		x, y = x+math.Cos(angle), y+math.Sin(angle)
		if i > 0 {
			k := (int64(list[i].End-list[i-1].End) + beat/2) / beat
			after[k]++
			if after[k] > after[usual] || after[k] == after[usual] && k < usual {
				usual = k
			}
		}
	}
	steady := math.Hypot(x, y) / n
	if steady < onBeat || math.Exp(-n*steady*steady) > beatP || usual != 1 && float64(after[usual]) >= timers*(n-1) {
		return e, false
	}
	return says("spans", len(list), "%d stops of a process end %.0f ms after a beat of 100 ms, with a steadiness of %.2g of 1, one or several beats apart: so a CPU quota (CFS) lets go",
		len(list), math.Mod(math.Atan2(y, x)/(2*math.Pi)*beat/1e6+beat/1e6, beat/1e6), steady), true
}

// A signalled is what a signal comes to: ms in all of counters and histograms, the highest of levels.
type signalled struct {
	name string
	ms   float64
}

// signal is the word of a standstill's runtimes on one side; nil if they say nothing.
func (a *Asking) signal(side int, s *standstill, role metric.Role) *signalled {
	d, set := a.Reading.Dict, a.Sides[side].Set
	var out *signalled
	for i := range set.Signals {
		x := &set.Signals[i]
		if x.Role != role || x.Service != d.String(s.service) || s.instance != 0 && x.Instance != "" && x.Instance != d.String(s.instance) {
			continue
		}
		v := math.NaN()
		switch window := float64(set.Counts.To-set.Counts.From) / 1e6; {
		case x.Times.Count > 0 && (role == metric.GCPause || role == metric.CPUThrottled):
			v = x.Times.MeanMS * float64(x.Times.Count)
		case x.Times.Count > 0:
			_, v = x.Times.Values.Quantile(0.99)
		case x.Levels.Seconds > 0:
			v = x.Levels.Max
		case set.Counts.From != trace.NoTime:
			v = x.PerSecond * window
		}
		if math.IsNaN(v) {
			continue
		}
		switch {
		case out == nil:
			out = &signalled{x.Name, v}
		case x.Name == out.name && (role == metric.GCPause || role == metric.CPUThrottled):
			out.ms += v
		default:
			out.ms = max(out.ms, v)
		}
	}
	return out
}

// heldBy says of n stops that they are work's.
func (s *standstill) heldBy(n int, work string, known float64) Evidence {
	const waits = "it keeps the only thread, such as an event loop, and other requests wait for it"
	if s.shown > 0 {
		return says("spans", s.held, "of %d stops that other requests show %d have %s in flight from beginning to end, which is known of %.2g %% of the requests: %s", s.shown, s.held, work, 100*known, waits)
	}
	return says("spans", s.held, "%d of %d stops begin and end with %s: %s", s.held, n, work, waits)
}

// holds adds to the finding on an operation's work the stops that it causes: it keeps the only thread of its process.
func (a *Asking) holds(slot graph.SlotID, f *Finding) {
	for _, s := range a.standstills() {
		if s.node == graph.NoSlot || s.node != slot {
			continue
		}
		n, still := s.sum(summary.Current)
		n0, was := s.sum(summary.Baseline)
		f.Evidence = append(f.Evidence,
			numbers("spans", n, "", float64(n0), float64(n), "stops of its process, in which nothing else began or ended"),
			numbers("spans", n, "ms", was/1e6, still/1e6, "time stood still in all"),
			s.heldBy(n, "this work", a.known(summary.Current)))
		here, stops := f.Factor, a.goOn(s)
		f.Factor = func(j int, p *graph.Plan, values []int64) {
			here(j, p, values)
			stops(j, p, values)
		}
	}
}

// throttled is what says that a CPU quota stops a service.
func (a *Asking) throttled(service string) (e Evidence, ok bool) {
	for _, s := range a.standstills() {
		if a.Reading.Dict.String(s.service) != service {
			continue
		}
		if e, ok := s.onQuota(); ok {
			return e, true
		}
	}
	return e, false
}
