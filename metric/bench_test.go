package metric

import (
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// BenchmarkFold takes 100 histogram series of 100 points each from the decoder's
// hands to their rows, by way of a snapshot.
func BenchmarkFold(b *testing.B) {
	const series, points = 100, 100
	tables := trace.NewTables()
	base := point(b, tables, "http.server.request.duration hist s=1 t=10 n=30 sum=3 b=0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10 c=1,2,3,4,5,6,5,2,1,1,0,0 unit=s http.request.method=GET")
	routes := make([][]byte, series)
	for i := range routes {
		routes[i] = []byte{'/', byte('a' + i%26), byte('a' + i/26)}
	}
	add := func() *Store {
		s := NewStore(tables)
		for p := range points {
			for i := range series {
				r := *base
				r.Time = trace.Time(10+p) * second
				r.Attrs = append(base.Attrs[:1:1], trace.RawAttr{Key: []byte("http.route"), Value: trace.RawValue{Type: trace.String, Bytes: routes[i]}})
				s.Add(&r)
			}
		}
		return s
	}
	perPoint := func(b *testing.B) {
		b.ReportMetric(float64(b.N)*series*points/b.Elapsed().Seconds(), "points/s")
	}
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			add()
		}
		perPoint(b)
	})
	s := add()
	b.Run("fold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Fold()
		}
		perPoint(b)
	})
	f := s.Fold()
	encoded := f.Append(nil)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			encoded = f.Append(encoded[:0])
		}
		perPoint(b)
		b.ReportMetric(float64(len(encoded))/(series*points), "B/point")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
		perPoint(b)
	})
	b.Run("rows", func(b *testing.B) {
		for b.Loop() {
			f.Rows()
		}
		perPoint(b)
	})
}
