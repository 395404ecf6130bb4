package analysis

import (
	"context"

	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/spill"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// A source is the spans and points of one run: in memory, or on disk where they
// are more than their share of Options.Memory.
type source struct {
	ctx  context.Context
	o    *Options
	set  *ingest.Set
	disk *spill.Disk  // nil: all spans are in set
	fold *metric.Fold // of points that set has no more
}

// Shares of the memory, as its parts: what spans may take at a time, the records
// of all runs, and their folds. Spans take up to twice their share while their
// columns grow; an analysis takes about five times what its records do, and three
// times what is kept of calls one by one, when no spans are left.
const (
	storeShare = 4
	keptShare  = 8
	foldShare  = 8
)

func (o *Options) storeBytes() int64 {
	if o.spillAt > 0 {
		return o.spillAt
	}
	return max(o.Memory/storeShare, 1)
}

// Bound drops records of runs that are beyond their share of Memory, if any are, and
// makes their folds coarser. What is left depends on the content of the runs alone.
func (o *Options) Bound(runs ...*summary.Summary) {
	n := int64(max(len(o.Baseline)+len(o.Current), len(runs)))
	for _, r := range runs {
		if o.Memory > 0 {
			r.BoundFolds(o.Memory / foldShare / n)
			r.Bound(o.Memory / keptShare / n)
		}
	}
}

// read reads paths. The source is to be closed.
func read(ctx context.Context, o *Options, paths []string) (*source, error) {
	s := &source{ctx: ctx, o: o, fold: metric.NewFold()}
	options := ingest.Options{Stdin: o.Stdin, Progress: o.Progress, Waits: o.waits()}
	if o.Memory > 0 {
		options.Part, options.PartBytes = s.spill, o.storeBytes()
	}
	var err error
	s.set, err = ingest.Read(ctx, paths, options)
	if err == nil && s.disk != nil {
		err = s.spill(s.set.Spans, s.set.Metrics)
		s.set.Spans, s.set.Metrics = nil, nil
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// spill moves spans to disk.
func (s *source) spill(spans *trace.Store, points *metric.Store) error {
	if s.disk == nil {
		d, err := spill.New("")
		if err != nil {
			return err
		}
		s.disk = d
	}
	if points.Points() > 0 {
		s.fold.Merge(points.Fold())
	}
	return s.disk.Add(spans)
}

// each calls f with stores that together hold all spans, and whole traces each.
// f must not keep the store.
func (s *source) each(f func(*trace.Store) error) error {
	named := func(store *trace.Store) error {
		s.o.names(store)
		return f(store)
	}
	if s.disk == nil {
		return named(s.set.Spans)
	}
	return s.disk.Each(s.ctx, s.o.storeBytes(), named)
}

// metrics is the fold of all points. It may be called again.
func (s *source) metrics() *metric.Fold {
	f := metric.NewFold()
	f.Merge(s.fold)
	if s.set.Metrics != nil {
		f.Merge(s.set.Metrics.Fold())
	}
	return f
}

// close gives up the disk.
func (s *source) close() {
	if s.disk != nil {
		s.disk.Close()
	}
}
