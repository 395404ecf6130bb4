package action

import (
	"fmt"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/latework"
)

// degrade weighs an answer without the branch that is slow.
func degrade(w *weighing, c costs) {
	for _, f := range w.causes("client-wait", "server-queue", "load", "service-time", "contention", "optional-branch", "timeout-plateau", "retries", "instance", "pause", "network", "new-hop", "late-work", "hedging") {
		service := f.callee()
		b := w.branch(service, f.Operation)
		if b == nil {
			continue
		}
		target := b.Service + " " + b.Operation
		if reason, ok := w.contract("no-degrade", b.Service, b.Operation); ok {
			w.add(c, target, f, ViolatesContract, "%s", reason)
			continue
		}
		floor := ""
		if d := w.Rules.Deadline; d != nil && d.OptionalMin > 0 {
			floor = fmt.Sprintf("; it is started with at least %s left", d.OptionalMin)
		}
		budget := ""
		if g := w.Rules.Budget; g != nil && g.Omission != nil {
			budget = fmt.Sprintf(", within an omission budget of %s", prose.Percent(float64(*g.Omission)))
		}
		switch {
		case w.Rules.Branch(b.Service, b.Operation) == config.DeclaredOptional:
			w.add(c, target, f, Supported, "it is declared optional and still waited for: the path leads through it in %s of the requests%s%s", prose.Percent(b.Blocking), budget, floor)
		case b.Survived:
			w.add(c, target, f, NotEnoughEvidence, "requests succeeded without it, and whether their answers were correct is not known: declare it optional or mandatory in tailscope.yaml")
		default:
			w.add(c, target, f, NotEnoughEvidence, "whether an answer without it is correct is not known: declare it optional or mandatory in tailscope.yaml")
		}
	}
}

// branch is the call of a service that the endpoint waits for.
func (w *weighing) branch(service, operation string) *Branch {
	for i := range w.Branches {
		if b := &w.Branches[i]; b.Service == service && (operation == "" || b.Operation == operation) {
			return b
		}
	}
	return nil
}

// dropHop weighs a request without the hop.
func dropHop(w *weighing, c costs) {
	for _, f := range w.causes("new-hop") {
		target := f.edge()
		if reason, ok := w.contract("keep", f.Peer, f.Operation); ok {
			w.add(c, target, f, ViolatesContract, "%s; budget it, run it beside the others, or keep its answer ready", reason)
			continue
		}
		w.add(c, target, f, NotEnoughEvidence, "requests were answered without it before; what it was added for is not in the traces")
	}
}

// parallelise weighs calls side by side.
func parallelise(w *weighing, c costs) {
	for _, f := range w.causes("serialization") {
		w.add(c, f.Service+" "+f.Operation, f, Supported, "the calls ran side by side before, so none needs another's answer")
	}
	for _, f := range w.causes("new-hop") {
		w.add(c, f.edge(), f, NotEnoughEvidence, "it is waited for before the next call; whether that needs its answer is not in the traces")
	}
	for _, f := range w.causes("call-count") {
		w.add(c, f.edge(), f, NotEnoughEvidence, "whether a call needs the answer of the one before it is not in the traces")
	}
}

// batch weighs one call for many.
func batch(w *weighing, c costs) {
	for _, f := range w.causes("call-count", "fan-out") {
		if reason, ok := w.contract("no-coalesce", f.Peer, f.Operation); ok {
			w.add(c, f.edge(), f, ViolatesContract, "%s", reason)
			continue
		}
		calls := ""
		for _, e := range f.Evidence {
			if e.Unit == "calls" {
				calls = prose.Sprintf(": %.3g calls where it was %.3g", e.Cur, e.Base)
				break
			}
		}
		w.add(c, f.edge(), f, Supported, "%s is called more often for one request%s; one call for all has one wait", f.Operation, calls)
	}
}

const (
	// overlap is the share of calls that must ask for what another asks for at
	// the same time for sharing to be worth its price.
	overlap = 0.1
	// someCalls is how many calls say how often that is.
	someCalls = 100
)

// coalesce weighs one call for all that ask for the same at once.
func coalesce(w *weighing, c costs) {
	f := w.lead()
	if f == nil || f.callee() == w.Service || f.callee() == "" {
		return
	}
	service := f.callee()
	target := f.edge()
	if reason, ok := w.contract("no-coalesce", service, f.Operation); ok {
		w.add(c, target, f, ViolatesContract, "%s", reason)
		return
	}
	for _, id := range w.Identity {
		if id.Peer != service || f.Operation != "" && id.Operation != f.Operation || id.Calls < someCalls {
			continue
		}
		if id.Eligible < overlap {
			w.add(c, target, f, Unsupported, "%s of its calls ask for what another asks for at the same time: sharing would save next to nothing", prose.Percent(id.Eligible))
			return
		}
		if latework.SideEffecting(f.Operation) && !w.idempotent(service, f.Operation) {
			w.add(c, target, f, NotEnoughEvidence, "%s of its calls ask for what another asks for at the same time, but by its name %s changes something: declare the hop idempotent if it does not", prose.Percent(id.Eligible), f.Operation)
			return
		}
		w.add(c, target, f, Supported, "%s of its calls ask for what another asks for at the same time, in groups of %.2g: %s of them would be saved. The key must hold tenant, subject, policy version and schema", prose.Percent(id.Eligible), id.Group, prose.Percent(id.Eligible*(1-1/id.Group)))
		return
	}
	if latework.SideEffecting(f.Operation) && !w.idempotent(service, f.Operation) {
		return // nobody shares a write
	}
	w.add(c, target, f, NotEnoughEvidence, "no attribute of its calls tells what they ask for: record the key, or a hash of it, on the client span")
}

// cache weighs kept answers.
func cache(w *weighing, c costs) {
	f := w.lead()
	if f == nil || f.callee() == w.Service || f.callee() == "" {
		return
	}
	if latework.SideEffecting(f.Operation) {
		if _, ok := w.contract("no-cache", f.callee(), f.Operation); !ok {
			return // a write has no answer to keep
		}
	}
	if reason, ok := w.contract("no-cache", f.callee(), f.Operation); ok {
		w.add(c, f.edge(), f, ViolatesContract, "%s", reason)
		return
	}
	w.add(c, f.edge(), f, NotEnoughEvidence, "how fresh an answer must be and who may see it is not in the traces: state it before its answers are kept")
}

// rollBack weighs the version before.
func rollBack(w *weighing, c costs) {
	f := w.lead()
	if f == nil {
		return
	}
	service := f.Service
	switch f.Kind {
	case "mix-shift", "load":
		w.add(c, w.Service, f, Unsupported, "requests became others or more, which no version brings")
		return
	}
	for _, name := range []string{service, f.Peer, w.Service} {
		v := w.service(name).Versions
		if len(v[0]) == 0 || len(v[1]) == 0 {
			continue
		}
		if fresh := without(v[1], v[0]); len(fresh) > 0 {
			w.add(c, name, f, Supported, "%s runs %s where it ran %s, and cause %d began between", name, list(fresh), list(v[0]), f.rank)
			return
		}
	}
	if v := w.service(service).Versions; len(v[0]) > 0 && len(v[1]) > 0 {
		w.add(c, service, f, Unsupported, "%s runs %s on both sides; a change of its configuration would not show", service, list(v[1]))
		return
	}
	w.add(c, service, f, NotEnoughEvidence, "no service.version tells whether %s changed: record it on the resource", service)
}

func without(list, gone []string) (out []string) {
	for _, x := range list {
		found := false
		for _, g := range gone {
			found = found || g == x
		}
		if !found {
			out = append(out, x)
		}
	}
	return out
}

func list(names []string) string {
	const most = 3
	t := ""
	for i, n := range names {
		switch {
		case i == most:
			return fmt.Sprintf("%s and %d more", t, len(names)-most)
		case i > 0:
			t += ", "
		}
		t += n
	}
	return t
}

// hold weighs waiting with the release.
func hold(w *weighing, c costs) {
	if m := w.cause("measurement"); m != nil && m.rank == 1 {
		w.out = append(w.out, Action{Action: "compare again", Target: w.Service + " " + w.Operation, For: 1, Verdict: Supported,
			Reason: "what was measured differs between the sides (" + m.Attribute + "): act on nothing below before " + m.Check.Question, Costs: "a second measurement", PaidBy: "the release"})
		return
	}
	if !w.Regression {
		return
	}
	f := w.lead()
	if f == nil {
		return
	}
	checks := ""
	if !f.Check.Ran && f.Check.Question != "" {
		checks = "; meanwhile: " + f.Check.Question
	}
	var objective string
	if o := w.Rules.Objective.At(w.Quantile); o > 0 && w.P99[1] > o.Milliseconds()*1e6 {
		objective = fmt.Sprintf(", beyond the objective of %s", o)
	}
	w.out = append(w.out, Action{Action: c.action, Target: w.Service + " " + w.Operation, For: f.rank, Verdict: Supported,
		Reason: fmt.Sprintf("the rise is shown: p%g went from %s to %s%s%s", 100*w.Shown, prose.Ns(w.ShownNS[0]), prose.Ns(w.ShownNS[1]), objective, checks), Costs: c.costs, PaidBy: c.paidBy})
}
