package graph

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/bits"
	"sync/atomic"
)

// A Sketch counts signed lengths of time in bins 1 % wide. Sketches merge
// exactly and in any order. The zero Sketch is empty.
type Sketch struct {
	n    int64
	bins bins
}

// bins counts bins: a few as a list, more in pages of neighbours, since lengths of one
// kind lie close together, and sketches are added to for every pair of calls of every
// request.
type bins struct {
	few []binCount // ascending, while there are no pages

	first  int32    // the page that dir begins with
	dir    []uint16 // of each page: 1 + its place in counts; 0: it has no counts
	counts []uint32
	over   map[int16]int64 // what goes beyond a count
	used   int             // bins with a count
}

// pageBins is how many bins a page holds: a cache line of counts.
const (
	pageBits = 4
	pageBins = 1 << pageBits
)

// mostFew is how many bins are a list. There are many sketches of few lengths, of a second
// of an edge between two processes, which are far apart.
const mostFew = 48

type binCount struct {
	at int16
	n  uint32
}

// addFew is add to the list, if it can hold the count.
func (t *bins) addFew(b int16, n int64) bool {
	lo, hi := 0, len(t.few)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); t.few[mid].at < b {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.few) && t.few[lo].at == b {
		sum := int64(t.few[lo].n) + n
		if sum <= math.MaxUint32 {
			t.few[lo].n = uint32(sum)
		}
		return sum <= math.MaxUint32
	}
	if len(t.few) == mostFew || n > math.MaxUint32 {
		return false
	}
	t.few = append(t.few, binCount{})
	copy(t.few[lo+1:], t.few[lo:])
	t.few[lo] = binCount{b, uint32(n)}
	t.used++
	return true
}

// add adds n, which is not negative, to the count of a bin.
func (t *bins) add(b int16, n int64) {
	if n == 0 {
		return
	}
	if t.dir == nil {
		if t.addFew(b, n) {
			return
		}
		few := t.few
		*t = bins{}
		for _, x := range few {
			t.addPaged(x.at, int64(x.n))
		}
	}
	t.addPaged(b, n)
}

func (t *bins) addPaged(b int16, n int64) {
	page := int(int32(b)>>pageBits - t.first)
	if uint(page) >= uint(len(t.dir)) || t.dir[page] == 0 {
		page = t.grow(b)
	}
	c := &t.counts[(int(t.dir[page])-1)<<pageBits|int(b)&(pageBins-1)]
	if *c == 0 {
		t.used++
	}
	if sum := int64(*c) + n; sum <= math.MaxUint32 {
		*c = uint32(sum)
		return
	}
	if t.over == nil {
		t.over = map[int16]int64{}
	}
	t.over[b] += n - int64(math.MaxUint32-*c)
	*c = math.MaxUint32
}

// grow makes the page of a bin and returns its place in dir.
func (t *bins) grow(b int16) int {
	page := int32(b) >> pageBits
	switch last := t.first + int32(len(t.dir)) - 1; {
	case len(t.dir) == 0:
		t.first, t.dir = page, make([]uint16, 1)
	case page < t.first:
		t.dir = append(make([]uint16, t.first-page), t.dir...)
		t.first = page
	case page > last:
		t.dir = append(t.dir, make([]uint16, page-last)...)
	}
	at := int(page - t.first)
	if t.dir[at] == 0 {
		t.counts = append(t.counts, make([]uint32, pageBins)...)
		t.dir[at] = uint16(len(t.counts) >> pageBits)
	}
	return at
}

// at is the count of a bin whose page stands at a place of counts.
func (t *bins) at(place int, b int16) int64 {
	c := t.counts[(place-1)<<pageBits|int(b)&(pageBins-1)]
	if c == math.MaxUint32 {
		return int64(c) + t.over[b]
	}
	return int64(c)
}

// all is the bins that have counts, ascending.
func (t *bins) all() iter.Seq2[int16, int64] {
	return func(yield func(int16, int64) bool) {
		for _, x := range t.few {
			if !yield(x.at, int64(x.n)) {
				return
			}
		}
		for i, place := range t.dir {
			if place == 0 {
				continue
			}
			from := (t.first + int32(i)) << pageBits
			for k := range int32(pageBins) {
				b := int16(from + k)
				if c := t.at(int(place), b); c != 0 && !yield(b, c) {
					return
				}
			}
		}
	}
}

// width is ln(1.01): neighbouring bins differ by 1 %.
const width = 0.009950330853168083

// bin is zero for zero, and has the sign of ns.
func bin(ns int64) int16 {
	switch {
	case ns == 0:
		return 0
	case ns < 0:
		return -bin(-max(ns, -math.MaxInt64))
	case ns < 1<<tableBits:
		t := binTable.Load()
		if t == nil {
			t = newTable()
			binTable.Store(t)
		}
		b := t.from[bucket(ns)]
		for ns >= t.least[b+1] {
			b++
		}
		return b
	}
	return binOf(ns)
}

// binOf is the bin of a length above zero, by its logarithm.
func binOf(ns int64) int16 { return 1 + int16(math.Round(math.Log(float64(ns))/width)) }

// A table finds the bins of lengths below 18 minutes without logarithms: where each
// bin begins, and the bin of the first length of each bucket.
type table struct {
	least []int64
	from  [(tableBits - bucketBits + 1) << bucketBits]int16
}

const (
	tableBits  = 40
	bucketBits = 6 // 64 buckets for each doubling
)

var binTable atomic.Pointer[table] // made when it is first asked; one that is made twice is the same

// bucket is the leading bits of a length and how many follow.
func bucket(ns int64) int {
	n := max(0, bits.Len64(uint64(ns))-bucketBits-1)
	return n<<bucketBits + int(ns>>n)
}

func newTable() *table {
	last := binOf(1<<tableBits - 1)
	t := &table{least: make([]int64, last+2)}
	for b := int16(2); b <= last+1; b++ {
		ns := max(1, int64(math.Exp((float64(b)-1.5)*width)))
		for binOf(ns) >= b {
			ns--
		}
		for binOf(ns) < b {
			ns++
		}
		t.least[b] = ns
	}
	b := int16(1)
	for i := range t.from {
		first := int64(i)
		if i >= 2<<bucketBits {
			n := i>>bucketBits - 1
			first = int64(i-n<<bucketBits) << n
		}
		for first >= t.least[b+1] && b < last {
			b++
		}
		t.from[i] = b
	}
	return t
}

// Bin is the bin of a Sketch that a length falls into.
func Bin(ns int64) int16 { return bin(ns) }

// value is the length at the middle of a bin.
func value(b int16) float64 {
	switch {
	case b == 0:
		return 0
	case b < 0:
		return -value(-b)
	}
	return math.Exp(float64(b-1) * width)
}

// Add counts one length.
func (s *Sketch) Add(ns int64) {
	s.bins.add(bin(ns), 1)
	s.n++
}

// N is how many lengths were counted.
func (s *Sketch) N() int64 { return s.n }

// Bytes is about how much memory the bins of s take, whenever they were added.
func (s *Sketch) Bytes() int64 { return int64(s.bins.used) * (2 + 8) * 2 }

// Merge adds o's counts.
func (s *Sketch) Merge(o *Sketch) {
	for b, c := range o.bins.all() {
		s.bins.add(b, c)
	}
	s.n += o.n
}

// Above is how many lengths exceed ns, within the bins' width.
func (s *Sketch) Above(ns int64) int64 {
	var n int64
	at := bin(ns)
	for b, c := range s.bins.all() {
		if b > at {
			n += c
		}
	}
	return n
}

// Below is how many lengths are less than ns, within the bins' width.
func (s *Sketch) Below(ns int64) int64 {
	var n int64
	at := bin(ns)
	for b, c := range s.bins.all() {
		if b < at {
			n += c
		}
	}
	return n
}

// Quantile is the least length that at least the share q does not exceed, in
// ns and within 0.5 %. It is zero of an empty sketch.
func (s *Sketch) Quantile(q float64) float64 {
	want := max(1, int64(math.Ceil(q*float64(s.n))))
	var sum int64
	for b, c := range s.bins.all() {
		if sum += c; sum >= want {
			return value(b)
		}
	}
	return 0
}

// Mean is the mean length, where none counts as more than most. It is zero of
// an empty sketch.
func (s *Sketch) Mean(most int64) float64 {
	var sum float64
	for b, c := range s.bins.all() {
		sum += min(value(b), float64(most)) * float64(c)
	}
	return sum / float64(max(s.n, 1))
}

// AppendBinary appends the sketch in its one canonical form.
func (s *Sketch) AppendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(s.bins.used))
	for b, c := range s.bins.all() {
		to = binary.AppendVarint(to, int64(b))
		to = binary.AppendUvarint(to, uint64(c))
	}
	return to
}

var errCorrupt = errors.New("graph: corrupt encoding")

// DecodeSketch reads what AppendBinary wrote and returns the rest.
func DecodeSketch(from []byte) (Sketch, []byte, error) {
	var s Sketch
	d := Decoder{Bytes: from}
	n := d.Length(2)
	last := int64(math.MinInt16) - 1
	for range n {
		b, c := d.Int(), d.Uint()
		if d.Err != nil || b <= last || b > math.MaxInt16 || c == 0 || c > math.MaxInt64/4 {
			return Sketch{}, nil, errCorrupt
		}
		last = b
		s.bins.add(int16(b), int64(c))
		s.n += int64(c)
	}
	return s, d.Bytes, d.Err
}

// A Decoder reads canonical encodings and refuses what cannot be one. After an
// error it returns zeros.
type Decoder struct {
	Bytes []byte
	Err   error
}

// Uint reads an unsigned number.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.Bytes)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.Bytes = d.Bytes[n:]
	return v
}

// Int reads a signed number.
func (d *Decoder) Int() int64 {
	v, n := binary.Varint(d.Bytes)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.Bytes = d.Bytes[n:]
	return v
}

// Length reads how many items of at least size bytes each follow.
func (d *Decoder) Length(size int) int {
	v := d.Uint()
	if v > uint64(len(d.Bytes)/max(size, 1)) {
		d.fail()
		return 0
	}
	return int(v)
}

// Sketch reads a sketch.
func (d *Decoder) Sketch() Sketch {
	s, rest, err := DecodeSketch(d.Bytes)
	if err != nil {
		d.fail()
		return Sketch{}
	}
	d.Bytes = rest
	return s
}

// Fail makes every further read fail.
func (d *Decoder) Fail() { d.fail() }

// Code reads a code below n.
func (d *Decoder) Code(n int) int {
	v := d.Uint()
	if v >= uint64(n) {
		d.fail()
		return 0
	}
	return int(v)
}

// Take reads n bytes.
func (d *Decoder) Take(n int) []byte {
	if n > len(d.Bytes) {
		d.fail()
		return make([]byte, min(n, 16))[:min(n, 16)]
	}
	b := d.Bytes[:n]
	d.Bytes = d.Bytes[n:]
	return b
}

func (d *Decoder) fail() {
	if d.Err == nil {
		d.Err = errCorrupt
	}
	d.Bytes = nil
}
