package queuewait

import (
	"math"

	"github.com/tailscope/tailscope/graph"
)

// kept is the share of the requests whose records there are.
func (d *Data) kept() float64 {
	var weight float64
	for _, r := range d.Records {
		weight += float64(r.Weight)
	}
	if n := float64(len(d.Records)) * graph.OneRequest; weight > n {
		return n / weight
	}
	return 1
}

// partial reports whether a side does not show all calls of the edge: those without client spans are known by the requests
// that were kept alone.
func (a *asker) partial(side int) bool {
	d := a.sets[side]
	return d.Sampled || a.key.Site == Ahead && d.kept() < mostKept
}

const (
	// sureReleases is how many standard errors beyond chance, and minReleases how many, the releases must be for their
	// share to be scaled up to that of all calls.
	sureReleases = 3
	minReleases  = 4
	// leastVariance is that of a count of which hardly any is expected: one that is seen is not without error.
	leastVariance = 0.5
)

// ofAll is the share of waits that a release ended beyond chance, if the releases of all requests were seen: of those
// that are not kept none is, so that the share seen is that of the kept ones. Where too few are seen nothing is scaled.
func (h HandOver) ofAll(kept float64) float64 {
	x := h.Excess()
	if kept >= 1 {
		return x
	}
	n := float64(h.Waits)
	expected := n * h.Chance
	if seen := n * h.Share; seen < minReleases || seen-expected < sureReleases*math.Sqrt(max(expected*(1-h.Chance), leastVariance)) {
		return x
	}
	return min(1, x/kept)
}
