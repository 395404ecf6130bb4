package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// The ways to split that are no attributes.
const (
	splitTime    = "time" // the halves, or with a value what began before it and the rest
	splitVersion = "version"
)

// sharesTime reports whether both sides are of one time, so that metrics are of both.
func (o *Options) sharesTime() bool {
	key, _, _ := strings.Cut(o.Split, "=")
	return key != "" && key != splitTime
}

// A cutter puts traces on sides.
type cutter struct {
	store *trace.Store
	key   string // of the attribute; "" splits by time
}

// entry is the span that a trace is split by: the first to start among those
// without a parent here; of several that start at once the first by id.
func (c *cutter) entry(refs []trace.SpanRef) trace.SpanRef {
	ids := make(map[trace.SpanID]bool, len(refs))
	for _, r := range refs {
		ids[c.store.ID(r)] = true
	}
	best, found := trace.SpanRef(0), false
	for _, r := range refs {
		if ids[c.store.ParentID(r)] {
			continue
		}
		if !found || cmp.Or(cmp.Compare(c.store.Interval(r).Start, c.store.Interval(best).Start), cmp.Compare(c.store.ID(r), c.store.ID(best))) < 0 {
			best, found = r, true
		}
	}
	if !found {
		return refs[0]
	}
	return best
}

// value is the attribute of a trace's entry span or of its resource.
func (c *cutter) value(refs []trace.SpanRef) (string, bool) {
	r := c.entry(refs)
	if v := c.store.Attr(r, c.key); v != 0 {
		return c.store.Text(v), true
	}
	id, ok := c.store.Lookup(c.key)
	if !ok {
		return "", false
	}
	for _, a := range c.store.Resource(c.store.ResourceOf(r)).Attrs {
		if a.Key == id {
			return c.store.Text(a.Value), true
		}
	}
	return "", false
}

func (c *cutter) start(refs []trace.SpanRef) trace.Time {
	return c.store.Interval(c.entry(refs)).Start
}

// split makes the two sides of one data set: it sets the baseline and returns the
// current side.
func (l *Loaded) split(src *source) ([]*summary.Summary, error) {
	o := src.o
	path := ""
	if len(o.Current) > 0 && len(o.Current[0]) > 0 {
		path = o.Current[0][0]
	}
	fail := func(cure, format string, args ...any) error {
		return &ingest.InputError{Path: path, Problem: "cannot be split: " + fmt.Sprintf(format, args...), Cure: cure}
	}
	c := &cutter{}
	key, want, only := strings.Cut(o.Split, "=")
	if key == "" {
		return nil, fail("write --split ATTRIBUTE=VALUE", "%q names no attribute", o.Split)
	}
	var moment trace.Time
	switch key {
	case splitTime:
		if only {
			t, err := time.Parse(time.RFC3339, want)
			if err != nil {
				return nil, fail("write --split time=2026-01-31T12:00:00Z", "%q is no time of RFC 3339", want)
			}
			moment = trace.Time(t.UnixNano())
		}
	case splitVersion:
		c.key = "service.version"
	default:
		c.key = key
	}

	// First what there is to cut between.
	type seen struct {
		value string
		n     int
		first trace.Time
	}
	values := map[string]*seen{}
	first, last := trace.NoTime, trace.NoTime
	without := 0
	look := func(_ trace.TraceID, refs []trace.SpanRef) {
		at := c.start(refs)
		if first == trace.NoTime || at < first {
			first = at
		}
		if last == trace.NoTime || at > last {
			last = at
		}
		if c.key == "" {
			return
		}
		v, ok := c.value(refs)
		if !ok {
			without++
			return
		}
		s := values[v]
		if s == nil {
			s = &seen{value: v, first: at}
			values[v] = s
		}
		s.n++
		s.first = min(s.first, at)
	}
	err := src.each(func(store *trace.Store) error {
		c.store = store
		graph.Group(store, look)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var side func(refs []trace.SpanRef) int // −1: neither
	switch {
	case c.key == "":
		if first == last {
			return nil, fail("give a data set that lasts", "all traces start at one time")
		}
		middle := first + (last-first)/2
		if only {
			if moment <= first || moment > last {
				return nil, fail("give a time within it", "it begins at %s and lasts until %s", rfc3339(first), rfc3339(last))
			}
			middle = moment - 1
		}
		side = func(refs []trace.SpanRef) int {
			if c.start(refs) <= middle {
				return summary.Baseline
			}
			return summary.Current
		}
		l.Cut = "One data set, split in time: the baseline is what began until " + rfc3339(middle)
	case only:
		if values[want] == nil {
			return nil, fail("name a value that occurs", "no trace begins with %s=%s", key, want)
		}
		if len(values) == 1 && without == 0 {
			return nil, fail("split by something else", "every trace begins with %s=%s", key, want)
		}
		side = func(refs []trace.SpanRef) int {
			if v, _ := c.value(refs); v == want {
				return summary.Current
			}
			return summary.Baseline
		}
		l.Cut = fmt.Sprintf("One data set, split by %s: the current side is what has %s, the baseline the rest", key, want)
	default:
		list := make([]*seen, 0, len(values))
		for _, s := range values {
			list = append(list, s)
		}
		// The two most frequent; of these the one that was there first is the
		// baseline.
		slices.SortFunc(list, func(a, b *seen) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.value, b.value)) })
		if len(list) < 2 {
			return nil, fail("split by something else, or by time", "traces begin with %s of %s", map[bool]string{true: "one value", false: "no value"}[len(list) == 1], c.key)
		}
		base, cur := list[0], list[1]
		if cmp.Or(cmp.Compare(cur.first, base.first), cmp.Compare(cur.value, base.value)) < 0 {
			base, cur = cur, base
		}
		side = func(refs []trace.SpanRef) int {
			switch v, ok := c.value(refs); {
			case ok && v == base.value:
				return summary.Baseline
			case ok && v == cur.value:
				return summary.Current
			}
			return -1
		}
		l.Cut = fmt.Sprintf("One data set, split by %s: the baseline has %s, which was there first, the current side %s", c.key, base.value, cur.value)
		for _, s := range list[2:] {
			without += s.n
		}
		if without > 0 {
			l.LeftOut = append(l.LeftOut, report.LeftOut{What: "traces", Count: int64(without), Why: fmt.Sprintf("they have neither of the two values of %s that are compared; --split %s=VALUE compares one with the rest", c.key, c.key)})
		}
	}
	sides := [2]*summary.Summary{o.summary(), o.summary()}
	err = src.each(func(store *trace.Store) error {
		c.store = store
		for i, s := range sides {
			s.AddParallel(store, o.judge, func(refs []trace.SpanRef) bool { return side(refs) == i })
		}
		src.o.Bound(sides[:]...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range sides {
		s.Metrics = src.metrics()
	}
	for i, s := range sides {
		if len(s.Records) == 0 {
			return nil, fail("", "the %s side has no requests", setName(i))
		}
	}
	l.Sides[summary.Baseline] = []*summary.Summary{sides[summary.Baseline]}
	return []*summary.Summary{sides[summary.Current]}, nil
}

func rfc3339(t trace.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }
