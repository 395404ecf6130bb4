package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
)

// A suite measures one thing in several cells.
type suite struct {
	name    string
	about   string // what is simulated and what the figures are, in Markdown
	version int    // of what is measured; recorded figures of another version are stale
	runs    int    // simulations of each cell
	slow    bool   // takes minutes at its least; no test runs it
	run     func(seed uint64, runs int) []cell
}

// A cell is one measured share.
type cell struct {
	name   string
	hits   int
	runs   int
	target target

	// missed says what stops a cell that does not meet its target. A cell without it has to.
	missed string
}

func (c cell) share() float64 { return float64(c.hits) / float64(c.runs) }

// standardError is that of a share, never that of 0 or 1, which would be nothing: as if half a run had gone the
// other way.
func (c cell) standardError() float64 {
	n := float64(c.runs)
	p := min(max(c.share(), 0.5/n), 1-0.5/n)
	return math.Sqrt(p * (1 - p) / n)
}

// A target bounds a share. The zero target bounds nothing.
type target struct{ least, most float64 }

func atLeast(p float64) target           { return target{p, 1} }
func atMost(p float64) target            { return target{0, p} }
func between(least, most float64) target { return target{least, most} }

func (t target) bound() bool            { return t != target{} }
func (t target) met(share float64) bool { return !t.bound() || share >= t.least && share <= t.most }

// cells restricts what is measured to cells whose names it matches; nil: all.
var cells *regexp.Regexp

// wanted is the number of simulations of what the named cells count together: none where cells leaves out all of them.
// A suite that does not ask measures everything.
func wanted(runs int, names ...string) int {
	if cells != nil && !slices.ContainsFunc(names, cells.MatchString) {
		return 0
	}
	return runs
}

// A portion is the k-th of n parts of the incidents; the zero portion is all of them.
type portion struct{ k, n int }

// part is the portion that is measured.
var part portion

func (p *portion) set(s string) error {
	if _, err := fmt.Sscanf(s, "%d/%d", &p.k, &p.n); err != nil || p.k < 1 || p.k > p.n {
		return fmt.Errorf("%q is no part such as 2/8", s)
	}
	return nil
}

func (p portion) String() string { return fmt.Sprintf("%d/%d", p.k, p.n) }

// has reports whether the i-th incident is of the portion.
func (p portion) has(i int) bool { return p.n == 0 || i%p.n == p.k-1 }

var added []suite

// add is called by the init function of each suite's file.
func add(s suite) { added = append(added, s) }

// suites are ordered by name.
func suites() []suite {
	sorted := slices.Clone(added)
	slices.SortFunc(sorted, func(a, b suite) int { return cmp.Compare(a.name, b.name) })
	return sorted
}

func suiteNames() []string {
	var names []string
	for _, s := range suites() {
		names = append(names, s.name)
	}
	return names
}
