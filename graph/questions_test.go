package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// TestQuestionsAreAnsweredAsByTexts asks spans with any mixture of keys, and with some of them twice, what a comparison of
// all texts tells of them.
func TestQuestionsAreAnsweredAsByTexts(t *testing.T) {
	var keys []string
	for _, q := range questionKeys {
		keys = append(keys, q...)
	}
	slices.Sort(keys)
	keys = append(slices.Compact(keys), "peer.service", "pool.wait_ms", "queue.time_ms")
	texts := []string{"", "0", "14", "200", "503", "599", "600", "99", "DEADLINE_EXCEEDED", "unavailable", "timeout", "https://a/b?c=1", "x", "4.0"}
	r := rand.New(rand.NewPCG(5, 6))
	s := trace.NewStore(trace.NewTables())
	for i := range 3000 {
		raw := trace.RawSpan{TraceID: trace.TraceID{1}, ID: trace.SpanID(i + 1), Start: 1, End: 2}
		for range r.IntN(6) {
			raw.Attrs = append(raw.Attrs, trace.RawAttr{Key: []byte(keys[r.IntN(len(keys))]), Value: trace.RawValue{Type: trace.String, Bytes: []byte(texts[r.IntN(len(texts))])}})
		}
		s.Add(&raw)
	}
	b := NewBuilder(NewDict(), s, judgeAll)
	for ref := range trace.SpanRef(s.Len()) {
		for q, keys := range questionKeys {
			if len(keys) == 0 {
				continue
			}
			if got, want := b.ask(ref, question(q)), s.Attr(ref, keys...); got != want {
				t.Fatalf("span %d, question %d: %q, by texts %q", ref, q, s.Text(got), s.Text(want))
			}
		}
		got, ok := b.httpStatus(ref)
		if want, is := population.HTTPStatus(s, ref); ok != is || ok && got != want {
			t.Fatalf("span %d: HTTP status %d %v, by texts %d %v", ref, got, ok, want, is)
		}
		got, ok = b.grpcStatus(ref)
		if want, is := population.GRPCStatus(s, ref); ok != is || ok && got != want {
			t.Fatalf("span %d: gRPC status %d %v, by texts %d %v", ref, got, ok, want, is)
		}
	}
}
