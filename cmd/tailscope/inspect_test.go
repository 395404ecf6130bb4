package main

import (
	"strings"
	"testing"

	"github.com/tailscope/tailscope/internal/escape"
)

// Every case can be inspected; the JSON fits its schema, and no line of text is
// wider than a terminal of 80.
func TestInspectEveryCase(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			dir := c.write(t)
			valid(t, inspectionSchema, command(t, "inspect", "--format", "json", dir))
			narrow(t, command(t, "inspect", dir))
			narrow(t, command(t, "analyze", "--inner", dir))
		})
	}
}

// An empty page says so, and one of the sample names what it lacks.
func TestInspectSample(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	const dir = "../../samples/mercury/baseline"
	valid(t, inspectionSchema, command(t, "inspect", "--format", "json", dir))
	out := string(command(t, "inspect", dir))
	narrow(t, []byte(out))
	out = strings.Join(strings.Fields(out), " ") + out
	for _, want := range []string{"ingress → pricing: waits are told by client duration less server duration; connection-pool", "To tell more, record server spans of profile-db", "ingress GET /v2/home", "2,100 requests for 1 endpoint", "Emit ", "profile profile-db", "connection-pool", "app.tier"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func narrow(t *testing.T, out []byte) {
	t.Helper()
	for i, line := range strings.Split(string(out), "\n") {
		if w := escape.Width(line); w > 80 {
			t.Errorf("line %d has %d cells: %s", i+1, w, line)
		}
	}
}
