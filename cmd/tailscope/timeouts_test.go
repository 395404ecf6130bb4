package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/report"
)

var timeoutsSchema = compiled(report.TimeoutsSchema)

// A sweep fits its schema and the terminal, and falls with the timeout.
func TestTimeouts(t *testing.T) {
	const dir, edge = "../../samples/mercury/baseline", "ingress→recommendation"
	valid(t, timeoutsSchema, command(t, "timeouts", "--edge", edge, "--format", "json", dir))
	out := string(command(t, "timeouts", "--edge", "ingress->recommendation GET /v1/recommendations/{id}", dir))
	narrow(t, []byte(out))
	for _, want := range []string{"Timeouts of ingress for recommendation", "GET /v1/recommendations/{id}", "in doubt"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestTimeoutsUsage(t *testing.T) {
	for _, row := range []struct{ edge, want string }{
		{"ingress", "is not an edge"},
		{"", "is not an edge"},
		{"ingress→nobody", "no such edge; there are ingress→"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{"timeouts", "--edge", row.edge, "../../samples/mercury/baseline"}, nil, &stdout, &stderr)
		if code != exitUnusable || !strings.Contains(stderr.String(), row.want) || stdout.Len() > 0 {
			t.Errorf("%q: exit %d, %s", row.edge, code, stderr.String())
		}
	}
}
