// Package ingest reads files, directories and streams of spans and metrics into
// columns, whatever the format: OTLP JSON and protobuf in the dialects that
// exist, Jaeger, Zipkin and Tempo JSON, plain or compressed. A format is found
// by content, never by name.
//
// Read Read, Set and Options first. What cannot be read is counted, located and
// named in the Set, and what can be is read all the same. Only input of which
// nothing is usable is an error.
//
// Spans go straight from the bytes into a trace.Store. Files are cut into chunks
// at the borders of records; a chunk is decoded by one worker and joined to the
// rest in the order of the input, so that the number of workers shows nowhere.
package ingest

import (
	"context"
	"io"
	"runtime"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// Options say how to read. The zero value is usable.
type Options struct {
	Stdin    io.Reader      // read for the path "-"
	Workers  int            // 0: GOMAXPROCS
	KeepAll  bool           // keep all attributes of all spans, at any length, as a conversion needs
	Progress func(Progress) // told now and then, from any goroutine but never by two at once; may be nil
	Limits   Limits

	// Part takes what was read whenever it fills PartBytes of memory, so that input
	// larger than memory can be read; the Set then holds only the rest. The stores
	// are Part's until it returns. An error ends the reading. A single document or
	// message is never parted.
	Part      func(spans *trace.Store, metrics *metric.Store) error
	PartBytes int64
}

// A Progress is how much of the input has been read.
type Progress struct {
	Bytes, Total int64 // before decompression; Total is 0 if it is not known
	Spans        int64
}

// A Set is what was read.
type Set struct {
	Tables  *trace.Tables // shared by Spans and Metrics
	Spans   *trace.Store
	Metrics *metric.Store

	// Files is what was found in each file, by path.
	Files []File

	// LogRecords is how many log records were passed over; they are not used.
	LogRecords int64

	// Rejected is how many spans, points and damaged documents were left out.
	Rejected int64

	// Defects counts what was rejected or repaired while decoding: what cannot be
	// read, and spans that cannot be (without an id or a time, or that end before
	// they start).
	Defects trace.Tally

	// Lost counts what the stores cannot hold of what a conversion would write, as
	// "metric.description".
	Lost map[string]int64

	// Unknown counts the fields that no rule recognised, as "span.newField".
	Unknown map[string]int64
}

// A File is what was found in one file.
type File struct {
	// Path is the path as found; "-" is the standard input.
	Path string

	// Format is what the file holds ("otlp-json", "otlp-proto", "otlp-proto-frames",
	// "tempo-json", "jaeger-json", "zipkin-json", several with commas) and how it is
	// packed ("+gzip", "+zstd", "+zstd-frames", "+utf-16"). It is empty if nothing was recognised.
	Format string

	Spans, MetricPoints, LogRecords, Rejected int64

	// Errors is the first errors of the file, at most 20 of ErrorsTotal.
	Errors      []Located
	ErrorsTotal int64
}

// A Located is a message about a place in a file: "line 12" of text (after
// decompression), "byte 459" of anything else.
type Located struct{ Where, Message string }

// Read reads all paths: files, directories (with what is below them), globs and
// "-". If a named path cannot be used, or nothing usable is in any, the error is
// an *InputError; the Set is nil in the first case and holds the located errors
// in the second. Nothing depends on the order of paths.
func Read(ctx context.Context, paths []string, o Options) (*Set, error) {
	limits := o.Limits.withDefaults()
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	inputs, err := expand(paths, &o, &limits)
	if err != nil {
		return nil, err
	}
	p := newPool(inputs, o, limits)
	if err := p.run(ctx, workers); err != nil {
		return nil, err
	}
	set := p.set
	if !set.usable() {
		return set, nothingUsable(set)
	}
	return set, nil
}

// usable reports whether spans or points were read.
func (s *Set) usable() bool {
	for i := range s.Files {
		if s.Files[i].Spans+s.Files[i].MetricPoints > 0 {
			return true
		}
	}
	return false
}
