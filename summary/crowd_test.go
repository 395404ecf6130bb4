package summary

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// named is requests for pages, each below its own name, that look something up and
// then ask for things, each by its own name too.
func named(n int, page, thing func(i int) string) []tracetest.RandomSpan {
	rng := rand.New(rand.NewPCG(5, 5))
	var out []tracetest.RandomSpan
	for i := range n {
		var id trace.TraceID
		id[0], id[13], id[14], id[15] = 1, byte(i>>16), byte(i>>8), byte(i)
		at := tracetest.T0 + trace.Time(i)*1_000_000_000
		add := func(span, parent int, name string, kind trace.Kind, from, to int64) {
			s := tracetest.RandomSpan{Service: "web", Host: "a"}
			s.TraceID, s.ID, s.ParentID, s.Name, s.Kind = id, trace.SpanID(span), trace.SpanID(parent), []byte(name), kind
			s.Start, s.End = at+trace.Time(from*1000), at+trace.Time(to*1000)
			out = append(out, s)
		}
		length := 20_000 + rng.Int64N(9000)
		add(1, 0, page(i), trace.KindServer, 0, length+2000)
		add(2, 1, "look up", trace.KindClient, 100, 3000)
		add(3, 1, thing(2*i), trace.KindClient, 3200, length)
		add(4, 1, thing(2*i+1), trace.KindClient, 3300, length-5000)
		add(5, 1, "log", trace.KindClient, 4000, length+50_000)
	}
	return out
}

// What is kept of too many names depends on which there are alone.
func TestHalvesOfManyNames(t *testing.T) {
	for name, spans := range map[string][]tracetest.RandomSpan{
		"calls": named(900, func(int) string { return "GET /cart" }, func(i int) string { return fmt.Sprint("fetch ", word(i)) }),
		"pages": named(1500, func(i int) string { return fmt.Sprint("GET /page/", word(i), "/edit") }, func(i int) string { return fmt.Sprint("fetch ", "ab"[i%2:i%2+1]) }),
		"few":   named(900, func(int) string { return "GET /cart" }, func(i int) string { return fmt.Sprint("fetch ", word(i%300)) }),
	} {
		want := Encode([]*Summary{summarize(spans)})
		for _, n := range []int{2, 5} {
			var merged *Summary
			for k := range n {
				part := summarize(half(spans, k, n))
				if merged == nil {
					merged = part
				} else {
					merged.Merge(part)
				}
			}
			if got := Encode([]*Summary{merged}); !bytes.Equal(got, want) {
				t.Errorf("%s: %d parts merged give %d bytes, the whole %d", name, n, len(got), len(want))
			}
		}
	}
}

// Requests whose names are too many are read as if they had had one name all along.
func TestManyNamesAreRead(t *testing.T) {
	one := func(name string) func(int) string { return func(int) string { return name } }
	for _, c := range []struct {
		many, few []tracetest.RandomSpan
		folded    int
	}{
		{
			named(1200, one("GET /cart"), func(i int) string { return fmt.Sprint("fetch ", word(i)) }),
			named(1200, one("GET /cart"), one("fetch {…}")), 2400,
		},
		{
			named(1200, func(i int) string { return fmt.Sprint("GET /page/", word(i), "/edit") }, one("fetch it")),
			named(1200, one("GET /page/{…}/edit"), one("fetch it")), 1200,
		},
		{ // both at once: what is below a page is below its folded name
			named(1200, func(i int) string { return fmt.Sprint("GET /page/", word(i), "/edit") }, func(i int) string { return fmt.Sprint("fetch ", word(i)) }),
			named(1200, one("GET /page/{…}/edit"), one("fetch {…}")), 3600,
		},
		{ // a thousand are not too many
			named(400, one("GET /cart"), func(i int) string { return fmt.Sprint("fetch ", word(i)) }),
			named(400, one("GET /cart"), func(i int) string { return fmt.Sprint("fetch ", word(i)) }), 0,
		},
	} {
		many, few := Read(nil, []*Summary{summarize(c.many)}, Options{}), Read(nil, []*Summary{summarize(c.few)}, Options{})
		folded := 0
		for _, n := range many.Folded {
			folded += n
		}
		if folded != c.folded {
			t.Errorf("%d names were folded, want %d", folded, c.folded)
		}
		if diff := cmp.Diff(told(few), told(many)); diff != "" {
			t.Error(diff)
		}
	}
}

// What is counted while reading stays small however many names there are.
func TestManyNamesAreFewPairs(t *testing.T) {
	thing := func(i int) string { return fmt.Sprint("fetch ", word(i)) }
	for name, spans := range map[string][]tracetest.RandomSpan{
		"calls": named(3000, func(int) string { return "GET /cart" }, thing),
		"pages": named(3000, func(i int) string { return fmt.Sprint("GET /page/", word(i)) }, thing),
	} {
		s := summarize(spans)
		if n := len(s.Graph.Orders); n > 12_000 { // of the first thousand pages: four calls each, in both orders
			t.Errorf("%s: %d orders while reading", name, n)
		}
		s.Canonicalize()
		if n := len(s.Graph.Orders) + len(s.Graph.Waited); n > 0 {
			t.Errorf("%s: %d counts are left", name, n)
		}
	}
}

// told is what a reading says of its calls, by name.
func told(r *Reading) map[string]string {
	out := map[string]string{}
	set := r.Sets[Current]
	v := set.Calibration.Verdicts
	used := map[graph.SlotID]int{}
	for _, rec := range set.Records {
		for i := range rec.Calls {
			used[rec.Calls[i].Slot]++
		}
	}
	for a, n := range used {
		w := v.WaitedFor(a)
		out[r.Dict.Path(a)] = fmt.Sprintln(n, w.Verdict, w.N, w.Refuted, w.Followed)
		for b := range used {
			if o := v.Order(a, b); o.Held+o.Refuted > 0 {
				out[r.Dict.Path(a)+" before "+r.Dict.Path(b)] = fmt.Sprintln(o.Verdict, o.Held, o.Refuted)
			}
		}
	}
	for _, e := range r.Endpoints {
		out["endpoint "+r.Dict.String(e.Name.Operation)] = fmt.Sprint(len(e.Sides[Current]))
	}
	return out
}

// word is a word without digits, of which nobody would say that it is an id.
func word(i int) string {
	var w []byte
	for range 6 {
		w = append(w, "bdfgklmnprst"[i%12], "aeiou"[i/12%5])
		i /= 60
	}
	return string(w)
}
