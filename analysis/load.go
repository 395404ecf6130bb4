package analysis

import (
	"bytes"
	"context"
	"io"
	"os"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// Loaded is the runs of an analysis as they were read.
type Loaded struct {
	Sides [2][]*summary.Summary // by summary.Baseline, summary.Current

	Files      []report.File
	LogRecords int64
	Rejected   int64
	Defects    trace.Tally // of decoding
	Unknown    map[string]int64

	// Cut says how a single data set was split into sides; "" if it was not.
	Cut     string
	LeftOut []report.LeftOut // what is on neither side

	seen *seen // what only spans can tell; nil unless an inspection asks
}

// A Held is a request that can be opened though its traces are gone: a snapshot
// holds all its spans.
type Held struct {
	Set string // report.Baseline or report.Current
	summary.WholeRequest
}

// Held is the requests that can be opened, of snapshots only. It is not to be asked
// of what was used up.
func (l *Loaded) Held() (held []Held) {
	for side, runs := range l.Sides {
		for _, s := range runs {
			for _, q := range s.Requests() {
				held = append(held, Held{setName(side), q})
			}
		}
	}
	return held
}

// Load reads all runs. An unusable input is an *ingest.InputError.
func Load(ctx context.Context, o *Options) (*Loaded, error) {
	l := &Loaded{Defects: trace.Tally{}, Unknown: map[string]int64{}}
	return l, l.all(ctx, o)
}

func (l *Loaded) all(ctx context.Context, o *Options) error {
	for side, runs := range [2][][]string{o.Baseline, o.Current} {
		for _, paths := range runs {
			loaded, err := l.run(ctx, o, side, paths)
			if err != nil {
				return err
			}
			l.Sides[side] = append(l.Sides[side], loaded...)
		}
	}
	return nil
}

// run reads the paths of one run: a snapshot, which may hold several, or files.
func (l *Loaded) run(ctx context.Context, o *Options, side int, paths []string) ([]*summary.Summary, error) {
	if len(paths) == 1 {
		if runs, ok, err := snapshot(paths[0]); err != nil {
			return nil, err
		} else if ok && o.Split != "" {
			return nil, &ingest.InputError{Path: paths[0], Problem: "is a snapshot, which cannot be split", Cure: "give the traces, or save two snapshots and compare them"}
		} else if ok {
			f := report.File{Path: paths[0], Set: setName(side), Format: "tailscope-snapshot"}
			for _, r := range runs {
				f.Spans += r.Counts.Spans
				points, _ := r.Metrics.Points()
				f.MetricPoints += points
			}
			l.Files = append(l.Files, f)
			return runs, nil
		}
	}
	src, err := read(ctx, o, paths)
	if err != nil {
		return nil, err
	}
	defer src.close()
	set := src.set
	for _, f := range set.Files {
		file := report.File{Path: f.Path, Set: setName(side), Format: f.Format, Spans: f.Spans, MetricPoints: f.MetricPoints, Rejected: f.Rejected, ErrorsTotal: f.ErrorsTotal}
		for _, e := range f.Errors {
			file.Errors = append(file.Errors, report.FileError{Where: e.Where, Message: e.Message})
		}
		l.Files = append(l.Files, file)
	}
	l.LogRecords += set.LogRecords
	l.Rejected += set.Rejected
	l.Defects.Merge(set.Defects)
	for k, n := range set.Unknown {
		l.Unknown[k] += n
	}
	if o.Split != "" {
		return l.split(src)
	}
	s := o.summary()
	judge := o.judge
	if l.seen != nil {
		judge = func() graph.Judge { return l.seen.requests(o.judge()) }
	}
	err = src.each(func(store *trace.Store) error {
		if l.seen != nil {
			l.seen.spans(store)
		}
		s.AddParallel(store, judge, nil)
		src.o.Bound(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Metrics = src.metrics()
	return []*summary.Summary{s}, nil
}

// summary is an empty summary.
func (o *Options) summary() *summary.Summary {
	s := summary.New()
	if o.Whole {
		s.KeepWhole()
	}
	return s
}

// snapshot reads path if it is a snapshot file.
func snapshot(path string) ([]*summary.Summary, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, nil // ingest says what is wrong with it
	}
	defer f.Close()
	head := make([]byte, len(summary.Magic))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte(summary.Magic)) {
		return nil, false, nil
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, false, &ingest.InputError{Path: path, Problem: "cannot be read", Err: err}
	}
	runs, err := summary.Decode(append(head, rest...))
	if err != nil {
		return nil, false, &ingest.InputError{Path: path, Problem: err.Error(), Cure: "save it again with --save"}
	}
	return runs, true, nil
}

func setName(side int) string {
	if side == summary.Baseline {
		return report.Baseline
	}
	return report.Current
}
