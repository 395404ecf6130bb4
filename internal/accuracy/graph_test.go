package main

import "testing"

// The work graph of every simulated system is found as it was simulated: every
// true order, everything that is waited for, and no order that there is not;
// and the clocks' offsets lie in the bounds.
func TestGraphIsRecovered(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates systems")
	}
	for _, name := range structures[:2] {
		t.Run(name, func(t *testing.T) {
			g, err := recovery(name, 7)
			if err != nil {
				t.Fatal(err)
			}
			if g.orders == 0 || g.waited == 0 {
				t.Error("nothing was compared")
			}
			for _, what := range [][]string{g.missed, g.wrong, g.outside} {
				for _, text := range what {
					t.Error(text)
				}
			}
			t.Logf("%d orders, %d waited for, %d not, %d pairs side by side, %d pairs of hosts", g.orders, g.waited, g.async, g.parallel, g.pairs)
		})
	}
}
