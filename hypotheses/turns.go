package hypotheses

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A turning is a service whose processes take their turns late without standing still: it reads the answers of its calls late,
// and where it is called its spans begin late. An event loop with much to do does that, and a process that lacks CPU.
type turning struct {
	service trace.StringID
	out, in []*queuewait.Verdict // the edges of its calls, and those to it that wait

	wait, rate [2]float64 // of in, else of out: mean, and calls per second
}

const (
	// sameTurns is how alike the waits of calls to a service must be to how late it reads answers, either way, to be waits for
	// the same turns.
	sameTurns = 3.0

	// busyLoop is the share of its time from which an event loop, or the CPU, makes turns wait.
	busyLoop = 0.7
)

// turnings are the services whose answers are read late.
func (a *Asking) turnings() []*turning {
	if a.turned != nil {
		return a.turned
	}
	a.turned = []*turning{}
	seen := map[*queuewait.Verdict]bool{}
	by := map[trace.StringID]*turning{}
	for j := range a.plans {
		q := a.request(j)
		for i := range q.Calls {
			c := &q.Calls[i]
			if !c.Paired() {
				continue
			}
			if v := a.owner(q, int32(i), queuewait.Between); v != nil && !seen[v] {
				seen[v] = true
				if v.Owner == queuewait.Pause && v.Stopped == 0 && v.Sides[0] != nil {
					if by[v.Key.Caller] == nil {
						by[v.Key.Caller] = &turning{service: v.Key.Caller}
					}
				}
			}
		}
	}
	all := slices.SortedFunc(maps.Keys(seen), func(x, y *queuewait.Verdict) int {
		return cmp.Or(cmp.Compare(x.Key.Caller, y.Key.Caller), cmp.Compare(x.Key.Target, y.Key.Target))
	})
	for _, service := range slices.Sorted(maps.Keys(by)) {
		t := by[service]
		late := 0.0
		for _, v := range all {
			if v.Key.Caller == service && v.Owner == queuewait.Pause && v.Stopped == 0 {
				t.out = append(t.out, v)
				late = max(late, v.Sides[1].Wait-v.Sides[0].Wait)
			}
		}
		for _, v := range all {
			if v.Key.Target != service || v.Sides[0] == nil || v.Sides[1].Shown || v.Sides[1].FromPool || v.Owner != queuewait.ServerQueue && v.Owner != queuewait.NoOwner {
				continue
			}
			if more := v.Sides[1].Wait - v.Sides[0].Wait; more > late/sameTurns && more < late*sameTurns {
				t.in = append(t.in, v)
			}
		}
		from := t.in
		if len(from) == 0 {
			from = t.out
		}
		for side := range t.wait {
			n := 0.0
			for _, v := range from {
				s := v.Sides[side]
				t.wait[side] += s.Wait * float64(s.N)
				t.rate[side] += s.PerSecond
				n += float64(s.N)
			}
			t.wait[side] /= max(n, 1)
		}
		a.turned = append(a.turned, t)
	}
	return a.turned
}

// inTurns is the turning that a wait is a part of, nil if there is none.
func (a *Asking) inTurns(v *queuewait.Verdict) *turning {
	for _, t := range a.turnings() {
		if slices.Contains(t.out, v) || slices.Contains(t.in, v) {
			return t
		}
	}
	return nil
}

// turns finds what makes services take their turns late.
func (a *Asking) turns(kind string) []Finding {
	var out []Finding
	for _, t := range a.turnings() {
		d := a.Reading.Dict
		service := d.String(t.service)
		f := Finding{Kind: "pause", Service: service}
		n := 0
		for _, v := range t.in {
			f.Evidence = append(f.Evidence, numbers("spans", v.Sides[1].N, "ms", v.Sides[0].Wait/1e6, v.Sides[1].Wait/1e6, "mean wait before the spans of calls from "+d.String(v.Key.Caller)))
			n += v.Sides[1].N
		}
		for _, v := range t.out {
			for _, x := range v.Tests {
				if x.Says == queuewait.Pause {
					f.Evidence = append(f.Evidence, says("spans", v.Sides[1].N, "calls to %s: %s", d.String(v.Key.Target), x.Statement))
				}
			}
			n += v.Sides[1].N
		}
		rate := numbers("spans", n, "1/s", t.rate[0], t.rate[1], "calls of "+service)
		if len(t.in) == 0 {
			rate.Statement = "calls that it makes"
		}
		f.Evidence = append(f.Evidence, rate)
		what := "a busy event loop, or too little CPU"
		loop, cpu := a.busy(t, &f)
		switch {
		case loop:
			what = "its event loop is busy"
		case cpu:
			what = "it lacks CPU"
		}
		f.Claim = fmt.Sprintf("%s takes its turns late: it reads answers late, %s", service, what)
		if len(t.in) > 0 {
			f.Claim = fmt.Sprintf("%s takes its turns late: its spans begin late and it reads answers late, %s", service, what)
		}
		f.Check = Check{
			Question: "did what the service has to do grow, or what it may use?",
			Rival:    "network: the way back to the service takes longer",
			IfThis:   "its spans begin late as well, by as much, or its event loop and CPU are busy",
			IfRival:  "they begin as soon as before: answers are larger or the way is slower",
			Ran:      len(t.in) > 0 || loop || cpu,
			Outcome:  fmt.Sprintf("a turn waits %s where it waited %s", prose.Ns(t.wait[1]), prose.Ns(t.wait[0])),
			Query:    fmt.Sprintf(`max by (service_instance_id) (nodejs_eventloop_delay_max_seconds{service_name=%q}), or process_cpu_utilization and go_schedule_duration`, service),
		}
		if f.Check.Ran {
			f.Check.Query = ""
		}
		switch {
		case t.rate[1] >= (1+arrivalsStood)*t.rate[0]:
			f.Kind = "load"
			f.Claim = prose.Sprintf("%s gets %.3g calls a second where it got %.3g: %s", service, t.rate[1], t.rate[0], f.Claim)
		case cpu && !loop:
			f.Kind = "contention"
		}
		if f.Kind != kind {
			continue
		}
		if !f.Check.Ran {
			f.Doubtful = true
			f.Warnings = append(f.Warnings, "nothing but late answers shows it: larger answers or a slower way back look the same")
		}
		f.Factor = a.inTime(t)
		f.Below = func(o *Finding) bool { return o.Kind == "service-time" && o.Service == service && o.Peer == "" }
		out = append(out, f)
	}
	return out
}

// inTime puts the turns of a service back to when they came.
func (a *Asking) inTime(t *turning) Factor {
	var late part // how much later than usual answers of services that say so are read
	for j, p := range a.plans {
		q := a.request(j)
		for k := range p.Steps {
			s := &p.Steps[k]
			if s.Leave && s.Client() && q.Calls[s.Call()].Paired() && slices.Contains(t.out, a.owner(q, s.Call(), queuewait.Between)) {
				late.ns = append(late.ns, max(0, s.NS-a.back(a.key(q, s), s.NS, a.tie(j, k))))
				late.w = append(late.w, 1)
			}
		}
	}
	most := int64(late.at(0.99))
	return func(j int, p *graph.Plan, values []int64) {
		q := a.request(j)
		for k := range p.Steps {
			s := &p.Steps[k]
			if s.Call() == 0 {
				continue
			}
			c := &q.Calls[s.Call()]
			switch {
			case c.Paired() && s.Client() == s.Leave:
				v := a.owner(q, s.Call(), queuewait.Between)
				if s.Leave && slices.Contains(t.out, v) || !s.Leave && slices.Contains(t.in, v) {
					values[k] += a.back(a.key(q, s), s.NS, a.tie(j, k)) - s.NS
				}
			case s.Leave && c.Client.Seen() && !c.Work.Seen() && a.Reading.Dict.ProcAt(c.Client.Proc).Service == t.service:
				// The answer of a peer that says nothing is read no sooner than that of another.
				values[k] -= min(most, max(0, s.NS-a.back(a.key(q, s), s.NS, a.tie(j, k))))
			}
		}
	}
}

// busy reads what metrics say of the turns of a service: of its event loop, and of its CPU.
func (a *Asking) busy(t *turning, f *Finding) (loop, cpu bool) {
	s := &standstill{service: t.service}
	for _, role := range []metric.Role{metric.EventLoopLag, metric.EventLoopShare, metric.SchedulerDelay, metric.CPUThrottled, metric.CPUShare} {
		was, is := a.signal(summary.Baseline, s, role), a.signal(summary.Current, s, role)
		if is == nil {
			continue
		}
		before := math.NaN()
		if was != nil {
			before = was.ms
		}
		unit := "ms"
		if role == metric.EventLoopShare || role == metric.CPUShare {
			unit = "share"
		}
		f.Evidence = append(f.Evidence, numbers("metrics", 0, unit, before, is.ms, is.name+", at its highest"))
		rose := was == nil || is.ms > pausesRose*was.ms
		switch role {
		case metric.EventLoopLag:
			loop = loop || rose && is.ms*1e6 >= t.wait[1]
		case metric.EventLoopShare:
			loop = loop || is.ms >= busyLoop
		case metric.SchedulerDelay:
			cpu = cpu || rose && is.ms*1e6 >= t.wait[1]
		case metric.CPUThrottled:
			cpu = cpu || rose
		case metric.CPUShare:
			cpu = cpu || is.ms >= busyLoop
		}
	}
	if !loop && !cpu {
		f.Evidence = append(f.Evidence, says("metrics", 0, "no metric tells a busy event loop from a lack of CPU: emit nodejs.eventloop.delay.max and .utilization, or process.cpu.utilization, go.schedule.duration and container_cpu_cfs_throttled_seconds_total of %s", a.Reading.Dict.String(t.service)))
	}
	return loop, cpu
}
