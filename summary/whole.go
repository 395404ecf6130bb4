package summary

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// Whole is the requests of a Summary that are kept span by span, so that they can
// be opened when the traces are gone: of each endpoint a ladder from the slowest
// down, a few by lot, and the slowest of those that did not complete. What is kept
// depends on the requests alone: each of the three is the first few in an order of
// its own, so parts merged in any order are the whole.
type Whole struct {
	level wholeLevel
	of    map[trace.Endpoint]*wholeOf

	packer trace.Packer
}

// The sorts of requests that are kept.
const (
	ladder     = iota // the slowest of each rung, from the highest rung down
	lot               // by a hash of their ids
	incomplete        // that failed, timed out or were left; the slowest
	sorts
)

// wholeOf is the requests of one endpoint.
type wholeOf struct {
	n       int64 // that might have been kept; at most mostWhole
	largest int64 // bytes that one of them may take
	kept    [sorts][]whole
}

// A whole is a request and the spans of its trace, packed.
type whole struct {
	trace trace.TraceID
	entry trace.SpanID
	ns    int64
	spans []byte
}

// mostSpans is how many bytes a trace may take to be kept.
const mostSpans = 256 << 10

// A wholeLevel says how many are kept: at level 0 twelve, four and four; half of it
// at each level, down to the slowest alone; and then those of half of the
// endpoints.
type wholeLevel int

const (
	firstHalved    wholeLevel = 4 // the level from which on endpoints are left out
	lastWholeLevel wholeLevel = firstHalved + 32
)

var mostOf = [sorts]int{ladder: 12, lot: 4, incomplete: 4}

// most is how many of one sort are kept.
func (l wholeLevel) most(sort int) int {
	if l >= firstHalved && sort == ladder {
		return 1
	}
	return mostOf[sort] >> l
}

// total is how many are kept of an endpoint.
func (l wholeLevel) total() (n int64) {
	for sort := range sorts {
		n += int64(l.most(sort))
	}
	return n
}

// mostWhole is total at level 0.
var mostWhole = wholeLevel(0).total()

// has reports whether an endpoint's requests are kept at a level.
func (l wholeLevel) has(d *graph.Dict, e trace.Endpoint) bool {
	if l < firstHalved {
		return true
	}
	h := uint64(14695981039346656037)
	for _, c := range []byte(d.String(e.Service) + "\x1f" + d.String(e.Operation)) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return bits.LeadingZeros64(h) > int(l-firstHalved)
}

// KeepWhole makes s keep some requests span by span, of those that are added from
// now on.
func (s *Summary) KeepWhole() {
	if s.Whole == nil {
		s.Whole = &Whole{of: map[trace.Endpoint]*wholeOf{}}
	}
}

// rung is the number of a latency on a ladder with four rungs from each power of
// two to the next.
func rung(ns int64) int {
	n := bits.Len64(uint64(max(ns, 4)))
	return n<<2 | int(ns>>(n-3))&3
}

// compare orders the requests of a sort: those that are rather kept come first.
func (q *whole) compare(o *whole, sort int) int {
	first := cmp.Compare(o.ns, q.ns)
	if sort == lot {
		first = cmp.Compare(ticketHash(q.trace, q.entry), ticketHash(o.trace, o.entry))
	}
	return cmp.Or(first, q.trace.Compare(o.trace), cmp.Compare(q.entry, o.entry), bytes.Compare(q.spans, o.spans))
}

// offer adds the requests of a trace that are worth keeping. size is what the trace
// may take.
func (w *Whole) offer(d *graph.Dict, tree *graph.Tree, records []*graph.Record) {
	size := int64(-1)
	var packed []byte
	for _, r := range records {
		if r.Standing != graph.Counted {
			continue
		}
		e := entryName(d, r)
		if !w.level.has(d, e) {
			continue
		}
		if size < 0 {
			size = tree.Store.PackedBytes(tree.Spans)
		}
		if size > mostSpans {
			return
		}
		of := w.of[e]
		if of == nil {
			of = &wholeOf{}
			w.of[e] = of
		}
		of.n = min(of.n+1, mostWhole)
		of.largest = max(of.largest, size)
		q := whole{trace: r.TraceID, entry: r.Entry, ns: r.Duration()}
		for _, sort := range sortsOf(r) {
			at, ok := of.place(&q, sort, w.level)
			if !ok {
				continue
			}
			if packed == nil {
				w.packer.Plain = &graph.Plain
				packed = w.packer.Append(nil, tree.Store, tree.Spans)
			}
			q.spans = packed
			of.kept[sort] = slices.Insert(of.kept[sort], at, q)
			of.cut(sort, w.level)
		}
	}
}

// sortsOf is what a request may be kept as.
func sortsOf(r *graph.Record) []int {
	if r.Outcome == population.Completed {
		return []int{ladder, lot}
	}
	return []int{incomplete}
}

// place is where a request comes in among those of a sort, and whether it is to be
// kept there.
func (of *wholeOf) place(q *whole, sort int, l wholeLevel) (int, bool) {
	kept := of.kept[sort]
	at, _ := slices.BinarySearchFunc(kept, q, func(k whole, q *whole) int { return k.compare(q, sort) })
	if sort == ladder && at > 0 && rung(kept[at-1].ns) == rung(q.ns) {
		return 0, false // slower ones are on its rung
	}
	return at, at < l.most(sort)
}

// cut drops what is too much of a sort.
func (of *wholeOf) cut(sort int, l wholeLevel) {
	kept := of.kept[sort]
	if sort == ladder {
		kept = slices.CompactFunc(kept, func(a, b whole) bool { return rung(a.ns) == rung(b.ns) })
	}
	n := min(len(kept), l.most(sort))
	clear(kept[n:])
	of.kept[sort] = kept[:n]
}

// merge adds o, given in the same codes.
func (w *Whole) merge(d *graph.Dict, o *Whole) {
	w.raise(d, max(w.level, o.level))
	o.raise(d, w.level)
	for e, from := range o.of {
		of := w.of[e]
		if of == nil {
			w.of[e] = from
			continue
		}
		of.n = min(of.n+from.n, mostWhole)
		of.largest = max(of.largest, from.largest)
		for sort := range sorts {
			of.kept[sort] = append(of.kept[sort], from.kept[sort]...)
			slices.SortFunc(of.kept[sort], func(a, b whole) int { return a.compare(&b, sort) })
			of.cut(sort, w.level)
		}
	}
}

// raise sets the level, which is not below w's.
func (w *Whole) raise(d *graph.Dict, l wholeLevel) {
	if l == w.level {
		return
	}
	w.level = l
	for e, of := range w.of {
		if !l.has(d, e) {
			delete(w.of, e)
			continue
		}
		for sort := range sorts {
			of.cut(sort, l)
		}
	}
}

// cost bounds the memory at a level. It never falls as requests are added, so that
// the level it leads to does not depend on their order.
func (w *Whole) cost(d *graph.Dict, l wholeLevel) (sum int64) {
	for e, of := range w.of {
		if l.has(d, e) {
			sum += min(of.n, l.total()) * of.largest
		}
	}
	return sum
}

// bound drops requests until what is left takes so many bytes at most.
func (w *Whole) bound(d *graph.Dict, bytes int64) {
	l := w.level
	for l < lastWholeLevel && w.cost(d, l) > bytes {
		l++
	}
	w.raise(d, l)
}

// bytes is how much memory w holds.
func (w *Whole) bytes() (n int64) {
	if w == nil {
		return 0
	}
	for _, of := range w.of {
		n += 200
		for _, kept := range of.kept {
			for i := range kept {
				n += 64 + int64(len(kept[i].spans))
			}
		}
	}
	return n
}

// remap translates the codes.
func (w *Whole) remap(m *graph.Remap) {
	to := make(map[trace.Endpoint]*wholeOf, len(w.of))
	for e, of := range w.of {
		to[trace.Endpoint{Service: m.Strings[e.Service], Operation: m.Strings[e.Operation]}] = of
	}
	w.of = to
}

// use marks the strings that w refers to.
func (w *Whole) use(used []bool) {
	for e := range w.of {
		used[e.Service], used[e.Operation] = true, true
	}
}

// all is the requests of an endpoint that are kept, each once: from the slowest
// down.
func (of *wholeOf) all() []whole {
	list := slices.Concat(of.kept[:]...)
	slices.SortFunc(list, func(a, b whole) int { return a.compare(&b, ladder) })
	return slices.CompactFunc(list, func(a, b whole) bool { return a.compare(&b, ladder) == 0 })
}

// A WholeRequest is a request of which all spans are kept.
type WholeRequest struct {
	Service, Operation string
	TraceID            trace.TraceID
	Entry              trace.SpanID
	NS                 int64 // how long it took
}

// Requests is the requests that are kept, by endpoint, the slowest first.
func (s *Summary) Requests() (list []WholeRequest) {
	if s.Whole == nil {
		return nil
	}
	for _, e := range slices.SortedFunc(maps.Keys(s.Whole.of), func(a, b trace.Endpoint) int {
		return cmp.Or(cmp.Compare(s.Dict.String(a.Service), s.Dict.String(b.Service)), cmp.Compare(s.Dict.String(a.Operation), s.Dict.String(b.Operation)))
	}) {
		for _, q := range s.Whole.of[e].all() {
			list = append(list, WholeRequest{s.Dict.String(e.Service), s.Dict.String(e.Operation), q.trace, q.entry, q.ns})
		}
	}
	return list
}

// EachWhole calls f with the spans of every trace that is kept, in a store that f
// must not keep. A trace that came in several parts comes in several.
func (s *Summary) EachWhole(f func(*trace.Store)) error {
	if s.Whole == nil {
		return nil
	}
	for _, packed := range s.Whole.traces() {
		store := trace.NewStore(trace.NewTables())
		if err := store.AddPacked(packed); err != nil {
			return err
		}
		f(store)
	}
	return nil
}

// traces is the packed traces, each once, in order.
func (w *Whole) traces() (list [][]byte) {
	for _, of := range w.of {
		for _, kept := range of.kept {
			for i := range kept {
				list = append(list, kept[i].spans)
			}
		}
	}
	slices.SortFunc(list, bytes.Compare)
	return slices.CompactFunc(list, bytes.Equal)
}

// append appends w in its one canonical form, given that its codes are canonical.
func (w *Whole) append(to []byte) []byte {
	uint := func(vs ...uint64) {
		for _, v := range vs {
			to = binary.AppendUvarint(to, v)
		}
	}
	if w == nil {
		uint(0)
		return to
	}
	traces := w.traces()
	uint(uint64(w.level)+1, uint64(len(traces)))
	for _, t := range traces {
		uint(uint64(len(t)))
		to = append(to, t...)
	}
	uint(uint64(len(w.of)))
	for _, e := range slices.SortedFunc(maps.Keys(w.of), compareEndpoints) {
		of := w.of[e]
		uint(uint64(e.Service), uint64(e.Operation), uint64(of.n), uint64(of.largest))
		for _, kept := range of.kept {
			uint(uint64(len(kept)))
			for i := range kept {
				q := &kept[i]
				to = append(to, q.trace[:]...)
				to = binary.BigEndian.AppendUint64(to, uint64(q.entry))
				at, _ := slices.BinarySearchFunc(traces, q.spans, bytes.Compare)
				uint(uint64(q.ns), uint64(at))
			}
		}
	}
	return to
}

// decodeWhole reads what append wrote.
func decodeWhole(d *graph.Decoder, dict *graph.Dict) *Whole {
	l := wholeLevel(d.Code(int(lastWholeLevel)+2)) - 1
	if d.Err != nil || l < 0 {
		return nil
	}
	w := &Whole{level: l, of: map[trace.Endpoint]*wholeOf{}}
	str := func() trace.StringID { return trace.StringID(d.Code(dict.Strings())) }
	traces := make([][]byte, d.Length(1))
	for i := range traces {
		traces[i] = bytes.Clone(d.Take(d.Length(1)))
	}
	for range d.Length(7) {
		e := trace.Endpoint{Service: str(), Operation: str()}
		of := &wholeOf{n: int64(d.Uint()), largest: int64(d.Uint())}
		if of.n < 0 || of.n > mostWhole || of.largest < 0 || of.largest > mostSpans || w.of[e] != nil || !l.has(dict, e) {
			d.Fail()
		}
		for sort := range sorts {
			n := d.Length(26)
			if n > l.most(sort) {
				d.Fail()
				return nil
			}
			for range n {
				var q whole
				copy(q.trace[:], d.Take(16))
				if id := d.Take(8); id != nil {
					q.entry = trace.SpanID(binary.BigEndian.Uint64(id))
				}
				q.ns = int64(d.Uint())
				at := d.Code(len(traces))
				if d.Err != nil || q.ns < 0 {
					d.Fail()
					return nil
				}
				q.spans = traces[at]
				kept := of.kept[sort]
				if len(kept) > 0 && (kept[len(kept)-1].compare(&q, sort) > 0 || sort == ladder && rung(kept[len(kept)-1].ns) == rung(q.ns)) {
					d.Fail() // out of order
				}
				of.kept[sort] = append(kept, q)
			}
		}
		w.of[e] = of
	}
	return w
}
