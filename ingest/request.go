package ingest

import (
	"fmt"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// A Decoder reads OTLP requests one by one, as clients send them. It is not safe
// for concurrent use.
type Decoder struct {
	Limits Limits

	worker worker
}

// Decode reads a request of protobuf, or of JSON. The Set is valid until the next
// call. Of a damaged request nothing is kept.
func (d *Decoder) Decode(data []byte, json bool) (*Set, error) {
	limits := d.Limits.withDefaults()
	if len(data) > limits.Document {
		return nil, fmt.Errorf("the request has more than %d bytes", limits.Document)
	}
	w := &d.worker
	if w.tables == nil || w.tables.Strings() > maxTables/8 {
		w.tables, w.pairs = trace.NewTables(), newPairs()
	}
	if w.pool == nil {
		w.pool = &pool{}
	}
	store := w.store()
	defer w.release(store)
	k := newSink(store, metric.NewStore(w.tables), w.pairs, &limits, &chunk{data: data, line: 1, binary: !json})
	var err *syntaxError
	if json {
		if !decodeJSON(k, &w.json, false, nil) {
			err = w.json.err
		}
	} else {
		w.proto.request(k)
		err = w.proto.err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s", k.where(err.at), err.message)
	}
	return &Set{
		Tables: w.tables, Spans: k.spans, Metrics: k.points, LogRecords: k.logs, Rejected: k.rejected, Defects: k.defects, Unknown: k.unknown,
		Files: []File{{Errors: k.errors, ErrorsTotal: k.errorsTotal}},
	}, nil
}

// AppendValue writes a value as the OTLP JSON in which arrays and lists of
// attributes are kept.
func AppendValue(to []byte, v trace.RawValue) []byte { return appendValue(to, v) }

// AppendPair writes an attribute of such a list.
func AppendPair(to, key []byte, v trace.RawValue) []byte { return appendPair(to, key, v) }
