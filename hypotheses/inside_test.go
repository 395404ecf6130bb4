package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// queries draws 1,500 requests of front, 60 a second, each with a query that holds one of a pool's places for 20 to 40 ms, or a
// multiple of that; the client span begins when it asks for one. The database has no spans.
func queries(seed uint64, places int, longer float64) string {
	rng := rand.New(rand.NewPCG(seed, 11))
	free := make([]int64, places)
	var b strings.Builder
	at := int64(0)
	for range 1500 {
		at += int64(rng.ExpFloat64() * 1e9 / 60)
		asked := at + 2*msNS
		p := 0
		for k := range free {
			if free[k] < free[p] {
				p = k
			}
		}
		free[p] = max(asked, free[p]) + int64(longer*(20+20*rng.Float64())*msNS)
		fmt.Fprintf(&b, "front GET_/ %d..%dns server host=f\n  front SELECT %d..%dns client host=f db.system=pg server.address=vault\n\n", at, free[p]+msNS, asked, free[p])
	}
	return b.String()
}

// A query that waits for a connection and one that takes longer look the same; the pool's size tells them apart, or who is first in
// line, and otherwise the check names what would.
func TestAWaitWithinAClientSpan(t *testing.T) {
	max := func(n float64) []word { return []word{{"front", "db.client.connection.max", "{connection}", false, n}} }
	for _, x := range []struct {
		name   string
		places [2]int
		longer float64
		words  [2][]word
		want   string
		ran    bool
		says   string // in the check
	}{
		{"a smaller pool", [2]int{12, 2}, 1, [2][]word{max(12), max(2)}, "client-wait", true, "metrics decides"},
		{"a slower database that fills the pool", [2]int{3, 3}, 1.5, [2][]word{max(3), max(3)}, "service-time", true, "by its 3 places"},
		{"a slower database and a pool with room", [2]int{40, 40}, 2, [2][]word{max(40), max(40)}, "service-time", true, "0 ms are a wait"},
		{"a smaller pool that says nothing", [2]int{12, 2}, 1, [2][]word{}, "client-wait", true, "find no other of their process under way"},
		{"a slower database, and no pool says anything", [2]int{40, 40}, 2, [2][]word{}, "service-time", false, "emit db.client.connection.wait_time"},
		{"a slower database that fills a pool that says nothing", [2]int{3, 3}, 1.5, [2][]word{}, "service-time", false, "emit db.client.connection.wait_time"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, r := against(t, [2]string{queries(1, x.places[0], 1), queries(2, x.places[1], x.longer)}, x.words)
			f := first(t, r)
			if f.Kind != x.want || f.Service != "front" || f.Peer != "vault" || f.Check.Ran != x.ran {
				t.Errorf("%s of %s → %s, check ran: %v", f.Kind, f.Service, f.Peer, f.Check.Ran)
			}
			if text := f.Check.Outcome + f.Check.Query; !strings.Contains(text, x.says) {
				t.Errorf("the check says %q, want %q", text, x.says)
			}
			if x.ran && !near(f.Explains, f.Explains+r.Left.NS, 0.15) {
				t.Errorf("explains %.1f ms and leaves %.1f", f.Explains/1e6, r.Left.NS/1e6)
			}
		})
	}
}
