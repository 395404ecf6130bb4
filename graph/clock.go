package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// A HostPair names two clocks by their hosts' names, A before B.
type HostPair struct{ A, B trace.StringID }

// Bounds are what the calls between two hosts say of clock(B) − clock(A): the
// server's span lies within the client's, so each call that succeeded bounds
// the offset by [server end − client end, server start − client start]. Without a client's span
// a call bounds it from one side: it begins after the work that makes it, and may outlast it.
type Bounds struct {
	N int64 // requests that tell

	// The few greatest lower and the few least upper bounds, so that one lying
	// call can be told from a clock.
	Lo []int64 // descending
	Hi []int64 // ascending

	// Least is the width of the narrowest bounds: how far a clock can be known at
	// one time.
	Least int64
}

// keptBounds is how many bounds of each side are kept. Up to keptBounds−1 lying
// calls can be set aside.
const keptBounds = 16

func (b *Bounds) add(lo, hi int64) {
	if b.N == 0 || hi-lo < b.Least {
		b.Least = hi - lo
	}
	b.N++
	if lo > -unbounded {
		b.Lo = insert(b.Lo, lo, func(a, b int64) int { return cmp.Compare(b, a) })
	}
	if hi < unbounded {
		b.Hi = insert(b.Hi, hi, cmp.Compare[int64])
	}
}

func insert(list []int64, v int64, order func(a, b int64) int) []int64 {
	at, _ := slices.BinarySearchFunc(list, v, order)
	if at == keptBounds {
		return list
	}
	list = slices.Insert(list, at, v)
	return list[:min(len(list), keptBounds)]
}

func (b *Bounds) merge(o *Bounds) {
	if b.N == 0 || o.N > 0 && o.Least < b.Least {
		b.Least = o.Least
	}
	b.N += o.N
	for _, v := range o.Lo {
		b.Lo = insert(b.Lo, v, func(a, b int64) int { return cmp.Compare(b, a) })
	}
	for _, v := range o.Hi {
		b.Hi = insert(b.Hi, v, cmp.Compare[int64])
	}
}

// flip is the bounds of clock(A) − clock(B).
func (b *Bounds) flip() *Bounds {
	f := &Bounds{N: b.N, Least: b.Least}
	for _, v := range b.Hi {
		f.Lo = append(f.Lo, -v)
	}
	for _, v := range b.Lo {
		f.Hi = append(f.Hi, -v)
	}
	return f
}

// An Offset is what is known of clock(B) − clock(A), in ns. One without bound on a side is open there.
type Offset struct {
	Lo, Hi int64

	// Contradictions is how many bounds had to be set aside to leave any offset.
	Contradictions int64
	N              int64

	// Beyond is by how much the greatest lower bound exceeds the least upper one: how wrong times must be for these
	// contradictions. Clocks that are read in whole milliseconds contradict each other by up to two.
	Beyond int64
}

// maxLies is how many calls between two hosts may say of their clocks what cannot
// be before it is the clocks that changed.
const maxLies = keptBounds / 2

// Below and Above report whether the offset is bounded on that side.
func (o Offset) Below() bool { return o.Lo > -unbounded }
func (o Offset) Above() bool { return o.Hi < unbounded }

// Open reports whether it is bounded from one side at most.
func (o Offset) Open() bool { return !o.Below() || !o.Above() }

// agreeing is how many requests must bound an offset that is open on the other side, where no bound contradicts one
// that lies.
const agreeing = 5

// offset intersects the bounds. Where they contradict each other, the fewest
// are set aside, from the two ends in turn.
func (b *Bounds) offset() Offset {
	o := Offset{N: b.N, Lo: -unbounded, Hi: unbounded}
	switch {
	case len(b.Lo) == 0 && len(b.Hi) >= agreeing:
		o.Hi = b.Hi[agreeing-1]
	case len(b.Hi) == 0 && len(b.Lo) >= agreeing:
		o.Lo = b.Lo[agreeing-1]
	}
	if len(b.Lo) == 0 || len(b.Hi) == 0 {
		return o
	}
	o.Beyond = max(0, b.Lo[0]-b.Hi[0])
	i, j := 0, 0
	for i < len(b.Lo)-1 && j < len(b.Hi)-1 && b.Lo[i] > b.Hi[j] {
		// Drop the one that stands farther from its own neighbours.
		if b.Lo[i]-b.Lo[i+1] >= b.Hi[j+1]-b.Hi[j] {
			i++
		} else {
			j++
		}
		o.Contradictions++
	}
	o.Lo, o.Hi = b.Lo[i], b.Hi[j]
	if o.Lo > o.Hi {
		o.Contradictions++
	}
	apart := func(list []int64, at int) bool { // what was set aside stands apart from what was kept
		distance := func(a, b int64) int64 { return max(a-b, b-a) }
		return at == 0 || distance(list[at-1], list[at]) >= distance(list[at], list[len(list)-1])
	}
	if o.Contradictions > maxLies || !apart(b.Lo, i) || !apart(b.Hi, j) {
		// So many calls do not lie, and lies are not just beyond the truth: the clocks
		// drifted. The least upper bound is of when the one was most behind, and the
		// greatest lower bound of when it was most ahead, each off by about the way
		// there or back at its shortest.
		o.Lo, o.Hi = b.Hi[0]-b.Least, b.Lo[0]+b.Least
	}
	return o
}

// clockWindow is the length of the windows, in ns, in which clocks are taken to
// keep their offsets: clocks drift, and two runs may be a week apart.
const clockWindow = 1024 * 1_000_000_000

// A ClockKey is a pair of hosts in one window of time.
type ClockKey struct {
	HostPair
	Window int64
}

func windowOf(t trace.Time) int64 {
	w := int64(t) / clockWindow
	if int64(t)%clockWindow < 0 {
		w--
	}
	return w
}

// Clocks says how the clocks of hosts differ, window by window. The nil Clocks
// knows nothing: recorded times stand.
type Clocks struct {
	Windows []*ClockWindow // by time
}

// At is the window of a time; of none of its own, the nearest.
func (c *Clocks) At(t trace.Time) *ClockWindow {
	if c == nil || len(c.Windows) == 0 {
		return nil
	}
	return c.window(windowOf(t))
}

// offset is how far the clock of the second host is ahead of that of the first,
// and how far from that it may be; zero of the same clock, and of clocks of which
// nothing is known: recorded times stand.
func (c *Clocks) offset(k ClockKey) (offset, slack int64) {
	if c == nil || len(c.Windows) == 0 || k == (ClockKey{}) {
		return 0, 0
	}
	w := c.window(k.Window)
	shift, _ := w.Shift(k.A, k.B)
	return -shift, w.Slack(k.A, k.B)
}

func (c *Clocks) window(w int64) *ClockWindow {
	at, _ := slices.BinarySearchFunc(c.Windows, w, func(x *ClockWindow, w int64) int { return cmp.Compare(x.Window, w) })
	switch {
	case at == len(c.Windows):
		at--
	case at > 0 && c.Windows[at].Window-w > w-c.Windows[at-1].Window:
		at--
	}
	return c.Windows[at]
}

// A ClockWindow says how the clocks of hosts differ in one window of time.
type ClockWindow struct {
	Window int64
	Pairs  []HostPair // in order of the hosts' codes
	Offset map[HostPair]Offset

	ahead map[trace.StringID]int64 // what a host's clock is ahead of its group's first
	group map[trace.StringID]int
	width map[trace.StringID]int64 // how far ahead may be from what it is, by the calls that lead to the group's first
	known map[trace.StringID]knownHost
}

// solveClocks finds, in each window, one offset for each host that fits the
// bounds of all pairs, as far as there is one. Clocks that could all be right
// are left alone; one request alone moves no clock.
func solveClocks(bounds map[ClockKey]*Bounds) *Clocks {
	byWindow := map[int64]map[HostPair]*Bounds{}
	for k, b := range bounds {
		if byWindow[k.Window] == nil {
			byWindow[k.Window] = map[HostPair]*Bounds{}
		}
		byWindow[k.Window][k.HostPair] = b
	}
	c := &Clocks{}
	for w, b := range byWindow {
		c.Windows = append(c.Windows, solveWindow(w, b))
	}
	slices.SortFunc(c.Windows, func(a, b *ClockWindow) int { return cmp.Compare(a.Window, b.Window) })
	return c
}

func solveWindow(window int64, bounds map[HostPair]*Bounds) *ClockWindow {
	c := &ClockWindow{Window: window, Offset: map[HostPair]Offset{}, ahead: map[trace.StringID]int64{}, group: map[trace.StringID]int{}, width: map[trace.StringID]int64{}}
	near := map[trace.StringID][]trace.StringID{}
	for p, b := range bounds {
		o := b.offset()
		if !o.Below() && !o.Above() {
			continue
		}
		c.Pairs = append(c.Pairs, p)
		c.Offset[p] = o
		if b.N > 1 && (!o.Open() || o.Lo > 0 || o.Hi < 0) { // else recorded times stand

			near[p.A] = append(near[p.A], p.B)
			near[p.B] = append(near[p.B], p.A)
		}
	}
	slices.SortFunc(c.Pairs, compareHosts)
	var hosts []trace.StringID
	for h := range near {
		slices.Sort(near[h])
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	groups := 0
	for _, first := range hosts {
		if c.group[first] != 0 {
			continue
		}
		groups++
		c.group[first] = groups
		members := []trace.StringID{first}
		for i := 0; i < len(members); i++ {
			for _, h := range near[members[i]] {
				if c.group[h] == 0 {
					c.group[h] = groups
					o, _ := c.Between(members[i], h)
					c.width[h] = c.width[members[i]] + o.width()
					members = append(members, h)
				}
			}
		}
		c.settle(members, near)
	}
	c.known = make(map[trace.StringID]knownHost, len(c.group))
	for h, g := range c.group {
		c.known[h] = knownHost{g, c.ahead[h]}
	}
	return c
}

// width is how far an offset is uncertain; of an open one, how far it surely is from none: it may be as far from that.
func (o Offset) width() int64 {
	if !o.Open() {
		return o.Hi - o.Lo
	}
	return max(o.Lo, -o.Hi)
}

// A knownHost is what Shift asks of a host.
type knownHost struct {
	group int
	ahead int64
}

// maxClosure is how many hosts' bounds are combined over all ways between them,
// which costs their number to the third power. Of more, only neighbours are
// compared.
const maxClosure = 160

// settle gives the hosts of a group their offsets, in order: zero if it can be,
// else the middle of what the hosts before it leave.
func (c *ClockWindow) settle(hosts []trace.StringID, near map[trace.StringID][]trace.StringID) {
	most := c.closure(hosts, near)
	for i, h := range hosts {
		lo, hi := int64(-unbounded), int64(unbounded)
		if most != nil {
			for j, g := range hosts[:i] {
				ahead := c.ahead[g]
				lo, hi = max(lo, ahead-most[i*len(hosts)+j]), min(hi, ahead+most[j*len(hosts)+i])
			}
		} else {
			for _, g := range near[h] {
				if ahead, settled := c.ahead[g]; settled {
					o, _ := c.Between(g, h)
					if o.Below() {
						lo = max(lo, ahead+o.Lo)
					}
					if o.Above() {
						hi = min(hi, ahead+o.Hi)
					}
				}
			}
		}
		switch {
		case i == 0 || lo <= 0 && 0 <= hi:
			c.ahead[h] = 0
		case lo < -unbounded/2:
			c.ahead[h] = hi
		case hi > unbounded/2:
			c.ahead[h] = lo
		default:
			c.ahead[h] = lo + (hi-lo)/2
		}
	}
}

const unbounded = int64(1) << 60

// closure is, for each pair of hosts, the most that the second's clock can be
// ahead of the first's by any way between them (Floyd and Warshall). Bounds that
// contradict each other around a circle are widened by as little as makes them
// agree. It is nil for too many hosts.
func (c *ClockWindow) closure(hosts []trace.StringID, near map[trace.StringID][]trace.StringID) []int64 {
	n := len(hosts)
	if n > maxClosure {
		return nil
	}
	place := map[trace.StringID]int{}
	for i, h := range hosts {
		place[h] = i
	}
	most := make([]int64, n*n)
	for widen := int64(0); ; widen = max(10_000, 2*widen) {
		for i := range most {
			most[i] = unbounded
		}
		for i, h := range hosts {
			most[i*n+i] = 0
			for _, g := range near[h] {
				if o, ok := c.Between(h, g); ok && o.Above() {
					most[i*n+place[g]] = o.Hi + widen
				}
			}
		}
		for k := range n {
			for i := range n {
				if most[i*n+k] == unbounded {
					continue
				}
				for j := range n {
					if d := most[i*n+k] + most[k*n+j]; d < most[i*n+j] {
						most[i*n+j] = d
					}
				}
			}
		}
		ok := true
		for i := range n {
			ok = ok && most[i*n+i] >= 0
		}
		if ok {
			return most
		}
	}
}

// Between is what is known of clock(b) − clock(a).
func (c *ClockWindow) Between(a, b trace.StringID) (Offset, bool) {
	if c == nil {
		return Offset{}, false
	}
	if o, ok := c.Offset[HostPair{a, b}]; ok {
		return o, true
	}
	o, ok := c.Offset[HostPair{b, a}]
	o.Lo, o.Hi = -o.Hi, -o.Lo
	return o, ok
}

// Shift is what to add to a time of host h to place it on the clock of host
// entry, and whether anything is known of it.
func (c *ClockWindow) Shift(entry, h trace.StringID) (int64, bool) {
	if entry == h {
		return 0, true
	}
	if c == nil {
		return 0, false
	}
	a, b := c.known[entry], c.known[h]
	if a.group == 0 || a.group != b.group {
		return 0, false
	}
	return a.ahead - b.ahead, true
}

// Slack is how far the offset between two hosts may be from the one used: how far the clock of b, whom a calls, may be
// ahead of that, where the offset is open on the other side. It is
// zero within one host, and where nothing is known: recorded times stand.
func (c *ClockWindow) Slack(a, b trace.StringID) int64 {
	if a == b {
		return 0
	}
	if o, ok := c.Between(a, b); ok {
		shift, _ := c.Shift(a, b)
		switch {
		case !o.Open():
			return o.Hi - o.Lo
		case o.Above():
			return max(0, o.Hi+shift)
		}
		return max(0, -shift-o.Lo)
	}
	if c == nil || c.group[a] == 0 || c.group[a] != c.group[b] {
		return 0
	}
	return c.width[a] + c.width[b] // they never called each other: by way of others
}
