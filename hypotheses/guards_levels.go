package hypotheses

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
)

const (
	// stepPart is the least share of the current side's requests, and stepRequests the least number, on either side of a step.
	stepPart, stepRequests = 0.125, 40
	// stepLooks is at how many places a step is looked for that tell it from each other, by which p is multiplied: eight
	// along the window, at four heights, up and down.
	stepLooks = 64
)

// twoLevels are what stands before and after a step: a moment within the current side from which on, or up to which, its requests are other ones than the baseline's, while
// the rest are as they were: a deployment, an incident that began or ended. All of the side together is neither.
type twoLevels struct {
	at      int64 // ns since the epoch
	up      bool  // the slow ones come after it
	was, is float64
}

// findLevels finds the step of the current side, if there is one.
func (c *Comparison) findLevels() (twoLevels, bool) {
	base, cur := c.Sides[summary.Baseline], c.Sides[summary.Current]
	list := slices.Clone(cur.Counted)
	n := len(list)
	least := max(stepRequests, int(stepPart*float64(n)))
	if n < 2*least || base.Sample.N() < 2*stepRequests {
		return twoLevels{}, false
	}
	slices.SortStableFunc(list, func(x, y *summary.Request) int { return cmp.Compare(x.Start(), y.Start()) })
	best, at, up := 0.0, 0, false
	for _, q := range [4]float64{0.5, 0.75, 0.9, 0.95} {
		high := base.Sample.Quantile(q)
		all := 0
		for _, r := range list {
			if float64(r.Duration()) > high {
				all++
			}
		}
		p := float64(all) / float64(n)
		before := 0
		for k := 1; k <= n-least; k++ {
			if float64(list[k-1].Duration()) > high {
				before++
			}
			if k < least {
				continue
			}
			first, then := float64(before)/float64(k), float64(all-before)/float64(n-k)
			if z := math.Abs(then-first) / math.Sqrt(p*(1-p)*(1/float64(k)+1/float64(n-k))); z > best {
				best, at, up = z, k, then > first
			}
		}
	}
	if at == 0 {
		return twoLevels{}, false
	}
	s := twoLevels{at: int64(list[at].Start()), up: up}
	other := func(q *summary.Request) bool { return (int64(q.Start()) >= s.at) == s.up }
	changed, err := sampleOf(cur.Counted, c.Options.Seed, other)
	if err != nil {
		return twoLevels{}, false
	}
	same, err := sampleOf(cur.Counted, c.Options.Seed, func(q *summary.Request) bool { return !other(q) })
	if err != nil {
		return twoLevels{}, false
	}
	if stats.NewPair(base.Sample, changed, c.Options).Test().P*stepLooks > c.Options.Alpha || stats.NewPair(base.Sample, same, c.Options).Test().P <= c.Options.Alpha {
		return twoLevels{}, false
	}
	s.was, s.is = same.Quantile(c.Options.Quantile), changed.Quantile(c.Options.Quantile)
	return s, s.is > s.was
}

// said says what the step is, and how to look at it alone.
func (s twoLevels) said(c *Comparison) string {
	at := time.Unix(0, s.at).UTC().Truncate(time.Second)
	first, then := s.was, s.is
	if !s.up {
		first, then = then, first
	}
	return prose.Sprintf("the current side is two: its p%.4g is %s at first and %s in the end, where the baseline's is %s; compare what came before and after: --split time=%s",
		100*c.Options.Quantile, prose.Ns(first), prose.Ns(then), prose.Ns(c.Sides[summary.Baseline].Sample.Quantile(c.Options.Quantile)), at.Format(time.RFC3339))
}
