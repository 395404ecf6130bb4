package metric

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// A dice gives numbers from a fuzzer's bytes, small ones and extreme ones.
type dice struct{ b []byte }

func (d *dice) n(limit int) int {
	if len(d.b) == 0 {
		return 0
	}
	v := int(d.b[0])
	d.b = d.b[1:]
	return v % limit
}

func (d *dice) u64() uint64 {
	switch d.n(4) {
	case 0:
		return uint64(d.n(8))
	case 1:
		return math.MaxUint64 - uint64(d.n(2))
	}
	var b [8]byte
	d.b = d.b[copy(b[:], d.b):]
	return binary.LittleEndian.Uint64(b[:])
}

func (d *dice) float() float64 {
	switch d.n(6) {
	case 0:
		return float64(d.n(8))
	case 1:
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, -math.SmallestNonzeroFloat64}[d.n(6)]
	case 2:
		return -float64(d.n(8))
	}
	return math.Float64frombits(d.u64())
}

func (d *dice) counts() []uint64 {
	out := make([]uint64, d.n(5))
	for i := range out {
		out[i] = d.u64()
	}
	return out
}

// FuzzAdd gives the store what no exporter should send. Whatever it takes can be
// encoded, read back, merged and asked about.
func FuzzAdd(f *testing.F) {
	f.Add([]byte("\x02\x01\x03\x04\x00\x05 some bytes that become points"))
	f.Add([]byte{4, 1, 0, 1, 0, 3, 0, 2, 0, 4, 0, 2, 0, 1, 0, 1, 0, 1, 3, 0, 1, 0, 2, 0, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &dice{b}
		tables := trace.NewTables()
		s := NewStore(tables)
		names := []string{"hikaricp.connections.acquire", "db.client.connection.count", "http.server.request.duration", "process.cpu.time", "go.gc.duration", "m"}
		for len(d.b) > 0 {
			p := &RawPoint{
				Name: []byte(names[d.n(len(names))]), Unit: []byte([]string{"s", "ms", "", "{connection}"}[d.n(4)]),
				Type: Type(d.n(7)), Temporality: Temporality(d.n(4)), Monotonic: d.n(2) == 0,
				Start: trace.Time(d.u64()), Time: trace.Time(d.u64()), NoValue: d.n(8) == 1,
				IsInt: d.n(2) == 1, Int: int64(d.u64()), Float: d.float(),
				Count: d.u64(), Sum: d.float(), HasSum: d.n(2) == 1, HasMin: d.n(2) == 1, HasMax: d.n(2) == 1, Min: d.float(), Max: d.float(),
				BucketCounts: d.counts(), Scale: int32(d.u64()), ZeroCount: d.u64(), ZeroThreshold: d.float(),
				PosOffset: int32(d.u64()), NegOffset: int32(d.u64()), PosCounts: d.counts(), NegCounts: d.counts(),
			}
			for range d.n(5) {
				p.Bounds = append(p.Bounds, d.float())
			}
			if d.n(2) == 1 { // counts that fit, so that buckets are reached
				p.Count = 0
				for _, counts := range [][]uint64{p.BucketCounts, p.PosCounts, p.NegCounts, {p.ZeroCount}} {
					for _, c := range counts {
						if p.Type == Histogram == (len(counts) == len(p.BucketCounts)) {
							p.Count += c
						}
					}
				}
			}
			for range d.n(3) {
				p.Quantiles = append(p.Quantiles, Quantile{d.float(), d.float()})
				p.Exemplars = append(p.Exemplars, RawExemplar{Value: d.float(), Time: trace.Time(d.u64())})
			}
			if d.n(2) == 1 {
				p.Attrs = []trace.RawAttr{{Key: []byte("state"), Value: text("idle")}, {Key: []byte("pool"), Value: text("p")}}
			}
			s.Add(p)
		}
		fold := s.Fold()
		again, err := Decode(fold.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		again.Merge(fold)
		w := Window{trace.Time(d.u64()), trace.Time(d.u64())}
		for _, w := range []Window{{}, w, {1, math.MaxInt64}} {
			again.Rows()
			again.Pools(w, nil)
			again.Signals(w, nil)
			for _, d := range again.Durations(w, nil) {
				if lo, hi := d.Total.Quantile(0.9); lo > hi {
					t.Errorf("a quantile in [%v, %v]", lo, hi)
				}
			}
		}
	})
}
