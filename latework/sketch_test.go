package latework

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// drawn is a set of traces and what is counted over them.
type drawn struct {
	dict      *graph.Dict
	late      LateCounter
	attempts  AttemptCounter
	hedges    Hedges
	deadlines DeadlineCounter
	flights   FlightCounter
	notices   NoticeCounter
	gathers   map[graph.SlotID][]Gather
}

func itself(s graph.SlotID) graph.SlotID { return s }

func draw(s *trace.Store) *drawn {
	d := &drawn{dict: graph.NewDict(), gathers: map[graph.SlotID][]Gather{}}
	fold := graph.NewFold()
	folder := &graph.Folder{Fold: fold, Dict: d.dict}
	b := graph.NewBuilder(d.dict, s, func(*trace.Store, trace.SpanRef, bool) graph.Judgement {
		return graph.Judgement{Weight: graph.OneRequest}
	})
	var records []*graph.Record
	graph.Group(s, func(id trace.TraceID, refs []trace.SpanRef) {
		var t graph.Tree
		t.Build(s, id, refs)
		b.Records(&t, func(r *graph.Record, _ []graph.Refs) {
			records = append(records, r)
			folder.Add(r)
		})
	})
	verdicts := graph.NewVerdicts(d.dict, fold, graph.SolveClocks(fold))
	verdicts.Hold(graph.KeptHedges(records), records)
	graph.Hold(records)
	w := &graph.Walker{Dict: d.dict, Verdicts: verdicts}
	for _, r := range records {
		d.deadlines.Learn(r, itself)
	}
	for _, r := range records {
		w.Walk(r)
		d.late.Add(w, r, 1, itself)
		d.attempts.Add(w, r, 1, itself)
		d.hedges.Add(w, r, 1, itself)
		d.deadlines.Add(w, r, 1, itself)
		d.flights.Add(d.dict, r, 1, itself)
		d.notices.Add(w, r, 1, itself)
		Gathers(d.dict, r, verdicts, 1, itself, d.gathers)
	}
	return d
}

func (d *drawn) name(slot graph.SlotID) string {
	s := d.dict.SlotAt(slot)
	to := d.dict.String(s.Callee.Service)
	if to == "" {
		to = d.dict.String(s.Peer)
	}
	return d.dict.String(s.Caller.Service) + "→" + to + " " + d.dict.String(s.Shown().Operation)
}

func msOf(ns float64) string { return fmt.Sprintf("%.4gms", ns/1e6) }

// section renders one kind of answer.
func (d *drawn) section(kind string) string {
	var out strings.Builder
	lateLine := func(name string, l *Late) {
		fmt.Fprintf(&out, "%s: left %g late %g of %g, %s (waiting %s working %s), began later %g; believed failed: done %g not %g unknown %g; succeeded: done %g not %g unknown %g\n",
			name, l.Left, l.LateAttempts, l.Attempts, msOf(l.NS), msOf(l.Waiting), msOf(l.Working), l.StartedAfter, l.FailedSucceeded, l.FailedFailed, l.FailedUnknown, l.SucceededSucceeded, l.SucceededFailed, l.SucceededUnknown)
	}
	switch kind {
	case "late":
		lateLine("all", &d.late.Total)
		for _, s := range slices.Sorted(maps.Keys(d.late.Edges)) {
			if l := d.late.Edges[s]; l.Left > 0 {
				lateLine(d.name(s), l)
			}
		}
		fmt.Fprintf(&out, "after: %s in %g requests\n", msOf(d.late.AfterNS), d.late.AfterRequests)
	case "attempts":
		var list []*Attempts
		for _, t := range d.attempts.Targets {
			list = append(list, t)
		}
		slices.SortFunc(list, func(a, b *Attempts) int { return int(a.Slot()) - int(b.Slot()) })
		for _, t := range list {
			fmt.Fprintf(&out, "%s: calls %g attempts %g retries %g hedges %g twice %g failed %g in %s backoff %s\n", d.name(t.Slot()), t.Logical, t.Attempts, t.Retries, t.Hedges, t.Duplicates, t.Failed, msOf(t.FailedNS), msOf(t.BackoffNS))
		}
	case "hedges":
		for t, c := range d.hedges.Targets {
			if h := c.Read(); c.Hedged() {
				fmt.Fprintf(&out, "%s: %g of %g after %s, wins %g, P(slow) %.3g, again %.3g, load %.3g, losers stop in %s, p99 %s, first alone %s; %s\n", d.name(d.hedges.Slots[t]), h.Second, h.Calls, msOf(h.Delay), h.Wins, h.Slow(), h.Again(), h.Load, msOf(h.StopP50), msOf(h.P99), msOf(h.FirstP99), h.Verdict())
			}
		}
	case "deadlines":
		for _, x := range d.deadlines.Deadlines() {
			left := "unknown"
			if x.Known {
				left = msOf(float64(x.Left))
			}
			if x.Timeout > 0 || x.Departed > 0 || x.Retries > 0 {
				fmt.Fprintf(&out, "%s: timeout %s where the caller has %s, %g of %g given more; %g of %g retries too late; %g left, %g heard, %g began later\n", d.name(x.Slot), msOf(float64(x.Timeout)), left, x.Beyond, x.Calls, x.TooLate, x.Retries, x.Departed, x.Heard, x.Began)
			}
		}
	case "flights":
		for _, f := range d.flights.Edges(d.dict, itself) {
			fmt.Fprintf(&out, "%s: %g of %g at once, in groups of %.3g, %g fewer; %g followers of %g\n", d.name(f.Slot), f.Eligible, f.Calls, f.MeanGroup(), f.Avoided(), f.Followers, f.Followed)
		}
	case "notices":
		for _, x := range d.notices.Notices() {
			fmt.Fprintf(&out, "%s %s: in %g of %g requests, %g calls, %g the same again, %s on the path\n", [...]string{"repeated", "control plane", "redirects"}[x.Kind], d.name(x.Slot), x.Requests, d.notices.Requests, x.Calls, x.Same, msOf(x.PathNS))
		}
	case "fan-out":
		for _, s := range slices.Sorted(maps.Keys(d.gathers)) {
			f := Judge(d.gathers[s], Threshold(d.gathers[s]))
			fmt.Fprintf(&out, "%s: waits for %.3g of %.3g, until %s\n", d.name(s), f.Branches, f.Begun, msOf(float64(d.gathers[s][0].NS())))
		}
	default:
		fmt.Fprintf(&out, "unknown section %q\n", kind)
	}
	return out.String()
}

func TestSketches(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no sketches", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := tracetest.Parse(string(a.Files[0].Data))
			if err != nil {
				t.Fatal(err)
			}
			d := draw(s)
			for i := range a.Files[1:] {
				f := &a.Files[i+1]
				got := d.section(f.Name)
				if *update {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(bytes.TrimRight(f.Data, "\n")), strings.TrimRight(got, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
