package ingest

import (
	"encoding/binary"
	"testing"
)

// Requests read one by one hold what the file of them holds, and a damaged one
// leaves nothing.
func TestDecoder(t *testing.T) {
	proto, lines := corpus(2000)
	var d Decoder
	spans := 0
	for rest := proto; len(rest) > 0; {
		n := binary.BigEndian.Uint32(rest)
		set, err := d.Decode(rest[4:4+n], false)
		if err != nil || set.Rejected > 0 {
			t.Fatal(err)
		}
		spans += set.Spans.Len()
		if _, err := d.Decode(rest[4:4+n-1], false); err == nil {
			t.Error("a request that was cut is taken")
		}
		rest = rest[4+n:]
	}
	for i := 0; i < len(lines); {
		end := i
		for lines[end] != '\n' {
			end++
		}
		set, err := d.Decode(lines[i:end], true)
		if err != nil {
			t.Fatal(err)
		}
		spans += set.Spans.Len()
		if _, err := d.Decode(lines[i:end-1], true); err == nil {
			t.Error("a request that was cut is taken")
		}
		i = end + 1
	}
	if spans != 4000 {
		t.Errorf("%d spans", spans)
	}
	if set, err := d.Decode(nil, false); err != nil || set.Spans.Len() > 0 {
		t.Errorf("an empty request: %v", err)
	}
	if set, err := d.Decode([]byte("{}"), true); err != nil || set.Spans.Len() > 0 {
		t.Errorf("an empty request of JSON: %v", err)
	}
	if _, err := d.Decode([]byte("hello"), true); err == nil {
		t.Error("a text is taken")
	}
}
