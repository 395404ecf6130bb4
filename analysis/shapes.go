package analysis

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/summary"
)

// shapes tells the kinds of request behind one name apart: a shape is the set
// of calls that a request makes, by name; neither their order nor how many there
// are nor which attempt.
type shapes struct {
	of    map[*summary.Request]string
	names map[string]map[string]bool // of each shape: the operations called
}

// A calling is the requests with one set of calls.
type calling struct {
	set      []uint64 // hashes of the calls' paths, ascending
	requests []*summary.Request
	complete int // of the requests: those of whose traces nothing is known to be missing
	names    map[string]bool
	shape    *calling // whose shape it has; itself, unless calls were lost
}

// shapes finds the shape of each counted request of both sides.
//
// Spans are lost on their way, and a request without a lost call is not of
// another kind. Where a trace is known to miss spans, its request has the most
// frequent shape that its calls are part of. A leaf can be lost without a trace:
// while spans are seen to be lost at all, a shape that lacks one or two calls of
// another, and is no more frequent than losses make it, is that other.
func (a *analyzer) shapes(v *view) *shapes {
	var paths []uint64 // by slot; zero where it was not asked for
	d := a.reading.Dict
	var path func(graph.SlotID) uint64
	path = func(slot graph.SlotID) uint64 {
		if slot == graph.NoSlot {
			return 0
		}
		if int(slot) >= len(paths) {
			paths = append(paths, make([]uint64, d.Slots()-len(paths))...)
		}
		if paths[slot] != 0 {
			return paths[slot]
		}
		s := d.SlotAt(slot)
		e := s.Shown()
		h := fnv.New64a()
		var up [8]byte
		binary.LittleEndian.PutUint64(up[:], path(s.Parent))
		h.Write(up[:])
		h.Write([]byte(d.String(e.Service) + "\x1f" + d.String(e.Operation)))
		paths[slot] = h.Sum64()
		return paths[slot]
	}

	found := map[string]*calling{}
	var all []*calling
	var set []uint64
	var key []byte
	requests, calls, incomplete := 0, 0, 0
	for _, s := range v.Sides {
		if s == nil {
			continue
		}
		for _, q := range s.Counted {
			set = set[:0]
			for i := range q.Calls {
				set = append(set, path(v.Relative(q, q.Calls[i].Slot)))
			}
			slices.Sort(set)
			set = slices.Compact(set)
			key = key[:0]
			for _, p := range set {
				key = binary.LittleEndian.AppendUint64(key, p)
			}
			c := found[string(key)]
			if c == nil {
				c = &calling{set: slices.Clone(set), names: map[string]bool{}}
				c.shape = c
				for i := 1; i < len(q.Calls); i++ {
					c.names[a.shownOperation(d.SlotAt(v.Relative(q, q.Calls[i].Slot)))] = true
				}
				found[string(key)] = c
				all = append(all, c)
			}
			c.requests = append(c.requests, q)
			requests++
			calls += len(q.Calls)
			if q.Torn {
				incomplete++
			} else {
				c.complete++
			}
		}
	}
	slices.SortFunc(all, func(x, y *calling) int {
		return cmp.Or(cmp.Compare(y.complete, x.complete), slices.Compare(x.set, y.set))
	})
	if incomplete > 0 {
		mend(all, float64(incomplete)/float64(max(calls, 1)))
	}

	out := &shapes{of: make(map[*summary.Request]string, requests), names: map[string]map[string]bool{}}
	for _, c := range all {
		id := c.shape.id()
		if out.names[id] == nil {
			out.names[id] = c.shape.names
		}
		for _, q := range c.requests {
			out.of[q] = id
		}
	}
	return out
}

const (
	// maxLost is how many calls a shape may lack and be another with calls lost.
	maxLost = 2
	// lossFactor is how much more often than the rate of loss a shape that lacks
	// calls may occur, beside lossFactor requests: the rate counts only the
	// losses that leave an orphan.
	lossFactor = 3
)

// maxMended is how many shapes a calling is compared with: of those that make the
// rarest of its calls, the most frequent.
const maxMended = 1000

// mend gives the callings that lack lost calls the shapes of others. all is
// ordered by frequency; rate is the share of calls whose loss was noticed.
func mend(all []*calling, rate float64) {
	often := map[uint64]int{} // in how many callings a call is
	for _, c := range all {
		for _, p := range c.set {
			often[p]++
		}
	}
	making := map[uint64][]*calling{} // shapes so far, by call, the most frequent first
	for _, c := range all {
		var among []*calling
		if len(c.set) > 0 {
			among = making[slices.MinFunc(c.set, func(p, q uint64) int { return cmp.Or(cmp.Compare(often[p], often[q]), cmp.Compare(p, q)) })]
		}
		for _, of := range among {
			rare := float64(c.complete) <= lossFactor*(1+rate*float64(of.complete)) && len(of.set)-len(c.set) <= maxLost
			if (c.complete == 0 || rare) && subset(c.set, of.set) {
				c.shape = of
				break
			}
		}
		if c.shape != c || c.complete == 0 {
			continue
		}
		for _, p := range c.set {
			if len(making[p]) < maxMended {
				making[p] = append(making[p], c)
			}
		}
	}
}

// subset reports whether all of x are in y; both ascend.
func subset(x, y []uint64) bool {
	for _, p := range x {
		at, ok := slices.BinarySearch(y, p)
		if !ok {
			return false
		}
		y = y[at+1:]
	}
	return true
}

func (c *calling) id() string {
	h := fnv.New64a()
	var b [8]byte
	for _, p := range c.set {
		binary.LittleEndian.PutUint64(b[:], p)
		h.Write(b[:])
	}
	return fmt.Sprintf("%08x", uint32(h.Sum64()^h.Sum64()>>32))
}
