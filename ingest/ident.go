package ingest

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/tailscope/tailscope/trace"
)

// Identifiers in OTLP JSON are hexadecimal. Writers that follow the JSON mapping
// of protobuf give base64 instead, of the bytes or of their hexadecimal text.
// Base64 of 8, 16 and 32 bytes ends in padding, so none of it can be taken for
// hexadecimal. What is neither is a text, and an identifier all the same.

func (k *sink) traceID(b []byte) trace.TraceID {
	if len(b) == 0 {
		return trace.TraceID{}
	}
	if id, ok := trace.ParseTraceID(b); ok {
		return id
	}
	var buf [33]byte
	switch raw := fromBase64(buf[:], b); len(raw) {
	case 16, 32:
		if id, ok := trace.ParseTraceID(raw); ok {
			return id
		}
		if len(raw) == 16 {
			return trace.TraceID(raw)
		}
	case 8:
		var id trace.TraceID
		copy(id[8:], raw)
		return id
	}
	return k.spans.TextTraceID(k.text(b))
}

func (k *sink) spanID(b []byte) trace.SpanID {
	if len(b) == 0 {
		return trace.NoSpanID
	}
	if id, ok := trace.ParseSpanID(b); ok {
		return id
	}
	var buf [33]byte
	switch raw := fromBase64(buf[:], b); len(raw) {
	case 16:
		if id, ok := trace.ParseSpanID(raw); ok {
			return id
		}
	case 8:
		return trace.SpanID(binary.BigEndian.Uint64(raw))
	}
	return k.spans.TextSpanID(k.text(b))
}

// fromBase64 decodes padded base64 of at most 32 bytes; nil if b is none.
func fromBase64(buf, b []byte) []byte {
	if len(b) > 44 || len(b)%4 != 0 || b[len(b)-1] != '=' {
		return nil
	}
	n, err := base64.StdEncoding.Decode(buf, b)
	if err != nil {
		if n, err = base64.URLEncoding.Decode(buf, b); err != nil {
			return nil
		}
	}
	return buf[:n]
}
