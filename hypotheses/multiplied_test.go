package hypotheses

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// One query for all that becomes one for each has another name, and often a span of its resolver around it. That is no
// renamed call; one for one is, whatever is around it. A new call in a new span is a new hop.
func TestOneQueryThatBecameMany(t *testing.T) {
	type query struct {
		name, peer string
		ms         int64 // from 1× to 1.5× of it
		times      int   // up to twice as many
		wrapped    bool
		parallel   bool
	}
	side := func(seed uint64, queries ...query) string {
		rng := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		at := int64(seed) * 3600e9
		for range 300 {
			at += 100*msNS + int64(rng.ExpFloat64()*3e8)
			now := at + 2*msNS
			var in strings.Builder
			for _, q := range queries {
				begun, last := now, now
				times := q.times
				if times > 1 {
					times += rng.IntN(times)
				}
				for range times {
					from := now
					if q.parallel {
						from = begun + rng.Int64N(msNS/10)
					}
					to := from + q.ms*msNS + rng.Int64N(q.ms*msNS/2)
					deep := "    "
					if q.wrapped {
						fmt.Fprintf(&in, "    front resolve_%s %d..%dns internal\n", q.peer, from, to+msNS/10)
						deep = "      "
						last = max(last, to+msNS/10)
					}
					fmt.Fprintf(&in, "%sfront %s %d..%dns client db.system=mysql server.address=%s\n", deep, q.name, from, to, q.peer)
					last = max(last, to)
					now = last
				}
			}
			fmt.Fprintf(&b, "front POST_/graphql %d..%dns server\n  front resolve_products %d..%dns internal\n%s\n", at, now+2*msNS, at+msNS, now+msNS, in.String())
		}
		return b.String()
	}
	all, each := query{name: "find_all", peer: "reviews", ms: 4, times: 1}, query{name: "find_one", peer: "reviews", ms: 2, times: 8}
	one := query{name: "find_new", peer: "reviews", ms: 4, times: 1}
	with := func(q query, change func(*query)) query {
		change(&q)
		return q
	}
	for _, c := range []struct {
		name     string
		was, now []query
		kind, op string
	}{
		{"many for one, each in a span", []query{all}, []query{with(each, func(q *query) { q.wrapped = true })}, "call-count", "find_one"},
		{"many for one", []query{all}, []query{each}, "call-count", "find_one"},
		{"many for one, side by side", []query{all}, []query{with(each, func(q *query) { q.parallel, q.ms = true, 12 })}, "fan-out", "find_one"},
		{"one for one, and slower", []query{all}, []query{with(one, func(q *query) { q.ms = 20 })}, "", ""},
		{"one for one in a span, and slower", []query{all}, []query{with(one, func(q *query) { q.ms, q.wrapped = 20, true })}, "", ""},
		{"a new call in a new span", []query{all}, []query{all, {name: "score", peer: "ranker", ms: 15, times: 1, wrapped: true}}, "new-hop", "score"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := against(t, [2]string{side(1, c.was...), side(2, c.now...)}, [2][]word{})
			if c.kind == "" {
				for _, f := range r.Findings {
					if f.Kind == "call-count" || f.Kind == "fan-out" || f.Kind == "new-hop" {
						t.Errorf("%s %s: %s", f.Strength, f.Kind, f.Claim)
					}
				}
				return
			}
			f := first(t, r)
			if f.Kind != c.kind || f.Operation != c.op || f.Strength == Weak {
				t.Errorf("first is %s %s of %s: %s", f.Strength, f.Kind, f.Operation, f.Claim)
			}
			if left := r.Left.NS; left > f.Explains/4 {
				t.Errorf("explains %.3g ms, and %.3g ms are left", f.Explains/1e6, left/1e6)
			}
		})
	}
}
