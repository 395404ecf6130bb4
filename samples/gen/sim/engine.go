package sim

import "time"

// Time is simulated time: nanoseconds since the run began.
type Time = time.Duration

// A Timer is one pending event. Stop makes it a no-op.
type Timer struct {
	fn func()
}

// Stop cancels the event. Stopping a nil timer, or one that has fired, does nothing.
func (t *Timer) Stop() {
	if t != nil {
		t.fn = nil
	}
}

type event struct {
	at  Time
	seq uint64 // events at one instant run in the order they were scheduled
	t   *Timer
}

// engine is the clock and the future event list, a binary heap.
type engine struct {
	now  Time
	seq  uint64
	heap []event
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// at schedules fn; an instant in the past means now.
func (e *engine) at(at Time, fn func()) *Timer {
	t := &Timer{fn: fn}
	e.push(max(at, e.now), t)
	return t
}

func (e *engine) after(d Time, fn func()) *Timer { return e.at(e.now+d, fn) }

func (e *engine) push(at Time, t *Timer) {
	e.seq++
	ev := event{at, e.seq, t}
	h := append(e.heap, ev)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !ev.before(&h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = ev
	e.heap = h
}

// run executes events until none is left.
func (e *engine) run() {
	for len(e.heap) > 0 {
		h := e.heap
		top, n := h[0], len(h)-1
		last := h[n]
		h[n] = event{}
		h = h[:n]
		e.heap = h
		for i := 0; n > 0; {
			c := 2*i + 1
			if c+1 < n && h[c+1].before(&h[c]) {
				c++
			}
			if c >= n || !h[c].before(&last) {
				h[i] = last
				break
			}
			h[i] = h[c]
			i = c
		}
		if fn := top.t.fn; fn != nil {
			e.now = top.at
			top.t.fn = nil
			fn()
		}
	}
}
