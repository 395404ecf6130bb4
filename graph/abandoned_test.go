package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/trace/tracetest"
)

// requests draws n requests one second apart, each by a template of lines with
// times in ms.
func requests(out *strings.Builder, from, n int, lines ...string) {
	for i := range n {
		at := (from + i) * 1000
		for _, l := range lines {
			var name string
			var start, end int
			indent := len(l) - len(strings.TrimLeft(l, " "))
			body, kind, _ := strings.Cut(strings.TrimSpace(l), " | ")
			at0 := strings.LastIndexByte(body, ' ')
			name = body[:at0]
			fmt.Sscanf(body[at0+1:], "%d..%d", &start, &end)
			fmt.Fprintf(out, "%s%s %d..%dms %s\n", strings.Repeat(" ", indent), name, at+start, at+end, kind)
		}
		out.WriteString("\n")
	}
}

// A call that callers wait for, and that some give up on: its caller went on 10
// ms before its end, as it does after each answer, and what the callee did from
// then on is late.
func TestAbandoned(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		requests(&b, i, 1, fmt.Sprintf("web GET /page 0..%d | server", 60+i), fmt.Sprintf("  web recommend 10..%d | client", 50+i), fmt.Sprintf("    rec recommend 11..%d | server", 49+i))
	}
	requests(&b, 40, 8, "web GET /page 0..260 | server", "  web recommend 10..402 | client", "    rec recommend 11..401 | server")
	d := draw(tracetest.MustParse(b.String()))
	slot := d.records[0].Calls[1].Slot
	if v := d.verdicts.WaitedFor(slot); v.Verdict != Abandoned || v.Refuted != 8 {
		t.Fatalf("verdict %d, refuted in %d", v.Verdict, v.Refuted)
	}
	w := &Walker{Dict: d.dict, Verdicts: d.verdicts}
	w.Walk(d.records[44])
	var got strings.Builder
	ms := func(ns int64) int64 { return (ns + 500_000) / 1_000_000 } // the median is within 0.5 %
	for _, s := range w.Path {
		fmt.Fprintf(&got, "%d..%d %s\n", ms(s.Start), ms(s.End), d.name(44, s.Call, s.Client))
	}
	for _, l := range w.Late {
		fmt.Fprintf(&got, "late %d..%d %s, left at %d\n", ms(l.Start), ms(l.End), d.name(44, l.Call, l.Client), ms(l.Departed))
	}
	want := `0..10 web GET /page server
10..11 web recommend client
11..250 rec recommend server
250..260 web GET /page server
late 250..401 rec recommend server, left at 250
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// Nobody waits for a record that is sent at some time and ends at any.
func TestNeverWaitedFor(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		requests(&b, i, 1, "web GET /page 0..100 | server", fmt.Sprintf("  web record %d..%d | client", 5+i, 20+i*37%160+5))
	}
	d := draw(tracetest.MustParse(b.String()))
	if v := d.verdicts.WaitedFor(d.records[0].Calls[1].Slot); v.Verdict != Asynchronous {
		t.Errorf("verdict %d: held %d, usual %d of %d (chance %g)", v.Verdict, v.Followed, v.Usual, v.Inside, v.UsualExpectedByChance)
	}
}

// What a caller does with an answer takes its time, and about the same: it
// waited, though it never goes on at once.
func TestUsualTail(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		end := 30 + i*29%60
		requests(&b, i, 1, fmt.Sprintf("web GET /page 0..%d | server", end+12+i%5), fmt.Sprintf("  web ask 3..%d | client", end))
	}
	d := draw(tracetest.MustParse(b.String()))
	if v := d.verdicts.WaitedFor(d.records[0].Calls[1].Slot); v.Verdict != WaitedHeld {
		t.Errorf("verdict %d: held %d, usual %d of %d (chance %g)", v.Verdict, v.Followed, v.Usual, v.Inside, v.UsualExpectedByChance)
	}
}

// A callback that answers for its parent ends just before or just after it, now and then long after: its parent never gave
// it up, however old it was. A deadline of the parent's cuts off what takes longer than the rest, at ages that differ as
// well where the call begins at different times.
func TestCallbackIsNotAbandoned(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		end, over := 20+i*7%31, -1
		switch {
		case i%10 == 3:
			over = 2
		case i%30 == 17:
			over = 150
		}
		requests(&b, i, 1, fmt.Sprintf("currency GetCurrencies 0..%d | server", end), fmt.Sprintf("  currency data 2..%d | internal", end+over))
	}
	d := draw(tracetest.MustParse(b.String()))
	if v := d.verdicts.WaitedFor(d.records[0].Calls[1].Slot); v.Verdict != WaitedUndecided || v.Refuted != 8 {
		t.Errorf("callback: verdict %d, refuted in %d", v.Verdict, v.Refuted)
	}
	w := &Walker{Dict: d.dict, Verdicts: d.verdicts}
	w.Walk(d.records[17])
	if len(w.Late) != 0 {
		t.Errorf("callback: late %v", w.Late)
	}

	b.Reset()
	for i := range 60 {
		from, took, end := 2+i*7%31, 10+i*11%23, 0
		if i%10 == 3 {
			took = 90 + i
		}
		if end = from + took + 1; end > 80 {
			end = 80
		}
		requests(&b, i, 1, fmt.Sprintf("web GET /page 0..%d | server", end), fmt.Sprintf("  web ask %d..%d | client", from, from+took))
	}
	d = draw(tracetest.MustParse(b.String()))
	if v := d.verdicts.WaitedFor(d.records[0].Calls[1].Slot); v.Verdict != Abandoned || v.Refuted != 6 {
		t.Errorf("deadline: verdict %d, refuted in %d", v.Verdict, v.Refuted)
	}
}
