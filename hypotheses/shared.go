package hypotheses

import (
	"math"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/summary"
)

const (
	// throttledPart is the part of the window in which a quota keeps a service's threads from a CPU that shows in its tail,
	// and throttledRose by how much more than before.
	throttledPart = 0.02
	throttledRose = 2
	// busyCPU is the share of its CPUs in use from which a service has too few.
	busyCPU = 0.9
)

// whatIsShared says what it is that those at work beside an operation keep from it: a CPU, by quota or for want of more,
// stretches all that the process does, and a lock only what needs it. What the data leave open is said, with the metrics that
// would tell.
func (a *Asking) whatIsShared(slot graph.SlotID, f *Finding) {
	if e, ok := a.throttled(f.Service); ok {
		f.Claim += ": its CPU quota stops all of them"
		f.Evidence = append(f.Evidence, e)
		return
	}
	service := a.slot(slot).Shown().Service
	others, stretched := 0, 0
	for _, n := range a.nodes() {
		s := a.slot(n)
		if n == slot || s.Callee.Service != service || a.workOf(n) != n || s.Callee.Operation == a.slot(slot).Callee.Operation {
			continue
		}
		if was, is, ok := a.slopes(n); ok {
			others++
			if is.above(was) >= doubtZ {
				stretched++
			}
		}
	}
	known := false
	switch {
	case others > 0 && stretched == others:
		f.Evidence = append(f.Evidence, says("spans", others, "all other work of %s is lengthened by what runs beside it, too: they share a CPU, and not a lock", f.Service))
	case others > 0 && stretched == 0:
		f.Evidence = append(f.Evidence, says("spans", others, "other work of %s (%d operations) is lengthened no more than before: what is shared is this work's, such as a lock", f.Service, others))
	}
	of := &standstill{service: service}
	set := a.cur().Set
	window := float64(set.Counts.To-set.Counts.From) / 1e6
	var emit []string
	ask := func(role metric.Role, emitted string, tells func(was, is float64) bool, yes, no string) {
		was, is := a.signal(summary.Baseline, of, role), a.signal(summary.Current, of, role)
		if is == nil {
			emit = append(emit, emitted)
			return
		}
		before := math.NaN()
		if was != nil {
			before = was.ms
		}
		e := numbers("metrics", 0, "ms", before, is.ms, is.name+": "+no)
		if role == metric.CPUShare {
			e.Unit = "share"
		}
		if tells(before, is.ms) {
			e.Statement = is.name + ": " + yes
			if !known {
				f.Claim += ", " + yes
			}
			known = true
		}
		f.Evidence = append(f.Evidence, e)
	}
	ask(metric.CPUThrottled, "container_cpu_cfs_throttled_seconds_total", func(was, is float64) bool {
		return is >= throttledPart*window && !(is < throttledRose*was)
	}, "a quota keeps it from a CPU", "a quota does not keep it from a CPU (the time in which one did)")
	ask(metric.CPUShare, "process.cpu.utilization", func(_, is float64) bool { return is >= busyCPU }, "its CPUs are all in use", "its CPUs are not all in use (the highest share)")
	if known {
		return
	}
	switch {
	case len(emit) > 0:
		f.Evidence = append(f.Evidence, says("metrics", 0, "whether they share a lock, a CPU quota or a CPU that others use cannot be told: emit %s and lock wait times of %s", strings.Join(emit, ", "), f.Service))
	case others > 0 && stretched == others:
		f.Evidence = append(f.Evidence, says("metrics", 0, "neither its quota nor its own use of the CPU accounts for it: look at its neighbours on the node (steal, run-queue latency)"))
	default:
		f.Evidence = append(f.Evidence, says("metrics", 0, "neither its quota nor its own use of the CPU accounts for it: a lock, or neighbours on the node; emit lock wait times of %s, and the node's steal and run-queue latency", f.Service))
	}
}
