package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscope/tailscope/analysis"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

func init() {
	add(suite{
		name: "graph",
		about: "The work graph of simulated systems, from the spans of 2,000 requests without metrics. `found` is the share of the true orders of\n" +
			"sibling calls, and of the calls that are waited for, that are found; `nothing else` the share of simulations in which no order is\n" +
			"held, and nothing waited for, that is not; `clocks` the share of pairs of hosts whose true offset lies in the bounds (of clocks\n" +
			"that drift, at some time of the run).",
		version: 1,
		runs:    graphSeeds,
		run:     graphCells,
		slow:    true,
	})
}

const (
	graphSeeds    = 20
	graphRequests = 2000
)

// structures are the simulated systems as they are when nothing is wrong.
var structures = []string{"checkout/null", "mercury/null", "mercury/null-async", "mesh/null", "search/null", "checkout/null-drift", "mesh/null-drift"}

func graphCells(seed uint64, runs int) []cell {
	var cells []cell
	for _, name := range structures {
		found := cell{name: name + ": found", target: atLeast(1)}
		nothing := cell{name: name + ": nothing else", runs: runs, target: atLeast(0.95)}
		clocks := cell{name: name + ": clocks", target: atLeast(1)}
		for k := range runs {
			g, err := recovery(name, seed+uint64(k))
			if err != nil {
				panic(err)
			}
			found.runs += g.orders + g.waited
			found.hits += g.orders + g.waited - len(g.missed)
			if len(g.wrong) == 0 {
				nothing.hits++
			}
			clocks.runs += g.pairs
			clocks.hits += g.pairs - len(g.outside)
			for _, what := range [][]string{g.missed, g.wrong, g.outside} {
				if len(what) > 0 {
					fmt.Fprintf(os.Stderr, "%s, seed %d: %s\n", name, seed+uint64(k), strings.Join(what, "; "))
				}
			}
		}
		cells = append(cells, found, nothing, clocks)
	}
	return cells
}

// recovery simulates a system and compares its work graph with the truth.
func recovery(name string, seed uint64) (*recovered, error) {
	r, err := scenario.Generate(name, seed, graphRequests)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "graph")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := r.Write(dir, otlp.Format{Encoding: otlp.Proto}, false); err != nil {
		return nil, err
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*", "metrics*"))
	for _, f := range found {
		os.Remove(f)
	}
	o := analysis.New()
	o.Current = [][]string{{filepath.Join(dir, "current")}}
	l, err := analysis.Load(context.Background(), &o)
	if err != nil {
		return nil, err
	}
	g := &recovered{reading: summary.Read(nil, l.Sides[summary.Current], summary.Options{})}
	g.structure(r.Truth.Current.Structure)
	g.clocks(r.Truth.Current.Hosts)
	return g, nil
}

type recovered struct {
	reading *summary.Reading

	// What was compared: true orders, calls that are waited for, calls that are not,
	// pairs of calls without an order, pairs of hosts.
	orders, waited, async, parallel, pairs int

	missed  []string // true orders and calls waited for that were not found
	wrong   []string // orders, and calls waited for, that there are not
	outside []string // offsets outside their bounds
}

func (g *recovered) miss(format string, args ...any) {
	g.missed = append(g.missed, fmt.Sprintf(format, args...))
}
func (g *recovered) err(format string, args ...any) {
	g.wrong = append(g.wrong, fmt.Sprintf(format, args...))
}

// minSeen is how many requests must have a slot for its verdicts to count.
const minSeen = 100

// slots are those of an operation below a slot, or anywhere for none.
func (g *recovered) slots(parent graph.SlotID, service, operation string) []graph.SlotID {
	d := g.reading.Dict
	set := g.reading.Sets[summary.Current]
	seen := map[graph.SlotID]int{}
	for _, r := range set.Records {
		for i := range r.Calls {
			seen[r.Calls[i].Slot]++
		}
	}
	var out []graph.SlotID
	for id := range graph.SlotID(d.Slots()) {
		s := d.SlotAt(id)
		if seen[id] < minSeen || parent != graph.NoSlot && s.Parent != parent {
			continue
		}
		called := d.String(s.Callee.Service)
		if s.Callee == (trace.Endpoint{}) {
			called = d.String(s.Peer)
		}
		if called == service && d.String(s.Shown().Operation) == operation {
			out = append(out, id)
		}
	}
	return out
}

func (g *recovered) structure(truth []scenario.EndpointTruth) {
	v := g.reading.Sets[summary.Current].Calibration.Verdicts
	for _, e := range truth {
		before := closure(len(e.Calls), e.Before)
		for _, parent := range g.slots(graph.NoSlot, e.Service, e.Operation) {
			calls := make([]graph.SlotID, len(e.Calls))
			for i, c := range e.Calls {
				calls[i] = graph.NoSlot
				if s := g.slots(parent, c.Service, c.Operation); len(s) == 1 {
					calls[i] = s[0]
				}
				if calls[i] == graph.NoSlot {
					continue
				}
				w := v.WaitedFor(calls[i])
				switch {
				case c.WaitedFor && w.Verdict == graph.Asynchronous:
					g.waited++
					g.miss("%s %s waits for %s: refuted in %d of %d", e.Service, e.Operation, c.Operation, w.Refuted, w.N)
				case !c.WaitedFor && (w.Verdict == graph.WaitedHeld || w.Verdict == graph.Abandoned):
					g.err("%s %s does not wait for %s: refuted in %d of %d, followed %d, usual %d", e.Service, e.Operation, c.Operation, w.Refuted, w.N, w.Followed, w.Usual)
				case c.WaitedFor:
					g.waited++
				default:
					g.async++
				}
			}
			for i := range calls {
				for k := range calls {
					if i == k || calls[i] == graph.NoSlot || calls[k] == graph.NoSlot || calls[i] == calls[k] {
						continue
					}
					o := v.Order(calls[i], calls[k])
					switch held := o.Verdict == graph.OrderHeld; {
					case before[i][k] && !held && o.Held+o.Refuted >= minSeen:
						g.orders++
						g.miss("%s %s: %s comes before %s: held %d, refuted %d", e.Service, e.Operation, e.Calls[i].Operation, e.Calls[k].Operation, o.Held, o.Refuted)
					case before[i][k]:
						g.orders++
					case held:
						g.err("%s %s: %s does not come before %s: held %d, refuted %d", e.Service, e.Operation, e.Calls[i].Operation, e.Calls[k].Operation, o.Held, o.Refuted)
					default:
						g.parallel++
					}
				}
			}
		}
	}
}

// closure is what comes before what, directly or not.
func closure(n int, pairs [][2]int) [][]bool {
	b := make([][]bool, n)
	for i := range b {
		b[i] = make([]bool, n)
	}
	for _, p := range pairs {
		b[p[0]][p[1]] = true
	}
	for k := range n {
		for i := range n {
			for j := range n {
				b[i][j] = b[i][j] || b[i][k] && b[k][j]
			}
		}
	}
	return b
}

func (g *recovered) clocks(truth []scenario.HostTruth) {
	hosts := map[string]scenario.HostTruth{}
	for _, h := range truth {
		hosts[h.Host] = h
	}
	set := g.reading.Sets[summary.Current]
	lasted := float64(set.Counts.To - set.Counts.From)
	for _, w := range g.reading.Sets[summary.Current].Calibration.Verdicts.Clocks.Windows {
		for _, p := range w.Pairs {
			a, b := g.reading.Dict.String(p.A), g.reading.Dict.String(p.B)
			o := w.Offset[p]
			first := hosts[b].OffsetNs - hosts[a].OffsetNs
			last := first + int64(lasted*(hosts[b].DriftPpm-hosts[a].DriftPpm)/1e6)
			// Of clocks that drift, the bounds hold at some time: no call contradicts
			// a drift that is less than its own way there and back.
			if max(first, last) < o.Lo || min(first, last) > o.Hi {
				g.outside = append(g.outside, fmt.Sprintf("the clock of %s is %d to %d ns ahead of that of %s, outside [%d, %d]", b, first, last, a, o.Lo, o.Hi))
			}
			g.pairs++
		}
	}
}
