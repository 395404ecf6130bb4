package graph

import (
	"cmp"
	"slices"

	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// A Half is one side of a call as its own host saw it.
type Half struct {
	trace.Interval
	Proc ProcID
}

// NoProc is the Proc of a half that was not recorded.
const NoProc ProcID = -1

// Seen reports whether the half was recorded.
func (h *Half) Seen() bool { return h.Proc != NoProc }

var noHalf = Half{Proc: NoProc}

// An End is how a half ended, by its own word.
type End uint8

const (
	Succeeded End = iota
	Failed
	TimedOut  // a deadline or timeout: the caller left
	Cancelled // the caller left
)

// Left reports whether the caller departed: it stopped waiting.
func (e End) Left() bool { return e == TimedOut || e == Cancelled }

// CallFlags are what a record knows of a call beyond its times.
type CallFlags uint8

const (
	// OnClient marks a call made by the parent's client half where the parent
	// has both halves.
	OnClient CallFlags = 1 << iota
	// Async marks a call that by its own word nobody waits for.
	Async
	// WaitSpan marks a span that is a wait by its name, such as pool.acquire.
	WaitSpan
	// Retry marks an attempt begun after the one before had failed.
	Retry
	// Hedge marks an attempt begun while the one before was running.
	Hedge
	// Loser marks a call that was cancelled because another of its kind had
	// answered.
	Loser
	// Redirected marks a call that was told to ask elsewhere.
	Redirected
	// Lasting marks a served call that is a stream by the word of either side.
	Lasting
)

// A Call is a client span with the server span that it caused, or a span that
// stands alone. Calls stand in pre-order.
type Call struct {
	Slot   SlotID
	Parent int32 // index in the record; -1 for the entry
	Len    int32 // calls in the subtree, itself included

	Identity uint32 // hash of what it asks for, beyond its operation; 0 if it does not say

	// Client is the half of a client or producer span, Work that of a server,
	// consumer, internal or unspecified span. One may be unseen.
	Client, Work Half

	ClientEnd, WorkEnd End
	Flags              CallFlags
	Attempt            uint16 // 0 for the first attempt of a logical call
}

// Outer is the half that encloses the other.
func (c *Call) Outer() *Half {
	if c.Client.Seen() {
		return &c.Client
	}
	return &c.Work
}

// Inner is the half that does the work as far as it was seen.
func (c *Call) Inner() *Half {
	if c.Work.Seen() {
		return &c.Work
	}
	return &c.Client
}

// Paired reports whether both halves were seen.
func (c *Call) Paired() bool { return c.Client.Seen() && c.Work.Seen() }

// OuterEnd is how the outer half ended.
func (c *Call) OuterEnd() End {
	if c.Client.Seen() {
		return c.ClientEnd
	}
	return c.WorkEnd
}

// A Wait is a stretch of a half that the half's own span says it waited.
type Wait struct {
	Call   int32
	Client bool // in the client half
	trace.Interval
	Evidence trace.StringID
	Resource trace.StringID // the pool or executor, if named
}

// A Limit is how long a loser was waited for: until the next attempt began. It
// is the loser's start where none began.
type Limit struct {
	Call  int32
	Until trace.Time // by the clock of the call's outer half
}

// A Standing is why a record is or is not in the percentiles.
type Standing uint8

const (
	Counted  Standing = iota
	Stream            // a lifetime and not a latency
	Excluded          // by a rule; Reason names it
	// Scheduled is begun by a clock and not by somebody who waits. Where an endpoint
	// has no other requests it counts all the same.
	Scheduled
)

// A Record is what is kept of one request. Its codes refer to a Dict.
type Record struct {
	TraceID  trace.TraceID
	Entry    trace.SpanID
	Outcome  population.Outcome
	Standing Standing
	Reason   trace.StringID // why it is not counted: the kind of stream, the name of the rule
	Orphan   bool           // the entry's own caller was never received
	Torn     bool           // spans of its trace are missing, so calls of its own may be
	Class    trace.StringID
	Weight   int64 // in units of 2^-20 requests

	// Attrs is the attributes of the entry span and of its resource.
	Attrs []trace.Attr

	// Before is how long the request waited before its entry span began, in
	// ns; NoBefore if nothing says so.
	Before         int64
	BeforeEvidence trace.StringID

	// Links is the spans that caused this request without waiting for it: what a
	// consumer's dwell is counted from.
	Links []trace.Link

	// Dwells is the times since the producers that Links name; set when a
	// summary is read, since a producer may stand anywhere in the input.
	Dwells []int64

	Calls  []Call
	Waits  []Wait
	Limits []Limit

	Joins []Join // calls of others that this request waited for
	Leads []Lead // calls that others may have waited for, in order of Call

	// Held is the calls that others did wait for, and until when, by the clock of
	// their outer halves; set when a summary is read, since the others may stand
	// anywhere in the input.
	Held []Limit
}

// NoBefore is the Before of a request that says nothing of it.
const NoBefore = -1

// OneRequest is the weight of one request.
const OneRequest = 1 << 20

// Duration is the request's latency in ns: that of its entry span.
func (r *Record) Duration() int64 { return r.Calls[0].Outer().Duration() }

// Start is the start of the entry span.
func (r *Record) Start() trace.Time { return r.Calls[0].Outer().Start }

// Compare orders records by what they say, whatever the order of the input. Two
// requests of one trace may have entries of one id; then codes decide, which
// mean something only in a canonical Dict.
func (r *Record) Compare(o *Record) int {
	if c := cmp.Or(r.TraceID.Compare(o.TraceID), cmp.Compare(r.Start(), o.Start()), cmp.Compare(r.Entry, o.Entry), cmp.Compare(len(r.Calls), len(o.Calls)), cmp.Compare(r.Duration(), o.Duration())); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(r.Outcome, o.Outcome), cmp.Compare(r.Standing, o.Standing), cmp.Compare(r.Reason, o.Reason), cmp.Compare(r.Class, o.Class), cmp.Compare(r.Weight, o.Weight), cmp.Compare(r.Before, o.Before)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(r.Calls, o.Calls, compareCalls); c != 0 {
		return c
	}
	return slices.CompareFunc(r.Attrs, o.Attrs, func(a, b trace.Attr) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
}

func compareCalls(a, b Call) int {
	half := func(a, b *Half) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Proc, b.Proc))
	}
	return cmp.Or(
		cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Parent, b.Parent), half(&a.Client, &b.Client), half(&a.Work, &b.Work),
		cmp.Compare(a.ClientEnd, b.ClientEnd), cmp.Compare(a.WorkEnd, b.WorkEnd), cmp.Compare(a.Flags, b.Flags), cmp.Compare(a.Attempt, b.Attempt),
	)
}

// Remap translates the record's codes in place.
func (r *Record) Remap(m *Remap) {
	r.Class = m.Strings[r.Class]
	r.Reason = m.Strings[r.Reason]
	r.BeforeEvidence = m.Strings[r.BeforeEvidence]
	for i := range r.Attrs {
		r.Attrs[i] = trace.Attr{Key: m.Strings[r.Attrs[i].Key], Value: m.Value(r.Attrs[i].Value)}
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		c.Slot = m.Slots[c.Slot]
		if c.Client.Seen() {
			c.Client.Proc = m.Procs[c.Client.Proc]
		}
		if c.Work.Seen() {
			c.Work.Proc = m.Procs[c.Work.Proc]
		}
	}
	for i := range r.Waits {
		r.Waits[i].Evidence = m.Strings[r.Waits[i].Evidence]
		r.Waits[i].Resource = m.Strings[r.Waits[i].Resource]
	}
}

// Impossible reports whether the callee's half is longer than the half of the
// caller that waited for it: no clock offset can make that so, and nothing that
// the caller said explains it.
func (c *Call) Impossible() bool {
	return c.Paired() && !c.ClientEnd.Left() && c.Flags&(Async|Loser) == 0 && c.Work.Duration() > c.Client.Duration()
}
