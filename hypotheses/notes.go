package hypotheses

import (
	"fmt"
	"slices"

	"github.com/tailscope/tailscope/config"
)

// An Experiment is a note as it was used.
type Experiment struct {
	config.Note
	Effect string
}

// Recall uses what was tried before: a failed experiment makes exactly the
// mechanism weak that it falsified, and puts it below those that stand. A
// confirmed one is evidence, not proof: what was true then may not be now.
func (r *Ranking) Recall(notes []config.Note) []Experiment {
	var out []Experiment
	fallen := make([]bool, len(r.Findings))
	for _, n := range notes {
		x := Experiment{Note: n}
		hit := false
		for i := range r.Findings {
			f := &r.Findings[i]
			if !n.Tests.Fits(f.Kind, f.Service, f.Operation, f.Peer, f.Attribute, f.Value, f.Instance) {
				continue
			}
			hit = true
			e := says("config", 0, "%s", Tried(&n))
			switch n.Outcome {
			case "failed":
				f.Against = append(f.Against, e)
				f.Warnings = append(f.Warnings, "an experiment falsified this mechanism")
				f.Strength, fallen[i] = Weak, true
			case "confirmed":
				f.Evidence = append(f.Evidence, e)
			}
		}
		switch {
		case hit && n.Outcome == "failed":
			x.Effect = fmt.Sprintf("makes %s weak, and puts it below the causes that stand", n.Tests.Kind)
		case hit && n.Outcome == "confirmed":
			x.Effect = fmt.Sprintf("is evidence for %s", n.Tests.Kind)
		case hit:
			x.Effect = "changes nothing: its outcome was unclear"
		case n.Tests.Kind == "":
			x.Effect = "is weighed with its action"
		default:
			x.Effect = fmt.Sprintf("fits no cause here: none is a %s of that component", n.Tests.Kind)
		}
		out = append(out, x)
	}
	// Those that stand keep their order, and so do those that fell.
	var standing, fell []Finding
	for i := range r.Findings {
		if fallen[i] {
			fell = append(fell, r.Findings[i])
		} else {
			standing = append(standing, r.Findings[i])
		}
	}
	r.Findings = slices.Concat(standing, fell)
	return out
}

// Tried is a note in words.
func Tried(n *config.Note) string {
	t := "tried before"
	if n.At != "" {
		t = "tried " + n.At
	}
	t += ": " + n.Change
	if n.Observed != "" {
		t += ": " + n.Observed
	}
	return t
}
