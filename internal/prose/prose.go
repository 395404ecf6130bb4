// Package prose writes numbers as people read them: three significant digits
// or all of the whole part, thousands separated, a proper minus sign, no
// exponent for what is large.
package prose

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decimal is v with thousands separated and that many decimals. What rounds to
// zero has no sign.
func Decimal(v float64, decimals int) string {
	t := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, frac, _ := strings.Cut(t, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if frac != "" {
		whole += "." + frac
	}
	if v < 0 && strings.Trim(t, "0.") != "" {
		whole = "−" + whole
	}
	return whole
}

// Digits is v with three significant digits, or all of its whole part.
func Digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || a == 0:
		return Decimal(v, 0)
	case a >= 10:
		return Decimal(v, 1)
	case a >= 1:
		return Decimal(v, 2)
	case a >= 0.001:
		return Decimal(v, 3)
	case a >= 1e-6:
		return Decimal(v, 1-exponent(v, 2))
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Ms is a time given in milliseconds, with the unit that suits it.
func Ms(ms float64) string {
	unit, a := "ms", math.Abs(ms)
	switch {
	case a < 5e-7: // of a computation: what is recorded is whole nanoseconds
		ms = 0
	case a >= 600_000:
		ms, unit = ms/60_000, "min"
	case a >= 10_000:
		ms, unit = ms/1000, "s"
	case a < 1 && a > 0:
		ms, unit = ms*1000, "µs"
	}
	return Digits(ms) + " " + unit
}

// Ns is a time given in nanoseconds, with the unit that suits it.
func Ns[N ~int64 | ~float64](ns N) string { return Ms(float64(ns) / 1e6) }

// Percent is a part of one in per cent.
func Percent(x float64) string {
	switch p := x * 100; {
	case math.Abs(p) >= 99.95 || p == 0:
		return Decimal(p, 0) + " %"
	case math.Abs(p) >= 1:
		return strings.TrimSuffix(Decimal(p, 1), ".0") + " %"
	case math.Abs(p) >= 0.01:
		return Decimal(p, 2) + " %"
	}
	return "<0.01 %"
}

// PValue is the probability of a test: "p = 0.03", or "p < 0.0001".
func PValue(p float64) string {
	switch {
	case p < 0.0001:
		return "p < 0.0001"
	case p < 0.001:
		return "p = " + Decimal(p, 5)
	case p < 0.01:
		return "p = " + Decimal(p, 4)
	}
	return "p = " + Decimal(p, 2)
}

// Sprintf is [fmt.Sprintf] in whose result the verb %g with a precision writes
// a number as people do: that many significant digits or all of the whole
// part, no closing zeros, thousands separated. So do %d without a width, and %f with a
// precision alone.
func Sprintf(format string, args ...any) string {
	as := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case float64:
			as[i] = number(v)
		case int:
			as[i] = whole(v)
		case int64:
			as[i] = whole(v)
		default:
			as[i] = a
		}
	}
	return fmt.Sprintf(format, as...)
}

type number float64

func (v number) Format(f fmt.State, verb rune) {
	x := float64(v)
	digits, ok := f.Precision()
	if verb == 'f' && fmt.FormatString(f, verb) == fmt.Sprintf("%%.%df", digits) && !math.IsInf(x, 0) && !math.IsNaN(x) {
		f.Write([]byte(Decimal(x, digits)))
		return
	}
	if a := math.Abs(x); verb != 'g' || !ok || a < 1e-6 && a > 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		fmt.Fprintf(f, fmt.FormatString(f, verb), x)
		return
	}
	// Decimals that leave so many digits after rounding: 9.996 with three is 10.
	decimals := 0
	if x != 0 {
		decimals = max(0, digits-1-exponent(x, digits))
	}
	t := Decimal(x, decimals)
	if strings.Contains(t, ".") {
		t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
	}
	f.Write([]byte(t))
}

type whole int64

func (v whole) Format(f fmt.State, verb rune) {
	if format := fmt.FormatString(f, verb); format != "%d" && format != "%v" {
		fmt.Fprintf(f, format, int64(v))
		return
	}
	f.Write([]byte(Decimal(float64(v), 0)))
}

// exponent is that of the first digit of x, rounded to so many digits.
func exponent(x float64, digits int) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(x, 'e', max(digits-1, 0), 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}
