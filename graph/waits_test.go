package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// A call whose server span begins 180 ms after the client's, and ends 2 ms
// before it. What the server span, or the client's, says of the wait.
func TestWaitsThatSpansTellOf(t *testing.T) {
	declared := map[string]trace.DeclaredWait{
		"acme.slot_us": {UnitNS: 1e3, ResourceAttribute: "acme.pool"},
		"acme.queued":  {UnitNS: 1e9, Resource: "intake", Before: true},
	}
	const start = int64(tracetest.T0 / 1_000_000)
	for _, c := range []struct {
		about, client, server string
		waits                 map[string]trace.DeclaredWait
		want                  string
	}{
		{"a cold start takes what is not the way", "", "faas.coldstart=true", nil, "server -2..180 cold start: faas.coldstart"},
		{"a warm one does not", "", "faas.coldstart=false", nil, ""},
		{"a load balancer's stamp before an inner server", "", fmt.Sprintf("http.request.header.x-request-start=t=%d.%03d", (start+50)/1000, (start+50)%1000), nil, "server 50..180 : request-start stamp"},
		{"a stamp from after the start says nothing", "", fmt.Sprintf("http.request.header.x-request-start=t=%d", start/1000+60), nil, ""},
		{"time in queue, in ms", "", "http.server.request.time_in_queue=120", nil, "server 60..180 : time in queue"},
		{"never longer than the time between the spans", "", "queue.time_ms=5000", nil, "server -2..180 : time in queue"},
		{"a team's own attribute, on a client span", "acme.slot_us=40000 acme.pool=orders", "", declared, "client 0..40 orders: attribute acme.slot_us"},
		{"longer than its span: it is about something else", "acme.slot_us=400000000", "", declared, ""},
		{"a wait before the span", "", "acme.queued=0.1", declared, "server 80..180 intake: attribute acme.queued"},
		{"nobody said what it is", "acme.slot_us=40000", "acme.queued=0.1", nil, ""},
		{"no time at all", "acme.slot_us=NaN", "acme.queued=-1", declared, ""},
	} {
		t.Run(c.about, func(t *testing.T) {
			s := trace.NewStore(trace.NewTables())
			s.Waits = c.waits
			text := fmt.Sprintf("web GET /page 0..300ms server\n  web score 0..252ms client %s\n    ml score 180..250ms server %s\n      ml rows 181..190ms internal\n", c.client, c.server)
			if err := tracetest.Add(s, text, 1); err != nil {
				t.Fatal(err)
			}
			d := draw(s)
			var got []string
			for _, w := range d.records[0].Waits {
				half := "server"
				if w.Client {
					half = "client"
				}
				at := func(x trace.Time) int64 { return int64(x-tracetest.T0) / 1_000_000 }
				got = append(got, fmt.Sprintf("%s %d..%d %s: %s", half, at(w.Start), at(w.End), d.dict.String(w.Resource), d.dict.String(w.Evidence)))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Before the entry span a team's own attribute is as good as a stamp.
func TestADeclaredWaitBeforeTheRequest(t *testing.T) {
	s := trace.NewStore(trace.NewTables())
	s.Waits = map[string]trace.DeclaredWait{"acme.queued": {UnitNS: 1e6, Before: true}}
	if err := tracetest.Add(s, "web GET /page 0..300ms server acme.queued=75\n\nweb GET /page 0..300ms server acme.queued=later\n", 1); err != nil {
		t.Fatal(err)
	}
	d := draw(s)
	if a, b := d.records[0].Before, d.records[1].Before; a != 75_000_000 || b != NoBefore {
		t.Errorf("before %d and %d ns, want 75 ms and nothing", a, b)
	}
}
