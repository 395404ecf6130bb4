package summary

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"unsafe"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/trace"
)

// A Summary keeps all records while they fit. Beyond its bound it keeps a
// sample that is dense where quantiles are decided: of each stratum, the requests
// of one kind whose latencies are within 1 % of each other, the m records with
// the smallest keys, and a few of every shape besides. A key is drawn from the
// request's ids, so the sample is the same whatever the order of the input and
// however it was split. The tail, where a stratum has few requests, is kept
// whole.
//
// The less fits, the smaller is m; and where so many kinds of requests are of so
// many latencies that a few of each are too many, strata become wider.

// keptOfShape is how many records of each shape are kept whatever their latency,
// of at most maxKeptShapes shapes of an endpoint.
const (
	keptOfShape   = 8
	maxKeptShapes = 1000
)

// A level says how much is kept; the higher, the less. Level 0 keeps 2^16 of each
// stratum of 1 %. From leastAtWidth on strata are twice as wide at each level
// instead, until one holds all latencies, and then m falls again.
type level int

const (
	mostBits     = 16
	leastBits    = 4
	leastAtWidth = level(mostBits - leastBits)
	widest       = 13 // bins lie between ±2^13
	lastLevel    = leastAtWidth + widest + leastBits
)

// m is how many records of a stratum are kept, a power of two.
func (l level) m() int {
	switch {
	case l <= leastAtWidth:
		return 1 << (mostBits - l)
	case l <= leastAtWidth+widest:
		return 1 << leastBits
	}
	return 1 << (lastLevel - l)
}

// shift is by how many bits bins of 1 % are joined.
func (l level) shift() int { return int(min(max(l-leastAtWidth, 0), widest)) }

// Kept is the sample that the records of a Summary are, and what it was drawn
// from.
type Kept struct {
	level level

	strata map[stratum]*tally
	shapes map[shapeKey]*bound
	paths  []uint64 // by slot of the Dict: a hash of its path; zero: not known
	dict   int64    // bytes of the Dict when it was last rid of what nobody uses
}

// Width is the factor within which latencies are of one stratum.
func (k *Kept) Width() float64 { return math.Pow(1.01, math.Ldexp(1, k.level.shift())) }

// A stratum is the requests of one kind with nearly one latency.
type stratum struct {
	trace.Endpoint
	Class, Reason trace.StringID
	Outcome       population.Outcome
	Standing      graph.Standing
	Orphan, Torn  bool
	Bucket        int16
}

// A tally counts a stratum's requests, kept or not.
type tally struct {
	n, weight int64
	largest   int64 // bytes of a record
	bound
}

// A bound is the least ticket that was not kept: the threshold below which the
// kept ones are. Where there is none, all are kept.
type bound struct {
	over ticket
	set  bool
}

// A ticket is what a record competes with for being kept.
type ticket struct {
	hash   uint64
	weight int64
}

// A shapeKey is a set of slots that the requests of one endpoint call.
type shapeKey struct {
	trace.Endpoint
	shape uint64
}

func (t ticket) key() float64 {
	return stats.SampleKey(t.hash, float64(max(t.weight, 1))/graph.OneRequest)
}

func (t ticket) compare(o ticket) int {
	return cmp.Or(cmp.Compare(t.key(), o.key()), cmp.Compare(t.hash, o.hash), cmp.Compare(t.weight, o.weight))
}

// ticketOf draws by the trace's id and the entry's.
func ticketOf(r *graph.Record) ticket { return ticket{ticketHash(r.TraceID, r.Entry), r.Weight} }

func ticketHash(id trace.TraceID, entry trace.SpanID) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, v := range [3]uint64{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]), uint64(entry)} {
		h ^= v
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
	}
	return h
}

// below lowers the bound to t if it is less.
func (b *bound) below(t ticket) {
	if !b.set || t.compare(b.over) < 0 {
		b.over, b.set = t, true
	}
}

// has reports whether a ticket is below the bound.
func (b *bound) has(t ticket) bool { return !b.set || t.compare(b.over) < 0 }

// recordBytes is about how much memory a record takes.
func recordBytes(r *graph.Record) int64 {
	return int64(unsafe.Sizeof(graph.Record{})) + 8 +
		int64(len(r.Calls))*int64(unsafe.Sizeof(graph.Call{})) + int64(len(r.Attrs))*int64(unsafe.Sizeof(trace.Attr{})) +
		int64(len(r.Waits))*int64(unsafe.Sizeof(graph.Wait{})) + int64(len(r.Links))*int64(unsafe.Sizeof(trace.Link{})) + int64(len(r.Limits))*16
}

func (k *Kept) stratumOf(d *graph.Dict, r *graph.Record) stratum {
	return stratum{entryName(d, r), r.Class, r.Reason, r.Outcome, r.Standing, r.Orphan, r.Torn, graph.Bin(r.Duration()) >> k.level.shift()}
}

// entryName is the endpoint of a record.
func entryName(d *graph.Dict, r *graph.Record) trace.Endpoint {
	s := d.SlotAt(r.Calls[0].Slot)
	if r.Calls[0].Client.Seen() {
		return s.Caller
	}
	return s.Callee
}

// shapeOf is the set of the slots that a record has calls of.
func (k *Kept) shapeOf(d *graph.Dict, r *graph.Record) shapeKey {
	// Each path's hash is added once: a sum does not depend on the order.
	var sum uint64
	var seen [64]graph.SlotID
	slots := seen[:0]
	for i := range r.Calls {
		slots = append(slots, r.Calls[i].Slot)
	}
	slices.Sort(slots)
	for _, s := range slices.Compact(slots) {
		sum += k.path(d, s)
	}
	return shapeKey{entryName(d, r), sum}
}

func (k *Kept) path(d *graph.Dict, slot graph.SlotID) uint64 {
	if slot == graph.NoSlot {
		return 1
	}
	if len(k.paths) <= int(slot) {
		k.paths = append(k.paths, make([]uint64, d.Slots()-len(k.paths))...)
	}
	if k.paths[slot] == 0 {
		s := d.SlotAt(slot)
		e := s.Shown()
		h := fnv.New64a()
		var up [8]byte
		binary.LittleEndian.PutUint64(up[:], k.path(d, s.Parent))
		h.Write(up[:])
		h.Write([]byte(d.String(e.Service) + "\x1f" + d.String(e.Operation) + "\x1f" + d.String(s.Peer)))
		k.paths[slot] = h.Sum64() | 1
	}
	return k.paths[slot]
}

// count counts a request.
func (k *Kept) count(d *graph.Dict, r *graph.Record) {
	st := k.stratumOf(d, r)
	t := k.strata[st]
	if t == nil {
		t = &tally{}
		k.strata[st] = t
	}
	t.n++
	t.weight += r.Weight
	t.largest = max(t.largest, recordBytes(r))
	if sh := k.shapeOf(d, r); k.shapes[sh] == nil {
		k.shapes[sh] = &bound{}
	}
}

// add adds another tally of the same stratum, or of one that it is joined with.
func (t *tally) add(o *tally) {
	t.n += o.n
	t.weight += o.weight
	t.largest = max(t.largest, o.largest)
	if o.set {
		t.below(o.over)
	}
}

// widen is the strata as they are at a level, which is not below k's.
func (k *Kept) widen(l level) map[stratum]*tally {
	by := l.shift() - k.level.shift()
	if by == 0 {
		return k.strata
	}
	wide := map[stratum]*tally{}
	for st, t := range k.strata {
		st.Bucket >>= by
		if wide[st] == nil {
			wide[st] = &tally{}
		}
		wide[st].add(t)
	}
	return wide
}

// raise sets the level, which is not below k's.
func (k *Kept) raise(l level) { k.strata, k.level = k.widen(l), l }

// cost bounds the memory of the records at a level. It never falls as requests
// are added, so that the level it leads to does not depend on their order.
func (k *Kept) cost(l level) int64 {
	type endpoint struct{ n, largest, shapes int64 }
	by := map[trace.Endpoint]*endpoint{}
	var sum int64
	for st, t := range k.widen(l) {
		sum += min(int64(l.m()), t.n) * t.largest
		e := by[st.Endpoint]
		if e == nil {
			e = &endpoint{}
			by[st.Endpoint] = e
		}
		e.n += t.n
		e.largest = max(e.largest, t.largest)
	}
	for sh := range k.shapes {
		if e := by[sh.Endpoint]; e != nil {
			e.shapes++
		}
	}
	for _, e := range by {
		sum += min(keptOfShape*min(e.shapes, maxKeptShapes), e.n) * e.largest
	}
	return sum
}

// sample makes the records a sample, of all of them as yet.
func (s *Summary) sample() {
	if s.Kept != nil {
		return
	}
	s.Kept = &Kept{strata: map[stratum]*tally{}, shapes: map[shapeKey]*bound{}}
	for _, r := range s.Records {
		s.Kept.count(s.Dict, r)
	}
}

// Bound drops records until those that are left, with the texts of all, take
// about so many bytes at most. Which are left depends on the content of s alone,
// whenever it was bounded before, if the bounds were as large. It must not be
// called while an Adder is in use.
func (s *Summary) Bound(bytes int64) {
	if s.Whole != nil {
		s.Whole.bound(s.Dict, bytes/4)
	}
	if s.Kept == nil {
		sum := s.Dict.Bytes()
		for _, r := range s.Records {
			sum += recordBytes(r)
		}
		if sum <= bytes {
			return
		}
		s.sample()
	}
	k := s.Kept
	l := k.level
	for l < lastLevel && k.cost(l) > bytes {
		l++
	}
	k.raise(l)
	s.compact()
	if s.Dict.Bytes() > 2*k.dict+1<<20 { // texts of requests that were dropped
		s.Canonicalize()
		k.dict = s.Dict.Bytes()
	}
}

// compact drops the records that are not of the sample.
func (s *Summary) compact() {
	k := s.Kept
	type candidate struct {
		ticket
		key float64
		at  int32 // of s.Records
	}
	keep := make([]bool, len(s.Records))
	choose := func(list []candidate, m int, b *bound) {
		slices.SortFunc(list, func(a, b candidate) int {
			if a.key != b.key {
				return cmp.Compare(a.key, b.key)
			}
			return cmp.Or(a.ticket.compare(b.ticket), s.Records[a.at].Compare(s.Records[b.at]))
		})
		for i, c := range list {
			if i < m && b.has(c.ticket) {
				keep[c.at] = true
			} else {
				b.below(c.ticket)
				break
			}
		}
	}
	strata := map[stratum][]candidate{}
	shapes := map[shapeKey][]candidate{}
	for i, r := range s.Records {
		c := candidate{ticket: ticketOf(r), at: int32(i)}
		c.key = c.ticket.key()
		st, sh := k.stratumOf(s.Dict, r), k.shapeOf(s.Dict, r)
		strata[st] = append(strata[st], c)
		shapes[sh] = append(shapes[sh], c)
	}
	for st, list := range strata {
		choose(list, k.level.m(), &k.strata[st].bound)
	}
	k.trim()
	for sh, list := range shapes {
		if b := k.shapes[sh]; b != nil {
			choose(list, keptOfShape, b)
		}
	}
	kept := s.Records[:0]
	for i, r := range s.Records {
		if keep[i] {
			// Calls are cut from slabs that hold those of dropped records too.
			r.Calls = slices.Clone(r.Calls)
			r.Attrs = slices.Clone(r.Attrs)
			kept = append(kept, r)
		}
	}
	clear(s.Records[len(kept):])
	s.Records = slices.Clip(kept)
}

// trim leaves each endpoint the shapes with the least hashes.
func (k *Kept) trim() {
	by := map[trace.Endpoint][]uint64{}
	for sh := range k.shapes {
		by[sh.Endpoint] = append(by[sh.Endpoint], sh.shape)
	}
	for e, list := range by {
		if len(list) > maxKeptShapes {
			slices.Sort(list)
			for _, h := range list[maxKeptShapes:] {
				delete(k.shapes, shapeKey{e, h})
			}
		}
	}
}

// remap translates the codes.
func (k *Kept) remap(m *graph.Remap) {
	endpoint := func(e trace.Endpoint) trace.Endpoint {
		return trace.Endpoint{Service: m.Strings[e.Service], Operation: m.Strings[e.Operation]}
	}
	strata := make(map[stratum]*tally, len(k.strata))
	for st, t := range k.strata {
		st.Endpoint, st.Class, st.Reason = endpoint(st.Endpoint), m.Strings[st.Class], m.Strings[st.Reason]
		strata[st] = t
	}
	shapes := make(map[shapeKey]*bound, len(k.shapes))
	for sh, b := range k.shapes {
		sh.Endpoint = endpoint(sh.Endpoint)
		shapes[sh] = b
	}
	k.strata, k.shapes, k.paths = strata, shapes, nil
}

// merge adds o's counts and bounds, given in the same codes.
func (k *Kept) merge(o *Kept) {
	l := max(k.level, o.level)
	k.raise(l)
	o.raise(l)
	for st, t := range o.strata {
		if into := k.strata[st]; into == nil {
			k.strata[st] = t
		} else {
			into.add(t)
		}
	}
	for sh, b := range o.shapes {
		into := k.shapes[sh]
		if into == nil {
			k.shapes[sh] = b
			continue
		}
		if b.set {
			into.below(b.over)
		}
	}
}

// use marks the strings that k refers to.
func (k *Kept) use(used []bool) {
	for st := range k.strata {
		used[st.Service], used[st.Operation], used[st.Class], used[st.Reason] = true, true, true, true
	}
	for sh := range k.shapes {
		used[sh.Service], used[sh.Operation] = true, true
	}
}

// weigh gives the records the weights of what they stand for: the weights of a
// stratum's records sum to the stratum's, and in expectation so do those of any
// part of it. It returns how many requests there were, and for how many of them
// each record stands, if for more than itself.
//
// A record is kept if its ticket is below the bound of its stratum or of its
// shape; as the tickets are drawn by the same lot, it is kept if it is below the
// larger of the two that let it in (Cohen, Kaplan and Sen 2009).
func (s *Summary) weigh() (requests int64, stands map[*graph.Record]float64) {
	k := s.Kept
	stands = map[*graph.Record]float64{}
	k.trim()
	strata := map[stratum][]*graph.Record{}
	for _, r := range s.Records {
		st := k.stratumOf(s.Dict, r)
		strata[st] = append(strata[st], r)
	}
	for st, t := range k.strata {
		requests += t.n
		records := strata[st]
		if !t.set || len(records) == 0 {
			continue
		}
		slices.SortFunc(records, func(a, b *graph.Record) int {
			return cmp.Or(ticketOf(a).compare(ticketOf(b)), a.Compare(b))
		})
		weights := make([]float64, len(records)) // zero: it is there for certain
		rest, sum := t.weight, 0.0
		for i, r := range records {
			own, tau := ticketOf(r), 0.0
			if t.has(own) {
				tau = t.over.key()
			}
			if b := k.shapes[k.shapeOf(s.Dict, r)]; b != nil && b.has(own) {
				if !b.set {
					rest -= r.Weight
					continue
				}
				tau = max(tau, b.over.key())
			}
			w := float64(max(r.Weight, 1)) / graph.OneRequest
			weights[i] = w / -math.Expm1(-w*tau)
			sum += weights[i]
		}
		if sum == 0 || rest <= 0 { // all are there for certain, and stand for all
			rest, sum = t.weight, 0
			for i, r := range records {
				weights[i] = float64(max(r.Weight, 1))
				sum += weights[i]
			}
		}
		done, at := int64(0), 0.0
		for i, r := range records {
			if weights[i] == 0 {
				continue
			}
			at += weights[i]
			until := int64(math.Round(float64(rest) * min(1, at/sum)))
			own := r.Weight
			r.Weight, done = max(until-done, 1), until
			stands[r] = float64(r.Weight) / float64(max(own, 1))
		}
	}
	return requests, stands
}

// append appends k in its one canonical form, given that its codes are canonical.
func (k *Kept) append(to []byte) []byte {
	uint := func(vs ...uint64) {
		for _, v := range vs {
			to = binary.AppendUvarint(to, v)
		}
	}
	bounded := func(b *bound) {
		if !b.set {
			to = append(to, 0)
			return
		}
		to = append(to, 1)
		to = binary.BigEndian.AppendUint64(to, b.over.hash)
		uint(uint64(b.over.weight))
	}
	if k == nil {
		uint(0)
		return to
	}
	uint(uint64(k.level)+1, uint64(len(k.strata)))
	for _, st := range slices.SortedFunc(maps.Keys(k.strata), compareStrata) {
		t := k.strata[st]
		lost := byte(0)
		if st.Orphan {
			lost |= orphan
		}
		if st.Torn {
			lost |= torn
		}
		uint(uint64(st.Service), uint64(st.Operation), uint64(st.Class), uint64(st.Reason))
		to = append(to, byte(st.Outcome), byte(st.Standing), lost)
		to = binary.AppendVarint(to, int64(st.Bucket))
		uint(uint64(t.n), uint64(t.weight), uint64(t.largest))
		bounded(&t.bound)
	}
	uint(uint64(len(k.shapes)))
	for _, sh := range slices.SortedFunc(maps.Keys(k.shapes), func(a, b shapeKey) int {
		return cmp.Or(compareEndpoints(a.Endpoint, b.Endpoint), cmp.Compare(a.shape, b.shape))
	}) {
		uint(uint64(sh.Service), uint64(sh.Operation))
		to = binary.BigEndian.AppendUint64(to, sh.shape)
		bounded(k.shapes[sh])
	}
	return to
}

func compareEndpoints(a, b trace.Endpoint) int {
	return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Operation, b.Operation))
}

func compareStrata(a, b stratum) int {
	flag := func(v bool) int {
		if v {
			return 1
		}
		return 0
	}
	return cmp.Or(
		compareEndpoints(a.Endpoint, b.Endpoint), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Standing, b.Standing), flag(a.Orphan)-flag(b.Orphan), flag(a.Torn)-flag(b.Torn), cmp.Compare(a.Bucket, b.Bucket),
	)
}

// decodeKept reads what append wrote, of the records that were read before.
func decodeKept(d *graph.Decoder, dict *graph.Dict, records []*graph.Record) *Kept {
	l := level(d.Code(int(lastLevel)+2)) - 1
	if d.Err != nil || l < 0 {
		return nil
	}
	k := &Kept{level: l, strata: map[stratum]*tally{}, shapes: map[shapeKey]*bound{}}
	str := func() trace.StringID { return trace.StringID(d.Code(dict.Strings())) }
	bounded := func() (b bound) {
		if b.set = d.Code(2) == 1; b.set {
			b.over.hash = binary.BigEndian.Uint64(d.Take(8))
			b.over.weight = int64(d.Uint())
		}
		return b
	}
	for range d.Length(12) {
		st := stratum{Endpoint: trace.Endpoint{Service: str(), Operation: str()}, Class: str(), Reason: str()}
		head := d.Take(3)
		st.Outcome, st.Standing, st.Orphan, st.Torn = population.Outcome(head[0]), graph.Standing(head[1]), head[2]&orphan != 0, head[2]&torn != 0
		bucket := d.Int()
		st.Bucket = int16(bucket)
		if int64(st.Bucket) != bucket || head[2]&^(orphan|torn) != 0 || int(st.Outcome) >= len(population.Outcomes) || st.Standing > graph.Scheduled {
			d.Fail()
		}
		t := &tally{n: int64(d.Uint()), weight: int64(d.Uint()), largest: int64(d.Uint())}
		for _, v := range [3]int64{t.n, t.weight, t.largest} {
			if v < 0 || v > 1<<60 {
				d.Fail()
			}
		}
		t.bound = bounded()
		k.strata[st] = t
	}
	for range d.Length(11) {
		sh := shapeKey{Endpoint: trace.Endpoint{Service: str(), Operation: str()}}
		sh.shape = binary.BigEndian.Uint64(d.Take(8))
		b := bounded()
		k.shapes[sh] = &b
	}
	for _, r := range records {
		if d.Err == nil && k.strata[k.stratumOf(dict, r)] == nil {
			d.Fail() // a record of no stratum
		}
	}
	return k
}
