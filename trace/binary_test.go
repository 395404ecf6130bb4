package trace_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

func filled(seed uint64, traces int) *trace.Store {
	s := trace.NewStore(trace.NewTables())
	rng := rand.New(rand.NewPCG(seed, 3))
	tracetest.Fill(s, tracetest.Random(rng, traces))
	s.Add(&trace.RawSpan{
		TraceID: s.TextTraceID([]byte("order-17")), ID: s.TextSpanID([]byte("step/1")), ParentID: s.TextSpanID([]byte("step/0")),
		Start: 5, End: trace.NoTime, Name: []byte("named by hand"), StatusMessage: []byte("no stock"), TraceState: []byte("ot=th:8"),
		Scope: s.AddScope(trace.Scope{Name: s.InternString("lib"), Version: s.InternString("2")}), Kind: trace.KindConsumer, Status: trace.StatusError,
		Attrs:  []trace.RawAttr{{Key: []byte("n"), Value: trace.RawValue{Type: trace.Int, Int: -3}}, {Key: []byte("none")}},
		Events: []trace.RawEvent{{Time: 7, Name: []byte("e")}},
		Links:  []trace.RawLink{{TraceID: s.TextTraceID([]byte("order-16")), ID: s.TextSpanID([]byte("step/9"))}},
	})
	return s
}

func every(s *trace.Store) []trace.SpanRef {
	refs := make([]trace.SpanRef, s.Len())
	for i := range refs {
		refs[i] = trace.SpanRef(i)
	}
	return refs
}

// Packed spans come back as they were, into stores with other tables too; that
// nothing is left out is a test of package ingest, which can describe a store.
func TestPackedSpansComeBack(t *testing.T) {
	var p trace.Packer
	for seed := range uint64(20) {
		s := filled(seed, 1+int(seed))
		packed := bytes.Clone(p.Append(nil, s, every(s)))
		into := filled(seed+100, 3) // which has other codes
		n := into.Len()
		if err := into.AddPacked(packed); err != nil {
			t.Fatal(err)
		}
		if got := p.Append(nil, into, every(into)[n:]); !bytes.Equal(got, packed) {
			t.Fatalf("seed %d: %d bytes packed again, %d at first", seed, len(got), len(packed))
		}
		last := trace.SpanRef(into.Len() - 1)
		if id, parent := into.TraceIDText(into.TraceID(last)), into.SpanIDText(into.ParentID(last)); id != "order-17" || parent != "step/0" {
			t.Errorf("trace %q, parent %q: the texts of identifiers are lost", id, parent)
		}
	}
}

// Packing part of a store leaves out the texts of the rest.
func TestPackedTextsAreTheSpansOwn(t *testing.T) {
	s := filled(1, 5)
	var p trace.Packer
	p.Append(nil, s, every(s))
	if packed := p.Append([]byte("head"), s, every(s)[:1]); !bytes.HasPrefix(packed, []byte("head")) || bytes.Contains(packed, []byte("named by hand")) || bytes.Contains(packed, []byte("step/1")) {
		t.Errorf("%q", packed)
	}
}

func TestDamagedPackedSpansAreRefused(t *testing.T) {
	s := filled(2, 2)
	var p trace.Packer
	packed := p.Append(nil, s, every(s))
	for cut := range len(packed) {
		if err := trace.NewStore(trace.NewTables()).AddPacked(packed[:cut]); !errors.Is(err, trace.ErrPacked) {
			t.Fatalf("cut at byte %d of %d: %v", cut, len(packed), err)
		}
	}
}

func FuzzAddPacked(f *testing.F) {
	s := filled(3, 2)
	var p trace.Packer
	f.Add(p.Append(nil, s, every(s)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := trace.NewStore(trace.NewTables())
		if s.AddPacked(data) == nil {
			var p trace.Packer
			p.Append(nil, s, every(s))
		}
	})
}

// What a store says it takes grows with what is in it, sparse columns included.
func TestBytesGrow(t *testing.T) {
	s := trace.NewStore(trace.NewTables())
	empty := s.Bytes()
	for i := range 1000 {
		s.Add(&trace.RawSpan{ID: trace.SpanID(i + 1), Name: []byte("a")})
	}
	plain := s.Bytes()
	for i := range 1000 {
		s.Add(&trace.RawSpan{ID: trace.SpanID(i + 1), Name: []byte("a"), Links: make([]trace.RawLink, 10)})
	}
	if linked := s.Bytes(); plain-empty < 67*1000 || linked-plain < 67*1000+240*1000 {
		t.Errorf("empty %d, 1000 spans %d, 1000 more with links %d", empty, plain, linked)
	}
	s = s.Renew(trace.NewTables())
	if s.Len() != 0 || s.Cap() < 2000 {
		t.Errorf("renewed: %d spans, room for %d", s.Len(), s.Cap())
	}
}
