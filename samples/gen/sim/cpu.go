package sim

import "math"

// cpu is the cores of one instance, shared equally by the work on them: n jobs on c cores each run at
// rate min(1, c/n). Progress is kept as one virtual time: the work a job
// would have got since the run began, so that a change of n costs O(log n), not O(n).
//
// The products are converted explicitly: no compiler may fuse them, and all machines agree.
type cpu struct {
	e      *engine
	cores  float64
	paused bool

	// turns makes it one thread that does one job after the other, in the order in which they came: an event loop. What a
	// job asks for when it is done it does itself, before the next: up to front all is its.
	turns       bool
	done        bool
	front, tail float64

	// quota is the core-nanoseconds of a period; when they are spent, stop is told how long until the next. 0 is none.
	quota, spent float64
	period       Time
	until        Time // end of the period
	stop         func(d Time)

	Lag   Time    // the longest that a turn waited since it was last taken
	v     float64 // virtual time, ns of work
	at    Time    // when v was right
	jobs  []*job  // heap by finish
	timer *Timer
	seq   uint64

	Busy float64 // core-nanoseconds used
}

type job struct {
	finish float64
	work   float64
	asked  Time
	seq    uint64
	pos    int // in the heap; -1 when done or removed
	done   func()
}

func (c *cpu) rate() float64 {
	if c.turns {
		return 1
	}
	if n := float64(len(c.jobs)); n > c.cores {
		return c.cores / n
	}
	return 1
}

func (c *cpu) advance() {
	if d := float64(c.e.now - c.at); d > 0 && len(c.jobs) > 0 && !c.paused {
		c.v += float64(d * c.rate())
		busy := float64(d * min(float64(len(c.jobs)), c.cores))
		c.Busy += busy
		c.spent += busy
	}
	c.at = c.e.now
	if c.quota > 0 && c.at >= c.until {
		c.until += (c.at - c.until + c.period) / c.period * c.period
		c.spent = 0
	}
}

func (c *cpu) schedule() {
	c.timer.Stop()
	if len(c.jobs) == 0 || c.paused {
		return
	}
	d := Time(math.Ceil((c.jobs[0].finish - c.v) / c.rate()))
	if c.quota > 0 {
		left := Time(math.Ceil((c.quota - c.spent) / min(float64(len(c.jobs)), c.cores)))
		d = min(d, left, c.until-c.e.now)
	}
	c.timer = c.e.after(max(d, 0), c.complete)
}

func (c *cpu) complete() {
	c.advance()
	// Half a nanosecond covers the rounding of the virtual time.
	for len(c.jobs) > 0 && c.jobs[0].finish <= c.v+0.5 {
		j := c.jobs[0]
		c.remove(j)
		if c.turns {
			c.Lag = max(c.Lag, c.e.now-j.asked-Time(j.work))
			c.front = c.v
		}
		c.done = true
		j.done()
		c.done = false
	}
	if c.quota > 0 && c.spent >= c.quota-0.5 && len(c.jobs) > 0 && !c.paused {
		c.stop(c.until - c.e.now)
	}
	c.schedule()
}

// add starts work that takes d on an idle core.
func (c *cpu) add(d Time, done func()) *job {
	c.advance()
	c.seq++
	j := &job{finish: c.v + float64(d), seq: c.seq, done: done, pos: len(c.jobs), work: float64(d), asked: c.e.now}
	switch {
	case c.turns && c.done:
		for _, x := range c.jobs {
			if x.finish > c.front {
				x.finish += float64(d)
			}
		}
		c.tail = max(c.tail, c.front) + float64(d)
		c.front += float64(d)
		j.finish = c.front
	case c.turns:
		c.tail = max(c.tail, c.v) + float64(d)
		j.finish = c.tail
	}
	c.jobs = append(c.jobs, j)
	c.up(j.pos)
	c.schedule()
	return j
}

// cancel removes a job; done is not called.
func (c *cpu) cancel(j *job) {
	if j.pos < 0 {
		return
	}
	if c.turns {
		j.done = func() {} // its turn comes all the same, and does nothing
		return
	}
	c.advance()
	c.remove(j)
	c.schedule()
}

func (c *cpu) pause(on bool) {
	c.advance()
	c.paused = on
	c.schedule()
}

func (c *cpu) less(i, k int) bool {
	a, b := c.jobs[i], c.jobs[k]
	return a.finish < b.finish || a.finish == b.finish && a.seq < b.seq
}

func (c *cpu) swap(i, k int) {
	c.jobs[i], c.jobs[k] = c.jobs[k], c.jobs[i]
	c.jobs[i].pos, c.jobs[k].pos = i, k
}

func (c *cpu) up(i int) {
	for i > 0 && c.less(i, (i-1)/2) {
		c.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (c *cpu) remove(j *job) {
	i, n := j.pos, len(c.jobs)-1
	c.swap(i, n)
	c.jobs[n] = nil
	c.jobs = c.jobs[:n]
	j.pos = -1
	if i < n {
		c.up(i)
		for {
			k := 2*i + 1
			if k+1 < n && c.less(k+1, k) {
				k++
			}
			if k >= n || !c.less(k, i) {
				return
			}
			c.swap(i, k)
			i = k
		}
	}
}
