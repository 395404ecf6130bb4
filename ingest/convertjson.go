package ingest

import (
	"strconv"

	"github.com/tailscope/tailscope/trace"
)

// A jsonOut builds OTLP JSON.
type jsonOut struct{ b []byte }

func (o *jsonOut) take() []byte {
	b := append(o.b, '}')
	o.b = o.b[:0]
	if len(b) == 1 {
		return []byte("{}")
	}
	return b
}

// key begins a field.
func (o *jsonOut) key(name string) {
	switch {
	case len(o.b) == 0:
		o.b = append(o.b, '{')
	case o.b[len(o.b)-1] != '{':
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, `":`...)
}

func (o *jsonOut) message(_ int, name string, fields func()) {
	o.key(name)
	o.b = append(o.b, '{')
	fields()
	o.b = append(o.b, '}')
}

func (o *jsonOut) list(_ int, name string, n int, element func(i int)) {
	if n == 0 {
		return
	}
	o.key(name)
	for i := range n {
		o.b = append(o.b, "[,"[min(i, 1)], '{')
		element(i)
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

func (o *jsonOut) text(_ int, name, v string) {
	if v != "" {
		o.key(name)
		o.b = appendString(o.b, []byte(v))
	}
}

func (o *jsonOut) uint(_ int, name string, v uint64) {
	if v == 0 {
		return
	}
	o.key(name)
	if name == "isMonotonic" {
		o.b = append(o.b, "true"...)
		return
	}
	o.b = strconv.AppendUint(o.b, v, 10)
}

func (o *jsonOut) sint(_ int, name string, v int64) {
	if v != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, v, 10)
	}
}

func (o *jsonOut) fixed(_ int, name string, v uint64) {
	o.key(name)
	o.b = append(strconv.AppendUint(append(o.b, '"'), v, 10), '"')
}

func (o *jsonOut) fixed32(num int, name string, v uint32) { o.uint(num, name, uint64(v)) }

func (o *jsonOut) sfixed(_ int, name string, v int64) {
	o.key(name)
	o.b = append(strconv.AppendInt(append(o.b, '"'), v, 10), '"')
}

func (o *jsonOut) double(_ int, name string, v float64) {
	o.key(name)
	o.b = appendFloat(o.b, v)
}

func (o *jsonOut) numbers(name string, n int, each func(i int)) {
	if n == 0 {
		return
	}
	o.key(name)
	for i := range n {
		o.b = append(o.b, "[,"[min(i, 1)])
		each(i)
	}
	o.b = append(o.b, ']')
}

func (o *jsonOut) fixeds(_ int, name string, v []uint64) {
	o.numbers(name, len(v), func(i int) { o.b = append(strconv.AppendUint(append(o.b, '"'), v[i], 10), '"') })
}

func (o *jsonOut) varints(num int, name string, v []uint64) { o.fixeds(num, name, v) }

func (o *jsonOut) doubles(_ int, name string, v []float64) {
	o.numbers(name, len(v), func(i int) { o.b = appendFloat(o.b, v[i]) })
}

func (o *jsonOut) traceID(_ int, name string, id trace.TraceID, text string) {
	if !id.IsZero() {
		o.text(0, name, text)
	}
}

func (o *jsonOut) spanID(_ int, name string, id trace.SpanID, text string) { o.text(0, name, text) }

func (o *jsonOut) value(_ int, name string, v trace.RawValue) {
	o.key(name)
	o.b = appendValue(o.b, v)
}
