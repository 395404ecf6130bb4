package ingest

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// maxErrors is how many errors of one file are kept; the rest are only counted.
const maxErrors = 20

// maxUnknown is how many names of unrecognised fields are kept.
const maxUnknown = 200

// A sink takes what the decoders of one chunk find.
type sink struct {
	spans   *trace.Store
	points  *metric.Store
	limits  *Limits
	keepAll bool

	formats     format
	logs        int64
	documents   int64 // recognised documents and messages
	rejected    int64
	defects     trace.Tally
	unknown     map[string]int64
	lost        map[string]int64
	errors      []Located
	errorsTotal int64

	// Where in its file the chunk begins.
	line, offset int64
	binary       bool
	frameAt      int64 // where the packed frame begins that data was in; negative if none
	data         []byte

	begins, ends bool // the chunk is the first or last of its file
	head, tail   *fragment

	// A unit is a part of a document that stands for itself: a trace of a Jaeger
	// export, an element of an array. A document that is damaged is read up to the
	// unit that holds the damage.
	lastUnit, stopAt int
	units            int
	recovering       bool // behind a damaged document, of which there may be debris

	// Scratch of the decoders.
	more        trace.RawMore
	linkExtents []extent // of their attributes in nested
	dropped     uint32   // attributes of the resource that was read last
	scopeLoss   uint32   // likewise of the scope

	pairs   *pairs
	span    trace.RawSpan
	point   metric.RawPoint
	attrs   []trace.RawAttr // of a resource or scope
	nested  []trace.RawAttr // of events
	follows []trace.RawLink // that say so of their target
	extents []extent        // of the events in nested
	canon   []byte          // arrays and lists in canonical form
	inner   []byte          // one of them, while it is moved
}

// An extent is a part of nested.
type extent struct{ from, to int }

func newSink(spans *trace.Store, points *metric.Store, pairs *pairs, limits *Limits, c *chunk) *sink {
	return &sink{
		pairs: pairs,
		spans: spans, points: points, limits: limits, keepAll: spans.KeepAll,
		defects: trace.Tally{}, unknown: map[string]int64{},
		line: c.line, offset: c.offset, binary: c.binary, data: c.data, begins: c.offset == 0, ends: c.ends,
		frameAt: -1, lastUnit: -1, stopAt: -1,
	}
}

// where names the place of an offset in the chunk.
func (k *sink) where(at int) string {
	if k.frameAt >= 0 {
		return byteAt(k.frameAt)
	}
	if k.binary {
		return byteAt(k.offset + int64(at))
	}
	at = min(at, len(k.data))
	return "line " + strconv.FormatInt(k.line+int64(bytes.Count(k.data[:at], []byte{'\n'})), 10)
}

// fail reports something that was left out at an offset in the chunk. The
// defect's example holds no place, so that it is the same however the input is
// cut into files.
func (k *sink) fail(at int, kind trace.DefectKind, message string) {
	k.defects.Add(kind, message)
	k.errorsTotal++
	if len(k.errors) < maxErrors {
		k.errors = append(k.errors, Located{k.where(at), message})
	}
}

// reject is fail of a whole record.
func (k *sink) reject(at int, kind trace.DefectKind, message string) {
	k.rejected++
	k.fail(at, kind, message)
}

// skipped counts a field that no rule recognises.
func (k *sink) skipped(of string, name []byte) {
	if len(name) > 64 {
		name = name[:64]
	}
	key := of + "." + string(name)
	if _, ok := k.unknown[key]; !ok && len(k.unknown) >= maxUnknown {
		key = "other"
	}
	k.unknown[key]++
}

// lose counts what a conversion would write and the stores do not hold.
func (k *sink) lose(what string) {
	if k.keepAll {
		if k.lost == nil {
			k.lost = map[string]int64{}
		}
		k.lost[what]++
	}
}

// unit begins a unit at an offset and reports whether it is to be read.
func (k *sink) unit(at int) bool {
	if at == k.stopAt {
		return false
	}
	k.lastUnit = at
	return true
}

// whole ends a unit.
func (k *sink) whole(sound bool) {
	if sound {
		k.units++
		k.lastUnit = -1
	}
}

// text bounds a text's length, at a rune's edge.
func (k *sink) text(b []byte) []byte {
	if len(b) <= k.limits.Text || k.keepAll {
		return b
	}
	k.defects.Add(trace.Oversized, fmt.Sprintf("a text of more than %d bytes was shortened", k.limits.Text))
	n := k.limits.Text
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// add appends an attribute to the list that begins at from, within the limit.
func (k *sink) add(to []trace.RawAttr, from int, key []byte, v trace.RawValue) []trace.RawAttr {
	if len(to)-from >= k.limits.Attributes && !k.keepAll {
		k.oversized("attributes", k.limits.Attributes)
		return to
	}
	if v.Type == trace.String || v.Type == trace.Bytes {
		v.Bytes = k.text(v.Bytes)
	}
	return append(to, trace.RawAttr{Key: k.text(key), Value: v})
}

func (k *sink) oversized(what string, limit int) {
	k.defects.Add(trace.Oversized, fmt.Sprintf("a list of more than %d %s was shortened", limit, what))
}

// beginSpan empties the scratch for the next span.
func (k *sink) beginSpan() *trace.RawSpan {
	k.span.Reset()
	k.span.Start, k.span.End = trace.NoTime, trace.NoTime
	k.nested, k.extents, k.canon = k.nested[:0], k.extents[:0], k.canon[:0]
	k.follows = k.follows[:0]
	k.pairs.begin()
	if k.keepAll {
		k.more.Reset()
		k.linkExtents = k.linkExtents[:0]
		k.span.More = &k.more
	}
	return &k.span
}

// event adds an event whose attributes are nested[from:].
func (k *sink) event(e trace.RawEvent, from int, dropped uint32) {
	if len(k.span.Events) >= k.limits.Events && !k.keepAll {
		k.oversized("events", k.limits.Events)
		k.nested = k.nested[:from]
		return
	}
	e.Name = k.text(e.Name)
	k.span.Events = append(k.span.Events, e)
	k.extents = append(k.extents, extent{from, len(k.nested)})
	if k.keepAll {
		k.more.EventsDropped = append(k.more.EventsDropped, dropped)
	}
}

func (k *sink) link(l trace.RawLink) {
	if len(k.span.Links) >= k.limits.Events && !k.keepAll {
		k.oversized("links", k.limits.Events)
		return
	}
	k.span.Links = append(k.span.Links, l)
}

// lists gives the spans from a place on what only a conversion keeps of the lists
// that they stood in.
func (k *sink) lists(from int, change func(s *trace.Scope)) {
	if k.keepAll {
		k.spans.ChangeScopes(trace.SpanRef(from), func(s trace.Scope) trace.Scope {
			change(&s)
			return s
		})
	}
}

// endSpan stores the span, which began or ended at an offset in the chunk. One
// that cannot be is rejected here, where its place is known; a conversion keeps it.
func (k *sink) endSpan(at int) {
	if kind, bad := trace.Impossible(k.span.TraceID, k.span.ID, trace.Interval{Start: k.span.Start, End: k.span.End}); bad && !k.keepAll {
		k.reject(at, kind, trace.Defects[kind].Sentence)
		return
	}
	for i, x := range k.extents {
		k.span.Events[i].Attrs = k.nested[x.from:x.to:x.to]
	}
	for i, x := range k.linkExtents {
		k.more.Links[i].Attrs = k.nested[x.from:x.to:x.to]
	}
	k.span.Name = k.text(k.span.Name)
	k.span.StatusMessage = k.text(k.span.StatusMessage)
	ref := k.spans.Add(&k.span)
	if k.span.NameID == 0 && len(k.span.Name) > 0 {
		k.pairs.learnName(k.span.Name, k.spans.Name(ref))
	}
	k.pairs.learn(k.span.Known)
}
