package summary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/queuewait"
	"github.com/tailscope/tailscope/trace"
)

// Magic begins every snapshot file.
const Magic = "tailscope snapshot\n"

// version is that of the snapshot's encoding. Files of another version are
// refused, for what they mean may have changed; but not those of oldest on, which
// lack only what came later: before version 4 no requests were kept whole.
const (
	version = 4
	oldest  = 3
)

// What is missing of a record, in bits.
const (
	orphan = 1 << iota
	torn
)

// ErrNotSnapshot is returned for what does not begin with Magic.
var ErrNotSnapshot = errors.New("not a tailscope snapshot")

// Encode returns the snapshot of runs. Each is made canonical first, so that
// equal content gives equal bytes.
//
// A snapshot is Magic, then the version, the number of runs and the runs as
// blocks: length, content, CRC-32C of the content. Numbers are varints.
func Encode(runs []*Summary) []byte {
	out := []byte(Magic)
	out = binary.AppendUvarint(out, version)
	out = binary.AppendUvarint(out, uint64(len(runs)))
	for _, s := range runs {
		s.Canonicalize()
		content := s.append(nil)
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(content, castagnoli))
	}
	return out
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Decode reads the runs of a snapshot. A file that is cut, changed or of
// another version is refused with the reason.
func Decode(data []byte) ([]*Summary, error) {
	rest, ok := bytes.CutPrefix(data, []byte(Magic))
	if !ok {
		return nil, ErrNotSnapshot
	}
	d := &graph.Decoder{Bytes: rest}
	v := d.Uint()
	if d.Err == nil && (v < oldest || v > version) {
		return nil, fmt.Errorf("snapshot of version %d; this tailscope reads versions %d to %d", v, oldest, version)
	}
	var runs []*Summary
	for n := d.Length(5); n > 0 && d.Err == nil; n-- {
		content := d.Take(d.Length(1))
		sum := d.Take(4)
		if d.Err != nil {
			break
		}
		if binary.LittleEndian.Uint32(sum) != crc32.Checksum(content, castagnoli) {
			return nil, fmt.Errorf("corrupt snapshot: run %d does not match its checksum", len(runs)+1)
		}
		s, err := decode(content, v)
		if err != nil {
			return nil, fmt.Errorf("corrupt snapshot: run %d: %w", len(runs)+1, err)
		}
		runs = append(runs, s)
	}
	if d.Err != nil || len(d.Bytes) > 0 || len(runs) == 0 {
		return nil, errors.New("corrupt snapshot: cut short or followed by something else")
	}
	return runs, nil
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func (s *Summary) append(to []byte) []byte {
	uint := func(vs ...uint64) {
		for _, v := range vs {
			to = binary.AppendUvarint(to, v)
		}
	}
	d := s.Dict
	uint(uint64(d.Strings()))
	for i := range d.Strings() {
		to = appendText(to, d.String(trace.StringID(i)))
	}
	uint(uint64(d.Slots()))
	for i := range d.Slots() {
		l := d.SlotAt(graph.SlotID(i))
		uint(uint64(l.Parent+1), uint64(l.Caller.Service), uint64(l.Caller.Operation), uint64(l.Callee.Service), uint64(l.Callee.Operation), uint64(l.Peer), uint64(l.Kind))
	}
	uint(uint64(d.Procs()))
	for i := range d.Procs() {
		p := d.ProcAt(graph.ProcID(i))
		uint(uint64(p.Service), uint64(p.Host), uint64(p.Instance), uint64(p.Version))
	}
	c := &s.Counts
	uint(uint64(c.Spans), uint64(c.Traces), uint64(c.Duplicates), uint64(c.Rejected), uint64(c.Orphans), uint64(c.IncompleteTraces), uint64(c.Links))
	to = binary.AppendVarint(to, int64(c.From))
	to = binary.AppendVarint(to, int64(c.To))
	kinds := c.Defects.Kinds()
	uint(uint64(len(kinds)))
	for _, k := range kinds {
		to = appendText(to, string(k))
		uint(uint64(c.Defects[k].N))
		to = appendText(to, c.Defects[k].Example)
	}
	to = s.Graph.AppendBinary(to)
	to = s.Queues.AppendBinary(to)
	metrics := s.Metrics.Append(nil)
	uint(uint64(len(metrics)))
	to = append(to, metrics...)
	uint(uint64(len(s.Records)))
	for _, r := range s.Records {
		to = appendRecord(to, r)
	}
	return s.Whole.append(s.Kept.append(to))
}

func appendRecord(to []byte, r *graph.Record) []byte {
	uint := func(v uint64) { to = binary.AppendUvarint(to, v) }
	num := func(v int64) { to = binary.AppendVarint(to, v) }
	to = append(to, r.TraceID[:]...)
	to = binary.BigEndian.AppendUint64(to, uint64(r.Entry))
	to = append(to, byte(r.Outcome), byte(r.Standing))
	missing := byte(0)
	if r.Orphan {
		missing |= orphan
	}
	if r.Torn {
		missing |= torn
	}
	to = append(to, missing)
	uint(uint64(r.Class))
	uint(uint64(r.Reason))
	num(r.Weight)
	num(r.Before)
	uint(uint64(r.BeforeEvidence))
	uint(uint64(len(r.Attrs)))
	for _, a := range r.Attrs {
		uint(uint64(a.Key))
		uint(uint64(a.Value.Type()))
		uint(uint64(a.Value.TextID()))
	}
	uint(uint64(len(r.Links)))
	for _, l := range r.Links {
		to = append(to, l.TraceID[:]...)
		to = binary.BigEndian.AppendUint64(to, uint64(l.ID))
	}
	zero := r.Start()
	num(int64(zero))
	uint(uint64(len(r.Calls)))
	for i := range r.Calls {
		c := &r.Calls[i]
		uint(uint64(c.Slot))
		uint(uint64(c.Parent + 1))
		for _, h := range [2]*graph.Half{&c.Client, &c.Work} {
			uint(uint64(h.Proc + 1))
			if h.Seen() {
				num(int64(h.Start - zero))
				num(int64(h.End - h.Start))
			}
		}
		to = append(to, byte(c.ClientEnd), byte(c.WorkEnd), byte(c.Flags))
		uint(uint64(c.Attempt))
		uint(uint64(c.Identity))
	}
	uint(uint64(len(r.Waits)))
	for _, w := range r.Waits {
		uint(uint64(w.Call))
		client := uint64(0)
		if w.Client {
			client = 1
		}
		uint(client)
		num(int64(w.Start - zero))
		num(int64(w.End - w.Start))
		uint(uint64(w.Evidence))
		uint(uint64(w.Resource))
	}
	uint(uint64(len(r.Limits)))
	for _, l := range r.Limits {
		uint(uint64(l.Call))
		num(int64(l.Until - zero))
	}
	uint(uint64(len(r.Joins)))
	for _, j := range r.Joins {
		uint(uint64(j.Call))
		to = append(to, j.Link.TraceID[:]...)
		to = binary.BigEndian.AppendUint64(to, uint64(j.Link.ID))
	}
	uint(uint64(len(r.Leads)))
	for _, l := range r.Leads {
		uint(uint64(l.Call))
		to = binary.BigEndian.AppendUint64(to, uint64(l.ID))
	}
	return to
}

func decode(content []byte, version uint64) (*Summary, error) {
	d := &graph.Decoder{Bytes: content}
	s := New()
	text := func() string { return string(d.Take(d.Length(1))) }
	for i := range d.Length(1) {
		if t := text(); d.Err == nil && int(s.Dict.InternString(t)) != i {
			return nil, errors.New("strings out of order")
		}
	}
	str := func() trace.StringID { return trace.StringID(d.Code(s.Dict.Strings())) }
	for i := range d.Length(7) {
		l := graph.Slot{Parent: graph.SlotID(d.Code(i+1)) - 1}
		l.Caller = trace.Endpoint{Service: str(), Operation: str()}
		l.Callee = trace.Endpoint{Service: str(), Operation: str()}
		l.Peer, l.Kind = str(), trace.Kind(d.Code(int(trace.KindConsumer)+1))
		if d.Err == nil && int(s.Dict.Slot(l)) != i {
			return nil, errors.New("slots out of order")
		}
	}
	for i := range d.Length(4) {
		p := graph.Proc{Service: str(), Host: str(), Instance: str(), Version: str()}
		if d.Err == nil && int(s.Dict.Proc(p)) != i {
			return nil, errors.New("processes out of order")
		}
	}
	c := &s.Counts
	for _, v := range [...]*int64{&c.Spans, &c.Traces, &c.Duplicates, &c.Rejected, &c.Orphans, &c.IncompleteTraces, &c.Links} {
		*v = int64(d.Uint())
	}
	c.From, c.To = trace.Time(d.Int()), trace.Time(d.Int())
	for range d.Length(3) {
		kind, n := text(), int64(d.Uint())
		c.Defects.AddN(trace.DefectKind(kind), n, text())
	}
	s.Graph = graph.DecodeFold(d, s.Dict)
	s.Queues = queuewait.DecodeFold(d, s.Dict)
	metrics := d.Take(d.Length(1))
	if d.Err == nil {
		f, err := metric.Decode(metrics)
		if err != nil {
			return nil, err
		}
		s.Metrics = f
	}
	for n := d.Length(30); n > 0 && d.Err == nil; n-- {
		r := decodeRecord(d, s.Dict)
		if d.Err == nil {
			s.Records = append(s.Records, r)
		}
	}
	s.Kept = decodeKept(d, s.Dict, s.Records)
	if version >= 4 {
		s.Whole = decodeWhole(d, s.Dict)
	}
	if d.Err != nil || len(d.Bytes) > 0 {
		return nil, errors.New("cut short or followed by something else")
	}
	return s, nil
}

func decodeRecord(d *graph.Decoder, dict *graph.Dict) *graph.Record {
	r := &graph.Record{}
	str := func() trace.StringID { return trace.StringID(d.Code(dict.Strings())) }
	copy(r.TraceID[:], d.Take(16))
	r.Entry = trace.SpanID(binary.BigEndian.Uint64(d.Take(8)))
	head := d.Take(3)
	r.Outcome, r.Standing, r.Orphan = population.Outcome(head[0]), graph.Standing(head[1]), head[2]&orphan != 0
	r.Torn = head[2]&torn != 0
	if int(r.Outcome) >= len(population.Outcomes) || r.Standing > graph.Scheduled || head[2]&^(orphan|torn) != 0 {
		d.Fail()
	}
	r.Class, r.Reason = str(), str()
	r.Weight, r.Before = d.Int(), d.Int()
	r.BeforeEvidence = str()
	for range d.Length(3) {
		key, typ := str(), trace.ValueType(d.Code(int(trace.JSON)+1))
		r.Attrs = append(r.Attrs, trace.Attr{Key: key, Value: trace.MakeValue(typ, str())})
	}
	for range d.Length(24) {
		var l trace.Link
		copy(l.TraceID[:], d.Take(16))
		l.ID = trace.SpanID(binary.BigEndian.Uint64(d.Take(8)))
		r.Links = append(r.Links, l)
	}
	zero := trace.Time(d.Int())
	n := d.Length(7)
	r.Calls = make([]graph.Call, n)
	for i := range r.Calls {
		c := &r.Calls[i]
		c.Slot = graph.SlotID(d.Code(dict.Slots()))
		c.Parent = int32(d.Code(i+1)) - 1
		c.Len = 1
		for _, h := range [2]*graph.Half{&c.Client, &c.Work} {
			h.Proc = graph.ProcID(d.Code(dict.Procs()+1)) - 1
			if h.Seen() {
				h.Start = zero + trace.Time(d.Int())
				h.End = h.Start + trace.Time(d.Int())
				if h.End < h.Start {
					d.Fail()
				}
			}
		}
		if !c.Client.Seen() && !c.Work.Seen() || (c.Parent < 0) != (i == 0) {
			d.Fail()
		}
		b := d.Take(3)
		c.ClientEnd, c.WorkEnd, c.Flags = graph.End(b[0]), graph.End(b[1]), graph.CallFlags(b[2])
		if c.ClientEnd > graph.Cancelled || c.WorkEnd > graph.Cancelled {
			d.Fail()
		}
		c.Attempt = uint16(d.Code(1 << 16))
		c.Identity = uint32(d.Code(1 << 32))
	}
	if d.Err != nil || n == 0 {
		d.Fail()
		return r
	}
	for i := n - 1; i > 0; i-- {
		r.Calls[r.Calls[i].Parent].Len += r.Calls[i].Len
	}
	for i := 1; i < n; i++ { // pre-order: a call lies inside its parent's subtree
		if p := r.Calls[i].Parent; int32(i) >= p+r.Calls[p].Len {
			d.Fail()
			return r
		}
	}
	for range d.Length(6) {
		w := graph.Wait{Call: int32(d.Code(n)), Client: d.Code(2) == 1}
		w.Start = zero + trace.Time(d.Int())
		w.End = w.Start + trace.Time(d.Int())
		w.Evidence, w.Resource = str(), str()
		r.Waits = append(r.Waits, w)
		if h := &r.Calls[w.Call]; d.Err == nil && (w.Client && !h.Client.Seen() || !w.Client && !h.Work.Seen()) {
			d.Fail()
		}
	}
	for range d.Length(2) {
		r.Limits = append(r.Limits, graph.Limit{Call: int32(d.Code(n)), Until: zero + trace.Time(d.Int())})
	}
	for range d.Length(25) {
		j := graph.Join{Call: int32(d.Code(n))}
		copy(j.Link.TraceID[:], d.Take(16))
		j.Link.ID = trace.SpanID(binary.BigEndian.Uint64(d.Take(8)))
		r.Joins = append(r.Joins, j)
	}
	for range d.Length(9) {
		r.Leads = append(r.Leads, graph.Lead{Call: int32(d.Code(n)), ID: trace.SpanID(binary.BigEndian.Uint64(d.Take(8)))})
	}
	if r.Start() != zero {
		d.Fail()
	}
	return r
}
