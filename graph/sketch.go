package graph

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
)

// A Sketch counts signed lengths of time in bins 1 % wide. Sketches merge
// exactly and in any order. The zero Sketch is empty.
type Sketch struct {
	n    int64
	bins bins
}

// bins counts bins: a hash table with open addressing, because sketches are added
// to for every pair of calls of every request. A count of zero is a free place.
type bins struct {
	at   []int16
	n    []int64
	used int
}

func (t *bins) place(b int16) int {
	mask := len(t.at) - 1
	i := int(uint32(b)*0x9e3779b1>>16) & mask
	for t.n[i] != 0 && t.at[i] != b {
		i = (i + 1) & mask
	}
	return i
}

// add adds n, which is not negative, to the count of a bin.
func (t *bins) add(b int16, n int64) {
	if n == 0 {
		return
	}
	if t.used*4 >= len(t.at)*3 {
		old := *t
		size := max(8, 2*len(old.at))
		*t = bins{make([]int16, size), make([]int64, size), old.used}
		for i, c := range old.n {
			if c != 0 {
				k := t.place(old.at[i])
				t.at[k], t.n[k] = old.at[i], c
			}
		}
	}
	i := t.place(b)
	if t.n[i] == 0 {
		t.at[i] = b
		t.used++
	}
	t.n[i] += n
}

func (t *bins) count(b int16) int64 {
	if t.used == 0 {
		return 0
	}
	return t.n[t.place(b)]
}

// all is the bins and their counts, in no order.
func (t *bins) all() iter.Seq2[int16, int64] {
	return func(yield func(int16, int64) bool) {
		for i, c := range t.n {
			if c != 0 && !yield(t.at[i], c) {
				return
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
		return -bin(-ns)
	}
	return 1 + int16(math.Round(math.Log(float64(ns))/width))
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
	for _, b := range s.sorted() {
		if sum += s.bins.count(b); sum >= want {
			return value(b)
		}
	}
	return 0
}

// Mean is the mean length, where none counts as more than most. It is zero of
// an empty sketch.
func (s *Sketch) Mean(most int64) float64 {
	var sum float64
	for _, b := range s.sorted() {
		sum += min(value(b), float64(most)) * float64(s.bins.count(b))
	}
	return sum / float64(max(s.n, 1))
}

func (s *Sketch) sorted() []int16 {
	keys := make([]int16, 0, s.bins.used)
	for b := range s.bins.all() {
		keys = append(keys, b)
	}
	slices.Sort(keys)
	return keys
}

// AppendBinary appends the sketch in its one canonical form.
func (s *Sketch) AppendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(s.bins.used))
	for _, b := range s.sorted() {
		to = binary.AppendVarint(to, int64(b))
		to = binary.AppendUvarint(to, uint64(s.bins.count(b)))
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
