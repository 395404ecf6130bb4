package main

import (
	"testing"
	"time"

	"github.com/tailscope/tailscope/ingest"
)

func TestReadLine(t *testing.T) {
	for _, c := range []struct {
		read ingest.Progress
		want string
	}{
		{ingest.Progress{Bytes: 200e6, Total: 500e6, Spans: 400_000}, "reading: 200 of 500 MB (40 %), 200 k spans/s, 3s left"},
		{ingest.Progress{Bytes: 200e6, Spans: 4_000_000}, "reading: 200 MB, 2.0 M spans/s"},
		{ingest.Progress{Bytes: 10e6, Total: 10e6, Spans: 90}, "reading: 10 of 10 MB (100 %), 45 spans/s, 0s left"},
		{ingest.Progress{Bytes: 10e6, Total: 20e6}, "reading: 10 of 20 MB (50 %), 2s left"}, // metrics alone
		{ingest.Progress{}, "reading: 0 MB"},
	} {
		if got := readLine(c.read, 2*time.Second); got != c.want {
			t.Errorf("%v: %q, want %q", c.read, got, c.want)
		}
	}
}
