package live

import (
	"testing"
	"time"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// point sends a point of a gauge.
func point(t *testing.T, e *Engine, name string, at time.Time, v float64) {
	t.Helper()
	err := e.Add(func(in *Intake) {
		in.Point(&metric.RawPoint{
			Name: []byte(name), Unit: []byte("1"), Type: metric.Gauge, Time: trace.Time(at.UnixNano()), Float: v,
			Resource: in.Tables.AddResource([]trace.RawAttr{attr("service.name", "gateway")}),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
