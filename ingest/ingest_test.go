package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// read reads text as standard input.
func read(t testing.TB, text string) *Set {
	t.Helper()
	set, err := Read(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(text), KeepAll: true})
	if set == nil {
		t.Fatal(err)
	}
	return set
}

// line is an OTLP JSON request of one span.
func line(n int) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"scope":{"name":"t"},"spans":[{"traceId":"%032x","spanId":"%016x","name":"GET /","kind":2,"startTimeUnixNano":"1767268800000000123","endTimeUnixNano":"1767268800000001000"}]}]}]}`, n, n)
}

func TestLines(t *testing.T) {
	set := read(t, line(1)+"\n"+line(2)+"\n"+line(3)[:200]+"\n"+line(4))
	if set.Spans.Len() != 3 || set.Rejected != 1 {
		t.Errorf("%d spans, %d rejected, want 3 and 1", set.Spans.Len(), set.Rejected)
	}
	f := set.Files[0]
	if f.Format != "otlp-json" || len(f.Errors) != 1 || f.Errors[0].Where != "line 3" {
		t.Errorf("got %+v", f)
	}
}
