package trace

import (
	"cmp"
	"slices"
)

// A Severity says what a defect costs.
type Severity uint8

const (
	Info     Severity = iota // lawful, and good to know
	Notice                   // repaired without loss
	DataLoss                 // something of the input is not in the figures
	Error                    // the input contradicts itself
)

var severityNames = [...]string{"info", "notice", "data-loss", "error"}

func (s Severity) String() string { return severityNames[s] }

// A DefectKind names one thing that can be wrong with spans.
type DefectKind string

const (
	Duplicate             DefectKind = "duplicate"
	IDConflict            DefectKind = "id-conflict"
	SelfParent            DefectKind = "self-parent"
	Cycle                 DefectKind = "cycle"
	Orphan                DefectKind = "orphan"
	MissingRoot           DefectKind = "missing-root"
	SeveralRoots          DefectKind = "several-roots"
	EndBeforeStart        DefectKind = "end-before-start"
	MissingTime           DefectKind = "missing-time"
	MissingID             DefectKind = "missing-id"
	ChildLongerThanParent DefectKind = "child-longer-than-parent"
	OutsideParent         DefectKind = "outside-parent"
	UnresolvedLink        DefectKind = "unresolved-link"
	UnknownWeight         DefectKind = "unknown-weight"
	TemplatedName         DefectKind = "templated-name"
	FoldedName            DefectKind = "folded-name"
	BadRequestStart       DefectKind = "bad-request-start"
	ClockContradiction    DefectKind = "clock-contradiction"
	BadSyntax             DefectKind = "bad-syntax"
	CutOff                DefectKind = "cut-off"
	BadTime               DefectKind = "bad-time"
	BadID                 DefectKind = "bad-id"
	BadValue              DefectKind = "bad-value"
	BadText               DefectKind = "bad-text"
	Oversized             DefectKind = "oversized"
	NulBytes              DefectKind = "nul-bytes"
	UnknownField          DefectKind = "unknown-field"
)

// A DefectInfo says what a kind of defect means.
type DefectInfo struct {
	Severity Severity
	Sentence string
}

// Defects explains every kind.
var Defects = map[DefectKind]DefectInfo{
	Duplicate:             {Notice, "the same span came more than once; copies were dropped"},
	IDConflict:            {Error, "two different spans of one trace have one id; both were kept"},
	SelfParent:            {Error, "a span names itself as its parent; it is in no request"},
	Cycle:                 {Error, "spans are each other's ancestors; they are in no request"},
	Orphan:                {DataLoss, "the parent of a span was never received"},
	MissingRoot:           {DataLoss, "a trace has no root span"},
	SeveralRoots:          {Notice, "a trace has several roots; each is a request"},
	EndBeforeStart:        {Error, "a span ends before it starts; it was rejected"},
	MissingTime:           {Error, "a span has no start or no end; it was rejected"},
	MissingID:             {Error, "a span has no trace id or no span id; it was rejected"},
	ChildLongerThanParent: {Error, "the callee's span is longer than the caller's that waited for it: no clock offset explains it, and it was not moved"},
	OutsideParent:         {Notice, "a span that its parent waited for lies outside it; it was clipped"},
	UnresolvedLink:        {Info, "the span that a link points to is not in the input"},
	UnknownWeight:         {DataLoss, "the sampling of a span is stated in a way that cannot be read; it counts once"},
	TemplatedName:         {Info, "identifiers in a span's name or path were replaced by {id}"},
	FoldedName:            {Notice, "a parent's calls, or a service's requests, have more names than can be told apart; those that differ in the same words were made one, with {…} in their place"},
	BadRequestStart:       {Notice, "a request-start stamp is not a time before the span; it was left out"},
	ClockContradiction:    {Error, "the calls between two hosts allow no single clock offset"},
	BadSyntax:             {DataLoss, "a part of a file is not what its format asks for; it was left out"},
	CutOff:                {DataLoss, "a record ends before it is complete; it was left out"},
	BadTime:               {Error, "a time or duration is not a number of nanoseconds that 63 bits hold; the span was rejected"},
	BadID:                 {Error, "an identifier has a type or length that none has; it was left out"},
	BadValue:              {DataLoss, "a field or attribute holds a value of the wrong type or range; it was left out"},
	BadText:               {Notice, "text that is not UTF-8; its bad bytes were replaced"},
	Oversized:             {DataLoss, "a text or list exceeds its limit; the rest was left out"},
	NulBytes:              {Notice, "runs of NUL bytes between records were skipped"},
	UnknownField:          {Info, "a field that no rule of the format knows was skipped"},
}

// Impossible tells of a span that cannot be: without an id, without a time, or
// that ends before it starts. Such spans are rejected.
func Impossible(id TraceID, span SpanID, v Interval) (DefectKind, bool) {
	switch {
	case id.IsZero() || span == NoSpanID:
		return MissingID, true
	case v.Start == NoTime || v.End == NoTime:
		return MissingTime, true
	case v.End < v.Start:
		return EndBeforeStart, true
	}
	return "", false
}

// A Tally counts defects by kind and keeps one example of each: the least text,
// so that the order of the input does not matter.
type Tally map[DefectKind]Count

// A Count is how often a defect was met.
type Count struct {
	N       int64
	Example string
}

// Add counts one defect.
func (t Tally) Add(kind DefectKind, example string) { t.AddN(kind, 1, example) }

// AddN counts n defects.
func (t Tally) AddN(kind DefectKind, n int64, example string) {
	c := t[kind]
	if c.N == 0 || example < c.Example {
		c.Example = example
	}
	c.N += n
	t[kind] = c
}

// Merge adds o's counts.
func (t Tally) Merge(o Tally) {
	for kind, c := range o {
		t.AddN(kind, c.N, c.Example)
	}
}

// Kinds is the kinds that were met: the most severe first, then by name.
func (t Tally) Kinds() []DefectKind {
	kinds := make([]DefectKind, 0, len(t))
	for k := range t {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b DefectKind) int {
		if c := cmp.Compare(Defects[b].Severity, Defects[a].Severity); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return kinds
}
