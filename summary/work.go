package summary

import (
	"sort"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/internal/parallel"
	"github.com/tailscope/tailscope/internal/radix"
	"github.com/tailscope/tailscope/trace"
)

// OwnWork yields the steps of a record's plan that are own work of its calls, each with the call: not those that a queue
// owns, that are between a client's half and the server's, or that precede a further attempt.
func (c *Calibration) OwnWork(r *graph.Record, p *graph.Plan, yield func(call int32, step int)) {
	for k := range p.Steps {
		st := &p.Steps[k]
		x := &r.Calls[st.Call()]
		switch {
		case st.Leave && st.Client() == !x.Work.Seen():
			yield(st.Call(), k)
		case !st.Leave && st.Call() != 0 && st.Client() == x.Client.Seen():
			up := &r.Calls[x.Parent]
			if up.Paired() && x.Flags&graph.OnClient != 0 || x.Flags&(graph.Retry|graph.Hedge) != 0 || c.Owners.Before(x) != nil {
				continue
			}
			yield(x.Parent, k)
		}
	}
}

// A Crowd is when requests were at work in a process: each for as long as a stretch of own work lasts.
type Crowd struct{ starts, ends []trace.Time } // each in order

// At is how many are at work at a time: those that end then are not, those that begin then are.
func (c *Crowd) At(t trace.Time) int {
	if c == nil {
		return 0
	}
	after := func(list []trace.Time) int { return sort.Search(len(list), func(i int) bool { return list[i] > t }) }
	return after(c.starts) - after(c.ends)
}

// Done is what processes of a service did for the calls of one operation, for all requests that the records stand for. What a
// process asks of itself is a part of the call with which a request came to it.
type Done struct {
	N     int     // calls that there are records of
	Calls float64 // that those stand for
	NS    float64 // own work in all, ns
}

// A Work is when and at what the processes of a set were at work, for the requests of all endpoints whose records there are.
type Work struct {
	Crowds map[graph.ProcID]*Crowd
	Done   map[trace.Endpoint]*Done

	outer []int32 // scratch of add
}

func newWork() *Work {
	return &Work{Crowds: map[graph.ProcID]*Crowd{}, Done: map[trace.Endpoint]*Done{}}
}

func (w *Work) crowd(p graph.ProcID) *Crowd {
	if w.Crowds[p] == nil {
		w.Crowds[p] = &Crowd{}
	}
	return w.Crowds[p]
}

func (w *Work) done(e trace.Endpoint) *Done {
	if w.Done[e] == nil {
		w.Done[e] = &Done{}
	}
	return w.Done[e]
}

// add adds the work for one request.
func (w *Work) add(c *Calibration, r *graph.Record, p *graph.Plan) {
	weight := float64(r.Weight) / graph.OneRequest
	of := func(call int32) *Done { return w.done(c.Dict.SlotAt(r.Calls[call].Slot).Callee) }
	outer := w.outer[:0] // of each call, that with which the request came to its process
	for i := range r.Calls {
		x := &r.Calls[i]
		outer = append(outer, int32(i))
		if up := &r.Calls[max(x.Parent, 0)]; i > 0 && x.Work.Seen() && up.Work.Seen() && up.Work.Proc == x.Work.Proc {
			outer[i] = outer[x.Parent]
		} else if x.Work.Seen() {
			d := of(int32(i))
			d.N++
			d.Calls += weight
		}
	}
	w.outer = outer
	c.OwnWork(r, p, func(call int32, k int) {
		st, work := &p.Steps[k], &r.Calls[call].Work
		if !work.Seen() || st.NS <= 0 {
			return
		}
		x := w.crowd(work.Proc)
		x.starts, x.ends = append(x.starts, st.At-trace.Time(st.NS)), append(x.ends, st.At)
		of(outer[call]).NS += weight * float64(st.NS)
	})
}

// join adds what another found, of requests that come later.
func (w *Work) join(o *Work) {
	for p, x := range o.Crowds {
		c := w.crowd(p)
		c.starts, c.ends = append(c.starts, x.starts...), append(c.ends, x.ends...)
	}
	for e, x := range o.Done {
		d := w.done(e)
		d.N, d.Calls, d.NS = d.N+x.N, d.Calls+x.Calls, d.NS+x.NS
	}
}

// Work is computed when it is first asked for.
func (s *Set) Work() *Work {
	s.working.Do(func() {
		const share = 1024 // records: sums do not depend on how many processors there are
		parts := make([]*Work, (len(s.Records)+share-1)/share)
		parallel.Do(len(parts), func(i int) {
			parts[i] = newWork()
			w := graph.Walker{Dict: s.Calibration.Dict, Verdicts: s.Calibration.Verdicts}
			for _, r := range s.Records[i*share : min((i+1)*share, len(s.Records))] {
				parts[i].add(s.Calibration, r, w.Plan(r, nil))
			}
		})
		s.work = newWork()
		for _, p := range parts {
			s.work.join(p)
		}
		for _, c := range s.work.Crowds {
			radix.Ints(c.starts)
			radix.Ints(c.ends)
		}
	})
	return s.work
}
