package population

import (
	"math"
	"testing"
)

// 99.5 % of what is offered is answered in time; what is rejected, cancelled, or
// late counts against it, and nothing is lost on the way.
func TestGoodput(t *testing.T) {
	offered := Offered(18350, 20, 15, 5, 10)
	if offered != 18400 {
		t.Errorf("offered %v", offered)
	}
	if g := Goodput(0.995*offered, offered); math.Abs(g-0.995) > 1e-12 {
		t.Errorf("goodput %v", g)
	}
	if !math.IsNaN(Goodput(0, 0)) {
		t.Error("the goodput of nothing is not known")
	}
}
