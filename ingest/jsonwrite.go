package ingest

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/tailscope/tailscope/trace"
)

// This file writes attributes as OTLP JSON.

func comma(n int) string {
	if n == 0 {
		return ""
	}
	return ","
}

// appendValue writes a value as OTLP JSON.
func appendValue(to []byte, v trace.RawValue) []byte {
	switch v.Type {
	case trace.String:
		to = appendString(append(to, `{"stringValue":`...), v.Bytes)
	case trace.Int:
		to = strconv.AppendInt(append(to, `{"intValue":"`...), v.Int, 10)
		to = append(to, '"')
	case trace.Double:
		to = appendFloat(append(to, `{"doubleValue":`...), v.Double)
	case trace.Bool:
		to = strconv.AppendBool(append(to, `{"boolValue":`...), v.Int != 0)
	case trace.Bytes:
		to = base64.StdEncoding.AppendEncode(append(to, `{"bytesValue":"`...), v.Bytes)
		to = append(to, '"')
	case trace.JSON:
		return append(to, v.Bytes...)
	default:
		return append(to, "{}"...)
	}
	return append(to, '}')
}

func appendPair(to, key []byte, v trace.RawValue) []byte {
	to = appendString(append(to, `{"key":`...), key)
	to = append(to, `,"value":`...)
	return append(appendValue(to, v), '}')
}

// appendList writes attributes as the OTLP JSON of a key-value list.
func appendList(to []byte, attrs []trace.RawAttr) []byte {
	to = append(to, `{"kvlistValue":{"values":[`...)
	for i, a := range attrs {
		to = append(to, comma(i)...)
		to = appendPair(to, a.Key, a.Value)
	}
	return append(to, "]}}"...)
}

func appendFloat(to []byte, f float64) []byte {
	switch {
	case f != f:
		return append(to, `"NaN"`...)
	case f > 1.7976931348623157e308:
		return append(to, `"Infinity"`...)
	case f < -1.7976931348623157e308:
		return append(to, `"-Infinity"`...)
	}
	return strconv.AppendFloat(to, f, 'g', -1, 64)
}

const hexLower = "0123456789abcdef"

// appendString writes a JSON string.
func appendString(to, text []byte) []byte {
	to = append(to, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\t':
			to = append(to, `\t`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c < ' ' || c == 0x7f:
			to = append(to, `\u00`...)
			to = append(to, hexLower[c>>4], hexLower[c&15])
		case c < utf8.RuneSelf:
			to = append(to, c)
		default:
			r, n := utf8.DecodeRune(text[i:])
			to = utf8.AppendRune(to, r)
			i += n
			continue
		}
		i++
	}
	return append(to, '"')
}
