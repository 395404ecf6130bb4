package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Encode writes the report as indented JSON and a final newline. The same report gives the same bytes. Strings
// decode to what they were, except that invalid UTF-8 is replaced by U+FFFD; markup stands as it is; characters
// that steer a terminal are \u escapes, so that the output may be looked at anywhere.
func Encode(w io.Writer, r *Report) error {
	c := *r
	c.Schema = ReportV1
	return stream(w, reflect.ValueOf(&c).Elem(), true)
}

// EncodeTrace writes the trace under the same rules, one span or stretch of the path a line.
func EncodeTrace(w io.Writer, t *Trace) error {
	c := *t
	c.Schema = TraceV1
	return stream(w, reflect.ValueOf(&c).Elem(), false)
}

// stream writes a struct field by field and its lists element by element, so that memory and copying are bounded by
// the largest element: a trace may hold 10⁵ spans, a report thousands of endpoints. Indented, the bytes are those of
// json.MarshalIndent; else every element stands on a line.
func stream(w io.Writer, v reflect.Value, indent bool) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	pad, colon := "", ":"
	if indent {
		pad, colon = "  ", ": "
	}
	element := "\n" + pad + pad
	put := func(prefix string, v any) error {
		b.Reset()
		if indent {
			e.SetIndent(prefix, "  ")
		}
		if err := e.Encode(v); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		_, err := out.Write(plain(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
		return err
	}
	// Errors of out's own writes stay in it until Flush.
	for i := range v.NumField() {
		key, opts, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		out.WriteString(first(i, "{") + "\n" + pad + `"` + key + `"` + colon)
		f := v.Field(i)
		var err error
		switch {
		case f.Kind() == reflect.Slice && f.Len() > 0:
			for k := 0; k < f.Len() && err == nil; k++ {
				out.WriteString(first(k, "["))
				out.WriteString(element)
				err = put(pad+pad, f.Index(k).Addr().Interface())
			}
			if indent {
				out.WriteString("\n" + pad)
			}
			out.WriteByte(']')
		case opts == "string":
			err = put(pad, fmt.Sprint(f.Interface()))
		default:
			err = put(pad, f.Interface())
		}
		if err != nil {
			return err
		}
	}
	out.WriteString("\n}\n")
	return out.Flush()
}

// first is what stands before element i: the opening, or a comma.
func first(i int, opening string) string {
	if i == 0 {
		return opening
	}
	return ","
}

// Decode reads what Encode wrote.
func Decode(r io.Reader) (*Report, error) {
	rep := new(Report)
	if err := json.NewDecoder(r).Decode(rep); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if rep.Schema != ReportV1 {
		return nil, fmt.Errorf("report: schema %q, want %q", rep.Schema, ReportV1)
	}
	return rep, nil
}

// DecodeTrace reads what EncodeTrace wrote.
func DecodeTrace(r io.Reader) (*Trace, error) {
	t := new(Trace)
	if err := json.NewDecoder(r).Decode(t); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if t.Schema != TraceV1 {
		return nil, fmt.Errorf("report: schema %q, want %q", t.Schema, TraceV1)
	}
	return t, nil
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func quoted(s string) []byte {
	b, _ := marshal(s) // a string always marshals
	return bytes.TrimSpace(b)
}

// plain escapes what could steer a terminal: DEL, the C1 controls and the format characters (bidi controls, zero
// widths); and U+FFFD, because encoding/json escapes it where it replaces. In JSON they can stand only inside
// strings, where \u decodes to the same.
func plain(b []byte) []byte {
	steers := func(r rune) bool {
		return r >= 0x7f && (r < 0xa0 || r == utf8.RuneError || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	}
	if bytes.IndexFunc(b, steers) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/16)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case !steers(r):
			out = append(out, b[i:i+n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
