package queuewait

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A servedCall is one call of front to back, in ns: asked, begun, ended, answered, and what else front and back did in it.
type servedCall struct {
	op                           string
	at, begun, ended, read, done int64
	inner                        string // lines below back's span
}

func serving(t *testing.T, calls []servedCall) *Data {
	t.Helper()
	s := trace.NewStore(trace.NewTables())
	for i, c := range calls {
		text := fmt.Sprintf("front GET %d..%dns server host=f\n  front %s %d..%dns client host=f\n    back %s %d..%dns server host=b\n%s",
			c.at-100_000, c.done, c.op, c.at, c.read, c.op, c.begun, c.ended, c.inner)
		if err := tracetest.Add(s, text, i+1); err != nil {
			t.Fatal(err)
		}
	}
	return data(s)
}

// steady is some calls a second apart by chance, for a number of seconds.
func steady(seed uint64, perSecond float64, seconds int64) (at []int64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for t := int64(0); t < seconds*1e9; {
		t += int64(rng.ExpFloat64() * 1e9 / perSecond)
		at = append(at, t)
	}
	return at
}

// halting moves what happens in a stop of 150 ms that begins every second, at 0.7 s, to its end.
func halting(x int64) int64 {
	if in := x % 1e9; in >= 700*msNS && in < 850*msNS {
		return x - in + 850*msNS + in%1000
	}
	return x
}

// stopsAt is the stops of a host's process that last at least 100 ms: shorter silences that a burst ends come by chance, and
// nothing waits in them.
func stopsAt(d *Data, host string) []Stop {
	for p, list := range activityOf(d.Records).stops() {
		if d.Dict.String(d.Dict.ProcAt(p).Host) == host {
			return slices.DeleteFunc(list, func(s Stop) bool { return s.Duration() < 100*msNS })
		}
	}
	return nil
}

func TestStopsOfTheCalleeOwnWaits(t *testing.T) {
	var calls []servedCall
	for i, at := range steady(1, 80, 20) {
		hold := int64(40+i%9) * msNS
		begun := halting(at + 200_000)
		ended := halting(begun + hold)
		calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
	}
	d := serving(t, calls)
	if n := len(stopsAt(d, "b")); n < 18 {
		t.Errorf("%d stops of the callee, want 20 or a few fewer", n)
	}
	held := 0
	for _, s := range stopsAt(d, "b") {
		if in := int64(s.Start) % 1e9; s.Duration() < 120*msNS || s.Duration() > 200*msNS || in < 600*msNS || in > 750*msNS {
			t.Errorf("a stop from %d for %d", s.Start, s.Duration())
		}
		if s.Held != graph.NoSlot && s.Through > 1 {
			held++
		}
	}
	if held > 9 {
		t.Errorf("%d stops are held by one of several requests at work", held)
	}
	v := verdict(t, d)
	if v.Owner != Pause || d.Dict.String(v.Stopped) != "back" {
		t.Errorf("owner %s, stopped %q: %+v", v.Owner, d.Dict.String(v.Stopped), v.Tests)
	}
}

func TestStopsOfTheCallerOwnLateAnswers(t *testing.T) {
	var calls []servedCall
	for i, at := range steady(2, 120, 20) {
		hold := int64(8+i%9) * msNS
		at = halting(at)
		begun := at + 200_000
		ended := begun + hold
		read := halting(ended + 200_000)
		calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: read, done: read + 100_000})
	}
	d := serving(t, calls)
	v := verdict(t, d)
	if v.Owner != Pause || d.Dict.String(v.Stopped) != "front" {
		t.Errorf("owner %s, stopped %q: %+v", v.Owner, d.Dict.String(v.Stopped), v.Tests)
	}
}

// One operation keeps the only thread of its process: each stop begins and ends with it, and more was at work.
func TestAHeldLoopNamesItsHolder(t *testing.T) {
	var calls []servedCall
	for i, at := range steady(3, 80, 20) {
		hold := int64(20+i%9) * msNS
		begun := halting(at + 200_000)
		ended := halting(begun + hold)
		calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
	}
	for i := range int64(20) { // begins just before the stop, ends with it
		from, to := i*1e9+699*msNS, i*1e9+850*msNS
		calls = append(calls, servedCall{op: "report", at: from - msNS, begun: from - 500_000, ended: to, read: to + 200_000, done: to + 300_000,
			inner: fmt.Sprintf("      back load %d..%dns client peer=db host=b\n      back render %d..%dns internal host=b\n", from-400_000, i*1e9+699_000_000, i*1e9+699_999_000, to-100_000)})
	}
	d := serving(t, calls)
	list := stopsAt(d, "b")
	held, through := 0, 0
	for _, s := range list {
		if s.Held != graph.NoSlot && d.Dict.String(d.Dict.SlotAt(s.Held).Shown().Operation) == "report" {
			held++
		}
		through += s.Through
	}
	if len(list) < 15 || held < len(list)*9/10 {
		t.Errorf("%d stops, %d held by report", len(list), held)
	}
	if through < 2*len(list) {
		t.Errorf("%d requests at work through %d stops", through, len(list))
	}
}

// The look-alike: a callee with one thread. A long call keeps it, nothing else begins or ends meanwhile, and then only the
// next goes on.
func TestOneThreadIsNoStop(t *testing.T) {
	var calls []servedCall
	free := int64(0)
	for i, at := range steady(4, 60, 30) {
		hold := int64(4+i%5) * msNS
		if i%60 == 59 {
			hold = 150 * msNS
		}
		begun := max(at+200_000, free)
		free = begun + hold
		calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: free, read: free + 200_000, done: free + 300_000,
			inner: fmt.Sprintf("      back load %d..%dns client peer=db host=b\n", begun+100_000, begun+hold-500_000)})
	}
	d := serving(t, calls)
	if list := stopsAt(d, "b"); len(list) > 0 {
		t.Errorf("%d stops, the first %+v", len(list), list[0])
	}
	if v := verdict(t, d); v.Owner != ServerQueue {
		t.Errorf("owner %s: %+v", v.Owner, v.Tests)
	}
}

// The look-alike: nobody asks for a while.
func TestALullIsNoStop(t *testing.T) {
	var calls []servedCall
	for i, at := range steady(5, 80, 20) {
		if in := at % 1e9; in >= 700*msNS && in < 900*msNS {
			continue
		}
		begun := at + 200_000
		ended := begun + int64(8+i%9)*msNS
		calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
	}
	d := serving(t, calls)
	if list := stopsAt(d, "b"); len(list) > 1 { // by chance
		t.Errorf("%d stops, the first %+v", len(list), list[0])
	}
}

// Stops do not depend on the order of the records.
func TestStopsDoNotDependOnOrder(t *testing.T) {
	var calls []servedCall
	for i, at := range steady(6, 80, 10) {
		begun := halting(at + 200_000)
		ended := halting(begun + int64(8+i%9)*msNS)
		calls = append(calls, servedCall{op: "quote", at: at, begun: begun, ended: ended, read: ended + 200_000, done: ended + 300_000})
	}
	d := serving(t, calls)
	was := fmt.Sprint(activityOf(d.Records).stops())
	slices.Reverse(d.Records)
	if is := fmt.Sprint(activityOf(d.Records).stops()); is != was || !strings.Contains(was, "{") {
		t.Errorf("%s\nand in reverse order %s", was, is)
	}
}
