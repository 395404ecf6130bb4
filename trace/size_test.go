package trace

import (
	"fmt"
	"runtime"
	"testing"
)

// A span takes at most 120 bytes of columns, and an attribute that is kept 8.
func TestBytesOfASpan(t *testing.T) {
	const n, attrs = 50_000, 10
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	fill := func(attributes []RawAttr) (perSpan float64) {
		before := heap()
		s, one := NewStore(NewTables()), NewStore(NewTables())
		raw := RawSpan{TraceID: TraceID{1}, ID: 1, Start: 1, End: 2, Kind: KindServer, Name: []byte("GET /a"), Attrs: attributes}
		one.Add(&raw)
		s.Grow(n, one)
		for range n {
			s.Add(&raw)
		}
		taken := heap() - before
		if about := s.Bytes() + s.Tables.Bytes(); about < taken/2 || about > 2*taken {
			t.Errorf("Bytes says %d, and %d were taken", about, taken)
		}
		runtime.KeepAlive(s)
		return float64(taken) / n
	}
	var attributes []RawAttr
	for i := range attrs {
		attributes = append(attributes, RawAttr{Key: fmt.Append(nil, "key", i), Value: RawValue{Type: String, Bytes: []byte("value")}})
	}
	fill(nil)
	bare := fill(nil)
	if bare > 120 {
		t.Errorf("%.0f bytes a span, more than 120", bare)
	}
	if each := (fill(attributes) - bare) / attrs; each > 8.5 { // half a byte for the tables and the rounding of sizes
		t.Errorf("%.2f bytes an attribute, more than 8", each)
	}
}
