package ingest

import (
	"errors"
	"math"
	"strconv"
	"unsafe"

	"github.com/tailscope/tailscope/trace"
)

// parseUint reads a decimal integer exactly: plain, or with a fraction or an
// exponent if the value is an integer all the same (1.767e18).
func parseUint(b []byte) (v uint64, negative, ok bool) {
	i := 0
	if i < len(b) && b[i] == '-' {
		negative = true
		i++
	}
	if i == len(b) {
		return 0, false, false
	}
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			v, ok = parseExponent(b)
			return v, negative, ok
		}
		if v > (math.MaxUint64-uint64(c))/10 {
			return 0, negative, false
		}
		v = v*10 + uint64(c)
	}
	return v, negative, true
}

// parseExponent is parseUint, without the sign, of a number with a fraction or
// an exponent.
func parseExponent(b []byte) (uint64, bool) {
	if b[0] == '-' {
		b = b[1:]
	}
	var digits [40]byte
	n, exp, i := 0, 0, 0
	point := false
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case '0' <= c && c <= '9':
			if n == 0 && c == '0' {
				if point {
					exp--
				}
				continue
			}
			if n == len(digits) {
				if c != '0' {
					return 0, false
				}
				if !point {
					exp++
				}
				continue
			}
			digits[n] = c
			n++
			if point {
				exp--
			}
			continue
		case c == '.' && !point:
			point = true
			continue
		}
		break
	}
	if i < len(b) {
		if b[i]|0x20 != 'e' {
			return 0, false
		}
		e, err := strconv.Atoi(string(b[i+1:]))
		if err != nil || e > 1000 || e < -1000 {
			return 0, n == 0 && err == nil
		}
		exp += e
	}
	for n > 0 && exp < 0 && digits[n-1] == '0' {
		n--
		exp++
	}
	if n == 0 {
		return 0, true
	}
	if exp < 0 || n+exp > 20 {
		return 0, false
	}
	var v uint64
	for j := range n + exp {
		var c uint64
		if j < n {
			c = uint64(digits[j] - '0')
		}
		if v > (math.MaxUint64-c)/10 {
			return 0, false
		}
		v = v*10 + c
	}
	return v, true
}

// parseInt reads a signed integer exactly.
func parseInt(b []byte) (int64, bool) {
	v, negative, ok := parseUint(b)
	switch {
	case !ok:
		return 0, false
	case negative && v <= 1<<63:
		return -int64(v), true
	case !negative && v <= math.MaxInt64:
		return int64(v), true
	}
	return 0, false
}

// parseTime reads nanoseconds since the epoch. Zero is a time that was not
// recorded, as OTLP has it.
func parseTime(b []byte) (trace.Time, bool) {
	v, ok := parseInt(b)
	if !ok || v < 0 {
		return trace.NoTime, false
	}
	if v == 0 {
		return trace.NoTime, true
	}
	return trace.Time(v), true
}

// parseMicros reads microseconds since the epoch, or of a duration.
func parseMicros(b []byte) (int64, bool) {
	v, ok := parseInt(b)
	if !ok || v < 0 || v > math.MaxInt64/1000 {
		return 0, false
	}
	return v * 1000, true
}

// parseFloat reads a JSON number, or a text with one, NaN or an infinity. What
// is too large for a float64 is an infinity.
func parseFloat(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	// The string is used only during the call.
	v, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}
