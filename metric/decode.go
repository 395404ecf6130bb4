package metric

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/tailscope/tailscope/trace"
)

// Decode reads what Append wrote. Anything else, a single changed bit of it
// included, is an error.
func Decode(b []byte) (*Fold, error) {
	if len(b) < crc32.Size {
		return nil, errors.New("metric: fold is cut short")
	}
	body, check := b[:len(b)-crc32.Size], binary.BigEndian.Uint32(b[len(b)-crc32.Size:])
	if crc32.Checksum(body, castagnoli) != check {
		return nil, errors.New("metric: fold does not match its checksum")
	}
	return decodeBody(body)
}

// decodeBody reads a fold whose checksum is right. It trusts nothing: a file can
// be made to match its checksum.
func decodeBody(body []byte) (*Fold, error) {
	r := reader{b: body}
	if v := r.byte(); r.err == nil && v != format {
		return nil, fmt.Errorf("metric: fold has format %d; this program reads %d", v, format)
	}
	f := NewFold()
	var last *Series
	for n := r.length(minSeries); n > 0 && r.err == nil; n-- {
		s := r.series()
		if r.err == nil && last != nil && last.Key.compare(&s.Key) >= 0 {
			r.fail("series out of order")
		}
		last = s
		f.series[string(s.Key.appendTo(nil))] = s
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail("bytes after the end")
	}
	// Integers can be written longer than need be; only one spelling is lawful.
	if r.err == nil {
		if again := f.Append(nil); !bytes.Equal(again[:len(again)-crc32.Size], body) {
			r.fail("not as written by this program")
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("metric: fold: byte %d: %w", len(body)-len(r.b), r.err)
	}
	return f, nil
}

// The least bytes that one element takes, so that a hostile length cannot make
// the reader ask for more memory than a small multiple of the input.
const (
	minSeries    = 9 + 3 + 3 // key, numbers, one point
	minAttr      = 3
	minPoint     = 3
	minExemplar  = 8 + 1 + 16 + 8
	floatSize    = 8
	quantileSize = 16
)

// A reader reads from b until something is wrong; then it returns zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = errors.New(reason)
	}
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.fail("cut short")
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) byte() byte {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *reader) bool() bool {
	v := r.byte()
	if v > 1 {
		r.fail("a flag is neither 0 nor 1")
	}
	return v == 1
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.err != nil || n <= 0 {
		r.fail("bad integer")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if r.err != nil || n <= 0 {
		r.fail("bad integer")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length reads the number of elements of at least size bytes each.
func (r *reader) length(size int) int {
	v := r.uvarint()
	if v > uint64(len(r.b)/size) {
		r.fail("a list is longer than the input")
		return 0
	}
	return int(v)
}

// float reads a finite number that is not minus zero.
func (r *reader) float() float64 {
	p := r.take(8)
	if p == nil {
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(p))
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && math.Signbit(v) {
		r.fail("bad number")
		return 0
	}
	return v
}

func (r *reader) string() string { return string(r.take(r.length(1))) }

func (r *reader) counts() []uint64 {
	n := r.length(1)
	if n == 0 {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = r.uvarint()
	}
	return out
}

func (r *reader) attributes() []Attribute {
	n := r.length(minAttr)
	if n == 0 {
		return nil
	}
	out := make([]Attribute, n)
	for i := range out {
		out[i].Type = trace.ValueType(r.byte())
		out[i].Key = r.string()
		out[i].Value = r.string()
		if out[i].Type > trace.JSON {
			r.fail("bad attribute type")
		}
		if i > 0 && compareAttribute(out[i-1], out[i]) >= 0 {
			r.fail("attributes out of order")
		}
	}
	return out
}

func (r *reader) series() *Series {
	s := &Series{}
	s.Type, s.Temporality, s.Monotonic = Type(r.byte()), Temporality(r.byte()), r.bool()
	if s.Type < Gauge || s.Type > Summary || s.Temporality > Cumulative {
		r.fail("bad type")
	}
	s.Name, s.Unit, s.Service, s.Instance = r.string(), r.string(), r.string(), r.string()
	s.Attrs, s.Resource = r.attributes(), r.attributes()
	received := r.uvarint()
	n := r.length(minPoint)
	if n == 0 || received < uint64(n) || received > math.MaxInt64 {
		r.fail("bad number of points")
		return s
	}
	s.Received = int64(received)
	s.Points = make([]Point, n)
	var before trace.Time
	var bounds []float64
	for i := range s.Points {
		p := &s.Points[i]
		*p = r.point(s.Type, before, bounds)
		if r.err != nil {
			return s
		}
		if i > 0 && s.Points[i-1].compare(p) >= 0 {
			r.fail("points out of order")
		}
		before = p.Time
		if p.Dist != nil {
			bounds = p.Dist.Bounds
		}
	}
	if n := r.length(minExemplar); n > maxExemplars {
		r.fail("too many exemplars")
	} else if n > 0 {
		s.Exemplars = make([]Exemplar, n)
	}
	for i := range s.Exemplars {
		e := &s.Exemplars[i]
		e.Value, e.Time = r.float(), trace.Time(r.varint())
		copy(e.TraceID[:], r.take(len(e.TraceID)))
		if id := r.take(8); id != nil {
			e.SpanID = trace.SpanID(binary.BigEndian.Uint64(id))
		}
		if i > 0 && s.Exemplars[i-1].compare(*e) >= 0 {
			r.fail("exemplars out of order")
		}
	}
	return s
}

func (r *reader) point(t Type, before trace.Time, bounds []float64) Point {
	var p Point
	step := r.uvarint()
	if step > uint64(math.MaxInt64-before) || before == 0 && step == 0 {
		r.fail("bad time")
		return p
	}
	p.Time = before + trace.Time(step)
	if age := r.uvarint(); age > uint64(p.Time) {
		r.fail("bad start")
	} else if age > 0 {
		p.Start = p.Time - trace.Time(age-1)
	}
	flags := r.byte()
	p.NoValue, p.IsInt = flags&flagNoValue != 0, flags&flagInt != 0
	number := t == Gauge || t == Sum
	if p.NoValue {
		if flags != flagNoValue {
			r.fail("bad flags")
		}
		return p
	}
	if number {
		if flags&^flagInt != 0 {
			r.fail("bad flags")
		}
		if p.IsInt {
			p.bits = uint64(r.varint())
		} else {
			p.bits = math.Float64bits(r.float())
		}
		return p
	}
	if flags&flagDist == 0 || p.IsInt || flags >= flagSameBounds<<1 {
		r.fail("bad flags")
		return p
	}
	p.Dist = r.dist(t, flags, bounds)
	return p
}

func (r *reader) dist(t Type, flags byte, bounds []float64) *Dist {
	d := &Dist{Count: r.uvarint()}
	if d.HasSum = flags&flagSum != 0; d.HasSum {
		d.Sum = r.float()
	}
	if d.HasMin = flags&flagMin != 0; d.HasMin {
		d.Min = r.float()
	}
	if d.HasMax = flags&flagMax != 0; d.HasMax {
		d.Max = r.float()
	}
	if flags&flagSameBounds != 0 {
		d.Bounds = bounds
	} else if n := r.length(floatSize); n > 0 {
		d.Bounds = make([]float64, n)
		for i := range d.Bounds {
			d.Bounds[i] = r.float()
		}
	}
	d.Counts = r.counts()
	scale := r.varint()
	if scale != int64(int32(scale)) {
		r.fail("bad scale")
	}
	d.Scale, d.Zero, d.Threshold = int32(scale), r.uvarint(), r.float()
	for _, run := range []*Run{&d.Pos, &d.Neg} {
		run.Offset, run.Counts = r.varint(), r.counts()
		if t := run.trimmed(); t.Offset != run.Offset || len(t.Counts) != len(run.Counts) || run.Offset != clampIndex(run.Offset) {
			r.fail("bad buckets")
		}
	}
	if n := r.length(quantileSize); n > 0 {
		d.Quantiles = make([]Quantile, n)
	}
	for i := range d.Quantiles {
		q := &d.Quantiles[i]
		q.Quantile, q.Value = r.float(), r.float()
		if q.Quantile < 0 || q.Quantile > 1 || i > 0 && compareQuantile(d.Quantiles[i-1], *q) > 0 {
			r.fail("bad quantile")
		}
	}
	if r.err == nil && !d.fits(t) {
		r.fail("a distribution that no point has")
	}
	return d
}

// clampIndex is i brought into the range of bucket indexes that points can have.
func clampIndex(i int64) int64 { return min(max(i, math.MinInt32), math.MaxInt32+int64(math.MaxInt32)) }
