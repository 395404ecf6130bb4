package hypotheses

import (
	"strings"
	"testing"

	"github.com/tailscope/tailscope/config"
)

func TestRecall(t *testing.T) {
	ranking := func() *Ranking {
		return &Ranking{Findings: []Finding{
			{Kind: "client-wait", Service: "ingress", Peer: "pricing", Strength: Strong},
			{Kind: "client-wait", Service: "ingress", Peer: "profile", Strength: Moderate},
			{Kind: "load", Service: "ingress", Strength: Moderate},
		}}
	}
	order := func(r *Ranking) string {
		var out []string
		for _, f := range r.Findings {
			out = append(out, f.Kind+" "+f.Peer+" "+f.Strength.String())
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct {
		name string
		note config.Note
		want string
		says string
	}{
		{"a failed one lowers exactly what it tested", config.Note{Outcome: "failed", Tests: config.Mechanism{Kind: "client-wait", Service: "ingress", Peer: "pricing"}},
			"client-wait profile moderate, load  moderate, client-wait pricing weak", "makes client-wait weak"},
		{"one of another callee lowers nothing", config.Note{Outcome: "failed", Tests: config.Mechanism{Kind: "client-wait", Peer: "inventory"}},
			"client-wait pricing strong, client-wait profile moderate, load  moderate", "fits no cause here"},
		{"one of another mechanism leaves the others", config.Note{Outcome: "failed", Tests: config.Mechanism{Kind: "load"}},
			"client-wait pricing strong, client-wait profile moderate, load  weak", "makes load weak"},
		{"a confirmed one is evidence", config.Note{Outcome: "confirmed", Tests: config.Mechanism{Kind: "load"}},
			"client-wait pricing strong, client-wait profile moderate, load  moderate", "is evidence"},
		{"an unclear one changes nothing", config.Note{Outcome: "unclear", Tests: config.Mechanism{Kind: "load"}},
			"client-wait pricing strong, client-wait profile moderate, load  moderate", "changes nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ranking()
			c.note.Change, c.note.At, c.note.Observed = "more hosts", "2026-02-17", "p99 moved by 11 ms"
			x := r.Recall([]config.Note{c.note})
			if got := order(r); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if len(x) != 1 || !strings.Contains(x[0].Effect, c.says) {
				t.Errorf("it %+v, want that it %s", x, c.says)
			}
			for _, f := range r.Findings {
				told := len(f.Evidence)+len(f.Against) > 0
				if told && !strings.Contains(append(f.Evidence, f.Against...)[0].Statement, "tried 2026-02-17: more hosts: p99 moved by 11 ms") {
					t.Errorf("%s says %v", f.Kind, append(f.Evidence, f.Against...))
				}
			}
		})
	}
}
