package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// A spelling says how respell writes OTLP JSON.
type spelling struct {
	ascii   bool       // escape all but ASCII
	shuffle *rand.Rand // order of keys
	key     func(string) string
	id      func(string) string
	numbers bool // 64-bit integers as numbers
	enums   bool // enums by name
	goOneof bool // oneofs as encoding/json prints them
}

// respell reads OTLP JSON generically and writes it in another dialect.
func respell(b []byte, s spelling) []byte {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	var out bytes.Buffer
	s.write(&out, v, "")
	return out.Bytes()
}

var integers = map[string]bool{
	"startTimeUnixNano": true, "endTimeUnixNano": true, "timeUnixNano": true, "intValue": true, "asInt": true, "count": true, "zeroCount": true, "bucketCounts": true,
}

var oneofs = map[string]bool{
	"stringValue": true, "intValue": true, "doubleValue": true, "boolValue": true, "bytesValue": true, "arrayValue": true, "kvlistValue": true, "asInt": true, "asDouble": true,
}

var data5 = map[string]bool{"gauge": true, "sum": true, "histogram": true, "exponentialHistogram": true, "summary": true}

func (s spelling) write(out *bytes.Buffer, v any, key string) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if s.shuffle != nil {
			s.shuffle.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		}
		out.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				out.WriteString(" ,\t"[:1+i%3])
				if i%3 == 0 {
					out.Truncate(out.Len() - 1)
					out.WriteByte(',')
				}
			}
			s.field(out, k, v[k])
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			s.write(out, e, key)
		}
		out.WriteByte(']')
	case string:
		s.text(out, v, key)
	case json.Number:
		switch {
		case s.enums && key == "kind":
			s.quote(out, []string{"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"}[digit(v)])
		case s.enums && key == "code":
			s.quote(out, []string{"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"}[digit(v)])
		case s.enums && key == "aggregationTemporality":
			s.quote(out, []string{"AGGREGATION_TEMPORALITY_UNSPECIFIED", "AGGREGATION_TEMPORALITY_DELTA", "AGGREGATION_TEMPORALITY_CUMULATIVE"}[digit(v)])
		default:
			out.WriteString(v.String())
		}
	default:
		b, _ := json.Marshal(v)
		out.Write(b)
	}
}

func digit(n json.Number) int { return int(n.String()[0] - '0') }

func (s spelling) field(out *bytes.Buffer, k string, v any) {
	name := k
	if s.key != nil {
		name = s.key(k)
	}
	if s.goOneof {
		_, object := v.(map[string]any)
		wrap := ""
		switch {
		case oneofs[k]:
			wrap, name = "Value", strings.ToUpper(k[:1])+k[1:]
		case data5[k] && object:
			wrap, name = "Data", strings.ToUpper(k[:1])+k[1:]
		}
		if wrap != "" {
			fmt.Fprintf(out, `"%s":{"%s":`, wrap, name)
			s.write(out, v, k)
			out.WriteByte('}')
			return
		}
	}
	s.quote(out, name)
	out.WriteByte(':')
	s.write(out, v, k)
}

func (s spelling) text(out *bytes.Buffer, v, key string) {
	switch {
	case (key == "traceId" || key == "spanId" || key == "parentSpanId") && s.id != nil:
		v = s.id(v)
	case s.numbers && integers[key]:
		out.WriteString(v)
		return
	}
	s.quote(out, v)
}

func (s spelling) quote(out *bytes.Buffer, v string) {
	if !s.ascii {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.Encode(v)
		out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		return
	}
	out.WriteByte('"')
	for _, r := range utf16.Encode([]rune(v)) {
		fmt.Fprintf(out, `\u%04X`, r)
	}
	out.WriteByte('"')
}

func snake(k string) string {
	var b strings.Builder
	for _, r := range k {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func legacy(k string) string {
	switch k {
	case "scopeSpans":
		return "instrumentationLibrarySpans"
	case "scopeMetrics":
		return "instrumentationLibraryMetrics"
	case "scope":
		return "instrumentationLibrary"
	}
	return k
}

func base64ID(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}
