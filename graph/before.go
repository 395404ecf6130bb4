package graph

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// requestStart are the attributes in which a load balancer or proxy stamps when
// a request reached it.
var requestStart = []string{"http.request.header.x-request-start", "http.request.header.x_request_start", "http.request.header.x-queue-start", "http.request.header.x_queue_start"}

// before reads how long the request waited before its entry span: from a stamp,
// from an attribute that gives the time in a queue, or from a producer that is
// the entry's parent. Links to producers are kept for when all spans are known.
// says is the span whose word is taken: the entry's, or that of the application
// behind it.
func (b *Builder) before(r *Record, t *Tree, entry, says Node) {
	s, ref := t.Store, t.Spans[says]
	start := t.Interval(entry).Start
	if v := b.ask(ref, askRequestStart); v != 0 {
		if at, ok := stamp(s.Text(v), start); ok {
			r.Before, r.BeforeEvidence = int64(start-at), b.Dict.InternString("request-start stamp")
		} else {
			b.Defects.Add(trace.BadRequestStart, b.where(t, entry))
		}
		return
	}
	for _, a := range s.Attrs(ref) {
		key := s.String(a.Key)
		if w, ok := s.Waits[key]; ok && w.Before {
			if f, err := strconv.ParseFloat(s.Text(a.Value), 64); err == nil && f >= 0 && f*w.UnitNS < maxBefore {
				r.Before, r.BeforeEvidence = int64(f*w.UnitNS), b.Dict.InternString("attribute "+key)
				return
			}
		}
	}
	if v := s.Attr(ref, "http.server.request.time_in_queue", "queue.time_ms"); v != 0 {
		if f, err := strconv.ParseFloat(s.Text(v), 64); err == nil && f >= 0 && f < 1e9 {
			r.Before, r.BeforeEvidence = int64(f*1e6), b.Dict.InternString("time in queue")
		}
	}
	if t.kind(entry) != trace.KindConsumer {
		return
	}
	if p := t.Parent[entry]; p != NoNode {
		if end := t.Interval(p).End; end <= start {
			r.Before = int64(start - end)
		} else {
			r.Before = 0
		}
		r.BeforeEvidence = b.Dict.InternString("messaging dwell")
		return
	}
	for _, l := range s.Links(ref) {
		r.Links = append(r.Links, trace.Link(l))
	}
}

// maxBefore is the longest wait before a request that is believed: a stamp
// older than a day is not a request's.
const maxBefore = 24 * 3600 * 1_000_000_000

// stampNumber is the number of a stamp, whatever stands around it: "t=", quotes,
// the brackets of a list of header values.
var stampNumber = regexp.MustCompile(`[0-9]{9,19}(\.[0-9]+)?`)

// stamp reads a request-start stamp. It is a number, perhaps after "t=", of
// seconds, milliseconds, microseconds or nanoseconds since the epoch: its size
// tells which, since in 1973 nobody stamped requests. It must lie before start.
func stamp(text string, start trace.Time) (trace.Time, bool) {
	number := stampNumber.FindString(text)
	whole, fraction, _ := strings.Cut(number, ".")
	v, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || v <= 0 {
		return 0, false
	}
	var scale int64
	switch {
	case v < 1e11:
		scale = 1e9
	case v < 1e14:
		scale = 1e6
	case v < 1e17:
		scale = 1e3
	default:
		scale = 1
	}
	at := v * scale
	if fraction != "" && scale > 1 {
		f, err := strconv.ParseFloat("0."+fraction, 64)
		if err != nil {
			return 0, false
		}
		at += int64(math.Round(f * float64(scale)))
	}
	wait := int64(start) - at
	return trace.Time(at), wait >= 0 && wait <= maxBefore
}
