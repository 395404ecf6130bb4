package metric

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/tailscope/tailscope/trace"
)

// The encoding of a fold, all integers as varints unless a size is given:
//
//	format   1 byte, 1
//	series   their number; then each, in the order of Fold.Series:
//	  key    type, temporality, monotonic (a byte each), name, unit, service,
//	         instance (length and bytes), attributes, resource attributes
//	         (number; each type, key, value)
//	  points received; distinct; then each: time since the point before, time
//	         since start + 1 (0: no start), flags, value
//	  exemplars
//	check    4 bytes, the CRC-32C of all before
//
// One fold has one encoding: what Decode accepts encodes to the same bytes.

const format = 1

// Flags of an encoded point and of its distribution.
const (
	flagNoValue = 1 << iota
	flagInt
	flagDist
	flagSum
	flagMin
	flagMax
	flagSameBounds // as in the point before
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the encoding of f to b.
func (f *Fold) Append(b []byte) []byte {
	start := len(b)
	b = append(b, format)
	all := f.Series()
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, s := range all {
		b = s.Key.appendTo(b)
		b = binary.AppendUvarint(b, uint64(s.Received))
		b = binary.AppendUvarint(b, uint64(len(s.Points)))
		var before Point
		var bounds []float64
		for i := range s.Points {
			p := &s.Points[i]
			b = p.appendTo(b, before.Time, bounds)
			if p.Dist != nil {
				bounds = p.Dist.Bounds
			}
			before = *p
		}
		b = binary.AppendUvarint(b, uint64(len(s.Exemplars)))
		for _, e := range s.Exemplars {
			b = appendFloat(b, e.Value)
			b = binary.AppendVarint(b, int64(e.Time))
			b = append(b, e.TraceID[:]...)
			b = binary.BigEndian.AppendUint64(b, uint64(e.SpanID))
		}
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func (k *Key) appendTo(b []byte) []byte {
	b = append(b, byte(k.Type), byte(k.Temporality), boolByte(k.Monotonic))
	for _, s := range []string{k.Name, k.Unit, k.Service, k.Instance} {
		b = appendString(b, s)
	}
	for _, list := range [][]Attribute{k.Attrs, k.Resource} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, a := range list {
			b = append(b, byte(a.Type))
			b = appendString(b, a.Key)
			b = appendString(b, a.Value)
		}
	}
	return b
}

func (p *Point) appendTo(b []byte, before trace.Time, bounds []float64) []byte {
	b = binary.AppendUvarint(b, uint64(p.Time-before))
	if p.Start == 0 {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(b, uint64(p.Time-p.Start)+1)
	}
	d := p.Dist
	flags := byte(0)
	set := func(f byte, on bool) {
		if on {
			flags |= f
		}
	}
	set(flagNoValue, p.NoValue)
	set(flagInt, p.IsInt)
	set(flagDist, d != nil)
	if d == nil {
		b = append(b, flags)
		switch {
		case p.NoValue:
			return b
		case p.IsInt:
			return binary.AppendVarint(b, int64(p.bits))
		}
		return appendFloat(b, p.Value())
	}
	set(flagSum, d.HasSum)
	set(flagMin, d.HasMin)
	set(flagMax, d.HasMax)
	same := slices.Equal(d.Bounds, bounds)
	set(flagSameBounds, same)
	b = append(b, flags)
	b = binary.AppendUvarint(b, d.Count)
	for _, v := range []struct {
		has bool
		v   float64
	}{{d.HasSum, d.Sum}, {d.HasMin, d.Min}, {d.HasMax, d.Max}} {
		if v.has {
			b = appendFloat(b, v.v)
		}
	}
	if !same {
		b = binary.AppendUvarint(b, uint64(len(d.Bounds)))
		for _, v := range d.Bounds {
			b = appendFloat(b, v)
		}
	}
	b = appendCounts(b, d.Counts)
	b = binary.AppendVarint(b, int64(d.Scale))
	b = binary.AppendUvarint(b, d.Zero)
	b = appendFloat(b, d.Threshold)
	for _, r := range []Run{d.Pos, d.Neg} {
		b = binary.AppendVarint(b, r.Offset)
		b = appendCounts(b, r.Counts)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Quantiles)))
	for _, q := range d.Quantiles {
		b = appendFloat(appendFloat(b, q.Quantile), q.Value)
	}
	return b
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func appendCounts(b []byte, counts []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(counts)))
	for _, c := range counts {
		b = binary.AppendUvarint(b, c)
	}
	return b
}
