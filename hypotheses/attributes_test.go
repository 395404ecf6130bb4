package hypotheses

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeysThatSayTheSameOfAllAreNoChances: an agent's keys do not hide another mix. Keys that could be one do count.
func TestKeysThatSayTheSameOfAllAreNoChances(t *testing.T) {
	draw := func(large, same, other int) string {
		return repeat(500, func(i, at int) string {
			tier := "small"
			if i%500 < large {
				tier = "large"
			}
			var b strings.Builder
			fmt.Fprintf(&b, "api GET_/x %d..%dms server tier=%s", at, at+10+i%3, tier)
			for k := range same {
				fmt.Fprintf(&b, " agent.%d=on service.instance.k%d=%d", k, k, i%2)
			}
			for k := range other {
				fmt.Fprintf(&b, " other.%d=%d", k, (i+k)%2)
			}
			return b.String() + "\n"
		})
	}
	for _, x := range []struct {
		name               string
		large, same, other int
		differs            bool
	}{
		{"another mix", 50, 0, 0, true},
		{"another mix, among the keys of an agent", 50, 30, 0, true},
		{"another mix, among many that could be", 50, 0, 30, false},
		{"the same mix but for chance, among the keys of an agent", 40, 30, 0, false},
	} {
		c, _ := compared(t, draw(28, x.same, x.other), draw(x.large, x.same, x.other))
		for _, a := range c.Attributes() {
			if key := c.Reading.Dict.String(a.Key); key == "tier" && (a.P <= mixP) != x.differs {
				t.Errorf("%s: p %.3f", x.name, a.P)
			}
		}
	}
}
