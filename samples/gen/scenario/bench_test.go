package scenario

import (
	"testing"

	"github.com/tailscope/tailscope/samples/gen/otlp"
)

// BenchmarkMercury simulates requests with all their telemetry and truth, and encodes it.
func BenchmarkMercury(b *testing.B) {
	const n = 10000
	var bytes, spans int
	for b.Loop() {
		s, err := Find("mercury/null")
		if err != nil {
			b.Fatal(err)
		}
		set := s.side(1, false, true, n, func(int) bool { return true })
		bytes, spans = 0, len(set.Run.Spans)
		set.Messages(otlp.JSON, func(_ bool, msg []byte) error {
			bytes += len(msg)
			return nil
		})
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(spans)/n, "spans/request")
	b.ReportMetric(float64(bytes)/n, "B/request")
}
