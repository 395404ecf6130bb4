package graph

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// An OrderVerdict is what is known of "A comes before B" for two sibling slots.
type OrderVerdict uint8

const (
	// OrderUndecided: too few requests have both, and none refutes it.
	OrderUndecided OrderVerdict = iota
	OrderHeld
	OrderRefuted
)

// An Order is the hypothesis that one slot comes before another, with the
// requests that speak for and against it.
type Order struct {
	Verdict       OrderVerdict
	Held, Refuted int64
	Gaps          Sketch // start of the later less end of the earlier, ns, by the clocks used
}

const (
	// minOrder is how many requests must have both calls for an order to be
	// held: of two that agree by chance there are many.
	minOrder = 3
	// maxRefuted is the share of requests that may refute an order that is
	// held: clocks lie now and then.
	maxRefuted = 0.01
	// maxRepeatsOverlap is the share of requests in which repeats of one call
	// may overlap and still be a sequence.
	maxRepeatsOverlap = 0.05
)

// A WaitedVerdict says whether callers wait for a slot.
type WaitedVerdict uint8

const (
	// WaitedUndecided: nothing refutes it, and too little speaks for it.
	WaitedUndecided WaitedVerdict = iota
	// WaitedHeld: callers go on when it ends, and hardly any went on before.
	WaitedHeld
	// Asynchronous: callers do not wait for it, also where it happened to end
	// before they did.
	Asynchronous
	// Abandoned: callers wait for it, and some give up and go on.
	Abandoned
)

// A WaitedFor is whether callers wait for a slot, with the requests that speak
// for and against it.
type WaitedFor struct {
	Verdict              WaitedVerdict
	N, Refuted           int64
	Inside, Followed     int64
	ExpectedByChance     float64
	RefutedLo, RefutedHi float64 // 95 % bounds of the share that refutes

	// Usual is the calls after whose end the parent did its next thing after its
	// usual time, within usualTail of the median either way.
	Usual                 int64
	UsualExpectedByChance float64

	// Rest is how long, at the median, the parent went on after the last of its
	// calls had ended, in ns.
	Rest int64
}

const (
	// minRefutations and minRefutedShare: fewer calls that outlive their parent
	// are not enough to call a slot asynchronous.
	minRefutations  = 5
	minRefutedShare = 0.01
	// maxAbandoned is the share of calls up to which callers may give up on what
	// they wait for. Beyond it, what ended inside is what happened to.
	maxAbandoned = 0.75
	// outlasts: callers give up on calls that take longer than this share of those they waited for.
	outlasts = 0.75
	// mostlyOlder is the share of the calls that outlived their parent that must surely be older than that when it ended.
	mostlyOlder = 0.5
	// heldOverChance: a call is waited for if its parent goes on at its end at
	// least twice as often as chance gives.
	heldOverChance = 2
	// usualTail is the factor around the median within which the time from a
	// call's end to its parent's next event is the usual one. What a parent does
	// with an answer takes about the same time always; the time from the end of
	// what nobody waits for to whatever comes next takes any.
	usualTail = 1.5
	minUsual  = 20 // calls: the median is of the same calls
	// minUsualShare is the share of the times that must surely be the usual one.
	// Of ends that fall anywhere into the parent's last stretch, 5/12 leave the
	// usual time: it is from 1/3 to 3/4 of the stretch.
	minUsualShare = 0.5
	// minFollowed is how many calls must have been followed at once.
	minFollowed = 5
)

// Verdicts is what a merged Fold says. It is read-only.
type Verdicts struct {
	Dict   *Dict
	Clocks *Clocks
	orders map[[2]SlotID]*Order
	after  [][]after    // of each slot: the orders before others, by the others' slots
	waited []*WaitedFor // by slot; nil: nothing is known

	kinds   map[kind]map[[2]SlotID]OrderVerdict // orders of kinds of request that are not those of all
	byCalls bool                                // some kind is told by its calls
}

// An after is the order of a slot before another one.
type after struct {
	slot SlotID
	*Order
}

// index lists the orders by slot, for those who ask for each pair of siblings.
func (v *Verdicts) index() {
	v.after = make([][]after, v.Dict.Slots())
	for p, o := range v.orders {
		v.after[p[0]] = append(v.after[p[0]], after{p[1], o})
	}
	for _, list := range v.after {
		slices.SortFunc(list, func(a, b after) int { return cmp.Compare(a.slot, b.slot) })
	}
}

// SolveClocks finds the clocks' offsets from the bounds of a merged fold.
func SolveClocks(f *Fold) *Clocks { return solveClocks(f.Clocks) }

// NewVerdicts reads a merged fold. Clocks come from all sets together, since a
// clock does not know which set it is in.
func NewVerdicts(d *Dict, f *Fold, clocks *Clocks) *Verdicts {
	v := &Verdicts{Dict: d, Clocks: clocks, orders: map[[2]SlotID]*Order{}, waited: make([]*WaitedFor, d.Slots())}
	for _, p := range sortedKeys(f.Orders, comparePairs) {
		s := f.Orders[p]
		o := v.orders[[2]SlotID{p.A, p.B}]
		if o == nil {
			o = &Order{}
			v.orders[[2]SlotID{p.A, p.B}] = o
		}
		var offset, slack int64
		if p.Clocks != (ClockKey{}) {
			offset, slack = clocks.offset(p.Clocks)
		}
		refuted := s.Below(offset - slack)
		o.Refuted += refuted
		o.Held += s.N() - refuted
		for b, c := range s.bins.all() {
			if gap := int64(value(b)) - offset; offset != 0 {
				o.Gaps.addN(max(gap, 0), c)
			} else {
				o.Gaps.addBin(b, c)
			}
		}
	}
	for key, o := range v.orders {
		limit := maxRefuted
		if key[0] == key[1] {
			limit = maxRepeatsOverlap
		}
		switch n := o.Held + o.Refuted; {
		case float64(o.Refuted) > limit*float64(n):
			o.Verdict = OrderRefuted
		case n >= minOrder:
			o.Verdict = OrderHeld
		}
	}
	v.inTurn()
	v.index()
	for slot, w := range f.Waited {
		r := &WaitedFor{N: w.N, Inside: w.Inside, Followed: w.Followed, ExpectedByChance: float64(w.Chance) / OneRequest}
		for p, s := range w.Overhang {
			offset, slack := clocks.offset(p)
			r.Refuted += s.Above(slack + max(0, offset))
		}
		r.RefutedLo, r.RefutedHi = wilson(r.Refuted, r.N)
		usual := w.Tail.Quantile(0.5)
		lo, hi := int64(usual/usualTail), int64(usual*usualTail)
		r.Usual = w.Tail.N() - w.Tail.Below(lo) - w.Tail.Above(hi)
		r.UsualExpectedByChance = float64(w.Rate) / (1 << 40) * float64(hi-lo)
		r.Rest = int64(w.Rest.Quantile(0.5))
		usualLo, _ := wilson(r.Usual, w.Tail.N())
		held := r.Followed >= minFollowed && float64(r.Followed) >= heldOverChance*r.ExpectedByChance ||
			usualLo > minUsualShare && r.Usual >= minUsual && float64(r.Usual) >= heldOverChance*r.UsualExpectedByChance
		switch {
		case r.Refuted >= minRefutations && r.RefutedLo > minRefutedShare && held && w.cutAtAnyAge(r.Rest):
			// Undecided: its parent sometimes ends a little before it, which is nobody's leaving.
		case r.Refuted >= minRefutations && r.RefutedLo > minRefutedShare && held && float64(r.Refuted) <= maxAbandoned*float64(r.N):
			r.Verdict = Abandoned
		case r.Refuted >= minRefutations && r.RefutedLo > minRefutedShare:
			r.Verdict = Asynchronous
		case held:
			r.Verdict = WaitedHeld
		}
		v.waited[slot] = r
	}
	return v
}

// cutAtAnyAge reports whether the calls that outlived their parent were not surely older when it ended, less the rest it
// usually takes, than most calls become: whoever gives up does so when a call takes longer than others, while a callback
// that answers for its parent, and ends just before or just after it, is of any age.
func (w *Waited) cutAtAnyAge(rest int64) bool {
	n := w.Age.N()
	if n < minRefutations {
		return false
	}
	older, _ := wilson(w.Age.Above(int64(w.Took.Quantile(outlasts))+rest), n)
	return older <= mostlyOlder
}

// inTurn holds the order of a before b where a loop calls b and then a, over and over: each b but the first follows an a.
// Requests that go round once have no such b, and their one a comes after their one b; that refutes a first a, not this
// order. It is a loop if b is before a in all requests, both are repeated in turn, and what refutes a before b is no more
// than the requests that go round once.
func (v *Verdicts) inTurn() {
	for key, o := range v.orders {
		a, b := key[0], key[1]
		if a == b || o.Verdict != OrderRefuted || o.Held < minOrder {
			continue
		}
		first, as, bs := v.orders[[2]SlotID{b, a}], v.orders[[2]SlotID{a, a}], v.orders[[2]SlotID{b, b}]
		if first == nil || as == nil || bs == nil || first.Verdict != OrderHeld || as.Verdict != OrderHeld || bs.Verdict != OrderHeld {
			continue
		}
		around := max(as.Held+as.Refuted, bs.Held+bs.Refuted)
		once := max(0, first.Held+first.Refuted-around)
		if float64(o.Refuted-once) <= maxRefuted*float64(around) {
			o.Verdict = OrderHeld
		}
	}
}

// Order is what is known of a before b.
func (v *Verdicts) Order(a, b SlotID) Order {
	if v == nil || v.orders[[2]SlotID{a, b}] == nil {
		return Order{}
	}
	return *v.orders[[2]SlotID{a, b}]
}

// Refuted reports whether a does not come before b.
func (v *Verdicts) refuted(a, b SlotID) OrderVerdict {
	if v == nil || int(a) >= len(v.after) {
		return OrderUndecided
	}
	list := v.after[a]
	for len(list) > 8 { // few siblings are looked through, many divided
		if mid := len(list) / 2; list[mid].slot <= b {
			list = list[mid:]
		} else {
			list = list[:mid]
		}
	}
	for i := range list {
		if list[i].slot == b {
			return list[i].Verdict
		}
	}
	return OrderUndecided
}

// Parallel is v with no order between the slots: what they would be if none
// needed another's answer.
func (v *Verdicts) Parallel(slots []SlotID) *Verdicts {
	c := *v
	c.orders = maps.Clone(v.orders)
	for _, a := range slots {
		for _, b := range slots {
			o := v.Order(a, b)
			o.Verdict = OrderRefuted
			c.orders[[2]SlotID{a, b}] = &o
		}
	}
	c.index()
	return &c
}

// WaitedFor is what is known of a slot's being waited for.
func (v *Verdicts) WaitedFor(slot SlotID) WaitedFor {
	if v == nil || int(slot) >= len(v.waited) || v.waited[slot] == nil {
		return WaitedFor{}
	}
	return *v.waited[slot]
}

// waitedVerdict is WaitedFor's Verdict, for those who ask for each call.
func (v *Verdicts) waitedVerdict(slot SlotID) WaitedVerdict {
	if v == nil || int(slot) >= len(v.waited) || v.waited[slot] == nil {
		return WaitedUndecided
	}
	return v.waited[slot].Verdict
}

func (v *Verdicts) clocks() *Clocks {
	if v == nil {
		return nil
	}
	return v.Clocks
}

func (s *Sketch) addN(ns, n int64) { s.addBin(bin(ns), n) }

func (s *Sketch) addBin(b int16, n int64) {
	s.bins.add(b, n)
	s.n += n
}

// wilson is the 95 % score interval of a share (Wilson 1927).
func wilson(k, n int64) (lo, hi float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, mid-half), min(1, mid+half)
}
