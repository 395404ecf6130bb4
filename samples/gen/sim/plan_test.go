package sim

import (
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// pair is a front that runs a plan and a back whose one operation takes d; nothing else takes time.
func pair(d Dist, cancel CancelRule, plan func(back *Operation) []Step) *System {
	sys := &System{Name: "pair"}
	front := sys.Add(&Service{Name: "front", Instances: 1})
	back := sys.Add(&Service{Name: "back", Instances: 2})
	op := back.Add(&Operation{Name: "GET /b", Cancel: cancel, Plan: []Step{&Work{Time: d}}})
	entry := front.Add(&Operation{Name: "GET /f", Plan: plan(op)})
	sys.Workload = Workload{Rate: 0.1, Classes: []Class{{Share: 1, Op: entry, Size: 1}}}
	return sys
}

// inTurn gives its durations one after the other, whatever the key.
type inTurn struct{ ds *[]Time }

func (d inTurn) Mean() Time { return 0 }
func (d inTurn) Sample(Key) Time {
	x := (*d.ds)[0]
	*d.ds = (*d.ds)[1:]
	return x
}

func takes(ds ...Time) Dist { return inTurn{&ds} }

// calls are the attempts that are not the clients'.
func calls(r *Run) []Attempt {
	return slices.DeleteFunc(slices.Clone(r.Attempts), func(a Attempt) bool { return a.Edge == entryEdge })
}

// The caller leaves after 62 ms; the callee, 2 ms away, began at 2 ms and would end at 102 ms.
func TestTimeoutLeavesLateWork(t *testing.T) {
	for _, c := range []struct {
		rule   CancelRule
		late   Time
		served Outcome
	}{
		{Ignore, 40 * ms, OK},
		{BetweenSteps, 40 * ms, Cancelled}, // its only step ends before it looks
		{Prompt, 2 * ms, Cancelled},        // it stops when the news arrives
	} {
		r := Simulate(pair(Const(100*ms), c.rule, func(back *Operation) []Step {
			return []Step{&Call{To: back, Timeout: 62 * ms, Leg: Leg{Base: 2 * ms}, Optional: true}}
		}), Options{Seed: 1, Requests: 1})
		a := calls(r)[0]
		if a.Outcome != TimedOut || a.Served != c.served || a.Late() != c.late || a.LateWork() != c.late {
			t.Errorf("rule %d: %v, served %v, late %v; want served %v, late %v", c.rule, a.Outcome, a.Served, a.Late(), c.served, c.late)
		}
		if q := r.Requests[0]; q.Latency() != 62*ms || q.Outcome != OK {
			t.Errorf("rule %d: the request took %v and was %v", c.rule, q.Latency(), q.Outcome)
		}
	}
}

// The first attempt takes 100 ms; the hedge begins at 30 ms, takes 20 ms and wins at 50 ms.
func TestHedge(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := Simulate(pair(takes(100*ms, 20*ms), Prompt, func(back *Operation) []Step {
			return []Step{&Call{To: back, Hedge: &Hedge{Delay: 30 * ms, Keep: keep}}}
		}), Options{Seed: 1, Requests: 1})
		if got := r.Requests[0].Latency(); got != 50*ms {
			t.Errorf("took %v, want 50ms", got)
		}
		var loser Attempt
		for _, a := range calls(r) {
			if !a.Hedge {
				loser = a
			}
		}
		if want := map[bool]Outcome{false: Cancelled, true: OK}[keep]; len(calls(r)) != 2 || loser.Outcome != want {
			t.Errorf("keep %v: %d attempts, the loser %v", keep, len(calls(r)), loser.Outcome)
		}
	}
}

// Two attempts time out at 50 ms each; between attempts lies a backoff of 10 to 20, then 20 to 40 ms; the
// third takes 5 ms.
func TestRetry(t *testing.T) {
	r := Simulate(pair(takes(80*ms, 80*ms, 5*ms), Ignore, func(back *Operation) []Step {
		return []Step{&Call{To: back, Timeout: 50 * ms, Retry: &Retry{Max: 2, Backoff: 20 * ms}}}
	}), Options{Seed: 1, Requests: 1})
	got := r.Requests[0].Latency() - 105*ms
	if got < 30*ms || got > 60*ms || r.Requests[0].Outcome != OK || len(calls(r)) != 3 {
		t.Errorf("%d attempts; backoffs sum to %v", len(calls(r)), got)
	}
}

// A budget of half the calls lets two calls in four be tried again.
func TestRetryBudget(t *testing.T) {
	sys := pair(Const(ms), Ignore, func(back *Operation) []Step {
		back.FailP = 1
		return []Step{&Call{To: back, Retry: &Retry{Max: 1, Budget: 0.5}}}
	})
	r := Simulate(sys, Options{Seed: 1, Requests: 4})
	if n := len(calls(r)); n != 6 {
		t.Errorf("%d attempts of 4 calls, want 6", n)
	}
}

// Two of three branches suffice; the slowest is cancelled when the second has ended.
func TestGather(t *testing.T) {
	r := Simulate(pair(takes(30*ms, 90*ms, 50*ms), Prompt, func(back *Operation) []Step {
		return []Step{&Parallel{Need: 2, Branches: []Step{&Call{To: back}, &Call{To: back}, &Call{To: back}}}}
	}), Options{Seed: 1, Requests: 1})
	if got := r.Requests[0].Latency(); got != 50*ms {
		t.Errorf("took %v, want 50ms", got)
	}
}

// A second request for the same identity joins the call of the first and ends with it.
func TestCoalesce(t *testing.T) {
	sys := pair(Const(time.Hour), Ignore, func(back *Operation) []Step {
		return []Step{&Call{To: back, Coalesce: true}}
	})
	sys.Workload.Identities = 1
	r := Simulate(sys, Options{Seed: 1, Requests: 2, Spans: true})
	if r.Coalesced != 1 || r.Requests[0].End != r.Requests[1].End {
		t.Errorf("%d coalesced; ends %v and %v", r.Coalesced, r.Requests[0].End, r.Requests[1].End)
	}
	var links int
	for _, s := range r.Spans {
		if s.Link != nil && s.Link.Trace == r.Requests[0].Trace {
			links++
		}
	}
	if links != 1 {
		t.Errorf("%d links to the leader's trace", links)
	}
}

// With 100 ms from the start on and 20 ms in reserve, a call of 200 ms is left at 80 ms; after that an
// optional call that wants 30 ms is left out.
func TestDeadline(t *testing.T) {
	sys := pair(Const(200*ms), Prompt, func(back *Operation) []Step {
		return []Step{
			&Call{To: back, Deadline: true, Reserve: 20 * ms, Optional: true},
			&Call{To: back, Deadline: true, MinRemaining: 30 * ms, Optional: true},
		}
	})
	sys.Workload.Deadline = 100 * ms
	r := Simulate(sys, Options{Seed: 1, Requests: 1})
	if got := r.Requests[0].Latency(); got != 80*ms || len(r.Omitted) != 1 {
		t.Errorf("took %v with %d calls left out, want 80ms and 1", got, len(r.Omitted))
	}
}

// An executor with one thread and one place in its queue refuses the third of three calls at once.
func TestRefusal(t *testing.T) {
	sys := pair(Const(10*ms), Ignore, func(back *Operation) []Step {
		c := func() Step { return &Call{To: back, Optional: true} }
		return []Step{&Parallel{Branches: []Step{c(), c(), c()}}}
	})
	back := sys.Service("back")
	back.Instances, back.Executor = 1, Executor{Name: "x", Slots: 1, Queue: 1}
	r := Simulate(sys, Options{Seed: 1, Requests: 1})
	n := map[Outcome]int{}
	var wait Time
	for _, a := range calls(r) {
		n[a.Outcome]++
		wait += a.ExecWait
	}
	if n[OK] != 2 || n[Rejected] != 1 || wait != 10*ms {
		t.Errorf("outcomes %v, waited %v", n, wait)
	}
}

// Three jobs of 10 ms begin at once on two cores: each runs at 2/3 and all end after 15 ms.
func TestSharedCores(t *testing.T) {
	sys := pair(Const(10*ms), Ignore, func(back *Operation) []Step {
		back.Plan[0].(*Work).CPU = 1
		return []Step{&Parallel{Branches: []Step{&Call{To: back}, &Call{To: back}, &Call{To: back}}}}
	})
	back := sys.Service("back")
	back.Instances, back.Cores = 1, 2
	r := Simulate(sys, Options{Seed: 1, Requests: 1})
	if got := r.Requests[0].Latency(); got < 15*ms || got > 15*ms+2 || calls(r)[0].Stretch < 5*ms {
		t.Errorf("took %v, stretched by %v", got, calls(r)[0].Stretch)
	}
}

// A lock with one slot serves three branches of 10 ms one after the other.
func TestLock(t *testing.T) {
	r := Simulate(pair(Const(10*ms), Ignore, func(back *Operation) []Step {
		l := func() Step { return &Lock{Name: "l", Step: &Call{To: back}} }
		return []Step{&Parallel{Branches: []Step{l(), l(), l()}}}
	}), Options{Seed: 1, Requests: 1})
	if a := r.Attempts[len(r.Attempts)-1]; r.Requests[0].Latency() != 30*ms || a.Locked != 30*ms {
		t.Errorf("took %v, waited %v for the lock", r.Requests[0].Latency(), a.Locked)
	}
}

// A pause stops work, and what arrives while it lasts is seen at its end.
func TestPause(t *testing.T) {
	sys := pair(Const(10*ms), Ignore, func(back *Operation) []Step { return []Step{&Call{To: back}} })
	back := sys.Service("back")
	back.Instances = 1
	first := Simulate(sys, Options{Seed: 1, Requests: 1}).Requests[0].Arrive
	back.Pauses = []Pause{{Every: takes(first-5*ms, time.Hour), Length: Const(25 * ms)}}
	r := Simulate(sys, Options{Seed: 1, Requests: 1})
	if got := r.Requests[0].Latency(); got != 30*ms { // 20 ms until the pause is over, then the work
		t.Errorf("took %v, want 30ms", got)
	}
}

// A message is worked on after its producer went on; the request does not wait.
func TestPublish(t *testing.T) {
	r := Simulate(pair(Const(50*ms), Ignore, func(back *Operation) []Step {
		back.Protocol = Message
		return []Step{&Publish{To: back, Send: Const(ms), Dwell: Const(20 * ms)}}
	}), Options{Seed: 1, Requests: 1, Spans: true})
	if got := r.Requests[0].Latency(); got != ms {
		t.Errorf("took %v, want 1ms", got)
	}
	a := calls(r)[0]
	if d := a.Started - r.Requests[0].End; d != 20*ms || a.Ended-a.Started != 50*ms {
		t.Errorf("consumed %v after the send, for %v", d, a.Ended-a.Started)
	}
}

// The caller goes on after 40 ms; the call lasts, its client span ends with the answer at 100 ms.
func TestAbandon(t *testing.T) {
	r := Simulate(pair(Const(100*ms), Prompt, func(back *Operation) []Step {
		return []Step{&Call{To: back, Abandon: 40 * ms, Optional: true}}
	}), Options{Seed: 1, Requests: 1, Spans: true})
	a := calls(r)[0]
	if r.Requests[0].Latency() != 40*ms || a.Outcome != OK || a.Late() != 60*ms {
		t.Errorf("took %v; the call was %v and late for %v", r.Requests[0].Latency(), a.Outcome, a.Late())
	}
	for _, s := range r.Spans {
		if s.Kind == Client && s.End-s.Start != 100*ms {
			t.Errorf("a client span of %v", s.End-s.Start)
		}
	}
}
