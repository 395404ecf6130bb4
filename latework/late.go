package latework

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
)

// A Belief is what clients believed of calls against what became of the work.
// Counts are weighted.
type Belief struct {
	FailedSucceeded, FailedFailed, FailedUnknown          float64
	SucceededSucceeded, SucceededFailed, SucceededUnknown float64
}

// Add counts a call. One without a client half has nobody to believe anything,
// and whoever cancelled a hedge's loser does not believe that it failed.
func (b *Belief) Add(c *graph.Call, w float64) {
	if !c.Client.Seen() || c.Flags&graph.Loser != 0 {
		return
	}
	failed := c.ClientEnd != graph.Succeeded
	switch {
	case !c.Work.Seen() && failed:
		b.FailedUnknown += w
	case !c.Work.Seen():
		b.SucceededUnknown += w
	case c.WorkEnd == graph.Succeeded && failed:
		b.FailedSucceeded += w
	case c.WorkEnd == graph.Succeeded:
		b.SucceededSucceeded += w
	case failed:
		b.FailedFailed += w
	default:
		b.SucceededFailed += w
	}
}

// Late is the late work of one kind of call. Times are in ns and weighted, as
// the counts are.
type Late struct {
	Attempts     float64 // calls made
	Left         float64 // calls that their caller left
	LateAttempts float64 // calls that went on after it
	StartedAfter float64 // began after the caller had left: should have been refused

	// NS is the time after the departure, of the call and all below it, counted
	// once. Waiting is the part of it in which nothing of the call worked, as far
	// as spans tell; the rest is Working.
	NS, Waiting, Working float64

	Belief
}

// MeanStop is how long calls go on after a departure, in ns, over all calls that
// were left; zero where none was.
func (l *Late) MeanStop() float64 {
	if l.Left == 0 {
		return 0
	}
	return l.NS / l.Left
}

// A LateCounter counts the late work of requests.
type LateCounter struct {
	Total Late
	Edges map[graph.SlotID]*Late

	// After is work beyond the response, of requests that nobody left.
	AfterRequests, AfterNS float64

	byCall  map[int32][]trace.Interval
	working map[int32][]trace.Interval
}

// Add counts a record that w has walked. slot is what a call's slot is called by
// in Edges.
func (l *LateCounter) Add(w *graph.Walker, r *graph.Record, weight float64, slot func(graph.SlotID) graph.SlotID) {
	if l.Edges == nil {
		l.Edges = map[graph.SlotID]*Late{}
	}
	l.byCall, l.working = map[int32][]trace.Interval{}, map[int32][]trace.Interval{}
	var all, working, after []trace.Interval
	for _, b := range w.Late {
		if r.Calls[b.By].Flags&graph.Loser != 0 {
			continue // hedging's
		}
		v := trace.Interval{Start: trace.Time(b.Start), End: trace.Time(b.End)}
		l.byCall[b.By] = append(l.byCall[b.By], v)
		all = append(all, v)
		for _, p := range worked(w, r, b) {
			l.working[b.By] = append(l.working[b.By], p)
			working = append(working, p)
		}
	}
	for _, b := range w.After {
		after = append(after, trace.Interval{Start: trace.Time(b.Start), End: trace.Time(b.End)})
	}
	if n := Union(after); n > 0 {
		l.AfterRequests += weight
		l.AfterNS += weight * float64(n)
	}
	l.Total.time(weight, all, working)
	for i := range r.Calls {
		c := &r.Calls[i]
		if i > 0 && !c.Client.Seen() && c.OuterEnd() == graph.Succeeded {
			continue // not a call to someone
		}
		s := slot(c.Slot)
		e := l.Edges[s]
		if e == nil {
			e = &Late{}
			l.Edges[s] = e
		}
		for _, to := range [2]*Late{&l.Total, e} {
			to.Attempts += weight
			to.Belief.Add(c, weight)
			if c.OuterEnd().Left() && c.Flags&graph.Loser == 0 {
				to.Left += weight
			}
		}
		late := l.byCall[int32(i)]
		if Union(late) == 0 {
			continue
		}
		e.time(weight, late, l.working[int32(i)])
		for _, to := range [2]*Late{&l.Total, e} {
			to.LateAttempts += weight
			if c.Paired() && w.Began(int32(i), false) >= w.Ended(int32(i), true) {
				to.StartedAfter += weight
			}
		}
	}
}

func (l *Late) time(w float64, late, working []trace.Interval) {
	n, m := float64(Union(late)), float64(Union(working))
	l.NS += w * n
	l.Working += w * m
	l.Waiting += w * (n - m)
}

// worked is the part of late work in which its half worked: not while it waited
// by its own word, and of a client half only where no server half tells more.
func worked(w *graph.Walker, r *graph.Record, b graph.Beside) []trace.Interval {
	c := &r.Calls[b.Call]
	if c.Flags&graph.WaitSpan != 0 || b.Client && c.Paired() {
		return nil
	}
	out := []trace.Interval{{Start: trace.Time(b.Start), End: trace.Time(b.End)}}
	for i := range r.Waits {
		x := &r.Waits[i]
		if x.Call != b.Call || x.Client != b.Client {
			continue
		}
		shift := trace.Time(w.Shift(x.Call, x.Client)) - r.Start()
		from, to := x.Start+shift, x.End+shift
		var kept []trace.Interval
		for _, v := range out {
			if head := (trace.Interval{Start: v.Start, End: min(v.End, from)}); head.End > head.Start {
				kept = append(kept, head)
			}
			if tail := (trace.Interval{Start: max(v.Start, to), End: v.End}); tail.End > tail.Start {
				kept = append(kept, tail)
			}
		}
		out = kept
	}
	return out
}

// Union is the length of the union of intervals, which it sorts.
func Union(v []trace.Interval) int64 {
	slices.SortFunc(v, func(a, b trace.Interval) int { return cmp.Compare(a.Start, b.Start) })
	var total int64
	var end trace.Time
	for i, x := range v {
		if i == 0 || x.Start > end {
			total += x.Duration()
			end = x.End
		} else if x.End > end {
			total += int64(x.End - end)
			end = x.End
		}
	}
	return total
}

// SideEffecting reports whether an operation changes something, by its name: by
// its HTTP method, its SQL verb, or the verb that begins the name of an RPC
// method. Such work may lawfully finish after its caller left. A POST that only
// asks is counted here too; what is not known to be harmless is not called
// waste.
func SideEffecting(operation string) bool {
	verb, _, _ := strings.Cut(operation, " ")
	switch verb {
	case "POST", "PUT", "PATCH", "DELETE", "INSERT", "UPDATE", "MERGE", "REPLACE", "UPSERT", "publish", "send", "SET", "DEL", "HSET", "INCR", "LPUSH", "RPUSH", "XADD", "ZADD", "EXPIRE":
		return true
	case "GET", "HEAD", "OPTIONS", "SELECT":
		return false
	}
	method := operation[strings.LastIndexAny(operation, "/.")+1:]
	for _, v := range writes {
		if rest, ok := strings.CutPrefix(method, v); ok && (rest == "" || rest[0] >= 'A' && rest[0] <= 'Z') {
			return true
		}
	}
	return false
}

var writes = []string{"Record", "Create", "Update", "Delete", "Remove", "Set", "Put", "Write", "Insert", "Upsert", "Add", "Append", "Publish", "Send", "Emit", "Charge", "Place", "Cancel", "Empty", "Ship"}
