package analysis

import (
	"context"

	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/spill"
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

// storeShare is the share of the memory that spans may take at a time: as much
// again goes for what is copied while they grow, and half is for what is made of
// them.
const storeShare = 4

// read reads paths. The source is to be closed.
func read(ctx context.Context, o *Options, paths []string) (*source, error) {
	s := &source{ctx: ctx, o: o, fold: metric.NewFold()}
	options := ingest.Options{Stdin: o.Stdin, Progress: o.Progress}
	if o.Memory > 0 {
		options.Part, options.PartBytes = s.spill, o.Memory/storeShare
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
	return s.disk.Each(s.ctx, s.o.Memory/storeShare, named)
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
