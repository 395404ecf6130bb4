package queuewait

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A bank is 600 queries of two processes, each held 20 to 40 ms in one of its process' places, drawn by a queue run by
// hand here, with what the pool's metrics say of them. The client spans begin when a query asks for a place or when it
// has one.
type bank struct {
	*Data
	waits []int64 // of the queries, in order
	mean  float64
	hold  float64
}

func bankOf(t *testing.T, places int, after bool, also func(i int, at, done int64) string) bank {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	s := trace.NewStore(trace.NewTables())
	free := [2][]int64{make([]int64, places), make([]int64, places)}
	var b bank
	at := int64(0)
	for i := range 600 {
		at += int64(rng.ExpFloat64() * 9 * msNS)
		list := free[i%2]
		p := 0
		for k := range list {
			if list[k] < list[p] {
				p = k
			}
		}
		given := max(at, list[p])
		done := given + 20*msNS + rng.Int64N(20*msNS)
		list[p] = done
		b.waits = append(b.waits, given-at)
		b.mean += float64(given-at) / 600
		b.hold += float64(done-given) / 600
		begun := at
		if after {
			begun = given
		}
		text := fmt.Sprintf("teller GET %d..%dns server host=t%d\n  teller SELECT %d..%dns client host=t%d db.system=pg server.address=vault\n", at, done+2*msNS, i%2, begun, done, i%2)
		if also != nil {
			text += also(i, at, done)
		}
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	b.Data = data(s)
	return b
}

// pool is what a pool says of its places and of the mean of its waits; of what is zero it says nothing.
func (b *bank) pool(places int, waitMS, holdMS float64) {
	p := metric.PoolView{Service: "teller", Kind: metric.ConnectionPool, Name: "main"}
	p.Limit = metric.Levels{Seconds: int64(places), P50: float64(places), Max: float64(places)}
	p.Used.Mean, p.Pending.Mean = math.NaN(), math.NaN()
	if waitMS > 0 {
		p.Wait.Count, p.Wait.MeanMS = 600, waitMS
	}
	if holdMS > 0 {
		p.Use.Count, p.Use.MeanMS = 600, holdMS
	}
	b.Pools = []metric.PoolView{p}
}

// within is the verdict on the client spans to a target, nil if none was asked for.
func (b *bank) within(target string) *Verdict {
	for _, v := range NewOwners([2]*Data{nil, b.Data}, floorsOf(b.Data)).All() {
		if v.Key.Site == Inside && b.Dict.String(v.Key.Target) == target {
			return v
		}
	}
	return nil
}

// sum is the waits within the client spans to the vault, and how many of them differ from the true ones.
func (b *bank) sum(v *Verdict) (sum int64, off int) {
	for n, r := range b.Records {
		for i := range r.Calls {
			if c := &r.Calls[i]; c.Client.Seen() && b.Dict.String(b.Dict.SlotAt(c.Slot).Peer) == "vault" {
				wait, _, _ := v.Inside(1, c)
				sum += wait
				if wait != b.waits[n] {
					off++
				}
			}
		}
	}
	return sum, off
}

// Places that are given in turn are known to the nanosecond from when calls asked and ended, whatever each held:

func TestPlacesInTurnGiveEveryWait(t *testing.T) {
	for _, waitMS := range []float64{0, 1} { // nothing said of the mean, and the mean itself
		b := bankOf(t, 2, false, cached)
		b.pool(2, waitMS*b.mean/1e6, 0)
		v := b.within("vault")
		if v == nil || v.Owner != ClientWait || v.MeanOnly() {
			t.Fatalf("%+v", v)
		}
		if _, off := b.sum(v); off > 0 {
			t.Errorf("%d of 600 waits are not the true ones", off)
		}
		if s := v.Sides[1]; math.Abs(s.Wait-b.mean) > 1 || math.Abs(s.Hold-b.hold) > 1 || s.Limit != 2 {
			t.Errorf("wait %.0f, hold %.0f, limit %d; want %.0f, %.0f, 2", s.Wait, s.Hold, s.Limit, b.mean, b.hold)
		}
	}
}

// Of a pool that says how long calls waited and not how many places it has, the mean is right and nothing of each call.
func TestAMeanWaitAlone(t *testing.T) {
	b := bankOf(t, 2, false, nil)
	b.pool(0, b.mean/1e6, b.hold/1e6)
	v := b.within("vault")
	if v == nil || v.Owner != ClientWait || !v.MeanOnly() {
		t.Fatalf("%+v", v)
	}
	if sum, _ := b.sum(v); math.Abs(float64(sum)/600-b.mean) > 0.001*b.mean {
		t.Errorf("%.0f ns on average, want %.0f", float64(sum)/600, b.mean)
	}
	if x := v.inside[1]; x.lo >= 1 || x.hi <= 1 {
		t.Errorf("bounds of %g to %g of the likely mean", x.lo, x.hi)
	}
}

// cached is a call of another callee, beside the queries.
func cached(i int, at, done int64) string {
	return fmt.Sprintf("  teller GET %d..%dns client host=t%d db.system=redis server.address=cache\n", done, done+msNS, i%2)
}

// Look-alikes: a callee that is slow behind a pool that has room; waits before the client spans; waits of a pool for
// another callee; no pool that says anything.
func TestWhatIsNoWaitWithinAClientSpan(t *testing.T) {
	for _, x := range []struct {
		name         string
		places       int
		after        bool
		also         func(i int, at, done int64) string
		said         int
		target, want string // the statement; "" of no verdict
	}{
		{"room", 40, false, nil, 40, "vault", "of which 0 ms are a wait"},
		{"before", 2, true, nil, 2, "vault", "would let calls wait 0 ms within their client spans"},
		{"before, size unknown", 2, true, nil, 0, "vault", "its waits do not lie in them"},
		{"of another callee", 2, false, cached, 2, "cache", "not told from the callee's work"},
		{"silence", 2, false, nil, -1, "vault", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := bankOf(t, x.places, x.after, x.also)
			if x.said >= 0 {
				b.pool(x.said, max(b.mean, 1)/1e6, b.hold/1e6)
			}
			v := b.within(x.target)
			if v == nil && x.want == "" {
				return
			}
			if v == nil || v.Owner != Own || v.Tests[0].Name != "metrics" || x.want == "" || !strings.Contains(v.Tests[0].Statement, x.want) {
				t.Errorf("%+v", v)
			}
			if v != nil && v.inside[1] != nil {
				t.Error("waits are charged")
			}
		})
	}
}

// Of one place that the last to ask gets first, some calls of every four would have ended before their turn: A has it until
// 40 ms, then D, C and B for 40 each. What the pool says of the mean is used instead.
func TestPlacesOutOfTurn(t *testing.T) {
	s := trace.NewStore(trace.NewTables())
	for i := range 100 {
		text := fmt.Sprintf("teller GET %d..%dms server\n", 200*i, 200*i+170)
		for _, c := range [][2]int{{0, 40}, {5, 160}, {10, 120}, {15, 80}} {
			text += fmt.Sprintf("  teller SELECT %d..%dms client db.system=pg server.address=vault\n", 200*i+c[0], 200*i+c[1])
		}
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	b := bank{Data: data(s)}
	b.pool(1, 52.5, 40) // (0 + 35 + 70 + 105) / 4
	v := b.within("vault")
	if v == nil || v.Owner != ClientWait || !v.MeanOnly() || math.Abs(v.Sides[1].Wait-52.5*msNS) > 1000 {
		t.Errorf("%+v", v)
	}
	b.pool(1, 0, 40) // and where it says nothing of it, nothing is known
	if v := b.within("vault"); v == nil || v.Owner != Own || v.inside[1] != nil {
		t.Errorf("%+v", v)
	}
}

// A pool whose waits lie before the client spans does not wait within them as well, although its places in use, looked at now and
// then, make the spans seem longer than they hold one.
func TestOneWaitIsCountedOnce(t *testing.T) {
	for _, part := range []float64{0.5, 0.8, 1} {
		b := bankOf(t, 2, true, cached)
		b.pool(2, b.mean/1e6, (b.hold-part*b.mean)/1e6)
		if v := b.within("vault"); v.Claimed() {
			t.Errorf("%g of it: %s", part, v.Tests[0].Statement)
		}
		for _, v := range NewOwners([2]*Data{nil, b.Data}, floorsOf(b.Data)).All() {
			if v.Key.Site == Lead && b.Dict.String(v.Key.Target) == "vault" && (v.Owner != ClientWait || math.Abs(v.Sides[1].Wait-b.mean) > 0.1*b.mean) {
				t.Errorf("%g of it: before the spans: %s, %.0f, want %.0f", part, v.Owner, v.Sides[1].Wait, b.mean)
			}
		}
	}
}
