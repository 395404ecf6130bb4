package hypotheses

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// TestLayoutsFindTheFirstOfAKey looks keys up by layout that a walk over the attributes finds as well: of requests that
// have keys in any order, some twice, some not at all.
func TestLayoutsFindTheFirstOfAKey(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	lay := layouts{by: map[uint64][]int32{}}
	var all [][]trace.Attr
	var of []int32
	for range 2000 {
		attrs := make([]trace.Attr, r.IntN(5))
		for i := range attrs {
			attrs[i] = trace.Attr{Key: trace.StringID(1 + r.IntN(4)), Value: trace.Value(1 + r.IntN(9))}
		}
		all, of = append(all, attrs), append(of, lay.find(attrs))
	}
	if len(lay.keys) >= len(all)/2 {
		t.Errorf("%d layouts of %d requests", len(lay.keys), len(all))
	}
	for key := trace.StringID(1); key <= 5; key++ {
		at := lay.places(key)
		for j, attrs := range all {
			want := slices.IndexFunc(attrs, func(a trace.Attr) bool { return a.Key == key })
			if got := at[of[j]]; got != want {
				t.Fatalf("key %d of %v: place %d, want %d", key, attrs, got, want)
			}
		}
	}
}

// TestPlacesOfARequest cuts lists by request, where some have none and some several.
func TestPlacesOfARequest(t *testing.T) {
	list := []place{{1, 4}, {1, 7}, {4, 0}, {9, 1}, {9, 2}, {9, 3}}
	for j := range 12 {
		from, to := inRequest(list, j)
		var want []place
		for _, x := range list {
			if int(x.req) == j {
				want = append(want, x)
			}
		}
		if !slices.Equal(list[from:to], want) {
			t.Errorf("request %d: %v, want %v", j, list[from:to], want)
		}
	}
	lengths := []lasted{{1, 10}, {4, 20}, {9, 30}}
	for j, want := range map[int]int64{0: -1, 1: 10, 2: -1, 4: 20, 9: 30, 10: -1} {
		if ns, ok := lengthIn(lengths, j); ok != (want >= 0) || ok && ns != want {
			t.Errorf("request %d: %d %v, want %d", j, ns, ok, want)
		}
	}
}
