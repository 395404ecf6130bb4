package sim

import "time"

// A Resource is a set of equal slots with one FIFO queue: an executor's threads, a pool's connections,
// a lock (one slot). When a slot is handed to a waiter, the waiter holds it from that instant but runs
// only after a wake-up delay.
type Resource struct {
	Kind string // executor, pool or lock
	Name string
	Cap  int // 0: no limit
	// MaxQueue bounds the queue; an arrival that finds it full is refused. Negative: no bound.
	MaxQueue int
	wake     Dist

	e     *engine
	inUse int
	live  int // waiters in the queue that did not leave
	queue []*waiter
	head  int

	// What was seen, for the truth and the metrics.
	Offered, Refused, Left, Granted, Released int
	// Wait is summed over those granted, Waking is the part of it between a hand-over and its use;
	// LeftWait over those who left the queue; Hold over all slots given back.
	Wait, Waking, LeftWait, Hold Time
	Steps                        Steps
	onGrant                      func(wait Time)
	onRelease                    func(hold Time)
}

type waiterState uint8

const (
	idle waiterState = iota
	queued
	waking
	holding
)

// A waiter is one request for a slot. ready is called when it may go on.
type waiter struct {
	r     *Resource
	key   Key
	ready func()
	at    Time // asked
	since Time // slot held since
	wait  Time // from asking to going on
	state waiterState
	timer *Timer
}

// acquire asks for a slot and reports whether the queue took the request.
func (r *Resource) acquire(w *waiter) bool {
	w.r, w.at = r, r.e.now
	r.Offered++
	if r.Cap == 0 || r.inUse < r.Cap {
		r.take(w)
		w.state = holding
		r.granted(w)
		w.ready()
		return true
	}
	if r.MaxQueue >= 0 && r.live >= r.MaxQueue {
		r.Refused++
		return false
	}
	w.state = queued
	r.queue = append(r.queue, w)
	r.live++
	r.Steps.add(r.e.now, 0, 1)
	return true
}

func (r *Resource) take(w *waiter) {
	r.inUse++
	w.since = r.e.now
	r.Steps.add(r.e.now, 1, 0)
}

func (r *Resource) granted(w *waiter) {
	w.wait = r.e.now - w.at
	r.Granted++
	r.Wait += w.wait
	if r.onGrant != nil {
		r.onGrant(w.wait)
	}
}

// leave gives the slot back, or the place in the queue; it may be called in any state, and once.
func (w *waiter) leave() {
	r := w.r
	switch w.state {
	case idle:
		return
	case queued:
		w.state = idle
		r.live--
		r.Left++
		r.LeftWait += r.e.now - w.at
		r.Steps.add(r.e.now, 0, -1)
		return
	case waking:
		w.timer.Stop()
		r.Left++
		r.LeftWait += w.since - w.at
		r.Hold += r.e.now - w.since
	case holding:
		hold := r.e.now - w.since
		r.Hold += hold
		r.Released++
		if r.onRelease != nil {
			r.onRelease(hold)
		}
	}
	w.state = idle
	r.inUse--
	r.Steps.add(r.e.now, -1, 0)
	r.next()
}

// next hands a free slot to the oldest waiter.
func (r *Resource) next() {
	for r.head < len(r.queue) {
		w := r.queue[r.head]
		r.queue[r.head] = nil
		r.head++
		if r.head == len(r.queue) {
			r.queue, r.head = r.queue[:0], 0
		}
		if w.state != queued {
			continue
		}
		r.live--
		r.Steps.add(r.e.now, 0, -1)
		r.take(w)
		w.state = waking
		var d Time
		if r.wake != nil {
			d = r.wake.Sample(w.key.Name("wake"))
		}
		w.timer = r.e.after(d, func() {
			w.state = holding
			r.Waking += d
			r.granted(w)
			w.ready()
		})
		return
	}
}

// Steps is the integral of a step function, kept a second at a time: what is in use, and
// what waits.
type Steps struct {
	at           Time
	use, wait    int
	UseNs        []Time // per second: slot-nanoseconds in use
	WaitNs       []Time // per second: waiter-nanoseconds
	Max          int    // most in use at once
	TotalUse     Time
	TotalWaiting Time
}

func (s *Steps) add(now Time, use, wait int) {
	s.advance(now)
	s.use += use
	s.wait += wait
	s.Max = max(s.Max, s.use)
}

func (s *Steps) grow(now Time) {
	for int(now/time.Second) >= len(s.UseNs) {
		s.UseNs = append(s.UseNs, 0)
		s.WaitNs = append(s.WaitNs, 0)
	}
}

func (s *Steps) advance(now Time) {
	for s.at < now {
		s.grow(s.at)
		sec := int(s.at / time.Second)
		end := min(now, Time(sec+1)*time.Second)
		d := end - s.at
		s.UseNs[sec] += d * Time(s.use)
		s.WaitNs[sec] += d * Time(s.wait)
		s.TotalUse += d * Time(s.use)
		s.TotalWaiting += d * Time(s.wait)
		s.at = end
	}
}
