package metric

import "github.com/tailscope/tailscope/trace"

// What can be wrong with a point. None of it stops the others.
const (
	MissingPointTime trace.DefectKind = "missing-point-time"
	UnknownType      trace.DefectKind = "unknown-metric-type"
	StartAfterTime   trace.DefectKind = "point-start-after-time"
	NoTemporality    trace.DefectKind = "no-temporality"
	BadBuckets       trace.DefectKind = "bad-buckets"
	NotFinite        trace.DefectKind = "value-not-finite"
)

// Defects explains every kind.
var Defects = map[trace.DefectKind]trace.DefectInfo{
	MissingPointTime: {Severity: trace.Error, Sentence: "a metric point has no time; it was rejected"},
	UnknownType:      {Severity: trace.Error, Sentence: "a metric point has no type that can be read; it was rejected"},
	StartAfterTime:   {Severity: trace.Error, Sentence: "a metric point starts after its own time; its start counts as not recorded"},
	NoTemporality:    {Severity: trace.Notice, Sentence: "a metric does not say whether its points are deltas or cumulative; they are read as cumulative"},
	BadBuckets:       {Severity: trace.Error, Sentence: "the buckets of a histogram do not fit its bounds or its count; only its count and sum are used"},
	NotFinite:        {Severity: trace.Notice, Sentence: "a metric value is infinite; the point counts as one without a value"},
}
