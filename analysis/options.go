package analysis

import (
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/ingest"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/stats"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// Options are what a user asks for. New gives the defaults.
type Options struct {
	// Baseline and Current are runs, each the paths of one. A single data set
	// stands under Current.
	Baseline, Current [][]string

	// Split makes two sides of a single data set: "time", "version", an attribute,
	// or an attribute=value. Empty: it is not split.
	Split string

	Stdin    io.Reader
	Progress func(ingest.Progress) // may be nil
	First    func(*report.Report)  // is told of the rows before their causes are known; may be nil
	Version  string

	// Whole keeps some requests of each endpoint span by span: what is read is meant
	// for a snapshot, from which they can be opened.
	Whole bool

	// Memory bounds what an analysis takes, in bytes: spans beyond their share of
	// it are kept on disk, and of records beyond theirs a sample. Zero: no bound.
	Memory  int64
	spillAt int64 // bytes of spans that are kept in memory; 0: by Memory

	Endpoint, Service *regexp.Regexp // only these; nil: all
	Inner             bool           // inner endpoints too
	Since, Until      time.Time      // of the entry span's start; zero: open

	Config     *config.Config // nil: none
	Notes      *config.Notes  // of earlier experiments; nil: none
	ClassAttr  string         // tells the classes of requests apart, before Config's
	Objective  time.Duration  // zero: none
	Population population.Population
	Quantile   float64
	Alpha      float64
	Seed       int64
	Top        int // endpoints in the report; 0: all

	// MinEffect and MinEffectShare are the smallest change that counts.
	MinEffect      time.Duration
	MinEffectShare float64
}

// New returns the options where a user sets nothing.
func New() Options {
	d := stats.Defaults()
	return Options{Quantile: d.Quantile, Alpha: d.Alpha, MinEffect: time.Duration(d.MinNS), MinEffectShare: d.MinShare}
}

// Check tells what is wrong with options, naming the flag.
func (o *Options) Check() error {
	switch {
	case !(o.Quantile > 0 && o.Quantile < 1):
		return fmt.Errorf("--quantile must lie between 0 and 1, not %v", o.Quantile)
	case !(o.Alpha > 0 && o.Alpha < 1):
		return fmt.Errorf("--alpha must lie between 0 and 1, not %v", o.Alpha)
	case o.Top < 0:
		return fmt.Errorf("--top must not be negative")
	case o.MinEffect < 0:
		return fmt.Errorf("--min-effect must not be negative")
	case !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until):
		return fmt.Errorf("--since must lie before --until")
	}
	return nil
}

func (o *Options) stats() stats.Options {
	s := stats.Defaults()
	s.Quantile, s.Alpha = o.Quantile, o.Alpha
	s.Seed = uint64(o.Seed)
	s.MinNS, s.MinShare = float64(o.MinEffect), o.MinEffectShare
	return s
}

func (o *Options) reading() summary.Options {
	var own []config.Metric
	if o.Config != nil {
		own = o.Config.Metrics
	}
	return summary.Options{Inner: o.Inner, Names: metric.NewNames(own), Shared: o.sharesTime()}
}

// waits is the attributes that the configuration says hold waits.
func (o *Options) waits() map[string]trace.DeclaredWait {
	if o.Config == nil {
		return nil
	}
	m := map[string]trace.DeclaredWait{}
	for _, w := range o.Config.Waits {
		m[w.Attribute] = trace.DeclaredWait{UnitNS: map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[w.Unit],
			Resource: w.Resource, ResourceAttribute: w.ResourceAttribute, Before: w.Before}
	}
	return m
}

// names has the operations and the waits of a store read by the configuration.
func (o *Options) names(s *trace.Store) {
	s.Waits = o.waits()
	if o.Config != nil && len(o.Config.Operations) > 0 {
		s.Names = o.Config.Name
	}
}
