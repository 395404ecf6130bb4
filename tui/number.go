package tui

import (
	"math"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/report"
)

// Numbers in lists, as report/page shows them in tables: three digits, − for minus, ? for what is not known.

// ms is a time with its unit.
func ms(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	return duration(x, false)
}

// plusMs is a change with sign and unit.
func plusMs(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	return duration(x, true)
}

func duration(x float64, signed bool) string {
	unit := "ms"
	switch a := math.Abs(x); {
	case a >= 10_000:
		x, unit = x/1000, "s"
	case a > 0 && a < 0.1:
		x, unit = x*1000, "µs"
	}
	return signs(digits(x), signed) + " " + unit
}

// nanos is a time in nanoseconds.
func nanos(ns int64) string { return duration(float64(ns)/1e6, false) }

// digits is a number with three of them.
func digits(x float64) string {
	decimals := 2
	switch a := math.Abs(x); {
	case a == 0:
		decimals = 0
	case a >= 99.95:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	return grouped(strconv.FormatFloat(x, 'f', decimals, 64))
}

// signs makes minus signs, and a plus before what is greater than zero.
func signs(s string, signed bool) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		if strings.Trim(rest, "0.") == "" {
			return rest
		}
		return "−" + rest
	}
	if signed && strings.Trim(s, "0.") != "" {
		return "+" + s
	}
	return s
}

// count is a whole number with its thousands apart.
func count[N int | int64 | report.Float](n N) string {
	return signs(grouped(strconv.FormatFloat(math.Round(float64(n)), 'f', 0, 64)), false)
}

// grouped puts commas between thousands.
func grouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, dot := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + rest
	}
	return sign + whole
}

// interval is [lo, hi] of a change; an open end is ∞, and of two nothing is known.
func interval(v report.Interval) string {
	if v.IsZero() {
		return ""
	}
	end := func(n report.Num, open string) string {
		x, ok := n.Get()
		if !ok {
			return open
		}
		return signs(digits(x), true)
	}
	if !v.Lo.Known() && !v.Hi.Known() {
		return "open"
	}
	return "[" + end(v.Lo, "−∞") + ", " + end(v.Hi, "∞") + "]"
}

// quantileName is "p99".
func quantileName(q report.Float) string {
	return "p" + strconv.FormatFloat(math.Round(float64(q)*1e8)/1e6, 'f', -1, 64)
}

// plural is "1 span", "2 spans".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(n) + " " + noun
}
